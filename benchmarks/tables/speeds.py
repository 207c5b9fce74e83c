"""Tables of speed, and of the libraries that train on the environments."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.results import Row
from benchmarks.rows import Committed, group
from benchmarks.speed.environments import GAMES, LARGE
from benchmarks.speed.turns import OURS, STEPS_PER_SECOND, TDL2048
from benchmarks.tables.table import Columns, Table, number, number_of, table

ORDER = [*GAMES, *LARGE]


def _measured(row: Row) -> str:
    """Return a speed or another measure, with the range of its turns; nothing of an empty row."""
    if not row:
        return ""
    values = (float(row[name]) for name in ("value", "low", "high"))
    value, low, high = (f"{v:,.0f}" if v >= 100 else f"{v:.3g}" for v in values)
    return f"{value} ({low} to {high})"


def environments(committed: Committed) -> Table:
    """Return the speeds of other packages, and beside them our fastest."""
    rows = [row for row in _steps(committed) if row["package"] != OURS or row["kind"] != "numpy"]
    rows.sort(key=_order)
    ours = {(row["game"], row["num_envs"]): row for row in rows if row["package"] == OURS}
    groups = group(rows, "game", "package")
    best = [max(of_package, key=lambda row: float(row["value"])) for of_package in groups]
    fastest = {row["game"]: row for row in best if row["package"] == OURS}
    columns: Columns = [
        ("game", "game"),
        ("package", _name),
        ("games at once", number_of("num_envs")),
        ("steps / s (lowest to highest turn)", _measured),
        ("ours at as many", lambda row: _ratio(ours.get((row["game"], row["num_envs"]), {}), row)),
        ("our best to theirs", lambda row: _ratio(fastest[row["game"]], row) * (row in best)),
    ]
    return table(columns, [row for row in rows if row["num_envs"] == "1" or row in best])


def _name(row: Row) -> str:
    """Return a package with its version, and which engine or environment of it plays."""
    name = f"**{OURS}**" if row["package"] == OURS else f"{row['package']} {row['package_version']}"
    return name if row["kind"] in ("single", "vector") else f"{name}, {row['kind']}"


def _steps(committed: Committed) -> list[Row]:
    return [row for row in committed.rows("speed") if row["measure"] == STEPS_PER_SECOND]


def _order(row: Row) -> tuple[int, bool, bool, float]:
    """Return what sorts by game: many games before one, ours before others, the fastest first."""
    is_other = row["package"] != OURS
    size = -float(row["value"]) if is_other else float(row["num_envs"])
    return ORDER.index(row["game"]), row["num_envs"] == "1", is_other, size


def _ratio(ours: Row, theirs: Row) -> str:
    """Return how much faster ours is; nothing if the two were not measured in one run."""
    if ours is theirs or not ours.get("run") or ours["run"] != theirs.get("run"):
        return ""
    ratio = float(ours["value"]) / float(theirs["value"])
    return f"{ratio:,.0f} ×" if ratio >= 10 else f"{ratio:.2g} ×"


def _find(rows: Sequence[Row], **columns: str) -> Row:
    """Return the first row with these values in its columns; an empty one if there is none."""
    return next((row for row in rows if columns.items() <= row.items()), {})


def by_size(committed: Committed) -> Table:
    """Return the speeds by the number of games at once, ours with each engine."""
    rows = [row for row in _steps(committed) if row["num_envs"] != "1"]
    rows.sort(key=lambda row: (ORDER.index(row["game"]), row["package"] != OURS))
    sizes = sorted({row["num_envs"] for row in rows}, key=int)

    def speed(rows: Sequence[Row], size: str) -> str:
        values = (float(row["value"]) / 1e6 for row in rows if row["num_envs"] == size)
        return "".join(f"{value:.3g} M" for value in values)

    columns: Columns = [
        ("game", "game"),
        ("games at once", lambda rows: _name(rows[0])),
        *((number(size), lambda rows, size=size: speed(rows, size)) for size in sizes),
    ]
    return table(columns, group(rows, "game", "package", "kind"))


def threads(committed: Committed) -> Table:
    """Return the speeds of 2048 by the number of threads, as multiples of those of one."""
    rows = sorted(committed.rows("threads"), key=lambda row: row["package"] != OURS)
    counts = sorted({row["threads"] for row in rows}, key=int)

    def speed(rows: Sequence[Row], count: str) -> str:
        row = _find(rows, threads=count)
        return f"{_measured(row)} {_ratio(row, _find(rows, threads='1'))}".strip()

    columns: Columns = [
        ("package", lambda rows: _name(rows[0])),
        ("games at once", lambda rows: number(rows[0]["num_envs"])),
        *((f"threads: {n}", lambda rows, n=n: speed(rows, n)) for n in counts),
        ("measured with", "machine"),
    ]
    return table(columns, group(rows, "package", "kind", "num_envs"))


def machine(committed: Committed) -> str:
    """Return what the speeds were measured on."""
    row = committed.rows("speed")[0]
    return f"Measured with {row['machine']}; the median of {row['turns']} turns."


def start_up(committed: Committed) -> Table:
    """Return what the first use costs."""
    rows = [row for row in committed.rows("speed") if row["measure"] != STEPS_PER_SECOND]
    return table([("measure", "measure"), ("value (lowest to highest)", _measured)], rows)


def ntuple(committed: Committed) -> Table:
    """Return how fast n-tuple networks are, beside TDL2048+."""

    def speed(rows: Sequence[Row], package: str) -> str:
        row = _find(rows, package=package)
        return _measured(row) + (f", `{row['options']}`" if row.get("options") else "")

    def ratio(rows: Sequence[Row]) -> str:
        return _ratio(_find(rows, package=OURS), _find(rows, package=TDL2048))

    columns: Columns = [
        ("measure", "measure"),
        ("ours", lambda rows: speed(rows, OURS)),
        (TDL2048, lambda rows: speed(rows, TDL2048)),
        ("ours is", ratio),
    ]
    return table(columns, group(committed.rows("kernels"), "measure"))


def sb3(committed: Committed) -> Table:
    """Return how fast Stable-Baselines3 is given games, and what share of training that takes."""
    rows = committed.rows("bridge")
    shares = {row["game"]: row for row in rows if row["measure"] != STEPS_PER_SECOND}
    speeds = [row for row in rows if row["measure"] == STEPS_PER_SECOND]
    speeds.sort(key=lambda row: (list(GAMES).index(row["game"]), int(row["num_envs"])))

    def ours(rows: Sequence[Row], engine: str) -> Row:
        return _find(rows, kind=f"SB3VecEnv, {engine}")

    def beside(rows: Sequence[Row], package: str) -> str:
        row = _find(rows, kind="DummyVecEnv", package=package)
        ratio = _ratio(ours(rows, "numba"), row)
        return number(row.get("value")) + (f" ({ratio})" if ratio else "")

    columns: Columns = [
        ("game", "game"),
        ("games at once", "num_envs"),
        ("`SB3VecEnv`, steps / s", lambda rows: _measured(ours(rows, "numba"))),
        ("with numpy", lambda rows: number(ours(rows, "numpy").get("value"))),
        ("`DummyVecEnv` of ours", lambda rows: beside(rows, OURS)),
        ("of gymnasium-2048", lambda rows: beside(rows, "gymnasium-2048")),
        ("share of training", lambda rows: f"{float(rows[-1]['value']):.2%}"),
    ]
    items = group(speeds, "game", "num_envs")
    return table(columns, [[*rows, shares[rows[0]["game"]]] for rows in items])


def clients(committed: Committed) -> Table:
    """Return what each library's client has learned, beside random play."""

    def result(row: Row, column: str) -> str:
        value = float(row[column])  # of tic-tac-toe between -1 and 1
        return f"{value:.3f}" if row["env"] == "TicTacToe-v0" else number(value)

    def mean(row: Row) -> str:
        return f"{result(row, 'mean')} ({result(row, 'low')} to {result(row, 'high')})"

    columns: Columns = [
        ("library", "measure"),
        ("version", "library_version"),
        ("algorithm", "algorithm"),
        ("environment", lambda row: f"`{row['env']}`"),
        ("games", lambda row: ", ".join(filter(None, (row["games"], row["autoreset"])))),
        ("steps", number_of("steps")),
        ("minutes", lambda row: f"{float(row['minutes']):.1f}"),
        ("mean", mean),
        ("random play", lambda row: result(row, "random")),
        ("illegal actions: training, play", "{illegal_training}, {illegal_play}".format_map),
    ]
    return table(columns, committed.rows("plug"))
