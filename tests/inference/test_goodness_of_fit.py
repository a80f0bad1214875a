"""Whether a sample comes from a distribution: exact where it is given, right where it is fitted, and with power."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import heatess as he
from heatess.inference import quadratic_forms


def around(kappa, mean=(0, 0, 1)):
    return lambda n, rng: he.samplers.von_mises_fisher(n, mean, kappa, rng=rng)


@pytest.mark.slow
def test_p_values_of_a_given_distribution_are_uniform():
    rng = np.random.default_rng(0)
    law = around(5.0)
    found = [he.goodness_of_fit(law(12, rng), law, angles=[20, 60], draws=19, rng=rng).pvalue for _ in range(40)]
    assert stats.kstest(np.array(found) - rng.random(40) / 20, "uniform").pvalue > 1e-3


@pytest.mark.slow
def test_p_values_of_a_fitted_family_are_uniform_whatever_member_it_is():
    rng = np.random.default_rng(1)
    found = []
    for _ in range(30):
        sample = around(np.exp(rng.uniform(0, 3)), he.samplers.uniform(1, rng=rng)[0])(15, rng)
        found.append(he.goodness_of_fit(sample, "von_mises_fisher", angles=[20, 60], draws=19, rng=rng).pvalue)
    assert stats.kstest(np.array(found) - rng.random(30) / 20, "uniform").pvalue > 1e-3


def test_another_distribution_is_told():
    rng = np.random.default_rng(2)
    girdle = he.samplers.girdle(80, rng=rng)
    assert he.goodness_of_fit(girdle, "uniform", draws=39, rng=3).pvalue == 0.025
    assert he.goodness_of_fit(girdle, "von_mises_fisher", draws=39, rng=3).pvalue == 0.025
    wide, narrow = around(5.0)(100, rng), around(15.0)
    test = he.goodness_of_fit(wide, narrow, draws=39, rng=3)
    assert (test.pvalue, test.fitted, test.draws) == (0.025, False, 39)


def test_the_statistic_is_the_mmd_to_draws_of_the_distribution(monkeypatch):
    monkeypatch.setattr(quadratic_forms, "TRUNCATION", 1e-9)  # the whole kernel
    calls = []

    def law(n, rng):
        calls.append(he.samplers.von_mises_fisher(n, [0, 0, 1], 4.0, rng=rng))
        return calls[-1]

    sample = he.samplers.von_mises_fisher(30, [0, 0, 1], 6.0, rng=0)
    test = he.goodness_of_fit(sample, law, angles=[30], draws=19, rng=1)
    standing, *drawn = calls
    assert len(standing) == 1000
    roots = np.array([float(he.mmd(part, standing, angles=30)[0]) for part in [sample, *drawn]])
    assert test.statistics[0] == pytest.approx((roots[0] - roots.mean()) / roots.std(), rel=1e-5)
    assert test.pvalue == (roots >= roots[0]).mean()


def test_a_family_of_the_users_own_on_flat_space():
    def fit(points):
        mean, width = points.mean(axis=0), points.std()
        return lambda n, rng: mean + width * rng.normal(size=(n, 2))

    rng = np.random.default_rng(4)
    round_, long_ = rng.normal(3.0, 2.0, (60, 2)), rng.normal(0.0, [1.0, 4.0], (60, 2))
    how = {"space": he.Euclidean(2), "resolutions": [2.0], "draws": 19, "rng": 5}
    assert he.goodness_of_fit(round_, fit=fit, **how).pvalue > 0.05
    assert he.goodness_of_fit(long_, fit=fit, **how).pvalue == 0.05


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"law": 5}, "law must be a function"),
        ({"law": "nope"}, "one of uniform, von_mises_fisher, but is 'nope'"),
        ({}, "law must be a function"),
        ({"law": around(1), "fit": around}, "not both"),
        ({"fit": 3}, "fit must be a function of points"),
        ({"fit": lambda points: 3}, "fit must give a function of n and rng, but gave 3"),
        ({"law": lambda n, rng: np.eye(3)}, r"law\(1000, rng\) must give 1000 points, but gave 3"),
        ({"law": lambda n, rng: 2 * np.eye(3)}, "law: points on"),
        ({"law": "uniform", "weights": np.arange(1.0, 21)}, 'say weights_are="fixed"'),
        ({"law": "uniform", "draws": 5}, "draws"),
    ],
)
def test_what_is_no_distribution_is_refused(arguments, message):
    with pytest.raises(he.InputError, match=message):
        he.goodness_of_fit(he.samplers.uniform(20, rng=0), **arguments)


def test_a_family_of_directions_is_not_for_other_spaces():
    with pytest.raises(he.InputError, match="is for directions on spheres, but points are on Euclidean"):
        he.goodness_of_fit(np.random.default_rng(0).normal(size=(5, 2)), "von_mises_fisher", space=he.Euclidean(2))
