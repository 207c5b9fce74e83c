"""The numbers of a board's entries, as hand-written SIMD code or as a plain loop.

LLVM does not vectorize a short loop over arrays that might overlap, and numba has no prefetch
instruction, which has memory fetched ahead of its use.  `_generate` writes both with llvmlite, on
which numba rests, in instructions that LLVM translates for any processor:

    for eight lanes at a time:
        sums = table[first line][lanes] + … + table[eighth line][lanes]   8 loads, 7 additions
        out[at + lanes] = sums                                            1 store
        for each lane: prefetch weights[base + sum]                       8 prefetches

The plain loop gives the same numbers, and learning takes about twice as long.  It is used where the
instructions cannot be generated.
"""

from __future__ import annotations

import warnings
from functools import cache
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from tile_envs.base.compiled import Word, compiled, compiled_loop

LANES = 8
"""The number of elements of a vector."""

INT8, INT32, WORD = ir.IntType(8), ir.IntType(32), ir.IntType(64)
VECTOR = ir.VectorType(INT32, LANES)
FOR_READING, KEEP_CLOSE, DATA = (ir.Constant(INT32, choice) for choice in (0, 3, 1))


def round_up(lanes: int) -> int:
    """Return a number of lanes, filled up to whole vectors."""
    return -(-lanes // LANES) * LANES


@compiled
def add_up(
    simd: bool | None,
    table: NDArray[np.uint32],
    lines: tuple[Word, ...],
    used: tuple[Word, ...],
    out: NDArray[np.uint32],
    at: Word,
    weights: NDArray[Any],
    base: Word,
) -> None:
    """Write the sum of eight lines of a table, and prefetch the weights that its elements number.

    Args:
        simd: See `simd_or_none`.
        table: `(n * round_up(len(used)),) uint32`, n lines.
        lines: The numbers of the lines.
        used: The lanes in use.  The tuple's length carries their number at compile time.
        out: `uint32`, receives the sum from index `at` on.
        at: Where the sum begins.
        weights: Those at `base` plus each element of the sum will be read soon.
        base: What is added to the elements.
    """
    if simd is None:
        lanes = Word(-(-len(used) // LANES) * LANES)  # round_up(len(used)), as compiled code
        i, j, k, m, n, o, p, q = lines
        for lane in range(lanes):
            total = table[i * lanes + lane] + table[j * lanes + lane]
            total += table[k * lanes + lane] + table[m * lanes + lane]
            total += table[n * lanes + lane] + table[o * lanes + lane]
            total += table[p * lanes + lane] + table[q * lanes + lane]
            out[at + lane] = total
    else:
        _add_up(table, lines, used, out, at, weights, base)


# numba's `intrinsic` asks a function for an operation's type, and for what generates its code.
def _typed(
    typing: Any, table: Any, lines: Any, used: Any, out: Any, at: Any, weights: Any, base: Any
) -> Any:
    return types.void(table, lines, used, out, at, weights, base), _generate


_add_up: Any = intrinsic(_typed)


def _generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    table, lines, _, out, at, weights, base = arguments
    table_type, lines_type, used_type, out_type, _, weights_type, _ = signature.args
    lanes = ir.Constant(WORD, round_up(used_type.count))
    line_starts = []
    for i in range(lines_type.count):
        start = builder.mul(builder.extract_value(lines, i), lanes)
        line_starts.append(_address(context, builder, table_type, table, start))
    out_start = _address(context, builder, out_type, out, at)
    weights_start = _address(context, builder, weights_type, weights, base)
    for first in range(0, used_type.count, LANES):
        place = [ir.Constant(WORD, first)]
        sums = [
            builder.load(_vector(builder, builder.gep(start, place)), align=4)
            for start in line_starts
        ]
        while len(sums) > 1:
            sums = [builder.add(x, y) for x, y in zip(sums[::2], sums[1::2], strict=True)]
        builder.store(sums[0], _vector(builder, builder.gep(out_start, place)), align=4)
        _prefetch(builder, sums[0], min(LANES, used_type.count - first), weights_start)
    return context.get_dummy_value()


@compiled
def change_vector(
    simd: bool | None,
    sums: NDArray[np.uint32],
    table: NDArray[np.uint32],
    places: tuple[Word, Word, Word, Word],
    weights: NDArray[Any] | None,
    base: Word | None,
) -> None:
    """Write the sum of a vector of `sums` and two of a table, and prefetch as `add_up` does.

    Without weights, it is the difference.  Places are where the vector begins, where those of the
    table do, and where the result goes in the sums.
    """
    if simd is None:
        at, i, j, to = places
        for lane in range(Word(LANES)):
            change = table[i + lane] + table[j + lane]
            sums[to + lane] = sums[at + lane] + (-change if weights is None else change)
    else:
        _change_vector(sums, table, places, weights, base)


def _typed_change(typing: Any, sums: Any, table: Any, places: Any, weights: Any, base: Any) -> Any:
    return types.void(sums, table, places, weights, base), _generate_change


_change_vector: Any = intrinsic(_typed_change)


def _generate_change(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    (sums, table, places, weights, base), kinds = arguments, signature.args

    def place(array: Any, number: int) -> Any:
        kind = kinds[0] if array is sums else kinds[1]
        at = builder.extract_value(places, number)
        return _vector(builder, _address(context, builder, kind, array, at))

    before, first, second = (
        builder.load(place(array, i), align=4) for i, array in enumerate((sums, table, table))
    )
    adds = not isinstance(kinds[3], types.NoneType)
    combine = builder.add if adds else builder.sub
    result = combine(before, builder.add(first, second))
    builder.store(result, place(sums, 3), align=4)
    if adds:
        _prefetch(builder, result, LANES, _address(context, builder, kinds[3], weights, base))
    return context.get_dummy_value()


def _address(context: Any, builder: Any, kind: Any, array: Any, at: Any) -> Any:
    return builder.gep(context.make_array(kind)(context, builder, array).data, [at])


def _vector(builder: Any, address: Any) -> Any:
    return builder.bitcast(address, VECTOR.as_pointer())


def _prefetch(builder: Any, numbers: Any, count: int, begin: Any) -> None:
    pointer = INT8.as_pointer()
    kind = ir.FunctionType(ir.VoidType(), [pointer, INT32, INT32, INT32])
    fetch = builder.module.declare_intrinsic("llvm.prefetch", fnty=kind)
    for lane in range(count):
        number = builder.zext(builder.extract_element(numbers, ir.Constant(INT32, lane)), WORD)
        address = builder.bitcast(builder.gep(begin, [number]), pointer)
        builder.call(fetch, [address, FOR_READING, KEEP_CLOSE, DATA])


@cache
def simd_or_none() -> bool | None:
    """Return True for SIMD code, None for the plain loop.

    The two are of different types, so that compiled code is that of one of them.
    """
    table, total = np.arange(8 * LANES, dtype=np.uint32), np.zeros(LANES, np.uint32)
    try:
        _try_simd(table, total)
        if (total != table.reshape(8, LANES).sum(axis=0)).any():
            raise ArithmeticError(f"the sum was {total.tolist()}")
    except Exception as error:  # whatever another version of llvmlite or LLVM raises
        warning = f"n-tuple networks do without SIMD code, at half the speed: {error}"
        warnings.warn(warning, RuntimeWarning, stacklevel=2)
        return None
    return True


@compiled_loop
def _try_simd(table: NDArray[np.uint32], total: NDArray[np.uint32]) -> None:
    numbers = (Word(0), Word(1), Word(2), Word(3), Word(4), Word(5), Word(6), Word(7))
    add_up(True, table, numbers, numbers, total, Word(0), table, Word(0))
