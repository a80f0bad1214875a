"""Weighted points, checked once: points on the manifold and weights that sum to one, or an error that names the row."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..base.arrays import FloatArray, is_whole, numeric_array, refuse_rows
from ..base.astropy_quantities import has_unit
from ..base.blocks import ROWS_OF_A_BLOCK, map_rows, slices, span
from ..base.completion import Tidied
from ..base.directions import from_lonlat
from ..base.errors import FrameWarning, InputError, warn
from ..base.known import ABOUT, KINDS, SKY, Known, frame_in_words, of_stack
from ..base.messages import shown
from ..base.notebook import html_of, readable
from ..base.pool import apart
from ..base.sky_frames import converted_frame, turned
from ..base.tensors import plain
from ..spaces.base import Space, check_space
from ..spaces.rotations import Rotations
from ..spaces.row_shapes import poses_in
from ..spaces.sphere import Sphere

if TYPE_CHECKING:
    from ..tables.points_and_weights import Origin, Taken
    from ..tables.table import Table

#: The default spaces of the last few dimensions, with the tables they have made.
_sphere = lru_cache(maxsize=8)(Sphere)


class Measure(Tidied):
    """Weighted points on a manifold, checked once: every function that takes points takes a Measure in their place.

    Parameters
    ----------
    points, weights, log_weights, space
        As for `heat_profile`.
    kind : str, optional
        What the points are: "draws" (independent), "weighted draws" (with importance weights), "chains" (the draws of
        Markov chains, in their order), "trajectory", "cells" (of a map or grid) or "complete" (all there are).
        Tests and bands are for draws alone. Default: what *points* say, if they say it.
    frame : str, optional
        Of directions: "icrs", "galactic", "ecliptic", "geographic", "sample". Default: what *points* say.
    labels : sequence of str, or str, optional
        The name of each point; of a data frame also the name of a column.

    Attributes
    ----------
    space, points : Space, ndarray
        The manifold, and the points, one per row, in the space's own checked form.
    weights : ndarray, shape (n,)
        Not negative, summing to one.
    known : Known
        Kind, frame, cell, chains, labels, units and source, as far as they are known.
    origin : Origin or None
        Which columns of which file or data frame it was read from, if it was.

    Examples
    --------
    >>> import heatess as he
    >>> pair = he.Measure([[0, 0, 1], [0, 1, 0]], [1, 3])
    >>> pair
    Measure(Sphere(2), n=2, ess=1.6)
    >>> pair.weights
    array([0.25, 0.75])
    >>> round(he.gess(pair, angle=5), 6)
    1.6

    What is known stays with the points, whichever of them are taken:

    >>> poles = he.Measure([[0, 0, 1], [0, 0, -1], [1, 0, 0]], kind="complete", labels=["north", "south", "zero"])
    >>> poles[poles.points[:, 2] != 0].known.labels
    array(['north', 'south'], dtype='<U5')
    """

    _inside = frozenset(("of", "taken", "trusted"))

    space: Space
    points: NDArray[Any]
    weights: FloatArray
    known: Known = Known()
    origin: Origin | None = None

    def __init__(
        self,
        points: Any,
        weights: ArrayLike | str | None = None,
        *,
        log_weights: ArrayLike | str | None = None,
        space: Space | None = None,
        kind: str | None = None,
        frame: str | None = None,
        labels: Sequence[str] | str | None = None,
    ) -> None:
        points = plain(points, "points")
        column = labels if isinstance(labels, str) else None
        self._fill(points, weights, log_weights, space, column)
        if isinstance(points, np.ndarray) and np.may_share_memory(points, self.points):
            self.__dict__["points"] = self.points.copy()  # so that later changes of the array do not change the measure
        if column is not None and self.known.labels is None:
            raise InputError(
                f"`labels=<!{column!r}!>` is a column's name, but points have no columns; give <+one name per point+>"
            )
        self._tell(self.known.said(kind, frame, None if column is not None else labels))

    def _tell(self, known: Known) -> None:
        """Keep what is known, if it fits the atoms."""
        if known.labels is not None and len(known.labels) != self.n:
            raise InputError.unfit("labels", f"one name for each of {self.n:,} points", len(known.labels), verb="are")
        if known.frame in SKY and not (self.space.directional and self.space.dim == 2):
            raise InputError(
                f"`frame={known.frame!r}` is for <+directions on the sky+>, but points are on <!{self.space!r}!>"
            )
        self.__dict__["known"] = known

    def _fill(
        self,
        points: Any,
        weights: ArrayLike | str | None,
        log_weights: ArrayLike | str | None,
        space: Space | None,
        labels: str | None = None,
    ) -> None:
        """Check everything; points may still share the memory of the caller's array."""
        check_space(space)
        if isinstance(points, Measure):
            raise InputError("points are <!a Measure!> already; use it as it is")
        if not isinstance(points, np.ndarray):
            from ..tables.frames import frame_table  # arrays do without all that knows columns

            table = frame_table(points)
            if table is not None:
                self._take(table, weights, log_weights, space, labels)
                return
            frame = converted_frame(points)
            points, space = _converted(points, space, frame)
            if frame is not None:
                self.__dict__["known"] = Known(frame=frame)
        shape = np.shape(points) if isinstance(points, np.ndarray) else ()
        if space is None:
            points = numeric_array(points, "points")
            shape = points.shape
            if points.ndim == 3:
                points, space = _stacked(points)
        if space is None:
            if points.ndim != 2 or points.shape[1] < 2:
                raise InputError(
                    "points must be <+an (n, d) array of unit vectors with d >= 2+>, but have <!shape "
                    f"{points.shape}!>; give one point per row, or name the manifold with `space=`"
                )
            space = _sphere(points.shape[1] - 1)
        points = space.check(_in_rows(points, space))
        if _is_stack(shape, space):
            self.__dict__["known"] = of_stack(shape[0], shape[1])
        self.__dict__.update(space=space, points=points, weights=_normalised(weights, log_weights, len(points)))
        if (names := space.names(points)) is not None:
            self.__dict__["known"] = self.known.said(labels=names)

    def _take(self, table: Table, weights: Any, log_weights: Any, space: Space | None, labels: str | None) -> None:
        """Columns of a data frame; weights are a column's name or an array."""
        from ..tables.column_meaning import Reading
        from ..tables.points_and_weights import take

        named = {"weights": weights, "log_weights": log_weights}
        columns: dict[str, Any] = {name: value for name, value in named.items() if isinstance(value, str)}
        arrays = {name: value for name, value in named.items() if value is not None and name not in columns}
        if arrays:
            columns["weights"] = "none"
        try:
            taken = next(take(table, Reading(space=space, loose=True, labels=labels, **columns)))
        except InputError as error:
            raise _with_read(error) from None
        own = {"weights": taken.weights, "log_weights": taken.log_weights} | arrays
        made = Measure.taken(taken._replace(**own))
        self.__dict__.update(made.__dict__)

    @classmethod
    def taken(cls, taken: Taken) -> Measure:
        """The measure of points taken from a table; errors name the place of the row there."""
        from ..tables.points_and_weights import at_place

        try:
            made = cls.of(taken.points, taken.weights, log_weights=taken.log_weights, space=taken.space)
        except InputError as error:
            raise at_place(error, taken.place) from None
        made.__dict__["origin"] = taken.origin
        made._tell(taken.known)
        return made

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a Measure cannot be changed, so {name} cannot be set; make a new one")

    @classmethod
    def of(
        cls,
        points: Any,
        weights: ArrayLike | str | None = None,
        *,
        log_weights: ArrayLike | str | None = None,
        space: Space | None = None,
    ) -> Measure:
        """*points* themselves if they are a Measure already, else a new one.

        >>> import heatess as he
        >>> pair = he.Measure([[0, 0, 1], [0, 1, 0]])
        >>> he.Measure.of(pair) is pair
        True
        """
        if not isinstance(points, Measure):
            made = cls.__new__(cls)
            made._fill(plain(points, "points"), weights, log_weights, space)
            return made
        if weights is not None or log_weights is not None:
            raise InputError(
                "points are <!a Measure!>, which has weights of its own; leave out `weights=` and `log_weights=`"
            )
        if space is not None and space != points.space:
            raise InputError(
                f"points are a Measure on <+{points.space!r}+>, but space=<!{space!r}!> was given; leave it out"
            )
        return points

    @classmethod
    def trusted(cls, space: Space, points: NDArray[Any], weights: FloatArray, known: Known | None = None) -> Measure:
        """A measure of points already checked and weights already summing to one."""
        made = cls.__new__(cls)
        made.__dict__.update(space=space, points=points, weights=weights)
        if known is not None:
            made.__dict__["known"] = known
        return made

    def __repr__(self) -> str:
        known = f": {self.known.words}" if self.known.words else ""
        return f"Measure({self.space!r}, n={self.n}, ess={self.ess:.4g}{known})"

    def _repr_html_(self) -> str:
        known, names = self.known, self.known.labels
        told = {"space": self.space, "points": f"{self.n:,}", "ordinary ESS": readable(self.ess)}
        told |= {"kind": KINDS.get(known.kind or ""), "frame": known.frame, "chains": known.chains}
        told |= {"cell": known.cell and readable(known.cell), "unit of angles in the file": known.units}
        told |= {"names": names is not None and ", ".join([*names[:3], "..."][: len(names) + 1])}
        told |= {"source": known.source, "question": known.doubt, "thinned": known.thinned and "yes"}
        return html_of({name: value for name, value in told.items() if value}, "Measure: what is known")

    def __getitem__(self, rows: Any) -> Measure:
        """Some of the atoms, by an array of row numbers, a mask or a slice; their weights sum to one again.

        >>> import heatess as he
        >>> he.Measure([[0, 0, 1], [0, 1, 0], [1, 0, 0]], [1, 1, 2])[1:].weights.round(3)
        array([0.333, 0.667])
        """
        weights = np.atleast_1d(self.weights[rows])
        if weights.ndim != 1 or not len(weights) or not weights.sum() > 0:
            raise InputError(f"rows must <+choose points, at least one of them with a weight+>, not <!{shown(rows)}!>")
        if is_whole(rows):
            rows = slice(rows, rows + 1 or None)
        kept = _normalised(weights, None, len(weights)) if self.weights.strides != (0,) else even_weights(len(weights))
        return Measure.trusted(self.space, self.points[rows], kept, self.known.rows(rows, self.n))

    def in_frame(self, frame: str) -> Measure:
        """The same directions in another frame of the sky: "icrs", "galactic" or "ecliptic" (of J2000).

        >>> import heatess as he
        >>> center = he.Measure([[1, 0, 0]], frame="galactic").in_frame("icrs")
        >>> center.points.round(3)
        array([[-0.055, -0.873, -0.484]])
        """
        if frame == self.known.frame:
            return self
        points = turned(self.points, self.known.frame, frame)
        return Measure.trusted(self.space, self.space.check(points), self.weights, self.known.said(frame=frame))

    @property
    def about(self) -> str:
        """What the points are, as far as the frame or the columns tell: earth, sky, directions, ...; or ""."""
        return ABOUT.get(self.known.frame or "") or (self.origin.about if self.origin is not None else "")

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns that the points were read from; none if they were not read."""
        return self.origin.columns if self.origin is not None else ()

    @property
    def n(self) -> int:
        """Number of points, those of zero weight included."""
        return len(self.weights)

    @cached_property
    def ess(self) -> float:
        """Ordinary effective sample size 1 / sum w_i^2."""
        if self.weights.strides == (0,):  # equal weights, stored as one number
            return float(self.n)
        return 1.0 / float(np.einsum("i,i->", self.weights, self.weights))

    @property
    def equally_weighted(self) -> Measure:
        """The same points with equal weights."""
        return Measure.trusted(self.space, self.points, even_weights(self.n), self.known)

    def support(self) -> Measure:
        """The same measure without its points of zero weight.

        >>> import heatess as he
        >>> he.Measure([[0, 0, 1], [0, 1, 0]], [1, 0]).support()
        Measure(Sphere(2), n=1, ess=1)
        """
        kept = self.weights > 0
        if kept.all():
            return self
        return Measure.trusted(self.space, self.points[kept], self.weights[kept], self.known.rows(kept, self.n))

    def coalesced(self) -> Measure:
        """The same measure with exact duplicates merged and points of zero weight dropped.

        >>> import heatess as he
        >>> he.Measure([[0, 0, 1], [0, 0, 1], [0, 1, 0]]).coalesced().weights.round(3)
        array([0.667, 0.333])
        """
        support = self.support()
        if support.n == 1:
            return support
        rows = np.ascontiguousarray(support.points) + 0.0  # -0.0 and 0.0 are one coordinate
        keys = _keys(rows)
        if _all_differ(keys):
            return support
        label, first = distinct_rows(rows, keys)
        masses = np.bincount(label, support.weights).astype(np.float64)
        return Measure.trusted(self.space, support.points[first], masses, support.known.rows(first, support.n))


def in_frame_of(frame: str | None, measure: Measure, names: tuple[str, str] = ("what came before", "this")) -> Measure:
    """*measure* in a *frame*, with a warning if it was in another one; refused where none leads to the other.

    *names* are what messages call that which has the frame, and the measure. A frame that is not known is taken for the
    other one; of a file that is said.
    """
    first, second = names
    own, here = measure.known.frame, frame_in_words(frame)
    if frame == own or frame is None:
        return measure
    if own is None:
        if measure.known.source and frame in SKY:
            warn(f"{second} does not say its frame, and is taken for {here}; `frame=` says another one", FrameWarning)
        return measure
    if frame in SKY and own in SKY:
        was = frame_in_words(own)
        warn(f"{second} is {was} and {first} {here}: {second} was turned into {here}", FrameWarning)
        return measure.in_frame(frame)
    raise InputError(
        f"{first} is in the frame <+{frame}+>, but {second} in <!{own}!>, and none can be turned into the other; put "
        "like with like, or say `frame=` if one of them is wrong"
    )


#: Arguments that `read` has, but functions of data frames have not.
_OF_READ = {"columns", "units", "drop_missing", "missing", "normalize", "select", "area"}


def _with_read(error: InputError) -> InputError:
    """The same error; where it advises arguments that only `read` has, it says so."""
    named = {name: value for code in error.message.codes for name, value in code.arguments.items()}
    if not named.keys() & _OF_READ and "graph" not in str(named.get("space", "")):
        return error
    return error.within(after=", as an argument of `heatess.read(frame, ...)`")


def _converted(points: Any, space: Space | None, frame: str | None) -> tuple[Any, Space | None]:
    """Objects of other packages: rotations of scipy, sky coordinates of astropy in a frame that is known."""
    if hasattr(points, "as_quat"):
        return points, space or Rotations()
    if type(points).__module__.startswith("astropy.coordinates") and hasattr(points, "spherical"):
        place = (points.transform_to("icrs") if frame == "icrs" else points).spherical
        return from_lonlat(place.lon, place.lat), space
    return points, space


def _is_stack(shape: tuple[int, ...], space: Space) -> bool:
    """Whether an array of this shape is (chain, draw, d); rotations may be matrices (n, 3, 3), and nodes have no d."""
    if len(shape) != 3 or space.modes is not None or space.flow is not None:
        return False
    return shape[2] == 4 if space.form == "quaternions" else space.form in ("vectors", "angles", "numbers")


def _in_rows(points: Any, space: Space) -> Any:
    """Draws (chain, draw, d) one below the other, as without space=; anything else as it is."""
    if isinstance(points, np.ndarray) and _is_stack(points.shape, space):
        return points.reshape(-1, points.shape[2])
    return points


def _stacked(points: NDArray[Any]) -> tuple[NDArray[Any], Space | None]:
    """Rotation matrices (n, 3, 3), or vectors (chain, draw, d), whichever the numbers show."""
    chains, draws, width = points.shape
    if not points.size:
        return points.reshape(0, width), None
    if poses_in(points):
        if width == 3:
            return points, Rotations()
        raise InputError(
            f"points have <!shape {points.shape}!>, which are poses; give their rotations, `points[:, :3, :3]`, or a "
            "tuple of positions and quaternions with `space=he.Product(he.Euclidean(3), he.Rotations())`"
        )
    if np.abs(np.einsum("cdj,cdj->cd", points, points, dtype=np.float64) - 1).max() < 1e-2:
        return points.reshape(chains * draws, width), None
    raise InputError(
        f"points have <!shape {points.shape}!>, but are neither rotation matrices (n, 3, 3) nor unit vectors "
        f"(chain, draw, {width}); give <+an (n, d) array+>, or name the manifold with `space=`"
    )


def _all_differ(keys: NDArray[np.uint64]) -> bool:
    """Whether no hash of a row comes twice, so that no two rows are equal: a few of them, then all."""
    for some in (keys[: len(keys) // 16], keys):
        ordered = np.sort(some)
        if (ordered[1:] == ordered[:-1]).any():
            return False
    return True


def distinct_rows(
    rows: NDArray[Any], keys: NDArray[np.uint64] | None = None
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """A label for each row, the same for equal rows, and the first row with each label; *keys* are hashes of rows."""
    keys = _keys(rows) if keys is None else keys
    many = len(rows) > 500_000  # it takes a second
    _, first, label = apart(_unique, keys) if many else _unique(keys)
    if len(first) < len(rows) and not (rows[first[label]] == rows).all():  # two rows with one hash
        _, first, label = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    return label, first


def _unique(keys: NDArray[np.uint64]) -> Any:
    return np.unique(keys, return_index=True, return_inverse=True)


def _keys(rows: NDArray[Any]) -> NDArray[np.uint64]:
    """A 64-bit hash of the bytes of each row: sorting by that is many times faster than sorting rows."""
    return np.concatenate([_hashes(rows[part]) for part in slices(len(rows), 2**22 // rows.shape[1] + 1)])


def _hashes(rows: NDArray[Any]) -> NDArray[np.uint64]:
    words = rows.view(np.uint32).astype(np.uint64)
    factors = np.cumprod(np.full(words.shape[1], 0x9E3779B97F4A7C15, dtype=np.uint64))  # odd, and modulo 2^64
    return np.asarray(words @ factors)


def normalised_weights(weights: ArrayLike) -> FloatArray:
    """Weights on their own, checked and summing to one."""
    if weights is None:
        raise InputError("weights must be <+given, one number per point+>, but are <!None!>")
    return _normalised(weights, None, None)


def scaled_weights(
    weights: ArrayLike | None, log_weights: ArrayLike | None, n: int | None
) -> tuple[FloatArray, int | None, float]:
    """Checked weights divided by exp(shift) 2^exponent, so that their squares are safe, with exponent and shift.

    The exponent is None if all weights are zero. Plain weights have shift 0, log-weights exponent 0: nothing is lost.
    """
    if weights is not None and log_weights is not None:
        raise InputError("give <+weights or log_weights+>, not <!both!>")
    if log_weights is not None:
        logs = _column(log_weights, "`log_weights`", n)
        largest = float(logs.max())
        if np.isnan(largest) or largest == np.inf:
            expected = "`log_weights` must be <+finite, or -inf for a zero weight+>"
            refuse_rows(np.isnan(logs) | (logs == np.inf), logs, expected)
        if largest == -np.inf:
            return np.zeros(len(logs)), None, 0.0
        with np.errstate(over="ignore"):  # to -inf, a weight of zero
            return np.asarray(np.exp(logs - largest)), 0, largest
    values = np.ones(n or 0) if weights is None else _column(weights, "weights", n)
    least, largest = span(values) if len(values) > ROWS_OF_A_BLOCK else (float(values.min()), float(values.max()))
    if not (least >= 0 and largest < np.inf):
        refuse_rows(~(values >= 0) | np.isinf(values), values, "weights must be <+finite and not negative+>")
    if largest == 0:
        return values, None, 0.0
    if 2.0**-250 < largest < 2.0**250:
        return values, 0, 0.0
    exponent = math.frexp(largest)[1]
    return np.ldexp(values, -exponent), exponent, 0.0


def even_weights(n: int) -> FloatArray:
    """Equal weights, stored as one number however many atoms there are."""
    return np.broadcast_to(np.float64(1.0 / (n or 1)), (n,))


def _normalised(weights: ArrayLike | None, log_weights: ArrayLike | None, n: int | None) -> FloatArray:
    if weights is None and log_weights is None:
        return even_weights(n or 0)
    scaled, exponent, _ = scaled_weights(weights, log_weights, n)
    if exponent is None:
        found = "weights sum to zero" if log_weights is None else "`log_weights` are all -inf"
        raise InputError(f"<!{found}!> over {len(scaled)} points; <+at least one must be positive+>")
    total = scaled.sum()
    if len(scaled) <= ROWS_OF_A_BLOCK:
        return np.asarray(scaled / total)
    shares = np.empty(len(scaled))
    map_rows(lambda rows: np.divide(scaled[rows], total, out=shares[rows]), len(scaled))
    return shares


def _column(values: Any, name: str, n: int | None) -> FloatArray:
    if name == "weights" and has_unit(values):
        values = np.asarray(getattr(values, "value", values))  # a common unit cancels when weights are normalised
    array = numeric_array(values, name)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise InputError.misshapen(name, "(n,)", array.shape, "give one number per point")
    if not len(array):
        raise InputError.lacking(f"{name} are empty")
    if n is not None and len(array) != n:
        words = f"there are <+{n} points+> but <!{len(array)} {name}!>"
        raise InputError(f"{name} must have one entry per point: {words}")
    return array.astype(np.float64, copy=False)
