"""A game as a page: what it holds, what its server answers and refuses, and the browser."""

import json
import os
import re
import signal
import webbrowser
from functools import partial
from http.client import HTTPConnection
from threading import Thread
from urllib.request import urlopen

import numpy as np
import pytest
from commands import command, refused, typed
from test_watch import SMALL, game

from baselines.commands.watch import games_of
from baselines.viewing.film import write_film
from baselines.viewing.page import LARGEST, Server, serve_page, write_page
from tile_envs.replay import read
from tile_envs.sliding import RULES_2048
from tile_envs.sliding.rules import ACTIONS

START = {"seed": "5", "reset": {}, "actions": [], "first": 0}
PHONE = {"has_touch": True, "is_mobile": True, "viewport": {"width": 390, "height": 844}}


def test_a_page_holds_the_whole_game(tmp_path):
    watched = game("optimal", **SMALL)
    watched.title = "</script><script>alert(1)</script><!--<script>"  # a name is no code
    write_page([watched], tmp_path / "x.html")
    text, played = (tmp_path / "x.html").read_text(encoding="utf-8"), watched.playthrough
    (shown,) = json.loads(re.search(r'/json">(.*?)</script>', text, re.DOTALL)[1])["games"]
    assert (shown["title"], "<!--" in text) == (watched.title, False)
    assert shown["actions"] == played.actions
    assert sum(shown["gains"]) == played.position.info["score"]
    assert digits(shown["boards"]) == cells_of(played)
    assert [len(each["values"]) for each in shown["thoughts"]] == [len(played.positions)] * 2
    assert len(json.dumps(shown)) < 200 * len(played.positions)  # a long game opens at once


def digits(boards):
    return [int(digit, 36) for digit in boards]


def cells_of(played):
    return np.array([position.state["board"] for position in played.positions]).ravel().tolist()


def test_a_page_and_a_film_have_games_of_one_kind(tmp_path):
    games = [game(**SMALL), game("random", "TicTacToe-v0")]
    for write in (write_page, partial(write_film, speed=4.0)):
        with pytest.raises(ValueError, match="2048 on 2×3, tic-tac-toe"):
            write(games, tmp_path / "x.gif")


@pytest.fixture
def served():
    """Return what serves a game, and returns the server."""
    servers = []

    def serve(*words, **options):
        servers.append(Server(game(*words, **options)))
        Thread(target=servers[-1].serve_forever, args=(0.01,), daemon=True).start()
        return servers[-1]

    yield serve
    for server in servers:
        server.shutdown()
        server.server_close()


def request(server, method, path, body=None, **headers):
    """Return the status and the content of an answer."""
    connection = HTTPConnection(*server.server_address)
    connection.request(method, path, body, {k.replace("_", "-"): v for k, v in headers.items()})
    answer = connection.getresponse()
    return answer.status, answer.read()


def ask(server, path, question):
    status, content = request(server, "POST", path, json.dumps(question))
    assert status == 200, content
    return json.loads(content)


def played(server, seed, n=10**6):
    """Let the player play n moves, one by one, as the page does; return boards and actions."""
    start, actions = START | {"seed": seed}, []
    found = ask(server, "/play", start)
    boards = found["boards"]
    while found["legal"] != [0] and len(actions) < n:
        actions.append(ask(server, "/think", start | {"actions": actions})["chosen"])
        found = ask(server, "/play", start | {"actions": actions, "first": len(actions)})
        assert found["actions"] == actions[-1:]
        boards += found["boards"]
    return boards, actions


PLAYED = [("optimal", SMALL), ("greedy", {"shape": [1, 7]})]
PLAYED += [("greedy", {"shape": [5, 3], "max_episode_steps": 9})]
PLAYED += [("greedy", {"shape": [2, 4], "placer": "adversary"})]


