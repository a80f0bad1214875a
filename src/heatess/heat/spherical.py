"""The series of round spheres, and of what is made from them: circles of any length, projective spaces, rotations."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from ..base.arrays import FloatArray
from .expansion import small_time
from .series import Levels, Series, SmallTime, log_tail, log_terms

#: Beyond this angle the small-time expansion is not used where x and -x are one point: the second geodesic is no
#: longer much the longer.
_REACH = 1.2


@dataclass(frozen=True)
class SphereSeries(Series):
    """The sphere S^dim of some radius, or with step = 2 the same where x and -x are one point.

    Levels are lambda_l = d (d + dim - 1) / radius^2 for degrees d = l step; zonal functions are Gegenbauer polynomials
    of cos(distance / radius) with index (dim - 1) / 2, normalised to 1 at distance zero.
    """

    dim: int
    step: int = 1
    radius: float = 1.0

    @property
    def of_sphere(self) -> SphereSeries:
        """Itself."""
        return self

    @property
    def winding(self) -> float:  # type: ignore[override]
        """Degree d is a mixture of cosines of d, d - 2, ... times the angle, so only every step-th occurs."""
        return self.step / self.radius

    @property
    def diameter(self) -> float:  # type: ignore[override]
        """Half a great circle, or a quarter."""
        return math.pi * self.radius / self.step

    @property
    def log_volume(self) -> float:  # type: ignore[override]
        """log of radius^m 2 pi^((m+1)/2) / Gamma((m+1)/2) / step."""
        half = (self.dim + 1) / 2
        unit = math.log(2 / self.step) + half * math.log(math.pi) - math.lgamma(half)
        return unit + self.dim * math.log(self.radius)

    def levels(self, count: int) -> Levels:
        """Eigenvalues and log N_l for l = 0, ..., count - 1."""
        table = _levels(self.dim, self.step, self.radius, 1 << max(6, (count - 1).bit_length()))
        return Levels(table.eigenvalues[:count], table.log_multiplicities[:count])

    def moved(self, times: FloatArray, shares: FloatArray, moments: FloatArray, off: float) -> FloatArray | None:
        """By the mean value theorem, with the derivatives of s_t in the cosine.

        That of P_l is l (l + m - 1) / m times the function of degree l - 1 on S^(m+2), so that the slope of s_t is a
        positive multiple of the heat kernel there: not negative, and its sum over pairs follows from the same moments.
        So does that of the second derivative; the third is largest at distance zero. Of the slope, levels beyond the
        last are bounded as those of s_t are.
        """
        if self.step > 1:
            return None
        m, count = self.dim, len(moments)
        degree, factor = np.arange(count), np.ones(count)
        sums, found, power = moments, np.zeros(len(times)), off
        for k in range(3):
            factor = factor * (degree - k) * (degree + m + k - 1) / (m + 2 * k)
            sums = _raised(m + 2 * k, sums) if k < 2 else np.ones(count)
            found += power * (shares[:, k + 1 :] @ (factor[k + 1 :] * sums[: max(count - k - 1, 0)]))
            power *= 1.01 * off
        unit, most = times / self.radius**2, shares.argmax(axis=1)
        largest = log_terms(self, times, count)[np.arange(len(times)), most]
        log_sum = largest - np.log(shares[np.arange(len(times)), most])  # of all terms
        beyond = log_tail(SphereSeries(m + 2), unit, max(count - 1, 1)) - 2 * m * unit - log_sum
        return np.asarray(found + 2 * off * (m + 1) * np.exp(np.minimum(beyond, 700.0)))

    def zonal(self, count: int, distance: Any) -> FloatArray:
        """P_0 = 1 and, with D_d = P_d - P_{d-1} and v = 1 - cos(distance / radius),

        (d + m - 1) D_{d+1} = d D_d - (2d + m - 1) v P_d.

        Differences keep the digits near distance zero, where P_d changes by d^2 v; beyond 90 degrees those of
        180 degrees less the angle are taken, with the sign of (-1)^d.
        """
        angle = np.asarray(distance, dtype=np.float64) / self.radius
        behind = angle > math.pi / 2
        v = 2 * np.square(np.sin(np.where(behind, math.pi - angle, angle) / 2))
        values = np.empty((self.step * (count - 1) + 1, *angle.shape))
        values[0] = 1.0
        m, change = self.dim, -v
        for d in range(len(values) - 1):
            if d:
                change = (d * change - (2 * d + m - 1) * v * values[d]) / (d + m - 1)
            values[d + 1] = values[d] + change
        values[1::2] *= np.where(behind, -1.0, 1.0)
        return values[:: self.step]

    def from_cosines(self, cosines: FloatArray) -> FloatArray:
        """b_d = sum_k g_k g_{d-k} c_{|d-2k|} / sum_k g_k g_{d-k}, with g_k = (a)_k / k! and a = (m - 1)/2."""
        count = len(cosines)
        if self.dim == 1:
            return cosines.copy()
        mixtures = _mixtures(self.dim, self.step, 1 << max(5, (count - 1).bit_length()))
        return np.asarray(mixtures[:count, :count] @ cosines)

    def to_cosines(self, values: FloatArray) -> FloatArray:
        """By the same mixtures, which have no negative entry, so that no digit is lost."""
        count = values.shape[-1]
        if self.dim == 1:
            return values.copy()
        mixtures = _mixtures(self.dim, self.step, 1 << max(5, (count - 1).bit_length()))
        return np.asarray(values @ mixtures[:count, :count])

    def small_time(self, time: float) -> SmallTime:
        """The expansion of log k_2t in powers of t and of the squared distance; see `expansion.phase`."""
        small = small_time(self.dim, time / self.radius**2)
        if self.step == 2:
            small = _with_antipode(small, self.dim, time / self.radius**2)
        if self.radius == 1:
            return small
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):  # on circles most coefficients are zero
            scale = self.radius ** (-2.0 * np.arange(len(small.polynomial)))
            polynomial, slope = (np.where(row == 0, 0.0, row * scale) for row in (small.polynomial, small.slope))
        density = small.log_density - self.dim * math.log(self.radius)
        return SmallTime(polynomial, slope, density, small.error, self.radius * small.reach)


def mean_chord(dim: int) -> float:
    """E |X - Y| of independent uniform points of the unit sphere: 2^m G((m+1)/2)^2 / (sqrt(pi) G(m + 1/2)), G = Gamma.

    >>> round(mean_chord(2), 12), round(mean_chord(1), 12)  # 4/3 and 4/pi
    (1.333333333333, 1.273239544735)
    """
    logs = 2 * math.lgamma((dim + 1) / 2) - math.lgamma(dim + 0.5)
    return math.exp(logs + dim * math.log(2)) / math.sqrt(math.pi)


def _with_antipode(small: SmallTime, m: int, time: float) -> SmallTime:
    """With the geodesic to the antipode, of length pi - distance, in the error."""
    reach = min(small.reach, _REACH)
    # Relative to the short geodesic, it lasts longest at the reach, since heat falls with the distance.
    image = -math.pi * (math.pi - 2 * reach) / (8 * time) + (m - 1) / 2 * math.log(math.pi / reach - 1)
    return small._replace(error=small.error + math.exp(min(image, 0.0)), reach=reach)


def _raised(m: int, sums: FloatArray) -> FloatArray:
    """Sums over pairs of the zonal functions Q_l of S^(m+2), from those of the P_l of S^m.

    Q_l is the mean of P_l, P_(l-2), ... with their multiplicities N_l as weights, so Q_l = f P_l + (1 - f) Q_(l-2).
    """
    found = sums.tolist()
    for n in range(2, len(found)):
        before = n * (n - 1) / ((n + m) * (n + m - 1))
        found[n] = (1 - before) * found[n] + before * found[n - 2]
    return np.array(found)


@lru_cache(maxsize=64)
def _levels(m: int, step: int, radius: float, count: int) -> Levels:
    d = np.arange(step * (count - 1) + 1, dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = (2 * d + m + 1) * (d + m - 1) / ((2 * d + m - 1) * (d + 1))  # N_{d+1} / N_d
    ratio[0] = m + 1
    logs = np.concatenate([[0.0], np.cumsum(np.log(ratio[:-1]))])
    table = Levels((d * (d + m - 1))[::step] / radius**2, logs[::step].copy())
    for column in table:
        column.flags.writeable = False
    return table


@lru_cache(maxsize=16)
def _mixtures(m: int, step: int, count: int) -> FloatArray:
    """Level l as a mixture of cos(k winding r): row l, column k, rows that sum to one."""
    index, most = (m - 1) / 2, step * (count - 1) + 1
    steps = np.arange(1, most)
    log_g = np.concatenate([[0.0], np.cumsum(np.log((index + steps - 1) / steps))])
    found = np.zeros((count, count))
    for level in range(count):
        d = step * level
        mixture = np.exp(log_g[: d + 1] + log_g[d::-1] - 2 * log_g[d // 2])
        np.add.at(found[level], np.abs(np.arange(-d, d + 1, 2)) // step, mixture / mixture.sum())
    return found
