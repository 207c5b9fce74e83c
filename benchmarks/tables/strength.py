"""Tables of strength in the sliding games, and the headline."""

from __future__ import annotations

import json
from collections.abc import Sequence
from statistics import median
from typing import Any

from baselines.task import Task
from benchmarks.experiments import GAME_2048, GAME_2584
from benchmarks.kinds import OWN_VALUES, SIDES
from benchmarks.results import SEARCH, Row
from benchmarks.rows import (
    Committed,
    best_published,
    group,
    median_seconds,
    minutes,
    published,
    reached,
    search_name,
)
from benchmarks.tables.table import Columns, Table, number, number_of, table
from tile_envs.words import counted

HEADLINES = (
    (GAME_2048, "n-tuple network", ("ntuple", "search"), "ntuple"),
    (GAME_2048, "deep network", ("deep",), "deep"),
    (GAME_2584, "n-tuple network", ("ntuple", "search"), "fibonacci"),
    (GAME_2584, "deep network", ("deep",), None),
)
"""Each game and kind of agent, with the tables of ours and of the published results."""
FEWEST = 60
"""Rows of fewer games are no headline."""
PLACERS = {
    "random": "at random",
    "adversary": "by the adversary",
    OWN_VALUES: "against the player's own values",
}


def _mean(row: Row) -> str:
    if not row.get("low"):
        return number(row.get("mean"))
    return f"{number(row['mean'])} ({number(row['low'])} to {number(row['high'])})"


def _mean_of_seeds(rows: Sequence[Row]) -> str:
    """Return the mean of several training seeds with their range; of one, with its interval."""
    if len(rows) == 1:
        return _mean(rows[0])
    means = sorted(float(row["mean"]) for row in rows)
    average = sum(means) / len(means)
    return f"{number(average)} (seeds: {number(means[0])} to {number(means[-1])})"


def _top(row: Row) -> str:
    """Return the largest tile that a tenth of the games reached, and how many did."""
    tile, fraction = [(tile, f) for tile, f in reached(row).items() if f >= 0.1][-1]
    return f"{tile} in {fraction:.0%}"


def headline(committed: Committed) -> Table:
    """Return the best training of each game and kind of agent, alone and with search.

    In tic-tac-toe, these are the best learner of each side.
    """
    lines = []
    for env, kind, names, others in HEADLINES:
        rows = [row for name in names for row in committed.rows(name, env)]
        rows = [row for row in rows if int(row["episodes"]) >= FEWEST]
        for searches in (False, True):
            ours = [row for row in rows if (row["depth"] != "1") == searches]
            if ours:
                theirs = best_published(others, searches) if others else None
                lines.append(_best_of_sliding(kind, ours, theirs))
    for side in SIDES:
        rows = [row for row in committed.rows("seeds") if row["side"] == side]
        if rows:
            lines.append(_best_of_tictactoe(side, rows))
    columns = ("game", "agent", "training", "result", "best published", "by")
    return table([(column, column) for column in columns], lines)


def _best_of_sliding(kind: str, rows: Sequence[Row], theirs: Row | None) -> Row:
    trained = group(rows, "label", "minutes", *SEARCH)  # seeds count together
    runs = max(trained, key=lambda runs: sum(float(row["mean"]) for row in runs) / len(runs))
    row = runs[0]
    took = f"{minutes(row['minutes'])} min" if row["minutes"] else f"{row['games_learned']} games"
    cores = counted(int(row["threads"]), "core")
    line = {
        "game": Task.of(row["env"]).game.name,
        "agent": f"{kind}, {search_name(row)}",
        "training": f"{took}, {cores}, {counted(len(runs), 'seed')}",
        "result": f"mean {_mean_of_seeds(runs)}",
        "is_stale": any(run["is_stale"] for run in runs),
    }
    if theirs:
        depth = theirs.get("depth")
        searched = f", {depth}-ply" if isinstance(depth, int | float) else f", {depth}"
        line["best published"] = number(theirs["mean"]) + (searched if depth else "")
        line["by"] = str(theirs["source"])
    return line