@pytest.mark.parametrize(("agent", "options"), PLAYED)
def test_a_player_plays_on_as_it_is_watched(agent, options, served):
    watched = game(agent, **options).play_on()
    boards, actions = played(served(agent, **options), str(watched.seed))
    assert (actions, digits(boards)) == (watched.actions, cells_of(watched))


def test_two_pages_and_moves_taken_back_change_no_game(served):
    server, alone = (served("optimal", **SMALL) for _ in range(2))
    expected = {seed: played(alone, seed) for seed in ("1", "2")}
    for n in (3, 6, 2):
        for seed, (boards, actions) in expected.items():
            assert played(server, seed, n) == (boards[: 6 * (n + 1)], actions[:n])
            other = next(a for a in range(4) if a != actions[1])
            ask(server, "/play", START | {"seed": seed, "actions": [actions[0], other]})
    assert played(server, "1") == expected["1"]


REPLAY = {"format": "tile-envs replay", "version": "0.2.0", "options": {}}
REPLAY |= {"env": "Tiles2584-v0", "seed": 1, "actions": []}
OTHER = REPLAY | {"env": "Tiles2048-v0", "options": SMALL | {"spawn": {"2": 1.0}}}
FULL = {"board": [[1, 2, 1], [2, 1, 2]]}
QUESTIONS = [
    ("/play", b"{", "JSON"),
    ("/play", b"[" * 10**5, "JSON"),
    ("/play", [], "seed, reset"),
    ("/play", START | {"seed": 5}, "seed, reset"),
    ("/play", START | {"first": 1}, "first must be at most 0, got 1"),
    ("/think", START | {"actions": ["up"]}, "action must"),
    ("/play", START | {"reset": FULL, "actions": [0] * 101}, "over"),
    ("/play", START | {"reset": {"board": [[1, 2, 99], [0, 0, 0]]}}, "99"),
    ("/replay", {"name": "x.json"}, "name, text"),
    ("/replay", {"name": "x.json", "text": "{"}, "x.json: "),
    ("/replay", {"name": "x", "text": json.dumps(REPLAY)}, "another game, 2584 on 4×4"),
    ("/replay", {"name": "x", "text": json.dumps(OTHER)}, "spawn=((2, 1.0),)"),
]


def test_a_question_that_is_none_gets_one_line_and_the_server_goes_on(served):
    server = served(**SMALL)
    for path, question, named in QUESTIONS:
        body = question if isinstance(question, bytes) else json.dumps(question)
        status, content = request(server, "POST", path, body)
        error = json.loads(content)["error"]
        assert (status, error.count("\n")) == (400, 0)
        assert named in error
        assert ask(server, "/play", START)["legal"]


def test_only_pages_of_this_machine_are_answered(served):
    server, question = served(**SMALL), json.dumps(START)
    port = server.server_port
    assert server.server_address[0] == "127.0.0.1"
    hosts = (f"localhost:{port}", "127.0.0.1", f"127.0.0.1:{port + 1}")  # the last is of a tunnel
    for host in (*hosts, f"LOCALHOST:{port}", f"localhost.:{port}"):
        own = {"Host": host, "Origin": f"http://{host.lower()}"}
        assert request(server, "GET", "/", Host=host)[0] == 200
        assert request(server, "POST", "/play", question, **own)[0] == 200
    for other in ("evil.example", f"localhost.evil.example:{port}", ""):
        assert request(server, "GET", "/", Host=other)[0] == 403
        assert request(server, "POST", "/play", question, Origin=f"http://{other}")[0] == 403
    for path in ("/../page.py", "/etc/passwd", "/?x", "/play"):
        assert request(server, "GET", path)[0] == 404
    assert request(server, "POST", "/", question)[0] == 404
    for length in (str(LARGEST + 1), "-1", "x", "9" * 99):
        assert request(server, "POST", "/play", None, Content_Length=length)[0] == 413
    status, content = request(server, "POST", "/replay", b" " * (LARGEST + 1))
    assert status == 413
    assert f"{LARGEST:,}" in json.loads(content)["error"]


