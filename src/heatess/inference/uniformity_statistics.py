"""Classical statistics of uniformity: sums of level energies with coefficients of their own.

A Sobolev statistic is S = ESS sum_l v_l^2 B_l over the levels l >= 1, with B_l the level energies: for equal weights
1/n sum_ij psi(d(x_i, x_j)), where psi = sum_l v_l^2 N_l P_l. For independent uniform points it tends to the law of
sum_l v_l^2 chi2(N_l). Definitions and factors are those of the R package sphunif.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..base.arrays import FloatArray, numeric_array
from ..base.errors import InputError
from ..base.messages import shown
from ..heat.series import Series
from ..heat.spherical import mean_chord
from ..spaces.base import Space

#: Levels of the limit law of a statistic with infinitely many.
MANY_LEVELS = 2**14

#: Degrees at which a function of the user is asked for its coefficients, and what they may leave out of the mean.
ASKED_LEVELS, LEFT_OUT = 512, 1e-9

#: The share t of the circle that an arc of Rothman's statistic covers.
ROTHMAN = 1 / 3

Psi = Callable[[FloatArray], FloatArray]


@dataclass(frozen=True, eq=False)
class Sobolev:
    """One statistic on one space.

    `coefficients` are v_l^2 of the levels l = 1, 2, ...; `psi` is the function of the distance in radians that they
    are the coefficients of, where all of infinitely many count, and None where there are no others.
    """

    name: str
    coefficients: FloatArray
    psi: Psi | None = None


def sobolev(space: Space, statistic: Any) -> Sobolev:
    """The statistic that the user names, or gives the coefficients of."""
    series = space.series
    if series is None:
        raise InputError(
            f"`statistic=` needs <+levels whose kernel depends on the distance alone+>, and <!{space!r}!> has none; "
            "leave it out for the test at several scales"
        )
    if isinstance(statistic, str):
        return _named(space, statistic)
    if callable(statistic):
        return Sobolev("Sobolev", _asked(series, statistic))
    values = np.atleast_1d(numeric_array(statistic, "statistic").astype(np.float64))
    return Sobolev("Sobolev", _checked(values))


def _checked(values: FloatArray) -> FloatArray:
    if values.ndim != 1 or not (np.isfinite(values) & (values >= 0)).all() or not (values > 0).any():
        raise InputError(
            "the coefficients v_l^2 of a Sobolev statistic must be <+a list for l = 1, 2, ..., finite and not "
            f"negative, at least one of them positive+>, but are <!{shown(values)}!>"
        )
    return values


def _asked(series: Series, function: Callable[[Any], Any]) -> FloatArray:
    degrees = np.arange(1, ASKED_LEVELS + 1)
    values = np.broadcast_to(np.asarray(function(degrees), dtype=np.float64), degrees.shape).copy()
    _checked(values)
    logs = series.levels(ASKED_LEVELS + 1).log_multiplicities[1:]
    with np.errstate(divide="ignore"):
        terms = np.log(values) + logs
    shares = np.exp(terms - terms.max())
    # What lies beyond is taken to be no more than as much again as the last half.
    if shares[ASKED_LEVELS // 2 :].sum() > LEFT_OUT * shares.sum():
        raise InputError(
            f"the coefficients v_l^2 that `statistic=` gives fall too slowly: beyond level {ASKED_LEVELS // 2} they "
            f"hold {shares[ASKED_LEVELS // 2 :].sum() / shares.sum():.1e} of the mean; give an array of those that "
            "count"
        )
    kept = int(np.flatnonzero(np.cumsum(shares[::-1])[::-1] > 1e-16 * shares.sum())[-1]) + 1
    return values[:kept]


def _named(space: Space, name: str) -> Sobolev:
    series = space.of_sphere
    single = series is not None and series.step == 1
    sphere = single or (series is not None and space.form == "vectors")
    if name == "rayleigh":
        if single or (series is not None and space.form == "quaternions"):
            return Sobolev("Rayleigh", np.array([1.0]))
        raise InputError(
            f'"rayleigh" needs <+directions or rotations+>; on <!{space!r}!>, where x and -x are one, give "bingham"'
        )
    if name == "bingham":
        if series is not None and not sphere:
            raise InputError(f'on {space!r} the first level is Rayleigh\'s: give <+`statistic="rayleigh"`+>')
        return Sobolev("Bingham", np.array([0.0, 1.0] if single else [1.0]))
    if name not in _SERIES:
        names = ", ".join(["rayleigh", "bingham", *_SERIES])
        raise InputError.unfit("statistic", f"one of {names}, a function or coefficients", name)
    if series is None or not sphere:
        raise InputError(f'"{name}" is defined on <+spheres, circles and their axes+>, not on <!{space!r}!>')
    if series.dim > 1 and name in ("watson", "rothman"):
        raise InputError(f'"{name}" is of <+the circle+>; on <!{space!r}!> give "ajne", "gine_f" or "bakshaev"')
    if series.step == 2 and name != "gine":
        raise InputError(f'<!"{name}"!> is no function of axes; on {space!r} give <+"gine" or "bingham"+>')
    label, coefficients, psi = _SERIES[name]
    degrees = series.step * np.arange(1, MANY_LEVELS + 1)
    radius, dim = series.radius, series.dim
    return Sobolev(label, coefficients(degrees, dim + 1), lambda distance: psi(distance / radius, dim + 1))


def _ajne(degrees: Any, p: int) -> FloatArray:
    """Squares of the coefficients of a hemisphere; zero at even degrees."""
    from scipy.special import gammaln

    k = (degrees + 1) / 2
    logs = (p - 2) * math.log(2) + math.lgamma(p / 2) + gammaln(k + p / 2 - 1) + gammaln(2 * k - 1)
    logs -= math.log(math.pi) + gammaln(k) + gammaln(2 * k + p - 2)
    return np.where(degrees % 2 == 1, np.exp(2 * logs), 0.0)


def _gine(degrees: Any, p: int) -> FloatArray:
    """Those of 1/2 - a sin(angle); zero at odd degrees."""
    from scipy.special import gammaln

    k = degrees / 2
    ratio = (p - 1) * (2 * k - 1) / (8 * math.pi * (2 * k + p - 1))
    logs = 2 * (math.lgamma((p - 1) / 2) + gammaln(np.maximum(k - 0.5, 0.25)) - gammaln(k + (p - 1) / 2))
    return np.where(degrees % 2 == 0, ratio * np.exp(logs), 0.0)


def _bakshaev(degrees: Any, p: int) -> FloatArray:
    """Those of minus the chord."""
    from scipy.special import gammaln

    logs = (p - 2) * math.log(2) + 2 * math.lgamma(p / 2) - math.log(math.pi)
    return np.asarray(np.exp(logs + gammaln(degrees - 0.5) - gammaln(degrees + p - 0.5)))


def _gine_factor(p: int) -> float:
    return (p - 1) / 4 * math.exp(2 * (math.lgamma((p - 1) / 2) - math.lgamma(p / 2)))


def _parabola(turns: FloatArray) -> FloatArray:
    """The second Bernoulli polynomial, periodic: sum over k >= 1 of cos(2 pi k u) / (pi k)^2."""
    u = turns % 1.0
    return np.asarray(u * u - u + 1 / 6)


def _watson_psi(angle: FloatArray, p: int) -> FloatArray:
    return np.asarray(_parabola(angle / (2 * math.pi)) / 2)


def _rothman_psi(angle: FloatArray, p: int) -> FloatArray:
    u = angle / (2 * math.pi)
    return np.asarray(_parabola(u) - (_parabola(u + ROTHMAN) + _parabola(u - ROTHMAN)) / 2)


def _ajne_psi(angle: FloatArray, p: int) -> FloatArray:
    return np.asarray(0.25 - angle / (2 * math.pi))


def _gine_psi(angle: FloatArray, p: int) -> FloatArray:
    return np.asarray(0.5 - _gine_factor(p) * np.sin(angle))


_SERIES: dict[str, tuple[str, Callable[[Any, int], FloatArray], Callable[[FloatArray, int], FloatArray]]] = {
    "ajne": ("Ajne", _ajne, _ajne_psi),
    "gine": ("Gine G", _gine, _gine_psi),
    "gine_f": (
        "Gine F",
        lambda degrees, p: 4 * _ajne(degrees, p) + _gine(degrees, p),
        lambda angle, p: 4 * _ajne_psi(angle, p) + _gine_psi(angle, p),
    ),
    "bakshaev": ("Bakshaev", _bakshaev, lambda angle, p: mean_chord(p - 1) - 2 * np.sin(angle / 2)),
    "watson": ("Watson", lambda degrees, p: 1 / (2 * math.pi * degrees) ** 2, _watson_psi),
    "rothman": (
        "Rothman",
        lambda degrees, p: (np.sin(math.pi * ROTHMAN * degrees) / (math.pi * degrees)) ** 2,
        _rothman_psi,
    ),
}
