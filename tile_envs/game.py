"""What a game is: state --action--> afterstate --reply--> state.

The player acts on a *state*, which leads to an *afterstate* without chance.  The *reply* is what
comes between: a new tile, or the opponent's mark.  Agents and search are given a game, and never
see the random stream of an environment, whose steps are made of the game's functions.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import cached_property
from itertools import product
from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np
from gymnasium import spaces
from numpy.typing import ArrayLike, NDArray

from tile_envs.base import checks, sets
from tile_envs.base.random_stream import Words, checked_seeds, starts
from tile_envs.errors import UsageError

Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Observations = NDArray[Any]
Info = dict[str, NDArray[Any]]

Boards = NDArray[Any]
"""Boards `(n, R, C)` as the environment's observations hold them."""
Positions = tuple[NDArray[Any], ...]
"""What a game adds to the state of n environments, `(n, ...)`: boards, and what goes with them."""

State = TypeVar("State", bound=tuple[Any, ...])


class Replies(NamedTuple):
    """The m states that may follow afterstates, all in one list."""

    parents: Ints  # `(m,)`, the index of the afterstate; one that ends the game is no parent
    boards: Boards  # `(m, R, C)`, as the player to move observes them
    probabilities: Floats  # `(m,)`, that sum to 1 over the states of each afterstate


class Symmetries(NamedTuple):
    """The S symmetries of a board; the first is the identity."""

    cells: Ints  # `(S, R * C)`, the cell of the board that each cell of the image shows
    actions: Ints  # `(S, n_actions)`, what each action is called on the image

    @classmethod
    def of_board(cls, shape: tuple[int, int]) -> Symmetries:
        """Return those of a board, 8 if it is square, else 4; the actions are directions."""
        cells = np.arange(shape[0] * shape[1]).reshape(shape)
        grids = (cells, cells.T) if shape[0] == shape[1] else (cells,)
        images = [grid[::r, ::c].ravel() for grid in grids for r, c in product((1, -1), repeat=2)]
        # Up, right, down and left, if columns, rows or both are read backwards; then transposed.
        directions = [(0, 1, 2, 3), (0, 3, 2, 1), (2, 1, 0, 3), (2, 3, 0, 1)]
        directions += [turned[::-1] for turned in directions]
        return cls(np.array(images), np.array(directions[: len(images)]))


class Step(NamedTuple):
    """What a step of n games brings, in fresh arrays; infos have the names of the environment's."""

    observations: Observations  # `(n, R, C)`
    rewards: Floats  # `(n,)`
    terminations: Bools  # `(n,)`
    infos: Info  # `(n, ...)` each


