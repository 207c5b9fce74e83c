"""`python -m baselines train`: its options, and what it says at its end."""

from __future__ import annotations

import argparse
import dataclasses
import inspect
import shlex
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import tyro

from baselines.evaluation.sampled import play
from baselines.registry import Player, learner_class, load_player, usual_env
from baselines.task import BOTH, Task
from baselines.training.learner import Learner
from baselines.training.presets import presets_of
from baselines.training.run import Options, as_begun, default_options, run, usual_folder
from tile_envs.errors import UsageError
from tile_envs.games import IMPORTED, resolve_id
from tile_envs.words import counted

GAMES = 10

Settings = TypeVar("Settings")


@dataclass(frozen=True)
class OneSided(Options[Settings]):
    """The options in a game without sides: `--side` is no part of the help."""

    side: tyro.conf.Suppress[str] = BOTH


def train(agent: tyro.conf.Positional[str], /) -> None:
    """Train an agent. Its options and presets: `train AGENT --help`.

    Such as `train ntuple --minutes 10 --out runs/2048`. Every agent has --env, --games, --minutes,
    --seed, --out, --resume and --preset, and settings of its own.

    Args:
        agent: qtable, value_table, neural, ntuple, dqn, ppo, article, or the class of a learner of
            your own, my_module:MyLearner; then its options.
    """
    command(agent, [])


def command(name: str, arguments: Sequence[str]) -> None:
    """Train an agent as a command line says, in a folder.

    Args:
        name: The agent's name, or the class of a learner, `my_module:MyLearner`.
        arguments: The options.

    Raises:
        ValueError: If an option is unusable.
        Interrupted: If the run was interrupted.
    """
    # The tuned numbers are the defaults, so the environment and preset must be known first.
    first = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    first.add_argument("--env", default=usual_env(name))
    first.add_argument("--preset")
    first.add_argument("--side", default=BOTH)
    first.add_argument("--seed", default=str(Options.seed))
    first.add_argument("--out", type=Path)
    first.add_argument("--resume", action="store_true")
    asked, _ = first.parse_known_args(arguments)
    found = learner_class(name)
    own = {known.name for known in dataclasses.fields(Options)}
    if taken := [known.name for known in dataclasses.fields(found.Settings) if known.name in own]:
        raise UsageError(f"{name}.Settings.{taken[0]}: every run has an option of that name.")
    env_id = resolve_id(asked.env)
    defaults = default_options(name, env_id, asked.preset)
    if asked.resume:
        folder = asked.out or usual_folder(name, env_id, asked.seed)
        defaults = as_begun(name, folder, defaults)
    kind: Any = Options
    settings = found.Settings
    if not Task.of(env_id, side=asked.side).game.sides:
        kind, settings = OneSided, _suppressed(found.Settings, found.sided)
        defaults = dataclasses.replace(defaults, settings=settings(**vars(defaults.settings)))
    options = tyro.cli(
        tyro.conf.OmitArgPrefixes[kind[settings]],  # type: ignore[misc]
        args=list(arguments),
        default=kind(**vars(defaults)),
        prog=f"python -m baselines train {name}",
        description=_description(name, found),
    )
    folder = run(name, options)
    print(f"\n{closing_text(folder)}")


def _suppressed(settings: type[Any], names: Collection[str]) -> type[Any]:
    """Return a dataclass of settings with some that are no options of the command line."""
    hidden: Any = tyro.conf.Suppress
    fields = [
        (known.name, hidden[Any], dataclasses.field(default=known.default))
        for known in dataclasses.fields(settings)
        if known.name in names
    ]
    if not fields:
        return settings
    return dataclasses.make_dataclass(settings.__name__, fields, bases=(settings,), frozen=True)


def _description(name: str, found: type[Learner]) -> str:
    """Return what `--help` says of a learner: what it is, and which presets there are."""
    first = (inspect.getdoc(found) or name).split("\n")[0]
    presets = [f"{env_id}: {', '.join(names)}" for env_id, names in presets_of(name).items()]
    known = f"{first} Presets (sets of tuned settings), by environment: {'; '.join(presets)}."
    return known if presets else first


def closing_text(folder: Path) -> str:
    """Return what there is to say of a finished run.

    Args:
        folder: The run's folder, whose agent plays some games if it has a board to show.
    """
    found = load_player(folder)
    name = shlex.quote(str(folder))
    searches = hasattr(found.agent, "action_values") and not found.task.sides
    named = "".join(f" --import {shlex.quote(module)}" for module in IMPORTED)
    commands = {
        f"watch {name}{named}": "see it play, and what it thinks of each move",
        f"evaluate {name}{' --search 2' if searches else ''}{named}": "play 1,000 games"
        + (", looking two moves ahead" if searches else ""),
        f"plot {name}": "draw its learning curve",
    }
    width = max(map(len, commands))
    lines = [f"  python -m baselines {typed:<{width}}  # {why}" for typed, why in commands.items()]
    return "\n".join([*_best_board(found), "Next:", *lines])


def _best_board(found: Player) -> list[str]:
    """Return the last board of the best of some games, in a game of one player."""
    task = found.task
    if task.sides:
        return []
    record = play(found.agent, task.env, task.env_kwargs, GAMES, use="test")
    best = int(record.returns.argmax())
    board = task.game.draw(record.boards[best], "ansi", int(record.returns[best]))
    indented = "\n".join(f"  {line}" for line in board.splitlines())
    return [f"The best of {counted(GAMES, 'game')} ended here:", "", indented, ""]
