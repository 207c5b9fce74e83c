"""Monte Carlo tree search: a policy that takes wins and never loses."""

from functools import cache

import numpy as np
import pytest

from baselines.evaluation.policies import against, policy_of
from baselines.search import mcts
from baselines.search.mcts import MCTSAgent
from tile_envs.base import random_stream
from tile_envs.tictactoe import TicTacToe
from tile_envs.tictactoe.positions import X, solve

GAME = TicTacToe()
KNOWN = solve()
CODES = np.flatnonzero(KNOWN.reachable & ~KNOWN.over)
BOARDS = KNOWN.views[KNOWN.to_move[CODES], CODES]
KEPT = {"playouts": 4000, "kept": True}
PUBLISHED = {"X": 0.818, "O": 0.635}


@cache
def actions(**options):
    return MCTSAgent(GAME, **options).predict(BOARDS)[0]


@pytest.mark.parametrize("options", [{}, KEPT], ids=["searching", "kept"])
def test_moves_depend_on_the_seed_and_not_on_what_was_asked_before_or_beside(options):
    agent = MCTSAgent(GAME, **options)
    one_by_one = [agent.predict(board)[0] for board in BOARDS[::50]]
    np.testing.assert_array_equal(one_by_one, actions(**options)[::50])
    assert (actions(**options) != actions(seed=1, **options)).any()


@pytest.mark.parametrize(
    "options", [{"playouts": 1}, {}, {"playouts": 1, "kept": True}, KEPT, {"exploration": 0}]
)
def test_moves_are_legal_and_values_are_means(options):
    assert KNOWN.masks[CODES, actions(**options)].all()
    values = MCTSAgent(GAME, **options).action_values(BOARDS)
    assert values.shape == (4520, 9)
    np.testing.assert_array_equal(np.isfinite(values), KNOWN.masks[CODES] == 1)
    assert np.abs(values[np.isfinite(values)]).max() <= 1


def test_no_boards_and_boards_of_finished_games_are_answered():
    over = KNOWN.views[X, np.flatnonzero(KNOWN.reachable & KNOWN.over)]
    for agent in (MCTSAgent(GAME), MCTSAgent(GAME, **KEPT)):
        assert not agent.predict(over)[0].any()
        assert (agent.action_values(over) == -np.inf).all()
        assert agent.predict(BOARDS[:0])[0].shape == (0,)
        answer, state = agent.predict(BOARDS[:2], state="kept")
        assert (answer.dtype, state) == (np.int64, "kept")


def test_mirrored_boards_have_mirrored_values():
    agent, some = MCTSAgent(GAME), BOARDS[::20]
    mirrored = agent.action_values(some[:, :, ::-1]).reshape(-1, 3, 3)[:, :, ::-1]
    np.testing.assert_array_equal(mirrored.reshape(-1, 9), agent.action_values(some))


def test_where_the_kept_tree_tried_nothing_moves_are_drawn():
    """After one playout it knows one line of play, and everywhere else any cell may come."""
    first_free = KNOWN.masks[CODES].argmax(axis=1)
    drawn = actions(playouts=1, kept=True)
    assert 0.2 < (drawn == first_free).mean() < 0.5
    assert len(np.unique(drawn)) == 9


@pytest.mark.parametrize("root", [0, 5, 3**8])
def test_the_compiled_playouts_are_the_written_ones(root):
    words = random_stream.mix(random_stream.ahead(np.uint64(root), 150))
    slow, fast = np.zeros((2, 2, 3**9), np.int64)
    mcts.play_out(root, words, 2.0, slow, mcts.merged()[1])
    mcts.compiled()(root, words, 2.0, fast, mcts.merged()[1])
    np.testing.assert_array_equal(slow, fast)
    assert fast[0][root] == 150


@pytest.mark.parametrize("options", [{}, KEPT], ids=["searching", "kept"])
@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 6))]
)
def test_it_never_loses_and_wins_as_often_as_published(seed, options):
    agent = MCTSAgent(GAME, seed, **options)
    for side, wins in PUBLISHED.items():
        results = against(policy_of(agent, side), side)
        assert results.win >= wins
        assert results.worst == 0
