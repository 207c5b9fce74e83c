"""A sliding game in JAX, its cells four to a word.

A *quad* is four neighboring cells of a line, one a byte of a `uint32`, the first one lowest.  All
operations are arithmetic of quads, without tables and branches, so that the compiler makes a few
loops over many games of them.  A board is columns of quads, one up to 4×4 and else two, padded by
empty cells to a square: with many games, each quad is an array of its own.
"""

import math
from functools import cache, partial
from itertools import accumulate, chain, pairwise, starmap
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from tile_envs.jax import words
from tile_envs.jax.base import Afterstate, JaxEnv, Step, check_one, index_of, jit_method, look_up
from tile_envs.jax.words import Word
from tile_envs.sliding.game import SlidingGame
from tile_envs.sliding.pairs import TILE_BITS
from tile_envs.sliding.rules import DOWN, LEFT, RIGHT, UP, Rules

Columns = Any
"""Lines from the wall on, side by side: of each column, a tuple of quads."""

QUAD = 4
NONE, LOW, HIGH = np.uint32(0), np.uint32(0x01010101), np.uint32(0x80808080)
"""No tile; and of each byte, the lowest bit and the highest."""


class State(NamedTuple):
    """A game, `tile_envs.sliding.State` of one; and how many illegal actions in a row."""

    stream: Word
    over: Any
    legal: Any
    score: Word
    illegal_run: Any
    board: Columns


