"""Mixtures of von Mises-Fisher laws, whose heat profile is known exactly."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln, ive

from .. import samplers
from .experiment import FloatArray


@dataclass(frozen=True)
class Mixture:
    """A mixture of vMF(mean_a, kappa_a) with proportions share_a on the unit sphere of R^p."""

    means: tuple[tuple[float, ...], ...]
    kappas: tuple[float, ...]
    shares: tuple[float, ...]

    @property
    def p(self) -> int:
        """Number of coordinates."""
        return len(self.means[0])

    def sample(self, n: int, rng: np.random.Generator) -> FloatArray:
        """Independent draws, shape (n, p)."""
        return samplers.mixture(n, [partial(_component, *mode) for mode in self._modes()], self.shares, rng=rng)

    def density(self, points: ArrayLike) -> FloatArray:
        """The density with respect to the uniform law: the importance weights for uniform draws.

            rho(x) = sum_a share_a c(kappa_a) exp(kappa_a mean_a . x),
            c(kappa) = (kappa / 2)^(p/2 - 1) / (Gamma(p/2) I_{p/2-1}(kappa)).

        One entry per row of *points*; the mean over the uniform law is 1.
        """
        order = self.p / 2 - 1
        x = np.asarray(points, dtype=np.float64)
        total = np.zeros(len(x))
        for (mean, kappa), share in zip(self._modes(), self.shares, strict=True):
            constant = order * math.log(kappa / 2) - float(gammaln(self.p / 2)) - math.log(float(ive(order, kappa)))
            total += share * np.exp(constant + kappa * (x @ np.array(mean) - 1))
        return total

    def energies(self, count: int) -> FloatArray:
        """Level energies B_0, ..., B_{count-1} of the law, from Bessel ratios.

            B_l = N_l sum_ab share_a share_b r_l(kappa_a) r_l(kappa_b) P_l(mean_a . mean_b),
            r_l(kappa) = I_{l + p/2 - 1}(kappa) / I_{p/2 - 1}(kappa),

        with P_l the zonal function, P_l(1) = 1. For one mode, B_l = N_l r_l(kappa)^2.
        """
        degrees = np.arange(count)
        order = self.p / 2 - 1
        ratios = np.stack([ive(degrees + order, kappa) / ive(order, kappa) for kappa in self.kappas])  # (modes, l)
        weighted = np.array(self.shares)[:, None] * ratios
        means = np.array(self.means)
        zonal = zonal_functions(np.clip(means @ means.T, -1, 1), self.p, count)  # (l, modes, modes)
        return np.asarray(multiplicities(self.p, count) * np.einsum("al,bl,lab->l", weighted, weighted, zonal))

    def mmd2(self, times: ArrayLike, count: int = 400) -> FloatArray:
        """A_P(t) - 1 = sum over l >= 1 of exp(-2 lambda_l t) B_l, one entry per time."""
        degrees = np.arange(1, count)
        damping = np.exp(-2 * np.multiply.outer(np.asarray(times), degrees * (degrees + self.p - 2)))
        return np.asarray(damping @ self.energies(count)[1:])

    def _modes(self) -> Sequence[tuple[tuple[float, ...], float]]:
        return list(zip(self.means, self.kappas, strict=True))


def _component(mean: tuple[float, ...], kappa: float, n: int, rng: np.random.Generator) -> FloatArray:
    return samplers.von_mises_fisher(n, mean, kappa, rng=rng)


def multiplicities(p: int, count: int) -> FloatArray:
    """N_l, the dimension of the harmonics of degree l < count on the sphere of R^p.

    >>> multiplicities(3, 4)
    array([1., 3., 5., 7.])
    """
    dimension = [math.comb(k + p - 1, p - 1) - math.comb(max(k + p - 3, 0), p - 1) for k in range(count)]
    return np.array(dimension, dtype=np.float64)


def zonal_functions(cosines: FloatArray, p: int, count: int) -> FloatArray:
    """P_l(cosines) for l < count, with P_l(1) = 1: Legendre polynomials on S^2; the first axis is l.

    P_{l+1} = ((2l + p - 2) u P_l - l P_{l-1}) / (l + p - 2).

    >>> zonal_functions(np.array([0.5]), 3, 3).ravel()
    array([ 1.   ,  0.5  , -0.125])
    """
    found = [np.ones_like(cosines), cosines]
    for k in range(1, count - 1):
        found.append(((2 * k + p - 2) * cosines * found[k] - k * found[k - 1]) / (k + p - 2))
    return np.stack(found[:count])
