"""Measures games in JAX on the device that JAX uses, ours beside other packages that are installed.

Steps are those of `environments`, in calls of 64 ticks; the speed is the median of three turns, by
the clock, or on a CPU (JAX_PLATFORMS=cpu) by CPU time.  First, a million steps are compared with
numpy's.  On an accelerator PPO learns 2048, too, and plays 1,000 games as all agents do.
"""

import time
import traceback
from collections.abc import Iterator, Sequence
from functools import partial
from importlib.metadata import version
from typing import Any

import jax
import numpy as np

from baselines.evaluation import sampled
from baselines.evaluation.intervals import interval_of_mean
from benchmarks.results import Row, processor
from benchmarks.speed.environments import twin
from benchmarks.speed.peers import Play, installed
from benchmarks.speed.turns import OURS, now, statistics_of
from tile_envs.jax import halves, make

SIZES = (1 << 20, 1 << 14, 1 << 17, 1 << 10)  # the most informative first
GAMES = ("2048", "2048, 5×5", "2584", "tic-tac-toe")
PEERS = ("pgx", "jumanji")
PPO = {"num_envs": 8192, "num_minibatches": 16, "learning_rate": 1e-3}  # keeps an accelerator busy


def measure(sizes: Sequence[int] = SIZES, seconds: float = 200, minutes: float = 5) -> list[Row]:
    """Measure speeds as long as there are seconds left; on an accelerator, PPO for minutes."""
    about: Row = {"device": jax.devices()[0].device_kind, "jax": jax.__version__, "run": now()}
    if is_cpu := about["device"] == "cpu":
        about["device"] = processor()
    same_steps(5_000, 200)
    rows = [*speeds(sizes, seconds, time.process_time if is_cpu else time.perf_counter)]
    return [about | row for row in (rows if is_cpu else [*rows, ppo(minutes)])]


def same_steps(n: int, steps: int) -> None:
    """Play random actions here and in numpy, and fail if a step is not the same."""
    env, seeds = make("Tiles2048-v0", max_illegal=2**31 - 1), np.arange(n, dtype=np.uint64) << 32
    actions = np.random.default_rng(0).integers(4, size=(steps, n))
    run = jax.jit(partial(jax.lax.scan, jax.vmap(env.step)))
    after, taken = run(jax.vmap(env.begin)(halves(seeds)), actions)
    parts = map(np.asarray, (taken.observation, taken.reward, taken.terminated))
    state = env.game.begin(seeds)
    for *ours, of_games in zip(*parts, actions, strict=True):
        state, step = env.game.step(state, of_games)
        theirs = step.observations, step.rewards, step.terminations
        assert all(map(np.array_equal, ours, theirs))
    assert np.array_equal(after.stream.to_numpy(), state.streams)
    assert np.array_equal(after.score.to_numpy(), state.scores)


def speeds(sizes: Sequence[int], seconds: float, clock: Any) -> Iterator[Row]:
    """Yield a row for each number of games, game and package, as long as time is left."""
    until, theirs = time.time() + seconds, [p for p in installed() if p.package in PEERS]
    candidates: list[Any] = [(OURS, game, partial(twin, game)) for game in GAMES]
    candidates += dict.fromkeys((peer.package, peer.game, peer.make) for peer in theirs)
    for n in sizes:
        made: list[tuple[Row, Any, list[float]]] = []
        for package, game, make_play in candidates:
            if time.time() > until:
                continue
            row = {"package": package, "package_version": version(package), "game": game}
            try:
                play: Play = make_play(n)
                play(1)
                made.append((row | {"num_envs": n}, play, []))
            except Exception:  # a broken peer must not cost the others their rows
                traceback.print_exc()
        for _ in range(3):
            for _, play, turns in made:
                began, played = clock(), 0
                while (taken := clock() - began) < 0.3:
                    played += play(1)
                turns.append(played / taken)
        for row, play, turns in made:
            held = {"compile_s": round(play.seconds, 2), "bytes": round(play.size / n, 1)}
            yield row | statistics_of(turns) | held


def ppo(minutes: float) -> Row:
    from benchmarks.libraries.purejax_ppo import Args, train

    args = Args(minutes=minutes, **PPO)
    agent, metrics = train(args)
    scores = sampled.play(agent, args.env_id, episodes=1_000).returns
    row = {"package": "PPO", "game": "2048", "num_envs": args.num_envs, "minutes": minutes}
    row |= {"value": float(f"{metrics['steps/s']:.4g}"), "steps": agent.steps, "seed": args.seed}
    row |= {"episodes": len(scores), "mean": float(scores.mean())}
    return row | interval_of_mean(scores, are_outcomes=False)
