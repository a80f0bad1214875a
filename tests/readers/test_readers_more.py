"""MagIC, word vectors, QuakeML, GeoJSON and archives give their numbers; other files a line that makes one of these."""

from __future__ import annotations

import gc
import gzip
import re
import shlex
import zipfile
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import heatess as he
from heatess.cli import main
from heatess.readers import FORMATS, open_table, packed_size, quakeml
from heatess.readers.unread_formats import OTHERS


def columns(path, *names):
    [piece] = open_table(path).pieces(names, None)
    return np.column_stack(piece.columns)


def message(path, **options):
    with pytest.raises(he.InputError) as caught:
        he.read(path, **options)
    return str(caught.value)


# MagIC.

LOCATIONS = "tab delimited\tlocations\nlocation\tlat_n\tlon_e\nHawaii\t19.5\t-155.5\n>>>>>>>>>>\n"
SITES = "tab delimited\tsites\nsite\tdir_dec\tdir_inc\tdir_k\nA\t350.1\t-60.2\t99\nB\t5.5\t-55\t\n>>>>>>>>>>\n"
SPECIMENS = "tab \tspecimens\nspecimen\tdir_dec\tdir_inc\nA1\t1.5\t2.5\n"


def test_the_only_table_with_directions_is_taken(tmp_path):
    (tmp_path / "magic_contribution.txt").write_text("\ufeff" + LOCATIONS + SITES, encoding="utf-8")
    found = he.read(tmp_path / "magic_contribution.txt")
    np.testing.assert_allclose(found.points, he.from_decinc([350.1, 5.5], [-60.2, -55], units="deg"), atol=1e-15)
    assert "MagIC, table sites" in found.origin.description
    assert found.known.labels.tolist() == ["A", "B"]


def test_lines_of_a_table_may_end_as_excel_on_a_mac_ended_them(tmp_path):
    (tmp_path / "sites.txt").write_bytes(SITES.replace("sites", "sites\t\t").replace("\n", "\r").encode())
    found = he.read(tmp_path / "sites.txt")
    np.testing.assert_allclose(found.points, he.from_decinc([350.1, 5.5], [-60.2, -55], units="deg"), atol=1e-15)


def test_of_several_tables_with_directions_one_is_chosen_by_its_name(tmp_path):
    path = tmp_path / "magic_contribution.txt"
    path.write_text(LOCATIONS + SITES + SPECIMENS)
    said = message(path)
    assert (
        f"holds 2 tables with directions: sites, specimens; choose one after two colons, such as {path}::sites" in said
    )
    assert he.read(f"{path}::specimens", units="deg").n == 1
    assert he.read(f"{path}::sites").n == 2
    assert columns(f"{path}::locations", "lat_n", "lon_e").tolist() == [[19.5, -155.5]]


def test_small_angles_are_degrees_as_the_data_model_says(tmp_path):
    (tmp_path / "specimens.txt").write_text(SPECIMENS)
    assert he.read(tmp_path / "specimens.txt").origin.units == "deg"


def test_directions_before_and_after_the_correction_for_tilt_are_never_mixed(tmp_path):
    rows = ["A\t10\t20\t0", "A\t12\t40\t100", "B\t30\t20\t0.0", "B\t33\t45\t100.0"]
    path = tmp_path / "sites.txt"
    path.write_text("tab\tsites\nsite\tdir_dec\tdir_inc\tdir_tilt_correction\n" + "\n".join(rows))
    said = message(path)
    assert "sites/dir_tilt_correction=0, sites/dir_tilt_correction=100" in said
    chosen = re.search(r"such as (\S+)", said)[1]
    expected = he.from_decinc([10, 30], [20, 20], units="deg")
    np.testing.assert_allclose(he.read(chosen).points, expected, atol=1e-15)
    assert he.read(f"{path}::sites/dir_tilt_correction=100").n == 2


