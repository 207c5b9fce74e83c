"""Other packages' 2048 and tic-tac-toe, played at random as fast as their public APIs allow.

A step of 2048 is a legal move with the new tile that follows it, one of tic-tac-toe a mark set by
either player.  A peer is imported when it is made, and plays in its fastest way.  JAX and EnvPool
are held to one thread, with which they get the most out of their CPU time, and JAX to the CPU, too,
unless JAX_PLATFORMS is set.
"""

import importlib.util
import os
import time
from collections.abc import Callable, Sequence
from functools import partial
from random import Random
from typing import Any, NamedTuple

import numpy as np

STEPS_PER_SECOND = "steps per second"
Play = Callable[[int], int]  # plays at least that many steps and returns how many it played
_SEED = 0
_TICKS_PER_CALL = 64  # enough that the cost of calling disappears


class Peer(NamedTuple):
    """A game in a package.

    Attributes:
        package: The name that pip knows the package by.
        kind: "single" for one game at a time, "vector" or another for a batch of games.
        num_envs: Games at once.
        make: Imports and compiles it for a number of games; only what it returns is timed.
        measure: What is measured: one of `CLOCKS` in `turns`.
    """

    package: str
    game: str
    kind: str
    num_envs: int
    make: Callable[[int], Play]
    threads: int = 1
    measure: str = STEPS_PER_SECOND


def installed() -> list[Peer]:
    return [
        Peer(package, game, kind, num_envs, make)
        for package, game, kind, sizes, make in PEERS
        if all(map(importlib.util.find_spec, MODULES[package]))
        for num_envs in sizes
    ]


def repeat(play_some: Callable[[], int]) -> Play:
    """Return what plays on until there are enough steps, given what plays and counts a few."""

    def play(steps: int) -> int:
        played = 0
        while played < steps:
            played += play_some()
        return played

    return play


def held_jax() -> Any:
    """Return JAX, held to one thread of the CPU unless it has computed something already."""
    # XLA's thread pool has this size; `--xla_cpu_multi_thread_eigen=false` leaves the threads.
    if os.environ.get("JAX_PLATFORMS", "cpu") == "cpu":
        os.environ["NPROC"] = "1"

    import jax

    if "JAX_PLATFORMS" not in os.environ:
        jax.config.update("jax_platforms", "cpu")
    return jax


def _random_legal(key: Any, mask: Any) -> Any:
    """Draw a legal action per game by one random number; `jax.random.categorical` draws four."""
    import jax
    import jax.numpy as jnp

    rank = jnp.cumsum(mask, axis=-1)
    num_legal = rank[:, -1]
    chosen = (jax.random.uniform(key, num_legal.shape) * num_legal).astype(rank.dtype)
    return jnp.argmax(rank > chosen[:, None], axis=-1).astype(jnp.int32)


