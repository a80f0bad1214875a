"""The heat kernel of a homogeneous space from sums over its levels that GeometricKernels works out."""

from __future__ import annotations

import copy
import math
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...base.arrays import EPS, FloatArray
from ...base.blocks import slices
from ...base.errors import InputError, PrecisionError
from ...heat.bounds import exponent_for, log_share
from ...heat.radial import PairTerms
from ...heat.sums import log_sum

MOST_LEVELS = 256  # that are asked for; tiles hold one number per pair and level
_USUAL_LEVELS = 25  # GeometricKernels' own default, and as many as its tables of characters hold for most groups
_PROBES, _TOLERANCE = 32, 1e-9  # points that a space is tried on, and how far its sums may be off there
_ROWS_HANDED_OVER = 32  # handed to GeometricKernels at once


class _Spectrum(NamedTuple):
    """Whole eigenvalues, each with all of its levels."""

    eigenvalues: FloatArray  # and one more, from which on levels are missing
    starts: NDArray[np.int64]  # the first level of each of them
    log_multiplicities: FloatArray  # not of the last
    unit: float  # phi_0, which is one for eigenfunctions orthonormal under the normalised volume


class LevelKernel:
    """Overlaps from the levels of a space."""

    def __init__(self, space: Any, elements: Callable[[FloatArray], NDArray[Any]], dim: int, limit: int) -> None:
        self._space, self._elements, self._dim = space, elements, dim
        with _quiet():
            most, functions = _most_levels(space, limit)
            self._spectrum, self._seconds = _probed(space, most, functions)
        self._made = {most: functions}  # by number of levels; shared by all reductions of this kernel
        self.found = len(self._spectrum.log_multiplicities)
        self._keep(self.found)

    def _keep(self, count: int) -> None:
        """Use the lowest *count* eigenvalues; `_end` is then the first that is left out."""
        self._eigenvalues, self._end = self._spectrum.eigenvalues[:count], float(self._spectrum.eigenvalues[count])
        self._log_multiplicities = self._spectrum.log_multiplicities[:count]
        self._levels = int(self._spectrum.starts[count])
        self.pair_seconds = self._seconds * self._levels

    def _functions(self) -> Any:
        """Eigenfunctions of the levels in use; a few more will do, because it takes a second to make them."""
        for made in sorted(self._made):
            if self._levels <= made <= 1.2 * self._levels + 1:
                return self._made[made]
        with _quiet():
            self._made[self._levels] = self._space.get_eigenfunctions(self._levels)
        return self._made[self._levels]

    def finest_time(self, rtol: float) -> float:
        """The time at which the share of the missing levels, `bounds.log_share`, is *rtol*."""
        return float(exponent_for(self._dim, math.log(rtol))) / (2 * float(self._spectrum.eigenvalues[-1]))

    def reduced(self, time: float, rtol: float) -> LevelKernel:
        """With what is enough for a thousandth of *rtol* at *time*, in gESS and, but for odd clouds, in MMD^2."""
        eigenvalues = self._spectrum.eigenvalues
        enough = eigenvalues[1] + float(exponent_for(self._dim, math.log(rtol / 1000))) / (2 * time)
        ready = copy.copy(self)
        ready._keep(min(max(int(np.searchsorted(eigenvalues, enough)), 8), self.found))
        return ready

    def _log_terms(self, times: FloatArray) -> FloatArray:
        return np.asarray(self._log_multiplicities - 2 * np.multiply.outer(times, self._eigenvalues))

    def log_diagonal(self, times: FloatArray) -> FloatArray:
        """log sum_l N_l exp(-2 lambda_l t)."""
        return log_sum(self._log_terms(times))

    def errors(self, times: FloatArray, overlap: FloatArray) -> FloatArray:
        """Truncation; and coordinates good to EPS, which move phi_l / N_l by about EPS lambda_l."""
        share = np.exp(log_share(self._dim, 2 * times * self._end))
        p = np.exp(self._log_terms(times) - self.log_diagonal(times)[:, None])
        rounding = 4 * EPS * (1 + p @ self._eigenvalues)
        return np.asarray(share / np.maximum(1 - share, EPS) + rounding / overlap)

    def terms(self, left: FloatArray, right: FloatArray) -> Callable[[float], PairTerms]:
        """s_t, d s_t / d log t and k_2t - 1 of two tiles as a function of time."""
        eigenvalues = self._eigenvalues
        zonal = self._zonal(left, right)  # phi_l / N_l, shape (eigenvalues, rows, columns)

        def at(time: float) -> PairTerms:
            logs = self._log_terms(np.array([time]))[0]
            p = np.exp(logs - logs.max())
            p /= p.sum()
            change = -2 * time * p * (eigenvalues - p @ eigenvalues)
            excess = np.exp(np.minimum(logs, 300.0))
            excess[0] = 0.0
            used = 1 + int(np.flatnonzero((p > EPS**2) | (excess > EPS**2 * excess.max()))[-1])
            return PairTerms(*np.tensordot(np.stack([p, change, excess])[:, :used], zonal[:used], axes=1))

        return at

    def _zonal(self, left: FloatArray, right: FloatArray) -> FloatArray:
        rows, columns, functions = self._elements(left), self._elements(right), self._functions()
        scale = np.exp(-self._log_multiplicities) / self._spectrum.unit
        starts = self._spectrum.starts[: len(scale)]
        zonal = np.empty((len(scale), len(left), len(right)))
        for part in slices(len(left), _ROWS_HANDED_OVER):
            with _quiet():
                values = np.asarray(functions.phi_product(rows[part], columns))[..., : self._levels]
            # Complex levels come in conjugate pairs of one eigenvalue.
            sums = np.add.reduceat(values.real, starts, axis=2)  # (rows, columns, eigenvalues)
            zonal[:, part] = np.moveaxis(sums, 2, 0) * scale[:, None, None]
        return zonal


