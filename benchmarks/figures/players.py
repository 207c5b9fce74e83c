"""The players that pictures compare: the best row of each kind, from weak to strong."""

from __future__ import annotations

from benchmarks.results import Row
from benchmarks.rows import MARK, Committed, minutes

LEARNERS = {"deep": "deep network", "ntuple": "n-tuple network"}
"""The tables of learners, with what their agents are called."""
KINDS = (
    *("random", "greedy", "deep network, 1-ply", "deep network, 2-ply"),
    *(f"n-tuple network, {depth}-ply" for depth in (1, 2, 3)),
)
"""The players that have a colour of their own."""
GAMES = {"Tiles2048-v0": "2048", "Tiles2584-v0": "2584"}
"""The sliding games by their environments."""


def players(committed: Committed, env: str) -> dict[str, Row]:
    """Return the named agents, and the best learner of each table and search depth.

    Args:
        committed: The rows.
        env: The environment, with its usual options.

    Returns:
        The rows by the players' names, the lowest mean first.
    """
    found: dict[str, Row] = {}
    for name in ("agents", *LEARNERS):
        for row in committed.rows(name):
            if (row["env"], row["env_kwargs"]) == (env, "{}"):
                label = player(name, row)
                if label not in found or float(row["mean"]) > float(found[label]["mean"]):
                    found[label] = row
    ordered = sorted(found.items(), key=lambda item: float(item[1]["mean"]))
    return {label + (MARK if row["is_stale"] else ""): row for label, row in ordered}


def colour_of(label: str) -> str:
    """Return the colour of a player, the same in all pictures."""
    place = (place for place, kind in enumerate(KINDS) if label.startswith(kind))
    return f"C{next(place, len(KINDS))}"


def player(table: str, row: Row) -> str:
    """Return what a row's player is called, without its training."""
    return f"{LEARNERS[table]}, {row['depth']}-ply" if table in LEARNERS else str(row["agent"])


def training(row: Row) -> str:
    """Return how a row's agent was trained: the label, and the minutes if they are the budget."""
    return f"{row['label']}, {minutes(row['minutes'])} min" if row["minutes"] else row["label"]
