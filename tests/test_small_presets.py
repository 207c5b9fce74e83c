"""The presets for small boards: how close their runs come to the optimum."""

import pytest

from baselines.evaluation.exact import evaluate_exactly
from baselines.registry import learner_class
from baselines.training.run import configuration, starting_options

SLIDING = ["Tiles2048-v0", "Tiles2584-v0"]


def share(agent, env_id, games=None):
    """Return the share of the optimum after as many games, by default those of the preset."""
    options = starting_options(agent, env_id, "small")
    assert options.env_kwargs == {"shape": [2, 3]}
    learner = learner_class(agent).new(configuration(agent, options))
    while learner.games < (games or options.games):
        learner.learn()
    return evaluate_exactly(learner, env_id, options.env_kwargs)["share"]


@pytest.mark.parametrize("env_id", SLIDING)
def test_a_small_q_table_soon_plays_well(env_id):
    assert share("qtable", env_id, 100_000) > 0.6


@pytest.mark.slow
@pytest.mark.parametrize("env_id", SLIDING)
@pytest.mark.parametrize("agent", ["qtable", "ntuple"])
def test_the_small_tables_come_close_to_the_optimum(agent, env_id):
    assert share(agent, env_id) > 0.95
