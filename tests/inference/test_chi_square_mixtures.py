"""Tails of chi-square mixtures against scipy, mpmath, closed forms and simulation."""

from __future__ import annotations

import math

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import heatess as he
from heatess.inference.chi_square_mixtures import ChiSquareMixture


def sphere_levels(angle: float, count: int = 120) -> tuple[np.ndarray, np.ndarray]:
    """Coefficients exp(-2 l (l + 1) t) and multiplicities of S^2."""
    degree = np.arange(1, count)
    return np.exp(-degree * (degree + 1) * np.radians(angle) ** 2 / 4), 2.0 * degree + 1


@pytest.mark.parametrize("degrees", [1, 2, 3, 50, 10**6])
def test_one_chi_square_is_that_of_scipy_far_into_both_tails(degrees):
    law = ChiSquareMixture([1.0], [degrees])
    for z in (-4, -1, -1e-6, 0, 1e-6, 1, 3, 7, 15, 25):
        x = max(degrees + z * math.sqrt(2 * degrees), 0.01 * degrees)
        tail, truth = law.tail(x), stats.chi2.sf(x, degrees)
        assert abs(tail.probability / truth - 1) < 2e-11
        assert abs(tail.probability / truth - 1) < tail.error + 1e-14
        assert tail.log == pytest.approx(stats.chi2.logsf(x, degrees), rel=1e-11, abs=1e-13)


def test_a_scale_multiplies_the_variable():
    for x in (0.3, 4.0, 60.0):
        assert ChiSquareMixture([0.25], [7]).tail(x / 4).probability == pytest.approx(stats.chi2.sf(x, 7), rel=1e-12)


def test_two_pairs_of_degrees_have_a_closed_form():
    """c chi2(2) is exponential with mean 2c; a sum of two of them is hypoexponential."""
    a, b = 1.0, 0.3
    law = ChiSquareMixture([a, b], [2, 2])
    for x in (0.01, 0.5, 3.0, 30.0, 300.0, 1200.0):
        truth = (2 * a * math.exp(-x / (2 * a)) - 2 * b * math.exp(-x / (2 * b))) / (2 * a - 2 * b)
        assert law.tail(x).probability == pytest.approx(truth, rel=1e-11)


def test_the_logarithm_does_not_underflow():
    tail = ChiSquareMixture([1.0], [2]).tail(4000.0)
    assert tail.probability == 0.0
    assert tail.log == pytest.approx(-2000.0, rel=1e-13)


def with_mpmath(x: float, c: np.ndarray, n: np.ndarray) -> float:
    """The integral along a slanted line through the saddle point, at 30 digits."""
    with mp.workdps(30):
        c, n, x = [mp.mpf(float(v)) for v in c], [mp.mpf(float(v)) for v in n], mp.mpf(x)

        def slope(s):
            return sum(k * v / (1 - 2 * v * s) for v, k in zip(c, n, strict=True)) - x - 1 / s

        right = x > sum(v * k for v, k in zip(c, n, strict=True))
        low, high = (
            (mp.mpf("1e-8"), (1 - mp.mpf("1e-12")) / (2 * max(c))) if right else (mp.mpf(-(10**4)), -mp.mpf("1e-8"))
        )
        saddle = mp.findroot(slope, (low, high), solver="anderson", tol=1e-12, verify=False)

        slant = mp.mpc(0.4, 1)

        def integrand(y):
            s = saddle + y * slant
            value = mp.exp(-sum(k * mp.log(1 - 2 * v * s) for v, k in zip(c, n, strict=True)) / 2 - s * x) / s
            return mp.im(value * slant)

        width = 1 / mp.sqrt(sum(2 * k * (v / (1 - 2 * v * saddle)) ** 2 for v, k in zip(c, n, strict=True)))
        value = mp.quad(integrand, [0, *(width * 2**k for k in range(9))]) / mp.pi
        return float(value if right else 1 + value)


@pytest.mark.parametrize(("angle", "z"), [(45, -1), (45, 6), (25, 9)])
def test_mixtures_of_levels_agree_with_mpmath(angle, z):
    c, n = sphere_levels(angle, 12)
    law = ChiSquareMixture(c, n)
    x = law.mean + z * math.sqrt(law.variance)
    assert law.tail(x).probability == pytest.approx(with_mpmath(x, c, n), rel=1e-10)


@pytest.mark.parametrize("angle", [5, 20, 45, 90, 170])
def test_the_error_is_small_down_to_1e_12_and_beyond(angle):
    law = ChiSquareMixture(*sphere_levels(angle))
    for z in np.linspace(-0.9 * min(law.mean / math.sqrt(law.variance), 5), 25, 30):
        assert law.tail(law.mean + z * math.sqrt(law.variance)).error < 1e-10


def test_tails_fall_and_join_across_the_mean():
    law = ChiSquareMixture(*sphere_levels(30))
    x = law.mean + math.sqrt(law.variance) * np.linspace(-2, 30, 200)
    logs = np.array([law.tail(float(value)).log for value in x])
    assert (np.diff(logs) < 0).all()
    below, above = (law.tail(law.mean * (1 + sign * 1e-13)).probability for sign in (-1, 1))
    assert below == pytest.approx(above, rel=1e-11)


