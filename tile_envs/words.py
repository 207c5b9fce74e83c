"""Numbers and texts of files as text for people."""

import re
from typing import Any

CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control, bidirectional and surrogate characters."""


def printable(value: Any) -> Any:
    """Return a text, or texts in lists and dictionaries, without control characters."""
    if isinstance(value, dict):
        return {printable(name): printable(each) for name, each in value.items()}
    if isinstance(value, list):
        return [printable(each) for each in value]
    return CONTROLS.sub("\ufffd", value) if isinstance(value, str) else value


def counted(n: int, thing: str) -> str:
    """Return a number of things in words, such as "1 move" or "1,234 moves"."""
    return f"{n:,} {thing}" if n == 1 else f"{n:,} {thing}s"
