"""Measures environments, ours with their own sampler beside other packages that are installed."""

from collections.abc import Sequence
from functools import partial
from importlib.util import find_spec
from itertools import compress, product
from random import Random
from typing import Any

import gymnasium as gym
import numpy as np

import tile_envs  # noqa: F401
from baselines.settings import usable_cores
from benchmarks.results import Row
from benchmarks.speed.peers import JaxPlay, Peer, Play, held_jax, installed, repeat
from benchmarks.speed.turns import BY_WALL_CLOCK, OURS, measure_speeds

GAMES = {"2048": "Tiles2048-v0", "2584": "Tiles2584-v0", "tic-tac-toe": "TicTacToe-v0"}
LARGE = {"2048, 5×5": (5, 5), "2048, 6×6": (6, 6)}
SIZES = (1, 8, 64, 256, 1024, 4096, 16384, 65536)
JAX = "jax"
SECONDS = 0.7


def measure(
    turns: int,
    games: Sequence[str] = (*GAMES, *LARGE),
    sizes: Sequence[int] = SIZES,
    seconds: float = SECONDS,
    threads: bool = False,
) -> list[Row]:
    """Measure ours and the others side by side, in turns of about so many CPU seconds.

    With `threads`, those that have some are measured by wall clock, with 1, 2, 4, ... threads, up
    to the number of cores.
    """
    others = [peer for peer in installed() if peer.game in games]
    batches: dict[str, Any] = {e: partial(_vector, engine=e) for e in ("numpy", "numba")}
    batches |= {JAX: twin} if find_spec("jax") else {}
    ours: list[Peer] = []
    for game in games:
        for n in sorted({*sizes, *(peer.num_envs for peer in others if peer.game == game)}):
            kinds = {"single": _single} if n == 1 else batches
            ours += [Peer(OURS, game, kind, n, partial(make, game)) for kind, make in kinds.items()]
    candidates = [*ours, *others]
    if threads:
        candidates = [
            peer._replace(make=partial(peer.make, threads=k), threads=k, measure=BY_WALL_CLOCK)
            for peer in candidates
            if peer.kind == "numba" or peer.package == "envpool"
            for k in (2**i for i in range(usable_cores().bit_length()))
        ]
    return measure_speeds(candidates, turns, seconds)


def _options(game: str) -> dict[str, Any]:
    return {"id": GAMES["2048"], "shape": LARGE[game]} if game in LARGE else {"id": GAMES[game]}


def _vector(game: str, num_envs: int, engine: str, **options: Any) -> Play:
    envs: Any = gym.make_vec(**_options(game), num_envs=num_envs, engine=engine, **options)
    envs.reset(seed=0)
    envs.action_space.seed(0)
    answered = bool(envs.game.sides)
    due = 0  # games that the next step resets; no ply is played there

    def play_step() -> int:
        nonlocal due
        _, rewards, terminations, _, _ = envs.step(envs.sample_legal_actions())
        played = num_envs - due
        if answered:  # by the opponent, unless our own mark was the last
            played += num_envs - due - int(np.count_nonzero(terminations & (rewards >= 0)))
        due = int(np.count_nonzero(terminations))
        return played

    return repeat(play_step)


def twin(game: str, num_envs: int) -> JaxPlay:
    """Return what plays our games in JAX, each mark of tic-tac-toe as a step."""
    jax = held_jax()
    import jax.numpy as jnp

    from tile_envs.jax import make

    options = _options(game) | ({"side": "both"} if game == "tic-tac-toe" else {})
    env = make(options.pop("id"), **options)

    def tick(carry: Any) -> Any:
        states, _, key = carry
        key, bits_key = jax.random.split(key)
        bits = jax.random.bits(bits_key, (num_envs, 2))
        states, step = jax.vmap(env.step)(states, jax.vmap(env.choose)(states, bits[:, 0]))
        begun = jax.vmap(env.begin)(bits)
        return jax.tree.map(partial(jnp.where, states.over), begun, states), step, key

    states = jax.jit(jax.vmap(env.begin))(jnp.arange(num_envs))
    _, step = jax.jit(jax.vmap(env.step))(states, jnp.zeros(num_envs, jnp.int32))
    return JaxPlay(tick, (states, step, jax.random.key(0)), num_envs)


def _single(game: str, num_envs: int) -> Play:
    env = gym.make(**_options(game))
    answered = bool(env.unwrapped.game.sides)  # type: ignore[attr-defined]
    n_actions = int(env.action_space.n)  # type: ignore[attr-defined]
    masks = product((0, 1), repeat=n_actions)
    legal = {bytes(mask): [*compress(range(n_actions), mask)] for mask in masks}
    random = Random(0).random
    env.reset(seed=0)

    def play_game() -> int:
        played, terminated = 0, False
        _, info = env.reset()
        while not terminated:
            actions = legal[info["action_mask"].tobytes()]
            _, reward, terminated, _, info = env.step(actions[int(random() * len(actions))])
            played += 1 + (answered and not (terminated and float(reward) >= 0))
        return played

    return repeat(play_game)
