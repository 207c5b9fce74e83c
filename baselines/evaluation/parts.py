"""Rows that are made in parts of the list of games, and joined."""

import json
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from baselines.agents import Task
from baselines.evaluation.comparison import NOTED, Result
from baselines.evaluation.rows import Row, read_rows
from baselines.evaluation.sampled import Record, summary
from tile_envs.errors import UsageError
from tile_envs.sliding.game import SlidingGame

SAME = ("agent", "env", "env_kwargs", "seed", *(name for name in NOTED if name != "date"))
"""What the parts of a row have in common."""


def part(record: Record, first: int) -> Row:
    """Return the columns that the row of a part has beside the usual ones."""
    row: Row = {"first": first, "scores": record.returns.tolist(), "tiles": record.tiles.tolist()}
    return row | {"played": record.moves, "seconds": record.seconds}


def joined(paths: Sequence[Path]) -> list[Result]:
    """Return the rows of all games whose parts are in files `.csv`.

    Each is what one evaluation of all games says, bit for bit, but for `moves_per_second`.
    """
    parts = defaultdict[Any, list[Row]](list)
    for path in paths:
        for row in read_rows(path):
            if "scores" not in row:
                raise UsageError(f"{path} has no parts: make them by evaluate --from --to --out.")
            parts[tuple(row[name] for name in SAME)].append(row)
    return [_joined(sorted(rows, key=lambda row: int(row["first"]))) for rows in parts.values()]


def _joined(rows: Sequence[Row]) -> Result:
    about, n = rows[0], 0
    for row in rows:
        if (first := int(row["first"])) != n:
            games = f"{n} to {first - 1}" if first > n else f"{first} to {n - 1}"
            what = "are missing" if first > n else "come twice"
            raise UsageError(f"games {games} of {about['agent']} on {about['env']} {what}.")
        n += int(row["episodes"])
    task = Task.of(about["env"], json.loads(about["env_kwargs"]))
    scores, tiles = (
        np.concatenate([json.loads(row[name]) for row in rows]) for name in ("scores", "tiles")
    )
    faces = task.game.rules.faces if isinstance(task.game, SlidingGame) else ()
    played = sum(int(row["played"]) for row in rows)
    seconds = sum(float(row["seconds"]) for row in rows)
    boards = np.zeros(n)  # which no row tells of
    record = Record(scores.astype(float), tiles.astype(int), boards, faces, played, 0, seconds)
    row = summary(record, about["agent"], task.env, task.env_kwargs, int(about["seed"]))
    return Result(row, noted={name: about[name] for name in NOTED if about[name]})
