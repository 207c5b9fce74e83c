"""The rules of the sliding games as data: what merges, what appears, how tiles look.

A cell holds a *tile index*: 0 is empty, 1 the smallest tile.  The *face* of a tile is the value
that a person reads.

The limits of the family: every tile slides as far as it can, two tiles merge into one, and at most
once a move.
"""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tile_envs.base.checks import as_array, as_integer, brief, checked_distribution
from tile_envs.errors import UsageError
from tile_envs.words import printable

UP, RIGHT, DOWN, LEFT = range(4)
ACTIONS = ("up", "right", "down", "left")
VERTICAL = (UP, DOWN)

MAX_SIDE, MIN_CELLS = 8, 3  # the most rows or columns of a board, and the fewest cells
MAX_TILES = 31  # without the empty cell: a packed cell has 5 bits
MOVE_LIMIT = 1 << 33  # no move pays this much: see `Rules.check_rewards`

Boards = NDArray[np.uint8]
"""Tile indices, `(n, R, C)`, or `(R, C)` of one board."""
Spawn = tuple[tuple[int, float], ...]
"""The faces that appear, each with its probability."""


@dataclass(frozen=True)
class Palette:
    """The colors of a game, as `#rrggbb`; others are refused by a `ValueError`."""

    page: str  # the ground around the board
    board: str  # the board between its cells
    dark: str  # the text on light tiles
    light: str  # the text on dark tiles
    dark_inks: int  # the number of tiles with dark text, the smallest ones
    tiles: tuple[str, ...]  # the ground of each tile index, beginning with the empty cell

    def __post_init__(self) -> None:
        vars(self).update(tiles=tuple(self.tiles))  # past the frozen dataclass
        for color in (self.page, self.board, self.dark, self.light, *self.tiles):
            if not isinstance(color, str) or not re.fullmatch("#[0-9a-fA-F]{6}", color):
                raise UsageError(f"a palette holds colors such as '#faf8ef', got {color!r}.")

    def ink(self, tile: int) -> str:
        """Return the color of a tile's number."""
        return self.dark if tile <= self.dark_inks else self.light


# The colors of the original game, which has one for all tiles past 2048.
CLASSIC = Palette(
    *("#faf8ef", "#bbada0", "#776e65", "#f9f6f2"),  # page, board, dark, light
    dark_inks=2,
    tiles=(
        *("#cdc1b4", "#eee4da", "#ede0c8", "#f2b179", "#f59563", "#f67c5f", "#f65e3b", "#edcf72"),
        *("#edcc61", "#edc850", "#edc53f", "#edc22e", *("#3c3a32",) * 6),
    ),
)

# Once around the color circle, from light to dark, in steps that look equal (OKLab): 31 tiles can
# be distinguished, and a larger tile is always a darker one.
RAINBOW = Palette(
    *("#f6f8f5", "#9db0ae", "#2f3a3a", "#ffffff"),  # page, board, dark, light
    dark_inks=14,
    tiles=(
        *("#bccac7", "#feedc8", "#f3e8ae", "#e1e59c", "#cbe490", "#afe38b", "#91e095", "#73dca1"),
        *("#52d6ad", "#2cceb9", "#11c5c3", "#0fbbca", "#18b0d1", "#18a6d8", "#329adb", "#458ddc"),
        *("#5780db", "#6673d6", "#7266ce", "#7d59c4", "#864cb6", "#8d40a7", "#913593", "#94297f"),
        *("#941d69", "#940f53", "#90043d", "#890428", "#820209", "#731b03", "#642402", "#542700"),
    ),
)
"""The palette of games that bring none."""