def test_the_tilt_of_an_anisotropy_says_nothing_of_directions(tmp_path):
    path = tmp_path / "specimens.txt"
    rows = [f"a{k}\t0\t{10 * k}\t{5 * k}\t{frame}" for k, frame in enumerate(("-1", "0", "0", "-1", "0"))]
    path.write_text(
        "tab\tspecimens\nspecimen\taniso_tilt_correction\tdir_dec\tdir_inc\tdir_tilt_correction\n" + "\n".join(rows)
    )
    with pytest.raises(he.InputError, match="specimens/dir_tilt_correction=-1, specimens/dir_tilt_correction=0"):
        he.read(path)
    assert he.read(f"{path}::specimens/dir_tilt_correction=0").n == 3


def test_a_bad_number_is_refused_with_its_line_in_the_whole_file(tmp_path):
    (tmp_path / "c.txt").write_text(LOCATIONS + SITES.replace("-55", "down"))
    assert "c.txt line 8: column dir_inc is 'down', not a number" in message(tmp_path / "c.txt")


# Word vectors.

WORDS = ["the", ",", '"', "#", "1995", ". . .", "naïve"]


@pytest.fixture
def vectors():
    return np.round(np.random.default_rng(0).normal(size=(len(WORDS), 25)), 5)


def lines(vectors):
    return "".join(f"{word} {' '.join(map(repr, row))}\n" for word, row in zip(WORDS, vectors.tolist(), strict=True))


@pytest.mark.parametrize(
    ("name", "head", "end"), [("g.txt", "", "\n"), ("w.txt", "7 25\n", "\n"), ("f.vec", "7 25\n", " \n")]
)
def test_word_vectors_are_read_and_their_words_are_names(tmp_path, vectors, name, head, end):
    (tmp_path / name).write_text(head + lines(vectors).replace("\n", end), encoding="utf-8")
    assert "if only the directions matter, add normalize=True" in message(tmp_path / name)
    found = he.read(tmp_path / name, normalize=True)
    np.testing.assert_allclose(found.points, vectors / np.linalg.norm(vectors, axis=1, keepdims=True), atol=1e-14)
    assert found.known.labels.tolist() == WORDS


@pytest.mark.parametrize("pyarrow", [True, False])
def test_word_vectors_are_the_same_in_pieces_and_without_pyarrow(tmp_path, vectors, monkeypatch, pyarrow):
    (tmp_path / "g.txt").write_text(lines(vectors), encoding="utf-8")
    if not pyarrow:
        monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    pieces = list(open_table(tmp_path / "g.txt").pieces(["embedding"], 3))
    assert [len(piece.columns[0]) for piece in pieces] == [3, 3, 1]
    np.testing.assert_array_equal(np.concatenate([piece.columns[0] for piece in pieces]), vectors)
    assert pieces[1].place(1).endswith("g.txt line 5")


def test_word_vectors_that_were_cut_short_are_refused(tmp_path, vectors):
    text = lines(vectors)
    (tmp_path / "a.txt").write_text(f"9 25\n{text}", encoding="utf-8")
    assert "has 9 words, but has 7; it may be cut short" in message(tmp_path / "a.txt", normalize=True)
    good = [f"w{k} " + "0.5 " * 25 for k in range(60)]
    (tmp_path / "b.vec").write_text("\n".join([*good, "x 1 2 3"]))
    assert "b.vec line 61 has 3 numbers, but 25 are in the others" in message(tmp_path / "b.vec", normalize=True)
    (tmp_path / "c.vec").write_text("\n".join([*good, "x " + "0.5 " * 24 + "no"]))
    assert "c.vec line 61: 'no' is not a number" in message(tmp_path / "c.vec", normalize=True)


def test_a_table_of_names_and_numbers_is_no_file_of_words(tmp_path):
    (tmp_path / "a.txt").write_text("Paris 2.35 48.86\nTokyo 139.69 35.68\n")
    assert "a header is needed" in message(tmp_path / "a.txt")


# QuakeML.

ORIGIN = (
    '<origin publicID="{id}"><time><value>2011-03-11T05:46:24Z</value></time>'
    "<longitude><value>{lon}</value></longitude><latitude><value>{lat}</value></latitude><depth><value>{depth}</value></depth></origin>"
)
MAG = '<magnitude publicID="{id}"><mag><value>{mag}</value></mag><type>{type}</type></magnitude>'


