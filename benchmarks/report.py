"""Writes README's tables from the committed rows, between the marks that name them.

    python -m benchmarks.report

A table is what stands between `<!-- table: NAME -->` and `<!-- end -->`.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from baselines.tables import Row, read_rows

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
RESULTS = ROOT / "benchmarks" / "results"
MARKED = re.compile(r"(<!-- table: ([\w-]+) -->\n).*?(<!-- end -->)", re.DOTALL)

ITERATION_GAMES = 20
"""So many games an iteration of the article's recipe has."""
BANDS = (0, 1000, 2000, 3000)
"""Where the article's bands of scores begin."""


def main() -> None:
    """Run the command."""
    argparse.ArgumentParser(prog="python -m benchmarks.report", description=__doc__).parse_args()
    README.write_text(filled(README.read_text()))


def filled(text: str) -> str:
    """Return a text with all its marked tables made anew."""
    return MARKED.sub(lambda found: f"{found[1]}{TABLES[found[2]]()}\n{found[3]}", text)


def speed_table() -> str:
    """Return our speeds, and beside them those of the peers of the same run."""
    rows = [row for row in _rows("speed.csv") if row["measure"] == "steps per second"]
    best = {
        (row["game"], row["kind"]): row
        for row in sorted(rows, key=lambda row: float(row["value"]))
        if row["package"] == "tile-envs"
    }
    lines = []
    for row in rows:
        ours = best[row["game"], row["kind"]]
        is_ours = row["package"] == "tile-envs"
        if is_ours and row is not ours and row["num_envs"] != "64":
            continue
        package = "**tile-envs**" if is_ours else f"{row['package']} {row['version']}"
        times = "" if is_ours else _times(float(ours["value"]) / float(row["value"]))
        speed = f"{float(row['value']):,.0f}"
        lines.append((row["game"], package, f"{int(row['num_envs']):,}", speed, times))
    order = ("2048", "2584", "tic-tac-toe")
    lines.sort(key=lambda line: (order.index(line[0]), int(line[2].replace(",", "")) == 1))
    return _table(("game", "package", "games at once", "steps / s", "ours is"), lines)


def machine_line() -> str:
    """Return what the speeds were measured on."""
    row = _rows("speed.csv")[0]
    return f"Measured with {row['machine']}; the median of {row['turns']} turns."


def start_up_table() -> str:
    """Return what the first use costs."""
    rows = [row for row in _rows("speed.csv") if row["measure"] != "steps per second"]
    return _table(
        ("measure", "value"), [(row["measure"], f"{float(row['value']):.3g}") for row in rows]
    )


def article_table() -> str:
    """Return random play in the article's variant, published and ours."""
    rows = [*_rows("published.csv"), *_rows("agents.csv")]
    lines = [
        (
            row.get("source") or f"`{row['agent']}`, seed {row['seed']}",
            *(row["episodes"], _mean(row), _number(row["min"]), _number(row["max"])),
            *(str(json.loads(row["bands"]).get(str(begin), 0)) for begin in BANDS),
        )
        for row in rows
        if row["preset"] == "article"
    ]
    bands = (f"{begin:,} to {begin + 999:,}" for begin in BANDS)
    return _table(("who", "games", "mean", "min", "max", *bands), lines)


def sliding_table() -> str:
    """Return what the agents reach in the sliding games."""
    lines = [
        (
            *(row["env"], row["agent"], row["episodes"], _mean(row)),
            *(_number(row["median"]), _number(row["max"]), _top(row["reach"])),
        )
        for row in _rows("agents.csv")
        if row["reach"] and not row["preset"]
    ]
    head = ("environment", "agent", "games", "mean (95 % interval)", "median", "max", "tile")
    return _table(head, lines)


def learning_table(agents: Sequence[str]) -> str:
    """Return what agents reach, by minutes of learning and depth of search."""
    rows = [row for row in _rows("learning.csv") if row["agent"] in agents]
    lines = []
    for env, label in dict.fromkeys((row["env"], row["label"]) for row in rows):
        runs = [row for row in rows if (row["env"], row["label"]) == (env, label)]
        ways = dict.fromkeys((row["minutes"], row["depth"], row["samples"]) for row in runs)
        for way in ways:
            minutes, depth, samples = way
            seeds = [row for row in runs if (row["minutes"], row["depth"], row["samples"]) == way]
            means = " · ".join(map(_mean, seeds))
            wins = 2048 if env == "Tiles2048-v0" else 2584
            reached = [json.loads(row["reach"]).get(str(wins), 0.0) for row in seeds]
            lines.append(
                (
                    *(env, label, _minutes(minutes), _ply(depth, samples)),
                    *(seeds[0]["episodes"], means),
                    " · ".join(f"{share:.1%}" for share in reached),
                    " · ".join(_top(row["reach"]) for row in seeds),
                    f"{float(seeds[0]['moves_per_second']):,.0f}",
                )
            )
    head = (
        *("environment", "learning", "minutes", "ply", "games"),
        *("mean (95 % interval), a seed each", "won", "tile", "moves / s"),
    )
    return _table(head, lines)


def recipe_table() -> str:
    """Return what the article's recipe and its ideas reach, published and ours."""
    lines = [
        (
            *(row.get("label") or row["source"], _minutes(row.get("minutes"))),
            f"{int(row['games_learned']) // ITERATION_GAMES:,}",
            *(_ply(row["depth"], row["samples"]), row["episodes"], _mean(row), _number(row["max"])),
        )
        for row in (*_rows("published.csv"), *_rows("learning.csv"))
        if row["agent"] == "article"
    ]
    head = ("who", "minutes", "iterations", "ply", "games", "mean (95 % interval)", "max")
    return _table(head, lines)


