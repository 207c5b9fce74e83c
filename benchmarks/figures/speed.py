"""The picture of the environments' speed."""

from baselines.viewing.curves import COLORS
from benchmarks.figures.drawing import label_ends, panels, svg, write_numbers
from benchmarks.results import Row
from benchmarks.rows import Committed
from benchmarks.speed.environments import GAMES
from benchmarks.speed.turns import OURS, STEPS_PER_SECOND

YELLOW = COLORS[7]
"""It cannot be read on white."""


def by_size(committed: Committed) -> bytes:
    """Draw steps per second against the number of games at once, a panel for each game."""
    best: dict[str, dict[str, dict[int, float]]] = {game: {} for game in GAMES}
    for row in committed.rows("speed"):
        if row["measure"] == STEPS_PER_SECOND and row["game"] in GAMES:
            speeds, n = best[row["game"]].setdefault(_name(row), {}), int(row["num_envs"])
            speeds[n] = max(float(row["value"]), speeds.get(n, 0))
    names = dict.fromkeys(name for of_game in best.values() for name in of_game)
    shown = [color for color in COLORS if color != YELLOW]
    colors = dict(zip(sorted(names, key=lambda n: (OURS not in n, n)), shown * 2, strict=False))
    lines = {game: {name: sorted(of[name].items()) for name in of} for game, of in best.items()}
    with panels(lines, 4.4, 4.4) as (figure, axes):
        for axis, of_game in zip(axes, lines.values(), strict=True):
            for name, points in of_game.items():
                look = {"color": colors[name], "marker": "o", "markersize": 3, "label": name}
                axis.loglog(*zip(*points, strict=True), **look)
            axis.set(xlabel="games at once", ylabel="steps per second of CPU time")
            write_numbers(axis.xaxis, axis.yaxis)
            label_ends(axis, [(name, *of_game[name][-1], colors[name]) for name in of_game])
    return svg(figure, lines)


def _name(row: Row) -> str:
    if row["package"] != OURS:
        return str(row["package"])
    return f"{OURS}, {'one game' if row['kind'] == 'single' else row['kind']}"