def event(name, *parts):
    return f'<event publicID="smi:local/{name}">{"".join(parts)}</event>'


def catalogue(*events, version="1.2"):
    space = f'xmlns:q="http://quakeml.org/xmlns/quakeml/{version}" xmlns="http://quakeml.org/xmlns/bed/{version}"'
    return f'<?xml version="1.0"?>\n<q:quakeml {space}><eventParameters>{"".join(events)}</eventParameters></q:quakeml>'


def origin(name, lon, lat, depth=1000.0):
    return ORIGIN.format(id=name, lon=lon, lat=lat, depth=depth)


TWO = (
    origin("o1", 1, 2),
    origin("o2", 142.4, 38.3, 29000.0),
    MAG.format(id="m1", mag=8.9, type="mb"),
    MAG.format(id="m2", mag=9.1, type="MW"),
    "<preferredOriginID>o2</preferredOriginID><preferredMagnitudeID>m2</preferredMagnitudeID>",
)


@pytest.mark.parametrize("name", ["a.xml", "a.qml", "a.quakeml", "a.xml.gz"])
def test_the_preferred_origin_and_magnitude_of_each_event_are_read(tmp_path, name):
    text = catalogue(event("tohoku", *TWO), event("other", origin("o3", -70, -30)), version="1.2")
    (tmp_path / name).write_bytes(gzip.compress(text.encode()) if name.endswith("gz") else text.encode())
    rows = columns(tmp_path / name, "longitude", "latitude", "depth", "mag")
    np.testing.assert_array_equal(rows, [[142.4, 38.3, 29000, 9.1], [-70, -30, 1000, np.nan]])
    table = open_table(tmp_path / name)
    assert list(table.text("magnitude_type")) == ["MW", ""]
    assert table.text("time")[0] == "2011-03-11T05:46:24Z"
    found = he.read(tmp_path / name)
    assert (found.known.frame, found.known.kind) == ("geographic", None)
    assert found.known.labels.tolist() == ["smi:local/tohoku", "smi:local/other"]


def test_the_first_origin_is_taken_and_counted_where_none_is_preferred(tmp_path):
    (tmp_path / "a.xml").write_text(catalogue(event("x", origin("o1", 10, 20), origin("o2", 30, 40))))
    found = he.read(tmp_path / "a.xml", units="deg")
    np.testing.assert_allclose(found.points, he.from_lonlat([10], [20], units="deg"), atol=1e-15)
    assert "1 events without a preferred origin: the first" in found.origin.description


def test_an_event_without_an_origin_is_a_missing_row(tmp_path):
    (tmp_path / "a.xml").write_text(catalogue(event("x", origin("o1", 10, 20)), event("y")))
    assert "event 1 (counted from 0): column longitude has no number" in message(tmp_path / "a.xml")
    assert he.read(tmp_path / "a.xml", drop_missing=True).n == 1


def test_entities_are_refused_and_damage_is_named(tmp_path, monkeypatch):
    bomb = '<!DOCTYPE q [<!ENTITY a "aaaaaaaa">]>'
    (tmp_path / "a.xml").write_text(catalogue(event("x")).replace("\n", f"\n{bomb}\n", 1))
    assert "declares entities, which are not read" in message(tmp_path / "a.xml")
    (tmp_path / "b.xml").write_text(catalogue(event("x", *TWO))[:-60])
    assert "is not whole XML" in message(tmp_path / "b.xml")
    (tmp_path / "c.xml").write_text(catalogue(event("x", origin("o", "east", 2))))
    assert "event 0 (counted from 0): longitude is 'east', not a number" in message(tmp_path / "c.xml")
    (tmp_path / "d.xml").write_text(catalogue(event("x")))
    assert "has no event with an origin" in message(tmp_path / "d.xml")
    monkeypatch.setattr(quakeml, "LARGEST_FILE_IN_BYTES", 100)
    (tmp_path / "e.xml").write_text(catalogue(event("x", *TWO)))
    assert "GB of XML; fetch the events in parts" in message(tmp_path / "e.xml")


