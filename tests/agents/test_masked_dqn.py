"""The masked DQN: networks against the package's rules, masks, targets, files."""

from itertools import product

import gymnasium as gym
import numpy as np
import powers3
import pytest
import small
import torch
from commands import python
from numpy.lib.stride_tricks import sliding_window_view
from stable_baselines3.common.callbacks import EvalCallback
from stable_baselines3.common.logger import Logger
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.type_aliases import ReplayBufferSamples
from stable_baselines3.common.vec_env import DummyVecEnv

from baselines.agents import RandomAgent
from baselines.deep.convolutions import BoardConvolutions
from baselines.deep.dqn import DQNLearner
from baselines.deep.masked_dqn import MaskedDQN, game_of
from baselines.deep.ppo import PPOLearner
from baselines.deep.q_network import ILLEGAL, PatternNetwork
from tile_envs.plug.sb3 import SB3VecEnv
from tile_envs.sliding import RULES_2048, RULES_2584, SlidingGame
from tile_envs.tictactoe import TicTacToe

torch.set_num_threads(1)  # more only wait for each other with networks as small as these

POWERS3, SMALL = "Powers3-v0", {"width": 8, "hidden": [8]}
SHAPES = {
    **{POWERS3: [(4, 4), (3, 2)], "Tiles2048-v0": [(4, 4), (2, 3), (2, 2), (5, 5)]},
    "Tiles2584-v0": [(4, 4), (3, 3), (1, 5)],
}
GAMES = [(env_id, {"shape": shape}) for env_id in SHAPES for shape in SHAPES[env_id]]
GAMES += [("TicTacToe-v0", {"side": "random"})]


def games(env_id="Tiles2048-v0", n=8, **env_kwargs):
    return SB3VecEnv(gym.make_vec(env_id, n, autoreset_mode="SameStep", **env_kwargs))


def made(envs, policy=SMALL, **options):
    options = {"learning_starts": 32, "buffer_size": 1000, "seed": 0} | options
    model = MaskedDQN("BoardPolicy", envs, policy_kwargs=dict(policy), **options)
    torch.nn.init.normal_(last_layer(model).weight)  # a new network says 0 of all boards
    model.q_net_target.load_state_dict(model.q_net.state_dict())
    return model


def last_layer(model):
    return [*model.q_net.q_net.modules()][-1]


def played(env_id, steps=60, n=50, **env_kwargs):
    envs = gym.make_vec(env_id, n, **env_kwargs)
    envs.action_space.seed(1)
    observations, _ = envs.reset(seed=1)
    seen = [observations]
    for _ in range(steps):
        observations, *_ = envs.step(envs.sample_legal_actions())
        seen.append(observations)
    return np.concatenate(seen)


def test_afterstates_that_end_a_game_have_no_value():
    model = made(games("TicTacToe-v0"), SMALL | {"reward_scale": 0.5})
    boards = torch.tensor([[1, 1, 0], [-1, -1, 0], [0, 0, 0]], dtype=torch.int8)[None]
    with torch.no_grad():
        last_layer(model).bias.fill_(7.0)
        values = model.q_net(boards)[0]
        assert values[2] == 0.5
        assert (values[[5, 6, 7, 8]] != 0).all()
        draw = torch.tensor([[1, -1, 1], [1, -1, -1], [-1, 1, 0]], dtype=torch.int8)[None]
        assert model.q_net(draw)[0, 8] == 0


@pytest.mark.parametrize(("env_id", "env_kwargs"), GAMES)
def test_a_board_and_its_images_have_the_same_value_and_others_do_not(env_id, env_kwargs):
    game = gym.make(env_id, **env_kwargs).unwrapped.game
    network = PatternNetwork(game, 4, [8])
    torch.nn.init.normal_(network.layers[-1].weight)
    boards = np.unique(played(env_id, **env_kwargs), axis=0)
    cells = game.symmetries.cells
    images = boards.reshape(len(boards), -1)[:, cells].reshape(-1, *game.shape)
    values = network(torch.as_tensor(images)).reshape(len(boards), -1)
    assert torch.allclose(values, values[:, :1], atol=1e-5)
    numbers = [tuple(sorted(row)) for row in network.patterns_of(torch.as_tensor(boards)).tolist()]
    seen = {}
    for board, number in zip(images.reshape(len(boards), -1, len(cells[0])), numbers, strict=True):
        canonical = min(map(tuple, board.tolist()))
        if len(cells[0]) <= 6:  # of larger boards, lines and squares may leave out how they lie
            assert seen.setdefault(number, canonical) == canonical


