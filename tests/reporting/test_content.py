"""The data of a report: its numbers are those of the library, its pictures are where the atoms are."""

from __future__ import annotations

import json
import re
from base64 import b64decode
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import heatess as he
import space_cases
from heatess.reporting.content import Entry, report_data
from heatess.reporting.views import view_of

KINDS = {
    "Sphere(1)": "circle", "Sphere(2)": "globe", "Projective(1)": "circle", "Projective(2)": "hemisphere",
    "Projective(3)": "ball", "ComplexProjective(1)": "globe", "Rotations": "ball", "Rotations(O)": "ball",
    "Circle": "circle", "day": "circle",
    "Torus(2)": "square", "box": "square", "Torus(3)": "solid", "Euclidean(2)": "flat", "Euclidean(3)": "solid",
    "Hyperbolic(2)": "flat", "Hyperbolic(3)": "solid", "S2 x S1": "globe", "T2 x RP2": "square", "pose": "solid",
    "Mesh": "surface", "PointCloud": "solid", "Graph": "graph",
}  # fmt: skip


#: Scales of the report that is looked at closely.
GRID = np.geomspace(0.7, 100, 32)


def data_in(path: Path) -> dict:
    """The data of a page, as the scripts in it read them."""
    text = path.read_text(encoding="utf-8")
    return json.loads(re.search(r'id="heatess-data">(.*?)</script>', text, re.S)[1])


def numbers(code: str, kind: str) -> np.ndarray:
    return np.frombuffer(b64decode(code), f"<{kind}")


def cloud(n: int = 400, seed: int = 0) -> he.Measure:
    """Four modes with unequal weights."""
    rng = np.random.default_rng(seed)
    return he.Measure(he.samplers.tetrahedral(n, 60.0, rng=rng), rng.gamma(2.0, size=n))


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """One report with its measure."""
    measure = cloud()
    path = tmp_path_factory.mktemp("report") / "cloud.html"
    he.report(measure, path, angles=GRID, weights_are="fixed")
    return measure, path, data_in(path)


@pytest.mark.slow
@pytest.mark.parametrize(**space_cases.named(space_cases.EVERY))
def test_every_space_has_a_report_within_its_size(case, tmp_path):
    points = case.points(60, np.random.default_rng(3))
    measure = he.Measure(points, space=case.space())
    path = he.report(measure, tmp_path / "page.html", times=case.times(6), names=case.name)
    data = data_in(path)
    (told,) = data["measures"]
    assert told["view"]["kind"] == KINDS.get(case.name, "histogram")
    expected = he.heat_profile(measure, times=case.times(6))
    np.testing.assert_allclose(told["curves"]["gess"], expected.gess, rtol=1e-7)
    assert path.stat().st_size <= 300_000 + 12 * measure.n
    assert (told["curves"]["volume"] is None) == (not case.space().compact)
    assert "NaN" not in path.read_text(encoding="utf-8")


def test_curves_are_those_of_the_library(page):
    measure, _, data = page
    curves = data["measures"][0]["curves"]
    profile = he.heat_profile(measure, angles=GRID)
    for name in ("times", "angles", "gess", "volume", "mmd2", "divergence", "dimension", "error"):
        np.testing.assert_array_equal(curves[name], getattr(profile, name), err_msg=name)
    np.testing.assert_allclose(curves["maximum"], profile.gess / profile.volume, rtol=1e-15)
    even = he.heat_profile(measure.points, angles=profile.angles)
    np.testing.assert_allclose(curves["even"], even.gess, rtol=1e-3)
    assert data["scales"]["values"] == profile.angles.tolist()


def test_places_and_their_band_are_those_of_the_population_profile(page):
    measure, _, data = page
    told = data["measures"][0]
    law = he.population_profile(measure, angles=GRID, weights_are="fixed")
    assert told["resolution_limit"] == pytest.approx(law.resolution_limit, rel=1e-3)
    places = {name: np.array(values, dtype=float) for name, values in told["curves"]["places"].items()}
    shown = np.isfinite(places["estimate"])
    assert shown.sum() >= 20  # below half the resolution limit they are left out
    np.testing.assert_allclose(places["estimate"][shown], law.places.estimate[shown], rtol=1e-6)
    # Variances are interpolated between scales, which are others here.
    np.testing.assert_allclose(places["lower"][shown], law.places.lower[shown], rtol=1e-2)
    np.testing.assert_allclose(places["upper"][shown], law.places.upper[shown], rtol=1e-2)


