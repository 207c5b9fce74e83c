"""Options of the commands that tyro does not read by itself."""

from __future__ import annotations

import json
from typing import Annotated, Any

import tyro


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


class UsageError(RuntimeError):
    """An option that cannot be read; one line for the user (tyro would print a frame)."""


EnvOptions = Annotated[dict[str, Any], json_object("--env-kwargs")]
"""The options of an environment."""
AgentOptions = Annotated[dict[str, Any], json_object("--agent-kwargs")]
"""The options of an agent or of a search."""
