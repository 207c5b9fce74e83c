"""What commands share: options, how tyro reads those that it does not know, unfinished runs."""

import json
from contextlib import suppress
from dataclasses import replace
from itertools import accumulate
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from typing_extensions import Doc
from tyro.conf import OmitArgPrefixes, Positional, arg
from tyro.constructors import ConstructorRegistry, PrimitiveConstructorSpec, PrimitiveTypeInfo

from baselines.players import Player
from baselines.search.options import SearchOptions
from baselines.settings import Seed
from baselines.task import Shaped
from tile_envs.base.checks import brief
from tile_envs.errors import UsageError

Agent = Annotated[
    Positional[str],
    arg(metavar="AGENT"),
    Doc(
        "The agent's name (random, greedy; strong, a trained network of 2048 and of 2584; on small "
        "boards of the sliding games optimal; in tic-tac-toe minimax, minimax_first, mcts), the "
        "folder of a trained one, a model in it, such as runs/d/best.zip, the file of another "
        "model of Stable-Baselines3 or sb3-contrib, which runs code that it holds, or a class of "
        "your own, my_module:MyAgent."
    ),
]
Agents = Annotated[
    Positional[tuple[str, ...]],
    arg(metavar="AGENT ...", help_behavior_hint="(one or more)"),
    Doc("The agents, each as for watch; folders of training runs, such as runs/*."),
]
Env = Annotated[
    str | None,
    Doc(
        "The environment's id; my_module:Id imports the module that registers it. If not given, "
        "the one that the agent was trained in, or Tiles2048-v0."
    ),
]
EnvKwargs = Shaped[dict[str, Any] | None]
SEED = Doc("The seed of the list of games, and of the agent's own random numbers.")
GamesSeed = Annotated[Seed, SEED]
Wrappers = Annotated[
    tuple[str, ...],
    Doc("Wrappers that a model of Stable-Baselines3 by its file has learned with, in their order."),
]
Search = Annotated[
    int | None,
    Doc(
        "The depth of a search with an agent's action values, in moves; 1 is no search, 2 "
        "looks at the next tile and the move after it. With milliseconds it is the deepest."
    ),
]
How = Annotated[SearchOptions, OmitArgPrefixes]
"""The options of that search."""
USUAL = SearchOptions()
Side = Literal["X", "O", "random", "both"]
Unfinished = Annotated[
    bool, Doc("Evaluate a run before its budget is used up; the agent's name says so.")
]
Rows = Annotated[Path | None, Doc("Write the rows to this file, .csv or .json, too.")]

TYPES = ConstructorRegistry()
"""How tyro reads types, beyond its own rules."""


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


def given(**values: Any) -> dict[str, Any]:
    """Return the options that are given, of those whose default is None."""
    return {name: value for name, value in values.items() if value is not None}


def check_finished(player: Player, folder: str, unfinished: bool) -> Player:
    """Return a player, whose run may be unfinished only if that is allowed."""
    if not (player.finished or unfinished):
        raise UsageError(
            f"{folder} is unfinished: continue it with train --resume, or add --unfinished to "
            "evaluate what it has learned so far."
        )
    return player
