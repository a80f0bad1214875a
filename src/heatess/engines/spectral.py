"""Level moments through the coefficients of the measure, in linear time."""

from __future__ import annotations

from collections.abc import Callable

from ..blocks import thread_count
from ..measure import Measure
from ..spaces.base import FloatArray, LevelMoments, ZonalSpace


def level_moments(measure: Measure, space: ZonalSpace, count: int, rtol: float) -> LevelMoments:
    """b_0, ..., b_{count-1}, the lowest of them certain even when they nearly vanish."""
    moments = transform(measure, space, count, rtol)
    return with_low_moments(moments, rtol, lambda: space.low_moments(measure.points, measure.weights))


def transform(measure: Measure, space: ZonalSpace, count: int, rtol: float) -> LevelMoments:
    """b_0, ..., b_{count-1} by the space's fast transform.

    An error e in the coefficients, per unit of weight, moves gESS by about 2 e sqrt(gESS) relatively;
    the transform runs at 1e-4 of *rtol*, at most, which covers gESS up to 10^6 with room to spare.
    """
    epsilon = min(max(1e-4 * rtol, 3e-13), 1e-6)
    small = measure.n * 64 + count**3 < 6_000_000  # threads would cost more than they bring
    threads = 1 if small else thread_count()
    coefficients = space.coefficients(measure.points, measure.weights, count, epsilon, threads)
    return LevelMoments(space.moments_of_coefficients(coefficients), root_error=epsilon)


def with_low_moments(moments: LevelMoments, rtol: float, low: Callable[[], FloatArray]) -> LevelMoments:
    """*moments*, with the lowest levels by *low*, which sums them directly, if they are not certain to *rtol*.

    At large scales MMD^2 rests on them alone.
    """
    lowest = float(moments.values[1:3].min())
    # The transform was never found to be off by more than a quarter of `root_error`.
    if moments.root_error / 2 * lowest**0.5 + moments.error > rtol * lowest:
        exact = low()[: len(moments.values) - 1]
        moments.values[1 : 1 + len(exact)] = exact
        moments = moments._replace(certain=1 + len(exact))
    return moments
