"""Measures speed, start-up and memory, ours beside the peers that are installed, in one run.

    python -m benchmarks.speed --out benchmarks/results/speed.csv

Speeds are steps per second of process CPU time, the median of several turns; the turns of all
candidates alternate, so that a machine that is busy for a while is so for everybody.
"""

from __future__ import annotations

import argparse
import csv
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.metadata import version
from pathlib import Path

from benchmarks.ours import OURS
from benchmarks.peers import Peer, Play, installed

FIELDS = (
    *("measure", "package", "version", "game", "kind", "num_envs", "value", "low", "high"),
    *("turns", "machine"),
)
Row = dict[str, str | int | float]

SECONDS = 0.7
"""CPU time of a turn."""

START_UP = {
    "import tile_envs, ms": (
        "import time, gymnasium; t = time.process_time(); import tile_envs;"
        "print(1000 * (time.process_time() - t))"
    ),
    "first gym.make, s": (
        "import time, gymnasium, tile_envs; t = time.process_time();"
        "gymnasium.make('Tiles2048-v0'); print(time.process_time() - t)"
    ),
    "memory of the engine, MiB": (
        "import tracemalloc, gymnasium, numpy, tile_envs.sliding as s; tracemalloc.start();"
        "e = gymnasium.make_vec('Tiles2048-v0', num_envs=1); e.reset(seed=0);"
        "print(tracemalloc.get_traced_memory()[0] / 2**20)"
    ),
}
"""Programs that print one figure each, run in fresh processes."""


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed", description=__doc__)
    parser.add_argument("--out", type=Path, help="write the rows to this CSV file")
    parser.add_argument("--turns", type=int, default=7, help="turns of each candidate")
    asked = parser.parse_args()
    if asked.turns < 1 or (asked.out and not asked.out.resolve().parent.is_dir()):
        parser.error("--turns must be positive, and the folder of --out must exist")
    rows = [*start_up_rows(asked.turns), *speed_rows([*OURS, *installed()], asked.turns)]
    print(rows[0]["machine"])
    for row in rows:
        print(
            f"{row['measure']:<28}{row['package']:<16}{row['game']:<13}{row['kind']:<8}"
            f"{row['num_envs']:>6}  {row['value']:>14,.4g}  {row['low']:>12,.4g} to "
            f"{row['high']:,.4g}"
        )
    if asked.out:
        with asked.out.open("w", newline="") as file:
            writer = csv.DictWriter(file, FIELDS)
            writer.writeheader()
            writer.writerows(rows)


def speed_rows(candidates: Sequence[Peer], turns: int) -> Iterator[Row]:
    """Measure the candidates; one that cannot be made is named on standard error and left out."""
    made: list[tuple[Peer, Play, int, list[float]]] = []
    for peer in candidates:
        try:
            play = peer.make(peer.num_envs)
            steps = _steps_for(play)
        except Exception as error:  # a peer broken by versions must not cost the others their run
            print(f"{peer.package}, {peer.game}: left out, {error!r}", file=sys.stderr)
            continue
        made.append((peer, play, steps, []))
    for _ in range(turns):
        for _, play, steps, speeds in made:
            speeds.append(_speed(play, steps))
    for peer, _, _, speeds in made:
        yield figures_row(
            "steps per second", speeds, peer.package, peer.game, peer.kind, peer.num_envs
        )


def start_up_rows(turns: int) -> Iterator[Row]:
    """Measure what the first use costs, in fresh processes."""
    for measure, program in START_UP.items():
        run = [sys.executable, "-c", program]
        figures = [
            float(subprocess.run(run, check=True, capture_output=True, text=True).stdout)
            for _ in range(turns)
        ]
        yield figures_row(measure, figures, "tile-envs", "2048", "single", 1)


@cache
def machine() -> str:
    """Return what figures depend on: the processor, Python and numpy."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        processor = next(line.split(": ")[1] for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        processor = platform.processor() or platform.machine()
    return f"{processor}, Python {platform.python_version()}, numpy {version('numpy')}"


def figures_row(
    measure: str, figures: Sequence[float], package: str, game: str, kind: str, num_envs: int
) -> Row:
    """Return the row of several figures of one measure: their median, lowest and highest."""
    return {
        "measure": measure,
        "package": package,
        "version": version(package),
        "game": game,
        "kind": kind,
        "num_envs": num_envs,
        "value": float(f"{statistics.median(figures):.4g}"),
        "low": float(f"{min(figures):.4g}"),
        "high": float(f"{max(figures):.4g}"),
        "turns": len(figures),
        "machine": machine(),
    }


def _speed(play: Play, steps: int) -> float:
    began = time.process_time()
    played = play(steps)
    return played / (time.process_time() - began)


def _steps_for(play: Play) -> int:
    """Return how many steps take about `SECONDS`."""
    steps = 1000
    while True:
        began = time.process_time()
        played = play(steps)
        seconds = time.process_time() - began
        if seconds > SECONDS / 10:
            return round(played * SECONDS / seconds)
        steps = 4 * played


if __name__ == "__main__":
    main()