class JaxPlay:
    """Plays by `tick`, which steps every game of a batch once, in compiled calls of many ticks.

    Attributes:
        seconds: The time that compiling took.
        size: The bytes that a compiled call holds.
    """

    def __init__(self, tick: Callable[[Any], Any], carry: Any, num_envs: int) -> None:
        import jax

        def body(carry: Any, _: None) -> tuple[Any, None]:
            # XLA then computes all that a step returns, observations included.
            return jax.lax.optimization_barrier(tick(carry)), None

        def run(carry: Any) -> Any:
            return jax.lax.scan(body, carry, length=_TICKS_PER_CALL)[0]

        began = time.perf_counter()
        self._run = jax.jit(run).lower(carry).compile()
        self.seconds = time.perf_counter() - began
        held: Any = self._run.memory_analysis()
        self.size = held.argument_size_in_bytes + held.temp_size_in_bytes
        self._carry, self._wait = carry, jax.block_until_ready
        self._steps = num_envs * _TICKS_PER_CALL

    def __call__(self, steps: int) -> int:
        calls = -(-steps // self._steps)
        for _ in range(calls):
            self._carry = self._run(self._carry)
        self._wait(self._carry)
        return calls * self._steps


def _pgx(name: Any, num_envs: int) -> Play:
    jax = held_jax()
    import pgx
    from pgx.experimental import auto_reset

    env = pgx.make(name)
    step = jax.vmap(auto_reset(env.step, env.init))

    def tick(carry: Any) -> Any:
        state, key = carry
        key, action_key, step_key = jax.random.split(key, 3)
        action = _random_legal(action_key, state.legal_action_mask)
        return step(state, action, jax.random.split(step_key, num_envs)), key

    key, reset_key = jax.random.split(jax.random.key(_SEED))
    state = jax.jit(jax.vmap(env.init))(jax.random.split(reset_key, num_envs))
    return JaxPlay(tick, (state, key), num_envs)


def _jumanji_2048(side: int, num_envs: int) -> Play:
    jax = held_jax()
    import jumanji
    from jumanji.wrappers import AutoResetWrapper, VmapWrapper

    env = VmapWrapper(AutoResetWrapper(jumanji.make("Game2048-v1", board_size=side)))

    def tick(carry: Any) -> Any:
        state, timestep, key = carry
        key, action_key = jax.random.split(key)
        action = _random_legal(action_key, timestep.observation.action_mask)
        return *env.step(state, action), key

    key, reset_key = jax.random.split(jax.random.key(_SEED))
    state, timestep = jax.jit(env.reset)(jax.random.split(reset_key, num_envs))
    return JaxPlay(tick, (state, timestep, key), num_envs)


def _open_spiel(name: str, num_envs: int) -> Play:
    import pyspiel

    game, has_chance, random = pyspiel.load_game(name), name == "2048", Random(_SEED).random

    def play_game() -> int:  # no observation tensors, which would slow it down
        played, state = 0, game.new_initial_state()
        while legal := state.legal_actions():
            if has_chance and state.is_chance_node():
                # A 2 and a 4 for each empty cell in turn: faster than `pyspiel.sample_action`.
                index = 2 * int(random() * (len(legal) // 2)) + (random() < 0.1)
            else:
                index = int(random() * len(legal))
                played += 1
            state.apply_action(legal[index])
        return played

    return repeat(play_game)


def _gymnasium_2048(side: int, num_envs: int) -> Play:
    os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
    import gymnasium

    env_id = "gymnasium_2048:gymnasium_2048/TwentyFortyEight-v0"
    env, random = gymnasium.make(env_id, size=side, disable_env_checker=True), Random(_SEED).random
    env.reset(seed=_SEED)

    def play_game() -> int:
        # It has no mask: illegal moves, which change nothing, are not counted and not repeated.
        played, terminated, untried = 0, False, [0, 1, 2, 3]
        env.reset()
        while not terminated:
            action = untried.pop(int(random() * len(untried)))
            _, _, terminated, _, info = env.step(action)
            if info["is_legal"]:
                played += 1
                untried = [0, 1, 2, 3]
        return played

    return repeat(play_game)


def _envpool(env_id: str, num_envs: int, threads: int = 1) -> Play:
    import envpool

    envs = envpool.make_gymnasium(env_id, num_envs=num_envs, num_threads=threads, seed=_SEED)
    rng = np.random.default_rng(_SEED)
    observations, infos = envs.reset()
    due = 0  # games that the next step resets

    def play_step() -> int:
        nonlocal observations, infos, due
        is_of_pgx = "legal_action_mask" in infos  # the others are games of jumanji
        masks = infos["legal_action_mask"] if is_of_pgx else observations["action_mask"]
        actions = (rng.random(masks.shape) * masks).argmax(axis=1)
        observations, _, terminations, truncations, infos = envs.step(actions)
        played = num_envs - due
        due = int(np.count_nonzero(terminations | truncations))
        return played

    return repeat(play_step)


def _pettingzoo_tic_tac_toe(num_envs: int) -> Play:
    os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
    from pettingzoo.classic import tictactoe_v3

    # The wrappers of `tictactoe_v3.env` look out for illegal moves, of which there are none here.
    env, random = tictactoe_v3.raw_env(), Random(_SEED).random

    def play_game() -> int:
        played = 0
        env.reset()
        while not env.terminations[env.agent_selection]:
            legal = env.observe(env.agent_selection)["action_mask"].nonzero()[0]
            env.step(int(legal[int(random() * len(legal))]))
            played += 1
        return played

    return repeat(play_game)


MODULES = {
    "pgx": ("jax", "pgx"),
    "jumanji": ("jax", "jumanji"),
    "envpool": ("envpool",),
    "gymnasium-2048": ("gymnasium_2048", "pygame"),
    "open_spiel": ("pyspiel",),
    "pettingzoo": ("pettingzoo", "pygame"),
}
"""By package, the modules that it needs."""
PEERS: tuple[tuple[str, str, str, Sequence[int], Callable[[int], Play]], ...] = (
    ("pgx", "2048", "vector", (64, 1024, 2048, 16384), partial(_pgx, "2048")),
    ("jumanji", "2048", "vector", (64, 1024, 2048, 16384), partial(_jumanji_2048, 4)),
    ("jumanji", "2048, 5×5", "vector", (64, 1024, 16384), partial(_jumanji_2048, 5)),
    ("envpool", "2048", "Game2048-v1", (64, 1024, 4096), partial(_envpool, "Game2048-v1")),
    ("envpool", "2048", "Play2048-v1", (64, 1024, 4096), partial(_envpool, "Play2048-v1")),
    ("gymnasium-2048", "2048", "single", (1,), partial(_gymnasium_2048, 4)),
    ("gymnasium-2048", "2048, 5×5", "single", (1,), partial(_gymnasium_2048, 5)),
    ("open_spiel", "2048", "single", (1,), partial(_open_spiel, "2048")),
    ("envpool", "tic-tac-toe", "TicTacToe-v1", (64, 1024), partial(_envpool, "TicTacToe-v1")),
    ("pgx", "tic-tac-toe", "vector", (64, 1024, 8192, 65536), partial(_pgx, "tic_tac_toe")),
    ("open_spiel", "tic-tac-toe", "single", (1,), partial(_open_spiel, "tic_tac_toe")),
    ("pettingzoo", "tic-tac-toe", "single", (1,), _pettingzoo_tic_tac_toe),
)
"""Each peer: package, game, kind, batch sizes, its best among them, and what makes it."""
