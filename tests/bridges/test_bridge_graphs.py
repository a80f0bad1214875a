"""Graphs of igraph, against the same graphs of networkx or as matrices."""

from __future__ import annotations

import numpy as np
import pytest

import heatess as he

igraph = pytest.importorskip("igraph")


@pytest.fixture
def club():
    return igraph.Graph.Famous("Zachary")


def test_a_graph_is_its_adjacency_matrix(club):
    matrix = np.array(club.get_adjacency().data)
    assert he.Graph(club) == he.Graph(matrix)
    every = np.arange(34)
    assert he.gess(club, time=0.1) == pytest.approx(he.gess(every, space=he.Graph(matrix), time=0.1), rel=1e-12)
    assert he.read(club, weights="degree").weights == pytest.approx(matrix.sum(axis=0) / matrix.sum())


def test_weights_and_names_are_attributes(club):
    rng = np.random.default_rng(0)
    club.es["weight"] = rng.integers(1, 9, club.ecount()).tolist()
    club.vs["name"] = [f"member {number}" for number in range(1, 35)]
    club.vs["age"] = rng.integers(20, 60, 34).tolist()
    found = he.read(club, weights="age")
    assert found.known.labels[0] == "member 1"
    matrix = np.zeros((34, 34))
    for (i, j), weight in zip(club.get_edgelist(), club.es["weight"], strict=True):
        matrix[i, j] = matrix[j, i] = weight
    assert found.space == he.Graph(matrix, labels=club.vs["name"])
    club.es[3]["weight"] = None
    with pytest.raises(he.InputError, match=r"edge \(\d+, \d+\): weight must be a number"):
        he.Graph(club)


def test_directed_graphs_are_refused_and_the_advice_is_right():
    talks = igraph.Graph([(0, 1), (1, 0), (1, 2)], directed=True)
    with pytest.raises(he.InputError, match=r'graph.as_undirected\(mode="each"\), which adds up'):
        he.Graph(talks)
    assert he.Graph(talks.as_undirected(mode="each")) == he.Graph([[0, 2, 0], [2, 0, 1], [0, 1, 0]])
    assert he.Graph(talks.as_undirected(combine_edges="first")) == he.Graph([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    assert he.read(talks, space="graph").space == he.Graph([[0, 2, 0], [2, 0, 1], [0, 1, 0]])


def test_the_same_graph_of_networkx_is_the_same_space():
    networkx = pytest.importorskip("networkx")
    novel = networkx.les_miserables_graph()
    same = igraph.Graph.from_networkx(novel)
    same.vs["name"] = same.vs["_nx_name"]
    assert he.Graph(same) == he.Graph(novel)
