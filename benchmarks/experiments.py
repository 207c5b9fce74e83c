"""The list of everything that is measured or trained for a table.

`run` makes the rows of each experiment, `report` writes the pages.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from benchmarks.kinds import (
    OWN_VALUES,
    Exact,
    Experiment,
    Games,
    Measure,
    Pairings,
    Sampled,
)
from tile_envs.errors import UsageError

SIDES = ("X", "O")

GAME_2048, GAME_2584, TICTACTOE = "Tiles2048-v0", "Tiles2584-v0", "TicTacToe-v0"

# Named agents, sampled.  A preset's own number of games comes before `episodes`.
PLAYED = (Sampled(10_000),)
AGENTS = (
    Experiment("agents", "random", "random", GAME_2048, preset="article", evaluations=PLAYED),
    *(
        Experiment("agents", agent, agent, env, options, evaluations=PLAYED, cost=0.1)
        for env, options in (
            (GAME_2048, {}),
            (GAME_2584, {}),
            *((TICTACTOE, {"side": side}) for side in SIDES),
        )
        for agent in ("random", "greedy")
    ),
)

# Tic-tac-toe: every agent against every other, and every learner from several seeds.


def _met(label: str, agent: str, cost: float = 0.0, **changes: Any) -> Experiment:
    return Experiment(
        "crosstable", label, agent, TICTACTOE, {}, evaluations=Pairings(), cost=cost, **changes
    )


CROSSTABLE = (
    _met("random", "random"),
    _met("minimax", "minimax"),
    _met("minimax_first", "minimax_first"),
    _met("mcts kept", "mcts", agent_kwargs={"playouts": 4000, "kept": True}),
    _met("mcts", "mcts", agent_kwargs={"playouts": 1000}, cost=0.2),
    _met("qtable published", "qtable", preset="published", trained=True, cost=0.2),
    _met("qtable", "qtable", trained=True, cost=0.1),
    _met("value_table published", "value_table", preset="published", trained=True),
    _met("value_table", "value_table", trained=True, cost=0.1),
    _met("neural published", "neural", preset="published", trained=True, cost=1.1),
    _met("neural", "neural", trained=True, cost=0.8),
    _met("dqn", "dqn", trained=True, cost=5.3),
)
SEEDS = tuple(
    replace(each, table="seeds", seeds=6, evaluations=Exact(), cost=6 * each.cost)
    for each in CROSSTABLE
    if each.trained
)

# The learners of the sliding games, by minutes of learning.


MEMORY = {"ntuple": 2.0, "dqn": 2.0}
"""GiB of learners that take more than others."""


def _learning(table: str, label: str, agent: str, env: str = GAME_2048, **how: Any) -> Experiment:
    memory = {"memory": MEMORY.get(agent, Experiment.memory)}
    return Experiment(table, label, agent, env, trained=True, **memory | how)


ALONE = (Sampled(1_000),)
SEARCHES = (Sampled(1_000), Sampled(300, depth=2), Sampled(100, depth=3))
TWO_CORES = {"threads": 2}
ONE_AND_THREE = {"spawn": {"1": 0.75, "3": 0.25}}
STRONGEST = "two cores, 1 and 3 appear"
"""The strongest player of 2584 in which the tiles 1 and 3 appear."""
GAMES = 10_000
NTUPLE = (
    *(  # budgets in games: the same rows on every machine
        _learning(
            *("ntuple", f"{GAMES:,} games", "ntuple", env),
            games=GAMES,
            evaluations=evaluations,
            cost=cost,
        )
        for env, evaluations, cost in ((GAME_2048, SEARCHES[:2], 5), (GAME_2584, ALONE, 4))
    ),
    _learning(
        *("ntuple", "one core", "ntuple"),
        minutes=(0.75, 1, 2, 4),
        seeds=3,
        evaluations=ALONE,
        cost=3,
    ),
    _learning(
        *("ntuple", "two cores", "ntuple"),
        settings=TWO_CORES,
        minutes=(1, 2, 5, 10),
        evaluations=SEARCHES,
        cost=3,
    ),
    _learning(
        *("ntuple", "two cores, stages", "ntuple"),
        settings=TWO_CORES
        | {
            "stages": (4096, 8192, 16384),
            "stage_games": 30_000,
            "halving_games": 60_000,
        },
        minutes=(25, 50),
        evaluations=SEARCHES,
        cost=6,
        memory=6.0,
    ),
    _learning(
        *("ntuple", "one core", "ntuple", GAME_2584), minutes=(1, 5), evaluations=ALONE, cost=1
    ),
    _learning(
        *("ntuple", STRONGEST, "ntuple", GAME_2584),
        env_kwargs=ONE_AND_THREE,
        settings=TWO_CORES,
        minutes=(1, 10),
        evaluations=SEARCHES,
        cost=4,
    ),
    *(
        _learning(
            *("ntuple", f"course, {values} values", "ntuple", GAME_2584),
            preset="course",
            settings={"values": values},
            minutes=(2, 4, 12),
            evaluations=ALONE,
            cost=2,
        )
        for values in (21, 26)
    ),
)

SHORT = (Sampled(300),)
SHORT_SEARCHES = (Sampled(300), Sampled(100, depth=2))
STRONG = _learning("deep", "a strong agent", "ntuple", minutes=(1,))
DEEP = (
    *(
        _learning(
            *("deep", "dqn", "dqn", env),
            minutes=(15, 30, 60),
            evaluations=SHORT_SEARCHES,
            cost=cost,
        )
        for env, cost in ((GAME_2048, 15), (GAME_2584, 30))
    ),
    _learning(
        *("deep", "dqn, after a strong agent", "dqn"),
        settings={"replay_steps": 5_000},
        replays=Games(STRONG, episodes=100),
        minutes=(15,),
        evaluations=SHORT,
        cost=4,
    ),
    _learning(
        *("deep", "ppo", "ppo"),
        settings={"threads": 1},
        minutes=(15,),
        evaluations=SHORT,
        cost=1,
    ),
)

DRAWN = (Sampled(300), Sampled(300, depth=2, samples=1), Sampled(100, depth=3, samples=1))
IDEAS: Mapping[str, Mapping[str, Any]] = {
    "a plane for each tile": {"one_hot": True},
    "falling epsilon": {"epsilon_halving": 10},
    "longer memory and samples": {
        "buffer_size": 200_000,
        "others": 5_000,
        "learning_starts": 6_000,
    },
    "batches of 1,000": {"batch_size": 1_000},
}
RECIPE = (
    _learning("recipe", "article", "article", minutes=(10, 30, 90), evaluations=DRAWN, cost=2),
    *(
        _learning(
            *("recipe", f"article, {idea}", "article"),
            settings={"threads": 1, **settings},
            minutes=(15,),
            evaluations=DRAWN[:2],
            cost=1,
        )
        for idea, settings in IDEAS.items()
    ),
)

# Small boards, on which everything is exact.

SMALL = ([2, 2], [2, 3])


def _exact(label: str, agent: str, env: str, shape: list[int], **how: Any) -> Experiment:
    return Experiment("exact", label, agent, env, {"shape": shape}, evaluations=Exact(), **how)


EXACT = (
    *(
        _exact(agent, agent, env, shape, cost=0.1)
        for agent in ("random", "greedy", "optimal")
        for env in (GAME_2048, GAME_2584)
        for shape in SMALL
    ),
    *(
        _exact(
            *(f"{agent}, small", agent, env, SMALL[-1]),
            preset="small",
            trained=True,
            seeds=seeds,
            cost=seeds * cost,
        )
        for agent, seeds, cost in (("qtable", 3, 2), ("ntuple", 3, 2), ("dqn", 1, 10))
        for env in (GAME_2048, GAME_2584)
    ),
)

# Tiles placed at random and by an adversary: players trained with each, and evaluated with both.

PLACED = {"random": "tiles placed at random", "adversary": "tiles placed by the adversary"}
BOTH_PLACERS = (Sampled(1_000, placer="random"), Sampled(1_000, placer="adversary"))
OWN = (Sampled(100, placer="random"), Sampled(100, placer=OWN_VALUES))
ADVERSARY = (
    *(
        _learning(
            *("adversary", f"{games:,} games, {PLACED[placer]}", "ntuple", env),
            env_kwargs={**options, "placer": placer},
            games=games,
            evaluations=BOTH_PLACERS,
            cost=3,
        )
        for env, options, games in (
            (GAME_2048, {}, 10_000),
            (GAME_2584, ONE_AND_THREE, 100_000),
        )
        for placer in ("random", "adversary")
    ),
    *(
        replace(each, table="adversary", minutes=each.minutes[-1:], evaluations=OWN, cost=1)
        for each in NTUPLE
        if each.label == STRONGEST
    ),
)

MEASURES = (
    Measure(
        *("solved", "small boards", "benchmarks.solutions"),
        measures=("solution",),
        options={
            "boards": (
                *((GAME_2048, shape) for shape in ((2, 2), (2, 3), (2, 4), (3, 3))),
                *((GAME_2584, shape) for shape in ((2, 2), (2, 3))),
            )
        },
        cost=2,
        memory=4.0,
    ),
    Measure(
        *("kernels", "n-tuple networks", "benchmarks.speed.ntuple"),
        measures=(
            "4x6 TC training",
            "4x6 TD(0) training",
            "4x6 greedy play",
            "4x6 search, 2-ply",
            "4x6 search, 3-ply",
            "two threads against one, TC",
        ),
        options={"turns": 3},
        version=2,
        cost=15,
    ),
    Measure(
        *("bridge", "Stable-Baselines3", "benchmarks.speed.sb3"),
        measures=("steps per second", "share of training"),
        options={"turns": 7},
        version=3,
        cost=5,
    ),
    Measure(
        *("placers", "placers of tiles", "benchmarks.speed.placers"),
        measures=("steps per second",),
        options={"turns": 7},
        cost=1,
    ),
    Measure(
        *("speed", "start-up", "benchmarks.speed.start_up"),
        measures=(
            "import tile_envs, ms",
            "import tile_envs after gymnasium, ms",
            "first gym.make, s",
            "memory of the engine, MiB",
            "first compiled engine, s",
            "first compiled engine, code kept, s",
        ),
        options={"turns": 7},
        version=4,
        cost=2,
    ),
    Measure(
        *("speed", "environments", "benchmarks.speed.environments"),
        measures=("steps per second",),
        options={"turns": 7},
        version=4,
        cost=9,
    ),
)

# Libraries that train on the environments: name, extra, and the minutes that it takes.

PLUGS = tuple(
    Measure(
        *("plug", library, "benchmarks.libraries.clients"),
        measures=(library,),
        options={"library": library, "episodes": 1_000},
        extra=extra,
        cost=cost,
    )
    for library, extra, cost in (
        ("Stable-Baselines3", "sb3", 50),
        ("rl-zoo3", "rl-zoo3", 4),
        ("RLlib", "rllib", 15),
        ("TorchRL", "torchrl", 10),
        ("Tianshou", "tianshou", 5),
        ("CleanRL style", "baselines", 11),
        ("PettingZoo", "pettingzoo", 3),
        ("OpenSpiel", "openspiel", 4),
    )
)

EXPERIMENTS: tuple[Experiment | Measure, ...] = (
    *AGENTS,
    *CROSSTABLE,
    *SEEDS,
    *NTUPLE,
    *DEEP,
    *RECIPE,
    *EXACT,
    *ADVERSARY,
    *MEASURES,
    *PLUGS,
)


def selected(
    names: Sequence[str], experiments: Sequence[Experiment | Measure] = EXPERIMENTS
) -> list[Experiment | Measure]:
    """Return the experiments of these names; all if there are none.

    Args:
        names: Each a table, a label, or both as "TABLE/LABEL".
        experiments: The list that is chosen from.

    Raises:
        ValueError: If nothing has one of these names.
    """
    tables = dict.fromkeys(each.table for each in experiments)
    labels = dict.fromkeys(each.label for each in experiments)
    for name in names:
        if not any(name in _names(each) for each in experiments):
            raise UsageError(
                f"there is no {name!r}: expected a table ({', '.join(tables)}), or a label such as "
                f"{list(labels)[-1]!r}; `run --list` shows all."
            )
    wanted = set(names)
    return [each for each in experiments if not wanted or wanted & set(_names(each))]


def _names(experiment: Experiment | Measure) -> tuple[str, str, str]:
    table, label = experiment.table, experiment.label
    return table, label, f"{table}/{label}"
