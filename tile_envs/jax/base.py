"""What the games share: seeds, what a step brings, and the model for search."""

from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from tile_envs.base import checks
from tile_envs.errors import UsageError
from tile_envs.game import Game
from tile_envs.jax import words
from tile_envs.jax.words import Word

jit_method = partial(jax.jit, static_argnums=0)
"""Compiles a method once for all equal games; within compiled functions it changes nothing."""


class Step(NamedTuple):
    """What a step brings."""

    observation: Any  # `(R, C)`
    reward: Any  # `float32`, rounded where that does not hold it; `info["reward"]` is exact
    terminated: Any  # `bool`, whether the game has ended
    truncated: Any  # `bool`, whether there were `max_illegal` illegal actions in a row
    info: dict[str, Any]  # by the names in the manual of the environment; and `reward`


class Afterstate(NamedTuple):
    """What an action makes of a state, before anything is drawn."""

    state: Any  # with the position after the action, and without a random stream
    legal: Any  # `bool`, whether the action was legal
    reward: Any  # what it pays, exactly


class Replies(NamedTuple):
    """What may follow an afterstate, by chance index."""

    states: Any
    steps: Step
    probabilities: Any


@dataclass(frozen=True)
class JaxEnv:
    """The functions of one game, for `jax.jit`, `vmap` and `scan`; a value, as the game is.

    A state is a named tuple of one game; `jax.vmap` takes many.  Its `stream` is the random stream,
    of which no search should know.  Games that are `over`, terminated or truncated, do not change.
    An action that is illegal, or outside the action space, changes nothing but the count of such
    actions in a row, of which `max_illegal` truncate the game.

    For search, an action leads to an afterstate, and a chance index from there to a state, whose
    stream is 0.  Where nothing is drawn, every index leads to the same state, and 0 is certain.
    """

    game: Game
    max_illegal: int = 100

    @staticmethod
    def seed_of(key: Any) -> Any:
        """Return a key of JAX as a seed, `uint32[2]`; that of `jax.random.key(7)` is 7."""
        return jax.random.key_data(key)[..., -2:]

    def begin(self, seed: Any, board: Any = None, **position: Any) -> Any:
        """Return the state of the game that `reset(seed=seed)` of an environment begins.

        A seed is an integer, Python's or a scalar, or `uint32[2]`, the high word first, as of
        `halves`, without which `jax.vmap` cuts those of numpy to 32 bits.  The board `(R, C)` and
        the position are options of `reset`.

        Raises:
            ValueError: If the seed or the position is unusable; of a traced board, only shape and
                dtype are checked.
        """
        given = position if board is None else {"board": board, **position}
        checks.checked_options(dict.fromkeys(given), self.game.reset_options)
        if given:
            known = {name: value for name, value in given.items() if not _is_traced(value)}
            words = {n: int(v.to_numpy()) for n, v in known.items() if isinstance(v, Word)}
            if _is_traced(board):
                known["board"] = np.zeros(board.shape, board.dtype)
            self.game.checked_positions(known | words)
        scores = {name: Word.of(value) for name, value in position.items()}
        return self._begin(Word.of(seed), board, **scores)

    @jit_method
    def step(self, state: Any, action: Any) -> Any:
        """Play an action, and what the random stream draws; return the state and the `Step`."""
        return self._draw(self.afterstate(state, action), state.stream)

    def observation(self, state: Any) -> Any:
        """Return the board, `(R, C)`, also of the state in an afterstate."""
        return self.observe(state)[0]

    def legal(self, state: Any) -> Any:
        """Return the legal actions as bits, `int32`."""
        return state.legal.astype(jnp.int32)

    def mask(self, state: Any) -> Any:
        """Return the legal actions, `(n_actions,) bool`."""
        actions = jnp.arange(self.game.n_actions, dtype=jnp.int32)
        return (self.legal(state)[..., None] >> actions & 1) > 0

    def choose(self, state: Any, bits: Any) -> Any:
        """Turn 32 random bits, or the upper ones of 64, into a legal action; 0 if there is none."""
        bits = np.uint32(bits) if type(bits) is int else bits
        if getattr(bits, "dtype", None) not in (np.uint32, np.uint64):
            raise UsageError(
                f"random bits must be uint32, as of jax.random.bits, got {checks.brief(bits)}."
            )
        upper = (bits >> (bits.dtype.itemsize * 8 - 32)).astype(np.uint32)
        legal = self.legal(state)
        k = words.choose(upper, jnp.bitwise_count(legal).astype(jnp.uint32)).astype(jnp.int32)
        # Before the action are those up to which there are k legal ones or fewer.
        counts = [jnp.bitwise_count(legal & (2 << i) - 1) for i in range(self.game.n_actions)]
        return sum((count <= k).astype(jnp.int32) for count in counts) * (legal > 0)

    def afterstates(self, state: Any) -> Afterstate:
        """Return what each action makes of a state, `(n_actions, ...)`."""
        return Afterstate(*_for_each(self.game.n_actions, self.afterstate, state, state))

    def replies(self, afterstate: Afterstate) -> Replies:
        """Return all that may follow an afterstate, by chance index, `(n_chances, ...)`."""
        states, steps = _for_each(self.n_chances, self.spawn, afterstate, afterstate.state)
        return Replies(states, steps, self.probabilities(afterstate))

    # What a game adds.

    n_chances: ClassVar[Any]
    """The number of chance indices."""
    observe: ClassVar[Any]
    """Of a state: its observation and infos, all but those of a step."""
    afterstate: ClassVar[Any]
    """Of a state and an action: the `Afterstate`."""
    spawn: ClassVar[Any]
    """Of an afterstate and a chance index: the state and `Step`; an occupied cell stays so."""
    probabilities: ClassVar[Any]
    """Of an afterstate: those of the chance indices, `(n_chances,) float32`."""
    _begin: ClassVar[Any]
    _draw: ClassVar[Any]

    def _count(self, state: Any, action: Any) -> tuple[Any, Any, Any]:
        """Return an action or -1, whether it is legal, the state without stream that counts it."""
        check_one(state)
        action = index_of(action, self.game.n_actions, "action")
        legal = (action >= 0) & ~state.over & (self.legal(state) >> action & 1 > 0)
        run = jnp.where(legal, 0, state.illegal_run + (~state.over).astype(jnp.int32))
        stream = jax.tree.map(jnp.zeros_like, state.stream)
        return action, legal, state._replace(stream=stream, illegal_run=run)

    def _finish(self, state: Any, legal: Any, reward: Any) -> tuple[Any, Step]:
        """Return the state that a step has led to, over or not, and what the step brings."""
        terminated, truncated = state.legal == 0, state.illegal_run >= self.max_illegal
        state = state._replace(over=terminated | truncated)
        observation, info = self.observe(state)
        info |= {"reward": reward, "illegal": ~legal}
        number = reward.to_float() if isinstance(reward, Word) else reward.astype(jnp.float32)
        return state, Step(observation, number, terminated, truncated, info)


