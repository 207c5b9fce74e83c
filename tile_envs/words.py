"""Numbers as text for people."""

from __future__ import annotations


def counted(n: int, thing: str) -> str:
    """Return a number of things in words.

    Examples:
        >>> counted(1, "move"), counted(1234, "move")
        ('1 move', '1,234 moves')
    """
    return f"{n:,} {thing}{'s' * (n != 1)}"


def number(value: float) -> str:
    """Return a number with separators, and with decimals where it is small.

    Examples:
        >>> number(38390.4), number(999.7), number(12.0), number(0.7213)
        ('38,390', '1,000', '12', '0.721')
    """
    return f"{value:,.0f}" if abs(value) >= 100 or value == int(value) else f"{value:.3g}"
