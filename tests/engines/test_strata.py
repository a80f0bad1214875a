"""Cells of neighbours, draws spread over them, and what random pairs of embeddings owe to both."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import heatess as he
from heatess.base.blocks import threads
from heatess.base.progress import Progress
from heatess.engines.sampled import _Blocks, _cell_size, _known_levels, heat_sums
from heatess.engines.strata import BATCHES, Cells, Draws, principal_coordinates
from heatess.measures.scales import resolve

#: What chance does to mmd2 is not what is tested.
pytestmark = pytest.mark.filterwarnings("ignore:(mmd2|gess) .*random pairs:heatess.base.errors.PrecisionWarning")

SILENT = Progress(False)


def cloud(n, columns, seed, *, clusters=8, copies=0.0, dtype=np.float32):
    """Clusters of all widths; a share of the rows are near-duplicates of others."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((clusters, columns))[rng.integers(0, clusters, n)]
    x += rng.random((n, 1)) * rng.standard_normal((n, columns))
    count = round(copies * n)
    x[:count] = x[n - count :] + 1e-3 * rng.standard_normal((count, columns))
    return (x / np.linalg.norm(x, axis=1, keepdims=True)).astype(dtype)


def overlaps_of_all_pairs(x, w, times, count=80):
    """1 / gESS at each time by brute force: zonal functions of all distances."""
    space = he.Sphere(x.shape[1] - 1)
    levels = space.series.levels(count)
    logs = levels.log_multiplicities - 2 * np.multiply.outer(times, levels.eigenvalues)
    p = np.exp(logs - logs.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    x = x.astype(np.float64)
    rows = [p @ space.series.zonal(count, space.distance(one, x)) @ w for one in x]  # each (times,)
    return w @ np.array(rows)


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 300), st.integers(1, 5), st.integers(1, 40), st.integers(0, 10**6))
def test_every_atom_is_in_one_cell_and_no_cell_is_too_large(n, columns, size, seed):
    cells = Cells.of(np.random.default_rng(seed).standard_normal((n, columns)), size)
    np.testing.assert_array_equal(np.sort(cells.order), np.arange(n))
    assert cells.members.shape[1] <= size
    assert np.bincount(cells.labels).max() <= size
    np.testing.assert_array_equal(cells.labels[cells.order], np.sort(cells.labels))


def test_near_duplicates_are_nearly_always_in_one_cell():
    x = cloud(4000, 64, 0, copies=0.25)
    labels = Cells.of(principal_coordinates(x), 50).labels
    assert (labels[:1000] == labels[3000:]).mean() > 0.9


