"""Watching: the game that is judged, what is thought of it, films, and the page in a browser."""

import json
import re
import signal
from contextlib import nullcontext

import numpy as np
import pytest
from commands import command, refused, typed
from PIL import Image
from players import Script

from baselines import evaluate
from baselines.commands.watch import games_of, show
from baselines.players import open_player
from baselines.viewing.film import write_film
from baselines.viewing.moves import MoveValues, exact_values
from baselines.viewing.page import write_page
from tile_envs.games import make
from tile_envs.replay import Playthrough, play_through, read
from tile_envs.sliding import RULES_2048, SlidingGame
from tile_envs.tictactoe import TicTacToe

SMALL = {"shape": [2, 3]}
LIMITED = {"shape": [3, 3], "max_episode_steps": 7, "engine": "numpy"}


def game(agent="greedy", env="Tiles2048-v0", seed=0, **options):
    (found,) = games_of(agent, seed, env=env, env_kwargs=options)
    return found


def test_the_game_that_is_shown_is_the_first_one_that_is_evaluated():
    played = game(seed=3, **SMALL).play_on()
    row = evaluate("greedy", "Tiles2048-v0", SMALL, episodes=1, seed=3)
    assert played.position.total == row["mean"]
    assert played.position.over


def test_going_back_does_not_ask_again():
    watched = game()
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
    env = make("Tiles2048-v0", {"shape": [2, 2]})
    optimal = open_player("optimal", "Tiles2048-v0", {"shape": [2, 2]})
    playthrough, values = Playthrough(env, 0), MoveValues(env.game, optimal)
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
    with pytest.raises(ValueError, match="--seed or --side with them"):
        games_of(str(tmp_path), 3)


def test_films_are_written_without_a_terminal(tmp_path):
    out = {suffix: tmp_path / f"x.{suffix}" for suffix in ("gif", "mp4", "html")}
    files = [word for suffix, path in out.items() for word in (f"--{suffix}", path)]
    printed = typed("watch", "greedy", "--env-kwargs", '{"shape": [2, 3]}', *files)
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


def test_long_games_are_shown_by_a_part_of_their_positions(tmp_path):
    write_film([game()], tmp_path / "x.gif", 10.0, frames=20)
    with Image.open(tmp_path / "x.gif") as film:
        assert film.n_frames == 20


def test_a_page_holds_the_whole_game(tmp_path):
    watched = game("optimal", **SMALL)
    watched.title = "</script><script>alert(1)</script><!--<script>"  # a name is no code
    write_page([watched], tmp_path / "x.html")
    text, played = (tmp_path / "x.html").read_text(encoding="utf-8"), watched.playthrough
    data = re.search(r'type="application/json">(.*?)</script>', text, re.DOTALL)[1]
    (shown,) = json.loads(data)["games"]
    assert shown["title"] == watched.title
    assert "<!--" not in text
    assert shown["actions"] == played.actions
    assert sum(shown["gains"]) == played.position.info["score"]
    boards = np.array([int(digit, 36) for digit in shown["boards"]]).reshape(-1, 2, 3)
    assert np.array_equal(boards, [position.state["board"] for position in played.positions])
    assert len(shown["thoughts"]) == 2
    assert len(shown["thoughts"][0]["values"]) == len(played.positions)
    assert len(json.dumps(shown)) < 200 * len(played.positions)  # a long game opens at once


def test_pages_of_several_kinds_of_games_are_refused(tmp_path):
    games = [game(**SMALL), game("random", "TicTacToe-v0")]
    with pytest.raises(ValueError, match="2048 on 2×3, tic-tac-toe"):
        write_page(games, tmp_path / "x.html")
    with pytest.raises(ValueError, match="2048 on 2×3, tic-tac-toe"):
        write_film(games, tmp_path / "x.gif", 4.0)


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ("greedy", "terminal"),
        ("greedy --html x.htm", "x.htm"),
        ("greedy --gif no/x.gif", "no (No such file or directory)"),
        ("greedy --speed 51 --gif x.gif", "at most 50 positions a second, got 51"),
        ("greedy --window --gif x.gif", "either --window, --serve or files"),
        ("empty", "empty"),
        ("x.json", "x.json: "),
        ("empty --env Tiles2048-v0", "recorded games, which know what they are"),
    ],
)
def test_what_cannot_be_watched_is_named(words, named, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    assert named in refused("watch", *words.split())


@pytest.mark.parametrize("words", [["watch", "greedy"], ["play", "--hints", "optimal"]])
@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 0), (signal.SIGTERM, 143)])
def test_ctrl_c_leaves_and_sigterm_ends_the_command(words, number, status, monkeypatch):
    class Ended(Script):
        def key(self, timeout=None):
            signal.raise_signal(number)

    screen = f"baselines.commands.{words[0]}.open_screen"
    monkeypatch.setattr(screen, lambda *_: nullcontext(Ended()))
    assert command(*words, "--env-kwargs", '{"shape": [2, 3]}').returncode == status


