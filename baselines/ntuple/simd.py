"""Sums of parts of a table, as hand-written SIMD code.

LLVM does not vectorize a short loop over arrays that might overlap, and numba cannot prefetch, so
`_generate` writes both with llvmlite, for any processor.  Learning is about twice as fast with it.
"""

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

LANES = 8  # the number of elements of a vector
INT8, INT32, WORD = ir.IntType(8), ir.IntType(32), ir.IntType(64)
VECTOR = ir.VectorType(INT32, LANES)
FOR_READING, KEEP_CLOSE, DATA = (ir.Constant(INT32, choice) for choice in (0, 3, 1))


def round_up(lanes: int) -> int:
    return -(-lanes // LANES) * LANES


# numba's `intrinsic` asks a function for an operation's type, and for what generates its code.
def _add_up(
    _: Any, table: Any, starts: Any, used: Any, sums: Any, places: Any, weights: Any, base: Any
) -> tuple[Any, Any]:
    return types.void(table, starts, used, sums, places, weights, base), _generate


add_up: Any = intrinsic(_add_up)
"""Writes the sum of some parts of a table, and prefetches the weights that its elements number.

    for eight lanes at a time:
        sums[to + lanes] = table[first start + lanes] + table[second start + lanes] + …
        for each lane: prefetch weights[base + sum]

The parts, two, four or eight, begin at `starts`, and are as long as the tuple `used`.  `table` and
`sums` are `uint32`.  Places are `(to,)`, or `(before, to)` to add it all to the part of `sums` that
begins at `before`: without weights, to subtract it from there.
"""


def _generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    table, starts, _, sums, places, weights, base = arguments
    table_type, starts_type, used_type, sums_type, places_type, weights_type, _ = signature.args

    def addresses(kind: Any, array: Any, indices: Any, count: int) -> list[Any]:
        data = context.make_array(kind)(context, builder, array).data
        return [builder.gep(data, [builder.extract_value(indices, i)]) for i in range(count)]

    parts = addresses(table_type, table, starts, starts_type.count)
    *before, to = addresses(sums_type, sums, places, places_type.count)
    has_weights = not isinstance(weights_type, types.NoneType)
    for first in range(0, used_type.count, LANES):
        vectors = [builder.load(_vector(builder, part, first), align=4) for part in parts]
        while len(vectors) > 1:
            vectors = [builder.add(x, y) for x, y in zip(vectors[::2], vectors[1::2], strict=True)]
        (result,) = vectors
        for each in before:
            combine = builder.add if has_weights else builder.sub
            result = combine(builder.load(_vector(builder, each, first), align=4), result)
        builder.store(result, _vector(builder, to, first), align=4)
        if has_weights:
            begin = context.make_array(weights_type)(context, builder, weights).data
            count = min(LANES, used_type.count - first)
            _prefetch(builder, result, count, builder.gep(begin, [base]))
    return context.get_dummy_value()


def _vector(builder: Any, part: Any, first: int) -> Any:
    return builder.bitcast(builder.gep(part, [ir.Constant(WORD, first)]), VECTOR.as_pointer())


def _prefetch(builder: Any, numbers: Any, count: int, begin: Any) -> None:
    pointer = INT8.as_pointer()
    kind = ir.FunctionType(ir.VoidType(), [pointer, INT32, INT32, INT32])
    fetch = builder.module.declare_intrinsic("llvm.prefetch", fnty=kind)
    for lane in range(count):
        number = builder.zext(builder.extract_element(numbers, ir.Constant(INT32, lane)), WORD)
        address = builder.bitcast(builder.gep(begin, [number]), pointer)
        builder.call(fetch, [address, FOR_READING, KEEP_CLOSE, DATA])
