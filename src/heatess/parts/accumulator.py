"""Profiles of data in parts: coefficients sum_i w_i phi(x_i) of the parts add up to those of the whole."""

from __future__ import annotations

import math
import os
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from ..base.arrays import whole
from ..base.blocks import thread_count
from ..base.errors import InputError, PrecisionError
from ..base.files import atomic_path, check_writable, checksum, is_archive, read_archive, refuse_changed, write_archive
from ..base.known import Known
from ..heat.series import level_count
from ..measures import scales
from ..measures.from_json import space_of
from ..measures.measure import Measure, in_frame_of
from ..measures.scales import check_rtol
from ..profiles.heat_profile import Facts, HeatProfile, build_profile
from ..spaces.base import Space, check_space
from ..transforms.base import Transform
from .sums import PartSums, Unit, counted_weights

SCHEMA = "heatess.accumulator/3"
#: Accuracy of the transform per unit of weight.
EPSILON = 1e-12
#: Where the search for the degree that a scale needs ends.
LAST_DEGREE_TRIED = 2**20
#: A bound on the ESS of data whose number of atoms is not known beforehand.
UNKNOWN_ESS = 1e12

#: The fields of a state file, and the type of number that each one holds.
_FIELDS = dict.fromkeys(("schema", "space", "basis"), "U") | dict.fromkeys(("max_degree", "n", "exponent"), "i")
_FIELDS |= dict.fromkeys(("shift", "total", "squares", "low"), "f") | {"coefficients": "fc"}
_SAVED = ("n", "total", "squares", "low", "coefficients")

#: Rounding of sums that a state file may show.
_ROUNDING_OF_STATE = 1e-6


def degree_for(space: Space, time: float, *, ess: float = UNKNOWN_ESS, rtol: float = 1e-8) -> int:
    """The `max_degree` that certifies *rtol* at *time* for a cloud of at most this *ess*.

    >>> from heatess import Sphere
    >>> 140 < degree_for(Sphere(2), float(scales.times_of_angles(5.0))) < 170
    True
    """
    transform = with_transform(space)
    degree = transform.degree_for(time, ess, rtol)
    if degree is None:
        needed = _needed(transform, time, ess, rtol)
        raise PrecisionError(
            f"{scales.in_words(space, time)} is too fine for data in parts on {space!r}: it needs a `max_degree` of "
            f"{needed}, but {transform.most:.0f} is the most; give coarser scales, or use `heat_profile` on the whole",
            needed=needed if isinstance(needed, int) else None,
        )
    return math.ceil(degree)


def with_transform(space: Space | None) -> Transform:
    """The transform of *space*, without which parts do not add up."""
    check_space(space)
    if space is None or space.transform is None:
        raise InputError(
            f"{space!r} has no fast transform, so its parts do not add up; use `heat_profile` on the whole"
        )
    return space.transform


def check_replaceable(path: str | os.PathLike[str]) -> Path:
    """*path*, if a state may be written there: there is none, or an old state, but no other file."""
    target = check_writable(path)
    if target.is_file() and target.stat().st_size and not is_archive(target):
        raise InputError(f"{target} exists and is not an accumulator file; choose another name, or remove it first")
    return target


def _needed(transform: Transform, time: float, ess: float, rtol: float) -> int | str:
    """The degree a scale needs, whether or not it can be had."""
    if transform.by_levels is not None:
        count = level_count(transform.by_levels.series, time, ess, rtol, LAST_DEGREE_TRIED)
        return count - 1 if count else f"more than {LAST_DEGREE_TRIED:,}"
    degree = transform.degree_for(time, ess, rtol)
    return f"more than {transform.most:.0f}" if degree is None else math.ceil(degree)


