"""State in, state out: games stop and go on anywhere."""

import copy
import pickle
from dataclasses import replace

import gymnasium as gym
import numpy as np
import powers3
import pytest
from gymnasium.utils.env_checker import data_equivalence
from placers import LastCell
from players import FirstLegal
from test_envs import VARIANTS, random_legal

from tile_envs.errors import UsageError
from tile_envs.plug.sb3 import make_sb3

every_variant = pytest.mark.parametrize(("env_id", "options"), VARIANTS)


def play(env, info, rng, steps):
    """Play random legal actions; return everything that came out."""
    out = []
    for _ in range(steps):
        out.append(env.step(random_legal(info, rng)))
        info = out[-1][-1]
        if out[-1][2]:
            out.append(env.reset())
            info = out[-1][-1]
    return out


@every_variant
def test_a_state_brings_back_the_game_and_its_random_stream(env_id, options):
    env = gym.make(env_id, **options).unwrapped
    _, info = env.reset(seed=1)
    play(env, info, np.random.default_rng(0), 30)
    state, info = pickle.loads(pickle.dumps(env.get_state())), env._info()
    assert len(pickle.dumps(state)) < 1000
    first = play(env, info, np.random.default_rng(1), 100)
    env.set_state(state)
    assert data_equivalence(first, play(env, info, np.random.default_rng(1), 100), exact=True)
    other = gym.make(env_id, **options).unwrapped
    other.set_state(state)
    assert data_equivalence(first, play(other, info, np.random.default_rng(1), 100), exact=True)


@pytest.mark.parametrize("env_id", ["Tiles2048-v0", "Tiles2584-v0"])
def test_a_game_starts_from_any_board_and_score(env_id, engine):
    board = np.array([[5, 4, 3, 2], [0, 0, 0, 0], [1, 0, 0, 1], [0, 0, 0, 0]])
    env = gym.make(env_id)
    observation, info = env.reset(seed=0, options={"board": board, "score": 1000})
    assert np.array_equal(observation, board)
    assert info["score"] == 1000
    assert info["max_tile"] == env.unwrapped.game.rules.faces[5]
    envs = gym.make_vec(env_id, num_envs=2, engine=engine)
    boards = np.stack([board, board.T])
    observations, infos = envs.reset(seed=0, options={"board": boards, "score": np.array([1, 2])})
    assert np.array_equal(observations, boards)
    assert infos["score"].tolist() == [1, 2]
    observations, infos = envs.reset(options={"board": board.tolist(), "score": 7})
    assert np.array_equal(observations, [board, board])
    assert infos["score"].tolist() == [7, 7]


@pytest.mark.parametrize("shape", [(2, 3), (2, 5)])
def test_a_game_that_begins_at_its_goal_ends_at_the_first_step(shape, engine):
    board, options = np.zeros(shape, np.uint8), {"shape": shape, "terminate_at_goal": True}
    board[0, :3] = 12, 1, 1
    env = gym.make("Tiles2048-v0", **options)
    envs = gym.make_vec("Tiles2048-v0", 2, engine=engine, **options)
    for one in (env, envs):
        assert not one.reset(options={"board": board})[1]["action_mask"].any()
    observation, reward, terminated, _, info = env.step(3)
    assert (reward, terminated, info["illegal"]) == (0, True, True)
    observations, rewards, terminations, _, infos = envs.step([3, 3])
    assert terminations.all()
    assert infos["illegal"].all()
    assert not rewards.any()
    assert np.array_equal(observations, [board, board])
    assert np.array_equal(observation, board)


def test_a_masked_reset_sets_only_its_own_boards(engine):
    envs = gym.make_vec("Tiles2048-v0", num_envs=3, autoreset_mode="Disabled", engine=engine)
    before, _ = envs.reset(seed=0)
    boards, mask = np.full((3, 4, 4), 3), np.array([False, True, False])
    after, infos = envs.reset(options={"board": boards, "reset_mask": mask})
    assert np.array_equal(after[[0, 2]], before[[0, 2]])
    assert np.array_equal(after[1], boards[1])
    assert np.array_equal(infos["_score"], mask)


@every_variant
def test_a_state_is_taken_as_it_is_even_when_the_game_is_over(env_id, options):
    env = gym.make(env_id, **options).unwrapped
    _, info = env.reset(seed=0)
    while info["action_mask"].any():
        *_, info = env.step(int(info["action_mask"].argmax()))
    state = env.get_state()
    env.reset()
    env.set_state(state)
    with pytest.raises(gym.error.ResetNeeded, match="the game is over"):
        env.step(0)
    assert data_equivalence(env.get_state(), state, exact=True)


def pickled(env):
    return pickle.loads(pickle.dumps(env))


@every_variant
@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickled])
def test_a_copy_plays_on_as_the_original_would_have(env_id, options, copied, engine):
    env = gym.make(env_id, **options).unwrapped
    _, info = env.reset(seed=1)
    before = copied(env)
    first = play(env, info, np.random.default_rng(1), 100)
    assert data_equivalence(first, play(before, info, np.random.default_rng(1), 100), exact=True)

    envs = gym.make_vec(env_id, num_envs=3, **options, engine=engine)
    envs.reset(seed=1)
    before = copied(envs)
    for _ in range(30):
        actions = envs.sample_legal_actions()
        assert np.array_equal(before.sample_legal_actions(), actions)
        assert data_equivalence(envs.step(actions), before.step(actions), exact=True)


