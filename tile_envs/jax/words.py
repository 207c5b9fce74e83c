"""64-bit words as two of 32 bits, as JAX has no others by default, and SplitMix64 over them."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from tile_envs.base.checks import as_array, as_integer, brief
from tile_envs.base.random_stream import LOW_HALF, MIX_FACTORS, MIX_SHIFTS, STRIDE, checked_seeds
from tile_envs.errors import UsageError


class Word(NamedTuple):
    """An unsigned integer of 64 bits, `high * 2**32 + low`, both `uint32`, of one game or many."""

    high: Any
    low: Any

    @classmethod
    def of(cls, value: Any) -> "Word":
        """Return an integer modulo 2**64: Python's, a scalar, or `uint32[2]`, the high word first.

        A `ValueError` refuses other values.
        """
        if isinstance(value, Word):
            return value
        if (number := as_integer(value)) is not None:
            return cls(np.uint32(number >> 32 & LOW_HALF), np.uint32(number & LOW_HALF))
        array: Any = value if isinstance(value, jax.Array) else as_array(value)
        if array.shape == (2,) and array.dtype == jnp.uint32:
            return cls(array[0], array[1])
        if array.shape == () and jnp.issubdtype(array.dtype, jnp.integer):
            high = array >> 32 if array.dtype.itemsize == 8 else -(array < 0).astype(jnp.uint32)
            return cls(high.astype(jnp.uint32), array.astype(jnp.uint32))
        raise UsageError(
            f"a seed must be an integer or uint32[2], as of halves or seed_of, got {brief(value)}; "
            "jax.vmap takes many."
        )

    def to_float(self) -> Any:
        """Return the nearest `float32`, or one of the two nearest from 2**32 on."""
        return jnp.float32(self.high) * jnp.float32(2**32) + jnp.float32(self.low)

    def to_numpy(self) -> NDArray[np.uint64]:
        """Return it exactly, outside of compiled functions."""
        high, low = (np.asarray(half).astype(np.uint64) for half in self)
        return high << np.uint64(32) | low


def halves(integers: Any) -> Any:
    """Return integers modulo 2**64 `(n,)` as `(n, 2) uint32`, which `jax.vmap(env.begin)` takes.

    A `ValueError` refuses other values.
    """
    wide = checked_seeds(np.asarray(integers) if isinstance(integers, jax.Array) else integers)
    return jnp.asarray(np.stack([wide >> np.uint64(32), wide], axis=-1).astype(np.uint32))


def add(a: Word, b: Word) -> Word:
    """Return the sum modulo 2**64."""
    low = a.low + b.low
    return Word(a.high + b.high + (low < b.low).astype(jnp.uint32), low)


def draw(position: Word, draws: Any = 1) -> tuple[Word, Word]:
    """Return where a random stream is after 0 draws or 1, and the word that it has there."""
    position = add(position, Word(*(half * jnp.uint32(draws) for half in Word.of(STRIDE))))
    return position, mix(position)


def mix(position: Word) -> Word:
    for shift, factor in zip(MIX_SHIFTS, (*MIX_FACTORS, 1), strict=True):
        low = position.low >> shift | position.high << (32 - shift)
        folded = Word(position.high ^ position.high >> shift, position.low ^ low)
        position = _times(folded, Word.of(factor))
    return position


def choose(bits: Any, n: Any) -> Any:
    """Turn 32 random bits into an index below n, up to 2**16, as `random_stream.choose` does."""
    return ((bits >> 16) * n + ((bits & 0xFFFF) * n >> 16)) >> 16


def _times(word: Word, by: Word) -> Word:
    """Return the product modulo 2**64."""
    (a, b), (c, d) = ((low >> 16, low & 0xFFFF) for low in (word.low, by.low))
    ad, bc = a * d, b * c
    carried = (b * d >> 16) + (ad & 0xFFFF) + (bc & 0xFFFF)
    high = a * c + (ad >> 16) + (bc >> 16) + (carried >> 16)  # of the product of the low halves
    return Word(high + word.high * by.low + word.low * by.high, word.low * by.low)
