"""Reads `hyperparams.yml`, the one home of tuned numbers."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Any

import yaml

from tile_envs.errors import UsageError

DEFAULT = "default"


def tuned(agent: str, env_id: str, preset: str | None = None) -> dict[str, Any]:
    """Return the settings of a preset.

    Args:
        agent: The agent's name.
        env_id: The environment's id.
        preset: The name of the preset; None is the default one, and empty if there is none.

    Raises:
        ValueError: If this agent and environment have no preset of that name.
    """
    presets: dict[str, dict[str, Any]] = _all().get(agent, {}).get(env_id, {})
    if preset is None:
        return presets.get(DEFAULT, {})
    if preset not in presets:
        known = ", ".join(map(repr, presets)) or "none"
        raise UsageError(
            f"there is no preset {preset!r} for {agent} on {env_id}: there is {known} for these."
        )
    return presets[preset]


def presets_of(agent: str) -> dict[str, list[str]]:
    """Return the names of an agent's presets, by the environment's id."""
    return {env_id: list(presets) for env_id, presets in _all().get(agent, {}).items()}


@cache
def _all() -> dict[str, dict[str, Any]]:
    text = files("baselines").joinpath("hyperparams.yml").read_text(encoding="utf-8")
    numbers: dict[str, dict[str, Any]] = yaml.safe_load(text)
    return numbers
