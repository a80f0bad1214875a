"""Dask collections and partitioned Parquet give the single-process answer, or fail with the name of the part."""

from __future__ import annotations

import itertools
import math
import os
import signal
import subprocess
import sys
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import numpy as np
import pytest

import heatess as he
from heatess.distributed import pair_blocks, parquet, profile_parquet, reduction
from heatess.measures.scales import DEFAULT_ANGLES
from test_one_way_out import ICOSAHEDRON, mmd2_on_sphere

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
pd = pytest.importorskip("pandas")
pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

CURVES = ("gess", "mmd2", "divergence", "volume")
SCALES = {"resolutions": [15, 40, 80]}
DEFAULT = {"angles": DEFAULT_ANGLES}  # of data in parts, whose spread is not known beforehand


def agree(found, expected, rtol=1e-10):
    for name in CURVES:
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name), rtol=rtol, err_msg=name)
    assert found.n == expected.n
    assert found.ess == pytest.approx(expected.ess, rel=rtol)
    assert found.space == expected.space
    np.testing.assert_array_equal(found.times, expected.times)


def directions(n, width, seed=0):
    rng = np.random.default_rng(seed)
    points = rng.standard_normal((n, width))
    return points / np.linalg.norm(points, axis=1, keepdims=True), rng.normal(size=n)


@pytest.fixture(scope="module")
def cloud():
    points, logs = directions(5000, 3)
    return points, logs, he.heat_profile(points, log_weights=logs, **DEFAULT)


def frame(points, logs, **more):
    columns = {name: points[:, index] for index, name in enumerate("xyzabcdefgh"[: points.shape[1]])}
    return pd.DataFrame({**columns, "logw": logs, "weight": np.exp(logs), **more})


# Dask arrays and data frames.


@pytest.mark.parametrize("chunks", [(5000, 3), (700, 3), (999, 2), ((1, 4000, 0, 999), 3)])
def test_arrays_in_any_chunks(cloud, chunks):
    points, logs, expected = cloud
    array = da.from_array(points, chunks=chunks)
    agree(he.heat_profile(array, log_weights=logs), expected)
    agree(he.heat_profile(array, np.exp(logs)[:, None]), expected)
    agree(he.heat_profile(array, log_weights=da.from_array(logs, chunks=123)), expected)
    agree(he.heat_profile(array, da.exp(da.from_array(logs[:, None], chunks=(900, 1)))), expected)
    agree(he.heat_profile(array), he.heat_profile(points, **DEFAULT))


def test_one_scale_of_a_dask_array_is_not_pulled_into_memory(cloud, monkeypatch):
    points, logs, _ = cloud
    expected = he.gess(points, log_weights=logs, angle=12), he.gess_ratio(points, log_weights=logs, angle=12)
    array = da.from_array(points, chunks=(700, 3))
    monkeypatch.setattr(da.Array, "__array__", lambda *_, **__: pytest.fail("the whole array was asked for"))
    assert he.gess(array, log_weights=logs, angle=12) == pytest.approx(expected[0], rel=1e-9)
    assert he.gess_ratio(array, log_weights=logs, angle=12) == pytest.approx(expected[1], rel=1e-9)


def test_log_weights_of_partitions_are_on_one_scale():
    points, logs = directions(3000, 3)
    logs = np.round(logs, 3) + np.repeat([1e6, 1e6 - 3, 0], 1000)
    logs[:10] = -np.inf
    found = he.heat_profile(da.from_array(points, chunks=(500, 3)), log_weights=da.from_array(logs, chunks=500))
    agree(found, he.heat_profile(points, log_weights=logs - 1e6, **DEFAULT))


@pytest.mark.parametrize("scales", [{"angles": [3, 50]}, {"times": [0.02, 0.5]}, {"resolutions": [10, 100]}])
def test_scales_and_circle(scales):
    points, _ = directions(800, 2)
    agree(he.heat_profile(da.from_array(points, chunks=(300, 2)), **scales), he.heat_profile(points, **scales))


