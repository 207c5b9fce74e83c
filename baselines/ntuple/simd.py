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
        for lane in range(min(LANES, used_type.count - first)):
            number = builder.extract_element(sums[0], ir.Constant(INT32, lane))
            _prefetch(builder, builder.gep(weights_start, [builder.zext(number, WORD)]))
    return context.get_dummy_value()


def _address(context: Any, builder: Any, kind: Any, array: Any, at: Any) -> Any:
    return builder.gep(context.make_array(kind)(context, builder, array).data, [at])


def _vector(builder: Any, address: Any) -> Any:
    return builder.bitcast(address, VECTOR.as_pointer())


def _prefetch(builder: Any, address: Any) -> None:
    pointer = INT8.as_pointer()
    kind = ir.FunctionType(ir.VoidType(), [pointer, INT32, INT32, INT32])
    fetch = builder.module.declare_intrinsic("llvm.prefetch", fnty=kind)
    builder.call(fetch, [builder.bitcast(address, pointer), FOR_READING, KEEP_CLOSE, DATA])


@cache
def simd_or_none() -> bool | None:
    """Return True for SIMD code, None for the plain loop.

    The two are of different types, so that compiled code is that of one of them.
    """
    table, total = np.arange(8 * LANES, dtype=np.uint32), np.zeros(LANES, np.uint32)
    try:
        _try_simd(table, total)
    except Exception as error:  # whatever another version of llvmlite or LLVM raises
        reason = str(error)
    else:
        if np.array_equal(total, table.reshape(8, LANES).sum(axis=0)):
            return True
        reason = f"the sum was {total.tolist()}"
    warnings.warn(
        f"n-tuple networks do without SIMD code, at half the speed: {reason}",
        RuntimeWarning,
        stacklevel=2,
    )
    return None


@compiled_loop
def _try_simd(table: NDArray[np.uint32], total: NDArray[np.uint32]) -> None:
    numbers = (Word(0), Word(1), Word(2), Word(3), Word(4), Word(5), Word(6), Word(7))
    add_up(True, table, numbers, numbers, total, Word(0), table, Word(0))
