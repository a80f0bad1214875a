"""The same call gives the same digits: twice with some threads, and with any number of them where they are our own."""

from __future__ import annotations

import numpy as np
import pytest

import heatess as he
import space_cases
from heatess.base import blocks
from heatess.engines import plan
from heatess.transforms import backend

#: Engines whose sums are always ours; those of transforms may be ducc0's, whose threads add in any order.
OURS = ("pairwise", "local")


def answers(measure: he.Measure, times: np.ndarray, method: str, threads: int) -> np.ndarray:
    with blocks.threads(threads):
        found = he.heat_profile(measure, times=times, method=method)
    return np.concatenate([found.gess, found.mmd2, found.dimension, found.error])


@pytest.mark.parametrize("n", [450, pytest.param(1700, marks=pytest.mark.slow)])
@pytest.mark.parametrize(**space_cases.named(space_cases.HOMOGENEOUS))
def test_sums_over_pairs_and_neighbours_do_not_depend_on_threads(case, n):
    rng = np.random.default_rng(0)
    measure = he.Measure(case.points(n, rng), rng.random(n), space=case.space())
    for method in OURS:
        try:
            one = answers(measure, case.times(2), method, 1)
        except (he.InputError, he.PrecisionError):
            continue
        for threads in (2, 3, 2):
            np.testing.assert_array_equal(answers(measure, case.times(2), method, threads), one)


def test_many_close_pairs_do_not_depend_on_threads():
    measure = he.Measure(he.samplers.uniform(60_000, rng=1))
    times = np.radians([0.5, 1.5]) ** 2 / 8
    one = answers(measure, times, "local", 1)
    for threads in (2, 3, 7, 2):
        np.testing.assert_array_equal(answers(measure, times, "local", threads), one)


@pytest.mark.slow
@pytest.mark.parametrize(
    "case", [case for case in space_cases.HOMOGENEOUS if case.space().transform], ids=lambda c: c.name
)
@pytest.mark.parametrize("name", backend.NAMES)
def test_threads_change_nothing_in_a_transform_of_ours_and_far_less_than_the_error_in_others(case, name, monkeypatch):
    if name == "ducc":
        pytest.importorskip("ducc0")
    monkeypatch.setenv("HEATESS_BACKEND", name)
    rng = np.random.default_rng(2)
    measure = he.Measure(case.points(100_000, rng), space=case.space())
    if plan.plan(plan.Question(measure, case.times(2)[1:], 1e-8), "spectral")[1] > 1:
        pytest.skip("takes long")
    found = []
    for threads in (1, 2, 2, 3):
        with blocks.threads(threads):
            found.append(he.heat_profile(measure, times=case.times(2)[1:], method="spectral"))
    for other in found[1:]:
        assert (np.abs(other.gess / found[0].gess - 1) < 0.01 * found[0].error).all()
        if name == "native" and not isinstance(case.space(), he.Product):  # products add by BLAS
            np.testing.assert_array_equal(other.gess, found[0].gess)
            np.testing.assert_array_equal(other.mmd2, found[0].mmd2)


@pytest.mark.parametrize("n", [1, 399, 400, 511, 512, 1024, 3000, 10**6])
def test_lanes_are_a_power_of_two_and_no_more_than_there_may_be(n):
    from heatess.engines.tiles import lanes_for

    lanes = lanes_for(n, 64)
    assert lanes in (1, 2, 4, 8, 16, 32, 64)
    assert (lanes == 1) == (n < 400)


def test_lanes_hold_every_item_once_in_order():
    work = list(range(23))
    for threads in (1, 2, 5):
        seen: list[list[int]] = [[] for _ in range(4)]
        blocks.in_lanes(work, lambda lane, item, seen=seen: seen[lane].append(item), 4, threads)
        assert seen == [work[lane::4] for lane in range(4)]
