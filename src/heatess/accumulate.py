"""The mergeable state: coefficients of a measure that arrives in parts.

Coefficients sum_i w_i phi(x_i) are linear in the measure, so those of shards, streams and machines add up,
exactly, to those of the whole; the profile follows from them at every scale that their degree resolves.
"""

from __future__ import annotations

import os
import zipfile
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from . import scales, spaces
from .blocks import thread_count
from .engines.sums import sum_levels
from .errors import InputError, PrecisionError
from .files import atomic_path
from .kernel import level_count
from .measure import Measure
from .parts import PartSums, Unit, counted_weights
from .profile import HeatProfile, build_profile, check_rtol
from .spaces.base import LevelMoments, Space, ZonalSpace

SCHEMA = "heatess.accumulator/1"

#: Accuracy of the transform per unit of weight.
EPSILON = 1e-12

#: Where the search for the degree that a scale needs ends.
MOST_LEVELS = 2**24

#: A bound on the ESS of data whose number of atoms is not known beforehand.
UNKNOWN_ESS = 1e12

_SAVED = ("n", "total", "squares", "first", "second", "coefficients")


def degree_for(space: ZonalSpace, time: float, *, ess: float = UNKNOWN_ESS, rtol: float = 1e-8) -> int:
    """The `max_degree` that certifies *rtol* at *time* for a cloud of at most this *ess*.

    >>> 140 < degree_for(spaces.Sphere(2), float(scales.times_of_angles(5.0))) < 170
    True
    """
    count = level_count(with_transform(space), time, ess, rtol, space.transform_limit)
    if count is None:
        raise PrecisionError(
            f"angle {float(scales.angles_of_times(time)):g} degrees is too fine for data in parts on {space!r}: it "
            f"needs max_degree={_needed(space, time, ess, rtol)}, but {space.transform_limit - 1} is the most; give "
            "coarser scales, or use heat_profile on the whole"
        )
    return count - 1


def with_transform(space: Space | None) -> ZonalSpace:
    """*space*, if it has a fast transform, without which parts do not add up."""
    if not isinstance(space, ZonalSpace) or not space.transform_limit:
        raise InputError(f"{space!r} has no fast transform, so its parts do not add up; use heat_profile on the whole")
    return space


def _needed(space: ZonalSpace, time: float, ess: float, rtol: float) -> int | str:
    """The degree a scale needs, whether or not it can be had."""
    count = level_count(space, time, ess, rtol, MOST_LEVELS)
    return count - 1 if count else "more than 16 million"


