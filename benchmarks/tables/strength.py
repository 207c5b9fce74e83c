"""Tables of strength in the sliding games, and the headline."""

import json
from collections.abc import Callable, Sequence
from itertools import product
from statistics import fmean, median
from typing import Any

from baselines.agents import Task
from benchmarks.experiments import GAME_2048, GAME_2584
from benchmarks.kinds import OWN_VALUES
from benchmarks.results import Row
from benchmarks.rows import (
    FEWEST,
    Committed,
    best_published,
    by_seeds,
    cores,
    kind,
    learned,
    looks_ahead,
    minutes,
    published,
    reached,
    search_name,
    seeds,
)
from benchmarks.tables.table import Columns, Table, number, number_of, percent, table
from tile_envs.words import counted

KINDS = ("n-tuple network", "CNN", "looked-up patterns")
PUBLISHED = {
    (GAME_2048, True): "ntuple",
    (GAME_2048, False): "deep",
    (GAME_2584, True): "fibonacci",
}
"""By game and whether an agent is an n-tuple network, the list of published results."""
PLACERS = {
    "random": "at random",
    "adversary": "by the adversary",
    OWN_VALUES: "against the player's own values",
}


def _game(rows: Sequence[Row]) -> str:
    """Return the game, with the probabilities of new tiles if they are unusual, or the side."""
    options = json.loads(rows[0]["env_kwargs"])
    tiles = (f"{tile} in {p:.0%}" for tile, p in options.get("spawn", {}).items())
    side = [options["side"]] if "side" in options else []
    return ", ".join([Task.of(rows[0]["env"]).game.name, *tiles, *side])


def _trained(rows: Sequence[Row]) -> str:
    budget = [f"{minutes(rows[0]['minutes'])} min"] if rows[0]["minutes"] else []
    return ", ".join([*budget, counted(int(rows[0]["threads"]), "core")])


def _average(column: str, unit: float = 1.0, suffix: str = "") -> Callable[[Sequence[Row]], str]:
    """Return what writes the mean of a column over seeds; nothing if rows lack it."""

    def average(rows: Sequence[Row]) -> str:
        values = [float(row[column]) / unit for row in rows if row.get(column)]
        return f"{fmean(values):,.0f}{suffix}" if values else ""

    return average


def _mean(rows: Sequence[Row]) -> float:
    return fmean(float(row["mean"]) for row in rows)


def _interval(rows: Sequence[Row]) -> str:
    """Return the interval over the games of one seed; nothing of several."""
    return "" if rows[1:] else _range([float(rows[0]["low"]), float(rows[0]["high"])], number)


def _range(values: Sequence[float], write: Callable[[float], str]) -> str:
    """Return the lowest and the highest of several values; nothing of one."""
    return f"{write(min(values))} to {write(max(values))}" if values[1:] else ""


def _spread(values: Sequence[float]) -> str:
    """Return a fraction: the mean over seeds, and their range."""
    spread = _range(values, percent)
    return f"{percent(fmean(values))} ({spread})" if spread else percent(values[0])


def _won(rows: Sequence[Row]) -> str:
    game: Any = Task.of(rows[0]["env"]).game
    return _spread([reached(row).get(game.rules.goal, 0.0) for row in rows])


def _top(rows: Sequence[Row]) -> str:
    """Return the largest tile that a tenth of the games reached, and how many did."""
    fractions = [reached(row) for row in rows]
    shares = {tile: [of.get(tile, 0.0) for of in fractions] for of in fractions for tile in of}
    tile = max(tile for tile, values in shares.items() if fmean(values) >= 0.1)
    return f"{tile} in {_spread(shares[tile])}"


MEAN: Columns = (
    ("mean", lambda rows: number(_mean(rows))),
    ("95 % interval", _interval),
    ("range over seeds", lambda rows: _range([float(row["mean"]) for row in rows], number)),
)
LEARNED: Columns = (
    ("game", _game),
    ("network", lambda rows: rows[0].get("network") or rows[0]["label"]),
    ("algorithm", "algorithm"),
    ("trained", _trained),
    ("training games", _average("games_learned")),
    ("training moves", _average("moves_learned", 1e6, " M")),
    ("search", lambda rows: search_name(rows[0])),
    ("seeds", seeds),
    *MEAN,
)
"""What a line says of a learner: the rows of its seeds."""


def headline(committed: Committed) -> Table:
    """Return the best of each game and kind of agent, alone and with search."""
    lines = []
    rows = [
        row
        for row in learned(committed, "ntuple", "search", "deep")
        if row["env_kwargs"] == "{}" and int(row["episodes"]) >= FEWEST
    ]
    for asked in product((GAME_2048, GAME_2584), KINDS, (False, True)):
        ours = [r for r in rows if (r["env"], kind(r), looks_ahead(r)) == asked]
        lines += [max(by_seeds(ours), key=_mean)] if ours else []
    return table([*LEARNED, ("best published, at least as deep", _best_published)], lines)


def _best_published(rows: Sequence[Row]) -> str:
    """Return the best published result of as many plies, or of the next more."""
    name = PUBLISHED.get((rows[0]["env"], rows[0]["agent"] == "ntuple"))
    is_timed = rows[0].get("milliseconds")
    theirs = best_published(name, int(rows[0]["depth"])) if name and not is_timed else None
    if theirs is None:
        return ""
    how = ", ".join(theirs[key] for key in ("learning", "budget") if key in theirs)
    return f"{number(theirs['mean'])}, {theirs['depth']}-ply ({how}; {theirs['source']})"


def named(committed: Committed) -> Table:
    """Return what agents reach that are not trained."""
    (theirs,) = (row for row in published("article") if row["learning"] == "random play")
    beside = f"{number(theirs['mean'])} ({theirs['source']})"
    columns: Columns = [
        ("game", _game),
        ("agent", "agent"),
        ("test games", number_of("episodes")),
        *MEAN[:2],
        ("won", _won),
        ("tile", _top),
        ("published mean", lambda rows: beside * (rows[0]["preset"] == "article")),
    ]
    return table(columns, ([row] for row in committed.rows("agents") if row["reach"]))


def learners(committed: Committed, name: str) -> Table:
    """Return what learners reach, by their budget and search."""
    items = by_seeds(learned(committed, name))
    placed: Columns = [("tiles placed", lambda rows: PLACERS[rows[0]["placer"]])]
    columns: Columns = [
        *LEARNED,
        *(placed if items and items[0][0].get("placer") else ()),
        ("test games", lambda rows: number(rows[0]["episodes"])),
        ("won", _won),
        ("tile", _top),
        (
            "moves / s and core",
            lambda rows: number(median(float(r["moves_per_second"]) / cores(r) for r in rows)),
        ),
        ("experiment", "label"),
    ]
    return table(columns, items)


def reproduction(committed: Committed) -> Table:
    """Return published experiments that are repeated, beside ours."""
    theirs = {row["repeated"]: row for row in published("ntuple") if "repeated" in row}
    columns: Columns = [
        ("published experiment", lambda rows: "{source}: {learning}".format_map(rows[0]["theirs"])),
        ("published mean", lambda rows: number(rows[0]["theirs"]["mean"])),
        *((f"our {heading}", cell) for heading, cell in MEAN),
        ("seeds", seeds),
        ("training games", _average("games_learned")),
        ("training moves", _average("moves_learned", 1e6, " M")),
        ("what differs", lambda rows: rows[0]["theirs"].get("differs", "")),
    ]
    rows = [row for row in learned(committed, "reproduction") if row["label"] in theirs]
    return table(columns, by_seeds(row | {"theirs": theirs[row["label"]]} for row in rows))
