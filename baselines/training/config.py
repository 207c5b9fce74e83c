"""What decides a training run, as one value: options of `train`, `config.json`, and key."""

import hashlib
import json
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from baselines.agents import BOTH, Task
from baselines.progress import number
from baselines.settings import Count, NonNegative, Positive, Seed
from tile_envs.games import IMPORTED, ids
from tile_envs.sliding.chance import START_OPTIONS

IDENTITY = ("agent", "env", "env_kwargs", "sides", "seed", "agent_version")
"""Entries that identify what is learned; like settings, they must not change on resume."""
BUDGET = ("games", "moves", "minutes")
"""Entries that say when a run is finished: games on each side, moves, or minutes of learning."""
MAY_CHANGE = {"device"}
"""Settings that say where a run is trained, not what; it may be resumed with others."""


@dataclass(frozen=True)
class RunConfig:
    """The options of `train`, and the learner's settings."""

    agent: str
    agent_version: int
    env: str
    env_kwargs: dict[str, Any]
    sides: tuple[str, ...]
    settings: dict[str, Any]
    seed: Seed
    games: NonNegative | None = None
    moves: Count | None = None
    minutes: Positive | None = None
    budgets: tuple[dict[str, int | float], ...] | None = None  # if resumed with others, all of them
    test_every: Count | None = None
    test_games: NonNegative | None = None
    preset: str = ""
    contents: dict[str, str] = field(default_factory=dict)  # hashes of files, by their options
    modules: tuple[str, ...] = field(default_factory=lambda: tuple(IMPORTED))

    @cached_property
    def task(self) -> Task:
        """The task, as it is tested, loaded and evaluated: with ordinary starts alone."""
        options = {n: value for n, value in self.env_kwargs.items() if n not in START_OPTIONS}
        return Task(self.env, options, self.sides)

    @property
    def side(self) -> str:
        """The side that is learned, or "both", as the option of `train` says it."""
        return self.sides[0] if len(self.sides) == 1 else BOTH

    @property
    def label(self) -> str:
        return self.agent.rpartition(":")[2]

    @property
    def budget(self) -> dict[str, int | float]:
        return {name: n for name in BUDGET if (n := getattr(self, name)) is not None}

    @property
    def budgets_in_words(self) -> str:
        """All budgets, one after the other: "4, then 6 minutes"."""
        listed = (budget.items() for budget in self.budgets or (self.budget,))
        texts = [" or ".join(f"{number(n)} {name}" for name, n in budget) for budget in listed]
        unit = texts[-1].partition(" ")[2]
        return ", then ".join(texts).replace(f" {unit}, then", ", then")

    @property
    def key(self) -> str:
        """16 hexadecimal digits, which two runs share if the same decides their results."""
        return key_of(self.recipe, self.seed, normal(self.budgets or [self.budget]))

    @property
    def recipe(self) -> str:
        """What runs share that differ in seed and budget alone, however options are written."""
        entries = self.learned() | {"seed": None}
        if self.env in ids():  # else it needs a module that is not imported
            starts = {n: v for n, v in entries["env_kwargs"].items() if n in START_OPTIONS}
            entries |= {"env": self.task.key, "env_kwargs": starts}
        return key_of(normal(entries))

    def learned(self) -> dict[str, Any]:
        """Return what decides what is learned, by name; files by what they hold."""
        entries = {name: getattr(self, name) for name in (*IDENTITY, "settings")}
        for option in ("env_kwargs", "settings"):
            entries[option] = {n: self.contents.get(n, v) for n, v in entries[option].items()}
        return entries

    def differences(self, other: "RunConfig") -> list[str]:
        """Return in words how another run differs, but for its budget and device."""
        before, now = ({**e.pop("settings"), **e} for e in (self.learned(), other.learned()))
        return [
            f"{name} was {value!r} and is now {now.get(name)!r}"
            for name, value in before.items()
            if normal(now.get(name)) != normal(value) and name not in MAY_CHANGE
        ]


def key_of(*parts: Any) -> str:
    """Return 16 hexadecimal digits of what decides a result: equal for parts of equal JSON."""
    text = json.dumps(parts, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def normal(value: Any) -> Any:
    """Return a value as JSON has it, in which 1.0 is 1."""

    def shortest(text: str) -> int | float:
        return int(n) if (n := float(text)).is_integer() else n

    return json.loads(json.dumps(value, default=str), parse_float=shortest)


def content_of(path: Path) -> str:
    """Return a hash of what a file holds, or the files of a folder; "" if there is none."""
    paths = sorted(path.glob("*.json")) if path.is_dir() else [path] if path.exists() else []
    digests = b"".join(hashlib.sha256(each.read_bytes()).digest() for each in paths)
    return hashlib.sha256(digests).hexdigest()[:16] if paths else ""
