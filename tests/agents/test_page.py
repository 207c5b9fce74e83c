"""A game as a page: what it holds, what its server answers and refuses, and the browser."""

import json
import os
import re
import signal
import webbrowser
from http.client import HTTPConnection
from threading import Thread
from urllib.request import urlopen

import numpy as np
import pytest
from commands import command, refused
from test_watch import SMALL, game

from baselines.viewing.page import LARGEST, Server, write_page
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
    assert (shown["actions"], digits(shown["boards"])) == (played.actions, cells_of(played))
    assert [len(each["values"]) for each in shown["thoughts"]] == [len(played.positions)] * 2
    assert len(json.dumps(shown)) < 200 * len(played.positions)  # a long game opens at once
    with pytest.raises(ValueError, match="2048 on 2×3, tic-tac-toe"):
        write_page([watched, game("random", "TicTacToe-v0")], tmp_path / "x.html")


def digits(boards):
    return [int(digit, 36) for digit in boards]


def cells_of(played):
    return np.array([position.state["board"] for position in played.positions]).ravel().tolist()


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


PLAYED = [("optimal", SMALL), ("greedy", {"shape": [5, 3], "max_episode_steps": 9})]
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
QUESTIONS = [
    ("/play", b"{", "JSON"),
    ("/play", b"[" * 10**5, "JSON"),
    ("/play", START | {"first": 1}, "first must be at most 0, got 1"),
    ("/think", START | {"actions": ["up"]}, "action must"),
    ("/play", START | {"reset": {"board": [[1, 2, 1], [2, 1, 2]]}, "actions": [0] * 9}, "over"),
    ("/play", START | {"reset": {"board": [[1, 2, 99], [0, 0, 0]]}}, "99"),
    ("/replay", {"name": "x.json", "text": "{"}, "x.json: "),
    ("/replay", {"name": "x", "text": json.dumps(REPLAY)}, "another game, 2584 on 4×4"),
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
    port = server.server_port
    assert f"port {port} " in refused("watch", "greedy", "--serve", "--port", port)


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
    assert request(server, "POST", "/replay", b" " * (LARGEST + 1))[0] == 413


@pytest.mark.linux
def test_a_browser_opens_the_page_and_ctrl_c_ends_its_server(monkeypatch):
    pages = []

    def visit(address):
        pages.append(urlopen(address).read())
        os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(webbrowser, "get", lambda: webbrowser.BackgroundBrowser("x"))
    monkeypatch.setattr(webbrowser, "open", lambda page: Thread(target=visit, args=(page,)).start())
    assert command("watch", "greedy", "--serve", "--port", 0).returncode == 0
    assert b"2048, with greedy" in pages[0]


def shows(page, position):
    """Tell whether a page shows the board of a position, and its score."""
    found = page.evaluate("board(at).map(kind => data.tiles[kind].label)")
    cells = [str(RULES_2048.faces[n]) if n else "" for n in position.state["board"].ravel()]
    score = page.text_content("#score")
    return (found, score) == (cells, f"score {position.info['score']:,}")


def test_a_page_of_games_steps_plays_and_shows_what_the_agent_thinks(opened, tmp_path):
    games = [game("optimal", seed=seed, **SMALL) for seed in (0, 1)]
    games[1].title = "<!--<script>"  # a name is no code
    write_page(games, tmp_path / "x.html")
    page, positions = opened((tmp_path / "x.html").as_uri()), games[1].playthrough.positions
    page.select_option("#game", "1")
    assert page.text_content("#title") == games[1].title
    last = len(positions) - 1
    for key, n in {"ArrowRight": 1, "End": last, "ArrowLeft": last - 1, "Home": 0}.items():
        page.keyboard.press(key)
        assert shows(page, positions[n])
    values = games[1].values.of(positions[0])["optimal, value"]
    cells = page.locator("#thoughts table").first.locator("td:nth-child(2)").all_text_contents()
    numbers = [np.nan if text == "–" else float(text.replace(",", "")) for text in cells]
    assert numbers == pytest.approx(values.tolist(), nan_ok=True)
    page.select_option("#speed", "64")
    page.click("#play")
    page.wait_for_function("at === length() && timer === null")
    assert shows(page, positions[last])


def test_a_person_plays_takes_back_saves_and_edits_on_a_phone(opened, served, tmp_path):
    watched = game("optimal", shape=[2, 2]).play_on()
    page, moves = opened(served("optimal", shape=[2, 2]).address, **PHONE), len(watched.actions)
    session, box = page.context.new_cdp_session(page), page.locator("#board").bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2

    def swipe(dx, dy):
        end = {"x": x + dx, "y": y + dy}
        for kind, points in {"Start": [{"x": x, "y": y}], "Move": [end], "End": []}.items():
            touch = {"type": f"touch{kind}", "touchPoints": points}
            session.send("Input.dispatchTouchEvent", touch)

    for n, action in enumerate(watched.actions):
        page.wait_for_function("game.thoughts[at]")
        assert page.locator("tr.chosen th").first.text_content() == [*ACTIONS][action]
        if n % 2:
            page.keyboard.press(["ArrowUp", "d", "ArrowDown", "A"][action])  # with Shift, too
        else:
            swipe(*((0, -60), (60, 0), (0, 60), (-60, 0))[action])
        page.wait_for_function(f"at === {n + 1}")
        assert shows(page, watched.positions[n + 1])
    page.keyboard.press("u")
    page.reload()
    page.wait_for_function(f"at === {moves - 1}")
    with page.expect_download() as download:
        page.tap("#save")
    download.value.save_as(tmp_path / "game.json")
    page.tap("#new")
    page.wait_for_function("length() === 0")
    recorded = read(tmp_path / "game.json")
    assert (recorded.seed, [*recorded.actions]) == (watched.seed, watched.actions)
    page.set_input_files("#file", tmp_path / "game.json")
    page.wait_for_function(f"length() === {moves}")
    page.tap("#edit")
    page.tap("#palette button:text-is('4')")
    page.touchscreen.tap(x - 20, y - 20)
    page.tap("#edit")
    page.wait_for_function("brush === null")
    assert page.evaluate("[data.tiles[board(at)[0]].label, length()]") == ["4", 0]
    page.keyboard.press("Space")
    page.wait_for_function("!game.legal[at] && timer === null", timeout=60_000)