def test_parts_on_the_three_sphere_add_up_in_linear_time():
    points, logs = directions(2000, 4)
    array = da.from_array(points, chunks=(700, 4))
    found = he.heat_profile(array, log_weights=logs, **SCALES)
    assert found.method == "spectral"
    agree(found, he.heat_profile(points, log_weights=logs, method="pairwise", **SCALES), rtol=1e-9)
    both = he.heat_profile(array, log_weights=logs, method="pairwise", **SCALES)
    assert both.method == "pairwise"
    agree(both, found, rtol=1e-9)


def test_data_frames(cloud):
    points, logs, expected = cloud
    table = dd.from_pandas(frame(points, logs), npartitions=7)
    xyz = table[["x", "y", "z"]]
    agree(he.heat_profile(xyz, log_weights=table["logw"]), expected)
    agree(he.heat_profile(xyz, table["weight"]), expected)
    agree(he.heat_profile(xyz, table["weight"].to_dask_array()), expected)
    north = table[table["z"] > 0.9]  # partitions of unknown, and perhaps no, length
    kept = points[:, 2] > 0.9
    found = he.heat_profile(north[["x", "y", "z"]], log_weights=north["logw"])
    agree(found, he.heat_profile(points[kept], log_weights=logs[kept], **DEFAULT))


@pytest.mark.parametrize("width", [5, 20])
def test_spaces_without_a_transform_sum_pairs_of_blocks(width):
    points, logs = directions(3000, width)
    logs[:1000] -= 800
    logs[1000:1100] = -np.inf
    expected = he.heat_profile(points, log_weights=logs, method="pairwise", **SCALES)
    uneven = da.from_array(points, chunks=((3, 2000, 0, 897, 100), width))
    found = he.heat_profile(uneven, log_weights=logs, **SCALES)
    assert found.method == "pairwise"
    agree(found, expected)
    agree(he.heat_profile(uneven, log_weights=da.from_array(logs, chunks=400), **SCALES), expected)
    table = dd.from_pandas(pd.DataFrame(points).rename(columns=str).assign(logw=logs), npartitions=4)
    agree(he.heat_profile(table.drop(columns="logw"), log_weights=table["logw"], **SCALES), expected)


def test_pairs_can_be_forced_where_there_is_a_transform():
    points, logs = directions(1500, 3)
    array = da.from_array(points, chunks=(400, 3))
    found = he.heat_profile(array, log_weights=logs, method="pairwise", angles=[10, 90])
    assert found.method == "pairwise"
    agree(found, he.heat_profile(points, log_weights=logs, angles=[10, 90]))
    assert he.heat_profile(array, method="spectral").method == "spectral"


def test_balanced_clouds_keep_their_small_discrepancy():
    points, _ = directions(2000, 4)
    points = np.concatenate([points, -points])
    found = he.heat_profile(da.from_array(points, chunks=(1000, 4)), angles=[150])
    np.testing.assert_allclose(found.mmd2, he.heat_profile(points, angles=[150]).mmd2, rtol=1e-10)


