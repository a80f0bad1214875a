"""Inner loops of transforms, eight numbers at a time, written in the compiler's own vectors.

Loops over arrays would do the same at half the speed, because the compiler cannot know that arrays do not overlap, and
unrolled by hand they take ten times as long to compile. Machines with shorter vectors get the same in more steps.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic as _intrinsic

intrinsic: Any = _intrinsic

LANES = 8
_VECTOR = ir.VectorType(ir.DoubleType(), LANES)
_ANY = ir.Constant(_VECTOR, ir.Undefined)
_PLACES = ir.VectorType(ir.IntType(32), LANES)


def _count(value: int) -> Any:
    return ir.Constant(ir.IntType(64), value)


class _Code:
    """The instructions that the steps below are made of."""

    def __init__(self, context: Any, builder: Any) -> None:
        self._context, self.build = context, builder

    def data(self, kind: Any, array: Any) -> Any:
        """Where the numbers of an array begin."""
        return self._context.make_array(kind)(self._context, self.build, value=array).data

    def _at(self, data: Any, place: Any) -> Any:
        return self.build.bitcast(self.build.gep(data, [place]), _VECTOR.as_pointer())

    def load(self, data: Any, place: Any) -> Any:
        return self.build.load(self._at(data, place), align=8)

    def store(self, value: Any, data: Any, place: Any) -> None:
        self.build.store(value, self._at(data, place), align=8)

    def times_plus(self, a: Any, b: Any, c: Any) -> Any:
        """A b + c, rounded once where the machine can."""
        return self.build.fadd(self.build.fmul(a, b, flags=("contract",)), c, flags=("contract",))

    def all(self, x: Any) -> Any:
        """A vector of one number."""
        one = self.build.insert_element(_ANY, x, ir.Constant(ir.IntType(32), 0))
        return self.build.shuffle_vector(one, _ANY, ir.Constant(_PLACES, [0] * LANES))

    def reversed(self, vector: Any) -> Any:
        return self.build.shuffle_vector(vector, _ANY, ir.Constant(_PLACES, list(range(LANES))[::-1]))

    def variable(self, value: Any) -> Any:
        place = cgutils.alloca_once(self.build, _VECTOR)  # type: ignore[no-untyped-call]
        self.build.store(value, place)
        return place

    def number(self, data: Any, place: int) -> Any:
        return self.build.load(self.build.gep(data, [_count(place)]))

    def total(self, vector: Any) -> Any:
        """The sum of its numbers."""
        lanes = [self.build.extract_element(vector, ir.Constant(ir.IntType(32), lane)) for lane in range(LANES)]
        while len(lanes) > 1:
            lanes = [self.build.fadd(a, b) for a, b in zip(lanes[::2], lanes[1::2], strict=True)]
        return lanes[0]

    def rows(self, loop: Any, start: Any, stride: Any) -> tuple[Any, Any]:
        """The two halves of a row of a grid."""
        first = self.build.add(start, self.build.mul(loop.index, stride))
        return first, self.build.add(first, _count(LANES))


@intrinsic
def kernel_at(typing, table, terms, x, found, start, width):  # type: ignore[no-untyped-def]
    """Write *width* = 8, ..., 16 values of the kernel into found[start:]; see `transforms.nonuniform.kernel`.

    The polynomials of the first eight cells come in even and odd parts, highest terms first; since the kernel is even,
    those of the last eight are the same at -x.
    """
    signature = types.void(table, types.int64, types.float64, found, types.int64, types.int64)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        code = _Code(context, builder)
        table, terms, x, found, start, width = arguments
        table, found = code.data(signature.args[0], table), code.data(signature.args[3], found)
        square, x = code.all(builder.fmul(x, x)), code.all(x)
        even, odd = (code.variable(code.load(table, _count(place))) for place in (0, LANES))
        with cgutils.for_range(builder, builder.sub(terms, _count(1))) as loop:
            place = builder.mul(builder.add(loop.index, _count(1)), _count(2 * LANES))
            for part in (even, odd):
                builder.store(code.times_plus(builder.load(part), square, code.load(table, place)), part)
                place = builder.add(place, _count(LANES))
        first, second = builder.load(even), builder.fmul(builder.load(odd), x)
        last = builder.sub(builder.add(start, width), _count(LANES))
        code.store(code.reversed(builder.fsub(first, second)), found, last)
        code.store(builder.fadd(first, second), found, start)
        return context.get_dummy_value()

    return signature, generate


@intrinsic
def add_rows(typing, grid, start, stride, values, left, rows, right, factor):  # type: ignore[no-untyped-def]
    """grid[start + p stride + q] += factor values[left + p] values[right + q] for p < *rows* and q < 16."""
    signature = types.void(grid, types.int64, types.int64, values, types.int64, types.int64, types.int64, types.float64)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        code = _Code(context, builder)
        grid, start, stride, values, left, rows, right, factor = arguments
        grid, values = code.data(signature.args[0], grid), code.data(signature.args[3], values)
        factor = code.all(factor)
        halves = [builder.fmul(code.load(values, builder.add(right, _count(place))), factor) for place in (0, LANES)]
        with cgutils.for_range(builder, rows) as loop:
            value = code.all(builder.load(builder.gep(values, [builder.add(left, loop.index)])))
            for place, half in zip(code.rows(loop, start, stride), halves, strict=True):
                code.store(code.times_plus(value, half, code.load(grid, place)), grid, place)
        return context.get_dummy_value()

    return signature, generate


@intrinsic
def add_points(typing, grid, start, width, weights, rows, first, last, factors, values):  # type: ignore[no-untyped-def]
    """grid[start + q, c] += sum over k = first, ..., last - 1 of factors[k] values[rows[k], q] weights[rows[k], c].

    For q < *width*, which is 8, 10, ..., 16, and c < 8. The sums stay in registers until all of them are done.
    """
    kinds = grid, types.int64, types.int64, weights, rows, types.int64, types.int64, factors, values
    signature = types.void(*kinds)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        code = _Code(context, builder)
        start, width, first, last = (arguments[place] for place in (1, 2, 5, 6))
        grid, weights, rows, factors, values = (
            code.data(signature.args[place], arguments[place]) for place in (0, 3, 4, 7, 8)
        )
        after = builder.append_basic_block("after")
        cases = builder.switch(width, after)
        for own in range(LANES, 2 * LANES + 1, 2):
            block = builder.append_basic_block(f"width{own}")
            cases.add_case(_count(own), block)
            builder.position_at_end(block)
            places = [builder.add(builder.mul(start, _count(LANES)), _count(LANES * q)) for q in range(own)]
            sums = [code.variable(code.load(grid, place)) for place in places]
            with cgutils.for_range_slice(builder, first, last, _count(1)) as (k, _):
                row = builder.load(builder.gep(rows, [k]))
                factor = code.all(builder.load(builder.gep(factors, [k])))
                weight = builder.fmul(code.load(weights, builder.mul(row, _count(LANES))), factor)
                line = builder.mul(row, _count(2 * LANES))
                for q, total in enumerate(sums):
                    value = code.all(builder.load(builder.gep(values, [builder.add(line, _count(q))])))
                    builder.store(code.times_plus(weight, value, builder.load(total)), total)
            for place, total in zip(places, sums, strict=True):
                code.store(builder.load(total), grid, place)
            builder.branch(after)
        builder.position_at_end(after)
        return context.get_dummy_value()

    return signature, generate


@intrinsic
def dot_rows(typing, grid, start, stride, values, left, rows, right):  # type: ignore[no-untyped-def]
    """sum of grid[start + p stride + q] values[left + p] values[right + q] over p < *rows* and q < 16."""
    signature = types.float64(grid, types.int64, types.int64, values, types.int64, types.int64, types.int64)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        code = _Code(context, builder)
        grid, start, stride, values, left, rows, right = arguments
        grid, values = code.data(signature.args[0], grid), code.data(signature.args[3], values)
        sums = [code.variable(ir.Constant(_VECTOR, [0.0] * LANES)) for _ in range(2)]
        with cgutils.for_range(builder, rows) as loop:
            value = code.all(builder.load(builder.gep(values, [builder.add(left, loop.index)])))
            for place, part in zip(code.rows(loop, start, stride), sums, strict=True):
                builder.store(code.times_plus(value, code.load(grid, place), builder.load(part)), part)
        first, second = (
            builder.fmul(builder.load(part), code.load(values, builder.add(right, _count(place))))
            for part, place in zip(sums, (0, LANES), strict=True)
        )
        return code.total(builder.fadd(first, second))

    return signature, generate


def _two_degrees(kind: str) -> Any:
    """Two steps of a recurrence on rings start, ..., stop - 1, whole eights of them, and what is done with the values.

    A step is f <- r f + d with d <- u d - v y f, the scalars r, u, v of both being in one row; see `compiled.legendre`.
    With *kind* "sum", the four rows of *rings* are summed up into *own*, the first two times f before the steps and the
    others times f between them; with "add", they get the four numbers of *own* times the same.
    """

    def intrinsic_of(typing, f, d, y, scalars, start, stop, rings, size, own):  # type: ignore[no-untyped-def]
        signature = types.void(f, d, y, scalars, types.int64, types.int64, rings, types.int64, own)

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            code = _Code(context, builder)
            f, d, y, row, rings, own = (code.data(signature.args[k], arguments[k]) for k in (0, 1, 2, 3, 6, 8))
            start, stop, size = (arguments[k] for k in (4, 5, 7))
            scalars = [code.all(code.number(row, k)) for k in range(6)]
            if kind == "add":
                own = [code.all(code.number(own, k)) for k in range(4)]
            sums = [code.variable(ir.Constant(_VECTOR, [0.0] * LANES)) for _ in range(4)]
            with cgutils.for_range(builder, builder.sdiv(builder.sub(stop, start), _count(LANES))) as loop:
                place = builder.add(start, builder.mul(loop.index, _count(LANES)))
                value, change, height = (code.load(data, place) for data in (f, d, y))
                values = []
                for r, u, v in (scalars[:3], scalars[3:]):
                    values += [value, value]
                    lost = builder.fmul(v, builder.fmul(height, value))
                    change = builder.fsub(builder.fmul(u, change, flags=("contract",)), lost, flags=("contract",))
                    value = code.times_plus(r, value, change)
                code.store(value, f, place)
                code.store(change, d, place)
                for k in range(4 if kind != "step" else 0):
                    ring = builder.add(place, builder.mul(size, _count(k)))
                    if kind == "sum":
                        more = code.times_plus(values[k], code.load(rings, ring), builder.load(sums[k]))
                        builder.store(more, sums[k])
                    else:
                        code.store(code.times_plus(values[k], own[k], code.load(rings, ring)), rings, ring)
            if kind == "sum":
                for k in range(4):
                    builder.store(code.total(builder.load(sums[k])), builder.gep(own, [_count(k)]))
            return context.get_dummy_value()

        return signature, generate

    return intrinsic(intrinsic_of)


sum_two, add_two, step_two = (_two_degrees(kind) for kind in ("sum", "add", "step"))
