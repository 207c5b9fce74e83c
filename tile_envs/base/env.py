"""What the single environments share: seeds, illegal actions, ends, state in and out."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import fields
from difflib import get_close_matches
from typing import Any, ClassVar, Generic, SupportsIndex, TypeVar

import gymnasium as gym
import numpy as np
from gymnasium.error import ResetNeeded
from numpy.typing import NDArray

from tile_envs.base import checks, sets
from tile_envs.base.random_stream import Stream, start
from tile_envs.game import Game, describe

Observation = NDArray[Any]
Info = dict[str, Any]
AGame = TypeVar("AGame", bound=Game)
AnInfo = TypeVar("AnInfo", bound=Mapping[str, Any])
VECTOR_OPTIONS = ["max_episode_steps", "engine", "threads"]  # of vector environments only


class Board:
    """One game in plain Python integers: a batch of one would spend its time on calling numpy.

    It looks its game up in memoryviews, which give single numbers faster than arrays do.  To this a
    game adds `begin(stream, position)`, which goes to a given position or, without one, draws it;
    `play(action, stream)`, which plays a legal action, lets the reply follow and returns the reward
    (if a user's placer or opponent fails, nothing has changed); and what is fresh each time:
    `observation()`, `info()`, without `illegal`, and `position()`, for `Game.checked_positions`.
    """

    legal: int  # the legal actions, as bits; 0 once the game has terminated
    changing: ClassVar[tuple[str, ...]]  # the names of the attributes that play changes

    def __init__(self, game: Any) -> None:
        self.game = game

    def observation(self) -> Observation:
        raise NotImplementedError

    def __reduce__(self) -> tuple[Any, ...]:
        # Memoryviews are not pickled.
        return type(self), (self.game,), {name: getattr(self, name) for name in self.changing}


class GameEnv(gym.Env[Observation, Any], Generic[AGame, AnInfo]):
    """The base of the single environments.

    Before the first `reset`, other methods raise `ResetNeeded`.  The game draws from a stream of
    random numbers of its own: `np_random` has no effect on it once it is seeded.  `game` is what is
    played, for agents and search: its rules without its random stream.

    Besides `render_mode`, the arguments are `max_illegal` and the options of the game.
    """

    metadata = {"render_modes": ["human", "ansi", "rgb_array"], "render_fps": 8}
    game_type: ClassVar[type[Game]]
    board_of: ClassVar[Any]  # makes a `Board` of a game
    max_episode_steps: int | None = None  # of those who play without Gymnasium's wrapper

    def __init__(
        self, max_illegal: int = 100, render_mode: str | None = None, **options: Any
    ) -> None:
        self.game = game = self.game_of(**options)
        self._described = describe(game)
        self.observation_space = game.observation_space
        self.action_space = gym.spaces.Discrete(game.n_actions)
        self.max_illegal = checks.checked_count(max_illegal, "max_illegal")
        modes = None, *self.metadata["render_modes"]
        self.render_mode = checks.checked_choice(render_mode, "render_mode", modes)
        self._window: Any = None
        self._ended: bool | None = None  # None before the first reset
        self._stream, self._illegal_run, self._illegal = Stream(0), 0, False
        self._n_actions = game.n_actions
        self._board: Any = self.board_of(game)

    @classmethod
    def game_of(cls, **options: Any) -> Any:
        """Return the game that options describe."""
        kind: Any = cls.game_type
        own = [*(field.name for field in fields(kind)), "max_illegal", "render_mode"]
        many = [*VECTOR_OPTIONS, "autoreset_mode"]
        for name in [name for name in options if name not in own]:
            meant = "".join(f", perhaps {n!r}" for n in get_close_matches(name, own + many, 1))
            wanted = f"{checks.listed(own)}, or for many games {checks.listed(many)}"
            # In Python's own words, which TorchRL looks for.
            message = f"{cls.__name__} got an unexpected keyword argument {name!r}{meant}"
            raise TypeError(f"{message}: expected {wanted}.")
        return kind(**options)

    def reset(  # type: ignore[override] # infos are typed dictionaries
        self, *, seed: SupportsIndex | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[Observation, AnInfo]:
        """Start a new game.

        Args:
            seed: The seed of the game's random stream; None continues the present stream.
            options: See "Starting State" in the class's manual.

        Raises:
            ValueError: If the seed or an option is unusable; nothing has changed then.  Or if an
                opponent that a user brought fails; the game has not started then.
        """
        options = checks.checked_options(options, self.game.reset_options)
        position = self.game.checked_positions(options) if options else None
        seed = None if seed is None else checks.checked_seed(seed)

        super().reset(seed=seed)
        if seed is not None:
            self._stream = Stream(start(seed))
        elif self._ended is None:
            self._stream = Stream(start(int(self.np_random.integers(1 << 64, dtype=np.uint64))))
        self._ended = None  # until the game has started: a user's opponent can fail
        self._board.begin(self._stream, position)
        self._ended, self._illegal, self._illegal_run = False, False, 0
        if self.render_mode == "human":
            self.render()
        return self._board.observation(), self._info()

    def step(  # type: ignore[override] # infos are typed dictionaries
        self, action: int
    ) -> tuple[Observation, float, bool, bool, AnInfo]:
        """Play an action, and let a tile or the opponent's answer follow; see "Action Space".

        Raises:
            ValueError: If the action is outside the action space, or a user's placer or opponent
                chooses what it may not; nothing has changed then.
            ResetNeeded: Before the first `reset` and after the end of a game.
        """
        if self._ended is not False:
            self._begun()
            raise ResetNeeded("the game is over: call reset() before the next step().")
        if type(action) is not int or not 0 <= action < self._n_actions:
            action = checks.checked_action(action, self._n_actions)
        board, reward = self._board, 0
        legal = board.legal >> action & 1
        if legal:
            reward = board.play(action, self._stream)
            self._illegal_run = 0
        else:
            self._illegal_run += 1
        self._illegal = not legal
        terminated, truncated = not board.legal, self._illegal_run >= self.max_illegal
        self._ended = terminated or truncated
        if self.render_mode == "human":
            self.render()
        return board.observation(), float(reward), terminated, truncated, self._info()

    def _info(self) -> AnInfo:
        info: Any = self._board.info()
        info["illegal"] = self._illegal
        return info  # type: ignore[no-any-return]

    def get_state(self) -> dict[str, Any]:
        """Return all of the game, its random stream too, as a small dictionary, for `set_state`."""
        position = self._begun().position()
        counted = self._stream.position, self._illegal_run, self._illegal, self._ended
        return {**single_state(self._described, *counted), **position}

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Go to a state that `get_state` returned, here or in an environment of an equal game.

        A `ValueError`, after which nothing has changed, refuses what is no state, and those of
        another game or of other options (see `tile_envs.game.describe`).
        """
        like, own = single_state(self._described), self._board.position()
        checks.check_state(state, like, own, {"illegal_run": self.max_illegal})
        position = self.game.checked_positions(state)
        self._stream, self._illegal_run = Stream(int(state["stream"])), int(state["illegal_run"])
        self._illegal, self._ended = bool(state["illegal"]), bool(state["ended"])
        self._board.begin(self._stream, position)

    def action_masks(self) -> NDArray[np.bool_]:
        """Return the legal actions, `(actions,) bool`, as MaskablePPO wants; none at its end."""
        legal: NDArray[np.int8] = sets.masks(self._n_actions)[self._begun().legal]
        return legal.astype(np.bool_)

    def sample_legal_action(self) -> int:
        """Draw a legal action, uniformly, by the generator of `action_space.seed`; 0 if none is."""
        legal = np.flatnonzero(self.action_masks()).tolist()
        word = int(self.action_space.np_random.bit_generator.random_raw())
        return legal[(word >> 32) * len(legal) >> 32] if legal else 0

    def render(self) -> Any:
        """Return a string (`ansi`) or a picture `(H, W, 3) uint8` (`rgb_array`), or show it."""
        if self.render_mode is None:
            gym.logger.warn('render() needs a render mode, such as render_mode="ansi".')
            return None
        position, is_shown = self._begun().position(), self.render_mode == "human"
        mode = "rgb_array" if is_shown else self.render_mode
        drawn = self.game.draw(position["board"], mode, position.get("score", 0))
        if not is_shown:
            return drawn
        from tile_envs.rendering.window import Window  # pygame is an extra

        self._window = self._window or Window(self.metadata["render_fps"])
        return self._window.show(drawn)

    def close(self) -> None:
        if self._window is not None:
            self._window.close()
        self._window = None

    def __copy__(self) -> GameEnv[AGame, AnInfo]:
        """Return an environment of its own: a shallow copy would share the random stream."""
        return deepcopy(self)

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"_window": None}

    def _begun(self) -> Any:
        """Return the board of a game that has begun."""
        if self._ended is None:
            raise ResetNeeded("the environment has not been reset yet: call reset() first.")
        return self._board


def single_state(game: str, *counted: Any) -> dict[str, Any]:
    """Return what is in the state of one game besides its position."""
    names = "game", "stream", "illegal_run", "illegal", "ended"
    return dict(zip(names, (game, *(counted or (0, 0, False, False))), strict=True))
