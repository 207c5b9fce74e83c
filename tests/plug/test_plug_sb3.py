"""`SB3VecEnv`: equal to Stable-Baselines3's own vector environment of single games."""

import json
from functools import partial

import gymnasium as gym
import numpy as np
import pytest
import torch
from gymnasium.utils.env_checker import data_equivalence
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.evaluation import evaluate_policy as masked_evaluate_policy
from stable_baselines3 import DQN, PPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import configure
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import DummyVecEnv, VecFrameStack, VecMonitor, VecNormalize

from tile_envs import wrappers
from tile_envs.plug.sb3 import BoardFeatures, LogScores, SB3VecEnv, make_sb3
from tile_envs.wrappers import vector

torch.set_num_threads(1)  # more only wait for each other with networks as small as these

N = 5
GAMES = {
    "Tiles2048-v0": {"shape": (2, 3)},
    "Tiles2584-v0": {"shape": (5, 1)},
    "TicTacToe-v0": {"opponent": "random", "side": "random"},
}
of_games = pytest.mark.parametrize(("env_id", "env_kwargs"), GAMES.items())


def games(env_id="Tiles2048-v0", n=N, **env_kwargs):
    return SB3VecEnv(gym.make_vec(env_id, n, autoreset_mode="SameStep", **env_kwargs))


def single_games(env_id, wrap=lambda env: env, **env_kwargs):
    return DummyVecEnv([lambda: Monitor(wrap(gym.make(env_id, **env_kwargs))) for _ in range(N)])


def drawn(envs, rng):
    """Return an action for each game; a few are illegal."""
    masks = np.stack(envs.env_method("action_masks"))
    return (rng.random(masks.shape) * (masks + 0.1)).argmax(axis=1)


def assert_same_step(one, other):
    """Compare what two vector environments return; return how many games have ended."""
    np.testing.assert_equal(one[:3], other[:3])
    assert [values.dtype for values in one[1:3]] == [values.dtype for values in other[1:3]]
    for ours, theirs, over in zip(one[3], other[3], one[2], strict=True):
        for name in ("TimeLimit.truncated", "action_mask", "illegal", "unshaped_reward"):
            np.testing.assert_equal(ours.get(name), theirs.get(name))
        assert ("episode" in ours) == ("terminal_observation" in ours) == over
        if over:
            won = "winner" in ours and ours["winner"] == ours["to_play"]
            assert ours["is_success"] == (won or ours.get("max_tile", 0) >= 2048)
            assert ours.keys() - {"is_success"} == theirs.keys() - {"is_success"}
            np.testing.assert_equal(ours["terminal_observation"], theirs["terminal_observation"])
            assert ours["episode"]["l"] == theirs["episode"]["l"]
            assert ours["episode"]["r"] == pytest.approx(theirs["episode"]["r"])
    return int(one[2].sum())


def assert_same_games(ours, theirs):
    assert ours.observation_space == theirs.observation_space
    for name in ("observation_space", "action_space"):
        assert ours.get_attr(name) == theirs.get_attr(name)
    ours.seed(11), theirs.seed(11)
    np.testing.assert_equal(ours.reset(), theirs.reset())
    rng, ended, illegal = np.random.default_rng(0), 0, 0
    for _ in range(300):
        masks = np.stack(ours.env_method("action_masks"))
        assert np.array_equal(masks, np.stack(theirs.env_method("action_masks")))
        actions = drawn(ours, rng)
        illegal += (~masks[np.arange(N), actions]).sum()
        ended += assert_same_step(ours.step(actions), theirs.step(actions))
    assert ended > 10
    assert illegal > 0
    assert ours.episodes == ended


@of_games
def test_games_are_those_of_single_environments(env_id, env_kwargs):
    assert_same_games(games(env_id, **env_kwargs), single_games(env_id, **env_kwargs))


def test_wrapped_games_are_those_of_wrapped_single_environments():
    def wrap(env, kinds=wrappers):
        shaped = kinds.ShapeReward(kinds.Log2Reward(env), {"empty": 0.5}, gamma=0.9)
        return kinds.MaskInObservation(kinds.OneHotPlanes(shaped))

    envs = gym.make_vec("Tiles2048-v0", N, autoreset_mode="SameStep", shape=(2, 2))
    theirs = single_games("Tiles2048-v0", wrap, shape=(2, 2))
    assert_same_games(SB3VecEnv(wrap(envs, vector)), theirs)


@pytest.mark.parametrize(
    ("algorithm", "env_id"), [*zip([DQN, PPO, MaskablePPO], GAMES, strict=True)]
)
def test_algorithms_learn_from_it_what_they_learn_from_single_environments(algorithm, env_id):
    """With the same seed, models end with the same weights, and have seen the same games."""
    options = {"learning_starts": 200} if algorithm is DQN else {"n_steps": 16, "batch_size": 16}
    models = []
    for envs in (games(env_id, **GAMES[env_id]), single_games(env_id, **GAMES[env_id])):
        model = algorithm("MlpPolicy", envs, seed=0, device="cpu", **options)
        before = {name: tensor.clone() for name, tensor in model.policy.state_dict().items()}
        models.append(model.learn(300))
    ours, theirs = (model.policy.state_dict() for model in models)
    assert all(torch.equal(ours[name], theirs[name]) for name in ours)
    assert not all(torch.equal(ours[name], before[name]) for name in ours)
    ours, theirs = ([(e["r"], e["l"]) for e in model.ep_info_buffer] for model in models)
    assert ours == theirs
    assert len(ours) == models[0].env.episodes > 0


