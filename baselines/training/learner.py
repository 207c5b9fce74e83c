"""The interface of agents that learn.

Learning goes in iterations.  Each draws all its random numbers from the run's seed and its own
number, so that a run that was interrupted ends where an uninterrupted one ends.
"""

from abc import ABC, abstractmethod
from dataclasses import asdict, make_dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from typing_extensions import Self

from baselines.agents import BOTH, LEARNERS, agent_class, check_takes
from baselines.arrays import Arrays
from baselines.evaluation.policies import against, policy_of
from baselines.evaluation.sampled import play
from baselines.settings import check_settings, read_settings
from baselines.solver.boards import initial_value
from baselines.training import run_folder as runs
from baselines.training.config import BUDGET, RunConfig
from baselines.training.run_folder import Run
from tile_envs.base.checks import brief, check_like, checked_integer
from tile_envs.errors import UsageError
from tile_envs.game import Game, Observations
from tile_envs.games import make
from tile_envs.sliding.game import SlidingGame

Sides = tuple[str, ...]
State = Arrays
Metrics = dict[str, float]
RECENT = 100  # the training games whose mean is the metric `return`


class Learner(ABC):
    """An agent that learns by itself, one iteration after the other.

    A subclass is made as `MyLearner(game, seed, settings, sides)`.

    Args:
        game: The game to learn.
        seed: The seed of everything that is drawn.
        settings: An instance of its `Settings`; their defaults if it is None.
        sides: In a game with sides, those to learn; all of them if none is given.

    Attributes:
        iterations: The number of iterations it has learned.
        recent: The returns of the last `RECENT` training games, NaN at first.
        progress: The fraction of its run's budget that has been used.
        run: Its run, if it was made by one.

    Raises:
        ValueError: If an argument is unusable, or it does not fit into memory.
    """

    plays: ClassVar[type[Any]] = object
    """The kind of game that it plays; any, unless a subclass names one."""
    Settings: ClassVar[type[Any]] = make_dataclass("NoSettings", [], frozen=True)
    """A frozen dataclass.  Its fields are options of `train`, with their descriptions as help."""
    version: ClassVar[int] = 1
    """Raised when the learner's results change; each row of results names it."""
    test_games: ClassVar[int] = 0
    """Games of a test during training; 0 makes no tests."""
    first_test: ClassVar[int] = 1000
    """Tests come after 1, 2, 5, 10, 20, 50 … times this number of games."""
    for_playing: ClassVar[dict[str, Any]] = {}
    """Settings that a trained one plays with, on any machine."""
    run: Run
    _game: Game

    def __init__(self, game: Game, seed: int = 0, settings: Any = None, sides: Sides = ()) -> None:
        if not isinstance(game, self.plays):
            name = type(self).__name__
            raise UsageError(f"{name} does not play {game}: dqn and ppo play every game.")
        if unknown := [side for side in sides if side not in game.sides]:
            raise UsageError(f"{game} has no side {unknown[0]!r}: expected {(*game.sides, BOTH)}.")
        self._settings: Any = self.Settings() if settings is None else settings
        check_settings(self._settings)
        if getattr(self._settings, "initial", 0.0) is None and isinstance(game, SlidingGame):
            self._settings = replace(self._settings, initial=initial_value(None, game))
        self._game, self._seed, self._sides = game, seed, sides or game.sides
        self.iterations, self.progress = 0, 0.0
        self.recent = np.full(RECENT, np.nan)

    @property
    def config(self) -> RunConfig:
        return self.run.config

    @property
    @abstractmethod
    def games(self) -> int:
        """The number of games played, on each side."""

    @property
    def moves(self) -> int | None:
        """The number of moves learned from; None if it does not count them."""
        return None

    @abstractmethod
    def predict(self, observation: Observations, *args: Any, **options: Any) -> tuple[Any, Any]:
        """Return an action for each observation `(n, ...)`, and `state`; see `BoardAgent`."""

    @abstractmethod
    def learn(self) -> Metrics:
        """Play and learn for one iteration; return metrics for the progress bar and the log."""

    def used(self, seconds: float) -> dict[str, float]:
        """Return what it has used of each kind of budget, having learned for so many seconds."""
        return dict(zip(BUDGET, (self.games, self.moves or 0, seconds / 60), strict=True))

    def mean_return(self, returns: NDArray[Any]) -> float:
        """Return the mean of the `RECENT` last training games, given those of an iteration."""
        self.recent = np.append(self.recent, returns)[-RECENT:]
        return float(np.nanmean(self.recent))

    @abstractmethod
    def state_dict(self) -> State:
        """Return all that has been learned, `iterations` included, in arrays that may change."""

    @abstractmethod
    def load_state_dict(self, state: State) -> None:
        """Take over a state of equal names, shapes and dtypes; large arrays are taken out of it."""

    @classmethod
    def new(cls, config: RunConfig, playing: bool = False) -> Self:
        """Return an untrained learner of a run; if `playing`, with the settings `for_playing`."""
        game = config.task.game if playing else make(config.env, config.env_kwargs).game
        settings = config.settings | (cls.for_playing if playing else {})
        try:
            read = read_settings(cls.Settings, settings)
        except UsageError as error:
            trained = f"version {config.agent_version} of {config.agent}, now {cls.version}"
            raise UsageError(f"it was trained by {trained}: {error}") from error
        learner = cls(game, config.seed, read, config.sides)
        if not playing:
            learner.prepare()
            # What "auto" is here is noted.
            learner.run = Run(replace(config, settings=asdict(learner._settings)))
        return learner

    @classmethod
    def load(cls, folder: Path, run: Run) -> Self:
        """Return the learner of a run's folder, to play: what learning alone needs is not read."""
        learner = cls.new(run.config, playing=True)
        learner.run = run
        learner.restore(runs.read_checkpoint(folder, like=learner.state_dict()))
        return learner

    def save(self, folder: str | Path) -> None:
        """Write a run's folder: `baselines.load` takes it, and `train` can resume it.

        What learning alone needs is not in a learner that was loaded, nor in its folder.

        Raises:
            ValueError: If there is a run already, it was made without one, or options are objects.
        """
        if not hasattr(self, "run"):
            raise UsageError(f"{type(self).__name__} has no run: make it by train().")
        with runs.lock_folder(folder := Path(folder)):
            runs.check_free(folder)
            runs.write_checkpoint(folder, self.state_dict())
            self.run.write(folder)

    def prepare(self) -> None:
        """Get ready for the first iteration, if there is something to it that can fail."""
        return None

    def test(self, games: int) -> Metrics:
        """Play test games without exploring, and return metrics; in tic-tac-toe, exact ones."""
        task = self.config.task
        if task.sides:
            return {
                f"greedy_{name}_{side}": fraction
                for side in task.sides
                for name, fraction in against(policy_of(self, side), side)._asdict().items()
            }
        record = play(self, task.env, task.env_kwargs, games, use="test")
        return {"greedy_return": float(record.returns.mean())}

    def save_model(self, path: Path) -> None:
        """Write the model in the format of the library that made it, if one did."""
        return None

    def load_model(self, path: Path) -> None:
        """Play from now on with what `save_model` wrote."""
        raise UsageError(f"{path} is no model of this agent: give the folder of its run.")

    def export_state(self) -> State:
        """Return a state that is enough for playing, as small as it can be made."""
        return self.state_dict()

    def restore(self, state: State) -> None:
        own = self.state_dict()
        if state.keys() != own.keys():
            held, expected = brief(sorted(state)), brief(sorted(own))
            raise UsageError(f"the checkpoint holds {held}, expected {expected}.")
        for name, array in own.items():
            check_like(state[name], array, f"the checkpoint (of another game?): its {name!r}")
        checked_integer(int(state["iterations"]), "the checkpoint's 'iterations'", most=1 << 53)
        self.load_state_dict(state)


def learner_class(name: str) -> type[Learner]:
    """Return the class of a learner: one of `LEARNERS`, or `module:Class` as a person types it."""
    if name not in LEARNERS and ":" not in name:
        known = ", ".join(LEARNERS)
        raise UsageError(f"there is no {name!r} to train: expected {known} or my_module:MyLearner.")
    learner = agent_class(name)
    if not issubclass(learner, Learner):
        raise UsageError(f"{name} does not learn: expected a subclass of baselines.Learner.")
    check_takes(learner, ("game", "seed", "settings", "sides"))
    return learner
