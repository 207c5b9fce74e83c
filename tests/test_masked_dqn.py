"""The masked DQN: networks against the package's rules, masks, targets, files."""

import subprocess
import sys

import gymnasium as gym
import numpy as np
import pytest
import torch
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import EvalCallback
from stable_baselines3.common.env_checker import check_env
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.type_aliases import ReplayBufferSamples

from baselines.deep.masked_dqn import MaskedDQN
from baselines.deep.networks import ILLEGAL, SlidingMoves, TicTacToeMoves, symmetric_images
from baselines.deep.sb3_bridge import Bridge

BOARDS = [
    ("Tiles2048-v0", {}),
    ("Tiles2584-v0", {}),
    ("Tiles2048-v0", {"shape": (2, 3)}),
    ("Tiles2584-v0", {"shape": (3, 3)}),
    ("Tiles2048-v0", {"shape": (2, 2)}),
]
GAMES = [*BOARDS, ("TicTacToe-v0", {"side": "random"})]
SMALL = {"width": 8, "hidden": [8]}


def bridge(env_id="Tiles2048-v0", n=8, **env_kwargs):
    return Bridge(gym.make_vec(env_id, n, autoreset_mode="SameStep", **env_kwargs))


def made(envs, policy=SMALL, **options):
    options = {"learning_starts": 32, "buffer_size": 1000, "seed": 0} | options
    model = MaskedDQN("BoardPolicy", envs, policy_kwargs=dict(policy), **options)
    torch.nn.init.normal_(model.q_net.q_net.last.weight)  # a new network says 0 of all boards
    model.q_net_target.load_state_dict(model.q_net.state_dict())
    return model


def strict(env_id, **env_kwargs):
    """Return a bridge that fails on an illegal action."""
    envs = bridge(env_id, **env_kwargs)
    step = envs.envs.step

    def checked_step(actions):
        masks = envs.envs.action_masks()
        assert masks[np.arange(len(actions)), actions].all()
        return step(actions)

    envs.envs.step = checked_step
    return envs


def played(env_id, steps=60, n=50, **env_kwargs):
    envs = gym.make_vec(env_id, n, **env_kwargs)
    envs.action_space.seed(1)
    observations, _ = envs.reset(seed=1)
    seen = [observations]
    for _ in range(steps):
        observations, *_ = envs.step(envs.sample_legal_actions())
        seen.append(observations)
    return np.concatenate(seen)


@pytest.mark.parametrize(("env_id", "env_kwargs"), BOARDS)
def test_moves_are_those_of_the_package(env_id, env_kwargs):
    env = gym.make(env_id, **env_kwargs).unwrapped
    boards = played(env_id, **env_kwargs)
    largest = np.random.default_rng(0).integers(0, env.rules.largest + 1, (500, *env.shape))
    boards = np.concatenate((boards, largest.astype(np.uint8)))
    after, rewards, legal = SlidingMoves(env.rules.name, env.shape)(torch.as_tensor(boards))
    expected = env.afterstates(boards)
    for found, wanted in zip((after, rewards, legal), expected, strict=True):
        assert np.array_equal(found.numpy(), wanted)


def test_moves_of_tictactoe_are_those_of_the_package():
    env = gym.make("TicTacToe-v0").unwrapped
    boards = played("TicTacToe-v0", side="both")
    after, rewards, legal = TicTacToeMoves()(torch.as_tensor(boards))
    assert np.array_equal(legal.numpy(), env.legal_actions(boards) > 0)
    expected, wins, masks = env.afterstates(boards)
    chosen = masks > 0
    assert np.array_equal(after.numpy()[chosen], expected[chosen])
    assert np.array_equal(rewards.numpy()[chosen], wins[chosen])
    is_full = (expected != 0).all(axis=(2, 3))
    ended = TicTacToeMoves().ended(after.flatten(0, 1)).numpy().reshape(masks.shape)
    assert np.array_equal(ended[chosen], ((wins > 0) | is_full)[chosen])
    assert 0 < ended[chosen].mean() < 1


def test_what_ends_a_game_is_worth_nothing_more():
    model = made(bridge("TicTacToe-v0"), SMALL | {"reward_scale": 0.5})
    boards = torch.tensor([[1, 1, 0], [-1, -1, 0], [0, 0, 0]], dtype=torch.int8)[None]
    model.policy.set_training_mode(False)
    with torch.no_grad():
        model.q_net.q_net.last.bias.fill_(7.0)
        values = model.q_net(boards)[0]
        assert values[2] == model.q_net.of_actions(boards, torch.tensor([[2]])) == 0.5
    assert (values[[5, 6, 7, 8]] != 0).all()


