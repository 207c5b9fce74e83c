"""The picture of the distribution of scores."""

from __future__ import annotations

import json

from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from baselines.evaluation.sampled import QUANTILES
from baselines.viewing.figures import styled, svg
from benchmarks.figures.numbers import short, write_numbers
from benchmarks.figures.players import GAMES, LEARNERS, colour_of, player, training
from benchmarks.results import Row
from benchmarks.rows import MARK, Committed


def distributions(committed: Committed) -> bytes:
    """Draw the share of games that reach a score, against the score.

    Rows made before quantiles were kept are left out.
    """
    lines = {name: _lines(committed, env) for env, name in GAMES.items()}
    with styled():
        figure = Figure(figsize=(4.9 * len(lines), 4.0), layout="constrained")
        axes = figure.subplots(1, len(lines), sharey=True, squeeze=False)[0]
        for axis, (game, of_game) in zip(axes, lines.items(), strict=True):
            for label, scores in of_game.items():
                axis.semilogx(
                    [max(1.0, score) for score in scores],
                    [1 - share for share in QUANTILES],
                    label=label,
                    color=colour_of(label),
                )
            axis.set(title=game, xlabel="score")
            write_numbers(axis.xaxis, short, ticks=(1,))
            axis.yaxis.set_major_formatter(PercentFormatter(1.0))
            axis.legend(fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.18), ncols=1)
        axes[0].set_ylabel("games with at least this score")
    return svg(figure, lines)


def _lines(committed: Committed, env: str) -> dict[str, list[float]]:
    """Return the scores at `QUANTILES` of each player, the lowest mean first."""
    rows: dict[str, Row] = {}
    for table in ("agents", *LEARNERS):
        for row in committed.rows(table):
            if (row["env"], row["env_kwargs"]) == (env, "{}") and row.get("quantiles"):
                label = player(table, row)
                if table in LEARNERS:
                    label += f", trained with {training(row)}"
                rows.setdefault(label + (MARK if row["is_stale"] else ""), row)
    ordered = sorted(rows, key=lambda label: float(rows[label]["mean"]))
    return {label: json.loads(rows[label]["quantiles"]) for label in ordered}