def test_spectrum_modes_and_shares_are_those_of_the_library(page):
    measure, _, data = page
    told = data["measures"][0]
    spectrum = he.power_spectrum(measure, max_degree=64)
    np.testing.assert_allclose(told["spectrum"]["energies"], spectrum.energies[1:], rtol=1e-12)
    np.testing.assert_allclose(told["spectrum"]["expected"], spectrum.multiplicities[1:] / measure.ess, rtol=1e-12)
    modes = he.heat_profile(measure, angles=GRID).plateaus()
    assert told["modes"]["plateaus"][0]["count"] == modes[0].count
    assert round(modes[0].count) == 4
    assert "4 modes" in " ".join(data["verdict"]["sentences"])
    start = data["scales"]["values"][data["scales"]["start"]]
    shares = he.maximum_entropy(measure, angle=max(start, 15.0), max_degree=4)
    np.testing.assert_allclose(told["maximum_entropy"]["shares"], shares.shares, rtol=1e-9)


def test_the_panel_on_the_mass_is_that_of_the_density(page):
    """Scale, curve and regions; the map has the density at the centres of its cells, within its 256 shades."""
    measure, _, data = page
    law, told = he.density(measure), data["measures"][0]["mass"]
    region = law.region([0.5, 0.9])
    assert f"smoothed at {law.angle:.3g}°" in told["sentence"]
    assert told["curve"]["chosen"] == pytest.approx(law.angle)
    keys = [column["key"] for column in told["regions"]["columns"]]
    share, held = (np.array(told["regions"]["rows"])[:, keys.index(key)].astype(float) for key in ("share", "held"))
    np.testing.assert_allclose(share, 100 * region.area)
    np.testing.assert_allclose(held, 100 * region.held)
    drawn = told["map"]
    np.testing.assert_allclose([10 ** level["log"] for level in drawn["levels"]], region.threshold)
    lat = 90 - 180 * (np.arange(drawn["rows"]) + 0.5) / drawn["rows"]
    lon = 360 * (np.arange(drawn["columns"]) + 0.5) / drawn["columns"] - 180
    where = he.from_lonlat(*(part.ravel() for part in np.meshgrid(lon, lat)), units="deg")
    step = (drawn["most"] - drawn["least"]) / 255
    logs = np.log10(np.maximum(law.at(where), 10 ** drawn["least"]))
    np.testing.assert_allclose(drawn["least"] + step * numbers(drawn["values"], "u1"), logs, atol=0.51 * step)


@pytest.mark.slow
def test_a_density_is_shown_where_there_is_one_and_else_the_page_says_why(tmp_path):
    near, scales = he.samplers.von_mises_fisher(60, [0.6, 0, 0.8], 4000.0, rng=1), {"angles": [1, 2, 4]}
    small = data_in(he.report(he.Measure(near), tmp_path / "a.html", **scales))["measures"][0]["mass"]["map"]
    assert (small["layout"], small["half"] < 10) == ("patch", True)
    data = data_in(he.report(he.Measure(near, kind="complete"), tmp_path / "b.html", **scales))
    assert data["measures"][0]["mass"] is None
    assert "Where the mass is: points are a complete list" in data["methods"][-1]["text"]
    data = data_in(he.report(he.samplers.uniform(50, 30, rng=1), tmp_path / "c.html", resolutions=[40, 60]))
    assert "a density in 30 dimensions says little" in data["methods"][-1]["text"]


