"""What stands for a missing number in a file: words, and numbers such as -999 that nobody measured."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base.blocks import span

#: Words that stand for a missing number.
MISSING = (
    *("", "NA", "N/A", "na", "n/a", "NaN", "nan", "NAN", "NULL", "Null", "null"),
    *("None", "none", "<NA>", "#N/A", "--"),
)

#: Numbers of nines, those of well logs, and the ends of whole numbers of 16 and 32 bits.
_MARK = re.compile(r"-?(9{2,}(\.9+)?|999\.25|32767|32768|65535|2147483647|2147483648)")

#: Numbers from which on nothing is measured, such as 1e20 and -1.6375e30.
_HUGE = 1e15

#: Those that files are filled with, to six digits: powers of ten, that of NetCDF, and the ends of floats.
_FILLED = re.compile(r"1e\+\d+|9\.96921e\+36|3\.40282e\+38|1\.79769e\+308")

#: The angle that DSSP writes for a torsion that is not defined.
_UNDEFINED = 360.0

#: Ends of a column that are looked at, one after the other, and rows that must be left.
_ROUNDS, _FEWEST_ROWS_LEFT = 3, 3


def shown_number(value: Any) -> str:
    """A number as it is written: the shortest text that gives it back.

    >>> shown_number(np.float32(-999.9)), shown_number(9999.0), shown_number(1e20)
    ('-999.9', '9999', '1e+20')
    """
    return str(value).removesuffix(".0")


def is_mark(value: Any) -> bool:
    """Whether a number is one by which files say that there is none.

    >>> [is_mark(value) for value in (-999.0, 9999, 99.99, 1e20, 360.0, 725.5)]
    [True, True, True, True, False, False]
    """
    return abs(float(value)) >= _HUGE or _MARK.fullmatch(shown_number(value)) is not None


def weight_marks(values: NDArray[Any]) -> list[Any]:
    """The marks among weights, which may be of any size: those that are there twice, or that no weight has by chance.

    >>> plain = [3.0, 1.0, 2.0, 4.0]
    >>> [weight_marks(np.array([*plain, *more])) for more in ([1e20], [3.7e20], [3.7e20] * 2, [99.0])]
    [[np.float64(1e+20)], [], [np.float64(3.7e+20)], []]
    """

    def alone(mark: Any) -> bool:
        return bool(_FILLED.fullmatch(f"{mark:.6g}")) if mark >= _HUGE else mark > 100

    found = marks(values, span(values)) if len(values) else []
    return [mark for mark in found if mark > 0 and (alone(mark) or (values == mark).sum() > 1)]


def marks(values: NDArray[Any], ends: tuple[float, float], *, signed: bool = False) -> list[Any]:
    """The numbers of a column that stand for a missing one: known as such, and far from all others.

    Far is further than the others are from each other. Only the *ends* of the column, its least and largest number or
    those of several columns, can be so. Torsions that are *signed*, from -180 to 180, may have 360 for one that is not
    defined.

    >>> [float(mark) for mark in marks(np.array([10.0, 20.0, -999.0, 30.0, -999.0]), (-999.0, 30.0))]
    [-999.0]
    >>> marks(np.array([10.0, 400.0, 720.0, 999.0]), (10.0, 999.0))
    []
    """

    def suspect(end: Any) -> bool:
        return is_mark(values.dtype.type(end)) or (signed and end == _UNDEFINED)

    if not any(map(suspect, ends)):
        return []
    found: list[Any] = []
    rest = values
    for _ in range(_ROUNDS):
        new = [end for end in (rest.min(), rest.max()) if suspect(end)]
        rest = rest[~np.isin(rest, new)]
        if len(rest) < _FEWEST_ROWS_LEFT:
            return []
        found += new
    low, high = float(rest.min()), float(rest.max())
    room = high - low
    return [
        value
        for value in dict.fromkeys(found)
        if (high <= 180.5 if value == _UNDEFINED else value > high + room or value < low - room)
    ]


def equal_to(values: NDArray[Any], numbers: Sequence[float]) -> NDArray[np.bool_]:
    """Where *values* are one of some numbers, in the precision that they have."""
    with np.errstate(over="ignore"):
        same = [values == values.dtype.type(number) for number in numbers]
    return np.logical_or.reduce(same) if same else np.zeros(values.shape, dtype=bool)


def said_missing(numbers: Sequence[Any]) -> str:
    """The arguments that leave out rows with these numbers."""
    shown = [shown_number(number) for number in numbers]
    return f"`missing={shown[0] if len(shown) == 1 else '(' + ', '.join(shown) + ')'}, drop_missing=True`"
