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
from test_envs import IDS, every_id

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


def played(envs, mode):
    """Play random legal games with the same actions in any environment of the same seeds.

    Yields:
        What each step returned.
    """
    actions_of = np.random.default_rng(1)
    game = gym.make(envs.spec.id, **SMALL[envs.spec.id]).unwrapped.game
    yield envs.reset(seed=0)
    for _ in range(60):
        masks = np.stack(envs.unwrapped.call("action_masks"))
        assert masks.shape == (3, game.n_actions)
        actions = (actions_of.random(masks.shape) + masks).argmax(axis=1)
        result = envs.step(actions)
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
    envs, expected = wrapped(native), wrapped(sync)
    ended = 0
    for one, other in zip(played(envs, mode), played(expected, mode), strict=True):
        assert data_equivalence(one[:-1], other[:-1], exact=True)
        infos = one[-1]
        if len(one) == 5:
            ended += int(one[2].sum())
            if name == "DictInfoToList":
                infos = {"action_mask": np.array([info["action_mask"] for info in infos])}
            assert np.array_equal(infos["action_mask"], native.action_masks())
    envs.close(), expected.close()
    assert ended > 10


@every_mode
def test_statistics_of_many_games_are_their_scores(mode):
    if mode is SAME_STEP and VERSION < (1, 4):
        pytest.skip("before 1.4 gymnasium leaves out the first step after a reset in this mode")
    games = gym.make_vec("Tiles2048-v0", 3, autoreset_mode=mode, shape=(2, 2))
    envs = vector.RecordEpisodeStatistics(games)
    ended = 0
    for result in played(envs, mode):
        if len(result) == 5:
            *_, terminations, _, infos = result
            over = np.flatnonzero(terminations)
            ended += len(over)
            if len(over):
                final = infos["final_info"] if mode is SAME_STEP else infos
                assert np.array_equal(infos["episode"]["r"][over], final["score"][over])
    assert ended > 10


@every_mode
def test_the_end_of_a_game_is_where_the_page_says(mode):
    """Beside the same game, played alone."""
    env = gym.make("Tiles2048-v0", shape=(2, 2))
    envs = gym.make_vec("Tiles2048-v0", 1, autoreset_mode=mode, shape=(2, 2))
    envs = envs if mode is SAME_STEP and VERSION < (1, 4) else vector.RecordEpisodeStatistics(envs)
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
        assert infos.get("episode", {"l": [length]})["l"][0] == length


@pytest.mark.filterwarnings(
    "ignore:.*Overwriting existing videos",
    "ignore:.*subprocess .* is still running:ResourceWarning",
    "ignore::pytest.PytestUnraisableExceptionWarning",
)
@every_id
def test_videos_of_chosen_episodes_can_be_opened(env_id, tmp_path):
    from imageio_ffmpeg import count_frames_and_secs

    options = {"side": "both"} if env_id == IDS[2] else {}
    env = gym.make(env_id, render_mode="rgb_array", **options)
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


@every_id
def test_worker_processes_play_the_games_of_one_process(env_id):
    context = {"context": "spawn"}  # a fork of a process with threads, as pytest's, may hang
    options = {"vectorization_mode": "async", "vector_kwargs": context}
    envs = gym.make_vec(env_id, 2, **options)
    assert isinstance(envs, AsyncVectorEnv)
    sync = gym.make_vec(env_id, 2, vectorization_mode="sync")
    try:
        for _ in range(2):
            one, other = envs.reset(seed=3), sync.reset(seed=3)
            for _ in range(20):
                assert np.array_equal(one[0], other[0])
                assert np.array_equal(one[-1]["action_mask"], other[-1]["action_mask"])
                actions = one[-1]["action_mask"].argmax(axis=1)
                one, other = envs.step(actions), sync.step(actions)
        assert np.array_equal(envs.call("action_masks"), sync.call("action_masks"))
    finally:
        envs.close()
