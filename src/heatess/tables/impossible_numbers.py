"""Numbers of a file that cannot be: refused with the place, the column and what to do."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import FloatArray
from ..base.blocks import span
from ..base.directions import SLACK_RADIANS
from ..base.errors import InputError
from ..spaces.row_shapes import extra_column, is_transposed, matrices_in
from ..spaces.vectors import EMBEDDING, HALF_TOLERANCE, NORM_TOLERANCE, likely_angles
from .column_names import TURN, Colatitude, Kind, LonLat, Torsions, Vectors, side_by_side
from .earth_depths import depth_column
from .missing import equal_to, is_mark, marks, said_missing, shown_number, weight_marks
from .rotation_columns import Euler
from .suggest import matrices_said, sphere_or_rotations
from .table import Place
from .units import split_unit

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
            _refuse(
                rows, f"column {name} is <!{found}!>, not <+a finite number+>", "drop or fix those rows", place, name
            )


def refuse_marks(
    kind: Kind,
    columns: Sequence[NDArray[Any]],
    spans: Sequence[Span],
    weight: tuple[str, FloatArray] | None,
    place: Place,
    *,
    indexed: bool = False,
) -> None:
    """Refuse numbers such as -999 that stand for a missing one; as weights, those of `weight_marks`.

    Where the format itself says which points are *indexed*, Euler angles of zero are as good as any.
    """
    signed = isinstance(kind, Torsions) and any(-180.5 <= low < 0 for low, _ in spans)
    found = {
        name: (values, new)
        for name, values, ends in zip(kind.columns, columns, spans, strict=True)
        if (new := marks(values, ends, signed=signed))
    }
    if weight is not None:
        name, values = weight
        found |= {name: (values, new)} if (new := weight_marks(values)) else {}
    if not found:
        _refuse_nowhere(kind, columns, place, indexed)
        return
    numbers = list(dict.fromkeys(mark for _, new in found.values() for mark in new))
    bad = [np.isin(values, new) for values, new in found.values()]
    rows = np.logical_or.reduce([part.any(axis=1) if part.ndim == 2 else part for part in bad])
    are = [
        f"{'an entry' if name == 'rows' else f'column {name}'} is <!{' or '.join(map(shown_number, new))}!>"
        for name, (_, new) in found.items()
    ]
    _refuse(
        rows,
        f"{' and '.join(are)}, far from all other rows, as where a number is missing",
        f"add {said_missing(numbers)} to leave those rows out, or `missing='none'` if they are right",
        place,
    )


def _refuse_nowhere(kind: Kind, columns: Sequence[NDArray[Any]], place: Place, indexed: bool) -> None:
    """Refuse places at zero degrees east and north, and Euler angles of zero, that are there twice among others.

    So files say that a place is not known, or that no orientation was found, unless they say themselves what is
    *indexed*. Vehicles (yaw, pitch, roll) may well rest at zero.
    """
    if isinstance(kind, Euler) and kind.axes[0] == kind.axes[2] and not indexed:
        angles = side_by_side(list(columns))
        name, why = "all", "no orientation was found"
    elif kind.frame in ("geographic", "icrs") and len(columns) > 1 and columns[0].ndim == 1:
        angles = np.column_stack(columns[:2])
        name, why = "both", "a place is not known"
    else:
        return
    zero = angles == 0
    bad = zero.all(axis=1)
    if bad.sum() < 2 or (name == "all" and bad.all()):
        return
    alone = bool((zero.any(axis=1) & ~bad).any())
    remedy = "drop those rows" if alone else f"add {said_missing([0])} to leave those rows out"
    if bad.all():
        remedy = "name other columns with `columns=`"
    names = kind.columns if name == "all" else kind.columns[:2]
    found = f"columns {', '.join(names[:-1])} and {names[-1]} are {name} 0" if len(names) > 1 else f"{names[0]} is 0"
    _refuse(bad, f"{found}, as where {why}", f"{remedy}, or add `missing='none'` if they are right", place)


def refuse_beyond(kind: Kind, columns: Sequence[NDArray[Any]], spans: Sequence[Span], units: str, place: Place) -> None:
    """Refuse angles beyond their limits, such as a latitude of 95 degrees, of columns within *spans*."""
    turn, unit, slack = (
        (TURN, "radians", SLACK_RADIANS) if units == "rad" else (360.0, "degrees", math.degrees(SLACK_RADIANS))
    )
    pairs = list(zip(kind.columns, columns, spans, kind.limits, strict=False))
    for name, values, (least, most), (low, high) in reversed(pairs):  # latitudes first, which tell more
        if low * turn - slack <= least and most <= high * turn + slack:
            continue
        bad = (values < low * turn - slack) | (values > high * turn + slack)
        if bad.any():
            first = float(values[np.argmax(bad)])
            limits = f"between {low * turn:.5g} and {high * turn:.5g} {unit}"
            found, kept = f"column {name} is <!{first:.6g}!>, but must lie <+{limits}+>", [c[~bad] for c in columns]
            few = 10 * bad.sum() <= len(bad) or all(map(is_mark, np.unique(values[bad])[:9]))
            if few and _within(kind.limits, kept, turn, slack):
                _refuse(bad, found, _left_out(values[bad]), place, name)
            _refuse(bad, found, _other_angles(kind, name, columns, units), place, name)


def _left_out(values: NDArray[Any]) -> str:
    """What to do with rows of some numbers that cannot be: if these are few, they may stand for missing ones."""
    numbers, counts = np.unique(values, return_counts=True)
    if len(numbers) > 3 or not all(is_mark(number) or count > 1 for number, count in zip(numbers, counts, strict=True)):
        return "drop or fix those rows"
    return f"add {said_missing(list(numbers))} to leave out rows where a number is missing, or fix those rows"


def _other_angles(kind: Kind, name: str, columns: Sequence[NDArray[Any]], units: str) -> str:
    """What two columns may be instead, one of which is *name* and beyond its limits; only what the numbers allow."""
    turn, slack = (TURN, SLACK_RADIANS) if units == "rad" else (360.0, math.degrees(SLACK_RADIANS))
    choices = []
    if _within(kind.limits, columns[::-1], turn, slack):
        choices.append(kind.exchanged)
    if isinstance(kind, Colatitude) and _within(LonLat.limits, columns[::-1], turn, slack):
        down, around = kind.columns
        choices.append(f"`columns={{'lon': {around!r}, 'lat': {down!r}}}` if {down} is a latitude")
    if not isinstance(kind, Colatitude) and _within(Colatitude.limits, columns[::-1], turn, slack):
        around, up = kind.columns
        choices.append(f"`columns={{'colat': {up!r}, 'azimuth': {around!r}}}` if {up} is the angle to the pole")
    if units == "rad" and max(float(np.abs(values).max()) for values in columns) > TURN + SLACK_RADIANS:
        choices.append("`units='deg'` if these are degrees")
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
    found = f"{what or f'column {name}'} is <!{float(values[np.argmax(bad)]):g}!>"
    column = None if what else name
    if logs:
        _refuse(
            bad, f"{found}, but log-weights are <+finite, or -inf for zero+>", "drop or fix those rows", place, column
        )
    advice = f"if these are logarithms of weights, give `log_weights={name!r}`; if not, drop or fix those rows"
    if _marks_missing(values):
        number = said_missing([values[values < 0][0]])
        remedy = "drop those rows" if what else f"add {number}"
        advice = f"{remedy} if that number stands for a missing one, or fix those rows"
    _refuse(bad, f"{found}, but weights are <+finite and not negative+>", advice, place, column)


def cell_values(
    source: str,
    name: str,
    values: NDArray[Any],
    missing: Sequence[float] | None,
    at: Callable[[int], str],
    cells: str,
    *,
    logs: bool,
) -> NDArray[Any]:
    """Values of a map or grid, nan where they stand for no value; such as are no weights are refused.

    *missing* are the numbers that the user says stand for none. If nothing is said, numbers such as 9999 that are far
    from all others are refused, see `weight_marks`; *at* gives the place of a cell in words.
    """
    if missing:
        values = np.where(equal_to(values, missing), np.nan, values)
    if logs:
        return values
    refuse_cells(source, name, values, at, cells)
    present = values[~np.isnan(values)]
    if missing is None and (new := weight_marks(present)):
        bad = np.isin(values, new)
        shown, count = shown_number(new[0]), f"{int(bad.sum()):,} of {len(values):,} {cells}"
        numbers = ", ".join(map(shown_number, new))
        raise InputError(
            f"{source}: {name} is <!{shown}!> {at(int(np.argmax(bad)))} ({count}), far from all others, as where "
            f"there is no value; add `missing={numbers if len(new) == 1 else f'({numbers})'}` to leave those {cells} "
            "out, or `missing='none'` if they are right"
        )
    return values


def refuse_cells(source: str, name: str, values: NDArray[Any], at: Callable[[int], str], cells: str) -> None:
    """Refuse values of a map or grid that are no weights; *at* gives the place of a cell in words."""
    low, high = (float(end) for end in (np.nanmin(values, initial=0), np.nanmax(values, initial=0)))
    if low >= 0 and high < np.inf:
        return
    bad = (values < 0) | np.isinf(values)
    first, count = int(np.argmax(bad)), f"{int(bad.sum()):,} of {len(values):,} {cells}"
    found = float(values[first])
    instead = f"give what is to be weighed, such as `numpy.maximum({name}, 0)` or `numpy.abs({name})`"
    advice = f"if {name} holds logarithms of weights, give `log_weights={name!r}`; if it has both signs, {instead}"
    if np.isinf(found):
        advice = "make those nan to leave them out, or correct them"
    elif found < -1 and len(np.unique(values[bad])) == 1 and 2 * bad.sum() <= len(values):
        mark = f"if {found:.6g} stands for no value, add `missing={shown_number(values[first])}`"
        advice = f"{mark}; if not, {instead}"
    where = f"{source}: {name} is <!{found:.6g}!> {at(first)} ({count})"
    raise InputError(f"{where}, but weights are <+finite and not negative+>; {advice}", column=name)


def _marks_missing(values: FloatArray) -> bool:
    """Whether the negative numbers are few and all the same -1, -9, -99, -999, ..., which stands for no number."""
    negative = values[values < 0]
    same = len(negative) > 0 and bool((negative == negative[0]).all())
    return same and 2 * len(negative) <= len(values) and (negative[0] in (-1, -9) or is_mark(negative[0]))


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
        _refuse(zero, f"the {what} is <!zero!> and has no direction", "drop those rows", place)
    advice = _of_quaternions(kind, norms) if kind.form == "quaternions" else _of_vectors(kind, array, norms)
    which = what if kind.columns == ["rows"] else f"{what} {kind.words}"
    _refuse(off, f"the {which} has <!length {norms[row]:.8g}!>, not <+1+>", advice, place)


def refuse_four(kind: Kind, points: NDArray[Any], source: str) -> None:
    """Ask about unit vectors of four numbers, which may be quaternions, unless the name of their column tells."""
    told = len(kind.columns) == 1 and kind.columns[0].lower() in Vectors.LISTS and kind.columns != ["rows"]
    if not isinstance(kind, Vectors) or points.shape[1] != 4 or told:
        return
    with np.errstate(over="ignore"):
        norms = np.linalg.norm(points.astype(np.float64, copy=False), axis=1)
    if (np.abs(norms - 1) <= (HALF_TOLERANCE if points.dtype == np.float16 else NORM_TOLERANCE)).all():
        raise InputError(f"{source}: {sphere_or_rotations(kind.columns)}")


def refuse_turns(kind: Kind, spans: Sequence[Span], source: str) -> None:
    """Refuse Euler angles that are radians by the format of the file, but reach further than two turns."""
    farthest = max(abs(end) for span in spans for end in span)
    if farthest > 2 * TURN + SLACK_RADIANS:
        raise InputError(
            f"{source}: columns {kind.words} should be <+radians+> in this format, but reach <!{farthest:.4g}!>; add "
            "`units='deg'` if they are degrees, or `units='rad'` if they are not"
        )


def _of_quaternions(kind: Kind, norms: FloatArray) -> str:
    scaled = "to scale them, add `normalize=True`"
    if (np.abs(norms - 1) < 0.1).all():
        return scaled
    return f"check that these four columns are a quaternion; name others with `columns=`; {scaled}"


def _of_vectors(kind: Kind, array: FloatArray, norms: FloatArray) -> str:
    """As `heatess.spaces.vectors` advises: dividing angles by their length would answer another question."""
    width, whole = array.shape[1], kind.columns == ["rows"]
    if matrices_in(array):
        return matrices_said(kind.columns, width)
    if whole and is_transposed(array):
        return "did you mean the transpose? write `array.T`"
    if whole and (extra := extra_column(array)):
        return _without(extra, array)
    if whole and 2 <= len(array) <= 4 and width >= EMBEDDING:
        vectors = f"add `normalize=True` if they are {len(array)} vectors of which only the directions matter"
        return f"if these are {width} points in {len(array)} rows, write the transpose, `array.T`; {vectors}"
    near = np.abs(norms - 1)
    if (near < 1e-3).mean() > 0.5 and near.max() >= 1e-3:
        return "drop or fix those rows"
    if (near < 0.1).mean() > 0.9 or (width >= EMBEDDING and not whole):
        return "if only the directions matter, add `normalize=True`"
    flat = "`space='euclidean'` for positions"
    if len(kind.columns) == 3 and (deep := _at_depth(kind.columns)):
        return deep
    if width == 2:
        return _choices(width, [*_as_angles(kind, array), flat])
    if width == 7 and (whole or len(kind.columns) == 7) and _end_in_unit(array):
        return _as_pose([str(column) for column in range(7)] if whole else kind.columns)
    return _choices(width, [*_places_first(kind, array), *_of_many(kind, array, norms, flat)])


def _places_first(kind: Kind, array: FloatArray) -> list[str]:
    """Longitude and latitude, or the like, in two neighbours of a few columns without names that may be degrees."""
    if kind.columns != ["rows"] or array.shape[1] > 6:
        return []
    ends, found = np.abs(array).max(axis=0), []
    for one, two in list(pairwise(range(array.shape[1])))[: 3 if array.shape[1] == 4 else 1]:
        where = f"in columns {one} and {two}"
        for lon, lat, words in ((one, two, "longitude and latitude"), (two, one, "latitude and longitude")):
            if 1 < ends[lon] <= 360 and 1 < ends[lat] <= 90 and (ends[lon] > 90 or lon < lat):
                found.append(f"`columns={{'lon': '{lon}', 'lat': '{lat}'}}, units='deg'` for {words} {where}")
                if lon == 0 and array.shape[1] > 3:
                    argument = f"`columns={{'dec': '{lon}', 'inc': '{lat}'}}, units='deg'`"
                    found.append(f"{argument} for declination and inclination")
    return found


def _of_many(kind: Kind, array: FloatArray, norms: FloatArray, flat: str) -> list[str]:
    """What three or more columns may be; Euler angles never go to a torus."""
    width, most = array.shape[1], np.abs(array).max()
    named = tuple(name.strip().lower() for name in kind.columns) in Vectors.TRIPLES
    columns = kind.columns[0] if len(kind.columns) == 1 else tuple(kind.columns)
    names = "" if kind.columns == ["rows"] else f"columns={columns!r}, "
    degrees = 90 < most <= 360 + math.degrees(SLACK_RADIANS)
    which = "`euler='bunge'` or `euler='ZYZ'` or whatever their convention is"
    euler = f"{which}, `{names}units={'deg' if degrees else 'rad'!r}` for Euler angles"
    turning = [euler] if width == 3 and not named and (degrees or most <= TURN + SLACK_RADIANS) else []
    on_sphere = ", space='sphere'" if width == 4 else ""  # and no quaternions
    scaled = f"`normalize=True{on_sphere}` if only the directions matter"
    if width > 5:
        flat = "`space='euclidean'` for measurements, whose lengths count"
        scaled = "`normalize=True` for embeddings, of which only the directions count"
    if width >= EMBEDDING:
        return [scaled, flat]
    if not degrees:
        return [flat, scaled, *turning]
    other = " that are no Euler angles" if turning else ""
    torus = f"`space='torus', {names}units='deg'` for {width} periodic angles{other}"
    steady = norms.max() - norms.min() < 1e-3 * norms.max()
    return [*turning, torus, flat, *([scaled] if named or steady else [])]


def _end_in_unit(array: FloatArray) -> bool:
    """Whether the last four columns are unit quaternions, to two digits."""
    with np.errstate(over="ignore"):
        norms = np.linalg.norm(array[:, -4:], axis=1)
    return bool((np.abs(norms - 1) < 0.02).all())


def _as_pose(names: Sequence[str]) -> str:
    """Positions and quaternions side by side."""
    x, y, z, one, two, three, four = names
    return (
        "these may be positions and quaternions: say `space='pose:R'`, where R is the length that counts as much as "
        f"one radian, with `columns={tuple(names)}` if the scalar is last, or "
        f"`columns={(x, y, z, two, three, four, one)}` if it comes first"
    )


def _at_depth(names: Sequence[str]) -> str:
    """The way for longitude, latitude and depth, if these are what three columns are called."""
    plain = {split_unit(name).base: name for name in names}
    lon, lat = (next((plain[word] for word in words if word in plain), "") for words in LonLat.names)
    depth = depth_column([name for name in names if name not in (lon, lat)])
    roles = {"lon": lon, "lat": lat, "depth": depth}
    return f"say `space='earth3d', columns={roles}` for places on the Earth at a depth" if all(roles.values()) else ""


def _choices(width: int, choices: Sequence[str]) -> str:
    what = "angles or positions" if width < EMBEDDING else "embeddings or positions"
    return f"{width} columns of such lengths may be {what}: say " + ", or ".join(choices)


def _without(extra: str, array: FloatArray) -> str:
    """Rows of which the first or the last entry is not a coordinate."""
    last = array.shape[1] - 1
    if extra == "first":
        return f"column 0 seems to be a number of the row and no coordinate: say `columns='1:{last}'`"
    argument = "log_weights" if (array[:, last] < 0).any() else "weights"
    return (
        f"column {last} seems to be a weight and no coordinate: say `columns='0:{last - 1}', {argument}='{last}'`, "
        f"or `columns='0:{last - 1}'` to leave it out"
    )


def _as_angles(kind: Kind, array: FloatArray) -> list[str]:
    """What two columns of angles may be, each with the arguments that read them so."""
    kinds, units = likely_angles(array)
    if len(kind.columns) == 1 and kind.columns != ["rows"]:  # one column of pairs
        only = kind.columns[0]
        torus = f"`space='torus', columns={only!r}, units={units!r}` for two periodic angles"
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
    return [f"`{arguments[found]}, units={units!r}` for {found}" for found in kinds]


def _refuse(bad: NDArray[np.bool_], found: str, advice: str, place: Place, column: str | None = None) -> None:
    row, count = int(np.argmax(bad)), f"{int(bad.sum()):,} of {len(bad):,} rows"
    raise InputError(f"{place(row)}: {found} ({count}); {advice}", row=row, column=column)
