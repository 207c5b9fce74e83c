"""The numbers of a board's entries, as hand-written SIMD code.

LLVM does not vectorize a short loop over arrays that might overlap, and numba has no prefetch
instruction, which has memory fetched ahead of its use.  `_generate` writes both with llvmlite, on
which numba rests, in instructions that LLVM translates for any processor:

    for eight lanes at a time:
        sums = table[first line][lanes] + … + table[eighth line][lanes]   8 loads, 7 additions
        out[at + lanes] = sums                                            1 store
        for each lane: prefetch weights[base + sum]                       8 prefetches

Learning is about twice as fast as with a plain loop.
"""

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

LANES = 8
"""The number of elements of a vector."""

INT8, INT32, WORD = ir.IntType(8), ir.IntType(32), ir.IntType(64)
VECTOR = ir.VectorType(INT32, LANES)
FOR_READING, KEEP_CLOSE, DATA = (ir.Constant(INT32, choice) for choice in (0, 3, 1))


def round_up(lanes: int) -> int:
    """Return a number of lanes, filled up to whole vectors."""
    return -(-lanes // LANES) * LANES


# numba's `intrinsic` asks a function for an operation's type, and for what generates its code.
def _add_up(
    typing: Any, table: Any, lines: Any, used: Any, out: Any, at: Any, weights: Any, base: Any
) -> Any:
    return types.void(table, lines, used, out, at, weights, base), _generate


add_up: Any = intrinsic(_add_up)
"""Writes the sum of eight lines of a table, and prefetches the weights that its elements number.

It takes `table`, `(n * round_up(len(used)),) uint32`, n lines; the numbers of `lines`; the lanes in
use, a tuple whose length carries their number at compile time; `out`, `uint32`, which receives the
sum from index `at` on; and `weights`, of which those at `base` plus each element of the sum will be
read soon.
"""


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


def _change_vector(typing: Any, sums: Any, table: Any, places: Any, weights: Any, base: Any) -> Any:
    return types.void(sums, table, places, weights, base), _generate_change


change_vector: Any = intrinsic(_change_vector)
"""Writes the sum of a vector of `sums` and two of a table, and prefetches as `add_up` does.

Without weights, it is the difference.  Places are where the vector begins, where those of the table
do, and where the result goes in the sums.
"""


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
