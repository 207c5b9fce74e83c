"""Settings: one line for what is unusable, from Python, JSON, YAML and the command line alike."""

from dataclasses import dataclass

import pytest

from baselines.deep.article import ArticleSettings
from baselines.deep.dqn import DQNSettings
from baselines.deep.neural import NeuralSettings
from baselines.deep.ppo import PPOSettings
from baselines.ntuple.settings import NTupleSettings
from baselines.registry import AGENTS, LEARNERS, agent_class, make_learner
from baselines.settings import check_settings, read_settings
from baselines.tabular.qtable import QTableSettings
from baselines.tabular.value_table import ValueTableSettings
from baselines.task import Task

NAN = float("nan")
UNUSABLE = [
    (QTableSettings, "learning_rate", 0.0, "greater than 0"),
    (QTableSettings, "learning_rate", 1.5, "less than or equal to 1"),
    (QTableSettings, "learning_rate_decay", -0.1, "greater than or equal to 0"),
    (QTableSettings, "epsilon", 1.1, "less than or equal to 1"),
    (QTableSettings, "epsilon_decrease", 2, "less than or equal to 1"),
    (QTableSettings, "epsilon_every", 0, "greater than or equal to 1"),
    (QTableSettings, "gamma", NAN, "less than or equal to 1"),
    (QTableSettings, "loss_weight", -1, "greater than or equal to 0"),
    (QTableSettings, "initial", float("inf"), "a finite number"),
    (QTableSettings, "n_envs", 0, "greater than or equal to 1"),
    (QTableSettings, "n_envs", True, "a valid integer"),
    (QTableSettings, "n_envs", 1.0, "a valid integer"),
    (QTableSettings, "n_envs", 1 << 63, "less than or equal to 9223372036854775807"),
    (QTableSettings, "sequential", 1, "a valid boolean"),
    (QTableSettings, "opponent", "god", "'random', 'minimax', 'minimax_first' or 'self'"),
    (ValueTableSettings, "step_size", 0, "greater than 0"),
    (ValueTableSettings, "step_size_decrease", -1, "greater than or equal to 0"),
    (ValueTableSettings, "target", "mean", "'best' or 'result'"),
    (ValueTableSettings, "draw", 2, "from -loss_weight to 1"),
    (NTupleSettings, "network", -1, "a valid string"),
    (NTupleSettings, "values", "16", "a valid integer"),
    (NTupleSettings, "method", "sarsa", "'td' or 'tc'"),
    (NTupleSettings, "direction", "up", "'forward' or 'backward'"),
    (NTupleSettings, "trace_decay", 1.5, "less than or equal to 1"),
    (NTupleSettings, "learning_rate", 0.0, "greater than 0"),
    (NTupleSettings, "initial", NAN, "a finite number"),
    (NTupleSettings, "iteration_games", 0, "greater than or equal to 1"),
    (NTupleSettings, "threads", 257, "less than or equal to 256"),
    (NeuralSettings, "opponent", "self", "'random', 'minimax' or 'minimax_first'"),
    (NeuralSettings, "recipe", "lucky", "'published' or 'fitted'"),
    (ArticleSettings, "n_epochs", 0, "greater than or equal to 1"),
    (DQNSettings, "width", 10_000, "less than or equal to 4096"),
    (DQNSettings, "hidden", [1] * 100_000, "at most 16 items"),
    (DQNSettings, "device", "tpu", r"pattern '\^\(auto\|cpu"),
    (DQNSettings, "precision", "half", "'auto', 'float32' or 'bfloat16'"),
    (DQNSettings, "exploration_fraction", 0.0, "greater than 0"),
    (DQNSettings, "learning_starts", 8, "from batch_size to buffer_size, 32 to 1000000"),
    (PPOSettings, "ent_coef", -1, "greater than or equal to 0"),
]


@pytest.mark.parametrize(("kind", "name", "value", "expected"), UNUSABLE)
def test_unusable_values_are_named(kind, name, value, expected):
    with pytest.raises(ValueError, match=rf"^{name} must .*{expected}.*, got .*\.$") as caught:
        read_settings(kind, {name: value})
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize(
    ("kind", "values", "message"),
    [
        (DQNSettings, {"hidden": [64, 0]}, "hidden.1 must be greater than or equal to 1, got 0."),
        (DQNSettings, {"afterstates": False}, "symmetric needs afterstates"),
        (DQNSettings, {"buffer_size": 64}, "learning_starts must be from batch_size to buffer_siz"),
        (NTupleSettings, {"trace_decay": 0.5}, "trace_decay and restart need direction backward."),
        (NTupleSettings, {"restart": True}, "trace_decay and restart need direction backward."),
        (ArticleSettings, {"newest": 4000}, "learning_starts must be from newest [+] others"),
        (QTableSettings, {"trice": 1}, "there is no setting 'trice', only opponent, n_envs, sequ"),
    ],
)
def test_unusable_combinations_and_names_are_told(kind, values, message):
    with pytest.raises(ValueError, match=message):
        read_settings(kind, values)


@pytest.mark.parametrize("name", LEARNERS)
def test_a_learner_checks_settings_that_were_made_in_python(name):
    learner, task = agent_class(name), Task.of(AGENTS[name].env)
    size = "n_envs" if hasattr(learner.Settings, "n_envs") else "iteration_games"
    with pytest.raises(ValueError, match=f"{size} must be greater than or equal to 1, got -1"):
        make_learner(name, task, 0, learner.Settings(**{size: -1}))


def test_lists_become_tuples_and_nothing_else_is_changed():
    read = read_settings(DQNSettings, {"hidden": [64, 32], "gamma": 1})
    assert read == DQNSettings(hidden=(64, 32), gamma=1.0)
    check_settings(read)


def test_settings_of_the_users_are_plain_dataclasses():
    @dataclass
    class Mine:
        rate: float = 0.5
        cells: tuple[str, ...] = ()

    assert read_settings(Mine, {"cells": ["a"]}) == Mine(cells=("a",))
    with pytest.raises(ValueError, match=r"^rate must be a valid number, got 'fast'\.$"):
        read_settings(Mine, {"rate": "fast"})
