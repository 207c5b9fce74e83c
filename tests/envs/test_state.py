"""State in, state out: games stop and go on anywhere.

Numpy plays many games here; compiled code takes and gives the same states (see `test_engines`).
"""

import copy
import pickle
from dataclasses import replace
from functools import partial

import gymnasium as gym
import numpy as np
import powers3
import pytest
from gymnasium.utils.env_checker import data_equivalence
from placers import LastCell
from players import FirstLegal
from test_envs import every_variant, random_legal

from tile_envs.errors import UsageError
from tile_envs.plug.sb3 import make_sb3

equal = partial(data_equivalence, exact=True)
COPIES = copy.copy, copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))


def play(env, seed, steps=100):
    """Play random legal actions; return everything that came out."""
    rng, out = np.random.default_rng(seed), []
    for _ in range(steps):
        out.append(env.step(random_legal({"action_mask": env.action_masks()}, rng)))
        if out[-1][2]:
            out.append(env.reset())
    return out


@every_variant
def test_a_state_or_a_copy_plays_on_as_the_game_would_have(env_id, options):
    env, other = (gym.make(env_id, **options).unwrapped for _ in range(2))
    env.reset(seed=1)
    play(env, 0, steps=30)
    state = pickle.loads(pickle.dumps(env.get_state()))
    assert len(pickle.dumps(state)) < 1000
    copies = [copied(env) for copied in COPIES]
    expected = play(env, 1)
    env.set_state(state), other.set_state(state)
    for each in (env, other, *copies):
        assert equal(play(each, 1), expected)
    while (masks := env.action_masks()).any():
        env.step(int(masks.argmax()))
    other.set_state(over := env.get_state())
    assert equal(other.get_state(), over)
    with pytest.raises(gym.error.ResetNeeded, match="the game is over"):
        other.step(0)


OTHER_OPTIONS = {
    "Tiles2048-v0": [{"shape": (3, 4)}, {"spawn": {2: 0.8, 4: 0.2}}, {"start_tiles": 3}]
    + [{"placer": placer} for placer in ("adversary", LastCell())],
    "Powers3-v0": [{"rules": replace(powers3.RULES, merges=powers3.RULES.merges[:5])}],
    "Tiles2584-v0": [{"spawn": {1: 0.75, 3: 0.25}}],
    "TicTacToe-v0": [{"side": "O"}, {"side": "random"}]
    + [{"opponent": each} for each in ("minimax", {"minimax": 0.5, "random": 0.5}, FirstLegal())],
}
MAKE = {
    "single": lambda env_id, n, **options: gym.make(env_id, **options).unwrapped,
    "many": gym.make_vec,
    "sb3": lambda env_id, n, **options: make_sb3(env_id, n, seed=n, **options),
}


@pytest.mark.parametrize("kind", MAKE)
@pytest.mark.parametrize("env_id", OTHER_OPTIONS)
def test_only_a_state_of_an_equal_game_is_taken_and_no_other_changes_anything(env_id, kind):
    def made(n=3, **options):
        env = MAKE[kind](env_id, n, **options)
        env.reset(**{} if kind == "sb3" else {"seed": n})
        return env

    def step(env):
        masks = env.env_method("action_masks") if kind == "sb3" else env.action_masks()
        actions = np.argmax(masks, axis=-1)
        return env.step(int(actions) if kind == "single" else actions)[:3]

    env, twin, state = made(), made(), made().get_state()
    damaged = ("garbage", None, -1.5, np.array("-7"), [[1], []])
    board = state["board"]
    for options in OTHER_OPTIONS[env_id]:
        with pytest.raises(UsageError, match=r"expected a state of .*, got one of"):
            env.set_state(made(**options).get_state())
    wrong = [None, "garbage", {}, {"game": np.zeros(2)}, state | {"stream": 2**64}]
    wrong += [state | {"board": np.full_like(board, 99)}, state | {"board": board[..., :-1]}]
    wrong += [{**state, name: value} for name in state for value in damaged]
    wrong += [{n: value for n, value in state.items() if n != name} for name in state]
    wrong += [made(n=2).get_state()] * (kind != "single")
    if kind == "many":
        own = env.get_states()
        for states in (own[:2], [own[0] | {"stream": "7"}, *own[1:]], [own[0] | {"board": 9}] * 3):
            with pytest.raises(UsageError, match=r"states? must be|state\['stream'\] must|board"):
                env.set_states(states)
    for each in wrong:
        with pytest.raises(UsageError, match=r"state|board|score|mark"):
            env.set_state(each)
    for _ in range(3):
        assert equal(env.get_state(), twin.get_state())
        assert equal(step(env), step(twin))
    env.set_state(state)
    assert equal(env.get_state(), state)


def test_one_legal_action_is_drawn_as_those_of_many():
    env, envs = gym.make("TicTacToe-v0").unwrapped, gym.make_vec("TicTacToe-v0", 1)
    for each in (env, envs):
        each.reset(seed=0), each.action_space.seed(1)
    for _ in range(3):
        assert [env.sample_legal_action()] == envs.sample_legal_actions().tolist()
