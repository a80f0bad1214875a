"""MMD^2 on graphs where little is left beside the constant, or beside a few modes: `error` knows what rounding does.

A torus of nodes has the Fourier modes for eigenfunctions. Weights are taken as the exact numbers that they are, so the
truth is a discrete Fourier transform of their exact differences from the mean.
"""

from __future__ import annotations

import warnings
from fractions import Fraction

import numpy as np
import pytest
from mpmath import mp
from scipy import sparse

import heatess as he
from heatess.base.progress import Progress
from heatess.engines import columns
from heatess.engines.base import DifferenceQuestion, Question
from heatess.engines.lanczos import FlowOffer, Flows
from heatess.engines.lanczos_runs import log_fading
from heatess.engines.plan import run
from heatess.inference.mmd import apart

TIMES = np.array([0.3, 2.0, 12.0, 60.0, 200.0])
ROWS, COLUMNS = 40, 36


def ring(size):
    step = sparse.csr_array((np.ones(size), (np.arange(size), (np.arange(size) + 1) % size)), shape=(size, size))
    return step + step.T


@pytest.fixture(scope="module")
def torus():
    one, other = sparse.eye_array(ROWS), sparse.eye_array(COLUMNS)
    return he.Graph(sparse.kron(ring(ROWS), other) + sparse.kron(one, ring(COLUMNS)))


def shares_less(weights, others=None):
    """Exact shares of the whole, less those of the other weights or of the uniform law, times the number of nodes."""
    exact = [Fraction(float(w)) for w in weights]
    less = [Fraction(1)] * len(exact) if others is None else [Fraction(float(w)) for w in others]
    total, their = sum(exact), sum(less)
    return np.array([float((w / total - v / their) * len(exact)) for w, v in zip(exact, less, strict=True)])


def true_mmd2(differences, times):
    energies = np.abs(np.fft.fft2(differences.reshape(ROWS, COLUMNS)) / differences.size) ** 2
    energies[0, 0] = 0
    values = np.add.outer(*(2 - 2 * np.cos(2 * np.pi * np.arange(size) / size) for size in (ROWS, COLUMNS)))
    return np.array([(np.exp(-2 * values * time) * energies).sum() for time in times])


def waves():
    x, y = np.meshgrid(np.arange(ROWS), np.arange(COLUMNS), indexing="ij")
    return {
        "even and odd nodes": 1 + 0.5 * (-1.0) ** (x + y),
        "five waves": 1 + 0.5 * np.cos(2 * np.pi * 5 * x / ROWS),
        "waves both ways": 1 + 0.3 * np.cos(2 * np.pi * 5 * x / ROWS) + 0.1 * np.sin(2 * np.pi * 3 * y / COLUMNS),
        "nothing": np.ones((ROWS, COLUMNS)),
    }


def power_of(graph, weights):
    """MMD^2 by a run, whatever the plan would choose."""
    measure = he.Measure(np.arange(len(weights)), weights, space=graph)
    offer = FlowOffer(Question(measure, TIMES, 1e-8), graph._laplacian.flow, graph)
    return offer._power(TIMES, offer.tolerance)


def assert_covered(found, error, true):
    known = error < 1  # elsewhere nothing is said but that
    assert (np.abs(found - true)[known] <= (error * found + 1e-12 * found)[known]).all()


@pytest.mark.parametrize("noise", [1e-15, 4e-15, 3e-14, 1e-12, 1e-8])
@pytest.mark.parametrize("name", waves())
@pytest.mark.slow
def test_runs_and_eigenpairs_state_what_rounding_of_weights_does(torus, name, noise):
    weights = (waves()[name] + noise * np.random.default_rng(1).normal(size=(ROWS, COLUMNS))).ravel()
    true = true_mmd2(shares_less(weights), TIMES)
    power = power_of(torus, weights)
    assert_covered(np.exp(power.log_mmd2), power.error, true)
    measure = he.Measure(np.arange(ROWS * COLUMNS), weights, space=torus)
    auto = run(measure, TIMES, 1e-8, "auto", Progress(False)).sums
    assert_covered(np.exp(auto.log_mmd2), auto.mmd2_error, true)


def test_weights_uniform_but_for_rounding_are_warned_of_and_equal_ones_are_uniform(torus):
    nodes = np.arange(ROWS * COLUMNS)
    off = 1 + 4e-15 * np.random.default_rng(2).normal(size=len(nodes))
    with pytest.warns(he.PrecisionWarning, match="mmd2 .* may be off by .* at 2 of 2 scales"):
        found = he.heat_profile(nodes, off, space=torus, times=[0.5, 2.0])
    assert (found.mmd2 > 0).all()
    for weights in (None, np.full(len(nodes), 0.1), np.full(len(nodes), 1 / 3)):
        assert (he.heat_profile(nodes, weights, space=torus, times=[0.5, 2.0]).mmd2 == 0).all()
    repeated = he.heat_profile(np.tile(nodes, 7), np.tile(np.full(len(nodes), 0.3), 7), space=torus, times=[0.5])
    assert repeated.mmd2[0] == 0


@pytest.mark.parametrize("noise", [1e-14, 1e-12, 1e-9, 1e-2])
def test_two_nearly_equal_measures_are_as_far_apart_as_stated(torus, noise):
    rng = np.random.default_rng(3)
    nodes, weights = np.arange(ROWS * COLUMNS), rng.random(ROWS * COLUMNS)
    others = weights * (1 + noise * rng.normal(size=len(nodes)))
    true = true_mmd2(shares_less(weights, others), TIMES)
    parts = apart(*(he.Measure(nodes, w, space=torus) for w in (weights, others)))
    given = {"other": parts.right, "places": parts.places, "rounding": parts.rounding}
    logs, error = columns.differences(DifferenceQuestion(parts.left, TIMES, 1e-8, **given), 1.0, (Flows(),))
    assert_covered(np.exp(logs) * parts.mass**2, error, true)
    assert (error < 1).all() == (noise > 1e-13)


