"""Measures games in JAX on the device that JAX uses, ours beside other packages that are installed.

    python -m benchmarks.speed.accelerator --out benchmarks/results/accelerator.csv

Steps are those of `environments`, in calls of 64 ticks; the speed is the median of three turns, by
the clock, or on a CPU (JAX_PLATFORMS=cpu) by CPU time.  On an accelerator our games are measured
with their loops written out, too.  First, a million steps are compared with numpy's.  With `--ppo`,
PPO learns 2048 for so many minutes, and plays 1,000 games on the numpy engine.
"""

import argparse
import json
import os
import time
import traceback
from collections.abc import Iterator, Sequence
from functools import partial
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any
from unittest.mock import patch

import numpy as np

import tile_envs
from benchmarks.results import Row, add, processor
from benchmarks.speed.environments import twin
from benchmarks.speed.peers import PEERS, JaxPlay, installed
from benchmarks.speed.turns import OURS, now

SIZES = (1 << 20, 1 << 14, 1 << 17, 1 << 10)
"""The games at once, the most informative first."""
UNROLLED = f"{OURS}, loops written out"
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


def speeds(sizes: Sequence[int], seconds: float) -> Iterator[Row]:
    """Yield a row for each number of games, game and package, as long as time is left."""
    import jax

    is_cpu = jax.default_backend() == "cpu"
    clock, until = time.process_time if is_cpu else time.perf_counter, time.time() + seconds
    packages = {peer.package for peer in installed()} & {"pgx", "jumanji"}
    candidates = [(OURS, game, partial(twin, game)) for game in GAMES]
    candidates += [] if is_cpu else [(UNROLLED, "2048", _unrolled)]
    candidates += [(p, game, make) for p, game, _, _, make in PEERS if p in packages]  # type: ignore[misc]
    for n in sizes:
        made: list[tuple[Row, Any, list[float]]] = []
        for package, game, make in candidates:
            if time.time() > until:
                continue
            row = {"package": package, "package_version": _version(package), "game": game}
            try:
                play: Any = make(n)
                play(1)
            except Exception:  # a broken peer must not cost the others their rows
                traceback.print_exc()
            else:
                made.append((row | {"num_envs": n}, play, []))
        for _ in range(3):
            for _, play, turns in made:
                began, played = clock(), 0
                while (taken := clock() - began) < 0.3:
                    played += play(1)
                turns.append(played / taken)
        for row, play, turns in made:
            row["value"] = float(f"{median(turns):.4g}")
            yield row | {"compile_s": round(play.seconds, 2), "bytes": round(play.size / n, 1)}


def _unrolled(num_envs: int) -> JaxPlay:
    from jax import lax

    from tile_envs.jax import sliding

    with patch.object(sliding, "_repeat", partial(lax.fori_loop, 0, unroll=True)):
        return twin("2048", num_envs)


def _version(package: str) -> str:
    return tile_envs.__version__ if package.startswith(OURS) else version(package)


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


def _rows(options: argparse.Namespace) -> Iterator[Row]:
    yield from speeds(options.sizes, options.seconds)
    if options.ppo:
        yield ppo(options.ppo)


def main() -> None:
    """Print the rows, and write them to a file if one is given."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, help="the file of the rows, accelerator.csv")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="games at once")
    parser.add_argument("--seconds", type=float, default=200, help="time for the speeds")
    parser.add_argument("--ppo", type=float, default=0, help="minutes of PPO")
    options = parser.parse_args()
    os.environ.setdefault("JAX_PLATFORMS", "")
    import jax

    about = {"device": jax.devices()[0].device_kind, "jax": jax.__version__, "run": now()}
    if about["device"] == "cpu":
        about["device"] = processor()
    print(f"{about}: {same_steps(5_000, 200):,} steps equal numpy's", flush=True)
    for row in _rows(options):
        print(json.dumps(row), flush=True)
        if options.out:
            add(options.out.parent, options.out.stem, [about | row])


if __name__ == "__main__":
    main()
