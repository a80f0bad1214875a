"""Graphs of more nodes than are diagonalised whole, against all of their eigenpairs, which are known in closed form.

Nothing but rounding and eigenpairs left out is between a graph and its numbers, so that what `thin` certifies, `gess`
and potentials must hold as they do on spheres.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pytest
from scipy import sparse

import heatess as he

SIDES = (36, 35)


def path_adjacency(size):
    return sparse.diags_array([np.ones(size - 1)] * 2, offsets=[1, -1])


def path_pairs(size):
    """Eigenvalues and orthonormal functions of a path: cosines."""
    order, place = np.arange(size), np.arange(size) + 0.5
    functions = np.sqrt(2) * np.cos(np.pi * np.outer(place, order) / size)
    functions[:, 0] = 1
    return 2 - 2 * np.cos(np.pi * order / size), functions


@lru_cache(maxsize=2)
def known(kind):
    """A graph, its eigenvalues and its functions, orthonormal for equal weights."""
    if kind == "path":
        return he.Graph(path_adjacency(1260)), *path_pairs(1260)
    one, other = (sparse.eye_array(side) for side in SIDES)
    grid = sparse.kron(path_adjacency(SIDES[0]), other) + sparse.kron(one, path_adjacency(SIDES[1]))
    parts = [path_pairs(side) for side in SIDES]
    values = np.add.outer(parts[0][0], parts[1][0]).ravel()
    return he.Graph(grid), values, np.kron(parts[0][1], parts[1][1])


class Truth:
    """Overlaps of all nodes at one time, by all eigenpairs."""

    def __init__(self, kind, time):
        _, values, functions = known(kind)
        self.decay, self.functions = np.exp(-2 * time * values), functions
        self.own = functions**2 @ self.decay

    def square(self, weights):
        """The sum over pairs of w_i w_j s_ij, for signed weights of all nodes: squares, so that nothing cancels."""
        return float(self.decay @ (self.functions.T @ (weights / np.sqrt(self.own))) ** 2)

    def potential(self, weights):
        shared = self.decay * (self.functions.T @ (weights / np.sqrt(self.own)))
        return (self.functions @ shared) / np.sqrt(self.own)


def on_nodes(nodes, weights, size=1260):
    return np.bincount(nodes, weights, minlength=size) / np.sum(weights)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["path", "grid"])
@pytest.mark.parametrize("modes", [None, 500])
def test_a_thinned_graph_is_no_farther_away_than_is_certified(kind, modes):
    graph = known(kind)[0] if modes is None else he.Graph(known(kind)[0]._adjacency, modes=modes)
    rng, found = np.random.default_rng(1), []
    for case in range(5):
        time = (30.0 if kind == "grid" else 200.0) * 10 ** rng.uniform(0, 1.5)
        nodes = rng.choice(1260, 120, replace=False) if case % 2 else 300 + np.arange(120)
        weights = rng.random(120) if case % 3 else np.ones(120)
        thinned = he.thin(nodes, weights, space=graph, time=time, size=(5, 20, 60, 110, 30)[case])
        truth = Truth(kind, time)
        before, after = on_nodes(nodes, weights), on_nodes(nodes[thinned.indices], thinned.weights)
        true = np.sqrt(truth.square(before - after))
        assert thinned.mmd >= true
        assert thinned.mmd <= 1.1 * true + (1e-8 if modes is None else 1e-5)
        assert abs(np.log(truth.square(before) / truth.square(after))) <= thinned.bound
        found.append(thinned.mmd)
    assert min(found) < 1e-6 < max(found)


@pytest.mark.parametrize("kind", ["path", "grid"])
@pytest.mark.parametrize("time", [1.0, 8.0, 60.0, 500.0])
def test_gess_and_potentials_are_as_good_as_asked_for(kind, time):
    graph, rng = known(kind)[0], np.random.default_rng(2)
    nodes, weights = rng.choice(1260, 40, replace=False), rng.random(40)
    truth, spread = Truth(kind, time), on_nodes(nodes, weights)
    overlap = truth.square(spread)
    for rtol in (1e-8, 1e-5):
        assert he.gess(nodes, weights, space=graph, time=time, rtol=rtol) * overlap == pytest.approx(1, abs=10 * rtol)
        found = he.potential(nodes, weights, at=np.arange(1260), space=graph, time=time, rtol=rtol)
        assert np.abs(found - truth.potential(spread)).max() <= 10 * rtol * overlap
    profile = he.heat_profile(nodes, weights, space=graph, times=[time])
    assert abs(profile.gess[0] * overlap - 1) <= profile.error[0] < 1e-7


def test_too_few_eigenpairs_are_told_by_gess_and_by_potentials():
    graph = he.Graph(known("path")[0]._adjacency, modes=60)
    time = 1.2 * graph.finest_time
    with pytest.warns(he.PrecisionWarning, match="gESS is certain only to"):
        he.gess([5, 700], space=graph, time=time, rtol=1e-11)
    with pytest.warns(he.PrecisionWarning, match="the potential is certain only to"):
        he.potential([5, 700], space=graph, time=time, rtol=1e-11)
