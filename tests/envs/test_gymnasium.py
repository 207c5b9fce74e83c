"""Gymnasium as a client: its wrappers, its videos, its other vectorizers.

What a table of this file says is Gymnasium's behavior, which is the same for `SyncVectorEnv`.
"""

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import data_equivalence
from gymnasium.vector import AsyncVectorEnv, AutoresetMode
from gymnasium.wrappers import vector

NEXT_STEP, SAME_STEP, DISABLED = AutoresetMode
SMALL = {"Tiles2048-v0": {"shape": (2, 2)}, "TicTacToe-v0": {}}
"""Short games, to see many ends."""

every_mode = pytest.mark.parametrize("mode", list(AutoresetMode))


WRAPPED = [(vector.DictInfoToList, mode) for mode in AutoresetMode]
WRAPPED += [(vector.FlattenObservation, NEXT_STEP), (vector.FlattenObservation, DISABLED)]
WRAPPED += [(vector.NormalizeObservation, NEXT_STEP)]
"""Vector wrappers, each with an autoreset mode that it takes."""


def steps(envs, mode):
    """Yield what resets and steps return: the same random legal games in any environment."""
    rng = np.random.default_rng(1)
    yield envs.reset(seed=0)
    for _ in range(60):
        masks = np.stack(envs.unwrapped.call("action_masks"))
        result = envs.step((rng.random(masks.shape) + masks).argmax(axis=1))
        yield result
        over = result[2] | result[3]
        if mode is DISABLED and over.any():
            yield envs.reset(options={"reset_mask": over})


@pytest.mark.parametrize("env_id", SMALL)
@pytest.mark.parametrize(("wrapped", "mode"), WRAPPED)
def test_vector_wrappers_do_to_native_games_what_they_do_to_gymnasiums_own(wrapped, env_id, mode):
    native = gym.make_vec(env_id, 3, autoreset_mode=mode, **SMALL[env_id])
    options = SMALL[env_id] | {"vector_kwargs": {"autoreset_mode": mode}}
    sync = gym.make_vec(env_id, 3, vectorization_mode="sync", **options)
    ended = 0
    for one, other in zip(steps(wrapped(native), mode), steps(wrapped(sync), mode), strict=True):
        assert data_equivalence(one[:-1], other[:-1], exact=True)
        infos = one[-1]
        if len(one) == 5:
            ended += int(one[2].sum())
            if wrapped is vector.DictInfoToList:
                infos = {"action_mask": np.array([info["action_mask"] for info in infos])}
            assert np.array_equal(infos["action_mask"], native.action_masks())
    assert ended > 10


@every_mode
def test_the_end_of_a_game_is_where_the_page_says(mode):
    """Beside the same game, played alone."""
    env = gym.make("Tiles2048-v0", shape=(2, 2))
    envs = gym.make_vec("Tiles2048-v0", 1, autoreset_mode=mode, shape=(2, 2))
    counted = mode is not SAME_STEP  # Gymnasium before 1.4 leaves out a step in this mode
    envs = vector.RecordEpisodeStatistics(envs) if counted else envs
    for seed in range(5):
        _, info = env.reset(seed=seed)
        envs.reset(seed=seed)
        over, length = False, 0
        while not over:
            action = int(info["action_mask"].argmax())
            board, _, over, _, info = env.step(action)
            last, *_, infos = envs.step([action])
            length += 1
        final = infos["final_info"] if mode is SAME_STEP else infos
        last = infos["final_obs"] if mode is SAME_STEP else last
        assert np.array_equal(last[0], board)
        assert np.array_equal(final["action_mask"][0], info["action_mask"])
        assert final["score"][0] == info["score"] > 0
        if counted:
            episode = infos["episode"]
            assert (episode["l"][0], episode["r"][0]) == (length, info["score"])


def test_worker_processes_play_the_games_of_one_process():
    context = {"context": "spawn"}  # a fork of a process with threads, as pytest's, may hang
    envs = gym.make_vec("Tiles2048-v0", 2, vectorization_mode="async", vector_kwargs=context)
    sync = gym.make_vec("Tiles2048-v0", 2, vectorization_mode="sync")
    assert isinstance(envs, AsyncVectorEnv)
    try:
        for one, other in zip(steps(envs, NEXT_STEP), steps(sync, NEXT_STEP), strict=True):
            assert data_equivalence(one, other, exact=True)
        assert np.array_equal(envs.call("action_masks"), sync.call("action_masks"))
    finally:
        envs.close()


def test_an_unknown_option_is_told_in_the_words_of_python():  # TorchRL reads them
    told = "unexpected keyword argument 'frameskip': expected 'rules'"
    with pytest.raises(TypeError, match=told):
        gym.make("Tiles2048-v0", frameskip=1)
