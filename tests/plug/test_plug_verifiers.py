"""An episode of verifiers: a model behind an endpoint plays the game of a task."""

import asyncio
import json
import re
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import gymnasium as gym
import pytest

pytest.importorskip("verifiers", reason="needs tile-envs[verifiers]")

import httpx
import verifiers.v1 as vf
from verifiers.v1.dialects.chat import message_to_wire

from tile_envs.plug.verifiers import load_environment
from tile_envs.text import parse

pytestmark = pytest.mark.filterwarnings("ignore")  # libraries warn of themselves
__all__ = ["Chat"]  # verifiers finds the harness by it


class Chat(vf.Harness[vf.HarnessConfig]):
    """A chat without a program of its own, which would be installed from the network."""

    SUPPORTS_RESUME, EXECUTES_CODE, NEEDS_CONTAINER = True, False, False

    async def launch(self, ctx, trace, runtime, endpoint, secret, mcp_urls, data, **_):
        prompt = data.prompt
        messages = [{"role": "user", "content": prompt}]
        if not isinstance(prompt, str):
            messages = [message_to_wire(message) for message in prompt]
        body = {"model": ctx.model, "messages": messages}
        key = {"Authorization": f"Bearer {secret}"}
        async with httpx.AsyncClient(timeout=60) as client:
            answer = await client.post(f"{endpoint}/chat/completions", json=body, headers=key)
        status = 0 if answer.is_success else 1
        return vf.ProgramResult(exit_code=status, stdout="", stderr=answer.text)


class Endpoint(BaseHTTPRequestHandler):
    """An OpenAI-compatible endpoint, whose fourth answer is no move, and others the last one."""

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        turns = sum(message["role"] == "assistant" for message in body["messages"])
        legal = re.findall(r"legal: (.*)", body["messages"][-1]["content"])[-1]
        said = "Let me think." if turns == 3 else f"[{legal.split(', ')[-1]}]"
        message = {"role": "assistant", "content": said}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        reply = {"id": "0", "object": "chat.completion", "created": 0, "model": "m"}
        data = json.dumps(reply | {"choices": [choice], "usage": usage}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


@pytest.fixture
def client():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Endpoint)
    Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}/v1"
    yield vf.EvalClientConfig(base_url=url, api_key_var="NO_KEY")
    server.shutdown()


def episode(env, task, client):
    async def play():
        async with env.serving():
            return await env.run_episode(task, vf.ModelContext(model="m", client=client))

    return asyncio.run(play())


def test_an_episode_is_the_game_of_its_seed(client):
    env = load_environment(shape=[2, 2], player={"harness": {"id": "test_plug_verifiers"}})
    task = list(env.taskset.take(3))[2]
    played = episode(env, task, client)
    assert not played.errors
    (trace,) = played.traces
    plain = gym.make("Tiles2048-v0", shape=(2, 2))
    _, info = plain.reset(seed=2)
    said = [message.content for message in trace.messages if message.role == "assistant"]
    assert said.pop(3) == "Let me think."
    for answer in said:
        assert info["action_mask"].any()
        *_, info = plain.step(parse(plain.unwrapped.game, answer))
    assert not info["action_mask"].any()
    assert trace.reward == info["score"]
    assert (trace.metrics["score"], trace.metrics["max_tile"]) == (info["score"], info["max_tile"])
