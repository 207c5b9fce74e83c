"""Reads `hyperparams.yml`, the one home of tuned numbers."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

import yaml


def preset(agent: str, env_id: str, name: str) -> dict[str, Any]:
    """Return the settings of a preset.

    Raises:
        ValueError: If this agent and environment have no preset of that name.
    """
    tuned = yaml.safe_load(files("baselines").joinpath("hyperparams.yml").read_text())
    presets: dict[str, dict[str, Any]] = tuned.get(agent, {}).get(env_id, {})
    if name not in presets:
        known = ", ".join(map(repr, presets)) or "none"
        raise ValueError(
            f"there is no preset {name!r} for {agent} on {env_id}: there is {known} for these."
        )
    return presets[name]