def test_tables_of_atoms_have_the_heaviest_and_the_most_redundant(page):
    measure, _, data = page
    atoms = data["measures"][0]["atoms"]
    values = he.redundancy(measure, angle=data["scales"]["values"][data["scales"]["start"]])
    heavy = np.argsort(-measure.weights)[:10]
    assert [row["row"] for row in atoms["heaviest"]] == heavy.tolist()
    eligible = np.where(measure.weights >= 0.01 / measure.n, values, -1)
    assert [row["row"] for row in atoms["redundant"]] == np.argsort(-eligible)[:10].tolist()
    for row in (*atoms["heaviest"], *atoms["redundant"]):
        assert row["weight"] == measure.weights[row["row"]]
        assert row["redundancy"] == pytest.approx(values[row["row"]], abs=1e-6)


def test_scales_that_the_headline_names_describe_the_distribution_and_the_page_opens_at_the_middle_one():
    from heatess.reporting.content import chosen_scale, entry_of
    from heatess.reporting.landmarks import landmarks

    for n in (300, 3000):
        measure = he.Measure(he.samplers.uniform(n, rng=1))
        entry = entry_of("cloud", he.heat_profile(measure), measure, None, 1e-8)
        named = landmarks(entry.profile, "", entry.limit)
        assert 2 <= len(named) <= 3
        assert (entry.profile.angles[named] >= 0.999 * entry.limit).all()
        assert (entry.profile.gess[named] >= 2).all()
        assert chosen_scale(entry, named) == named[len(named) // 2]


def test_round_scales_are_computed_and_not_interpolated(tmp_path):
    measure = cloud()
    data = data_in(he.report(measure, tmp_path / "page.html"))
    values, buttons = data["scales"]["values"], data["scales"]["buttons"]
    angles = [values[row] for row in buttons]
    assert angles == pytest.approx([1, 2, 5, 10, 20, 50, 100][-len(angles) :])
    gess = [data["measures"][0]["curves"]["gess"][row] for row in buttons]
    np.testing.assert_allclose(gess, he.heat_profile(measure, angles=angles).gess, rtol=1e-9)
    assert (np.diff(values) > 0).all()


@pytest.mark.slow
def test_copies_stand_once_among_the_redundant_and_lonely_points_have_a_table(tmp_path):
    rng = np.random.default_rng(1)
    crowd = he.samplers.von_mises_fisher(60, [0, 0, 1], 400, rng=rng)
    points = np.concatenate([np.tile([0.0, 0.0, 1.0], (31, 1)), crowd, -np.eye(3)])
    names = [f"p{k}" for k in range(len(points))]
    data = data_in(he.report(he.Measure(points, labels=names), tmp_path / "page.html", angles=[5, 10, 20]))
    atoms, view = data["measures"][0]["atoms"], data["measures"][0]["view"]
    first = atoms["redundant"][0]
    assert (first["row"], first["copies"], first["name"]) == (0, 31, "p0")
    assert all(row["copies"] == 1 for row in atoms["redundant"][1:])
    assert {row["name"] for row in atoms["alone"]} == {"p91", "p92", "p93"}
    assert view["labels"].split("\n") == names


def test_equal_weights_of_a_reference_warn_of_nothing(tmp_path):
    """MMD^2 of the same points with equal weights is not shown, and so no warning of it is."""
    octahedron = np.vstack([np.eye(3), -np.eye(3)])
    data = data_in(he.report(he.Measure(octahedron, [9, 1, 1, 1, 1, 1]), tmp_path / "page.html", angles=[60, 120, 200]))
    assert not any("mmd2" in text for text in data["verdict"]["warnings"])


def test_mmd2_of_uniform_points_has_the_mean_and_tail_that_the_page_shows():
    from heatess.reporting.computed import null_of

    n, draws, rng = 250, 500, np.random.default_rng(5)
    times = np.radians([15.0, 30.0, 60.0]) ** 2 / 8
    null = null_of(he.Measure(he.samplers.uniform(n, rng=rng)), times, None, {})
    found = np.array(
        [he.heat_profile(he.samplers.uniform(n, rng=rng), times=times, rtol=1e-4).mmd2 for _ in range(draws)]
    )
    error = found.std(axis=0) / np.sqrt(draws)
    assert (np.abs(found.mean(axis=0) - null["mean"]) < 4 * error).all()
    share = (found > null["upper"]).mean(axis=0)
    assert (np.abs(share - 0.05) < 4 * np.sqrt(0.05 * 0.95 / draws)).all()


def test_importance_weights_have_no_law_of_mmd2_under_uniformity():
    from heatess.reporting.computed import null_of

    reasons: dict[str, str] = {}
    assert null_of(cloud(), np.array([0.01, 0.1]), "importance", reasons) is None
    assert "importance" in reasons["mmd2_null"]
    assert null_of(cloud(), np.array([0.01, 0.1]), "fixed", {}) is not None


# Pictures.


def atoms_of(view: dict) -> np.ndarray:
    """Coordinates of atoms in a picture."""
    codes = numbers(view["points"], "i2").reshape(-1, view["dims"])
    return np.array(view["middle"]) + codes * (view["extent"] / 32767)


def test_atoms_of_a_globe_are_where_they_are_and_their_area_is_the_weight():
    measure = cloud()
    view = view_of(measure, np.array([0.05]))
    np.testing.assert_allclose(atoms_of(view), measure.points, atol=0.51 / 32767)
    sizes = numbers(view["sizes"], "u1")
    np.testing.assert_allclose(sizes / 255, measure.weights / measure.weights.max(), atol=1 / 255)
    assert sizes.min() >= 1


@pytest.mark.parametrize("n", range(2, 60))
def test_equal_weights_are_equal_markers(n):
    view = view_of(he.Measure(np.arange(2.0 * n).reshape(n, 2), space=he.Euclidean(2)), np.array([1e4]))
    assert set(numbers(view["sizes"], "u1")) == {255}


def test_a_cloud_at_one_place_is_not_seen_through_a_microscope():
    view = view_of(he.Measure([[0.0, 0.0, 1.0]] * 3), np.radians([2.0, 20.0, 120.0]) ** 2 / 8)
    assert view["spread"] == pytest.approx(10.0)
    np.testing.assert_allclose(view["centre"], [0, 0, 1])


def test_rotations_are_drawn_as_axis_times_angle():
    turns = Rotation.random(50, random_state=np.random.default_rng(2))
    view = view_of(he.Measure(turns), np.array([0.05]))
    np.testing.assert_allclose(atoms_of(view), turns.as_rotvec(), atol=np.pi / 32767)


def test_torsions_are_drawn_on_a_wrapped_square_whatever_their_unit():
    degrees = np.array([[190.0, -45.0], [-60.0, 530.0]])
    view = view_of(he.Measure(degrees, space=he.Torus(2, units="deg")), np.array([0.05]))
    np.testing.assert_allclose(np.degrees(atoms_of(view)), [[-170, -45], [-60, 170]], atol=0.01)
    assert view["extent"] == pytest.approx(np.pi)


def test_states_of_a_qubit_are_drawn_on_the_bloch_sphere():
    half = np.sqrt(0.5)
    states = np.array([[1, 0], [0, 1], [half, half], [half, half * 1j]])
    view = view_of(he.Measure(states, space=he.ComplexProjective(1)), np.array([0.05]))
    np.testing.assert_allclose(atoms_of(view), [[0, 0, 1], [0, 0, -1], [1, 0, 0], [0, 1, 0]], atol=1e-4)


def test_axes_are_drawn_on_the_upper_half():
    points = he.samplers.uniform(40, rng=0)
    view = view_of(he.Measure(points, space=he.Projective(2)), np.array([0.05]))
    np.testing.assert_allclose(atoms_of(view), points * np.sign(points[:, 2:]), atol=1e-4)


def test_a_distant_plane_keeps_its_coordinates():
    points = np.random.default_rng(0).normal([5e5, -4e6], size=(50, 2))
    view = view_of(he.Measure(points, space=he.Euclidean(2)), np.array([0.5]))
    np.testing.assert_allclose(atoms_of(view), points, atol=view["extent"] / 32767)


def test_errors_of_surfaces_and_of_random_pairs_are_called_estimates():
    mesh = next(case for case in space_cases.EVERY if case.name == "Mesh").space()
    graph = next(case for case in space_cases.EVERY if case.name == "Graph").space()
    estimated = he.heat_profile([0, 3], space=mesh, times=[mesh.finest_time * 2])
    bounded = he.heat_profile([0, 3], space=graph, times=[1.0])
    plane = np.random.default_rng(1).standard_normal((500, 2))
    rough = he.heat_profile(plane, space=he.Euclidean(2), times=[0.1], pairs=2000, rng=1)
    for profile, word in ((estimated, "estimated"), (bounded, "certified"), (rough, "estimated")):
        told = report_data([Entry("cloud", profile, None)], title="")
        assert told["measures"][0]["certified"] == (word == "certified")
        text = next(item["text"] for item in told["methods"] if "relative error" in item["text"])
        assert ("not certified" in text) == (word == "estimated")


def test_atoms_of_a_mesh_are_at_their_nearest_vertex():
    mesh = next(case for case in space_cases.EVERY if case.name == "Mesh").space()
    barycentric = np.array([[0.8, 0.1, 0.1], [0.1, 0.2, 0.7]])
    faces = np.array([5, 9])
    view = view_of(he.Measure((faces, barycentric), [1.0, 3.0], space=mesh), np.array([0.5]))
    corners = numbers(view["faces"], "u4").reshape(-1, 3)
    sizes = numbers(view["sizes"], "u1")
    assert {int(i) for i in np.flatnonzero(sizes)} == {int(corners[5, 0]), int(corners[9, 2])}
    assert sizes[corners[9, 2]] == 255


def _densities(space: he.Space, view: dict) -> list[tuple[int, np.ndarray, float]]:
    frames = []
    for frame in view["density"]["frames"]:
        step = (frame["most"] - frame["least"]) / 255
        logs = frame["least"] + step * numbers(frame["values"], "u1")
        assert len(logs) == frame["rows"] * frame["columns"]
        frames.append((frame, logs, step))
    return frames


def _cells(frame: dict, layout: str, view: dict) -> np.ndarray:
    """Coordinates of the centres of cells, as the page has them."""
    rows, columns = frame["rows"], frame["columns"]
    down, across = (np.arange(rows) + 0.5) / rows, (np.arange(columns) + 0.5) / columns
    if layout == "circle":
        return 2 * np.pi * across - np.pi
    if layout == "lonlat":
        lat, lon = np.meshgrid(np.pi / 2 - np.pi * down, 2 * np.pi * across - np.pi, indexing="ij")
        return np.stack([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)], axis=-1).reshape(-1, 3)
    y, x = np.meshgrid(view["box"][1] * (1 - 2 * down), view["box"][0] * (2 * across - 1), indexing="ij")
    return np.stack([x, y], axis=-1).reshape(-1, 2) + np.array(view["middle"])


