"""The table of the best results: ours beside the best that others have published."""

from __future__ import annotations

from collections.abc import Sequence

from baselines.task import Task
from benchmarks.experiments import GAME_2048, GAME_2584, SIDES
from benchmarks.published import Figure, best, figures
from benchmarks.tables.committed import Committed, Row
from benchmarks.tables.markdown import Line, marked, mean_of_seeds, number, table
from tile_envs.words import counted

KINDS = (
    (GAME_2048, "n-tuple network", "ntuple", "ntuple"),
    (GAME_2048, "deep network", "deep", "deep"),
    (GAME_2584, "n-tuple network", "ntuple", "fibonacci"),
    (GAME_2584, "deep network", "deep", None),
)
"""Each game and kind of agent, with the tables of ours and of the published results."""


def headline(committed: Committed) -> str:
    """Return the best row of each game and kind of agent, alone and with search."""
    lines = []
    for env, kind, name, published in KINDS:
        rows = [
            row for row in committed.rows(name) if (row["env"], row["env_kwargs"]) == (env, "{}")
        ]
        for searches in (False, True):
            ours = [row for row in rows if (row["depth"] != "1") == searches]
            if ours:
                theirs = best(published, searches) if published else None
                lines.append(_sliding_line(env, kind, ours, theirs))
    for side in SIDES:
        lines.append(_tictactoe_line(committed, side))
    head = ("game", "agent", "training", "result", "best published", "by")
    return table(head, lines)


def _sliding_line(env: str, kind: str, rows: Sequence[Row], theirs: Figure | None) -> Line:
    trained: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:  # several seeds of one training count together
        how = (row["label"], row["minutes"], row["depth"], row["samples"])
        trained.setdefault(how, []).append(row)
    runs = max(trained.values(), key=lambda runs: sum(float(r["mean"]) for r in runs) / len(runs))
    row = runs[0]
    cores = "core" if row["threads"] == "1" else "cores"
    line = (
        Task.of(env).game.name,
        f"{kind}, {row['depth']}-ply",
        f"{float(row['minutes']):g} min, {row['threads']} {cores}, {counted(len(runs), 'seed')}",
        f"mean {mean_of_seeds(runs)}",
        f"{number(theirs['mean'])}{_depth(theirs)}" if theirs else "",
        str(theirs["source"]) if theirs else "",
    )
    return marked(line, *runs)


def _tictactoe_line(committed: Committed, side: str) -> Line:
    """Return the learner whose worst seed fares best among those that never lose."""
    runs: dict[str, list[Row]] = {}
    for row in committed.rows("seeds"):
        if row["side"] == side:
            runs.setdefault(row["label"], []).append(row)
    unbeaten = {label: rows for label, rows in runs.items() if all(_never_loses(r) for r in rows)}
    label, rows = max(unbeaten.items(), key=lambda each: min(float(r["win"]) for r in each[1]))
    (figure,) = figures("crosstable")
    wins = [
        shares[0] if side == "X" else shares[2]
        for x, o, *shares in figure["pairings"]
        if (o if side == "X" else x) == "random" and (x if side == "X" else o) != "random"
    ]
    seconds = sorted(float(row["seconds"]) for row in rows)[len(rows) // 2]
    line = (
        f"tic-tac-toe, {side}",
        f"`{label}`",
        f"{seconds:.0f} s, worst of {counted(len(rows), 'seed')}",
        f"wins {min(float(row['win']) for row in rows):.2%} against random play, never loses",
        f"{max(wins):.1f}%",
        str(figure["source"]),
    )
    return marked(line, *rows)


def _never_loses(row: Row) -> bool:
    return str(row["worst"]) != "-1"


def _depth(figure: Figure) -> str:
    depth = figure.get("depth")
    return f", {depth}-ply" if isinstance(depth, int | float) else f", {depth}" if depth else ""
