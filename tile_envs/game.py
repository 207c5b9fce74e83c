"""What a game is: state --action--> afterstate --reply--> state.

The player acts on a *state*, which leads to an *afterstate* without chance.  The *reply* is what
comes between: a new tile, or the opponent's mark.  Agents, search and networks are given a game;
none of them ever sees the random stream of an environment.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

Boards = NDArray[Any]
"""Boards `(n, R, C)` as the environment's observations hold them."""
Positions = tuple[NDArray[Any], ...]
"""What a game adds to the state of n environments, `(n, ...)`: boards, and what goes with them."""


DRAWN = TEXT, _ = "ansi", "rgb_array"
"""The modes in which boards are drawn: as text, and as a picture."""


class Replies(NamedTuple):
    """The states that may follow afterstates, all in one list.

    Attributes:
        parents: `(m,) int64`, the index of the afterstate that each state follows.
        boards: `(m, R, C)`, the states, as the player to move observes them.
        probabilities: `(m,) float64`.  They sum to 1 over the states of each afterstate; an
            afterstate that ends the game has no reply.
    """

    parents: NDArray[np.int64]
    boards: Boards
    probabilities: NDArray[np.float64]


class Symmetries(NamedTuple):
    """The symmetries of a board; the first is the identity.

    Attributes:
        cells: `(S, R * C) int64`, the cell of the board that each cell of the image shows.
        actions: `(S, n_actions) int64`, what each action is called on the image.
    """

    cells: NDArray[np.int64]
    actions: NDArray[np.int64]


class Game(Protocol):
    """The rules of one game, as an immutable value: compared, hashed, pickled, written as JSON."""

    @property
    def name(self) -> str:
        """The name of the game, whatever its board."""

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of the board."""

    @property
    def n_actions(self) -> int:
        """The number of actions, legal or not."""

    @property
    def n_values(self) -> int:
        """The number of different contents of a cell in play."""

    @property
    def sides(self) -> tuple[str, ...]:
        """The sides that can be played; empty in a game for one player."""

    @property
    def symmetries(self) -> Symmetries:
        """The symmetries of the board, under which the rules are the same."""

    def legal_actions(self, boards: ArrayLike) -> NDArray[np.int8]:
        """Return the action masks `(n, n_actions)` of states `(n, R, C)`.

        Raises:
            ValueError: If these are not boards of the game.
        """

    def afterstates(self, boards: ArrayLike) -> tuple[Boards, NDArray[np.int64], NDArray[np.int8]]:
        """Return what each action makes of states `(n, R, C)`.

        Returns:
            The afterstates `(n, n_actions, R, C)`, as the player who acts sees them (an illegal
            action leaves the board as it is), the rewards `(n, n_actions)` and the action masks.

        Raises:
            ValueError: If these are not boards of the game.
        """

    def replies(self, afterstates: ArrayLike) -> Replies:
        """Return the states that may follow afterstates `(n, R, C)`, with their probabilities.

        Raises:
            ValueError: If these are not boards of the game, or the reply is not known to it.
        """

    def checked_positions(
        self, values: Mapping[str, Any], num_envs: int | None = None
    ) -> Positions:
        """Return the positions that reset options or a state give, of one environment or of many.

        Raises:
            ValueError: If a value is not as described for the environment.
        """

    def draw(self, board: NDArray[Any], mode: str, score: int = 0) -> Any:
        """Return a board `(R, C)` as text (mode `ansi`) or a picture `(H, W, 3) uint8`.

        Raises:
            ValueError: If it is no board of the game, or there is no such mode.
        """

    def to_json(self) -> str:
        """Return the game as JSON text, for `tile_envs.games.game_from_json`.

        Raises:
            TypeError: If it holds an object without a name, such as a user's opponent.
        """


def describe(game: Game) -> str:
    """Return a line that equal games share and others do not: the game with its settings.

    Examples:
        >>> from tile_envs.tictactoe import TicTacToe
        >>> describe(TicTacToe("minimax", side="O"))
        "tic-tac-toe (opponent='minimax', side='O')"

    A placer or an opponent that is an object is named by its class: two objects of one class count
    as equal, unless it is a frozen dataclass.
    """
    assert is_dataclass(game)
    compared = [field.name for field in fields(game) if field.compare]
    settings = [f"{name}={_describe(getattr(game, name))}" for name in compared]
    return f"{game} ({', '.join(settings)})"


def _describe(value: object) -> str:
    if isinstance(value, str | int | tuple):
        return repr(value)
    kind: Any = type(value)
    if is_dataclass(value) and kind.__dataclass_params__.frozen:  # rules, for example
        return f"{kind.__name__} {hashlib.sha256(repr(value).encode()).hexdigest()[:12]}"
    return f"{kind.__module__}.{kind.__qualname__}"


def board_symmetries(shape: tuple[int, int]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the symmetries of a board: 8 if it is square, else 4.

    Returns:
        `(S, R * C)`, the cell of the board that each cell of the image shows; and `(S, 4)`, the
        directions (0 up, 1 right, 2 down, 3 left) that up, right, down and left become.
    """
    cells = np.arange(shape[0] * shape[1]).reshape(shape)
    images, directions = [], []
    for transposed in (False, True) if shape[0] == shape[1] else (False,):
        for upside_down in (False, True):
            for mirrored in (False, True):
                image = cells.T if transposed else cells
                images.append(image[:: -1 if upside_down else 1, :: -1 if mirrored else 1].ravel())
                up, down = (2, 0) if upside_down else (0, 2)
                right, left = (3, 1) if mirrored else (1, 3)
                turned = (left, down, right, up) if transposed else (up, right, down, left)
                directions.append(turned)
    return np.array(images), np.array(directions)
