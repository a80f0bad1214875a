"""Files of robots and molecules give the poses and torsions that were written into them, and are trajectories."""

from __future__ import annotations

import gzip
import io
import math

import numpy as np
import pytest
from click.testing import CliRunner
from scipy.spatial.transform import Rotation

import heatess as he
from heatess.cli import main
from heatess.readers import open_table


@pytest.fixture
def poses():
    rng = np.random.default_rng(0)
    turns = Rotation.from_rotvec(np.cumsum(rng.normal(0, 0.05, (200, 3)), axis=0))
    return turns, np.cumsum(rng.normal(0, 0.2, (200, 3)), axis=0)


def furthest(found, turns):
    """The largest angle between the rotations that were read and those that were written."""
    return (Rotation.from_quat(found.points) * turns.inv()).magnitude().max()


def kitti(turns, places):
    rows = np.concatenate([turns.as_matrix(), places[:, :, None]], axis=2).reshape(-1, 12)
    text = io.StringIO()
    np.savetxt(text, rows, fmt="%.6e")
    return text.getvalue()


def colvar(rows, fields="time phi psi", periodic=("phi", "psi")):
    head = [f"#! FIELDS {fields}", *(f"#! SET {end}_{name} {pi}" for name in periodic for end, pi in ENDS)]
    return "\n".join([*head, *(" " + " ".join(f"{value:.6f}" for value in row) for row in rows)]) + "\n"


ENDS = (("min", "-pi"), ("max", "pi"))


# KITTI, EuRoC, TUM.


def test_twelve_numbers_that_are_a_rotation_and_a_position_are_kitti_poses(tmp_path, poses):
    turns, places = poses
    (tmp_path / "00.txt").write_text(kitti(turns, places))
    found = he.read(tmp_path / "00.txt")
    assert found.space == he.Rotations()
    assert found.known.kind == "trajectory"
    assert "KITTI poses" in found.origin.description
    assert furthest(found, turns) < 2e-6
    [piece] = open_table(tmp_path / "00.txt").pieces(["tx", "ty", "tz"], None)
    np.testing.assert_allclose(np.column_stack(piece.columns), places, rtol=1e-6)
    expected = he.gess(turns.as_quat(), space=he.Rotations(), angle=10)
    assert he.gess(found, angle=10) == pytest.approx(expected, rel=1e-6)


def test_a_matrix_further_down_that_is_no_rotation_is_refused_with_its_line(tmp_path, poses):
    lines = kitti(*poses).splitlines()
    lines[150] = " ".join(["1"] * 12)
    (tmp_path / "00.txt").write_text("\n".join(lines))
    with pytest.raises(he.InputError, match=r"00.txt line 151: the matrix is no rotation \(1 of 200 rows\)"):
        he.read(tmp_path / "00.txt")


def test_reflections_and_other_rows_of_twelve_numbers_are_no_poses(tmp_path, poses):
    turns, places = poses
    rows = np.concatenate([-turns.as_matrix(), places[:, :, None]], axis=2).reshape(-1, 12)
    np.savetxt(tmp_path / "mirror.txt", rows)
    assert open_table(tmp_path / "mirror.txt").names == [str(k) for k in range(12)]


def test_the_ground_truth_of_euroc_is_a_trajectory_with_positions(tmp_path, poses):
    turns, places = poses
    names = ["p_RS_R_x [m]", "p_RS_R_y [m]", "p_RS_R_z [m]", "q_RS_w []", "q_RS_x []", "q_RS_y []", "q_RS_z []"]
    rows = [
        f"{1403715524907143168 + 5_000_000 * k},{','.join(map(repr, [*place, w, x, y, z]))}"
        for k, (place, (x, y, z, w)) in enumerate(zip(places.tolist(), turns.as_quat().tolist(), strict=True))
    ]
    (tmp_path / "data.csv").write_text("\n".join([",".join(["#timestamp [ns]", *names]), *rows]))
    found = he.read(tmp_path / "data.csv")
    assert (found.space, found.known.kind) == (he.Rotations(), "trajectory")
    assert furthest(found, turns) < 1e-12
    assert "EuRoC trajectory" in found.origin.description
    assert "space='pose:R' takes both" in found.origin.description
    both = he.read(tmp_path / "data.csv", space="pose:0.5")
    np.testing.assert_allclose(both.points[:, :3], places, atol=1e-12)


