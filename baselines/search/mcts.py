"""Monte Carlo tree search for tic-tac-toe: UCT, with random games to evaluate new positions.

From the position that is searched, a playout follows, move by move, the one with the highest

    mean result for the mover + exploration * sqrt(ln(visits of the position) / visits of the move),

until there are untried moves; it draws one of them, and then all moves to the end of the game.
Every position on the way counts the result.  (Kocsis and Szepesvári, "Bandit based Monte-Carlo
planning", ECML 2006; Browne et al., "A survey of Monte Carlo tree search methods", IEEE TCIAIG
2012, section 3.3 and algorithm 2.)  Deviations from algorithm 2:

1. Positions that are the same, mirrored or turned are one node, whatever moves led there.  So the
   "tree" is tables by position, and a move has the visits and results of the node it leads to.
2. A playout adds all its positions, and the move with the best mean is played, as with 1 in the
   published tree of 4,000 playouts (`kept`; Nested Software, "Tic-Tac-Toe with a Neural Network",
   2019, https://dev.to/nestedsoftware/tic-tac-toe-with-a-neural-network-1fjn), where draws win.
3. Results are 1, 0 and -1 instead of 1 to 0, so `exploration` is twice the usual constant.
4. Each search has a random stream of its own and starts from an empty tree: the agent is a policy.
5. One random word makes all draws of a playout, at most 9! orders cut out of 64 bits.
"""

import math
from functools import cache
from typing import Any

import numpy as np

from baselines.agents import ValueAgent
from baselines.tabular.boards import BoardCodes
from tile_envs.base import random_stream, sets
from tile_envs.base.checks import as_number, checked_count, checked_seed
from tile_envs.base.random_stream import Words
from tile_envs.errors import UsageError
from tile_envs.game import Floats, Game, Ints, Observations
from tile_envs.tictactoe import TicTacToe
from tile_envs.tictactoe.positions import CELLS, Positions, encode_seen, solve


class MCTSAgent(ValueAgent):
    """Searches each position anew, or plays from a tree that it grew once.

    Args:
        game: Tic-tac-toe.
        seed: The seed of the agent's own random numbers.
        playouts: The number of playouts for a move; with `kept`, for the tree.
        exploration: The weight of moves that were seldom tried.
        kept: Whether to grow one tree for both sides, on first use, and to play from it without
            further search.  Where it has tried no move, one is drawn.
    """

    def __init__(
        self,
        game: Game,
        seed: int = 0,
        playouts: int = 1000,
        exploration: float = 2.4,
        kept: bool = False,
    ) -> None:
        if not isinstance(game, TicTacToe):
            raise UsageError(f"MCTS plays TicTacToe-v0 only, not {game}.")
        weight = as_number(exploration)
        if weight is None or not 0 <= weight < math.inf:
            raise UsageError(f"exploration must be a number of at least 0, got {exploration!r}.")
        self._playouts = checked_count(playouts, "playouts")
        self._exploration, self._kept = weight, kept
        self._start = np.uint64(random_stream.start(checked_seed(seed)))
        self._tree: Ints | None = None

    def choose_actions(self, boards: Observations, deterministic: bool) -> Ints:
        """Choose the best mean; ties: moves that end the game, then the lowest index."""
        codes = encode_seen(boards)
        visits, means = self._moves(codes)
        means = np.where(visits, means, -2.0)
        ends = solve().over[merged()[1].children[codes]]
        is_best = means == means.max(axis=1, keepdims=True)
        actions: Ints = np.where(is_best & ends, 2, is_best).argmax(axis=1)
        untried = (visits == 0).all(axis=1)
        words = random_stream.mix(self._streams(codes[untried]))
        actions[untried] = sets.pick(solve().legal[codes[untried]], words)
        return actions

    def action_values(self, observations: Observations) -> Floats:
        """Return mean results for the player to move, `(n, 9)`; 0 if untried, -inf if illegal."""
        codes = encode_seen(observations)
        return np.where(solve().masks[codes], self._moves(codes)[1], -np.inf)

    def _moves(self, codes: Ints) -> tuple[Ints, Floats]:
        """Return the visits of moves, `(n, 9)`, and their mean results."""
        nodes, known = merged()
        children = known.children[codes]
        visits, totals = np.zeros((2, *children.shape), np.int64)
        roots = np.zeros_like(codes) if self._kept else nodes[codes]  # 0: the empty board
        for root in np.unique(roots):
            at, tree = roots == root, self._grow(root)
            visits[at], totals[at] = tree[:, children[at]]
        visits *= known.masks[codes]
        return visits, known.to_move[codes, None] * totals / np.maximum(visits, 1)

    def _grow(self, root: np.int64) -> Ints:
        """Return a tree, `(2, 19683)`: playouts through each position, sum of results for X."""
        if self._tree is not None:
            return self._tree
        words = random_stream.ahead(self._streams(np.array([root])), self._playouts)[:, 0]
        tree = np.zeros((2, len(solve().over)), np.int64)
        compiled()(root, random_stream.mix(words), self._exploration, tree, merged()[1])
        self._tree = tree if self._kept else None
        return tree

    def _streams(self, codes: Ints) -> Words:
        """Return the first stream positions of the searches of positions, `(n,)`."""
        steps = codes.astype(np.uint64) * np.uint64(random_stream.STRIDE)
        return random_stream.mix(self._start + steps)


def play_out(root: int, words: Words, exploration: float, tree: Ints, known: Positions) -> None:
    """Grow a tree in place, by one playout from the root, a position's code, for each word."""
    visits, totals = tree[0], tree[1]
    path = np.empty(CELLS + 1, np.int64)
    for word in words:
        code, length, in_tree = root, 1, True
        path[0] = root
        while known.legal[code]:
            cells = known.legal[code]
            if in_tree:
                untried, best, highest = 0, 0, -np.inf
                log_visits = math.log(max(visits[code], 1))
                for cell in range(CELLS):
                    if not cells >> cell & 1:
                        continue
                    child = known.children[code, cell]
                    if visits[child] == 0:
                        untried |= 1 << cell
                        continue
                    mean = known.to_move[code] * totals[child] / visits[child]
                    bound = mean + exploration * math.sqrt(log_visits / visits[child])
                    if bound > highest:
                        best, highest = cell, bound
                in_tree = untried == 0
                cells = 1 << best if in_tree else untried
            size = sets.SIZE[cells]
            code = known.children[code, sets.KTH[cells * CELLS + np.int64(word % size)]]
            word //= size
            path[length] = code
            length += 1
        for node in path[:length]:
            visits[node] += 1
            totals[node] += known.winner[code]


@cache
def compiled() -> Any:
    """Return `play_out` as machine code: compiled on its first call, kept on disk after it."""
    from tile_envs.base.compiled import compiled_loop  # importing numba takes half a second

    return compiled_loop(play_out)


@cache
def merged() -> tuple[Ints, Positions]:
    """Return the node of each position, `(19683,)`, and positions with nodes as their children.

    A node is the smallest code of a position's mirrored and turned images.
    """
    nodes, _ = BoardCodes(TicTacToe(), merge_symmetric=True).of(solve().marks)
    return nodes, solve()._replace(children=nodes[solve().children])
