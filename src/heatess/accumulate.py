"""Profiles of data in parts: coefficients sum_i w_i phi(x_i) of the parts add up to those of the whole."""

from __future__ import annotations

import math
import os
import zipfile
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from . import scales, spaces
from .arrays import whole
from .blocks import thread_count
from .errors import InputError, PrecisionError
from .files import atomic_path
from .heat.series import level_count
from .measure import Measure
from .parts import PartSums, Unit, counted_weights
from .profile import Facts, HeatProfile, build_profile, check_rtol
from .spaces.base import Space
from .transforms.base import Transform
from .transforms.levels import LevelTransform

SCHEMA = "heatess.accumulator/2"
#: Accuracy of the transform per unit of weight.
EPSILON = 1e-12
#: Where the search for the degree that a scale needs ends.
MOST_LEVELS = 2**24
#: A bound on the ESS of data whose number of atoms is not known beforehand.
UNKNOWN_ESS = 1e12

_SAVED = ("n", "total", "squares", "low", "coefficients")


def degree_for(space: Space, time: float, *, ess: float = UNKNOWN_ESS, rtol: float = 1e-8) -> int:
    """The `max_degree` that certifies *rtol* at *time* for a cloud of at most this *ess*.

    >>> 140 < degree_for(spaces.Sphere(2), float(scales.times_of_angles(5.0))) < 170
    True
    """
    transform = with_transform(space)
    degree = transform.degree_for(time, ess, rtol)
    if degree is None:
        needed = _needed(transform, time, ess, rtol)
        raise PrecisionError(
            f"{scales.in_words(space, time)} is too fine for data in parts on {space!r}: it needs max_degree={needed}, "
            f"but {transform.most:.0f} is the most; give coarser scales, or use heat_profile on the whole",
            needed=needed if isinstance(needed, int) else None,
        )
    return math.ceil(degree)


def with_transform(space: Space | None) -> Transform:
    """The transform of *space*, without which parts do not add up."""
    if space is None or space.transform is None:
        raise InputError(f"{space!r} has no fast transform, so its parts do not add up; use heat_profile on the whole")
    return space.transform


def _needed(transform: Transform, time: float, ess: float, rtol: float) -> int | str:
    """The degree a scale needs, whether or not it can be had."""
    if isinstance(transform, LevelTransform):
        count = level_count(transform.series, time, ess, rtol, MOST_LEVELS)
        return count - 1 if count else "more than 16 million"
    degree = transform.degree_for(time, ess, rtol)
    return f"more than {transform.most:.0f}" if degree is None else math.ceil(degree)


class Accumulator:
    """A weighted cloud seen in parts: add them, merge them, save them, and ask for the profile of the whole.

    Weights and log-weights of all parts are on one common scale: give them as they are, not shifted part by part.
    Memory does not grow with the number of atoms.

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
        self.max_degree = whole(max_degree, "max_degree", 2)
        self._sums = PartSums()
        self._space = None if space is None else self._checked(space)

    def _checked(self, space: Space) -> Space:
        most = with_transform(space).most
        if self.max_degree > most:
            raise InputError(f"max_degree is {self.max_degree}, but on {space!r} it may be {most:.0f} at most")
        return space

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
        if isinstance(points, Measure):
            raise InputError(
                "points are a Measure, whose weights are normalised, so that those of several parts are not on one "
                "scale; give points and weights as they are"
            )
        checked = Measure(points, space=self.space)
        counted, unit = counted_weights(weights, log_weights, checked.n)
        space = self._checked(checked.space)
        transform = with_transform(space)
        part = PartSums.of(checked.points, counted, unit, transform.low_sums)
        if part.total > 0:
            found = transform.coefficients(checked.points, counted, float(self.max_degree), EPSILON, thread_count())
            part = replace(part, coefficients=found)
        self._space, self._sums = space, self._sums + part
        return self

    def __add__(self, other: Accumulator) -> Accumulator:
        if not isinstance(other, Accumulator):
            return NotImplemented
        for name in ("max_degree", "space"):
            mine, theirs = getattr(self, name), getattr(other, name)
            if mine != theirs and mine is not None and theirs is not None:
                raise InputError(f"accumulators with different {name} do not add up: {mine!r} and {theirs!r}")
        merged = Accumulator(self.space or other.space, max_degree=self.max_degree)
        merged._sums = self._sums + other._sums
        return merged

    def __repr__(self) -> str:
        return f"Accumulator({self.space!r}, max_degree={self.max_degree}, n={self.n})"

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
            raise PrecisionError(
                f"max_degree={self.max_degree} certifies gESS {reached} at {where}, and rtol={rtol:g} is asked for; "
                f"accumulate with max_degree={needed}, or ask for coarser scales",
                reached=error,
                needed=needed if isinstance(needed, int) else None,
            )
        return build_profile(Facts(space, part.n, part.ess, rtol), sums, at, "spectral", spectrum)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the state to *path* (.npz): the old file or the new one stays, never a broken one."""
        space, exponent, shift = self.known_space, *self._sums.unit
        content: dict[str, Any] = {name: getattr(self._sums, name) for name in _SAVED}
        content |= {"schema": SCHEMA, "space": repr(space), "basis": with_transform(space).basis}
        with atomic_path(path) as draft, draft.open("wb") as stream:
            np.savez(stream, max_degree=self.max_degree, exponent=exponent, shift=shift, **content)
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
        transform = with_transform(loaded.known_space)
        if str(content["basis"]) != transform.basis:
            raise InputError(f"holds coefficients in the basis {str(content['basis'])!r}, not {transform.basis!r}")
        coefficients = content["coefficients"]
        if coefficients.size and coefficients.shape != transform.zeros(float(loaded.max_degree)).shape:
            raise InputError(f"holds coefficients of shape {coefficients.shape}, which do not fit its degree")
        unit = Unit(int(content["exponent"]), float(content["shift"]))
        numbers = int(content["n"]), float(content["total"]), float(content["squares"])
        loaded._sums = PartSums(unit, *numbers, content["low"], coefficients)
        return loaded

    @property
    def known_space(self) -> Space:
        """The manifold; an `InputError` where no part has told it yet."""
        if self.space is None:
            raise InputError("this accumulator is empty; add points first")
        return self.space