@pytest.mark.parametrize("reset", [{}, {"board": [[1, 1, 0], [2, 0, 1]], "score": 4}])
def test_a_saved_game_is_a_replay(reset, served, tmp_path):
    server, start = served(**SMALL), START | {"seed": str(2**64 - 1), "reset": reset}
    actions = [ask(server, "/think", start)["chosen"]]
    actions.append(ask(server, "/think", start | {"actions": actions})["chosen"])
    text = ask(server, "/save", start | {"actions": actions[:1]})["text"]
    (tmp_path / "game.json").write_text(text)
    recorded = read(tmp_path / "game.json")
    assert (recorded.seed, recorded.reset, [*recorded.actions]) == (2**64 - 1, reset, actions[:1])
    shown = ask(server, "/replay", {"name": "game.json", "text": text})
    assert shown["boards"] == ask(server, "/play", start | {"actions": actions[:1]})["boards"]


def test_what_cannot_be_served_is_named(tmp_path, served):
    typed("record", "random", "--episodes", 1, "--out", tmp_path)
    assert "--serve takes an agent" in refused("watch", tmp_path, "--serve")
    port = served().server_port
    assert f"port {port} " in refused("watch", "greedy", "--serve", "--port", port)


@pytest.mark.linux
@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 0), (signal.SIGTERM, 143)])
def test_a_browser_opens_the_page_and_ctrl_c_ends_its_server(number, status, monkeypatch):
    pages = []

    def visit(address):
        pages.append(urlopen(address).read())
        os.kill(os.getpid(), number)

    monkeypatch.setattr(webbrowser, "get", lambda: webbrowser.BackgroundBrowser("x"))
    monkeypatch.setattr(webbrowser, "open", lambda page: Thread(target=visit, args=(page,)).start())
    done = command("watch", "greedy", "--serve", "--port", 0)
    assert (done.returncode, b"2048, with greedy" in pages[0]) == (status, True)


def test_a_browser_of_the_terminal_is_not_opened(monkeypatch):
    monkeypatch.setattr(webbrowser, "get", lambda: webbrowser.GenericBrowser("x"))
    monkeypatch.setattr(webbrowser, "open", pytest.fail)
    monkeypatch.setattr(Server, "serve_forever", lambda _: None)
    serve_page(game(), 0)


@pytest.fixture
def shown(opened, tmp_path):
    """Return what opens a page of games."""

    def open_page(games, **look):
        write_page(games, tmp_path / "x.html")
        return opened((tmp_path / "x.html").as_uri(), **look)

    return open_page


def shows(page, position):
    """Tell whether a page shows the board of a position."""
    found = page.evaluate("board(at).map(kind => data.tiles[kind].label)")
    tiles = position.state["board"].ravel()
    return found == [str(RULES_2048.faces[tile]) if tile else "" for tile in tiles]


