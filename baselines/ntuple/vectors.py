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

INT8, INT32, WORD = ir.IntType(8), ir.IntType(32), ir.IntType(64)
VECTOR = ir.VectorType(INT32, LANES)
FOR_READING, KEEP_CLOSE, DATA = (ir.Constant(INT32, choice) for choice in (0, 3, 1))


def _add_up(
    typing: Any, table: Any, lines: Any, used: Any, out: Any, at: Any, read: Any, base: Any
) -> Any:
    """Write the sum of several lines of a table, and prefetch what it points to.

    Written as a loop this takes seven times as long: LLVM gives no vectors to short loops whose
    arrays might overlap.

    Args:
        typing: Numba's; not given by the caller.
        table: `uint32`; its lines have as many numbers as are used, filled up to whole vectors.
        lines: A tuple of `uint64`: the numbers of the lines; 2, 4 or 8 of them.
        used: A tuple of any kind with an element for every number that is used; that its length is
            part of its type lets all this be made without a loop.
        out: `uint32`, as long as a line or longer.
        at: `uint64`, where in it the sum goes.
        read: Of any type; its elements at `base` plus each number of the sum will be read soon,
            and the processor is told to fetch them while it goes on.
        base: `uint64`.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        table, lines, _, out, at, read, base = arguments
        table_type, lines_type, used_type, out_type, _, read_type, _ = signature.args
        vectors = -(-used_type.count // LANES)
        begins = []
        for i in range(lines_type.count):
            line = builder.extract_value(lines, i)
            begin = builder.mul(line, ir.Constant(WORD, vectors * LANES))
            begins.append(_address(context, builder, table_type, table, begin))
        end = _address(context, builder, out_type, out, at)
        goal = _address(context, builder, read_type, read, base)
        for first in range(0, used_type.count, LANES):
            place = [ir.Constant(WORD, first)]
            sums = [
                builder.load(_vector(builder, builder.gep(begin, place)), align=4)
                for begin in begins
            ]
            while len(sums) > 1:
                sums = [builder.add(x, y) for x, y in zip(sums[::2], sums[1::2], strict=True)]
            builder.store(sums[0], _vector(builder, builder.gep(end, place)), align=4)
            for lane in range(min(LANES, used_type.count - first)):
                number = builder.extract_element(sums[0], ir.Constant(INT32, lane))
                _prefetch(builder, builder.gep(goal, [builder.zext(number, WORD)]))
        return context.get_dummy_value()

    return types.void(table, lines, used, out, at, read, base), generate


add_up: Any = intrinsic(_add_up)


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