@pytest.mark.parametrize(
    ("root", "parts"),
    [
        ("seiscomp", ["SeisComP", "obspy.read_events('a.xml').write('a.qml', format='QUAKEML')"]),
        ("FDSNStationXML", ["stations", "obspy.read_inventory('a.xml')"]),
        ("html", ["a web page", "pandas.read_html('a.xml')"]),
        ("data", ["whose first element is <data>", "pandas.read_xml('a.xml')"]),
    ],
)
def test_other_xml_is_told_at_once_who_reads_it(tmp_path, monkeypatch, root, parts):
    monkeypatch.chdir(tmp_path)
    Path("a.xml").write_text(f'<?xml version="1.0"?><!-- a <quakeml> --><{root}></{root}>')
    said = message("a.xml")
    assert all(part in said for part in parts), said
    assert said.partition("type: ")[2] in CliRunner().invoke(main, ["profile", "a.xml"]).stderr


def test_a_catalogue_may_come_from_standard_input():
    text = catalogue(event("x", origin("o1", 10, 20)), event("y", origin("o2", 100, 20)))
    done = CliRunner().invoke(main, ["profile", "-", "--angles", "20", "--json", "-"], input=text)
    assert done.exit_code == 0, done.output
    assert "QuakeML" in done.stderr


# GeoJSON and JSON.

FEATURES = """{"type": "FeatureCollection", "features": [
 {"type": "Feature", "properties": {"name": "pair", "weight": 1}, "geometry":
  {"type": "MultiPoint", "coordinates": [[2.35, 48.86], [139.69, 35.68, 12]]}},
 {"type": "Feature", "properties": {"name": "one", "weight": 3}, "geometry":
  {"type": "Point", "coordinates": [-78.5, -0.2]}},
 {"type": "Feature", "properties": {"name": "none", "weight": 5}, "geometry": {"type": "MultiPoint", "coordinates": []}}
]}"""


def test_each_point_of_a_multipoint_is_a_row_with_the_properties_of_its_feature(tmp_path):
    (tmp_path / "a.geojson").write_text(FEATURES)
    rows = columns(tmp_path / "a.geojson", "lon", "lat", "weight")
    expected = [[2.35, 48.86, 1], [139.69, 35.68, 1], [-78.5, -0.2, 3], [np.nan, np.nan, 5]]
    np.testing.assert_array_equal(rows, expected)
    assert "feature 2 (counted from 0): column lon has no number" in message(tmp_path / "a.geojson")
    found = he.read(tmp_path / "a.geojson", drop_missing=True)
    assert found.ess == pytest.approx(25 / 11)
    assert (found.known.frame, found.known.labels.tolist()) == ("geographic", ["pair", "pair", "one"])


def test_a_single_feature_and_a_bare_geometry_are_read(tmp_path):
    (tmp_path / "a.geojson").write_text('{"type": "MultiPoint", "coordinates": [[100, 10], [120, 20]]}')
    (tmp_path / "b.geojson").write_text(
        '{"type": "Feature", "properties": null, "geometry": {"type": "Point", "coordinates": [100, 10]}}'
    )
    assert [he.read(tmp_path / name).n for name in ("a.geojson", "b.geojson")] == [2, 1]


@pytest.mark.parametrize(
    "text", ['[{"lon": 100, "lat": 10}, {"lon": 120, "lat": 10}]', '{"lon": 100, "lat": 10}\n{"lon": 120, "lat": 10}\n']
)
def test_json_is_read_from_standard_input(text):
    done = CliRunner().invoke(main, ["profile", "-", "--angles", "20", "--json", "-"], input=text)
    assert done.exit_code == 0, done.output
    assert "standard input: 2 points from lon, lat" in done.stderr


# Archives.

CSV = "name,lon,lat\nParis,2.35,48.86\nTokyo,139.69,35.68\n"


