"""How numbers of things are written."""

from __future__ import annotations


def counted(n: int, thing: str) -> str:
    """Return a number of things in words.

    >>> counted(1, "move"), counted(1234, "move")
    ('1 move', '1,234 moves')
    """
    return f"{n:,} {thing}{'s' * (n != 1)}"
