"""Estimates of time: runs do not do more than was estimated, and the plan says what eigenpairs take."""

from __future__ import annotations

import tracemalloc

import numpy as np
from numpy.testing import assert_allclose
from scipy import sparse
from scipy.linalg import eigh_tridiagonal, expm

import heatess as he
from heatess.engines import diagonals, lanczos_quadrature, plan
from heatess.engines.base import Question
from heatess.engines.lanczos import FlowOffer
from heatess.spaces.discrete import laplacian
from heatess.spaces.flow import Flow


def graph_of(pairs, weights):
    size = int(np.max(pairs)) + 1
    links = sparse.coo_array((weights, tuple(np.transpose(pairs))), shape=(size, size))
    return he.Graph((links + links.T).tocsr())


def test_a_star_has_all_its_eigenpairs_found_at_once(monkeypatch):
    """Most of its eigenvalues are close together, too many for factors; runs took 68 s on 1,300 nodes."""
    monkeypatch.setattr(laplacian, "DENSE", 100)
    rng = np.random.default_rng(0)
    leaves = np.arange(1, 700)
    star = graph_of(np.stack([np.zeros(699, dtype=int), leaves], axis=1), np.exp(2 * rng.normal(size=699)))
    assert star.flow is not None
    measure = he.Measure(np.arange(0, 700, 10), rng.random(70), space=star)
    times = np.array([0.05, 2.0])
    assert [step.offer.name for step in plan.plan(Question(measure, times, 1e-8))[0]] == ["spectral"]
    profile = he.heat_profile(measure, times=times)
    for time, gess, error in zip(times, profile.gess, profile.error, strict=True):
        heat = expm(-2 * time * star._laplacian._stiffness.toarray())[::10, ::10]
        overlap = heat / np.sqrt(np.multiply.outer(heat.diagonal(), heat.diagonal()))
        assert_allclose(gess, 1 / (measure.weights @ overlap @ measure.weights), rtol=error + 1e-12)


def test_the_plan_says_what_eigenpairs_take():
    """They are preferred where they are soon found, because they serve later calls; their seconds are not hidden."""
    graph = he.Graph(np.eye(900, k=1) + np.eye(900, k=-1))
    measure, times = he.Measure(np.arange(0, 900, 10), space=graph), np.array([1.0, 2.0])
    steps, seconds = plan.plan(Question(measure, times, 1e-8))
    assert [step.offer.name for step in steps] == ["spectral"]
    assert seconds >= graph.seconds(1.0) > 0.1
    he.heat_profile(measure, times=times)
    assert plan.plan(Question(measure, times, 1e-8))[1] < 0.1  # known now


def test_runs_near_atoms_are_no_longer_than_was_estimated(monkeypatch):
    """Strong links ask for more steps than any run may have: 25,000 of them took 28 s an atom."""
    chain = np.stack([np.arange(59), np.arange(1, 60)], axis=1)
    graph = graph_of(chain, np.where(np.arange(59) % 7 == 3, 1e7, 1.0))
    flow = graph._laplacian.flow
    asked = []
    made = Flow.local

    def local(self, starts, steps, hops):
        asked.append(steps)
        return made(self, starts, min(steps, 60), hops)

    monkeypatch.setattr(Flow, "local", local)
    measure, times = he.Measure([3, 30, 50], space=graph), np.array([1.0, 5.0, 20.0])
    assert diagonals.steps_for(flow.top, 20.0, 1e-12) > 20_000
    diagonals.diagonals(flow, graph.functionals(measure.points), times, np.full(3, 1e-9), budget=60.0)
    assert max(asked) == max(FlowOffer(Question(measure, times, 1e-8), flow, graph.modes)._steps) <= 6000


def test_heat_after_a_run_takes_no_eigenvectors():
    """Those of 6,000 steps took seven seconds a scale and 288 MB."""
    rng = np.random.default_rng(1)
    alpha, beta, rates = 2 + 3 * rng.random(1500), rng.random(1500), np.array([1e-6, 0.3, 4.0, 1e4])
    tracemalloc.start()
    try:
        found = lanczos_quadrature.heated(alpha, beta, rates)
        assert tracemalloc.get_traced_memory()[1] < 2_000_000
    finally:
        tracemalloc.stop()
    values, vectors = eigh_tridiagonal(alpha, beta[:-1])
    wanted = (np.exp(-np.multiply.outer(rates, values)) * vectors[0]) @ vectors.T
    assert_allclose(found, wanted, rtol=0, atol=3e-14)
    for size in (1, 2):
        values, vectors = np.linalg.eigh(
            np.diag(alpha[:size]) + np.diag(beta[: size - 1], 1) + np.diag(beta[: size - 1], -1)
        )
        wanted = (np.exp(-np.multiply.outer(rates, values)) * vectors[0]) @ vectors.T
        assert_allclose(lanczos_quadrature.heated(alpha[:size], beta[:size], rates), wanted, rtol=0, atol=3e-14)
