"""The line that shows how far a run is: what it does, and the time that is left."""

from __future__ import annotations

import math
import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tqdm import tqdm

from baselines.learner import Metrics
from baselines.runs import Budget
from tile_envs.words import counted

REFRESH_SECONDS = 1.0
LEARNING, STARTING, OVER = "learning", "starting (compiling on first use)", "stopped"


class Progress:
    """A line under which a run learns, as long as a `with` block lasts.

    It is drawn anew every second, by a thread of its own: an iteration may take minutes.

    Args:
        name: The name of the run.
        budget: Its budget.
        games: The games that it has learned from.
        seconds: The seconds that it has learned.
    """

    def __init__(self, name: str, budget: Budget, games: int, seconds: float) -> None:
        self._name, self._budget = name, budget
        self._games, self._seconds = games, seconds
        self._metrics: Metrics = {}
        self._phase, self._began = STARTING, time.monotonic()
        self._spent: dict[str, float] = {}
        self._bar: tqdm[Any] = tqdm(bar_format="{desc}", leave=True)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._draw_again, daemon=True)

    def __enter__(self) -> Progress:
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._over.set()
        self._thread.join()
        self._phase = OVER
        self._draw()
        self._bar.close()

    def learned(self, games: int, seconds: float) -> None:
        """Tell how much has been learned by now."""
        self._games, self._seconds = games, seconds
        self._phase, self._began = LEARNING, time.monotonic()

    def show(self, metrics: Metrics) -> None:
        """Show other metrics."""
        self._metrics = metrics
        self._draw()

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Show that the body of `with` does something else than learning, and count its time."""
        before, self._phase, began = self._phase, name, time.monotonic()
        self._draw()
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

    def _draw_again(self) -> None:
        while not self._over.wait(REFRESH_SECONDS):
            self._draw()

    def _draw(self) -> None:
        width = shutil.get_terminal_size().columns - 1
        self._bar.set_description_str(fitting(self._parts(), width))

    def _parts(self) -> list[str]:
        seconds = self._seconds
        if self._phase in (LEARNING, STARTING):
            seconds += time.monotonic() - self._began
        share = self._budget.share(self._games, seconds)
        minutes = self._budget.minutes
        whole = f"{self._budget.games:,} games" if minutes is None else f"{minutes:g} minutes"
        parts = [f"{self._name}: {min(share, 1.0):.0%} of {whole}", self._phase]
        if 0 < share < 1 and self._games:
            parts.append(f"{duration(seconds * (1 - share) / share)} left")
        return [*parts, counted(self._games, "game"), *in_text(self._metrics)]


def in_text(metrics: Metrics) -> list[str]:
    """Return metrics in words, without those that are 0 or unknown."""
    return [
        f"{name} {figure(value)}"
        for name, value in metrics.items()
        if value and math.isfinite(value)
    ]


def figure(value: float) -> str:
    """Return a number in one format: separators where it is large, three digits where it is small.

    >>> figure(38390.4), figure(0.7213), figure(12.0)
    ('38,390', '0.721', '12')
    """
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def duration(seconds: float) -> str:
    """Return a time in minutes and seconds.

    >>> duration(62.3), duration(3 * 3600 + 60)
    ('1:02', '3:01:00')
    """
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def fitting(parts: list[str], width: int) -> str:
    """Return as many parts as fit into a line, each of them whole; the first one always.

    >>> fitting(["runs/2048: 10 %", "learning", "mean 1,000"], 30)
    'runs/2048: 10 %, learning'
    """
    line = parts[0]
    for part in parts[1:]:
        if len(line) + len(part) + 2 > width:
            break
        line += f", {part}"
    return line
