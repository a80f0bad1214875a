"""No file is ever lost, and no state file that was changed is ever believed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

import heatess as he
from heatess.base import files
from heatess.cli import main
from heatess.spaces.base import Space


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    points = he.samplers.uniform(40, rng=1)
    np.save("good.npy", points)
    np.save("w.npy", np.arange(1.0, 41.0))
    he.Accumulator(max_degree=40).add(points).save("state.npz")
    Path("sub").mkdir()

    def call(*words: str) -> Result:
        return CliRunner().invoke(main, words)

    return call


def contents() -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(Path().rglob("*")) if path.is_file()}


LINKS = {"symbolic": os.symlink, "hard": os.link}

#: A command, its output by the name OUT, and the input that must survive.
COMMANDS = [
    (["accumulate", "good.npy", "-o", "OUT.npz", "--force"], "good.npy"),
    (["accumulate", "good.npy", "-o", "OUT.npz", "--append"], "good.npy"),
    (["accumulate", "good.npy", "--weights", "w.npy", "-o", "OUT.npz", "--force"], "w.npy"),
    (["accumulate", "good.npy", "--log-weights", "w.npy", "-o", "OUT.npz", "--force"], "w.npy"),
    (["profile", "good.npy", "--json", "OUT.json"], "good.npy"),
    (["profile", "good.npy", "--csv", "OUT.csv"], "good.npy"),
    (["profile", "good.npy", "--plot", "OUT.png"], "good.npy"),
    (["profile", "good.npy", "--weights", "w.npy", "--json", "OUT.json"], "w.npy"),
    (["profile", "good.npy", "--log-weights", "w.npy", "--csv", "OUT.csv"], "w.npy"),
    (["merge", "state.npz", "-o", "OUT.npz", "--force"], "state.npz"),
    (["merge", "state.npz", "--angles", "20", "--json", "OUT.json"], "state.npz"),
    (["merge", "state.npz", "--angles", "20", "--csv", "OUT.csv"], "state.npz"),
]


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize(
    ("words", "source"), COMMANDS, ids=lambda part: " ".join(part) if isinstance(part, list) else ""
)
def test_an_output_that_is_an_input_by_a_link_is_refused_and_nothing_changes(run, words, source, link):
    name = next(word for word in words if word.startswith("OUT"))
    LINKS[link](source, name)
    before = contents()
    result = run(*words)
    assert result.exit_code == 2, result.output
    assert f"{name} is the input file {source} under another name" in result.stderr
    assert contents() == before


@pytest.mark.parametrize("name", ["./state.npz", "sub/../state.npz", "sub/link/state.npz"])
def test_other_ways_to_write_a_path_are_seen_through(run, name):
    os.symlink("..", "sub/link")
    before = contents()
    result = run("merge", "state.npz", "-o", name, "--force")
    assert (result.exit_code, contents()) == (2, before)
    assert "is the input file" in result.stderr


def test_two_outputs_never_go_to_one_file(run):
    os.symlink("sub/later.txt", "a.json")
    os.symlink("later.txt", "sub/b.csv")
    result = run("profile", "good.npy", "--json", "a.json", "--csv", "sub/b.csv")
    assert result.exit_code == 2
    assert "two outputs go to the same place" in result.stderr
    assert not Path("sub/later.txt").exists()
    assert "two outputs" in run("profile", "good.npy", "--json", "-", "--csv", "-").stderr


def test_names_that_differ_in_case_alone_are_one_file_until_the_disk_says_otherwise(tmp_path):
    assert files.same_file(tmp_path / "Out.csv", tmp_path / "out.CSV")
    (tmp_path / "Out.csv").write_text("")
    (tmp_path / "out.CSV").write_text("")
    insensitive = len(list(tmp_path.iterdir())) == 1
    assert files.same_file(tmp_path / "Out.csv", tmp_path / "out.CSV") == insensitive


def test_a_symbolic_link_is_written_through_and_stays_and_a_hard_link_keeps_the_old_content(run):
    os.symlink("sub/real.json", "link.json")
    Path("sub/real.json").write_text("old")
    os.link("sub/real.json", "other.json")
    assert "link.json exists; add --force" in run("profile", "good.npy", "--json", "link.json").stderr
    assert run("profile", "good.npy", "--json", "link.json", "--force").exit_code == 0
    assert Path("link.json").is_symlink()
    assert Path("sub/real.json").read_text().startswith('{"schema"')
    assert Path("other.json").read_text() == "old"


def test_a_loop_of_links_is_refused(run):
    os.symlink("b.json", "a.json")
    os.symlink("a.json", "b.json")
    result = run("profile", "good.npy", "--json", "a.json")
    assert result.exit_code == 2
    assert "cannot write" in result.stderr


def test_saving_replaces_states_and_no_other_files(run):
    state = he.Accumulator(max_degree=10).add(np.eye(3))
    before = contents()
    for name in ("good.npy", "w.npy"):
        with pytest.raises(he.InputError, match=f"{name} exists and is not an accumulator file; .*remove it first"):
            state.save(name)
    os.symlink("good.npy", "link.npz")
    with pytest.raises(he.InputError, match="is not an accumulator file"):
        state.save("link.npz")
    np.savez("data.npz", points=np.eye(3))
    with pytest.raises(he.InputError, match="is not an accumulator file"):
        state.save("data.npz")
    assert {name: data for name, data in contents().items() if name in before} == before
    state.save("state.npz")
    assert he.Accumulator.load("state.npz").n == 3
    Path("empty.npz").touch()
    state.save("empty.npz")
    assert he.Accumulator.load("empty.npz").n == 3


@pytest.mark.parametrize("path", ["sub", "no/such.npz", "bad\0name.npz", 5, None, b"state.npz"])
def test_places_that_are_no_place_for_a_state_are_refused(run, path):
    state = he.Accumulator(max_degree=10).add(np.eye(3))
    with pytest.raises(he.InputError):
        state.save(path)
    if path != b"state.npz":
        with pytest.raises(he.InputError):
            he.Accumulator.load(path)


# The same data twice.


@pytest.mark.parametrize("link", LINKS)
def test_one_state_under_two_names_is_counted_once_or_refused(run, link):
    LINKS[link]("state.npz", "twin.npz")
    result = run("merge", "state.npz", "twin.npz", "--angles", "20")
    assert result.exit_code == 2
    assert "twin.npz is given twice and would be counted twice (it is the same file as state.npz)" in result.stderr
    LINKS[link]("good.npy", "twin.npy")
    result = run("accumulate", "good.npy", "twin.npy", "-o", "new.npz")
    assert result.exit_code == 2
    assert "given twice" in result.stderr


def test_a_copy_of_a_state_is_merged_with_a_warning(run):
    Path("copy.npz").write_bytes(Path("state.npz").read_bytes())
    he.Accumulator(max_degree=40).add(np.eye(3)).save("other.npz")
    result = run("merge", "state.npz", "other.npz", "copy.npz", "--angles", "20")
    assert result.exit_code == 0
    assert "state.npz and copy.npz hold exactly the same state" in result.stderr
    assert "83 points" in result.stdout
    assert "same state" not in run("merge", "state.npz", "other.npz", "--angles", "20").stderr


def test_parquet_files_given_twice_are_refused(tmp_path):
    pa = pytest.importorskip("pyarrow")
    pytest.importorskip("dask")
    from pyarrow import parquet

    from heatess.distributed import profile_parquet

    parquet.write_table(
        pa.table({name: np.eye(3)[:, place] for place, name in enumerate("xyz")}), tmp_path / "a.parquet"
    )
    os.link(tmp_path / "a.parquet", tmp_path / "b.parquet")
    for paths in (tmp_path, [tmp_path / "a.parquet"] * 2, str(tmp_path / "*.parquet")):
        with pytest.raises(he.InputError, match="are the same file, which would be counted twice; leave one out"):
            profile_parquet(paths)


def test_overwriting_a_file_that_is_no_state_is_refused_before_anything_is_read(run):
    np.savez("data.npz", points=np.eye(3))
    before = contents()
    for words in (["accumulate", "good.npy"], ["merge", "state.npz"]):
        result = run(*words, "-o", "data.npz", "--force")
        assert result.exit_code == 2
        assert "data.npz exists and is not an accumulator file" in result.stderr
    assert contents() == before


# Drafts of killed processes.


WRITER = """
import sys, time
from heatess.base.files import atomic_path
with atomic_path("state.npz") as draft:
    draft.write_bytes(b"half")
    print("ready", flush=True)
    time.sleep(60)
