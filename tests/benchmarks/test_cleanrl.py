"""`cleanrl_ppo` and `cleanrl_dqn`: one file each; PPO leaves out the steps that reset games."""

import gymnasium as gym
import numpy as np
import pytest
import torch
from torch.distributions import Categorical

from baselines.evaluation.sampled import play
from benchmarks.libraries import cleanrl_dqn, cleanrl_ppo
from benchmarks.libraries.cleanrl_ppo import Args, rollouts

SMALL = {"num_envs": 32, "num_steps": 64, "width": 16, "minutes": float("inf")}
SMALL_DQN = {"num_envs": 32, "width": 16, "batch_size": 64, "minutes": float("inf")}
PROGRAMS = [(cleanrl_ppo, SMALL), (cleanrl_dqn, SMALL_DQN)]
GAMES = ["Tiles2048-v0", "Tiles2584-v0", "TicTacToe-v0"]


@pytest.fixture(autouse=True)
def torch_as_it_was():
    """Undo what the program asks of torch for its own process."""
    threads = torch.get_num_threads()
    yield
    torch.set_num_threads(threads)
    torch.set_flush_denormal(False)


class Scripted:
    """Games of which reset and step return what is written here, in NextStep mode.

    Boards are their own values.  Game 0 terminates at its second step, game 1 is truncated there;
    the third step resets both.  Game 2 goes on.
    """

    boards = [[[1], [2], [3]], [[4], [5], [6]], [[7], [8], [9]], [[10], [11], [12]]]
    rewards = [[0.5, 1.0, 2.0], [3.0, 4.0, 5.0], [0.0, 0.0, 6.0]]

    def reset(self, seed):
        self.step_number = 0
        return np.array(self.boards[0]), self._infos()

    def step(self, actions):
        rewards = np.array(self.rewards[self.step_number])
        self.step_number += 1
        ends = np.array([1, 2, 0]) * (self.step_number == 2)
        boards = np.array(self.boards[self.step_number])
        return boards, rewards, ends == 1, ends == 2, self._infos()

    def _infos(self):
        return {"action_mask": np.ones((3, 2), np.int8), "illegal": np.zeros(3, np.bool_)}


def values_of_boards(boards, masks):
    return Categorical(logits=torch.zeros(len(boards), 2)), boards[:, 0].float()


def test_advantages_are_those_made_by_hand():
    args = Args(num_envs=3, num_steps=3, gamma=0.5, gae_lambda=0.5)
    (boards, *_, advantages, returns), illegal = next(rollouts(values_of_boards, Scripted(), args))
    assert illegal == 0
    # The steps that reset games 0 and 1 would have come from boards 7 and 8.
    assert boards[:, 0].tolist() == [1, 2, 3, 4, 5, 6, 9]
    terminated = 3 - 4  # nothing follows
    truncated = 4 + 0.5 * 8 - 5  # the last board, 8, has its value
    third = 6 + 0.5 * 12 - 9
    second = 5 + 0.5 * 9 - 6 + 0.25 * third
    following = np.array([terminated, truncated, second])
    first = np.array([0.5 + 0.5 * 4 - 1, 1 + 0.5 * 5 - 2, 2 + 0.5 * 6 - 3]) + 0.25 * following
    assert advantages.tolist() == [*first, terminated, truncated, second, third]
    assert returns.tolist() == (advantages + boards[:, 0]).tolist()


def test_values_of_actions_are_those_of_their_afterstates():
    envs = gym.make_vec("Tiles2048-v0", num_envs=20)
    agent = cleanrl_dqn.Agent(envs, cleanrl_dqn.Args(width=8, gamma=0.5, reward_scale=0.25))
    boards, _ = envs.reset(seed=0)
    afterstates, rewards, masks = envs.unwrapped.game.afterstates(boards)
    values = agent(boards).detach().numpy()
    assert np.array_equal(np.isfinite(values), masks > 0)
    for action in range(4):
        legal = masks[:, action] > 0
        after = agent.values(torch.as_tensor(afterstates[legal, action])).detach().numpy()
        expected = 0.25 * rewards[legal, action] + 0.5 * after
        assert values[legal, action] == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(("program", "small"), PROGRAMS)
@pytest.mark.parametrize("env_id", GAMES)
def test_it_trains_on_every_game(program, small, env_id, capsys):
    agent, metrics = program.train(program.Args(env_id, total_timesteps=6_000, **small))
    assert 6_000 <= metrics["steps"] <= 6_144
    assert metrics["games"] > metrics["illegal"] == 0
    assert np.isfinite(metrics["loss"])
    assert all(weights.isfinite().all() for weights in agent.parameters())
    assert "illegal 0" in capsys.readouterr().out
    play(agent, env_id, episodes=10)  # raises if it plays anything but actions


@pytest.mark.parametrize(("program", "small"), PROGRAMS)
def test_the_seed_fixes_the_weights(program, small):
    def weights(seed):
        agent, _ = program.train(program.Args(seed=seed, total_timesteps=4_000, **small))
        return torch.nn.utils.parameters_to_vector(agent.parameters())

    assert torch.equal(weights(1), weights(1))
    assert not torch.equal(weights(1), weights(2))


def test_the_plain_dqn_learns():
    """In a few seconds, four times the score of random play."""
    small = {"num_envs": 64, "batch_size": 256, "width": 32, "minutes": float("inf")}
    agent, _ = cleanrl_dqn.train(cleanrl_dqn.Args(total_timesteps=60_000, **small))
    assert play(agent, "Tiles2048-v0", episodes=50).returns.mean() > 4_000
