"""Rows of several frames of one molecule are known for what they are, whatever their columns are called."""

from __future__ import annotations

import numpy as np
import pytest
from click.testing import CliRunner

import heatess as he
from heatess.cli import main

FRAMES, RESIDUES = 12, 40


def torsions(rng: np.random.Generator) -> np.ndarray:
    """Angles of each residue that wander about their own place from frame to frame: (frames, residues, 2), degrees."""
    places = rng.uniform(-150, 150, (1, RESIDUES, 2))
    return places + rng.normal(0, 10, (FRAMES, RESIDUES, 2))


def written(path, names, columns, order=None):
    rows = np.column_stack(columns)
    np.savetxt(path, rows if order is None else rows[order], delimiter=",", header=names, comments="", fmt="%.4f")
    return str(path)


def cases(folder):
    rng = np.random.default_rng(0)
    angles = torsions(rng).reshape(-1, 2)
    frame, residue = np.repeat(np.arange(FRAMES), RESIDUES), np.tile(np.arange(RESIDUES), FRAMES)
    by_residue, mixed = np.argsort(residue, kind="stable"), rng.permutation(len(angles))
    for name in ("frame", "Frame", "frame_index", "time_ps", "Time (ps)", "model", "snapshot"):
        yield (
            written(folder / "a.csv", f"{name},phi,psi", [frame, angles]),
            f"column {'model has 40 rows for' if name == 'model' else f'{name} runs on'}",
        )
    yield written(folder / "b.csv", "frame,phi,psi", [frame, angles], by_residue), "trajectories, 40 in the first 480"
    yield written(folder / "c.csv", "frame,phi,psi", [frame, angles], mixed), "column frame has 40 rows for each"
    yield written(folder / "d.csv", "frame,phi,psi", [frame, angles], mixed[:300]), "has several rows for each"
    yield written(folder / "e.csv", "resid,phi,psi", [residue, angles]), "column resid has 12 rows for each"
    yield written(folder / "f.csv", "frame,phi,psi", [frame[:80], angles[:80]]), "40 rows for each of its 2 values"
    yield written(folder / "g.csv", "phi,psi", [angles]), "frames of 40 rows each"


def test_frames_of_a_molecule_in_one_table_have_no_p_value_unless_they_are_called_draws(tmp_path):
    for path, why in cases(tmp_path):
        with pytest.raises(he.KindError) as found:
            he.uniformity_test(he.read(path, units="deg"))
        assert why in str(found.value)
        assert "say kind='draws'" in str(found.value)
        assert "kind='trajectory'" in str(found.value)
        with pytest.raises(he.KindError, match="points are a trajectory"):
            he.uniformity_test(he.read(path, units="deg", kind="trajectory"))
        path_of = he.read(path, units="deg", kind="trajectory")
        assert he.compare(path_of, path_of, angles=[30]).test is None
        assert he.uniformity_test(he.read(path, units="deg", kind="draws"), draws=19).pvalue <= 1


def test_rows_at_random_and_times_of_their_own_are_not_asked_about(tmp_path):
    rng = np.random.default_rng(1)
    angles = rng.uniform(-180, 180, (400, 2))
    for name, column in {"resid": rng.integers(0, 90, 400), "time": rng.permutation(400), "site": np.ones(400)}.items():
        found = he.read(written(tmp_path / "a.csv", f"{name},phi,psi", [column, angles]), units="deg")
        assert not found.known.doubt
        assert he.uniformity_test(found, draws=19).pvalue > 0.01


def test_the_same_on_the_command_line(tmp_path):
    for path, why in cases(tmp_path):
        asked = CliRunner().invoke(main, ["test", path, "--units", "deg"])
        assert asked.exit_code
        assert why in asked.stderr
        assert "--kind trajectory" in asked.stderr
        told = CliRunner().invoke(main, ["profile", path, "--units", "deg", "--kind", "trajectory", "--angles", "30"])
        assert told.exit_code == 0, told.stderr