"""


def drafts() -> list[Path]:
    return sorted(Path().glob(".state-heatess-*"))


def test_the_draft_of_a_killed_process_is_removed_by_the_next_writer_and_that_of_a_living_one_is_not(run):
    old = Path("state.npz").read_bytes()
    writers = [subprocess.Popen([sys.executable, "-c", WRITER], stdout=subprocess.PIPE) for _ in range(2)]
    for writer in writers:
        assert writer.stdout.readline() == b"ready\n"
    assert len(drafts()) == 2
    dead, alive = writers
    dead.send_signal(signal.SIGKILL)
    dead.communicate()
    assert Path("state.npz").read_bytes() == old
    state = he.Accumulator(max_degree=40).add(np.eye(3))
    state.save("state.npz")  # at once: too young to be sure
    assert len(drafts()) == 2
    for draft in drafts():
        os.utime(draft, (time.time() - 2 * files.STALE_HERE,) * 2)
    Path(".state-notes.npz").write_text("not a draft")
    Path(".states-heatess-00000000-1-00000000.npz").write_text("of another file")
    state.save("state.npz")
    assert [f"-{alive.pid}-" in draft.name for draft in drafts()] == [True]
    assert Path(".state-notes.npz").exists()
    assert Path(".states-heatess-00000000-1-00000000.npz").exists()
    alive.kill()
    alive.communicate()


def test_the_draft_of_another_machine_is_left_alone_for_a_day(run):
    foreign = Path(".state-heatess-00000000-1-00000000.npz")
    foreign.write_bytes(b"half")
    state = he.Accumulator(max_degree=40).add(np.eye(3))
    os.utime(foreign, (time.time() - 3600,) * 2)
    state.save("state.npz")
    assert foreign.exists()
    os.utime(foreign, (time.time() - 2 * files.STALE_ELSEWHERE,) * 2)
    state.save("state.npz")
    assert not foreign.exists()


def test_the_longest_of_names_has_a_draft(tmp_path):
    path = tmp_path / ("ö" * 120 + ".npz")
    he.Accumulator(max_degree=10).add(np.eye(3)).save(path)
    assert he.Accumulator.load(path).n == 3
    assert list(tmp_path.iterdir()) == [path]


# State files.


@pytest.mark.slow
def test_flipped_bits_and_cuts_are_refused_or_change_nothing(tmp_path):
    path = tmp_path / "state.npz"
    he.Accumulator(max_degree=12).add(he.samplers.uniform(50, rng=1), np.arange(1.0, 51.0)).save(path)
    whole, rng = path.read_bytes(), np.random.default_rng(3)
    expected = he.Accumulator.load(path).profile(angles=[90]).to_dict()
    refused = 0
    for trial in range(1500):
        damaged = bytearray(whole)
        if trial % 5 == 0:
            del damaged[int(rng.integers(len(whole))) :]
        else:
            for _ in range(1 + trial % 3):
                damaged[int(rng.integers(len(whole)))] ^= 1 << int(rng.integers(8))
        path.write_bytes(damaged)
        try:
            found = he.Accumulator.load(path)
        except he.InputError:
            refused += 1
            continue
        assert found.profile(angles=[90]).to_dict() == expected
    assert refused > 1000


def test_an_edit_without_the_checksum_is_refused(tmp_path):
    path = tmp_path / "state.npz"
    he.Accumulator(max_degree=10).add(np.eye(3)).save(path)
    with np.load(path) as file:
        content = dict(file)
    np.savez(path, **content | {"n": np.asarray(4)})
    with pytest.raises(he.InputError, match="was changed after it was written"):
        he.Accumulator.load(path)
    np.savez(path, **{name: value for name, value in content.items() if name != "checksum"})
    with pytest.raises(he.InputError, match="was changed after it was written"):
        he.Accumulator.load(path)


@pytest.mark.slow
def test_no_archive_takes_more_memory_than_it_has_bytes(tmp_path):
    path, bomb = tmp_path / "state.npz", tmp_path / "bomb.npz"
    he.Accumulator(max_degree=10).add(np.eye(3)).save(path)
    with zipfile.ZipFile(path) as source:
        members = {name: source.read(name) for name in source.namelist()}
    zeros = members["low.npy"][:128] + bytes(2**28)

    def peak() -> int:
        tracemalloc.start()
        try:
            return tracemalloc.get_traced_memory()[1] if he.Accumulator.load(bomb).n == 3 else 0
        except he.InputError:
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    for name in ("unknown.npy", "low.npy"):
        with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as target:
            for member, data in (members | {name: zeros}).items():
                target.writestr(member, data, zipfile.ZIP_DEFLATED if member == name else zipfile.ZIP_STORED)
        assert peak() < 2**22
    huge = members["low.npy"].replace(b"(12,), }" + b" " * 13, b"(1000000000000000,), }")
    assert huge != members["low.npy"]
    with zipfile.ZipFile(bomb, "w") as target:
        for member, data in (members | {"low.npy": huge}).items():
            target.writestr(member, data)
    with pytest.raises(he.InputError, match="does not fit its size"):
        he.Accumulator.load(bomb)
    assert peak() < 2**22


class Turned(he.Sphere):
    """A space that heatess does not know: the sphere under another name."""

    def __init__(self) -> None:
        super().__init__(2)

    def _key(self) -> tuple[object, ...]:
        return ()


def test_a_state_on_a_space_of_ones_own_is_loaded_with_that_space(tmp_path):
    space, path = Turned(), tmp_path / "own.npz"
    points = he.samplers.uniform(60, rng=1)
    assert isinstance(space, Space)
    he.Accumulator(space, max_degree=40).add(points).save(path)
    with pytest.raises(he.InputError, match=r"own\.npz .*Turned.*Accumulator\.load\(path, space=\.\.\.\)"):
        he.Accumulator.load(path)
    with pytest.raises(he.InputError, match=r"holds a state on Turned\(\), but space=Sphere\(2\) was given"):
        he.Accumulator.load(path, space=he.Sphere(2))
    with pytest.raises(he.InputError, match="space must be a heatess space"):
        he.Accumulator.load(path, space="Turned")
    loaded = he.Accumulator.load(path, space=space)
    np.testing.assert_allclose(loaded.profile(angles=[30]).gess, he.heat_profile(points, angles=[30]).gess, rtol=1e-10)
