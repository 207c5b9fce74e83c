"""n-tuple networks: the value of a board is a sum of table entries, chosen by the tiles on tuples.

A tuple is a set of cells.  The tiles on them, as the digits of a number, choose an entry of the
tuple's table.  Every tuple looks at the board in all its symmetric orientations, eight on 4×4, with
the same table (Szubert and Jaśkowski, CIG 2014):

    V(s) = Σ over tuples i, Σ over orientations g:  table_i[tiles of g(s) on the cells of tuple i]
"""

from bisect import bisect
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from baselines.settings import check_memory
from tile_envs.errors import UsageError
from tile_envs.sliding.game import SlidingGame
from tile_envs.sliding.packed.tables import check_packs

Weights = NDArray[np.float32]
Indices = NDArray[np.uint32]
SETS = {
    "4x6": "012345 456789 012456 45689a",
    "5x6": "012345 456789 89abcd 012456 45689a",
    "8x6": "012456 456789 012345 234569 01259a 345678 134567 01489a",
    "5x5": "01234 45678 89abc 01245 45689",
    "5x4": "0123 4567 0145 1256 569a",
    "17x4": "0123 4567 0145 1256 569a",
}
"""Well-known sets for 4×4, cells as hexadecimal digits row by row.  The 17 four-tuples of 2014 are
all rows, columns and squares of the board; symmetric ones share their table here."""
SMALL_SETS = {
    (2, 2): "0123",
    (2, 3): "012345",
    (2, 4): "012 014 0123 0145 1256 012345 012456 012356 012346 012467",
    (3, 3): "0134 012 345 01234 012345 012346 013467 123456",
    (4, 3): "012345 345678 013467 34679a 0123456 345678a 3456789 0134679",
}
"""The default sets of smaller boards; other shapes are turned.  On 4×3, a tuple along the long side
that learns early lets the large tiles settle on that side: 4096 is then hardly ever made."""
LARGEST = 1 << 32  # the weights and sums of a stage are numbered in 32 bits
BYTES_PER_GAME = 100  # what a game of an iteration takes while it is played
PROMOTION_FACTOR = np.float32(0.2)  # of promoted values, unless the board is one large tile


