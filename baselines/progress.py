"""Lines that show how far something is: what it does, and the time that is left."""

from __future__ import annotations

import math
import shutil
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from tqdm import tqdm

from baselines.learner import Metrics
from baselines.runs import Budget
from tile_envs.words import counted

REFRESH_SECONDS = 1.0
RAYLEIGH_MEAN = math.gamma(1.5)
"""The mean of a Rayleigh distribution, in roots of its mean square."""
FEW_GAMES = 10
"""As long as fewer games have ended, their lengths say little."""
SPEED_SECONDS = 5.0
"""The present speed of play is that of at least so many seconds, and at most twice as many."""
LEARNING, STARTING, OVER = "learning", "starting (compiling on first use)", "stopped"


Self = TypeVar("Self", bound="Line")


class Line(ABC):
    """A line on standard error, as long as a `with` block lasts.

    It is drawn anew every second, by a thread of its own: the next step may take minutes.

    Args:
        leave: Whether the line stays when the block ends.
    """

    def __init__(self, leave: bool = False) -> None:
        self._bar: tqdm[Any] = tqdm(bar_format="{desc}", leave=leave)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._draw_again, daemon=True)

    def __enter__(self: Self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._over.set()
        self._thread.join()
        self._end()
        self.draw()
        self._bar.close()

    @abstractmethod
    def _parts(self) -> list[str]:
        """Return what the line says now; the last parts are left out where it is too long."""

    def _end(self) -> None:
        """Note that the line is drawn for the last time."""
        return None

    def draw(self) -> None:
        """Draw the line now."""
        width = shutil.get_terminal_size().columns - 1
        self._bar.set_description_str(fitting(self._parts(), width))

    def _draw_again(self) -> None:
        while not self._over.wait(REFRESH_SECONDS):
            self.draw()


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
        whole = f"{self._budget.games:,} games" if minutes is None else f"{minutes:g} minutes"
        parts = [f"{self._name}: {min(share, 1.0):.0%} of {whole}", self._phase]
        if share < 1 and self._games:
            parts += time_left(seconds, share)
        return [*parts, counted(self._games, "game"), *in_text(self._metrics)]


class Playing(Line):
    """The line under which a list of games is played.

    The time that is left follows from the mean length of a game, which is estimated from those that
    have ended and those that are on, all of which are played side by side: the mean over those that
    have ended would be that of short games.  A game is taken to end at a rate that grows with its
    length (a Rayleigh distribution), of which this is the maximum-likelihood estimate under
    censoring.

    Args:
        name: What is played.
        episodes: The number of games.
    """

    def __init__(self, name: str, episodes: int) -> None:
        super().__init__()
        self._name, self._episodes = name, episodes
        self._ended, self._moves, self._squares = 0, 0, 0.0
        self._marks: list[tuple[float, int]] = []  # times, and the moves by then

    def played(self, ended: int, moves: int, squares: float) -> None:
        """Tell what has been played by now.

        Args:
            ended: The number of games that have ended.
            moves: The moves of all games.
            squares: The sum over all games of the square of their moves.
        """
        self._ended, self._moves, self._squares = ended, moves, squares
        now = time.monotonic()  # the first moves have waited for compilation
        if not self._marks or now - self._marks[-1][0] > SPEED_SECONDS:
            self._marks = [*self._marks[-1:], (now, moves)]

    def _parts(self) -> list[str]:
        parts = [f"{self._name}: {self._ended:,} of {counted(self._episodes, 'game')}"]
        if self._ended >= min(FEW_GAMES, self._episodes / 2) and self._moves > self._marks[0][1]:
            began, before = self._marks[0]
            speed = (self._moves - before) / (time.monotonic() - began)
            length = RAYLEIGH_MEAN * math.sqrt(self._squares / self._ended)
            left = max(0.0, self._episodes * length - self._moves)
            parts.append(f"about {duration(left / speed)} left")
        return [*parts, counted(self._moves, "move")]


def time_left(seconds: float, share: float) -> list[str]:
    """Return the time that is left if a share of the whole took so many seconds; none if unknown.

    >>> time_left(30, 0.25), time_left(30, 0)
    (['1:30 left'], [])
    """
    return [f"{duration(seconds * (1 - min(share, 1)) / share)} left"] if share > 0 else []


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
