"""Sums over pairs of cosines of their distance, by transform and by bins."""

from __future__ import annotations

import numpy as np
import pytest

from heatess.engines.cosines import ERROR, FEW_PAIRS, CosineSums


@pytest.mark.parametrize("count", [9, 300, 2000])
@pytest.mark.parametrize("pairs", [FEW_PAIRS, FEW_PAIRS + 1], ids=["transform", "bins"])
def test_sums_are_those_of_every_pair(count, pairs):
    rng = np.random.default_rng(count)
    u = np.vstack([rng.uniform(-1, 1, (12, 40)), np.cos(rng.uniform(0, 1e-3, (12, 40))), 0.05 * rng.random((12, 40))])
    u[0, :6] = [1, -1, 0.0, -0.0, 1 - 1e-16, -1 + 1e-16]
    left, right = rng.random(36), rng.random(40)
    left, right = left / left.sum(), right / right.sum()
    expected = np.zeros(count)
    for frequency in range(count):
        expected[frequency] = left @ np.cos(frequency * np.arccos(u)) @ right
    sums = CosineSums(count, pairs)
    for rows in (slice(0, 20), slice(20, 36)):
        sums.add(u[rows].copy(), left[rows], right)
    assert np.abs(sums.values() - expected).max() < ERROR


@pytest.mark.parametrize("pairs", [FEW_PAIRS, FEW_PAIRS + 1], ids=["transform", "bins"])
def test_pairs_without_weight_sum_to_nothing(pairs):
    assert (CosineSums(5, pairs).values() == 0).all()
    sums = CosineSums(5, pairs)
    sums.add(np.full((2, 3), 0.5), np.zeros(2), np.ones(3))
    assert (sums.values() == 0).all()