class Accumulator:
    """A weighted cloud seen in parts: add them, merge them, save them, and ask for the profile of the whole.

    Weights of all parts are on one common scale (log-weights too: give them as they are, not shifted part by
    part). Memory does not grow with the number of atoms.

    Parameters
    ----------
    space : Space, optional
        The manifold, one with a fast transform. Default: the unit sphere of the first array's dimension.
    max_degree : int
        Highest level kept: about 14 / alpha for a finest angle of alpha radians on S^2.

    Examples
    --------
    >>> import heatess as he
    >>> x = he.samplers.uniform(1000, rng=0)
    >>> one, two = he.Accumulator(max_degree=200), he.Accumulator(max_degree=200)
    >>> _ = one.add(x[:300], log_weights=800 * x[:300, 2]).add(x[300:400], log_weights=800 * x[300:400, 2])
    >>> _ = two.add(x[400:], log_weights=800 * x[400:, 2])
    >>> whole = he.gess(x, log_weights=800 * x[:, 2], angle=5)
    >>> bool(abs((one + two).profile(angles=[5]).gess[0] / whole - 1) < 1e-10)
    True
    """

    def __init__(self, space: Space | None = None, *, max_degree: int) -> None:
        if isinstance(max_degree, bool) or not isinstance(max_degree, int | np.integer) or max_degree < 2:
            raise InputError(f"max_degree must be a whole number >= 2, but is {max_degree!r}")
        self.max_degree = int(max_degree)
        self._sums = PartSums()
        self._space = None if space is None else self._checked(space)

    def _checked(self, space: Space) -> ZonalSpace:
        zonal = with_transform(space)
        if self.max_degree >= zonal.transform_limit:
            limit = zonal.transform_limit - 1
            raise InputError(f"max_degree is {self.max_degree}, but on {space!r} it may be {limit} at most")
        return zonal

    @property
    def space(self) -> Space | None:
        """The manifold; None until the first part tells."""
        return self._space

    @property
    def n(self) -> int:
        """Atoms seen."""
        return self._sums.n

    @property
    def ess(self) -> float:
        """Ordinary effective sample size of all atoms seen."""
        return self._sums.checked().ess

    def add(self, points: Any, weights: ArrayLike | None = None, *, log_weights: ArrayLike | None = None) -> Self:
        """Add atoms, and return the accumulator itself. Without weights each atom weighs 1."""
        checked = Measure.of(points, space=self._space)
        counted, unit = counted_weights(weights, log_weights, checked.n)
        space = self._checked(checked.space)
        count = self.max_degree + 1
        part = PartSums.of(space, checked.points, counted, unit)
        if part.total > 0:
            found = space.coefficients(checked.points, counted, count, EPSILON, thread_count())
            part = replace(part, coefficients=found)
        self._space = space
        self._sums += part
        return self

    def __add__(self, other: Accumulator) -> Accumulator:
        if not isinstance(other, Accumulator):
            return NotImplemented
        for name in ("max_degree", "space"):
            mine, theirs = getattr(self, name), getattr(other, name)
            if mine != theirs and mine is not None and theirs is not None:
                raise InputError(f"accumulators with different {name} do not add up: {mine!r} and {theirs!r}")
        merged = Accumulator(self._space or other._space, max_degree=self.max_degree)
        merged._sums = self._sums + other._sums
        return merged

    def __repr__(self) -> str:
        return f"Accumulator({self._space!r}, max_degree={self.max_degree}, n={self.n})"

    def profile(
        self,
        *,
        angles: ArrayLike | None = None,
        times: ArrayLike | None = None,
        resolutions: ArrayLike | None = None,
        rtol: float = 1e-8,
    ) -> HeatProfile:
        """The heat profile of all atoms seen; refused where the degree does not certify *rtol*."""
        check_rtol(rtol)
        self._sums.checked()
        return self.profile_at(scales.resolve(self._zonal(), angles, times, resolutions), rtol)

    def profile_at(self, at: scales.Scales, rtol: float) -> HeatProfile:
        """The same at scales already resolved."""
        part = self._sums.checked()
        space = self._zonal()
        values = space.moments_of_coefficients(part.coefficients / part.total)
        moments = part.low_checked(space, LevelMoments(values, root_error=EPSILON), rtol)
        with np.errstate(invalid="ignore"):  # where far too few levels certify nothing
            sums = sum_levels(space, at.times, moments)
        worst = int(np.argmax(sums.error))
        if not sums.error[worst] <= rtol:
            reached = f"only to {sums.error[worst]:.1e}" if sums.error[worst] < 1 else "not at all"
            raise PrecisionError(
                f"max_degree={self.max_degree} certifies gESS {reached} at angle {at.angles[worst]:g} degrees, and "
                f"rtol={rtol:g} is asked for; accumulate with max_degree="
                f"{_needed(space, float(at.times.min()), part.ess, rtol)}, or ask for coarser scales"
            )
        return build_profile(sums, at, part.ess, part.n, space, "spectral", moments)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the state to *path* (.npz): the old file or the new one stays, never a broken one."""
        space = self._zonal()
        with atomic_path(path) as draft, draft.open("wb") as stream:
            np.savez(
                stream,
                schema=SCHEMA,
                space=repr(space),
                basis=space.basis,
                max_degree=self.max_degree,
                exponent=self._sums.unit.exponent,
                shift=self._sums.unit.shift,
                **{name: getattr(self._sums, name) for name in _SAVED},
            )
            stream.flush()
            os.fsync(stream.fileno())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Accumulator:
        """Read a state written by `save`."""
        try:
            with open(path, "rb") as stream, np.load(stream, allow_pickle=False) as file:
                return cls._of({name: file[name] for name in file.files})
        except FileNotFoundError:
            raise InputError(f"{path} does not exist") from None
        except InputError as error:
            raise InputError(f"{path} {error}; make it again") from None
        except (OSError, ValueError, TypeError, LookupError, EOFError, RuntimeError, zipfile.BadZipFile) as error:
            raise InputError(f"{path} is not a whole accumulator file ({error}); make it again") from None

    @classmethod
    def _of(cls, content: dict[str, Any]) -> Accumulator:
        """The accumulator with the content of a file; errors say what is wrong with "it"."""
        if str(content.get("schema")) != SCHEMA:
            raise InputError(f"has schema {content.get('schema')}, but {SCHEMA} is needed")
        loaded = cls(spaces.named(str(content["space"])), max_degree=int(content["max_degree"]))
        space = loaded._zonal()
        if str(content["basis"]) != space.basis:
            raise InputError(f"holds coefficients in the basis {str(content['basis'])!r}, not {space.basis!r}")
        coefficients = content["coefficients"]
        if coefficients.size and coefficients.shape != space.no_coefficients(loaded.max_degree + 1).shape:
            raise InputError(f"holds coefficients of shape {coefficients.shape}, which do not fit its degree")
        unit = Unit(int(content["exponent"]), float(content["shift"]))
        sums: dict[str, Any] = {name: content[name] for name in ("coefficients", "first", "second")}
        numbers = (int(content["n"]), float(content["total"]), float(content["squares"]))
        loaded._sums = PartSums(unit, *numbers, **sums)
        return loaded

    def _zonal(self) -> ZonalSpace:
        if not isinstance(self._space, ZonalSpace):
            raise InputError("this accumulator is empty; add points first")
        return self._space