def test_a_page_steps_scrubs_and_shows_the_score_of_each_position(shown):
    watched = game(seed=1)
    watched.title = "<!--<script>"  # a name is no code
    page, positions = shown([watched]), watched.playthrough.positions
    last = len(positions) - 1

    def assert_shown(n):
        assert page.text_content("#score") == f"score {positions[n].info['score']:,}"
        assert page.text_content("#move") == f"move {n:,} of {last:,}"
        assert shows(page, positions[n])

    assert page.text_content("#title") == watched.title
    right = [("ArrowRight", n) for n in range(1, 6)]
    for key, n in [("Home", 0), *right, ("ArrowLeft", 4), ("End", last), ("Home", 0)]:
        page.keyboard.press(key)
        assert_shown(n)
    page.evaluate(f"get('scrub').value = {last // 2}")
    page.evaluate("get('scrub').oninput({target: get('scrub')})")
    assert_shown(last // 2)
    page.select_option("#speed", "64")
    page.click("#play")
    page.wait_for_function("at === length()", timeout=60_000)
    assert_shown(last)
    assert page.text_content("#play") == "Play"


@pytest.mark.slow
def test_a_page_shows_what_the_agent_thinks_of_each_move(shown):
    watched = game("optimal", **SMALL)
    page, positions = shown([watched]), watched.playthrough.positions
    values = watched.values.of(positions[0])["optimal, value"]
    cells = page.locator("#thoughts table").first.locator("td:nth-child(2)").all_text_contents()
    numbers = [np.nan if text == "–" else float(text.replace(",", "")) for text in cells]
    assert numbers == pytest.approx(values.tolist(), nan_ok=True)
    page.evaluate("show(6)")
    values = watched.values.of(positions[6])["optimal, value"]
    low, high = (f"{limit(values):.6g}" for limit in (np.nanmin, np.nanmax))
    assert low != high  # the span of the bars
    assert f"from {low} to {high}" in page.locator("#thoughts h2").first.text_content()


@pytest.mark.slow
def test_a_page_of_tic_tac_toe_and_of_several_games(shown, tmp_path):
    typed("record", "random", "--env", "TicTacToe-v0", "--episodes", 2, "--out", tmp_path)
    page = shown(games_of(str(tmp_path)), color_scheme="dark", **PHONE)
    assert page.text_content("#score") == "X to play"
    assert "exact, with perfect play" in page.text_content("#thoughts")
    page.select_option("#game", "1")
    page.evaluate("show(length())")
    assert re.search("wins|draw", page.text_content("#score"))
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_a_person_plays_with_the_keyboard_and_takes_moves_back(opened, served):
    watched = game("optimal", shape=[2, 2]).play_on()
    page = opened(served("optimal", shape=[2, 2]).address)
    keys = ["ArrowUp", "d", "ArrowDown", "A"]  # with Shift, too
    for n, action in enumerate(watched.actions):
        page.wait_for_function("game.thoughts[at]")
        assert page.locator("tr.chosen th").first.text_content() == [*ACTIONS][action]
        page.keyboard.press(keys[action])
        page.wait_for_function(f"at === {n + 1}")
        assert shows(page, watched.positions[n + 1])
    assert page.text_content("#said").startswith("Game over")
    assert page.text_content("#score") == f"score {watched.position.info['score']:,}"
    for _ in watched.actions[2:]:
        page.keyboard.press("u")
    assert page.text_content("#move") == f"move 2 of {len(watched.actions)}"
    page.select_option("#speed", "64")
    page.click("#play")  # what has been played, and no more at the end
    page.wait_for_function("at === length() && timer === null")
    page.keyboard.press("n")
    page.wait_for_function("length() === 0")
    page.click("#step")
    page.wait_for_function("at === 1 && timer === null")
    page.keyboard.press("Space")
    page.wait_for_function("!game.legal[at] && timer === null", timeout=60_000)


@pytest.mark.slow
def test_a_game_outlives_a_reload_and_is_saved(opened, served, tmp_path):
    page = opened(served(**SMALL).address)
    for n in range(1, 4):
        page.click("#step")
        page.wait_for_function(f"at === {n} && timer === null")
    page.click("#back")
    played = page.evaluate("[game.start.seed, game.actions, at]")
    page.reload()
    page.wait_for_function("length() === 3")
    assert page.evaluate("[game.start.seed, game.actions, at]") == played
    with page.expect_download() as download:
        page.click("#save")
    download.value.save_as(tmp_path / "game.json")
    recorded = read(tmp_path / "game.json")
    assert [str(recorded.seed), [*recorded.actions]] == played[:2]


WAYS = ((0, -60), (60, 0), (0, 60), (-60, 0))


def middle_of(page):
    box = page.locator("#board").bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2, box


@pytest.mark.slow
def test_a_move_is_a_drag_of_the_left_button_from_the_board(opened, served):
    page, watched = opened(served(**SMALL).address), game(**SMALL).play_on()
    (x, y, box), (dx, dy) = middle_of(page), WAYS[watched.actions[0]]

    def moves_after(start, button):
        page.mouse.move(*start)
        page.mouse.down(button=button)
        page.mouse.move(x, y)
        page.mouse.up(button=button)
        page.evaluate("turn")
        return page.evaluate("length()")

    for _ in range(2):  # before any drag, and after one
        assert moves_after((box["x"] + box["width"] + 40, y), "left") == 0
        assert moves_after((x - dx, y - dy), "right") == 0
        assert moves_after((x - dx, y - dy), "left") == 1
        page.evaluate("cut(0); show(0)")


@pytest.mark.slow
def test_a_person_plays_on_a_touch_screen(opened, served):
    page, watched = opened(served(**SMALL).address, **PHONE), game(**SMALL).play_on()
    session, (x, y, _) = page.context.new_cdp_session(page), middle_of(page)

    def touch(start, move):
        for kind, places in {"touchStart": start, "touchMove": move, "touchEnd": ()}.items():
            points = [{"x": x + dx, "y": y + dy, "id": n} for n, (dx, dy) in enumerate(places)]
            page.wait_for_timeout(30)  # a tap after swipes that take no time is none
            session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    assert "swipe" in page.inner_text("#keys")
    touch([(20, 10), (40, 20)], [(80, 40), (100, 50)])
    page.evaluate("turn")
    assert page.evaluate("length()") == 0  # two fingers make no move
    for n, action in enumerate(watched.actions):
        touch([(0, 0)], [WAYS[action]])
        page.wait_for_function(f"at === {n + 1}")
    assert shows(page, watched.position)
    assert page.evaluate("scrollY") == 0
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.tap("#back")
    page.wait_for_function(f"at === {len(watched.actions) - 1}")


@pytest.mark.slow
def test_boards_and_replays_are_entered_on_the_page(opened, served, tmp_path):
    page = opened(served("minimax", "TicTacToe-v0", side="both").address, **PHONE)
    x, y, box = middle_of(page)

    def tap(cell):
        third = box["width"] / 3
        page.touchscreen.tap(x + (cell % 3 - 1) * third, y + (cell // 3 - 1) * third)

    for cell, moves in [(4, 1), (0, 2), (4, 2), (8, 3)]:  # a cell that is taken is none
        tap(cell)
        page.wait_for_function(f"at === {moves}")
    labels = page.evaluate("board(at).map(kind => data.tiles[kind].label)")
    assert labels == ["O", "", "", "", "X", "", "", "", "X"]
    page.tap("#edit")
    assert "tap cells" in page.inner_text("#palette")
    page.tap("#palette button:has-text('O')")
    tap(8)
    page.keyboard.press("1")  # no move while a board is edited
    page.tap("#edit")
    page.wait_for_function("note.includes('board must be')")
    page.tap("#palette button:has-text('X')")
    tap(2)
    page.tap("#edit")
    page.wait_for_function("brush === null")
    assert page.text_content("#score") == "X to play"
    assert page.evaluate("length()") == 0
    both = ("--env", "TicTacToe-v0", "--env-kwargs", '{"side": "both"}')
    typed("record", "minimax", *both, "--episodes", 1, "--out", tmp_path / "games")
    (path,) = (tmp_path / "games").iterdir()
    page.set_input_files("#file", path)
    page.wait_for_function("length() > 4")
    page.keyboard.press("End")
    assert page.text_content("#score") == "a draw"
    assert page.text_content("#title") == f"minimax, {path.stem}"
    (tmp_path / "bad.json").write_text("{}")
    (tmp_path / "large.json").write_bytes(b" " * (LARGEST + 1))  # which no server is asked for
    for name, told in (("bad", "bad.json: not a replay"), ("large", "larger than 16 MiB")):
        page.set_input_files("#file", tmp_path / f"{name}.json")
        page.wait_for_function(f"note.includes('{told}')")
