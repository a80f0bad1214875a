"""Several samples at once: the test is exact, two samples give the two-sample test, and the odd one is found."""

from __future__ import annotations

import json

import numpy as np
import pytest

import heatess as he
from heatess.inference import quadratic_forms
from heatess.inference.group_contrasts import dealt_out


def clouds(kappas, n=60, seed=0):
    rng = np.random.default_rng(seed)
    return [he.samplers.von_mises_fisher(n, [0, 0, 1], kappa, rng=rng) for kappa in kappas]


def test_two_samples_give_the_two_sample_test():
    one, other = clouds([5, 8])
    several = he.k_sample_test([one, other], angles=[10, 30, 90], draws=199, rng=4)
    two = he.two_sample_test(one, other, angles=[10, 30, 90], draws=199, rng=4)
    assert several.pvalue == two.pvalue
    np.testing.assert_array_equal(several.pvalues, two.pvalues)
    np.testing.assert_allclose(several.statistics, two.statistics, rtol=1e-9)
    assert several.pair_pvalues[0, 1] == several.pair_pvalues[1, 0] == two.pvalue
    assert several.scale == two.angles[two.clearest]


def test_the_statistic_is_the_sum_over_pairs_of_mmd2(monkeypatch):
    monkeypatch.setattr(quadratic_forms, "TRUNCATION", 1e-9)  # the whole kernel
    samples = clouds([5, 6, 20], n=20) + clouds([5], n=35, seed=3)
    sizes = np.array([20, 20, 20, 35])
    rng = np.random.default_rng(0)
    points = np.concatenate(samples)

    def root(group):
        parts = [points[group == k] for k in range(4)]
        total = sum(
            sizes[k] * sizes[m] * float(he.mmd2(parts[k], parts[m], angles=30)[0]) for k in range(4) for m in range(k)
        )
        return np.sqrt(total)

    roots = np.array([root(np.repeat(np.arange(4), sizes))] + [root(dealt_out(sizes.tolist(), rng)) for _ in range(19)])
    test = he.k_sample_test(samples, angles=30, draws=19, rng=np.random.default_rng(0))
    assert test.statistics[0] == pytest.approx((roots[0] - roots.mean()) / roots.std(), rel=1e-6)
    assert test.pvalue == (roots >= roots[0]).mean()


def test_the_odd_sample_is_found_with_its_pair_and_its_scale():
    samples = dict(zip("abcd", clouds([6, 6, 60, 6]), strict=True))
    test = he.k_sample_test(samples, rng=1)
    assert test.pvalue < 0.01
    assert "c" in test.pair
    assert test.scale in test.angles
    others = [0, 1, 3]
    assert (test.pair_pvalues[2, others] < 0.05).all()
    assert (test.pair_pvalues[np.ix_(others, others)] > 0.05).all()
    assert json.loads(test.to_json())["pair"] == list(test.pair)


@pytest.mark.parametrize("space", [he.Euclidean(2), he.Torus(2, units="rad"), he.Sphere(11)], ids=repr)
def test_other_spaces_and_scales(space):
    rng = np.random.default_rng(2)
    if space == he.Sphere(11):
        samples = [he.samplers.von_mises_fisher(40, np.eye(12)[0], kappa, rng=rng) for kappa in (30, 30, 300)]
    else:
        samples = [rng.normal(scale=width, size=(40, 2)) for width in (1, 1, 0.2)]
    test = he.k_sample_test(samples, space=space, rng=3, draws=99)
    assert test.pvalue == 0.01
    assert 2 in test.pair
    assert test.scale in (test.resolutions if space.dim > 10 else test.angles)


def test_equal_distributions_are_rejected_as_often_as_is_said():
    rng = np.random.default_rng(5)
    found = []
    for _ in range(60):
        samples = [he.samplers.uniform(15, rng=rng) for _ in range(3)]
        found.append(he.k_sample_test(samples, angles=[30, 60], draws=19, rng=rng).pvalue)
    assert 1 <= sum(pvalue <= 0.25 for pvalue in found) <= 27  # 15 expected; 1 in 10,000 beyond


def test_weights_count_and_must_not_depend_on_the_points():
    samples, rng = clouds([5, 5, 5]), np.random.default_rng(1)
    weights = [rng.random(60), None, None]
    with pytest.raises(he.InputError, match=r'sample 0: weights that depend .* say weights_are="fixed"'):
        he.k_sample_test(samples, weights=weights)
    test = he.k_sample_test(samples, weights=weights, weights_are="fixed", draws=19, rng=0)
    assert test.ess[0] == pytest.approx(he.baselines.ess(weights[0]))
    with pytest.raises(he.InputError, match="one entry for each of 3 samples"):
        he.k_sample_test(samples, weights=[None])


def test_what_is_no_list_of_samples_is_refused():
    cloud = he.samplers.uniform(20, rng=0)
    for samples in (cloud, [cloud], {}, None, "two"):
        with pytest.raises(he.InputError, match="samples must be a list or a dict of 2 to 50"):
            he.k_sample_test(samples)
    bad = cloud.copy()
    bad[3] *= 2
    with pytest.raises(he.InputError, match="sample two: points on") as caught:
        he.k_sample_test({"one": cloud, "two": bad})
    assert caught.value.row == 3
    grid = he.from_healpix(range(12), order="ring")
    with pytest.raises(he.KindError, match="sample 1 is a map or grid of cells"):
        he.k_sample_test([cloud, grid])
