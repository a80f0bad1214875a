"""Measure the speed contract and write RESULTS.md: `make bench`, or `python benchmarks/run.py --only Parquet`."""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import scipy

import heatess as he
from backends import backends
from density import density
from embeddings import clustered
from first_call import first_calls
from heatess.base.blocks import thread_count
from heatess.heat.series import gess_level_count, level_count
from nodes import made
from parquet import parquet
from peers import curves, peers
from planner import planner
from references import bare_products, bare_quaternions, bare_rotations, bare_transform, paper_profile
from scaling import draw, measure, single_scales
from solver import heat_solver
from timing import Row, faster, side_by_side, within

HERE = Path(__file__).parent
ANGLES = np.geomspace(5, 120, 60)


def sphere_against_paper() -> Iterator[Row]:
    """S^2, 60 scales from 5 degrees, against the paper's algorithm."""
    rng = np.random.default_rng(0)
    for n, target in ((300, 10), (1000, 150), (3000, 2500)):
        x, w = he.samplers.uniform(n, rng=rng), rng.random(n)
        mine, theirs = he.heat_profile(x, w, angles=ANGLES).gess, paper_profile(x, w, ANGLES)
        if not np.allclose(mine, theirs, rtol=1e-7):
            raise SystemExit(f"n = {n}: the two algorithms disagree by {np.abs(mine / theirs - 1).max():.1e}")
        (ours,) = side_by_side(lambda x=x, w=w: he.heat_profile(x, w, angles=ANGLES), rounds=30)
        (reference,) = side_by_side(lambda x=x, w=w: paper_profile(x, w, ANGLES), rounds=1 if n > 1000 else 3)
        yield faster(f"S^2, 60 scales, n = {n}", "the paper's algorithm in NumPy", ours, reference, target)


def sphere_against_transform() -> Iterator[Row]:
    """S^2 against the bare ducc0 transform at the same degree and accuracy."""
    rng = np.random.default_rng(1)
    n = 10**6
    x, w = he.samplers.uniform(n, rng=rng), rng.random(n)
    degree = _degree(5.0, w)
    ours, bare = side_by_side(
        lambda: he.heat_profile(x, w, angles=ANGLES), bare_transform(x, w, degree, thread_count()), rounds=15
    )
    yield within(f"S^2, 60 scales, n = 10^6 (degree {degree})", "the bare ducc0 transform", ours, bare, 1.3)
    n = 1000
    x, w = he.samplers.uniform(n, rng=rng), rng.random(n)
    degree = (gess_level_count(he.Sphere(2).series, np.radians(15) ** 2 / 8, 1e-8, 512) or 0) - 1
    ours, bare = side_by_side(lambda: he.gess(x, w, angle=15), bare_transform(x, w, degree, threads=1), rounds=2000)
    yield within(f"gess at 15 degrees, n = 1000 (degree {degree})", "the bare ducc0 transform", ours, bare, 2.0)


def sphere_large() -> Iterator[Row]:
    """S^2 from 10^6 to 10^7 atoms, in time and in memory, and down to fine scales."""
    rng = np.random.default_rng(2)
    x = he.samplers.uniform(10**6, rng=rng)
    fine = np.geomspace(0.02, 120, 60)
    large = he.samplers.uniform(10**7, rng=rng)
    coarse_time, fine_time, large_time = side_by_side(
        lambda: he.heat_profile(x, angles=ANGLES),
        lambda: he.heat_profile(x, angles=fine),
        lambda: he.heat_profile(large, angles=ANGLES),
        rounds=7,
    )
    yield within("S^2, n = 10^6, 60 scales from 0.02 deg", "the same from 5 deg", fine_time, coarse_time, 20)
    yield within("S^2, 60 scales, n = 10^7", "n = 10^6", large_time, coarse_time, 11)
    used = float(_python(str(HERE / "memory.py"), str(10**7)))
    yield Row("memory above the input, n = 10^7", "1 GB", used / 1e9, 1.0, "at most 1x", used <= 1e9, unit="GB")


def triangle(x: np.ndarray, tile: int = 2048) -> Callable[[], None]:
    """One triangle of the tiled product X @ X.T: every pair once, which is what is needed."""

    def product() -> None:
        for top in range(0, len(x), tile):
            for left in range(top, len(x), tile):
                x[top : top + tile] @ x[left : left + tile].T

    return product


