"""`heatess accumulate` and `heatess merge`: one state file per shard, whole or untouched."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

import heatess as he
from heatess.base.progress import Progress
from heatess.cli import main, profile_commands
from heatess.measures.scales import DEFAULT_ANGLES, times_of_angles
from heatess.parts.accumulator import degree_for
from heatess.tables.points_and_weights import take

DEFAULT_DEGREE = degree_for(he.Sphere(2), float(times_of_angles(5.0)))

COMMAND = [sys.executable, "-c", "from heatess.cli import main; main()"]


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def call(*words: str) -> Result:
        return CliRunner().invoke(main, words)

    return call


@pytest.fixture(scope="module")
def cloud():
    points = he.samplers.von_mises_fisher(900, [0.6, 0, 0.8], 5.0, rng=3)
    return points, 1e4 + np.random.default_rng(4).normal(size=900)


@pytest.fixture
def shards(tmp_path, cloud):
    """The same cloud as an array, a table and a Parquet file, a third each."""
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    points, logs = cloud
    np.save(tmp_path / "a.npy", points[:300])
    np.save(tmp_path / "a-logw.npy", logs[:300])
    rows = np.column_stack([points, logs])[300:600].tolist()
    (tmp_path / "b.csv").write_text("x,y,z,logw\n" + "\n".join(",".join(map(repr, row)) for row in rows) + "\n")
    columns = {name: points[600:, index] for index, name in enumerate("xyz")}
    parquet.write_table(pa.table({**columns, "logw": logs[600:]}), tmp_path / "c.parquet", row_group_size=70)
    return ["a.npy", "b.csv", "c.parquet"]


def done(result: Result) -> Result:
    assert result.exit_code == 0, result.output
    return result


def refused(result: Result, code: int, *parts: str) -> None:
    assert result.exit_code == code, result.output
    assert result.stdout == ""
    sentence = result.stderr.strip().splitlines()[-1]
    assert sentence.startswith("heatess: ")
    for part in parts:
        assert part in sentence, sentence


def accumulated(run, shards, *more: str) -> list[str]:
    done(run("accumulate", shards[0], "--log-weights", "a-logw.npy", "-o", "a.npz", *more))
    done(run("accumulate", shards[1], "-o", "b.npz", *more))
    done(run("accumulate", shards[2], "-o", "c.npz", *more))
    return ["a.npz", "b.npz", "c.npz"]


# One state file per shard.


def test_states_of_shards_merge_to_the_profile_of_the_whole(run, shards, cloud):
    points, logs = cloud
    states = accumulated(run, shards)
    found = json.loads(done(run("merge", *states, "--json", "-")).stdout)
    expected = he.heat_profile(points, log_weights=logs, angles=DEFAULT_ANGLES)
    for name in ("times", "angles", "gess", "volume", "mmd2", "divergence"):
        np.testing.assert_allclose(found[name], getattr(expected, name), rtol=1e-10)
    assert found["n"] == 900
    assert found["ess"] == pytest.approx(expected.ess, rel=1e-10)
    assert found["method"] == "spectral"


def test_merging_prints_saves_and_draws_like_profile(run, shards, cloud):
    points, logs = cloud
    states = accumulated(run, shards)
    result = done(run("merge", *states, "--angles", "10,40", "--csv", "out.csv", "-o", "all.npz"))
    gess = he.heat_profile(points, log_weights=logs, angles=[10]).gess[0]
    assert f"At 10 deg they count as {gess:.3g} separate ones" in result.stdout
    assert f"wrote all.npz: 900 points on Sphere(2), degrees up to {DEFAULT_DEGREE}" in result.stderr
    assert len(Path("out.csv").read_text().splitlines()) == 3
    assert done(run("merge", "all.npz", "--times", "0.1", "--csv", "-")).stdout.startswith("times,angles")
    assert run("merge", "all.npz", "-q", "--fail-under", "gess@20deg=5").exit_code == 0
    assert run("merge", "all.npz", "-q", "--fail-under", "gess@20deg=500").exit_code == 4
    assert run("merge", "all.npz", "-q", "--angles", "90", "--fail-under", "gess@20deg=500").exit_code == 4
    refused(run("merge", "all.npz", "--fail-under", "gess@20=5"), 2, "add the unit")
    pytest.importorskip("matplotlib")
    done(run("merge", "all.npz", "--plot", "all.png"))
    assert Path("all.png").read_bytes().startswith(b"\x89PNG")


def test_merging_into_a_file_only_merges(run, shards):
    states = accumulated(run, shards, "--max-degree", "12")
    result = done(run("merge", *states, "-o", "all.npz"))
    assert result.stdout == ""
    assert he.Accumulator.load("all.npz").n == 900
    refused(
        run("merge", "all.npz"), 2, "--max-degree 12 certifies", "at angle 5 degrees", "accumulate with --max-degree "
    )
    assert done(run("merge", "all.npz", "--angles", "90", "-q")).stdout


def test_several_shards_go_into_one_state(run, shards, cloud):
    points, _ = cloud
    done(run("accumulate", *shards, "--weights", "none", "-o", "all.npz", "--finest", "10"))
    state = he.Accumulator.load("all.npz")
    np.testing.assert_allclose(state.profile(angles=[10]).gess, he.heat_profile(points, angles=[10]).gess, rtol=1e-10)
    with pytest.raises(he.PrecisionError):
        state.profile(angles=[5])


def test_shards_are_appended_one_after_the_other(run, shards, cloud):
    points, logs = cloud
    done(run("accumulate", shards[0], "--log-weights", "a-logw.npy", "-o", "all.npz", "--append"))
    done(run("accumulate", shards[1], "-o", "all.npz", "--append", "--finest", "5"))
    done(run("accumulate", shards[2], "-o", "all.npz", "--append", "--max-degree", str(DEFAULT_DEGREE), "-v"))
    found = he.Accumulator.load("all.npz").profile()
    np.testing.assert_allclose(
        found.gess, he.heat_profile(points, log_weights=logs, angles=DEFAULT_ANGLES).gess, rtol=1e-10
    )
    finer = run("accumulate", "b.csv", "-o", "all.npz", "--append", "--finest", "1")
    refused(finer, 2, f"has degrees up to {DEFAULT_DEGREE}, not")


def test_files_are_read_piece_by_piece(run, shards, cloud, monkeypatch):
    points, logs = cloud
    pieces = []

    def small(table, reading, rows):
        for piece in take(table, reading, 64):
            pieces.append((Path(table.source).name, len(piece.points), piece.done))
            yield piece

    monkeypatch.setattr(profile_commands, "take", small)
    states = accumulated(run, shards)
    found = json.loads(done(run("merge", *states, "--json", "-")).stdout)
    np.testing.assert_allclose(
        found["gess"], he.heat_profile(points, log_weights=logs, angles=DEFAULT_ANGLES).gess, rtol=1e-10
    )
    for name in shards:
        sizes, share = zip(*((size, share) for file, size, share in pieces if file == name), strict=True)
        assert sum(sizes) == 300
        assert max(sizes) <= 64
        assert list(share) == sorted(share)
        assert share[-1] == pytest.approx(1)


def test_weights_in_a_file_of_their_own_are_cut_with_the_points(run, shards, cloud, monkeypatch):
    points, logs = cloud
    monkeypatch.setattr(profile_commands, "ROWS_OF_A_SHARD", 64)
    done(run("accumulate", "a.npy", "--log-weights", "a-logw.npy", "-o", "s.npz"))
    expected = he.heat_profile(points[:300], log_weights=logs[:300], angles=[20])
    np.testing.assert_allclose(he.Accumulator.load("s.npz").profile(angles=[20]).gess, expected.gess, rtol=1e-10)
    for count in (299, 256, 301, 400):
        np.save("other.npy", np.ones(count))
        result = run("accumulate", "a.npy", "--weights", "other.npy", "-o", "t.npz")
        refused(result, 3, f"other.npy holds {count} numbers, but a.npy another number of points")
        assert not Path("t.npz").exists()


def test_a_bar_is_shown_on_a_terminal_only(run, shards, monkeypatch):
    assert "accumulate" not in done(run("accumulate", *shards, "--weights", "none", "-o", "a.npz")).stderr
    steps = []

    class Bar:
        def __init__(self, length):
            self.length = length

        def __enter__(self):
            return self

        def __exit__(self, *rest):
            pass

        def update(self, count):
            steps.append(count)

    monkeypatch.setattr("click.progressbar", lambda length, **rest: Bar(length))
    bar = Progress(False)
    bar.shown = True
    monkeypatch.setattr(profile_commands, "Progress", lambda shown: bar)
    done(run("accumulate", *shards, "--weights", "none", "-o", "b.npz"))
    assert sum(steps) == sum(Path(shard).stat().st_size for shard in shards)


def test_shards_without_weight_are_kept_for_merging(run, tmp_path):
    (tmp_path / "zero.csv").write_text("x,y,z,w\n1,0,0,0\n0,1,0,0\n")
    (tmp_path / "one.csv").write_text("x,y,z,w\n0,0,1,1\n0,1,0,1\n")
    for name in ("zero", "one"):
        done(run("accumulate", f"{name}.csv", "-o", f"{name}.npz"))
    refused(run("merge", "zero.npz"), 3, "weights of all 2 points are zero")
    found = json.loads(done(run("merge", "zero.npz", "one.npz", "--json", "-")).stdout)
    assert (found["n"], found["ess"]) == (4, 2)


# What is refused.


@pytest.mark.parametrize(
    ("words", "code", "parts"),
    [
        (["accumulate", "b.csv"], 2, ["Missing option", "--out"]),
        (["accumulate", "-o", "s.npz"], 2, ["Missing argument 'SHARD...'"]),
        (["accumulate", "b.csv", "-o", "s.npy"], 2, ["does not end in .npz"]),
        (["accumulate", "b.csv", "-o", "no/s.npz"], 2, ["there is no directory"]),
        (["accumulate", "b.csv", "-o", "old.npz"], 2, ["old.npz exists", "--append", "--force"]),
        (["accumulate", "b.csv", "-o", "old.npz", "--append", "--force"], 2, ["--force and --append"]),
        (
            ["accumulate", "b.csv", "-o", "s.npz", "--finest", "5", "--max-degree", "9"],
            2,
            ["--max-degree and --finest"],
        ),
        (["accumulate", "b.csv", "-o", "s.npz", "--finest", "0"], 2, ["--finest"]),
        (
            ["accumulate", "b.csv", "-o", "s.npz", "--finest", "0.01"],
            2,
            ["too fine", "--max-degree", "use heatess profile"],
        ),
        (["accumulate", "b.csv", "-o", "s.npz", "--max-degree", "1"], 2, ["--max-degree"]),
        (["accumulate", "b.csv", "-o", "s.npz", "--max-degree", "9999"], 3, ["b.csv: --max-degree is 9999", "4095"]),
        (["accumulate", "b.csv", "./b.csv", "-o", "s.npz"], 2, ["./b.csv is given twice"]),
        (
            ["accumulate", "a.npy", "flat.npy", "-o", "s.npz", "--weights", "w.npy"],
            2,
            ["cannot belong to 2 .npy shards"],
        ),
        (["accumulate", "b.csv", "nosuch.csv", "-o", "s.npz"], 3, ["nosuch.csv does not exist"]),
        (["accumulate", "a.npy", "flat.npy", "-o", "s.npz"], 3, ["flat.npy: points on Sphere(2)", "(n, 3)"]),
        (["accumulate", "high.npy", "-o", "s.npz"], 3, ["high.npy: Sphere(4) has no fast transform"]),
        (["accumulate", "small.csv", "-o", "s.npz"], 3, ["small.csv", "degrees or radians", "--units"]),
        (["accumulate", "b.csv", "-o", "broken.npz", "--append"], 3, ["broken.npz is not a whole accumulator file"]),
        (["merge"], 2, ["Missing argument 'STATE...'"]),
        (["merge", "old.npz", "nosuch.npz"], 3, ["nosuch.npz does not exist"]),
        (["merge", "old.npz", "broken.npz"], 3, ["broken.npz is not a whole accumulator file"]),
        (["merge", "old.npz", "old.npz"], 2, ["old.npz is given twice and would be counted twice"]),
        (["merge", "old.npz", "other.npz"], 3, ["other.npz: accumulators with different --max-degree"]),
        (["merge", "old.npz", "circle.npz"], 3, ["circle.npz: accumulators with different space"]),
        (["merge", "old.npz", "-o", "old.npz", "--force"], 2, ["old.npz is the input file"]),
        (["merge", "old.npz", "-o", "other.npz"], 2, ["other.npz exists; add --force"]),
        (["merge", "old.npz", "--angles", "5", "--times", "1"], 2, ["--angles and --times"]),
        (["merge", "old.npz", "--angles", "1"], 2, ["--max-degree 40 certifies"]),
    ],
)
def test_what_cannot_be_done_is_refused_in_one_sentence(run, shards, words, code, parts):
    np.save("flat.npy", np.eye(2))
    np.save("high.npy", np.eye(5))
    Path("small.csv").write_text("lon,lat\n1,1\n2,0.5\n")
    Path("broken.npz").write_bytes(b"PK\x03\x04")
    he.Accumulator(max_degree=40).add(np.eye(3)).save("old.npz")
    he.Accumulator(max_degree=41).add(np.eye(3)).save("other.npz")
    he.Accumulator(max_degree=40).add(np.eye(2)).save("circle.npz")
    before = {path.name: path.read_bytes() for path in Path().iterdir()}
    refused(run(*words), code, *parts)
    assert {path.name: path.read_bytes() for path in Path().iterdir()} == before


def test_a_bad_row_late_in_a_shard_leaves_the_old_state(run, tmp_path):
    he.Accumulator(max_degree=40).add(np.eye(3)).save(tmp_path / "s.npz")
    old = (tmp_path / "s.npz").read_bytes()
    (tmp_path / "bad.csv").write_text("x,y,z\n" + "1,0,0\n" * 50 + "2,0,0\n")
    refused(run("accumulate", "bad.csv", "-o", "s.npz", "--append"), 3, "bad.csv line 52", "length 2")
    refused(run("accumulate", "bad.csv", "-o", "s.npz", "--force"), 3, "bad.csv line 52")
    assert (tmp_path / "s.npz").read_bytes() == old


def test_a_full_disk_leaves_the_old_state(run, tmp_path, monkeypatch):
    he.Accumulator(max_degree=40).add(np.eye(3)).save(tmp_path / "s.npz")
    (tmp_path / "a.csv").write_text("x,y,z\n1,0,0\n")

    def full(stream, **content):
        stream.write(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez", full)
    refused(run("accumulate", "a.csv", "-o", "s.npz", "--append"), 1, "cannot write s.npz: No space left on device")
    assert he.Accumulator.load(tmp_path / "s.npz").n == 3
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.csv", "s.npz"]


def test_profile_reads_parquet_too(run, shards, cloud):
    points, logs = cloud
    found = json.loads(done(run("profile", "c.parquet", "--json", "-")).stdout)
    np.testing.assert_allclose(found["gess"], he.heat_profile(points[600:], log_weights=logs[600:]).gess, rtol=1e-9)


# Interrupted at any moment.


def _draft(folder: Path) -> bool:
    return any(path.name.startswith(".state-") for path in folder.iterdir())


@pytest.mark.slow
def test_killed_at_any_moment_the_state_is_the_old_one_or_the_new_one(tmp_path):
    """Killed at random moments of the run and, every other time, of the writing of the new file."""
    points = he.samplers.uniform(200_000, rng=1)
    np.save(tmp_path / "points.npy", points.astype(np.float32))
    state = tmp_path / "state.npz"
    command = [*COMMAND, "accumulate", "points.npy", "-o", "state.npz", "--append", "--max-degree", "1200", "-q"]
    start = time.monotonic()
    subprocess.run(command, cwd=tmp_path, check=True)
    lasting = time.monotonic() - start
    once = he.Accumulator.load(state).profile(angles=[1]).gess
    moments = random.Random(7)
    counts = [he.Accumulator.load(state).n]
    half_written = 0
    for attempt in range(20):
        process = subprocess.Popen(command, cwd=tmp_path)
        if attempt % 2:
            while process.poll() is None and not _draft(tmp_path):
                time.sleep(0.0005)
            time.sleep(moments.uniform(0, 0.03))
        else:
            time.sleep(moments.uniform(0.3, 1.1) * lasting)
        process.send_signal(signal.SIGKILL)
        process.wait()
        found = he.Accumulator.load(state)
        assert found.n - counts[-1] in (0, len(points))
        np.testing.assert_allclose(found.profile(angles=[1]).gess, once, rtol=1e-9)
        counts.append(found.n)
        for draft in tmp_path.glob(".state-*"):
            half_written += 1
            draft.unlink()
    assert half_written >= 1, "no attempt was killed while writing"
    subprocess.run(command, cwd=tmp_path, check=True)
    assert he.Accumulator.load(state).n == counts[-1] + len(points)


@pytest.mark.slow
def test_interrupted_by_the_keyboard_the_old_state_stays(tmp_path):
    he.Accumulator(max_degree=200).add(np.eye(3)).save(tmp_path / "state.npz")
    old = (tmp_path / "state.npz").read_bytes()
    (tmp_path / "endless.csv").write_text("x,y,z\n" + "1,0,0\n" * 3_000_000)
    command = [*COMMAND, "accumulate", "endless.csv", "-o", "state.npz", "--append"]
    process = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.DEVNULL)
    time.sleep(0.7)
    process.send_signal(signal.SIGINT)
    process.wait(timeout=60)
    if (tmp_path / "state.npz").read_bytes() != old:  # the signal came when all was done
        assert he.Accumulator.load(tmp_path / "state.npz").n == 3_000_003
    assert sorted(path.name for path in tmp_path.iterdir()) == ["endless.csv", "state.npz"]
