"""Gymnasium as a client: its wrappers, its videos, its measures, its other vectorizers.

What a table of this file says is Gymnasium's behaviour, which is the same for `SyncVectorEnv`.
"""

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces, wrappers
from gymnasium.utils import performance
from gymnasium.utils.save_video import save_video
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv
from gymnasium.wrappers import vector
from imageio_ffmpeg import count_frames_and_secs

import tile_envs.wrappers as ours
import tile_envs.wrappers.vector as our_vectors

IDS = ["Tiles2048-v0", "Tiles2584-v0", "TicTacToe-v0"]
NEXT_STEP, SAME_STEP, DISABLED = AutoresetMode
VERSION = tuple(map(int, gym.__version__.split(".")[:2]))
SMALL = {"Tiles2048-v0": {"shape": (2, 2)}, "TicTacToe-v0": {}}
"""Short games, to see many ends."""

every_id = pytest.mark.parametrize("env_id", IDS)
every_small = pytest.mark.parametrize("env_id", SMALL)
every_mode = pytest.mark.parametrize("mode", list(AutoresetMode))
encoder_warns = pytest.mark.filterwarnings(
    "ignore:.*Overwriting existing videos",
    "ignore:.*subprocess .* is still running:ResourceWarning",
    "ignore::pytest.PytestUnraisableExceptionWarning",
)


# Single wrappers.


def hurried(env):
    """Let an environment be shown as fast as it plays."""
    env.unwrapped.metadata = {**env.metadata, "render_fps": 10_000}
    return env


def pictured(env):
    return hurried(gym.make(env.spec, render_mode="rgb_array"))


def floats(env):
    return wrappers.DtypeObservation(env, np.float32)


def as_floats(space):
    return spaces.Box(-200, 200, space.shape, np.float32)


SINGLE = {
    "AddRenderObservation": lambda env: wrappers.AddRenderObservation(pictured(env)),
    "AddWhiteNoise": lambda env: wrappers.AddWhiteNoise(pictured(env), 0.1),
    "Autoreset": wrappers.Autoreset,
    "ClipReward": lambda env: wrappers.ClipReward(env, 0, 1),
    "DelayObservation": lambda env: wrappers.DelayObservation(env, 2),
    "DiscretizeObservation": lambda env: wrappers.DiscretizeObservation(floats(env), 3),
    "DtypeObservation": floats,
    "FilterObservation": lambda env: wrappers.FilterObservation(
        ours.MaskInObservation(env), ["observation"]
    ),
    "FlattenObservation": wrappers.FlattenObservation,
    "FrameStackObservation": lambda env: wrappers.FrameStackObservation(env, 3),
    "GrayscaleObservation": lambda env: wrappers.GrayscaleObservation(
        wrappers.AddRenderObservation(pictured(env))
    ),
    "HumanRendering": lambda env: wrappers.HumanRendering(pictured(env)),
    "MaxAndSkipObservation": lambda env: wrappers.MaxAndSkipObservation(env, 2),
    "NormalizeObservation": wrappers.NormalizeObservation,
    "NormalizeReward": wrappers.NormalizeReward,
    "ObstructView": lambda env: wrappers.ObstructView(pictured(env), 0.1, 2),
    "OrderEnforcing": wrappers.OrderEnforcing,
    "PassiveEnvChecker": wrappers.PassiveEnvChecker,
    "RecordEpisodeStatistics": wrappers.RecordEpisodeStatistics,
    "RenderCollection": lambda env: wrappers.RenderCollection(pictured(env)),
    "RepeatAction": lambda env: wrappers.RepeatAction(env, 2),
    "RescaleObservation": lambda env: wrappers.RescaleObservation(floats(env), 0, 1),
    "ReshapeObservation": lambda env: wrappers.ReshapeObservation(
        env, (env.observation_space.shape[0] * env.observation_space.shape[1], 1)
    ),
    "StickyAction": lambda env: wrappers.StickyAction(env, 0.5),
    "TimeAwareObservation": lambda env: wrappers.TimeAwareObservation(
        wrappers.TimeLimit(env, 1000)
    ),
    "TimeLimit": lambda env: wrappers.TimeLimit(env, 5),
    "TransformAction": lambda env: wrappers.TransformAction(env, int, env.action_space),
    "TransformObservation": lambda env: wrappers.TransformObservation(
        env, np.float32, as_floats(env.observation_space)
    ),
    "TransformReward": lambda env: wrappers.TransformReward(env, lambda reward: reward / 2),
}
ILLEGAL = {"MaxAndSkipObservation", "RepeatAction", "StickyAction"}
"""Wrappers that play what the mask before them allowed when it may no longer do so."""
SINCE = {"DiscretizeObservation": (1, 3), "RepeatAction": (1, 3)}
"""The version of Gymnasium that brought a wrapper."""