@dataclass(frozen=True)
class Rules:
    """A sliding game.

    Attributes:
        name: The name of the game.
        faces: The face of each tile index, beginning with 0 for the empty cell, in rising order.
        merges: `(a, b, c)`, tile indices: tile a, the nearer one to the wall that the tiles move
            towards, and tile b merge to tile c.  The reward is the face of c.  Two different tiles
            that merge in both orders need two entries; tiles without an entry never merge.
        spawn: The default distribution of the new tile: `(face, probability)` pairs, or a mapping.
        goal: The face of the tile that wins the game; play goes on, but for `terminate_at_goal`.
        palette: The colors of the tiles.  Rules that differ only in them are equal.

    Raises:
        ValueError: If a value is not as described, or larger than the tables can hold.
    """

    name: str
    faces: tuple[int, ...]
    merges: tuple[tuple[int, int, int], ...]
    spawn: Spawn
    goal: int
    palette: Palette = field(default=RAINBOW, compare=False, repr=False)

    def __post_init__(self) -> None:
        keep = vars(self).update  # past the frozen dataclass
        if not isinstance(self.name, str) or not self.name or printable(self.name) != self.name:
            raise UsageError(f"the name of a game must be one line of text, got {self.name!r}.")
        keep(faces=_checked_faces(self.faces))
        keep(merges=_checked_merges(self.merges, self.largest))
        keep(spawn=self.checked_spawn(self.spawn), goal=self.checked_face(self.goal))
        if isinstance(self.palette, Mapping):
            keep(palette=Palette(**self.palette))
        if not isinstance(self.palette, Palette) or len(self.palette.tiles) < len(self.faces):
            wanted = f"a Palette with {len(self.faces)} tiles, the empty one too"
            raise UsageError(f"a palette of {self.name} is {wanted}, got {brief(self.palette)}.")

    @classmethod
    def of(cls, value: "Rules | Mapping[str, Any]") -> "Rules":
        """Return rules, or those of a mapping of their attributes; refuse everything else."""
        if isinstance(value, Rules):
            return value
        try:
            return cls(**value)
        except TypeError as error:
            raise UsageError(f"rules must be a Rules, got {brief(value)}: {error}.") from error

    @property
    def largest(self) -> int:
        """The index of the largest tile."""
        return len(self.faces) - 1

    def index_of(self, face: object) -> int:
        """Return the tile index of a face, or raise a `ValueError` if no tile shows it.

        The face is an integer or, as JSON has it, a string of its digits.
        """
        value = int(face) if isinstance(face, str) and face.isdecimal() else as_integer(face)
        if value is None or value not in self.faces[1:]:
            known = f"{', '.join(map(str, self.faces[1:6]))} … {self.faces[-1]}"
            raise UsageError(f"{face!r} is not a tile of {self.name}: expected one of {known}.")
        return self.faces.index(value)

    def checked_face(self, face: object) -> int:
        """Return a face of this game as an integer; see `index_of`."""
        return self.faces[self.index_of(face)]

    def checked_boards(self, boards: ArrayLike) -> Boards:
        """Return boards `(n, R, C)` of any integers, if the game has such tiles, as `uint8`."""
        array = as_array(boards)
        if array.ndim != 3 or not is_board(array.shape[1:]):
            sides = f"R and C 1 to {MAX_SIDE}, with {MIN_CELLS} cells or more"
            raise UsageError(f"boards must have shape (n, R, C), {sides}, got {array.shape}.")
        return self.checked_tiles(array)

    def checked_tiles(self, tiles: ArrayLike) -> Boards:
        """Return tile indices of any shape and integers, if the game has such tiles, as `uint8`."""
        array = as_array(tiles)
        if array.dtype.kind not in "iu":
            raise UsageError(f"boards must be integers (tile indices), got dtype {array.dtype}.")
        if array.size and not 0 <= array.min() <= array.max() <= self.largest:
            wanted = f"tile indices 0 to {self.largest}, not faces"
            found = f"{array.min()} to {array.max()}: game.indices(faces) returns them"
            raise UsageError(f"boards of {self.name} hold {wanted}, got {found}.")
        return array.astype(np.uint8)

    def checked_spawn(self, spawn: object) -> Spawn:
        """Return a spawn distribution, pairs or a mapping, as pairs, the smallest face first."""
        wanted = "spawn", "faces", "{2: 0.9, 4: 0.1}", self.checked_face
        return tuple(sorted(checked_distribution(spawn, *wanted).items()))

    def check_rewards(self, shape: tuple[int, int]) -> None:
        """Refuse by a `ValueError` a shape on which a move could pay `MOVE_LIMIT` or more."""
        most = max((self.faces[made] for *_, made in self.merges), default=0)
        if most > (limit := most_paid(shape)):
            board = f"boards of {shape[0]}×{shape[1]}, on which it may pay {limit}"
            found = f"a merge of {self.name} pays {most}, too much for {board}"
            raise UsageError(f"{found}: end the chain of merges before this tile.")


