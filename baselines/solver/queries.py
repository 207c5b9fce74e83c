"""Queries of a solved game, as lines of text, such as `b 1 1 0 0 0 0`.

A query is `b`, a state (the board before a move), or `a`, an afterstate, and the tile indices row
by row.  Its answer is its value, or -1 for a board that is unreachable as that kind.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from baselines.solver.solution import Solution
from tile_envs.base.checks import brief
from tile_envs.errors import UsageError
from tile_envs.sliding.game import SlidingGame

UNREACHABLE = "-1"
BEYOND = 100
"""Stands for all tile indices that no game has."""


def read_lines(path: Path) -> list[str]:
    """Return the lines of a file, `-` for standard input.

    Raises:
        ValueError: If it is no text, or cannot be read.
    """
    try:
        text = sys.stdin.read() if str(path) == "-" else path.read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is no text: {error}.") from error
    return text.split("\n")


def description(solution: Solution, seconds: float) -> str:
    """Return what a solution holds, as text, and the seconds that it took."""
    states, afterstates = solution.counts()
    return f"""{solution.game}, exactly
  states       {states:,} ({len(solution.states):,} up to symmetry)
  afterstates  {afterstates:,} ({len(solution.afterstates):,} up to symmetry)
  start value  {solution.start_value:.9f}
  seconds      {seconds:.2f}"""


def answers(solution: Solution, lines: Sequence[str]) -> Iterator[str]:
    """Yield each line that is not blank, followed by ` = ` and its value with 9 decimals.

    Raises:
        ValueError: If a line is no query, with its number; nothing has been yielded then.
    """
    asked = [(number, line.strip()) for number, line in enumerate(lines, 1) if line.strip()]
    queries = [_query(line, number, solution.game) for number, line in asked]
    kinds = np.array([kind for kind, _ in queries])
    boards = np.array([cells for _, cells in queries]).reshape(-1, *solution.game.shape)
    values = np.full(len(asked), np.nan)
    possible = (boards <= solution.game.largest_tile).all(axis=(1, 2))
    largest = solution.game.rules.largest
    if (boards > largest).any():
        print(
            f"note: some tiles are beyond {largest}, the largest index of {solution.game.name}: "
            "queries hold tile indices, not faces.",
            file=sys.stderr,
        )
    for kind, look_up in (("b", solution.state_values), ("a", solution.afterstate_values)):
        chosen = possible & (kinds == kind)
        values[chosen] = look_up(boards[chosen].astype(np.uint8))
    for (_, line), value in zip(asked, values.tolist(), strict=True):
        yield f"{line} = {UNREACHABLE if math.isnan(value) else f'{value:.9f}'}"


def _query(line: str, number: int, game: SlidingGame) -> tuple[str, list[int]]:
    kind, *cells = line.split()
    expected = math.prod(game.shape)
    if kind not in ("b", "a") or len(cells) != expected or not all(map(_is_tile, cells)):
        raise UsageError(
            f"line {number} is no query, {brief(line)}: expected b (before a move) or a (after "
            f"it) and {expected} tile indices from 0 on, row by row, such as "
            f"b {' '.join(['1', '1', *['0'] * (expected - 2)])}."
        )
    return kind, [_tile(cell) for cell in cells]


def _is_tile(text: str) -> bool:
    return text.isascii() and text.isdecimal()


def _tile(text: str) -> int:
    digits = text.lstrip("0") or "0"
    return int(digits) if len(digits) <= 2 else BEYOND
