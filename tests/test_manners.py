"""Every function has one order of arguments, and errors keep their row through whatever wraps them."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import heatess as he

#: What stands first and last among the arguments, in this order; what is special to a function stands between.
FIRST = ("weights", "log_weights", "space", "angle", "angles", "time", "times", "resolution", "resolutions")
LAST = ("rtol", "method", "pairs", "rng", "progress")

SCALES = {"angle", "angles", "times", "time"}
FUNCTIONS = [
    getattr(he, name)
    for name in he.__all__
    if inspect.isfunction(getattr(he, name)) and SCALES & set(inspect.signature(getattr(he, name)).parameters)
]

BALL = he.samplers.uniform(6, rng=0)
BAD = np.concatenate([BALL[:3], 2 * BALL[3:4], BALL[4:]])


def test_there_are_functions_to_look_at():
    assert len(FUNCTIONS) >= 15


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_arguments_stand_in_one_order(function):
    names = [name for name, one in inspect.signature(function).parameters.items() if one.kind is one.KEYWORD_ONLY]
    special = [name for name in names if name not in FIRST + LAST]
    first, last = ([name for name in group if name in names] for group in (FIRST, LAST))
    assert names == [*first, *special, *last]


@pytest.mark.parametrize(
    "call",
    [
        lambda: he.gess(BAD, angle=5),
        lambda: he.mmd2(BALL, BAD, angles=5),
        lambda: he.two_sample_test(BAD, BALL),
        lambda: he.compare(BALL, BAD),
        lambda: he.potential(BALL, at=BAD, angle=5),
        lambda: he.gess((BALL, BAD), space=he.Product(he.Sphere(2), he.Sphere(2)), time=0.1),
        lambda: he.Accumulator(max_degree=5).add(BAD),
        lambda: he.Measure({"x": BAD[:, 0], "y": BAD[:, 1], "z": BAD[:, 2]}),
        lambda: he.gess(BALL, [1, 1, 1, -1, 1, 1], angle=5),
        lambda: he.mmd2(BALL, BALL, weights=(None, [1, 1, 1, -1, 1, 1]), angles=5),
    ],
)
def test_the_row_survives_every_wrapper(call):
    with pytest.raises(he.InputError, match=r"row 3|entry 3|weights") as caught:
        call()
    assert caught.value.row == 3


def test_weights_of_two_samples_are_those_of_two_measures():
    other, rng = he.samplers.uniform(9, rng=1), np.random.default_rng(2)
    mine, theirs = rng.random(6), rng.random(9)
    measures = he.Measure(BALL, mine), he.Measure(other, theirs)
    expected = he.mmd2(*measures, angles=[10, 40])
    np.testing.assert_array_equal(he.mmd2(BALL, other, weights=(mine, theirs), angles=[10, 40]), expected)
    logs = np.log(mine), np.log(theirs)
    np.testing.assert_allclose(he.mmd2(BALL, other, log_weights=logs, angles=[10, 40]), expected, rtol=1e-10)
    half = he.mmd2(BALL, measures[1], weights=(mine, None), angles=[10, 40])
    np.testing.assert_array_equal(half, expected)
    how = {"angles": [10, 40], "weights_are": "fixed", "rng": 3, "draws": 99}
    test = he.two_sample_test(BALL, other, weights=(mine, theirs), **how)
    assert test.pvalue == he.two_sample_test(*measures, **how).pvalue
    compared = he.compare(BALL, other, weights=(mine, theirs), **how)
    assert compared.test.ess == test.ess == (measures[0].ess, measures[1].ess)


@pytest.mark.parametrize("weights", [[1.0, 2.0], np.ones((2, 6)), (np.ones(6),), "w"])
def test_weights_that_are_no_pair_are_refused(weights):
    with pytest.raises(he.InputError, match=r"weights must be a pair, weights=\(those of a, those of b\)"):
        he.mmd2(BALL, BALL, weights=weights, angles=5)