def _probed(space: Any, count: int, functions: Any) -> tuple[_Spectrum, float]:
    """The eigenvalues that come out right at random points, and the seconds per pair and level."""
    points = np.asarray(space.random(np.random.RandomState(0), _PROBES)[1])
    began = time.perf_counter()
    values = np.asarray(functions.phi_product(points, points))  # (points, points, levels)
    seconds = (time.perf_counter() - began) / (_PROBES**2 * count)
    own = np.asarray(functions.phi_product_diag(points)).real  # (points, levels)
    eigenvalues = np.asarray(space.get_eigenvalues(count), dtype=np.float64).ravel()
    unit = float(own[0, 0])
    if not (np.diff(eigenvalues) > -_TOLERANCE).all() or abs(eigenvalues[0]) > _TOLERANCE or not unit > 0:
        raise InputError(f"{space} must <+begin with the eigenvalue 0 and a constant, and go on in increasing order+>")
    steps = np.diff(eigenvalues) > _TOLERANCE * (1 + eigenvalues[1:])
    starts = np.concatenate([[0], 1 + np.flatnonzero(steps)])
    own, values = (np.add.reduceat(part, starts, axis=-1) / unit for part in (own, values))
    if len(starts) > 1 and np.ptp(own[:, 1]) > _TOLERANCE * np.abs(own[:, 1]).max():
        raise InputError(
            f"{space} is not homogeneous: k_2t(x, x) depends on the place; use `heatess.Graph`, Mesh or PointCloud"
        )
    multiplicities = np.add.reduceat(np.array(functions.num_eigenfunctions_per_level, dtype=np.float64), starts)
    right = _right(values / multiplicities, own / multiplicities)
    right[-1] = False  # the last eigenvalue may have levels beyond the ones that were asked for
    kept = int(np.argmin(right))
    if kept < 2:
        raise PrecisionError(f"GeometricKernels gets {kept} of {len(starts)} eigenvalues of {space} right: too few")
    starts = starts[: kept + 1]
    return _Spectrum(eigenvalues[starts], starts, np.log(multiplicities[:kept]), unit), seconds


def _right(shares: NDArray[Any], own: FloatArray) -> NDArray[np.bool_]:
    """For which eigenvalues phi_l / N_l is one at distance zero, real, and nowhere larger; nan is not right."""
    right = np.abs(own - 1).max(axis=0) < _TOLERANCE
    right &= np.abs(np.einsum("iil->il", shares) - 1).max(axis=0) < _TOLERANCE
    right &= np.abs(shares.imag).max(axis=(0, 1)) < _TOLERANCE
    return np.asarray(right & (np.abs(shares).max(axis=(0, 1)) < 1 + _TOLERANCE))


def _most_levels(space: Any, limit: int) -> tuple[int, Any]:
    """As many levels as the space will make, up to *limit*, and its eigenfunctions."""
    good, bad, functions = 0, limit + 1, None
    likely = [_USUAL_LEVELS, _USUAL_LEVELS + 1, limit]
    while bad - good > 1:
        trial = likely.pop(0) if likely else (good + bad) // 2
        if good < trial < bad:
            try:
                functions, good = space.get_eigenfunctions(trial), trial
            except (KeyError, ValueError, IndexError, OverflowError):
                bad = trial
    if good < 2:
        raise PrecisionError(f"GeometricKernels makes {good} levels of {space}; two or more are needed")
    return good, functions


@contextmanager
def _quiet() -> Iterator[None]:
    """Without the warnings of GeometricKernels about levels that are not used."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield
