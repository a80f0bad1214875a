"""Many threads may ask one graph or mesh: eigenpairs are found once, and every answer is that of a single thread."""

from __future__ import annotations

import copy
import pickle
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

import heatess as he
import meshes
from heatess.spaces.discrete.laplacian import Laplacian


def path(size):
    return sparse.diags_array([np.ones(size - 1)] * 2, offsets=[1, -1])


def test_one_thread_solves_and_the_others_wait_for_all_of_it(monkeypatch):
    graph, calls = he.Graph(path(300)), []
    solve = Laplacian._dense

    def slowly(self):
        calls.append(1)
        found = solve(self)
        time.sleep(0.2)  # so that the others come while nothing, or half of it, is there
        return found

    monkeypatch.setattr(Laplacian, "_dense", slowly)
    points = np.arange(0, 300, 7)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: he.heat_profile(points, space=graph, times=[1.0, 50.0]), range(8)))
    assert len(calls) == 1
    for one in found[1:]:
        assert_array_equal(one.gess, found[0].gess)
        assert_array_equal(one.mmd2, found[0].mmd2)
        assert_array_equal(one.error, found[0].error)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["a graph", "a mesh"])
def test_threads_that_ask_for_other_scales_do_not_change_what_one_has_begun_with(kind):
    """More eigenpairs, which another thread wants, may have other signs: one sum must not be made of both."""

    def make():
        return he.Graph(path(2500)) if kind == "a graph" else he.Mesh(*meshes.icosphere(4))

    rng = np.random.default_rng(1)
    nodes, weights = rng.integers(0, 2500, 400), rng.random(400)
    times = [2e4, 5e3, 1e3, 3e2] if kind == "a graph" else [1.0, 0.3, 0.1, 0.06]
    alone = [make().eigenpairs(make().check(nodes), t).values for t in times]
    space = make()

    def ask(t):
        pairs = space.resolved(t)
        total = sum(weights[k] * pairs.at(space.check(nodes[k : k + 1]))[0] for k in range(len(nodes)))
        return pairs.values, total**2

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(ask, times))
    for (values, energies), exact, t in zip(found, alone, times, strict=True):
        np.testing.assert_allclose(values, exact[: len(values)], rtol=1e-6, atol=1e-9)
        own = make().resolved(t)
        expected = (weights @ own.at(space.check(nodes))) ** 2
        count = min(len(expected), len(energies))
        decay = np.exp(-2 * t * values[:count])
        assert decay @ energies[:count] == pytest.approx(decay @ expected[:count], rel=1e-8)


def test_graphs_are_copied_and_pickled_with_what_they_have_found():
    graph = he.Graph(path(200))
    before = he.gess([0, 50, 199], space=graph, time=3.0)
    for other in (pickle.loads(pickle.dumps(graph)), copy.deepcopy(graph)):
        assert other == graph
        assert other._laplacian._solved.reach == np.inf
        assert he.gess([0, 50, 199], space=other, time=3.0) == before