def test_attributes_are_those_of_one_or_several_games_and_the_same_for_all():
    envs = games()
    envs.reset()
    assert envs.get_attr("max_illegal") == [100] * N
    assert envs.env_is_wrapped(Monitor) == [True] * N
    for indices, which in ((np.int64(-1), [-1]), ([0, 3], [0, 3]), (None, slice(None))):
        assert envs.get_attr("seeds", indices) == envs.games.seeds[which].tolist()
        masks = [masks() for masks in envs.get_attr("action_masks", indices)]
        assert np.array_equal(masks, envs.env_method("action_masks", indices=indices))
    for wrong in ([0, -6], "0"):
        with pytest.raises(ValueError, match="indices"):
            envs.env_method("action_masks", indices=wrong)
    with pytest.raises(AttributeError, match="make games with another max_illegal"):
        envs.set_attr("max_illegal", 3)


def test_seeds_and_options_hold_for_one_reset():
    envs = games()
    envs.seed(3)
    first = envs.reset()
    assert not np.array_equal(envs.reset(), first)
    board = np.arange(16, dtype=np.uint8).reshape(4, 4) % 5
    envs.set_options({"board": board})
    assert (envs.reset() == board).all()
    assert not (envs.reset() == board).all()


@of_games
def test_a_restored_state_continues_in_the_middle_of_games(env_id, env_kwargs):
    one, other = games(env_id, **env_kwargs), games(env_id, **env_kwargs)
    one.seed(0), other.seed(1)
    one.reset(), other.reset()
    rng = np.random.default_rng(0)
    while one.episodes < 3 or not one.get_state()["lengths"].any():
        one.step(drawn(one, rng))
    other.set_state(one.get_state())
    assert other.episodes == one.episodes
    before = one.episodes
    for _ in range(60):
        actions = drawn(one, rng)
        assert_same_step(one.step(actions), other.step(actions))
    assert one.episodes == other.episodes > before + 3
    other.set_state(one.get_state())
    assert data_equivalence(one.get_state(), other.get_state(), exact=True)


class Seen(BaseCallback):
    """Counts illegal actions and replaced ones, and keeps the scores of games that end."""

    illegal = replaced = 0
    scores = ()

    def _on_step(self):
        infos = self.locals["infos"]
        self.illegal += sum(info["illegal"] for info in infos)
        self.replaced = max(self.replaced, *(info.get("illegal_actions", 0) for info in infos))
        self.scores += tuple(info["score"] for info in infos if "score" in info)
        return True


def test_an_algorithm_without_masks_plays_no_illegal_action():
    kinds = [vector.ReplaceIllegal, partial(vector.PenalizeIllegal, penalty=1.0)]
    envs = make_sb3("Tiles2048-v0", N, seed=0, wrappers=[vector.Log2Reward, *kinds], shape=(3, 3))
    features, seen = {"features_extractor_class": BoardFeatures}, Seen()
    model = DQN("MlpPolicy", envs, seed=0, policy_kwargs=features, learning_starts=100)
    model.learn(400, callback=seen)
    assert seen.illegal == 0
    assert seen.replaced > 5


@pytest.mark.filterwarnings("ignore:The environment is already wrapped with a `Monitor`")
def test_sb3_wraps_it_and_finds_masks_through_its_wrappers():
    envs = VecNormalize(VecMonitor(make_sb3("Tiles2048-v0", N, seed=0, shape=(2, 2))))
    model = MaskablePPO("MlpPolicy", VecFrameStack(envs, 3), n_steps=16, batch_size=16, seed=0)
    seen = Seen()
    model.learn(200, callback=seen)
    assert seen.illegal == 0
    mean, _ = masked_evaluate_policy(model, model.env, 7, warn=False)
    assert mean > 0


def test_scores_are_logged_whatever_the_rewards_are(tmp_path):
    options = {"n_envs": 8, "seed": 0, "shape": (2, 2), "wrappers": [wrappers.Log2Reward]}
    envs, plain = (make_sb3("Tiles2048-v0", reward_scale=r, **options) for r in (1 / 1024, 1))
    envs.reset(), plain.reset()
    actions = drawn(envs, np.random.default_rng(0))
    assert np.array_equal(envs.step(actions)[1], plain.step(actions)[1] / np.float32(1024))
    model, seen = MaskablePPO("MlpPolicy", envs, n_steps=64, seed=0), Seen()
    model.set_logger(configure(str(tmp_path), ["json"]))
    model.learn(512, callback=[seen, LogScores()])
    model.logger.close()
    logged = json.loads((tmp_path / "progress.json").read_text().splitlines()[-1])
    assert logged["rollout/score"] == pytest.approx(np.mean(seen.scores[-100:]))


def test_board_features_fit_every_board_and_their_gradient_is_that_of_an_embedding_bag():
    for shape in ((2, 3), (1, 3), (8, 1), (8, 8)):
        space = gym.make("Tiles2584-v0", shape=shape).observation_space
        features = BoardFeatures(space, width=8)
        assert features(torch.tensor(space.sample()[None])).shape == (1, features.features_dim)
    features = BoardFeatures(gym.make("Tiles2048-v0").observation_space, width=8)
    boards = torch.randint(0, 4, (50, 4, 4))
    outputs = features(boards)
    outputs.square().sum().backward()
    gradient, features.pairs.weight.grad = features.pairs.weight.grad, None
    cells = boards.flatten(1)
    right = [(i, i + 1) for i in range(16) if i % 4 < 3]
    pairs = [(i, i + 4) for i in range(12)] + right
    entries = [n * 18**2 + cells[:, a] * 18 + cells[:, b] for n, (a, b) in enumerate(pairs)]
    expected = torch.relu(features.pairs(torch.stack(entries, 1)))
    torch.testing.assert_close(outputs, expected)
    expected.square().sum().backward()
    torch.testing.assert_close(gradient, features.pairs.weight.grad)