class Game(ABC):
    """The rules of one game, as an immutable value: compared, hashed, pickled, written as JSON.

    The state of many games is a named tuple of arrays with the games on their first axis, which
    begins with `streams`, `over` and `legal`: the random streams, the games that have ended and the
    legal actions, as bits.  It is saved, stacked and indexed array by array.  A `ValueError`
    refuses one of another form, whose values are not checked, and boards that are not of the game.
    """

    shape: tuple[int, int]
    """Rows and columns of the board."""
    n_actions: ClassVar[int]
    """The number of actions, legal or not."""
    sides: ClassVar[tuple[str, ...]]
    """The sides that can be played; empty in a game for one player."""
    reset_options: ClassVar[tuple[str, ...]]
    """The names of the options that `reset` takes, for `checked_positions`."""

    @property
    @abstractmethod
    def name(self) -> str:
        """The name of the game, whatever its board."""

    @property
    @abstractmethod
    def n_values(self) -> int:
        """The number of distinct cell values in play."""

    @property
    @abstractmethod
    def symmetries(self) -> Symmetries:
        """The symmetries of the board, under which the rules are the same."""

    @property
    @abstractmethod
    def observation_space(self) -> spaces.Box:
        """The space of one observation, `(R, C)`."""

    @property
    def loops(self) -> str | None:
        """The module whose `loops_of(game)` are its compiled loops; None if numpy plays it."""
        return None

    def __reduce__(self) -> tuple[Any, ...]:
        # Tables are looked up anew: writeable copies would be other types for compiled code.
        assert is_dataclass(self)
        return type(self), tuple(getattr(self, field.name) for field in fields(self))

    # The functional core: states are checked.

    def begin(
        self, seeds: ArrayLike, boards: ArrayLike | None = None, scores: ArrayLike = 0
    ) -> Any:
        """Begin the games of seeds `(n,)`, integers modulo 2**64; return their state.

        They are the games that `reset(seed=..., options=...)` of an environment begins: with boards
        of their own, or with one `(R, C)` for all or each its own `(n, R, C)`, and in sliding games
        the scores that go with these, one integer or `(n,)`.  A `ValueError` refuses others.
        """
        streams = starts(checked_seeds(seeds))
        given = {"board": boards, "score": None if checks.as_integer(scores) == 0 else scores}
        options = {name: value for name, value in given.items() if value is not None}
        checks.checked_options(options, self.reset_options)
        positions = self.checked_positions(options, len(streams)) if options else None
        return self._begin_from(streams, positions)

    def step(self, state: State, actions: ArrayLike) -> tuple[State, Step]:
        """Play an action `(n,)` in each game; games that have ended do not change.

        It returns the state afterwards, and what the step brings; the given state is unchanged.  A
        `ValueError` refuses what is outside the action space, and what a user's placer or opponent
        may not choose.
        """
        games: Any = state
        after, rewards, illegal = self.play(games, actions)
        if len(ended := np.flatnonzero(games.over)):
            for array, before in zip(after, games, strict=True):
                if array is not before:
                    array[ended] = before[ended]
            rewards[ended], illegal[ended] = 0.0, True
        observations, infos = self._observe(after)
        return after, Step(observations, rewards, after.over.copy(), infos | {"illegal": illegal})

    def play(self, state: State, actions: ArrayLike) -> tuple[State, Floats, Bools]:
        """Play actions, in games that are over, too; return state, rewards, which were illegal."""
        games = self._checked(state)
        return self._play(games, checks.checked_actions(actions, len(games.over), self.n_actions))

    def masks(self, state: Any) -> Bools:
        """Return the legal actions of each game, `(n, n_actions) bool`."""
        return self._masks(self._checked(state))

    def observe(self, state: Any) -> tuple[Observations, Info]:
        """Return fresh observations and infos, all but `illegal`."""
        return self._observe(self._checked(state))

    def choose(self, state: Any, words: Words) -> Ints:
        """Turn a random word `uint64` for each game into a legal action, or 0 if it has none."""
        checks.check_like(words, self._checked(state).streams, "words")
        return sets.pick(state.legal, words)

    def position(self, state: Any) -> dict[str, NDArray[Any]]:
        """Return the positions of games, as options of `reset`: `board`, and what goes with it."""
        return self._position(self._checked(state))

    @cached_property
    def _forms(self) -> tuple[Any, list[tuple[Any, tuple[int, ...]]]]:
        """The type of a state; the dtype of each array, and its shape for one game."""
        none = self._begin_from(np.zeros(0, np.uint64))
        return type(none), [(array.dtype, array.shape[1:]) for array in none]

    def _checked(self, state: Any) -> Any:
        """Return a state that has the form of this game's; its values are not looked at."""
        kind, forms = self._forms
        if type(state) is not kind:
            wanted = f"one that begin() of {self} returns"
            raise UsageError(f"state must be {wanted}, got {checks.brief(state)}.")
        n = (getattr(state[0], "size", 0),)
        for name, array, (dtype, shape) in zip(kind._fields, state, forms, strict=True):
            if getattr(array, "dtype", None) != dtype or array.shape != n + shape:
                checks.check_like(array, np.empty(n + shape, dtype), f"state.{name}")
        return state

    # What environments, which own their states, ask for: nothing is checked.

    @abstractmethod
    def _begin_from(self, streams: Words, positions: Positions | None = None) -> Any:
        """Begin games where their random streams are, at given positions or drawn ones."""

    @abstractmethod
    def _play(self, state: Any, actions: Ints) -> tuple[Any, Floats, Bools]: ...

    def _masks(self, state: Any) -> Bools:
        masks = sets.masks(self.n_actions).take(state.legal, axis=0)
        return np.asarray(masks.view(np.bool_))

    @abstractmethod
    def _observe(self, state: Any) -> tuple[Observations, Info]: ...

    @abstractmethod
    def _position(self, state: Any) -> dict[str, NDArray[Any]]: ...

    # Boards as agents see them.

    @abstractmethod
    def legal_actions(self, boards: ArrayLike) -> NDArray[np.int8]:
        """Return the action masks `(n, n_actions)` of states `(n, R, C)`."""

    @abstractmethod
    def afterstates(self, boards: ArrayLike) -> tuple[Boards, Ints, NDArray[np.int8]]:
        """Return what each action makes of states `(n, R, C)`: afterstates, rewards, action masks.

        The afterstates `(n, n_actions, R, C)` are as the player who acts sees them; an illegal
        action leaves the board as it is.  Rewards and masks are `(n, n_actions)`.
        """

    @abstractmethod
    def replies(self, afterstates: ArrayLike) -> Replies:
        """Return the states that may follow afterstates `(n, R, C)`, with their probabilities.

        A `ValueError` says if they are not known, as an object that the user brought decides.
        """

    @abstractmethod
    def checked_positions(
        self, values: Mapping[str, Any], num_envs: int | None = None
    ) -> Positions:
        """Return the positions that reset options or a state give, of one environment or many."""

    @abstractmethod
    def is_success(self, infos: Info) -> Bools:
        """Tell of games that have ended, by their infos `(n, ...)`, which the player has won."""

    @abstractmethod
    def draw(self, board: NDArray[Any], mode: str, score: int = 0) -> Any:
        """Return a board `(R, C)` as text (mode `ansi`) or a picture `(H, W, 3) uint8`."""

    @abstractmethod
    def to_json(self) -> str:
        """Return the game as JSON text, for `baselines.agents.game_from_json`.

        A `TypeError` refuses objects without a name, such as a user's opponent.
        """


def describe(game: Game) -> str:
    """Return a line that equal games share, such as `tic-tac-toe (opponent='random', side='O')`.

    A placer or an opponent that is an object is named by its class: two objects of one class count
    as equal, unless it is a frozen dataclass.
    """
    compared = [field.name for field in fields(game) if field.compare]  # type: ignore[arg-type]
    return f"{game} ({', '.join(f'{name}={_describe(getattr(game, name))}' for name in compared)})"


def _describe(value: object) -> str:
    if isinstance(value, str | int | tuple):
        return repr(value)
    kind: Any = type(value)
    if is_dataclass(value) and kind.__dataclass_params__.frozen:  # rules, for example
        with np.printoptions(threshold=1 << 62, floatmode="unique"):  # arrays in full
            return f"{kind.__name__} {hashlib.sha256(repr(value).encode()).hexdigest()[:12]}"
    return f"{kind.__module__}.{kind.__qualname__}"
