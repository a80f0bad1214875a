"""Particles of RELION and cryoSPARC: on which side symmetry stands, and where its axes lie."""

from __future__ import annotations

import numpy as np
import pytest
from click.testing import CliRunner
from scipy.spatial.transform import Rotation

import heatess as he
from heatess.cli import main

pytest.importorskip("starfile")

#: Axes of RELION's groups, as `relion_refine --sym NAME --print_symmetry_ops` makes its operators from.
AXES = {
    "C4": [(4, (0, 0, 1))],
    "D2": [(2, (0, 0, 1)), (2, (1, 0, 0))],
    "D7": [(7, (0, 0, 1)), (2, (1, 0, 0))],
    "T": [(3, (0, 0, 1)), (2, (0, 0.816496580927726, 0.577350269189626))],
    "O": [(3, (1, 1, 1)), (4, (0, 0, 1))],
    "I": [(2, (0, 0, 1)), (5, (0.525731112119134, 0, 0.850650808352040))],
    "I1": [(2, (1, 0, 0)), (5, (0.850650808352040, 0, -0.525731112119134))],
    "I2": [(2, (0, 0, 1)), (5, (0.525731112119134, 0, 0.850650808352040))],
    "I3": [(2, (-0.525731112119134, 0, 0.850650808352040)), (5, (0, 0, 1))],
    "I4": [(2, (0.525731112119134, 0, 0.850650808352040)), (5, (0.894427190999916, 0, 0.447213595499958))],
}
HERE = {"T": "Tz", "I": "I2"}


def closed(axes):
    """All products of turns about axes, as matrices."""
    steps = [Rotation.from_rotvec(2 * np.pi / n * np.array(a) / np.linalg.norm(a)).as_matrix() for n, a in axes]
    found = [np.eye(3)]
    for turn in found:
        for step in steps:
            if min(np.abs(step @ turn - other).max() for other in found) > 1e-6:
                found.append(step @ turn)
    return np.array(found)


def relion_matrix(rot, tilt, psi):
    """RELION's matrix, which takes the particle to its image: its third row is the direction of view."""
    (ca, sa), (cb, sb), (cg, sg) = ((np.cos(np.radians(x)), np.sin(np.radians(x))) for x in (rot, tilt, psi))
    return np.array(
        [
            [cg * cb * ca - sg * sa, cg * cb * sa + sg * ca, -cg * sb],
            [-sg * cb * ca - cg * sa, -sg * cb * sa + cg * ca, sg * sb],
            [sb * ca, sb * sa, cb],
        ]
    )


def relion_angles(matrix):
    """The angles of such a matrix."""
    tilt = np.arctan2(np.hypot(matrix[2, 0], matrix[2, 1]), matrix[2, 2])
    return np.degrees([np.arctan2(matrix[2, 1], matrix[2, 0]), tilt, np.arctan2(matrix[1, 2], -matrix[0, 2])])


def images_agree(one, other):
    """Whether two projected clouds are the same, in any order."""
    return np.abs(one[:, None] - other[None]).max(axis=2).min(axis=1).max() < 1e-9


def write_star(path, angles, extra="", head=""):
    rows = "".join(f"{a:.10f} {b:.10f} {c:.10f} {extra}\n" for a, b, c in angles)
    names = ["rlnAngleRot", "rlnAngleTilt", "rlnAnglePsi", *(["rlnSymmetryGroup"] if extra else [])]
    labels = "".join(f"_{name} #{k}\n" for k, name in enumerate(names, 1))
    path.write_text(f"{head}\ndata_particles\n\nloop_\n{labels}{rows}\n")


