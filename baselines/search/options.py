"""What a search can be told besides its depth, as typed fields."""

from dataclasses import dataclass, field
from typing import Annotated

from annotated_types import Interval
from tyro.constructors import PrimitiveConstructorSpec

from baselines.settings import Count, NonNegative, Positive, Threads
from tile_envs.sliding.rules import MAX_SIDE

DEEPEST = 100
MOST_CELLS = MAX_SIDE**2
Cells = Annotated[int, Interval(ge=0, le=MOST_CELLS)]
Depth = Annotated[int, Interval(ge=1, le=DEEPEST)]


def _from_words(words: list[str]) -> dict[int, int]:
    """["3:4"] -> {3: 4}."""
    try:
        return {int(cells): int(depth) for cells, depth in (word.split(":") for word in words)}
    except ValueError:
        raise ValueError(f"expected numbers such as 3:4, got {' '.join(words)!r}.") from None


DepthByCells = Annotated[
    dict[Cells, Depth],
    PrimitiveConstructorSpec(
        nargs="*",
        metavar="CELLS:DEPTH ...",
        instance_from_str=_from_words,
        is_instance=lambda value: isinstance(value, dict),
        str_from_instance=lambda deeper: [f"{n}:{deeper[n]}" for n in deeper] or ["none"],
    ),
]


@dataclass(frozen=True)
class SearchOptions:
    """How a search looks ahead, besides its depth.

    Attributes:
        milliseconds: Time for a move. If given, each search deepens from 1 up to its depth, as long
            as the next depth is expected to end in time, and gives up where it does not. Where the
            search is not compiled, a move may take longer by one evaluation of up to 32 boards.
        downgrade: A face, such as 32768. Once the largest tile has it, boards are searched as if
            each tile above the largest one missing below it were half as large (tile downgrading
            of Guei, Chen and Wu, 2021).
        threads: The number of threads. If not given, one for each core with an n-tuple network,
            whose search is compiled, else 1. They share boards; of a single one, a compiled search
            of four moves or more shares the new tiles.
        table: The size of a thread's transposition table in MiB, where the search is compiled.
        deeper: Greater depths for boards with few empty cells: 3:4, in Python {3: 4}, looks at 4
            moves where at most 3 cells are empty.
        samples: If above 0, the number of new tiles that are drawn for each afterstate, instead of
            weighting all, by random numbers that are the same in each run; the search is not
            compiled then. Only for new tiles that are placed uniformly.
    """

    milliseconds: Positive | None = None
    downgrade: int | None = None
    threads: Threads | None = None
    table: Count = 16
    deeper: DepthByCells = field(default_factory=dict)
    samples: NonNegative = 0
