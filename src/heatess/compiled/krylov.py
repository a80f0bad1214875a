"""Lanczos runs of sparse symmetric matrices: step by step on all rows, and whole ones near a few rows."""

from __future__ import annotations

import math

import numpy as np

from ..base.arrays import EPS
from . import compiled

#: Vectors that are filtered at once, steps that follow each other closely, and rows that one of them takes at once.
COLUMNS, _CLOSE, _AT_ONCE = 8, 8, 1024

#: Numbers that are summed before they are added to the others, so that rounding does not pile up.
_TOGETHER = 64

#: A pivot below this share of the diagonal is rounding.
_NOTHING = 1e-12


@compiled(nogil=True)
def _added(total, lost, part):  # type: ignore[no-untyped-def]
    """A sum and what it lost to rounding so far, with one number more."""
    whole = total + part
    late = whole - total
    return whole, lost + ((total - (whole - late)) + (part - late))


@compiled(nogil=True, fastmath={"contract"})
def _long_row(begin, end, indices, data, x):  # type: ignore[no-untyped-def]
    """One row of M x with very many entries, as of a hub, with no more rounding than a short one."""
    total, lost = 0.0, 0.0
    for first in range(begin, end, _TOGETHER):
        part = 0.0
        for k in range(first, min(first + _TOGETHER, end)):
            part += data[k] * x[indices[k]]
        total, lost = _added(total, lost, part)
    return total + lost


@compiled(nogil=True, fastmath={"contract"})
def multiply(indptr, indices, data, x, share, found, first, last):  # type: ignore[no-untyped-def]
    """Rows first, ..., last - 1 of share x + M x; what is returned is their part of its product with x.

    Unsigned places spare a test for each entry, and sums of so few entries are not worth vectors: twice as fast.
    """
    along, lost = 0.0, 0.0
    for begin in range(first, last, _TOGETHER):
        part = 0.0
        for i in range(begin, min(begin + _TOGETHER, last)):
            total = share * x[i]
            if indptr[i + 1] - indptr[i] > _TOGETHER:
                total += _long_row(indptr[i], indptr[i + 1], indices, data, x)
            else:
                for k in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
                    total += data[k] * x[np.uint64(indices[k])]
            found[i] = total
            part += total * x[i]
        along, lost = _added(along, lost, part)
    return along + lost


@compiled(nogil=True, fastmath={"contract"})
def step(indptr, indices, data, x, scale, before, back, constant, found, first, last):  # type: ignore[no-untyped-def]
    """Some rows of y = scale M x - back before; the products y x, y constant and x constant, over them."""
    along, lost, level, drift = 0.0, 0.0, 0.0, 0.0
    for begin in range(first, last, _TOGETHER):
        part = 0.0
        for i in range(begin, min(begin + _TOGETHER, last)):
            total = 0.0
            if indptr[i + 1] - indptr[i] > _TOGETHER:
                total += _long_row(indptr[i], indptr[i + 1], indices, data, x)
            else:
                for k in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
                    total += data[k] * x[np.uint64(indices[k])]
            total = scale * total - back * before[i]
            found[i] = total
            part += x[i] * total
            level += constant[i] * total
            drift += constant[i] * x[i]
        along, lost = _added(along, lost, part)
    return along + lost, level, drift


@compiled(nogil=True, fastmath={"contract", "reassoc"})
def _removed(y, x, constant, along, level, first, last):  # type: ignore[no-untyped-def]
    total = 0.0
    for i in range(first, last):
        y[i] -= along * x[i] + level * constant[i]
        total += y[i] * y[i]
    return total


@compiled(nogil=True)
def remove(y, x, constant, along, level, first, last):  # type: ignore[no-untyped-def]
    """y -= along x + level constant; the sum of squares of what is left, over some rows."""
    total, lost = 0.0, 0.0
    for begin in range(first, last, _TOGETHER):
        part = _removed(y, x, constant, along, level, begin, min(begin + _TOGETHER, last))
        total, lost = _added(total, lost, part)
    return total + lost


@compiled(nogil=True, fastmath={"contract"})
def product(x, y, last):  # type: ignore[no-untyped-def]
    """The sum of x_i y_i over the first rows."""
    total, lost = 0.0, 0.0
    for begin in range(0, last, _TOGETHER):
        part = 0.0
        for i in range(begin, min(begin + _TOGETHER, last)):
            part += x[i] * y[i]
        total, lost = _added(total, lost, part)
    return total + lost


