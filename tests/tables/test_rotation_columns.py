"""Rotations in columns of many names: matrices, quaternions, Euler angles; and what is asked about columns without."""

from __future__ import annotations

import re
import shlex

import numpy as np
import pytest
from click.testing import CliRunner
from scipy.spatial.transform import Rotation

import heatess as he
from heatess.cli import main

N = 40
TURNS = Rotation.from_quat(np.random.default_rng(0).normal(size=(N, 4)))
PLACES = np.random.default_rng(1).normal(0, 5, (N, 3))
TRUTH = he.gess(TURNS, angle=30)


def written(path, rows, names=(), digits=8):
    np.savetxt(path, rows, delimiter=",", header=",".join(names), comments="", fmt=f"%.{digits}f")
    return str(path)


def followed(message: str, path: str) -> list[he.Measure]:
    """What each of the arguments gives that a refusal on the command line advises."""
    options = re.findall(r"(--(?:lon|dec|space|normalize|columns|quat)[^;]*?)(?= for | if |, or |$| with )", message)
    found = []
    for words in options:
        out = CliRunner().invoke(main, ["inspect", path, *shlex.split(words.replace("pose:R", "pose:2"))])
        assert out.exit_code == 0, (words, out.stderr)
        found.append(out.stdout)
    return found


def entries(letter, base):
    return [f"{letter}{i + base}{j + base}" for i in range(3) for j in range(3)]


LISTED = [f"R[{i},{j}]" for i in range(3) for j in range(3)]


@pytest.mark.parametrize("names", [entries("r", 1), entries("R", 0), entries("m", 0), entries("rot_", 1), LISTED])
def test_nine_columns_of_a_matrix_are_rotations(tmp_path, names):
    import pandas as pd

    frame = pd.DataFrame(TURNS.as_matrix().reshape(N, 9), columns=names)[names[::-1]]
    path = tmp_path / "a.csv"
    frame.to_csv(path, index=False)
    found = he.read(path)
    assert "rotation matrices, row by row" in found.origin.description
    assert he.gess(found, angle=30) == pytest.approx(TRUTH, rel=1e-9)
    quaternions = TURNS.as_quat(canonical=True)
    assert np.abs(np.abs(np.sum(found.points * quaternions, axis=1)) - 1).max() < 1e-7


def test_columns_with_such_names_that_are_no_rotations_are_not_read(tmp_path):
    rows = np.random.default_rng(0).normal(size=(N, 9))
    with pytest.raises(he.InputError, match="no columns known to hold points"):
        he.read(written(tmp_path / "a.csv", rows, entries("r", 1)))
    rows = TURNS.as_matrix().reshape(N, 9).copy()
    rows[7] *= -1  # a reflection
    path = written(tmp_path / "b.csv", rows, entries("r", 1))
    with pytest.raises(he.InputError, match=r"b.csv line 9: columns .* are no rotation matrix .*1 of 40 rows"):
        he.read(path)


@pytest.mark.parametrize("width", [9, 12, 16])
def test_matrices_without_names_are_read_as_the_message_says(tmp_path, width):
    poses = np.zeros((N, 4, 4))
    poses[:, :3, :3], poses[:, :3, 3], poses[:, 3, 3] = TURNS.as_matrix(), PLACES, 1
    rows = {9: poses[:, :3, :3], 12: poses[:, :3], 16: poses}[width].reshape(N, width)
    np.save(tmp_path / "a.npy", rows)
    other = written(tmp_path / "b.csv", rows, [f"c{'abcdefghijklmnop'[k]}" for k in range(width)])
    for path in (tmp_path / "a.npy", other):
        with pytest.raises(he.InputError, match="these are rotation matrices, row by row; say") as asked:
            he.read(path)
        [turned, *rest] = asked.value.remedies
        assert he.gess(he.read(path, **turned), angle=30) == pytest.approx(TRUTH, rel=1e-6)
        command = CliRunner().invoke(main, ["inspect", str(path)])
        assert len(followed(command.stderr, str(path))) == (1 if width == 9 else 2)
        if width > 9:
            posed = he.read(path, **(rest[0] | {"space": "pose:2"}))
            assert np.allclose(posed.points[:, :3], PLACES, atol=1e-6)
            truth = he.gess((PLACES, TURNS), space=posed.space, time=0.3)
            assert he.gess(posed, time=0.3) == pytest.approx(truth, rel=1e-5)


def test_a_quaternion_called_rw_rx_ry_rz_is_known(tmp_path):
    path = written(tmp_path / "a.csv", TURNS.as_quat()[:, [3, 0, 1, 2]], ["rw", "rx", "ry", "rz"])
    assert he.gess(he.read(path), angle=30) == pytest.approx(TRUTH, rel=1e-6)


def test_angles_of_vehicles_with_a_word_before_them_are_asked_about(tmp_path):
    angles = TURNS.as_euler("ZYX", degrees=True)[:, ::-1]
    path = written(tmp_path / "a.csv", angles, ["imu.roll", "imu.pitch", "imu.yaw"], 10)
    with pytest.raises(he.InputError, match="may be Euler angles") as asked:
        he.read(path)
    found = he.read(path, **(asked.value.remedies[0] | {"units": "deg"}))
    assert he.gess(found, angle=30) == pytest.approx(TRUTH, rel=1e-7)


def test_many_columns_without_names_are_asked_about(tmp_path):
    for width in (6, 8, 9, 300):
        path = written(tmp_path / "a.csv", np.random.default_rng(0).normal(0, 2, (N, width)))
        out = CliRunner().invoke(main, ["inspect", path])
        assert "--normalize for embeddings" in out.stderr
        assert "--space euclidean for measurements" in out.stderr
        assert len(followed(out.stderr, path)) >= 2


def test_four_columns_without_names_are_asked_about_with_all_that_they_may_be(tmp_path):
    rng = np.random.default_rng(0)
    lon, lat = rng.uniform(0, 360, N), rng.uniform(-80, 80, N)
    pairs = ("--dec 0 --inc 1", "--lon 0 --lat 1", "--lon 2 --lat 3", "--space torus")
    cases = {
        "core": (np.c_[lon, lat, lon[::-1], abs(lat)], pairs),
        "track": (np.c_[10.0 * np.arange(N), lon - 180, lat, 4e3 + lon], ("--lon 1 --lat 2", "--space euclidean")),
    }
    for name, (rows, wanted) in cases.items():
        path = written(tmp_path / f"{name}.csv", rows, digits=3)
        out = CliRunner().invoke(main, ["inspect", path])
        assert all(words in out.stderr for words in wanted)
        assert len(followed(out.stderr, path)) >= len(wanted)
    found = he.read(tmp_path / "core.csv", columns={"dec": "0", "inc": "1"}, units="deg")
    assert np.allclose(found.points, he.from_decinc(lon, lat, units="deg"), atol=1e-4)
    with pytest.raises(he.InputError) as asked:
        he.read(tmp_path / "track.csv")
    found = he.read(tmp_path / "track.csv", **asked.value.remedies[0])
    assert np.allclose(found.points, he.from_lonlat(lon - 180, lat, units="deg"), atol=1e-4)