def test_lines_and_squares_have_the_numbers_of_the_17_four_tuples():
    network = PatternNetwork(SlidingGame(RULES_2048), 4, [8])
    assert network.places.shape == (4, 17)
    # Two classes of lines and one of squares have two orders of their cells, corners, too; the
    # square in the middle has eight.
    v = 18
    pairs = (v**4 + v**2) // 2
    corner = (v**4 + v**3) // 2  # mirrored at the diagonal, two cells stay
    middle = (v**4 + 2 * v + 3 * v**2 + 2 * v**3) // 8
    assert len(network.vectors.weight) == 3 * pairs + corner + middle


@pytest.mark.parametrize("shape", [s for s in product(range(1, 9), repeat=2) if np.prod(s) > 2])
def test_convolutions_see_every_line_of_three_and_every_square(shape):
    """Squares are seen in two orders, and cells outside of narrow boards as those inside."""
    torch.manual_seed(0)
    network = BoardConvolutions(gym.spaces.Box(-1, 20, shape, np.int8), 256)
    cells = np.arange(np.prod(shape))
    margin = [(0, max(0, 3 - side)) for side in shape]
    padded = np.pad(cells.reshape(shape), margin, constant_values=len(cells))
    seen = [sliding_window_view(padded, size) for size in ((1, 3), (3, 1), (2, 2), (2, 2))]
    boards = torch.randint(-1, 21, shape, dtype=torch.int8).repeat(len(cells) + 1, 1, 1)
    boards.view(-1, len(cells))[cells, cells] ^= 1  # each cell of a board of its own; not the last
    features = network(boards).detach().view(len(boards), -1, 64)
    changed = (features[:-1] != features[-1]).any(dim=2).sum(dim=1)
    expected = np.bincount(np.concatenate([window.ravel() for window in seen]))[: len(cells)]
    assert changed.tolist() == expected.tolist()


def legal_actions(model, boards):
    return model.q_net.afterstates_of(boards)[2]


@pytest.mark.parametrize(
    ("env_id", "env_kwargs", "network"),
    [
        *((*game, "patterns") for game in (GAMES[1], GAMES[2], GAMES[8], GAMES[9])),
        *((*game, "cnn") for game in (GAMES[0], GAMES[3], GAMES[6], GAMES[9])),
    ],
)
def test_no_illegal_action_is_taken(env_id, env_kwargs, network):
    envs, policy = games(env_id, **env_kwargs), SMALL | {"network": network}
    model = made(envs, policy, exploration_final_eps=0.5)
    model.learn(600)
    assert model._n_updates > 0
    stored, n = model.replay_buffer, model.replay_buffer.pos
    boards = torch.as_tensor(stored.observations[:n].reshape(-1, *stored.obs_shape))
    actions = stored.actions[:n].reshape(-1)
    assert len(actions) >= 600
    assert legal_actions(model, boards)[np.arange(len(actions)), actions].all()


@pytest.mark.parametrize("network", ["patterns", "cnn"])
def test_values_are_those_of_afterstates_and_masked(network):
    model = made(games(), SMALL | {"reward_scale": 0.5, "network": network}, gamma=0.9)
    boards = torch.as_tensor(played("Tiles2048-v0"))
    with torch.no_grad():
        values = model.q_net(boards)
        after, rewards, legal = model.q_net.afterstates_of(boards)
        for action in range(4):
            here = legal[:, action]
            expected = 0.5 * rewards[:, action] + 0.9 * model.q_net.q_net(after[:, action])[:, 0]
            assert torch.allclose(values[here, action], expected[here], atol=1e-6)
            assert (values[~here, action] == ILLEGAL).all()


