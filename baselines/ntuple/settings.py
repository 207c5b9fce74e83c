"""The settings of n-tuple networks; the defaults are TD(0) as published in 2014."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from baselines.settings import Count, Finite, Fraction, NonNegative, Positive, Threads
from tile_envs.errors import UsageError

SHORTEST_RESTART = 10
"""Games of at most this many moves are not restarted."""


@dataclass(frozen=True)
class NTupleSettings:
    """The settings of an n-tuple network; `ntuple` explains the methods.

    Attributes:
        network: A set (4x6, 5x6, 8x6, 4x5, 5x5, 5x4, 2x4, 17x4, 2x7), or tuples of cells, such as
            the two of "0123 4567"; by default 5x6 in 2048, 5x5 in 2584, and fitting ones on smaller
            boards.
        values: Number of values of a cell (16 in 2048, 32 in 2584); larger tiles share the last.
        stages: Faces of tiles that begin a stage with weights of its own once they are reached.
        stage_games: Games in which all stages share the weights of the first; then each stage
            begins with a copy of them.
        initial: Initial value of every board; optimistic values encourage exploration.
        method: Temporal differences, or tc, temporal coherence.
        direction: Whether to learn during a game, or from its end to its start.
        trace_decay: λ of the λ-return; needs direction backward.
        restart: Whether games are played again from their middle; needs direction backward.
        learning_rate: α, the fraction of an error that one update removes.
        halving_games: Games after which α is halved, again and again; 0 is never.
        iteration_games: Games per iteration, without those that were begun in the middle.
        threads: Threads that play, and learn into one table without locks; only 1 is reproducible.
    """

    network: str = ""
    values: Count | None = None
    stages: tuple[Count, ...] = ()
    stage_games: NonNegative = 0
    initial: Finite = 0.0
    method: Literal["td", "tc"] = "td"
    direction: Literal["forward", "backward"] = "forward"
    trace_decay: Fraction = 0.0
    restart: bool = False
    learning_rate: Positive = 0.1
    halving_games: NonNegative = 0
    iteration_games: Count = 100
    threads: Threads = 1

    def __post_init__(self) -> None:
        if self.direction == "forward" and (self.trace_decay or self.restart):
            raise UsageError("trace_decay and restart need direction backward.")

    @property
    def width(self) -> int:
        """Numbers per entry: its weight, and in TC the sums of its errors and of their sizes."""
        return 3 if self.method == "tc" else 1