def test_a_person_plays_with_hints(monkeypatch):
    script = Script("q")
    monkeypatch.setattr("baselines.commands.play.open_screen", lambda *_: nullcontext(script))
    typed("play", "--hints", "optimal", "--env-kwargs", '{"shape": [2, 3]}')
    (view,) = script.views
    assert view.lines[1].startswith("optimal, value: ")
    assert "exact" not in view.text(colors=False)


@pytest.fixture
def shown(opened, tmp_path):
    """Return what opens a page of games."""

    def open_page(games, **look):
        write_page(games, tmp_path / "x.html")
        return opened((tmp_path / "x.html").as_uri(), **look)

    return open_page


def labels(board):
    return [str(RULES_2048.faces[tile]) if tile else "" for tile in board.ravel()]


def shown_labels(page):
    return page.evaluate("board(at).map(kind => data.tiles[kind].label)")


def test_a_page_steps_scrubs_and_shows_the_score_of_each_position(shown):
    watched = game(seed=1)
    watched.title = "<!--<script>"  # a name is no code
    page = shown([watched])
    assert page.text_content("#title") == watched.title
    positions = watched.playthrough.positions
    last = len(positions) - 1

    def assert_shown(n):
        assert page.text_content("#score") == f"score {positions[n].info['score']:,}"
        assert page.text_content("#move") == f"move {n:,} of {last:,}"
        assert shown_labels(page) == labels(positions[n].state["board"])

    assert_shown(0)
    for n in range(1, 6):
        page.keyboard.press("ArrowRight")
        assert_shown(n)
    page.keyboard.press("ArrowLeft")
    assert_shown(4)
    page.keyboard.press("End")
    assert_shown(last)
    page.evaluate(f"get('scrub').value = {last // 2}")
    page.evaluate("get('scrub').oninput({target: get('scrub')})")
    assert_shown(last // 2)
    page.keyboard.press("Home")
    page.select_option("#speed", "64")
    page.click("#play")
    page.wait_for_function("at === length()", timeout=60_000)
    assert_shown(last)
    assert page.text_content("#play") == "Play"


def test_a_page_shows_what_the_agent_thinks_of_each_move(shown):
    watched = game("optimal", **SMALL)
    page = shown([watched])
    values = watched.values.of(watched.playthrough.positions[0])["optimal, value"]
    cells = page.locator("#thoughts table").first.locator("td:nth-child(2)").all_text_contents()
    numbers = [np.nan if text == "–" else float(text.replace(",", "")) for text in cells]
    assert numbers == pytest.approx(values.tolist(), nan_ok=True)
    chosen = page.locator("tr.chosen th").first.text_content()
    assert chosen == ["up", "right", "down", "left"][watched.playthrough.actions[0]]
    page.evaluate("show(6)")
    values = watched.values.of(watched.playthrough.positions[6])["optimal, value"]
    low, high = (f"{limit(values):.6g}" for limit in (np.nanmin, np.nanmax))
    assert low != high  # the span of the bars
    assert f"from {low} to {high}" in page.locator("#thoughts h2").first.text_content()


def test_a_page_of_tic_tac_toe_and_of_several_games(shown, tmp_path):
    typed("record", "random", "--env", "TicTacToe-v0", "--episodes", 2, "--out", tmp_path)
    games = games_of(str(tmp_path))
    page = shown(games, color_scheme="dark", viewport={"width": 390, "height": 800})
    assert page.text_content("#score") == "X to play"
    assert "exact, with perfect play" in page.text_content("#thoughts")
    page.select_option("#game", "1")
    page.keyboard.press("End")
    page.locator("#game").blur()
    page.evaluate("show(length())")
    assert "wins" in page.text_content("#score") or "draw" in page.text_content("#score")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_a_time_limit_and_an_engine_are_options_of_every_command(tmp_path):
    options = ("--env-kwargs", json.dumps(LIMITED))
    typed("evaluate", "greedy", *options, "--episodes", 5, "--out", tmp_path / "rows.json")
    (row,) = json.loads((tmp_path / "rows.json").read_text())
    assert row["env_kwargs"] == LIMITED
    assert row["max"] <= 7 * 16
    typed("record", "greedy", *options, "--episodes", 2, "--out", tmp_path / "games")
    replays = [read(path) for path in (tmp_path / "games").iterdir()]
    assert [len(replay.actions) for replay in replays] == [7, 7]
    assert all(play_through(replay).truncated for replay in replays)
    watched = game(**LIMITED).play_on()
    assert len(watched.actions) == 7
    assert "leave out max_episode_steps" in refused("evaluate", "greedy", *options, "--exact")
    assert evaluate("greedy", "Tiles2048-v0", LIMITED, 5)["max"] == row["max"]
