"""The native vector environments equal single ones, step for step, and offer what those cannot.

Numpy plays here; compiled code plays the same games (see `test_engines`).
"""

from functools import partial

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import data_equivalence
from gymnasium.vector import AutoresetMode
from scipy.stats import chisquare
from test_envs import VARIANTS, every_id

equal = partial(data_equivalence, exact=True)
LIMITS = {"max_episode_steps": 7}, {"max_illegal": 2}
SOME = VARIANTS[::4] + VARIANTS[-1:]
LIMITED = [(env_id, options | limit) for env_id, options in SOME for limit in LIMITS]


def visible(step):
    """Return what a reset or a step gives, its infos wherever their `_key` is true."""

    def keyed(infos):
        for name, values in infos.items():
            if name.startswith("_"):
                yield name, values
            elif isinstance(values, dict):
                yield name, dict(keyed(values))
            else:
                yield name, values[infos[f"_{name}"]]

    return *step[:-1], dict(keyed(step[-1]))


@pytest.mark.parametrize("mode", list(AutoresetMode), ids=lambda mode: mode.value)
@pytest.mark.parametrize(("env_id", "options"), VARIANTS + LIMITED)
def test_a_vector_environment_equals_single_ones(env_id, options, mode):
    n = 6
    ours = gym.make_vec(env_id, n, autoreset_mode=mode, **options)
    sync = {"vectorization_mode": "sync", "vector_kwargs": {"autoreset_mode": mode}}
    theirs = gym.make_vec(env_id, n, **sync, **options)
    assert ours.single_observation_space == theirs.single_observation_space
    assert ours.observation_space == theirs.observation_space
    assert ours.action_space == theirs.action_space
    assert ours.metadata["autoreset_mode"] is mode
    assert equal(visible(ours.reset(seed=9)), visible(theirs.reset(seed=9)))
    ours.action_space.seed(0)
    rng, ends = np.random.default_rng(2), 0
    for step in range(100 if "max_episode_steps" in options else 300):  # enough games end
        actions = rng.integers(0, ours.single_action_space.n, n)
        if step % 4:  # mostly legal, so that games get far
            actions = ours.sample_legal_actions()
        got = ours.step(actions)
        assert equal(visible(got), visible(theirs.step(actions)))
        ended = got[2] | got[3]
        ends += ended.sum()
        for name, values in got[-1].get("final_info", {}).items():
            assert name.startswith("_") or not values[~ended].any(), "zero where games go on"
        if mode is AutoresetMode.DISABLED and ended.any():
            resets = [e.reset(options={"reset_mask": ended.copy()}) for e in (ours, theirs)]
            assert equal(*map(visible, resets))
    assert ends >= 5 or options.get("shape") == (8, 8)  # whose games go on


def test_seeds_may_be_given_one_by_one():
    envs = gym.make_vec("Tiles2048-v0", 3)
    first, _ = envs.reset(seed=[5, 6, 7])
    assert np.array_equal(first, envs.reset(seed=np.int64(5))[0])
    going_on, _ = envs.reset(seed=[5, None, 7])
    assert np.array_equal(going_on[[0, 2]], first[[0, 2]])
    for seeds in ([2**64 + 5, 2**63, 2**64 - 1], np.array([5, None, 2**64 - 1], object)):
        envs.reset(seed=seeds)
        assert envs.np_random_seed == -1  # not that of the reset before
        assert envs.seeds[::2].tolist() == [5, 2**64 - 1]
    boards = [gym.make_vec("Tiles2048-v0", 64).reset()[0] for _ in range(2)]
    assert not np.array_equal(*boards), "they are not seeded"


@every_id
def test_sampled_actions_are_legal_and_uniform(env_id):
    n, board = 20_000, [[1, 3, 1, 0], [2, 4, 2, 0]] * 2
    if env_id == "TicTacToe-v0":
        board = [[1, -1, 0], [0, 0, 0], [0, 0, 0]]
    envs, drawn = gym.make_vec(env_id, n), []
    _, infos = envs.reset(seed=0, options={"board": board})
    for _ in range(2):
        envs.action_space.seed(1)
        drawn.append(envs.sample_legal_actions())
    assert np.array_equal(*drawn)
    counts = np.bincount(drawn[0], minlength=9)[infos["action_mask"][0].nonzero()[0]]
    assert counts.sum() == n
    assert len(counts) == 1 or chisquare(counts).pvalue > 1e-4
    _, infos = envs.reset(seed=0)
    for _ in range(30):
        actions, masks = envs.sample_legal_actions(), infos["action_mask"]
        legal = masks[np.arange(n), actions].astype(bool)
        assert np.where(masks.any(axis=1), legal, actions == 0).all()
        *_, infos = envs.step(actions)


@every_id
def test_games_that_are_over_need_a_reset_when_autoreset_is_disabled(env_id):
    envs = gym.make_vec(env_id, 3, autoreset_mode="Disabled", max_episode_steps=1)
    envs.reset(seed=[7, 2**63, 9]), envs.step(envs.sample_legal_actions())
    assert envs.get_attr("seeds") == envs.call("seeds") == (7, 2**63, 9)
    state = envs.get_state()
    with pytest.raises(ResetNeeded, match=r"games \[0, 1, 2\] are over"):
        envs.step(np.zeros(3, int))
    assert equal(envs.get_state(), state)
    with pytest.raises(ValueError, match=r"games that go on, but games \[0, 1, 2\] are over"):
        gym.make_vec(env_id, 3, autoreset_mode="SameStep").set_state(state)
    envs.reset(options={"reset_mask": np.array([True, True, True])})
    envs.step(envs.sample_legal_actions())
