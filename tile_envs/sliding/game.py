"""A sliding game as a value: its rules, its board, and what appears on it."""

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from functools import cache, cached_property
from typing import Any, NamedTuple

import numpy as np
from gymnasium import spaces
from numpy.typing import ArrayLike, NDArray

from tile_envs.base import checks
from tile_envs.base.random_stream import STRIDE, Words, mix, pick
from tile_envs.base.sets import masks
from tile_envs.errors import UsageError
from tile_envs.game import Bools, Game, Info, Ints, Observations, Positions, Replies, Symmetries
from tile_envs.sliding import chance, render
from tile_envs.sliding.cells.batch import CellsLayout
from tile_envs.sliding.packed.batch import PackedLayout, worst_cells
from tile_envs.sliding.packed.tables import Tables, check_packs, compile_tables, packs
from tile_envs.sliding.pairs import Pairs, compile_pairs
from tile_envs.sliding.rules import ACTIONS, Boards, Rules, Spawn, checked_shape

LARGEST_START_SCORE, LARGEST_SCORE = 1 << 53, 1 << 62
"""The largest scores that a game starts with and that a state has: floats hold the first exactly,
and no game leads from it beyond the second, as a move brings less than 2**33 points."""

# Numbers as 0-d arrays: see `random_stream`.
_STRIDE, _ZERO, _ONE = np.array(STRIDE, np.uint64), np.array(0), np.array(1)


class State(NamedTuple):
    """Many sliding games, arrays `(n,)` but for the boards.

    These are `(n, 4, 2) int64`, rows and columns as packed lines (see `packed.tables`), or
    `(n, R, C) uint8`, tile indices.
    """

    streams: Words  # the positions of the random streams
    over: Bools  # the games that have ended
    legal: Ints  # the legal actions, as bits
    scores: Ints
    largest: Ints  # the index of the largest tile
    boards: NDArray[Any]


@cache
def layout_of(rules: Rules, shape: tuple[int, int]) -> PackedLayout | CellsLayout:
    """Return how boards of a game and shape lie in memory and move, made once per process."""
    return PackedLayout(rules, shape) if packs(shape) else CellsLayout(rules, shape)


def legal_actions(boards: ArrayLike, rules: Rules) -> NDArray[np.int8]:
    """Return the action masks `(n, 4) int8` of boards `(n, R, C)`, or raise a `ValueError`.

    They are 1 where the action (0 up, 1 right, 2 down, 3 left) changes the board.
    """
    boards = rules.checked_boards(boards)
    layout = layout_of(rules, boards.shape[1:])
    return masks(len(ACTIONS))[layout.legal(layout.pack(boards))]


def afterstates(boards: ArrayLike, rules: Rules) -> tuple[Boards, Ints, NDArray[np.int8]]:
    """Return what actions make of boards `(n, R, C)`, before the new tile, or raise a `ValueError`.

    Returns:
        The afterstates `(n, 4, R, C) uint8` (an illegal action leaves the board as it is), the
        rewards `(n, 4) int64`, and the action masks `(n, 4) int8`.
    """
    boards = rules.checked_boards(boards)
    after, rewards, legal = layout_of(rules, boards.shape[1:]).afterstates(boards)
    return after, rewards, masks(len(ACTIONS))[legal]


