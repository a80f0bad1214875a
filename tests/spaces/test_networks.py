"""Graphs of networkx as spaces and as points: numbers against matrix exponentials, names, and what is refused."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.linalg import expm

import heatess as he

nx = pytest.importorskip("networkx")


def by_hand(graph, time, weights=None, weight="weight"):
    """1 / sum w_i w_j s_ij with k = n exp(-2 t L), L the Laplacian that networkx makes."""
    laplacian = nx.laplacian_matrix(graph, weight=weight).toarray().astype(float)
    n = len(laplacian)
    w = np.ones(n) if weights is None else np.asarray(weights, dtype=float)
    w = w / w.sum()
    kernel = n * expm(-2 * time * laplacian)
    root = np.sqrt(np.diag(kernel))
    return 1 / (w @ (kernel / np.outer(root, root)) @ w)


@pytest.mark.parametrize("make", [nx.karate_club_graph, nx.les_miserables_graph, nx.florentine_families_graph])
def test_gess_is_that_of_the_matrix_exponential_of_the_laplacian_of_networkx(make):
    graph = make()
    degrees = [degree for _, degree in graph.degree(weight="weight")]
    for time in (0.01, 0.1, 1.0):
        assert he.gess(graph, time=time) == pytest.approx(by_hand(graph, time), rel=1e-9)
        assert he.gess(graph, "degree", time=time) == pytest.approx(by_hand(graph, time, degrees), rel=1e-9)
        plain = he.Graph(graph, weight=None)
        found = he.gess(np.arange(len(graph)), space=plain, time=time)
        assert found == pytest.approx(by_hand(graph, time, weight=None), rel=1e-9)


def test_eigenvalues_are_those_of_networkx():
    graph = nx.les_miserables_graph()
    space = he.Graph(graph)
    found = space.lowest_eigenpairs(space.check(np.arange(77)), 77).values
    assert_allclose(found, np.sort(nx.laplacian_spectrum(graph)), atol=1e-12)


@pytest.mark.parametrize("n", [2, 5, 40])
def test_complete_graphs_and_rings_have_their_closed_forms(n):
    time = 0.3 / n
    assert he.gess(nx.complete_graph(n), time=time) == pytest.approx(1 + (n - 1) * np.exp(-2 * n * time), rel=1e-12)
    ring = np.exp(-4 * time * (1 - np.cos(2 * np.pi * np.arange(n) / n))).sum() if n > 2 else 1 + np.exp(-4 * time)
    assert he.gess(nx.cycle_graph(n), time=time) == pytest.approx(ring, rel=1e-12)


def test_nodes_are_called_by_their_names():
    novel = nx.les_miserables_graph()
    graph, names = he.Graph(novel), list(novel)
    assert graph.labels.tolist() == names
    pair = he.Measure(["Valjean", "Javert"], [3, 1], space=graph)
    assert pair.points[:, 0].tolist() == [names.index("Valjean"), names.index("Javert")]
    assert pair.known.labels.tolist() == ["Valjean", "Javert"]
    assert he.gess(np.array(["Valjean"]), space=graph, time=0.1) == pytest.approx(1)
    assert graph.distance(["Valjean"], ["Javert"]) == pytest.approx(1 / np.sqrt(17))
    with pytest.raises(he.InputError, match=r"row 1: no node of Graph.* is called 'Jalvert'; did you mean 'Javert'"):
        he.gess(["Valjean", "Jalvert"], space=graph, time=0.1)
    with pytest.raises(he.InputError, match="called Napoleon, Myriel, MlleBaptistine and so on"):
        he.gess(["???"], space=graph, time=0.1)
    with pytest.raises(he.InputTypeError, match="points must be real numbers"):
        he.gess(["a"], space=he.Graph(nx.to_numpy_array(novel)), time=0.1)


def test_labels_may_be_given_with_a_matrix():
    path = [[0, 1, 0], [1, 0, 1], [0, 1, 0]]
    graph = he.Graph(path, labels=["x", "y", "x"])
    assert he.Measure([0, 2], space=graph).known.labels.tolist() == ["x", "x"]
    with pytest.raises(he.InputError, match=r"several nodes of Graph.* are called 'x'; give their places"):
        he.Measure(["x"], space=graph)
    with pytest.raises(he.InputError, match="one name for each of 3 nodes, but are 2"):
        he.Graph(path, labels=["x", "y"])
    assert graph != he.Graph(path)
    assert graph == pickle.loads(pickle.dumps(graph))
    with pytest.raises(he.InputError, match="weight= names an edge attribute"):
        he.Graph(path, weight="trips")


def test_numbers_that_may_be_names_or_places_are_refused():
    graph = he.Graph(nx.path_graph([1, 2, 3, 4]))
    with pytest.raises(he.InputError, match=r"2 may be the node of that name, or the one in that place, .* '3'; give"):
        he.Measure([2, 3], space=graph)
    assert he.Measure(["2", "3"], space=graph).points[:, 0].tolist() == [1, 2]  # as the message says
    assert he.Measure(np.array([2, 3], dtype=float), space=graph).known.labels.tolist() == ["3", "4"]
    assert he.Measure(np.arange(4), space=graph).n == 4  # none is called 0
    with pytest.raises(he.InputError, match="names of nodes are given as text"):
        he.Measure([4], space=graph)
    own = he.Graph(nx.path_graph(4))
    assert he.Measure([2, 3], space=own).known.labels.tolist() == ["2", "3"]


def test_loops_are_left_out_and_parallel_edges_add_up():
    many = nx.MultiGraph([("a", "b", {"weight": 2}), ("b", "a", {"weight": 3}), ("b", "c"), ("c", "c", {"weight": 9})])
    plain = nx.Graph()
    plain.add_weighted_edges_from([("a", "b", 5), ("b", "c", 1)])
    assert he.Graph(many) == he.Graph(plain)
    assert he.read(many).origin.description == (
        "3 nodes; 2 edges weighted by weight (1 without it counts 1), 1 loop left out, "
        "1 parallel edge added to others; equal weights"
    )


def test_directed_graphs_are_refused_with_two_ways_that_work():
    talks = nx.DiGraph([("a", "b"), ("b", "a"), ("b", "c")])
    with pytest.raises(
        he.InputError, match=r"directed \(from 'b' to 'c' the weight is 1, back it is 0\).*to_undirected"
    ):
        he.Graph(talks)
    once = he.Graph(talks.to_undirected())
    a = nx.to_scipy_sparse_array(talks)
    both = he.Graph(a + a.T, labels=list(talks))
    assert once.distance(["a"], ["b"]) == pytest.approx(1)
    assert both.distance(["a"], ["b"]) == pytest.approx(1 / np.sqrt(2))
    with pytest.raises(he.InputError, match=r"say space='graph' to add up both .* of heatess.read\(frame"):
        he.gess(talks, time=0.1)
    assert he.read(talks, space="graph").space == both
    symmetric = nx.DiGraph([("a", "b"), ("b", "a"), ("b", "c"), ("c", "b")])
    assert he.Graph(symmetric) == once


def test_several_components_are_refused_and_the_largest_is_taken_if_asked_for():
    graph = nx.disjoint_union(nx.path_graph(3), nx.complete_graph(5))
    graph = nx.relabel_nodes(graph, "n{}".format)
    graph.add_node("n8")
    with pytest.raises(he.InputError, match="the graph has 3 components, of 5, 3, 1 nodes"):
        he.Graph(graph)
    with pytest.raises(he.InputError, match="say space='graph:largest'"):
        he.read(graph)
    found = he.read(graph, space="graph:largest")
    assert found.known.labels.tolist() == ["n3", "n4", "n5", "n6", "n7"]
    assert "the largest of 3 components" in found.origin.description
    assert he.gess(found, time=0.1) == pytest.approx(1 + 4 * np.exp(-1), rel=1e-12)


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (-1, "but is -1"),
        (float("nan"), "but is nan"),
        ("much", "but is 'much'"),
        (True, "but is True"),
        ([1], "but is"),
    ],
)
def test_weights_that_are_none_are_refused_with_their_edge(weight, message):
    graph = nx.Graph([("a", "b"), ("b", "c", {"weight": weight})])
    with pytest.raises(he.InputError, match=rf"edge \('b', 'c'\): weight must be a number.*{message}"):
        he.Graph(graph)


def test_other_edge_attributes_are_weights_if_asked_for():
    graph = nx.Graph([("a", "b", {"trips": 3}), ("b", "c", {"trips": "2"})])  # files without types have text
    found = he.Graph(graph, weight="trips")
    assert found.distance(["a", "b"], ["b", "c"]) == pytest.approx([1 / np.sqrt(3), 1 / np.sqrt(2)])
    with pytest.raises(he.InputError, match="no edge has the attribute 'cars' that weight= names; found trips"):
        he.Graph(graph, weight="cars")
    assert he.read(graph, columns="trips").space == found
    assert he.read(graph).origin.description == "3 nodes; 2 edges of equal weight (trips not used); equal weights"


def test_node_attributes_are_weights_and_labels():
    graph = nx.path_graph(3)
    nx.set_node_attributes(graph, {0: 5, 1: 3, 2: 2}, "population")
    nx.set_node_attributes(graph, {0: "Ulm", 1: "Bonn", 2: "Kiel"}, "city")
    found = he.read(graph, weights="population", labels="city", kind="complete")
    assert found.weights.tolist() == pytest.approx([0.5, 0.3, 0.2])
    assert (found.known.kind, found.known.labels.tolist()) == ("complete", ["Ulm", "Bonn", "Kiel"])
    assert he.read(graph).known.labels.tolist() == ["0", "1", "2"]
    assert he.read(graph, labels="none").known.labels is None
    del graph.nodes[1]["population"]
    with pytest.raises(he.InputError, match=r"node 1 \(counted from 0\): column population has no number"):
        he.read(graph, weights="population")
    assert he.read(graph, weights="population", drop_missing=True).known.labels.tolist() == ["0", "2"]


def test_empty_graphs_are_refused():
    with pytest.raises(he.InputError, match="holds 1 node; a graph has at least two"):
        he.read(nx.path_graph(1))
    with pytest.raises(he.InputError, match="at least two nodes"):
        he.Graph(nx.Graph())
    with pytest.raises(he.InputError, match="3 components, of 1, 1, 1 nodes"):
        he.Graph(nx.empty_graph(3))
