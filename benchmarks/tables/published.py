"""Tables of what others have published."""

from benchmarks.published import published, sources
from benchmarks.results import Row
from benchmarks.rows import Committed
from benchmarks.tables.table import Columns, Table, number, number_of, table


def results(committed: Committed, name: str) -> Table:
    def reached(row: Row) -> str:
        tiles = [f"{tile} in {100 * share:.4g}%" for tile, share in row.get("reach", {}).items()]
        return ", ".join([*tiles, *([f"up to {row['top']}"] if "top" in row else [])])

    def training(row: Row) -> str:
        return ", ".join(filter(None, map(row.get, ("learning", "memory", "spawn"))))

    def mean(row: Row) -> str:
        return f"median {number(row['median'])}" if "median" in row else number(row.get("mean"))

    def speed(row: Row) -> str:
        return f"{row.get('speed', '')}{' ({:g})'.format(row['ms']) if 'ms' in row else ''}"

    columns: Columns = [
        ("who", lambda row: f"{row['source']}{' ‡' if 'doubt' in row else ''}"),
        ("training", training),
        ("budget", "budget"),
        ("ply", "depth"),
        ("mean", mean),
        ("max", number_of("max")),
        ("won", lambda row: f"{row['win']:.1%}" if "win" in row else ""),
        ("tiles", reached),
        ("moves / s (ms of one core)", speed),
    ]
    rows = published(name)
    doubts = [f"‡ {row['source']}: {row['doubt']}." for row in rows if "doubt" in row]
    return table(columns, rows, doubts)


def all_sources(committed: Committed) -> str:
    rows = sorted(sources().values(), key=lambda each: (each.author, each.title))
    return "\n".join(f"- {r.author}, {r.year}: {r.title}. {r.link}" for r in rows)
