"""`python -m baselines plot`."""

from pathlib import Path
from typing import Annotated, Literal

from tyro.conf import Positional, arg

from tile_envs.errors import extra


def plot(
    runs: Annotated[
        Positional[tuple[Path, ...]], arg(metavar="RUN ...", help_behavior_hint="(one or more)")
    ],
    /,
    out: Path = Path("curves.png"),
    against: Literal["games", "minutes", "steps"] = "games",
    metric: str = "",
) -> None:
    """Draw the learning curves of training runs; seeds of equal settings are a line with a band.

    The band is from the lowest to the highest seed. Equal runs are lines of their own.

    Args:
        runs: The folders of the runs, such as runs/*.
        out: The picture to write, .png or .svg.
        against: What the curves are drawn against: games, minutes (of learning), or steps.
        metric: A column of the runs' progress.csv; if not given, the first one that all of them
            have, of tests where there is one.
    """
    with extra("baselines"):
        from baselines.viewing.curves import plot as draw  # late: matplotlib takes half a second
    draw(runs, out, against, metric)
    print(f"wrote {out}")
