"""Tables of speed: environments, start-up, n-tuple networks, Stable-Baselines3."""

from __future__ import annotations

from benchmarks.speed.environments import GAMES
from benchmarks.tables.committed import Committed, Row
from benchmarks.tables.markdown import Line, marked, millions, number, ranged, table, times

STEPS = "steps per second"
OURS = "tile-envs"
FASTEST = ("single", "numba")
"""The fastest kinds of ours: of one game, and of many."""


def by_size(committed: Committed) -> str:
    """Return the speeds by the number of games at once, ours with each engine."""
    found: dict[tuple[str, str], dict[int, Row]] = {}
    for row in _steps(committed):
        found.setdefault((row["game"], named(row)), {})[int(row["num_envs"])] = row
    sizes = sorted({size for rows in found.values() for size in rows if size > 1})
    lines = []
    for (game, name), rows in sorted(found.items(), key=lambda item: _by_game(item[0])):
        if any(size > 1 for size in rows):
            speeds = [millions(rows[size]["value"]) if size in rows else "" for size in sizes]
            lines.append(marked((game, name, *speeds), *rows.values()))
    return table(("game", "games at once", *(number(size) for size in sizes)), lines)


def named(row: Row) -> str:
    """Return the name of what was measured: a package, and of ours the engine."""
    package, kind = row["package"], row["kind"]
    return f"**{package}**, {kind}" if package == OURS else str(package)


def environments(committed: Committed) -> str:
    """Return the speeds of other packages, and beside them our fastest.

    Ratios are to ours of the same run only: at as many games at once, and our best to their best.
    """
    rows = [row for row in _steps(committed) if row["package"] != OURS or row["kind"] in FASTEST]
    ours = {(row["game"], row["num_envs"]): row for row in rows if row["package"] == OURS}
    best = {
        (row["game"], row["package"]): row
        for row in sorted(rows, key=lambda row: float(row["value"]))
    }
    lines: list[Line] = []
    for row in sorted(rows, key=_order):
        game, size, package = row["game"], row["num_envs"], row["package"]
        is_best = row is best[game, package]
        if package == OURS:
            if is_best or size == "1":
                lines.append(marked((game, f"**{OURS}**", *_speed(row), "", ""), row))
        elif is_best or size == "1":
            beside = _ratio(ours.get((game, size)), row)
            of_best = _ratio(best[game, OURS], row) if is_best else ""
            name = f"{package} {row['package_version']}"
            lines.append(marked((game, name, *_speed(row), beside, of_best), row))
    head = ("game", "package", "games at once", "steps / s (lowest to highest turn)")
    return table((*head, "ours at as many", "our best to theirs"), lines)


def _steps(committed: Committed) -> list[Row]:
    return [row for row in committed.rows("speed") if row["measure"] == STEPS]


def _by_game(item: tuple[str, str]) -> tuple[int, bool, str]:
    game, name = item
    return list(GAMES).index(game), OURS not in name, name


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
        (share,) = (row for row in rows if row["game"] == game and row["measure"] != STEPS)
        of_game = [row for row in rows if row["game"] == game and row["measure"] == STEPS]
        for size in sorted({row["num_envs"] for row in of_game}, key=int):
            found = {
                (row["package"], row["kind"]): row for row in of_game if row["num_envs"] == size
            }
            fast, numpy = found[OURS, "SB3VecEnv, numba"], found[OURS, "SB3VecEnv, numpy"]
            others = (found[OURS, "DummyVecEnv"], found.get(("gymnasium-2048", "DummyVecEnv")))
            beside = [
                f"{number(row['value'])} ({_ratio(fast, row)})".replace(" ()", "") if row else ""
                for row in others
            ]
            line = (game, size, ranged(fast), number(numpy["value"]), *beside)
            line = (*line, f"{float(share['value']):.2%}")
            lines.append(marked(line, share, *found.values()))
    head = ("game", "games at once", "`SB3VecEnv`, steps / s", "with numpy")
    others_head = ("`DummyVecEnv` of ours", "of gymnasium-2048", "share of training")
    return table((*head, *others_head), lines)
