"""Tables of strength in the sliding games, and the headline."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import product
from statistics import fmean
from typing import Any

from baselines.agents import Task
from baselines.ntuple.network import Network
from benchmarks.experiments import GAME_2048, GAME_2584
from benchmarks.kinds import OWN_VALUES
from benchmarks.published import best_published, published
from benchmarks.results import SEARCH, Row
from benchmarks.rows import (
    FEWEST,
    Committed,
    bounds,
    group,
    kind,
    looks_ahead,
    mark,
    mean_of,
    reached,
    search_name,
    seeds,
    settings_of,
    trained,
)
from benchmarks.tables.table import Columns, Table, number, number_of, table

KINDS = ("n-tuple network", "CNN", "pattern embeddings")
PUBLISHED = {(GAME_2048, True): "ntuple", (GAME_2584, True): "fibonacci"}
PUBLISHED |= {(GAME_2048, False): "deep"}
"""By game and whether an agent is an n-tuple network, the list of published results."""
SIZES = {4: "four", 5: "five", 6: "six", 7: "seven"}
PLACERS = {"random": "at random", "adversary": "by the adversary"}
PLACERS |= {OWN_VALUES: "against the player's own values"}


def game(rows: Sequence[Row]) -> str:
    """Return the game, with the probabilities of new tiles if they are unusual."""
    spawn = json.loads(rows[0]["env_kwargs"]).get("spawn", {})
    tiles = (f"{tile} in {p:.0%}" for tile, p in spawn.items())
    return ", ".join([Task.of(rows[0]["env"]).game.name, *tiles])


def _learner(rows: Sequence[Row]) -> str:
    """Return what learns, and how: "5 six-tuples, TC(0.5), restart 0.2"."""
    s, replays = settings_of(rows[0]), json.loads(rows[0]["record"]).get("replays")
    words: list[str] = []
    if rows[0]["agent"] == "ntuple":
        game: Any = Task.of(rows[0]["env"], json.loads(rows[0]["env_kwargs"])).game
        shape = Network.of(game, s.network, s.values, s.stages + s.late_stages)
        sizes = Counter(map(len, shape.tuples)).items()
        words += [f"{n} {SIZES.get(size, size)}-tuple{'s' * (n > 1)}" for size, n in sizes]
        words += [f"{s.values} values"] * bool(s.values)
        words += [f"{len(shape.stages) + 1} stages"] * bool(shape.stages)
        words += [f"{s.method.upper()}({s.trace_decay:g})"]
        words += [f"α {s.learning_rate:g}"] * (s.learning_rate != 1)
        words += [f"restart {s.restart:g}"] * bool(s.restart)
        words += [f"half for {s.half_games:,} games"] * bool(s.half_games)
        words += [f"averaged over the last {s.averaging:.0%}"] * bool(s.averaging)
    else:
        name = "PPO" if rows[0]["agent"] == "ppo" else f"{s.n_steps}-step DQN"
        words += [name, kind(rows[0]), f"width {s.width}"]
    words += [f"after {replays['episodes']} recorded games"] if replays else []
    return ", ".join(words)


def player(rows: Sequence[Row]) -> str:
    name = kind(rows[0])
    return name if rows[0]["agent"] == "ntuple" else f"{rows[0]['agent'].upper()}, {name}"


def with_half(
    rows: Sequence[Row], column: str = "mean", write: Callable[[float], str] = number
) -> str:
    """Return the mean with half of the width of its interval: "103,287 ± 9,131"."""
    low, high = bounds(rows, column)
    return f"{write(mean_of(rows, column))} ± {write((high - low) / 2)}"


def largest_tile(rows: Sequence[Row], fraction: float) -> tuple[int, list[float]]:
    """Return the largest tile that a fraction of the games reached; of each row, how many did."""
    fractions = [reached(row) for row in rows]
    shares = {tile: [of.get(tile, 0.0) for of in fractions] for of in fractions for tile in of}
    return max(item for item in shares.items() if fmean(item[1]) >= fraction)


def _top(rows: Sequence[Row]) -> str:
    """Return the largest tile that a tenth of the games reached; how many did, with the range."""
    tile, shares = largest_tile(rows, 0.1)
    over_seeds = f" ({min(shares):.1%} to {max(shares):.1%})" * bool(shares[1:])
    return f"{tile} in {fmean(shares):.1%}{over_seeds}"


MEAN: Columns = (
    ("mean", lambda rows: number(mean_of(rows))),
    ("95 % interval", lambda rows: " to ".join(map(number, bounds(rows)))),
)
SEARCHED: Columns = (("trained", trained), ("search", lambda rows: search_name(rows[0])))
"""What lines say of learners, each the rows of its seeds."""


def _by_seeds(rows: Iterable[Row]) -> list[list[Row]]:
    """Return the rows of learners in lists that differ by the training seed alone."""
    return group(rows, "env", "env_kwargs", "label", "minutes", *SEARCH, "placer")


def headline(committed: Committed) -> Table:
    """Return the best of each game and kind of player, alone and with search."""
    lines, rows = [], committed.rows("ntuple", "search", "deep")
    rows = [r for r in rows if r["env_kwargs"] == "{}" and int(r["episodes"]) >= FEWEST]
    for asked in product((GAME_2048, GAME_2584), KINDS, (False, True)):
        ours = [r for r in rows if (r["env"], kind(r), looks_ahead(r)) == asked]
        lines += [max(_by_seeds(ours), key=mean_of)] if ours else []
    columns: Columns = [
        ("game", game),
        ("player", player),
        *SEARCHED,
        ("mean ±", with_half),
        ("seeds", seeds),
        ("best published", _best_published),
    ]
    return table(columns, lines)


def _best_published(rows: Sequence[Row]) -> str:
    """Return the best published result of as many plies, or of the next more."""
    name = PUBLISHED.get((rows[0]["env"], rows[0]["agent"] == "ntuple"))
    is_timed = rows[0].get("milliseconds")
    theirs = best_published(name, int(rows[0]["depth"])) if name and not is_timed else None
    if theirs is None:
        return ""
    return f"{number(theirs['mean'])}, {theirs['depth']}-ply ({theirs['source']})"


def named(committed: Committed) -> Table:
    (theirs,) = (row for row in published("article") if row["learning"] == "random play")
    beside = f"{number(theirs['mean'])} ({theirs['source']})"
    columns: Columns = [
        ("game", game),
        ("agent", "agent"),
        ("test games", number_of("episodes")),
        *MEAN,
        ("tile", _top),
        ("published mean", lambda rows: beside * rows[0]["label"].endswith("article")),
    ]
    return table(columns, ([row] for row in committed.rows("agents") if row["reach"]))


def learners(committed: Committed, name: str) -> Table:
    """Return a line for each learner, budget and search; below, what the experiments are."""
    items = _by_seeds(committed.rows(name))
    columns: list[Any] = [("game", game), ("experiment", "label"), *SEARCHED]
    if items and items[0][0].get("placer"):
        columns.append(("tiles placed", lambda rows: PLACERS[rows[0]["placer"]]))
    about = dict.fromkeys(
        f"- {game(rows)}, *{rows[0]['label']}*{mark(rows)}: {_learner(rows)}" for rows in items
    )
    notes = ["\n".join(about)] if about else []
    return table([*columns, ("seeds", seeds), *MEAN, ("tile", _top)], items, notes)


def recipe(committed: Committed) -> Table:
    """Return what the learner of a beginner's article reaches, by the plies of its search."""
    columns: Columns = [
        ("search", lambda rows: search_name(rows[0])),
        ("seeds", lambda rows: str(len(rows))),
        ("training games", number_of("games_learned")),
        *MEAN,
        ("tile", _top),
    ]
    return table(columns, group(committed.rows("recipe"), "depth"))


def reproduction(committed: Committed) -> Table:
    theirs = {row["repeated"]: row for row in published("ntuple") if "repeated" in row}
    columns: Columns = [
        ("published by", lambda rows: str(rows[0]["theirs"]["source"])),
        ("network", lambda rows: rows[0]["theirs"]["learning"]),
        ("published mean", lambda rows: number(rows[0]["theirs"]["mean"])),
        *((f"our {heading}", cell) for heading, cell in MEAN),
        ("seeds", seeds),
        ("training games", number_of("games_learned")),
    ]
    rows = [row for row in committed.rows("reproduction") if row["label"] in theirs]
    notes = [f"- {each['learning']}: {each['differs']}." for each in theirs.values()]
    items = _by_seeds(row | {"theirs": theirs[row["label"]]} for row in rows)
    return table(columns, items, ["What differs:\n\n" + "\n".join(notes)])