class Accumulator:
    """A weighted cloud seen in parts: add them, merge them, save them, and ask for the profile of the whole.

    Weights and log-weights of all parts are on one common scale: give them as they are, not shifted part by part.
    Memory does not grow with the number of points.

    Parameters
    ----------
    space : Space, optional
        The manifold, one with a fast transform. Default: the unit sphere of the first array's dimension.
    max_degree : int
        Highest level kept: about 14 / alpha for a finest angle of alpha radians on S^2. On tori and products, where
        levels mix, sqrt(lambda / lambda_1) of the largest eigenvalue kept, with lambda_1 the lowest.

    Examples
    --------
    >>> import heatess as he
    >>> x = he.samplers.uniform(1000, rng=0)
    >>> one = he.Accumulator(max_degree=200).add(x[:400], log_weights=800 * x[:400, 2])
    >>> two = he.Accumulator(max_degree=200).add(x[400:], log_weights=800 * x[400:, 2])
    >>> whole = he.gess(x, log_weights=800 * x[:, 2], angle=5)
    >>> bool(abs((one + two).profile(angles=[5]).gess[0] / whole - 1) < 1e-10)
    True
    """

    def __init__(self, space: Space | None = None, *, max_degree: int) -> None:
        self.max_degree = whole(max_degree, "`max_degree`", 2)
        self._sums = PartSums()
        self.frame: str | None = None  #: of directions, as the first part that has one says
        self._space = None if space is None else self._checked(space)

    def _checked(self, space: Space) -> Space:
        most = with_transform(space).most
        if self.max_degree > most:
            raise InputError(f"`max_degree` is <!{self.max_degree}!>, but may be <+{most:.0f} at most+> on {space!r}")
        return space

    @property
    def space(self) -> Space | None:
        """The manifold; None until the first part tells."""
        return self._space

    @property
    def n(self) -> int:
        """Points seen."""
        return self._sums.n

    @property
    def ess(self) -> float:
        """Ordinary effective sample size of all points seen."""
        return self.sums.ess

    @property
    def sums(self) -> PartSums:
        """The sums over all points seen; an `InputError` if they have no weight."""
        return self._sums.checked()

    def add(
        self,
        points: Any,
        weights: ArrayLike | None = None,
        *,
        log_weights: ArrayLike | None = None,
        frame: str | None = None,
    ) -> Self:
        """Add points, and return the accumulator itself. Without weights each point weighs 1.

        *frame* is that of directions, see `Measure`. Those in another frame of the sky than the first ones are turned
        into it, and a `FrameWarning` says so; what cannot be turned is refused.

        >>> import heatess as he
        >>> cloud = he.samplers.uniform(1000, rng=0)
        >>> he.Accumulator(max_degree=50).add(cloud).add(cloud)
        Accumulator(Sphere(2), max_degree=50, n=2000)
        """
        if isinstance(points, Measure):
            raise InputError(
                "points are <!a Measure!>, whose weights are normalised, so that those of several parts are not on "
                "one scale; give <+points and weights as they are+>"
            )
        checked = in_frame_of(self.frame, Measure(points, space=self.space, frame=frame))
        counted, unit = counted_weights(weights, log_weights, checked.n)
        space = self._checked(checked.space)
        transform = with_transform(space)
        part = PartSums.of(checked.points, counted, unit, transform.low_sums)
        if part.total > 0:
            found = transform.coefficients(checked.points, counted, float(self.max_degree), EPSILON, thread_count())
            part = replace(part, coefficients=found)
        self._space, self._sums, self.frame = space, self._sums + part, self.frame or checked.known.frame
        return self

    def __add__(self, other: Accumulator) -> Accumulator:
        if not isinstance(other, Accumulator):
            return NotImplemented
        for name in ("space", "`max_degree`", "frame"):
            mine, theirs = (getattr(part, name.strip("`")) for part in (self, other))
            if mine != theirs and mine is not None and theirs is not None:
                raise InputError(f"accumulators with different {name} do not add up: <+{mine!r}+> and <!{theirs!r}!>")
        merged = Accumulator(self.space or other.space, max_degree=self.max_degree)
        merged._sums, merged.frame = self._sums + other._sums, self.frame or other.frame
        return merged

    def __repr__(self) -> str:
        frame = f", {self.frame}" if self.frame else ""
        return f"Accumulator({self.space!r}, max_degree={self.max_degree}, n={self.n}{frame})"

    def profile(
        self,
        *,
        angles: ArrayLike | None = None,
        times: ArrayLike | None = None,
        resolutions: ArrayLike | None = None,
        rtol: float = 1e-8,
    ) -> HeatProfile:
        """The heat profile of all points seen; refused where the degree does not certify *rtol*.

        >>> import heatess as he
        >>> parts = he.Accumulator(max_degree=160).add(he.samplers.fibonacci(300))
        >>> parts.profile(angles=[5, 20]).gess.round(2)
        array([294.92,  33.16])
        """
        check_rtol(rtol)
        self._sums.checked()
        return self.profile_at(scales.resolve(self.known_space, angles, times, resolutions), rtol)

    def profile_at(self, at: scales.Scales, rtol: float) -> HeatProfile:
        """The same at scales already resolved."""
        part, space = self._sums.checked(), self.known_space
        transform = with_transform(space)
        spectrum = transform.spectrum(
            part.coefficients / part.total, lambda: part.low / part.total, float(self.max_degree), EPSILON, rtol
        )
        with np.errstate(invalid="ignore"):  # where far too few levels certify nothing
            sums = spectrum.heat_sums(at.times)
        worst = int(np.argmax(sums.error))
        error = float(sums.error[worst])
        if not error <= rtol:
            needed = _needed(transform, float(at.times.min()), part.ess, rtol)
            reached = f"only to {error:.1e}" if error < 1 else "not at all"
            where = scales.in_words(space, float(at.times[worst]))
            advice = f"accumulate with `max_degree={needed}`, or ask for coarser scales"
            if isinstance(needed, str) or needed > transform.most:
                most = f"{transform.most:.0f} is the most"
                advice = f"ask for coarser scales, since a `max_degree` of {needed} would be needed, but {most}"
            raise PrecisionError(
                f"`max_degree={self.max_degree}` certifies gESS {reached} at {where}, and `rtol={rtol:g}` is asked "
                f"for; {advice}",
                reached=error,
                needed=needed if isinstance(needed, int) else None,
            )
        facts = Facts(space, part.n, part.ess, rtol, Known(frame=self.frame))
        return build_profile(facts, sums, at, "spectral", spectrum)

    def save(self, path: str | os.PathLike[str], *, replace: bool = True) -> None:
        """Write the state to *path* (.npz): the old file or the new one stays, never a broken one.

        A state file is replaced, unless *replace* is false; any other file is not, so that data is never lost to a
        wrong name. Of a symbolic link the file that it points to is meant.

        >>> import heatess as he
        >>> import tempfile, pathlib
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "state.npz"
        >>> he.Accumulator(max_degree=50).add(he.samplers.fibonacci(300)).save(path)
        >>> he.Accumulator.load(path)
        Accumulator(Sphere(2), max_degree=50, n=300)
        """
        target, content = check_replaceable(path), self._content()
        with atomic_path(target, replace=replace) as draft, draft.open("wb") as stream:
            write_archive(stream, content)
            stream.flush()
            os.fsync(stream.fileno())

    def checksum(self) -> str:
        """A digest of the state: equal for two parts only if they are the same, or copies of each other.

        >>> import heatess as he
        >>> import copy
        >>> one = he.Accumulator(max_degree=50).add(he.samplers.fibonacci(300))
        >>> copy.copy(one).checksum() == one.checksum(), (one + one).checksum() == one.checksum()
        (True, False)
        """
        return checksum(self._content())

    def _content(self) -> dict[str, Any]:
        space, (exponent, shift) = self.known_space, self._sums.unit
        content: dict[str, Any] = {name: getattr(self._sums, name) for name in _SAVED}
        content |= {"schema": SCHEMA, "space": repr(space), "basis": with_transform(space).basis}
        content |= {"max_degree": self.max_degree, "exponent": exponent, "shift": shift}
        content |= {} if self.frame is None else {"frame": self.frame}
        return {name: np.asarray(value, order="C") for name, value in content.items()}

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, space: Space | None = None) -> Accumulator:
        """Read a state written by `save`; one on a *space* of your own needs that space as well.

        A file that was changed or damaged is refused: by its checksum, and by what its numbers must fulfil.

        >>> import heatess as he
        >>> import tempfile, pathlib
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "state.npz"
        >>> he.Accumulator(max_degree=50).add(he.samplers.fibonacci(300)).save(path)
        >>> he.Accumulator.load(path).profile(angles=[30]).gess.round(2)
        array([14.93])
        """
        check_space(space)
        try:
            content = read_archive(path, (*_FIELDS, "frame"), "accumulator file")
            if str(content.get("schema")) != SCHEMA:
                found = str(content.get("schema"))[:60]
                raise InputError(f"has schema <!{found}!>, but <+{SCHEMA}+> is needed; make it again with this version")
            refuse_changed(content)
            return cls._of(content, space)
        except InputError as error:
            raise error.within(str(path), " ") from None

    @classmethod
    def _of(cls, content: dict[str, Any], space: Space | None) -> Accumulator:
        """The accumulator with the content of a file; errors say what is wrong with "it"."""
        _check_fields(content)
        space = space_of(content["space"], space, "a state", "`Accumulator.load(path, space=...)`")
        transform = with_transform(space)
        if str(content["basis"]) != transform.basis:
            found = f"holds coefficients in the basis <!{str(content['basis'])[:60]!r}!>, not <+{transform.basis!r}+>"
            raise InputError(f"{found}; make it again with this version")
        loaded = cls(space, max_degree=int(content["max_degree"]))
        unit = Unit(int(content["exponent"]), float(content["shift"]))
        numbers = int(content["n"]), float(content["total"]), float(content["squares"])
        sums = PartSums(unit, *numbers, content["low"], content["coefficients"])
        wrong = _inconsistency(sums, transform, loaded.max_degree) or _wrong_low(sums, space, transform)
        if wrong:
            raise InputError(f"holds <!{wrong}!>; make it again")
        loaded._sums = sums
        loaded.frame = Known(frame=str(content["frame"])).frame if "frame" in content else None
        return loaded

    @property
    def known_space(self) -> Space:
        """The manifold; an `InputError` where no part has told it yet."""
        if self.space is None:
            raise InputError("this accumulator is <!empty!>; add <+points+> first")
        return self.space


