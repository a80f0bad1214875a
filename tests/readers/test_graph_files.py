"""Files of graphs: every format gives the same measure, and what cannot be told is asked; messages can be followed."""

from __future__ import annotations

import contextlib
import gzip
import json
import re
import shlex

import numpy as np
import pytest
from click.testing import CliRunner
from scipy.io import mmwrite

import heatess as he
from heatess.cli import main

nx = pytest.importorskip("networkx")

NOVEL = nx.les_miserables_graph()
FORMATS = ["novel.gml", "novel.graphml", "novel.json", "novel.edgelist", "novel.edges", "novel.gml.gz", "edges.csv"]


@pytest.fixture(autouse=True)
def folder(tmp_path):
    with contextlib.chdir(tmp_path):
        yield tmp_path


def write(name: str) -> None:
    """Les Miserables, as networkx or a spreadsheet writes it."""
    if name.endswith((".gml", ".gml.gz")):
        nx.write_gml(NOVEL, name)
    elif name.endswith(".graphml"):
        nx.write_graphml_xml(NOVEL, name)
    elif name.endswith(".json"):
        with open(name, "w") as stream:
            json.dump(nx.node_link_data(NOVEL, edges="links"), stream)
    elif name.endswith(".edgelist"):
        nx.write_edgelist(NOVEL, name)
    elif name.endswith(".edges"):
        nx.write_weighted_edgelist(NOVEL, name)
    else:
        rows = "".join(f"{one},{other},{data['weight']}\n" for one, other, data in NOVEL.edges(data=True))
        with open(name, "w") as stream:
            stream.write(f"source,target,weight\n{rows}")


def save(name: str, text: str) -> str:
    with open(name, "w", encoding="utf-8") as stream:
        stream.write(text)
    return name


def ran(line: str):
    return CliRunner().invoke(main, shlex.split(line), prog_name="heatess", env={"COLUMNS": "200"})


def gess(line: str) -> float:
    """The first gESS that a command finds."""
    result = ran(f"{line} --json -")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)["gess"][0]


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_gives_the_graph_that_networkx_has(name):
    write(name)
    found = he.read(name, space="graph" if name.endswith("csv") else None)
    expected = he.Measure(NOVEL)
    assert sorted(found.known.labels) == sorted(NOVEL)
    assert (found.n, found.known.kind) == (77, None)
    assert found.origin.description.startswith("77 nodes; 254 edges weighted by ")
    assert he.gess(found, time=0.1) == pytest.approx(he.gess(expected, time=0.1), rel=1e-10)
    pair = he.gess(["Valjean", "Javert"], space=found.space, time=0.1)
    assert pair == pytest.approx(he.gess(["Valjean", "Javert"], space=expected.space, time=0.1), rel=1e-10)


def test_the_command_line_reads_a_graph_with_node_weights():
    graph = NOVEL.copy()
    for place, node in enumerate(graph):
        graph.nodes[node]["population"] = place + 1
    nx.write_gml(graph, "novel.gml")
    expected = he.gess(graph, np.arange(1, 78), time=0.1)
    assert gess("profile novel.gml --weights population --times 0.1") == pytest.approx(expected, rel=1e-10)
    assert "names of rows such as Napoleon" in ran("inspect novel.gml").output


