"""The line under which a run learns: what it does, and the time that is left."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager

from baselines.line import Line, duration, time_left
from baselines.training.learner import Metrics
from baselines.training.run_folder import Budget
from tile_envs.words import counted, figure

LEARNING, STARTING, OVER = "learning", "starting (compiling on first use)", "stopped"


class Progress(Line):
    """The line under which a run learns.

    Args:
        name: The name of the run.
        budget: Its budget.
        games: The games that it has learned from.
        seconds: The seconds that it has learned.
    """

    def __init__(self, name: str, budget: Budget, games: int, seconds: float) -> None:
        super().__init__(leave=True)
        self._name, self._budget = name, budget
        self._games, self._seconds = games, seconds
        self._metrics: Metrics = {}
        self._phase, self._began = STARTING, time.monotonic()
        self._spent: dict[str, float] = {}

    def _end(self) -> None:
        self._phase = OVER

    def learned(self, games: int, seconds: float) -> None:
        """Tell how much has been learned by now."""
        self._games, self._seconds = games, seconds
        self._phase, self._began = LEARNING, time.monotonic()

    def show(self, metrics: Metrics) -> None:
        """Show other metrics."""
        self._metrics = metrics
        self.draw()

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Show that the body of `with` does something else than learning, and count its time."""
        before, self._phase, began = self._phase, name, time.monotonic()
        self.draw()
        try:
            yield
        finally:
            now = time.monotonic()
            self._spent[name] = self._spent.get(name, 0.0) + now - began
            self._phase, self._began = before, now

    def beside(self) -> str:
        """Return what took time beside learning, in one line; nothing if it was not much."""
        spent = [f"{name} {duration(s)}" for name, s in self._spent.items() if s >= 1]
        return f"learned {duration(self._seconds)}; besides: {', '.join(spent)}" if spent else ""

    def _parts(self) -> list[str]:
        seconds = self._seconds
        if self._phase in (LEARNING, STARTING):
            seconds += time.monotonic() - self._began
        share = self._budget.share(self._games, seconds)
        minutes = self._budget.minutes
        plural = "s" * (minutes != 1)
        whole = f"{minutes:g} minute{plural}" if minutes else counted(self._budget.games, "game")
        parts = [f"{self._name}: {min(share, 1.0):.0%} of {whole}", self._phase]
        if share < 1 and self._games:
            parts += time_left(seconds, share)
        return [*parts, counted(self._games, "game"), *in_text(self._metrics)]


def in_text(metrics: Metrics) -> list[str]:
    """Return metrics in words, without those that are 0 or unknown."""
    return [
        f"{name} {figure(value)}"
        for name, value in metrics.items()
        if value and math.isfinite(value)
    ]
