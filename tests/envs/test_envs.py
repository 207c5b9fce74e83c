"""The contract that every registered environment keeps."""

import warnings
from functools import partial

import gymnasium as gym
import numpy as np
import powers3  # noqa: F401 # registers a game
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env, data_equivalence

from tile_envs.sliding import SlidingInfo
from tile_envs.tictactoe import TicTacToeInfo

IDS = ["Tiles2048-v0", "Tiles2584-v0", "TicTacToe-v0"]
VARIANTS = [
    *((env_id, {}) for env_id in IDS),
    ("Tiles2048-v0", {"shape": (2, 3), "spawn": {2: 0.8, 4: 0.2}, "start_tiles": [2, 2]}),
    ("Tiles2584-v0", {"shape": (4, 2), "spawn": {1: 0.75, 3: 0.25}}),
    ("Tiles2048-v0", {"shape": (3, 2), "spawn": {512: 1.0}, "terminate_at_goal": True}),
    ("Tiles2584-v0", {"shape": (2, 5), "spawn": {610: 0.9, 987: 0.1}, "terminate_at_goal": True}),
    ("Powers3-v0", {"shape": (2, 3)}),
    ("Powers3-v0", {"shape": (3, 4), "placer": "adversary"}),
    ("Tiles2048-v0", {"placer": "adversary"}),
    ("Tiles2584-v0", {"placer": "adversary", "shape": (2, 3), "spawn": {1: 0.75, 3: 0.25}}),
    ("Tiles2048-v0", {"shape": (5, 2)}),
    ("Tiles2584-v0", {"shape": (1, 5)}),
    ("Tiles2048-v0", {"shape": (2, 3), "starts": [[[5, 4, 3], [1, 2, 2]], [[0, 9, 0], [0, 9, 0]]]}),
    ("Tiles2584-v0", {"shape": (1, 5), "starts": [[[7, 6, 0, 3, 1]]], "start_fraction": 0.7}),
    ("Powers3-v0", {"shape": (8, 8)}),
    ("TicTacToe-v0", {"opponent": "minimax", "side": "O"}),
    ("TicTacToe-v0", {"opponent": "minimax_first", "side": "random"}),
    ("TicTacToe-v0", {"opponent": {"minimax": 0.8, "random": 0.2}, "side": "O"}),
    ("TicTacToe-v0", {"side": "both"}),
]
every_id = pytest.mark.parametrize("env_id", IDS)
every_variant = pytest.mark.parametrize(("env_id", "options"), VARIANTS)


def random_legal(info, rng):
    legal = np.flatnonzero(info["action_mask"])
    return int(rng.choice(legal)) if legal.size else 0


@every_variant
def test_gymnasium_checks_it_without_a_warning(env_id, options):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(gym.make(env_id, **options).unwrapped)


@every_variant
def test_stable_baselines_checks_it_and_only_remarks_on_the_shape(env_id, options):
    from stable_baselines3.common.env_checker import check_env

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        check_env(gym.make(env_id, **options))
    remarks = [str(w.message) for w in caught]
    assert all("unconventional shape" in remark for remark in remarks), remarks


@every_variant
def test_the_same_seed_and_actions_play_the_same_game(env_id, options):
    """Whatever a user writes into the arrays that one of the environments has returned."""
    one, other = gym.make(env_id, **options), gym.make(env_id, **options)
    game, rng, total = other.unwrapped.game, np.random.default_rng(0), 0.0
    a, b = one.reset(seed=7), other.reset(seed=np.int64(7))
    for _ in range(300):
        assert data_equivalence(a, b, exact=True)
        info = b[-1]
        assert info["action_mask"].dtype == np.int8
        if "score" in info:
            assert (info["score"], info["max_tile"]) == (total, game.rules.faces[b[0].max()])
        a[0][:], a[-1]["action_mask"][:], one.unwrapped.get_state()["board"][...] = 1, 0, 1
        if len(b) == 5 and b[2]:
            a, b, total = one.reset(), other.reset(), 0.0
            continue
        action = random_legal(info, rng)
        a, b = one.step(action), other.step(np.int32(action))
        total += b[1]
        assert type(b[1]) is float
        assert [(k, type(v)) for k, v in b[-1].items()] == [(k, type(v)) for k, v in info.items()]


@every_variant
def test_an_action_is_legal_exactly_when_the_mask_says_so(env_id, options):
    env = gym.make(env_id, **options).unwrapped
    rng = np.random.default_rng(1)
    _, info = env.reset(seed=1)
    for _ in range(200):
        state = env.get_state()
        for action in range(env.action_space.n):
            _, reward, _, _, after = env.step(action)
            assert after["illegal"] == (not info["action_mask"][action])
            if after["illegal"]:
                assert reward == 0
                assert np.array_equal(env.get_state()["board"], state["board"])
                assert env.get_state()["stream"] == state["stream"]
            env.set_state(state)
        assert np.array_equal(env.action_masks(), info["action_mask"].astype(bool))
        _, _, terminated, _, info = env.step(random_legal(info, rng))
        if terminated:
            assert not info["action_mask"].any()
            _, info = env.reset()


@every_variant
def test_a_run_of_illegal_actions_truncates(env_id, options):
    env, rng = gym.make(env_id, **options, max_illegal=3), np.random.default_rng(0)
    _, info = env.reset(seed=0)
    while info["action_mask"].all():
        *_, info = env.step(random_legal(info, rng))
    action = int(info["action_mask"].argmin())
    ends = [env.step(action)[2:] for _ in range(3)]
    assert [truncated for _, truncated, _ in ends] == [False, False, True]
    assert not any(terminated for terminated, _, _ in ends)
    assert all(info["illegal"] for _, _, info in ends)
    with pytest.raises(ResetNeeded, match="the game is over"):
        env.step(action)


@every_id
def test_steps_need_a_reset_first(env_id):
    env, envs = gym.make(env_id).unwrapped, gym.make_vec(env_id, 2)
    begin_one = partial(envs.reset, options={"reset_mask": np.array([True, False])})
    calls = partial(env.step, 0), partial(envs.step, [0, 0]), envs.sample_legal_actions, begin_one
    for call in (*calls, env.get_state, envs.get_state, env.action_masks, envs.action_masks):
        with pytest.raises(ResetNeeded, match="not been reset yet"):
            call()


@pytest.mark.parametrize(("env_id", "form"), [(IDS[0], SlidingInfo), (IDS[2], TicTacToeInfo)])
def test_infos_have_the_typed_keys(env_id, form):
    assert [*gym.make(env_id).reset(seed=0)[1]] == [*form.__annotations__]


@every_variant
def test_a_spec_survives_json(env_id, options):
    env = gym.make(env_id, **options)
    again = gym.make(gym.envs.registration.EnvSpec.from_json(env.spec.to_json()))
    assert data_equivalence(env.reset(seed=3), again.reset(seed=3), exact=True)


@every_id
def test_every_render_mode_draws_one_game_or_each_of_many(env_id):
    for mode, kind in (("ansi", str), ("rgb_array", np.ndarray), ("human", type(None))):
        env = gym.make(env_id, render_mode=mode)
        env.reset(seed=1)
        assert isinstance(frame := env.render(), kind)
        env.close()
        if mode != "human":
            envs = gym.make_vec(env_id, 3, render_mode=mode)
            envs.reset(seed=0)
            assert np.array_equal(envs.render()[1], frame)
