"""How the axes of pictures write numbers, as matplotlib's formatters take them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from matplotlib.axis import Axis
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter


def write_numbers(
    axis: Axis, written: Callable[[float, int | None], str], ticks: Sequence[float] = (1, 2, 5)
) -> None:
    """Let a logarithmic axis have ticks at these multiples of 1, 10, 100 …, with numbers at all."""
    axis.set_major_locator(LogLocator(subs=ticks))
    axis.set_major_formatter(FuncFormatter(written))
    axis.set_minor_formatter(NullFormatter())


def separated(value: float, place: int | None = None) -> str:
    """Return a number with separators.

    >>> separated(16384.0), separated(0.5)
    ('16,384', '0.5')
    """
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:g}"


def short(value: float, place: int | None = None) -> str:
    """Return a large number by a letter.

    >>> short(2e6), short(50_000), short(7)
    ('2 M', '50 k', '7')
    """
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:g} {letter}"
    return f"{value:g}"