@settings(max_examples=20, deadline=None)
@given(st.integers(2, 60), st.integers(1000, 200_000), st.integers(0, 10**6))
def test_each_set_of_a_block_takes_one_atom_from_each_stratum(n, pairs, seed):
    rng = np.random.default_rng(seed)
    weights = rng.random(n) ** 3
    weights /= weights.sum()
    draws = Draws.of(rng.permutation(n), weights, pairs, rng, blocks=4)
    edges = np.concatenate([[0.0], np.cumsum(weights[draws.order])])
    place = np.argsort(draws.order)
    counts = np.zeros(BATCHES, dtype=int)

    def check(batch, left, right):
        counts[batch] += left.size * draws.side
        for atoms in (left, right):
            lower, upper = edges[place[atoms]], edges[place[atoms] + 1]
            strata = np.arange(draws.side) / draws.side
            assert (lower < strata + 1 / draws.side + 1e-12).all()
            assert (upper > strata - 1e-12).all()

    draws.each(check, SILENT, parallel=False)
    assert counts.sum() == draws.pairs
    assert (counts == draws.pairs // BATCHES).all()


def test_atoms_are_drawn_by_weight():
    weights = np.array([0.5, 0.3, 0.15, 0.04, 0.01])
    counts = np.zeros(5)

    def count(_, left, right):
        counts[:] += np.bincount(left.ravel(), minlength=5) + np.bincount(right.ravel(), minlength=5)

    draws = Draws.of(np.arange(5), weights, 100_000, np.random.default_rng(0), blocks=16)
    draws.each(count, SILENT, parallel=False)
    np.testing.assert_allclose(counts / counts.sum(), weights, atol=2 / np.sqrt(draws.atoms))


@pytest.mark.slow
@pytest.mark.parametrize("copies", [0.0, 0.3])
@pytest.mark.parametrize("power", [0, 3])
def test_the_mean_of_many_estimates_is_the_sum_over_all_pairs(copies, power):
    x = cloud(600, 24, 1, copies=copies)
    w = np.random.default_rng(2).random(600) ** power
    w /= w.sum()
    assert _cell_size(600, 120_000) > 0  # pairs within cells are not sampled
    times = [0.01, 0.03, 0.1]
    exact = overlaps_of_all_pairs(x, w, times)
    found = np.array([1 / he.heat_profile(x, w, times=times, pairs=120_000, rng=seed).gess for seed in range(60)])
    off = (found.mean(axis=0) - exact) / (found.std(axis=0, ddof=1) / np.sqrt(60))
    assert np.abs(off).max() < 4


@pytest.mark.slow
def test_where_second_moments_cost_too_much_all_levels_but_the_constant_are_sampled():
    x, times = cloud(500, 64, 1), [0.01, 0.1]
    w = np.full(500, 1 / 500)
    assert len(_known_levels(he.Measure(x), 50, 1500)) == 1
    assert len(_known_levels(he.Measure(x), 50, 2000)) == 3
    exact = overlaps_of_all_pairs(x, w, times)
    sums = [heat_sums(he.Measure(x), np.array(times), 1e-8, 1500, np.random.default_rng(k), SILENT) for k in range(60)]
    found = np.array([one.overlap for one in sums])
    assert np.abs((found.mean(axis=0) - exact) / (found.std(axis=0, ddof=1) / np.sqrt(60))).max() < 4
    assert (np.abs(found / exact - 1) <= [one.error for one in sums]).mean() > 0.98


@pytest.mark.parametrize("size", [5, 60, 290])
def test_pairs_within_cells_are_summed_exactly(size):
    x = cloud(300, 16, 3, dtype=np.float64)
    w = np.random.default_rng(4).random(300)
    w /= w.sum()
    measure = he.Measure(x, w)
    cells = Cells.of(principal_coordinates(x), size)
    sums, share = _Blocks(measure, measure.space.pair_kernel, cells, True, np.float64).near(40, SILENT)
    within = (cells.labels[:, None] == cells.labels) * np.outer(w, w)
    distances = measure.space.distance(x[:, None], x[None])
    np.testing.assert_allclose(share, within.sum(), rtol=1e-12)
    np.testing.assert_allclose(sums, [(within * np.cos(k * distances)).sum() for k in range(40)], atol=1e-10 * share)


def estimate(measure, resolutions, pairs, seed):
    """The heat sums themselves: a profile keeps gESS between 1 and ESS."""
    times = resolve(measure.space, None, None, np.array(resolutions)).times
    return heat_sums(measure, times, 1e-8, pairs, np.random.default_rng(seed), SILENT)


@settings(max_examples=15, deadline=None)
@given(st.integers(2, 400), st.integers(9, 80), st.integers(1000, 50_000), st.integers(0, 10**6))
def test_gess_is_between_one_and_ess_within_its_error(n, columns, pairs, seed):
    measure = he.Measure(cloud(n, columns, seed), np.random.default_rng(seed).random(n) ** 2 + 1e-9)
    found = estimate(measure, [15.0, 40.0, 70.0], pairs, seed)
    assert (found.overlap * (1 + found.error) >= 1 / measure.ess).all()
    assert (found.overlap * (1 - found.error) <= 1).all()


@pytest.mark.parametrize("columns", [5, 100])
def test_atoms_all_in_one_place_are_one(columns):
    x = np.zeros((300, columns), dtype=np.float32)
    x[:, 1] = 1
    found = estimate(he.Measure(x), [20.0, 60.0], 5000, 0)
    np.testing.assert_allclose(found.overlap, 1.0, rtol=1e-12)
    assert (np.abs(found.overlap - 1) <= found.error).all()


def test_at_large_scales_mmd2_keeps_its_digits():
    x = cloud(300, 12, 9, dtype=np.float64)
    found = heat_sums(he.Measure(x), np.array([3.0]), 1e-8, 5000, np.random.default_rng(0), SILENT)
    first = x.mean(axis=0)
    # 12 exp(-66) |sum w x|^2: level 2 is smaller by 1e-33
    assert found.log_mmd2[0] == pytest.approx(np.log(12 * (first @ first)) - 66, abs=1e-10)
    assert found.mmd2_error[0] < 1e-8


def test_the_answer_does_not_depend_on_the_number_of_threads():
    x = cloud(3000, 40, 5)
    found = []
    for count in (1, 3):
        with threads(count):
            found.append(he.heat_profile(x, resolutions=[20.0, 60.0], pairs=800_000, rng=6))
    np.testing.assert_array_equal(found[0].gess, found[1].gess)
    np.testing.assert_array_equal(found[0].error, found[1].error)


def test_single_precision_is_used_only_where_rounding_is_below_chance():
    x = cloud(1000, 3, 6, clusters=3)
    exact = he.heat_profile(x, angles=[2.0, 30.0], method="pairwise")
    for angle in exact.angles:
        found = he.heat_profile(x, angles=[angle], pairs=2_000_000, rng=0)
        truth = he.heat_profile(x, angles=[angle], method="pairwise")
        assert abs(truth.gess[0] / found.gess[0] - 1) < found.error[0]
    measure = he.Measure(x)
    kernel = measure.space.pair_kernel
    assert _Blocks.of(measure, kernel, 10_000, 10.0).dtype == np.float32
    assert _Blocks.of(measure, kernel, 10_000, 1e9).dtype == np.float64
    assert _Blocks.of(he.Measure(x.astype(np.float64)), kernel, 10_000, 10.0).dtype == np.float64


@pytest.mark.parametrize("columns", [8, 9, 100, 1030])
@pytest.mark.parametrize("signed", [False, True])
def test_moments_of_many_columns_are_those_of_plain_products(columns, signed):
    rng = np.random.default_rng(10)
    x, w = he.samplers.uniform(2500, columns - 1, rng=rng), rng.random(2500)
    w = w / w.sum() - (1 / 2500 if signed else 0.0)
    found = he.Sphere(columns - 1).low_moments.sums(x, w)
    np.testing.assert_allclose(found, np.concatenate([w @ x, ((x.T * w) @ x).ravel()]), rtol=0, atol=1e-15)


def test_exact_low_levels_leave_little_to_chance_at_coarse_scales():
    x = cloud(2000, 96, 7)
    exact = he.heat_profile(x, resolutions=[80.0])
    found = [he.heat_profile(x, resolutions=[80.0], pairs=20_000, rng=seed) for seed in range(10)]
    off = np.array([abs(exact.gess[0] / one.gess[0] - 1) for one in found])
    assert off.max() < 2e-3  # 2e-2 with all levels sampled
    assert (off < [one.error[0] for one in found]).all()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("copies", "power", "pairs"), [(0.3, 0, 100_000), (0.01, 0, 100_000), (0.01, 6, 100_000), (0.3, 0, 2000)]
)
def test_the_truth_lies_within_the_error_in_99_of_100_runs(copies, power, pairs):
    x = cloud(1500, 64, 8, copies=copies)
    measure = he.Measure(x, np.random.default_rng(9).random(1500) ** power)
    resolutions = [10.0, 20.0, 40.0, 60.0, 80.0]
    exact = he.heat_profile(measure, resolutions=resolutions).gess
    found = [he.heat_profile(measure, resolutions=resolutions, pairs=pairs, rng=seed) for seed in range(150)]
    within = np.array([np.abs(exact / one.gess - 1) <= one.error for one in found])
    assert (within.mean(axis=0) >= 0.99).all()
