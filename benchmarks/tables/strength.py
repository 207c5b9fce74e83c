"""Tables of strength in the sliding games: named agents and learners."""

from __future__ import annotations

import json
from typing import Any

from baselines.task import Task
from benchmarks.published import figures
from benchmarks.tables.committed import Committed, Row
from benchmarks.tables.markdown import (
    Line,
    marked,
    mean,
    mean_of_seeds,
    minutes,
    number,
    ply,
    reached,
    table,
    top,
)

ITERATION_GAMES = 20
"""Games of an iteration of the article's recipe."""


def goal_of(env_id: str) -> int:
    """Return the face of the tile that wins a sliding game."""
    game: Any = Task.of(env_id).game
    goal: int = game.rules.goal
    return goal


def named(committed: Committed) -> str:
    """Return what agents reach that are not trained."""
    lines = [
        marked(
            (
                *(row["env"], row["agent"], number(row["episodes"]), mean(row)),
                *(number(row["median"]), number(row["max"]), top(row)),
            ),
            row,
        )
        for row in committed.rows("agents")
        if row["reach"] and not row["preset"]
    ]
    head = ("environment", "agent", "games", "mean (95 % interval)", "median", "max", "tile")
    return table(head, lines)


def article(committed: Committed) -> str:
    """Return random play in the article's variant, published and ours, by score."""
    begins = [int(begin) for begin in figures("article")[0]["bins"]]
    lines = [
        _binned(figure, str(figure["source"]), figure["bins"], begins)
        for figure in figures("article")
    ]
    for row in committed.rows("agents"):
        if row["preset"] == "article":
            bins = {int(begin): count for begin, count in json.loads(row["bins"]).items()}
            who = f"`{row['agent']}`, seed {row['seed']}"
            lines.append(marked(_binned(row, who, bins, begins), row))
    width = begins[1] - begins[0]
    ranges = (f"{begin:,} to {begin + width - 1:,}" for begin in begins)
    return table(("who", "games", "mean", "min", "max", *ranges), lines)


def _binned(row: Row, who: str, bins: dict[int, int], begins: list[int]) -> Line:
    counts = (str(bins.get(begin, 0)) for begin in begins)
    return (
        who,
        number(row["episodes"]),
        mean(row),
        number(row["min"]),
        number(row["max"]),
        *counts,
    )


def learners(committed: Committed, name: str) -> str:
    """Return what learners reach, by minutes of learning and depth of search."""
    groups: dict[tuple[str, ...], list[Row]] = {}
    for row in committed.rows(name):
        way = (row["minutes"], row["depth"], row["samples"])
        groups.setdefault((row["env"], row["label"], *way), []).append(row)
    lines = []
    for (env, label, *_), rows in groups.items():
        goal = goal_of(env)
        line = (
            *(env, label, minutes(rows[0]["minutes"]), ply(rows[0]), str(len(rows))),
            *(number(rows[0]["episodes"]), mean_of_seeds(rows)),
            " · ".join(f"{reached(row).get(goal, 0.0):.1%}" for row in rows),
            " · ".join(map(top, rows)),
            number(rows[0]["moves_per_second"]),
        )
        lines.append(marked(line, *rows))
    head = (
        *("environment", "training", "minutes", "ply", "seeds", "games"),
        *("mean (interval or range)", "won", "tile", "moves / s"),
    )
    return table(head, lines)


def recipe(committed: Committed) -> str:
    """Return what the article's recipe and its ideas reach, published and ours."""
    lines: list[Line] = [
        _recipe_line(figure, str(figure["source"]), "", "", figure["iterations"])
        for figure in figures("recipe")
    ]
    for row in committed.rows("recipe"):
        iterations = int(row["games_learned"]) // ITERATION_GAMES
        named = row["label"], row["train_seed"], row["minutes"]
        lines.append(marked(_recipe_line(row, *named, iterations), row))
    columns = ("who", "seed", "minutes", "iterations", "ply", "games")
    return table((*columns, "mean (95 % interval)", "max"), lines)


def _recipe_line(row: Row, who: str, seed: str, took: str, iterations: int) -> Line:
    cells = (who, seed, minutes(took), number(iterations), ply(row))
    return (*cells, number(row["episodes"]), mean(row), number(row.get("max")))