def test_images_are_the_eight_symmetric_ones():
    board = torch.arange(16).reshape(1, 4, 4)
    images = {
        tuple(image.flatten().tolist()) for image in symmetric_images(board.expand(500, 4, 4))
    }
    sides = [board[0], board[0].T]
    expected = {
        tuple(torch.rot90(side, turns).flatten().tolist()) for side in sides for turns in range(4)
    }
    assert images == expected
    flat = torch.arange(6).reshape(1, 2, 3)
    assert len({tuple(i.flatten().tolist()) for i in symmetric_images(flat.expand(99, 2, 3))}) == 4


@pytest.mark.parametrize("afterstates", [True, False])
@pytest.mark.parametrize(("env_id", "env_kwargs"), GAMES)
def test_no_illegal_action_is_taken(env_id, env_kwargs, afterstates):
    policy = SMALL | {"afterstates": afterstates, "symmetric": afterstates}
    model = made(strict(env_id, **env_kwargs), policy, exploration_final_eps=0.5)
    model.learn(600)
    assert model._n_updates > 0
    stored = model.replay_buffer
    for action, board in zip(
        stored.actions[: stored.pos].reshape(-1),
        stored.observations[: stored.pos].reshape(-1, *stored.obs_shape),
        strict=True,
    ):
        assert model.q_net.legal(torch.as_tensor(board)[None])[0, action]


@pytest.mark.parametrize("afterstates", [True, False])
def test_values_are_those_of_afterstates_and_masked(afterstates):
    policy = SMALL | {"afterstates": afterstates, "symmetric": afterstates, "reward_scale": 0.5}
    model = made(bridge(), policy, gamma=0.9)
    boards = torch.as_tensor(played("Tiles2048-v0"))
    model.policy.set_training_mode(False)
    with torch.no_grad():
        values = model.q_net(boards)
        after, rewards, legal = model.q_net.moves(boards)
        for action in range(4):
            chosen = torch.full((len(boards), 1), action)
            here = legal[:, action]
            if afterstates:
                worth = model.q_net.q_net(after[:, action])[:, 0]
                expected = 0.5 * rewards[:, action] + 0.9 * worth
            else:
                expected = model.q_net.q_net(boards)[:, action]
            assert torch.allclose(values[here, action], expected[here], atol=1e-6)
            assert (values[~here, action] == ILLEGAL).all()
            alone = model.q_net.of_actions(boards[here], chosen[here])[:, 0]
            assert torch.allclose(alone, expected[here], atol=1e-6)


def test_half_precision_comes_near_the_whole():
    whole = made(bridge(), {"width": 64, "hidden": [64]})
    half = made(bridge(), {"width": 64, "hidden": [64], "bfloat16": True})
    half.policy.load_state_dict(whole.policy.state_dict())
    boards = torch.as_tensor(played("Tiles2048-v0"))
    with torch.no_grad():
        exact, near = (model.q_net.q_net(boards)[:, 0] for model in (whole, half))
    assert near.dtype == torch.float32
    assert not torch.equal(exact, near)
    assert (exact - near).abs().mean() < 0.02 * exact.std()


def test_every_game_explores_by_itself():
    model = made(bridge(n=400), learning_starts=400)
    boards = played("Tiles2048-v0", steps=20, n=400)[-400:]
    legal = model.q_net.legal(torch.as_tensor(boards))
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


def test_a_target_is_what_it_should_be_by_hand():
    """Where only zeros are known, a step towards r + γ max Q(s') is one towards r + γ r'."""
    policy = SMALL | {"reward_scale": 1.0}
    model = made(bridge(), policy, gamma=0.5, learning_rate=1e-3)
    with torch.no_grad():
        for parameter in model.policy.parameters():
            parameter.zero_()
    boards = torch.zeros(1, 4, 4, dtype=torch.uint8)
    boards[0, 0, 0] = boards[0, 1, 0] = 1  # pushed up, two 2s make a 4
    following = boards.clone()
    following[0, 0, 0] = following[0, 1, 0] = 3  # worth 16 at once
    for done, loss in ((0.0, 64.0), (1.0, 0.0)):
        # Q(s, up) = 4 + 0.5 * 0; the target is 4 + 0.5 * 16 unless the game has ended.
        samples = ReplayBufferSamples(
            boards,
            torch.tensor([[0]]),
            following,
            torch.tensor([[done]]),
            torch.tensor([[4.0]]),
        )
        model.replay_buffer.sample = lambda *_, found=samples, **__: found
        with torch.no_grad():
            for parameter in model.policy.parameters():
                parameter.zero_()
        model._logger = Losses()
        model.train(1, 1)
        assert model.logger.loss == pytest.approx(loss)


