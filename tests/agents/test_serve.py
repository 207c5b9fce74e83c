"""The page on which a person plays: the server's answers, what it refuses, and the browser."""

import json
import os
import signal
import subprocess
import sys
import webbrowser
from http.client import HTTPConnection
from threading import Thread

import numpy as np
import pytest
from commands import refused, typed
from test_watch import SMALL, game, labels, shown_labels

from baselines.viewing.page import LARGEST, Server, serve_page
from tile_envs.replay import read

START = {"seed": "5", "reset": {}, "actions": [], "first": 0}
PHONE = {"has_touch": True, "is_mobile": True, "viewport": {"width": 390, "height": 844}}


@pytest.fixture
def served():
    """Return what serves a game, and returns the server."""
    servers = []

    def serve(*words, **options):
        servers.append(Server(game(*words, **options)))
        Thread(target=servers[-1].serve_forever, daemon=True).start()
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


@pytest.mark.parametrize(
    ("agent", "options"),
    [
        ("optimal", {"shape": [2, 3]}),
        ("greedy", {"shape": [1, 7]}),
        ("greedy", {"shape": [5, 3], "max_episode_steps": 9}),
        ("greedy", {"shape": [2, 4], "placer": "adversary"}),
    ],
)
def test_a_player_plays_on_as_it_is_watched(agent, options, served):
    watched = game(agent, **options).play_on()
    boards, actions = played(served(agent, **options), str(watched.seed))
    assert actions == watched.actions
    states = [position.state["board"].ravel() for position in watched.positions]
    assert [int(digit, 36) for digit in boards] == np.concatenate(states).tolist()


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


@pytest.mark.parametrize(
    ("path", "question", "named"),
    [
        *(("/play", body, "JSON") for body in (b"{", b"[" * 10**5)),
        *(("/play", question, "seed, reset") for question in ([], START | {"seed": 5})),
        ("/play", START | {"first": 1}, "first must be at most 0, got 1"),
        ("/think", START | {"actions": ["up"]}, "action must"),
        ("/play", START | {"reset": FULL, "actions": [0] * 101}, "over"),
        ("/play", START | {"reset": {"board": [[1, 2]]}}, "board must"),
        ("/play", START | {"reset": {"board": [[1, 2, 99], [0, 0, 0]]}}, "99"),
        ("/play", START | {"reset": {"bord": {}}}, "bord"),
        ("/replay", {"name": "x.json"}, "name, text"),
        ("/replay", {"name": "x.json", "text": "{"}, "x.json: "),
        ("/replay", {"name": "x", "text": json.dumps(REPLAY)}, "another game, 2584 on 4×4"),
        ("/replay", {"name": "x", "text": json.dumps(OTHER)}, "spawn=((2, 1.0),)"),
    ],
)
def test_a_question_that_is_none_gets_one_line(path, question, named, served):
    server = served(**SMALL)
    body = question if isinstance(question, bytes) else json.dumps(question)
    status, content = request(server, "POST", path, body)
    error = json.loads(content)["error"]
    assert status == 400
    assert named in error
    assert "\n" not in error
    assert ask(server, "/play", START)["legal"]  # the server goes on


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
    server, start = served("optimal", **SMALL), START | {"seed": str(2**64 - 1), "reset": reset}
    actions = []
    for _ in range(4):
        actions.append(ask(server, "/think", start | {"actions": actions})["chosen"])
    text = ask(server, "/save", start | {"actions": actions[:3]})["text"]
    (tmp_path / "game.json").write_text(text)
    recorded = read(tmp_path / "game.json")
    assert (recorded.seed, recorded.reset, [*recorded.actions]) == (2**64 - 1, reset, actions[:3])
    shown = ask(server, "/replay", {"name": "game.json", "text": text})
    assert shown["boards"] == ask(server, "/play", start | {"actions": actions[:3]})["boards"]


