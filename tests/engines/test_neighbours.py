"""Fine scales at large n: cells, distance moments, and the choice between engines."""

from __future__ import annotations

import numpy as np
import pytest

import heatess as he
from heatess.compiled import cells as loops
from heatess.engines import cells, neighbours, plan
from heatess.engines.base import Question
from heatess.engines.cells import Grid, distance_moments
from heatess.engines.close_pair_counts import PairCounts
from heatess.heat.series import SERIES_LIMIT, level_count
from heatess.measures.measure import Measure


def brute_force(points, weights, radius, alpha):
    """sum_{i<j} w_i w_j exp(-d^2 / alpha^2) over pairs closer than radius."""
    total = 0.0
    for i in range(len(points)):
        square = ((points[i + 1 :] - points[i]) ** 2).sum(axis=1)
        near = square < radius**2
        total += weights[i] * (weights[i + 1 :][near] @ np.exp(-square[near] / alpha**2))
    return total


@pytest.mark.parametrize("columns", [1, 2, 3, 4, 6])
@pytest.mark.parametrize("alpha", [0.003, 0.05])
def test_distance_moments_sum_any_gaussian_to_ten_digits(columns, alpha):
    rng = np.random.default_rng(columns)
    points = rng.uniform(-1, 1, (2500, columns)) * 0.4
    points[7] = points[1999]
    points[8] = points[1999] + 1e-9
    weights = rng.random(2500)
    radius = 6 * alpha
    moments = distance_moments(Grid.of(points, weights, radius), 1e-6 * alpha, radius)
    expected = brute_force(points, weights, radius, alpha)
    assert moments.sum(lambda square: np.exp(-square / alpha**2)[None], radius**2)[0] == pytest.approx(
        expected, rel=1e-10
    )


@pytest.mark.parametrize("columns", [2, 3, 4, 6])
@pytest.mark.parametrize("radius", [0.02, 0.3, 1.4])
def test_of_a_point_and_its_negative_the_nearer_is_counted_once(columns, radius):
    rng = np.random.default_rng(columns)
    points = rng.normal(size=(1200, columns))
    points[::4, -1] = 0.0
    points[2::8, 0] = 0.0
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    points[1:20:2] = -points[:20:2]
    weights = rng.random(1200)
    moments = distance_moments(Grid.of(points, weights, radius, antipodal=True), 1e-9, radius)
    square = 2 - 2 * np.abs(points @ points.T)[np.triu_indices(1200, 1)]
    close = square < radius**2
    products = np.multiply.outer(weights, weights)[np.triu_indices(1200, 1)][close]
    assert moments.values[:, 0].sum() == pytest.approx(products.sum(), rel=1e-12)
    assert moments.sum(lambda x: np.exp(-4 * x)[None], radius**2)[0] == pytest.approx(
        products @ np.exp(-4 * square[close]), rel=1e-10
    )


@pytest.mark.parametrize("spread", [0.01, 1.0])
def test_cells_with_more_atoms_than_fit_in_a_buffer(spread):
    rng = np.random.default_rng(3)
    points, weights = spread * rng.random((3500, 3)), rng.random(3500)  # all in one cell, and in many full ones
    moments = distance_moments(Grid.of(points, weights, 0.5), 1e-9, 0.5)
    expected = brute_force(points, weights, 0.5, 0.2)
    assert moments.sum(lambda square: np.exp(-square / 0.04)[None], 0.25)[0] == pytest.approx(expected, rel=1e-10)


def test_candidates_cover_all_pairs_when_everything_is_in_one_cell():
    points = 1e-3 * np.random.default_rng(0).random((500, 3))
    grid = Grid.of(points, np.ones(500), 1.0)
    assert grid.candidates().sum() == 500 * 499 // 2


def test_candidates_are_the_pairs_of_neighbouring_cells():
    points = np.random.default_rng(1).random((9000, 2))
    grid = Grid.of(points, np.ones(9000), 0.02)
    assert len(grid.cells) > cells._CELLS  # more than are counted together
    inside, expected = np.bincount(grid.cells, np.diff(grid.starts)), []
    for cell in grid.cells:
        runs = zip(cell + grid.offsets, grid.widths, strict=True)
        near = sum(inside[first : first + width + 1].sum() for first, width in runs)
        expected.append(inside[cell] * near - inside[cell] * (inside[cell] + 1) / 2)
    np.testing.assert_array_equal(grid.candidates(), expected)


def test_loops_are_compiled_once_for_every_size_and_memory_order():
    def sum_pairs(n, order):
        points = np.asarray(np.random.default_rng(0).random((n, 3)), order=order)
        distance_moments(Grid.of(points, np.ones(n), 0.01), 1e-9, 0.01)

    used = (loops.number_cells, loops.take, loops.neighbour_runs, loops.pair_moments)
    sum_pairs(100, "C")
    before = [len(loop.signatures) for loop in used]
    for n, order in ((100, "F"), (70_000, "C"), (70_000, "F")):
        sum_pairs(n, order)
    assert [len(loop.signatures) for loop in used] == before


