"""Watching and playing: the game that is judged, values of moves, films, learning from a person."""

import os
import re
import signal
from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np
import pytest
from commands import command, refused, typed
from PIL import Image
from players import Script

from baselines import evaluate
from baselines.commands.play import episode_of, hints_of
from baselines.commands.watch import games_of, show
from baselines.players import open_player
from baselines.tabular.value_table import ValueTable, ValueTableSettings
from baselines.viewing.film import write_film
from baselines.viewing.moves import exact_values
from tile_envs.games import make
from tile_envs.replay import Playthrough
from tile_envs.tictactoe import TicTacToe
from tile_envs.tictactoe.positions import O, X

SMALL = {"shape": [2, 3]}
ON_SMALL, LIMIT = ("--shape", 2, 3), ("--env-kwargs", '{"max_episode_steps": 7}')


def game(agent="greedy", env="Tiles2048-v0", seed=0, **options):
    (found,) = games_of(agent, seed, env=env, env_kwargs=options)
    return found


def test_the_game_that_is_shown_is_the_first_one_that_is_evaluated():
    played = game(seed=3, **SMALL).play_on()
    row = evaluate("greedy", "Tiles2048-v0", SMALL, episodes=1, seed=3)
    assert (played.position.total, played.position.over) == (row["mean"], True)


def test_perfect_play_of_tic_tac_toe_is_known():
    values = exact_values(TicTacToe())
    boards = np.zeros((1, 3, 3), np.int8)
    assert values(boards).tolist() == [[0.0] * 9]
    # X threatens to win by 2, and O, to move, by 5: both see themselves as 1.
    boards[0] = [[1, 1, 0], [-1, -1, 0], [0, 0, 0]]
    assert (values(boards)[0, 2], values(boards)[0, 8]) == (1, -1)


def test_values_leave_out_illegal_actions_and_ended_games():
    watched = game("optimal", shape=[2, 2])
    playthrough, values = watched.playthrough, watched.values
    while not playthrough.position.over:
        agents, exact = values.of(playthrough.position).values()
        mask = playthrough.position.info["action_mask"].astype(bool)
        assert np.array_equal(np.isfinite(agents), mask)
        assert np.array_equal(agents, exact, equal_nan=True)
        playthrough.play(int(np.nanargmax(agents)))
    assert values.of(playthrough.position) == {}


def showing(monkeypatch, games, *keys):
    """Show games to somebody who types keys; return what is seen."""
    script = Script(*keys)
    monkeypatch.setattr("baselines.commands.watch.open_screen", lambda *_: nullcontext(script))
    show(games, 1000.0, window=False)
    return script.views


def test_a_game_is_shown_with_what_the_agent_thinks(monkeypatch):
    views = showing(monkeypatch, [game("random", **SMALL)], None, None, "left", "q")
    assert [view.lines[0].split(" ·")[0][-1] for view in views] == [*"0121"]
    marked = [re.search(r"\[(\w+) ", view.lines[1])[1] for view in views]
    assert marked[3] == marked[1]  # the move that follows, after going back, too
    assert "exact, expected score" in views[0].lines[2]


def test_films_and_pages_of_a_folder_of_games_are_written(tmp_path, monkeypatch):
    typed("record", "greedy", *LIMIT, "--out", tmp_path / "games", "--episodes", 2)
    found = games_of(str(tmp_path / "games"))
    assert len(showing(monkeypatch, found, "n", "n", "q")) == 3
    out = {suffix: tmp_path / f"x.{suffix}" for suffix in ("gif", "mp4", "html")}
    files = [word for suffix, path in out.items() for word in (f"--{suffix}", path)]
    typed("watch", tmp_path / "games", *files)
    with Image.open(out["gif"]) as film:
        assert film.n_frames == 16
    assert out["mp4"].read_bytes()[4:8] == b"ftyp"
    assert sorted(tmp_path.iterdir()) == sorted([*out.values(), tmp_path / "games"])
    write_film(found, tmp_path / "x.gif", 10.0, frames=6)
    with Image.open(tmp_path / "x.gif") as film:
        assert film.n_frames == 6


@pytest.mark.parametrize("words", [["watch", "greedy"], ["play", "--hints", "optimal"]])
@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 0), (signal.SIGTERM, 143)])
def test_ctrl_c_leaves_and_sigterm_ends_the_command(words, number, status, monkeypatch):
    screen = SimpleNamespace(draw=lambda view: None, key=lambda *_: signal.raise_signal(number))
    opening = f"baselines.commands.{words[0]}.open_screen"
    monkeypatch.setattr(opening, lambda *_: nullcontext(screen))
    assert command(*words, *ON_SMALL).returncode == status


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
    while not game.position.over:
        game.play(int(game.position.info["action_mask"].argmax()))
    before, episode = agent.state_dict()["v"], episode_of(game, mark=X)
    assert not episode.observations[0].any()
    agent.learn_from(episode)
    assert ((agent.state_dict()["v"] != before).any(), agent.games) == (True, 1)


def test_a_person_is_told_values_and_teaches_a_run_under_its_lock(tmp_path, monkeypatch):
    lines = hints_of(open_player("minimax", "TicTacToe-v0"))
    assert "4 0.111" in lines(game_against("random", "X", []).position)[2]
    monkeypatch.chdir(tmp_path)
    typed("train", "qtable", "--games", 10, "--n-envs", 10, "--out", "q")
    typed("export", "q", "--out", "copy", "--games", 1)
    assert "copy was exported" in refused("play", "--against", "copy", "--learn")
    locked = []

    def seen(folder, *_, **__):
        locked.append((tmp_path / folder / "lock").exists())
        return open_player(folder, "TicTacToe-v0")

    monkeypatch.setattr("baselines.commands.play.open_player", seen)
    monkeypatch.setattr(os, "isatty", lambda _: False)
    assert "this needs a terminal" in refused("play", "--against", "q", "--learn")
    assert locked == [True]
