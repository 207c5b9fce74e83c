"""The article's recipe: its memory, samples and targets; restored bit for bit."""

import gymnasium as gym
import numpy as np
import pytest
import torch

from baselines.deep.article import Article, ArticleSettings
from baselines.hyperparams import tuned

SMALL = {
    **{"iteration_games": 4, "test_games": 3, "begin": 60, "newest": 20, "others": 40},
    **{"memory": 300, "epochs": 1, "batch": 25, "threads": 1},
}


def made(seed=0, env_kwargs=None, **settings):
    env = gym.make("Tiles2048-v0", **(env_kwargs or {"shape": (3, 3)}))
    return Article(env, (), ArticleSettings(**(SMALL | settings)), seed)


def equal(one, other):
    one, other = one.state(), other.state()
    return all(np.array_equal(one[name], other[name]) for name in one.keys() | other.keys())


def test_the_memory_holds_what_was_played_in_order():
    learner = made(begin=300, memory=100_000)
    learner.learn(), learner.learn()
    n = learner._stored
    memory = {name: column[:n] for name, column in learner._memory.items()}
    env = gym.make("Tiles2048-v0", shape=(3, 3)).unwrapped
    after, rewards, masks = env.afterstates(memory["boards"])
    place = np.arange(n), memory["actions"]
    assert masks[place].all()
    assert np.array_equal(rewards[place], memory["rewards"])
    goes_on = ~memory["over"]  # what follows the last move is not looked at
    new_tiles = (memory["following"] != after[place])[goes_on]
    assert (new_tiles.reshape(len(new_tiles), -1).sum(axis=1) == 1).all()
    following = memory["following"][:-1][goes_on[:-1]]
    assert np.array_equal(following, memory["boards"][1:][goes_on[:-1]])
    assert memory["over"].sum() == 8
    assert env.legal_actions(following).any(axis=1).all()


def test_a_sample_has_the_newest_and_others():
    learner = made(begin=60, memory=100_000)
    learner.learn(), learner.learn()
    learner._memory["rewards"][:] = np.arange(100_000)  # tells transitions apart
    sample = learner._sample(np.random.default_rng(0))["rewards"]
    newest = learner._stored - 1 - np.arange(20)
    assert np.array_equal(sample[:20], newest)
    assert len(set(sample[20:].tolist())) == 40
    assert sample[20:].max() < newest.min()


def test_targets_are_rewards_and_the_best_legal_value():
    learner = made()
    with torch.no_grad():
        for parameter in learner._network.parameters():
            parameter.zero_()
        learner._network.last.bias.fill_(5.0)  # whatever is legal is worth 5
    seen = {}

    def mse(found, wanted):
        seen.setdefault("targets", []).append(wanted)
        return (found * 0).sum()

    sample = {
        "boards": np.ones((2, 3, 3), np.uint8),
        "actions": np.zeros(2, np.int64),
        "rewards": np.array([4.0, 8.0], np.float32),
        "following": np.ones((2, 3, 3), np.uint8),
        "over": np.array([False, True]),
    }
    mse_loss, torch.nn.functional.mse_loss = torch.nn.functional.mse_loss, mse
    try:
        learner._learn_from(sample, np.random.default_rng(0))
    finally:
        torch.nn.functional.mse_loss = mse_loss
    assert sorted(torch.cat(seen["targets"]).tolist()) == [8.0, 9.0]


@pytest.mark.parametrize("one_hot", [False, True])
def test_a_restored_learner_ends_where_the_other_ends(one_hot):
    whole = made(one_hot=one_hot)
    for _ in range(3):
        whole.learn()
    again = made(one_hot=one_hot)
    again.restore({name: array.copy() for name, array in whole.state().items()})
    assert equal(whole, again)
    for _ in range(2):
        assert whole.learn() == again.learn()
    assert equal(whole, again)


def test_a_lucky_score_makes_no_best_network(monkeypatch):
    learner = made(confirming=2)
    scores = iter((30.0, 10.0, 20.0, 16.0, 10.0, 12.0, 15.0))
    monkeypatch.setattr(learner, "_greedy_mean", lambda rng: next(scores))
    assert learner.learn()["best_score"] == 15.0
    best = learner._network.state_dict()["last.weight"].clone()
    assert [learner.learn()["best_score"] for _ in range(2)] == [15.0, 15.0]
    assert next(scores, None) is None
    assert torch.equal(learner._best.state_dict()["last.weight"], best)
    assert not torch.equal(learner._network.state_dict()["last.weight"], best)


def test_the_best_network_plays():
    learner = made()
    for _ in range(5):
        learner.learn()
    boards, _ = gym.make_vec("Tiles2048-v0", 9, shape=(3, 3)).reset(seed=0)
    values = learner.values(boards)
    assert np.array_equal(values, learner._values(learner._best, boards))
    assert np.array_equal(
        np.isfinite(values), gym.make("Tiles2048-v0").unwrapped.legal_actions(boards) > 0
    )


def test_exploration_is_as_described():
    learner = made(iteration_games=2000, first_epsilon=0.5, epsilon=0.0, first_iterations=1)
    boards, _ = gym.make_vec("Tiles2048-v0", 2000, shape=(3, 3)).reset(seed=0)
    masks = learner._game.legal_actions(boards) > 0
    greedy = learner._values(learner._network, boards).argmax(axis=1)
    other = learner.explore(boards, masks, np.random.default_rng(0)) != greedy
    assert not other[::10].any()
    assert 0.2 < other.mean() < 0.5
    learner.rounds = 1
    assert np.array_equal(learner.explore(boards, masks, np.random.default_rng(0)), greedy)


def test_the_preset_is_the_variant_of_the_article():
    preset = tuned("article", "Tiles2048-v0")
    assert preset["env_kwargs"] == '{"spawn": {"2": 0.8, "4": 0.2}, "start_tiles": [2, 2]}'
    assert preset["games"] == 1500 * ArticleSettings().iteration_games


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"epochs": 0}, "epochs must be at least 1, got 0"),
        ({"begin": 10}, "begin must be at least a sample's 60, got 10"),
        ({"memory": 10}, "memory must be at least begin, 60, got 10"),
        ({"epsilon": 2.0}, "epsilon must be from 0 to 1"),
    ],
)
def test_unusable_settings_are_named(settings, message):
    with pytest.raises(ValueError, match=message):
        made(**settings)


def test_other_games_are_refused():
    with pytest.raises(ValueError, match="plays the sliding games"):
        Article(gym.make("TicTacToe-v0"), ("X",), ArticleSettings(), 0)