@pytest.mark.parametrize("name", ["Sphere(2)", "Projective(2)", "Circle", "Torus(2)", "box", "Euclidean(2)"])
def test_shades_are_the_density_at_the_centres_of_cells(name):
    case = next(case for case in space_cases.EVERY if case.name == name)
    space, rng = case.space(), np.random.default_rng(7)
    measure = he.Measure(case.points(30, rng), rng.gamma(1.0, size=30), space=space)
    times = case.times(5)[2:]
    view = view_of(measure, times)
    assert len(view["density"]["frames"]) >= 2
    for frame, logs, step in _densities(space, view):
        at = _cells(frame, view["density"]["layout"], view)
        t = times[frame["scale"]]
        if space.compact:
            exact = he.potential(measure, at=at, time=t, kind="density", rtol=1e-10)
        else:
            exact = he.potential(measure, at=at, time=t / 2) / (4 * np.pi * t)
        expected = np.log10(np.maximum(exact, 10 ** frame["least"]))
        np.testing.assert_allclose(logs, expected, atol=0.51 * step + 2e-3)


def test_the_density_of_a_product_is_that_of_the_factor_drawn():
    rng = np.random.default_rng(1)
    space = he.Product(he.Sphere(2), he.Circle(), metric_scales=(2.0, 1.0))
    first, second = he.samplers.uniform(25, rng=rng), rng.uniform(-3, 3, 25)
    time = 0.3
    view = view_of(he.Measure((first, second), space=space), np.array([time]))
    ((frame, logs, step),) = _densities(space, view)
    exact = he.potential(first, at=_cells(frame, "lonlat", view), time=time / 4, kind="density", rtol=1e-10)
    np.testing.assert_allclose(logs, np.maximum(np.log10(exact), frame["least"]), atol=0.51 * step + 2e-3)
    assert "Only one factor" in view["note"]


