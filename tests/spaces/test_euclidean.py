"""Flat space: the Gaussian overlap, and what infinite volume leaves undefined."""

from __future__ import annotations

import json
import math

import mpmath as mp
import numpy as np
import pytest

import heatess as he
import reference_flat
from heatess.spaces import named


def awkward_cloud(dim: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Duplicates, a pair 1e-6 apart far from the origin, and skewed weights."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(8, dim))
    x[0] += 1000
    points = np.vstack([x, x[1], x[1], x[0] + 1e-6])
    return points, np.exp(2 * rng.normal(size=len(points)))


@pytest.mark.parametrize("dim", [1, 5, 40])
def test_gess_matches_forty_digits(dim: int) -> None:
    points, weights = awkward_cloud(dim, seed=dim)
    times = np.square([1e-6, 1e-3, 0.1, 1.0, 5.0, 1e3, 1e6]) / 8
    profile = he.heat_profile(points, weights, space=he.Euclidean(dim), times=times)
    truth = reference_flat.gess(reference_flat.euclidean, points, weights, times)
    for found, error, exact in zip(profile.gess, profile.error, truth, strict=True):
        assert float(abs(mp.mpf(float(found)) / exact - 1)) <= min(1e-8, error)


def test_only_gess_is_defined() -> None:
    profile = he.heat_profile(np.eye(3), space=he.Euclidean(3), resolutions=[0.5, 1, 2])
    for name in ("volume", "divergence", "mmd2"):
        assert np.isnan(getattr(profile, name)).all()
    assert "Euclidean(3) [infinite volume: gESS only]" in repr(profile)
    assert json.loads(profile.to_json())["volume"] == [None] * 3
    assert np.isfinite(profile.dimension).all()
    assert he.Euclidean(3).volume == math.inf
    assert named(repr(he.Euclidean(3))) == he.Euclidean(3)
    with pytest.raises(he.InputError, match="no uniform distribution"):
        he.Euclidean(3).uniform(5, np.random.default_rng(0))


def test_the_resolution_is_alpha() -> None:
    profile = he.heat_profile(np.eye(3), space=he.Euclidean(3), times=[0.5, 2.0])
    np.testing.assert_allclose(profile.resolutions, [2.0, 4.0], rtol=1e-15)
    np.testing.assert_allclose(profile.angles, [2.0, 4.0], rtol=1e-15)
    pair = [[0.0], [0.3]]
    assert he.gess(pair, space=he.Euclidean(1), resolution=0.3) == pytest.approx(2 / (1 + math.exp(-1)), rel=1e-14)
    with pytest.raises(he.InputError, match="not angles"):
        he.heat_profile(pair, space=he.Euclidean(1), angles=[5])


def test_moving_and_turning_the_cloud_changes_nothing() -> None:
    rng = np.random.default_rng(1)
    points, weights = rng.normal(size=(700, 4)), rng.random(700)
    turn = np.linalg.qr(rng.normal(size=(4, 4)))[0]
    scales = {"space": he.Euclidean(4), "resolutions": [0.1, 1.0, 10.0]}
    base = he.heat_profile(points, weights, **scales)
    moved = he.heat_profile(points @ turn + 3.0, weights, **scales)
    np.testing.assert_allclose(moved.gess, base.gess, rtol=1e-10)
    np.testing.assert_allclose(moved.dimension, base.dimension, rtol=1e-9, atol=1e-12)


def test_a_tight_cloud_is_flat_on_the_sphere_as_in_space() -> None:
    rng = np.random.default_rng(2)
    x = np.column_stack([1e-5 * rng.normal(size=(50, 2)), np.ones(50)])
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    time = 1e-10 / 8
    sphere = he.gess(x, time=time)
    assert he.gess(x[:, :2], space=he.Euclidean(2), time=time) == pytest.approx(sphere, rel=1e-8)


def test_distances_beyond_all_reason_do_not_overflow() -> None:
    profile = he.heat_profile([[-1e200], [0.0], [1e200]], space=he.Euclidean(1), times=[1e-150, 1.0])
    np.testing.assert_allclose(profile.gess, 3.0)
    np.testing.assert_allclose(profile.dimension, 0.0)


def test_bad_input_is_refused_with_the_reason() -> None:
    with pytest.raises(he.InputError, match="dim >= 1, but found -1"):
        he.Euclidean(-1)
    with pytest.raises(he.InputError, match=r"shape \(n, 3\), but have shape \(3,\); for one point"):
        he.gess([1.0, 2.0, 3.0], space=he.Euclidean(3), time=1.0)
    with pytest.raises(he.InputError, match="finite, but row 1"):
        he.gess([[0.0, 0.0], [0.0, math.inf]], space=he.Euclidean(2), time=1.0)
    with pytest.raises(he.InputError, match="has no fast transform"):
        he.heat_profile(np.zeros((1, 4)), space=he.Euclidean(4), times=[1.0], method="spectral")
