"""The rules beside OpenSpiel's, an independent implementation, and our agents against its bots."""

import sys
from functools import cache

import numpy as np
import pytest

pytest.importorskip("pyspiel", reason="needs tile-envs[openspiel]")

import pyspiel
from open_spiel.python.algorithms.minimax import alpha_beta_search
from snippets import run_snippet

from baselines.agents import GreedyAgent, RandomAgent
from baselines.evaluation.sampled import play
from baselines.search.minimax import MinimaxAgent
from baselines.tabular.qtable import QTable
from baselines.training.run import default_options
from tile_envs.plug.openspiel import GAMES, AgentBot, observation
from tile_envs.sliding.rules import DOWN, LEFT, RIGHT, UP
from tile_envs.tictactoe.positions import encode_seen, solve

pytestmark = pytest.mark.slow

TICTACTOE, SLIDING = GAMES["tic_tac_toe"], GAMES["2048"]
ENDLESS = {"max_tile": 262144}
"""No board has room for this tile, so that the game ends when no move is left."""
POSITIONS = 10_000
AHEAD = {UP: (-1, 0), RIGHT: (0, 1), DOWN: (1, 0), LEFT: (0, -1)}


def drawn(state, rng):
    """Let a chance node draw."""
    outcomes, probabilities = zip(*state.chance_outcomes(), strict=True)
    state.apply_action(int(rng.choice(outcomes, p=probabilities)))


def positions(game):
    """Return all states of tic-tac-toe, by our codes."""
    found, waiting = {}, [game.new_initial_state()]
    while waiting:
        state = waiting.pop()
        code = int(encode_seen(observation(state)[None])[0])
        if code not in found:
            found[code] = state
            waiting += [state.child(action) for action in state.legal_actions()]
    return found


def test_tictactoe_is_the_same_game_in_every_position():
    known, states = solve(), positions(pyspiel.load_game("tic_tac_toe"))
    assert sorted(states) == np.flatnonzero(known.reachable).tolist()
    for code, state in states.items():
        board = observation(state)[None]
        afterstates, rewards, (mask,) = TICTACTOE.afterstates(board)
        assert state.is_terminal() == known.over[code]
        assert state.legal_actions() == np.flatnonzero(mask).tolist()
        assert state.returns() == [known.winner[code], -known.winner[code]]
        if not state.is_terminal():
            assert state.current_player() == (0 if known.to_move[code] == 1 else 1)
        for action in state.legal_actions():
            child = state.child(action)
            assert np.array_equal(observation(child), -afterstates[0, action])
            assert child.player_reward(state.current_player()) == rewards[0, action]


def test_tictactoe_has_the_same_values():
    game, known = pyspiel.load_game("tic_tac_toe"), solve()
    for code, state in positions(game).items():
        value, _ = alpha_beta_search(game, state, maximizing_player_id=0)
        assert value == known.value[code]


def states_2048(rng, greedy):
    """Yield states before moves, each with the board and action before it, and final ones."""
    game, agent = pyspiel.load_game("2048", ENDLESS), GreedyAgent(SLIDING, seed=0)
    while True:
        state, before = game.new_initial_state(), None
        while not state.is_terminal():
            if state.is_chance_node():
                drawn(state, rng)
                continue
            yield state, before
            board = observation(state)
            legal = np.flatnonzero(SLIDING.legal_actions(board[None])[0])
            action = int(agent.predict(board)[0] if greedy else rng.choice(legal))
            before = board, action
            state.apply_action(action)
        yield state, before


def just_merged(board, action):
    """Return the cells, `(4, 4) bool`, of tiles that a move has merged."""
    turned = {LEFT: 0, UP: 1, RIGHT: 2, DOWN: 3}[action]
    merged = np.zeros((4, 4), bool)
    for line, marks in zip(np.rot90(board, turned), np.rot90(merged, turned), strict=True):
        tiles, cell = [tile for tile in line if tile], 0
        while tiles:
            marks[cell] = tiles[0] in tiles[1:2]
            del tiles[: 2 if marks[cell] else 1]
            cell += 1
    return merged


def listed_by_openspiel(board, before):
    """Return the actions that slide a tile, or merge one into a tile that has not just merged."""
    merged = just_merged(*before) if before else np.zeros((4, 4), bool)
    actions = []
    for action, (down, right) in AHEAD.items():
        for row, column in np.argwhere(board):
            next_row, next_column = row + down, column + right
            if not (0 <= next_row < 4 and 0 <= next_column < 4):
                continue
            next_tile = board[next_row, next_column]
            free = next_tile == board[row, column] and not merged[next_row, next_column]
            if not next_tile or free:
                actions.append(action)
                break
    return actions


@pytest.mark.parametrize("greedy", [False, True], ids=["random play", "greedy play"])
def test_2048_has_the_same_moves_rewards_and_ends(greedy):
    """Every action in every state; `legal_actions` differs in one way only."""
    found = states_2048(np.random.default_rng(0), greedy)
    less, ends, tiles = 0, 0, set()
    for state, before in (next(found) for _ in range(POSITIONS)):
        board = observation(state)
        afterstates, rewards, masks = (values[0] for values in SLIDING.afterstates(board[None]))
        legal = np.flatnonzero(masks).tolist()
        ends += state.is_terminal()
        tiles |= {*board.ravel().tolist()}
        assert state.is_terminal() == (not legal)
        if state.is_terminal():
            continue
        assert state.legal_actions() == listed_by_openspiel(board, before)
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
    found = states_2048(np.random.default_rng(1), greedy=False)
    chances = [pyspiel.load_game("2048", ENDLESS).new_initial_state()]
    assert chances[0].is_chance_node()
    chances += [chances[0].child(action) for action in chances[0].legal_actions()]
    assert all(state.is_chance_node() for state in chances)  # a game starts with two tiles
    while len(chances) < POSITIONS // 10:
        state, _ = next(found)
        chances += [state.child(action) for action in state.legal_actions()]
    for state in chances:
        ours = SLIDING.replies(observation(state)[None])
        expected = {
            board.tobytes(): probability
            for board, probability in zip(ours.boards, ours.probabilities, strict=True)
        }
        theirs = {
            observation(state.child(outcome)).tobytes(): probability
            for outcome, probability in state.chance_outcomes()
        }
        assert theirs == pytest.approx(expected, abs=1e-12)


