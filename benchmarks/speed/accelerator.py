"""Measures games in JAX on the device that JAX uses, ours beside other packages that are installed.

    python -m benchmarks.speed.accelerator --out benchmarks/results/accelerator.csv

Steps are those of `environments`, in calls of 64 ticks, timed by the clock: the median of three
turns.  First, a million steps of our games are compared with numpy's.  With `--ppo`, PPO learns
2048 for so many minutes, and plays 1,000 games on the numpy engine.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Iterator
from functools import partial
from importlib.metadata import version
from itertools import chain
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

import tile_envs
from benchmarks.results import Row, add, processor
from benchmarks.speed.environments import twin
from benchmarks.speed.peers import PEERS, JaxPlay, installed
from benchmarks.speed.turns import OURS, now

SIZES = (1 << 10, 1 << 14, 1 << 17, 1 << 20)
GAMES = ("2048", "2048, 5×5", "2584", "tic-tac-toe")
PPO = {"num_envs": 8192, "num_minibatches": 16, "learning_rate": 1e-3}
"""What keeps an accelerator busy."""


def same_steps(n: int, steps: int) -> int:
    """Play random actions here and in numpy; return how many steps were the same, or fail."""
    import jax

    from tile_envs.jax import halves, make

    env, seeds = make("Tiles2048-v0", max_illegal=2**31 - 1), np.arange(n, dtype=np.uint64) << 32
    actions = np.random.default_rng(0).integers(4, size=(steps, n))
    play = jax.jit(partial(jax.lax.scan, jax.vmap(env.step)))
    after, taken = play(jax.vmap(env.begin)(halves(seeds)), actions)
    observations, rewards, terminations = map(
        np.asarray, (taken.observation, taken.reward, taken.terminated)
    )
    state = env.game.begin(seeds)
    for i in range(steps):
        state, step = env.game.step(state, actions[i])
        assert np.array_equal(observations[i], step.observations)
        assert np.array_equal(rewards[i], step.rewards)
        assert np.array_equal(terminations[i], step.terminations)
    assert np.array_equal(after.stream.to_numpy(), state.streams)
    assert np.array_equal(after.score.to_numpy(), state.scores)
    return n * steps


def speeds(seconds: float) -> Iterator[Row]:
    """Yield a row for each game, package and number of games, as long as time is left."""
    until = time.perf_counter() + seconds
    packages = {peer.package for peer in installed()} & {"pgx", "jumanji"}
    candidates = [(OURS, game, partial(twin, game)) for game in GAMES]
    candidates += [(p, game, make) for p, game, _, _, make in PEERS if p in packages]  # type: ignore[misc]
    for n in reversed(SIZES):
        for package, game, make in candidates:
            if time.perf_counter() > until:
                return
            play: Any = make(n)
            assert isinstance(play, JaxPlay)
            play(1)
            turns = []
            for _ in range(3):
                began, played = time.perf_counter(), 0
                while (taken := time.perf_counter() - began) < 0.3:
                    played += play(1)
                turns.append(played / taken)
            row = {"package": package, "package_version": _version(package), "game": game}
            row |= {"num_envs": n, "value": float(f"{median(turns):.4g}")}
            yield row | {"compile_s": round(play.seconds, 2), "bytes": round(play.size / n, 1)}


def _version(package: str) -> str:
    return tile_envs.__version__ if package == OURS else version(package)


def ppo(minutes: float) -> Row:
    """Let PPO learn 2048, and play 1,000 games on the numpy engine."""
    from benchmarks.libraries.purejax_ppo import Args, train

    args = Args(minutes=minutes, **PPO)
    agent, metrics = train(args)
    game: Any = agent.env.game
    state = game.begin(np.arange(1_000) + (1 << 40))
    while not state.over.all():
        boards, masks = game.observe(state)[0], game.masks(state)
        state, _ = game.step(state, agent.predict(boards, masks))
    row = {"package": "PPO", "game": "2048", "num_envs": args.num_envs}
    row |= {"value": float(f"{metrics['steps/s']:.4g}"), "mean": float(state.scores.mean())}
    return row | {"minutes": minutes, "steps": agent.steps}


def main() -> None:
    """Print the rows, and write them to a file if one is given."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, help="the file of the rows, accelerator.csv")
    parser.add_argument("--seconds", type=float, default=200, help="time for the speeds")
    parser.add_argument("--ppo", type=float, default=0, help="minutes of PPO")
    options = parser.parse_args()
    os.environ.setdefault("JAX_PLATFORMS", "")
    import jax

    about = {"device": jax.devices()[0].device_kind, "jax": jax.__version__, "run": now()}
    if about["device"] == "cpu":
        about["device"] = processor()
    print(f"{about}: {same_steps(5_000, 200):,} steps equal numpy's", flush=True)
    for row in chain(speeds(options.seconds), [ppo(options.ppo)] if options.ppo else []):
        print(json.dumps(row), flush=True)
        if options.out:
            add(options.out.parent, options.out.stem, [about | row])


if __name__ == "__main__":
    main()