#: A file, its content, and parts of messages with what is then typed; the last line is what is read in the end.
FOLLOWED = {
    "a table of edges": (
        save,
        ("trips.csv", "from,to\na,b\nb,c\n"),
        [("", "may be the ends of the edges of a graph; say --space graph if they are", "--space graph")],
        "3 nodes; 2 edges of equal weight; equal weights",
    ),
    "a table of edges with a value": (
        save,
        ("trips.csv", "from,to,count\na,b,2\nb,c,1\n"),
        [
            ("", "say --space graph if they are", "--space graph"),
            ("--space graph", "say --columns from,to,count, or --columns from,to for", "--columns from,to,count"),
        ],
        "edges weighted by count; equal weights",
    ),
    "seconds in the third column": (
        save,
        ("talks.edges", "1 2 1082040961\n3 4 1082155839\n2 3 1082414391\n"),
        [("", "which may be times; say --columns 0,1 to leave it out", "--columns 0,1")],
        "4 nodes; 3 edges of equal weight; equal weights",
    ),
    "four columns": (
        save,
        ("talks.edges", "1 2 3 5\n2 3 4 6\n"),
        [("", "say for instance --columns 0,1 or --columns 0,1,2, counted from 0", "--columns 0,1,2")],
        "edges weighted by column 2; equal weights",
    ),
    "words in the third column": (
        save,
        ("talks.edges", "a b friend\nb c foe\n"),
        [
            (
                "",
                "column 2 holds 'friend', which is no weight of an edge; leave it out with --columns 0,1",
                "--columns 0,1",
            )
        ],
        "edges of equal weight",
    ),
    "an edge that is there again": (
        save,
        ("talks.edges", "# talks\na b\nb c\nb a\n"),
        [
            (
                "",
                "talks.edges line 4: the edge of 'a' and 'b' is there again, first in talks.edges line 2; say",
                "--space graph",
            )
        ],
        "edges of equal weight, both directions of an edge add up",
    ),
    "a value that may be a weight": (
        save,
        ("g.gml", 'graph [ node [ id 0 label "a" ] node [ id 1 label "b" ] edge [ source 0 target 1 value 3 ] ]'),
        [
            (
                "",
                "edges have value, which may be their weight; say --columns value, or --columns none",
                "--columns value",
            )
        ],
        "1 edge weighted by value",
    ),
    "a directed file": (
        save,
        ("g.gml", "graph [ directed 1 node [ id 0 ] node [ id 1 ] edge [ source 0 target 1 ] ]"),
        [("", "g.gml is directed (from '0' to '1' the weight is 1, back it is 0)", "--space graph")],
        "1 edge of equal weight, directions left out",
    ),
    "two components": (
        save,
        ("g.edges", "a b\nc d\nd e\n"),
        [("", "has 2 components, of 3, 2 nodes: .*; say --space graph:largest for", "--space graph:largest")],
        "3 nodes; 2 edges of equal weight, the largest of 2 components",
    ),
    "another space": (
        save,
        ("g.edges", "a b\nb c\n"),
        [("--space sphere", "is a graph, .*; leave out --space, or say --space graph", "--space graph")],
        "3 nodes",
    ),
}


@pytest.mark.parametrize("case", FOLLOWED, ids=str)
def test_what_a_message_says_can_be_typed(case):
    make, content, steps, read = FOLLOWED[case]
    name = make(*content)
    said = ""
    for typed, message, more in steps:
        result = ran(f"inspect {name} {typed}")
        assert result.exit_code == 3, result.output
        assert re.search(message.replace("(", r"\(").replace(")", r"\)"), result.output.splitlines()[-1]), result.output
        said = more if "--space" in more else f"{typed} {more}"
    result = ran(f"inspect {name} {said}")
    assert result.exit_code == 0, result.output
    assert read in result.output


def test_an_edge_in_a_list_in_both_directions_is_one_edge():
    both = he.read(save("both.edges", "1 2\n2 1\n2 3\n3 2\n"))
    assert both.space == he.read(save("once.edges", "1 2\n2 3\n")).space
    assert "each edge is there in both directions" in both.origin.description


def test_numbers_as_names_are_in_their_order_and_keep_their_zeros():
    found = he.read(save("a.edges", "10 9\n9 100\n100 10\n"))
    assert found.known.labels.tolist() == ["9", "10", "100"]
    assert he.read(save("b.csv", "source,target\n007,7\n7,8\n"), space="graph").known.labels.tolist() == [
        "007",
        "7",
        "8",
    ]
    large = "source,target\n1234567890123456789,1234567890123456788\n"
    assert he.read(save("c.csv", large), space="graph").n == 2


def test_lists_with_other_marks_headers_and_comments():
    expected = he.read(save("a.edges", "New York\tLos Angeles\t2\nLos Angeles\tRio\t1\n"))
    assert expected.known.labels.tolist() == ["New York", "Los Angeles", "Rio"]
    text = '% sym weighted\nsource,target,weight\n"New York",Los Angeles,2\n\nLos Angeles,Rio,1\n'
    found = he.read(save("b.edgelist", text))
    assert found.space == expected.space
    assert "edges weighted by weight" in found.origin.description
    with gzip.open("c.edges.gz", "wt") as stream:
        stream.write("a b\nb c\n")
    assert he.read("c.edges.gz").n == 3


def test_snap_lists_with_a_header_in_comments():
    text = "# Undirected graph\n# FromNodeId\tToNodeId\n0\t1\n1\t2\n2\t0\n"
    assert he.gess(he.read(save("ca.txt", text), space="graph"), time=0.1) == pytest.approx(1 + 2 * np.exp(-0.6))
    with pytest.raises(he.InputError, match=r"if rows are the edges of a graph, rename it to \.edgelist"):
        he.read(save("plain.txt", "0 1\n1 2\n2 0\n"), space="graph")
    assert he.read(save("plain.edgelist", "0 1\n1 2\n2 0\n")).n == 3
    with pytest.raises(he.InputError, match=r"if it has no header, rename it to \.edgelist"):
        he.read(save("names.txt", "alice bob\nbob carol\ncarol alice\n"), space="graph")