def skip_before(version):
    if version > VERSION:
        pytest.skip(f"came with gymnasium {version[0]}.{version[1]}")


@every_small
@pytest.mark.parametrize("name", SINGLE)
def test_masks_are_reachable_through_single_wrappers(name, env_id):
    skip_before(SINCE.get(name, (1, 2)))
    env = SINGLE[name](gym.make(env_id, **SMALL[env_id]))
    rng = np.random.default_rng(0)
    observation, info = env.reset(seed=0)
    games = illegal = 0
    for _ in range(100):
        masks = env.get_wrapper_attr("action_masks")()
        assert np.array_equal(info["action_mask"], masks)
        assert observation in env.observation_space
        action = int(rng.choice(np.flatnonzero(masks))) if masks.any() else 0
        observation, _, terminated, truncated, info = env.step(action)
        illegal += info["illegal"]
        if terminated or truncated:
            games += 1
            if name != "Autoreset":
                observation, info = env.reset()
    env.close()
    assert games > 3
    assert name in ILLEGAL | {"Autoreset"} or not illegal


@every_small
def test_statistics_are_those_of_the_game(env_id):
    env = wrappers.RecordEpisodeStatistics(gym.make(env_id, **SMALL[env_id]))
    _, info = env.reset(seed=0)
    rewards, over = [], False
    while not over:
        *_, reward, over, _, info = env.step(int(info["action_mask"].argmax()))
        rewards.append(reward)
    assert (info["episode"]["r"], info["episode"]["l"]) == (sum(rewards), len(rewards))


# Vector wrappers.


def shown(envs):
    pytest.importorskip("cv2", reason="Gymnasium's wrapper needs opencv-python")
    return vector.HumanRendering(hurried(envs))


