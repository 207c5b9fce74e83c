"""Tables of speed, and of the libraries that train on the environments."""

import json
from collections.abc import Callable, Sequence

from benchmarks.results import Row
from benchmarks.rows import Committed, group
from benchmarks.speed.environments import GAMES, JAX, LARGE, SIZES
from benchmarks.speed.turns import OURS, STEPS_PER_SECOND, TDL2048
from benchmarks.tables.table import Columns, Table, measured_with, number, number_of, table

ORDER = [*GAMES, *LARGE]
UNITS = {"total_timesteps": "steps", "games": "games", "minutes": "min of CPU time"}
NOISY = 1.5  # the highest turn to the lowest, from which on a median is marked by ~


def _measured(row: Row) -> str:
    if not row:
        return ""
    value, low, high = (float(row.get(name) or row["value"]) for name in ("value", "low", "high"))
    unit, name = (1e9, " G") if value >= 1e9 else (1e6, " M") if value >= 1e6 else (1, "")
    large = f"{value / unit:,.3g}{name}" if unit > 1 else f"{value:,.0f}"
    return "~" * (high > NOISY * low) + (large if value >= 100 else f"{value:.3g}")


def _ratio(row: Row, other: Row) -> str:
    """Return how much faster one is; nothing if the two were not measured in one run."""
    if row is other or not row.get("run") or row["run"] != other.get("run"):
        return ""
    ratio = float(row["value"]) / float(other["value"])
    return f"{ratio:,.0f} ×" if ratio >= 10 else f"{ratio:.2g} ×"


def _side_by_side(
    rows: Sequence[Row],
    groups: Sequence[str],
    columns: Columns,
    heading: Callable[[Row], str],
    ratio: Callable[[Row, Row], str] = lambda first, row: "",
) -> Table:
    """Return groups of rows as lines: each row by its heading, with a ratio to the first."""

    def cell(of_line: Sequence[Row], head: str) -> str:
        row = next((row for row in of_line if heading(row) == head), {})
        factor = ratio(of_line[0], row)
        return _measured(row) + (f" ({factor})" if factor else "")

    sizes = sorted(rows, key=lambda row: int(row.get("num_envs") or 0))
    heads = dict.fromkeys(map(heading, sizes))
    cells = ((head, lambda of_line, head=head: cell(of_line, head)) for head in heads)
    return table([*columns, *cells], group(rows, *groups), measured_with(rows))


def _name(row: Row) -> str:
    """Return a package with its version, and which engine or environment of it plays."""
    version = row.get("package_version", "")
    name = f"**{row['package']}**" if OURS in row["package"] else f"{row['package']} {version}"
    return name if row.get("kind") in ("single", "vector", None) else f"{name}, {row['kind']}"


def _by_game(row: Row) -> tuple[int, bool]:
    """Return what sorts by game, ours before others."""
    return ORDER.index(row["game"]), OURS not in row["package"]


def by_size(committed: Committed) -> Table:
    rows = [row for row in committed.rows("speed") if int(row["num_envs"]) in SIZES[1:]]
    rows.sort(key=_by_game)
    columns: Columns = [("game", "game"), ("package", lambda rows: _name(rows[0]))]
    return _side_by_side(rows, ("game", "package", "kind"), columns, number_of("num_envs"))


def accelerator(committed: Committed) -> Table:
    rows = [row for row in committed.rows("accelerator") if not row.get("mean")]
    rows.sort(key=_by_game)
    columns: Columns = [
        ("device", "device"),
        ("game", "game"),
        ("package", lambda rows: _name(rows[0])),
        ("bytes a game", lambda rows: number(min(float(row["bytes"]) for row in rows))),
    ]
    return _side_by_side(rows, ("device", "game", "package"), columns, number_of("num_envs"))


