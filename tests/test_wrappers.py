"""The wrappers, for one game and for many."""

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env, data_equivalence
from gymnasium.vector import AutoresetMode

from tile_envs import wrappers
from tile_envs.wrappers import vector

PLANES = {"Tiles2048-v0": 18, "Tiles2584-v0": 32, "TicTacToe-v0": 3}
every_id = pytest.mark.parametrize("env_id", PLANES)


@every_id
def test_planes_are_one_hot_and_channel_first(env_id):
    env = wrappers.OneHotPlanes(gym.make(env_id))
    planes, _ = env.reset(seed=0)
    board = gym.make(env_id).reset(seed=0)[0]
    assert planes.shape == (PLANES[env_id], *board.shape)
    assert planes in env.observation_space
    assert (planes.sum(axis=0) == 1).all()
    values = [0, 1, -1] if env_id == "TicTacToe-v0" else range(PLANES[env_id])
    for plane, value in zip(planes, values, strict=True):
        assert np.array_equal(plane, board == value)
    assert wrappers.OneHotPlanes(gym.make(env_id), np.float32).reset()[0].dtype == np.float32


@every_id
@pytest.mark.parametrize("mode", list(AutoresetMode)[:2])
def test_vector_planes_are_those_of_single_environments(env_id, mode):
    ours = vector.OneHotPlanes(gym.make_vec(env_id, num_envs=4, autoreset_mode=mode))
    theirs = gym.make_vec(
        env_id,
        num_envs=4,
        vectorization_mode="sync",
        wrappers=(wrappers.OneHotPlanes,),
        vector_kwargs={"autoreset_mode": mode},
    )
    assert ours.observation_space == theirs.observation_space
    assert np.array_equal(ours.reset(seed=0)[0], theirs.reset(seed=0)[0])
    ours.unwrapped.action_space.seed(0)
    finals = 0
    for _ in range(300):
        actions = ours.unwrapped.sample_legal_actions()
        got, wanted = ours.step(actions), theirs.step(actions)
        assert got[0].dtype == wanted[0].dtype
        assert np.array_equal(got[0], wanted[0])
        for game in np.flatnonzero(got[4].get("_final_obs", [])):
            finals += 1
            assert np.array_equal(got[4]["final_obs"][game], wanted[4]["final_obs"][game])
    assert (finals > 0) == (mode is AutoresetMode.SAME_STEP)


@every_id
def test_the_mask_goes_into_the_observation_under_the_chosen_names(env_id):
    env = wrappers.MaskInObservation(gym.make(env_id), "obs", "mask")
    observation, info = env.reset(seed=0)
    assert observation.keys() == {"obs", "mask"}
    assert observation in env.observation_space
    assert np.array_equal(observation["mask"], info["action_mask"])
    assert observation["mask"] is not info["action_mask"]
    envs = vector.MaskInObservation(gym.make_vec(env_id, 3, autoreset_mode="SameStep"))
    envs.reset(seed=0)
    envs.unwrapped.action_space.seed(0)
    for _ in range(300):
        *_, infos = step = envs.step(envs.unwrapped.sample_legal_actions())
        assert step[0] in envs.observation_space
        assert np.array_equal(step[0]["action_mask"], infos["action_mask"])
        for game in np.flatnonzero(infos.get("_final_obs", [])):
            final = infos["final_obs"][game]
            assert final in envs.single_observation_space
            assert np.array_equal(final["action_mask"], infos["final_info"]["action_mask"][game])


@every_id
@pytest.mark.filterwarnings("ignore:.*different from the unwrapped version")
@pytest.mark.parametrize(
    "wrap",
    [
        wrappers.OneHotPlanes,
        wrappers.MaskInObservation,
        lambda env: wrappers.MaskInObservation(wrappers.OneHotPlanes(env)),
    ],
    ids=["planes", "mask", "both"],
)
def test_wrapped_environments_pass_the_checker_and_their_specs_survive_json(env_id, wrap):
    env = wrap(gym.make(env_id, disable_env_checker=True))
    assert env.observation_space != env.unwrapped.observation_space
    check_env(env, skip_render_check=True)
    again = gym.make(gym.envs.registration.EnvSpec.from_json(env.spec.to_json()))
    assert again.observation_space == env.observation_space
    first, same = env.reset(seed=1)[0], again.reset(seed=1)[0]
    assert data_equivalence(first, same, exact=True)


@pytest.mark.parametrize("env_id", ["Tiles2048-v0", "Tiles2584-v0"])
def test_log_rewards_are_logarithms(env_id):
    plain, logged = gym.make(env_id), wrappers.Log2Reward(gym.make(env_id))
    many = vector.Log2Reward(gym.make_vec(env_id, num_envs=2))
    for env in (plain, logged, many):
        env.reset(seed=0)
    for action in (0, 1, 2, 3) * 10:
        _, reward, *_ = plain.step(action)
        expected = np.log2(reward) if reward else 0
        assert logged.step(action)[1] == expected
        assert many.step([action, action])[1][0] == expected


def test_wrappers_refuse_what_they_cannot_wrap():
    env = gym.make("Tiles2048-v0")
    with pytest.raises(ValueError, match="one-hot planes are made of boards"):
        wrappers.OneHotPlanes(wrappers.OneHotPlanes(env))
    with pytest.raises(ValueError, match="must differ"):
        wrappers.MaskInObservation(env, "x", "x")
    with pytest.raises(ValueError, match="Discrete"):
        wrappers.MaskInObservation(gym.make("Pendulum-v1"))
    with pytest.raises(ValueError, match="log2 rewards are for the sliding games"):
        wrappers.Log2Reward(gym.make("TicTacToe-v0"))
    with pytest.raises(ValueError, match="log2 rewards are for the sliding games"):
        vector.Log2Reward(gym.make_vec("TicTacToe-v0", num_envs=2))