def test_equal_coefficients_pool_their_degrees():
    """Many small terms enter through their cumulants, and are as good as one."""
    apart = ChiSquareMixture(np.r_[1.0, np.full(500, 1e-3)], np.r_[3.0, np.full(500, 8.0)])
    pooled = ChiSquareMixture([1.0, 1e-3], [3.0, 4000.0])
    rng = np.random.default_rng(3)
    draws = rng.chisquare(3, 10**6) + 1e-3 * rng.chisquare(4000, 10**6)
    for x in (4.5, 8.0, 40.0, 90.0):
        assert apart.tail(x).probability == pytest.approx(pooled.tail(x).probability, rel=1e-11)
        truth = pooled.tail(x).probability
        assert abs(float((draws > x).mean()) - truth) <= 4.5 * math.sqrt(truth * (1 - truth) / 10**6) + 1e-6


def test_multiplicities_that_overflow_are_given_by_their_logarithms():
    """On S^383, N passes 1e308 long before its term is negligible at fine times; here it is, and nothing changes."""
    series = he.Sphere(383).series
    levels = series.levels(900)
    time = 0.0125
    c = np.exp(-2 * time * levels.eigenvalues[1:])
    assert levels.log_multiplicities[-1] > 710
    whole = ChiSquareMixture(c, log_degrees=levels.log_multiplicities[1:])
    few = ChiSquareMixture(c[:6], np.exp(levels.log_multiplicities[1:7]))
    for z in (-2, 0, 3, 8):
        x = few.mean + z * math.sqrt(few.variance)
        assert whole.tail(x).probability == pytest.approx(few.tail(x).probability, rel=1e-9)


def test_many_degrees_tend_to_the_normal_law():
    law = ChiSquareMixture([1e-8], log_degrees=[math.log(1e14)])
    x = law.mean + 2 * math.sqrt(law.variance)
    assert law.tail(x).probability == pytest.approx(stats.norm.sf(2), rel=1e-6)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.floats(1e-6, 1.0), st.floats(0.5, 1e4)), min_size=1, max_size=8),
    st.floats(-3, 30),
    st.floats(1e-3, 1e3),
)
def test_any_mixture_has_tails_in_order_that_do_not_depend_on_the_unit(terms, z, unit):
    c, n = np.array(terms).T
    law = ChiSquareMixture(c, n)
    x = max(law.mean + z * math.sqrt(law.variance), 0.05 * law.mean)
    tail, further = law.tail(x), law.tail(1.1 * x)
    assert 0 <= further.probability <= tail.probability <= 1
    assert tail.error < 1e-8
    assert ChiSquareMixture(unit * c, n).tail(unit * x).log == pytest.approx(tail.log, rel=1e-8, abs=1e-8)


def test_ends_of_the_line():
    law = ChiSquareMixture([1.0, 0.0], [3, 5])
    assert law.tail(0.0) == (1.0, 0.0, 0.0)
    assert law.tail(-1.0).probability == 1.0
    assert law.tail(math.inf).probability == 0.0
    assert law.mean == pytest.approx(3.0, rel=1e-15)
    assert np.array_equal(law.tails([[0.0], [1.0]]), [[1.0], [law.tail(1.0).probability]])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1.0],), "either degrees or log_degrees"),
        (([1.0], [0.0]), "must be positive"),
        (([1.0, 2.0], [1.0]), "one shape"),
        (([-1.0], [1.0]), "not negative"),
        (([0.0], [1.0]), "at least one"),
    ],
)
def test_bad_mixtures_are_refused(arguments, message):
    with pytest.raises(he.InputError, match=message):
        ChiSquareMixture(*arguments)


def test_agrees_with_gx2():
    gx2 = pytest.importorskip("gx2")
    c, n = sphere_levels(45, 10)
    law = ChiSquareMixture(c, n)
    for z in (-1, 0, 2, 5):
        x = law.mean + z * math.sqrt(law.variance)
        truth = gx2.cdf(x, c, n, np.zeros(len(c)), 0, 0, side="upper")
        assert law.tail(x).probability == pytest.approx(float(np.ravel(truth)[0]), rel=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("angle", [15, 60])
def test_ten_million_draws_agree_down_to_1e_4(angle):
    c, n = sphere_levels(angle, 60)
    kept = c * np.sqrt(n) > 1e-6
    law, rng = ChiSquareMixture(c[kept], n[kept]), np.random.default_rng(7)
    x = law.mean + math.sqrt(law.variance) * np.array([-1, 0, 1, 2, 3, 4, 5])
    truth, total, count = law.tails(x), 10**7, np.zeros(len(x))
    for _ in range(20):
        draws = sum(
            weight * rng.chisquare(degrees, total // 20) for weight, degrees in zip(c[kept], n[kept], strict=True)
        )
        count += (draws[:, None] > x).sum(axis=0)
    checked = truth > 1e-4
    assert checked.sum() >= 5
    error = np.sqrt(truth * (1 - truth) / total)
    assert (np.abs(count / total - truth)[checked] < 4.5 * error[checked]).all()