class Losses:
    """Keeps the loss that is logged."""

    def record(self, name, value, exclude=None):
        """Keep it."""
        if name == "train/loss":
            self.loss = value


def test_losses_weigh_more():
    model = made(bridge("TicTacToe-v0"), SMALL | {"reward_scale": 1.0}, loss_weight=10.0)
    with torch.no_grad():
        for parameter in model.policy.parameters():
            parameter.zero_()
    boards = torch.zeros(1, 3, 3, dtype=torch.int8)
    samples = ReplayBufferSamples(
        boards, torch.tensor([[0]]), boards, torch.tensor([[1.0]]), torch.tensor([[-1.0]])
    )
    model.replay_buffer.sample = lambda *_, **__: samples
    model._logger = Losses()
    model.train(1, 1)
    assert model.logger.loss == pytest.approx(100)


@pytest.mark.filterwarnings("ignore:.n_steps=3. is ignored")  # SB3 says so of its own buffer
@pytest.mark.parametrize("n_steps", [1, 3])
def test_ordinary_uses_of_a_model_work(tmp_path, n_steps):
    envs = bridge(shape=(2, 3))
    model = made(envs, n_steps=n_steps)
    judge = EvalCallback(bridge(shape=(2, 3)), eval_freq=20, n_eval_episodes=2, verbose=0)
    model.learn(400, callback=judge)
    assert judge.best_mean_reward > 0
    env = Monitor(gym.make("Tiles2048-v0", shape=(2, 3)))
    mean, _ = evaluate_policy(model, env, 5)
    assert mean > 0
    model.save(tmp_path / "model.zip")
    model.save_replay_buffer(tmp_path / "buffer")
    again = MaskedDQN.load(tmp_path / "model.zip", env=envs)
    again.load_replay_buffer(tmp_path / "buffer")
    boards = played("Tiles2048-v0", shape=(2, 3))
    assert np.array_equal(
        again.predict(boards, deterministic=True)[0], model.predict(boards, deterministic=True)[0]
    )
    again.learn(64, reset_num_timesteps=False)


def test_a_model_loads_in_a_fresh_process(tmp_path):
    made(bridge("Tiles2584-v0")).save(tmp_path / "model.zip")
    code = (
        "import gymnasium, numpy, tile_envs\n"
        "from baselines.deep.masked_dqn import MaskedDQN\n"
        f"model = MaskedDQN.load({str(tmp_path / 'model.zip')!r})\n"
        "board = numpy.zeros((1, 4, 4), numpy.uint8)\n"
        "board[0, 0, 0] = 1\n"
        "print(model.predict(board, deterministic=True)[0])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() in ("[1]", "[2]")  # right or down


def test_environments_pass_the_checker_of_sb3():
    for env_id, _ in GAMES:
        check_env(gym.make(env_id), warn=False)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: made(gym.make("CartPole-v1")), "plays the environments of tile_envs"),
        (
            lambda: made(gym.wrappers.FlattenObservation(gym.make("Tiles2048-v0"))),
            "takes boards as the environments of tile_envs give them",
        ),
    ],
)
def test_other_environments_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_a_model_of_another_game_is_refused(tmp_path):
    made(bridge()).save(tmp_path / "model.zip")
    for env_id, env_kwargs in (("Tiles2584-v0", {}), ("Tiles2048-v0", {"shape": (3, 3)})):
        with pytest.raises(ValueError, match="spaces do not match"):
            MaskedDQN.load(tmp_path / "model.zip", env=bridge(env_id, **env_kwargs))


@pytest.mark.parametrize("kind", ["cut", "text", "other"])
def test_a_file_that_is_no_model_is_refused(tmp_path, kind):
    path = tmp_path / "model.zip"
    if kind == "other":
        PPO("MlpPolicy", gym.make("CartPole-v1"), n_steps=8, batch_size=8).save(path)
    else:
        made(bridge()).save(path)
        path.write_bytes(path.read_bytes()[:2000] if kind == "cut" else b"no model at all")
    with pytest.raises(ValueError, match=r"no whole model of MaskedDQN|wasn't a zip-file"):
        MaskedDQN.load(path)