def kernels_table() -> str:
    """Return how fast n-tuple networks are, and beside that the peer."""
    rows = _rows("kernels.csv")
    lines = []
    for measure in dict.fromkeys(row["measure"] for row in rows):
        speeds = {row["package"]: float(row["value"]) for row in rows if row["measure"] == measure}
        peer = speeds.get("TDL2048+")
        figure = f"{speeds['tile-envs']:,.0f}" if speeds["tile-envs"] > 100 else ""
        lines.append(
            (
                measure,
                figure or f"{speeds['tile-envs']:.2f} ×",
                f"{peer:,.0f}" if peer else "",
                _times(speeds["tile-envs"] / peer) if peer else "",
            )
        )
    return _table(("measure", "ours", "TDL2048+", "ours is"), lines)


def bridge_table() -> str:
    """Return how fast Stable-Baselines3 is given games, and what share of training that takes."""
    rows = _rows("bridge.csv")
    lines = []
    for game in dict.fromkeys(row["game"] for row in rows):
        speeds = {
            (row["package"], row["kind"]): float(row["value"])
            for row in rows
            if row["game"] == game and row["measure"] == "steps per second"
        }
        ours = speeds["tile-envs", "Bridge"]
        peers = (speeds["tile-envs", "DummyVecEnv"], speeds.get(("gymnasium-2048", "DummyVecEnv")))
        (share,) = (
            float(row["value"])
            for row in rows
            if row["game"] == game and row["measure"] == "share of training"
        )
        beside = [f"{speed:,.0f} ({_times(ours / speed)})" if speed else "" for speed in peers]
        lines.append((game, f"{ours:,.0f}", *beside, f"{share:.2%}"))
    head = ("`DummyVecEnv` of ours", "of gymnasium-2048", "share of training")
    return _table(("game", "the bridge, steps / s", *head), lines)


def tictactoe_table() -> str:
    """Return how the agents fare in tic-tac-toe."""
    lines = [
        (
            *(row["agent"], row["side"], row["episodes"]),
            *(f"{float(row[key]):.1%}" for key in ("win", "draw", "loss")),
        )
        for row in _rows("agents.csv")
        if row["win"]
    ]
    return _table(("agent", "side", "games", "won", "drawn", "lost"), lines)


def seeds_table() -> str:
    """Return how the learners of tic-tac-toe come out with several seeds."""
    rows = _rows("seeds.csv")
    lines = []
    for label, side in dict.fromkeys((row["label"], row["side"]) for row in rows):
        runs = [row for row in rows if (row["label"], row["side"]) == (label, side)]
        shares = []
        for key in ("win", "draw", "loss"):
            figures = sorted(100 * float(row[key]) for row in runs)
            shares.append(f"{figures[0]:.3f} to {figures[-1]:.3f}")
        losing = sum(row["worst"] == "-1" for row in runs)
        worst = "never loses" if not losing else f"{losing} of {len(runs)} can lose"
        seconds = sorted(float(row["seconds"]) for row in runs if row["seconds"])
        took = f"{seconds[len(seconds) // 2]:.0f} s" if seconds else ""
        lines.append((label, side, str(len(runs)), *shares, worst, took))
    head = ("agent", "side", "seeds", "won, %", "drawn, %", "lost, %", "worst case", "training")
    return _table(head, lines)


def crosstable_table() -> str:
    """Return how the agents of the cross table fare against random play, and the published."""
    rows = _rows("crosstable.csv")
    lines = []
    for row in rows:
        if "random" not in (row["x"], row["o"]):
            continue
        names = ("x_wins", "draws", "o_wins")
        ours = " / ".join(f"{100 * float(row[name]):.2f}" for name in names)
        theirs = [row[f"published_{name}"] for name in names]
        beside = " / ".join(f"{100 * float(share):.1f}" for share in theirs if share)
        lines.append((row["x"], row["o"], ours, beside))
    return _table(("X", "O", "X wins / draws / O wins, %", "published"), lines)


def _number(figure: str) -> str:
    return f"{float(figure):,.0f}" if figure else ""


def _minutes(minutes: str | None) -> str:
    return f"{float(minutes):g}" if minutes else ""


def _ply(depth: str, samples: str) -> str:
    return f"{depth}, {samples} drawn" if samples != "0" else depth


def _mean(row: Row) -> str:
    if not row.get("low"):
        return _number(row["mean"])
    return f"{_number(row['mean'])} ({_number(row['low'])} to {_number(row['high'])})"


def _times(ratio: float) -> str:
    return f"{ratio:,.0f} ×" if ratio >= 10 else f"{ratio:.2g} ×"


def _top(reach: str) -> str:
    """Return the largest tile that a tenth of the games reached, and how many did."""
    face, share = [(face, share) for face, share in json.loads(reach).items() if share >= 0.1][-1]
    return f"{face} in {share:.0%}"


def _rows(name: str) -> list[Row]:
    return read_rows(RESULTS / name)


def _table(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    rows = [head, ["---"] * len(head), *lines]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


TABLES: dict[str, Callable[[], str]] = {
    "speed": speed_table,
    "machine": machine_line,
    "start-up": start_up_table,
    "article": article_table,
    "sliding": sliding_table,
    "ntuple": partial(learning_table, ("ntuple",)),
    "deep": partial(learning_table, ("dqn", "ppo")),
    "recipe": recipe_table,
    "kernels": kernels_table,
    "bridge": bridge_table,
    "tic-tac-toe": tictactoe_table,
    "seeds": seeds_table,
    "crosstable": crosstable_table,
}

if __name__ == "__main__":
    main()