def test_every_game_explores_by_itself():
    model = made(games(n=400), learning_starts=400)
    boards = played("Tiles2048-v0", steps=20, n=400)[-400:]
    legal = legal_actions(model, torch.as_tensor(boards))
    assert legal.any(dim=1).all()
    greedy, _ = model.predict(boards, deterministic=True)
    model.exploration_rate = 0.5
    explored, _ = model.predict(boards, deterministic=False)
    assert 0.2 < (greedy != explored).mean() < 0.5  # a third of the drawn ones is the best
    assert legal[np.arange(400), explored].all()
    model.exploration_rate = 0.0
    assert np.array_equal(model.predict(boards, deterministic=False)[0], greedy)
    one, _ = model.predict(boards[0], deterministic=False)
    assert one.shape == ()


def loss_of(model, boards, following, done, reward, discounts=None):
    """Return the loss of a gradient step on samples, from weights of zero."""
    columns = torch.tensor([[0]]), following, torch.tensor([[done]]), torch.tensor([[reward]])
    samples = ReplayBufferSamples(boards, *columns, discounts)
    model.replay_buffer.sample = lambda *_, **__: samples
    with torch.no_grad():
        for parameter in model.policy.parameters():
            parameter.zero_()
    model.set_logger(Logger(None, []))
    model.train(1, 1)
    return model.logger.name_to_value["train/loss"]


@pytest.mark.parametrize(
    ("done", "discount", "loss"), [(0.0, None, 64.0), (1.0, None, 0.0), (0.0, 0.25, 16.0)]
)
def test_a_target_is_computed_as_by_hand(done, discount, loss):
    """With weights of zero, Q(s, up) = 4, and the target is 4 + γ 16 unless the game has ended."""
    model = made(games(), SMALL | {"reward_scale": 1.0}, gamma=0.5)
    boards = torch.zeros(1, 4, 4, dtype=torch.uint8)
    boards[0, 0, 0] = boards[0, 1, 0] = 1  # pushed up, two 2s make a 4
    following = boards.clone()
    following[0, 0, 0] = following[0, 1, 0] = 3  # pushed up, two 8s make a 16
    discounts = None if discount is None else torch.tensor([[discount]])  # of n-step returns
    assert loss_of(model, boards, following, done, 4.0, discounts) == pytest.approx(loss)
    assert model.logger.name_to_value["train/value"] == 4


def test_losses_weigh_more():
    model = made(games("TicTacToe-v0"), SMALL | {"reward_scale": 1.0}, loss_weight=10.0)
    boards = torch.zeros(1, 3, 3, dtype=torch.int8)
    for reward, loss in ((-1.0, 100.0), (1.0, 1.0)):
        assert loss_of(model, boards, boards, 1.0, reward) == pytest.approx(loss)


@pytest.mark.parametrize("n_steps", [1, 3])
def test_ordinary_uses_of_a_model_work(tmp_path, n_steps):
    envs = games(shape=(2, 3))
    model = made(envs, n_steps=n_steps)
    assert getattr(model.replay_buffer, "n_steps", 1) == n_steps
    before = [parameter.detach().clone() for parameter in model.q_net.parameters()]
    every = {"eval_freq": 20, "n_eval_episodes": 2, "verbose": 0}
    callback = EvalCallback(games(shape=(2, 3)), log_path=str(tmp_path), **every)
    model.learn(400, callback=callback)
    means = np.load(tmp_path / "evaluations.npz")["results"].mean(axis=1)
    assert len(means) == 400 // 8 // 20
    assert callback.best_mean_reward == means.max()
    after = list(model.q_net.parameters())
    assert not any(torch.equal(one, other) for one, other in zip(before, after, strict=True))
    model.save(tmp_path / "model.zip")
    model.save_replay_buffer(tmp_path / "buffer")
    again = MaskedDQN.load(tmp_path / "model.zip", env=envs)
    again.load_replay_buffer(tmp_path / "buffer")
    boards = played("Tiles2048-v0", shape=(2, 3))
    one, other = (each.predict(boards, deterministic=True)[0] for each in (again, model))
    assert np.array_equal(one, other)
    again.learn(64, reset_num_timesteps=False)
    assert again.num_timesteps == model.num_timesteps + 64
    assert again.replay_buffer.pos == model.replay_buffer.pos + 64 // 8


