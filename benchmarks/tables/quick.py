"""The results of the short list as text for a terminal, beside those that others have published."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from baselines.task import Task
from benchmarks.published import Figure, best, figures
from benchmarks.tables.committed import Committed, Row
from benchmarks.tables.headline import KINDS
from benchmarks.tables.markdown import Line, mean, millions, number, ply
from benchmarks.tables.small_boards import board_of
from benchmarks.tables.speeds import STEPS, named
from benchmarks.tables.strength import ITERATION_GAMES

PUBLISHED = {(table, env): published for env, _, table, published in KINDS}
GAP = "  "


def summary(committed: Committed) -> str:
    """Return all results as text; sections without rows are left out."""
    sections = (_sliding, _tictactoe, _small_boards, _speeds)
    texts = [text for text in (section(committed) for section in sections) if text]
    return "\n\n".join([*texts, "These budgets are small: benchmarks/README.md has whole ones."])


def _sliding(committed: Committed) -> str:
    lines: list[Line] = []
    for row in committed.rows("agents"):
        if row["reach"]:
            theirs = figures("article")[0] if row["preset"] == "article" else None
            lines.append(_sampled(row, row["agent"], row["preset"], "", theirs))
    for name in ("ntuple", "deep", "recipe"):
        for row in committed.rows(name):
            published = PUBLISHED.get((name, row["env"]))
            theirs = best(published, row["depth"] != "1") if published else None
            if name == "recipe":
                same = (figure for figure in figures(name) if str(figure["depth"]) == row["depth"])
                theirs = next(same, None)
            learned = f"{number(row['games_learned'])} games"
            lines.append(_sampled(row, row["agent"], "", learned, theirs))
    head = ("game", "agent", "learned from", "ply", "mean (95 % interval)", "published", "by")
    return _section("Mean scores of the sliding games", head, lines)


def _sampled(row: Row, agent: str, preset: str, learned: str, theirs: Figure | None) -> Line:
    name = ", ".join(filter(None, (Task.of(row["env"]).game.name, preset)))
    published = f"{number(theirs['mean'])}{_budget(theirs)}" if theirs else ""
    by = theirs["source"].citation if theirs else ""
    return (name, agent, learned, ply(row), mean(row), published, by)


def _budget(figure: Figure) -> str:
    depth = f"{figure['depth']}-ply" if str(figure.get("depth", "")).isdigit() else ""
    budget = str(figure.get("budget", ""))
    if "iterations" in figure:
        budget = f"{ITERATION_GAMES * int(figure['iterations']):,} games"
    words = ", ".join(filter(None, (budget, depth)))
    return f" ({words})" if words else ""


def _tictactoe(committed: Committed) -> str:
    (figure,) = figures("crosstable")
    published = {(x, o): shares for x, o, *shares in figure["pairings"]}
    lines: list[Line] = []
    for row in committed.rows("crosstable"):
        if "random" in (row["x"], row["o"]):
            ours = " / ".join(
                f"{100 * float(row[key]):.1f}" for key in ("x_wins", "draws", "o_wins")
            )
            theirs = " / ".join(map(str, published.get((row["x"], row["o"]), ())))
            by = figure["source"].citation if theirs else ""
            lines.append((row["x"], row["o"], ours, theirs, by))
    head = ("X", "O", "X wins / draws / O wins, %", "published", "by")
    return _section("Tic-tac-toe, exactly", head, lines)


def _small_boards(committed: Committed) -> str:
    lines: list[Line] = [
        (board_of(row), row["label"], f"{float(row['mean']):,.2f}", f"{float(row['share']):.2%}")
        for row in committed.rows("exact")
    ]
    head = ("board", "agent", "expected score", "of the optimum")
    return _section("Small boards, exactly", head, lines)


def _speeds(committed: Committed) -> str:
    lines: list[Line] = [
        (row["game"], named(row).replace("*", ""), number(row["num_envs"]), millions(row["value"]))
        for row in committed.rows("speed")
        if row["measure"] == STEPS
    ]
    head = ("game", "environment", "games at once", "steps a second of CPU time")
    return _section("Speed", head, lines)


def _section(title: str, head: Line, lines: Sequence[Line]) -> str:
    """Return a title and aligned columns; numbers are aligned at their ends."""
    if not lines:
        return ""
    columns = list(zip(head, *lines, strict=True))
    aligned = [_pad(column) for column in columns]
    rows = [GAP.join(cells).rstrip() for cells in zip(*aligned, strict=True)]
    return "\n".join([title, *(f"  {row}" for row in rows)])


def _pad(column: Sequence[str]) -> list[str]:
    width = max(map(len, column))
    pad: Callable[[str, int], str] = str.ljust
    if all(re.fullmatch(r"[\d,.%]*( M)?", cell) for cell in column[1:]):
        pad = str.rjust
    return [pad(cell, width) for cell in column]