def is_board(shape: Sequence[int]) -> bool:
    """Tell whether a board may have these rows and columns."""
    return all(1 <= side <= MAX_SIDE for side in shape) and math.prod(shape) >= MIN_CELLS


def checked_shape(shape: Any) -> tuple[int, int]:
    """Return the rows and columns of a board."""
    is_pair = as_array(shape).shape == (2,)  # a set has no order, and is no array
    sides: tuple[Any, ...] = tuple(map(as_integer, shape)) if is_pair else ()
    if None in sides or not is_board(sides):
        wanted = f"two integers from 1 to {MAX_SIDE}, rows and columns, with {MIN_CELLS} cells"
        raise UsageError(f"shape must be {wanted} or more, got {shape!r}.")
    return sides


def most_paid(shape: tuple[int, int]) -> int:
    """Return the most that each merge may pay, of all that one move on a board can make."""
    n_rows, n_columns = shape
    return (MOVE_LIMIT - 1) // max(n_rows * (n_columns // 2), n_columns * (n_rows // 2))


def _checked_faces(faces: Iterable[Any]) -> tuple[int, ...]:
    given = tuple(faces) if isinstance(faces, Iterable) else (faces,)
    numbers: tuple[Any, ...] = tuple(map(as_integer, given))
    counted = 3 <= len(numbers) <= MAX_TILES + 1 and None not in numbers and numbers[0] == 0
    if not counted or any(a >= b for a, b in pairwise((*numbers, 1 << 63))):
        wanted = f"0 for the empty cell and then 2 to {MAX_TILES} rising integers below 2**63"
        raise UsageError(f"faces must be {wanted}, got {brief(given)}.")
    return numbers


def _checked_merges(merges: Iterable[Any], largest: int) -> tuple[tuple[int, int, int], ...]:
    checked = list[tuple[Any, ...]]()
    for merge in merges if isinstance(merges, Iterable) else [merges]:
        listed = tuple(map(as_integer, merge)) if isinstance(merge, (tuple, list)) else ()
        if len(listed) != 3 or not all(tile in range(1, largest + 1) for tile in listed):
            wanted = f"three tile indices (a, b, c) from 1 to {largest}"
            raise UsageError(f"a merge must be {wanted}, got {merge!r}.")
        if listed[:2] in [earlier[:2] for earlier in checked]:
            raise UsageError(f"merges say twice what tiles {listed[0]} and {listed[1]} make.")
        checked.append(listed)
    return tuple(checked)


def rules_2048(shape: tuple[int, int]) -> Rules:
    """Return the rules of 2048 on a board: on more than 16 cells, with all tiles that may pay.

    Examples:
        >>> rules_2048((4, 4)) == RULES_2048, rules_2048((5, 5)).faces[-1]
        (True, 536870912)
    """
    return _rules_2048(17 if math.prod(shape) <= 16 else most_paid(shape).bit_length() - 1)


@cache
def _rules_2048(largest: int) -> Rules:
    return Rules(
        name="2048",
        faces=(0, *(2**t for t in range(1, largest + 1))),
        merges=tuple((t, t, t + 1) for t in range(1, largest)),
        spawn=((2, 0.9), (4, 0.1)),
        goal=2048,
        palette=replace(CLASSIC, tiles=CLASSIC.tiles + CLASSIC.tiles[-1:] * (largest - 17)),
    )


RULES_2048 = _rules_2048(17)  # 131072 is the largest tile that 2s and 4s can make on 4×4

_FIBONACCI = [0, 1, 2]
while len(_FIBONACCI) <= MAX_TILES:
    _FIBONACCI.append(_FIBONACCI[-2] + _FIBONACCI[-1])
_NEIGHBORS = [(t, t + 1, t + 2) for t in range(1, MAX_TILES - 1)]

RULES_2584 = Rules(
    name="2584",
    faces=tuple(_FIBONACCI),
    merges=((1, 1, 2), *_NEIGHBORS, *((b, a, c) for a, b, c in _NEIGHBORS)),
    spawn=((1, 0.9), (2, 0.1)),
    goal=2584,
)
