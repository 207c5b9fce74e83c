"""The numbers of a board's entries: by vector instructions made by hand, or by a plain loop.

LLVM makes no vector instructions of a short loop over arrays that might overlap, and numba has no
prefetch instruction, which has memory fetched ahead of its use.  Here both are made with llvmlite,
on which numba rests; they run on any processor.

The plain loop gives the same numbers, and learning takes about twice as long.  It is used where the
vector instructions cannot be made, and everywhere with the environment variable
`BASELINES_VECTORS=off`.
"""

from __future__ import annotations

import os
import warnings
from functools import cache
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from tile_envs.base.compiled import compiled, compiled_loop

LANES = 8
"""The number of elements of a vector."""

SWITCH = "BASELINES_VECTORS"

Word = np.uint64
INT8, INT32, WORD = ir.IntType(8), ir.IntType(32), ir.IntType(64)
VECTOR = ir.VectorType(INT32, LANES)
FOR_READING, KEEP_CLOSE, DATA = (ir.Constant(INT32, choice) for choice in (0, 3, 1))


def padded(lanes: int) -> int:
    """Return a number of lanes, filled up to whole vectors."""
    return -(-lanes // LANES) * LANES


@compiled
def add_up(
    vectors: bool | None,
    table: NDArray[np.uint32],
    lines: tuple[Word, ...],
    used: tuple[Word, ...],
    out: NDArray[np.uint32],
    at: Word,
    read: NDArray[Any],
    base: Word,
) -> None:
    """Write the sum of eight lines of a table, and prefetch what its elements point to.

    Args:
        vectors: See `choice`.
        table: `(n * padded(len(used)),) uint32`, n lines.
        lines: The numbers of the lines.
        used: A tuple with an element for each lane in use.  Its length carries the number of lanes
            at compile time, so that vector instructions need no loop.
        out: `uint32`, an array with room for a line ...
        at: ... from this index on.
        read: An array.  Its elements at `base` plus each element of the sum will be read soon, so
            the processor is asked to fetch them.  The plain loop does without.
        base: The first of these elements.
    """
    if vectors is None:
        lanes = Word(-(-len(used) // LANES) * LANES)  # padded(len(used)), as compiled code
        i, j, k, m, n, o, p, q = lines
        for lane in range(lanes):
            total = table[i * lanes + lane] + table[j * lanes + lane]
            total += table[k * lanes + lane] + table[m * lanes + lane]
            total += table[n * lanes + lane] + table[o * lanes + lane]
            total += table[p * lanes + lane] + table[q * lanes + lane]
            out[at + lane] = total
    else:
        _add_up(table, lines, used, out, at, read, base)


def _typed(
    typing: Any, table: Any, lines: Any, used: Any, out: Any, at: Any, read: Any, base: Any
) -> Any:
    """Return the type of the vector instructions, and the function that makes them."""
    return types.void(table, lines, used, out, at, read, base), _generate


_add_up: Any = intrinsic(_typed)


def _generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """Make the vector instructions: eight loads, seven additions and a store for each vector."""
    table, lines, _, out, at, read, base = arguments
    table_type, lines_type, used_type, out_type, _, read_type, _ = signature.args
    lanes = ir.Constant(WORD, padded(used_type.count))
    begins = []
    for i in range(lines_type.count):
        begin = builder.mul(builder.extract_value(lines, i), lanes)
        begins.append(_address(context, builder, table_type, table, begin))
    end = _address(context, builder, out_type, out, at)
    goal = _address(context, builder, read_type, read, base)
    for first in range(0, used_type.count, LANES):
        place = [ir.Constant(WORD, first)]
        sums = [
            builder.load(_vector(builder, builder.gep(begin, place)), align=4) for begin in begins
        ]
        while len(sums) > 1:
            sums = [builder.add(x, y) for x, y in zip(sums[::2], sums[1::2], strict=True)]
        builder.store(sums[0], _vector(builder, builder.gep(end, place)), align=4)
        for lane in range(min(LANES, used_type.count - first)):
            number = builder.extract_element(sums[0], ir.Constant(INT32, lane))
            _prefetch(builder, builder.gep(goal, [builder.zext(number, WORD)]))
    return context.get_dummy_value()


def _address(context: Any, builder: Any, kind: Any, array: Any, at: Any) -> Any:
    return builder.gep(context.make_array(kind)(context, builder, array).data, [at])


def _vector(builder: Any, address: Any) -> Any:
    return builder.bitcast(address, VECTOR.as_pointer())


def _prefetch(builder: Any, address: Any) -> None:
    pointer = INT8.as_pointer()
    kind = ir.FunctionType(ir.VoidType(), [pointer, INT32, INT32, INT32])
    fetch = builder.module.declare_intrinsic("llvm.prefetch", fnty=kind)
    address = builder.bitcast(address, pointer)
    builder.call(fetch, [address, FOR_READING, KEEP_CLOSE, DATA])


@cache
def choice() -> bool | None:
    """Return True for vector instructions, None for the plain loop.

    Code is compiled, and kept on disk, for each combination of types.  These two are of different
    types, so that neither ever runs the code of the other.
    """
    if os.environ.get(SWITCH) == "off":
        return None
    table, total = np.arange(8 * LANES, dtype=np.uint32), np.zeros(LANES, np.uint32)
    try:
        _try_vectors(table, total)
    except Exception as error:  # whatever another version of llvmlite or LLVM raises
        reason = str(error)
    else:
        if np.array_equal(total, table.reshape(8, LANES).sum(axis=0)):
            return True
        reason = f"the sum was {total.tolist()}"
    warnings.warn(
        f"n-tuple networks do without vector instructions, at half the speed: {reason}",
        RuntimeWarning,
        stacklevel=2,
    )
    return None


@compiled_loop
def _try_vectors(table: NDArray[np.uint32], total: NDArray[np.uint32]) -> None:
    numbers = (Word(0), Word(1), Word(2), Word(3), Word(4), Word(5), Word(6), Word(7))
    add_up(True, table, numbers, numbers, total, Word(0), table, Word(0))
