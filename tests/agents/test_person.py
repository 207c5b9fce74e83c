"""A person plays: against an agent of tic-tac-toe, which may learn from it, or with hints."""

import os
from contextlib import nullcontext
from types import SimpleNamespace

from commands import refused, typed
from players import Script

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
    cells = iter([1, 2])
    opponent = SimpleNamespace(predict=lambda observation: [next(cells)])
    episode = episode_of(game_against(opponent, "X", [0, 4, 8]), mark=O)
    assert episode.actions.ravel().tolist() == [1, 2]
    assert episode.rewards.ravel().tolist() == [0, -1]
    assert episode.observations[0, 0].tolist() == [[-1, 0, 0], [0, 0, 0], [0, 0, 0]]
    assert episode.observations[1, 0].tolist() == [[-1, 1, 0], [0, -1, 0], [0, 0, 0]]


def test_an_agent_learns_from_the_person_a_game_that_it_opens():
    agent = ValueTable(TicTacToe(), 0, ValueTableSettings(step_size=0.5))
    game = game_against("minimax_first", "O", [4, 2])
    assert len(episode_of(game, mark=X).actions) == 3
    while not game.position.over:
        game.play(int(game.position.info["action_mask"].argmax()))
    before, episode = agent.state_dict()["v"], episode_of(game, mark=X)
    assert not episode.observations[0].any()
    agent.learn_from(episode)
    assert (agent.state_dict()["v"] != before).any()
    assert agent.games == 1


def test_a_person_sees_values_below_the_board(monkeypatch):
    lines = hints_of(open_player("minimax", "TicTacToe-v0"))
    assert "4 0.111" in lines(game_against("random", "X", []).position)[2]
    script = Script("q")
    monkeypatch.setattr("baselines.commands.play.open_screen", lambda *_: nullcontext(script))
    typed("play", "--hints", "optimal", "--env-kwargs", '{"shape": [2, 3]}')
    assert script.views[0].lines[1].startswith("optimal, value: ")


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
