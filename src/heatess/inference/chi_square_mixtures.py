"""Tail probabilities of weighted sums of chi-square variables, by a contour integral through the saddle point."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..base.arrays import EPS, FloatArray, numeric_array
from ..base.blocks import slices
from ..base.errors import InputError

#: Steps of the trapezoid rule in units of the width of the saddle, tried one after the other until two agree.
STEPS = (0.2, 0.1, 0.05, 0.025, 0.0125)

#: Relative agreement of two steps that is enough: the error of the finer one is about the square of it.
AGREED = 1e-9

#: Parts of the integrand below this share of its peak are left out.
SHARE_LEFT_OUT = 1e-18

#: Paths bend by these shares of what the third derivative asks for; the first along which the integrand stays below
#: PEAKS_TAKEN times its peak at the points TRIED is taken.
BENDS, PEAKS_TAKEN = (1.0, 0.25, 1 / 16, 1 / 64, 1 / 512, 0.0), 4.0
TRIED = (np.arange(0.0, 8.0, 0.25), *np.split(8.0 * 1.1 ** np.arange(91), 13))

#: Logarithms worked out at once.
LOGARITHMS_AT_ONCE = 2**16

#: Where |2 c s| is below this on the whole contour, log(1 - 2 c s) is a power series, summed for many terms at once.
SMALL_ARGUMENT, POWERS = 0.05, 16


class Tail(NamedTuple):
    """P(X > x): the probability, its logarithm, which does not underflow, and a bound on its relative error."""

    probability: float
    log: float
    error: float


class ChiSquareMixture:
    """The law of X = sum_l c_l chi2(N_l), with c_l > 0 and independent chi-square variables.

    The number of terms and the degrees of freedom N_l, which need not be whole, may be large: they are given by their
    logarithms, and terms with small c_l enter through their cumulants.

    Parameters
    ----------
    coefficients : array-like, shape (terms,)
        c_l, not negative; terms with c_l = 0 are left out.
    degrees : array-like, shape (terms,), optional
        N_l > 0. Give these or *log_degrees*.
    log_degrees : array-like, shape (terms,), optional
        log N_l.

    Examples
    --------
    Two degrees of freedom with one coefficient are an exponential law:

    >>> half = ChiSquareMixture([0.5], [2])
    >>> bool(abs(half.tail(20.0).probability / np.exp(-20) - 1) < 1e-12)
    True
    >>> half.mean, half.variance
    (1.0, 1.0)
    """

    def __init__(
        self, coefficients: ArrayLike, degrees: ArrayLike | None = None, *, log_degrees: ArrayLike | None = None
    ) -> None:
        if (degrees is None) == (log_degrees is None):
            raise InputError("give <+either degrees or log_degrees+> of the chi-square variables")
        c = np.atleast_1d(numeric_array(coefficients, "coefficients").astype(np.float64))
        if degrees is not None:
            plain = np.atleast_1d(numeric_array(degrees, "degrees").astype(np.float64))
            if not (plain > 0).all():
                raise InputError(f"degrees of freedom must be <+positive+>, but <!the least is {plain.min()}!>")
            logs = np.log(plain)
        else:
            logs = np.atleast_1d(numeric_array(log_degrees, "log_degrees").astype(np.float64))
        if c.ndim != 1 or c.shape != logs.shape:
            raise InputError(f"coefficients and degrees must have <+one shape+>, not <!{c.shape} and {logs.shape}!>")
        if not ((c >= 0) & np.isfinite(c) & np.isfinite(logs)).all() or not (c > 0).any():
            raise InputError("coefficients must be <+finite and not negative, at least one of them positive+>")
        kept = c > 0
        self._unit = float(c.max())
        order = np.argsort(-c[kept])
        self._c = (c[kept] / self._unit)[order]  # from 1 down
        self._log_n = logs[kept][order]
        self._powers = self._power_sums()

    def _power_sums(self) -> FloatArray:
        """log sum_{l >= j} N_l c_l^k for k = 1, ..., POWERS and every j, shape (POWERS, terms)."""
        terms = self._log_n + np.arange(1, POWERS + 1)[:, None] * np.log(self._c)
        return np.asarray(np.logaddexp.accumulate(terms[:, ::-1], axis=1)[:, ::-1])

    @cached_property
    def _mean(self) -> float:
        """In units of the largest coefficient."""
        return math.fsum(np.exp(self._log_n + np.log(self._c)))

    @property
    def mean(self) -> float:
        """sum c N."""
        return self._unit * self._mean

    @property
    def variance(self) -> float:
        """2 sum c^2 N."""
        return 2 * self._unit**2 * math.exp(float(self._powers[1, 0]))

    def tail(self, x: float) -> Tail:
        """P(X > x), good to a relative error of about 1e-12 however small it is.

        With K(s) = -1/2 sum N log(1 - 2 c s), P is 1 / (2 pi i) times the integral of exp(K(s) - s x) / s along any
        line that crosses the real axis between 0 and 1 / (2 max c), and one more than that left of zero. The line goes
        through the saddle point s_0 and bends towards larger real parts, where the integrand falls like a normal
        density; the trapezoid rule then converges faster than any power of its step. The step is halved until two
        results agree.
        """
        if math.isnan(x):
            raise InputError("x must be <+a number+>, but is <!nan!>")
        if x <= 0:
            return Tail(1.0, 0.0, 0.0)
        if x == math.inf:
            return Tail(0.0, -math.inf, 0.0)
        centred = x / self._unit - self._mean
        saddle = self._saddle(centred, right=centred >= 0)
        path = _Path.through(self, saddle, centred)
        values: list[float] = []
        for step in STEPS:
            values.append(path.integral(step))
            if len(values) > 1 and abs(values[-1] - values[-2]) <= AGREED * abs(values[-1]):
                break
        change = abs(values[-1] - values[-2])
        rounding = 8 * EPS * (16 + abs(saddle) * (abs(self._mean) + abs(centred)) + abs(path.peak))
        if saddle > 0:
            if values[-1] <= 0:
                return Tail(0.0, -math.inf, math.inf)
            log = path.peak + math.log(values[-1])
            return Tail(math.exp(log), log, change**1.5 / values[-1] ** 1.5 + rounding)
        below = -math.exp(path.peak) * values[-1]
        above = 1 - below
        doubt = math.exp(path.peak) * change + rounding * below
        if above <= 0:
            return Tail(0.0, -math.inf, math.inf)
        return Tail(above, math.log(above), doubt / above + 16 * EPS)

    def tails(self, x: ArrayLike) -> FloatArray:
        """P(X > x) for many x, in the same shape."""
        values = np.asarray(x, dtype=np.float64)
        return np.array([self.tail(float(value)).probability for value in values.ravel()]).reshape(values.shape)

    def _saddle(self, centred: float, *, right: bool) -> float:
        """The root s of K'(s) - x = 1 / s on the right or on the left of zero."""
        from scipy.optimize import brentq

        def slope(s: float) -> float:
            return self._derivatives(s)[0] - centred - 1 / s

        if right:
            high = 0.5
            gap = 0.25
            while slope(high - gap) < 0:
                gap /= 16
                if gap < 1e-15:
                    return high - gap
            low = high - gap
            while slope(low) > 0:
                low /= 16
            return float(brentq(slope, low, high - gap, xtol=1e-300, rtol=1e-10))
        low = -1.0
        while slope(low) > 0:
            low *= 8
        high = low
        while slope(high) < 0:
            high /= 8
        return float(brentq(slope, low, high, xtol=1e-300, rtol=1e-10))

    def _split(self, reach: float) -> int:
        """How many terms, the largest first, are not small where |s| is at most *reach*."""
        return int(np.searchsorted(-self._c, -SMALL_ARGUMENT / (2 * reach), side="left"))

    def _derivatives(self, s: float) -> tuple[float, float, float]:
        """K' less the mean, K'' and K''' at a real s."""
        cut = self._split(abs(s))
        c, n = self._c[:cut], np.exp(self._log_n[:cut])
        room = 1 - 2 * c * s
        found = np.array(
            [np.sum(2 * n * c**2 * s / room), np.sum(2 * n * (c / room) ** 2), np.sum(8 * n * (c / room) ** 3)]
        )
        if cut < len(self._c):
            k = np.arange(2, POWERS + 1)
            sums = np.exp(self._powers[1:, cut])  # sum N c^k
            factor = sums * 2.0 ** (k - 1)  # of s^k / k
            found[0] += np.sum(factor * s ** (k - 1))
            found[1] += np.sum(factor * (k - 1) * s ** (k - 2))
            found[2] += np.sum(factor[1:] * ((k - 1) * (k - 2))[1:] * s ** (k[1:] - 3))
        return float(found[0]), float(found[1]), float(found[2])

    def _log_transform(self, s: NDArray[np.complex128]) -> NDArray[np.complex128]:
        """K(s) less s times the mean."""
        cut = self._split(float(np.abs(s).max()))
        total = np.zeros(len(s), dtype=np.complex128)
        for part in slices(cut, max(1, LOGARITHMS_AT_ONCE // len(s))):
            total -= 0.5 * np.exp(self._log_n[part]) @ _log_less_linear(2 * np.multiply.outer(self._c[part], s))
        if cut < len(self._c):
            factors = np.exp(self._powers[1:, cut]) * 2.0 ** np.arange(1, POWERS) / np.arange(2, POWERS + 1)
            total += s**2 * np.polynomial.polynomial.polyval(s, factors)
        return total


class _Path(NamedTuple):
    """s = s_0 + width (i u + bend u^2), and the logarithm of the integrand at s_0."""

    law: ChiSquareMixture
    saddle: float
    centred: float
    width: float
    bend: float
    peak: float
    end: float = 0.0  # the largest u

    @classmethod
    def through(cls, law: ChiSquareMixture, saddle: float, centred: float) -> _Path:
        """The path that bends most among those on which the integrand is nowhere above its peak.

        Far to the right, terms with small c and many degrees of freedom would lift it.
        """
        _, second, third = law._derivatives(saddle)
        width = (second + saddle**-2) ** -0.5
        # The third derivative without that of log s, which would bend the path the wrong way.
        bend = min(max(third * width**3 / 6, 0.02), 1.0)
        start = float(law._log_transform(np.array([complex(saddle)]))[0].real) - saddle * centred
        path = cls(law, saddle, centred, width, bend, start - math.log(abs(saddle)) + math.log(width))
        for share in BENDS:
            bent = path._replace(bend=bend * share)
            for part in TRIED:
                sizes = np.abs(bent._integrand(part))
                small = sizes < SHARE_LEFT_OUT
                last = int(np.argmax(small)) if small.any() else len(sizes) - 1
                path = bent._replace(end=float(part[last]))
                if small.any() or sizes.max() > PEAKS_TAKEN:
                    break
            if small.any() and sizes[:last].max(initial=0.0) <= PEAKS_TAKEN:
                return path
        return path

    def _integrand(self, u: FloatArray) -> NDArray[np.complex128]:
        """In units of exp(peak) / pi, without what the mirror image of the path takes away."""
        s = (self.saddle + self.width * (1j * u + self.bend * u * u)).astype(np.complex128)
        log = self.law._log_transform(s) - s * self.centred - np.log(s / self.saddle)
        start = self.peak - math.log(self.width) + math.log(abs(self.saddle))
        log = np.minimum(log.real - start, 600.0) + 1j * log.imag
        return np.asarray(np.exp(log) * (1j + 2 * self.bend * u), dtype=np.complex128)

    def integral(self, step: float) -> float:
        """By the trapezoid rule; the other half of the path is the mirror image."""
        values = self._integrand(np.arange(0.0, self.end + step, step)).imag
        total = step * (math.fsum(values) - float(values[0]) / 2)
        return math.copysign(total / math.pi, total * self.saddle)


def _log_less_linear(z: Any) -> Any:
    """log(1 - z) + z of complex z with all digits where z is small."""
    small = np.abs(z) < SMALL_ARGUMENT
    found = np.log(np.where(small, 0.5, 1 - z)) + z
    if small.any():
        few = z[small]
        found[small] = -(few**2) * np.polynomial.polynomial.polyval(few, 1 / np.arange(2.0, POWERS + 1))
    return found
