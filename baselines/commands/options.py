"""What several commands share: options that tyro does not read by itself, unfinished runs."""

from __future__ import annotations

import json
from typing import Annotated, Any

import tyro

from baselines.registry import Player
from tile_envs.errors import UsageError


def json_object(option: str) -> Any:
    """Return how tyro reads a JSON object, such as '{"shape": [3, 3]}', as a dictionary.

    Args:
        option: The option's name, for errors.
    """

    def read(arguments: list[str]) -> dict[str, Any]:
        (text,) = arguments
        try:
            value = json.loads(text)
        except json.JSONDecodeError as error:
            raise UsageError(f"{option} must be JSON, got {text!r}: {error}.") from None
        if not isinstance(value, dict):
            raise UsageError(f"{option} must be a JSON object, got {text!r}.")
        return value

    return tyro.constructors.PrimitiveConstructorSpec(
        nargs=1,
        metavar="JSON",
        instance_from_str=read,
        is_instance=lambda value: isinstance(value, dict),
        str_from_instance=lambda value: [json.dumps(value)],
    )


EnvOptions = Annotated[dict[str, Any], json_object("--env-kwargs")]
"""The options of an environment."""
AgentOptions = Annotated[dict[str, Any], json_object("--agent-kwargs")]
"""The options of an agent or of a search."""


def given(**values: Any) -> dict[str, Any]:
    """Return the options that are given, of those whose default is None."""
    return {name: value for name, value in values.items() if value is not None}


def unfinished_player(found: Player, folder: str, allowed: bool) -> Player:
    """Return the agent of an unfinished run under a name that says so.

    Raises:
        ValueError: If that is not allowed.
    """
    if not allowed:
        raise UsageError(
            f"{folder} is unfinished: continue it with train --resume, or add --unfinished to "
            "evaluate what it has learned so far."
        )
    return found._replace(name=f"{found.name}, unfinished")
