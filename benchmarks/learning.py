"""Trains n-tuple networks by the clock and judges them, alone and with search.

    python -m benchmarks.learning --out benchmarks/results/ntuple.csv

Trained networks stay in the folder of --runs, and what is there is gone on with.  Rows that the
file holds already are kept; `--only` names the runs to make.  Every figure is the judge's.
"""

from __future__ import annotations

import argparse
import csv
import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from baselines import runs
from baselines.evaluate import judge
from baselines.roster import load, searching
from baselines.tables import Row, write_rows
from baselines.training import default_options, run

ENOUGH = 10**9  # games; the clock ends a sitting


@dataclass(frozen=True)
class Run:
    """A network to train, and how to judge it.

    Attributes:
        label: What rows call it.
        env: The environment's id.
        env_kwargs: Its options, as JSON.
        preset: The preset that is trained.
        settings: What is other than in the preset.
        minutes: When it is judged, in minutes of learning.
        seeds: So many seeds, from 0 on.
        judged: `(depth, games)`: how it is judged after its last minute; before it, without search.
    """

    label: str
    env: str = "Tiles2048-v0"
    env_kwargs: str = "{}"
    preset: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    minutes: tuple[float, ...] = (10,)
    seeds: int = 1
    judged: tuple[tuple[int, int], ...] = ((1, 1000),)


HARD = '{"spawn": {"1": 0.75, "3": 0.25}}'
RUNS = (
    Run("one core", minutes=(0.75, 1, 2, 4), seeds=3),
    Run(
        "two cores",
        settings={"threads": 2},
        minutes=(1, 2, 5, 10),
        judged=((1, 1000), (2, 300), (3, 100)),
    ),
    Run(
        "two cores, stages",
        settings={
            "threads": 2,
            "trace": 0.5,
            "stages": (4096, 8192, 16384),
            "stage_games": 30_000,
            "halving_games": 60_000,
        },
        minutes=(25, 50),
        judged=((1, 1000), (2, 300), (3, 100)),
    ),
    Run("one core", "Tiles2584-v0", minutes=(1, 5)),
    Run(
        "two cores, 1 and 3 appear",
        "Tiles2584-v0",
        HARD,
        settings={"threads": 2},
        minutes=(1, 10),
        judged=((1, 1000), (2, 300), (3, 100)),
    ),
    Run("course, 21 values", "Tiles2584-v0", preset="course", minutes=(2, 4)),
    Run(
        "course, 26 values",
        "Tiles2584-v0",
        preset="course",
        settings={"values": 26},
        minutes=(2, 4),
    ),
)


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.learning", description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="the CSV file of the rows")
    parser.add_argument("--runs", type=Path, default=Path("runs", "learning"), help="a folder")
    parser.add_argument("--only", nargs="*", help="labels of the runs to make; all if not given")
    parser.add_argument("--env", help="only the runs in this environment")
    asked = parser.parse_args()
    rows = _known(asked.out)
    for each in RUNS:
        if (asked.only and each.label not in asked.only) or asked.env not in (None, each.env):
            continue
        for seed in range(each.seeds):
            for row in judged(each, seed, asked.runs):
                rows = [old for old in rows if _key(old) != _key(row)] + [row]
                write_rows(sorted(rows, key=_key), asked.out)
                print(*_key(row), f"mean {row['mean']:,.0f}", flush=True)


def judged(each: Run, seed: int, folder: Path) -> Iterator[Row]:
    """Train a network, and judge it whenever it is time."""
    options = default_options("ntuple", each.env, each.preset)
    settings = dataclasses.replace(options.settings, **each.settings)
    name = f"{each.env}-{each.label}-{seed}".replace(",", "").replace(" ", "-")
    place, learned = folder / name, 0.0
    for minutes in each.minutes:
        run(
            "ntuple",
            dataclasses.replace(
                options,
                settings=settings,
                env_kwargs=each.env_kwargs,
                games=ENOUGH,
                minutes=minutes - learned,
                seed=seed,
                out=place,
                resume=(place / runs.CONFIG).exists(),
            ),
        )
        learned = minutes
        player = load(place)
        is_last = minutes == each.minutes[-1]
        for depth, games in each.judged if is_last else ((1, 1000),):
            threads = settings.threads
            agent = player.agent
            if depth > 1:
                agent = searching(player, depth, {"threads": threads}).agent
            row, _ = judge(agent, "ntuple", player.env, player.env_kwargs, games, seed=0)
            told = {"label": each.label, "train_seed": seed, "minutes": minutes, "depth": depth}
            yield told | {"threads": threads, "games_learned": player.agent.games} | row


def _known(path: Path) -> list[Row]:
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def _key(row: Row) -> Sequence[Any]:
    return (
        row["env"],
        row["label"],
        int(row["train_seed"]),
        float(row["minutes"]),
        int(row["depth"]),
    )


if __name__ == "__main__":
    main()
