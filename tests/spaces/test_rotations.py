"""SO(3): rotations as quaternions, matrices and scipy objects."""

from __future__ import annotations

import math

import mpmath as mp
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import heatess as he
import reference_spaces
from heatess.engines import neighbours
from heatess.measures.measure import Measure
from heatess.spaces import named
from heatess.transforms import wigner as wigner_module
from heatess.transforms.wigner import right_angle, table_start
from test_against_mpmath import assert_matches, awkward_cloud

SPACE = he.Rotations()


def random(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return SPACE.uniform(n, rng), rng.random(n)


def test_the_profile_matches_forty_digits() -> None:
    points, weights = awkward_cloud(3, seed=1)  # q and -q, duplicates, a pair 2e-6 radians apart
    times = np.radians([2.0, 5.0, 15.0, 45.0, 90.0, 180.0, 300.0]) ** 2 / 8
    truth = reference_spaces.rotations_profile(points, weights, times, 700)
    for method in ("auto", "pairwise"):
        assert_matches(he.heat_profile(points, weights, space=SPACE, times=times, method=method), truth)
    assert_matches(he.heat_profile(points, weights, space=SPACE, times=times[2:], method="spectral"), truth[2:])


@pytest.mark.parametrize("alpha", [2e-3, 1e-4, 1e-6, 1e-7])
def test_scales_far_below_any_series_match_the_closed_form(alpha: float) -> None:
    points, weights = awkward_cloud(3, seed=2)
    exact = reference_spaces.small_time_rotations(points, weights, alpha**2 / 8)
    assert_matches(he.heat_profile(points, weights, space=SPACE, times=[alpha**2 / 8]), [exact])


def test_the_rotations_of_a_tetrahedron_keep_a_small_mmd2() -> None:
    points = Rotation.create_group("T").as_quat()  # b_1 = b_2 = 0 exactly
    times = np.radians([60.0, 150.0]) ** 2 / 8
    truth = reference_spaces.rotations_profile(points, np.ones(12), times, 100)
    for method in ("spectral", "pairwise"):
        profile = he.heat_profile(points, space=SPACE, times=times, method=method)
        for k, exact in enumerate(truth):
            assert float(abs(profile.mmd2[k] / exact.mmd2 - 1)) < 1e-8


@pytest.mark.slow
def test_engines_agree() -> None:
    rng = np.random.default_rng(3)
    points = np.array([0.1, 0.2, 0.3, 0.9]) + 0.02 * rng.normal(size=(400, 4))
    points *= rng.choice([-1.0, 1.0], size=(400, 1)) / np.linalg.norm(points, axis=1, keepdims=True)
    times = np.radians([4.5]) ** 2 / 8
    profiles = [
        he.heat_profile(points, space=SPACE, times=times, method=method)
        for method in ("spectral", "pairwise", "local", "auto")
    ]
    for other in profiles[1:]:
        assert other.gess[0] == pytest.approx(profiles[0].gess[0], rel=1e-8)
        assert other.dimension[0] == pytest.approx(profiles[0].dimension[0], rel=1e-6)


def test_many_rotations_at_fine_scales_agree_with_pairs() -> None:
    rng = np.random.default_rng(4)
    points = np.array([0.0, 0.0, 0.0, 1.0]) + 0.02 * rng.normal(size=(21_000, 4))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    times = np.radians([0.1, 0.2]) ** 2 / 8
    rotations = he.heat_profile(points, space=SPACE, times=times, method="local")
    sphere = he.heat_profile(points, times=times / 4, method="local")
    np.testing.assert_allclose(rotations.gess, sphere.gess, rtol=1e-9)


def awkward_rotations() -> tuple[np.ndarray, np.ndarray]:
    """Anywhere, in clusters that any choice of signs cuts in two, about one axis, copied as q and -q, unevenly."""
    rng = np.random.default_rng(12)
    centres = np.vstack([np.eye(4), [[0, 0, 0.6, 0.8], [1e-3, 0, 0.8, -0.6]]])
    clusters = [centre + 0.03 * rng.normal(size=(250, 4)) for centre in centres]
    about_z = np.pad(rng.normal(size=(300, 2)), ((0, 0), (2, 0)))
    points = np.vstack([rng.normal(size=(700, 4)), *clusters, about_z])
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    points = np.vstack([points, -points[::5]])
    weights = rng.random(len(points)) ** 6
    weights[::11] = 0
    return points * rng.choice([-1.0, 1.0], size=(len(points), 1)), weights


@pytest.mark.parametrize("finder", ["tree", "cells"])
def test_neighbours_are_found_across_the_change_of_sign(finder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    points, weights = awkward_rotations()
    monkeypatch.setattr(neighbours, "FEW_ATOMS", 0 if finder == "cells" else math.inf)
    for angles, other in (([8.0, 12.0], "spectral"), ([0.01, 0.3, 1.0, 4.0], "pairwise")):
        near, wanted = (
            he.heat_profile(points, weights, space=SPACE, angles=angles, method=method) for method in ("local", other)
        )
        np.testing.assert_allclose(near.gess, wanted.gess, rtol=2e-10)
        np.testing.assert_allclose(near.dimension, wanted.dimension, rtol=1e-7, atol=1e-9)
        np.testing.assert_allclose(near.mmd2, wanted.mmd2, rtol=1e-8)
        assert (np.abs(near.gess / wanted.gess - 1) <= near.error + wanted.error).all()


def test_orders_taken_some_at_a_time_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    points, weights = random(200, seed=13)
    weights /= weights.sum()
    whole = SPACE.transform.coefficients(points, weights, 30, 1e-12, 1)
    monkeypatch.setattr(wigner_module, "MODES", 61**2 * 7)  # orders 0 to 6, 7 to 13, ..., 28 to 30
    for threads in (1, 2):
        np.testing.assert_allclose(SPACE.transform.coefficients(points, weights, 30, 1e-12, threads), whole, atol=1e-12)


def test_rotations_are_lines_in_four_dimensions_with_doubled_lengths() -> None:
    points, weights = random(60, seed=5)
    times = np.radians([3.0, 10.0, 40.0, 120.0]) ** 2 / 8
    rotations = he.heat_profile(points, weights, space=SPACE, times=times)
    lines = he.heat_profile(points, weights, space=he.Projective(3), times=times / 4)
    np.testing.assert_allclose(rotations.gess, lines.gess, rtol=1e-10)
    np.testing.assert_allclose(rotations.mmd2, lines.mmd2, rtol=1e-9)


def test_turning_all_rotations_from_left_or_right_changes_nothing() -> None:
    points, weights = random(80, seed=6)
    turn, all_ = Rotation.random(rng=np.random.default_rng(7)), Rotation.from_quat(points)
    for method in ("spectral", "pairwise"):
        profiles = [
            he.heat_profile(p, weights, space=SPACE, angles=[10, 40, 120], method=method)
            for p in (all_, turn * all_, all_ * turn, all_.inv())
        ]
        for other in profiles[1:]:
            np.testing.assert_allclose(other.gess, profiles[0].gess, rtol=1e-10)
            np.testing.assert_allclose(other.mmd2, profiles[0].mmd2, rtol=1e-9)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_scipy_objects_quaternions_and_matrices_are_the_same(dtype: type) -> None:
    points, weights = random(50, seed=8)
    half_turns = np.eye(4)  # where the trace of the matrix is -1
    points = np.vstack([points, half_turns, half_turns @ np.diag([1, 1, 1, -1])])
    weights = np.append(weights, np.ones(8))
    scipy = Rotation.from_quat(points)
    tolerance = 1e-6 if dtype == np.float32 else 1e-12
    wanted = he.heat_profile(points, weights, space=SPACE, angles=[10, 60])
    forms = (scipy, -points.astype(dtype), scipy.as_matrix().astype(dtype), scipy.as_matrix().tolist())
    for form in forms:
        found = he.heat_profile(form, weights, space=SPACE, angles=[10, 60])
        np.testing.assert_allclose(found.gess, wanted.gess, rtol=tolerance)
    assert he.gess(scipy[0], space=SPACE, angle=5) == pytest.approx(1)


def test_distance_is_the_rotation_angle() -> None:
    one, two = Rotation.random(30, rng=np.random.default_rng(9)), Rotation.random(30, rng=np.random.default_rng(10))
    wanted = (one.inv() * two).magnitude()
    for left, right in ((one, two), (one.as_quat(), -two.as_quat()), (one.as_matrix(), two.as_matrix())):
        np.testing.assert_allclose(SPACE.distance(left, right), wanted, rtol=1e-12)
    assert float(SPACE.distance([0, 0, 0, 1.0], [0, 5e-14, 0, -1.0])) == pytest.approx(1e-13, rel=1e-12)
    embedding = SPACE.embedding
    left, right = embedding.coordinates(SPACE.check(one)), embedding.coordinates(SPACE.check(two))
    chords = np.minimum(np.linalg.norm(left - right, axis=1), np.linalg.norm(left + right, axis=1))
    np.testing.assert_allclose(embedding.distance(chords), wanted, rtol=1e-12)
    np.testing.assert_allclose(embedding.chord(wanted), chords, rtol=1e-12)


def test_volume_diameter_and_curvature() -> None:
    assert SPACE.volume == pytest.approx(8 * math.pi**2)
    assert SPACE.log_volume == pytest.approx(math.log(8 * math.pi**2))
    assert SPACE.volume == pytest.approx(8 * he.Projective(3).volume)
    assert (SPACE.dim, SPACE.diameter, SPACE.scalar_curvature) == (3, math.pi, 1.5)


def test_zonal_functions_are_characters() -> None:
    w = np.array([0.0, 0.3, 2.0, np.pi])
    found = SPACE.series.zonal(40, w)
    for level in (1, 2, 17, 39):
        with np.errstate(invalid="ignore"):
            character = np.sin((2 * level + 1) * w / 2) / np.sin(w / 2) / (2 * level + 1)
        character[0] = 1
        np.testing.assert_allclose(found[level], character, atol=1e-14)


def test_resolutions_and_times_are_inverse() -> None:
    wanted = np.radians([0.01, 1.0, 20.0, 100.0])
    np.testing.assert_allclose(SPACE.resolutions_of_times(SPACE.times_of_resolutions(wanted)), wanted, rtol=1e-9)


def test_uniform_rotations_have_no_energy_on_average() -> None:
    spectrum = he.power_spectrum(SPACE.uniform(20_000, np.random.default_rng(11)), space=SPACE, max_degree=8)
    np.testing.assert_array_equal(spectrum.multiplicities, (2 * np.arange(9) + 1) ** 2)
    np.testing.assert_allclose(spectrum.energies[1:] * 20_000 / spectrum.multiplicities[1:], 1.0, atol=1.0)
    angles = SPACE.distance(SPACE.uniform(20_000, np.random.default_rng(12)), [0, 0, 0, 1])
    assert angles.mean() == pytest.approx(math.pi / 2 + 2 / math.pi, abs=0.02)


def test_the_spectrum_of_one_rotation_is_flat_and_that_of_pairs_agrees() -> None:
    one = he.power_spectrum(SPACE.uniform(1, np.random.default_rng(13)), space=SPACE, max_degree=50)
    np.testing.assert_allclose(one.energies, one.multiplicities, rtol=1e-10)
    points, weights = random(40, seed=14)
    cosines = np.cos(SPACE.distance(points[:, None], points))
    mass = weights / weights.sum()
    spectrum = he.power_spectrum(points, weights, space=SPACE, max_degree=50)
    assert spectrum.energies[1] == pytest.approx(3 * mass @ (1 + 2 * cosines) @ mass, rel=1e-10)


def test_parts_add_up_and_survive_a_file(tmp_path) -> None:  # type: ignore[no-untyped-def]
    points, weights = random(300, seed=15)
    one, two = (he.Accumulator(SPACE, max_degree=40) for _ in range(2))
    one.add(points[:100], weights[:100])
    two.add(Rotation.from_quat(points[100:]), weights[100:])
    (one + two).save(tmp_path / "state.npz")
    merged = he.Accumulator.load(tmp_path / "state.npz").profile(angles=[30, 90])
    whole = he.heat_profile(points, weights, space=SPACE, angles=[30, 90])
    np.testing.assert_allclose(merged.gess, whole.gess, rtol=1e-9)
    np.testing.assert_allclose(merged.mmd2, whole.mmd2, rtol=1e-8)


@pytest.mark.parametrize("threads", [1, 2])
def test_the_transform_gives_the_moments_of_pairs(threads: int) -> None:
    measure = Measure.of(*random(30, seed=16), space=SPACE)
    zonal = SPACE.series.zonal(90, SPACE.distance(measure.points[:, None], measure.points))
    wanted = np.einsum("i,lij,j->l", measure.weights, zonal, measure.weights)
    for count in (1, 2, 7, 90):
        coefficients = SPACE.transform.coefficients(measure.points, measure.weights, count - 1, 1e-12, threads)
        assert coefficients.shape == SPACE.transform.zeros(count - 1).shape
        np.testing.assert_allclose(SPACE.transform.moments(coefficients), wanted[:count], atol=1e-12)


def wigner(level: int, m: int, n: int) -> mp.mpf:
    """d^l_mn(-pi / 2) by its explicit sum."""
    f = mp.factorial
    root = mp.sqrt(f(level + m) * f(level - m) * f(level + n) * f(level - n))
    terms = (
        (-1) ** k * root / (f(level + m - k) * f(k) * f(n - m + k) * f(level - n - k))
        for k in range(max(0, m - n), min(level + m, level - n) + 1)
    )
    return (-1) ** (n - m) * mp.fsum(terms) / mp.mpf(2) ** level


@pytest.mark.parametrize("level", [1, 2, 5, 30])
def test_right_angles_match_the_explicit_sum(level: int) -> None:
    found = right_angle(200)[table_start(level) : table_start(level + 1)].reshape(level + 1, level + 1)
    with mp.workdps(40):
        wanted = [[float(wigner(level, m, n)) for n in range(level + 1)] for m in range(level + 1)]
    np.testing.assert_allclose(found, wanted, atol=1e-14)


@pytest.mark.parametrize("level", [139, 199])
def test_right_angles_are_orthogonal_at_high_levels(level: int) -> None:
    quarter = right_angle(200)[table_start(level) : table_start(level + 1)].reshape(level + 1, level + 1)
    sign = (-1.0) ** (level + np.arange(level + 1))
    half = np.hstack([(sign[:, None] * quarter)[:, :0:-1], quarter])  # n from -l to l
    np.testing.assert_allclose(half @ half.T, np.eye(level + 1), atol=1e-13)


@pytest.mark.parametrize(
    ("points", "message"),
    [
        (np.eye(3), r"shape \(3, 3\) \(for one rotation use points\[None\]\); give a scipy Rotation"),
        ([0, 0, 0, 1], r"shape \(4,\) \(for one rotation"),
        (np.zeros((5, 3)), r"scalar last \(x, y, z, w\).*scalar-first quaternions are q\[:, \[1, 2, 3, 0\]\]"),
        ([[0, 0, 0, 1], [0, 0, 0, 2]], r"unit quaternions .* row 1 has norm 2 .* scalar-first"),
        ([[0, 0, 0, 1], [0, 0, 0, np.nan]], "finite, but row 1"),
        ([np.eye(3), np.diag([1, 1, -1])], "row 1 has determinant -1, a reflection"),
        (
            [np.eye(3), 1.01 * np.eye(3)],
            "orthonormal within 1e-06, but in row 1 R R.T is off the unit matrix by 0.0201",
        ),
        ([np.eye(3), np.full((3, 3), np.nan)], "orthonormal within 1e-06, but in row 1"),
        (np.zeros((0, 4)), "empty"),
        (np.zeros((0, 3, 3)), r"shape \(0, 3, 3\)"),
    ],
)
def test_bad_input_is_refused(points: object, message: str) -> None:
    with pytest.raises(he.InputError, match=message):
        he.gess(points, space=SPACE, angle=10)


def test_rounding_is_corrected() -> None:
    points, _ = random(20, seed=17)
    checked = SPACE.check(points * (1 + 5e-7))
    np.testing.assert_allclose(checked, points, rtol=1e-14, atol=1e-16)
    np.testing.assert_array_equal(SPACE.check(-points), SPACE.check(points))


def test_the_name_finds_the_space() -> None:
    assert named("Rotations()") == SPACE
    assert len({SPACE, he.Rotations()}) == 1