def write_run(folder, angles, symmetry, name="run_it025"):
    """The files of a refinement, with paths from the project's directory as RELION writes them."""
    write_star(folder / f"{name}_data.star", angles)
    (folder / f"{name}_sampling.star").write_text(
        f"# version 30001\n\ndata_sampling_general\n\n_rlnHealpixOrder 3\n_rlnSymmetryGroup      {symmetry}\n"
        "_rlnPsiStep 7.5\n\n\ndata_sampling_directions\n\nloop_\n_rlnOrientationsID #1\n_rlnAngleRot #2\n"
        "_rlnAngleTilt #3\n 0 45.0 5.0\n 1 135.0 5.0\n\n"
    )
    (folder / f"{name}_optimiser.star").write_text(
        "# version 30001\n\ndata_optimiser_general\n\n"
        f"_rlnOutputRootName Refine3D/job019/run\n_rlnModelStarFile Refine3D/job019/{name}_model.star\n"
        f"_rlnExperimentalDataStarFile Refine3D/job019/{name}_data.star\n"
        f"_rlnOrientSamplingStarFile Refine3D/job019/{name}_sampling.star\n_rlnCurrentIteration 25\n\n"
    )
    return folder / f"{name}_optimiser.star"


@pytest.mark.parametrize("symmetry", AXES)
def test_poses_that_give_the_same_image_of_a_symmetric_particle_are_one_point(tmp_path, symmetry):
    rng = np.random.default_rng(3)
    group = closed(AXES[symmetry])
    particle = np.einsum("gij,nj->gni", group, rng.normal(size=(3, 3))).reshape(-1, 3)
    poses = [(rng.uniform(-180, 180), rng.uniform(5, 175), rng.uniform(-180, 180)) for _ in range(3)]
    rows, views = [], []
    for pose in poses:
        matrix = relion_matrix(*pose)
        image = particle @ matrix[:2].T
        for place, g in enumerate(group):
            rows.append(relion_angles(matrix @ g))
            assert place % 7 or images_agree(particle @ relion_matrix(*rows[-1])[:2].T, image)
        views.append(pose)
    found = he.read(write_run(tmp_path, rows, symmetry))
    assert found.space == he.Rotations(symmetry=HERE.get(symmetry, symmetry))
    alone = he.Measure(Rotation.from_matrix([relion_matrix(*view) for view in views]), space=found.space)
    np.testing.assert_allclose(he.gess(found, angle=10), he.gess(alone, angle=10), rtol=1e-8)
    distance = found.space.distance(found.points.reshape(3, len(group), 4)[:, :1], found.points.reshape(3, -1, 4))
    np.testing.assert_allclose(distance, 0, atol=1e-8)


def test_the_symmetry_of_a_run_is_said(tmp_path):
    angles = Rotation.random(20, random_state=1).as_euler("ZYZ", degrees=True)
    optimiser = write_run(tmp_path, angles, "i")
    words = he.read(optimiser).origin.description
    assert "RELION's symmetry i is I2 here; symmetry I2 applied" in words
    alone = he.read(tmp_path / "run_it025_data.star")
    assert alone.space == he.Rotations()
    assert (
        "symmetry i of run_it025_sampling.star not applied: read run_it025_optimiser.star" in alone.origin.description
    )
    assert he.read(optimiser, space="rotations").space == he.Rotations()
    optimiser.unlink()
    advice = "symmetry i of run_it025_sampling.star not applied: say space='rotations:I2'"
    assert advice in he.read(tmp_path / "run_it025_data.star").origin.description
    asked = he.read(tmp_path / "run_it025_data.star", space="rotations:I2")
    assert asked.space == he.Rotations(symmetry="I2")


@pytest.mark.parametrize("symmetry", ["C1", "c1"])
def test_particles_without_symmetry_are_plain_rotations(tmp_path, symmetry):
    angles = Rotation.random(20, random_state=1).as_euler("ZYZ", degrees=True)
    for found in (he.read(write_run(tmp_path, angles, symmetry)), he.read(tmp_path / "run_it025_data.star")):
        assert found.space == he.Rotations()
        assert "symmetry" not in found.origin.description


