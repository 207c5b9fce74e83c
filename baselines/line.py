"""Lines that show how far something is, drawn again every second."""

from __future__ import annotations

import shutil
import threading
from abc import ABC, abstractmethod
from typing import Any, TypeVar

from tqdm import tqdm

REFRESH_SECONDS = 1.0

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


def time_left(seconds: float, share: float) -> list[str]:
    """Return the time that is left if a share of the whole took so many seconds; none if unknown.

    >>> time_left(30, 0.25), time_left(30, 0)
    (['1:30 left'], [])
    """
    return [f"{duration(seconds * (1 - min(share, 1)) / share)} left"] if share > 0 else []


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
