"""Progress on standard error: a bar in a terminal; in a file or a pipe a line now and then."""

import math
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, ClassVar

from tile_envs.words import printable

LINE_SECONDS = 10.0
"""The least time between two lines where standard error is no terminal; the first comes sooner."""


def clock() -> float:
    """Return seconds that stand still while numba compiles, of which only differences count."""
    compiling: Any = sys.modules.get("tile_envs.base.compiled")
    return time.perf_counter() - (compiling.seconds_compiled() if compiling else 0.0)


class Progress:
    """Shows how far some work is, as long as a `with` block lasts.

    `total` is how much it is, in any unit, `done` how much was done before; without `shown`,
    `enabled` says whether to show it.  `seconds` are those of each phase, and of compiling.
    """

    enabled: ClassVar[bool] = False
    """Whether progress is shown by default: commands set it.  What is inside another is not."""

    def __init__(
        self, name: str, total: float | None = None, done: float = 0.0, shown: bool | None = None
    ) -> None:
        self._name, self._total, self._begin, self._done = printable(name), total, done, done
        self.shown = Progress.enabled if shown is None else shown
        self.seconds = defaultdict[str, float](float)
        self._text = self._phase = ""
        self._bar: Any = None

    def __enter__(self) -> "Progress":
        self._enabled_before, Progress.enabled = Progress.enabled, False
        self._began = clock()
        self._printed = self._began - LINE_SECONDS / 2
        if self.shown and sys.stderr.isatty():
            from rich import progress  # late: only terminals need it
            from rich.console import Console
            from rich.table import Column

            cut = Column(no_wrap=True, overflow="ellipsis")  # where the terminal is narrow
            self._bar = progress.Progress(
                progress.BarColumn(20),
                progress.TextColumn("{task.fields[line]}", markup=False, table_column=cut),
                console=Console(file=sys.stderr),  # also where it is redirected later
                redirect_stdout=sys.stdout.isatty(),
                transient=True,
            )
            self._bar.add_task("", total=self._total, completed=self._done, line=self)
            self._bar.start()
        return self

    def __exit__(self, *exception: object) -> None:
        Progress.enabled = self._enabled_before
        if self._bar is not None:
            self._bar.stop()

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Count the seconds of the body of `with` as those of a phase, which is shown."""
        self._phase = name
        began, worked = time.perf_counter(), clock()
        try:
            yield
        finally:
            self._phase, seconds = "", clock() - worked
            self.seconds[name] += seconds
            self.seconds["compiling"] += time.perf_counter() - began - seconds

    def update(self, done: float | None = None, text: str = "", at_once: bool = False) -> None:
        """Note how much is done by now, and what else to show: as before if not given."""
        self._done = self._done if done is None else done
        self._text = text or self._text
        if self._bar is not None:
            self._bar.update(0, completed=self._done)
        elif self.shown and (at_once or clock() - self._printed >= LINE_SECONDS):
            self._printed = clock()
            print(self, file=sys.stderr, flush=True)

    def __str__(self) -> str:
        words = [self._phase, self._text]
        if self._total:
            words.insert(0, f"{min(self._done / self._total, 1):.0%}")
            share = (self._done - self._begin) / (self._total - self._begin or 1)
            seconds = (clock() - self._began) * (1 - share) / (share or 1)
            if share > 0.001 and seconds >= 1:  # else it is anyone's guess, or over at once
                words.insert(1, f"about {duration(seconds)} left")
        return f"{self._name}: {', '.join(filter(None, words))}"


def duration(seconds: float) -> str:
    """Return a time in minutes and seconds.

    Examples:
        >>> duration(62.3), duration(3 * 3600 + 60)
        ('1:02', '3:01:00')
    """
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def number(value: float) -> str:
    """Return a number with separators, and with decimals where it is small.

    Examples:
        >>> number(38390.4), number(999.7), number(12.0), number(0.7213)
        ('38,390', '1,000', '12', '0.721')
    """
    return f"{value:,.0f}" if abs(value) >= 100 or value == int(value) else f"{value:.3g}"


def metrics_text(metrics: Mapping[str, float]) -> str:
    """Return metrics as text, without those that are unknown."""
    return ", ".join(f"{name} {number(n)}" for name, n in metrics.items() if math.isfinite(n))