def environments(committed: Committed) -> Table:
    """Return the speeds of other packages, and beside them our fastest."""
    rows = [row for row in committed.rows("speed") if row["kind"] not in ("numpy", JAX)]
    rows.sort(key=_order)
    ours = {(row["game"], row["num_envs"]): row for row in rows if row["package"] == OURS}
    groups = group(rows, "game", "package")
    best = [max(of_package, key=lambda row: float(row["value"])) for of_package in groups]
    fastest = {row["game"]: row for row in best if row["package"] == OURS}
    columns: Columns = [
        ("game", "game"),
        ("package", _name),
        ("games at once", number_of("num_envs")),
        ("steps / s", _measured),
        ("ours at as many", lambda row: _ratio(ours.get((row["game"], row["num_envs"]), {}), row)),
        ("our best to theirs", lambda row: _ratio(fastest[row["game"]], row) * (row in best)),
    ]
    shown = [row for row in rows if row["num_envs"] == "1" or row in best]
    return table(columns, shown, measured_with(shown))


def _order(row: Row) -> tuple[int, bool, bool, float]:
    """Return what sorts by game: many games before one, ours before others, the fastest first."""
    is_other = row["package"] != OURS
    size = -float(row["value"]) if is_other else float(row["num_envs"])
    return ORDER.index(row["game"]), row["num_envs"] == "1", is_other, size


def threads(committed: Committed) -> Table:
    """Return the speeds of 2048 by the number of threads, as multiples of those of one."""
    rows = sorted(committed.rows("threads"), key=lambda row: row["package"] != OURS)
    columns: Columns = [
        ("package", lambda rows: _name(rows[0])),
        ("games at once", number_of("num_envs")),
    ]
    groups, heading = ("package", "kind", "num_envs"), "threads: {threads}".format_map
    return _side_by_side(rows, groups, columns, heading, lambda one, several: _ratio(several, one))


def ntuple(committed: Committed) -> Table:
    rows = sorted(committed.rows("kernels"), key=lambda row: row["package"] == TDL2048)
    heading = "{package}".format_map
    return _side_by_side(rows, ("measure",), [("measure", "measure")], heading, _ratio)


def sb3(committed: Committed) -> Table:
    """Return how fast Stable-Baselines3 is given games, and what share of training that takes."""
    rows = committed.rows("bridge")
    shares = {row["game"]: row for row in rows if row["measure"] != STEPS_PER_SECOND}
    speeds = [row for row in rows if row["measure"] == STEPS_PER_SECOND]
    order = ("SB3VecEnv, numba", "SB3VecEnv, numpy", "DummyVecEnv")
    speeds.sort(key=lambda row: (int(row["num_envs"]), order.index(row["kind"])))
    speeds.sort(key=_by_game)
    columns: Columns = [
        ("game", "game"),
        ("games at once", "num_envs"),
        ("share of training", lambda rows: f"{float(shares[rows[0]['game']]['value']):.2%}"),
    ]
    heading = "{kind}, {package}".format_map
    return _side_by_side(speeds, ("game", "num_envs"), columns, heading, _ratio)


def libraries(committed: Committed) -> Table:
    def budget(row: Row) -> str:
        arguments = json.loads(row["record"])["arguments"].items()
        return "".join(f"{n:,} {UNITS[name]}" for name, n in arguments if name in UNITS)

    def result(row: Row, column: str) -> str:
        value = float(row[column])  # of tic-tac-toe between -1 and 1
        return f"{value:.3f}" if row["env"] == "TicTacToe-v0" else number(value)

    columns: Columns = [
        ("library", "{library} {library_version}".format_map),
        ("program", "`{program}.py`".format_map),
        ("algorithm", "algorithm"),
        ("environment", "`{env}`".format_map),
        ("budget", budget),
        ("mean", lambda row: result(row, "mean")),
        ("95 % interval", lambda row: f"{result(row, 'low')} to {result(row, 'high')}"),
        ("random play", lambda row: result(row, "random")),
    ]
    return table(columns, committed.rows("plug"))
