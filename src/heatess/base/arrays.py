"""Whatever numbers the user holds, as an array."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

from .astropy_quantities import in_unit
from .errors import InputError, InputTypeError
from .messages import shown
from .tensors import plain

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

#: The distance from 1 to the next floating-point number.
EPS = float(np.finfo(np.float64).eps)
#: The largest floating-point number.
LARGEST = float(np.finfo(np.float64).max)
#: Characters of the name of an atom or a node that are kept.
LONGEST_NAME = 200
#: Bytes of an array that repeats its numbers without holding them.
LARGEST_REPEATED = 2**33
#: Up to here every integer is a float64.
EXACT_INTEGERS = 2.0**53
EXACT = "integers that float64 holds exactly, up to 2^53"


def numeric_array(values: Any, name: str) -> NDArray[Any]:
    """*values* as a real numeric array, or an `InputTypeError` that says what they are.

    Columns of lists (pandas, polars, pyarrow) become rows; float32 and float16 are kept as they are. Tensors of other
    packages are taken; a unit of astropy is refused, because a number in another unit would be another number.
    """
    values = in_unit(plain(values, name), "", name)
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        row = int(np.argwhere(np.ma.getmaskarray(values))[0][0])
        raise InputError(f"{name}: row {row} is <!masked!>; drop or fill masked rows first", row=row)
    try:
        array = np.asarray(values)
    except InputError:  # of a column that is read when it is asked for
        raise
    except ValueError as error:
        raise InputError(f"{name}: rows have <!different lengths!> ({error}); every row must have the same") from None
    except Exception as error:  # whatever a tensor of another library answers
        reason = " ".join(f"{type(error).__name__}: {error}".split())[:200]
        raise InputTypeError(f"{name} cannot be made a NumPy array ({reason}); convert them first") from None
    refuse_repeated(array, name)
    if array.dtype == object and not isinstance(values, np.ndarray):
        array = _from_columns(values, name) if array.ndim == 2 else _stacked(array, name) if array.ndim else array
    if array.dtype.kind == "c":
        raise InputTypeError(
            f"{name} must be <+real numbers+>, but are <!complex ({array.dtype})!>; pass real coordinates"
        )
    if array.dtype == object and array.ndim:
        _refuse_missing(array, name)
    if array.dtype.kind not in "fiub":
        sample = shown(array.flat[0])[:40] if array.size else "nothing"
        raise InputTypeError(
            f"{name} must be <+real numbers+>, but have <!dtype {array.dtype} (first entry {sample})!>; convert them "
            "first, for instance with `numpy.asarray(..., dtype=float)`"
        )
    kept = array.dtype.kind == "f" and array.dtype.itemsize <= 8
    return array if kept else as_float64(array, name)


def as_float64(array: NDArray[Any], name: str, place: Callable[[int], str] | None = None) -> FloatArray:
    """*array* as float64, or an `InputError` that names the row of an integer that float64 cannot hold.

    *place* gives the place of a row in words, by default its number.
    """
    with np.errstate(over="ignore"):  # of a longer type, to infinity, which is refused by its row
        found = array.astype(np.float64)
    if array.dtype.kind not in "iu" or array.dtype.itemsize < 8 or not array.size:
        return found
    largest = max(abs(float(found.max())), abs(float(found.min())))
    if largest >= EXACT_INTEGERS:
        # Back in its own type an integer shows whether it was rounded; 2^63 and 2^64 do not fit, and were.
        top = 2.0**64 if array.dtype.kind == "u" else 2.0**63
        safe = np.where(found >= top, 0.0, found)
        bad = np.atleast_1d((found >= top) | (safe.astype(array.dtype) != array))
        if bad.any():
            entry = tuple(np.argwhere(bad)[0])
            where = f"row {entry[0]}" if place is None else place(int(entry[0]))
            raise InputError(
                f"{name}: {where} holds {np.atleast_1d(array)[entry]}, an integer above 2^53 that is not exact in "
                "float64; subtract an offset or, if rounding does no harm, convert first: "
                "`numpy.asarray(..., dtype=float)`",
                row=int(entry[0]),
                expected=EXACT,
            )
    return found


class Frozen:
    """A dataclass whose arrays are read-only, also after pickling."""

    def __post_init__(self) -> None:
        _freeze(tuple(vars(self).values()))

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.__post_init__()


def _freeze(values: tuple[Any, ...]) -> None:
    for value in values:
        if isinstance(value, np.ndarray):
            value.flags.writeable = False
        elif isinstance(value, tuple):
            _freeze(value)


def is_dask(values: Any) -> bool:
    """Whether *values* are a dask array, series or data frame; tells without importing dask."""
    return type(values).__module__.partition(".")[0] in ("dask", "dask_expr") and hasattr(values, "to_delayed")


def refuse_rows(bad: Any, rows: NDArray[Any], expected: str, advice: str = "drop or fix those rows") -> None:
    """An `InputError` that names the first of the *bad* rows, if there are any; *expected* is said first."""
    if bad.any():
        row, count = int(np.argmax(bad)), f"{int(bad.sum())} of {len(bad)} rows"
        found, verb = rows[row], "begins" if rows[row].size > 6 else "is"
        shown = str(found).removesuffix(".0") if rows.ndim == 1 else found.ravel()[:6].tolist()
        raise InputError(f"{expected}, but row {row} {verb} <!{shown}!> ({count}); {advice}", row=row)


def positive(value: Any, name: str, expected: str = "positive and finite") -> float:
    """One positive, finite number, or an `InputError` that says what was *expected*."""
    if not (is_whole(value) or isinstance(value, float | np.floating)):
        raise InputTypeError(f"{name} must be <+{expected}+>, but is <!{shown(value)}!>, which is not a number")
    if not 0 < value <= LARGEST:
        raise InputError.unfit(name, expected, value)
    return float(value)


def whole(value: Any, name: str, least: int, most: int = 2**53) -> int:
    """A whole number from *least* to *most*, or an `InputError`."""
    if not is_whole(value) or value < least:
        raise InputError.unfit(name, f"a whole number >= {least}", value)
    if value > most:
        raise InputError.unfit(name, f"at most {most:,}", value)
    return int(value)


def is_whole(value: Any) -> TypeGuard[int]:
    """Whether it is a whole number of Python or NumPy; spans of time, which NumPy counts as integers, are none."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool | np.timedelta64)


