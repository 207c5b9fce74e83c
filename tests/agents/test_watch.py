"""Watching: the game that is judged, what an agent thinks of it, films."""

import json
import re
import signal
from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np
import pytest
from commands import command, typed
from PIL import Image
from players import Script

from baselines import evaluate
from baselines.commands.watch import games_of, show
from baselines.viewing.film import write_film
from baselines.viewing.moves import exact_values
from tile_envs.replay import play_through, read
from tile_envs.sliding import RULES_2048, SlidingGame
from tile_envs.tictactoe import TicTacToe

SMALL = {"shape": [2, 3]}
LIMITED = {"shape": [3, 3], "max_episode_steps": 7, "engine": "numpy"}
ON_LIMITED = ("--env-kwargs", json.dumps(LIMITED))


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
    assert values(boards)[0, 2] == 1
    assert values(boards)[0, 8] == -1
    assert values(-boards)[0].tolist() != values(boards)[0].tolist()


def test_values_leave_out_illegal_actions_and_ended_games():
    assert exact_values(SlidingGame(RULES_2048)) is None
    watched = game("optimal", shape=[2, 2])
    playthrough, values = watched.playthrough, watched.values
    while not playthrough.position.over:
        found = values.of(playthrough.position)
        assert [*found] == ["optimal, value", "exact, expected score"]
        agents, exact = found.values()
        mask = playthrough.position.info["action_mask"].astype(bool)
        assert np.array_equal(np.isfinite(agents), mask)
        assert np.array_equal(agents, exact, equal_nan=True)
        playthrough.play(int(np.nanargmax(agents)))
    assert values.of(playthrough.position) == {}


def showing(monkeypatch, games, speed, *keys):
    """Show games to somebody who types keys; return the screen."""
    script = Script(*keys)
    monkeypatch.setattr("baselines.commands.watch.open_screen", lambda *_: nullcontext(script))
    show(games, speed, window=False)
    return script


def test_a_game_is_shown_with_what_the_agent_thinks(monkeypatch):
    script = showing(monkeypatch, [game("random", **SMALL)], 1000.0, None, None, "left", "q")
    places = [view.lines[0].split(" ·")[0] for view in script.views]
    assert places == ["move 0", "move 1", "move 2", "move 1"]
    marked = [re.search(r"\[(\w+) ", view.lines[1])[1] for view in script.views]
    assert marked[3] == marked[1]  # the move that follows, after going back, too
    assert "exact, expected score" in script.views[0].lines[2]


def test_films_and_pages_of_a_folder_of_games_are_written(tmp_path, monkeypatch):
    typed("record", "greedy", *ON_LIMITED, "--out", tmp_path / "games", "--episodes", 2)
    found = games_of(str(tmp_path / "games"))
    assert len(showing(monkeypatch, found, 4.0, "n", "n", "q").views) == 3
    out = {suffix: tmp_path / f"x.{suffix}" for suffix in ("gif", "mp4", "html")}
    files = [word for suffix, path in out.items() for word in (f"--{suffix}", path)]
    typed("watch", tmp_path / "games", *files)
    with Image.open(out["gif"]) as film:
        assert film.n_frames == 16
        first = np.array(film.convert("RGB"))
        film.seek(15)
        assert not np.array_equal(first, np.array(film.convert("RGB")))
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
    assert command(*words, "--shape", 2, 3).returncode == status


def test_a_time_limit_and_an_engine_are_options_of_every_command(tmp_path):
    typed("evaluate", "greedy", *ON_LIMITED, "--episodes", 5, "--out", tmp_path / "rows.json")
    (row,) = json.loads((tmp_path / "rows.json").read_text())
    assert (row["env_kwargs"], row["max"] <= 7 * 16) == (LIMITED, True)
    typed("record", "greedy", *ON_LIMITED, "--episodes", 1, "--out", tmp_path / "games")
    (path,) = (tmp_path / "games").iterdir()
    assert (len(read(path).actions), play_through(read(path)).truncated) == (7, True)
    assert len(game(**LIMITED).play_on().actions) == 7