def high_dimension() -> Iterator[Row]:
    """S^383 against the matrix product it cannot do without; S^3 and S^9 against one of 64 columns."""
    rng = np.random.default_rng(3)
    x = he.samplers.uniform(20_000, 383, rng=rng)
    resolutions = np.geomspace(10, 85, 60)
    ours, reference = side_by_side(lambda: he.heat_profile(x, resolutions=resolutions), triangle(x), rounds=3)
    yield within("S^383, n = 20,000, 60 resolutions", "one triangle of tiled float64 X @ X.T", ours, reference, 1.5)
    product = triangle(rng.standard_normal((10_000, 64)))
    for dim, finest in ((3, 0.09), (9, 0.3)):
        y, times = he.samplers.uniform(10_000, dim, rng=rng), np.geomspace(finest, 2, 60) ** 2 / 8
        ours, reference = side_by_side(
            lambda y=y, times=times: he.heat_profile(y, times=times, method="pairwise"), product, rounds=3
        )
        work = f"S^{dim} by pairs, n = 10^4, 60 scales"
        yield Row(work, "one triangle, 64 columns", ours, reference, "recorded", None)


def embeddings() -> Iterator[Row]:
    """Embeddings in float32 at rtol = 1e-4, against one triangle of the product in float32."""
    x = clustered(20_000, 768)
    ours, profile, reference = side_by_side(
        lambda: he.gess(x, resolution=40, rtol=1e-4),
        lambda: he.heat_profile(x, resolutions=[30, 40, 50, 60], rtol=1e-4),
        triangle(x),
        rounds=3,
    )
    product = "one triangle of tiled float32 X @ X.T"
    yield within("gess of 20,000 x 768 at 40 deg, rtol = 1e-4", product, ours, reference, 1.3)
    yield Row("profile of 20,000 x 768 from 30 deg, rtol = 1e-4", product, profile, reference, "recorded", None)


def poses() -> Iterator[Row]:
    """A filter step of poses, in space and in the plane, at one scale."""
    rng = np.random.default_rng(8)
    for n, target in ((1000, 5e-3), (10_000, 0.35)):
        x, q, turn = rng.standard_normal((n, 3)), he.Rotations().uniform(n, rng), rng.uniform(-3, 3, n)
        space, plane = he.Product(he.Euclidean(3), he.Rotations()), he.Product(he.Euclidean(2), he.Circle())
        spatial, planar = side_by_side(
            lambda x=x, q=q, space=space: he.gess((x, q), space=space, time=0.02),
            lambda x=x, turn=turn, plane=plane: he.gess((x[:, :2], turn), space=plane, time=0.02),
            rounds=30 if n == 1000 else 5,
        )
        for name, ours in (("SE(3)", spatial), ("SE(2)", planar)):
            work = f"gess of poses, {name}, n = {n} ({2e9 * ours / n**2:.1f} ns a pair)"
            yield Row(work, "6 ns a pair or so", ours, target, "at most 1x", ours <= target)