def right_or_said(points, space, time, truth, **more):
    """MMD^2 of a dask array is right, or a warning at the caller's line says that it may not be."""
    chunks = (max(3, len(points) // 7), points.shape[1])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = he.heat_profile(da.from_array(points, chunks=chunks), space=space, times=[time], **more)
    said = [item for item in caught if issubclass(item.category, he.PrecisionWarning)]
    assert said or found.mmd2[0] == pytest.approx(truth, rel=1e-4)
    assert all(item.filename == __file__ for item in said)
    alone = he.heat_profile(points, space=space, times=[time], method="pairwise")
    np.testing.assert_allclose(found.gess, alone.gess, rtol=1e-8)
    return bool(said)


@pytest.mark.filterwarnings("ignore::heatess.PrecisionWarning")
@pytest.mark.parametrize("method", ["auto", "pairwise"])
@pytest.mark.parametrize("copies", [1, 50])
@pytest.mark.parametrize("angle", [60.0, 100.0, 150.0, 250.0])
def test_an_icosahedron_in_partitions_is_right_or_said_to_be_uncertain(method, copies, angle):
    turn, _ = np.linalg.qr(np.random.default_rng(copies).normal(size=(3, 3)))
    points, time = np.tile(ICOSAHEDRON @ turn, (copies, 1)), float(np.radians(angle) ** 2 / 8)
    points = points[np.random.default_rng(1).permutation(len(points))]
    said = right_or_said(points, he.Sphere(2), time, mmd2_on_sphere(ICOSAHEDRON, time), method=method)
    assert said == (angle > 100 or (method == "pairwise" and angle > 60))


@pytest.mark.filterwarnings("ignore::heatess.PrecisionWarning")
@pytest.mark.parametrize(("dim", "side"), [(1, 7), (2, 5), (3, 4)])
@pytest.mark.parametrize("time", [0.1, 0.5, 2.0])
def test_lattices_of_a_torus_in_partitions_are_right_or_said_to_be_uncertain(dim, side, time):
    lattice = 2 * np.pi / side * np.array(list(itertools.product(range(side), repeat=dim))) + 0.1234
    # Modes whose numbers are multiples of the side, and no others: (1 + 2 sum_j exp(-2 (side j)^2 t))^dim - 1.
    waves = 2 * sum(math.exp(-2 * (side * j) ** 2 * time) for j in range(1, 6))
    right_or_said(lattice, he.Torus(dim), time, math.expm1(dim * math.log1p(waves)))


def test_complex_points_are_profiled_in_partitions():
    space = he.ComplexProjective(2)
    points, weights = space.uniform(700, np.random.default_rng(0)), np.random.default_rng(1).uniform(size=700)
    found = he.heat_profile(da.from_array(points, chunks=(150, 2)), weights, space=space, angles=[20, 60])
    agree(found, he.heat_profile(points, weights, space=space, angles=[20, 60]))
    with pytest.raises(he.InputTypeError, match="points must be real numbers, but are complex"):
        he.heat_profile(da.from_array(points, chunks=(150, 3)), angles=[60])


def test_work_is_split_evenly():
    for n in (1, 1000, 1025, 70_000, 10**6, 3 * 10**6):
        sizes = pair_blocks.block_sizes(n)
        assert sum(sizes) == n
        assert max(sizes) - min(sizes) <= 1
        assert max(sizes) <= pair_blocks.LARGEST_BLOCK
    for count in (1, 2, 5, 8):
        work = pair_blocks.block_pairs(count)
        assert sorted(pair for pairs in work for pair in pairs) == [
            (i, j) for i in range(count) for j in range(i, count)
        ]
        atoms = [sum(2 if i != j else 1 for i, j in pairs) for pairs in work]
        assert sum(load == 1 for load in atoms) <= 1
        assert set(atoms) <= {1, 2}


def test_the_tree_adds_up_every_part_once():
    for count in (1, 2, 8, 9, 64, 65, 200):
        work = reduction._tree([dask.delayed(1 << index) for index in range(count)])
        assert work.compute(scheduler="synchronous") == (1 << count) - 1


def test_dask_is_not_imported_for_those_who_do_not_use_it():
    code = (
        "import sys, numpy, heatess, heatess.distributed; heatess.heat_profile(numpy.eye(3)); "
        "print([name for name in ('dask', 'distributed', 'pyarrow', 'pandas') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


# What is refused.


def test_bad_rows_are_refused_with_their_partition():
    points, _ = directions(100, 3)
    points[57] *= 2
    with pytest.raises(he.InputError, match=r"partition 2: points on Sphere\(2\).*row 7 has norm 2"):
        he.heat_profile(da.from_array(points, chunks=(25, 3)))
    weights = np.ones(100)
    weights[30] = -1
    with pytest.raises(he.InputError, match="partition 1: weights must be finite and not negative, but row 5"):
        he.heat_profile(da.from_array(directions(100, 3)[0], chunks=(25, 3)), weights)
    points, _ = directions(100, 5)
    points[57] = np.nan
    with pytest.raises(he.InputError, match="rows from 0: points must be finite, but row 57"):
        he.heat_profile(da.from_array(points, chunks=(25, 5)))


def test_arguments_that_do_not_fit_are_refused():
    points, logs = directions(100, 3)
    array = da.from_array(points, chunks=(25, 3))
    table = dd.from_pandas(frame(points, logs, name="a"), npartitions=3)
    unknown = table[["x", "y", "z"]]
    for call, message in [
        (lambda: he.heat_profile(array, np.ones(99)), "100 points but 99 weights"),
        (lambda: he.heat_profile(array, da.ones(99)), "100 points but 99 weights"),
        (lambda: he.heat_profile(array, np.ones(100), log_weights=logs), "not both"),
        (lambda: he.heat_profile(array, method="local"), "'auto', 'spectral', 'pairwise'"),
        (lambda: he.heat_profile(array, pairs=1000, rng=0), "pairs= is not for data in parts"),
        (lambda: he.heat_profile(array, space=he.Sphere(3)), r"shape \(n, 4\)"),
        (lambda: he.heat_profile(array, angles=[5], times=[1]), "at most one of"),
        (lambda: he.heat_profile(array, rtol=2), "rtol"),
        (lambda: he.heat_profile(array[0]), r"an \(n, d\) array"),
        (lambda: he.heat_profile(array, np.zeros(100)), "weights of all 100 points are zero"),
        (lambda: he.heat_profile(array[:0]), "no points in any part"),
        (lambda: he.heat_profile(da.ones((0, 5))), "no points in any part"),
        (lambda: he.heat_profile(da.from_array(directions(9, 5)[0]), method="spectral"), "no fast transform"),
        (lambda: he.heat_profile(unknown, np.ones(100)), "must be a dask array or series in the same partitions"),
        (lambda: he.heat_profile(unknown, da.ones(100, chunks=50)), "are in 2, and the points in 3"),
        (lambda: he.heat_profile(unknown, da.ones(99, chunks=33)), "partition .*: weights must have one entry per"),
        (lambda: he.heat_profile(table), "column name of the data frame holds"),
    ]:
        with pytest.raises(he.InputError, match=message):
            call()


def test_scales_too_fine_for_parts_are_refused_with_what_they_need():
    array = da.from_array(directions(100, 3)[0], chunks=(25, 3))
    with pytest.raises(
        he.PrecisionError,
        match=r"angle 0.01 degrees is too fine for data in parts.*max_degree of \d+, but \d+ is the most",
    ):
        he.heat_profile(array, angles=[0.01, 10])
    high = da.from_array(directions(100, 6)[0], chunks=(25, 6))
    with pytest.raises(he.PrecisionError, match=r"angle 0\.01 degrees is too fine for data in parts"):
        he.heat_profile(high, angles=[0.01, 10])


def test_angles_in_high_dimension_warn_the_caller():
    array = da.from_array(directions(100, 20)[0], chunks=(50, 20))
    with pytest.warns(he.ScaleWarning, match="angles mislead") as caught:
        he.heat_profile(array, angles=[30])
    assert caught[0].filename == __file__


# Parquet on threads.


@pytest.fixture
def folder(tmp_path, cloud):
    points, logs, _ = cloud
    for index, rows in enumerate(np.array_split(np.arange(5000), 6)):
        name = tmp_path / "sky" / f"day={index % 2}" / f"part-{index}.parquet"
        name.parent.mkdir(parents=True, exist_ok=True)
        table = pa.Table.from_pandas(frame(points[rows], logs[rows]).drop(columns="weight"))
        pq.write_table(table, name, row_group_size=200)
    (tmp_path / "sky" / "_metadata.parquet").write_text("not data")
    (tmp_path / "sky" / "notes.txt").write_text("not data")
    return tmp_path / "sky"


def test_directories_patterns_and_lists(cloud, folder, monkeypatch):
    _, _, expected = cloud
    agree(profile_parquet(folder), expected)
    agree(profile_parquet(str(folder / "*" / "part-*.parquet"), points=["x", "y", "z"], log_weights="logw"), expected)
    agree(profile_parquet([folder / "day=0", folder / "day=1"]), expected)
    agree(profile_parquet(sorted(folder.glob("*/*.parquet")), progress=True), expected)
    monkeypatch.setattr(parquet, "TASK_ROWS", 350)
    monkeypatch.setattr(parquet, "BATCH_ROWS", 77)
    agree(profile_parquet(folder), expected)
    monkeypatch.chdir(folder)
    agree(profile_parquet("."), expected)


def test_longitude_and_latitude_need_their_unit(tmp_path):
    rng = np.random.default_rng(0)
    lon, lat = rng.uniform(0, 6, 1000), rng.uniform(-1, 1, 1000)
    pq.write_table(pa.table({"ra": lon, "dec": lat, "p": np.ones(1000)}), tmp_path / "a.parquet")
    points = np.column_stack([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)])
    found = profile_parquet(tmp_path, lon="ra", lat="dec", units="rad", weights="p")
    agree(found, he.heat_profile(points, **DEFAULT))
    with pytest.raises(he.InputError, match=r"a\.parquet holds angles, .* say units='deg' or units='rad'"):
        profile_parquet(tmp_path, lon="ra", lat="dec")
    with pytest.raises(he.InputError, match="units must be one of 'deg', 'rad', 'hours'"):
        profile_parquet(tmp_path, lon="ra", lat="dec", units="grad")


def test_vectors_in_a_list_column(tmp_path, monkeypatch):
    points, logs = directions(2500, 16)
    vectors = (3 * points).astype(np.float32)
    for index, rows in enumerate(np.array_split(np.arange(2500), 3)):
        table = pa.table({"embedding": list(vectors[rows]), "logw": logs[rows]})
        pq.write_table(table, tmp_path / f"{index}.parquet", row_group_size=300)
    unit = vectors / np.linalg.norm(vectors.astype(float), axis=1, keepdims=True)
    expected = he.heat_profile(unit, log_weights=logs, method="pairwise", **SCALES)
    agree(profile_parquet(tmp_path, normalize=True, **SCALES), expected)
    monkeypatch.setattr(parquet, "TASK_ROWS", 350)
    agree(profile_parquet(tmp_path, points="embedding", normalize=True, **SCALES), expected)
    flat = profile_parquet(tmp_path, normalize=True, weights="none", **SCALES)
    agree(flat, he.heat_profile(unit, method="pairwise", **SCALES))
    with pytest.raises(he.InputError, match=r"\d\.parquet row \d+ .*length 3"):
        profile_parquet(tmp_path, **SCALES)


def test_files_that_do_not_fit_are_refused_by_name(folder, tmp_path):
    odd = folder / "day=0" / "part-7.parquet"
    for columns, message in [
        (
            {"x": [1.0], "y": [0.0], "z": [0.0]},
            r"points of Sphere\(2\) and no weights, but .*part-0.parquet holds .* and log-weights",
        ),
        ({"lon": [1.0], "lat": [0.0], "logw": [0.0]}, "holds angles, such as lon and lat; say units="),
        ({"embedding": [[1.0, 0.0]], "logw": [0.0]}, r"points of Sphere\(1\) and log-weights, but .*part-0"),
        ({"phi (deg)": [1.0], "psi (deg)": [0.0], "logw": [0.0]}, r"points of Torus\(2, units='deg'\)"),
        ({"a": [1.0]}, "no columns known to hold points"),
        ({"x": ["1"], "y": [0.0], "z": [0.0]}, "column x holds"),
        ({"x": [2.0], "y": [0.0], "z": [0.0], "logw": [0.0]}, "row 0.*length 2"),
        ({"x": [1.0], "y": [0.0], "z": [0.0], "logw": [np.inf]}, "row 0.*logw is inf"),
        ({"x": [1.0, 1], "y": [0.0, 0], "z": [0.0, None], "logw": [0.0, 0]}, "row 1.*column z has no number"),
    ]:
        pq.write_table(pa.table(columns), odd)
        with pytest.raises(he.InputError, match=rf"part-7\.parquet.*{message}"):
            profile_parquet(folder)
    pq.write_table(pa.table({"x": pa.array([], pa.float64()), "y": pa.array([], pa.float64())}), tmp_path / "a.parquet")
    with pytest.raises(he.InputError, match="no rows in any of 1 Parquet files"):
        profile_parquet(tmp_path / "a.parquet", points=["x", "y"])
    (folder / "day=2").mkdir()
    with pytest.raises(he.InputError, match=r"day=2 holds no \.parquet file"):
        profile_parquet(folder / "day=2")
    with pytest.raises(he.InputError, match=r"nowhere\.parquet does not exist"):
        profile_parquet("nowhere.parquet")
    with pytest.raises(he.InputError, match="weights or log_weights, not both"):
        profile_parquet(folder, weights="logw", log_weights="logw")


@pytest.mark.parametrize("damage", ["cut", "footer", "page", "text"])
def test_a_damaged_part_fails_with_its_name(folder, damage):
    part = folder / "day=1" / "part-3.parquet"
    _damage(part, damage)
    with pytest.raises(he.InputError, match=r"part-3\.parquet.*cannot be read as Parquet"):
        profile_parquet(folder)


def _damage(path, how):
    content = bytearray(path.read_bytes())
    if how == "cut":
        content = content[: len(content) // 2]
    elif how == "footer":
        content[-40:-20] = b"\xff" * 20
    elif how == "page":
        content[4:400] = b"\xff" * 396
    else:
        content = bytearray(b"hello, world")
    path.write_bytes(bytes(content))


# A real cluster: separate worker processes, on the loopback interface only.


@contextmanager
def cluster(workers=2):
    distributed = pytest.importorskip("distributed")
    options = {"n_workers": workers, "threads_per_worker": 1, "processes": True}
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 5, "logging.distributed": "error"}),
        distributed.LocalCluster(host="127.0.0.1", dashboard_address=None, **options) as local,
        distributed.Client(local) as client,
    ):
        yield client


