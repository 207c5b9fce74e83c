"""What the games share: seeds, what a step brings, and the model for search."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Generic, NamedTuple, TypeVar

from tile_envs.errors import UsageError, extra
from tile_envs.game import Game
from tile_envs.jax import words
from tile_envs.jax.words import Word

with extra("jax"):
    import jax
    import jax.numpy as jnp

AGame = TypeVar("AGame", bound=Game)


class Step(NamedTuple):
    """What a step brings.

    Attributes:
        observation: `(R, C)`.
        reward: `float32`, rounded where that does not hold it; `info["reward"]` is exact.
        terminated: `bool`, whether the game has ended.
        truncated: `bool`, whether there were `max_illegal` illegal actions in a row.
        info: By the names in the manual of the environment; and `reward`.
    """

    observation: Any
    reward: Any
    terminated: Any
    truncated: Any
    info: dict[str, Any]


class Replies(NamedTuple):
    """What may follow an afterstate, by chance index: states, steps, and their probabilities."""

    states: Any
    steps: Step
    probabilities: Any


class JaxEnv(ABC, Generic[AGame]):
    """The functions of one game, for `jax.jit`, `vmap` and `scan`; a value, as the game is.

    A state is a named tuple.  Its `stream` is the random stream of the game, of which no search
    should know.  Games that are `over`, terminated or truncated, do not change.  An action that is
    illegal, or outside the action space, changes nothing but the count of such actions in a row.

    For search, an action leads to an afterstate, and a chance index from there to a state, whose
    stream is 0.  Where nothing is drawn, every index leads to the same state, and 0 is certain.

    Attributes:
        game: The game in numpy.
        max_illegal: Consecutive illegal actions that truncate an episode.
    """

    def __init__(self, game: AGame, max_illegal: int = 100) -> None:
        if max_illegal >= 1 << 31:
            raise UsageError(f"max_illegal must be below 2**31 in JAX, got {max_illegal}.")
        self.game, self.max_illegal = game, max_illegal

    def __eq__(self, other: object) -> bool:
        is_same = isinstance(other, type(self)) and other.max_illegal == self.max_illegal
        return is_same and other.game == self.game

    def __hash__(self) -> int:  # functions of equal environments are compiled once
        return hash((self.game, self.max_illegal))

    @property
    @abstractmethod
    def n_chances(self) -> int:
        """How many chance indices there are."""

    @staticmethod
    def seed_of(key: Any) -> Any:
        """Return a key of JAX as a seed, `uint32[2]`; that of `jax.random.key(7)` is 7."""
        is_typed = jnp.issubdtype(key.dtype, jax.dtypes.prng_key)
        return (jax.random.key_data(key) if is_typed else key)[..., -2:]

    def begin(self, seed: Any, board: Any = None, **position: Any) -> Any:
        """Return the state of the game that `reset(seed=seed)` of an environment begins.

        Args:
            seed: An integer, Python's or a scalar, or `uint32[2]`, the high word first.
            board: What to begin with instead, `(R, C)`, as in the options of `reset`.
            position: Their other options.

        Raises:
            ValueError: If the seed or the position is unusable; traced boards are not checked.
        """
        stream = words.mix(Word.of(seed))
        if board is None:
            return self._begin(stream)
        if not isinstance(board, jax.core.Tracer):
            self.game.checked_positions({"board": board, **position})
        return self._begin_at(stream, jnp.asarray(board), **position)

    @abstractmethod
    def _begin(self, stream: Word) -> Any:
        """Begin a game where its random stream is."""

    @abstractmethod
    def _begin_at(self, stream: Word, board: Any, **position: Any) -> Any:
        """Begin a game at a position."""

    def step(self, state: Any, action: Any) -> tuple[Any, Step]:
        """Play an action, and what the state's own random stream draws; see `Game.step`."""
        return self._draw(self.afterstate(state, action), state.stream)

    @abstractmethod
    def _draw(self, afterstate: Any, stream: Word) -> tuple[Any, Step]:
        """Draw what follows an afterstate from a random stream."""

    def mask(self, state: Any) -> Any:
        """Return the legal actions, `(n_actions,) bool`."""
        return (self.legal(state)[..., None] >> jnp.arange(self.game.n_actions) & 1) > 0

    @abstractmethod
    def legal(self, state: Any) -> Any:
        """Return the legal actions as bits, `int32`."""

    def choose(self, state: Any, bits: Any) -> Any:
        """Turn 32 random bits, `uint32`, into a legal action, `int32`; 0 if there is none."""
        legal = self.legal(state)
        left = words.choose(bits, jax.lax.population_count(legal).astype(jnp.uint32))
        chosen = jnp.zeros_like(legal)
        for action in range(self.game.n_actions):
            is_legal = (legal >> action & 1).astype(jnp.uint32)
            chosen += action * (is_legal & (left == 0)).astype(jnp.int32)
            left -= is_legal  # beyond 0 it is large
        return chosen

    @abstractmethod
    def observation(self, position: Any) -> Any:
        """Return the board of a state or an afterstate, `(R, C)`, as the player sees it."""

    @abstractmethod
    def observe(self, state: Any) -> tuple[Any, dict[str, Any]]:
        """Return the observation and infos of a state, all but those of a step."""

    def _illegal_run(self, state: Any, legal: Any) -> Any:
        """Return the illegal actions in a row after another action."""
        return jnp.where(legal, 0, state.illegal_run + (~state.over).astype(jnp.int32))

    # The model for search.

    @abstractmethod
    def afterstate(self, state: Any, action: Any) -> Any:
        """Return what an action makes of a state."""

    def afterstates(self, state: Any) -> Any:
        """Return what each action makes of a state, `(n_actions, ...)`."""
        actions = jnp.arange(self.game.n_actions)
        return jax.vmap(self.afterstate, in_axes=(None, 0))(state, actions)

    @abstractmethod
    def spawn(self, afterstate: Any, index: Any) -> tuple[Any, Step]:
        """Return what follows an afterstate by a chance index, as `step` does."""

    @abstractmethod
    def probabilities(self, afterstate: Any) -> Any:
        """Return those of the chance indices, `(n_chances,) float32`."""

    def replies(self, afterstate: Any) -> Replies:
        """Return all that may follow an afterstate, by chance index, `(n_chances, ...)`."""
        indices = jnp.arange(self.n_chances)
        states, steps = jax.vmap(self.spawn, in_axes=(None, 0))(afterstate, indices)
        return Replies(states, steps, self.probabilities(afterstate))