@pytest.mark.parametrize(
    ("text", "columns", "why"),
    [
        ("M3\tM4\t1\nM2\tM3\t2\nM1\tM2\t3\n", "M3,M4,1", "M3 is also a node"),
        ("M3\tM4\t1\nM2\tM1\t2\nM1\tM5\t3\nM5\tM6\t1", "M3,M4,1", "1 is a number"),
        ("M1,P1\nM2,P1\nM2,P2\n", "M1,P1", "P1 is also a node"),
    ],
)
def test_a_first_edge_is_not_lost_as_a_header(text, columns, why):
    with pytest.raises(he.InputError, match=rf"{why}; if it is the first edge, rename the file to \.edgelist"):
        he.read(save("a.txt", text), space="graph", columns=columns)
    header = "source\ttarget\tweight" if "\t" in text else "source,target"
    for file in (save("a.edgelist", text), save("b.txt", f"{header}\n{text}")):
        assert repr(he.read(file, space="graph:largest").space) == "Graph(4 nodes, 3 edges)"


def test_data_frames_of_edges():
    expected = he.read(save("a.edges", "a b 1\nb c 2\n")).space
    columns = {"src": ["a", "b"], "dst": ["b", "c"], "w": [1.0, 2.0]}
    assert he.read(columns, space="graph").space == expected
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(columns)
    assert he.read(frame, space="graph").space == expected
    renamed = frame.rename(columns={"src": "one", "dst": "other", "w": "much"})
    roles = {"source": "one", "target": "other", "weight": "much"}
    assert he.read(renamed, space="graph", columns=roles).space == expected
    numbers = pandas.DataFrame({"from": [1.0, 2.0], "to": [2.0, 3.0]})
    assert he.read(numbers, space="graph").known.labels.tolist() == ["1", "2", "3"]
    np.save("edges.npy", np.array([[1, 2], [2, 3]]))
    assert he.read("edges.npy", space="graph").known.labels.tolist() == ["1", "2", "3"]


def test_links_of_d3_may_be_places_of_nodes():
    nodes = [{"name": "a", "group": 1}, {"name": "b", "group": 2}, {"name": "c", "group": 2}]
    links = [{"source": 0, "target": 1, "value": 3}, {"source": 2, "target": 1, "value": 1}]
    save("d3.json", json.dumps({"nodes": nodes, "links": links}))
    with pytest.raises(he.InputError, match="edges have value, which may be their weight"):
        he.read("d3.json")
    found = he.read("d3.json", columns="value", weights="group")
    assert found.known.labels.tolist() == ["a", "b", "c"]
    assert found.space.distance(["a", "b"], ["b", "c"]) == pytest.approx([1 / np.sqrt(3), 1])
    assert found.weights.tolist() == pytest.approx([0.2, 0.4, 0.4])


def test_labels_that_are_there_twice_give_way_to_ids():
    text = 'graph [ node [ id 7 label "x" ] node [ id 8 label "x" ] edge [ source 7 target 8 ] ]'
    assert he.read(save("g.gml", text)).known.labels.tolist() == ["7", "8"]
    accents = 'graph [ node [ id 0 label "Zoë" ] node [ id 1 label "Ångström" ] edge [ source 0 target 1 ] ]'
    assert he.read(save("h.gml", accents)).known.labels.tolist() == ["Zoë", "Ångström"]


def test_parallel_edges_of_gml_add_up_when_the_file_says_that_there_are_some():
    text = "graph [\n node [ id 0 ]\n node [ id 1 ]\n edge [ source 0 target 1 ]\n edge [ source 0 target 1 ]\n]\n"
    with pytest.raises(he.InputError, match=r"g.gml: edge #1 \(0--1\) is there again; add the line 'multigraph 1'"):
        he.read(save("g.gml", text))
    found = he.read(save("h.gml", text.replace("graph [", "graph [\nmultigraph 1")))
    assert he.gess(found, time=0.1) == pytest.approx(1 + np.exp(-2 * 4 * 0.1))  # two links of weight one: rate 2


