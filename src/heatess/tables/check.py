"""Numbers of a file that cannot be: refused with the place, the column and what to do."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arrays import FloatArray
from ..blocks import span
from ..directions import SLACK
from ..errors import InputError
from ..spaces.shapes import extra_column, is_transposed, matrices_in
from ..spaces.vectors import EMBEDDING, HALF_TOLERANCE, NORM_TOLERANCE, likely_angles
from .kinds import TURN, Colatitude, Kind, LonLat, Vectors
from .table import Place

#: The least and the largest number of a column, or of several columns together.
Span = tuple[float, float]


def refuse_infinite(names: Sequence[str], columns: Sequence[NDArray[Any]], spans: Sequence[Span], place: Place) -> None:
    """Refuse numbers that are not finite, of columns within *spans*."""
    for name, values, (low, high) in zip(names, columns, spans, strict=True):
        if math.isfinite(low) and math.isfinite(high):
            continue
        bad = ~np.isfinite(values)
        if bad.any():
            found = float(values[bad][0])
            rows = bad if bad.ndim == 1 else bad.any(axis=1)
            _refuse(rows, f"column {name} is {found}, not a finite number", "drop or fix those rows", place)


def refuse_beyond(kind: Kind, columns: Sequence[NDArray[Any]], spans: Sequence[Span], units: str, place: Place) -> None:
    """Refuse angles beyond their limits, such as a latitude of 95 degrees, of columns within *spans*."""
    turn, unit, slack = (TURN, "radians", SLACK) if units == "rad" else (360.0, "degrees", math.degrees(SLACK))
    pairs = list(zip(kind.columns, columns, spans, kind.limits, strict=False))
    for name, values, (least, most), (low, high) in reversed(pairs):  # latitudes first, which tell more
        if low * turn - slack <= least and most <= high * turn + slack:
            continue
        bad = (values < low * turn - slack) | (values > high * turn + slack)
        if bad.any():
            first = float(values[np.argmax(bad)])
            limits = f"between {low * turn:.5g} and {high * turn:.5g} {unit}"
            found, kept = f"column {name} is {first:.6g}, but must lie {limits}", [c[~bad] for c in columns]
            if 10 * bad.sum() <= len(bad) and _within(kind.limits, kept, turn, slack):
                _refuse(bad, found, "drop or fix those rows", place)
            _refuse(bad, found, _other_angles(kind, name, columns, units), place)


def _other_angles(kind: Kind, name: str, columns: Sequence[NDArray[Any]], units: str) -> str:
    """What two columns may be instead, one of which is *name* and beyond its limits; only what the numbers allow."""
    turn, slack = (TURN, SLACK) if units == "rad" else (360.0, math.degrees(SLACK))
    choices = []
    if _within(kind.limits, columns[::-1], turn, slack):
        choices.append(kind.exchanged)
    if isinstance(kind, Colatitude) and _within(LonLat.limits, columns[::-1], turn, slack):
        down, around = kind.columns
        choices.append(f"columns={{'lon': {around!r}, 'lat': {down!r}}} if {down} is a latitude")
    if not isinstance(kind, Colatitude) and _within(Colatitude.limits, columns[::-1], turn, slack):
        around, up = kind.columns
        choices.append(f"columns={{'colat': {up!r}, 'azimuth': {around!r}}} if {up} is the angle to the pole")
    if units == "rad" and max(float(np.abs(values).max()) for values in columns) > TURN + SLACK:
        choices.append("units='deg' if these are degrees")
    if choices:
        return "say " + ", or ".join(choices)
    if _within(
        kind.limits,
        [np.mod(values, turn) if n == name else values for n, values in zip(kind.columns, columns, strict=True)],
        turn,
        slack,
    ):
        return f"bring it there with whole turns: {name} modulo {turn:.8g}"
    return "check what these columns hold, and in which unit"


def _within(limits: Sequence[tuple[float, float]], columns: Sequence[NDArray[Any]], turn: float, slack: float) -> bool:
    """Whether every column keeps its limits."""
    return all(
        len(values) and low * turn - slack <= float(values.min()) and float(values.max()) <= high * turn + slack
        for values, (low, high) in zip(columns, limits, strict=True)
    )


def refuse_weights(name: str, values: FloatArray, logs: bool, place: Place, what: str = "") -> None:
    """Refuse weights that are negative or infinite, and log-weights of plus infinity.

    *name* is a column or a file, *what* the word for its numbers.
    """
    low, high = span(values)
    if high < np.inf and (logs or low >= 0):
        return
    bad = np.isnan(values) | (values == np.inf) | (False if logs else values < 0)
    found = f"{what or f'column {name}'} is {float(values[np.argmax(bad)]):g}"
    if logs:
        _refuse(bad, f"{found}, but log-weights are finite, or -inf for zero", "drop or fix those rows", place)
    advice = f"if these are logarithms of weights, give log_weights={name!r}; if not, drop or fix those rows"
    if _marks_missing(values):
        advice = "drop those rows if that number stands for a missing one, or fix them"
    _refuse(bad, f"{found}, but weights are finite and not negative", advice, place)


def _marks_missing(values: FloatArray) -> bool:
    """Whether the negative numbers are few and all the same -1, -9, -99, -999, ..., which stands for no number."""
    negative = values[values < 0]
    mark = f"{-negative[0]:.0f}" if len(negative) else ""
    return (
        2 * len(negative) <= len(values) and len(set(negative.tolist())) == 1 and (mark == "1" or not mark.strip("9"))
    )


def refuse_lengths(kind: Kind, points: NDArray[Any], place: Place) -> None:
    """Refuse vectors and quaternions whose length is not one, with the arguments that read them as what they may be."""
    array = np.asarray(points, dtype=np.float64)
    with np.errstate(over="ignore"):
        norms = np.sqrt(np.einsum("ij,ij->i", array, array))
    off = ~(np.abs(norms - 1) <= (HALF_TOLERANCE if points.dtype == np.float16 else NORM_TOLERANCE))
    if not off.any():
        return
    row = int(np.argmax(off))
    zero = norms == 0
    what = "quaternion" if kind.form == "quaternions" else "vector"
    if zero.any() and (np.abs(norms[~zero] - 1) < 0.1).all():
        _refuse(zero, f"the {what} is zero and has no direction", "drop those rows", place)
    advice = _of_quaternions(kind, norms) if kind.form == "quaternions" else _of_vectors(kind, array, norms)
    which = what if kind.columns == ["rows"] else f"{what} {kind.words}"
    _refuse(off, f"the {which} has length {norms[row]:.8g}, not 1", advice, place)


def _of_quaternions(kind: Kind, norms: FloatArray) -> str:
    if (np.abs(norms - 1) < 0.1).all():
        return "to scale them, add normalize=True"
    return (
        "check that these four columns are a quaternion; name others with columns=; to scale them, add normalize=True"
    )


def _of_vectors(kind: Kind, array: FloatArray, norms: FloatArray) -> str:
    """As `heatess.spaces.vectors` advises: dividing angles by their length would answer another question."""
    width, whole = array.shape[1], kind.columns == ["rows"]
    matrices = matrices_in(array)
    if matrices:
        quaternions = "columns={'qx': '0', 'qy': '1', 'qz': '2', 'qw': '3'}"
        call = f"scipy's Rotation.from_matrix({matrices}).as_quat()"
        return f"these are rotation matrices: write them as quaternions, {call}, and read those with {quaternions}"
    if whole and is_transposed(array):
        return "did you mean the transpose? write array.T"
    if whole and (extra := extra_column(array)):
        return _without(extra, array)
    if whole and 2 <= len(array) <= 4 and width >= EMBEDDING:
        vectors = f"add normalize=True if they are {len(array)} vectors of which only the directions matter"
        return f"if these are {width} points in {len(array)} rows, write the transpose, array.T; {vectors}"
    if (np.abs(norms - 1) < 1e-3).mean() > 0.5:
        return "drop or fix those rows"
    if width >= EMBEDDING or (np.abs(norms - 1) < 0.1).mean() > 0.9:
        return "if only the directions matter, add normalize=True"
    flat = "space='euclidean' for positions"
    if width == 2:
        return _choices(width, [*_as_angles(kind, array), flat])
    choices, named = [flat], tuple(name.strip().lower() for name in kind.columns) in Vectors.TRIPLES
    if 90 < np.abs(array).max() <= 360 + math.degrees(SLACK):
        names = "" if whole else f", columns={kind.columns[0] if len(kind.columns) == 1 else tuple(kind.columns)!r}"
        choices = [f"space='torus'{names}, units='deg' for {width} periodic angles", flat]
    if named or len(choices) == 1 or norms.max() - norms.min() < 1e-3 * norms.max():
        choices.append("normalize=True if only the directions matter")
    return _choices(width, choices)


def _choices(width: int, choices: Sequence[str]) -> str:
    return f"{width} columns of such lengths may be angles or positions: say " + ", or ".join(choices)


def _without(extra: str, array: FloatArray) -> str:
    """Rows of which the first or the last entry is not a coordinate."""
    last = array.shape[1] - 1
    if extra == "first":
        return f"column 0 seems to be a number of the row and no coordinate: say columns='1:{last}'"
    argument = "log_weights" if (array[:, last] < 0).any() else "weights"
    return (
        f"column {last} seems to be a weight and no coordinate: say columns='0:{last - 1}', {argument}='{last}', "
        f"or columns='0:{last - 1}' to leave it out"
    )


def _as_angles(kind: Kind, array: FloatArray) -> list[str]:
    """What two columns of angles may be, each with the arguments that read them so."""
    kinds, units = likely_angles(array)
    if len(kind.columns) == 1 and kind.columns != ["rows"]:  # one column of pairs
        only = kind.columns[0]
        torus = f"space='torus', columns={only!r}, units={units!r} for two periodic angles"
        pairs = [found for found in kinds if found != "two periodic angles"]
        split = [f"write {only} as two columns, named lon and lat, for {pairs[0]}"] if pairs else []
        return [torus, *split]
    one, two = kind.columns if len(kind.columns) == 2 else ("0", "1")
    arguments = {
        "longitude and latitude": f"columns={{'lon': {one!r}, 'lat': {two!r}}}",
        "latitude and longitude": f"columns={{'lon': {two!r}, 'lat': {one!r}}}",
        "colatitude and azimuth": f"columns={{'colat': {one!r}, 'azimuth': {two!r}}}",
        "two periodic angles": f"space='torus', columns=({one!r}, {two!r})",
    }
    return [f"{arguments[found]}, units={units!r} for {found}" for found in kinds]


def _refuse(bad: NDArray[np.bool_], found: str, advice: str, place: Place) -> None:
    row, count = int(np.argmax(bad)), f"{int(bad.sum()):,} of {len(bad):,} rows"
    raise InputError(f"{place(row)}: {found} ({count}); {advice}", row=row)