def _finished(prefix, dask_scheduler=None):
    tasks = dask_scheduler.tasks.items()
    return sum(str(key).startswith(prefix) and task.state == "memory" for key, task in tasks)


def _kill_a_worker_in_the_middle(client, work):
    """Run *work* and, once some parts are done, kill one worker process of ours."""
    victim = next(iter(client.run(os.getpid).values()))
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(work)
        deadline = time.monotonic() + 60
        while client.run_on_scheduler(_finished, "_accumulate") < 5:
            assert not running.done(), "finished before the worker could be killed"
            assert time.monotonic() < deadline
            time.sleep(0.02)
        os.kill(victim, signal.SIGKILL)
        return running.result(timeout=120)


def _write_parts(folder, parts, rows):
    """Uniform points in single precision; returns them all."""
    rng = np.random.default_rng(20)
    whole = np.empty((parts * rows, 3), np.float32)
    for part in range(parts):
        points = whole[part * rows : (part + 1) * rows]
        rng.standard_normal(out=points, dtype=np.float32)
        points /= np.sqrt(np.einsum("ij,ij->i", points, points, dtype=np.float64))[:, None]
        columns = {name: points[:, index] for index, name in enumerate("xyz")}
        pq.write_table(pa.table(columns), folder / f"part-{part:02}.parquet", compression="none", use_dictionary=False)
    return whole