def archive(path, **members):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, text in members.items():
            packed.writestr(name.replace("__", "/").replace("_", "."), text)
    return path


def test_the_only_table_of_an_archive_is_read(tmp_path):
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        for name in ("data/cities.csv", "README.txt", "__MACOSX/data/._cities.csv", "picture.png"):
            packed.writestr(name, CSV)
    found = he.read(path)
    np.testing.assert_allclose(found.points, he.from_lonlat([2.35, 139.69], [48.86, 35.68], units="deg"), atol=1e-15)
    assert found.origin.source == f"{path}::data/cities.csv"
    assert found.known.labels.tolist() == ["Paris", "Tokyo"]


def test_of_several_tables_in_an_archive_one_is_chosen(tmp_path):
    path = archive(tmp_path / "a.zip", a_csv=CSV, b__c_json='[{"lon": 100, "lat": 1}]')
    said = message(path)
    assert "holds 2 tables: a.csv, b/c.json; choose one after two colons" in said
    assert he.read(re.search(r"such as (\S+)", said)[1]).n == 2
    assert he.read(f"{path}::c.json").n == 1


def test_a_part_of_a_member_is_chosen_after_two_more_colons(tmp_path):
    path = archive(tmp_path / "a.zip", magic_txt=SITES + SPECIMENS)
    assert f"such as {path}::magic.txt::sites" in message(path)
    assert he.read(f"{path}::magic.txt::specimens").n == 1
    assert he.read(f"{path}::specimens").n == 1


def test_what_is_wrong_in_a_member_is_named_with_the_archive_and_nothing_is_left_behind(tmp_path, monkeypatch):
    (tmp_path / "scratch").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "scratch"))
    path = archive(tmp_path / "a.zip", a_csv=CSV.replace("35.68", "north"))
    assert f"{path}::a.csv line 3: column lat is 'north', not a number" in message(path)
    archive(path, a_csv="")
    assert f"{path}::a.csv is empty" in message(path)
    gc.collect()  # of errors, which hold what was open
    assert list((tmp_path / "scratch").iterdir()) == []


def test_members_are_unpacked_under_their_last_name_wherever_they_claim_to_be(tmp_path, monkeypatch):
    (tmp_path / "deep" / "scratch").mkdir(parents=True)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "deep" / "scratch"))
    for name in ("../../evil.csv", "/evil.csv", "..\\..\\evil.csv"):
        with zipfile.ZipFile(tmp_path / "a.zip", "w") as packed:
            packed.writestr(name, CSV)
        table = open_table(tmp_path / "a.zip")
        outside = [file for file in tmp_path.rglob("*evil*") if "scratch" not in file.parts]
        assert (outside, len(list(table.pieces(["lon"], None)))) == ([], 1)


def test_archives_that_expand_too_far_or_are_locked_or_damaged_are_refused(tmp_path, monkeypatch):
    path = archive(tmp_path / "a.zip", a_csv=CSV)
    locked = bytearray(path.read_bytes())
    for mark, at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        locked[locked.index(mark) + at] |= 1
    (tmp_path / "locked.zip").write_bytes(locked)
    assert "is locked with a password; unpack it yourself" in message(tmp_path / "locked.zip")
    (tmp_path / "cut.zip").write_bytes(path.read_bytes()[:-30])
    assert "cannot be read as a zip archive" in message(tmp_path / "cut.zip")
    archive(tmp_path / "none.zip", a_pdf="x")
    assert "holds no file that is read (found a.pdf)" in message(tmp_path / "none.zip")
    monkeypatch.setitem(packed_size.ROOM, "text", 20)
    monkeypatch.setattr(packed_size, "RATIO", 0)
    assert "a.zip::a.csv would take 49 bytes or more in memory" in message(path)


# Files that are not read.


