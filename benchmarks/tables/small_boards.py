"""Tables of small boards: their solutions, and the share of the optimum that agents reach."""

from __future__ import annotations

import json

from baselines.task import Task
from benchmarks.published import Figure, figures
from benchmarks.tables.committed import Committed, Row
from benchmarks.tables.markdown import Line, marked, number, table


def solved(committed: Committed) -> str:
    """Return the numbers of boards and the value of optimal play, beside published ones."""
    published = {(figure["game"], figure["shape"]): figure for figure in figures("solved")}
    lines = []
    for row in committed.rows("solved"):
        figure = published.get((row["game"], row["shape"]))
        line = (
            *(f"{row['game']}, {row['shape']}", number(row["states"]), number(row["afterstates"])),
            *(number(row["states_merged"]), number(row["afterstates_merged"])),
            *(f"{float(row['value']):,.6f}", f"{float(row['seconds']):.3g}"),
            *(_mebibytes(float(row["bytes"])), _cited(figure) if figure else ""),
        )
        lines.append(marked(line, row))
    head = (
        *("game", "states", "afterstates", "states up to symmetry", "afterstates"),
        *("expected score", "seconds", "MiB", "published (up to symmetry)"),
    )
    return table(head, lines)


def _mebibytes(size: float) -> str:
    size /= 2**20
    return f"{size:,.0f}" if size >= 10 else f"{size:.1g}"


def _cited(figure: Figure) -> str:
    columns = ("states_merged", "afterstates_merged", "value")
    return f"{', '.join(number(figure[column]) for column in columns)} ({figure['source']})"


def exact(committed: Committed) -> str:
    """Return the share of the optimal expected score of each agent on each board."""
    rows = committed.rows("exact")
    boards = list(dict.fromkeys(board_of(row) for row in rows))
    by_agent: dict[str, dict[str, list[Row]]] = {}
    for row in rows:
        by_agent.setdefault(row["label"], {}).setdefault(board_of(row), []).append(row)
    optimum = {board_of(row): float(row["mean"]) / float(row["share"]) for row in rows}
    scores = {board_of(row): float(row["mean"]) for row in rows if row["label"] == "random"}
    lines: list[Line] = [
        ("expected score of optimal play", *(f"{optimum[board]:,.3f}" for board in boards)),
        ("expected score of random play", *(f"{scores[board]:,.3f}" for board in boards)),
    ]
    for label, found in by_agent.items():
        cells = (_shares(found.get(board, [])) for board in boards)
        lines.append(marked((label, *cells), *(row for each in found.values() for row in each)))
    return table(("agent", *boards), lines)


def board_of(row: Row) -> str:
    """Return the game of a row, with the shape of its board."""
    game = Task.of(row["env"], json.loads(row["env_kwargs"])).game
    return str(game)


def _shares(rows: list[Row]) -> str:
    """Return the share of one seed, or the range over several, and the time of training."""
    if not rows:
        return ""
    shares = sorted(float(row["share"]) for row in rows)
    text = f"{shares[0]:.2%}"
    if len(shares) > 1:
        text += f" to {shares[-1]:.2%} ({len(shares)} seeds)"
    seconds = max(float(row["seconds"] or 0) for row in rows)
    return f"{text}, {seconds / 60:.1f} min" if seconds else text
