"""The options that commands share."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

from typing_extensions import Doc
from tyro.conf import OmitArgPrefixes, Positional, arg

from baselines.commands import Shaped
from baselines.search.options import SearchOptions
from baselines.settings import Seed

Agent = Annotated[
    Positional[str],
    arg(metavar="AGENT"),
    Doc(
        "The agent's name (random, greedy; strong, a trained network of 2048 and of 2584; on small "
        "boards of the sliding games optimal; in tic-tac-toe minimax, minimax_first, mcts), the "
        "folder of a trained one, a model in it, such as runs/d/best.zip, the file of another "
        "model of Stable-Baselines3 or sb3-contrib, which runs code that it holds, or a class of "
        "your own, my_module:MyAgent."
    ),
]
Agents = Annotated[
    Positional[tuple[str, ...]],
    arg(metavar="AGENT ...", help_behavior_hint="(one or more)"),
    Doc("The agents, each as for watch; folders of training runs, such as runs/*."),
]
Env = Annotated[
    str | None,
    Doc(
        "The environment's id; my_module:Id imports the module that registers it. If not given, "
        "the one that the agent was trained in, or Tiles2048-v0."
    ),
]
EnvKwargs = Shaped[dict[str, Any] | None]
SEED = Doc("The seed of the list of games, and of the agent's own random numbers.")
GamesSeed = Annotated[Seed, SEED]
Side = Literal["X", "O", "random", "both"]
Unfinished = Annotated[
    bool, Doc("Evaluate a run before its budget is used up; the agent's name says so.")
]
Rows = Annotated[Path | None, Doc("Write the rows to this file, .csv or .json, too.")]


def given(**values: Any) -> dict[str, Any]:
    """Return the options that are given, of those whose default is None."""
    return {name: value for name, value in values.items() if value is not None}


@dataclass(frozen=True)
class PlayOptions(SearchOptions):
    """What an agent plays, and how far it looks ahead.

    Attributes:
        wrappers: Wrappers that a model of Stable-Baselines3 by its file has learned with, in their
            order.
        search: The depth of a search with an agent's action values, in moves; 1 is no search, 2
            looks at the next tile and the move after it. With milliseconds it is the deepest.
    """

    env: Env = None
    env_kwargs: Shaped[dict[str, Any]] = field(default_factory=dict)
    wrappers: tuple[str, ...] = ()
    search: int | None = None


Playing = Annotated[PlayOptions, OmitArgPrefixes]
PLAYING = PlayOptions()
