"""What a training command says at its end: the agent's best board, and what to do next."""

from __future__ import annotations

import shlex
from pathlib import Path

from baselines.evaluation import play
from baselines.registry import Player, load_player
from tile_envs.modules import NAMED
from tile_envs.words import counted

GAMES = 10


def closing_text(folder: Path) -> str:
    """Return what there is to say of a finished run.

    Args:
        folder: The run's folder, whose agent plays some games if it has a board to show.
    """
    found = load_player(folder)
    name = shlex.quote(str(folder))
    searches = hasattr(found.agent, "action_values") and not found.task.sides
    named = "".join(f" --import {shlex.quote(module)}" for module in NAMED)
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