@pytest.fixture(scope="module")
def many():
    """Atoms everywhere, clustered, duplicated and without weight; more than a tree is used for."""
    rng = np.random.default_rng(5)
    spread = he.samplers.uniform(18_000, rng=rng)
    tight = he.samplers.von_mises_fisher(6_000, [0, 0.6, 0.8], 1e6, rng=rng)
    x = np.vstack([spread, tight, spread[:1500], spread[:1500]])
    w = rng.random(len(x))
    w[::7] = 0
    assert len(x) > neighbours.FEW_ATOMS
    return x, w


def test_cells_agree_with_the_transform_and_with_all_pairs(many):
    x, w = many
    angles = [0.4, 0.8, 1.6]
    near, transform = (he.heat_profile(x, w, angles=angles, method=method) for method in ("local", "spectral"))
    np.testing.assert_allclose(near.gess, transform.gess, rtol=1e-8)
    np.testing.assert_allclose(near.divergence, transform.divergence, rtol=1e-8)
    np.testing.assert_allclose(near.dimension, transform.dimension, rtol=1e-7)
    assert (np.abs(near.gess / transform.gess - 1) <= near.error + transform.error).all()


@pytest.mark.slow
def test_cells_agree_with_all_pairs_far_below_a_degree(many):
    x, w = many
    angles = [1e-4, 1e-3, 0.01, 0.1]
    near, pairs = (he.heat_profile(x, w, angles=angles, method=method) for method in ("local", "pairwise"))
    assert pairs.method == "pairwise"
    np.testing.assert_allclose(near.gess, pairs.gess, rtol=1e-9)
    np.testing.assert_allclose(near.dimension, pairs.dimension, rtol=1e-7, atol=1e-9)


def test_merging_duplicates_changes_nothing_at_fine_scales(many):
    x, w = many
    merged = Measure(x, w).coalesced()
    assert merged.n < len(x) - 3000
    one, two = (
        he.heat_profile(x, w, angles=[0.01, 0.2]),
        he.heat_profile(merged.points, merged.weights, angles=[0.01, 0.2]),
    )
    np.testing.assert_allclose(one.gess, two.gess, rtol=1e-10)


def test_a_crowd_of_copies_costs_no_more_than_its_distinct_atoms():
    x = np.repeat(he.samplers.uniform(50, rng=0), 20_000, axis=0)  # 10^10 pairs of copies
    assert he.heat_profile(x, angles=[0.01]).gess[0] == pytest.approx(50, rel=1e-9)


@pytest.mark.slow
def test_the_profile_has_no_seam():
    x = he.samplers.uniform(200_000, rng=1)
    angles = np.geomspace(0.05, 5, 80)
    curves = [he.heat_profile(x, angles=angles).dimension]
    for seam in (0.2, 0.5):
        near = he.heat_profile(x, angles=angles[angles < seam], method="local")
        far = he.heat_profile(x, angles=angles[angles >= seam], method="spectral")
        curves.append(np.concatenate([near.dimension, far.dimension]))
    for curve in curves:
        joints = np.diff(curve, n=2)  # a jump of 1e-8 in gESS would stand out of the third differences
        assert np.abs(np.diff(joints)).max() < 1e-3
    for angle in (0.2, 0.3, 0.5):
        near, transform = (he.heat_profile(x, angles=[angle], method=method) for method in ("local", "spectral"))
        assert near.gess[0] == pytest.approx(transform.gess[0], rel=1e-9)


def test_the_estimate_of_close_pairs_is_about_right():
    x = he.samplers.uniform(50_000, rng=2)
    embedding = he.Sphere(2).embedding
    sample = PairCounts.of(Measure(x), embedding)
    for distance in (1e-3, 0.02, 0.3):
        expected = 50_000**2 / 2 * (1 - np.cos(distance)) / 2
        assert sample.within(float(embedding.chord(distance))) == pytest.approx(expected, rel=0.35)


@pytest.mark.slow
def test_what_would_take_hours_is_refused_with_the_estimate():
    crowd = he.samplers.von_mises_fisher(4_000_000, [0, 0, 1], 1e10, rng=0)  # within 0.002 degrees
    with pytest.raises(
        he.CostError, match=r"4,000,000 points on Sphere\(2\) .* hours on two cores; .*coarser or fewer scales"
    ):
        he.heat_profile(crowd, angles=[1e-3])
    wide = np.zeros((2_000_000, 5), dtype=np.float32)
    wide[:, 0] = 1
    with pytest.raises(he.CostError, match=r"Sphere\(4\) .*pairs="):
        he.heat_profile(wide, angles=[20.0])


def test_forced_engines_run_where_auto_would_not():
    x = he.samplers.uniform(3000, 3, rng=0)
    question = Question(Measure(x), np.array([1e-7]), 1e-8)
    assert level_count(he.Sphere(3).series, 1e-7, 3000.0, 1e-8, SERIES_LIMIT) is None  # too fine for levels
    (cheapest, seconds), (asked, longer) = (plan.plan(question, method) for method in ("auto", "pairwise"))
    assert ([step.offer.name for step in cheapest], [step.offer.name for step in asked]) == (["local"], ["pairwise"])
    assert seconds < longer / 3
    auto, forced = (he.heat_profile(x, times=[1e-7], method=method) for method in ("auto", "pairwise"))
    assert forced.method == "pairwise"
    assert auto.gess[0] == pytest.approx(forced.gess[0], rel=1e-10)
