"""The wrappers, for one game and for many."""

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from test_vector import equal, visible

from tile_envs import wrappers
from tile_envs.errors import UsageError
from tile_envs.sliding import RULES_2048, RULES_2584, Rules
from tile_envs.wrappers.potentials import POTENTIALS

PLANES = {"Tiles2048-v0": 18, "Tiles2584-v0": 32, "TicTacToe-v0": 3}
every_id = pytest.mark.parametrize("env_id", PLANES)
every_mode = pytest.mark.parametrize("mode", list(AutoresetMode))
WEIGHTS = {"empty": 1.0, "monotonicity": 0.1, "merges": 0.7}
WRAPPED = {
    "planes": wrappers.OneHotPlanes,
    "flat": wrappers.FlatObservation,
    "mask": lambda env: wrappers.MaskInObservation(env, "obs", "mask", bool),
    "afterstates": wrappers.AfterstatesInObservation,
    "masked planes": lambda env: wrappers.MaskInObservation(wrappers.OneHotPlanes(env)),
    "replacing": wrappers.ReplaceIllegal,
    "penalty": lambda env: wrappers.PenalizeIllegal(env, 2.0),
    "logarithms": wrappers.Log2Reward,
    "shaping": lambda env: wrappers.PenalizeIllegal(wrappers.ShapeReward(env, WEIGHTS, 0.9), 2.0),
}
GAMES = {name: [*PLANES] for name in WRAPPED}
GAMES |= dict.fromkeys(("logarithms", "shaping"), [*PLANES][:2])  # for the sliding games


@every_id
def test_planes_are_one_hot_and_channel_first(env_id):
    env = wrappers.OneHotPlanes(gym.make(env_id))
    planes, _ = env.reset(seed=0)
    board = gym.make(env_id).reset(seed=0)[0]
    assert planes.shape == (PLANES[env_id], *board.shape)
    assert planes in env.observation_space
    values = [0, 1, -1] if env_id == "TicTacToe-v0" else range(PLANES[env_id])
    for plane, value in zip(planes, values, strict=True):
        assert np.array_equal(plane, board == value)


@pytest.mark.filterwarnings("ignore:.*different from the unwrapped version")
@pytest.mark.parametrize("name", WRAPPED)
def test_wrapped_environments_pass_the_checker_and_their_specs_survive_json(name):
    for env_id in GAMES[name]:
        env = WRAPPED[name](gym.make(env_id, disable_env_checker=True))
        check_env(env, skip_render_check=True)
        again = gym.make(gym.envs.registration.EnvSpec.from_json(env.spec.to_json()))
        assert again.observation_space == env.observation_space
        assert equal(env.reset(seed=1)[0], again.reset(seed=1)[0])


def test_log_rewards_are_logarithms():
    plain, logged = gym.make("Tiles2584-v0"), wrappers.Log2Reward(gym.make("Tiles2584-v0"))
    plain.reset(seed=0), logged.reset(seed=0)
    for action in (0, 1, 2, 3) * 10:
        _, reward, *_ = plain.step(action)
        assert logged.step(action)[1] == (np.log2(reward) if reward else 0)


@every_mode
@pytest.mark.parametrize("name", WRAPPED)
def test_vector_wrappers_equal_single_ones(name, mode):
    """Each wrapper meets all modes and all games; many actions are illegal."""
    place = [*AutoresetMode].index(mode) + [*WRAPPED].index(name)
    env_id = GAMES[name][place % len(GAMES[name])]
    wrap, options = WRAPPED[name], {"max_illegal": 4}
    if env_id != "TicTacToe-v0":
        options["shape"] = (2, 3) if env_id == "Tiles2048-v0" else (1, 5)  # short games
    ours = wrap(gym.make_vec(env_id, 4, autoreset_mode=mode, **options))
    theirs = SyncVectorEnv([lambda: wrap(gym.make(env_id, **options))] * 4, autoreset_mode=mode)
    assert ours.observation_space == theirs.observation_space
    rng, ends = np.random.default_rng(0), 0
    assert equal(visible(ours.reset(seed=5)), visible(theirs.reset(seed=5)))
    for _ in range(200):
        actions = rng.integers(ours.single_action_space.n, size=4)
        given = actions.copy()
        got = ours.step(actions)
        assert equal(actions, given)
        assert equal(visible(got), visible(theirs.step(actions)))
        over = got[2] | got[3]
        ends += over.sum()
        if mode is AutoresetMode.DISABLED and over.any():
            resets = [envs.reset(options={"reset_mask": over}) for envs in (ours, theirs)]
            assert equal(*map(visible, resets))
    assert ends > 10


