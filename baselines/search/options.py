"""What a search can be told besides its depth, as typed fields."""

from dataclasses import dataclass

from baselines.settings import Count, NonNegative, Positive, Threads

DEEPEST = 100


@dataclass(frozen=True)
class SearchOptions:
    """How a search looks ahead, besides its depth.

    Attributes:
        milliseconds: Time for a move. If given, each search deepens from 1 up to its depth, as long
            as two actions of the next depth are expected to end in time, and gives up where they do
            not. Where the search is compiled, it is selective, too (see `expectimax`); where it is
            not, a move may take longer by one evaluation of up to 32 boards.
        downgrade: A face, such as 32768. Once the largest tile has it, boards are searched as if
            each tile above the largest one missing below it were half as large (tile downgrading
            of Guei, Chen and Wu, 2021).
        threads: The number of threads. If not given, one for each core with an n-tuple network,
            whose search is compiled, else 1. They share boards; of a single one, a compiled search
            of four moves or more shares the new tiles, unless it has a time.
        table: The size of a thread's transposition table in MiB, where the search is compiled.
        samples: If above 0, the number of new tiles that are drawn for each afterstate, instead of
            weighting all, by random numbers that are the same in each run; the search is not
            compiled then. Only for new tiles that are placed uniformly.
    """

    milliseconds: Positive | None = None
    downgrade: int | None = None
    threads: Threads | None = None
    table: Count = 16
    samples: NonNegative = 0