def generator(rng: np.random.Generator | int | None) -> np.random.Generator:
    """*rng* itself, that of a seed, or a new one that cannot be repeated."""
    if rng is None or isinstance(rng, np.random.Generator):
        return np.random.default_rng(rng)
    if not is_whole(rng) or rng < 0:
        raise InputError.unfit("rng", "a numpy.random.Generator or a whole number from 0 up", rng)
    return np.random.default_rng(rng)


def one_of(value: Any, name: str, words: Collection[str], advice: str = "") -> str:
    """*value*, if it is one of some words; else an `InputError` that has them all, and then some *advice*.

    >>> one_of("deg", "units", ("deg", "rad"))
    'deg'
    """
    if isinstance(value, str) and value in words:
        return value
    listed = " or ".join(map(repr, words)) if len(words) < 3 else f"one of {', '.join(map(repr, words))}"
    kind = InputError if isinstance(value, str) else InputTypeError
    raise kind.unfit(name, listed, value, advice)


def refuse_others(value: Any, name: str, kind: type, made: str) -> None:
    """An `InputTypeError` if *value* is no *kind*, which *made* gives."""
    if not isinstance(value, kind):
        raise InputTypeError.unfit(name, f"a {kind.__name__}, as {made} gives it", value)


def names_of(labels: Any, what: str, name: str = "labels") -> NDArray[np.str_]:
    """Names as an array of text, cut to `LONGEST_NAME` characters: every entry takes the room of the longest.

    *what* has a name each, and *name* is the argument that has them.
    """
    try:
        if isinstance(labels, np.ndarray):
            refuse_repeated(labels, name)
        if isinstance(labels, str | bytes):
            raise InputTypeError.unfit(name, f"one name for each {what}", labels, verb="are")
        found = [str(label) for label in labels]
    except InputError:
        raise
    except Exception:  # of something that is no list, or whose entries have no text
        raise InputTypeError.unfit(name, f"one name for each {what}", labels, verb="are") from None
    cut = [word if len(word) <= LONGEST_NAME else f"{word[: LONGEST_NAME - 3]}..." for word in found]
    return np.array(cut, dtype=np.str_)


def _from_columns(frame: Any, name: str) -> NDArray[Any]:
    """A data frame whose column types have no common NumPy type, column by column."""
    if not hasattr(frame, "columns"):
        return np.asarray(frame)
    names = list(frame.columns)
    columns = [frame.iloc[:, place] if hasattr(frame, "iloc") else frame[key] for place, key in enumerate(names)]
    found = [numeric_array(column, f"{name} column {key}") for column, key in zip(columns, names, strict=True)]
    return np.column_stack(found)


def refuse_repeated(array: NDArray[Any], name: str) -> None:
    """An `InputError` if an array is so large only because it shows the same numbers again and again."""
    if array.nbytes > LARGEST_REPEATED and any(
        not step and side > 1 for step, side in zip(array.strides, array.shape, strict=True)
    ):
        raise InputError(
            f"{name} of shape {array.shape} are a few numbers that are shown again and again (`numpy.broadcast_to`), "
            f"and would take {array.nbytes / 1e9:,.0f} GB; give each row once, and how often it counts as its weight"
        )


def _refuse_missing(array: NDArray[Any], name: str) -> None:
    """An `InputError` with the row of the first entry that is missing: None, or that of a data frame."""
    for index, value in np.ndenumerate(array):
        if value is None or type(value).__name__ in ("NAType", "NaTType"):
            raise InputTypeError(
                f"{name}: row {index[0]} is <!missing ({value})!>; drop or fill those rows", row=index[0]
            )


def _stacked(column: NDArray[Any], name: str) -> NDArray[Any]:
    """A column whose entries are themselves numeric sequences, as a matrix."""
    if not column.size or isinstance(column[0], str) or not hasattr(column[0], "__len__"):
        return column
    lengths = [len(row) if hasattr(row, "__len__") else -1 for row in column]
    for row, length in enumerate(lengths):
        if length != lengths[0]:
            found = "nothing" if length < 0 else f"{length} numbers"
            raise InputError(
                f"{name}: row {row} holds <!{found}!>, but row 0 holds <+{lengths[0]}+>; drop or fix that row", row=row
            )
    return np.stack([np.asarray(row) for row in column])
