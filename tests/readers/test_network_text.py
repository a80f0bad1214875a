"""Networks of Pajek and Cytoscape, in all forms that these programs write, and graphs in zip archives."""

from __future__ import annotations

import json
import zipfile

import numpy as np
import pytest
from click.testing import CliRunner

import heatess as he
from heatess.cli import main

networkx = pytest.importorskip("networkx")

HEAD = '*Network friends\n*Vertices 4\n1 "a" 0.1 0.2 0.5 ic Red\n2 "b b" 0.3 0.2\n3 "c"\n4 "c"\n'
EDGES = ((0, 1, 1.0), (0, 2, 1.0), (2, 3, 1.0))
FILES = {
    "edges": HEAD + "*Edges\n1 2 1\n1 3\n3 4 1 l 'x'\n",
    "a list is no edge with a weight": HEAD + "*Edgeslist\n1 2 3\n3 4\n",
    "no lines for vertices": "% by hand\r\n*vertices 4\r\n*edges\r\n1 2\r\n1 3\r\n3 4\r\n",
    "relations": HEAD + '*Edges :1 "knows"\n1 2\n1 3\n3 4\n',
    "a matrix": HEAD + "*Matrix\n0 1 1 0\n1 0 0 0\n1 0 0 1\n0 0 1 0\n",
    "arcs both ways": HEAD + "*Arcs\n1 2\n2 1\n1 3\n3 1\n3 4\n4 3\n",
}


def truth(edges=EDGES):
    graph = networkx.Graph()
    graph.add_nodes_from(range(4))
    graph.add_weighted_edges_from(edges)
    return he.gess(np.arange(4), space=he.Graph(graph), time=0.3)


@pytest.mark.parametrize("name", FILES)
def test_pajek_is_read_in_all_its_forms(tmp_path, name):
    path = tmp_path / "a.net"
    path.write_text(FILES[name], newline="")
    found = he.read(path)
    assert he.gess(found, time=0.3) == pytest.approx(truth(), rel=1e-12)
    assert CliRunner().invoke(main, ["profile", str(path), "--times", "0.3"]).exit_code == 0


def test_pajek_is_weighted_where_its_lines_have_weights_alone(tmp_path):
    path = tmp_path / "a.net"
    for name, text in FILES.items():
        path.write_text(text, newline="")
        said = "weighted by weight (1 without it counts 1)" if name == "edges" else "of equal weight"
        assert f"4 nodes; 3 edges {said}" in he.read(path).origin.description
    for text in ("*Edges\n1 2 1\n1 3 2.5\n3 4 1\n", "*Matrix\n0 1 2.5 0\n1 0 0 0\n2.5 0 0 1\n0 0 1 0\n"):
        path.write_text(HEAD + text)
        found = he.read(path)
        assert "3 edges weighted by weight; equal weights" in found.origin.description
        weighted = truth([(0, 1, 1.0), (0, 2, 2.5), (2, 3, 1.0)])
        assert he.gess(found, time=0.3) == pytest.approx(weighted, rel=1e-12)


def test_what_networkx_writes_as_pajek_is_the_same_graph(tmp_path):
    graph = networkx.karate_club_graph()
    path = tmp_path / "karate.net"
    networkx.write_pajek(networkx.relabel_nodes(graph, str), path)
    assert he.gess(he.read(path), time=1) == pytest.approx(
        he.gess(np.arange(34), space=he.Graph(graph), time=1), rel=1e-12
    )


def test_arcs_are_asked_about_and_refusals_of_pajek_say_what_to_do(tmp_path):
    path = tmp_path / "a.net"
    path.write_text(HEAD + "*Arcslist\n1 2 3\n3 4\n")
    with pytest.raises(he.InputError, match="is directed") as asked:
        he.read(path)
    assert he.gess(he.read(path, **asked.value.remedies[0]), time=0.3) == pytest.approx(truth(), rel=1e-12)
    both = HEAD + "*Edges\n1 2\n*Arcs\n1 3\n3 4\n"
    path.write_text(both)
    with pytest.raises(he.InputError, match="both edges and arcs"):
        he.read(path)
    path.write_text(both.replace("*Arcs", "*Edges"))
    assert he.gess(he.read(path), time=0.3) == pytest.approx(truth(), rel=1e-12)
    for text, words in {
        "*Edges\n1 x\n": "line 8 is '1 x'",
        "*Matrix\n0 1\n1 0\n": "not 4 rows",
        HEAD: "has 2 lines",
    }.items():
        path.write_text(HEAD + text)
        with pytest.raises(he.InputError, match=words):
            he.read(path)


def test_sif_of_cytoscape_is_read(tmp_path):
    for text in ("a pp b c\nc pd d\n", "a\tpp\tb\na\tpp\tc\nc\tpd\td\n", "c pd d\nb pp a\na xx c\nb\n"):
        path = tmp_path / "a.sif"
        path.write_text(text)
        found = he.read(path)
        assert sorted(found.known.labels) == list("abcd")
        assert he.gess(found, time=0.3) == pytest.approx(truth(), rel=1e-12)
    path.write_text("a b\n")
    with pytest.raises(he.InputError, match="line 1 has two words"):
        he.read(path)


@pytest.mark.parametrize("name", ["a.cyjs", "a.json"])
def test_json_of_cytoscape_is_read(tmp_path, name):
    graph = networkx.karate_club_graph()
    expected = he.gess(np.arange(34), space=he.Graph(graph), time=1)
    contents = networkx.cytoscape_data(graph)
    both = contents["elements"]["nodes"] + contents["elements"]["edges"]
    for written in (contents, {"elements": both}):
        (tmp_path / name).write_text(json.dumps(written))
        assert he.gess(he.read(tmp_path / name), time=1) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("suffix", ["graphml", "gml", "net", "edgelist"])
def test_a_zip_of_one_graph_is_that_graph(tmp_path, suffix):
    graph = networkx.relabel_nodes(networkx.karate_club_graph(), str)
    write = {"graphml": networkx.write_graphml, "gml": networkx.write_gml, "net": networkx.write_pajek}
    member = tmp_path / f"k.{suffix}"
    write.get(suffix, networkx.write_weighted_edgelist)(graph, member)
    with zipfile.ZipFile(tmp_path / "k.zip", "w") as archive:
        archive.write(member, member.name)
    found = he.read(tmp_path / "k.zip")
    assert he.gess(found, time=1) == pytest.approx(he.gess(he.read(member), time=1), rel=1e-12)
    assert found.n == 34
    out = CliRunner().invoke(main, ["profile", str(tmp_path / "k.zip"), "--times", "1"])
    assert out.exit_code == 0, out.stderr