class JaxSliding(JaxEnv):
    """A sliding game; the chance indices are `cell * tiles + tile`, tiles counted from 0 on.

    In its infos, `score` and `reward` are a `Word`, and so is `max_tile` in games whose faces do
    not fit into `int32`.
    """

    game: SlidingGame

    @property
    def n_chances(self) -> int:
        return math.prod(self.game.shape) * len(self.game.distribution.tiles)

    def _columns(self, board: Any) -> Columns:
        """Return a board `(R, C)` as columns of quads."""
        (rows, columns), side = self.game.shape, max(self.game.shape)
        padding = (0, side - rows), (0, side - columns + -side % QUAD)
        cells = jnp.pad(jnp.asarray(board, jnp.uint8), padding).reshape(side, -1, QUAD)
        return tuple(map(tuple, lax.bitcast_convert_type(cells, jnp.uint32).T))

    @property
    def _cells(self) -> Columns:
        """The quads with 1 on every cell."""
        return self._columns(np.ones(self.game.shape))

    def _merge(self, a: Any, b: Any) -> Any:
        """Return what quads a and b make, a being the nearer one to the wall; 0 where nothing.

        In 2048, with the first cell, the lowest byte, on the left:

            a       1 1 1 2   0x02010101
            b       1 1 2 2   0x02020101
            equal   1 1 0 1   0x01000101, which spreads to 0xff00ffff and selects
            a + 1   2 2 2 3   0x03020202, which leaves
                    2 2 0 3   0x03000202
        """
        usual = _usual_merges(self.game.rules)
        if usual is None:
            merged = self.game.pairs.merged.astype(np.uint32)
            both = zip(_bytes(a), _bytes(b), range(0, 32, 8), strict=True)
            return sum(look_up(merged, x << TILE_BITS | y) << shift for x, y, shift in both)
        equal, rising, falling = (
            _zero(x + more * LOW ^ y) & _within(x, usual[more])
            for x, y, more in ((a, b, 0), (a, b, 1), (b, a, 1))
        )
        return a + LOW + rising & _spread(equal | rising | falling)

    def _push(self, columns: Columns) -> tuple[Columns, Word]:
        """Push lines to index 0; return them, and the sum of the faces of merged tiles.

        A word holds a cell of four lines, which are pushed at once.  Here a row is a word, a column
        a line, and the wall is above.  `merge` takes the first two words; then the first one is
        done, and goes to the end.

              board   bubble    merge     merge     merge     turn     bubble
            1 0 1 2   1 1 1 2   0 0 2 0   2 0 3 2   0 0 0 0   2 2 1 3   2 2 1 3
            1 1 2 2   1 1 2 2   2 0 3 2   2 0 3 0   2 2 1 3   0 0 2 0   3 0 2 2
            2 0 3 2   2 0 3 2   2 0 3 0   2 2 1 3   0 0 2 0   3 0 4 2   0 0 4 0
            2 1 3 0   2 0 3 0   2 2 1 3   0 0 2 0   3 0 4 2   0 0 0 0   0 0 0 0
        """

        def bubble(_: Any, columns: Columns) -> Columns:  # empty cells go to the end, one round
            moved = []
            for line in map(list, columns):
                for i in range(len(line) - 1):
                    tiles = line[i + 1] & _spread(_zero(line[i]))
                    line[i], line[i + 1] = line[i] | tiles, line[i + 1] ^ tiles
                moved.append(tuple(line))
            return tuple(moved)

        def merge(_: Any, carry: Any) -> Any:
            columns, pays = [], carry[1]
            for a, b, *others in carry[0]:
                tiles = self._merge(a, b)
                merged = _spread(LOW ^ _zero(tiles))
                columns.append((b & ~merged, *others, a & ~merged | tiles))
                for tile in _bytes(tiles):
                    pays = words.add(pays, self._face(tile))
            return tuple(columns), pays

        n, zero = len(columns[0]), columns[0][0] & NONE
        columns, pays = _repeat(n - 1, merge, (_repeat(n - 1, bubble, columns), Word(zero, zero)))
        columns = tuple((*others, last) for last, *others in columns)
        return _repeat((n - 1) // 2, bubble, columns), pays

    def _face(self, tile: Any) -> Word:
        """Return the face of a tile, `uint32`; 0 of no tile."""
        faces = np.array(self.game.rules.faces)
        if np.array_equal(faces[1:], 1 << np.arange(1, len(faces))):
            return Word(NONE, 1 << tile >> 1 << 1)
        high, low = (faces >> 32).astype(np.uint32), faces.astype(np.uint32)
        return Word(look_up(high, tile) if faces[-1] >> 32 else NONE, look_up(low, tile))

    def _legal(self, board: Columns) -> Any:
        """Return the legal actions, as bits: a push changes two neighboring cells, or nothing."""
        merges = {*self.game.rules.merges}
        is_symmetric = merges == {(b, a, made) for a, b, made in merges}

        def look(_: Any, carry: Any) -> Any:  # along columns, and then along rows
            columns, cells, bits = carry
            to_low = to_high = NONE
            for column, inside in zip(columns, cells, strict=True):
                for (a, b), there in zip(pairwise(column), inside[1:], strict=True):
                    empty_a, empty_b, merged = _zero(a), _zero(b), self._merge(a, b)
                    to_low |= empty_a & ~empty_b | merged
                    to_high |= empty_b & ~empty_a & there
                    to_high |= merged if is_symmetric else self._merge(b, a)
            found = (to_low != 0).astype(jnp.int32) | (to_high != 0).astype(jnp.int32) << 1
            return _transpose(columns), _transpose(cells), bits << 2 | found

        zero = (board[0][0] & NONE).astype(jnp.int32)
        _, _, bits = _repeat(2, look, (board, self._cells, zero))
        bits = sum((bits >> i & 1) << action for i, action in enumerate((LEFT, RIGHT, UP, DOWN)))
        if self.game.terminate_at_goal:  # bytes from the last tile on reach the highest bit
            more = (0x80 - self.game.last_tile) * LOW
            ends = sum((quad + more & HIGH).astype(bool) for quad in chain.from_iterable(board))
            bits = jnp.where(ends > 0, 0, bits)
        return bits.astype(jnp.uint8)

    @jit_method
    def _begin(self, seed: Word, board: Any, **position: Any) -> State:
        stream, none = words.mix(seed), seed.low & NONE
        quads = self._columns(np.zeros(self.game.shape) if board is None else board)
        quads = jax.tree.map(lambda quad: quad | none, quads)
        for fixed in self.game.start.tiles if board is None else ():
            stream, word = words.draw(stream)
            quads = _place(quads, self._draw_cell(quads, word), fixed or self._tile(word))
        score = words.add(Word(none, none), position.get("score", Word.of(0)))
        return State(stream, none > 0, self._legal(quads), score, none.astype(jnp.int32), quads)

    @jit_method
    def afterstate(self, state: State, action: Any) -> Afterstate:
        action, legal, state = self._count(state, action)
        is_vertical = (action == UP) | (action == DOWN)
        is_reversed = (action == DOWN) | (action == RIGHT)

        def turn(columns: Columns) -> Columns:
            up, left = (tuple(x[:n][::-1] + x[n:] for x in columns) for n in self.game.shape)
            return _where(is_reversed, _where(is_vertical, up, left), columns)

        lines = _where(is_vertical, state.board, _transpose(state.board))
        pushed, pays = self._push(turn(lines))
        lines = turn(pushed)
        board = _where(legal, _where(is_vertical, lines, _transpose(lines)), state.board)
        reward = _where(legal, pays, Word(NONE, NONE))
        score = words.add(state.score, reward)
        return Afterstate(state._replace(score=score, board=board), legal, reward)

    def _draw(self, afterstate: Afterstate, stream: Word) -> tuple[State, Step]:
        stream, word = words.draw(stream, afterstate.legal)
        cells = self._draw_cell(afterstate.state.board, word)
        state, step = self._arrive(afterstate, cells, self._tile(word))
        return state._replace(stream=stream), step

    @jit_method
    def spawn(self, afterstate: Afterstate, index: Any) -> tuple[State, Step]:
        tiles = np.array(self.game.distribution.tiles, np.uint32)
        cell, number = jnp.divmod(index_of(index, self.n_chances, "index"), len(tiles))
        chosen = np.arange(math.prod(self.game.shape)).reshape(self.game.shape) == cell
        board = afterstate.state.board
        cells = jax.tree.map(lambda x, quad: x & _zero(quad), self._columns(chosen), board)
        return self._arrive(afterstate, cells, look_up(tiles, number))

    def _arrive(self, afterstate: Afterstate, cells: Columns, tile: Any) -> tuple[State, Step]:
        """Let a tile appear after a legal action, and see what that has led to."""
        state, legal, reward = afterstate
        board = _place(state.board, cells, tile * legal.astype(jnp.uint32))
        return self._finish(state._replace(legal=self._legal(board), board=board), legal, reward)

    def probabilities(self, afterstate: Afterstate) -> Any:
        empty = self.observation(afterstate.state)[..., None] == 0
        shares = np.array(self.game.distribution.probabilities, np.float32)
        drawn = (empty * shares / jnp.maximum(empty.sum(), 1)).reshape(-1)
        return jnp.where(afterstate.legal, drawn, np.arange(self.n_chances) == 0)

    def _draw_cell(self, board: Columns, word: Word) -> Columns:
        """Return the cell that a word picks, of those that are empty in reading order, as flags."""
        empty = jax.tree.map(lambda quad, inside: _zero(quad) & inside, board, self._cells)
        rows = chain.from_iterable(zip(*empty, strict=True))
        # A product with LOW sums up the bytes up to each.
        ranks = [*accumulate(rows, lambda rank, flags: (flags + (rank >> 24)) * LOW, initial=NONE)]
        picked = (words.choose(word.high, ranks[-1] >> 24) + 1) * LOW
        columns = tuple(tuple(ranks[i :: len(empty)]) for i in range(1, len(empty) + 1))
        return jax.tree.map(lambda rank, flags: _zero(rank ^ picked) & flags, columns, empty)

    def _tile(self, word: Word) -> Any:
        tile, *others = self.game.distribution.tiles
        for other, threshold in zip(others, self.game.distribution.thresholds, strict=True):
            if not threshold >> 32:
                tile = jnp.where(word.low >= np.uint32(threshold), other, tile)
        return jnp.uint32(tile)

    @jit_method
    def observe(self, state: State) -> tuple[Any, dict[str, Any]]:
        check_one(state)
        rows, columns = self.game.shape
        cells = lax.bitcast_convert_type(jnp.array(state.board).T, jnp.uint8)
        observation = cells.reshape(len(cells), -1)[:rows, :columns]
        most: Any = self._face(observation.max().astype(jnp.uint32))
        if not self.game.rules.faces[-1] >> 31:
            most = most.low.astype(jnp.int32)
        mask = self.mask(state).astype(jnp.int8)
        return observation, {"action_mask": mask, "score": state.score, "max_tile": most}


@cache
def _usual_merges(rules: Rules) -> tuple[int, int] | None:
    """Return up to which tiles equal ones, and ones that follow each other, make the next tile.

    None, if other tiles merge than these, or into others, as they do not in 2048 and 2584.
    """
    equal, following = (sum(b - a == more for a, b, _ in rules.merges) for more in (0, 1))
    usual = {(a, a, a + 1) for a in range(1, equal + 1)}
    for a in range(1, following + 1):
        usual |= {(a, a + 1, a + 2), (a + 1, a, a + 2)}
    return (equal, following) if {*rules.merges} == usual else None


# Written out, boards of 5×5 would compile for long.  What a loop changes begins as a value that
# lies, on a mesh of devices, where the board does: a constant would lie on all.
_repeat = partial(lax.fori_loop, 0)


# Functions of quads, byte by byte; flags are 0 or 1 in each byte.


def _zero(quad: Any) -> Any:
    """Return flags where bytes, up to 128, are 0."""
    return (HIGH - quad) >> 7 & LOW


def _within(quad: Any, most: int) -> Any:
    """Return flags where bytes, below 128, are from 1 to `most`."""
    at_least_1, above = (quad + (0x80 - least) * LOW for least in (1, most + 1))
    return (at_least_1 ^ above) >> 7 & LOW


def _spread(flags: Any) -> Any:
    """Return flags as masks of whole bytes."""
    return (flags << 8) - flags


def _bytes(quad: Any) -> list[Any]:
    return [quad >> shift & 0xFF for shift in range(0, 32, 8)]


def _place(board: Columns, cells: Columns, tile: Any) -> Columns:
    """Set a tile on the cells of flags."""
    return jax.tree.map(lambda quad, flags: quad | flags * tile, board, cells)


def _where(condition: Any, these: Any, others: Any) -> Any:
    return jax.tree.map(partial(jnp.where, condition), these, others)


def _transpose(columns: Columns) -> Columns:
    """Return the lines across, side by side."""
    side = len(columns[0])
    across = []
    for i in range(0, side, QUAD):
        blocks = [(*column[i : i + QUAD], *(NONE,) * QUAD)[:QUAD] for column in columns]
        across.append(tuple(chain.from_iterable(starmap(_transpose_quads, blocks)))[:side])
    return tuple(across)


def _transpose_quads(a: Any, b: Any, c: Any, d: Any) -> tuple[Any, ...]:
    for shift, low in ((16, np.uint32(0xFFFF)), (8, np.uint32(0xFF00FF))):
        ac, bd = (a >> shift ^ c) & low, (b >> shift ^ d) & low
        a, b, c, d = a ^ ac << shift, c ^ ac, b ^ bd << shift, d ^ bd
    return a, b, c, d
