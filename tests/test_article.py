"""The article's recipe: its buffer, samples and targets; restored bit for bit."""

import gymnasium as gym
import numpy as np
import torch
from small import ARTICLE

from baselines.deep.article import Article, ArticleSettings
from baselines.training.episodes import RingBuffer
from tile_envs.sliding import RULES_2048, SlidingGame

GAME = SlidingGame(RULES_2048, (3, 3))


def made(**settings):
    more = {"iteration_games": 4, "score_games": 3, "confirmations": 2}
    return Article(GAME, 0, ArticleSettings(**(ARTICLE | more | settings)))


def test_the_buffer_holds_what_was_played_in_order():
    learner = made(learning_starts=300, buffer_size=100_000)
    learner.learn(), learner.learn()
    n = learner._buffer.stored
    assert len(learner._buffer) == n > 100
    kept = {name: array[:n] for name, array in learner._buffer.arrays.items()}
    after, rewards, masks = GAME.afterstates(kept["boards"])
    place = np.arange(n), kept["actions"]
    assert masks[place].all()
    assert np.array_equal(rewards[place], kept["rewards"])
    continues = ~kept["over"]  # what follows the last action is not looked at
    new_tiles = (kept["following"] != after[place])[continues]
    assert (new_tiles.reshape(len(new_tiles), -1).sum(axis=1) == 1).all()
    following = kept["following"][:-1][continues[:-1]]
    assert np.array_equal(following, kept["boards"][1:][continues[:-1]])
    assert kept["over"].sum() == 8
    assert GAME.legal_actions(following).any(axis=1).all()


def test_the_newest_transitions_replace_the_oldest():
    buffer = RingBuffer(5, rewards=(np.float32, ()), boards=(np.uint8, (2, 2)))
    for n in range(0, 12, 4):
        numbers = np.arange(n, n + 4)
        buffer.store(rewards=numbers, boards=np.tile(numbers[:, None, None], (2, 2)))
    assert (len(buffer), buffer.stored) == (5, 12)
    newest = buffer.take(np.arange(7, 12))
    assert newest["rewards"].tolist() == newest["boards"][:, 1, 0].tolist() == [7, 8, 9, 10, 11]


def test_a_sample_has_the_newest_and_others():
    learner = made(buffer_size=100_000)
    learner.learn(), learner.learn()
    learner._buffer.arrays["rewards"][:] = np.arange(100_000)  # tells transitions apart
    sample = learner._sample(np.random.default_rng(0))["rewards"]
    newest = learner._buffer.stored - 1 - np.arange(20)
    assert np.array_equal(sample[:20], newest)
    assert len(set(sample[20:].tolist())) == 40
    assert sample[20:].max() < newest.min()


def test_targets_are_rewards_and_the_best_legal_value(monkeypatch):
    learner = made()
    with torch.no_grad():
        for parameter in learner._newest.network.parameters():
            parameter.zero_()
        learner._newest.network.last.bias.fill_(5.0)  # Q(s, a) = 5 for every legal action
    targets = []

    def mse(found, wanted):
        targets.append(wanted)
        return (found * 0).sum()

    monkeypatch.setattr(torch.nn.functional, "mse_loss", mse)
    sample = {
        "boards": np.ones((2, 3, 3), np.uint8),
        "actions": np.zeros(2, np.int64),
        "rewards": np.array([4.0, 8.0], np.float32),
        "following": np.ones((2, 3, 3), np.uint8),
        "over": np.array([False, True]),
    }
    learner._fit(sample, np.random.default_rng(0))
    assert sorted(torch.cat(targets).tolist()) == [8.0, 9.0]


def test_a_lucky_score_makes_no_best_network(monkeypatch):
    learner = made()
    scores = iter((30.0, 10.0, 20.0, 16.0, 10.0, 12.0, 15.0))
    monkeypatch.setattr(learner, "_score", lambda rng: next(scores))
    assert learner.learn()["best_score"] == 15.0
    best = learner._newest.network.state_dict()["last.weight"].clone()
    assert [learner.learn()["best_score"] for _ in range(2)] == [15.0, 15.0]
    assert next(scores, None) is None
    assert torch.equal(learner._best.network.state_dict()["last.weight"], best)
    assert not torch.equal(learner._newest.network.state_dict()["last.weight"], best)
    boards, _ = gym.make_vec("Tiles2048-v0", 9, shape=(3, 3)).reset(seed=0)
    assert np.array_equal(learner.action_values(boards), learner._best.action_values(boards))


def test_exploration_is_as_described():
    learner = made(iteration_games=2000, first_epsilon=0.5, epsilon=0.0, first_iterations=1)
    boards, _ = gym.make_vec("Tiles2048-v0", 2000, shape=(3, 3)).reset(seed=0)
    masks = GAME.legal_actions(boards) > 0
    greedy = learner._newest.action_values(boards).argmax(axis=1)
    other = learner.explore(boards, masks, np.random.default_rng(0)) != greedy
    assert not other[::10].any()
    assert 0.2 < other.mean() < 0.5
    learner.iterations = 1
    assert np.array_equal(learner.explore(boards, masks, np.random.default_rng(0)), greedy)
