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
from players import boards_from_play
from stable_baselines3.common.logger import Logger
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.type_aliases import ReplayBufferSamples
from stable_baselines3.common.vec_env import DummyVecEnv

from baselines.deep.convolutions import BoardConvolutions
from baselines.deep.dqn import DQNLearner
from baselines.deep.masked_dqn import MaskedDQN, game_of
from baselines.deep.ppo import PPOLearner
from baselines.deep.q_network import ILLEGAL, PatternNetwork
from tile_envs.plug.sb3 import SB3VecEnv
from tile_envs.sliding import RULES_2584, SlidingGame

torch.set_num_threads(1)  # more only wait for each other with networks as small as these

POWERS3, SMALL = "Powers3-v0", {"width": 8, "hidden": [8]}
SHAPES = {POWERS3: [(4, 4), (3, 2)], "Tiles2048-v0": [(2, 3), (5, 5)], "Tiles2584-v0": [(1, 5)]}
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
    boards = np.unique(boards_from_play(game, 3000), axis=0)
    cells = game.symmetries.cells
    images = boards.reshape(len(boards), -1)[:, cells].reshape(-1, *game.shape)
    values = network(torch.as_tensor(images)).reshape(len(boards), -1)
    assert torch.allclose(values, values[:, :1], atol=1e-5)
    if len(cells[0]) <= 6:  # of larger boards, lines and squares may leave out how they lie
        patterns = network.patterns_of(torch.as_tensor(boards)).tolist()
        numbers = [tuple(sorted(row)) for row in patterns]
        canonical = [min(board.tolist()) for board in images.reshape(len(boards), len(cells), -1)]
        pairs = {(number, tuple(board)) for number, board in zip(numbers, canonical, strict=True)}
        assert len(pairs) == len(set(numbers))


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


@pytest.mark.parametrize(
    ("game", "network"), [*zip(GAMES, ["cnn", "patterns"] * 3, strict=True), (GAMES[-1], "cnn")]
)
def test_no_illegal_action_is_taken(game, network):
    envs, policy = games(game[0], **game[1]), SMALL | {"network": network}
    model = made(envs, policy, exploration_final_eps=0.5)
    model.learn(600)
    assert model._n_updates > 0
    stored, n = model.replay_buffer, model.replay_buffer.pos
    boards = torch.as_tensor(stored.observations[:n].reshape(-1, *stored.obs_shape))
    actions = stored.actions[:n].reshape(-1)
    assert model.q_net.afterstates_of(boards)[2][np.arange(len(actions)), actions].all()


@pytest.mark.parametrize("network", ["patterns", "cnn"])
def test_values_are_those_of_afterstates_and_masked(network):
    model = made(games(), SMALL | {"reward_scale": 0.5, "network": network}, gamma=0.9)
    boards = torch.as_tensor(boards_from_play(model.q_net.game, 3000))
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
    boards = boards_from_play(model.q_net.game, 400)
    legal = model.q_net.afterstates_of(torch.as_tensor(boards))[2]
    greedy, _ = model.predict(boards, deterministic=True)
    model.exploration_rate = 0.5
    explored, _ = model.predict(boards, deterministic=False)
    assert 0.2 < (greedy != explored).mean() < 0.5  # a third of the drawn ones is the best
    assert legal[np.arange(400), explored][legal.any(1)].all()  # of the games that go on
    model.exploration_rate = 0.0
    assert np.array_equal(model.predict(boards, deterministic=False)[0], greedy)
    assert model.predict(boards[0], deterministic=False)[0].shape == ()


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
    model = made(games(), SMALL | {"reward_scale": 1.0}, gamma=0.5, loss_weight=10.0)
    boards = torch.zeros(1, 4, 4, dtype=torch.uint8)
    boards[0, 0, 0] = boards[0, 1, 0] = 1  # pushed up, two 2s make a 4
    following = boards.clone()
    following[0, 0, 0] = following[0, 1, 0] = 3  # pushed up, two 8s make a 16
    discounts = None if discount is None else torch.tensor([[discount]])  # of n-step returns
    assert loss_of(model, boards, following, done, 4.0, discounts) == pytest.approx(loss)
    assert model.logger.name_to_value["train/value"] == 4
    # A lost game weighs more: from Q = 4, to −1 with a weight of 10.
    assert loss_of(model, boards, boards, 1.0, -1.0) == pytest.approx((4 + 10) ** 2)


@pytest.mark.parametrize("n_steps", [1, 3])
def test_a_saved_model_plays_alike_learns_on_and_plays_no_other_game(tmp_path, n_steps):
    spawning, path = {"spawn": {3: 1.0}, "start_tiles": 4}, tmp_path / "model.zip"
    envs = games(POWERS3, **spawning)
    single = DummyVecEnv([lambda: Monitor(gym.make(POWERS3, **spawning))])
    model = made(envs, n_steps=n_steps)
    assert model.q_net.game == game_of(single) == SlidingGame(powers3.RULES)
    model.learn(400)
    model.save(path)
    model.save_replay_buffer(tmp_path / "buffer")
    again = MaskedDQN.load(path, env=envs)
    again.load_replay_buffer(tmp_path / "buffer")
    boards = boards_from_play(model.q_net.game, 3000)
    one, other = (each.predict(boards, deterministic=True)[0] for each in (again, model))
    assert np.array_equal(one, other)
    again.learn(64, reset_num_timesteps=False)
    assert again.replay_buffer.pos == model.replay_buffer.pos + 64 // 8
    MaskedDQN.load(path, env=games(POWERS3))
    for others in (games("Tiles2584-v0"), games(POWERS3, shape=(3, 3)), games()):
        with pytest.raises(ValueError, match=r"spaces do not match|Powers3 on 4×4"):
            MaskedDQN.load(path, env=others)


FRESH = """
import sys
import numpy as np
from baselines.deep.masked_dqn import MaskedDQN
from sb3_contrib import MaskablePPO

for path in sys.argv[1:]:
    known, kind = np.load(path + ".npz"), MaskedDQN if "DQN" in path else MaskablePPO
    masks = {} if "DQN" in path else {"action_masks": known["masks"]}
    actions, _ = kind.load(path).predict(known["boards"], deterministic=True, **masks)
    assert np.array_equal(actions, known["actions"]), path
assert "powers3" not in sys.modules
"""


def test_trained_models_load_and_play_in_a_fresh_process(tmp_path):
    """It does not import the module that defines a game of somebody else's."""
    paths, mine = [], SlidingGame(powers3.RULES, (3, 2))
    for kind, game, settings in (
        (DQNLearner, SlidingGame(RULES_2584), small.DQN | {"network": "cnn"}),
        (DQNLearner, mine, small.DQN),
        (PPOLearner, mine, small.PPO | {"network": "cnn"}),
    ):
        paths.append(tmp_path / f"{len(paths)}-{kind.__name__}.zip")
        trained = kind(game, 0, kind.Settings(**settings))
        for _ in range(3):
            trained.learn()
        assert trained.model._n_updates > 0
        boards = [trained.envs.reset()]
        for _ in range(20):
            boards.append(trained.envs.step(trained.predict(boards[-1])[0])[0])
        boards = np.concatenate(boards)
        actions, masks = trained.predict(boards)[0], game.legal_actions(boards) > 0
        assert len(set(actions.tolist())) > 1
        trained.save_model(paths[-1])
        np.savez(f"{paths[-1]}.npz", boards=boards, actions=actions, masks=masks)
    python("-c", FRESH, *paths)