@compiled(nogil=True)
def nodes(d, e, z):  # type: ignore[no-untyped-def]
    """Eigenvalues of a symmetric tridiagonal matrix, and the first components z of its eigenvectors.

    By implicit QL steps with Wilkinson's shift. Diagonal *d* and *e* (beside it; one entry more, zero) are used up, d
    becomes the eigenvalues, in no order; z begins as (1, 0, 0, ...).
    """
    size = len(d)
    for low in range(size):
        for _ in range(80):
            high = low
            while high < size - 1 and abs(e[high]) > EPS * (abs(d[high]) + abs(d[high + 1])):
                high += 1
            if high == low:
                break
            g = (d[low + 1] - d[low]) / (2 * e[low])
            g = d[high] - d[low] + e[low] / (g + math.copysign(math.hypot(g, 1.0), g))
            s, c, p, split = 1.0, 1.0, 0.0, False
            for i in range(high - 1, low - 1, -1):
                f, b = s * e[i], c * e[i]
                r = math.hypot(f, g)
                e[i + 1] = r
                if r == 0.0:
                    d[i + 1] -= p
                    e[high] = 0.0
                    split = True
                    break
                s, c = f / r, g / r
                g = d[i + 1] - p
                r = (d[i] - g) * s + 2 * c * b
                p = s * r
                d[i + 1] = g + p
                g = c * r - b
                f = z[i + 1]
                z[i + 1] = s * z[i] + c * f
                z[i] = c * z[i] - s * f
            if not split:
                d[low] -= p
                e[low] = g
                e[high] = 0.0


@compiled(nogil=True)
def anchored(alpha, beta):  # type: ignore[no-untyped-def]
    """Of how many rows, and with which last entry of the diagonal, a tridiagonal matrix has the eigenvalue zero.

    All rows, unless those before the last have it already, to rounding; nan where not even two rows are left.
    """
    top = 0.0
    for j in range(len(alpha)):
        top = max(top, alpha[j])
    pivot, rows, last = alpha[0], 1, np.nan
    while rows < len(alpha) and pivot > _NOTHING * top:
        last = beta[rows - 1] ** 2 / pivot
        pivot = alpha[rows] - last
        rows += 1
    return rows, last


@compiled(nogil=True)
def _ball(indptr, indices, cptr, cindices, roots, hops, mark, queue, ends):  # type: ignore[no-untyped-def]
    """Number the nodes up to so many hops from the roots, layer after layer; ends[h] of them are up to h hops away."""
    count = 0
    for root in roots:
        mark[root] = count
        queue[count] = root
        count += 1
    ends[0] = count
    begin = 0
    for hop in range(1, hops + 1):
        end = count
        for place in range(begin, end):
            node = queue[place]
            for k in range(indptr[node], indptr[node + 1]):
                if mark[indices[k]] < 0:
                    mark[indices[k]] = count
                    queue[count] = indices[k]
                    count += 1
            if len(cindices) > 0:
                for k in range(cptr[node], cptr[node + 1]):
                    if mark[cindices[k]] < 0:
                        mark[cindices[k]] = count
                        queue[count] = cindices[k]
                        count += 1
        begin = end
        ends[hop] = count
    return count


@compiled(nogil=True)
def ball_sizes(indptr, indices, cptr, cindices, roots, hops, mark, queue):  # type: ignore[no-untyped-def]
    """How many nodes are up to 0, 1, ..., *hops* hops from the roots."""
    ends = np.zeros(hops + 1, np.int64)
    count = _ball(indptr, indices, cptr, cindices, roots, hops, mark, queue, ends)
    for place in range(count):
        mark[queue[place]] = -1
    return ends


@compiled(nogil=True)
def _inside(indptr, indices, data, queue, count, mark):  # type: ignore[no-untyped-def]
    """The rows of a sparse matrix at the nodes of a ball, by their numbers in it; columns outside are left out."""
    size = 0
    for place in range(count):
        size += indptr[queue[place] + 1] - indptr[queue[place]]
    ptr, columns, values = np.empty(count + 1, np.int64), np.empty(size, np.int32), np.empty(size)
    size = 0
    for place in range(count):
        ptr[place] = size
        node = queue[place]
        for k in range(indptr[node], indptr[node + 1]):
            other = mark[indices[k]]
            if other >= 0:
                columns[size] = other
                values[size] = data[k]
                size += 1
    ptr[count] = size
    return ptr, columns, values