def test_what_cannot_be_served_is_named(tmp_path, served):
    typed("record", "random", "--episodes", 1, "--out", tmp_path)
    assert "--serve takes an agent" in refused("watch", tmp_path, "--serve")
    assert "port must be less" in refused("watch", "greedy", "--serve", "--port", 65536)
    port = served().server_port
    assert f"port {port} " in refused("watch", "greedy", "--serve", "--port", port)


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 0), (signal.SIGTERM, 143)])
def test_ctrl_c_ends_the_server_cleanly(number, status):
    words = [sys.executable, "-m", "baselines", "watch", "greedy", "--serve", "--port", "0"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(words, env=os.environ | {"BROWSER": "true"}, **pipes) as process:
        address = process.stdout.readline().split()[0]
        connection = HTTPConnection(address.removeprefix("http://").rstrip("/"))
        connection.request("GET", "/")
        assert b"2048, with greedy" in connection.getresponse().read()
        process.send_signal(number)
        _, err = process.communicate(timeout=60)
    assert process.returncode == status
    assert "Traceback" not in err


@pytest.mark.parametrize("has_windows", [True, False])
def test_a_browser_is_opened_if_it_has_windows(has_windows, monkeypatch, capsys):
    def ended(server):
        raise KeyboardInterrupt

    opened = []
    kind = webbrowser.BackgroundBrowser if has_windows else webbrowser.GenericBrowser
    monkeypatch.setattr(webbrowser, "get", lambda: kind("x"))
    monkeypatch.setattr(webbrowser, "open", opened.append)
    monkeypatch.setattr(Server, "serve_forever", ended)
    serve_page(game(), 0)
    assert opened == [capsys.readouterr().out.split()[0]] * has_windows


def test_a_person_plays_with_the_keyboard_and_takes_moves_back(opened, served):
    watched = game("optimal", **SMALL).play_on()
    page = opened(served("optimal", **SMALL).address)
    keys = ["ArrowUp", "d", "ArrowDown", "A"]  # with Shift, too
    for n, action in enumerate(watched.actions):
        page.wait_for_function("game.thoughts[at]")
        chosen = page.locator("tr.chosen th").first.text_content()
        assert chosen == ["up", "right", "down", "left"][action]
        page.keyboard.press(keys[action])
        page.wait_for_function(f"at === {n + 1}")
        assert shown_labels(page) == labels(watched.positions[n + 1].state["board"])
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


def test_a_game_outlives_a_reload_and_is_saved(opened, served, tmp_path):
    page = opened(served("greedy", **SMALL).address)
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


def test_a_move_is_a_drag_of_the_left_button_from_the_board(opened, served):
    watched = game("greedy", **SMALL).play_on()
    page = opened(served("greedy", **SMALL).address)
    box = page.locator("#board").bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    dx, dy = [(0, -60), (60, 0), (0, 60), (-60, 0)][watched.actions[0]]

    def moves_after(start, button):
        page.mouse.move(*start)
        page.mouse.down(button=button)
        page.mouse.move(x, y)
        page.mouse.up(button=button)
        page.evaluate("turn")
        return page.evaluate("length()")

    outside = box["x"] + box["width"] + 40, y
    for _ in range(2):  # before any drag, and after one
        assert moves_after(outside, "left") == 0
        assert moves_after((x - dx, y - dy), "right") == 0
        assert moves_after((x - dx, y - dy), "left") == 1
        page.evaluate("cut(0); show(0)")


def test_a_person_plays_on_a_touch_screen(opened, served):
    watched = game("greedy", **SMALL).play_on()
    page = opened(served("greedy", **SMALL).address, **PHONE)
    touch, box = page.context.new_cdp_session(page), page.locator("#board").bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    assert "swipe" in page.inner_text("#keys")
    for kind, places in {"touchStart": (20, 40), "touchMove": (80, 100), "touchEnd": ()}.items():
        points = [{"x": x + way, "y": y + way / 2, "id": n} for n, way in enumerate(places)]
        touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
    page.evaluate("turn")
    assert page.evaluate("length()") == 0  # two fingers make no move
    for n, action in enumerate(watched.actions):
        dx, dy = [(0, -60), (60, 0), (0, 60), (-60, 0)][action]
        way = {"touchStart": [(x, y)], "touchMove": [(x + dx, y + dy)], "touchEnd": []}
        for kind, places in way.items():
            points = [{"x": x, "y": y} for x, y in places]
            page.wait_for_timeout(30)  # a tap after swipes that take no time is none
            touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
        page.wait_for_function(f"at === {n + 1}")
    assert shown_labels(page) == labels(watched.position.state["board"])
    assert page.evaluate("scrollY") == 0
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.tap("#back")
    page.wait_for_function(f"at === {len(watched.actions) - 1}")


def test_boards_and_replays_are_entered_on_the_page(opened, served, tmp_path):
    page = opened(served("minimax", "TicTacToe-v0", side="both").address, **PHONE)
    box = page.locator("#board").bounding_box()

    def tap(cell):
        places = (box["x"], cell % 3), (box["y"], cell // 3)
        page.touchscreen.tap(*(begin + (n + 0.5) * box["width"] / 3 for begin, n in places))

    for cell, moves in [(4, 1), (0, 2), (4, 2), (8, 3)]:  # a cell that is taken is none
        tap(cell)
        page.wait_for_function(f"at === {moves}")
    assert shown_labels(page) == ["O", "", "", "", "X", "", "", "", "X"]
    page.tap("#edit")
    assert "tap cells" in page.inner_text("#palette")
    page.tap("#palette button:has-text('O')")
    tap(8)
    page.keyboard.press("1")  # no move while a board is edited
    page.tap("#edit")
    page.wait_for_function("note")
    assert "board must be one that play can lead to" in page.text_content("#said")
    page.tap("#palette button:has-text('X')")
    tap(2)
    page.tap("#edit")
    page.wait_for_function("brush === null")
    assert page.text_content("#score") == "X to play"
    assert page.evaluate("length()") == 0
    side = json.dumps({"side": "both"})
    words = "--env", "TicTacToe-v0", "--env-kwargs", side, "--episodes", 1
    typed("record", "minimax", *words, "--out", tmp_path)
    (path,) = tmp_path.iterdir()
    page.set_input_files("#file", path)
    page.wait_for_function("length() > 4")
    page.keyboard.press("End")
    assert page.text_content("#score") == "a draw"
    assert page.text_content("#title") == f"minimax, {path.stem}"
    (tmp_path / "bad.json").write_text("{}")
    page.set_input_files("#file", tmp_path / "bad.json")
    page.wait_for_function("note")
    assert "bad.json: not a replay" in page.text_content("#said")
    (tmp_path / "large.json").write_bytes(b" " * (LARGEST + 1))
    page.set_input_files("#file", tmp_path / "large.json")  # which no server is asked for
    page.wait_for_function("note.includes('large.json is larger than 16 MiB')")
