"""Tic-tac-toe: counts, perfect play and exact pairings over the whole tree."""

from copy import deepcopy
from functools import cache
from itertools import product
from types import SimpleNamespace

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import data_equivalence
from scipy.stats import chisquare

import tile_envs  # noqa: F401
from tile_envs.tictactoe import TicTacToe, transitions
from tile_envs.tictactoe.game import NAMED
from tile_envs.tictactoe.positions import DIGITS, POWERS, WINNING_LINES, O, X, encode, solve

POSITIONS = solve()
MIXTURE = {"minimax": 0.8, "random": 0.2}


def moves(code):
    """Return the positions that a player can move to, by the rules spelled out."""
    cells = [code // 3**i % 3 for i in range(9)]
    if any(cells[a] and cells[a] == cells[b] == cells[c] for a, b, c in WINNING_LINES):
        return []
    mark = 1 if cells.count(1) == cells.count(2) else 2
    return [code + mark * 3**i for i in range(9) if not cells[i]]


def test_there_are_5478_positions_and_255168_games_as_the_rules_spell_them_out():
    @cache
    def games(code):
        assert len(moves(code)) == POSITIONS.masks[code].sum()
        assert POSITIONS.over[code] == (not moves(code))
        seen.add(code)
        return sum(map(games, moves(code))) or 1

    seen = set()
    assert games(0) == 255_168
    assert len(seen) == 5478
    assert set(np.flatnonzero(POSITIONS.reachable)) == seen


def test_there_are_765_positions_up_to_symmetry():
    boards, (images, _) = POSITIONS.marks[POSITIONS.reachable], TicTacToe().symmetries
    codes = [encode(boards.reshape(-1, 9)[:, image].reshape(-1, 3, 3)) for image in images]
    assert len(np.unique(np.min(codes, axis=0))) == 765


@cache
def outcomes(x, o):
    """Return the percentages of X wins, draws and O wins of named players."""

    @cache
    def walk(code):
        if POSITIONS.over[code]:
            return np.eye(3)[1 - POSITIONS.winner[code]]
        mover = POSITIONS.to_move[code]
        cells = NAMED[x if mover == X else o]()[code]
        chosen = [cell for cell in range(9) if cells >> cell & 1]
        return np.mean([walk(int(code + DIGITS[mover] * POWERS[c])) for c in chosen], axis=0)

    return 100 * walk(0)


PAIRINGS = {
    ("random", "random"): (58.492, 12.698, 28.810),
    ("minimax", "random"): (96.781, 3.219, 0),
    ("random", "minimax"): (0, 22.252, 77.748),
    ("minimax_first", "random"): (99.479, 0.521, 0),
    ("random", "minimax_first"): (0, 19.365, 80.635),
    **dict.fromkeys(product(("minimax", "minimax_first"), repeat=2), (0, 100, 0)),
}


@pytest.mark.parametrize("players", PAIRINGS)
def test_pairings_are_exact(players):
    assert outcomes(*players) == pytest.approx(PAIRINGS[players], abs=0.0005)


def test_a_random_side_is_a_fair_coin(engine):
    envs = gym.make_vec("TicTacToe-v0", num_envs=10_000, side="random", engine=engine)
    _, infos = envs.reset(seed=0)
    assert chisquare(np.unique(infos["to_play"], return_counts=True)[1]).pvalue > 1e-4


def test_for_both_sides_each_step_is_one_ply_seen_by_the_player_to_move():
    env = gym.make("TicTacToe-v0", side="both")
    _, info = env.reset(seed=0)
    for cell, mark in zip((0, 3, 1, 4), (X, O, X, O), strict=True):
        assert info["to_play"] == mark
        _, reward, terminated, _, info = env.step(cell)
        assert (reward, terminated, info["winner"]) == (0, False, 0)
    observation, reward, terminated, _, info = env.step(2)
    assert (reward, terminated, info["winner"], info["to_play"]) == (1, True, X, O)
    assert observation.tolist() == [[-1, -1, -1], [1, 1, 0], [0, 0, 0]]
    assert not info["action_mask"].any()


def test_a_start_board_lets_the_opponent_move_when_it_is_its_turn():
    env = gym.make("TicTacToe-v0", opponent="minimax_first", side="O")
    observation, _ = env.reset(seed=0, options={"board": [[1, -1, 0], [0, 1, 0], [-1, 0, 0]]})
    assert (observation == -1).sum() == 3
    observation, _ = env.reset(seed=0, options={"board": [[1, 0, 0], [0, 0, 0], [0, 0, 0]]})
    assert observation.tolist() == [[-1, 0, 0], [0, 0, 0], [0, 0, 0]]


class FirstFree:
    """An agent that users might bring, which may fail to begin a game."""

    failing = False

    def predict(self, observation, state=None, episode_start=None, deterministic=True):
        if self.failing and not observation.any(axis=(1, 2)).all():
            raise RuntimeError
        self.seen = observation
        return (observation.reshape(len(observation), 9) == 0).argmax(axis=1), state


def test_any_agent_with_predict_can_be_the_opponent():
    opponent = FirstFree()
    env = gym.make("TicTacToe-v0", opponent=opponent, side="X")
    env.reset(seed=0)
    observation, *_ = env.step(4)
    assert opponent.seen.tolist() == [[[0, 0, 0], [0, -1, 0], [0, 0, 0]]]
    assert observation.tolist() == [[-1, 0, 0], [0, 1, 0], [0, 0, 0]]


@pytest.mark.parametrize("make", [gym.make, gym.make_vec])
@pytest.mark.parametrize("answer", [[4], [9], "hello"])
def test_an_unusable_answer_of_an_opponent_changes_nothing_and_begins_no_game(make, answer):
    env = make("TicTacToe-v0", opponent=SimpleNamespace(predict=lambda observation: answer))
    env.reset(seed=0)
    before = env.unwrapped.get_state()
    with pytest.raises(ValueError, match=f"opponent SimpleNamespace .*{answer[-1]}"):
        env.step(4 if make is gym.make else [4])
    assert data_equivalence(env.unwrapped.get_state(), before, exact=True)
    opponent = SimpleNamespace(predict=lambda observation: [9])
    env = make("TicTacToe-v0", opponent=opponent, side="O")
    with pytest.raises(ValueError, match="got 9"):
        env.reset(seed=0)
    with pytest.raises(ResetNeeded):
        env.unwrapped.step(0 if make is gym.make else [0])


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
def test_a_step_in_which_no_game_can_begin_changes_nothing_and_can_be_played_again(mode):
    opponent, failed = FirstFree(), False
    envs = gym.make_vec("TicTacToe-v0", 2, opponent=opponent, side="O", autoreset_mode=mode)
    envs.reset(seed=0)
    for _ in range(20):
        twin, actions = deepcopy(envs), envs.action_masks().argmax(axis=1)
        expected = twin.step(actions)
        if (expected[2] if mode == "SameStep" else envs.ended).any():
            opponent.failing = failed = True
            with pytest.raises(RuntimeError):
                envs.step(actions)
            opponent.failing = False
        assert data_equivalence(envs.step(actions), expected, exact=True)
    assert failed


@pytest.mark.parametrize("side", ["X", "O", "random", "both"])
@pytest.mark.parametrize("opponent", ["random", "minimax_first", MIXTURE])
def test_transitions_are_what_the_environment_plays(opponent, side):
    table, rng = transitions(opponent, side), np.random.default_rng(0)
    env = gym.make("TicTacToe-v0", opponent=opponent, side=side).unwrapped
    for seed in range(30):
        (_, info), terminated = env.reset(seed=seed), False
        state = int(encode(env.get_state()["board"]))
        while not terminated:
            legal = np.flatnonzero(info["action_mask"]).tolist()
            assert list(table[state]) == legal
            action = int(rng.choice(legal))
            shares = {found[1:]: found[0] for found in table[state][action]}
            assert sum(shares.values()) == pytest.approx(1)
            _, reward, terminated, _, info = env.step(action)
            assert side == "both" or reward == info["winner"] * info["to_play"]
            assert info["to_play"] == {"X": X, "O": O}.get(side, info["to_play"])
            state = int(encode(env.get_state()["board"]))
            assert shares[state, reward, terminated] > 0
        assert table[state] == {}