VECTOR = {
    "ClipReward": (lambda envs: vector.ClipReward(envs, 0, 1), {}),
    "DictInfoToList": (vector.DictInfoToList, {}),
    "DtypeObservation": (lambda envs: vector.DtypeObservation(envs, np.float32), {SAME_STEP}),
    "FilterObservation": (
        lambda envs: vector.FilterObservation(our_vectors.MaskInObservation(envs), ["observation"]),
        {SAME_STEP},
    ),
    "FlattenObservation": (vector.FlattenObservation, {SAME_STEP}),
    "HumanRendering": (shown, {}),
    "NormalizeObservation": (vector.NormalizeObservation, {SAME_STEP, DISABLED}),
    "NormalizeReward": (vector.NormalizeReward, {}),
    "RecordEpisodeStatistics": (vector.RecordEpisodeStatistics, {}),
    "RescaleObservation": (
        lambda envs: vector.RescaleObservation(
            vector.DtypeObservation(envs, np.float32), np.float32(0), np.float32(1)
        ),
        {SAME_STEP},
    ),
    "ReshapeObservation": (
        lambda envs: vector.ReshapeObservation(
            envs, (int(np.prod(envs.single_observation_space.shape)),)
        ),
        {SAME_STEP},
    ),
    "TransformAction": (lambda envs: vector.TransformAction(envs, np.array), {}),
    "TransformObservation": (
        lambda envs: vector.TransformObservation(
            envs, np.float32, single_observation_space=as_floats(envs.single_observation_space)
        ),
        {SAME_STEP},
    ),
    "TransformReward": (lambda envs: vector.TransformReward(envs, lambda reward: reward / 2), {}),
    "VectorizeTransformAction": (
        lambda envs: vector.VectorizeTransformAction(
            envs, wrappers.TransformAction, func=int, action_space=envs.single_action_space
        ),
        {},
    ),
    "VectorizeTransformObservation": (
        lambda envs: vector.VectorizeTransformObservation(
            envs,
            wrappers.TransformObservation,
            func=np.float32,
            observation_space=as_floats(envs.single_observation_space),
        ),
        {SAME_STEP},
    ),
    "VectorizeTransformReward": (
        lambda envs: vector.VectorizeTransformReward(
            envs, wrappers.TransformReward, func=lambda reward: reward / 2
        ),
        {},
    ),
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
        masks = [env.unwrapped.action_masks() for env in getattr(envs.unwrapped, "envs", [])]
        masks = np.array(masks) if masks else envs.unwrapped.action_masks()
        assert masks.shape == (3, game.n_actions)
        actions = (actions_of.random(masks.shape) + masks).argmax(axis=1)
        result = envs.step(actions)
        yield result
        over = result[2] | result[3]
        if mode is DISABLED and over.any():
            yield envs.reset(options={"reset_mask": over})


@every_mode
@every_small
@pytest.mark.parametrize("name", VECTOR)
def test_vector_wrappers_do_to_native_games_what_they_do_to_gymnasiums_own(name, env_id, mode):
    wrapped, refused = VECTOR[name]
    native = gym.make_vec(env_id, 3, render_mode="rgb_array", autoreset_mode=mode, **SMALL[env_id])
    sync = gym.make_vec(
        env_id,
        3,
        vectorization_mode="sync",
        vector_kwargs={"autoreset_mode": mode},
        render_mode="rgb_array",
        **SMALL[env_id],
    )
    if mode in refused:
        for envs in (native, sync):
            with pytest.raises((AssertionError, ValueError)):  # ValueError since gymnasium 1.4
                wrapped(envs)
        return
    envs, expected = wrapped(native), wrapped(sync)
    ended = 0
    for one, other in zip(played(envs, mode), played(expected, mode), strict=True):
        for mine, theirs in zip(one[:-1], other[:-1], strict=True):
            assert_equal(mine, theirs)
        infos = one[-1]
        if len(one) == 5:
            ended += int(one[2].sum())
            if name == "DictInfoToList":
                infos = {"action_mask": np.array([info["action_mask"] for info in infos])}
            assert np.array_equal(infos["action_mask"], native.action_masks())
    envs.close(), expected.close()
    assert ended > 10


def assert_equal(mine, theirs):
    """Compare arrays, or dictionaries of arrays."""
    if isinstance(mine, dict):
        assert mine.keys() == theirs.keys()
        for key in mine:
            assert_equal(mine[key], theirs[key])
    else:
        np.testing.assert_array_equal(mine, theirs)


@every_mode
@pytest.mark.parametrize("env_id", IDS[:1])
def test_statistics_of_many_games_are_their_scores(env_id, mode):
    if mode is SAME_STEP and VERSION < (1, 4):
        pytest.skip("before 1.4 gymnasium leaves out the first step after a reset in this mode")
    envs = vector.RecordEpisodeStatistics(
        gym.make_vec(env_id, 3, autoreset_mode=mode, shape=(2, 2))
    )
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


@every_small
def test_tensors_come_out_where_they_are_asked_for(env_id):
    torch = pytest.importorskip("torch")
    pytest.importorskip("array_api_compat", reason="needs gymnasium[array-api]")
    env = wrappers.NumpyToTorch(gym.make(env_id))
    observation, info = env.reset(seed=0)
    assert isinstance(observation, torch.Tensor)
    action = info["action_mask"].to(torch.int64).argmax()
    assert not env.step(action)[4]["illegal"]
    envs = vector.NumpyToTorch(gym.make_vec(env_id, 3))
    _, infos = envs.reset(seed=0)
    assert infos["action_mask"].shape == (3, env.action_space.n)
    actions = infos["action_mask"].to(torch.int64).argmax(dim=1)
    observations, *_, infos = envs.step(actions)
    assert isinstance(observations, torch.Tensor)
    assert not infos["illegal"].any()


# Pictures.


def first_legal(env, steps):
    """Play, without a reset."""
    _, info = env.reset(seed=0)
    for _ in range(steps):
        *_, terminated, _, info = env.step(int(info["action_mask"].argmax()))
        assert not terminated


def frames_of(path):
    """Read a video; return how many frames it has, and how many a second."""
    frames, seconds = count_frames_and_secs(str(path))
    return frames, frames / seconds


@encoder_warns
@pytest.mark.parametrize(
    ("trigger", "file"),
    [
        ({"episode_trigger": lambda episode: episode == 1}, "rl-video-episode-1.mp4"),
        ({"step_trigger": lambda step: step == 2, "video_length": 3}, "rl-video-step-2.mp4"),
    ],
    ids=["episodes", "steps"],
)
@every_id
def test_videos_of_chosen_episodes_or_steps_can_be_opened(env_id, trigger, file, tmp_path):
    env = gym.make(
        env_id, render_mode="rgb_array", **({"side": "both"} if env_id == IDS[2] else {})
    )
    video = wrappers.RecordVideo(env, str(tmp_path), disable_logger=True, **trigger)
    first_legal(video, 3)
    first_legal(video, 3)
    video.close()
    assert [path.name for path in tmp_path.glob("*.mp4")] == [file]
    frames, fps = frames_of(tmp_path / file)
    assert frames == 4  # one before the steps, and three
    assert fps == pytest.approx(env.metadata["render_fps"], rel=0.05)


@encoder_warns
def test_saved_lists_of_pictures_can_be_opened(tmp_path):
    env = gym.make("Tiles2048-v0", render_mode="rgb_array_list")
    first_legal(env, 4)
    fps = env.metadata["render_fps"]
    save_video(env.render(), str(tmp_path), lambda episode: True, fps=fps)
    assert frames_of(tmp_path / "rl-video-episode-0.mp4")[0] == 5


@every_id
def test_many_games_are_drawn_at_once(env_id):
    envs = gym.make_vec(env_id, 3, render_mode="rgb_array")
    envs.reset(seed=0)
    pictures = envs.render()
    assert isinstance(pictures, tuple)
    env = gym.make(env_id, render_mode="rgb_array")
    for game, picture in enumerate(pictures):
        env.reset(seed=game)
        assert np.array_equal(picture, env.render())


# Measures, ids, vectorizers.


@every_id
def test_gymnasiums_benchmarks_run(env_id):
    env = gym.make(env_id, render_mode="rgb_array")
    assert performance.benchmark_step(env, 0.05, seed=0) > 0
    assert performance.benchmark_init(lambda: gym.make(env_id), 0.05, seed=0) > 0
    assert performance.benchmark_render(env, 0.05) > 0
    if hasattr(performance, "benchmark_vector_step"):
        for mode in AutoresetMode:
            envs = gym.make_vec(env_id, 8, autoreset_mode=mode)
            assert performance.benchmark_vector_step(envs, 0.05, seed=0) > 0


def test_the_registry_lists_the_games():
    listed = gym.pprint_registry(disable_print=True)
    assert all(env_id in listed for env_id in IDS)


@every_id
def test_the_spec_of_many_games_makes_them_again(env_id):
    envs = gym.make_vec(f"tile_envs:{env_id}", 2, max_illegal=7)
    spec = gym.envs.registration.EnvSpec.from_json(envs.spec.to_json())
    again = gym.make_vec(spec)
    assert (again.num_envs, again.unwrapped.max_illegal) == (2, 7)
    assert np.array_equal(envs.reset(seed=1)[0], again.reset(seed=1)[0])


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


def test_wrappers_of_single_games_need_single_games():
    single = {"wrappers": [wrappers.FlattenObservation]}
    with pytest.raises(gym.error.Error, match="with the wrappers argument"):
        gym.make_vec("Tiles2048-v0", 2, **single)
    envs = gym.make_vec("Tiles2048-v0", 2, vectorization_mode="sync", **single)
    assert isinstance(envs, SyncVectorEnv)
    native = vector.FlattenObservation(gym.make_vec("Tiles2048-v0", 2))
    assert np.array_equal(native.reset(seed=0)[0], envs.reset(seed=0)[0])
