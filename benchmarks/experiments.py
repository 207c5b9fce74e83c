"""The list of everything that is measured or trained for a table, and the short list."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from baselines.agents import Task
from baselines.training.run import presets_for
from benchmarks.kinds import (
    OWN_VALUES,
    SIDES,
    Clients,
    Evaluated,
    Exact,
    Experiment,
    Games,
    Measure,
    Pairings,
    Sampled,
)
from benchmarks.libraries.clients import LIBRARIES
from benchmarks.training import ARTICLE, Recording, Training
from tile_envs.errors import UsageError

GAME_2048, GAME_2584, TICTACTOE = "Tiles2048-v0", "Tiles2584-v0", "TicTacToe-v0"
Options = Mapping[str, Any]
E = TypeVar("E", bound=Evaluated)

# Agents that are not trained, sampled; random play also in the variant of a beginner's article.

ALONE, CLOSELY = (Games(1_000),), (Games(10_000),)
BEGINNERS = {"spawn": {2: 0.8, 4: 0.2}, "start_tiles": [2, 2]}
SIDE_OPTIONS = tuple((TICTACTOE, {"side": side}) for side in SIDES)
BY_SCORE = Training("random", GAME_2048, BEGINNERS, preset="article")
AGENTS = (
    Sampled("agents", "random", BY_SCORE, ALONE, bins=1_000),
    *(
        Sampled("agents", agent, Training(agent, env, options), CLOSELY, cost=0.1)
        for env, options in ((GAME_2048, {}), (GAME_2584, {}), *SIDE_OPTIONS)
        for agent in ("random", "greedy")
    ),
    *(
        Sampled("agents", "strong", Training("strong", env, {}), CLOSELY, cost=2)
        for env in (GAME_2048, GAME_2584)
    ),
)

# Tic-tac-toe: every agent against every other, and every learner from several seeds.

CROSSTABLE = tuple(
    Pairings("crosstable", label, Training(agent, TICTACTOE, {}, **how), cost=cost)
    for label, agent, how, cost in (
        ("random", "random", {}, 0),  # for which all others are trained
        ("minimax", "minimax", {}, 0),
        ("minimax_first", "minimax_first", {}, 0),
        ("mcts kept", "mcts", {"settings": {"playouts": 4000, "kept": True}}, 0),
        ("mcts", "mcts", {"settings": {"playouts": 1000}}, 0.2),
        ("qtable published", "qtable", {"preset": "published"}, 0.2),
        ("qtable", "qtable", {}, 0.1),
        ("value_table published", "value_table", {"preset": "published"}, 0),
        ("value_table", "value_table", {}, 0.1),
        ("neural published", "neural", {"preset": "published"}, 1.1),
        ("neural", "neural", {}, 0.8),
        ("dqn", "dqn", {}, 5.3),
    )
)
SEEDS = tuple(
    Exact("seeds", each.label, each.training, seeds=6, cost=6 * each.cost)
    for each in CROSSTABLE
    if each.training.learns
)

# The learners of the sliding games, by minutes or games of learning.


def _ntuple(
    label: str, env: str, evaluations: Sequence[Games], cost: float, seeds: int = 1, **how: Any
) -> Sampled:
    needs = {"seeds": seeds, "cost": cost, "memory": how.pop("memory", 2.0)}
    return Sampled("ntuple", label, Training("ntuple", env, **how), tuple(evaluations), **needs)


SHIPPED = (Games(10_000), Games(300, depth=3))
SEARCHES = (Games(1_000), Games(300, depth=2), Games(100, depth=3))
IN_DEPTH = (Games(300, depth=2), Games(300, depth=3))
DOWNGRADED = Games(100, depth=3, downgrade=16384)
A_MILLISECOND = Games(100, depth=10, milliseconds=1)
TWO_CORES = {"threads": 2}
PLAIN: Options = {"half_games": 0, "averaging": 0.0}
ALWAYS_RESTARTS: Options = {"network": "5x6", "restart": 1.0, **PLAIN}
NEVER_RESTARTS: Options = {"restart": 0, **PLAIN}
ONE_AND_THREE = {"spawn": {"1": 0.75, "3": 0.25}}
ONE_CORE = _ntuple("one core", GAME_2048, CLOSELY, 9, seeds=3, minutes=(1, 2, 4, 9))
RESTARTED = replace(ONE_CORE.training, settings=ALWAYS_RESTARTS)
ONE_CORE_2584 = _ntuple("one core", GAME_2584, ALONE, 1, minutes=(1, 5))
LARGER: Options = {**TWO_CORES, "network": "5x6"}
STRONGEST = _ntuple(
    "two cores, 1 and 3 appear",
    GAME_2584,
    evaluations=(*CLOSELY, *IN_DEPTH, A_MILLISECOND._replace(episodes=300)),
    cost=60,
    env_kwargs=ONE_AND_THREE,
    settings={**LARGER, "values": 20, "restart": 0},
    minutes=(1, 10, 30),
    memory=6.0,
)
BY_GAMES = (("td", GAME_2048, 8), ("td", GAME_2584, 8), ("optimistic", GAME_2048, 20))
NTUPLE = (
    _ntuple("10,000 games", GAME_2048, SEARCHES[:2], 5, settings=ALWAYS_RESTARTS, games=10_000),
    _ntuple("10,000 games", GAME_2584, ALONE, 4, games=10_000),
    ONE_CORE,
    replace(ONE_CORE, label="one core, 5x6, always restarts", training=RESTARTED),
    _ntuple(
        *("two cores", GAME_2048, (*SEARCHES, DOWNGRADED), 25),
        seeds=3,
        settings=TWO_CORES,
        minutes=(10,),
    ),
    _ntuple("strong", GAME_2048, SHIPPED, 5, preset="strong"),
    _ntuple("strong", GAME_2584, SHIPPED[:1], 5, preset="strong"),
    ONE_CORE_2584,
    _ntuple("two cores", GAME_2584, ALONE, 2, settings=TWO_CORES, minutes=(5,)),
    _ntuple(
        *("two cores, 5x6", GAME_2584, SEARCHES, 75),
        settings={**LARGER, "values": 24},
        minutes=(60,),
        memory=20.0,
    ),
    STRONGEST,
    *(
        _ntuple(f"course, {values} values", GAME_2584, ALONE, 2, minutes=(2, 4, 12), **how)
        for values in (21, 26)
        for how in [{"preset": "course", "settings": {"values": values}}]
    ),
    *(
        _ntuple(f"{preset}, 100,000 games", env, CLOSELY, cost, preset=preset, games=100_000)
        for preset, env, cost in BY_GAMES
    ),
)

# Published experiments at their budgets in games, all with TD(0).  Szubert and Jaśkowski, 2014:
# after how many games their means were reached, and at which rate, was not found.  Their published
# program learns from 100,000 games, each entry by 0.01 δ, and with one random move in a thousand; a
# later one learns from 500,000; others who repeat it take 0.0025 δ.  A rate here is what all
# entries of a board remove of an error together, so these are 17 and 32 times 0.0025; no move is
# random.  Their 17 four-tuples have a table each (860,625 weights), ours share those of tuples that
# a symmetry maps to each other (253,125).  The six-tuples are the rectangles of 2×3 of their
# program: 22.9 million weights, as published.  The mean of TDL2048-Demo is that of the last 1,000
# games of learning; ours are played after it.

REPRODUCTION = tuple(
    replace(
        _ntuple(label, GAME_2048, CLOSELY, cost, preset="td", settings=settings, games=games),
        table="reproduction",
    )
    for label, games, cost, settings in (
        (
            *("TDL2048-Demo, 4x6", 100_000, 5),
            {"network": "4x6", "direction": "backward", "learning_rate": 0.1},
        ),
        (
            *("17 four-tuples", 1_000_000, 30),
            {"network": "17x4", "values": 15, "learning_rate": 0.0425},
        ),
        (
            *("two four- and two six-tuples", 1_000_000, 60),
            {"network": "0123 4567 012456 45689a", "values": 15, "learning_rate": 0.08},
        ),
    )
)

# Strength against the time for a move.

FOR_SEARCH: Options = {
    **TWO_CORES,
    "stages": (16384, 24576),
    "stage_games": 25_000,
    "late_stages": (28672, 31744, 32512, 32768),
    "late_games": 100_000,  # after 25,000, games do not get far enough
    "averaging": 0.3,
}
TIMED = (A_MILLISECOND, Games(20, depth=10, milliseconds=10))
SLOWLY = tuple(Games(n, depth=10, milliseconds=time) for n, time in ((20, 1), (6, 10)))
SEARCHED = (*ALONE, *IN_DEPTH, DOWNGRADED._replace(episodes=300), *TIMED)
SEARCHED_2584 = (*ALONE, Games(300, depth=2), Games(40, depth=3), *SLOWLY)
LONGEST = (
    *(*CLOSELY, *SEARCHES[1:], Games(30, depth=4)),
    *(Games(n, depth=depth, downgrade=32768) for n, depth in ((10_000, 1), (300, 3))),
    A_MILLISECOND,
    *(Games(60, depth=10, milliseconds=10, downgrade=tile) for tile in (None, 32768)),
)
SEARCH = tuple(
    replace(each, table="search")
    for each in (
        _ntuple(
            *("two cores, for search", GAME_2048, LONGEST, 270),
            settings=FOR_SEARCH,
            minutes=(240,),
            memory=20.0,
        ),
        _ntuple("for search", GAME_2048, SEARCHED, 45, settings=ALWAYS_RESTARTS, minutes=(10,)),
        _ntuple(
            *("for search", GAME_2584, SEARCHED_2584, 30),
            settings=NEVER_RESTARTS,
            minutes=(10,),
        ),
    )
)


def _deep(
    label: str, env: str, minutes: float, evaluations: Sequence[Games], cost: float, **how: Any
) -> Sampled:
    """Return an experiment with the learner with whose name the label begins."""
    agent, seeds = label.partition(",")[0], how.pop("seeds", 1)
    training = Training(agent, env, minutes=(minutes,), **how)
    memory = 2.0 if agent == "dqn" else 1.0
    evaluated = tuple(evaluations)
    return Sampled("deep", label, training, evaluated, seeds=seeds, cost=cost, memory=memory)


DEEPER = (Games(1_000), Games(100, depth=2), Games(30, depth=3))
RECORDED = {
    "settings": {"replay_steps": 5_000},
    "replays": Recording(Training("ntuple", GAME_2048, settings=PLAIN, minutes=(1,)), episodes=100),
}
DQN = _deep("dqn", GAME_2048, 12, DEEPER[:2], 10, seeds=3)
PPO = _deep("ppo", GAME_2048, 12, ALONE, 1)
DEEP = (
    DQN,
    _deep("dqn, an hour", GAME_2048, 60, DEEPER, 30, seeds=3),
    _deep("dqn, an hour", GAME_2584, 60, DEEPER[:2], 15),
    _deep("dqn, after a strong agent", GAME_2048, 12, ALONE, 4, **RECORDED),
    PPO,
    _deep("ppo, an hour", GAME_2048, 60, DEEPER[:2], 15, seeds=3),
    *(
        _deep(f"{agent}, cnn{label}", env, minutes, ALONE, 1, preset="cnn")
        for agent in ("dqn", "ppo")
        for env in (GAME_2048, GAME_2584)
        if "cnn" in presets_for(agent, env, Task(env).game)
        for minutes, label in ((12, ""), (60, ", an hour"))
    ),
)

# What helps: the default settings for two minutes, and with one change at a time.

CHANGES: Mapping[str, Sequence[Options]] = {
    "ntuple": (
        {},
        {"network": "4x6"},
        {"network": "5x6"},
        {"method": "td", "learning_rate": 0.1},
        {"learning_rate": 0.1},
        {"trace_decay": 0.0},
        {"initial": 320_000.0, "half_games": 0},
        {"restart": 1.0},
        {"half_games": 0},
        {"averaging": 0.0},
        {"stages": (8192, 16384), "stage_games": 10_000, "half_games": 0},
    ),
    "dqn": (
        {},
        {"n_steps": 1},
        {"n_steps": 5},
        {"gamma": 0.99},
        {"width": 64},
        {"final_learning_rate": 0.02},
        {"exploration_initial_eps": 0.02},
        {"target_update_interval": 102_400},
        {"n_envs": 256, "target_update_interval": 2_560},  # as many gradient steps between
        {"batch_size": 256},
    ),
}
IDEAS = tuple(
    Sampled(
        "ideas",
        f"{agent}, {', '.join(f'{n} {v}' for n, v in changed.items()) or 'default settings'}",
        Training(agent, GAME_2048, settings=changed, minutes=(2,)),
        ALONE,
        seeds=3,
        cost=3,
        memory=2.0,
    )
    for agent, changes in CHANGES.items()
    for changed in changes
)

DRAWN = (Games(300), Games(300, depth=2, samples=1), Games(100, depth=3, samples=1))
RECIPE_IDEAS: Mapping[str, Options] = {
    "article, a plane for each tile": {"one_hot": True},
    "article, falling epsilon": {"epsilon_halving": 10},
    "article, longer memory and samples": {"buffer_size": 200_000, "others": 5_000},
    "article, batches of 1,000": {"batch_size": 1_000},
}
RECIPE_TRAINING = Training(ARTICLE, GAME_2048, BEGINNERS, minutes=(20,))
RECIPE = (
    Sampled("recipe", "article", RECIPE_TRAINING, DRAWN, seeds=3, cost=4),
    *(
        Sampled("recipe", idea, replace(RECIPE_TRAINING, settings=settings), DRAWN[:2], cost=1)
        for idea, settings in RECIPE_IDEAS.items()
    ),
)

# Small boards, on which everything is exact.

EXACT = (
    *(
        Exact("exact", agent, Training(agent, env, {"shape": shape}), cost=0.1)
        for agent in ("random", "greedy", "optimal")
        for env in (GAME_2048, GAME_2584)
        for shape in ([2, 2], [2, 3])
    ),
    *(
        Exact("exact", f"{agent}, small", training, seeds=seeds, cost=cost)
        for agent, seeds, cost in (("qtable", 3, 6), ("ntuple", 3, 6), ("dqn", 1, 10))
        for env in (GAME_2048, GAME_2584)
        for training in [Training(agent, env, {"shape": [2, 3]}, preset="small")]
    ),
)

# Tiles placed at random and by an adversary: players trained with each, and evaluated with both.

PLACED = {"random": "tiles placed at random", "adversary": "tiles placed by the adversary"}
BOTH_PLACERS = (Games(1_000, placer="random"), Games(1_000, placer="adversary"))
OWN = (Games(100, placer="random"), Games(100, placer=OWN_VALUES))
LAST = replace(STRONGEST.training, minutes=STRONGEST.training.minutes[-1:])
ADVERSARY = tuple(
    replace(each, table="adversary")
    for each in (
        *(
            _ntuple(f"{games:,} games, {PLACED[placer]}", env, BOTH_PLACERS, 3, games=games, **how)
            for env, options, settings, games in (
                (GAME_2048, {}, ALWAYS_RESTARTS, 10_000),
                (GAME_2584, ONE_AND_THREE, NEVER_RESTARTS, 100_000),
            )
            for placer in ("random", "adversary")
            for how in [{"env_kwargs": {**options, "placer": placer}, "settings": settings}]
        ),
        replace(STRONGEST, training=LAST, evaluations=OWN, cost=1),
    )
)

SOLVED = {GAME_2048: ((2, 2), (2, 3), (2, 4), (3, 3)), GAME_2584: ((2, 2), (2, 3))}
THREADS = {"turns": 7, "games": ("2048",), "sizes": (1024, 4096, 16384, 65536), "threads": True}
BOARDS = Measure("solved", "small boards", "speed.solutions", {"boards": SOLVED}, cost=2, memory=4)
ENVIRONMENTS = Measure("speed", "environments", "speed.environments", {"turns": 7}, cost=15)
MEASURES = (
    BOARDS,
    Measure("kernels", "n-tuple networks", "speed.ntuple", {"turns": 3}, cost=15),
    Measure("bridge", "Stable-Baselines3", "speed.sb3", {"turns": 7}, cost=5),
    Measure("speed", "start-up", "speed.start_up", {"turns": 7}, cost=2),
    ENVIRONMENTS,
    Measure("threads", "2048", "speed.environments", THREADS, cost=3),
)

PLUGS = tuple(
    Clients(
        "plug",
        library,
        about["extra"],
        cost=about["cost"],
        episodes=about.get("episodes", Clients.episodes),
    )
    for library, about in LIBRARIES.items()
)

EXPERIMENTS: tuple[Experiment, ...] = (
    *(*AGENTS, *CROSSTABLE, *SEEDS, *NTUPLE, *REPRODUCTION, *SEARCH, *DEEP, *IDEAS, *RECIPE),
    *(*EXACT, *ADVERSARY, *MEASURES, *PLUGS),
)


# The short list: every agent and environment, by games, so that its rows are the same everywhere.


def _short(each: E, cost: float = 0.01, *, training: Options | None = None, **changes: Any) -> E:
    """Return an experiment of another cost, and what else differs, also in its training."""
    changed = replace(each.training, **(training or {}))
    return replace(each, training=changed, cost=cost, **changes)


def _by_games(each: Sampled, cost: float, games: int, *played: Games, **settings: Any) -> Sampled:
    changed = {"games": games, "minutes": (), "settings": {**each.training.settings, **settings}}
    return _short(each, cost, training=changed, evaluations=played, seeds=1)


CROSSTABLE_QUICK: Mapping[str, Options] = {
    "mcts": {"settings": {"playouts": 200}},
    "qtable": {"games": 100_000},
    "value_table": {"games": 100_000},
    "neural": {"games": 40_000},
    "dqn": {"games": 10_000},
}
SMALL_DQN = {"n_envs": 256, "buffer_size": 100_000, "learning_starts": 5_000}
SOLVED_QUICK = {GAME_2048: ((2, 3),), GAME_2584: ((2, 2),)}
SPEED_QUICK = {"turns": 3, "seconds": 0.2, "sizes": (1, 1024), "peers": False}
QUICK: tuple[Experiment, ...] = (
    *(_short(each, evaluations=ALONE) for each in AGENTS),
    *(
        _short(each, cost, training=CROSSTABLE_QUICK.get(each.label))
        for each in CROSSTABLE
        if each.label != "neural published"
        for cost in [0.8 if each.label == "random" else 0.01]  # against it all are trained
    ),
    _by_games(ONE_CORE, 0.7, 1_500, Games(200), Games(30, depth=2)),
    _by_games(ONE_CORE_2584, 0.5, 1_000, Games(100)),
    _by_games(DQN, 1.2, 1_000, Games(100), **SMALL_DQN),
    _by_games(PPO, 0.3, 300, Games(100), n_envs=64),
    _by_games(RECIPE[0], 1.0, 60, Games(100), Games(100, depth=2, samples=1)),
    *(_short(each) for each in EXACT if not each.training.learns),
    *(
        _short(each, 0.1, training={"games": 200_000}, seeds=1)
        for each in EXACT
        if each.training.agent == "ntuple"
    ),
    replace(BOARDS, options={"boards": SOLVED_QUICK}, cost=0.1),
    replace(ENVIRONMENTS, options=SPEED_QUICK, cost=0.3),
)


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
