"""`error` really bounds the error: random clouds, awkward input and every tolerance, against 40 digits."""

from __future__ import annotations

import itertools
import math
import multiprocessing
import pickle

import hypothesis.strategies as st
import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings

import heatess as he
import reference


def relative(found: float, true: mp.mpf) -> float:
    return float(abs(mp.mpf(float(found)) / true - 1))


@st.composite
def clouds(draw, dims):
    """A few atoms at mutual distances from 1e-6 to pi, in float64, float32, or a little off unit length."""
    dim, n = draw(st.sampled_from(dims)), draw(st.integers(2, 5))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    spread = draw(st.sampled_from([1e-6, 1e-3, 0.3, 100.0]))
    x = rng.standard_normal(dim + 1) + spread * rng.standard_normal((n, dim + 1))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    kind = draw(st.sampled_from(["float64", "float32", "off"]))
    x = (
        x.astype(np.float32)
        if kind == "float32"
        else x * (1 + 5e-7 * rng.uniform(-1, 1, (n, 1)))
        if kind == "off"
        else x
    )
    return x, 10.0 ** -rng.uniform(0, 6, n)


@pytest.mark.slow
@settings(deadline=None, max_examples=60)
@given(clouds((1, 2, 3, 9)), st.floats(math.log(0.02), math.log(3.0)), st.sampled_from([1e-12, 1e-10, 1e-8, 1e-4, 0.1]))
def test_error_bounds_the_error_where_the_series_converges(cloud, log_alpha, rtol):
    x, w = cloud
    t = math.exp(2 * log_alpha) / 8
    (exact,) = reference.profile(x.astype(np.float64), w, [t], 1200)
    for method in ("auto", "pairwise"):
        found = he.heat_profile(x, w, times=[t], rtol=rtol, method=method)
        assert relative(found.gess[0], exact.gess) <= found.error[0]


@pytest.mark.slow
@settings(deadline=None, max_examples=40)
@given(clouds((1, 2, 3)), st.floats(math.log(1e-9), math.log(5e-3)), st.sampled_from([1e-12, 1e-8]))
def test_error_bounds_the_error_at_the_finest_scales(cloud, log_alpha, rtol):
    x, w = cloud
    t = math.exp(2 * log_alpha) / 8
    exact = reference.small_time_profile(x.astype(np.float64), w, t)
    found = he.heat_profile(x, w, times=[t], rtol=rtol)
    assert relative(found.gess[0], exact.gess) <= found.error[0]


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_fine_and_coarse_scales_in_one_call_are_as_good_as_apart(dim):
    x = he.samplers.uniform(6, dim, rng=dim)
    coarse = [30.0, 90.0, 150.0, 300.0]
    together = he.heat_profile(x, angles=[1e-5, 1e-3, *coarse])
    apart = he.heat_profile(x, angles=coarse)
    np.testing.assert_allclose(together.gess[2:], apart.gess, rtol=1e-10)
    np.testing.assert_allclose(together.mmd2[2:], apart.mmd2, rtol=1e-8)
    with pytest.raises(he.PrecisionError, match="neighbours do not suffice"):
        he.heat_profile(x, angles=[150.0], method="local")


@pytest.mark.parametrize("dim", [1, 2, 3, 9])
@pytest.mark.parametrize("ratio", [4.0, 4.65, 5.3])
def test_splitting_atoms_a_few_alpha_apart_changes_nothing(dim, ratio):
    t = 1e-6
    distance = ratio * math.sqrt(8 * t)
    pair = np.zeros((2, dim + 1))
    pair[0, 0], pair[1, 0], pair[1, 1] = 1, math.cos(distance), math.sin(distance)
    whole, split = he.heat_profile(pair, times=[t]), he.heat_profile(np.repeat(pair, 50, axis=0), times=[t])
    assert split.gess[0] == pytest.approx(whole.gess[0], rel=1e-10)
    assert split.dimension[0] == pytest.approx(whole.dimension[0], abs=1e-9)


def test_a_cloud_too_balanced_for_its_mmd2_is_warned_of():
    cell = np.vstack([np.eye(4), -np.eye(4), np.array(list(itertools.product((0.5, -0.5), repeat=4)))])
    with pytest.warns(he.PrecisionWarning, match=r"mmd2 .* may be off by .* gess is not affected"):
        found = he.heat_profile(cell, angles=[90.0], method="pairwise")
    (exact,) = reference.profile(cell, np.ones(24), found.times, 60)
    assert relative(found.gess[0], exact.gess) <= found.error[0]
    assert relative(found.mmd2[0], exact.mmd2) < 1e-4
    certain = he.heat_profile(cell, angles=[90.0], method="spectral")  # no warning: squares of coefficients keep digits
    assert relative(certain.mmd2[0], exact.mmd2) < 1e-8


def test_balanced_clouds_get_the_levels_their_mmd2_needs():
    cube = np.array(list(itertools.product((1.0, -1.0), repeat=3))) / math.sqrt(3)
    times = np.radians([100.0, 130.0, 160.0]) ** 2 / 8
    truth = reference.profile(cube, np.ones(8), times, 100)
    found = he.heat_profile(cube, times=times)
    for k, exact in enumerate(truth):
        assert relative(found.mmd2[k], exact.mmd2) < 1e-8


def test_results_stay_frozen_through_pickling():
    x = he.samplers.uniform(20, rng=0)
    for result, array in (
        (he.heat_profile(x), "gess"),
        (pickle.loads(pickle.dumps(he.heat_profile(x))), "gess"),
        (he.power_spectrum(x), "energies"),
        (he.asymptotics.small_time(x, angles=[1.0]), "volume"),
    ):
        with pytest.raises(ValueError, match="read-only"):
            getattr(result, array)[0] = 7.0


def _fine_gess(seed: int) -> float:
    return he.gess(he.samplers.uniform(21_000, rng=seed), angle=0.05)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_pool_works_after_a_fine_scale_was_computed():
    expected = _fine_gess(0)
    with multiprocessing.get_context("fork").Pool(2) as pool:
        assert pool.map_async(_fine_gess, [0, 0]).get(timeout=120) == [expected, expected]
