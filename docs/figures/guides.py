"""Draw the pictures of docs/guides: python docs/figures/guides.py

Each is a plot of the library on the data of its guide, or on data like them.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

import heatess as he

SIZE = (7, 3.2)


def one(size: tuple[float, float] = SIZE, **kind: Any) -> tuple[Figure, Any]:
    """A figure with one panel."""
    figure = Figure(figsize=size, layout="constrained")
    return figure, figure.subplots(**kind)


def two(**kind: Any) -> tuple[Figure, Any]:
    """A figure with two panels."""
    figure = Figure(figsize=SIZE, layout="constrained")
    return figure, figure.subplots(1, 2, **kind)


def choose_a_scale() -> Figure:
    """A profile with a plateau, and what the scale of an instrument cuts out of it."""
    figure, ax = one()
    profile = he.heat_profile(he.samplers.tetrahedral(300, 140.0, rng=0))
    profile.plot(ax)
    [plateau] = profile.plateaus()
    ax.axvspan(plateau.finest, plateau.coarsest, color="#0072B2", alpha=0.1)
    ax.annotate("4 modes, whatever\nthe exact scale", (plateau.finest * 1.15, 30), fontsize=9)
    return figure


def embeddings() -> Figure:
    """40 topics of 15 near copies each, and 600 unrelated items."""
    rng = np.random.default_rng(0)
    topics = rng.normal(size=(40, 384)).repeat(15, axis=0)
    clouds = {"600 items on 40 topics": topics + 0.35 * rng.normal(size=topics.shape)}
    clouds["600 unrelated items"] = rng.normal(size=topics.shape)
    figure, ax = one()
    units = {name: x / np.linalg.norm(x, axis=1, keepdims=True) for name, x in clouds.items()}
    he.plot.compare(units, ax, resolutions=np.geomspace(5, 75, 40))
    return figure


def graphs() -> Figure:
    """Two groups with a bridge: which nodes heat tells apart."""
    links = np.zeros((23, 23))
    links[:10, :10] = links[13:, 13:] = 1
    np.fill_diagonal(links, 0)
    for k in range(9, 13):
        links[k, k + 1] = links[k + 1, k] = 1
    space = he.Graph(links)
    nodes, edges = space.drawing.nodes(), space.drawing.edges
    figure, (left, right) = two()
    left.plot(*nodes[edges].transpose(2, 1, 0), color="#999999", linewidth=0.5)
    shares = he.potential(np.arange(23), space=space, time=0.3)
    drawn = left.scatter(*nodes.T, c=1 - 1 / (23 * shares), cmap="YlOrBr", edgecolor="#333333", s=45, zorder=3)
    figure.colorbar(drawn, ax=left, label="redundancy at t = 0.3", shrink=0.8)
    left.set_axis_off()
    he.heat_profile(np.arange(23), space=space).plot(right)
    return figure


def grids() -> Figure:
    """Rain-like values on a grid, at 10 degrees."""
    lon, lat = (part.ravel() for part in np.meshgrid(np.arange(-175, 180, 10.0), np.arange(-87.5, 90, 5.0)))
    value = np.exp(-((lat - 8) ** 2) / 200) * (1.2 + np.cos(np.radians(2 * lon))) + 0.1
    points = he.from_lonlat(lon, lat, units="deg")
    figure, ax = one(subplot_kw={"projection": "mollweide"})
    he.plot.sky(he.Measure(points, value * np.cos(np.radians(lat))), angle=10, ax=ax, atoms=False)
    return figure


def inference() -> Figure:
    """Places of the distribution, with a band, beside gESS."""
    figure, ax = one()
    he.population_profile(he.samplers.tetrahedral(600, 40.0, rng=0), angles=np.geomspace(1.5, 90, 40)).plot(ax)
    return figure


def sky_maps() -> Figure:
    """A localisation with a ring, smoothed at 5 degrees."""
    x = he.samplers.fibonacci(12_288)
    centre, ring = np.array([-0.38, 0.84, 0.39]), np.array([-0.3, 0.9, -0.3]) / np.linalg.norm([-0.3, 0.9, -0.3])
    weights = np.exp(60 * (x @ centre - 1)) + 0.6 * np.exp(-((x @ ring / 0.12) ** 2) / 2 + 3 * (x @ centre - 1))
    figure, ax = one(subplot_kw={"projection": "mollweide"})
    he.plot.sky(he.Measure(x, weights, kind="cells", frame="icrs"), angle=5, ax=ax, atoms=False)
    return figure


def tests_and_bands() -> Figure:
    """Where two samples differ, scale by scale."""
    figure, (left, right) = two()
    before = he.samplers.von_mises_fisher(300, [0, 0, 1], 5, rng=0)
    after = he.samplers.von_mises_fisher(300, [0, 0, 1], 8, rng=1)
    he.two_sample_test(before, after, rng=2).plot(left)
    he.uniformity_test(he.samplers.tetrahedral(100, 8.0, rng=0)).plot(right)
    return figure


def torsions() -> Figure:
    """Two wells of a backbone, and the plateau they make."""
    rng = np.random.default_rng(3)
    wells = np.concatenate([rng.normal([-65, -42], 10, (400, 2)), rng.normal([-120, 135], 14, (400, 2))])
    figure, (left, right) = two()
    left.plot(*wells.T, ".", markersize=2)
    left.set(xlabel="phi (degrees)", ylabel="psi (degrees)", xlim=(-180, 180), ylim=(-180, 180), aspect="equal")
    he.heat_profile(wells, space=he.Torus(2, units="deg")).plot(right)
    return figure


def weights() -> Figure:
    """The same points with equal and with importance weights."""
    x = he.samplers.uniform(3000, rng=7)
    figure, ax = one()
    clouds = {"equal weights": he.Measure(x), "weights exp(20 z)": he.Measure(x, log_weights=20 * x[:, 2])}
    he.plot.compare(clouds, ax, angles=np.geomspace(1, 90, 40))
    return figure


def good() -> Figure:
    """The error of a mean of values that are alike nearby, against gESS."""
    rng = np.random.default_rng(2)
    figure, ax = one()
    found, counts = [], []
    for count, kappa in ((20, 1), (40, 2), (80, 5), (160, 20), (200, 60), (300, 0.1), (60, 0.1)):
        x = he.samplers.von_mises_fisher(count, [0, 0, 1], kappa, rng=rng)
        overlap = np.array([he.potential([point], at=x, angle=20) for point in x])
        root = np.linalg.cholesky(overlap + 1e-7 * np.eye(count))
        found.append((root @ rng.normal(size=(count, 4000))).mean(axis=0).std())
        counts.append(he.gess(x, angle=20))
    line = np.geomspace(min(counts), max(counts), 50)
    ax.loglog(line, 1 / np.sqrt(line), label="1 / sqrt(gESS)")
    ax.loglog(counts, found, "o", label="error of the mean, 4,000 simulations")
    ax.set(xlabel="gESS at 20 degrees", ylabel="error of the mean")
    ax.set_xticks([2, 5, 10, 20], ["2", "5", "10", "20"], minor=False)
    ax.set_xticks([], minor=True)
    ax.legend(frameon=False)
    return figure


def mass() -> Figure:
    """A density on the sphere with the regions that hold 50 and 90 %."""
    parts = [([0.6, 0, 0.8], 40, 300), ([-0.6, 0.64, 0.48], 15, 150)]
    x = np.concatenate([he.samplers.von_mises_fisher(n, mean, kappa, rng=n) for mean, kappa, n in parts])
    figure, ax = one(subplot_kw={"projection": "mollweide"})
    he.density(x).plot(ax)
    return figure


def thinned() -> Figure:
    """5,000 points and the 100 that stand for them."""
    figure, ax = one()
    he.thin(he.samplers.tetrahedral(5000, 40.0, rng=3), size=100, angle=20).plot(ax)
    return figure


def walk(rng: np.random.Generator) -> np.ndarray:
    """1,000 steps of a random walk on the sphere, whose distribution is uniform."""
    place, found = rng.normal(size=3), []
    for _ in range(1000):
        place = place / np.linalg.norm(place)
        found.append(place)
        place = place + 0.3 * rng.normal(size=3)
    return np.array(found)


def known() -> Figure:
    """Two runs of one slow chain, taken for independent draws and for what they are."""
    rng = np.random.default_rng(0)
    runs = [np.stack([walk(rng) for _ in range(4)]) for _ in range(2)]
    figure, axes = two(sharey=True)
    for ax, name, parts in zip(
        axes, ("as independent draws", "as chains"), ([run.reshape(-1, 3) for run in runs], runs), strict=True
    ):
        found = he.two_sample_test(*parts, rng=1)
        found.plot(ax)
        ax.set_title(f"{name}: {found.pvalue_in_words()}", fontsize="medium")
    return figure


def many_files() -> Figure:
    """Parts, their merged state, and all points at once."""
    angles = np.geomspace(5, 90, 30)
    figure, ax = one()
    states, blocks = [], []
    for part in range(4):
        x = he.samplers.von_mises_fisher(
            300, [[1, 0, 0], [0, 1, 0], [0, 0, 1], [-1, 0, 0]][part], 4.0 * 3**part, rng=part
        )
        states.append(he.Accumulator(max_degree=156).add(x))
        blocks.append(x)
        ax.loglog(
            angles, states[-1].profile(angles=angles).gess, color="#999999", label="" if part else "each of four parts"
        )
    merged = states[0] + states[1] + states[2] + states[3]
    ax.loglog(
        angles, merged.profile(angles=angles).gess, color=he.plot.COLORS[0], linewidth=2, label="their states, merged"
    )
    whole = he.heat_profile(np.concatenate(blocks), angles=angles[::3])
    ax.loglog(whole.angles, whole.gess, "o", color=he.plot.COLORS[1], label="all points at once")
    ax.set(xlabel="angle (degrees)", ylabel="gESS")
    ax.set_xticks([5, 10, 20, 50], ["5", "10", "20", "50"])
    ax.set_xticks([], minor=True)
    ax.set_yticks([1, 3, 10, 30, 100], ["1", "3", "10", "30", "100"])
    ax.legend(frameon=False)
    return figure


def other_libraries() -> Figure:
    """200 places on a ball of trimesh, along its triangles and on the sphere itself."""
    import trimesh

    ball = trimesh.creation.icosphere(subdivisions=3)
    places, faces = trimesh.sample.sample_surface(ball, 200, seed=0)
    barycentric = trimesh.triangles.points_to_barycentric(ball.triangles[faces], places)
    along = he.heat_profile(
        (faces, barycentric), space=he.Mesh.from_trimesh(ball), times=np.geomspace(0.45, 3, 15) ** 2 / 8
    )
    sphere = he.heat_profile(places / np.linalg.norm(places, axis=1, keepdims=True), times=np.geomspace(0.02, 1.2, 60))
    figure, ax = one()
    ax.loglog(np.radians(sphere.angles), sphere.gess, color=he.plot.COLORS[0], label="on the sphere")
    ax.loglog(along.angles, along.gess, "o", color=he.plot.COLORS[1], label="along the triangles of trimesh")
    ax.set(xlabel="scale (radii of the ball)", ylabel="gESS")
    ax.set_xticks([0.5, 1, 2, 3], ["0.5", "1", "2", "3"])
    ax.set_xticks([], minor=True)
    ax.set_yticks([1, 3, 10, 30], ["1", "3", "10", "30"])
    ax.legend(frameon=False)
    return figure


PICTURES = {
    "choose-a-scale": choose_a_scale, "embeddings": embeddings, "graphs": graphs, "grids": grids,
    "inference": inference, "sky-maps": sky_maps,
    "tests-and-bands": tests_and_bands, "torsions": torsions, "weights": weights, "good-gess": good, "mass": mass,
    "thinned": thinned, "known": known, "many-files": many_files, "other-libraries": other_libraries,
}  # fmt: skip


def main(folder: Path, names: list[str]) -> None:
    """Write all pictures, or those named."""
    for name in names or list(PICTURES):
        PICTURES[name]().savefig(folder / f"guide-{name}.png", dpi=110, metadata={"Software": None})


if __name__ == "__main__":
    main(Path(__file__).parent, sys.argv[1:])
