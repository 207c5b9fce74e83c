"""The list of everything that is measured or trained for a table."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from benchmarks import kinds
from benchmarks.kinds import Exact, Experiment, Games, Measure, Sampled
from benchmarks.training import Recording, Training
from tile_envs.errors import UsageError

Experiments = Mapping[str, Sequence[Experiment]]
Options = Mapping[str, Any]

GAME_2048, GAME_2584, TICTACTOE = "Tiles2048-v0", "Tiles2584-v0", "TicTacToe-v0"

# Agents that are not trained, sampled; random play also in the variant of a beginner's article.
BEGINNERS = {"spawn": {2: 0.8, 4: 0.2}, "start_tiles": [2, 2]}
AGENTS = (
    Sampled("random, article", Training("random", GAME_2048, BEGINNERS), (Games(1_000),)),
    *(
        Sampled(agent, Training(agent, env, {"side": side} if side else {}), (Games(10_000),))
        for env, side in ((GAME_2048, ""), (GAME_2584, ""), (TICTACTOE, "X"), (TICTACTOE, "O"))
        for agent in ("random", "greedy")
    ),
    *(Sampled("strong", Training("strong", e), (Games(10_000),)) for e in (GAME_2048, GAME_2584)),
)

# Tic-tac-toe: every agent against every other, and every learner from several seeds.
_player = partial(Training, env=TICTACTOE, env_kwargs={})
PLAYERS = {
    "random": _player("random"),
    "minimax": _player("minimax"),
    "minimax_first": _player("minimax_first"),
    "mcts kept": _player("mcts", settings={"playouts": 4000, "kept": True}),
    "mcts": _player("mcts", settings={"playouts": 1000}),
    "qtable published": _player("qtable", preset="published"),
    "qtable": _player("qtable"),
    "value_table published": _player("value_table", preset="published"),
    "value_table": _player("value_table"),
    "neural published": _player("neural", preset="published"),
    "neural": _player("neural"),
    "dqn": _player("dqn"),
}


def _learner(
    label: str, env: str, tests: Sequence[Games], seeds: int = 1, agent: str = "ntuple", **how: Any
) -> Sampled:
    return Sampled(label, Training(agent, env, **how), tuple(tests), seeds=seeds)


ALONE, CLOSELY = (Games(1_000),), (Games(10_000),)
SEARCHES = (Games(1_000), Games(300, depth=2), Games(100, depth=3))
DOWNGRADED = Games(100, depth=3, downgrade=16384)
TWO_CORES = {"threads": 2}
LARGER: Options = {**TWO_CORES, "network": "5x6"}
LARGEST: Options = {**LARGER, "values": 24}
PLAIN: Options = {"half_games": 0, "averaging": 0.0}
ALWAYS_RESTARTS: Options = {"network": "5x6", "restart": 1.0, **PLAIN}
ONE_AND_THREE = {"spawn": {"1": 0.75, "3": 0.25}}
STRONGEST = _learner(
    "two cores, 1 and 3 appear",
    GAME_2584,
    (*CLOSELY, Games(300, 2), Games(300, 3), *(Games(300, 10, milliseconds=t) for t in (1, 10))),
    env_kwargs=ONE_AND_THREE,
    settings={**LARGER, "values": 20, "restart": 0},
    minutes=(1, 10, 30),
)
COURSE: Options = {"preset": "course", "games": 100_000}
# The learners of the sliding games, by minutes or games of learning.
NTUPLE = (
    _learner("10,000 games", GAME_2048, SEARCHES[:2], settings=ALWAYS_RESTARTS, games=10_000),
    _learner("10,000 games", GAME_2584, ALONE, games=10_000),
    _learner("one core", GAME_2048, CLOSELY, 3, minutes=(1, 2, 4, 9)),
    _learner("two cores", GAME_2048, (*SEARCHES, DOWNGRADED), 3, settings=TWO_CORES, minutes=(10,)),
    _learner("strong", GAME_2048, (Games(10_000), Games(300, depth=3)), preset="strong"),
    _learner("strong", GAME_2584, CLOSELY, preset="strong"),
    _learner("one core", GAME_2584, ALONE, minutes=(1, 5)),
    _learner("two cores", GAME_2584, ALONE, settings=TWO_CORES, minutes=(5,)),
    _learner("two cores, 5x6", GAME_2584, SEARCHES, settings=LARGEST, minutes=(60,)),
    STRONGEST,
    _learner("course, 21 values", GAME_2584, ALONE, settings={"values": 21}, **COURSE),
    _learner("course, 26 values", GAME_2584, ALONE, settings={"values": 26}, **COURSE),
    _learner("td, 100,000 games", GAME_2048, CLOSELY, preset="td", games=100_000),
    _learner("td, 100,000 games", GAME_2584, CLOSELY, preset="td", games=100_000),
    _learner("optimistic, 100,000 games", GAME_2048, CLOSELY, preset="optimistic", games=100_000),
)


def _td(label: str, games: int, network: str, **settings: Any) -> Sampled:
    settings["network"] = network
    return _learner(label, GAME_2048, CLOSELY, preset="td", settings=settings, games=games)


SIX_TUPLES = "0123 4567 012456 45689a"
# Published experiments, all with TD(0), as far as they are known; published.yml says what differs.
# Of Szubert and Jaśkowski, 2014, the numbers of games and the rates were not found.  Their program
# learns from 100,000 games, each entry by 0.01 δ, and with one random move in a thousand; a later
# one from 500,000; others who repeat it take 0.0025 δ.  A rate here is what all entries of a board
# remove of an error together: 17 and 32 times 0.0025.  No move is random.
REPRODUCTION = (
    _td("TDL2048-Demo, 4x6", 100_000, "4x6", direction="backward", learning_rate=0.1),
    _td("17 four-tuples", 1_000_000, "17x4", values=15, learning_rate=0.0425),
    _td("two four- and two six-tuples", 1_000_000, SIX_TUPLES, values=15, learning_rate=0.08),
)

# Strength against the time for a move.
FOR_SEARCH: Options = {
    **TWO_CORES,
    "stages": (12288, 16384, 24576),
    "stage_games": 30_000,
    "late_stages": (31744, 32512, 32768),
    "late_games": 100_000,  # after 30,000, games do not get far enough
    "averaging": 0.3,
}
_from_32768 = partial(Games, downgrade=32768)
SEARCH = (
    _learner(
        "two cores, for search",
        GAME_2048,
        (
            *CLOSELY,
            *(_from_32768(n, depth) for n, depth in ((10_000, 1), (300, 2), (1_000, 3), (100, 4))),
            *(_from_32768(n, 10, milliseconds=t) for n, t in ((300, 1), (300, 10), (10, 100))),
        ),
        settings=FOR_SEARCH,
        minutes=(240,),
    ),
)

DEEPER = (Games(1_000), Games(100, depth=2), Games(30, depth=3))
RECORDED = {
    "settings": {"replay_steps": 5_000},
    "replays": Recording(Training("ntuple", GAME_2048, settings=PLAIN, minutes=(1,)), episodes=100),
}
DEEP = (
    _learner("dqn", GAME_2048, DEEPER[:2], 3, agent="dqn", minutes=(12,)),
    _learner("dqn, an hour", GAME_2048, DEEPER, 3, agent="dqn", minutes=(60,)),
    _learner("dqn, an hour", GAME_2584, DEEPER[:2], agent="dqn", minutes=(60,)),
    _learner("dqn, after a strong agent", GAME_2048, ALONE, agent="dqn", minutes=(12,), **RECORDED),
    _learner("ppo", GAME_2048, ALONE, agent="ppo", minutes=(12,)),
    _learner("ppo, an hour", GAME_2048, DEEPER[:2], 3, agent="ppo", minutes=(60,)),
    _learner("dqn, cnn", GAME_2048, ALONE, agent="dqn", preset="cnn", minutes=(12,)),
    _learner("dqn, cnn", GAME_2584, ALONE, agent="dqn", preset="cnn", minutes=(12,)),
    _learner("dqn, cnn, an hour", GAME_2048, ALONE, agent="dqn", preset="cnn", minutes=(60,)),
    _learner("dqn, cnn, an hour", GAME_2584, ALONE, agent="dqn", preset="cnn", minutes=(60,)),
    _learner("ppo, cnn", GAME_2048, ALONE, agent="ppo", preset="cnn", minutes=(12,)),
    _learner("ppo, cnn", GAME_2584, ALONE, agent="ppo", preset="cnn", minutes=(12,)),
)

# A beginner's article: its own learner, from several seeds.
RECIPE = tuple(
    Measure(f"article, seed {seed}", "article", (), {"seed": seed, "iterations": 30})
    for seed in range(3)
)

# Small boards, on which everything is exact.
EXACT = (
    *(
        Exact(agent, Training(agent, env, {"shape": shape}))
        for agent in ("random", "greedy", "optimal")
        for env in (GAME_2048, GAME_2584)
        for shape in ([2, 2], [2, 3])
    ),
    *(
        Exact(f"{agent}, small", Training(agent, env, {"shape": [2, 3]}, preset="small"), seeds=n)
        for agent, n in (("qtable", 3), ("ntuple", 3), ("dqn", 1))
        for env in (GAME_2048, GAME_2584)
    ),
)

# A board that others have solved, so that a mean score is a fraction of the optimum.
LARGE_BOARD = (
    _learner(
        "two cores, 4×3",
        GAME_2048,
        (
            *(Games(10_000, depth) for depth in (1, 2, 3)),
            Games(1_000, depth=4),
            Games(300, depth=5),
            Games(1_000, depth=10, milliseconds=10),
        ),
        env_kwargs={"shape": [4, 3], "start_tiles": [2, 2]},
        settings={**TWO_CORES, "values": 12, "stages": (2048, 3072), "stage_games": 25_000},
        minutes=(10, 60),
    ),
)

# Tiles placed at random and by an adversary: players trained with each, and evaluated with both.
PLACED = {"random": "tiles placed at random", "adversary": "tiles placed by the adversary"}
LAST = replace(STRONGEST.training, minutes=STRONGEST.training.minutes[-1:])
BY_PLACER = tuple(Games(100, placer=placer) for placer in ("random", kinds.OWN_VALUES))
ADVERSARY = (
    *(
        _learner(
            f"{games:,} games, {PLACED[placer]}",
            env,
            [Games(1_000, placer=other) for other in PLACED],
            env_kwargs={**options, "placer": placer},
            settings=settings,
            games=games,
        )
        for env, options, settings, games in (
            (GAME_2048, {}, ALWAYS_RESTARTS, 10_000),
            (GAME_2584, ONE_AND_THREE, {"restart": 0, **PLAIN}, 100_000),
        )
        for placer in PLACED
    ),
    Sampled(STRONGEST.label, LAST, BY_PLACER),
)

# Measures, each with the modules that it measures, and those that say how.
SPEEDS = ("benchmarks.speed.peers", "benchmarks.speed.turns")
SOLVED = {GAME_2048: ((2, 2), (2, 3), (2, 4), (3, 3)), GAME_2584: ((2, 2), (2, 3))}
THREADS = {"turns": 7, "games": ("2048",), "sizes": (1024, 4096, 16384, 65536), "threads": True}
LOOPS = ("baselines.pushes", "tile_envs.base", "tile_envs.sliding")
ENGINES = ("tile_envs.base", "tile_envs.sliding", "tile_envs.tictactoe", "tile_envs.jax", *SPEEDS)
SOLVER, NETWORKS = ("baselines.solver", *LOOPS), ("baselines.ntuple", "baselines.search", *LOOPS)
BRIDGE = (*ENGINES, "tile_envs.plug.sb3", "baselines.deep", "benchmarks.speed.environments")
JAX = ("tile_envs.jax", "benchmarks.speed.environments", "benchmarks.libraries.purejax_ppo")

EXPERIMENTS: Experiments = {
    "agents": AGENTS,
    "crosstable": [kinds.Pairings(label, PLAYERS) for label in PLAYERS],
    "seeds": [Exact(label, each, seeds=6) for label, each in PLAYERS.items() if each.learns],
    "ntuple": NTUPLE,
    "reproduction": REPRODUCTION,
    "search": SEARCH,
    "deep": DEEP,
    "recipe": RECIPE,
    "exact": EXACT,
    "optimum": LARGE_BOARD,
    "adversary": ADVERSARY,
    "solved": [Measure("small boards", "speed.solutions", SOLVER, {"boards": SOLVED})],
    "kernels": [Measure("n-tuple networks", "speed.ntuple", (*NETWORKS, *SPEEDS), {"turns": 3})],
    "bridge": [Measure("SB3", "speed.sb3", BRIDGE, {"turns": 7})],
    "speed": [Measure("environments", "speed.environments", ENGINES, {"turns": 7})],
    "threads": [Measure("2048", "speed.environments", ENGINES, THREADS)],
    "accelerator": [Measure("JAX", "speed.accelerator", (*JAX, *SPEEDS))],
    "plug": [
        *map(kinds.Trained, ("Stable-Baselines3", "rl-zoo3", "RLlib", "TorchRL", "Tianshou")),
        *map(kinds.Trained, ("CleanRL style", "JAX", "mctx", "PettingZoo", "OpenSpiel")),
    ],
}


def select(chosen: Sequence[str]) -> Experiments:
    """Return the experiments of these tables, labels or "TABLE/LABEL"; all if none is chosen."""
    selected: dict[str, list[Experiment]] = {}
    unknown = {*chosen}
    for table, listed in EXPERIMENTS.items():
        for each in listed:
            names = {table, each.label, f"{table}/{each.label}"}
            if not chosen or names & {*chosen}:
                selected.setdefault(table, []).append(each)
            unknown -= names
    if unknown:
        raise UsageError(
            f"there is no {min(unknown)!r}: expected a table ({', '.join(EXPERIMENTS)}), or a "
            f"label such as {NTUPLE[-1].label!r}; `run --list` shows all."
        )
    return selected
