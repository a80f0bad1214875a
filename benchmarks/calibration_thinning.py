"""Thinning against other subsets, its certificate in random cases, and chain_ess against exact autocorrelations.

`python benchmarks/calibration_thinning.py` prints the tables in under two minutes; `--full` has more cases.
"""

from __future__ import annotations

import argparse
import math
import warnings
from collections.abc import Callable, Iterator

import numpy as np

import heatess as he
from heatess.base.blocks import thread_count
from heatess.heat.series import level_count
from heatess.paper import configurations
from references import bare_transform
from timing import side_by_side

SIZE, ANGLE, ATOMS = 200, 20.0, 20_000
SEED = 20261


def clouds(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """The paper's five configurations with 20,000 atoms (19,980 for the duplicates), and a uniform cloud."""
    recipe = configurations.Recipe(n=ATOMS, kappa=140.0, spread=0.035, clip=0.12, places=30)
    return {**configurations.synthetic(rng, recipe), "Uniform": he.Sphere(2).uniform(ATOMS, rng)}


def systematic(points: np.ndarray) -> np.ndarray:
    """Atoms evenly spaced along a path that winds through bands of latitude."""
    band = np.floor((points[:, 2] + 1) * 12)
    turn = np.arctan2(points[:, 1], points[:, 0]) * np.where(band % 2, 1, -1)
    order = np.lexsort([turn, band])
    return order[(np.arange(SIZE) * len(points) + len(points) // 2) // SIZE]


def greedy(points: np.ndarray, time: float) -> np.ndarray:
    """Kernel herding with equal weights."""
    space = he.Sphere(2)
    f, total, rows = he.potential(points, time=time), np.zeros(len(points)), []
    for count in range(1, SIZE + 1):
        rows.append(int(np.argmax(f - total / count)))
        total += space.pair_kernel.terms(points[rows[-1:]], points)(time).overlap[0]
    return np.array(rows)


def mmd(points: np.ndarray, rows: np.ndarray) -> float:
    return math.sqrt(he.mmd2(points, points[rows], angles=ANGLE)[0])


def thinning(full: bool) -> Iterator[str]:
    yield f"{ATOMS:,} atoms to at most {SIZE} at {ANGLE:g} degrees on S^2. MMD to the whole cloud; `thin` as certified."
    yield ""
    yield "| cloud | random | systematic | greedy | `thin` | kept | random / `thin` | gESS within | time / transform |"
    yield "|---|---|---|---|---|---|---|---|---|"
    rng, time = np.random.default_rng(SEED), float(np.radians(ANGLE) ** 2 / 8)
    degree = (level_count(he.Sphere(2).series, time, ATOMS, 1e-8, 4096) or 1) - 1
    for name, points in clouds(rng).items():
        draws = [mmd(points, rng.choice(len(points), SIZE, replace=False)) for _ in range(50 if full else 10)]
        random = math.sqrt(np.mean(np.square(draws)))
        found = he.thin(points, size=SIZE, angle=ANGLE)
        weights = np.full(len(points), 1 / len(points))
        ours, bare = side_by_side(
            lambda points=points: he.thin(points, size=SIZE, angle=ANGLE),
            bare_transform(points, weights, degree, thread_count()),
            rounds=3,
        )
        ratio = "exact" if found.mmd == 0 else f"{random / found.mmd:.0f}"
        others = f"{mmd(points, systematic(points)):.3f} | {mmd(points, greedy(points, time)):.3f}"
        change = f"{100 * math.expm1(found.bound):.2g} %"
        speed = f"{ours / bare:.0f} ({ours:.2f} s)"
        yield f"| {name} | {random:.3f} | {others} | {found.mmd:.2g} | {found.size} | {ratio} | {change} | {speed} |"


SPACES: tuple[Callable[[], he.Space], ...] = (
    lambda: he.Sphere(2),
    lambda: he.Circle(),
    lambda: he.Torus(2),
    lambda: he.Sphere(6),
    lambda: he.Rotations(),
    lambda: he.Projective(2),
    lambda: he.ComplexProjective(2),
)


def random_measure(rng: np.random.Generator, space: he.Space) -> he.Measure:
    """From one place to many, each a few copies or all distinct, with weights from equal to very unequal."""
    n = int(rng.integers(3, 200))
    points = space.uniform(n, rng)
    if rng.random() < 0.5:  # concentrated: atoms near few places, by drawing many and keeping the nearest
        many, centres = space.uniform(20 * n, rng), space.uniform(int(rng.integers(1, 5)), rng)
        nearest = np.min([space.distance(many, np.repeat(c[None], len(many), axis=0)) for c in centres], axis=0)
        points = many[np.argsort(nearest)[:n]]
    if rng.random() < 0.3:
        points = points[rng.integers(0, n, n)]
    weights = rng.gamma(float(rng.choice([0.2, 1.0, 5.0])), size=n) if rng.random() < 0.7 else np.ones(n)
    return he.Measure(points, weights + 1e-300, space=space)


def certificate(full: bool) -> Iterator[str]:
    """How often the change of gESS is above the bound, at the scale or at 40 coarser ones, or MMD above its value."""
    cases, violated, worst, loose = 1000 if full else 300, 0, 0.0, []
    made = [make() for make in SPACES]
    for case in range(cases):
        rng = np.random.default_rng([SEED, case])
        space = made[case % len(made)]
        measure = random_measure(rng, space)
        angle = math.exp(rng.uniform(math.log(10 if space.dim < 3 else 30), math.log(160)))
        found = he.thin(measure, size=int(rng.integers(1, 60)), angle=angle)
        times = found.time * np.geomspace(1, 1000, 41)
        gess = [he.heat_profile(part, times=times, rtol=1e-10).gess for part in (measure, found.measure)]
        change = float(np.abs(np.log(gess[0] / gess[1])).max())
        mmd2 = float(he.mmd2(measure, found.measure, times=found.time)[0])
        violated += change > found.bound + 1e-9 or math.sqrt(mmd2) > found.mmd * (1 + 1e-6) + 1e-9
        if found.bound > 1e-6:
            worst = max(worst, change / found.bound)
            loose.append(change / found.bound)
    yield (
        f"The certificate in {cases} random cases on {len(made)} spaces, checked at the scale and 40 coarser ones: "
        f"{violated} violated. The change of log gESS is at most {worst:.2f} of the bound, {np.median(loose):.2f} in "
        "the median."
    )


def circle_walk(rng: np.random.Generator, chains: int, draws: int, angles: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Steps of 40 degrees: degree l decays by exp(-l^2 s^2 / 2)."""
    step, degrees = math.radians(40), np.arange(1, 200)
    walks = rng.uniform(0, 2 * np.pi, (chains, 1)) + np.cumsum(step * rng.normal(size=(chains, draws)), axis=1)
    found = [he.chain_ess(walk % (2 * np.pi), space=he.Circle(), angles=angles) for walk in walks]
    shares = np.exp(-2 * np.multiply.outer(np.radians(angles) ** 2 / 8, degrees**2))
    exact = shares @ (1 / np.tanh(degrees**2 * step**2 / 4)) / shares.sum(axis=1)
    return np.array([part.autocorrelation_times for part in found]), exact


def brownian(rng: np.random.Generator, chains: int, draws: int, angles: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Brownian motion on S^2 seen at intervals of 0.1: degree l decays by exp(-l (l + 1) dt)."""
    dt, degrees, u = 0.1, np.arange(1, 100), np.linspace(-1, 1, 20001)
    density, before, now = np.ones_like(u), np.ones_like(u), u
    for degree in range(1, 60):
        density = density + (2 * degree + 1) * math.exp(-degree * (degree + 1) * dt) * now
        before, now = now, ((2 * degree + 1) * u * now - degree * before) / (degree + 1)
    total = np.cumsum(np.maximum(density, 0.0))
    x = np.empty((chains, draws, 3))
    x[:, 0] = he.Sphere(2).uniform(chains, rng)
    for i in range(1, draws):
        cosine = np.interp(rng.random(chains), total / total[-1], u)[:, None]
        away = rng.normal(size=(chains, 3))
        away -= np.einsum("ij,ij->i", away, x[:, i - 1])[:, None] * x[:, i - 1]
        x[:, i] = cosine * x[:, i - 1] + np.sqrt(1 - cosine**2) * away / np.linalg.norm(away, axis=1)[:, None]
        x[:, i] /= np.linalg.norm(x[:, i], axis=1)[:, None]
    found = np.array([he.chain_ess(chain, angles=angles).autocorrelation_times for chain in x])
    eigenvalues = degrees * (degrees + 1)
    shares = (2 * degrees + 1) * np.exp(-2 * np.multiply.outer(np.radians(angles) ** 2 / 8, eigenvalues))
    return found, shares @ (1 / np.tanh(eigenvalues * dt / 2)) / shares.sum(axis=1)


def staying(rng: np.random.Generator, chains: int, draws: int, angles: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A Metropolis chain that rejects 70 % and is drawn anew else: (1 + r) / (1 - r) at every scale."""
    found = []
    for _ in range(chains):
        moved = rng.random(draws) > 0.7
        moved[0] = True
        rows = np.maximum.accumulate(np.where(moved, np.arange(draws), 0))
        found.append(he.chain_ess(he.Sphere(2).uniform(draws, rng)[rows], angles=angles).autocorrelation_times)
    return np.array(found), np.full(len(angles), 1.7 / 0.3)


def independent(rng: np.random.Generator, chains: int, draws: int, angles: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    found = [he.chain_ess(he.Sphere(2).uniform(draws, rng), angles=angles).autocorrelation_times for _ in range(chains)]
    return np.array(found), np.ones(len(angles))


def chain_tables(full: bool) -> Iterator[str]:
    chains, draws = (40, 10_000) if full else (12, 3000)
    angles = np.array([5.0, 30.0, 120.0])
    yield f"Autocorrelation times n / `chain_ess`, means over {chains} chains of {draws:,} draws, with standard errors."
    yield ""
    heads = " | ".join(f"{angle:g} degrees | exact" for angle in angles)
    yield f"| chain | {heads} |"
    yield "|---|" + "---|---|" * len(angles)
    named = {
        "circle, steps of 40 degrees": circle_walk,
        "S^2, Brownian motion, dt = 0.1": brownian,
        "S^2, 70 % rejected": staying,
        "S^2, independent": independent,
    }
    for name, simulate in named.items():
        found, exact = simulate(np.random.default_rng(SEED), chains, draws, angles)
        spread = found.std(axis=0, ddof=1) / math.sqrt(chains)
        columns = zip(found.mean(axis=0), spread, exact, strict=True)
        cells = " | ".join(f"{mean:.3f} ± {error:.3f} | {truth:.3f}" for mean, error, truth in columns)
        yield f"| {name} | {cells} |"


def tables(full: bool) -> str:
    """All tables, as Markdown."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", he.PrecisionWarning)  # mmd2 of measures that hardly differ
        parts = ["\n".join(part(full)) for part in (thinning, certificate, chain_tables)]
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--full", action="store_true", help="more cases, for the published figures")
    print(tables(parser.parse_args().full))