OTHER_OPTIONS = {
    "Tiles2048-v0": [
        *({"shape": (3, 4)}, {"spawn": {2: 0.8, 4: 0.2}}, {"start_tiles": 3}),
        *({"placer": placer} for placer in ("adversary", LastCell())),
    ],
    "Powers3-v0": [{"rules": replace(powers3.RULES, merges=powers3.RULES.merges[:5])}],
    "Tiles2584-v0": [{"spawn": {1: 0.75, 3: 0.25}}],
    "TicTacToe-v0": [
        *({"opponent": "minimax"}, {"opponent": {"minimax": 0.5, "random": 0.5}}),
        *({"opponent": FirstLegal()}, {"side": "O"}, {"side": "random"}),
    ],
}


@pytest.mark.parametrize("kind", ["single", "numpy", "numba", "sb3"])
@pytest.mark.parametrize("env_id", OTHER_OPTIONS)
def test_only_a_state_of_an_equal_game_is_taken_and_no_other_changes_anything(env_id, kind):
    def made(n=3, **options):
        if kind == "single":
            env = gym.make(env_id, **options).unwrapped
        elif kind == "sb3":
            env = make_sb3(env_id, n, seed=n, **options)
        else:
            env = gym.make_vec(env_id, n, engine=kind, **options)
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
    for each in wrong:
        with pytest.raises(UsageError, match=r"state|board|score|mark"):
            env.set_state(each)
    for _ in range(3):
        assert data_equivalence(env.get_state(), twin.get_state(), exact=True)
        assert data_equivalence(step(env), step(twin), exact=True)
    env.set_state(state)
    assert data_equivalence(env.get_state(), state, exact=True)


def test_the_largest_score_grows_alike_in_single_and_vector_environments(engine):
    start = {"board": [[1, 1, 2, 2]] * 4, "score": 2**53}
    env, envs = gym.make("Tiles2048-v0"), gym.make_vec("Tiles2048-v0", num_envs=2, engine=engine)
    env.reset(seed=0, options=start), envs.reset(seed=0, options=start)
    *_, info = env.step(1)
    *_, infos = envs.step([1, 1])
    assert info["score"] == infos["score"][0] == 2**53 + 48
    for each in (env.unwrapped, envs):
        state = each.get_state()
        each.set_state(state)
        assert data_equivalence(each.get_state(), state, exact=True)


@pytest.mark.parametrize("env_id", ["Tiles2048-v0", "TicTacToe-v0"])
@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
def test_games_that_go_on_are_played_again_by_their_seeds(env_id, mode, engine):
    """Also those that have begun in a step, and by the actions since then."""
    envs = gym.make_vec(env_id, 8, engine=engine, autoreset_mode=mode)
    envs.reset(seed=[0, 2**64 - 1, *range(6)])
    assert envs.seeds.tolist() == [0, 2**64 - 1, *range(6)]
    actions: list[list[int]] = [[] for _ in range(8)]
    for _ in range(300):
        over, given = envs.ended, envs.sample_legal_actions()
        observations, *_, terminations, _, _ = envs.step(given)
        for i in range(8):
            reset = terminations[i] if mode == "SameStep" else over[i]
            actions[i] = [] if reset else [*actions[i], int(given[i])]
    for i, seed in enumerate(envs.seeds.tolist()):
        env = gym.make(env_id)
        observation, _ = env.reset(seed=seed)
        for action in actions[i]:
            observation, *_ = env.step(action)
        assert np.array_equal(observation, observations[i])


@every_variant
def test_states_of_single_games_go_into_many_and_back(env_id, options, engine):
    games, states = [gym.make(env_id, **options).unwrapped for _ in range(3)], []
    for seed, env in enumerate(games):
        _, info = env.reset(seed=seed)
        play(env, info, np.random.default_rng(seed), 20)
        states.append(env.get_state())
    envs = gym.make_vec(env_id, 3, engine=engine, **options)
    envs.set_states(states)
    assert data_equivalence(envs.get_states(), states)
    envs.step(actions := envs.sample_legal_actions())
    for env, action, state in zip(games, actions, envs.get_states(), strict=True):
        if not env.get_state()["ended"]:
            env.step(action)
            assert data_equivalence(state, env.get_state())
    with pytest.raises(UsageError, match="3, one a game, got 2"):
        envs.set_states(states[:2])
    with pytest.raises(UsageError, match=r"state\['stream'\] must be"):
        envs.set_states([states[0] | {"stream": "7"}, *states[1:]])


@pytest.mark.parametrize("env_id", ["Tiles2048-v0", "TicTacToe-v0"])
def test_one_legal_action_is_drawn_as_those_of_many(env_id):
    env, envs = gym.make(env_id).unwrapped, gym.make_vec(env_id, 1)
    env.reset(seed=0), envs.reset(seed=0)
    env.action_space.seed(1), envs.action_space.seed(1)
    for _ in range(3):
        action = env.sample_legal_action()
        assert [action] == envs.sample_legal_actions().tolist()
        env.step(action), envs.step([action])