def _check_fields(content: dict[str, Any]) -> None:
    """Refuse fields that are missing, or of the wrong shape or type."""
    for name, kinds in _FIELDS.items():
        if name not in content:
            raise InputError(f"has no <+field {name}+>; make it again")
        found, number = content[name], name not in ("low", "coefficients")
        if found.dtype.kind not in kinds or (kinds != "U" and not found.dtype.isnative) or (number and found.ndim):
            raise InputError(f"holds <!{found.dtype} of shape {found.shape}!> as {name}; make it again")


def _inconsistency(sums: PartSums, transform: Transform, degree: int) -> str:
    """What cannot be in the sums of any measure, in words; empty if nothing is wrong."""
    n, total, squares, shape = sums.n, sums.total, sums.squares, sums.coefficients.shape
    weightless = total == 0 and squares == 0
    if n < 0:
        return f"n = {n}"
    if weightless and (sums.unit != Unit() or sums.coefficients.any() or sums.low.any()):
        return "coefficients of points without weight"
    if not weightless:
        if not (1e-100 < total < 1e100 and 1e-200 < squares < 1e200 and math.isfinite(sums.unit.shift)):
            return f"weights with sum {total:g} and sum of squares {squares:g}"
        if abs(sums.unit.exponent) > 2000:
            return f"weights in the unit 2^{sums.unit.exponent}"
        if not 1 - _ROUNDING_OF_STATE <= sums.ess <= n * (1 + _ROUNDING_OF_STATE):
            return f"{n} points with an ESS of {sums.ess:g}"
    expected = transform.zeros(float(degree))
    fits = shape == expected.shape and sums.coefficients.dtype == expected.dtype
    if not fits and (sums.coefficients.size or not weightless):
        return f"coefficients of shape {shape}, which do not fit its degree"
    if not np.isfinite(sums.coefficients).all() or not np.isfinite(sums.low).all():
        return "coefficients that are not finite"
    return ""


def _wrong_low(sums: PartSums, space: Space, transform: Transform) -> str:
    """Whether the low sums are not those of the space, in words; where no point of it can be drawn, nobody knows."""
    if sums.low.ndim != 1:
        return f"low sums of shape {sums.low.shape}"
    try:
        point = space.check(space.uniform(1, np.random.default_rng(0)))
    except InputError:
        return ""
    expected = transform.low_sums(point, np.ones(1)).shape
    return "" if sums.low.shape == expected or not sums.n else f"{len(sums.low)} low sums, not {expected[0]}"