def _best_of_tictactoe(side: str, rows: Sequence[Row]) -> Row:
    """Return the learner whose worst seed wins most among those that never lose.

    Of equals, it is the one that learns in the shortest time.
    """
    trained = group(rows, "label")
    unbeaten = [runs for runs in trained if all(row["worst"] != "-1" for row in runs)]
    runs = min(unbeaten, key=lambda runs: (-_worst_win(runs), median_seconds(runs)))
    (theirs,) = published("crosstable")
    wins = [
        shares[0] if side == "X" else shares[2]
        for x, o, *shares in theirs["pairings"]
        if (o if side == "X" else x) == "random" and (x if side == "X" else o) != "random"
    ]
    return {
        "game": f"tic-tac-toe, {side}",
        "agent": f"`{runs[0]['label']}`",
        "training": f"{median_seconds(runs):.0f} s, worst of {counted(len(runs), 'seed')}",
        "result": f"wins {_worst_win(runs):.2%} against random play, never loses",
        "best published": f"{max(wins):.1f}%",
        "by": str(theirs["source"]),
        "is_stale": any(row["is_stale"] for row in runs),
    }


def _worst_win(rows: Sequence[Row]) -> float:
    return round(min(float(row["win"]) for row in rows), 6)  # sums of floats differ in the last bit


def named(committed: Committed) -> Table:
    """Return what agents reach that are not trained."""
    columns: Columns = [
        ("environment", "env"),
        ("agent", "agent"),
        ("games", number_of("episodes")),
        ("mean (95 % interval)", _mean),
        ("median", number_of("median")),
        ("max", number_of("max")),
        ("tile", _top),
    ]
    rows = committed.rows("agents")
    return table(columns, [row for row in rows if row["reach"] and not row["preset"]])


def article(committed: Committed) -> Table:
    """Return random play in the article's variant, published and ours, by score."""
    rows = [row | {"who": str(row["source"])} for row in published("article")]
    begins = list(rows[0]["bins"])
    width = begins[1] - begins[0]
    for row in committed.rows("agents"):
        if row["preset"] == "article":
            bins = {int(begin): count for begin, count in json.loads(row["bins"]).items()}
            rows.append(row | {"who": f"`{row['agent']}`, seed {row['seed']}", "bins": bins})
    columns: Columns = [
        ("who", "who"),
        ("games", number_of("episodes")),
        ("mean", _mean),
        ("min", number_of("min")),
        ("max", number_of("max")),
        *(
            (f"{begin:,} to {begin + width - 1:,}", lambda row, b=begin: str(row["bins"].get(b, 0)))
            for begin in begins
        ),
    ]
    return table(columns, rows)


def learners(committed: Committed, name: str) -> Table:
    """Return what learners reach, by minutes of learning and depth of search."""
    columns: Columns = [
        ("environment", "env"),
        ("training", "label"),
        ("minutes", lambda rows: minutes(rows[0]["minutes"])),
        ("search", lambda rows: search_name(rows[0])),
        ("seeds", lambda rows: str(len(rows))),
        ("games", lambda rows: number(rows[0]["episodes"])),
        ("mean (interval or range)", _mean_of_seeds),
        ("won", lambda rows: " · ".join(map(_won, rows))),
        ("tile", lambda rows: " · ".join(map(_top, rows))),
        ("moves / s", lambda rows: number(median(float(r["moves_per_second"]) for r in rows))),
    ]
    return table(columns, group(committed.rows(name), "env", "label", "minutes", *SEARCH))


def _won(row: Row) -> str:
    game: Any = Task.of(row["env"]).game
    return f"{reached(row).get(game.rules.goal, 0.0):.1%}"


def recipe(committed: Committed) -> Table:
    """Return what the article's recipe and its ideas reach, published and ours."""
    rows = [row | {"label": str(row["source"])} for row in published("recipe")]
    for row in committed.rows("recipe"):
        rows.append(row | {"iterations": int(row["games_learned"]) // 20})  # of 20 games
    columns: Columns = [
        ("who", "label"),
        ("seed", "train_seed"),
        ("minutes", lambda row: minutes(row.get("minutes"))),
        ("iterations", number_of("iterations")),
        ("search", search_name),
        ("games", number_of("episodes")),
        ("mean (95 % interval)", _mean),
        ("max", number_of("max")),
    ]
    return table(columns, rows)


def adversary(committed: Committed) -> Table:
    """Return how players fare where tiles are placed at random and where an opponent does it."""
    columns: Columns = [
        ("environment", "env"),
        ("training", "label"),
        ("minutes", lambda row: minutes(row["minutes"])),
        ("tiles placed", lambda row: PLACERS[row["placer"]]),
        ("games", number_of("episodes")),
        ("mean (95 % interval)", _mean),
        ("won", _won),
    ]
    return table(columns, committed.rows("adversary"))