def test_a_tum_file_is_a_trajectory_with_its_names_and_without(tmp_path, poses):
    turns, places = poses
    rows = np.column_stack([1.3e9 + np.arange(200) / 30, places, turns.as_quat()])
    np.savetxt(tmp_path / "plain.tum", rows, fmt="%.9f")
    np.savetxt(tmp_path / "named.txt", rows, fmt="%.9f", header="timestamp tx ty tz qx qy qz qw")
    for name in ("plain.tum", "named.txt"):
        found = he.read(tmp_path / name)
        assert found.known.kind == "trajectory"
        assert "TUM trajectory" in found.origin.description
        assert furthest(found, turns) < 1e-8


# PLUMED.


@pytest.fixture
def angles():
    return np.round(np.random.default_rng(1).uniform(-math.pi, math.pi, (300, 2)), 6)


@pytest.mark.parametrize("name", ["COLVAR", "COLVAR.0", "run.dat", "run.colvar", "run.txt", "bck.0.COLVAR"])
def test_a_colvar_file_is_known_by_its_first_line_whatever_its_name(tmp_path, angles, name):
    (tmp_path / name).write_text(colvar(np.column_stack([np.arange(300), angles])))
    found = he.read(tmp_path / name)
    assert (found.space, found.known.kind) == (he.Torus(2, units="rad"), "trajectory")
    np.testing.assert_array_equal(found.points, angles)


def test_periods_of_a_turn_tell_radians_from_degrees(tmp_path):
    rows = [[0, 0.1, 0.2], [1, 0.3, -0.4]]
    (tmp_path / "plain").write_text(colvar(rows, periodic=()))
    with pytest.raises(he.InputError, match="units='deg' or units='rad'"):
        he.read(tmp_path / "plain")
    (tmp_path / "radians").write_text(colvar(rows))
    assert he.read(tmp_path / "radians").space.units == "rad"
    degrees = colvar(rows).replace("-pi", "-180").replace(" pi", " 180")
    (tmp_path / "degrees").write_text(degrees)
    assert he.read(tmp_path / "degrees").space.units == "deg"


def test_log_weights_of_plumed_are_taken_and_a_bias_is_named(tmp_path, angles):
    rng = np.random.default_rng(2)
    last = np.round(rng.normal(0, 2, 300), 6)
    rows = np.column_stack([np.arange(300), angles, last])
    (tmp_path / "a").write_text(colvar(rows, "time phi psi logweights"))
    found = he.read(tmp_path / "a")
    weights = np.exp(last)
    assert found.ess == pytest.approx(weights.sum() ** 2 / (weights @ weights))
    (tmp_path / "b").write_text(colvar(rows, "time phi psi metad.bias"))
    plain = he.read(tmp_path / "b")
    assert plain.ess == 300
    assert "metad.bias not used (a bias divided by kT is a log-weight)" in plain.origin.description
    taken = he.read(tmp_path / "b", log_weights="metad.bias")
    assert taken.ess == pytest.approx(found.ess)
    assert "not used" not in taken.origin.description
    assert "metad.bias taken for a bias divided by kT already" in taken.origin.description


def test_a_run_that_was_started_again_may_repeat_its_fields_but_not_change_them(tmp_path, angles):
    part = colvar(np.column_stack([np.arange(300), angles]))
    (tmp_path / "twice").write_text(part + part)
    assert he.read(tmp_path / "twice").n == 600
    (tmp_path / "other").write_text(part + part.replace("phi psi", "psi phi"))
    with pytest.raises(he.InputError, match=r"line 306: the fields are time, psi, phi, but time, phi, psi in line 1"):
        he.read(tmp_path / "other")