GRAPHML = '<graphml><graph edgedefault="undirected"><node id="a"/><node id="b"/>{}</graph></graphml>'


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.gml", "", "a.gml is empty"),
        ("a.gml", "graph [\n node [ id 0 ]\n node [ id", r"cannot be read as GML .* at \(4, 1\)"),
        ("a.gml", "graph [ node [ id 0 ] edge [ source 0 target 5 ] ]", "undefined target 5"),
        ("a.graphml", "<graphml>\n<graph>\n<node", "cannot be read as GraphML .*line 3"),
        ("a.graphml", "<html/>", "holds no graph"),
        ("a.graphml", GRAPHML.format('<graph id="inner"/>'), "holds 2 graphs, but one is needed"),
        ("a.graphml", '<!DOCTYPE g [<!ENTITY x "&y;&y;">]>' + GRAPHML.format(""), "defines the XML entity 'x'"),
        ("a.graphml", '<!DOCTYPE g [<!ENTITY x SYSTEM "/etc/hostname">]>' + GRAPHML.format(""), "XML entity 'x'"),
        ("a.edges", "# nothing\n", "a.edges holds no edges"),
        ("a.edges", "source target\n", "has a header .* but no edges"),
        ("a.edges", "a b 1\n# note\nb c x\n", "a.edges line 3: the third field is 'x', not a number"),
        ("a.edges", "a b 1\nb c -2\n", "a.edges line 2: column 2 must be a number, finite and not negative, but is -2"),
        ("a.edges", "a b\n\nb\n", "a.edges line 3 has 1 field, but 2 as in a.edges line 1 are needed"),
        ("a.edges", "a b {'weight': 3\n", "a.edges line 1: \"{'weight': 3\" is no record such as"),
        ("a.edges", "a,b\n,c\n", "a.edges line 2: column 0 has no name of a node"),
        (
            "a.json",
            '{"nodes": [{"id": 1}], "links": [{"source": 1, "target": 2}]}',
            "link 0 .*: target is 2, the id of no",
        ),
        ("a.json", '{"nodes": [{"id": 1}, {"id": 1}], "links": []}', "two nodes have the id 1"),
    ],
)
def test_files_that_are_damaged_are_refused_with_the_place(name, text, message):
    with pytest.raises(he.InputError, match=message):
        he.read(save(name, text))


def test_arguments_that_a_graph_has_no_use_for_are_refused():
    save("a.edges", "a b\nb c\n")
    with pytest.raises(he.InputError, match="is a graph, and its points are the nodes of it; leave out units="):
        he.read("a.edges", units="deg")
    with pytest.raises(he.InputError, match="'graph:largest' for its largest component, but is 'graph:all'"):
        he.read("a.edges", space="graph:all")
    with pytest.raises(he.InputError, match="has no column 'z'; found 0, 1"):
        he.read("a.edges", columns=("0", "z"))
    nx.write_gml(nx.path_graph(3), "a.gml")
    with pytest.raises(he.InputError, match="has its edges already; columns= names the one value of edges"):
        he.read("a.gml", columns=("a", "b"))
    with pytest.raises(he.InputError, match="has no value of edges 'x'; found none"):
        he.read("a.gml", columns="x")
    with pytest.raises(he.InputError, match="'x' of names"):
        he.read("a.gml", labels="x")


def test_thinned_nodes_of_a_graph_are_written():
    save("a.csv", "source,target\na,b\nb,c\nc,d\nx,y\n")
    result = ran("thin a.csv --space graph:largest --size 2 --time 0.3 -o thin.csv")
    assert result.exit_code == 0, result.output
    with open("thin.csv") as stream:
        nodes = [float(line.split(",")[0]) for line in stream.read().splitlines()[1:]]
    assert len(nodes) == 2
    assert set(nodes) <= {0, 1, 2, 3}


def test_networkx_is_named_where_it_is_missing(monkeypatch):
    write("novel.gml")
    monkeypatch.setitem(__import__("sys").modules, "networkx", None)
    with pytest.raises(he.MissingExtraError, match=r"pip install 'heatess\[graph\]'"):
        he.read("novel.gml")


def test_a_graph_without_nodes_is_told_by_every_command(tmp_path):
    path = tmp_path / "empty.graphml"
    path.write_text("<graphml><graph></graph></graphml>")
    for command in ("profile", "inspect"):
        found = CliRunner().invoke(main, [command, str(path)])
        assert (found.exit_code, "holds 0 nodes; a graph has at least two" in found.stderr) == (3, True)


@pytest.mark.parametrize("name", ["a.gexf", "a.mtx"])
def test_networks_of_other_programs_are_read_after_the_line_of_the_message(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    graph = nx.karate_club_graph()
    if name == "a.mtx":
        mmwrite(name, nx.to_scipy_sparse_array(graph))
    else:
        nx.write_gexf(graph, name)
    with pytest.raises(he.InputError, match="which heatess does not read") as told:
        he.read(name)
    exec(shlex.split(str(told.value))[-1], {})
    assert he.gess(he.read("a.graphml"), time=0.1) == pytest.approx(he.gess(graph, time=0.1), rel=1e-9)
    (tmp_path / "a.graphml").rename("a.xml")
    assert he.read("a.xml").n == 34


def test_a_directed_graph_without_edges_is_refused():
    with pytest.raises(he.InputError, match="3 components"):
        he.Graph(nx.empty_graph(3, nx.DiGraph))