FRESH = """
import sys
import numpy as np
from baselines.deep.masked_dqn import MaskedDQN
from sb3_contrib import MaskablePPO

for path in sys.argv[1:]:
    known = np.load(path + ".npz")
    if "DQN" in path:
        actions, _ = MaskedDQN.load(path).predict(known["boards"], deterministic=True)
    else:
        model = MaskablePPO.load(path)
        actions, _ = model.predict(known["boards"], action_masks=known["masks"], deterministic=True)
    assert np.array_equal(actions, known["actions"]), path
assert "powers3" not in sys.modules
"""
TRAINED = [
    (DQNLearner, SlidingGame(RULES_2584), small.DQN | {"network": "cnn"}),
    (DQNLearner, SlidingGame(powers3.RULES, (3, 2)), small.DQN),
    (PPOLearner, SlidingGame(powers3.RULES, (3, 2)), small.PPO | {"network": "cnn"}),
]


def test_trained_models_load_and_play_in_a_fresh_process(tmp_path):
    """It does not import the module that defines a game of somebody else's."""
    paths = [tmp_path / f"{n}-{learner.__name__}.zip" for n, (learner, *_) in enumerate(TRAINED)]
    for path, (learner, game, settings) in zip(paths, TRAINED, strict=True):
        trained = learner(game, 0, learner.Settings(**settings))
        for _ in range(3):
            trained.learn()
        assert trained.model._n_updates > 0
        boards = [trained.envs.reset()]
        for _ in range(20):
            boards.append(trained.envs.step(trained.predict(boards[-1])[0])[0])
        boards = np.concatenate(boards)
        actions, masks = trained.predict(boards)[0], game.legal_actions(boards) > 0
        assert len(set(actions.tolist())) > 1
        trained.save_model(path)
        np.savez(f"{path}.npz", boards=boards, actions=actions, masks=masks)
    python("-c", FRESH, *paths)


@pytest.mark.parametrize(
    ("env_id", "env_kwargs", "game"),
    [
        ("Tiles2584-v0", {"shape": (1, 5)}, SlidingGame(RULES_2584, (1, 5))),
        (POWERS3, {"spawn": {3: 1.0}, "start_tiles": 4}, SlidingGame(powers3.RULES)),
        ("TicTacToe-v0", {"side": "both"}, TicTacToe()),
        ("TicTacToe-v0", {"opponent": RandomAgent(TicTacToe())}, TicTacToe()),
    ],
)
def test_a_model_holds_the_rules_of_its_game_and_no_more(env_id, env_kwargs, game):
    single = DummyVecEnv([lambda: Monitor(gym.make(env_id, **env_kwargs))])
    envs, given = games(env_id, **env_kwargs), dict(SMALL)
    model = MaskedDQN("BoardPolicy", envs, policy_kwargs=given)
    assert model.q_net.game == game_of(single) == game
    assert given == SMALL  # the caller's dictionary is left alone


def test_a_model_of_another_game_is_refused(tmp_path):
    made(games()).save(tmp_path / "model.zip")
    MaskedDQN.load(tmp_path / "model.zip", env=games(spawn={2: 1.0}))
    for others in (games("Tiles2584-v0"), games(shape=(3, 3)), games(POWERS3)):
        with pytest.raises(ValueError, match=r"spaces do not match|Powers3 on 4×4"):
            MaskedDQN.load(tmp_path / "model.zip", env=others)


def test_a_lack_of_memory_is_not_taken_for_a_damaged_file(tmp_path, monkeypatch):
    def fail(*_, **__):
        raise torch.OutOfMemoryError

    learner = DQNLearner(SlidingGame(RULES_2048, (2, 2)), 0, DQNLearner.Settings(**small.DQN))
    learner.save_model(tmp_path / "model.zip")
    monkeypatch.setattr(torch, "load", fail)
    with pytest.raises(torch.OutOfMemoryError):
        learner.load_model(tmp_path / "model.zip")
