"""Tables of players and the placers of tiles that they were trained and evaluated with."""

from __future__ import annotations

from benchmarks.kinds import OWN_VALUES
from benchmarks.tables.committed import Committed, Row
from benchmarks.tables.markdown import Line, marked, mean, minutes, number, reached, table
from benchmarks.tables.strength import goal_of

PLACERS = {
    "random": "at random",
    "adversary": "by the adversary",
    OWN_VALUES: "against the player's own values",
}


def adversary(committed: Committed) -> str:
    """Return how players fare where tiles are placed at random and where an opponent does it."""
    lines: list[Line] = []
    for row in committed.rows("adversary"):
        line = (
            *(row["env"], row["label"], minutes(row["minutes"]), PLACERS[row["placer"]]),
            *(number(row["episodes"]), mean(row), f"{_won(row):.1%}"),
        )
        lines.append(marked(line, row))
    head = (
        *("environment", "training", "minutes", "tiles placed"),
        *("games", "mean (95 % interval)", "won"),
    )
    return table(head, lines)


def _won(row: Row) -> float:
    return reached(row).get(goal_of(row["env"]), 0.0)
