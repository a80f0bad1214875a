"""Projective spaces: lines, or unit vectors without their sign."""

from __future__ import annotations

import math

import numpy as np
import pytest

import heatess as he
import reference_spaces
from heatess.engines import neighbours
from heatess.spaces import named
from test_against_mpmath import assert_matches, awkward_cloud

# dim: (levels for the reference, angles in degrees)
REGIMES = {
    1: (500, [1.5, 5.0, 40.0, 320.0]),
    2: (500, [1.5, 4.0, 15.0, 60.0, 240.0]),
    3: (400, [2.0, 15.0, 45.0, 200.0]),
    5: (400, [2.0, 5.0, 15.0, 45.0, 185.0]),
    30: (300, [4.0, 10.0, 20.0, 100.0]),
}


@pytest.mark.parametrize("dim", REGIMES)
@pytest.mark.slow
def test_the_profile_matches_forty_digits(dim: int) -> None:
    count, angles = REGIMES[dim]
    points, weights = awkward_cloud(dim, seed=dim)  # antipodes and duplicates among them
    times = np.radians(angles) ** 2 / 8
    truth = reference_spaces.projective_profile(points, weights, times, count)
    assert truth[-1].mmd2 < 1e-9
    for method in ("auto", "pairwise"):
        assert_matches(he.heat_profile(points, weights, space=he.Projective(dim), times=times, method=method), truth)


@pytest.mark.parametrize("dim", [1, 2, 5])
def test_an_orthonormal_frame_keeps_a_small_mmd2(dim: int) -> None:
    points = np.eye(dim + 1)  # b_1 = 0 exactly
    times = np.radians([40.0, 90.0]) ** 2 / 8
    truth = reference_spaces.projective_profile(points, np.ones(dim + 1), times, 200)
    assert_matches(he.heat_profile(points, space=he.Projective(dim), times=times), truth)


@pytest.mark.parametrize("dim", [1, 2, 3, 12])
def test_a_projective_space_is_the_symmetrised_sphere(dim: int) -> None:
    rng = np.random.default_rng(dim)
    points, weights = he.Sphere(dim).uniform(40, rng), rng.random(40)
    times = np.radians([5.0, 20.0, 60.0]) ** 2 / 8
    lines = he.heat_profile(points, weights, space=he.Projective(dim), times=times)
    both = he.heat_profile(np.vstack([points, -points]), np.tile(weights, 2), times=times)
    np.testing.assert_allclose(lines.mmd2, both.mmd2, rtol=1e-9)
    even = he.power_spectrum(np.vstack([points, -points]), np.tile(weights, 2), max_degree=20).energies[::2]
    np.testing.assert_allclose(
        he.power_spectrum(points, weights, space=he.Projective(dim), max_degree=10).energies,
        even,
        atol=1e-10,
        rtol=1e-9,
    )


