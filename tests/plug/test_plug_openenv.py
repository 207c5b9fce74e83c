"""The environment folder of OpenEnv: its validator, its server, and clients at once."""

import re
import subprocess
import sys
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest

pytest.importorskip("openenv", reason="needs tile-envs[openenv]")

from concurrent.futures import ThreadPoolExecutor

from openenv.validation import Verdict, run_validation

import tile_envs.plug.openenv as folder
from tile_envs.plug.openenv.client import TilesEnv
from tile_envs.plug.openenv.models import TilesAction
from tile_envs.sliding.rules import ACTIONS

pytestmark = pytest.mark.filterwarnings("ignore")  # libraries warn of themselves


def test_the_validator_of_the_library_accepts_the_manifest():
    report = run_validation(Path(folder.__file__).parent, skip_build=True)
    (manifest,) = [result for result in report.results if result.check_id == "static.manifest"]
    assert manifest.status.value == "pass"
    assert report.verdict is not Verdict.FAIL


@pytest.fixture(scope="module")
def url():
    command = [sys.executable, "-m", "tile_envs.plug.openenv", "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        for line in server.stderr:
            if found := re.search(r"http://127\.0\.0\.1:\d+", line):
                break
        yield found[0]
        server.terminate()


def play(url, seeds):
    """Play games over the wire beside those of `gym.make`; return how many moves there were."""
    plain, moves = gym.make("Tiles2048-v0"), 0
    faces = np.array(plain.unwrapped.game.rules.faces)
    rng = np.random.default_rng(seeds[0])
    with TilesEnv(base_url=url).sync() as env:
        for seed in seeds:
            result, steps, reward = env.reset(seed=seed, episode_id=f"game {seed}"), 0, None
            board, info = plain.reset(seed=seed)
            while info["action_mask"].any():
                seen, legal = result.observation, np.flatnonzero(info["action_mask"])
                assert seen.board == faces[board].tolist()
                assert seen.legal_moves == [ACTIONS[action] for action in legal]
                assert (result.reward, result.done) == (reward, False)
                action = int(rng.choice(legal))
                result, steps = env.step(TilesAction(move=ACTIONS[action])), steps + 1
                board, reward, _, _, info = plain.step(action)
            assert (result.reward, result.done) == (reward, True)
            assert result.observation.legal_moves == []
            state = env.state()
            assert (state.episode_id, state.step_count) == (f"game {seed}", steps)
            moves += steps
    return moves


def test_a_hundred_games_of_clients_at_once_are_those_of_gymnasium(url):
    with ThreadPoolExecutor(4) as pool:
        played = pool.map(play, [url] * 4, [list(range(n, n + 25)) for n in (0, 25, 50, 75)])
        assert min(played) > 1_000