STILL = Rules("Still", faces=(0, 1, 2), merges=[], spawn={1: 1.0}, goal=2)
COUNTED = [  # a board; its empty cells, monotonicity and merges
    (RULES_2048, [[1, 1, 0], [2, 2, 3]], 1, 0, 2),
    (RULES_2048, [[3, 1, 3], [3, 2, 2]], 0, -2, 2),  # 3 1 3 falls and rises by 2
    (RULES_2048, [[0, 4, 0], [17, 17, 0]], 3, -4, 0),  # the largest tiles do not merge
    (RULES_2584, [[1, 1, 2], [5, 5, 4]], 0, 0, 3),  # equal tiles merge only if 1 1
    (STILL, [[1, 1, 0], [2, 2, 2]], 1, 0, 0),
]


@pytest.mark.parametrize(("rules", "board", "empty", "monotonicity", "merges"), COUNTED)
def test_potentials_are_what_they_count(rules, board, empty, monotonicity, merges):
    boards = np.array([board], np.uint8)
    for name, value in (("empty", empty), ("monotonicity", monotonicity), ("merges", merges)):
        turned = boards.transpose(0, 2, 1)[:, ::-1]
        assert POTENTIALS[name](boards, rules) == POTENTIALS[name](turned, rules) == value, name


def test_what_shaping_adds_telescopes():
    """Discounted over a game: minus the potential of its start, and that of a truncation's end."""
    gamma, seen, rng = 0.9, set(), np.random.default_rng(0)
    game = gym.make("Tiles2584-v0", shape=(2, 3), max_illegal=3)
    env = wrappers.PenalizeIllegal(wrappers.ShapeReward(game, WEIGHTS, gamma), 2.0)

    def potential(board):
        rules = game.unwrapped.game.rules
        return sum(w * POTENTIALS[name](board[None], rules)[0] for name, w in WEIGHTS.items())

    for seed in range(60):
        board, info = env.reset(seed=seed)
        assert info["unshaped_reward"] == 0
        added, factor, over = potential(board), 1.0, False
        while not over:
            board, reward, terminated, truncated, info = env.step(rng.integers(4))
            added += factor * (reward + 2.0 * info["illegal"] - info["unshaped_reward"])
            factor, over = factor * gamma, terminated or truncated
        expected = 0.0 if terminated else factor * potential(board)
        assert added == pytest.approx(expected, abs=1e-9)
        seen.add((terminated, truncated))
    assert {(True, False), (False, True)} <= seen


def test_shaping_follows_a_state_that_is_set():
    env = wrappers.ShapeReward(gym.make("Tiles2048-v0"), lambda boards: boards.sum((1, 2)), 1.0)
    env.reset(options={"board": np.eye(4, dtype=np.uint8), "score": 8})
    state = env.unwrapped.get_state()
    first = env.step(2)
    env.step(1)
    env.unwrapped.set_state(state)
    assert equal(first, env.step(2))


@every_id
def test_replaced_actions_are_legal_counted_and_seeded(env_id):
    env, games = wrappers.ReplaceIllegal(gym.make(env_id)), []
    for seed in (3, 3, 4):
        rng = np.random.default_rng(0)
        observation, info = env.reset(seed=seed)
        counted, boards, over = 0, [observation], False
        while not over:
            action = int(rng.integers(env.action_space.n))
            counted += not env.action_masks()[action]
            observation, _, over, truncated, info = env.step(action)
            assert not info["illegal"]
            assert not truncated
            assert info["illegal_actions"] == counted
            boards.append(observation)
        games.append(np.stack(boards))
    assert env.reset()[1]["illegal_actions"] == 0
    assert np.array_equal(games[0], games[1])
    assert not np.array_equal(games[0], games[2])


