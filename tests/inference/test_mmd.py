"""The squared MMD of two measures: against 40 digits, what must hold on every space, and where digits are lost."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import mpmath as mp
import numpy as np
import pytest
from numpy.testing import assert_allclose

import heatess as he
import reference_flat
import space_cases
from heatess.engines import columns
from heatess.engines.base import DifferenceQuestion
from heatess.engines.pairs import Pairs
from heatess.engines.spectral import Spectral
from heatess.inference import mmd
from heatess.inference.mmd import mmd2
from reference import exact_distances, multiplicities

COMPACT = [case for case in space_cases.EVERY if case.space().compact]


def sphere(dim: int, count: int, step: int = 1) -> reference_flat.Kernel:
    """k_2t on S^dim by its series, or with step 2 on the lines of it."""
    copies = multiplicities(dim, count)

    def kernel(x: np.ndarray, y: np.ndarray, time: mp.mpf) -> mp.mpf:
        u = mp.cos(exact_distances(np.stack([x, y]))[0][1] if (x != y).any() else mp.mpf(0))
        values = [mp.mpf(1), u]
        for level in range(1, count - 1):
            following = ((2 * level + dim - 1) * u * values[-1] - level * values[-2]) / (level + dim - 1)
            values.append(following)
        return mp.fsum(
            copies[level] * mp.exp(-2 * level * (level + dim - 1) * time) * values[level]
            for level in range(0, count, step)
        )

    return kernel


def exact(kernel: reference_flat.Kernel, a: he.Measure, b: he.Measure, times: Sequence[float]) -> list[float]:
    """sum_ij c_i c_j k_2t(x_i, x_j), c the weights of a and minus those of b, in 40 digits."""
    with mp.workdps(40):
        points = np.concatenate([a.points, b.points])
        masses = [[mp.mpf(float(w)) for w in part.weights] for part in (a, b)]
        signed = [w / mp.fsum(masses[0]) for w in masses[0]] + [-w / mp.fsum(masses[1]) for w in masses[1]]
        found = []
        for time in times:
            t = mp.mpf(float(time))
            terms = [
                signed[i] * signed[j] * kernel(points[i], points[j], t) * (1 if i == j else 2)
                for i in range(len(signed))
                for j in range(i + 1)
            ]
            found.append(float(mp.fsum(terms)))
        return found


@pytest.mark.parametrize(
    ("space", "kernel"),
    [
        (he.Sphere(1), sphere(1, 60)),
        (he.Sphere(2), sphere(2, 60)),
        (he.Sphere(3), sphere(3, 60)),
        (he.Sphere(9), sphere(9, 60)),
        (he.Projective(2), sphere(2, 60, 2)),
        (he.Projective(3), sphere(3, 60, 2)),
        (he.Torus(2, periods=(2.0, 3.0)), reference_flat.torus((2.0, 3.0))),
        (he.Torus(4), reference_flat.torus([2 * np.pi] * 4)),
    ],
    ids=lambda value: repr(value) if isinstance(value, he.Space) else "",
)
def test_it_is_the_definition_in_forty_digits(space, kernel):
    rng = np.random.default_rng(5)
    a, b = (he.Measure(space.uniform(n, rng), rng.random(n), space=space) for n in (4, 3))
    times = np.array([0.8, 0.05, 0.2])
    truth = exact(kernel, a, b, times)
    assert_allclose(mmd2(a, b, times=times), truth, rtol=1e-10)


def octahedron() -> np.ndarray:
    return np.concatenate([np.eye(3), -np.eye(3)])


def jittered(space: he.Space, size: float) -> tuple[he.Measure, he.Measure]:
    rng = np.random.default_rng(13)
    points = space.uniform(4, rng)
    moved = points + size * rng.normal(size=points.shape)
    if space.form == "vectors":
        moved /= np.linalg.norm(moved, axis=1, keepdims=True)
    return he.Measure(points, space=space), he.Measure(moved, space=space)


@pytest.mark.parametrize(
    ("measures", "kernel"),
    [
        ((he.Measure(octahedron()), he.Measure(octahedron() @ np.linalg.qr(np.vander([1, 2, 3]))[0])), sphere(2, 60)),
        (jittered(he.Sphere(2), 1e-3), sphere(2, 60)),
        (jittered(he.Sphere(2), 1e-8), sphere(2, 60)),
        (jittered(he.Projective(2), 1e-8), sphere(2, 60, 2)),
        (jittered(he.Sphere(3), 1e-3), sphere(3, 60)),
        (jittered(he.Sphere(3), 1e-8), sphere(3, 60)),
        (jittered(he.Torus(2, periods=(2.0, 3.0)), 1e-8), reference_flat.torus((2.0, 3.0))),
        (jittered(he.Torus(4), 1e-6), reference_flat.torus([2 * np.pi] * 4)),
    ],
    ids=["octahedra", "S2", "S2 close", "axes close", "S3", "S3 close", "T2 close", "T4 close"],
)
def test_the_bound_on_the_error_holds_where_digits_are_lost(measures, kernel):
    times = np.array([0.05, 0.4, 1.5, 4.0])
    parts = mmd.apart(*measures)
    found = mmd.log_mmd2_of(parts, times, 1e-8)
    values, truth = np.exp(found.values) * parts.mass**2, np.array(exact(kernel, *measures, times))
    with np.errstate(invalid="ignore"):
        room = np.where(np.isinf(found.error), np.inf, (found.error + 1e-13) * values)
    assert (np.abs(values - truth) <= room).all()


def test_single_and_double_precision_meet():
    cloud = he.Sphere(2).uniform(30, np.random.default_rng(14))
    single = cloud.astype(np.float32)
    exact_single = single.astype(float) / np.linalg.norm(single.astype(float), axis=1, keepdims=True)
    other = he.samplers.fibonacci(20)
    assert_allclose(mmd2(single, other, angles=[5, 40]), mmd2(exact_single, other, angles=[5, 40]), rtol=1e-10)
    assert_allclose(
        mmd2(single, other.astype(np.float32), angles=[5, 40]), mmd2(cloud, other, angles=[5, 40]), rtol=1e-4
    )
    assert (mmd2(single, single[::-1], angles=[5, 40]) == 0).all()


def test_fine_scales_without_a_transform():
    cloud = he.samplers.fibonacci(400)
    moved = np.roll(cloud, 1, axis=1)
    # No atom overlaps with another at a hundredth of a degree: only diagonals are left.
    found = mmd2(he.Measure(cloud, np.arange(1, 401)), moved, angles=[0.01, 20])
    diagonal = he.heat_profile([[0, 0, 1]], angles=[0.01]).mmd2[0] + 1
    weights = np.arange(1, 401) / 80200
    assert found[0] == pytest.approx(diagonal * (weights @ weights + 1 / 400), rel=1e-8)
    assert found[1] == pytest.approx(mmd2(he.Measure(cloud, np.arange(1, 401)), moved, angles=20)[0], rel=1e-12)


def test_the_two_ways_agree_where_both_serve():
    rng = np.random.default_rng(6)
    for space in (he.Sphere(2), he.Rotations(), he.Torus(2)):
        parts = mmd.apart(*(he.Measure(space.uniform(n, rng), rng.random(n), space=space) for n in (300, 200)))
        times = np.array([0.03, 0.1, 0.5])
        given = {"other": parts.right, "places": parts.places, "rounding": parts.rounding}
        question = DifferenceQuestion(parts.left, times, 1e-8, **given)
        by_powers, by_transform = (columns.differences(question, 1.0, (engine,)) for engine in (Pairs(), Spectral()))
        gap = np.abs(np.expm1(by_powers.values - by_transform.values))
        assert (gap <= by_powers.error + by_transform.error).all()
        assert (by_powers.error + by_transform.error < 1e-7).all()


@pytest.mark.parametrize(**space_cases.named(COMPACT))
def test_a_measure_is_no_distance_from_itself(case):
    rng = np.random.default_rng(7)
    points, weights = case.points(20, rng), rng.random(20)
    a = he.Measure(points, weights, space=case.space())
    order = rng.permutation(20)
    shuffled = he.Measure(space_cases.taken(points, order), 7 * weights[order], space=case.space())
    twice = np.repeat(np.arange(20), 3)
    split = he.Measure(space_cases.taken(points, twice), weights[twice], space=case.space())
    for other in (a, shuffled, split):
        assert (mmd2(a, other, times=case.times()) == 0).all()


@pytest.mark.parametrize(**space_cases.named(COMPACT))
def test_it_is_symmetric_falls_and_knows_mixtures(case):
    rng = np.random.default_rng(8)
    space, times = case.space(), case.times()
    a, b = (he.Measure(case.points(n, rng), rng.random(n), space=space) for n in (20, 15))
    found = mmd2(a, b, times=times)
    assert (np.diff(found) < 0).all()
    assert (found > 0).all()
    assert_allclose(mmd2(b, a, times=times), found, rtol=1e-11)
    assert_allclose(mmd2(b, a, times=times[::-1]), found[::-1], rtol=1e-11)
    # Half of a shared with b leaves half the difference.
    mixed = he.Measure.trusted(space, np.concatenate([a.points, b.points]), np.concatenate([a.weights, b.weights]) / 2)
    assert_allclose(mmd2(mixed, b, times=times), found / 4, rtol=1e-10)


@pytest.mark.parametrize(**space_cases.named([case for case in COMPACT if case in space_cases.HOMOGENEOUS]))
def test_powers_give_the_same(case):
    rng = np.random.default_rng(9)
    space, times = case.space(), case.times()
    a, b = (he.Measure(case.points(n, rng), rng.random(n), space=space) for n in (20, 15))
    mean = he.Measure.trusted(space, np.concatenate([a.points, b.points]), np.concatenate([a.weights, b.weights]) / 2)
    powers = [he.heat_profile(measure, times=times).mmd2 for measure in (a, b, mean)]
    assert_allclose(mmd2(a, b, times=times), 2 * powers[0] + 2 * powers[1] - 4 * powers[2], rtol=1e-8)


@pytest.mark.parametrize("name", ["Mesh", "Graph", "PointCloud"])
def test_on_eigenpairs_it_is_the_definition(name):
    case = next((case for case in space_cases.DISCRETE if case.name == name), None)
    if case is None:
        pytest.skip("the extra mesh is not installed")
    rng = np.random.default_rng(10)
    space, times = case.space(), case.times()
    a, b = (he.Measure(case.points(n, rng), rng.random(n), space=space) for n in (20, 15))
    points, signed = np.concatenate([a.points, b.points]), np.concatenate([a.weights, -b.weights])
    pairs = space.modes.eigenpairs(points, float(times.min()))
    truth = [signed @ (pairs.functions * np.exp(-2 * pairs.values * t)) @ pairs.functions.T @ signed for t in times]
    assert_allclose(mmd2(a, b, times=times), truth, rtol=1e-10)


def test_to_an_even_measure_it_is_the_mmd2_of_the_profile():
    rng = np.random.default_rng(11)
    circle, grid = he.Circle(), 2 * np.pi * np.arange(200) / 200
    a = he.Measure(rng.random((30, 1)), rng.random(30), space=circle)
    expected = he.heat_profile(a, angles=[20, 60, 150]).mmd2
    assert_allclose(mmd2(a, grid[:, None], angles=[20, 60, 150]), expected, rtol=1e-9)
    cloud = he.samplers.von_mises_fisher(30, [0, 0, 1], 5.0, rng=rng)
    expected = he.heat_profile(cloud, angles=[40, 90]).mmd2
    assert_allclose(mmd2(cloud, he.samplers.fibonacci(20_000), angles=[40, 90]), expected, rtol=1e-4)


def test_turning_both_changes_nothing():
    rng = np.random.default_rng(12)
    a, b = he.Sphere(2).uniform(40, rng), he.Sphere(2).uniform(50, rng)
    turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    assert_allclose(mmd2(a @ turn, b @ turn, angles=[10, 50]), mmd2(a, b, angles=[10, 50]), rtol=1e-10)


def test_nearly_equal_measures_keep_their_digits():
    """One part in 65,536 of its weight moved from one atom to another, among a thousand."""
    cloud = he.samplers.fibonacci(1000)
    share = 2.0**-16
    moved = np.ones(1000)
    moved[0] -= share
    moved[999] += share
    found = mmd2(cloud, he.Measure(cloud, moved), angles=[10, 60])
    alone = mmd2(cloud[:1], cloud[999:], angles=[10, 60])
    assert_allclose(found, alone * (share / 1000) ** 2, rtol=1e-7)


def test_what_is_lost_in_rounding_is_said():
    # Two regular polygons differ in the frequencies 40 and 50 alone: exp(-2 1600 t) at 100 degrees is 1e-531.
    polygons = [2 * np.pi * np.arange(n)[:, None] / n for n in (40, 50)]
    with pytest.warns(
        he.PrecisionWarning, match=r"mmd2 may be off by 1e\+00 relatively at 1 of 2 scales, worst at angle 100"
    ):
        found = mmd2(*polygons, space=he.Circle(), angles=[2, 100])
    assert found[0] > 1
    assert found[1] < 1e-20


def test_the_error_holds_for_balanced_clouds():
    """Where there is no warning the number is right, however small."""
    polygons = [2 * np.pi * np.arange(n)[:, None] / n for n in (8, 12)]
    a, b = (he.Measure(polygon, space=he.Circle()) for polygon in polygons)
    for angle in (20, 40, 60, 80, 100, 120):
        time = np.radians(angle) ** 2 / 8
        # Frequencies 8, 12, 16, ...; the points are multiples of 2 pi / n to rounding.
        k = np.arange(1, 400)
        energies = (1.0 * (k % 8 == 0) - 1.0 * (k % 12 == 0)) ** 2
        truth = 2 * np.exp(-2 * k**2 * time) @ energies
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            found = mmd2(a, b, angles=angle)[0]
        assert told or found == pytest.approx(truth, rel=1e-4)
    assert told


def test_it_overflows_to_infinity():
    a, b = np.eye(400)[:3], np.eye(400)[3:5]
    assert np.isinf(mmd2(a, b, resolutions=[0.5]))[0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "give the scales: one of angles=, times= and resolutions="),
        ({"angles": 5, "times": 1}, "at most one of angles, times, resolutions"),
        ({"angles": 5, "rtol": 0}, "rtol must be"),
        ({"angles": 5, "space": he.Sphere(3)}, r"a: points on Sphere\(3\)"),
        ({"times": 1, "space": he.Euclidean(3)}, "is not defined with respect to normalised volume"),
    ],
)
def test_what_cannot_be_is_refused(arguments, message):
    cloud = he.samplers.fibonacci(9)
    with pytest.raises(he.InputError, match=message):
        mmd2(cloud, cloud[::2], **arguments)


def test_two_spaces_are_refused():
    cloud = he.samplers.fibonacci(9)
    with pytest.raises(he.InputError, match=r"a is on Sphere\(2\) and b on Projective\(2\)"):
        mmd2(he.Measure(cloud), he.Measure(cloud, space=he.Projective(2)), angles=5)
    with pytest.raises(he.InputError, match=r"b: row 1|b: .*row 1"):
        mmd2(cloud, [[0, 0, 1], [0, 0, 2]], angles=5)
    # A Measure says on which space plain points are.
    axes = he.Measure(cloud, space=he.Projective(2))
    assert (mmd2(axes, -cloud, angles=[5]) == 0).all()
    assert (mmd2(-cloud, axes, angles=[5]) == 0).all()


def test_scales_that_eigenpairs_do_not_resolve_are_refused():
    pytest.importorskip("robust_laplacian")
    case = next(case for case in space_cases.DISCRETE if case.name == "Mesh")
    with pytest.raises(he.PrecisionError, match="resolves times down to"):
        mmd2([0, 1], [5], times=1e-9, space=case.space())


def test_weight_moved_by_one_digit_of_a_place_is_warned_of_not_called_nothing():
    circle, places = he.Circle(units="rad"), np.array([-1.308826699111833, -1.3088266991118327])
    one, other = (he.Measure(places, [1 - w, w], space=circle) for w in (0.00387712, 0.00389026))
    with pytest.warns(he.PrecisionWarning, match="mmd2 may be off by 1e\\+00"):
        assert mmd2(one, other, times=[2.0])[0] < 1e-30
    far = he.Measure([0.0], space=circle), he.Measure([2.0], space=circle)
    assert mmd2(*far, times=[1e3])[0] == 0  # it underflows, and zero is right