def random_pairs() -> Iterator[Row]:
    """Random pairs of clustered embeddings against the bare products of as many pairs."""
    x, pairs, times = clustered(20_000), 20_000_000, {"resolutions": [10, 20, 40, 60, 80]}
    exact = he.heat_profile(x, **times).gess[1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", he.PrecisionWarning)
        off = [exact / he.heat_profile(x, **times, pairs=pairs, rng=seed).gess[1] - 1 for seed in range(12)]
        ours, reference = side_by_side(
            lambda: he.heat_profile(x, **times, pairs=pairs, rng=0), bare_products(x, pairs), rounds=7
        )
    rms = np.sqrt(np.mean(np.square(off)))
    work = f"pairs=2e7, clustered embeddings (n = 20,000 x 384), off by {rms:.2%} at 20 deg"
    yield within(work, "the bare float32 products of as many pairs", ours, reference, 4.0)


def axes_by_quaternions() -> Iterator[Row]:
    """Projective(3), which is the rotations at half the distance."""
    q = he.Rotations().uniform(30_000, np.random.default_rng(6))
    ours, reference = side_by_side(
        lambda: he.heat_profile(q, space=he.Projective(3), angles=np.geomspace(10, 60, 60)),
        lambda: he.heat_profile(q, space=he.Rotations(), angles=np.geomspace(20, 120, 60)),
        rounds=5,
    )
    yield within("Projective(3), n = 30,000 from 10 deg", "Rotations from 20 deg", ours, reference, 1.5)


def rotations() -> Iterator[Row]:
    """A million rotations against the bare three-dimensional nonuniform Fourier transform of the same size."""
    space = he.Rotations()
    x = space.uniform(10**6, np.random.default_rng(4))
    degree = int(space.transform.degree_for(np.radians(5) ** 2 / 8, 1e6, 1e-8) or 0)
    ours, bare = side_by_side(
        lambda: he.heat_profile(x, space=space, angles=ANGLES), bare_rotations(10**6, degree, thread_count()), rounds=1
    )
    yield within(f"Rotations, n = 10^6, 60 scales (degree {degree})", "the bare 3-D transform", ours, bare, 2.5)


def three_sphere() -> Iterator[Row]:
    """S^3 against the two bare nonuniform Fourier transforms that it needs, with its distance from all pairs."""
    space = he.Sphere(3)
    n = 10**5
    x = space.uniform(n, np.random.default_rng(7))
    for finest in (5, 10):
        angles = np.geomspace(finest, 120, 60)
        fast, pairs = (he.heat_profile(x[:5000], angles=angles, method=how).gess for how in ("spectral", "pairwise"))
        off = float(np.abs(fast / pairs - 1).max())
        if off > 1e-8:
            raise SystemExit(f"S^3 from {finest} degrees: transform and pairs disagree by {off:.1e}")
        degree = int(space.transform.degree_for(np.radians(finest) ** 2 / 8, float(n), 1e-8) or 0)
        ours, bare = side_by_side(
            lambda angles=angles: he.heat_profile(x, angles=angles),
            bare_quaternions(n, degree, thread_count()),
            rounds=5,
        )
        work = f"S^3, n = 10^5, 60 scales from {finest} deg (degree {degree}; {off:.0e} off pairs)"
        yield within(work, "the two bare 3-D transforms", ours, bare, 1.5)


def import_time() -> Iterator[Row]:
    """`import heatess` with what a profile needs, which is imported at first use, against what it cannot do without."""
    ours = min(_import("heatess; heatess.heat_profile") for _ in range(9))
    reference = min(_import("numpy, scipy.special") for _ in range(9))
    yield within("import heatess; heatess.heat_profile", "import numpy, scipy.special", ours, reference, 1.5)


BENCHMARKS: dict[str, Callable[[], Iterator[Row]]] = {
    "paper": sphere_against_paper,
    "transform": sphere_against_transform,
    "large": sphere_large,
    "high": high_dimension,
    "embeddings": embeddings,
    "poses": poses,
    "pairs": random_pairs,
    "rotations": rotations,
    "axes": axes_by_quaternions,
    "nodes": made,
    "solver": heat_solver,
    "s3": three_sphere,
    "backends": backends,
    "density": density,
    "import": import_time,
    "first": first_calls,
    "parquet": parquet,
    "planner": planner,
    "peers": peers,
}


def _degree(angle: float, weights: np.ndarray) -> int:
    ess = weights.sum() ** 2 / (weights @ weights)
    count = level_count(he.Sphere(2).series, np.radians(angle) ** 2 / 8, ess, 1e-8, 4096)
    if count is None:
        raise SystemExit(f"{angle} degrees needs more levels than the transform takes")
    return count - 1


def _import(names: str) -> float:
    return float(_python("-c", f"import time; t = time.perf_counter(); import {names}; print(time.perf_counter() - t)"))


def _python(*arguments: str) -> str:
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=True).stdout


def machine() -> str:
    """The shape of the machine, so that figures can be read."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return (
        f"{thread_count()} cores ({platform.machine()}), {memory:.0f} GiB; Python {platform.python_version()}, "
        f"NumPy {np.__version__}, SciPy {scipy.__version__}, ducc0 {_version('ducc0')}"
    )


def _version(package: str) -> str:
    from importlib.metadata import version

    return version(package)


def markdown(rows: list[Row]) -> str:
    """RESULTS.md."""
    lines = [
        "# Benchmark results",
        "",
        "Written by `make bench`. Times are the best of several turns in one run; the ratio is the claim.",
        "",
        f"Machine: {machine()}.",
        "",
        "| work | reference | heatess | reference | ratio | target | verdict |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        cells = (
            row.work,
            row.reference,
            row.shown(row.ours),
            row.shown(row.theirs),
            row.ratio,
            row.target,
            row.verdict,
        )
        lines.append(f"| {' | '.join(cells)} |")
    lines += ["", "![Time against the number of atoms](scaling.png)"]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Run the benchmarks, print each row as it comes, and write RESULTS.md if all were run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", help="run the groups that have this in their name or description; write nothing")
    chosen = parser.parse_args().only
    groups = [name for name in BENCHMARKS if (chosen or "").lower() in f"{name} {BENCHMARKS[name].__doc__}".lower()]
    if not groups:
        parser.error(f"--only {chosen} fits none of {', '.join(BENCHMARKS)}")
    rows = []
    for name in groups:
        for row in BENCHMARKS[name]():
            rows.append(row)
            times = f"{row.shown(row.ours):>8} against {row.shown(row.theirs):>8}"
            print(f"{row.work:<45} {times}  {row.ratio:<16} {row.target:<22} {row.verdict}", flush=True)
    if chosen is None:
        draw(measure(), single_scales() | curves(), HERE / "scaling.png")
        (HERE / "RESULTS.md").write_text(markdown(rows))
        print(f"written to {HERE / 'RESULTS.md'} and {HERE / 'scaling.png'}")


if __name__ == "__main__":
    main()