@pytest.mark.slow
def test_twenty_million_atoms_on_a_cluster_that_loses_a_worker(tmp_path):
    whole = _write_parts(tmp_path, 40, 500_000)
    expected = he.heat_profile(whole, **DEFAULT)
    del whole
    with cluster() as client:
        agree(profile_parquet(tmp_path, client=client), expected)
        agree(_kill_a_worker_in_the_middle(client, lambda: profile_parquet(tmp_path, client=client)), expected)
        _damage(tmp_path / "part-23.parquet", "cut")
        with pytest.raises(he.InputError, match=r"part-23\.parquet.*cannot be read as Parquet"):
            profile_parquet(tmp_path, client=client)


@pytest.mark.slow
def test_the_current_client_is_used_and_errors_and_pairs_cross_it(tmp_path):
    points, logs = directions(3000, 8)
    with cluster() as client:
        array = da.from_array(points, chunks=(700, 8))
        agree(
            he.heat_profile(array, log_weights=logs, **SCALES),
            he.heat_profile(points, log_weights=logs, method="pairwise", **SCALES),
        )
        three = da.from_array(directions(4000, 3)[0], chunks=(900, 3))
        agree(he.heat_profile(three), he.heat_profile(directions(4000, 3)[0], **DEFAULT))
        with pytest.raises(he.InputError, match=r"partition \d: points"):
            he.heat_profile(three * 2)
        whole = _write_parts(tmp_path, 3, 1000)
        _damage(tmp_path / "part-01.parquet", "page")
        with pytest.raises(he.InputError, match=r"part-01\.parquet"):
            profile_parquet(tmp_path)
        (tmp_path / "part-01.parquet").unlink()
        found = profile_parquet(tmp_path, client=client)
        agree(found, he.heat_profile(np.concatenate([whole[:1000], whole[2000:]]), **DEFAULT))
