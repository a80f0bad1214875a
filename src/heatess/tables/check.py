"""Numbers of a file that cannot be: refused with the place, the column and what to do."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arrays import FloatArray
from ..directions import SLACK
from ..errors import InputError
from ..spaces.vectors import EMBEDDING, HALF_TOLERANCE, NORM_TOLERANCE, likely_angles
from .kinds import TURN, Kind
from .table import Place


def refuse_infinite(names: Sequence[str], columns: Sequence[NDArray[Any]], place: Place) -> None:
    """Refuse numbers that are not finite."""
    for name, values in zip(names, columns, strict=True):
        bad = ~np.isfinite(values)
        if bad.any():
            found = float(values[bad][0])
            rows = bad if bad.ndim == 1 else bad.any(axis=1)
            _refuse(rows, f"column {name} is {found}, not a finite number", "drop or fix those rows", place)


def refuse_beyond(kind: Kind, columns: Sequence[NDArray[Any]], units: str, place: Place) -> None:
    """Refuse angles beyond their limits, such as a latitude of 95 degrees."""
    turn, unit, slack = (TURN, "radians", SLACK) if units == "rad" else (360.0, "degrees", math.degrees(SLACK))
    pairs = list(zip(kind.columns, columns, kind.limits, strict=False))
    for name, values, (low, high) in reversed(pairs):  # latitudes first, which tell more
        bad = (values < low * turn - slack) | (values > high * turn + slack)
        if bad.any():
            first = float(values[np.argmax(bad)])
            other = f"units='deg' if these are degrees, and {kind.exchanged}" if units == "rad" else kind.exchanged
            limits = f"between {low * turn:.5g} and {high * turn:.5g} {unit}"
            _refuse(bad, f"column {name} is {first:.6g}, but must lie {limits}", f"say {other}", place)


def refuse_weights(name: str, values: FloatArray, logs: bool, place: Place, what: str = "") -> None:
    """Refuse weights that are negative or infinite, and log-weights of plus infinity.

    *name* is a column or a file, *what* the word for its numbers.
    """
    bad = np.isnan(values) | (values == np.inf) | (False if logs else values < 0)
    if not bad.any():
        return
    found = f"{what or f'column {name}'} is {float(values[np.argmax(bad)]):g}"
    if logs:
        _refuse(bad, f"{found}, but log-weights are finite, or -inf for zero", "drop or fix those rows", place)
    advice = f"if these are logarithms of weights, give log_weights={name!r}; if not, drop or fix those rows"
    _refuse(bad, f"{found}, but weights are finite and not negative", advice, place)


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
    width = array.shape[1]
    if width >= EMBEDDING or (np.abs(norms - 1) < 0.1).mean() > 0.9:
        return "if only the directions matter, add normalize=True"
    choices = ["space='euclidean' for positions", "normalize=True if only the directions matter"]
    if width == 2:
        names = kind.columns if len(kind.columns) == 2 else ["0", "1"]
        choices = [*_as_angles(names, array), choices[0]]
    return f"{width} columns of such lengths may be angles or positions: say " + ", or ".join(choices)


def _as_angles(names: Sequence[str], array: FloatArray) -> list[str]:
    """What two columns of angles may be, each with the arguments that read them so."""
    (one, two), (kinds, units) = names, likely_angles(array)
    arguments = {
        "longitude and latitude": f"columns={{'lon': {one!r}, 'lat': {two!r}}}",
        "latitude and longitude": f"columns={{'lon': {two!r}, 'lat': {one!r}}}",
        "colatitude and azimuth": f"columns={{'colat': {one!r}, 'azimuth': {two!r}}}",
        "two periodic angles": f"space='torus', columns=({one!r}, {two!r})",
    }
    return [f"{arguments[kind]}, units={units!r} for {kind}" for kind in kinds]


def _refuse(bad: NDArray[np.bool_], found: str, advice: str, place: Place) -> None:
    row, count = int(np.argmax(bad)), f"{int(bad.sum()):,} of {len(bad):,} rows"
    raise InputError(f"{place(row)}: {found} ({count}); {advice}", row=row)
