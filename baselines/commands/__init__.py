"""The commands of `python -m baselines`, one a file, and the command line that runs them."""

import inspect
import io
import json
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, suppress
from dataclasses import is_dataclass, replace
from functools import partial, wraps
from importlib import import_module
from itertools import accumulate
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_args, get_type_hints

import tyro
from typing_extensions import Doc, TypedDict
from tyro.conf import OmitArgPrefixes, arg
from tyro.constructors import ConstructorRegistry, PrimitiveConstructorSpec, PrimitiveTypeInfo

from baselines.agents import LEARNERS, NAMES
from baselines.progress import Progress
from baselines.settings import check_settings, read_settings
from tile_envs.base.checks import brief
from tile_envs.errors import UsageError, extra
from tile_envs.games import import_named

COMMANDS: tuple[str, ...] = ("train", "evaluate", "solve", "watch", "play", "record")
COMMANDS += ("plot", "compare", "best", "grade", "export")
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


@contextmanager
def parsing() -> Iterator[None]:
    """Let tyro read our `TYPES`, and make a `UsageError` of the frame around a mistake."""
    frame = io.StringIO()
    try:
        with TYPES, redirect_stderr(frame):
            yield
    except SystemExit as end:
        if end.code != 2:  # such as 0, of --help
            raise
        # A title, the message and hints, with lines between them.
        text = re.sub("[╭╮│╰╯]", " ", frame.getvalue()).replace("__tyro-dummy-inner__.", "--")
        _, message, *hints = re.split("[─-]{3,}", text)
        options = re.findall(r"^ +(--[\w-]+)", "".join(hints).partition("Perhaps")[2], re.MULTILINE)
        meant = f" (perhaps {' or '.join(dict.fromkeys(options))})" if options else ""
        raise UsageError(f"{' '.join(message.split()).rstrip('.')}{meant}: see --help.") from end


def with_shape(
    env_kwargs: Annotated[
        dict[str, Any] | None, Doc("""The environment's options, such as '{"shape": [3, 3]}'.""")
    ] = None,
    shape: Annotated[tuple[int, int] | None, Doc("Rows and columns of the board.")] = None,
) -> dict[str, Any]:
    """Add the shape of the board to an environment's options."""
    if shape is not None and "shape" in (env_kwargs or {}):
        raise UsageError("give the shape once: by --shape, or in --env-kwargs.")
    return {**(env_kwargs or {}), **({} if shape is None else {"shape": shape})}


T = TypeVar("T")
Shaped = Annotated[T, OmitArgPrefixes, arg(constructor=with_shape)]
"""An environment's options: on a command line `--env-kwargs` and `--shape`."""


TYPES = ConstructorRegistry()  # how tyro reads types, beyond its own rules


def _read_object(text: str) -> dict[str, Any]:
    # Python's stack ends some hundreds of brackets deep.
    deepest = max(accumulate((c in "[{") - (c in "]}") for c in text), default=0)
    with suppress(ValueError):
        if deepest <= 100 and isinstance(value := json.loads(text), dict):
            return value
    raise ValueError(f"expected a JSON object, got {brief(text)}.")


def _read_path(text: str) -> Path:
    if not text:  # which would be the present folder
        raise ValueError("expected a path, got ''.")
    return Path(text)


WORDS: dict[Any, Any] = {dict: ("JSON", _read_object, json.dumps), Path: ("PATH", _read_path, str)}
"""By a type of one word, what help calls that, and what reads and writes it."""


@TYPES.primitive_rule
def _of_one_word(info: PrimitiveTypeInfo) -> PrimitiveConstructorSpec[Any] | None:
    kind = info.type_origin or info.type
    if kind not in WORDS:
        return None
    metavar, read, write = WORDS[kind]
    return PrimitiveConstructorSpec(
        nargs=1,
        metavar=metavar,
        instance_from_str=lambda words: read(words[0]),
        is_instance=lambda value: isinstance(value, kind),
        str_from_instance=lambda value: [write(value)],
    )


@TYPES.primitive_rule
def _optional(info: PrimitiveTypeInfo) -> PrimitiveConstructorSpec[Any] | None:
    """Read `X | None` as X, without a choice of None in the help."""
    kinds = get_args(info.type)
    if type(None) not in kinds:
        return None
    spec, none = _spec_of(kinds[0], info), ["None"]
    return replace(
        spec,
        instance_from_str=lambda words: None if words == none else spec.instance_from_str(words),
        is_instance=lambda value: value is None or spec.is_instance(value),
        str_from_instance=lambda value: none if value is None else spec.str_from_instance(value),
    )


@TYPES.primitive_rule
def _several(info: PrimitiveTypeInfo) -> PrimitiveConstructorSpec[Any] | None:
    """Read `tuple[X, ...]` as tyro does, with a help that is easier to read; None is ()."""
    if info.type_origin is not tuple or get_args(info.type)[-1] is not Ellipsis:
        return None
    spec = _spec_of(get_args(info.type)[0], info)
    return PrimitiveConstructorSpec(
        nargs="*",
        metavar=f"{spec.metavar} ...",
        instance_from_str=lambda words: tuple(
            spec.instance_from_str([w]) for w in words if w not in ("None", "none")
        ),
        is_instance=lambda values: isinstance(values, tuple),
        # Of no values the help says "none".
        str_from_instance=lambda vs: [spec.str_from_instance(v)[0] for v in vs] or ["none"],
    )


def _spec_of(kind: Any, info: PrimitiveTypeInfo) -> PrimitiveConstructorSpec[Any]:
    spec = ConstructorRegistry.get_primitive_spec(PrimitiveTypeInfo.make(kind, set(info.markers)))
    assert isinstance(spec, PrimitiveConstructorSpec)
    return spec


def _without_imports(words: list[str]) -> list[str]:
    """Import the modules of `--import MODULE`, and return the other words."""
    others, left = [], iter(words)
    for word in left:
        option, sign, module = word.partition("=")
        if option == IMPORT:
            import_named(module if sign else next(left, ""))
        else:
            others.append(word)
    return others


def _checked(command: Callable[..., None]) -> Callable[..., Callable[[], None]]:
    """Return a function that checks a command's options by their types, and binds them to it."""
    # tyro would keep the line breaks within what is said of an option.
    command.__doc__ = re.sub(r"\n {8}", " ", inspect.getdoc(command) or "")
    hints = get_type_hints(command, include_extras=True)
    kind: Any = TypedDict("Options", hints, total=False)  # type: ignore[misc]

    @wraps(command)
    def checked(*arguments: Any, **options: Any) -> Callable[[], None]:
        for value in filter(is_dataclass, options.values()):
            check_settings(value)
        read_settings(kind, {name: v for name, v in options.items() if not is_dataclass(v)})
        return partial(command, *arguments, **options)

    return checked
