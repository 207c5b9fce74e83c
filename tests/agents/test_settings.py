"""Settings: one line for what is unusable, from Python, JSON, YAML and the command line alike."""

from dataclasses import dataclass, fields

import pytest
from placers import LastCell

from baselines import train
from baselines.agents import AGENTS, LEARNERS, Task, agent_class
from baselines.deep.dqn import DQNSettings
from baselines.settings import check_settings, read_settings

NAN, AT_LEAST_1 = float("nan"), "n_envs must be greater than or equal to 1, got 0."


def test_an_object_among_the_options_is_not_copied(monkeypatch):
    monkeypatch.setattr(LastCell, "__deepcopy__", lambda *_: 1 / 0, raising=False)
    options = {"shape": (2, 2), "placer": LastCell()}
    small = {"games": 4, "n_envs": 2, "test_games": 2, "sequential": False}
    learner = train("qtable", "Tiles2048-v0", options, **small)
    assert learner.config.env_kwargs["placer"] is options["placer"]


@pytest.mark.parametrize("name", LEARNERS)
def test_a_learner_checks_settings_that_were_made_in_python(name):
    learner, task = agent_class(name), Task.of(AGENTS[name].env)
    names = [field.name for field in fields(learner.Settings)]
    size = "n_envs" if "n_envs" in names else "iteration_games"
    with pytest.raises(ValueError, match=f"{size} .* -1"):
        learner(task.game, 0, learner.Settings(**{size: -1}))


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
    with pytest.raises(ValueError, match=r"rate .* 'fast'"):
        read_settings(Mine, {"rate": "fast"})