def test_a_surface_of_gifti_may_be_packed(tmp_path):
    import nibabel
    import trimesh

    mesh = trimesh.creation.icosphere(subdivisions=2)
    arrays = [
        nibabel.gifti.GiftiDataArray(mesh.vertices.astype("f4"), intent="NIFTI_INTENT_POINTSET"),
        nibabel.gifti.GiftiDataArray(mesh.faces.astype("i4"), intent="NIFTI_INTENT_TRIANGLE"),
    ]
    nibabel.save(nibabel.gifti.GiftiImage(darrays=arrays), tmp_path / "a.surf.gii")
    (tmp_path / "b.surf.gii.gz").write_bytes(gzip.compress((tmp_path / "a.surf.gii").read_bytes()))
    plain, packed = (he.read(tmp_path / name) for name in ("a.surf.gii", "b.surf.gii.gz"))
    assert he.gess(packed, time=0.1) == he.gess(plain, time=0.1)


def test_no_suffix_is_both_read_and_said_not_to_be():
    assert not set(OTHERS) & set(FORMATS)


@pytest.mark.parametrize("suffix", sorted(OTHERS))
def test_for_every_foreign_suffix_a_line_can_be_typed(tmp_path, monkeypatch, suffix):
    monkeypatch.chdir(tmp_path)
    Path(f"a file{suffix}").write_bytes(b"x")
    done = CliRunner().invoke(main, ["profile", f"a file{suffix}"])
    assert done.exit_code == 3
    line = done.stderr.strip().partition(", type: ")[2]
    words = shlex.split(line)
    assert words[:2] in (["pip", "install"], ["python", "-c"]), done.stderr
    assert message(f"a file{suffix}").endswith(f", type: {line}")
    if "-c" in words:
        compile(words[-1], suffix, "exec")
        assert f"'a file{suffix}'" in words[-1]


def test_the_line_for_a_foreign_file_makes_a_file_that_is_read_and_replaces_none(tmp_path, monkeypatch):
    import pandas

    monkeypatch.chdir(tmp_path)
    pandas.DataFrame({"lon": [2.35, 139.69], "lat": [48.86, 35.68]}).to_stata("a.dta", write_index=False)
    for name in ("a.csv", "a-2.csv"):
        exec(shlex.split(message("a.dta"))[-1], {})
        np.testing.assert_allclose(columns(name, "lon", "lat"), [[2.35, 48.86], [139.69, 35.68]])