def test_openspiels_2048_ends_when_a_tile_shows_max_tile():
    rng = np.random.default_rng(0)
    state = pyspiel.load_game("2048", {"max_tile": 64}).new_initial_state()
    while not state.is_terminal():
        assert observation(state).max() < 6
        if state.is_chance_node():
            drawn(state, rng)
        else:
            state.apply_action(int(rng.choice(state.legal_actions())))
    assert observation(state).max() == 6
    assert SLIDING.legal_actions(observation(state)[None]).any()
    assert pyspiel.load_game("2048").get_parameters() == {"max_tile": 2048}
    assert pyspiel.load_game("2048").max_game_length() == 4 * 2048


class AlphaBetaBot(pyspiel.Bot):
    """OpenSpiel's own search, to the end of the game."""

    def step(self, state):
        """Return the best action."""
        player = state.current_player()
        return alpha_beta_search(state.get_game(), state, maximizing_player_id=player)[1]


def mcts_bot(player, seed):
    game, evaluator = pyspiel.load_game("tic_tac_toe"), pyspiel.RandomRolloutEvaluator(1, seed)
    return pyspiel.MCTSBot(game, evaluator, 2.0, 100, 10, True, seed, False)


BOTS = {
    "alpha-beta": lambda player, seed: AlphaBetaBot(),
    "MCTS": mcts_bot,
    "random": pyspiel.make_uniform_random_bot,
}
"""Made for a player and a seed; the random bot crashes if it moves for another player."""


@cache
def trained():
    learner = QTable(TICTACTOE, 0, default_options("qtable", "TicTacToe-v0").settings, ("X", "O"))
    for _ in range(300):
        learner.learn()
    return learner


AGENTS = {"minimax": lambda: MinimaxAgent(TICTACTOE, seed=0), "qtable": trained}


def results(ours, make, seat, games):
    """Return our results in games of tic-tac-toe against bots."""
    start = pyspiel.load_game("tic_tac_toe").new_initial_state()
    returns = []
    for seed in range(games):
        bots = [ours if player == seat else make(player, seed) for player in (0, 1)]
        returns.append(pyspiel.evaluate_bots(start.clone(), bots, seed)[seat])
    return returns


@pytest.mark.parametrize("seat", [0, 1])
@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize("bot", BOTS)
def test_our_agents_never_lose_to_openspiels_bots(agent, bot, seat):
    found = results(AgentBot(AGENTS[agent]()), BOTS[bot], seat, 300 if bot == "random" else 40)
    assert min(found) >= 0
    if bot == "alpha-beta":
        assert set(found) == {0}
    if bot == "random":
        assert np.mean(found) > (0.85, 0.65)[seat]


@pytest.mark.parametrize("agent", [GreedyAgent, RandomAgent])
def test_scores_in_openspiels_2048_are_those_in_ours(agent):
    """The means differ by less than four standard errors of their difference."""
    games, rng = 300, np.random.default_rng(0)
    bot, game = AgentBot(agent(SLIDING, seed=1)), pyspiel.load_game("2048", ENDLESS)
    theirs = []
    for _ in range(games):
        state = game.new_initial_state()
        while not state.is_terminal():
            if state.is_chance_node():
                drawn(state, rng)
            else:
                state.apply_action(bot.step(state))
        theirs.append(state.returns()[0])
    ours = play(agent(SLIDING, seed=2), "Tiles2048-v0", episodes=10 * games).returns
    error = np.sqrt(np.var(theirs) / len(theirs) + np.var(ours) / len(ours))
    assert abs(np.mean(theirs) - ours.mean()) < 4 * error
    assert error < 0.05 * ours.mean()


def test_an_illegal_action_of_an_agent_is_refused():
    class First:
        def predict(self, observation):
            return np.zeros(len(observation), int)

    state = pyspiel.load_game("tic_tac_toe").new_initial_state()
    state.apply_action(AgentBot(First()).step(state))
    with pytest.raises(ValueError, match=r"First played 0, which is illegal on \[\[-1, 0, 0\]"):
        AgentBot(First()).step(state)


def test_states_of_other_games_are_refused():
    state = pyspiel.load_game("connect_four").new_initial_state()
    message = "the game of an OpenSpiel state must be one of 'tic_tac_toe', '2048', got 'connect_"
    with pytest.raises(ValueError, match=message):
        AgentBot(RandomAgent(TICTACTOE)).step(state)


def test_the_snippet_plays_a_game():
    played = run_snippet("OpenSpiel")
    assert played["returns"][0] >= 0


def test_a_missing_openspiel_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyspiel", None)
    monkeypatch.delitem(sys.modules, "tile_envs.plug.openspiel")
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'tile-envs\[openspiel\]'"):
        import tile_envs.plug.openspiel  # noqa: F401