@dataclass(frozen=True)
class Network:
    """The shape of an n-tuple network."""

    game: str  # such as "2048 on 4×4"
    shape: tuple[int, int]  # of the board
    tuples: tuple[tuple[int, ...], ...]  # the cells of each, numbered row by row
    values: int  # the number of values of a cell; larger tiles share the last one
    # Rising sums of the tiles from `least` on: each begins a stage, which has weights of its own.
    # If smaller tiles counted, a stage would begin on the crowded board just before they merge, and
    # hardly ever learn what follows.
    stages: tuple[int, ...] = ()
    least: int = 0  # the smallest tile that makes up a stage; networks with fewer stages keep it

    @classmethod
    def of(
        cls, game: SlidingGame, tuples: str, values: int | None, stages: Sequence[int]
    ) -> "Network":
        """Read a network: tuples are a name in `SETS`, words such as "0123 4567", or "" as usual.

        The usual number of values, if it is None, is 16 in games of at most 17 tiles (the three
        largest tiles of 2048 share a value), else 32, or what a small board holds.
        """
        check_packs(game.shape, "an n-tuple network", "dqn and ppo play every board")
        (n_rows, n_columns), faces = game.shape, game.rules.faces
        n_cells, has_few_tiles = n_rows * n_columns, game.rules.largest <= 17  # as in 2048
        if game.shape == (4, 4):
            sets = SETS | {"": SETS["8x6" if has_few_tiles else "5x5"]}
        else:
            turned = enumerate(np.arange(n_cells).reshape(game.shape).T.flat)
            turn = {ord(f"{old:x}"): f"{new:x}" for old, new in turned}
            sets = {"": SMALL_SETS.get(game.shape) or SMALL_SETS[n_columns, n_rows].translate(turn)}
        words = sets.get(tuples, tuples).split()
        try:
            cells = tuple(tuple(sorted(int(digit, 16) for digit in word)) for word in words)
        except ValueError:
            cells = ()
        if not cells or any(len({*each}) < len(each) or each[-1] >= n_cells for each in cells):
            raise UsageError(
                f"network must be a set ({', '.join(SETS)}; for 4×4) or tuples of different cells "
                f"of {n_rows}×{n_columns} in hexadecimal digits, such as '012'; got {tuples!r}."
            )
        if n_cells // 2 * max(faces) >= LARGEST:
            raise UsageError(f"an n-tuple network takes rewards below {LARGEST:,}, not {game}.")
        values = values or min(16 if has_few_tiles else 32, game.n_values)
        begins = tuple(sorted(set(stages)))
        if begins and begins[-1] > (most := n_cells * max(faces)):
            raise UsageError(f"stages must be sums of tiles up to {most:,}, got {begins[-1]:,}.")
        least = min((faces[summands(faces, begin)[-1]] for begin in begins), default=0)
        return cls(str(game), game.shape, cells, values, begins, least)

    def __str__(self) -> str:
        """Return everything that decides what an entry means."""
        tuples = " ".join("".join(f"{cell:x}" for cell in cells) for cells in self.tuples)
        stages = "".join(f" large tiles {tiles}" for tiles in self.stages)
        return f"{self.game}, {self.values} values, {tuples}{stages}"

    def steps(self, early: int) -> tuple["Network", "Network", "Network", "Network"]:
        """Return half of its tuples, all of them, these with the first stages, and the whole."""
        some, one = (replace(self, stages=self.stages[:end]) for end in (early, 0))
        return replace(one, tuples=self.tuples[: -(-len(self.tuples) // 2)]), one, some, self

    @property
    def size(self) -> int:
        return sum(self.values ** len(cells) for cells in self.tuples)

    @property
    def entries(self) -> int:
        return self.size * (1 + len(self.stages))

    @property
    def per_board(self) -> int:
        """The number of entries whose sum is the value of a board."""
        return len(self.tuples) * (8 if self.shape[0] == self.shape[1] else 4)


def new_weights(network: Network, width: int, games: int) -> Weights:
    """Return zeros for the entries of a network, `(entries * width,)`, if there is memory."""
    if (n := network.size * width) > LARGEST:
        held = f"{n:,} weights and sums in a stage, more than the {LARGEST:,} that can be numbered"
        raise UsageError(f"the network ({network}) has {held}: use shorter tuples.")
    n = network.entries * width
    what = f"an iteration of {games:,} games with the network ({network})"
    advice = "use shorter tuples, or a smaller iteration_games"
    check_memory(4 * n + games * BYTES_PER_GAME, what, advice)
    return np.zeros(n, np.float32)


def in_half_precision(weights: Weights) -> NDArray[np.float16]:
    """Round to a 32nd of the mean size at most, so that files compress well."""
    if max(weights.max(), -weights.min()) > np.finfo(np.float16).max:
        raise UsageError("a weight is too large for half precision: the network cannot shrink.")
    step = 2.0 ** (np.log2(abs(weights).mean() or 1.0) // 1 - 5)
    return np.asarray(np.round(weights / step) * step, np.float16)


def addends(values: int, cells: int) -> NDArray[np.int64]:
    """Return what each value of each cell of a tuple adds to an index, `(values, cells)`.

    A value is written with one digit for each of its prime factors, and the lowest digits of all
    cells come first: 16 values are four bits, interleaved (Morton, 1966).  Entries of boards with
    the same large tiles then share cache lines and pages, which makes play nearly twice as fast.
    """
    added = np.zeros((values, cells), np.int64)
    digits, left, one = np.arange(values), values, 1
    while left > 1:
        factor = next(factor for factor in range(2, left + 1) if left % factor == 0)
        added += (digits % factor)[:, None] * one * factor ** np.arange(cells)
        digits, left, one = digits // factor, left // factor, one * factor**cells
    return added


def summands(faces: Sequence[int], total: int) -> list[int]:
    """Return the few large tiles that make up a sum, by their indices, the largest first."""
    tiles, total = list[int](), max(total, faces[1])
    for tile in range(len(faces) - 1, 0, -1):
        n, total = divmod(total, faces[tile])
        tiles += [tile] * n
    return tiles


def promote(network: Network, faces: Sequence[int], stages: Weights, first: int) -> None:
    """Give stages `(n, size, width)`, from the `first` on, the values of boards half as large."""
    # Of the tiles that make up the sum of a stage, each is replaced by the one before it.
    for stage in range(first, len(stages)):
        tiles = summands(faces, network.stages[stage - 1])
        half = bisect(network.stages, sum(faces[tile - 1] for tile in tiles))
        lower = lowered(network, max(1, tiles[-1] - 1))
        np.take(stages[half], lower, axis=0, out=stages[stage], mode="clip")
        stages[stage, :, 0] *= PROMOTION_FACTOR if len(tiles) > 1 else 1


def lowered(network: Network, tile: int) -> Indices:
    """Return, by entry, the index after every tile >= `tile` becomes the one before, `(size,)`."""
    values, indices, begins = np.arange(network.values), [], 0
    for cells in map(len, network.tuples):
        added = addends(network.values, cells).astype(np.uint32)
        kinds = added, added[values - (values >= tile)]
        own, lower = (reduce(np.add.outer, kind.T).reshape(-1) for kind in kinds)  # an axis a cell
        indices.append(np.empty_like(lower))
        indices[-1][own] = begins + lower
        begins += len(lower)
    return np.concatenate(indices)
