"""A person against an agent of tic-tac-toe."""

import os

import numpy as np
from commands import refused, typed

from baselines.commands.play import episode_of, hints_of
from baselines.players import open_player
from baselines.tabular.value_table import ValueTable, ValueTableSettings
from tile_envs.games import make
from tile_envs.replay import Playthrough
from tile_envs.tictactoe import TicTacToe
from tile_envs.tictactoe.positions import O, X


def game_against(opponent, side, cells):
    game = Playthrough(make("TicTacToe-v0", {"opponent": opponent, "side": side}), seed=0)
    for cell in cells:
        game.play(cell)
    return game


def test_a_lost_game_is_seen_from_the_agents_side():
    """The person is X and wins with 0, 4, 8 against an agent that plays the first best cells."""

    class Fixed:
        cells = iter([1, 2])

        def predict(self, observation, state=None, episode_start=None, deterministic=True):
            return np.array([next(self.cells)]), state

    episode = episode_of(game_against(Fixed(), "X", [0, 4, 8]), mark=O)
    assert episode.actions.ravel().tolist() == [1, 2]
    assert episode.rewards.ravel().tolist() == [0, -1]
    assert episode.playing.all()
    assert episode.observations[0, 0].tolist() == [[-1, 0, 0], [0, 0, 0], [0, 0, 0]]
    assert episode.observations[1, 0].tolist() == [[-1, 1, 0], [0, -1, 0], [0, 0, 0]]


def test_the_agents_opening_belongs_to_its_game():
    episode = episode_of(game_against("minimax_first", "O", [4, 2]), mark=X)
    assert not episode.observations[0].any()
    assert len(episode.actions) == 3


def test_an_agent_learns_from_the_person():
    agent = ValueTable(TicTacToe(), 0, ValueTableSettings(step_size=0.5))
    game = game_against("minimax_first", "O", [4])
    while not game.position.over:
        game.play(int(game.position.info["action_mask"].argmax()))
    before = agent.state_dict()["v"]
    agent.learn_from(episode_of(game, mark=X))
    assert (agent.state_dict()["v"] != before).any()
    assert agent.games == 1


def test_values_stand_below_the_board():
    opponent = open_player("minimax", "TicTacToe-v0")
    lines = hints_of(opponent)(Playthrough(make("TicTacToe-v0", {}), seed=0).position)
    assert "4 0.111" in lines[2]


def test_a_copy_learns_from_nobody_and_a_run_is_read_under_its_lock(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    typed("train", "qtable", "--games", 10, "--n-envs", 10, "--out", "q")
    typed("export", "q", "--out", "copy", "--episodes", 1)
    assert "copy was exported" in refused("play", "--against", "copy", "--learn")
    locked = []

    def seen(folder, *_, **__):
        locked.append((tmp_path / folder / "lock").exists())
        return open_player(folder, "TicTacToe-v0")

    monkeypatch.setattr("baselines.commands.play.open_player", seen)
    monkeypatch.setattr(os, "isatty", lambda _: False)
    assert "this needs a terminal" in refused("play", "--against", "q", "--learn")
    assert locked == [True]
