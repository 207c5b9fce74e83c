"""The rows of the table of libraries: each program of `table.yml`, trained and evaluated."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import yaml

from baselines.agents import RandomAgent, Task
from baselines.deep.torch_setup import torch_threads
from baselines.evaluation import sampled
from baselines.evaluation.intervals import interval_of_mean
from benchmarks.results import SEED, Row


@dataclass(frozen=True)
class Program:
    """A program of a library, on a game."""

    library: str
    package: str  # The package to import, whose version is reported.
    extra: str  # The extra of this package that installs the library.
    program: str  # The module beside this one.
    algorithm: str
    env: str
    arguments: Mapping[str, Any]  # Those of its `train` beside the environment and the seed.
    episodes: int = 1_000  # Games in which its policy is evaluated.
    version: int = 1  # Raised when its results change.

    def name(self) -> Row:
        return {"library": self.library, "algorithm": self.algorithm, "env": self.env}

    def decisive(self) -> Row:
        record = {n: v for n, v in asdict(self).items() if n not in ("package", "extra")}
        return record | {"measure": "program", "measure_version": sampled.VERSION}

    def needs(self) -> str:
        """Return what to install; "" if the library is."""
        if all(map(find_spec, packages := [self.package, *["optax"] * (self.extra == "jax")])):
            return ""
        return f"needs pip install -e '.[{self.extra}]' {' '.join(packages)}"

    def train(self) -> Any:
        module = import_module(f"benchmarks.libraries.{self.program}")
        given = {"env_id": self.env, "seed": SEED, **self.arguments}
        if hasattr(module, "Args"):  # in CleanRL's style: metrics come with the policy
            return module.train(module.Args(**given))[0]
        return module.train(**given)

    def play(self, policy: Any) -> Any:
        """Return the results of a policy, `(episodes,)`."""
        return sampled.play(policy, self.env, episodes=self.episodes, seed=SEED).returns

    def make(self) -> Row:
        """Train, evaluate beside random play, and return the row."""
        with torch_threads(1):  # restored afterwards: programs set it, and more, for their process
            returns = self.play(self.train())
        random = RandomAgent(Task.of(self.env).game, SEED)
        row = {"library_version": version(self.package), "program": self.program}
        row |= {"episodes": len(returns), "mean": float(returns.mean())}
        row |= interval_of_mean(returns, are_outcomes=self.env == "TicTacToe-v0")
        return self.name() | row | {"random": float(self.play(random).mean())}


ROWS = Path(__file__).with_suffix(".yml").read_text(encoding="utf-8")
PROGRAMS = tuple(Program(**row) for row in yaml.safe_load(ROWS))
