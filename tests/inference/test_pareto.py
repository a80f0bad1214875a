"""The tail index of importance weights: against arviz-stats, and what has no tail."""

from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest
from scipy.special import ndtri

import heatess as he
from heatess.inference.pareto import pareto_k


def even(n: int) -> np.ndarray:
    return (np.arange(n) + 0.5) / n


def in_forty_digits(log_excesses: np.ndarray) -> float:
    """The estimate of Zhang and Stephens in plain numbers, drawn towards 1/2; excesses in increasing order."""
    with mp.workdps(40):
        x = [mp.exp(mp.mpf(float(log))) for log in log_excesses]
        n, count = len(x), 30 + int(len(x) ** 0.5)
        quartile = x[int(n / 4 + 0.5) - 1]
        grid = [1 / x[-1] + (1 - mp.sqrt(count / (j - mp.mpf(1) / 2))) / (3 * quartile) for j in range(1, count + 1)]

        def index(b: mp.mpf) -> mp.mpf:
            return sum(mp.log(1 - b * value) for value in x) / n

        likelihoods = [n * (mp.log(-b / index(b)) - index(b) - 1) for b in grid]
        posterior = [mp.exp(value - max(likelihoods)) for value in likelihoods]
        mean = sum(b * share for b, share in zip(grid, posterior, strict=True)) / sum(posterior)
        return float((n * index(mean) + 5) / (n + 10))


# What `array_stats.psislw` of arviz-stats 0.8.0 says of minus these log-weights.
@pytest.mark.parametrize(
    ("log_weights", "expected"),
    [
        (-0.2 * np.log(even(100)), 0.3196208843338413),
        (-0.7 * np.log(even(400)), 0.6574004398900023),
        (-0.3 * np.log(even(1000)), 0.3234196135111028),
        (-0.5 * np.log(even(2500)), 0.4978818566200201),
        (-1.5 * np.log(even(2500)), 1.4104313465481655),
        (1.5 * ndtri(even(400)), 0.5030050860137399),
        (np.log(even(400)), -0.7362549980646841),
    ],
)
def test_it_agrees_with_arviz(log_weights, expected):
    assert pareto_k(log_weights) == pytest.approx(expected, abs=1e-10)
    assert pareto_k(weights=np.exp(log_weights)) == pytest.approx(expected, abs=1e-10)


def test_order_and_scale_of_weights_change_nothing():
    logs = -0.6 * np.log(even(500))
    mixed = np.random.default_rng(0).permutation(logs)
    assert pareto_k(mixed) == pareto_k(logs)
    assert pareto_k(logs - 5000.0) == pytest.approx(pareto_k(logs), abs=1e-9)
    assert pareto_k(weights=1e-300 * np.exp(logs)) == pytest.approx(pareto_k(logs), abs=1e-9)
    assert pareto_k(logs[:, None]) == pareto_k(logs)


def test_the_sign_matters():
    logs = -0.7 * np.log(even(1000))
    assert pareto_k(logs) > 0.6
    assert pareto_k(-logs) < 0


@pytest.mark.parametrize("index", [0.5, 50.0, 2000.0])
def test_tails_beyond_what_exp_can_hold(index):
    logs = np.sort(-index * np.log(even(400)))
    largest = [mp.mpf(float(value)) for value in logs[-61:]]
    with mp.workdps(40):
        excesses = [float(value + mp.log(1 - mp.exp(largest[0] - value))) for value in largest[1:]]
    assert pareto_k(logs) == pytest.approx(in_forty_digits(excesses), rel=1e-10)
    assert pareto_k(logs) > 0.6 * index


def test_zero_weights_are_draws_far_from_the_tail():
    logs = np.where(even(500) > 0.5, -0.4 * np.log1p(-even(500)), -np.inf)
    plain = np.where(even(500) > 0.5, -0.4 * np.log1p(-even(500)), -3.0)
    assert pareto_k(logs) == pareto_k(plain)
    few = np.full(500, -np.inf)  # so many that the threshold is zero
    few[:20] = -0.5 * np.log(even(20))
    assert pareto_k(few) == pytest.approx(in_forty_digits(few[:20][::-1]), rel=1e-10)


def test_weights_equal_to_the_threshold_do_not_count():
    top = -0.5 * np.log(even(20)) + 1.0
    logs = np.concatenate([np.zeros(205), top])  # the tail of 45 takes in 25 equal weights
    assert np.isfinite(pareto_k(logs))
    assert pareto_k(logs) == pareto_k(np.concatenate([np.zeros(405), top]))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"log_weights": np.zeros(100)}, "the 21 largest of 100 are all the same;"),
        ({"weights": np.ones(1000)}, "the 95 largest of 1000 are all the same;"),
        ({"weights": [0.0] * 97 + [1.0, 2.0, 3.0]}, "the 21 largest of 100 are zero but for 3;"),
        ({"weights": [1.0] * 97 + [2.0, 3.0, 4.0]}, "the 21 largest of 100 are all the same but for 3;"),
        ({"weights": [1.0] * 90 + [2.0] * 10}, "the 10 largest of 100 are all the same;"),
        ({"log_weights": np.arange(24.0)}, "at least 25 weights, but found 24"),
        ({}, "give log_weights, or weights="),
        ({"log_weights": np.arange(30.0), "weights": np.arange(30.0)}, "give log_weights, or weights="),
        ({"log_weights": [0.0] * 30 + [np.nan]}, "row 30 is nan"),
        ({"log_weights": [0.0] * 30 + [np.inf]}, "row 30 is inf"),
        ({"weights": [1.0] * 30 + [-1.0]}, "row 30 is -1 "),
        ({"weights": ["a"] * 30}, "weights must be real numbers"),
    ],
)
def test_what_has_no_tail_is_refused(arguments, message):
    with pytest.raises(he.InputError, match=message):
        pareto_k(**arguments)


def test_all_weights_zero_are_refused():
    with pytest.raises(he.InputError, match="are zero but for 0"):
        pareto_k(np.full(30, -np.inf))


def test_twenty_five_weights_are_enough():
    assert np.isfinite(pareto_k(np.arange(25.0)))
