"""Products and differences of doubles without rounding, for what would cancel."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..base.arrays import FloatArray

#: Splits a double into two halves of 26 bits, whose products are exact (Veltkamp, Dekker).
_SPLITTER = 134217729.0


def halves(x: Any) -> FloatArray:
    """Two arrays of 26 bits each whose sum is *x*, the larger first.

    >>> high, low = halves(np.array(0.1))
    >>> float(high + low), abs(float(low)) < 1e-8
    (0.1, True)
    """
    wide = _SPLITTER * np.asarray(x, dtype=np.float64)
    high = wide - (wide - x)
    return np.stack([high, x - high])


def difference_of_products(a: Any, b: Any, c: Any, d: Any) -> FloatArray:
    """A b - c d to a few roundings of the result, however much of it cancels.

    >>> float(difference_of_products(1e16 + 2, 1e16, 1e16, 1e16 + 2)), float(difference_of_products(3, 1 / 3, 1, 1))
    (0.0, -5.551115123125783e-17)
    """
    (a_high, a_low), (b_high, b_low), (c_high, c_low), (d_high, d_low) = (halves(x) for x in (a, b, c, d))
    first, second = np.multiply(a, b), np.multiply(c, d)
    rest = ((a_high * b_high - first) + a_high * b_low + a_low * b_high) + a_low * b_low
    more = ((c_high * d_high - second) + c_high * d_low + c_low * d_high) + c_low * d_low
    main, little = first - second, rest - more
    return np.asarray((main + little) + (_lost(first, second, main) + _lost(rest, more, little)))


def _lost(a: Any, b: Any, difference: Any) -> FloatArray:
    """What rounding took from the difference of two numbers, exactly (Knuth)."""
    part = difference - a
    return np.asarray((a - (difference - part)) - (b + part))