@every_mode
def test_illegal_actions_are_seen_after_a_state_is_set(mode):
    """Also where the games were over when it was set."""
    envs = wrappers.PenalizeIllegal(gym.make_vec("TicTacToe-v0", 2, autoreset_mode=mode), 1.0)
    envs.reset(seed=0, options={"board": [[1, -1, 1], [-1, 1, 0], [0, 0, -1]]})
    state = envs.unwrapped.get_state()
    assert envs.step([6, 6])[2].all()
    envs.unwrapped.set_state(state)
    *_, infos = envs.step([0, 0])
    assert infos["illegal"].all()
    assert infos["illegal_actions"].tolist() == [1, 1]


@every_mode
def test_masks_beside_observations_of_gymnasiums_own_environments_are_those_of_the_games(mode):
    kinds = {"vectorization_mode": "sync", "vector_kwargs": {"autoreset_mode": mode}}
    envs = wrappers.MaskInObservation(gym.make_vec("Tiles2048-v0", 3, shape=(2, 2), **kinds))
    seen, _ = envs.reset(seed=0)
    for _ in range(100):
        actions = seen["action_mask"].argmax(axis=1)
        seen, _, terminations, _, _ = envs.step(actions)
        if mode is AutoresetMode.DISABLED and terminations.any():
            seen, _ = envs.reset(options={"reset_mask": terminations})
        assert np.array_equal(seen["action_mask"], np.array(envs.env.call("action_masks")))


@every_id
def test_afterstates_are_what_actions_make_of_the_board_and_their_rewards(env_id):
    inner = wrappers.PenalizeIllegal(gym.make(env_id), 1.0)
    env, rng, over = wrappers.AfterstatesInObservation(inner), np.random.default_rng(0), False
    observation, info = env.reset(seed=0)
    while not over:
        assert observation in env.observation_space
        board, masks = observation["observation"], info["action_mask"]
        assert np.array_equal(observation["action_mask"], masks)
        unchanged = (observation["afterstates"] == board).all(axis=(1, 2))
        assert np.array_equal(unchanged, masks == 0)
        assert not observation["rewards"][unchanged].any()
        action = int(rng.choice(np.flatnonzero(masks)))
        after, promised = observation["afterstates"][action], observation["rewards"][action]
        observation, reward, over, _, info = env.step(action)
        changed = after != observation["observation"]
        assert changed.sum() <= 1  # the tile or the mark that replied
        assert not after[changed].any()
        assert promised == max(reward, 0)
    assert not observation["action_mask"].any()
    assert (observation["afterstates"] == observation["observation"]).all()


@every_mode
def test_vector_wrappers_pass_on_what_the_environments_offer(mode):
    inner = gym.make_vec("TicTacToe-v0", 3, autoreset_mode=mode)
    envs = wrappers.MaskInObservation(wrappers.FlatObservation(wrappers.OneHotPlanes(inner)))
    envs.reset(seed=0)
    assert (envs.autoreset_mode, envs.game) == (mode, inner.game)
    assert np.array_equal(envs.action_masks(), inner.action_masks())
    inner.action_space.seed(1)
    drawn = envs.sample_legal_actions()
    inner.action_space.seed(1)
    assert np.array_equal(drawn, inner.sample_legal_actions())
    assert envs.get_attr("observation_space") == (envs.single_observation_space,) * 3
    assert np.array_equal(envs.call("action_masks"), inner.action_masks())
    for call in (envs.get_attr, envs.call):
        with pytest.raises(AttributeError, match="nothing"):
            call("nothing")


@pytest.mark.parametrize("make", [gym.make, gym.make_vec])
def test_a_potential_that_is_not_finite_changes_nothing(make):
    env = wrappers.ShapeReward(make("Tiles2048-v0"), lambda boards: [np.inf], 1.0)
    env.reset(seed=0)
    before = env.unwrapped.get_state()
    with pytest.raises(UsageError, match="1 finite numbers"):
        env.step(env.action_space.sample())
    assert equal(env.unwrapped.get_state(), before)
