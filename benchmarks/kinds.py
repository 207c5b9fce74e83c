"""What an experiment is: an agent with its training and evaluation, or a measure of speed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

OWN_VALUES = "own values"
"""A placer of tiles that minimises the values of the agent that it plays against."""


@dataclass(frozen=True)
class Sampled:
    """Evaluation by playing games.

    Attributes:
        episodes: Number of games.
        depth: Moves that a search looks ahead; 1 is the agent alone.
        samples: New tiles that the search draws for each afterstate; 0 weighs all of them.
        placer: Who places the new tiles, if not as in training: random, adversary, or `OWN_VALUES`.
    """

    episodes: int
    depth: int = 1
    samples: int = 0
    placer: str = ""


@dataclass(frozen=True)
class Exact:
    """Exact evaluation: in tic-tac-toe for each side, in the sliding games of the score."""


@dataclass(frozen=True)
class Pairings:
    """Evaluation on the whole tree of tic-tac-toe, against every agent of the same table."""


@dataclass(frozen=True)
class Games:
    """Recorded games that an agent learns from first; they are made when they are missing.

    Attributes:
        player: The experiment whose trained agent plays them.
        episodes: Number of games.
    """

    player: Experiment
    episodes: int


@dataclass(frozen=True)
class Experiment:
    """An agent, its training and its evaluation.

    Attributes:
        table: The table of its rows.
        label: Its name in that table.
        agent: The agent's name in the registry.
        env: The environment's id.
        env_kwargs: The environment's options; None takes those of the preset.
        agent_kwargs: The options of an agent that is not trained.
        trained: Whether the agent is trained first.
        preset: The preset of `hyperparams.yml`.
        settings: The settings that differ from the preset.
        replays: Recorded games that it learns from first.
        games: The training budget in games; None takes that of the preset.
        minutes: The training budgets in minutes of learning, at each of which it is evaluated.
        seeds: Number of training seeds, from 0 on.
        evaluations: How it is evaluated at its last budget; at earlier ones only in the first way.
        cost: Minutes on two cores that it takes beside the training by `minutes`.
        memory: GiB that it takes at most.
    """

    table: str
    label: str
    agent: str
    env: str
    env_kwargs: Mapping[str, Any] | None = None
    agent_kwargs: Mapping[str, Any] = field(default_factory=dict)
    trained: bool = False
    preset: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    replays: Games | None = None
    games: int | None = None
    minutes: tuple[float, ...] = ()
    seeds: int = 1
    evaluations: tuple[Sampled, ...] | Exact | Pairings = ()
    cost: float = 0.0
    memory: float = 1.0


@dataclass(frozen=True)
class Measure:
    """A measure of speed.

    Attributes:
        table: The table of its rows.
        label: Its name in that table.
        path: Its module, with `keys(**options)`, the rows that it makes on this machine, and
            `rows(**options)`, which makes them.
        measures: What its rows have in their column `measure`.
        options: The arguments of both functions.
        extra: The extra of the package without which it has no rows.
        version: Raised when its results change.
        cost: Minutes that it takes.
        memory: GiB that it takes at most.
    """

    table: str
    label: str
    path: str
    measures: tuple[str, ...]
    options: Mapping[str, Any] = field(default_factory=dict)
    extra: str = ""
    version: int = 1
    cost: float = 0.0
    memory: float = 1.0


def minutes_of(each: Experiment | Measure) -> float:
    """Return how many minutes an experiment takes, from nothing, on two cores."""
    training = max(each.minutes, default=0) * each.seeds if isinstance(each, Experiment) else 0
    return training + each.cost
