"""The mergeable state: coefficients of a measure that arrives in parts.

Coefficients sum_i w_i phi(x_i) are linear in the measure, so those of shards, streams and machines add up,
exactly, to those of the whole; the profile follows from them at every scale that their degree resolves.
"""

from __future__ import annotations

import math
import os
import zipfile
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import scales, spaces
from .blocks import thread_count
from .engines.sums import sum_levels
from .errors import InputError, PrecisionError
from .files import atomic_path
from .kernel import level_count
from .measure import Measure, scaled_weights
from .profile import HeatProfile, build_profile, check_rtol
from .spaces.base import LevelMoments, Space, ZonalSpace

SCHEMA = "heatess.accumulator/1"

#: Accuracy of the transform per unit of weight.
EPSILON = 1e-12


@dataclass(frozen=True, eq=False)
class _State:
    """Sums over atoms, with all weights divided by 2^exponent, which is exact."""

    space: ZonalSpace
    coefficients: NDArray[np.complex128]
    exponent: int
    total: float
    squares: float
    n: int

    def at(self, exponent: int) -> _State:
        """The same sums in units of another, larger, power of two."""
        if exponent == self.exponent:
            return self
        unit = math.ldexp(1.0, self.exponent - exponent)
        return replace(
            self,
            coefficients=self.coefficients * unit,
            exponent=exponent,
            total=self.total * unit,
            squares=self.squares * unit * unit,
        )

    def __add__(self, other: _State) -> _State:
        exponent = max(self.exponent, other.exponent)
        mine, theirs = self.at(exponent), other.at(exponent)
        return replace(
            mine,
            coefficients=mine.coefficients + theirs.coefficients,
            total=mine.total + theirs.total,
            squares=mine.squares + theirs.squares,
            n=mine.n + theirs.n,
        )


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
        self._state: _State | None = None
        self._space = None if space is None else self._checked(space)

    def _checked(self, space: Space) -> ZonalSpace:
        if not isinstance(space, ZonalSpace) or not space.transform_limit:
            raise InputError(
                f"{space!r} has no fast transform, so its parts do not add up; use heat_profile on the whole"
            )
        if self.max_degree >= space.transform_limit:
            limit = space.transform_limit - 1
            raise InputError(f"max_degree is {self.max_degree}, but on {space!r} it may be {limit} at most")
        return space

    @property
    def space(self) -> Space | None:
        """The manifold; None until the first part tells."""
        return self._space

    @property
    def n(self) -> int:
        """Atoms seen."""
        return self._state.n if self._state else 0

    @property
    def ess(self) -> float:
        """Ordinary effective sample size of all atoms seen."""
        state = self._filled()
        return state.total**2 / state.squares

    def add(self, points: Any, weights: ArrayLike | None = None, *, log_weights: ArrayLike | None = None) -> Self:
        """Add atoms, and return the accumulator itself. Without weights each atom weighs 1."""
        checked = Measure.of(points, space=self._space)
        scaled, exponent = scaled_weights(weights, log_weights, checked.n)
        space = self._checked(checked.space)
        count = self.max_degree + 1
        if exponent is None:  # no weight at all
            part = _State(space, space.no_coefficients(count), -(2**20), 0.0, 0.0, checked.n)
        else:
            found = space.coefficients(checked.points, scaled, count, EPSILON, thread_count())
            squares = float(np.einsum("i,i->", scaled, scaled))
            part = _State(space, found, exponent, float(scaled.sum()), squares, checked.n)
        self._space = space
        self._state = part if self._state is None else self._state + part
        return self

    def __add__(self, other: Accumulator) -> Accumulator:
        if not isinstance(other, Accumulator):
            return NotImplemented
        for name in ("max_degree", "space"):
            mine, theirs = getattr(self, name), getattr(other, name)
            if mine != theirs and mine is not None and theirs is not None:
                raise InputError(f"accumulators with different {name} do not add up: {mine!r} and {theirs!r}")
        merged = Accumulator(self._space or other._space, max_degree=self.max_degree)
        states = [state for state in (self._state, other._state) if state is not None]
        if states:
            merged._state = states[0] if len(states) == 1 else states[0] + states[1]
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
        state = self._filled()
        at = scales.resolve(state.space, angles, times, resolutions)
        unit = state.coefficients / state.total
        moments = LevelMoments(state.space.moments_of_coefficients(unit), root_error=EPSILON)
        sums = sum_levels(state.space, at.times, moments)
        worst = int(np.argmax(sums.error))
        if not sums.error[worst] <= rtol:
            needed = level_count(state.space, float(at.times.min()), self.ess, rtol, 2**24)
            raise PrecisionError(
                f"max_degree={self.max_degree} certifies gESS only to {sums.error[worst]:.1e} at angle "
                f"{at.angles[worst]:g} degrees, not to rtol={rtol:g}; accumulate with max_degree="
                f"{needed or 'more than 16 million'}, or ask for coarser scales"
            )
        return build_profile(sums, at, self.ess, state.n, state.space, "spectral", moments)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the state to *path* (.npz): the old file or the new one stays, never a broken one."""
        state = self._filled()
        with atomic_path(path) as draft, draft.open("wb") as stream:
            np.savez(
                stream,
                schema=SCHEMA,
                space=repr(state.space),
                basis=state.space.basis,
                max_degree=self.max_degree,
                coefficients=state.coefficients,
                exponent=state.exponent,
                sums=np.array([state.total, state.squares]),
                n=state.n,
            )

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Accumulator:
        """Read a state written by `save`."""
        try:
            with np.load(path, allow_pickle=False) as file:
                content = {name: file[name] for name in file.files}
        except FileNotFoundError:
            raise InputError(f"{path} does not exist") from None
        except (OSError, ValueError, zipfile.BadZipFile, EOFError) as error:
            raise InputError(f"{path} is not a whole accumulator file ({error}); make it again") from None
        if str(content.get("schema")) != SCHEMA:
            raise InputError(f"{path} has schema {content.get('schema')}, but {SCHEMA} is needed; make it again")
        space = spaces.named(str(content["space"]))
        loaded = cls(space, max_degree=int(content["max_degree"]))
        zonal = loaded._checked(space)
        if str(content["basis"]) != zonal.basis:
            raise InputError(f"{path} holds coefficients in the basis {str(content['basis'])!r}, not {zonal.basis!r}")
        total, squares = (float(value) for value in content["sums"])
        coefficients = content["coefficients"]
        if coefficients.shape != zonal.no_coefficients(loaded.max_degree + 1).shape:
            raise InputError(f"{path} holds coefficients of shape {coefficients.shape}, which do not fit its degree")
        loaded._state = _State(zonal, coefficients, int(content["exponent"]), total, squares, int(content["n"]))
        return loaded

    def _filled(self) -> _State:
        if self._state is None:
            raise InputError("this accumulator is empty; add points first")
        if self._state.total == 0:
            raise InputError(f"the weights of all {self._state.n} atoms are zero; at least one must be positive")
        return self._state
