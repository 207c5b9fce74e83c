"""Tables of speed: environments, start-up, n-tuple networks, Stable-Baselines3."""

from __future__ import annotations

from benchmarks.speed.environments import GAMES
from benchmarks.tables.committed import Committed, Row
from benchmarks.tables.markdown import Line, marked, number, ranged, table, times

STEPS = "steps per second"
OURS = "tile-envs"
USUAL = ("1", "64")
"""The games at once that are always shown."""


def environments(committed: Committed) -> str:
    """Return our speeds, and beside them those of other packages.

    Ratios are to ours of the same run only: at as many games at once, and our best to their best.
    """
    rows = [row for row in committed.rows("speed") if row["measure"] == STEPS]
    ours = {(row["game"], row["num_envs"]): row for row in rows if row["package"] == OURS}
    theirs = {(row["game"], row["num_envs"]) for row in rows if row["package"] != OURS}
    best = {
        (row["game"], row["package"]): row
        for row in sorted(rows, key=lambda row: float(row["value"]))
    }
    lines: list[Line] = []
    for row in sorted(rows, key=_order):
        game, size = row["game"], row["num_envs"]
        is_best = row is best[game, row["package"]]
        if row["package"] == OURS:
            if is_best or (game, size) in theirs or size in USUAL:
                lines.append(marked((game, f"**{OURS}**", *_speed(row), "", ""), row))
            continue
        package = f"{row['package']} {row['package_version']}"
        beside = _ratio(ours.get((game, size)), row)
        of_best = _ratio(best[game, OURS], row) if is_best else ""
        lines.append(marked((game, package, *_speed(row), beside, of_best), row))
    head = ("game", "package", "games at once", "steps / s (lowest to highest turn)")
    return table((*head, "ours at as many", "our best to theirs"), lines)


def _speed(row: Row) -> tuple[str, str]:
    return number(row["num_envs"]), ranged(row)


def _ratio(ours: Row | None, theirs: Row | None) -> str:
    """Return how much faster ours is; nothing if the two were not measured in one run."""
    if ours is None or theirs is None or not ours.get("run") or ours["run"] != theirs.get("run"):
        return ""
    return times(float(ours["value"]) / float(theirs["value"]))


def _order(row: Row) -> tuple[int, bool, bool, float]:
    """Return what sorts by game: many games before one, ours before others, the fastest first."""
    is_other = row["package"] != OURS
    size = -float(row["value"]) if is_other else float(row["num_envs"])
    return list(GAMES).index(row["game"]), row["num_envs"] == "1", is_other, size


def machine(committed: Committed) -> str:
    """Return what the speeds were measured on."""
    row = committed.rows("speed")[0]
    return f"Measured with {row['machine']}; the median of {row['turns']} turns."


def placers(committed: Committed) -> str:
    """Return our speeds with each placer of new tiles."""
    lines = [
        marked((row["kind"], number(row["num_envs"]), ranged(row)), row)
        for row in committed.rows("placers")
    ]
    return table(
        ("tiles are placed by", "games at once", "steps / s (lowest to highest turn)"), lines
    )


def start_up(committed: Committed) -> str:
    """Return what the first use costs."""
    rows = [row for row in committed.rows("speed") if row["measure"] != STEPS]
    lines = [marked((row["measure"], ranged(row)), row) for row in rows]
    return table(("measure", "value (lowest to highest)"), lines)


def ntuple(committed: Committed) -> str:
    """Return how fast n-tuple networks are, beside TDL2048+."""
    rows = committed.rows("kernels")
    lines = []
    for measure in dict.fromkeys(row["measure"] for row in rows):
        found = {row["package"]: row for row in rows if row["measure"] == measure}
        ours, peer = found[OURS], found.get("TDL2048+")
        theirs = ranged(peer) if peer else ""
        if peer and peer.get("options"):
            theirs += f", `{peer['options']}`"
        line = (measure, ranged(ours), theirs, _ratio(ours, peer))
        lines.append(marked(line, *found.values()))
    return table(("measure", "ours", "TDL2048+", "ours is"), lines)


def sb3(committed: Committed) -> str:
    """Return how fast Stable-Baselines3 is given games, and what share of training that takes."""
    rows = committed.rows("bridge")
    lines = []
    for game in GAMES:
        found = {
            (row["package"], row["kind"]): row
            for row in rows
            if row["game"] == game and row["measure"] == STEPS
        }
        (share,) = (row for row in rows if row["game"] == game and row["measure"] != STEPS)
        ours = found[OURS, "SB3VecEnv"]
        others = (found[OURS, "DummyVecEnv"], found.get(("gymnasium-2048", "DummyVecEnv")))
        beside = [
            f"{number(row['value'])} ({_ratio(ours, row)})".replace(" ()", "") if row else ""
            for row in others
        ]
        line = (game, ranged(ours), *beside, f"{float(share['value']):.2%}")
        lines.append(marked(line, share, *found.values()))
    head = ("`DummyVecEnv` of ours", "of gymnasium-2048", "share of training")
    return table(("game", "`SB3VecEnv`, steps / s", *head), lines)