def test_an_unknown_file_of_text_is_read_from_the_copy_that_the_message_makes(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("cities").write_text(CSV)
    said = message("cities")
    assert "has no suffix, but files are read by their suffix: .csv, .tsv" in said
    assert said.endswith("cp cities cities.csv")
    Path("cities.csv").write_text(CSV)
    assert he.read("cities.csv").n == 2


def test_files_without_a_suffix_are_known_by_their_first_bytes(tmp_path):
    np.save(tmp_path / "a.npy", np.eye(3))
    (tmp_path / "a.npy").rename(tmp_path / "axes")
    assert he.read(tmp_path / "axes").n == 3
    with zipfile.ZipFile(tmp_path / "packed", "w") as packed:
        packed.writestr("a.csv", CSV)
    assert "has no suffix, but holds a zip archive or an Excel workbook; give it the suffix" in message(
        tmp_path / "packed"
    )


def test_a_field_of_many_characters_is_passed_over_or_refused_with_its_line(tmp_path):
    """Shapes of areas stand in tables as text of any length."""
    row = "1.5,2.5," + '"' + "POLYGON" * 20_000 + '"\n'
    (tmp_path / "a.csv").write_text("lon,lat,shape\n" + row * 3)
    assert he.read(tmp_path / "a.csv").n == 3
    (tmp_path / "a.csv").write_text("lon lat shape\n" + row.replace(",", " ") * 3)
    with pytest.raises(he.InputError, match=r"line 2 cannot be split .*leave out the column of long texts"):
        he.read(tmp_path / "a.csv")


@pytest.mark.parametrize("text", ['[{"lon": 1.5, "lat": 2.5},\n {"lon": 3.5, "lat": -4.5}]', None])
def test_json_is_known_whatever_the_file_is_called(tmp_path, text):
    text = text or '{"lon": 1.5, "lat": 2.5}\n{"lon": 3.5, "lat": -4.5}\n'
    (tmp_path / "a.dat").write_text(text)
    (tmp_path / "a.csv").write_text("lon,lat\n1.5,2.5\n3.5,-4.5\n")
    np.testing.assert_array_equal(*(he.read(tmp_path / name).points for name in ("a.dat", "a.csv")))


@pytest.mark.parametrize("shape", [(600, 16, 2), (4, 300, 2)])  # (draw, chain, d) of emcee, and (chain, draw, d)
def test_draws_of_chains_stay_chains_when_saved_as_advised(tmp_path, monkeypatch, shape):
    monkeypatch.chdir(tmp_path)
    array = np.random.default_rng(0).normal(5, 1, shape)
    np.save("a.npy", array)
    exec(message("a.npy").partition(" too: ")[2], {"numpy": np, "array": array})
    found = he.read("chains.npz", space="euclidean")
    assert found.known.chains == min(shape[:2])
    one = found.points[found.known.chain_labels(found.n) == 0]
    np.testing.assert_array_equal(one, array[:, 0] if shape[0] == 600 else array[0])


IPAC = """\\fixlen = T
|      ra |     dec |  name |
|  double |  double |  char |
|     deg |     deg |       |
  10.5      -20.25      a
 200.125     70.5       b
"""
CDS = """Title: two stars
================================================================================
Byte-by-byte Description of file: a.dat
--------------------------------------------------------------------------------
   Bytes Format Units  Label   Explanations
--------------------------------------------------------------------------------
   1-  7 F7.3   deg    RAdeg   Right ascension (J2000)
   9- 15 F7.3   deg    DEdeg   Declination (J2000)
--------------------------------------------------------------------------------
 10.500 -20.250
200.125  70.500
"""


@pytest.mark.parametrize(("name", "text"), [("a.txt", IPAC), ("a.dat", CDS), ("a.mrt", CDS)])
def test_tables_told_by_places_in_a_line_are_read_from_the_file_that_astropy_makes(tmp_path, monkeypatch, name, text):
    pytest.importorskip("astropy")
    monkeypatch.chdir(tmp_path)
    Path(name).write_text(text)
    exec(shlex.split(message(name))[-1], {})
    found = he.read("a.ecsv")
    np.testing.assert_allclose(found.points, he.from_lonlat([10.5, 200.125], [-20.25, 70.5], units="deg"), atol=1e-15)
    assert found.known.frame == "icrs"


def test_maps_in_geography_markup_are_no_graphs(tmp_path, monkeypatch):
    geopandas = pytest.importorskip("geopandas")
    monkeypatch.chdir(tmp_path)
    places = geopandas.GeoSeries.from_xy([2.35, 139.69], [48.86, 35.68], crs=4326)
    geopandas.GeoDataFrame(geometry=places).to_file("a.gml", driver="GML")
    said = message("a.gml")
    assert "a.gml is a map in Geography Markup Language" in said
    exec(shlex.split(said)[-1], {})
    expected = he.from_lonlat([2.35, 139.69], [48.86, 35.68], units="deg")
    np.testing.assert_allclose(he.read("a.gpkg").points, expected, atol=1e-9)


def test_places_in_front_of_values_without_names_are_read_as_advised(tmp_path):
    (tmp_path / "a.csv").write_text("-71.1,19.7,760\n-72.3,18.5,350.5\n120,-33,410\n")
    said = message(tmp_path / "a.csv")
    assert "say columns={'lon': '0', 'lat': '1'}, units='deg' for longitude and latitude in columns 0 and 1" in said
    found = he.read(tmp_path / "a.csv", columns={"lon": "0", "lat": "1"}, units="deg", weights="2")
    np.testing.assert_allclose(found.points, he.from_lonlat([-71.1, -72.3, 120], [19.7, 18.5, -33], units="deg"))
    (tmp_path / "b.csv").write_text("19.7,-171.1,760\n18.5,-72.3,350.5\n-33,120,410\n")
    assert "columns={'lon': '1', 'lat': '0'}, units='deg' for latitude and longitude" in message(tmp_path / "b.csv")