@dataclass(frozen=True)
class SlidingGame(Game):
    """A sliding game on a board of one shape; see `tile_envs.game.Game`.

    Games that differ only in where they begin are equal.

    Examples:
        >>> from tile_envs.sliding import RULES_2584
        >>> game = SlidingGame(RULES_2584, shape=(2, 3), spawn={1: 0.75, 3: 0.25})
        >>> str(game), game.spawn, game.largest_tile
        ('2584 on 2×3', ((1, 0.75), (3, 0.25)), 13)

    The options are those in the manual of `tile_envs.sliding.Tiles2048Env`.  `spawn` is kept as
    `(face, probability)` pairs; None is that of the rules.
    """

    rules: Rules
    shape: tuple[int, int] = (4, 4)
    spawn: Spawn = None  # type: ignore[assignment] # None is replaced below
    start_tiles: int | tuple[int, ...] = 2
    placer: str | chance.Placer = chance.RANDOM
    starts: chance.Starts | None = field(default=None, compare=False, repr=False)
    start_fraction: float = field(default=chance.START_FRACTION, compare=False, repr=False)
    terminate_at_goal: bool = False

    reset_options = "board", "score"
    n_actions = len(ACTIONS)  # 0 up, 1 right, 2 down, 3 left
    sides = ()  # there is one player

    def __post_init__(self) -> None:
        keep = vars(self).update  # past the frozen dataclass
        keep(rules=(rules := Rules.of(self.rules)), shape=(shape := checked_shape(self.shape)))
        rules.check_rewards(shape)
        keep(spawn=rules.spawn if self.spawn is None else rules.checked_spawn(self.spawn))
        keep(start_tiles=self._checked_start_tiles())
        wanted = "an object with place()"
        checks.check_named(self.placer, "placer", chance.NAMED, "place", wanted)
        if self.placer == chance.ADVERSARY:
            check_packs(shape, "the adversary", "use placer='random', or an object")
        fraction = checks.checked_probability(self.start_fraction, "start_fraction")
        if self.starts is None and fraction != chance.START_FRACTION:
            raise UsageError(f"start_fraction={fraction!r} needs starts, the boards to begin with.")
        ends = checks.plain(self.terminate_at_goal)
        if not isinstance(ends, bool):
            raise UsageError(f"terminate_at_goal must be True or False, got {checks.brief(ends)}.")
        keep(start_fraction=fraction, terminate_at_goal=ends)
        if self.starts is not None:
            keep(starts=chance.checked_starts(self.starts, shape, self.legal_actions))

    def _checked_start_tiles(self) -> int | tuple[int, ...]:
        given: Any = self.start_tiles
        listed, cells = checks.as_array(given).ndim > 0, math.prod(self.shape)
        count = len(given) if listed else checks.as_integer(given)
        if count is None or not 1 <= count <= cells:
            wanted = f"1 to {cells} tiles on a {self.shape[0]}×{self.shape[1]} board"
            raise UsageError(f"start_tiles must be {wanted}, got {checks.brief(given)}.")
        return tuple(map(self.rules.checked_face, given)) if listed else count

    def __str__(self) -> str:
        return f"{self.name} on {self.shape[0]}×{self.shape[1]}"

    @property
    def name(self) -> str:
        return self.rules.name

    @property
    def observation_space(self) -> spaces.Box:
        return spaces.Box(0, self.rules.largest, self.shape, np.uint8)

    @property
    def loops(self) -> str | None:
        return self.layout.loops if isinstance(self.placer, str) else None

    @cached_property
    def tables(self) -> Tables:
        """The lookup tables of the rules on this board, if it has 2 to 4 rows and columns."""
        return compile_tables(self.rules, self.shape)

    @cached_property
    def layout(self) -> PackedLayout | CellsLayout:
        """How boards lie in a `State` and move."""
        return layout_of(self.rules, self.shape)

    @cached_property
    def pairs(self) -> Pairs:
        return compile_pairs(self.rules)

    @cached_property
    def last_tile(self) -> int:
        """The tile index that ends the game; `largest + 1` if none does."""
        rules = self.rules
        return rules.index_of(rules.goal) if self.terminate_at_goal else rules.largest + 1

    @cached_property
    def distribution(self) -> chance.SpawnDistribution:
        faces, probabilities = zip(*self.spawn, strict=True)
        return chance.SpawnDistribution(tuple(map(self.rules.index_of, faces)), probabilities)

    @cached_property
    def start(self) -> chance.Start:
        tiles, threshold = self.start_tiles, round(self.start_fraction * 2**32)
        fixed = map(self.rules.index_of, tiles) if isinstance(tiles, tuple) else [0] * tiles
        boards: Any = np.empty((0, *self.shape), np.uint8) if self.starts is None else self.starts
        return chance.Start(self.distribution, self.shape, tuple(fixed), boards, threshold)

    @cached_property
    def cells_needed(self) -> dict[int, int]:
        """The number of cells that each tile index needs, for those that fit on this board.

        A tile that does not appear by itself is made of two others; the first takes up a cell while
        the second is made.  So the number of cells is the pebble number of its tree of merges:
        `need(c) = min over merges of max(need(a), 1 + need(b))`, the merge in either order.
        """
        need = dict.fromkeys({*self.distribution.tiles, *self.start.tiles} - {0}, 1)
        changed, too_many = True, math.prod(self.shape) + 1
        while changed:
            changed = False
            for a, b, c in self.rules.merges:
                low, high = sorted((need.get(a, too_many), need.get(b, too_many)))
                cells = max(high, 1 + low)
                if cells < need.get(c, too_many):
                    need[c], changed = cells, True
        return need

    @cached_property
    def largest_tile(self) -> int:
        """An upper bound of the tile indices that play can reach on this board."""
        return max(self.cells_needed)

    @property
    def n_values(self) -> int:
        return self.largest_tile + 1

    @cached_property
    def symmetries(self) -> Symmetries:
        return Symmetries.of_board(self.shape)

    def _begin_from(self, streams: Words, positions: Positions | None = None) -> State:
        if positions is None:
            boards, largest, streams = self.layout.draw(self.start, streams)
            scores = np.zeros(len(streams), np.int64)
        else:
            cells, scores = positions
            boards = self.layout.pack(cells)
            largest = cells.max(axis=(1, 2)).astype(np.int64)
        legal, over = self._legal(boards, largest), np.zeros(len(streams), np.bool_)
        return State(streams, over, legal, scores, largest, boards)

    def _legal(self, boards: NDArray[Any], largest: Ints) -> Ints:
        legal = self.layout.legal(boards)
        if self.terminate_at_goal:
            legal *= largest < self.last_tile
        return legal

    def _play(self, state: State, actions: Ints) -> tuple[State, NDArray[np.float64], Bools]:
        legal = state.legal >> actions
        legal &= _ONE
        streams = state.streams + legal.view(np.uint64) * _STRIDE
        words = mix(streams)
        spawned, thresholds = self.distribution.arrays
        tiles = spawned.take(pick(words, thresholds))
        tiles *= legal  # 0 where none appears
        followed = self.layout.follow(self.placer, state.boards, actions, tiles, words)
        boards, rewards, largest = followed
        if self.terminate_at_goal:  # else nothing moves in an illegal push
            stays = legal == _ZERO
            boards[stays], largest[stays] = state.boards[stays], state.largest[stays]
            rewards *= legal
        bits = self._legal(boards, largest)
        after = State(streams, bits == _ZERO, bits, state.scores + rewards, largest, boards)
        return after, rewards.astype(np.float64), legal == _ZERO

    def _observe(self, state: State) -> tuple[Observations, Info]:
        infos: Info = {
            "action_mask": masks(len(ACTIONS)).take(state.legal, axis=0),
            "score": state.scores.copy(),
            "max_tile": self.pairs.faces.take(state.largest),
        }
        return self.layout.tiles(state.boards), infos

    def _position(self, state: State) -> dict[str, NDArray[Any]]:
        return {"board": self.layout.tiles(state.boards), "score": state.scores.copy()}

    def legal_actions(self, boards: ArrayLike) -> NDArray[np.int8]:
        legal = legal_actions(boards, self.rules)
        if self.terminate_at_goal:
            legal[np.asarray(boards).max(axis=(1, 2)) >= self.last_tile] = 0
        return legal

    def afterstates(self, boards: ArrayLike) -> tuple[Boards, Ints, NDArray[np.int8]]:
        after, rewards, legal = afterstates(boards, self.rules)
        if self.terminate_at_goal:
            over = np.asarray(boards).max(axis=(1, 2)) >= self.last_tile
            after[over], rewards[over], legal[over] = np.asarray(boards)[over, None], 0, 0
        return after, rewards, legal

    def replies(self, afterstates: ArrayLike) -> Replies:
        """Return the boards that may follow afterstates, tile by tile, the smallest first."""
        boards, parts = self.rules.checked_boards(afterstates), []
        for face, probability in self.spawn:
            cells = self.possible_cells(boards, tile := self.rules.index_of(face))
            parents, rows, columns = np.nonzero(cells)
            following = boards[parents]
            following[np.arange(len(parents)), rows, columns] = tile
            shares = probability / cells.sum(axis=(1, 2))[parents]
            parts.append((parents, following, shares))
        return Replies(*(np.concatenate(column) for column in zip(*parts, strict=True)))

    def possible_cells(self, boards: Boards, tile: int) -> Bools:
        """Return the cells `(n, R, C)` of afterstates on which the placer may set a tile."""
        empty: Bools = boards == 0
        if self.placer == chance.RANDOM:
            return empty
        tiles = np.full(len(boards), tile)
        if isinstance(self.placer, str):
            worst = worst_cells(self.tables, self.layout.pack(boards).T, tiles)
            return worst.T.reshape(boards.shape)
        chosen = chance.answers(self.placer, boards, tiles * empty.any(axis=(1, 2)))
        empty &= np.arange(math.prod(self.shape)).reshape(self.shape) == chosen[:, None, None]
        return empty

    def checked_positions(
        self, values: Mapping[str, Any], num_envs: int | None = None
    ) -> Positions:
        if "board" not in values:
            raise UsageError("the reset option 'score' needs a 'board' to go with it.")
        boards = checks.broadcast_boards(values["board"], self.shape, num_envs)
        scores = checks.as_array(values.get("score", 0))
        if scores.shape not in ((), (num_envs,)):
            raise UsageError(f"score must be one integer, or one a game, got shape {scores.shape}.")
        most = LARGEST_SCORE if "game" in values else LARGEST_START_SCORE
        for score in scores.reshape(-1).tolist():
            checks.checked_integer(score, "score", most=most)
        boards = self.rules.checked_boards(boards)
        return boards, np.broadcast_to(scores, len(boards)).astype(np.int64)

    def faces(self, boards: ArrayLike) -> Ints:
        """Return the faces, `int64`, of tile indices of any shape, or raise a `ValueError`."""
        return self.pairs.faces.take(self.rules.checked_tiles(boards))

    def indices(self, faces: ArrayLike) -> Boards:
        """Return the tile indices of faces of any shape, or raise a `ValueError`."""
        shown, which = np.unique(array := checks.as_array(faces), return_inverse=True)
        tiles = [0 if face == 0 else self.rules.index_of(face) for face in shown.tolist()]
        return np.array(tiles, np.uint8)[which].reshape(array.shape)

    def is_success(self, infos: Info) -> Bools:
        faces, goal = self.rules.faces, self.rules.goal
        won: Bools = np.isin(infos["max_tile"], faces[faces.index(goal) :])
        return won

    def draw(self, board: NDArray[np.uint8], mode: str, score: int = 0) -> Any:
        (board,) = self.rules.checked_boards(checks.broadcast_boards(board, self.shape))
        drawing = render.drawing(board, self.rules, score)
        return drawing.text() if checks.is_text(mode) else drawing.picture()

    def to_json(self) -> str:
        values = {field.name: getattr(self, field.name) for field in fields(self) if field.compare}
        return json.dumps(values | {"rules": asdict(self.rules)})
