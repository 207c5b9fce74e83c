"""Tables of speed: environments, start-up, n-tuple networks, Stable-Baselines3."""

from __future__ import annotations

from benchmarks.speed.environments import GAMES
from benchmarks.tables.committed import Committed, Row
from benchmarks.tables.markdown import Line, marked, number, table, times

STEPS = "steps per second"


def environments(committed: Committed) -> str:
    """Return our speeds, and beside them those of other packages of the same run."""
    rows = [row for row in committed.rows("speed") if row["measure"] == STEPS]
    best = {
        (row["game"], row["kind"]): row
        for row in sorted(rows, key=lambda row: float(row["value"]))
        if row["package"] == "tile-envs"
    }
    lines: list[Line] = []
    for row in sorted(rows, key=_order):
        ours = best[row["game"], row["kind"]]
        is_ours = row["package"] == "tile-envs"
        if is_ours and row is not ours and row["num_envs"] != "64":
            continue
        package = "**tile-envs**" if is_ours else f"{row['package']} {row['package_version']}"
        ratio = "" if is_ours else times(float(ours["value"]) / float(row["value"]))
        line = (row["game"], package, number(row["num_envs"]), number(row["value"]), ratio)
        lines.append(marked(line, row, ours))
    return table(("game", "package", "games at once", "steps / s", "ours is"), lines)


def _order(row: Row) -> tuple[int, bool, bool, float]:
    """Return what sorts by game: many games before one, ours before others, the fastest first."""
    is_other = row["package"] != "tile-envs"
    size = -float(row["value"]) if is_other else float(row["num_envs"])
    return list(GAMES).index(row["game"]), row["num_envs"] == "1", is_other, size


def machine(committed: Committed) -> str:
    """Return what the speeds were measured on."""
    row = committed.rows("speed")[0]
    return f"Measured with {row['machine']}; the median of {row['turns']} turns."


def start_up(committed: Committed) -> str:
    """Return what the first use costs."""
    rows = [row for row in committed.rows("speed") if row["measure"] != STEPS]
    lines = [marked((row["measure"], f"{float(row['value']):.3g}"), row) for row in rows]
    return table(("measure", "value"), lines)


def ntuple(committed: Committed) -> str:
    """Return how fast n-tuple networks are, beside TDL2048+."""
    rows = committed.rows("kernels")
    lines = []
    for measure in dict.fromkeys(row["measure"] for row in rows):
        found = {row["package"]: row for row in rows if row["measure"] == measure}
        ours, peer = float(found["tile-envs"]["value"]), found.get("TDL2048+")
        line = (
            measure,
            number(ours) if ours > 100 else f"{ours:.2f} ×",
            number(peer["value"]) if peer else "",
            times(ours / float(peer["value"])) if peer else "",
        )
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
        ours = float(found["tile-envs", "SB3VecEnv"]["value"])
        others = (found["tile-envs", "DummyVecEnv"], found.get(("gymnasium-2048", "DummyVecEnv")))
        beside = [
            f"{number(row['value'])} ({times(ours / float(row['value']))})" if row else ""
            for row in others
        ]
        line = (game, number(ours), *beside, f"{float(share['value']):.2%}")
        lines.append(marked(line, share, *found.values()))
    head = ("`DummyVecEnv` of ours", "of gymnasium-2048", "share of training")
    return table(("game", "`SB3VecEnv`, steps / s", *head), lines)
