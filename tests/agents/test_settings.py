"""Settings: one line for what is unusable, from Python, JSON, YAML and the command line alike."""

from dataclasses import dataclass, fields

import pytest

from baselines.agents import AGENTS, LEARNERS, Task, agent_class
from baselines.settings import read_settings


@pytest.mark.parametrize("name", LEARNERS)
def test_a_learner_checks_settings_that_were_made_in_python(name):
    learner, task = agent_class(name), Task.of(AGENTS[name].env)
    names = [field.name for field in fields(learner.Settings)]
    size = "n_envs" if "n_envs" in names else "iteration_games"
    with pytest.raises(ValueError, match=f"{size} .* -1"):
        learner(task.game, 0, learner.Settings(**{size: -1}))


def test_settings_of_the_users_are_plain_dataclasses_and_lists_become_tuples():
    @dataclass
    class Mine:
        rate: float = 0.5
        cells: tuple[str, ...] = ()

    assert read_settings(Mine, {"cells": ["a"], "rate": 1}) == Mine(1.0, ("a",))
    with pytest.raises(ValueError, match=r"rate .* 'fast'"):
        read_settings(Mine, {"rate": "fast"})
