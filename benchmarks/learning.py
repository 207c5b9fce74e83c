"""Trains agents by the clock and judges them, alone and with search.

    python -m benchmarks.learning --out benchmarks/results/learning.csv

One of them learns from games of a strong agent first, which are written before:

    python -m baselines train ntuple --minutes 1 --out runs/2048
    python -m baselines record runs/2048 --episodes 100 --out runs/games

Trained agents stay in the folder of --runs, and what is there is gone on with.  Rows that the file
holds already are kept; `--only` names the runs to make.  Every figure is the judge's.
"""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from baselines import runs
from baselines.evaluate import judge
from baselines.roster import load, searching
from baselines.tables import Row, read_rows, write_rows
from baselines.training import default_options, run

ENOUGH = 10**9  # games; the clock ends a sitting


class Judging(NamedTuple):
    """How an agent is judged.

    Attributes:
        games: In so many games.
        depth: Looking at so many moves.
        samples: And at so many drawn new tiles; 0 is all.
    """

    games: int
    depth: int = 1
    samples: int = 0


@dataclass(frozen=True)
class Run:
    """An agent to train, and how to judge it.

    Attributes:
        label: What rows call it.
        agent: Its name.
        env: The environment's id.
        env_kwargs: Its options, as JSON; None is the preset's.
        preset: The preset that is trained.
        settings: What is other than in the preset.
        minutes: When it is judged, in minutes of learning.
        seeds: So many seeds, from 0 on.
        judged: How it is judged after its last minute; before, only the first way.
    """

    label: str
    agent: str = "ntuple"
    env: str = "Tiles2048-v0"
    env_kwargs: str | None = None
    preset: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    minutes: tuple[float, ...] = (10,)
    seeds: int = 1
    judged: tuple[Judging, ...] = (Judging(1000),)


SEARCHES = (Judging(1000), Judging(300, 2), Judging(100, 3))
DEEP = (Judging(300), Judging(100, 2))
ARTICLE = (Judging(300), Judging(300, 2, samples=1), Judging(100, 3, samples=1))
ONE = {"threads": 1}
HARD = '{"spawn": {"1": 0.75, "3": 0.25}}'
RUNS = (
    Run("one core", minutes=(0.75, 1, 2, 4), seeds=3),
    Run("two cores", settings={"threads": 2}, minutes=(1, 2, 5, 10), judged=SEARCHES),
    Run(
        "two cores, stages",
        settings={
            "threads": 2,
            "stages": (4096, 8192, 16384),
            "stage_games": 30_000,
            "halving_games": 60_000,
        },
        minutes=(25, 50),
        judged=SEARCHES,
    ),
    Run("one core", env="Tiles2584-v0", minutes=(1, 5)),
    Run(
        "two cores, 1 and 3 appear",
        env="Tiles2584-v0",
        env_kwargs=HARD,
        settings={"threads": 2},
        minutes=(1, 10),
        judged=SEARCHES,
    ),
    Run("course, 21 values", env="Tiles2584-v0", preset="course", minutes=(2, 4, 12)),
    Run(
        "course, 26 values",
        env="Tiles2584-v0",
        preset="course",
        settings={"values": 26},
        minutes=(2, 4, 12),
    ),
    Run("dqn", "dqn", minutes=(15, 30, 60), judged=DEEP),
    Run("dqn", "dqn", env="Tiles2584-v0", minutes=(15, 30, 60), judged=DEEP),
    Run(
        "dqn, after a strong agent",
        "dqn",
        settings={"replays": "runs/games", "replay_steps": 5_000},
        minutes=(15,),
        judged=DEEP[:1],
    ),
    Run("ppo", "ppo", settings=ONE, minutes=(15,), judged=DEEP[:1]),
    Run("article", "article", minutes=(10, 30, 90), judged=ARTICLE),
    *(
        Run(
            f"article, {idea}",
            "article",
            settings=ONE | settings,
            minutes=(15,),
            judged=ARTICLE[:2],
        )
        for idea, settings in {
            "a plane for each tile": {"one_hot": True},
            "falling epsilon": {"epsilon_halving": 10},
            "longer memory and samples": {"memory": 200_000, "others": 5_000, "begin": 6_000},
            "batches of 1,000": {"batch": 1_000},
        }.items()
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
    rows = read_rows(asked.out) if asked.out.exists() else []
    for each in RUNS:
        if (asked.only and each.label not in asked.only) or asked.env not in (None, each.env):
            continue
        for seed in range(each.seeds):
            for row in judged(each, seed, asked.runs):
                rows = [old for old in rows if _key(old) != _key(row)] + [row]
                write_rows(sorted(rows, key=_key), asked.out)
                print(*_key(row), f"mean {row['mean']:,.0f}", flush=True)


def judged(each: Run, seed: int, folder: Path) -> Iterator[Row]:
    """Train an agent, and judge it whenever it is time."""
    options = default_options(each.agent, each.env, each.preset)
    settings = dataclasses.replace(options.settings, **each.settings)
    name = f"{each.env}-{each.label}-{seed}".replace(",", "").replace(" ", "-")
    place = folder / name
    for minutes in each.minutes:
        is_last = minutes == each.minutes[-1]
        missing = minutes - _learned(place)
        if missing > 0:
            asked = dataclasses.replace(
                options,
                settings=settings,
                env_kwargs=options.env_kwargs if each.env_kwargs is None else each.env_kwargs,
                games=ENOUGH,
                minutes=missing,
                seed=seed,
                out=place,
                resume=(place / runs.CONFIG).exists(),
            )
            run(each.agent, asked)
            if _learned(place) < minutes:
                raise SystemExit(f"{place} was stopped: the same command goes on with it.")
        elif not is_last:
            continue  # it has learned on since
        player, threads = load(place), settings.threads
        for games, depth, samples in each.judged if is_last else each.judged[:1]:
            agent = player.agent
            if depth > 1:
                search = {"threads": 1 if samples else threads, "samples": samples}
                agent = searching(player, depth, search).agent
            row, _ = judge(agent, each.agent, player.env, player.env_kwargs, games, seed=0)
            told = {"label": each.label, "train_seed": seed, "minutes": minutes, "depth": depth}
            told |= {"samples": samples, "threads": threads, "games_learned": player.agent.games}
            yield told | row


def _learned(place: Path) -> float:
    """Return how many minutes a run has learned for."""
    return max((float(row["seconds"]) for row in runs.read_progress(place)), default=0.0) / 60


def _key(row: Row) -> Sequence[Any]:
    return (
        row["agent"],
        row["env"],
        row["label"],
        int(row["train_seed"]),
        float(row["minutes"]),
        int(row["depth"]),
        int(row["samples"]),
    )


if __name__ == "__main__":
    main()
