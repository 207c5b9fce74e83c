"""Many games of tic-tac-toe, played by compiled loops, one game after the other."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tile_envs.base.compiled import HALF, NEXT, Word, compiled, compiled_loop, mixed
from tile_envs.base.compiled_episodes import Code, all_inside, begun, clear, finish, world_of
from tile_envs.base.episodes import Outcome
from tile_envs.base.random_stream import LOW_HALF, Words
from tile_envs.game import Ints
from tile_envs.tictactoe import positions
from tile_envs.tictactoe.game import State, TicTacToe
from tile_envs.tictactoe.positions import CELLS, DIGITS, KTH_CELL, PLAYED, POWERS, SET_SIZE, O, X

SIDE_X, SIDE_O, SIDE_RANDOM, SIDE_BOTH = range(len(PLAYED))
TOP_BIT, LOW_WORD = Word(63), Word(LOW_HALF)
NEVER = Word(1 << 32)
"""Where the low half of a word never comes."""
N_CODES = 3**CELLS
LEGAL = positions.solve().legal
X_DIGIT, O_DIGIT = DIGITS[X], DIGITS[O]

SHOWN = "observations shown_masks shown_marks winners shown_illegal"
LOOKUP = "views masks winner ends legal policy second third side"
World: Any = world_of(__name__, SHOWN, State, LOOKUP)
"""What is shown is as in infos, the observations as `(n, 9)`.  Looked up are the tables of all
positions, of which `ends` tells whether the game is over; the cells of `game.Policies`, and where
the low half of a word passes to the `second` and `third` opponent; and the side that the agent
plays, an index of `PLAYED`."""


@compiled_loop
def play_all(first: int, end: int, actions: Ints, *arrays: Any) -> bool:
    world = World(*arrays)
    if not all_inside(first, end, actions, CELLS):
        return False
    for i in range(Word(first), Word(end)):
        if world.over[i]:
            begin(world, i)
            begun(world, i)
        else:
            action, reward = actions[i], 0.0
            legal = bool(world.legal[world.codes[i]] >> action & 1)
            if legal:
                reward = play(world, i, action)
            finish(world, i, reward, legal, world.ends[world.codes[i]])
        show(world, i)
    return True


@compiled_loop
def begin_all(games: Ints, *arrays: Any) -> None:
    world = World(*arrays)
    for i in games:
        begin(world, i)
        show(world, i)


@compiled_loop
def choose(words: Words, codes: Ints) -> Ints:
    actions = np.empty(len(words), np.int64)
    for i in range(len(words)):
        actions[i] = one_of(LEGAL[codes[i]], words[i])
    return actions


@compiled
def play(world: World, i: int, action: int) -> float:
    """Play a legal action in one game, and let the opponent answer; return the reward."""
    mark = world.marks[i]
    code = with_mark(world.codes[i], mark, action, True)
    asked = (world.side != SIDE_BOTH) & (not world.ends[code])
    code = replied(world, i, code, -mark, asked)
    world.codes[i] = code
    world.marks[i] = -mark if world.side == SIDE_BOTH else mark
    return float(world.winner[code] * mark)


@compiled
def begin(world: World, i: int) -> None:
    """Begin one game anew; an opponent that plays X moves."""
    clear(world, i)
    side = world.side
    mark = O if side == SIDE_O else X
    if side == SIDE_RANDOM:
        world.streams[i] += NEXT
        mark = O if mixed(world.streams[i]) >> TOP_BIT else X
    world.marks[i] = mark
    world.codes[i] = replied(world, i, 0, X, mark == O)


@compiled
def replied(world: World, i: int, code: int, mark: int, asked: bool) -> int:
    """Return the position after the reply of the opponent, who plays `mark`, if it is asked."""
    # There is no branch for games in which it is not: numba would count references there.
    world.streams[i] += NEXT * Word(asked)
    word = mixed(world.streams[i])
    low = word & LOW_WORD
    which = (low >= world.second) + (low >= world.third)
    cell = one_of(world.policy[code + N_CODES * which], word)
    return with_mark(code, mark, cell, asked)


@compiled
def with_mark(code: int, mark: int, cell: int, is_set: bool) -> int:
    """Return the code of a position after a mark on a cell, if it is set."""
    marked: int = code + POWERS[cell] * (X_DIGIT if mark == X else O_DIGIT) * is_set
    return marked


@compiled
def one_of(cells: int, word: Word) -> int:
    """Choose one of a set of cells by a random word; 0 if it is empty."""
    k = (word >> HALF) * SET_SIZE[cells] >> HALF
    cell: int = KTH_CELL[cells * CELLS + np.int64(k)]
    return cell


@compiled
def show(world: World, i: int) -> None:
    code, mark = world.codes[i], world.marks[i]
    for cell in range(CELLS):
        world.observations[i, cell] = world.views[mark, code, cell]
        world.shown_masks[i, cell] = world.masks[code, cell]
    world.shown_marks[i] = mark
    world.winners[i] = world.winner[code]
    world.shown_illegal[i] = world.illegal[i]


def code(game: TicTacToe) -> Code:
    """Return the loops of a game, whose opponent has a name, and what they take besides."""
    tables = positions.solve()
    views = tables.views.reshape(*tables.views.shape[:2], CELLS)
    looked_up = views, tables.masks, tables.winner, tables.over, tables.legal
    policy, side = game.policies, list(PLAYED).index(game.side)
    second, third, *_ = *map(Word, policy.thresholds), NEVER, NEVER
    lookup = *looked_up, policy.cells, second, third, side
    return Code(play_all, begin_all, choose, "codes", _shown, tuple, lookup)


def _shown(outcome: Outcome) -> tuple[NDArray[Any], ...]:
    return outcome.observations.reshape(-1, CELLS), *outcome.infos.values()
