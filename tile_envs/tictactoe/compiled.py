"""Many games of tic-tac-toe, played by compiled loops, one game after the other."""

from typing import Any

from tile_envs.base.compiled import LOW_HALF, NEXT, Word, compiled, mixed, next_word
from tile_envs.base.engine import Transition
from tile_envs.base.loops import MEMBERS, Loops, loops, one_of, world_of
from tile_envs.tictactoe.game import State, TicTacToe
from tile_envs.tictactoe.positions import CELLS, DIGITS, PLAYED, POWERS, O, X, solve

SIDE_X, SIDE_O, SIDE_RANDOM, SIDE_BOTH = range(len(PLAYED))
TOP_BIT, N_CODES = Word(63), 3**CELLS
ABOVE_ALL = Word(1 << 32)  # a threshold that no low half of a word reaches
X_DIGIT, O_DIGIT = DIGITS[X], DIGITS[O]

SHOWN = "observations masks to_play winners shown_illegal"
TABLES = "views masks_of winner legal_in policy second third side kth"
World: Any = world_of(__name__, SHOWN, State, TABLES)
"""What is shown is as in infos, the observations as `(n, 9)`.  Tables are those of all positions;
the cells of `game.Policies`, and where the low half of a word passes to the `second` and `third`
opponent; and the side that the agent plays, an index of `PLAYED`."""


@compiled
def play(world: World, i: int, action: Word) -> float:
    """Play a legal action in one game, and let the opponent answer; return the reward."""
    mark = world.marks[i]
    code = with_mark(world.codes[i], mark, action)
    reply(world, i, code, -mark, (world.side != SIDE_BOTH) & (world.legal_in[code] != 0))
    world.marks[i] = -mark if world.side == SIDE_BOTH else mark
    return float(world.winner[world.codes[i]] * mark)


@compiled
def begin(world: World, i: int) -> None:
    side = world.side
    mark = O if side == SIDE_O else X
    if side == SIDE_RANDOM:
        mark = O if next_word(world.streams, i) >> TOP_BIT else X
    world.marks[i] = mark
    reply(world, i, 0, X, mark == O)


@compiled
def reply(world: World, i: int, code: int, mark: int, asked: bool) -> None:
    """Take over a position, after the reply of the opponent, who plays `mark`, if it is asked."""
    # There is no branch for games in which it is not: numba would count references there.
    world.streams[i] += NEXT * Word(asked)
    word = mixed(world.streams[i])
    low = word & LOW_HALF
    which = (low >= world.second) + (low >= world.third)
    cell = one_of(Word(world.policy[code + N_CODES * which]), word, world.kth)
    code = with_mark(code, mark, cell) if asked else code
    world.codes[i], world.legal[i] = code, world.legal_in[code]


@compiled
def with_mark(code: int, mark: int, cell: Any) -> int:
    # Faster than `Positions.children`, a table of 1.4 MB.
    marked: int = code + POWERS[cell] * (X_DIGIT if mark == X else O_DIGIT)
    return marked


@compiled
def show(world: World, i: int) -> None:
    code, mark = world.codes[i], world.marks[i]
    for cell in range(CELLS):
        world.observations[i, cell] = world.views[mark, code, cell]
        world.masks[i, cell] = world.masks_of[code, cell]
    world.to_play[i] = mark
    world.winners[i] = world.winner[code]
    world.shown_illegal[i] = world.illegal[i]


PLAY, BEGIN = loops(World, CELLS, begin, play, show)


def loops_of(game: TicTacToe) -> Loops:
    """Return the loops of a game whose opponent has a name."""
    tables, policy, side = solve(), game.policies, list(PLAYED).index(game.side)
    views = tables.views.reshape(*tables.views.shape[:2], CELLS)
    second, third, *_ = *map(Word, policy.thresholds), ABOVE_ALL, ABOVE_ALL
    looked_up = views, tables.masks, tables.winner, tables.legal
    return Loops(
        PLAY, BEGIN, _shown, tuple, (*looked_up, policy.cells, second, third, side, MEMBERS)
    )


def _shown(transition: Transition) -> tuple[Any, ...]:
    return transition.observations.reshape(-1, CELLS), *transition.infos.values()
