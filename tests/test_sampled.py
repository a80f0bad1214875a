"""Random pairs: unbiased, with a standard error that can be trusted."""

from __future__ import annotations

import numpy as np
import pytest

import heatess as he

RESOLUTIONS = [25.0, 45.0, 70.0]


@pytest.fixture(scope="module")
def embeddings():
    rng = np.random.default_rng(3)
    centres = rng.standard_normal((20, 64))
    x = centres[rng.integers(0, 20, 1500)] + 0.7 * rng.standard_normal((1500, 64))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    w = rng.random(1500) ** 4
    return x.astype(np.float32), w, he.heat_profile(x, w, resolutions=RESOLUTIONS)


def test_the_truth_lies_within_the_error_as_often_as_three_sigmas_say(embeddings):
    x, w, exact = embeddings
    deviations = []
    for seed in range(60):
        found = he.heat_profile(x, w, resolutions=RESOLUTIONS, pairs=40_000, rng=seed)
        deviations.append((exact.gess / found.gess - 1) / (found.error / 3))
    z = np.array(deviations)
    assert (np.abs(z) < 3.5).mean() > 0.97
    assert np.abs(z.mean(axis=0)).max() < 4.5 / np.sqrt(60)  # 1 / gESS is unbiased
    assert 0.7 < z.std() < 1.35


def test_more_pairs_give_a_smaller_error(embeddings):
    x, w, _ = embeddings
    errors = [he.heat_profile(x, w, resolutions=[45.0], pairs=m, rng=0).error[0] for m in (10_000, 1_000_000)]
    assert errors[1] < errors[0] / 3


def test_the_same_seed_gives_the_same_answer_and_says_what_ran(embeddings):
    x, w, _ = embeddings
    one, two = (he.heat_profile(x, w, resolutions=[45.0], pairs=5000, rng=7) for _ in range(2))
    assert one.gess[0] == two.gess[0]
    assert one.method == "pairs"


def test_atoms_overlap_with_themselves_exactly():
    x = he.samplers.uniform(300, 99, rng=0)
    found = he.heat_profile(x, resolutions=[5.0], pairs=2000, rng=0)
    assert found.gess[0] == pytest.approx(300, rel=1e-9)


def test_bad_arguments_are_refused():
    x = np.eye(5)
    with pytest.raises(he.InputError, match="pairs must be a whole number of at least 1000, but is 10"):
        he.heat_profile(x, times=[0.1], pairs=10, rng=0)
    with pytest.raises(he.InputError, match="needs rng="):
        he.heat_profile(x, times=[0.1], pairs=5000)
    with pytest.raises(he.PrecisionError, match="coarser scales"):
        he.heat_profile(x, times=[1e-9], pairs=5000, rng=0)
