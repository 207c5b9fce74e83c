"""The article's recipe: restored bit for bit, and played by the network that is best for sure."""

import gymnasium as gym
import numpy as np
import pytest
from same import equal

from benchmarks import article
from benchmarks.article import Article, ArticleSettings
from tile_envs.sliding import RULES_2048, SlidingGame

GAME = SlidingGame(RULES_2048, (2, 3))


@pytest.fixture(autouse=True)
def _small(monkeypatch):
    small = {"GAMES": 4, "NEWEST": 20, "LEARNING_STARTS": 60, "EPOCHS": 1, "CONFIRMATIONS": 2}
    small["HIDDEN"] = (64, 32)
    for name, value in small.items():
        monkeypatch.setattr(article, name, value)


@pytest.mark.parametrize("one_hot", [False, True])
def test_seed_and_iterations_decide_what_is_learned(one_hot):
    settings = ArticleSettings(one_hot, epsilon_halving=2, buffer_size=300, others=40)
    whole, again, same, other = (Article(GAME, seed, settings) for seed in (0, 0, 0, 1))
    for _ in range(3):
        whole.learn()
    again.restore({name: array.copy() for name, array in whole.state_dict().items()})
    for _ in range(2):
        assert whole.learn() == again.learn()
    for _ in range(5):
        same.learn(), other.learn()
    assert equal(whole, again)
    assert equal(whole, same)
    assert not equal(whole, other)
    assert whole.best_score > 0


def test_a_lucky_score_makes_no_best_network(monkeypatch):
    monkeypatch.setattr(article, "LEARNING_STARTS", 0)
    learner = Article(GAME, 0, ArticleSettings(others=10, batch_size=25))
    scores = iter((30.0, 10.0, 20.0, 16.0, 10.0, 12.0, 15.0))
    monkeypatch.setattr(learner, "_score", lambda rng: next(scores))
    assert [learner.learn()["best_score"] for _ in range(3)] == [15.0, 15.0, 15.0]
    boards, _ = gym.make_vec("Tiles2048-v0", 9, shape=(2, 3)).reset(seed=0)
    values = learner.action_values(boards)
    assert np.array_equal(values, learner._best.action_values(boards))
    assert not np.array_equal(values, learner._newest.action_values(boards))
