"""The commands of `python -m baselines`, one a file, and the command line that runs them."""

import inspect
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import is_dataclass
from functools import partial, wraps
from importlib import import_module
from typing import Any, get_type_hints

import tyro
from typing_extensions import TypedDict

from baselines.commands.options import TYPES
from baselines.errors import parsing
from baselines.progress import Progress
from baselines.registry import LEARNERS, NAMES
from baselines.settings import check_settings, read_settings
from tile_envs.errors import UsageError, extra
from tile_envs.games import import_named

COMMANDS = (
    "train",
    "evaluate",
    "solve",
    "watch",
    "play",
    "record",
    "plot",
    "compare",
    "best",
    "grade",
    "export",
)
"""Functions, each in the module of its name."""
IMPORT = "--import"
DESCRIPTION = (
    "Train and evaluate agents on the environments of tile_envs. "
    f"Agents: {', '.join(NAMES)}; those that are trained: {', '.join(LEARNERS)}. "
    f"{IMPORT} MODULE, on any command, first imports a module with games or agents of your own, "
    "and can be repeated; --traceback shows where a mistake was found."
)


def run_typed() -> None:
    """Run the command that was typed."""
    Progress.enabled = True
    words = _without_imports(sys.argv[1:])
    # Of a command that is named, no other module is imported: some take seconds.
    names = words[:1] if words[:1] and words[0] in COMMANDS else COMMANDS
    with extra("baselines"):
        modules = {name: import_module(f"baselines.commands.{name}") for name in names}
    with TYPES:
        if len(words) > 1 and words[0] == "train" and not words[1].startswith("-"):
            modules["train"].train_agent(words[1], words[2:])  # its options depend on the agent
            return
        commands = [getattr(module, name) for name, module in modules.items()]
        parse(commands, "python -m baselines", DESCRIPTION, words)()


def parse(
    commands: Sequence[Callable[..., None]], prog: str, description: str, words: Sequence[str]
) -> Callable[[], None]:
    """Return the command that words ask for, with its options, which are checked."""
    with parsing():
        command: Callable[[], None] = tyro.extras.subcommand_cli_from_dict(
            {command.__name__: _checked(command) for command in commands},
            prog=prog,
            description=description,
            args=words,
        )
    return command


def _without_imports(words: list[str]) -> list[str]:
    """Import the modules of `--import MODULE`, and return the other words."""
    others, left = [], iter(words)
    for word in left:
        option, sign, module = word.partition("=")
        if option != IMPORT:
            others.append(word)
            continue
        if not (module := module if sign else next(left, "")):
            raise UsageError(f"{IMPORT} needs the name of a module.")
        import_named(module)
    return others


def _checked(command: Callable[..., None]) -> Callable[..., Callable[[], None]]:
    """Return a function that checks a command's options by their types, and binds them to it."""
    # tyro would keep the line breaks within what is said of an option.
    command.__doc__ = re.sub(r"\n {8}", " ", inspect.getdoc(command) or "")
    hints = get_type_hints(command, include_extras=True)
    kind: Any = TypedDict("Options", hints, total=False)  # type: ignore[misc]

    @wraps(command)
    def checked(*arguments: Any, **options: Any) -> Callable[[], None]:
        nested = {name for name, value in options.items() if is_dataclass(value)}
        for name in nested:
            check_settings(options[name])
        read_settings(kind, {name: v for name, v in options.items() if name not in nested})
        return partial(command, *arguments, **options)

    return checked