def check_one(state: Any) -> None:
    """Refuse the state of many games."""
    if shape := jnp.shape(state.over):
        raise UsageError(f"expected the state of one game, got {shape} games: jax.vmap takes many.")


def index_of(value: Any, n: int, name: str) -> Any:
    """Return an integer below n as `int32`, others as -1; refuse what is no integer."""
    number = jnp.asarray(value)
    if number.shape or not jnp.issubdtype(number.dtype, jnp.integer):
        raise UsageError(
            f"{name} must be one integer from 0 to {n - 1} (jax.vmap takes many), "
            f"got {number.dtype} of shape {number.shape}."
        )
    return jnp.where((number >= 0) & (number < n), number.astype(jnp.int32), -1)


def look_up(table: NDArray[Any], index: Any) -> Any:
    """Return `table[index]`; it lies where the index does, which explicit axes of a mesh ask."""
    take = partial(jnp.take, jnp.asarray(table), mode="clip")
    sharding = jax.typeof(index).sharding if hasattr(jax, "typeof") else None  # JAX 0.6 has it
    if sharding is None or not sharding.mesh.explicit_axes:
        return take(index)
    return jax.sharding.auto_axes(take, out_sharding=sharding)(index)


def _for_each(n: int, function: Any, start: Any, state: Any) -> Any:
    """Return what a function makes of the start, which holds the state, and each number below n."""
    # On a mesh with explicit axes, `jax.vmap` itself copies nothing without `jax.set_mesh`.
    starts = jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (n, *jnp.shape(leaf))), start)
    return jax.vmap(function)(starts, jnp.arange(n, dtype=jnp.int32) + (state.illegal_run & 0))


def _is_traced(value: Any) -> bool:
    return any(isinstance(leaf, jax.core.Tracer) for leaf in jax.tree.leaves(value))
