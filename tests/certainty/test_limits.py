"""What a machine or a number does not allow is said in one sentence, before it takes the time or the memory."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import heatess as he
from heatess.base import blocks
from heatess.engines import neighbours, plan
from heatess.engines.base import Question

CLOSE_PAIRS = """
import warnings
import numpy as np
with warnings.catch_warnings(record=True) as given:
    warnings.simplefilter("always")
    import heatess as he
    x = he.samplers.uniform(3000, rng=0)
    for _ in range(2):
        print(he.heat_profile(x, angles=[0.5, 1.0], method="local").gess.tolist())
        he.heat_profile(np.arange(600.0), space=he.Circle(units="rad"), times=[0.1], method="pairwise")
for one in given:
    print("WARNED", one.category.__name__, one.filename, one.message)
"""


def run_elsewhere(source: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """The same calls in a process of their own, with the package at *source*."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("NUMBA", "XDG", "HOME"))}
    kept |= {"PYTHONPATH": str(source), "PYTHONDONTWRITEBYTECODE": "1"} | environment
    return subprocess.run([sys.executable, "-c", CLOSE_PAIRS], env=kept, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def locked_package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package beside which nothing can be written, by root neither: a file is where the folder goes."""
    source = tmp_path_factory.mktemp("locked")
    shutil.copytree(Path(he.__file__).parent, source / "heatess", ignore=shutil.ignore_patterns("__pycache__"))
    (source / "heatess" / "compiled" / "__pycache__").touch()
    return source


@pytest.mark.slow
@pytest.mark.parametrize("cache", [{}, {"NUMBA_CACHE_DIR": "/dev/null/nowhere"}], ids=["unset", "unwritable"])
def test_where_nothing_can_be_written_loops_are_compiled_all_the_same_and_one_warning_says_so(locked_package, cache):
    found = run_elsewhere(locked_package, HOME="/dev/null", **cache)
    assert found.returncode == 0, found.stderr
    first, second, *warned = found.stdout.splitlines()
    exact = he.heat_profile(he.samplers.uniform(3000, rng=0), angles=[0.5, 1.0], method="local").gess
    assert first == second == str(exact.tolist())
    assert len(warned) == 1
    assert warned[0].startswith("WARNED RuntimeWarning <string> compiled loops cannot be kept on disk")
    assert "NUMBA_CACHE_DIR" in warned[0]


@pytest.mark.slow
def test_the_warning_about_compiled_loops_names_what_helps(locked_package, tmp_path):
    found = run_elsewhere(locked_package, HOME="/dev/null", NUMBA_CACHE_DIR=str(tmp_path / "kept"))
    assert found.returncode == 0, found.stderr
    assert "WARNED" not in found.stdout
    assert list((tmp_path / "kept").rglob("*.nbi"))


def test_every_compiled_loop_goes_through_the_one_decorator():
    for module in (Path(he.__file__).parent / "compiled").glob("*.py"):
        kept = [line for line in module.read_text().splitlines() if "cache=True" in line]
        assert len(kept) == (module.name == "__init__.py"), module.name


@pytest.mark.parametrize("wanted", ["abc", "0", "-3", "1e9", "1000000000", "2.5", "9" * 5000])
def test_a_number_of_threads_that_is_none_is_refused(monkeypatch, wanted):
    monkeypatch.setenv("HEATESS_NUM_THREADS", wanted)
    x = he.samplers.uniform(200_000, rng=0)
    with pytest.raises(
        he.InputError, match=r"HEATESS_NUM_THREADS must be a whole number from 1 to 1024, but is '.*unset"
    ):
        he.heat_profile(x, angles=[5])


@pytest.mark.parametrize(("wanted", "count"), [(" 2 ", 2), ("1", 1), ("1024", 1024)])
def test_the_number_of_threads_may_be_set(monkeypatch, wanted, count):
    monkeypatch.setenv("HEATESS_NUM_THREADS", wanted)
    assert blocks.thread_count() == count


def test_an_empty_number_of_threads_is_none_at_all(monkeypatch):
    monkeypatch.delenv("HEATESS_NUM_THREADS", raising=False)
    cores = blocks.thread_count()
    for empty in ("", "  "):
        monkeypatch.setenv("HEATESS_NUM_THREADS", empty)
        assert blocks.thread_count() == cores


@pytest.mark.parametrize("dim", [1, 2, 3])
@pytest.mark.parametrize("far", [30.0, 1e3, 1e6, 1e12])
@pytest.mark.slow
def test_outliers_do_not_take_the_transform_from_flat_space(dim, far):
    rng = np.random.default_rng(dim)
    x, w = rng.standard_normal((2000, dim)), rng.random(2000)
    x[:3] += far * np.array([[1.0, 0, 0], [0, 0, -0.3], [0.5, 0.5, 0.5]])[:, -dim:]
    x[3], w[3] = far / 7, 0.0  # in the gap, of no weight
    measure, times = he.Measure(x, w, space=he.Euclidean(dim)), np.array([0.1, 1.0])
    fast = he.heat_profile(measure, times=times, method="spectral")
    gaps = x[:, None] - x
    for k, time in enumerate(times):
        overlaps = np.exp(-np.sum(gaps**2, axis=2) / (8 * time))
        exact = (w / w.sum()) @ overlaps @ (w / w.sum())
        assert abs(fast.gess[k] * exact - 1) < fast.error[k]
        assert fast.error[k] < 1e-9


def test_an_outlier_among_a_million_costs_no_more_than_a_sort():
    x = np.random.default_rng(0).standard_normal((1_000_000, 2))
    x[0] = [1e6, 0.0]
    question = Question(he.Measure(x, space=he.Euclidean(2)), np.geomspace(1e-2, 1.0, 5), 1e-8)
    steps, seconds = plan.plan(question)
    assert [step.offer.name for step in steps] == ["spectral"]
    assert seconds < 10  # neighbours, of which nearly all pairs are, take a quarter of an hour


@pytest.mark.parametrize("dim", [10, 60])
@pytest.mark.slow
def test_clusters_in_many_dimensions_are_summed_the_same_in_bins_and_one_by_one(dim, monkeypatch):
    rng = np.random.default_rng(1)
    x = rng.standard_normal((1200, dim + 1)) * 1e-4
    x[:, 0] = 1.0
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    times = (2e-4 * np.sqrt(dim) * np.array([0.3, 1.0])) ** 2 / 8
    found = []
    for least in (0.0, 1e99):
        monkeypatch.setattr(neighbours, "_WORTH_BINS", least)
        found.append(he.heat_profile(x, times=times, method="local"))
    bins, one_by_one = found
    assert (np.abs(bins.gess / one_by_one.gess - 1) < bins.error).all()
    assert (bins.error < 1e-9).all()
    assert 1.5 < bins.gess[1] < bins.gess[0] < 1199


@pytest.mark.slow
def test_a_cluster_in_many_dimensions_is_refused_when_it_takes_too_long():
    x = np.zeros((200_000, 101))
    x[:, :2] = np.random.default_rng(2).standard_normal((200_000, 2)) * 1e-4
    x[:, 2] = 1.0
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    with pytest.raises(he.CostError, match="hours on two cores") as refused:
        he.heat_profile(x, resolutions=[0.01])
    assert refused.value.seconds > 0.5 * 200_000**2 * 101 * 4e-9  # coordinates of all pairs, at 4 ns each


@pytest.mark.parametrize(
    ("space", "most"),
    [(he.Sphere(2), 8191), (he.Sphere(1), 2**20 - 1), (he.Sphere(9), 8191), (he.Projective(5), 8191)],
    ids=repr,
)
def test_levels_beyond_what_fits_are_refused(space, most):
    x = space.uniform(5, np.random.default_rng(0))
    with pytest.raises(he.InputError, match=f"max_degree may be {most} at most on .*, but is 1000000000; give less"):
        he.power_spectrum(x, space=space, max_degree=10**9)


def test_the_last_level_of_the_circle_is_the_one_that_the_message_names():
    angle = np.array([0.0, 1.0])
    x = np.column_stack([np.cos(angle), np.sin(angle)])
    found = he.power_spectrum(x, max_degree=2**20 - 1)
    degrees = found.degrees[1:]
    np.testing.assert_allclose(found.energies[1:], 1 + np.cos(degrees), atol=1e-9)


@pytest.mark.parametrize("space", [he.Circle(), he.Torus(2), he.Torus(3)], ids=repr)
def test_levels_of_tori_beyond_what_fits_are_refused(space):
    with pytest.raises(he.InputError, match="max_degree"):
        he.power_spectrum(np.zeros((3, space.dim)), space=space, max_degree=10**9)


def test_a_spectrum_of_too_many_pairs_is_refused():
    x = np.zeros((10**6, 10), dtype=np.float32)
    x[:, 0] = 1.0
    with pytest.raises(
        he.CostError, match=r"1,000,000 points on Sphere\(9\) would take about 4\d minutes .* give m of them"
    ):
        he.power_spectrum(x)


def test_more_random_pairs_than_can_be_summed_are_refused():
    with pytest.raises(he.InputError, match="pairs must be a whole number from 1000 to 10"):
        he.heat_profile(np.eye(3), angles=[30], pairs=10**15, rng=0)


@pytest.mark.parametrize("sampler", [he.samplers.fibonacci, lambda n: he.samplers.uniform(n, rng=0)])
def test_clouds_beyond_any_memory_are_refused(sampler):
    with pytest.raises(he.InputError, match="the number of points must be at most"):
        sampler(10**15)


@pytest.mark.parametrize("time", [1e-30, 1e-36, 2.2e-45, 1e-60])
@pytest.mark.parametrize("dim", [1, 2, 3])
def test_gaps_far_wider_than_the_scale_leave_every_atom_its_own_place(time, dim):
    """The sides of the box are sums of what is left of the gaps; extents less gaps were lost in rounding."""
    points = np.random.default_rng(0).normal(size=(6, dim))
    space = he.Euclidean(dim)
    assert he.gess(points, space=space, time=time, rtol=1e-12) == pytest.approx(6, rel=1e-10)
    for method in ("auto", "pairwise", "spectral"):
        found = he.heat_profile(points, space=space, times=[time], method=method)
        assert found.gess[0] == pytest.approx(6, rel=1e-8)
