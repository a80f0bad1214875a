"""EBSD maps and cryoSPARC particles, as their programs write them, give the rotations that scipy makes of them."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from scipy.spatial.transform import Rotation

import heatess as he
from heatess.cli import main
from heatess.readers import open_table
from heatess.tables.column_meaning import Reading
from heatess.tables.points_and_weights import take

N = 60
TURNS = Rotation.random(N, random_state=4)
ANGLES = np.mod(TURNS.as_euler("ZXZ"), 2 * np.pi)
LOST = np.array([3, 17, 40])  # points that were not indexed
KEPT = np.setdiff1d(np.arange(N), LOST)
SECOND = np.arange(N) % 3 == 0  # points of the second phase

ANG = """# TEM_PIXperUM          1.000000
# x-star                0.413900
#
{phases}# GRID: SqrGrid
# XSTEP: 0.100000
# OPERATOR:     sem
#
"""
ANG_PHASE = """# Phase {number}
# MaterialName  	{name}
# Formula     	Al
# Info
# Symmetry              {symmetry}
# LatticeConstants      4.040 4.040 4.040  90.000  90.000  90.000
# NumberFamilies        1
# hklFamilies   	 1 -1 -1 1 8.469246 1
# Categories0 0 0 0 0
"""
CTF = """Channel Text File
Prj	standard steel sample
Author	[Unknown]
JobMode	Grid
XCells	10
YCells	6
Euler angles refer to Sample Coordinate system (CS0)!	Mag	180.0000	Coverage	97	Device	0	KV	20.0000
Phases	{count}
{phases}Phase	X	Y	Bands	Error	Euler1	Euler2	Euler3	MAD	BC	BS
"""


def ang(path: Path, phases=((1, "Aluminum", 43),), lost=LOST, scale=1.0, header: str = "") -> Path:
    """A map of EDAX: three angles in radians, x, y, iq, ci, phase, sem, fit."""
    text = ANG.format(phases="".join(ANG_PHASE.format(number=n, name=name, symmetry=s) for n, name, s in phases))
    numbers = np.where(SECOND, phases[-1][0], phases[0][0]) if len(phases) > 1 else np.zeros(N)
    rows = []
    for k in range(N):
        a, ci = (np.full(3, 4 * np.pi), -1.0) if k in lost else (ANGLES[k] * scale, 0.5)
        rows.append(f"{a[0]:.9f} {a[1]:.9f} {a[2]:.9f} {k % 10}.0 {k // 10}.0 900.1 {ci:.3f} {int(numbers[k])} 1 0.5")
    path.write_text(text + header + "\n".join(rows) + "\n")
    return path


def ctf(path: Path, phases=(("Iron fcc", 11),), comma=False, fields=11, separator="\t") -> Path:
    """A map of Oxford Instruments: phase, x, y, bands, error, three angles in degrees, MAD, BC, BS."""
    lines = "".join(f"3.66;3.66;3.66\t90;90;90\t{name}\t{laue}\t225\t\t\tref\n" for name, laue in phases)
    rows = []
    for k in range(N):
        a, number = (
            (np.zeros(3), 0) if k in LOST else (np.degrees(ANGLES[k]), 2 if len(phases) > 1 and SECOND[k] else 1)
        )
        values = [number, k % 10, k // 10, 7, 0, *(f"{x:.9f}" for x in a), 0.5, 120, 255]
        row = separator.join(map(str, values[:fields]))
        rows.append(row.replace(".", ",") if comma else row)
    path.write_text(CTF.format(count=len(phases), phases=lines) + "\n".join(rows) + "\n")
    return path


def same(measure: he.Measure, rows=KEPT, symmetry: str = "432") -> None:
    assert measure.space == he.Rotations(symmetry=symmetry)
    assert measure.n == len(rows)
    np.testing.assert_allclose(measure.space.distance(measure.points, TURNS[rows].as_quat()), 0, atol=3e-8)


@pytest.mark.parametrize("make", [ang, ctf])
def test_a_map_is_bunge_and_its_points_that_were_not_indexed_are_asked_about(tmp_path, make):
    path = make(tmp_path / f"map.{make.__name__}")
    with pytest.raises(
        he.InputError, match=r"the point is not indexed \(3 of 60 rows\); .* drop_missing=True"
    ) as caught:
        he.read(path)
    assert caught.value.row == 3
    found = he.read(path, drop_missing=True)
    same(found)
    assert found.origin.dropped == 3
    words = found.origin.description
    assert "ZXZ turning with the body" in words
    assert "; pixels of a map of the sample; symmetry 432 applied" in words
    assert "3 rows not indexed dropped" in words
    known = open_table(path).known
    assert (known.kind, known.frame, known.cell) == ("cells", "sample", None)


def test_the_space_that_is_named_outranks_the_symmetry_of_a_file(tmp_path):
    path = ang(tmp_path / "map.ang")
    for space, symmetry in (("rotations", None), ("rotations:622", "D6"), ("Rotations(symmetry='T')", "T")):
        found = he.read(path, space=space, drop_missing=True)
        assert found.space == he.Rotations(symmetry=symmetry)
        assert "symmetry 432 not applied, since another space was named" in found.origin.description
    run = CliRunner().invoke(main, ["profile", str(path), "--drop-missing", "--space", "rotations:cubic"])
    assert run.exit_code == 3
    assert "--space rotations:cubic: symmetry must be one of C1, C2" in run.stderr
    run = CliRunner().invoke(main, ["profile", str(path), "--drop-missing", "--angles", "30"])
    assert "symmetry 432 applied" in (run.stdout + run.stderr).replace("\n", " ")


def test_the_line_of_a_point_is_named(tmp_path):
    path = ang(tmp_path / "map.ang")
    lines = path.read_text().splitlines()
    first = next(place for place, line in enumerate(lines, 1) if not line.startswith("#"))
    with pytest.raises(he.InputError, match=rf"map\.ang line {first + 3}: the point is not indexed"):
        he.read(path)


@pytest.mark.parametrize(("name", "numbers"), [("map.ang", ("2", "3")), ("map.ctf", ("1", "2"))], ids=["ang", "ctf"])
def test_one_of_several_phases_is_chosen_by_its_number_or_name(tmp_path, monkeypatch, name, numbers):
    monkeypatch.chdir(tmp_path)
    if name == "map.ang":
        ang(Path(name), ((2, "Aluminum", 43), (3, "Iron Titanium Oxide", 32)))
        words, symmetries = ("Aluminum", "iron titanium oxide"), ("432", "32")
    else:
        ctf(Path(name), (("Iron fcc", 11), ("Quartz", 7)))
        words, symmetries = ("Iron fcc", "quartz"), ("432", "32")
    rows = [np.setdiff1d(np.flatnonzero(chosen), LOST) for chosen in (~SECOND, SECOND)]
    run = CliRunner().invoke(main, ["profile", name, "--angles", "30"])
    assert run.exit_code == 3
    assert f"holds orientations of 2 phases: {numbers[0]} {words[0]} ({len(rows[0])} points)" in run.stderr
    assert f"such as {name}::{numbers[0]}, or all of them with {name}::all" in run.stderr
    for number, word, symmetry, expected in zip(numbers, words, symmetries, rows, strict=True):
        for label in (number, word):
            found = he.read(f"{name}::{label}")
            same(found, expected, symmetry)
            assert f"; symmetry {symmetry} applied" in found.origin.description
            assert f"{N - len(LOST) - len(expected)} points of other phases left out" in found.origin.description
    same(he.read(f"{name}::all", drop_missing=True), symmetry="1")
    with pytest.raises(he.InputError, match="none of its phases is '9'; choose one of these"):
        he.read(f"{name}::9")
    parts = list(take(open_table(f"{name}::{numbers[1]}"), Reading(), 7))
    assert sum(len(part.points) for part in parts) == len(rows[1])


def test_phases_are_added_one_by_one(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ctf(Path("map.ctf"), (("Iron fcc", 11), ("Quartz", 7)))
    words = ["accumulate", "map.ctf::1", "map.ctf::2", "--finest", "20", "-o", "state.npz"]
    run = CliRunner().invoke(main, words)
    assert run.exit_code == 3
    assert "map.ctf::2 holds points on Rotations(symmetry='D3'), but what came before on" in run.stderr
    assert "or say --space rotations for all" in run.stderr
    assert CliRunner().invoke(main, [*words, "--space", "rotations"]).exit_code == 0
    found = he.Accumulator.load("state.npz").profile(angles=[30]).gess[0]
    assert found == pytest.approx(he.gess(TURNS[KEPT], angle=30), rel=1e-6)


def test_a_header_that_names_a_phase_which_does_not_occur_is_no_question(tmp_path):
    path = ctf(tmp_path / "map.ctf", (("Iron fcc", 11), ("Quartz", 7)))
    head, rows = path.read_text().split("BC\tBS\n")
    path.write_text(head + "BC\tBS\n" + "\n".join("1" + row[1:] for row in rows.split("\n") if row[:1] in ("1", "2")))
    found = he.read(path)
    assert found.n == N - len(LOST)
    assert "phase Iron fcc" in found.origin.description


def test_files_of_other_programs(tmp_path):
    same(he.read(ctf(tmp_path / "comma.ctf", comma=True), drop_missing=True))
    same(he.read(ctf(tmp_path / "spaces.ctf", separator="  "), drop_missing=True))
    same(he.read(ctf(tmp_path / "short.ctf", fields=10), drop_missing=True))
    header = "# COLUMN_HEADERS: phi1, PHI, phi2, x, y, IQ, CI, Phase index, SEM, Fit\n# HEADER: End\n"
    same(he.read(ang(tmp_path / "new.ang", header=header), drop_missing=True))
    packed = tmp_path / "map.ang.gz"
    packed.write_bytes(gzip.compress((tmp_path / "new.ang").read_bytes()))
    same(he.read(packed, drop_missing=True))
    weighted = he.read(tmp_path / "new.ang", drop_missing=True, weights="IQ")
    assert weighted.ess == pytest.approx(N - len(LOST))


def test_angles_in_another_unit_than_the_format_has_are_asked_about(tmp_path):
    degrees = ang(tmp_path / "map.ang", lost=(), scale=180 / np.pi)
    with pytest.raises(he.InputError, match=r"should be radians in this format, but reach .* add units='deg'"):
        he.read(degrees)
    same(he.read(degrees, units="deg"), np.arange(N))
    radians = ctf(tmp_path / "map.ctf")
    text = radians.read_text()
    for angle in ANGLES.ravel():
        text = text.replace(f"{np.degrees(angle):.9f}", f"{angle:.9f}")
    radians.write_text(text)
    with pytest.raises(he.InputError, match="could be degrees or radians"):
        he.read(radians, drop_missing=True)
    same(he.read(radians, drop_missing=True, units="rad"))


@pytest.mark.parametrize(
    ("name", "text", "match"),
    [
        ("a.ang", "", "has no rows of numbers below its header"),
        ("a.ang", "# only\n# comments\n", "has no rows of numbers below its header"),
        (
            "a.ctf",
            "hello\n1 2 3 4 5 6 7 8\n",
            "line 1: the line above the first row must name the columns Phase, X, Y",
        ),
        ("a.ctf", "1 2 3 4 5 6 7 8\n", "has no header; write a line to name the columns Phase"),
        ("a.ang", "# x\n1 2 3 0 0 9 1 0\n1 2\n", "line 3 has 2 fields"),
        ("a.ang", "# x\n1 2 3 0 0 9 1 0\n1 b 3 0 0 9 1 0\n", "line 3: column Phi is 'b', not a number"),
        ("a.ang", "# x\n1 2 3 0 0 9 1 0.5\n", "column phase is 0.5, not the number of a phase"),
    ],
)
def test_what_is_no_map_is_refused(tmp_path, name, text, match):
    (tmp_path / name).write_text(text)
    with pytest.raises(he.InputError, match=match):
        he.read(tmp_path / name)


# HDF5.


def group(file, path: str, datasets: dict) -> None:
    for name, values in datasets.items():
        file.create_dataset(f"{path}/{name}", data=values)


def test_a_map_of_edax_in_hdf5(tmp_path):
    h5py = pytest.importorskip("h5py")
    angles, ci = ANGLES.copy(), np.full(N, 0.5)
    angles[LOST], ci[LOST] = 4 * np.pi, -1
    with h5py.File(tmp_path / "edax.h5", "w") as file:
        file[" Manufacturer"] = np.array([b"EDAX"])
        columns = {"Phi1": angles[:, 0], "Phi": angles[:, 1], "Phi2": angles[:, 2], "CI": ci, "Phase": np.zeros(N)}
        group(file, "Scan 1/EBSD/Data", columns | {"Pattern": np.zeros((N, 4, 4))})
        group(file, "Scan 1/EBSD/Header/Phase/1", {"MaterialName": [b"Nickel"], "Symmetry": [43]})
    found = he.read(tmp_path / "edax.h5", drop_missing=True)
    same(found)
    assert "; phase Nickel; pixels of a map of the sample; symmetry 432 applied" in found.origin.description


def test_a_map_of_oxford_instruments_in_hdf5(tmp_path):
    h5py = pytest.importorskip("h5py")
    phase = np.where(SECOND, 2, 1).astype(np.uint8)
    phase[LOST] = 0
    with h5py.File(tmp_path / "map.h5oina", "w") as file:
        file["Manufacturer"] = np.array([b"Oxford Instruments"])
        columns = {"Euler": np.where(phase[:, None] > 0, ANGLES, 0), "Phase": phase[:, None], "X": np.zeros((N, 1))}
        group(file, "1/EBSD/Data", columns)
        for number, name, laue in ((1, b"Iron", 11), (2, b"Quartz", 7)):
            group(file, f"1/EBSD/Header/Phases/{number}", {"Phase Name": [[name]], "Laue Group": [[laue]]})
    path = tmp_path / "map.h5oina"
    with pytest.raises(he.InputError, match=r"holds orientations of 2 phases: 1 Iron .*::1, or all"):
        he.read(path)
    for label in ("2", "Quartz", "1/EBSD/Data::2"):
        found = he.read(f"{path}::{label}")
        same(found, np.setdiff1d(np.flatnonzero(SECOND), LOST), "32")
        assert "phase Quartz (twofold axes along x); pixels" in found.origin.description
    same(he.read(f"{path}::all", drop_missing=True), symmetry="1")


def test_maps_of_orix_in_hdf5(tmp_path):
    h5py = pytest.importorskip("h5py")
    phase = np.ones(N, dtype=int)
    phase[LOST] = -1
    names = dict(zip(("phi1", "Phi", "phi2"), ANGLES.T, strict=True))
    with h5py.File(tmp_path / "maps.h5", "w") as file:
        for scan in ("Scan 1", "Scan 2"):
            group(file, f"{scan}/EBSD/CrystalMap/crystal_map/data", names | {"phase_id": phase, "z": np.zeros(1)})
            header = f"{scan}/EBSD/CrystalMap/crystal_map/header/phases/1"
            group(file, header, {"name": [b"nickel"], "point_group": [b"m-3m"]})
    with pytest.raises(he.InputError, match=r"holds 2 EBSD maps: Scan 1/.*choose one after two colons"):
        he.read(tmp_path / "maps.h5")
    found = he.read(tmp_path / "maps.h5::Scan 2", drop_missing=True)
    same(found)
    assert "symmetry m-3m applied" in found.origin.description


# cryoSPARC.


def test_maps_of_bruker_and_of_thermo_fisher_have_the_symmetry_of_their_space_groups(tmp_path):
    h5py = pytest.importorskip("h5py")
    degrees, two = np.degrees(ANGLES), np.where(SECOND, 2, 1)
    two[LOST] = 0
    named = dict(zip(("phi1", "PHI", "phi2"), degrees.T, strict=True))
    with h5py.File(tmp_path / "bruker.h5", "w") as file:
        file["Manufacturer"] = "Bruker Nano"
        group(file, "map/EBSD/Data", named | {"Phase": two})
        for number, space_group in ((1, 194), (2, 162)):
            group(file, f"map/EBSD/Header/Phases/{number}", {"Name": f"p{number}", "IT": space_group})
    with h5py.File(tmp_path / "thermo.hdf5", "w") as file:
        folded = {"EulerAngles": degrees.reshape(6, 10, 3), "Phase": two.reshape(6, 10), "MEC": np.zeros((6, 10))}
        group(file, "Site/EBSD/MapData", folded)
        for number, space_group in ((1, 194), (2, 162), (3, 229)):
            group(file, f"Site/EBSD/Phase/{number}", {"Name": [f"p{number}"], "SpaceGroupNumber": [space_group]})
    for name in ("bruker.h5", "thermo.hdf5"):
        for number, symmetry in ((1, "622"), (2, "312")):
            found = he.read(f"{tmp_path / name}::p{number}")
            same(found, np.flatnonzero(two == number), symmetry)
            assert f"symmetry {symmetry} applied" in found.origin.description


def test_a_phase_of_255_is_a_point_that_was_not_indexed_and_no_symmetry_is_said(tmp_path):
    h5py = pytest.importorskip("h5py")
    phase = np.ones(N, dtype=np.uint8)
    phase[LOST] = 255
    with h5py.File(tmp_path / "map.h5", "w") as file:
        group(file, "Scan 1/EBSD/Data", dict(zip(("Phi1", "Phi", "Phi2"), ANGLES.T, strict=True)) | {"Phase": phase})
    with pytest.raises(he.InputError, match=r"the point is not indexed \(3 of 60 rows\)"):
        he.read(tmp_path / "map.h5", units="rad")
    found = he.read(tmp_path / "map.h5", units="rad", drop_missing=True)
    assert found.n == N - len(LOST)
    assert "crystal symmetry is not known and not applied" in found.origin.description


def test_euler_angles_of_zero_in_a_plain_table_are_asked_about(tmp_path):
    """So programs write points that were not indexed; they counted as one large grain."""
    degrees = np.round(np.degrees(ANGLES), 3)
    degrees[LOST] = 0
    rows = [f"{k}\t{0 if k in LOST else 1}\t" + "\t".join(map(str, row)) for k, row in enumerate(degrees)]
    (tmp_path / "map.txt").write_text("\n".join(["Index\tPhase\tEuler1\tEuler2\tEuler3", *rows]) + "\n")
    with pytest.raises(
        he.InputError, match=r"line 5: columns Euler1, Euler2 and Euler3 are all 0, .* \(3 of 60 rows\)"
    ):
        he.read(tmp_path / "map.txt", euler="bunge", units="deg")
    command = ["inspect", str(tmp_path / "map.txt"), "--euler", "bunge", "--units", "deg"]
    said = CliRunner().invoke(main, command).output
    assert "add --missing 0 --drop-missing to leave those rows out, or add --missing none if they are right" in said
    found = he.read(tmp_path / "map.txt", euler="bunge", units="deg", missing=0, drop_missing=True)
    expected = Rotation.from_euler("ZXZ", degrees[KEPT], degrees=True).as_quat()
    assert he.gess(found, angle=20) == pytest.approx(he.gess(expected, angle=20, space=he.Rotations()))
    assert he.read(tmp_path / "map.txt", euler="bunge", units="deg", missing="none").n == N
    assert he.read(tmp_path / "map.txt", euler="yaw-pitch-roll", columns="Euler1:Euler3", units="deg").n == N


def particles(path: Path, fields: dict) -> Path:
    kinds = [(name, values.dtype, values.shape[1:]) for name, values in fields.items()]
    table = np.zeros(N, dtype=kinds)
    for name, values in fields.items():
        table[name] = values
    with path.open("wb") as stream:
        np.save(stream, table)
    return path


def test_poses_of_cryosparc_are_rotation_vectors(tmp_path):
    fields = {
        "uid": np.arange(N).astype(np.uint64),
        "blob/path": np.full(N, b"a.mrc"),
        "alignments3D/shift": np.ones((N, 2), dtype=np.float32),
        "alignments3D/pose": TURNS.as_rotvec().astype(np.float32),
        "alignments3D/alpha": np.linspace(1, 2, N, dtype=np.float32),
    }
    found = he.read(particles(tmp_path / "p.cs", fields))
    assert found.n == N
    np.testing.assert_allclose(he.Rotations().distance(found.points, TURNS.as_quat()), 0, atol=1e-6)
    assert found.origin.description.startswith(
        "60 points from alignments3D/pose (rotation vectors, axis times angle in radians, from the image to the "
        "particle); cryoSPARC particles"
    )
    assert open_table(tmp_path / "p.cs").known.kind is None
    assert he.read(tmp_path / "p.cs", weights="alignments3D/alpha").ess < N
    with pytest.raises(he.InputError, match="units= is for angles, but alignments3D/pose are not; leave it out"):
        he.read(tmp_path / "p.cs", units="deg")


def test_of_several_classes_one_is_chosen_and_none_is_refused(tmp_path):
    fields = {f"alignments_class3D_{k}/pose": TURNS.as_rotvec() * (k + 1) for k in range(2)}
    path = particles(tmp_path / "p.cs", fields)
    with pytest.raises(he.InputError, match=r"holds 2 columns of poses: alignments_class3D_0/pose"):
        he.read(path)
    found = he.read(f"{path}::alignments_class3D_0/pose")
    np.testing.assert_allclose(he.Rotations().distance(found.points, TURNS.as_quat()), 0, atol=1e-12)
    with pytest.raises(
        he.InputError, match=r"has no poses \(found uid, alignments2D/pose\); a column alignments3D/pose"
    ):
        he.read(particles(path, {"uid": np.arange(N), "alignments2D/pose": np.ones(N)}))
