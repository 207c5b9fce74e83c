"""The interface of agents that learn.

Learning goes in iterations.  An iteration draws all its random numbers from the run's seed and its
own number, so that a learner needs no generator in its checkpoint, and a run that was interrupted
ends where an uninterrupted one ends.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from typing_extensions import Self

from baselines.agents import AGENTS, BOTH, LEARNERS, Observations, agent_class, check_takes
from baselines.settings import check_settings, read_settings
from baselines.solver.boards import initial_value
from baselines.training import run_folder as runs
from baselines.training.config import RunConfig
from baselines.training.run_folder import Run
from tile_envs.base.checks import brief, checked_integer
from tile_envs.errors import UsageError, extra
from tile_envs.game import Game
from tile_envs.games import make
from tile_envs.sliding.game import SlidingGame

State = dict[str, NDArray[Any]]
Metrics = dict[str, float]

RECENT = 100
"""The training games whose mean is the metric `return`."""
COUNTED = {"moves", "recent returns"}
"""What the checkpoints of earlier versions lack."""


@dataclass(frozen=True)
class NoSettings:
    """The settings of a learner that has none."""


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
        progress: The fraction of its run's budget, of games, moves or minutes, that has been used.
        run: Its run; None if it was made without one.

    Raises:
        ValueError: If it does not play the game, a setting or side is unusable, or it does not fit
            into memory.
    """

    plays: ClassVar[type[Any]] = object
    """The kind of game that it plays; any, unless a subclass names one."""

    Settings: ClassVar[type[Any]] = NoSettings
    """A frozen dataclass.  Its fields are options of `train`, with their descriptions as help."""
    version: ClassVar[int] = 1
    """Raised when the learner's results change; each row of results names it."""
    test_games: ClassVar[int] = 0
    """Games of a test during training; 0 makes no tests."""
    first_test: ClassVar[int] = 1000
    """Tests come after 1, 2, 5, 10, 20, 50 … times this number of games."""
    for_playing: ClassVar[dict[str, Any]] = {}
    """Settings that a trained one plays with, on any machine."""

    def __init__(
        self, game: Game, seed: int = 0, settings: Any = None, sides: tuple[str, ...] = ()
    ) -> None:
        if not isinstance(game, self.plays):
            raise UsageError(
                f"{type(self).__name__} does not play {game}: dqn and ppo play every game."
            )
        if unknown := [side for side in sides if side not in game.sides]:
            expected = ", ".join((*game.sides, BOTH))
            raise UsageError(f"{game} has no side {unknown[0]!r}: expected {expected}.")
        self._settings: Any = self.Settings() if settings is None else settings
        check_settings(self._settings)
        if getattr(self._settings, "initial", 0.0) is None and isinstance(game, SlidingGame):
            self._settings = replace(self._settings, initial=initial_value(None, game))
        self._game: Game = game
        self._seed, self._sides = seed, sides or game.sides
        self.iterations = 0
        self.recent = np.full(RECENT, np.nan)
        self.progress = 0.0
        self.run: Run | None = None

    @property
    def config(self) -> RunConfig:
        """What decides its run."""
        return self.noted.config

    @property
    def noted(self) -> Run:
        """Its run, as the folder notes it."""
        if self.run is None:
            raise UsageError(f"{type(self).__name__} has no run: make it by train().")
        return self.run

    @property
    @abstractmethod
    def games(self) -> int:
        """The number of games played, on each side."""

    @property
    def moves(self) -> int | None:
        """The number of moves learned from; None if it does not count them."""
        return None

    @abstractmethod
    def predict(
        self,
        observation: Observations,
        state: Any = None,
        episode_start: NDArray[np.bool_] | None = None,
        deterministic: bool = True,
    ) -> tuple[NDArray[np.int64], Any]:
        """Return an action for each observation `(n, ...)`, and `state`."""

    @abstractmethod
    def learn(self) -> Metrics:
        """Play and learn for one iteration.

        Returns:
            Metrics for the progress bar and the log.
        """

    def mean_return(self, returns: NDArray[Any]) -> float:
        """Return the mean of the `RECENT` last training games, given those of an iteration."""
        self.recent = np.append(self.recent, returns)[-RECENT:]
        return float(np.nanmean(self.recent))

    @abstractmethod
    def state_dict(self) -> State:
        """Return everything that has been learned, the number of iterations included.

        The arrays may be the learner's own, which it changes later.
        """

    @abstractmethod
    def load_state_dict(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Take over a state of equal names, shapes and dtypes; `restore` checks these.

        Raises:
            ValueError: If it is one of another game or network.
        """

    @classmethod
    def new(cls, config: RunConfig, playing: bool = False) -> Self:
        """Return a learner of a run that has learned nothing yet, which notes what "auto" is here.

        Args:
            config: The run's configuration.
            playing: Whether it will only play, with the settings `for_playing`.
        """
        settings = config.settings | (cls.for_playing if playing else {})
        try:
            read = read_settings(cls.Settings, settings)
        except UsageError as error:
            if config.agent_version == cls.version:
                raise
            raise UsageError(
                f"it was trained by version {config.agent_version} of {config.agent}, which had "
                f"other settings, and this is version {cls.version}: train again."
            ) from error
        game = config.task.game if playing else make(config.env, config.env_kwargs).game
        learner = cls(game, config.seed, read, config.sides)
        if not playing:
            learner.run = Run(replace(config, settings=asdict(learner._settings)))
            learner.prepare()
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

        Raises:
            ValueError: If there is a run already, it was made without a run's configuration, or an
                option is an object.
        """
        folder = Path(folder)
        runs.check_free(folder)
        with runs.lock_folder(folder):
            runs.write_checkpoint(folder, self.state_dict())
            self.noted.write(folder)

    def prepare(self) -> None:
        """Get ready for the first iteration, if there is something to it that can fail."""
        return None

    def test(self, games: int) -> Metrics | None:
        """Play test games in a faster way than `predict` allows; None if there is none."""
        return None

    def save_model(self, path: Path) -> None:
        """Write the model in the format of the library that made it, if one did."""
        return None

    def load_model(self, path: Path) -> None:
        """Play from now on with what `save_model` wrote.

        Raises:
            ValueError: If it is no model of such a learner.
        """
        raise UsageError(f"{path} is no model of this agent: give the folder of its run.")

    def export_state(self) -> State:
        """Return a state that is enough for playing.

        Raises:
            ValueError: If what has been learned cannot be made smaller.
        """
        return self.state_dict()

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Check a state, and take it over."""
        own = self.state_dict()
        state = {name: own[name] for name in COUNTED & own.keys()} | dict(state)
        if state.keys() != own.keys():
            held, expected = brief(sorted(state)), brief(sorted(own))
            raise UsageError(f"the checkpoint holds {held}, expected {expected}.")
        for name, array in own.items():
            if state[name].shape != array.shape or state[name].dtype != array.dtype:
                raise UsageError(
                    f"the checkpoint's {name!r} is {state[name].dtype} of shape "
                    f"{state[name].shape}, expected {array.dtype} of shape {array.shape}: "
                    "is it one of another game?"
                )
        if "iterations" in own:
            checked_integer(int(state["iterations"]), "the checkpoint's 'iterations'", most=1 << 53)
        self.load_state_dict(state)


def learner_class(name: str) -> type[Learner]:
    """Return the class of a learner: a name of `AGENTS`, or `module:Class` as a person types it."""
    if name in LEARNERS:
        with extra("baselines"):
            known: type[Learner] = resolve_name(AGENTS[name].path)
        return known
    if ":" not in name:
        raise UsageError(
            f"there is no {name!r} to train: expected {', '.join(LEARNERS)}, "
            "or a class of your own, my_module:MyLearner."
        )
    learner = agent_class(name)
    if not issubclass(learner, Learner):
        raise UsageError(f"{name} does not learn: expected a subclass of baselines.Learner.")
    check_takes(learner, ("game", "seed", "settings", "sides"))
    return learner
