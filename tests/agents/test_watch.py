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
ON_SMALL = ("--env-kwargs", json.dumps(SMALL))


def game(agent="greedy", env="Tiles2048-v0", seed=0, **options):
    (found,) = games_of(agent, seed, env=env, env_kwargs=options)
    return found


def test_the_game_that_is_shown_is_the_first_one_that_is_evaluated():
    played = game(seed=3, **SMALL).play_on()
    row = evaluate("greedy", "Tiles2048-v0", SMALL, episodes=1, seed=3)
    assert (played.position.total, played.position.over) == (row["mean"], True)


def test_going_back_does_not_ask_again():
    watched = game("random")
    first = [watched.action(0)]
    watched.playthrough.play(first[0])
    watched.playthrough.take_back()
    assert watched.action(0) == first[0]


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
    watched = game("optimal", **SMALL)
    script = showing(monkeypatch, [watched], 1000.0, None, None, "left", "q")
    places = [view.lines[0] for view in script.views]
    assert places == [*(f"move {n} · 1000 moves/s" for n in (0, 1, 2)), "move 1 · paused"]
    marked = [re.search(r"\[(\w+) ", view.lines[1])[1] for view in script.views]
    assert marked[3] == marked[1]  # the move that follows, after going back, too
    for view in script.views:
        assert re.search(r"optimal, value: .*up", view.lines[1])
        assert "exact, expected score" in view.lines[2]
        assert view.picture().shape[2] == 3


def test_games_of_a_folder_are_shown_one_after_the_other(tmp_path, monkeypatch):
    typed("record", "random", "--out", tmp_path, "--episodes", 3)
    found = games_of(str(tmp_path))
    assert len(found) == 3
    script = showing(monkeypatch, found, 4.0, "n", "n", "n", "q")
    assert len(script.views) == 4  # there is nothing after the last one
    assert re.match(r"move 0 of \d+ · 4 moves/s", script.views[0].lines[0])
    assert found[0].title == "random, 0-0"


def test_films_are_written_without_a_terminal_and_long_ones_thinned_out(tmp_path):
    out = {suffix: tmp_path / f"x.{suffix}" for suffix in ("gif", "mp4", "html")}
    files = [word for suffix, path in out.items() for word in (f"--{suffix}", path)]
    printed = typed("watch", "greedy", *ON_SMALL, *files)
    assert printed == "".join(f"wrote {path}\n" for path in out.values())
    moves = len(game(**SMALL).play_on().actions)
    with Image.open(out["gif"]) as film:
        assert (film.n_frames, film.info["loop"]) == (moves + 1, 0)
        first = np.array(film.convert("RGB"))
        film.seek(moves)
        assert not np.array_equal(first, np.array(film.convert("RGB")))
    assert out["gif"].stat().st_size < 1_000_000
    assert out["mp4"].read_bytes()[4:8] == b"ftyp"
    assert sorted(tmp_path.iterdir()) == sorted(out.values())
    write_film([game(**SMALL)], tmp_path / "x.gif", 10.0, frames=5)
    with Image.open(tmp_path / "x.gif") as film:
        assert film.n_frames == 5 < moves


@pytest.mark.parametrize("words", [["watch", "greedy"], ["play", "--hints", "optimal"]])
@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 0), (signal.SIGTERM, 143)])
def test_ctrl_c_leaves_and_sigterm_ends_the_command(words, number, status, monkeypatch):
    screen = SimpleNamespace(draw=lambda view: None, key=lambda *_: signal.raise_signal(number))
    opening = f"baselines.commands.{words[0]}.open_screen"
    monkeypatch.setattr(opening, lambda *_: nullcontext(screen))
    assert command(*words, *ON_SMALL).returncode == status


def test_a_time_limit_and_an_engine_are_options_of_every_command(tmp_path):
    options = ("--env-kwargs", json.dumps(LIMITED))
    typed("evaluate", "greedy", *options, "--episodes", 5, "--out", tmp_path / "rows.json")
    (row,) = json.loads((tmp_path / "rows.json").read_text())
    assert (row["env_kwargs"], row["max"] <= 7 * 16) == (LIMITED, True)
    assert evaluate("greedy", "Tiles2048-v0", LIMITED, 5)["max"] == row["max"]
    typed("record", "greedy", *options, "--episodes", 2, "--out", tmp_path / "games")
    for path in (tmp_path / "games").iterdir():
        assert len(read(path).actions) == 7
        assert play_through(read(path)).truncated
    assert len(game(**LIMITED).play_on().actions) == 7