@pytest.mark.slow
def test_fine_scales_of_a_small_cloud_are_drawn_on_a_patch_around_it():
    measure = he.Measure(he.samplers.von_mises_fisher(80, [0.48, 0.64, 0.6], 2000.0, rng=4))
    times = np.radians([0.8, 2.0, 40.0]) ** 2 / 8
    view = view_of(measure, times)
    patched = [frame for frame in _densities(measure.space, view) if "patch" in frame[0]]
    assert [frame["scale"] for frame, _, _ in patched] == [0, 1]
    for frame, logs, step in patched:
        patch = {name: np.array(part) for name, part in frame["patch"].items()}
        side = patch["half"] * (2 * (np.arange(frame["rows"]) + 0.5) / frame["rows"] - 1)
        across, up = (part.ravel()[:, None] for part in np.meshgrid(side, -side))
        at = across * patch["right"] + up * patch["up"] + np.sqrt(1 - across**2 - up**2) * patch["centre"]
        exact = he.potential(measure, at=at, time=times[frame["scale"]], kind="density", rtol=1e-10)
        expected = np.log10(np.maximum(exact, 10 ** frame["least"]))
        np.testing.assert_allclose(logs, expected, atol=0.51 * step + 2e-3)


def test_many_atoms_are_thinned_for_the_picture_alone():
    n = 100_003
    points = he.samplers.fibonacci(n)
    view = view_of(he.Measure(points), np.array([0.1]))
    assert (view["shown"], view["of"]) == (100_000, n)
    assert "100,000 of 100,003 points" in view["note"]
    rows = np.arange(100_000) * n // 100_000
    np.testing.assert_allclose(atoms_of(view), points[rows], atol=1e-4)
    assert len(view["points"]) + len(view["sizes"]) <= 12 * 100_000


