"""Gymnasium as a client: its wrappers, its videos, its other vectorizers.

What a table of this file says is Gymnasium's behavior, which is the same for `SyncVectorEnv`.
"""

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces, wrappers
from gymnasium.utils.env_checker import data_equivalence
from gymnasium.vector import AsyncVectorEnv, AutoresetMode
from gymnasium.wrappers import vector

NEXT_STEP, SAME_STEP, DISABLED = AutoresetMode
VERSION = tuple(map(int, gym.__version__.split(".")[:2]))
SMALL = {"Tiles2048-v0": {"shape": (2, 2)}, "TicTacToe-v0": {}}
"""Short games, to see many ends."""

every_mode = pytest.mark.parametrize("mode", list(AutoresetMode))


def as_floats(envs):
    space = spaces.Box(-200, 200, envs.single_observation_space.shape)
    options = {"func": np.float32, "observation_space": space}
    return vector.VectorizeTransformObservation(envs, wrappers.TransformObservation, **options)


VECTOR = {
    "DictInfoToList": (vector.DictInfoToList, {}),
    "FlattenObservation": (vector.FlattenObservation, {SAME_STEP}),
    "NormalizeObservation": (vector.NormalizeObservation, {SAME_STEP, DISABLED}),
    "VectorizeTransformObservation": (as_floats, {SAME_STEP}),
}
"""Vector wrappers, each with the autoreset modes that it refuses, for any environment."""


def steps(envs, mode):
    """Play random legal games with the same actions in any environment of the same seeds.

    Yields:
        What each reset and step returned.
    """
    rng = np.random.default_rng(1)
    yield envs.reset(seed=0)
    for _ in range(60):
        masks = np.stack(envs.unwrapped.call("action_masks"))
        result = envs.step((rng.random(masks.shape) + masks).argmax(axis=1))
        yield result
        over = result[2] | result[3]
        if mode is DISABLED and over.any():
            yield envs.reset(options={"reset_mask": over})


@every_mode
@pytest.mark.parametrize("env_id", SMALL)
@pytest.mark.parametrize("name", VECTOR)
def test_vector_wrappers_do_to_native_games_what_they_do_to_gymnasiums_own(name, env_id, mode):
    wrapped, refused = VECTOR[name]
    native = gym.make_vec(env_id, 3, autoreset_mode=mode, **SMALL[env_id])
    options = SMALL[env_id] | {"vector_kwargs": {"autoreset_mode": mode}}
    sync = gym.make_vec(env_id, 3, vectorization_mode="sync", **options)
    if mode in refused:
        for envs in (native, sync):
            with pytest.raises((AssertionError, ValueError)):  # ValueError since gymnasium 1.4
                wrapped(envs)
        return
    ended = 0
    for one, other in zip(steps(wrapped(native), mode), steps(wrapped(sync), mode), strict=True):
        assert data_equivalence(one[:-1], other[:-1], exact=True)
        infos = one[-1]
        if len(one) == 5:
            ended += int(one[2].sum())
            if name == "DictInfoToList":
                infos = {"action_mask": np.array([info["action_mask"] for info in infos])}
            assert np.array_equal(infos["action_mask"], native.action_masks())
    assert ended > 10


@every_mode
def test_the_end_of_a_game_is_where_the_page_says(mode):
    """Beside the same game, played alone."""
    env = gym.make("Tiles2048-v0", shape=(2, 2))
    envs = gym.make_vec("Tiles2048-v0", 1, autoreset_mode=mode, shape=(2, 2))
    # Before 1.4, Gymnasium leaves out the first step after a reset in this mode.
    counted = mode is not SAME_STEP or VERSION >= (1, 4)
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


@pytest.mark.filterwarnings(
    "ignore:.*Overwriting existing videos",
    "ignore:.*subprocess .* is still running:ResourceWarning",
    "ignore::pytest.PytestUnraisableExceptionWarning",
)
@pytest.mark.parametrize("env_id", SMALL)
def test_videos_of_chosen_episodes_can_be_opened(env_id, tmp_path):
    from imageio_ffmpeg import count_frames_and_secs

    env = gym.make(env_id, render_mode="rgb_array")
    chosen = {"episode_trigger": lambda episode: episode == 1, "disable_logger": True}
    video = wrappers.RecordVideo(env, str(tmp_path), **chosen)
    for _ in range(2):
        _, info = video.reset(seed=0)
        for _ in range(3):
            *_, info = video.step(int(info["action_mask"].argmax()))
    video.close()
    (path,) = tmp_path.glob("*.mp4")
    frames, seconds = count_frames_and_secs(str(path))
    assert frames == 4  # one before the steps, and three
    assert frames / seconds == pytest.approx(env.metadata["render_fps"], rel=0.05)


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
