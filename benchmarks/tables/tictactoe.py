"""Tables of tic-tac-toe: sampled, exact from several seeds, and every agent against random play."""

from __future__ import annotations

from benchmarks.experiments import CROSSTABLE
from benchmarks.published import figures
from benchmarks.tables.committed import Committed
from benchmarks.tables.markdown import marked, number, table

SHARES = ("win", "draw", "loss")


def sampled(committed: Committed) -> str:
    """Return how named agents fare against random play."""
    lines = [
        marked(
            (
                *(row["agent"], row["side"], number(row["episodes"])),
                *(f"{float(row[key]):.1%}" for key in SHARES),
            ),
            row,
        )
        for row in committed.rows("agents")
        if row["win"]
    ]
    return table(("agent", "side", "games", "won", "drawn", "lost"), lines)


def seeds(committed: Committed) -> str:
    """Return the range over seeds of exact results against random play, and the worst case."""
    rows = committed.rows("seeds")
    lines = []
    for label, side in dict.fromkeys((row["label"], row["side"]) for row in rows):
        runs = [row for row in rows if (row["label"], row["side"]) == (label, side)]
        ranges = []
        for key in SHARES:
            shares = sorted(100 * float(row[key]) for row in runs)
            ranges.append(f"{shares[0]:.3f} to {shares[-1]:.3f}")
        losing = sum(row["worst"] == "-1" for row in runs)
        worst = f"{losing} of {len(runs)} can lose" if losing else "never loses"
        seconds = sorted(float(row["seconds"]) for row in runs if row["seconds"])
        took = f"{seconds[len(seconds) // 2]:.0f} s" if seconds else ""
        lines.append(marked((label, side, str(len(runs)), *ranges, worst, took), *runs))
    head = ("agent", "side", "seeds", "won, %", "drawn, %", "lost, %", "worst case", "training")
    return table(head, lines)


def crosstable(committed: Committed) -> str:
    """Return how the agents of the cross table fare against random play, beside the published."""
    published = {
        (x, o): shares for figure in figures("crosstable") for x, o, *shares in figure["pairings"]
    }
    order = [each.label for each in CROSSTABLE]
    rows = [row for row in committed.rows("crosstable") if "random" in (row["x"], row["o"])]
    lines = []
    for row in sorted(rows, key=lambda row: (order.index(row["x"]), order.index(row["o"]))):
        ours = " / ".join(f"{100 * float(row[key]):.2f}" for key in ("x_wins", "draws", "o_wins"))
        theirs = published.get((row["x"], row["o"]), ())
        beside = " / ".join(f"{share:.1f}" for share in theirs)
        lines.append(marked((row["x"], row["o"], ours, beside), row))
    return table(("X", "O", "X wins / draws / O wins, %", "published"), lines)
