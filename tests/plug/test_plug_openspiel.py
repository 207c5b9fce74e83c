"""The rules beside OpenSpiel's, an independent implementation, and our agents against its bots."""

from itertools import islice

import numpy as np
import pytest

pytest.importorskip("pyspiel", reason="needs tile-envs[openspiel]")

import pyspiel

from baselines.agents import GreedyAgent
from benchmarks.libraries import openspiel as program
from tile_envs.plug.openspiel import GAMES, observation
from tile_envs.tictactoe.positions import encode_seen, solve

pytestmark = pytest.mark.slow

TICTACTOE, SLIDING = GAMES["tic_tac_toe"], GAMES["2048"]
POSITIONS = 10_000
ENDLESS = {"max_tile": 262144}  # 2048 ends only when no move is left


def draw(state, rng):
    """Let a chance node draw."""
    outcomes, probabilities = zip(*state.chance_outcomes(), strict=True)
    state.apply_action(int(rng.choice(outcomes, p=probabilities)))


def positions(game):
    """Return all states of tic-tac-toe, by our codes."""
    states, waiting = {}, [game.new_initial_state()]
    while waiting:
        state = waiting.pop()
        code = int(encode_seen(observation(state)[None])[0])
        if code not in states:
            states[code] = state
            waiting += [state.child(action) for action in state.legal_actions()]
    return states


def test_tictactoe_is_the_same_game_in_every_position():
    solution, states = solve(), positions(pyspiel.load_game("tic_tac_toe"))
    assert sorted(states) == np.flatnonzero(solution.reachable).tolist()
    for code, state in states.items():
        board = observation(state)[None]
        afterstates, rewards, (mask,) = TICTACTOE.afterstates(board)
        assert state.is_terminal() == solution.over[code]
        assert state.legal_actions() == np.flatnonzero(mask).tolist()
        assert state.returns() == [solution.winner[code], -solution.winner[code]]
        if not state.is_terminal():
            assert state.current_player() == (0 if solution.to_move[code] == 1 else 1)
        for action in state.legal_actions():
            child = state.child(action)
            assert np.array_equal(observation(child), -afterstates[0, action])
            assert child.player_reward(state.current_player()) == rewards[0, action]


def states_2048(rng, greedy):
    """Yield states before moves, and final ones."""
    game, agent = pyspiel.load_game("2048", ENDLESS), GreedyAgent(SLIDING, seed=0)
    while True:
        state = game.new_initial_state()
        while not state.is_terminal():
            if state.is_chance_node():
                draw(state, rng)
                continue
            yield state
            board = observation(state)
            legal = np.flatnonzero(SLIDING.legal_actions(board[None])[0])
            action = int(agent.predict(board)[0] if greedy else rng.choice(legal))
            state.apply_action(action)
        yield state


@pytest.mark.parametrize("greedy", [False, True], ids=["random play", "greedy play"])
def test_2048_has_the_same_moves_rewards_and_ends(greedy):
    """Every action in every state; their `legal_actions` leaves some of them out."""
    states = states_2048(np.random.default_rng(0), greedy)
    less, ends, tiles = 0, 0, set()
    for state in islice(states, POSITIONS):
        board = observation(state)
        afterstates, rewards, masks = (values[0] for values in SLIDING.afterstates(board[None]))
        legal = np.flatnonzero(masks).tolist()
        ends += state.is_terminal()
        tiles |= {*board.ravel().tolist()}
        assert state.is_terminal() == (not legal)
        if state.is_terminal():
            continue
        assert {*state.legal_actions()} <= {*legal}
        less += state.legal_actions() != legal
        for action in range(4):
            child = state.clone()
            child.apply_action(action)
            assert np.array_equal(observation(child), afterstates[action])
            assert child.rewards() == [rewards[action]]
            assert child.is_chance_node() == (action in legal)
            if action not in legal:  # it forgets then what has just merged
                assert child.legal_actions() == legal
    assert 0.02 < less / POSITIONS < 0.12
    assert ends > 10
    assert tiles >= {*range(9)}


def test_2048_has_the_same_new_tiles():
    """Each tile on each empty cell, with the same probability, also at the start."""
    states = states_2048(np.random.default_rng(1), greedy=False)
    chances = [pyspiel.load_game("2048", ENDLESS).new_initial_state()]
    assert chances[0].is_chance_node()
    chances += [chances[0].child(action) for action in chances[0].legal_actions()]
    assert all(state.is_chance_node() for state in chances)  # a game starts with two tiles
    while len(chances) < POSITIONS // 10:
        state = next(states)
        chances += [state.child(action) for action in state.legal_actions()]
    for state in chances:
        ours = SLIDING.replies(observation(state)[None])
        boards = [board.tobytes() for board in ours.boards]
        expected = dict(zip(boards, ours.probabilities, strict=True))
        outcomes = state.chance_outcomes()
        theirs = {observation(state.child(o)).tobytes(): chance for o, chance in outcomes}
        assert theirs == pytest.approx(expected, abs=1e-12)


def test_the_program_shows_that_minimax_never_loses_to_their_search():
    assert program.results("minimax", episodes=40).min() >= 0 > program.results("random", 40).mean()