def test_a_last_line_that_was_cut_short_is_refused_with_its_number(tmp_path, angles):
    (tmp_path / "COLVAR").write_text(colvar(np.column_stack([np.arange(300), angles])) + " 300.0 1.2")
    with pytest.raises(he.InputError, match="COLVAR line 306 has 2 fields, but the header has 3"):
        he.read(tmp_path / "COLVAR")


def test_a_colvar_file_comes_from_standard_input_too(angles):
    text = colvar(np.column_stack([np.arange(300), angles]))
    done = CliRunner().invoke(main, ["profile", "-", "--angles", "20", "--json", "-"], input=text)
    assert done.exit_code == 0, done.output
    assert "PLUMED COLVAR" in done.stderr


# GROMACS.

RAMA = '# gmx rama\n@    title "Ramachandran Plot"\n@    xaxis  label "Phi"\n@    yaxis  label "Psi"\n@TYPE xy\n'


def test_rama_gives_torsions_in_degrees_and_the_names_of_residues(tmp_path):
    (tmp_path / "rama.xvg").write_text(RAMA + "-60.5 -45.1 ALA-2\n-70.2 140.3 GLY-3\n1.5 2.5 ALA-2\n")
    found = he.read(tmp_path / "rama.xvg")
    assert (found.space, found.known.kind) == (he.Torus(2, units="deg"), "trajectory")
    np.testing.assert_array_equal(found.points, [[-60.5, -45.1], [-70.2, 140.3], [1.5, 2.5]])
    assert found.known.labels.tolist() == ["ALA-2", "GLY-3", "ALA-2"]


def test_small_angles_of_rama_are_degrees_because_the_title_says_so(tmp_path):
    (tmp_path / "rama.xvg").write_text(RAMA + "0.5 0.1 ALA-2\n0.2 0.3 ALA-3\n")
    assert he.read(tmp_path / "rama.xvg").space.units == "deg"


def test_legends_and_axes_name_the_columns_and_greek_letters_are_spelled_out(tmp_path):
    head = (
        '@ xaxis label "Time (ps)"\n@ yaxis label "Angle"\n@ s0 legend "\\8f\\4 (deg)"\n@ s1 legend "\\xy\\f{} (deg)"\n'
    )
    (tmp_path / "a.xvg.gz").write_bytes(gzip.compress(f"{head}0 10 20 # one\n\n5 30 -170\n".encode()))
    table = open_table(tmp_path / "a.xvg.gz")
    assert table.names == ["Time (ps)", "phi (deg)", "psi (deg)"]
    found = he.read(tmp_path / "a.xvg.gz")
    np.testing.assert_array_equal(found.points, [[10, 20], [30, -170]])
    (tmp_path / "b.xvg").write_text('@ xaxis label "Time (ps)"\n@ yaxis label "Angle (degrees)"\n0 10\n5 30\n')
    circle = he.read(tmp_path / "b.xvg", columns="Angle (degrees)", space="circle")
    assert circle.space == he.Circle("deg")


def test_of_several_sets_one_is_chosen(tmp_path):
    (tmp_path / "a.xvg").write_text('@ xaxis label "phi"\n@ yaxis label "psi"\n1 200\n&\n3 100\n4 110\n&\n')
    with pytest.raises(he.InputError, match=r"holds 2 sets of rows: 1, 2; choose one after two colons, such as .*::1"):
        he.read(tmp_path / "a.xvg")
    assert he.read(f"{tmp_path / 'a.xvg'}::2").points.tolist() == [[3, 100], [4, 110]]


def test_a_row_of_another_length_is_refused_with_its_line(tmp_path):
    (tmp_path / "a.xvg").write_text('@ xaxis label "phi"\n@ yaxis label "psi"\n10 200\n11\n')
    with pytest.raises(he.InputError, match=r"a\.xvg line 4 has 1 field, but"):
        he.read(tmp_path / "a.xvg")
