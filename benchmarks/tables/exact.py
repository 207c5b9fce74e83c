"""Tables of exact results: tic-tac-toe, and small boards."""

import json
from collections.abc import Sequence
from statistics import fmean, median_high

from baselines.agents import Task
from benchmarks.published import published
from benchmarks.results import Row
from benchmarks.rows import Committed, group, search_name, trained
from benchmarks.tables.table import Columns, Table, measured_with, number, number_of, table


def seeds(committed: Committed) -> Table:
    """Return the range over seeds of exact results against random play, and the worst case."""

    def percents(rows: Sequence[Row], column: str) -> str:
        values = [100 * float(row[column]) for row in rows]
        return f"{min(values):.3f} to {max(values):.3f}"

    def worst(rows: Sequence[Row]) -> str:
        losing = sum(row["worst"] == "-1" for row in rows)
        return f"{losing} of {len(rows)} can lose" if losing else "never loses"

    columns: Columns = [
        ("agent", "label"),
        ("side", "side"),
        ("seeds", lambda rows: str(len(rows))),
        ("won, %", lambda rows: percents(rows, "win")),
        ("drawn, %", lambda rows: percents(rows, "draw")),
        ("lost, %", lambda rows: percents(rows, "loss")),
        ("worst case", worst),
        (
            "training",
            lambda rows: f"{median_high(float(r['training_seconds']) for r in rows):.0f} s",
        ),
    ]
    return table(columns, group(committed.rows("seeds"), "label", "side"))


def crosstable(committed: Committed) -> Table:
    """Return how the agents of the cross table fare against random play, beside the published."""
    (source,) = published("crosstable")
    theirs = {(x, o): shares for x, o, *shares in source["pairings"]}
    rows = [row for row in committed.rows("crosstable") if "random" in (row["x"], row["o"])]

    def ours(row: Row) -> str:
        return " / ".join(f"{100 * float(row[key]):.2f}" for key in ("x_wins", "draws", "o_wins"))

    def beside(row: Row) -> str:
        return " / ".join(f"{share:.1f}" for share in theirs.get((row["x"], row["o"]), ()))

    heads = ("X", "O", "X wins / draws / O wins, %", "published")
    return table([*zip(heads, ("x", "o", ours, beside), strict=True)], rows)


def solved(committed: Committed) -> Table:
    def mebibytes(row: Row) -> str:
        size = float(row["bytes"]) / 2**20
        return f"{size:,.0f}" if size >= 10 else f"{size:.1g}"

    columns: Columns = [
        ("game", "{game}, {shape}".format_map),
        ("states", number_of("states")),
        ("afterstates", number_of("afterstates")),
        ("states up to symmetry", number_of("states_merged")),
        ("afterstates", number_of("afterstates_merged")),
        ("expected score", lambda row: f"{float(row['value']):,.6f}"),
        ("CPU seconds", lambda row: f"{float(row['cpu_seconds']):.3g}"),
        ("MiB", mebibytes),
    ]
    return table(columns, committed.rows("solved"))


def exact(committed: Committed) -> Table:
    """Return the fraction of the optimal expected score of each agent on each board."""
    rows = [
        row | {"board": str(Task.of(row["env"], json.loads(row["env_kwargs"])).game)}
        for row in committed.rows("exact")
    ]
    boards = list(dict.fromkeys(row["board"] for row in rows))
    optimum = {row["board"]: float(row["mean"]) / float(row["share"]) for row in rows}
    scores = {row["board"]: float(row["mean"]) for row in rows if row["label"] == "random"}
    columns: Columns = [
        ("agent", "label"),
        *((board, lambda rows, b=board: _fractions(rows, b)) for board in boards),
    ]
    made = table(columns, group(rows, "label"))
    lines = [
        (f"expected score of {name} play", *(f"{s[b]:,.3f}" if b in s else "" for b in boards))
        for name, s in (("optimal", optimum), ("random", scores))
        if s
    ]
    return Table(made.head, [*lines, *made.lines])


def optimum(committed: Committed) -> Table:
    """Return the mean of learners on a solved board, as a fraction of what optimal play expects."""
    (theirs,) = published("optimum")
    best = theirs["mean"]

    def fraction(row: Row) -> str:
        mean, low, high = (f"{float(row[n]) / best:.1%}" for n in ("mean", "low", "high"))
        return f"{mean} ({low} to {high})"

    columns: Columns = [
        ("trained", lambda row: trained([row])),
        ("search", search_name),
        ("games", number_of("episodes")),
        ("mean", number_of("mean")),
        ("of the optimum (95 % interval)", fraction),
        ("moves / s", number_of("moves_per_second")),
    ]
    made = table(columns, rows := committed.rows("optimum"))
    first = "optimal play", str(theirs["source"]), "", number(best), "100%", ""
    return Table(made.head, [first, *made.lines], measured_with(rows))


def _fractions(rows: Sequence[Row], board: str) -> str:
    rows = [row for row in rows if row["board"] == board]
    if not rows:
        return ""
    fractions = [float(row["share"]) for row in rows]
    text = f"{fmean(fractions):.2%}"
    if fractions[1:]:
        text += f" ({len(fractions)} seeds: {min(fractions):.2%} to {max(fractions):.2%})"
    seconds = max(float(row["training_seconds"] or 0) for row in rows)
    return f"{text}, {seconds / 60:.1f} min" if seconds else text