@compiled(nogil=True, fastmath={"contract"})
def local(  # type: ignore[no-untyped-def]
    indptr, indices, data, cptr, cindices, cdata, roots, values, hops, closed, stopped, mark, queue, alpha, beta
):
    """A Lanczos run of M (1 + C), in the inner product of 1 + C, from values at roots.

    Both matrices are held to what lies up to *hops* hops from the roots. Written into alpha and beta, one entry a step.
    Returned are the steps, fewer where the space is exhausted, and what the last one then left out. It ends early,
    with nothing of use, once *stopped* is not zero.
    """
    reach = 2 if len(cindices) > 0 else 1  # hops of one multiplication
    ends = np.zeros(hops + 1, np.int64)
    count = _ball(indptr, indices, cptr, cindices, roots, hops, mark, queue, ends)
    ptr, columns, entries = _inside(indptr, indices, data, queue, count, mark)
    if reach == 2:
        ptr2, columns2, entries2 = _inside(cptr, cindices, cdata, queue, count, mark)
    else:
        ptr2, columns2, entries2 = np.zeros(count + 1, np.int64), np.empty(0, np.int32), np.empty(0)
    for place in range(count):
        mark[queue[place]] = -1
    x, before, y, z, weighed = np.zeros(count), np.zeros(count), np.zeros(count), np.zeros(count), np.zeros(count)
    for place in range(len(roots)):
        y[place] = values[place]
    end = ends[min(reach - 1, hops)]
    last = math.sqrt(multiply(ptr2, columns2, entries2, y, 1.0, z, 0, end))
    for step in range(len(alpha)):
        if stopped[0] != 0:
            return step, last
        for i in range(end):
            before[i] = x[i]
            x[i] = y[i] / last
            weighed[i] = z[i] / last
        end = ends[min(reach * (step + 1), hops)]
        multiply(ptr, columns, entries, weighed, 0.0, y, 0, end)
        for i in range(end):
            y[i] -= last * before[i]
        along = product(weighed, y, end)
        for i in range(end):
            y[i] -= along * x[i]
        end = ends[min(reach * (step + 2) - 1, hops)]
        last = math.sqrt(multiply(ptr2, columns2, entries2, y, 1.0, z, 0, end))
        alpha[step] = along
        if last <= closed:
            beta[step] = 0.0
            return step + 1, last
        beta[step] = last
    return len(alpha), 0.0


@compiled(nogil=True)
def brackets(alpha, beta, steps, rates, lower, upper, slopes, blurs):  # type: ignore[no-untyped-def]
    """Gauss and Gauss-Radau rules for exp(-rate x) of one run, at several *rates*: bounds from below and from above.

    The Radau rule has a node at zero. *slopes* are the derivatives of the Gauss rule in log rate, *blurs* what the
    values move by, at most, if the matrix does by a unit.
    """
    _sum(alpha[:steps].copy(), beta[:steps], rates, lower, slopes, blurs)
    for k in range(len(rates)):
        upper[k] = lower[k]
    if beta[steps - 1] == 0.0:  # nothing is left out
        return
    rows, last = anchored(alpha[:steps], beta[:steps])
    if np.isnan(last):
        upper[:] = 1.0
        return
    d = alpha[:rows].copy()
    d[rows - 1] = last
    _sum(d, beta[:rows], rates, upper, np.empty(len(rates)), np.empty(len(rates)))
    for k in range(len(rates)):
        upper[k] = max(upper[k], lower[k])


@compiled(nogil=True)
def _sum(d, beta, rates, sums, slopes, blurs):  # type: ignore[no-untyped-def]
    """The rule of the tridiagonal matrix with the diagonal *d*, which is used up, for exp(-rate x)."""
    size = len(d)
    e, z = np.zeros(size), np.zeros(size)
    e[: size - 1] = beta[: size - 1]
    z[0] = 1.0
    nodes(d, e, z)
    for k in range(len(rates)):
        total, slope, blur = 0.0, 0.0, 0.0
        for j in range(size):
            exponent = rates[k] * max(d[j], 0.0)
            term = z[j] ** 2 * math.exp(-exponent)
            total += term
            slope -= term * exponent
            blur += z[j] ** 2 * rates[k] / max(1.0, 2 * exponent)
        sums[k], slopes[k], blurs[k] = total, slope, blur


@compiled(nogil=True, fastmath={"contract"})
def filtered(indptr, indices, data, band, low, high, degree, x):  # type: ignore[no-untyped-def]
    """T_degree of a matrix whose eigenvalues from *low* to *high* become [-1, 1], times the columns of *x*.

    What belongs to them does not grow, and what belongs to eigenvalues below *low* does. There are `COLUMNS` columns.
    No entry is more than *band* away from the diagonal, so that some steps can follow each other closely, each that
    much behind the one before, while the rows that they share are in the cache.
    """
    rows, even, odd = x.shape[0], x.copy(), np.zeros(x.shape)
    for first in range(0, degree, _CLOSE):
        together = min(_CLOSE, degree - first)
        for begin in range(0, rows + (together - 1) * band, _AT_ONCE):
            for step in range(together):
                start, stop = max(begin - step * band, 0), min(begin - step * band + _AT_ONCE, rows)
                factor = 2 / (high - low) * (1 if first + step == 0 else 2)
                if (first + step) % 2 == 0:
                    _chebyshev(indptr, indices, data, factor, (low + high) / 2, even, odd, start, stop)
                else:
                    _chebyshev(indptr, indices, data, factor, (low + high) / 2, odd, even, start, stop)
    return even if degree % 2 == 0 else odd


@compiled(nogil=True, fastmath={"contract"})
def _chebyshev(indptr, indices, data, factor, centre, now, before, start, stop):  # type: ignore[no-untyped-def]
    """Some rows of T_(k + 1) = factor (matrix - centre) T_k - T_(k - 1), in place of T_(k - 1)."""
    for i in range(start, stop):
        for c in range(COLUMNS):
            before[i, c] = -before[i, c] - factor * centre * now[i, c]
        for k in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
            entry, other = factor * data[k], np.uint64(indices[k])
            for c in range(COLUMNS):
                before[i, c] += entry * now[other, c]
