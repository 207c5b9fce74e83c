"""Tables of what others have published."""

from __future__ import annotations

from benchmarks.published import Figure, figures, sources
from benchmarks.tables.committed import Committed
from benchmarks.tables.markdown import Line, number, table


def published(committed: Committed, name: str) -> str:
    """Return one of the lists of published figures."""
    lines = [_line(figure) for figure in figures(name)]
    doubts = [
        f"‡ {figure['source']}: {figure['doubt']}." for figure in figures(name) if "doubt" in figure
    ]
    head = ("who", "training", "budget", "ply", "mean", "max", "won", "tiles", "moves / s")
    return "\n\n".join([table(head, lines), *doubts])


def all_sources(committed: Committed) -> str:
    """Return the sources of all figures."""
    lines = [
        (source.author, source.title, source.year, source.link) for source in sources().values()
    ]
    return table(("author", "title", "year", "link"), sorted(lines))


def person(committed: Committed) -> str:
    """Return the best game of the article's author."""
    (figure,) = figures("person")
    return f"The best game of the article's author scored {number(figure['max'])} points."


def _line(figure: Figure) -> Line:
    reach = figure.get("reach", {}) | ({figure["top"]: None} if "top" in figure else {})
    mean = number(figure.get("mean"))
    if "median" in figure:
        mean = f"median {number(figure['median'])}"
    return (
        f"{figure['source']}{' ‡' if 'doubt' in figure else ''}",
        ", ".join(figure[key] for key in ("learning", "spawn") if key in figure),
        figure.get("budget", ""),
        str(figure.get("depth", "")),
        mean,
        number(figure.get("max")),
        f"{figure['win']:.1%}" if "win" in figure else "",
        ", ".join(_reached(face, share) for face, share in reach.items()),
        str(figure.get("speed", "")),
    )


def _reached(face: int, share: float | None) -> str:
    return f"up to {face}" if share is None else f"{face} in {100 * share:.4g}%"
