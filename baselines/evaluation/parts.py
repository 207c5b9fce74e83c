"""Lists of games that are played in parts, and joined."""

import json
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from baselines.agents import Task
from baselines.evaluation.comparison import NOTED, Result
from baselines.evaluation.rows import Row, read_rows, write_rows
from baselines.evaluation.sampled import Record, summary
from tile_envs.errors import UsageError
from tile_envs.game import Game
from tile_envs.sliding.game import SlidingGame

PLAIN = ("path", "date")  # of the columns `NOTED`, the texts
SAME = ("agent", "env", "env_kwargs", "seed", *(name for name in NOTED if name != "date"))
"""What the parts of a row have in common."""
PART = ("first", "scores", "tiles", "played", "seconds")
"""The columns that the row of a part has beside the usual ones."""


def part(record: Record, first: int) -> Row:
    """Return the columns `PART` of games from number `first` on."""
    games = record.returns.tolist(), record.tiles.tolist()
    return dict(zip(PART, (first, *games, record.moves, record.seconds), strict=True))


def in_parts(play: Any, game: Game, episodes: int, size: int, file: Path) -> Record:
    """Play a list of games in parts, which a file keeps until it has ended, and join them."""
    rows = read_rows(file) if file.exists() else []
    while (n := sum(len(json.loads(row["scores"])) for row in rows)) < episodes:
        record = play(episodes=min(size, episodes - n), first=n)
        write_rows([*rows, part(record, n)], file)
        rows = read_rows(file)
    file.unlink()
    return _record(rows, game)


def joined(paths: Sequence[Path]) -> list[Result]:
    """Return the rows of all games whose parts are in files `.csv`.

    Each is what one evaluation of all games says, bit for bit, but for `moves_per_second`.
    """
    parts = defaultdict[Any, list[Row]](list)
    for path in paths:
        for row in read_rows(path):
            if not {*SAME, *PART, "episodes"} <= row.keys():
                raise UsageError(f"{path} has no parts: make them by evaluate --from --to --out.")
            if row["first"]:  # else it is the mean over seeds
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
    options = json.loads(about["env_kwargs"])  # in which objects are texts
    game = Task.of(about["env"], {n: v for n, v in options.items() if n in ("shape", "side")}).game
    record, seed = _record(rows, game), int(about["seed"])
    row = summary(record, about["agent"], about["env"], options, seed)
    texts = {name: about[name] for name in NOTED if about[name]}
    return Result(row, noted={n: t if n in PLAIN else json.loads(t) for n, t in texts.items()})


def _record(rows: Sequence[Row], game: Game) -> Record:
    columns = ([json.loads(row[name]) for row in rows] for name in ("scores", "tiles"))
    scores, tiles = map(np.concatenate, columns)
    played = sum(int(row["played"]) for row in rows)
    seconds = sum(float(row["seconds"]) for row in rows)
    faces = game.rules.faces if isinstance(game, SlidingGame) else ()
    boards = np.zeros(len(scores))  # which no row tells of
    return Record(scores.astype(float), tiles.astype(int), boards, faces, played, 0, seconds)
