"""Rotations and poses are asked about, never guessed: each message is followed to the letter, the number checked."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result
from scipy.spatial.transform import Rotation

import heatess as he
from heatess.cli import main

N = 80


@pytest.fixture
def rng():
    return np.random.default_rng(33)


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def call(*words: str, scale: tuple[str, str] = ("--angles", "30")) -> Result:
        result = CliRunner().invoke(main, ["profile", *words, *scale, "--json", "-"])
        assert result.exception is None or isinstance(result.exception, SystemExit)
        return result

    return call


def write(name: str, header: str, columns, form: str = "%.17g") -> None:
    text = "\n".join(",".join(form % value for value in row) for row in np.column_stack(columns))
    Path(name).write_text(f"{header}\n{text}\n" if header else f"{text}\n")


def gess_of(result: Result) -> float:
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)["gess"][0]


def refused(result: Result) -> str:
    assert result.exit_code == 3, result.output
    return result.stderr.strip().splitlines()[-1]


def options(sentence: str) -> list[list[str]]:
    """Every choice that a sentence offers, as words to type."""
    found = re.findall(r"--[a-z][^;)]*?(?= if\b| for\b| or\b| and\b|, or|[;()]|$)", sentence.partition("say ")[2])
    return [shlex.split(choice) for choice in found]


def pose_gess(places, turns, length: float, time: float) -> float:
    """gESS of poses by the definition: Gaussians of shifts times the characters of turns, whose time is t / R^2."""
    quaternions = turns.as_quat()
    shifts = ((places[:, None] - places[None]) ** 2).sum(axis=2)
    half = np.arccos(np.clip(np.abs(quaternions @ quaternions.T), 0, 1))
    level = np.arange(200)[:, None, None]
    decay = (2 * level + 1) * np.exp(-2 * level * (level + 1) * time / length**2)
    sines = np.where(half > 1e-7, np.sin((2 * level + 1) * half) / np.sin(np.maximum(half, 1e-7)), 2 * level + 1)
    overlaps = np.exp(-shifts / (8 * time)) * (decay * sines).sum(axis=0) / (decay * (2 * level + 1)).sum()
    return len(places) ** 2 / overlaps.sum()


# Poses.


def test_a_pose_without_a_length_is_asked_for_it_and_the_length_is_used(run, rng):
    places, turns = 0.3 * rng.normal(size=(N, 3)), Rotation.random(N, random_state=1)
    write("a.csv", "tx,ty,tz,qx,qy,qz,qw", [places, turns.as_quat()])
    sentence = refused(run("a.csv", "--space", "pose"))
    assert "--space pose:R, where R is the length, in the unit of the positions, that counts as much as one" in sentence
    for length in (0.5, 2.0):
        found = run("a.csv", "--space", f"pose:{length}", scale=("--times", "0.1"))
        assert gess_of(found) == pytest.approx(pose_gess(places, turns, length, 0.1), rel=1e-9)
        assert f"({length:g} per radian)" in found.stderr
    measure = he.read("a.csv", space="pose:0.5")
    assert measure.space == he.Product(he.Euclidean(3), he.Rotations(), metric_scales=(1.0, 0.5))
    np.testing.assert_allclose(measure.points[:, :3], places)
    note = he.read("a.csv").origin.description
    assert "positions tx, ty, tz left out (space='pose:R' takes both, R being the length that counts as much" in note


def test_a_space_that_was_written_out_has_the_units_that_the_user_chose(run, rng):
    places, turns = rng.normal(size=(N, 3)), Rotation.random(N, random_state=1)
    write("a.csv", "tx,ty,tz,qx,qy,qz,qw", [places, turns.as_quat()])
    plain = he.Product(he.Euclidean(3), he.Rotations())
    assert he.read("a.csv", space=plain).space == plain
    assert he.gess(he.read("a.csv", space=plain), time=0.1) == pytest.approx(pose_gess(places, turns, 1, 0.1), rel=1e-9)


@pytest.mark.parametrize("text", ["pose:", "pose: "])
def test_an_empty_length_is_asked_for(text):
    with pytest.raises(he.InputError, match=r"write space='pose:R', where R is the length"):
        he.read({"lon": [1.0], "lat": [2.0]}, space=text)


@pytest.mark.parametrize("text", ["pose:0", "pose:-1", "pose:inf", "pose:nan", "pose:a"])
def test_a_length_that_is_none_is_refused(text):
    with pytest.raises(he.InputError, match="needs a positive number for R"):
        he.read({"lon": [1.0], "lat": [2.0]}, space=text)
    with pytest.raises(he.InputError, match=r"space must be one of .*pose:R"):
        he.read({"lon": [1.0], "lat": [2.0]}, space="sphere:2")


def test_roles_of_a_pose_do_not_settle_its_length():
    columns = {name: np.zeros(2) for name in ("tx", "ty", "tz", "qx", "qy", "qz")} | {"qw": np.ones(2)}
    with pytest.raises(he.InputError, match=r"write space='pose:R'"):
        he.read(columns, columns={name: name for name in columns})


def test_normalize_scales_the_quaternions_of_poses_and_nothing_else(run, rng):
    places, turns = rng.normal(size=(N, 3)), Rotation.random(N, random_state=1)
    write("a.csv", "tx,ty,tz,qx,qy,qz,qw", [places, turns.as_quat()], "%.4f")
    rounded = np.loadtxt("a.csv", delimiter=",", skiprows=1)
    sentence = refused(run("a.csv", "--space", "pose:0.5", scale=("--times", "0.1")))
    assert "line 2: the quaternion qx, qy, qz, qw has length" in sentence
    assert sentence.endswith("to scale them, add --normalize")
    found = run("a.csv", "--space", "pose:0.5", "--normalize", scale=("--times", "0.1"))
    truth = pose_gess(rounded[:, :3], Rotation.from_quat(rounded[:, 3:]), 0.5, 0.1)
    assert gess_of(found) == pytest.approx(truth, rel=1e-7)
    assert "(quaternions scaled to unit length, 0.5 per radian)" in found.stderr
    np.testing.assert_array_equal(he.read("a.csv", space="pose:1", normalize=True).points[:, :3], rounded[:, :3])
    alone = refused(run("a.csv"))
    assert alone.endswith("to scale them, add --normalize")
    assert gess_of(run("a.csv", "--normalize")) == pytest.approx(he.gess(turns, angle=30), rel=1e-3)


def test_seven_nameless_columns_may_be_a_pose(run, rng):
    places, turns = rng.normal(size=(N, 3)), Rotation.random(N, random_state=1)
    np.save("a.npy", np.column_stack([places, turns.as_quat(scalar_first=True)]))
    sentence = refused(run("a.npy", scale=("--times", "0.1")))
    assert "--space pose:R, where R is the length that counts as much as one radian" in sentence
    _, head = re.findall(r"--columns (\S+) if", sentence)
    found = run("a.npy", "--space", "pose:0.5", "--columns", head, scale=("--times", "0.1"))
    assert gess_of(found) == pytest.approx(pose_gess(places, turns, 0.5, 0.1), rel=1e-9)


def test_a_pose_of_too_few_columns_is_refused():
    with pytest.raises(he.InputError, match="four of a quaternion, x, y, z, w, but 4 were named"):
        he.read({name: np.ones(2) for name in "abcd"}, space="pose:1", columns=("a", "b", "c", "d"))


# Four numbers without a name.


@pytest.mark.parametrize("kind", ["npy", "npz", "csv", "named", "weighted"])
def test_four_nameless_unit_columns_are_asked_about_and_each_answer_is_right(run, kind):
    turns = Rotation.random(N, random_state=1)
    quaternions = turns.as_quat()
    file = {"npy": "a.npy", "npz": "a.npz", "weighted": "b.npz"}.get(kind, "a.csv")
    np.save("a.npy", quaternions)
    np.savez("a.npz", q=quaternions)
    np.savez("b.npz", q=quaternions, weights=np.ones(N))
    write("a.csv", "a,b,c,d" if kind == "named" else "", [quaternions])
    sentence = refused(run(file))
    sphere, last, first = options(sentence)
    on_sphere, turned = he.gess(quaternions, angle=30), he.gess(turns, angle=30)
    assert abs(on_sphere - turned) > 1
    assert gess_of(run(file, *sphere)) == pytest.approx(on_sphere, rel=1e-9)
    assert gess_of(run(file, *last)) == pytest.approx(turned, rel=1e-9)
    assert gess_of(run(file, *first)) == pytest.approx(turned, rel=1e-9)  # an isometry exchanges the coordinates
    assert first[1].split(",")[-1] in ("0", "a") or first[1] == "wxyz:q"


def test_rounded_nameless_quaternions_are_asked_about_after_they_are_scaled(run):
    turns = Rotation.random(N, random_state=1)
    write("a.csv", "", [turns.as_quat()], "%.3f")
    assert refused(run("a.csv")).endswith("if only the directions matter, add --normalize")
    _, last, _ = options(refused(run("a.csv", "--normalize")))
    assert gess_of(run("a.csv", "--normalize", *last)) == pytest.approx(he.gess(turns, angle=30), rel=1e-2)


def test_columns_that_were_chosen_are_asked_about_too_but_not_those_of_xyz(run, rng):
    quaternions = Rotation.random(N, random_state=1).as_quat()
    np.save("a.npy", np.column_stack([quaternions, rng.uniform(1, 2, N)]))
    advice = refused(run("a.npy"))
    assert "--columns 0:3 --weights 4" in advice
    assert "may be points of a sphere, or quaternions" in refused(run("a.npy", "--columns", "0:3", "--weights", "4"))
    truth = he.gess(quaternions, np.load("a.npy")[:, 4], angle=30)
    assert gess_of(run("a.npy", "--xyz", "0:3", "--weights", "4")) == pytest.approx(truth, rel=1e-9)


def test_arrays_keep_their_contract_and_embeddings_their_name():
    quaternions = Rotation.random(N, random_state=1).as_quat()
    assert he.Measure(quaternions).space == he.Sphere(3)
    assert he.Measure({"embedding": quaternions}).space == he.Sphere(3)
    for unnamed in ({"v": quaternions}, dict(zip("abcd", quaternions.T, strict=True))):
        with pytest.raises(he.InputError, match=r"may be points of a sphere, or quaternions.*heatess\.read\(frame"):
            he.Measure(unnamed)


def test_one_column_of_quaternions_has_an_order():
    turns = Rotation.random(N, random_state=1)
    last = he.read({"v": turns.as_quat()}, columns={"xyzw": "v"})
    first = he.read({"v": turns.as_quat(scalar_first=True)}, columns={"wxyz": "v"})
    np.testing.assert_array_equal(last.points, first.points)
    with pytest.raises(he.InputError, match="column v holds 3 numbers a row, but a quaternion has four"):
        he.read({"v": np.eye(3)}, columns={"wxyz": "v"})


def test_columns_named_as_a_quaternion_are_one():
    columns = dict(zip(("qw", "qx", "qy", "qz"), Rotation.random(N, random_state=1).as_quat().T, strict=True))
    assert he.read(columns, columns=("qw", "qx", "qy", "qz")).origin.columns == ("qx", "qy", "qz", "qw")


# Euler angles.


@pytest.mark.parametrize("convention", ["bunge", "relion", "ZYX", "xyz", "roll-pitch-yaw", "YXZ"])
@pytest.mark.parametrize("units", ["deg", "rad"])
def test_nameless_euler_angles_are_read_with_their_convention(run, convention, units):
    turns = Rotation.random(N, random_state=1)
    axes = {"bunge": "ZXZ", "relion": "ZYZ", "roll-pitch-yaw": "xyz"}.get(convention, convention)
    angles = turns.as_euler(axes, degrees=units == "deg")
    np.save("a.npy", angles)
    write("a.csv", "one,two,three", [angles])
    truth = he.gess(turns, angle=30)
    assert gess_of(run("a.npy", "--euler", convention, "--units", units)) == pytest.approx(truth, rel=1e-9)
    chosen = ("--columns", "one,two,three", "--euler", convention, "--units", units)
    assert gess_of(run("a.csv", *chosen)) == pytest.approx(truth, rel=1e-9)
    found = he.read("a.npy", euler=convention, units=units)
    np.testing.assert_allclose(he.Rotations().distance(found.points, turns.as_quat()), 0, atol=1e-14)
    words = " turning with the body" if axes.isupper() else " about fixed axes"
    words = ", from the image to the particle" if convention == "relion" else words
    assert f"({'degrees' if units == 'deg' else 'radians'}, {axes}{words})" in found.origin.description


def test_angles_of_a_turn_or_less_are_asked_for_their_unit(run):
    turns = Rotation.random(N, random_state=1)
    np.save("a.npy", turns.as_euler("ZXZ"))
    sentence = refused(run("a.npy", "--euler", "bunge"))
    assert "could be degrees or radians; add --units deg or --units rad" in sentence
    assert gess_of(run("a.npy", "--euler", "bunge", "--units", "rad")) == pytest.approx(he.gess(turns, angle=30))


def test_no_message_sends_euler_angles_to_a_torus(run):
    turns = Rotation.random(N, random_state=1)
    angles = turns.as_euler("ZXZ", degrees=True)
    np.save("a.npy", angles)
    write("a.csv", "yaw,pitch,roll", [angles])
    sentence = refused(run("a.npy"))
    assert sentence.index("--euler bunge or --euler ZYZ") < sentence.index("--space torus")
    assert "3 periodic angles that are no Euler angles" in sentence
    assert gess_of(run("a.npy", "--euler", "bunge", "--units", "deg")) == pytest.approx(he.gess(turns, angle=30))
    for words in ((), ("--columns", "yaw,pitch,roll"), ("--space", "rotations")):
        assert "torus" not in refused(run("a.csv", *words))
    asked = run("a.csv", "--space", "torus", "--columns", "yaw,pitch,roll")
    assert "may be Euler angles, which are no torus (--euler and their convention reads them as" in asked.stderr


def test_positions_beside_euler_angles_are_a_pose(run, rng):
    places, turns = rng.normal(size=(N, 3)), Rotation.random(N, random_state=1)
    write("a.csv", "x,y,z,roll,pitch,yaw", [places, turns.as_euler("ZYX", degrees=True)[:, ::-1]])
    sentence = refused(run("a.csv"))
    assert "columns roll, pitch, yaw" in sentence or "columns yaw, pitch, roll" in sentence
    assert sentence.endswith("columns x, y, z alone are --columns x,y,z")
    said = ("--euler", "yaw-pitch-roll")
    assert gess_of(run("a.csv", *said)) == pytest.approx(he.gess(turns, angle=30), rel=1e-9)
    truth = pose_gess(places, turns, 0.5, 0.1)
    for more in ((), ("--columns", "x,y,z,yaw,pitch,roll")):
        found = run("a.csv", *said, "--space", "pose:0.5", *more, scale=("--times", "0.1"))
        assert gess_of(found) == pytest.approx(truth, rel=1e-9)
    with pytest.raises(he.InputError, match="normalize=True is for vectors, but x, y, z, yaw, pitch, roll are not"):
        he.read("a.csv", euler="yaw-pitch-roll", space="pose:0.5", normalize=True)


def test_places_come_before_angles_that_stand_beside_them():
    columns = {"lon": [2.0, 40], "lat": [1.0, 60], "heading": [1.0, 2], "pitch": [0.0, 0], "roll": [0.0, 0]}
    found = he.read(columns)
    assert found.space == he.Sphere(2)
    assert "heading, pitch, roll left out (euler= and their convention reads them" in found.origin.description


def test_a_column_of_three_angles_is_asked_for_its_convention():
    turns = Rotation.random(N, random_state=1)
    angles = {"Euler": turns.as_euler("ZXZ")}
    with pytest.raises(he.InputError, match=r"columns Euler may be Euler angles.*euler='bunge'"):
        he.read(angles)
    assert he.gess(he.read(angles, euler="bunge", units="rad"), angle=30) == pytest.approx(he.gess(turns, angle=30))
    with pytest.raises(he.InputError, match="hold 4 numbers a row, but Euler angles are three"):
        he.read({"Euler": np.ones((2, 4))}, euler="bunge", units="rad")


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({"euler": "foo"}, "euler= must be one of relion, bunge, .* but is 'foo'"),
        ({"euler": "ZZX"}, "euler= must be one of"),
        ({"euler": "ZyX"}, "euler= must be one of"),
        ({"euler": "bunge", "space": "torus"}, "euler= is for rotations, which space='torus' is not"),
        ({"euler": "XYZ"}, "euler='XYZ' needs three columns, in the order of its angles; name them"),
        ({"euler": "XYZ", "columns": ("yaw", "roll")}, "needs three columns, not 2"),
        ({"euler": "XYZ", "columns": {"lon": "yaw", "lat": "roll"}}, "without roles"),
        ({"space": "rotations", "columns": ("yaw", "pitch", "roll")}, "three Euler angles add their convention"),
        ({"euler": "yaw-pitch-roll", "space": "pose:1"}, "no columns known to hold positions; name them before"),
    ],
)
def test_what_does_not_go_with_euler_angles_is_refused(arguments, match):
    angles = dict(zip(("yaw", "pitch", "roll"), np.full((3, 4), 100.0), strict=True))
    with pytest.raises(he.InputError, match=match):
        he.read(angles, **arguments)
