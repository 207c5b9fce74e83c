"""TorchRL: its checks of environments, and its collectors, with masks."""

from functools import partial

import gymnasium as gym
import numpy as np
import pytest

from tile_envs import wrappers
from tile_envs.wrappers import vector

pytest.importorskip("torchrl.collectors", reason="needs tile-envs[torchrl]")

import torch
from torchrl.collectors import Collector
from torchrl.envs import ActionMask, GymEnv, GymWrapper, TransformedEnv, check_env_specs
from torchrl.modules import MaskedCategorical, ProbabilisticActor, SafeModule

pytestmark = pytest.mark.slow
GAMES = ("Tiles2048-v0", "Tiles2584-v0", "TicTacToe-v0")
N = 3

torch.set_num_threads(1)


def single(env_id):
    env = wrappers.MaskInObservation(gym.make(env_id), mask_dtype=bool)
    return GymWrapper(env, categorical_action_encoding=True)


def native(env_id):
    envs = gym.make_vec(env_id, N, autoreset_mode="Disabled")
    envs = vector.MaskInObservation(envs, mask_dtype=bool)
    return GymWrapper(envs, categorical_action_encoding=True)


def uniform(env):
    """Return a masked policy that prefers nothing."""
    zeros = partial(torch.zeros_like, dtype=torch.float32)
    indifferent = SafeModule(zeros, ["action_mask"], ["logits"])
    keys = {"logits": "logits", "mask": "action_mask"}
    return ProbabilisticActor(indifferent, keys, distribution_class=MaskedCategorical)


def assert_whole_games(batch):
    """Check that a batch of trajectories `(..., time)` holds games from beginning to end."""
    batch = batch.reshape(-1, batch.shape[-1])
    done = batch["next", "done"].squeeze(-1)
    assert done.any()
    # Nothing is legal in the last observation of a game, and the next one begins anew.
    assert not batch["next", "action_mask"][done].any()
    tiles = (batch["observation"] != 0).sum(dim=(-2, -1))
    assert (tiles[:, 1:][done[:, :-1]] <= 2).all()
    # Within a game, each observation is the one that the step before has led to.
    on = ~done[:, :-1]
    assert torch.equal(batch["observation"][:, 1:][on], batch["next", "observation"][:, :-1][on])


@pytest.mark.parametrize("env_id", GAMES)
@pytest.mark.parametrize("make", [GymEnv, single, native])
def test_the_checker_of_specs_has_no_complaint(make, env_id):
    check_env_specs(make(env_id))


@pytest.mark.parametrize("env_id", GAMES)
@pytest.mark.parametrize("make", [single, native])
def test_collectors_play_whole_games_with_legal_actions(make, env_id, strict):
    env = make(env_id)
    env.set_seed(0), torch.manual_seed(0)
    (batch,) = Collector(env, uniform(env), frames_per_batch=2100, total_frames=2100)
    assert batch["action_mask"].dtype == torch.bool
    assert_whole_games(batch)


def test_rewards_are_those_of_the_games():
    """A game of TorchRL equals one that is played with the same actions without it."""
    env = TransformedEnv(single("Tiles2048-v0"), ActionMask())
    env.set_seed(0)
    played = env.rollout(10_000)
    plain = gym.make("Tiles2048-v0")
    plain.reset(seed=0)  # by which TorchRL sets the seed
    board, _ = plain.reset()
    for step in played:
        assert np.array_equal(board, step["observation"])
        board, reward, terminated, *_ = plain.step(int(step["action"]))
        assert step["next", "reward"].item() == reward
        assert step["next", "terminated"].item() == terminated
    assert terminated
