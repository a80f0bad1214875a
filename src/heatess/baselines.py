"""What people use instead: effective numbers without geometry or with another similarity, and evenness on spheres."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .base.arrays import FloatArray, positive
from .base.errors import InputError, PrecisionWarning, warn
from .engines.tiles import distance_sums, gaussian_sums, zonal_pairs
from .heat.spherical import SphereSeries, mean_chord
from .measures.measure import Measure, normalised_weights
from .spaces.base import Space

#: Largest exponent of the uniformity loss, for which exp(-4 exponent) is still far from underflow, and levels for it.
_MOST_EXPONENT, _LEVELS = 150.0, 256

#: Atoms up to which all pairs are summed for the loss, and the least share of different pairs that levels may tell.
_PAIR_ATOMS, _LEAST_SHARE = 4096, 1e-3

#: Rounding of a sum over pairs of chords, at most; and the relative uncertainty that is worth a warning.
_ROUNDING_OF_CHORDS, _ERROR_TO_WARN_OF = 1e-14, 1e-6


def ess(weights: ArrayLike) -> float:
    """Ordinary (Kish) effective sample size 1 / sum w_i^2; weights need not be normalised.

    >>> ess([1, 1, 1, 1]), ess([1, 0, 0, 0])
    (4.0, 1.0)
    """
    w = normalised_weights(weights)
    return 1.0 / float(w @ w)


def perplexity_ess(weights: ArrayLike) -> float:
    """Entropy (perplexity) effective sample size exp(- sum w_i log w_i).

    >>> round(perplexity_ess([1, 1, 1, 1]), 12)
    4.0
    """
    w = normalised_weights(weights)
    w = w[w > 0]
    return math.exp(-float(w @ np.log(w)))


def leinster_cobbold(
    points: Any,
    weights: ArrayLike | None = None,
    *,
    log_weights: ArrayLike | None = None,
    space: Space | None = None,
    angle: float,
) -> float:
    """Order-two Leinster-Cobbold diversity with geodesic Gaussian similarity.

        D = 1 / sum_ij w_i w_j exp(-(d(x_i, x_j) / alpha)^2),  alpha = *angle* in degrees.

    It is close to gESS at fine scales. All pairs are summed, so the cost is quadratic in n.

    >>> import heatess as he
    >>> round(leinster_cobbold(he.samplers.fibonacci(30), angle=15), 1)
    29.7
    """
    alpha = math.radians(positive(angle, "angle", "positive and finite, in degrees"))
    if not 1e-100 < alpha < 1e100:
        raise InputError.unfit("angle", "positive and finite, from 1e-98 to 1e+101 degrees", angle)
    measure = Measure.of(points, weights, log_weights=log_weights, space=space)
    if not measure.space.angular:
        raise InputError(f"angle must be <+that of two points+>, but <!distances on {measure.space!r} are not angles!>")
    return 1.0 / float(gaussian_sums(measure.support(), zonal_pairs(measure), np.array([alpha]))[0])


def uniformity_loss(
    points: Any,
    weights: ArrayLike | None = None,
    *,
    exponent: float = 2.0,
    log_weights: ArrayLike | None = None,
    space: Space | None = None,
) -> float:
    """Uniformity loss of Wang and Isola (ICML 2020) of unit vectors; lower is more even.

        loss = log( sum_{i != j} w_i w_j exp(-t |x_i - x_j|^2) / sum_{i != j} w_i w_j ),  t = *exponent*.

    For equal weights this is the mean over pairs of different rows, as in the authors' code. Copies of a point are
    different rows. Up to 4096 points, and above three dimensions, all pairs are summed. For more points on S^1, S^2 and
    S^3 the time is linear in n, because the Gaussian of the chord is a sum over levels (I is the Bessel function),

        exp(-t |x - y|^2) = sum_l c_l N_l P_l(x . y),   c_l = exp(-2t) Gamma(p/2) t^(1 - p/2) I_{p/2 - 1 + l}(2t),

    so that the sum over all i and j is sum_l c_l B_l, with B_l the energies of `power_spectrum`. For the uniform
    distribution it is c_0: log c_0 is what the loss tends to for ever more and ever more even points.

    Parameters
    ----------
    points, weights, log_weights, space
        As for `heat_profile`, on a sphere or circle; at least two points with a positive weight.
    exponent : float
        t, positive and at most 150. The authors use 2.

    Examples
    --------
    Four corners of a tetrahedron have squared chords of 8/3, so the loss is -16/3:

    >>> import heatess as he
    >>> corners = np.array([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]]) / np.sqrt(3)
    >>> round(uniformity_loss(corners), 12)
    -5.333333333333
    >>> round(uniformity_loss(he.samplers.fibonacci(100_000)), 4)  # log c_0 = log((1 - exp(-8)) / 8) = -2.0798
    -2.0798
    """
    exponent = positive(exponent, "exponent", f"positive and at most {_MOST_EXPONENT:g}")
    if exponent > _MOST_EXPONENT:
        raise InputError.unfit("exponent", f"positive and at most {_MOST_EXPONENT:g}", exponent)
    measure = Measure.of(points, weights, log_weights=log_weights, space=space).support()
    series = _sphere(measure.space)
    if measure.n < 2:
        raise InputError("the uniformity loss is of pairs, so it needs <+two points of positive weight+>, not <!one!>")
    if measure.n > _PAIR_ATOMS and measure.space.level_transform is not None:
        total, own = _gaussian_of_levels(measure, exponent), float(measure.weights @ measure.weights)
        if total - own > _LEAST_SHARE * total:
            return math.log((total - own) / (1 - own))
    total = distance_sums(
        measure, zonal_pairs(measure), [lambda d: np.exp(-4 * exponent * np.sin(d / (2 * series.radius)) ** 2)]
    )[0]
    return math.log(total / float(measure.weights @ (1 - measure.weights)))


def cap_discrepancy(
    points: Any,
    weights: ArrayLike | None = None,
    *,
    log_weights: ArrayLike | None = None,
    space: Space | None = None,
) -> float:
    """Spherical cap L2 discrepancy: how far the share of points in a cap is from its area, over all caps.

        D^2 = integral over s in [-1, 1] and over z of ( sum_i w_i [x_i . z >= s] - area of the cap )^2.

    Areas and the integral over centres z are with respect to normalised area. It is found by Stolarsky's invariance
    principle, on the sphere S^m:

        D^2 = C ( E|X - Y| - sum_ij w_i w_j |x_i - x_j| ),   C = Gamma((m + 1)/2) / (m sqrt(pi) Gamma(m/2)),

    with E|X - Y| the mean chord of independent uniform points (S^2: C = 1/4, mean chord 4/3). The bracket is
    sum_l v_l^2 B_l, Bakshaev's statistic over n. All pairs are summed, so the cost is quadratic in n.

    Parameters
    ----------
    points, weights, log_weights, space
        As for `heat_profile`, on a sphere or circle.

    Examples
    --------
    For one point on S^2 it is sqrt(1/3); an even lattice is far better than chance, which gives sqrt(1 / (3 n)):

    >>> import heatess as he
    >>> round(cap_discrepancy([[0, 0, 1]]) ** 2, 12)
    0.333333333333
    >>> round(cap_discrepancy(he.samplers.fibonacci(1000)), 5), round(math.sqrt(1 / 3000), 5)
    (0.00254, 0.01826)
    """
    measure = Measure.of(points, weights, log_weights=log_weights, space=space).support()
    series = _sphere(measure.space)
    mean, own = mean_chord(series.dim), float(measure.weights @ measure.weights)
    excess = distance_sums(measure, zonal_pairs(measure), [lambda d: mean - 2 * np.sin(d / (2 * series.radius))])[0]
    m = series.dim
    constant = math.exp(math.lgamma((m + 1) / 2) - math.lgamma(m / 2)) / (m * math.sqrt(math.pi))
    square = float(excess) + mean * own
    if square * _ERROR_TO_WARN_OF < _ROUNDING_OF_CHORDS:
        warn(
            f"the squared cap discrepancy of these points is about {constant * max(square, 0.0):.1e}, and rounding may "
            f"move it by {constant * _ROUNDING_OF_CHORDS:.1e}: its last digits are not certain",
            PrecisionWarning,
        )
    return math.sqrt(constant * max(square, 0.0))


def _sphere(space: Space) -> SphereSeries:
    """The series of a sphere or circle of any radius, or an `InputError`."""
    series = space.of_sphere
    if series is None or series.step != 1:
        raise InputError(f"this is defined on <+spheres and circles+>, not on <!{space!r}!>; give unit vectors")
    return series


def _gaussian_of_levels(measure: Measure, exponent: float) -> float:
    """sum_ij w_i w_j exp(-exponent |x_i - x_j|^2) = sum_l c_l B_l, over levels beyond which c_l N_l do not count."""
    from scipy.special import ive

    from .answers.spectrum import power_spectrum

    series = _sphere(measure.space)
    order = (series.dim - 1) / 2
    scale = math.exp(math.lgamma(order + 1) - order * math.log(exponent))
    coefficients: FloatArray = scale * ive(order + np.arange(_LEVELS), 2 * exponent)
    shares = coefficients * np.exp(series.levels(_LEVELS).log_multiplicities)
    tails = np.cumsum(shares[::-1])[::-1]
    last = max(int(np.argmax(tails <= 1e-17 * coefficients[0])), 3)
    energies = power_spectrum(measure, max_degree=last).energies
    return float(coefficients[: last + 1] @ energies)
