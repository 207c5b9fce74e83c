"""A language model as agent, against a small server."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BytesIO
from urllib.request import OpenerDirector

import numpy as np
import pytest
from commands import refused, typed
from players import LOWEST

from baselines import evaluate
from baselines.agents import Task
from tile_envs.plug.language_model import LanguageModel

CHAT = '{"choices": [{"message": {"content": "[up]"}}], "usage": %s}'
AGENT = "tile_envs.plug.language_model:LanguageModel"
KEY, VARIABLE = "sk-very-secret-1", "OPENAI_API_KEY"
GAME, BOARDS = Task.of("TicTacToe-v0").game, np.zeros((1, 3, 3), np.int8)


class Handler(BaseHTTPRequestHandler):
    """Answers with what `answers` makes of a prompt: a text, or a status and a body."""

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with self.server.lock:
            self.server.seen.append((body, self.headers.get("Authorization"), self.path))
            status, answer = 200, self.server.answers(body["messages"][0]["content"])
        if isinstance(answer, tuple):
            status, answer = answer
        else:
            message = {"message": {"role": "assistant", "content": answer}}
            usage = {"prompt_tokens": 7, "completion_tokens": 2}
            answer = json.dumps({"choices": [message], "usage": usage})
        self.send_response(status)
        self.send_header("Location", "http://127.0.0.1:1/elsewhere")
        self.end_headers()
        self.wfile.write(answer.encode())

    def log_message(self, *_):
        pass


@pytest.fixture
def server(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(VARIABLE, KEY)
    monkeypatch.setattr("tile_envs.plug.language_model.FIRST_WAIT", 0.0)
    served = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    served.lock, served.seen = threading.Lock(), []
    served.answers = lambda prompt: f"I play [{prompt.rpartition('[')[2][:-2]}]."
    served.url = f"http://127.0.0.1:{served.server_port}/v1"
    thread = threading.Thread(target=served.serve_forever, args=(0.01,))
    thread.start()
    yield served
    served.shutdown(), served.server_close(), thread.join()


@pytest.mark.parametrize("env", ["Tiles2048-v0", "TicTacToe-v0"])
def test_a_model_plays_batched_and_its_prompts_answers_and_tokens_are_kept(server, tmp_path, env):
    options = {"url": server.url, "model": "tiny", "body": {"temperature": 0}, "key": VARIABLE}
    shape = {"shape": [2, 2]} if env == "Tiles2048-v0" else {}
    words = ("--env", env, "--env-kwargs", json.dumps(shape), "--episodes", 3, "--out", "rows.json")
    typed("evaluate", AGENT, *words, "--agent-kwargs", json.dumps(options))
    (row,) = json.loads((tmp_path / "rows.json").read_text())
    assert row["mean"] == evaluate(LOWEST, env, shape, episodes=3)["mean"]
    n = len(server.seen)
    counts = {"requests": n, "prompt_tokens": 7 * n, "completion_tokens": 2 * n, "replaced": 0}
    assert row["usage"] == counts
    body, authorization, path = server.seen[0]
    assert (body["model"], body["temperature"], path) == ("tiny", 0, "/v1/chat/completions")
    assert authorization == f"Bearer {KEY}"
    lines = (tmp_path / "runs" / "prompts.jsonl").read_text().splitlines()
    kept = [json.loads(line) for line in lines]
    sent = [str(body["messages"]) for body, *_ in server.seen]
    assert sorted(str(entry["messages"]) for entry in kept) == sorted(sent)
    assert all(entry["answer"].startswith("I play [") for entry in kept)


def test_an_answer_that_names_no_legal_move_is_replaced_and_counted(server):
    server.answers = lambda prompt: "I cannot play."
    agent = LanguageModel(GAME, url=server.url)
    first, second = (evaluate(agent, "TicTacToe-v0", episodes=2)["usage"] for _ in range(2))
    assert first["replaced"] == first["requests"] > 2
    assert agent.usage["requests"] == first["requests"] + second["requests"]


def test_requests_that_fail_for_now_are_sent_again(server):
    failures, usual = iter([(503, "busy"), (429, "slow down"), (200, "no JSON")]), server.answers
    server.answers = lambda prompt: next(failures, None) or usual(prompt)
    agent = LanguageModel(GAME, url=server.url)
    assert agent.predict(BOARDS)[0] == [0]
    assert agent.usage["requests"] == 1
    assert len(server.seen) == 4


FAULTS = [
    *[(401, f"wrong key {KEY}", "401: wrong key ***"), (500, f"{KEY} fails", "500: *** fails")],
    *[(307, "elsewhere", "307"), (200, "{}", "{}"), (200, "[" * 100_000, "no answer")],
    (200, CHAT % '{"prompt_tokens": 1e999}', "no chat completion"),
]


def test_an_endpoint_that_refuses_is_one_line_and_no_key_is_shown_or_kept(server, tmp_path):
    options = {"url": server.url, "key": VARIABLE}
    for status, body, said in FAULTS:
        server.answers = lambda prompt, given=(status, body): given
        line = refused("evaluate", AGENT, "--agent-kwargs", json.dumps(options))
        assert said in line
        assert KEY not in line
    server.answers = lambda prompt: f"[up], says {KEY}"
    evaluate(AGENT, "Tiles2048-v0", {"shape": (2, 2)}, 1, agent_kwargs=options)
    kept = (tmp_path / "runs" / "prompts.jsonl").read_text()
    assert "says ***" in kept
    assert KEY not in kept
    server.server_close()  # it is down, or slow
    with pytest.raises(ValueError, match="no answer"):
        LanguageModel(GAME, url=server.url, retries=1, timeout=0.5).predict(BOARDS)


def test_a_key_is_stripped_and_one_that_no_header_holds_is_not_shown(server, monkeypatch):
    monkeypatch.setenv(VARIABLE, f" {KEY}\n")
    LanguageModel(GAME, url=server.url, key=VARIABLE, timeout=np.float32(30)).predict(BOARDS)
    assert server.seen[0][1] == f"Bearer {KEY}"
    for key in ("sk-very\nsecret", "sk-λ-secret"):
        monkeypatch.setenv(VARIABLE, key)
        with pytest.raises(ValueError, match=VARIABLE) as refusal:
            LanguageModel(GAME, url=server.url, key=VARIABLE)
        assert "secret" not in str(refusal.value)


@pytest.mark.parametrize(
    ("url", "key", "sent"),
    [
        *[("https://api.openai.com/v1", None, True), ("http://api.openai.com/v1", None, False)],
        *[("https://api.openai.com.b.org", None, False), ("http://[::1]:8000", VARIABLE, True)],
    ],
)
def test_a_key_goes_to_the_endpoint_that_it_is_for(tmp_path, monkeypatch, url, key, sent):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(VARIABLE, KEY)
    seen = []
    opened = lambda self, request, **_: seen.append(request) or BytesIO()  # noqa: E731
    monkeypatch.setattr(OpenerDirector, "open", opened)
    with pytest.raises(ValueError, match="gives no answer"):
        LanguageModel(GAME, url=url, key=key, retries=0).predict(BOARDS)
    assert seen[0].get_header("Authorization") == (f"Bearer {KEY}" if sent else None)
