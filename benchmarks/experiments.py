"""The list of everything that is measured or trained for a table, and the short list."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from benchmarks.jobs import Experiment, Measure
from benchmarks.kinds import OWN_VALUES, SIDES, Exact, Games, Learning, Pairings, Sampled
from benchmarks.training import Recording, Training
from tile_envs.errors import UsageError

GAME_2048, GAME_2584, TICTACTOE = "Tiles2048-v0", "Tiles2584-v0", "TicTacToe-v0"

# Agents that are not trained, sampled; random play also in the variant of a beginner's article.


def _sampled(agent: str, env: str, env_kwargs: Mapping[str, Any], **how: Any) -> Sampled:
    quick = {"episodes": 1_000, "cost": 0.01}
    return Sampled("agents", agent, agent, env, env_kwargs, quick=quick, **how)


ARTICLE = {"spawn": {2: 0.8, 4: 0.2}, "start_tiles": [2, 2]}
SIDE_OPTIONS = tuple((TICTACTOE, {"side": side}) for side in SIDES)
AGENTS = (
    _sampled("random", GAME_2048, ARTICLE, preset="article", episodes=1_000, bins=1_000),
    *(
        _sampled(agent, env, options, cost=0.1)
        for env, options in ((GAME_2048, {}), (GAME_2584, {}), *SIDE_OPTIONS)
        for agent in ("random", "greedy")
    ),
    *(_sampled("strong", env, {}, cost=2) for env in (GAME_2048, GAME_2584)),
)

# Tic-tac-toe: every agent against every other, and every learner from several seeds.

SHORT = {"cost": 0.01}
MCTS_QUICK = SHORT | {"agent_kwargs": {"playouts": 200}}


def _pairings(label: str, agent: str, **how: Any) -> Pairings:
    return Pairings("crosstable", label, agent, TICTACTOE, {}, **{"quick": SHORT, **how})


CROSSTABLE = (
    _pairings("random", "random", quick={"cost": 0.8}),  # for which all others are trained
    _pairings("minimax", "minimax"),
    _pairings("minimax_first", "minimax_first"),
    _pairings("mcts kept", "mcts", agent_kwargs={"playouts": 4000, "kept": True}),
    _pairings("mcts", "mcts", agent_kwargs={"playouts": 1000}, cost=0.2, quick=MCTS_QUICK),
    _pairings("qtable published", "qtable", preset="published", cost=0.2),
    _pairings("qtable", "qtable", cost=0.1, quick=SHORT | {"games": 100_000}),
    _pairings("value_table published", "value_table", preset="published"),
    _pairings("value_table", "value_table", cost=0.1, quick=SHORT | {"games": 100_000}),
    _pairings("neural published", "neural", preset="published", cost=1.1, quick=None),
    _pairings("neural", "neural", cost=0.8, quick=SHORT | {"games": 40_000}),
    _pairings("dqn", "dqn", cost=5.3, quick=SHORT | {"games": 10_000}),
)
SEEDS = tuple(
    Exact(
        *("seeds", experiment.label, experiment.agent, TICTACTOE, {}),
        preset=experiment.preset,
        seeds=6,
        cost=6 * experiment.cost,
    )
    for experiment in CROSSTABLE
    if experiment.learns
)

# The learners of the sliding games, by minutes of learning.

LEARNERS = {"ntuple": ("ntuple", 2.0), "dqn": ("deep", 2.0), "ppo": ("deep", 1.0)}
"""By agent, its table, and the GiB that it takes."""


def _learning(
    label: str,
    agent: str,
    env: str,
    minutes: tuple[float, ...],
    evaluations: tuple[Games, ...],
    cost: float,
    **how: Any,
) -> Learning:
    table, memory = LEARNERS.get(agent, ("recipe", 1.0))
    how = {"table": table, "memory": memory, **how}
    how |= {"minutes": minutes, "evaluations": evaluations, "cost": cost}
    return Learning(label=label, agent=agent, env=env, **how)


def _briefly(games: int, *evaluations: Games, **how: Any) -> Mapping[str, Any]:
    return {"games": games, "minutes": (), "seeds": 1, "evaluations": evaluations, **how}


ALONE = (Games(1_000),)
CLOSELY = (Games(10_000),)
SHIPPED = (Games(10_000), Games(300, depth=3))
SEARCHES = (Games(1_000), Games(300, depth=2), Games(100, depth=3))
BY_GAMES: tuple[float, ...] = ()
"""No budgets in minutes: the same rows on every machine."""
TWO_CORES = {"threads": 2}
ALWAYS_RESTARTS: Mapping[str, Any] = {"network": "5x6", "restart": 1.0}
FOR_SEARCH: Mapping[str, Any] = {
    **TWO_CORES,
    "stages": (16384, 24576, 28672, 30720, 32768),
    "stage_games": 60_000,
    "restart": 1.0,
    "halving_games": 160_000,
}
ONE_AND_THREE = {"spawn": {"1": 0.75, "3": 0.25}}
STRONGEST = _learning(
    *("two cores, 1 and 3 appear", "ntuple", GAME_2584, (1, 10, 30)),
    (*SEARCHES, Games(100, depth=10, milliseconds=1)),
    cost=12,
    env_kwargs=ONE_AND_THREE,
    settings=TWO_CORES,
)
NTUPLE = (
    _learning(
        *("10,000 games", "ntuple", GAME_2048, BY_GAMES, SEARCHES[:2], 5),
        settings=ALWAYS_RESTARTS,
        games=10_000,
    ),
    _learning("10,000 games", "ntuple", GAME_2584, BY_GAMES, ALONE, 4, games=10_000),
    _learning(
        *("one core", "ntuple", GAME_2048, (1, 2, 4, 9), CLOSELY, 9),
        seeds=3,
        quick=_briefly(1_500, Games(200), Games(30, depth=2), cost=0.7),
    ),
    _learning(
        *("one core, 5x6, always restarts", "ntuple", GAME_2048, (1, 2, 4, 9), CLOSELY, 9),
        settings=ALWAYS_RESTARTS,
        seeds=3,
    ),
    _learning("two cores", "ntuple", GAME_2048, (10,), SEARCHES, 15, seeds=3, settings=TWO_CORES),
    _learning("strong", "ntuple", GAME_2048, BY_GAMES, SHIPPED, 5, preset="strong"),
    _learning("strong", "ntuple", GAME_2584, BY_GAMES, SHIPPED[:1], 5, preset="strong"),
    _learning(
        *("one core", "ntuple", GAME_2584, (1, 5), ALONE, 1),
        quick=_briefly(1_000, Games(100), cost=0.5),
    ),
    _learning("two cores", "ntuple", GAME_2584, (5, 60), SEARCHES, 8, settings=TWO_CORES),
    STRONGEST,
    *(
        _learning(
            *(f"course, {values} values", "ntuple", GAME_2584, (2, 4, 12), ALONE, 2),
            preset="course",
            settings={"values": values},
        )
        for values in (21, 26)
    ),
)

# Strength against the time for a move.

SEARCH = (
    _learning(
        *("two cores, for search", "ntuple", GAME_2048, (70, 120)),
        (Games(10_000), Games(300, depth=2), Games(300, depth=3)),
        cost=20,
        settings=FOR_SEARCH,
        memory=12.0,
        table="search",
    ),
    _learning(
        *("for search", "ntuple", GAME_2048, (10,)),
        (
            *(Games(1_000), Games(300, depth=2), Games(300, depth=3)),
            Games(300, depth=3, downgrade=16384),
            Games(100, depth=10, milliseconds=1),
            Games(20, depth=10, milliseconds=10),
        ),
        cost=45,
        settings=ALWAYS_RESTARTS,
        table="search",
    ),
    _learning(
        *("for search", "ntuple", GAME_2584, (10,)),
        (
            *(Games(1_000), Games(300, depth=2), Games(40, depth=3)),
            *(Games(20, depth=10, milliseconds=1), Games(6, depth=10, milliseconds=10)),
        ),
        cost=30,
        table="search",
    ),
)

DEEPER = (Games(1_000), Games(100, depth=2), Games(30, depth=3))
SMALL_DQN = {"n_envs": 256, "buffer_size": 100_000, "learning_starts": 5_000}
DEEP = (
    _learning(
        *("dqn", "dqn", GAME_2048, (12,), DEEPER[:2], 10),
        seeds=3,
        quick=_briefly(1_000, Games(100), settings=SMALL_DQN, cost=1.2),
    ),
    _learning("dqn, an hour", "dqn", GAME_2048, (60,), DEEPER, 30, seeds=3),
    _learning("dqn, an hour", "dqn", GAME_2584, (60,), DEEPER[:2], 15),
    _learning(
        *("dqn, after a strong agent", "dqn", GAME_2048, (12,), ALONE, 4),
        settings={"replay_steps": 5_000},
        replays=Recording(Training("a strong agent", "ntuple", GAME_2048), minutes=1, episodes=100),
    ),
    _learning(
        *("ppo", "ppo", GAME_2048, (12,), ALONE, 1),
        quick=_briefly(300, Games(100), settings={"n_envs": 64}, cost=0.3),
    ),
    _learning("ppo, an hour", "ppo", GAME_2048, (60,), ALONE, 1),
)

# What helps: the default settings for two minutes, and with one change at a time.

CHANGES: Mapping[str, Sequence[Mapping[str, Any]]] = {
    "ntuple": (
        {},
        {"network": "4x6"},
        {"network": "5x6"},
        {"method": "td", "learning_rate": 0.1},
        {"learning_rate": 0.1},
        {"trace_decay": 0.0},
        {"initial": 320_000.0},
        {"restart": 1.0},
        {"stages": (8192, 16384), "stage_games": 10_000},
    ),
    "dqn": (
        {},
        {"n_steps": 1},
        {"n_steps": 5},
        {"gamma": 0.99},
        {"width": 32},
        {"final_learning_rate": 0.02},
        {"exploration_final_eps": 0.02},
        {"target_update_interval": 102_400},
        {"n_envs": 256, "target_update_interval": 2_560},  # as many gradient steps between
        {"batch_size": 256},
    ),
}
IDEAS = tuple(
    _learning(
        f"{agent}, {', '.join(f'{n} {v}' for n, v in changed.items()) or 'default settings'}",
        *(agent, GAME_2048, (2,), ALONE, 3),
        table="ideas",
        settings=changed,
        seeds=3,
    )
    for agent, changes in CHANGES.items()
    for changed in changes
)

DRAWN = (Games(300), Games(300, depth=2, samples=1), Games(100, depth=3, samples=1))
RECIPE_IDEAS: Mapping[str, Mapping[str, Any]] = {
    "a plane for each tile": {"one_hot": True},
    "falling epsilon": {"epsilon_halving": 10},
    "longer memory and samples": dict(buffer_size=200_000, others=5_000, learning_starts=6_000),
    "batches of 1,000": {"batch_size": 1_000},
}
ONE_THREAD = {"threads": 1}
SMALL_RECIPE = {"score_games": 10, "confirmations": 1, "n_epochs": 10, **ONE_THREAD}
DRAWN_FEW = (Games(100), Games(100, depth=2, samples=1))
RECIPE = (
    _learning(
        *("article", "article", GAME_2048, (20,), DRAWN, 4),
        settings=ONE_THREAD,
        seeds=3,
        quick=_briefly(100, *DRAWN_FEW, settings=SMALL_RECIPE, cost=0.5),
    ),
    *(
        _learning(
            *(f"article, {idea}", "article", GAME_2048, (20,), DRAWN[:2], 1),
            settings=ONE_THREAD | settings,
        )
        for idea, settings in RECIPE_IDEAS.items()
    ),
)

# Small boards, on which everything is exact.

EXACT = (
    *(
        Exact("exact", agent, agent, env, {"shape": shape}, cost=0.1, quick=SHORT)
        for agent in ("random", "greedy", "optimal")
        for env in (GAME_2048, GAME_2584)
        for shape in ([2, 2], [2, 3])
    ),
    *(
        Exact(
            *("exact", f"{agent}, small", agent, env, {"shape": [2, 3]}),
            preset="small",
            seeds=seeds,
            cost=seeds * cost,
            quick={"games": 200_000, "seeds": 1, "cost": 0.1} if agent == "ntuple" else None,
        )
        for agent, seeds, cost in (("qtable", 3, 2), ("ntuple", 3, 2), ("dqn", 1, 10))
        for env in (GAME_2048, GAME_2584)
    ),
)

# Tiles placed at random and by an adversary: players trained with each, and evaluated with both.

PLACED = {"random": "tiles placed at random", "adversary": "tiles placed by the adversary"}
BOTH_PLACERS = (Games(1_000, placer="random"), Games(1_000, placer="adversary"))
OWN = (Games(100, placer="random"), Games(100, placer=OWN_VALUES))
ADVERSARY = (
    *(
        _learning(
            *(f"{games:,} games, {PLACED[placer]}", "ntuple", env, BY_GAMES, BOTH_PLACERS, 3),
            table="adversary",
            env_kwargs={**options, "placer": placer},
            settings=settings,
            games=games,
        )
        for env, options, settings, games in (
            (GAME_2048, {}, ALWAYS_RESTARTS, 10_000),
            (GAME_2584, ONE_AND_THREE, {}, 100_000),
        )
        for placer in ("random", "adversary")
    ),
    replace(STRONGEST, table="adversary", minutes=STRONGEST.minutes[-1:], evaluations=OWN, cost=1),
)

SOLVED = {GAME_2048: ((2, 2), (2, 3), (2, 4), (3, 3)), GAME_2584: ((2, 2), (2, 3))}
SOLVED_QUICK = {GAME_2048: ((2, 3),), GAME_2584: ((2, 2),)}
THREADS = {"turns": 7, "games": ("2048",), "sizes": (1024, 4096, 16384, 65536), "threads": True}
SPEED_QUICK = {"turns": 3, "seconds": 0.2, "sizes": (1, 1024), "peers": False}
MEASURES = (
    Measure(
        *("solved", "small boards", "speed.solutions", {"boards": SOLVED}),
        cost=2,
        memory=4.0,
        quick={"options": {"boards": SOLVED_QUICK}, "cost": 0.1},
    ),
    Measure("kernels", "n-tuple networks", "speed.ntuple", {"turns": 3}, version=3, cost=15),
    Measure("bridge", "Stable-Baselines3", "speed.sb3", {"turns": 7}, version=4, cost=5),
    Measure("speed", "start-up", "speed.start_up", {"turns": 7}, version=4, cost=2),
    Measure(
        *("speed", "environments", "speed.environments", {"turns": 7}, "steps per second"),
        version=4,
        cost=15,
        quick={"options": SPEED_QUICK, "cost": 0.3},
    ),
    Measure("threads", "2048", "speed.environments", THREADS, cost=3),
)

# Libraries that train on the environments: name, extra, and the minutes that it takes.

PLUGS = tuple(
    Measure(
        *("plug", library, "libraries.clients"),
        options={"library": library, "episodes": 1_000},
        measure=library,
        extra=extra,
        cost=cost,
    )
    for library, extra, cost in (
        ("Stable-Baselines3", "sb3", 50),
        ("rl-zoo3", "rl-zoo3", 4),
        ("RLlib", "rllib", 15),
        ("TorchRL", "torchrl", 4),
        ("Tianshou", "tianshou", 5),
        ("CleanRL style", "baselines", 11),
        ("PettingZoo", "pettingzoo", 3),
        ("OpenSpiel", "openspiel", 4),
    )
)

EXPERIMENTS: tuple[Experiment, ...] = (
    *AGENTS,
    *CROSSTABLE,
    *SEEDS,
    *NTUPLE,
    *SEARCH,
    *DEEP,
    *IDEAS,
    *RECIPE,
    *EXACT,
    *ADVERSARY,
    *MEASURES,
    *PLUGS,
)
QUICK = tuple(experiment.shorten() for experiment in EXPERIMENTS if experiment.quick is not None)


def select(
    chosen: Sequence[str], experiments: Sequence[Experiment] = EXPERIMENTS
) -> list[Experiment]:
    """Return the experiments of these names, each a table, a label, or both as "TABLE/LABEL".

    Without names, these are all experiments.
    """
    names_of = [{e.table, e.label, str(e)} for e in experiments]
    for name in chosen:
        if not any(name in names for names in names_of):
            tables = dict.fromkeys(experiment.table for experiment in experiments)
            raise UsageError(
                f"there is no {name!r}: expected a table ({', '.join(tables)}), or a label such as "
                f"{experiments[-1].label!r}; `run --list` shows all."
            )
    wanted = set(chosen)
    pairs = zip(experiments, names_of, strict=True)
    return [experiment for experiment, names in pairs if not wanted or wanted & names]
