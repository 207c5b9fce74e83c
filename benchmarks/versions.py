"""The versions of agents: numbers that are raised when an agent's results change."""

from __future__ import annotations

from functools import cache
from importlib import import_module

from baselines.registry import agent_class
from baselines.training import recording
from benchmarks.kinds import Experiment

SEARCH, RECORDING = "search", "recording"
"""What makes results beside agents: the search over an agent's values, and recorded games."""


def version_of(*agents: str) -> int:
    """Return the version of what several agents make together.

    It is 1 and one more for each time that the results of one of them have changed.

    Args:
        *agents: Names in the registry, or `SEARCH`, or `RECORDING`.
    """
    return 1 + sum(_version(agent) - 1 for agent in agents)


def makers_of(experiment: Experiment) -> list[str]:
    """Return the agents whose versions decide what an experiment's training leads to."""
    replays = experiment.replays
    return [experiment.agent, *([replays.player.agent, RECORDING] if replays else [])]


@cache
def _version(agent: str) -> int:
    if agent == RECORDING:
        return recording.VERSION
    if agent == SEARCH:
        found = import_module("baselines.search.expectimax").Expectimax
    else:
        found = agent_class(agent)
    version: int = getattr(found, "version", 1)
    return version
