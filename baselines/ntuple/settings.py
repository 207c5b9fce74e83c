"""The settings of n-tuple networks; the defaults are TD(0) as published in 2014."""

from __future__ import annotations

import math
from dataclasses import dataclass

from baselines.checks import check, check_least, check_positive, check_shares

SHORTEST_RESTART = 10
"""Games of at most this many moves are not restarted."""


@dataclass(frozen=True)
class NTupleSettings:
    """The settings of an n-tuple network; `ntuple` explains the methods.

    Attributes:
        network: A set (4x6, 5x6, 8x6, 4x5, 5x5, 5x4, 2x4, 17x4, 2x7), or tuples of cells such as
            "0123 4567"; by default 5x6 in 2048, 5x5 in 2584, and fitting ones on smaller boards.
        values: Number of values of a cell (16 in 2048, 32 in 2584); larger tiles share the last.
        stages: Faces of tiles that begin a stage with weights of its own once they are reached.
        stage_games: Games in which all stages share the weights of the first; then each stage
            begins with a copy of them.
        initial: Initial value of every board; optimistic values make all moves be tried.
        method: td, or tc for temporal coherence.
        direction: forward or backward.
        trace_decay: λ, from 0 to 1; needs backward.
        restart: Whether games are played again from their middle; needs backward.
        learning_rate: α, above 0; the share of an error that one update removes.
        halving_games: Games after which α is halved, again and again; 0 is never.
        iteration_games: Games per iteration, without those that were begun in the middle.
        threads: Threads that play, and learn into one table without locks; only 1 is reproducible.
    """

    network: str = ""
    values: int | None = None
    stages: tuple[int, ...] = ()
    stage_games: int = 0
    initial: float = 0.0
    method: str = "td"
    direction: str = "forward"
    trace_decay: float = 0.0
    restart: bool = False
    learning_rate: float = 0.1
    halving_games: int = 0
    iteration_games: int = 100
    threads: int = 1

    def check(self) -> None:
        """Check the ranges.

        Raises:
            ValueError: If a setting is outside its range, or does not go with another.
        """
        check("method", self.method, self.method in ("td", "tc"), "td or tc")
        known = self.direction in ("forward", "backward")
        check("direction", self.direction, known, "forward or backward")
        check("initial", self.initial, math.isfinite(self.initial), "a finite number")
        check_shares(self, "trace_decay")
        check_positive(self, "learning_rate")
        check_least(self, 0, "stage_games", "halving_games")
        check_least(self, 1, "iteration_games")
        check("threads", self.threads, 1 <= self.threads <= 256, "from 1 to 256")
        if self.direction == "forward":
            check("trace_decay", self.trace_decay, not self.trace_decay, "0 with direction forward")
            check("restart", self.restart, not self.restart, "False with direction forward")

    @property
    def width(self) -> int:
        """Numbers per entry: its weight, and in TC the sums of its errors and of their sizes."""
        return 3 if self.method == "tc" else 1