def test_a_column_or_a_block_states_the_symmetry(tmp_path):
    angles = Rotation.random(20, random_state=1).as_euler("ZYZ", degrees=True)
    write_star(tmp_path / "a.star", angles, extra="D7")
    assert he.read(tmp_path / "a.star").space == he.Rotations(symmetry="D7")
    write_star(tmp_path / "b.star", angles, head="data_general\n\n_rlnSymmetryGroup C4v\n")
    assert he.read(tmp_path / "b.star").space == he.Rotations(symmetry="C4")
    write_star(tmp_path / "c.star", angles, extra="D7", head="data_general\n\n_rlnSymmetryGroup C7\n")
    found = he.read(tmp_path / "c.star")
    assert found.space == he.Rotations()
    assert "symmetries C7, D7, none applied: name one, such as space='rotations:D7'" in found.origin.description
    for wrong in ("I5", "C0", "S3", "helix"):
        write_star(tmp_path / "d.star", angles, extra=wrong)
        assert f"symmetry {wrong} not known and not applied" in he.read(tmp_path / "d.star").origin.description


def test_an_optimiser_without_its_particles_says_where_they_should_be(tmp_path):
    optimiser = write_run(tmp_path, [[1, 2, 3]], "D7")
    (tmp_path / "run_it025_data.star").unlink()
    with pytest.raises(he.InputError, match=r"particles are in Refine3D/job019/run_it025_data.star, which is neither"):
        he.read(optimiser)


@pytest.mark.parametrize(("symmetry", "other"), [("T", "Tz"), ("I", "I2")])
def test_axes_that_programs_have_elsewhere_are_asked_for(tmp_path, symmetry, other):
    write_star(tmp_path / "a.star", Rotation.random(20, random_state=1).as_euler("ZYZ", degrees=True))
    with pytest.raises(he.InputError, match=f"are those of SciPy, .* space='rotations:{other}'"):
        he.read(tmp_path / "a.star", space=f"rotations:{symmetry}")
    assert he.read(tmp_path / "a.star", space=f"rotations:{other}").space == he.Rotations(symmetry=other)


def test_the_command_line_takes_the_symmetry_of_a_run_and_one_by_name(tmp_path):
    angles = Rotation.random(200, random_state=1).as_euler("ZYZ", degrees=True)
    optimiser = write_run(tmp_path, angles, "D7")
    points = Rotation.from_matrix([relion_matrix(*row) for row in angles])
    truth = he.gess(points, space=he.Rotations(symmetry="D7"), angle=20)
    named = [str(tmp_path / "run_it025_data.star"), "--space"]
    for given in ([str(optimiser)], [*named, 'Rotations(symmetry="D7")'], [*named, "rotations:D7"]):
        run = CliRunner().invoke(main, ["profile", *given, "--angles", "20", "--json", "-"])
        assert he.HeatProfile.from_json(run.stdout).gess[0] == pytest.approx(truth, rel=1e-8)


def test_poses_of_cryosparc_are_those_of_relion(tmp_path):
    """A conversion between them writes rotation vectors of the matrices' inverses."""
    turns = Rotation.from_matrix([relion_matrix(10, 20, 30), relion_matrix(-70, 100, 160)])
    poses = np.zeros(2, dtype=[("uid", "u8"), ("alignments3D/pose", "f4", (3,))])
    poses["alignments3D/pose"] = turns.inv().as_rotvec()
    with (tmp_path / "a.cs").open("wb") as file:
        np.save(file, poses)
    found = he.read(tmp_path / "a.cs", space="rotations:D7")
    np.testing.assert_allclose(found.space.distance(found.points, turns), 0, atol=1e-6)
    angles = [[10, 20, 30], [-70, 100, 160]]
    same = he.from_euler(angles, convention="relion", units="deg")
    np.testing.assert_allclose(Rotation.from_quat(same).as_matrix(), turns.inv().as_matrix(), atol=1e-12)
    assert "points are the inverse rotations, which take the particle to its image" in found.origin.description
    plain = he.read(tmp_path / "a.cs")
    np.testing.assert_allclose(plain.space.distance(plain.points, turns.inv()), 0, atol=1e-6)
    assert "inverse" not in plain.origin.description