def test_nodes_of_tight_groups_are_not_drawn_at_one_spot():
    """Two cliques joined by a path: the slowest modes put each clique at one spot."""
    links = np.zeros((45, 45))
    links[:20, :20] = links[25:, 25:] = 1 - np.eye(20)
    for k in range(19, 25):
        links[k, k + 1] = links[k + 1, k] = 1
    places = atoms_of(view_of(he.Measure(np.arange(45), space=he.Graph(links)), np.array([1.0])))
    far = np.linalg.norm(places[:, None] - places[None], axis=2) + 9 * np.eye(45)
    assert far.min() > 0.01 * np.ptp(places)
    groups = np.linalg.norm(places[:20].mean(axis=0) - places[25:].mean(axis=0))
    assert groups > 2 * np.linalg.norm(places[:20] - places[:20].mean(axis=0), axis=1).mean()


def test_far_atoms_do_not_shrink_the_plane():
    points = np.random.default_rng(0).normal(size=(2000, 2))
    points[0] = 1e6
    assert view_of(he.Measure(points, space=he.Euclidean(2)), np.array([0.5]))["extent"] < 10


def test_a_histogram_counts_distances_of_atoms_drawn_by_weight():
    points = np.eye(12)[:6]
    view = view_of(he.Measure(points, [1, 1, 1, 1, 0, 0]), np.array([0.05, 0.2]))
    told = view["histogram"]
    edges, counts = np.array(told["edges"]), np.array(told["counts"])
    where = np.flatnonzero(counts)
    assert view["kind"] == "histogram"
    assert len(where) == 1
    assert edges[where[0]] <= 90 <= edges[where[0] + 1]
    assert counts.sum() == told["pairs"]
    middles = np.radians((edges[1:] + edges[:-1]) / 2)
    near = [[1.0] + [0.0] * 11, [np.cos(middles[20]), np.sin(middles[20])] + [0.0] * 10]
    overlap = 2 / he.gess(near, time=0.2) - 1
    assert told["overlap"][1][20] == pytest.approx(overlap, abs=2e-4)