@pytest.mark.parametrize("dim", [1, 2, 4, 9, 40])
def test_engines_agree(dim: int) -> None:
    rng = np.random.default_rng(dim)
    centre = he.Sphere(dim).uniform(1, rng)
    points = centre + 0.02 * rng.normal(size=(300, dim + 1)) / math.sqrt(dim)
    points *= rng.choice([-1.0, 1.0], size=(300, 1)) / np.linalg.norm(points, axis=1, keepdims=True)
    space, times = he.Projective(dim), np.radians([0.8, 1.5]) ** 2 / 8
    profiles = [
        he.heat_profile(points, space=space, times=times, method=method)
        for method in (["spectral"] if dim < 3 else []) + ["auto", "pairwise", "local"]
    ]
    for other in profiles[1:]:
        np.testing.assert_allclose(other.gess, profiles[0].gess, rtol=1e-8)
        np.testing.assert_allclose(other.dimension, profiles[0].dimension, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("dim", [2, 20])
def test_signs_change_nothing(dim: int) -> None:
    rng = np.random.default_rng(5)
    points = he.Sphere(dim).uniform(200, rng)
    signs = rng.choice([-1.0, 1.0], size=(200, 1))
    space = he.Projective(dim)
    for resolution in (30.0, 1e-3):
        same = [he.gess(p, space=space, resolution=resolution) for p in (points, signs * points)]
        assert same[0] == pytest.approx(same[1], rel=1e-12)
    doubled = he.heat_profile(np.vstack([points, -points]), space=space, resolutions=[1e-4])
    assert doubled.gess[0] == pytest.approx(200, rel=1e-9)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_check_makes_the_first_nonzero_coordinate_positive(dtype: type) -> None:
    points = np.array([[0, 0, -1], [0, -0.6, 0.8], [-1, 0, 0], [0.6, -0.8, 0]], dtype=dtype)
    checked = he.Projective(2).check(points)
    assert checked.dtype == dtype
    np.testing.assert_allclose(checked, [[0, 0, 1], [0, 0.6, -0.8], [1, 0, 0], [0.6, -0.8, 0]], atol=1e-7)


def test_a_line_and_its_negative_are_exact_duplicates_at_any_scale() -> None:
    x = he.Sphere(2).uniform(1, np.random.default_rng(1))
    profile = he.heat_profile(np.vstack([x, -x]), space=he.Projective(2), times=[1e-30, 1e-3])
    np.testing.assert_allclose(profile.gess, 1.0, rtol=1e-12)


def test_many_lines_at_fine_scales_agree_with_pairs() -> None:
    rng = np.random.default_rng(2)
    points = np.array([0.0, 0.0, 1.0]) + 0.05 * rng.normal(size=(21_000, 3))
    points *= rng.choice([-1.0, 1.0], size=(21_000, 1)) / np.linalg.norm(points, axis=1, keepdims=True)
    times = np.radians([0.05]) ** 2 / 8
    local = he.heat_profile(points, space=he.Projective(2), times=times, method="local")
    sphere = he.heat_profile(points * np.sign(points[:, 2:]), times=times, method="local")
    assert local.gess[0] == pytest.approx(sphere.gess[0], rel=1e-9)


@pytest.mark.parametrize("dim", [1, 2, 3, 7])
def test_neighbours_are_found_across_the_change_of_sign(dim: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(dim)
    points = np.vstack([rng.normal(size=(900, dim + 1)), np.eye(dim + 1)[0] + 0.1 * rng.normal(size=(900, dim + 1))])
    points[::3, 0] = 0.0  # on the edge of the hemisphere that checked points have
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    points = np.vstack([points, -points[::4]])
    weights = rng.random(len(points)) ** 5
    times = np.radians([0.1, 1.0, 3.0]) ** 2 / 8
    monkeypatch.setattr(neighbours, "FEW_ATOMS", 0)
    space = he.Projective(dim)
    near, pairs = (
        he.heat_profile(points, weights, space=space, times=times, method=method) for method in ("local", "pairwise")
    )
    np.testing.assert_allclose(near.gess, pairs.gess, rtol=2e-10)
    np.testing.assert_allclose(near.dimension, pairs.dimension, rtol=1e-7, atol=1e-9)


def test_distance_volume_and_diameter() -> None:
    space = he.Projective(2)
    np.testing.assert_allclose(space.distance([1, 0, 0], [[0, 1, 0], [-1, 0, 0], [1, 0, 0]]), [np.pi / 2, 0, 0])
    assert float(space.distance([1.0, 0.0, 0.0], [-1.0, 1e-13, 0.0])) == pytest.approx(1e-13, rel=1e-12)
    assert space.volume == pytest.approx(2 * math.pi)
    assert space.diameter == math.pi / 2
    assert space.scalar_curvature == 2
    embedding = space.embedding
    left, right = (embedding.coordinates(space.check(rows)) for rows in (np.eye(3)[:1], [[0.6, -0.8, 0.0]]))
    chord = np.linalg.norm(left - right)
    assert float(embedding.distance(chord)) == pytest.approx(math.acos(0.6), rel=1e-14)
    assert float(embedding.chord(math.acos(0.6))) == pytest.approx(float(chord), rel=1e-14)


@pytest.mark.parametrize("dim", [1, 2, 7])
def test_resolutions_and_times_are_inverse(dim: int) -> None:
    space, wanted = he.Projective(dim), np.radians([0.01, 1.0, 20.0, 50.0])
    times = space.times_of_resolutions(wanted)
    np.testing.assert_allclose(space.resolutions_of_times(times), wanted, rtol=1e-9)
    with pytest.raises(he.InputError, match=rf"less than the diameter of Projective\({dim}\), 90 degrees"):
        he.gess(np.eye(dim + 1), space=space, resolution=95)


def test_uniform_lines_have_no_energy_on_average() -> None:
    points = he.Projective(2).uniform(20_000, np.random.default_rng(3))
    assert (points[:, 0] >= 0).all()
    energies = he.power_spectrum(points, space=he.Projective(2), max_degree=6)
    np.testing.assert_allclose(energies.energies[1:] * 20_000 / energies.multiplicities[1:], 1.0, atol=1.5)


def test_parts_add_up() -> None:
    rng = np.random.default_rng(4)
    points, weights = he.Projective(2).uniform(500, rng), rng.random(500)
    parts = he.Accumulator(he.Projective(2), max_degree=60)
    parts.add(points[:200], weights[:200]).add(-points[200:], weights[200:])
    whole = he.gess(points, weights, space=he.Projective(2), angle=15)
    assert parts.profile(angles=[15]).gess[0] == pytest.approx(whole, rel=1e-9)


def test_bad_input_is_refused_with_the_name_of_the_space() -> None:
    with pytest.raises(he.InputError, match=r"points on Projective\(2\) must have shape \(n, 3\)"):
        he.gess(np.eye(4), space=he.Projective(2), angle=5)
    with pytest.raises(he.InputError, match=r"Projective\(2\) must be unit vectors .* row 1 has norm 2"):
        he.gess([[1, 0, 0], [0, 2, 0]], space=he.Projective(2), angle=5)
    with pytest.raises(he.InputError, match=r"axes in R\^3 are Projective\(2\)"):
        he.Projective(0)
    with pytest.raises(he.InputError, match="no fast transform"):
        he.heat_profile(np.eye(5), space=he.Projective(4), method="spectral")


def test_the_name_finds_the_space() -> None:
    assert named("Projective(2)") == he.Projective(2) != he.Projective(3)
    assert len({he.Projective(2), he.Projective(2)}) == 1
