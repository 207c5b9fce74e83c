"""Machine instructions that numba does not reach by itself, as a function for compiled code.

The code for them is made with llvmlite, on which numba rests, and runs on any processor.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

LANES = 8
"""How many numbers one vector has."""

INT8, INT32 = ir.IntType(8), ir.IntType(32)
VECTOR = ir.VectorType(INT32, LANES)
FOR_READING, KEEP_CLOSE, DATA = (ir.Constant(INT32, choice) for choice in (0, 3, 1))


def _add_up(typing: Any, table: Any, begins: Any, out: Any, at: Any, array: Any, base: Any) -> Any:
    """Write the sum of several vectors of a table, and prefetch what it points to.

    Written as a loop this takes seven times as long: LLVM gives no vectors to short loops whose
    arrays might overlap.

    Args:
        typing: Numba's; not given by the caller.
        table: `uint32`.
        begins: A tuple of `uint64`: where in the table each vector begins; 2, 4 or 8 of them.
        out: `uint32`.
        at: `uint64`, where in it the sum goes.
        array: Of any type; its elements at `base` plus each number of the sum will be read soon,
            and the processor is told to fetch them while it goes on.
        base: `uint64`.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        table, begins, out, at, array, base = arguments
        table_type, begins_type, out_type, _, array_type, _ = signature.args
        sums = []
        for i in range(begins_type.count):
            begin = builder.extract_value(begins, i)
            address = _address(context, builder, table_type, table, begin)
            sums.append(builder.load(builder.bitcast(address, VECTOR.as_pointer()), align=4))
        while len(sums) > 1:
            sums = [builder.add(x, y) for x, y in zip(sums[::2], sums[1::2], strict=True)]
        address = _address(context, builder, out_type, out, at)
        builder.store(sums[0], builder.bitcast(address, VECTOR.as_pointer()), align=4)
        pointer = INT8.as_pointer()
        kind = ir.FunctionType(ir.VoidType(), [pointer, INT32, INT32, INT32])
        fetch = builder.module.declare_intrinsic("llvm.prefetch", fnty=kind)
        begin = _address(context, builder, array_type, array, base)
        for lane in range(LANES):
            number = builder.extract_element(sums[0], ir.Constant(INT32, lane))
            place = builder.gep(begin, [builder.zext(number, ir.IntType(64))])
            place = builder.bitcast(place, pointer)
            builder.call(fetch, [place, FOR_READING, KEEP_CLOSE, DATA])
        return context.get_dummy_value()

    return types.void(table, begins, out, at, array, base), generate


add_up: Any = intrinsic(_add_up)


def _address(context: Any, builder: Any, kind: Any, array: Any, at: Any) -> Any:
    return builder.gep(context.make_array(kind)(context, builder, array).data, [at])
