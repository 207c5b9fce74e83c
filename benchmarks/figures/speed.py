"""The picture of the environments' speed."""

from typing import Any

from matplotlib.axes import Axes

from baselines.viewing.curves import COLORS
from benchmarks.figures.drawing import picture, write_numbers
from benchmarks.results import Row
from benchmarks.rows import Committed
from benchmarks.speed.environments import GAMES
from benchmarks.speed.turns import OURS, STEPS_PER_SECOND


def by_size(committed: Committed) -> bytes:
    """Draw steps per second against the number of games at once, a panel for each game."""
    best: dict[str, dict[str, dict[int, float]]] = {game: {} for game in GAMES}
    for row in committed.rows("speed"):
        if row["measure"] == STEPS_PER_SECOND and row["game"] in GAMES:
            speeds, n = best[row["game"]].setdefault(_name(row), {}), int(row["num_envs"])
            speeds[n] = max(float(row["value"]), speeds.get(n, 0))
    names = dict.fromkeys(name for of_game in best.values() for name in of_game)
    # Without black and yellow, which cannot be read on dark and on white pages.
    shown = [*COLORS[:6], *COLORS[8:], "#8c564b", "#9467bd", "#7f9f3f"]
    colors = dict(zip(sorted(names, key=lambda n: (OURS not in n, n)), shown, strict=False))
    lines = {game: {name: sorted(of[name].items()) for name in of} for game, of in best.items()}

    def draw(axis: Axes, game: str, of_game: dict[str, Any]) -> None:
        for name, points in of_game.items():
            look = {"color": colors[name], "marker": "o", "markersize": 3, "label": name}
            axis.loglog(*zip(*points, strict=True), **look)
        axis.set(xlabel="games at once", ylabel="steps per second of CPU time")
        write_numbers(axis.xaxis, axis.yaxis)

    return picture(lines, 4.4, 4.4, draw)


def _name(row: Row) -> str:
    if row["package"] != OURS:
        return str(row["package"])
    return f"{OURS}, {'one game' if row['kind'] == 'single' else row['kind']}"