def test_ordinary_weights_lose_nothing_to_that(torus):
    weights = np.random.default_rng(4).random(ROWS * COLUMNS)
    power = power_of(torus, weights)
    assert (power.error < 1e-6).all()
    assert_covered(np.exp(power.log_mmd2), power.error, true_mmd2(shares_less(weights), TIMES))


def test_on_a_ring_of_twelve_every_number_is_right_or_warned_of():
    size, rng = 12, np.random.default_rng(5)
    graph, turn = he.Graph(ring(size)), 2 * np.pi * np.arange(size) / size
    values = 2 - 2 * np.cos(turn)
    silent = 0
    for _ in range(150):
        even = (np.ones(size), 1 + 0.5 * np.cos(3 * turn), 1.0 + np.arange(size) % 2)[rng.integers(3)]
        weights = even * (1 + 10 ** rng.uniform(-15.5, -8) * rng.normal(size=size))
        times = 10 ** rng.uniform(-1, 1.5, 3)
        energies = np.abs(np.fft.fft(shares_less(weights)) / size)[1:] ** 2
        true = np.exp(-2 * np.multiply.outer(times, values[1:])) @ energies
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            found = he.heat_profile(np.arange(size), weights, space=graph, times=times)
        if not told:
            silent += 1
            assert (np.abs(found.mmd2 / true - 1) <= np.maximum(4 * found.error, 1e-4)).all()
    assert silent > 50


def test_an_error_within_rtol_was_asked_for_and_is_not_warned_of():
    graph, nodes = he.Graph(ring(12)), np.arange(12)
    weights = 1 + 1e-12 * np.random.default_rng(6).normal(size=12)
    with pytest.warns(he.PrecisionWarning, match="mmd2"):
        sharp = he.heat_profile(nodes, weights, space=graph, times=[0.5])
    rough = he.heat_profile(nodes, weights, space=graph, times=[0.5], rtol=0.1)
    assert rough.mmd2 == pytest.approx(sharp.mmd2, rel=0.1)
    uneven = he.Measure(nodes, np.arange(1.0, 13.0), space=graph)
    other = he.Measure(nodes, np.arange(1.0, 13.0) * weights, space=graph)
    with pytest.warns(he.PrecisionWarning, match="mmd2"):
        he.mmd2(uneven, other, times=[0.5])
    assert he.mmd2(uneven, other, times=[0.5], rtol=0.1)[0] > 0


def test_mmd2_of_a_large_graph_is_certain_where_few_eigenpairs_suffice_for_gess(torus):
    """Even and odd nodes differ by a mode that gESS at coarse scales has no use for."""
    weights = (waves()["even and odd nodes"] + 1e-4 * np.random.default_rng(7).normal(size=(ROWS, COLUMNS))).ravel()
    times = np.array([12.0, 60.0])
    found = he.heat_profile(np.arange(ROWS * COLUMNS), weights, space=torus, times=times)
    np.testing.assert_allclose(found.mmd2, true_mmd2(shares_less(weights), times), rtol=1e-4)
    even = he.Measure(np.arange(ROWS * COLUMNS), np.ones(ROWS * COLUMNS), space=torus)
    between = he.mmd2(even, he.Measure(np.arange(ROWS * COLUMNS), weights, space=torus), times=times)
    np.testing.assert_allclose(between, found.mmd2, rtol=2e-4)


def test_all_heat_fades_no_faster_than_is_said(torus):
    times = np.array([1.0, 30.0, 300.0, 3000.0])
    slowest = 2 - 2 * np.cos(2 * np.pi / ROWS)
    found = log_fading(torus._laplacian.flow, times)
    assert (found >= -slowest * times - 1e-9).all()
    assert (found[2:] <= -slowest * times[2:] + 20).all()


def test_what_symmetry_keeps_empty_is_not_taken_for_heat():
    """Seven pairs of nodes, six of them linked weakly to the first: heat from there has no part in the slowest modes.

    They fade at w / 2, twice as slowly as the next one, so that rounding in them outlives all that there is.
    """
    weak, pairs = 1e-9, 7
    links = np.zeros((2 * pairs, 2 * pairs))
    for k in range(pairs):
        links[2 * k, 2 * k + 1] = 1.0
        links[0, 2 * k] = weak if k else 0.0
    graph = he.Graph(links + links.T)
    with mp.workdps(100):  # heat is the same in all six: nodes 0 and 1, and the linked and the other ones of the rest
        w, six = mp.mpf(weak), pairs - 1
        matrix = mp.matrix([[1 + six * w, -1, -six * w, 0], [-1, 1, 0, 0], [-w, 0, 1 + w, -1], [0, 0, -1, 1]])

        def exact(time):
            heat = mp.expm(-2 * mp.mpf(time) * matrix) * mp.matrix([1, 0, 0, 0])
            return 2 * pairs * heat[0] - 1

        for time in (1e3, 1e8, 2e9):
            found = he.heat_profile([0], space=graph, times=[time]).mmd2[0]
            assert abs(found / exact(time) - 1) < 1e-8
    with pytest.warns(he.PrecisionWarning, match="mmd2"):
        he.heat_profile([0], space=graph, times=[1e11])
