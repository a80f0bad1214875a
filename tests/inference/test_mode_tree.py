"""`modes`: wide and narrow modes are told apart, one mode is not, however the points are written down."""

from __future__ import annotations

import csv
import math

import numpy as np
import pytest
from click.testing import CliRunner
from scipy.spatial.transform import Rotation

import heatess as he
import meshes
import space_cases
from heatess.cli import main
from heatess.inference import mode_ground, mode_landscape, mode_tree

NORTH = [0.0, 0.0, 1.0]
POSE = he.Product(he.Sphere(2), he.Circle(units="rad"))


def several(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """120 points about one pole, wide, 60 about the other, narrow, and 60 on the equator; and which is which."""
    rng = np.random.default_rng(seed)
    parts = [(120, NORTH, 20.0), (60, [0.0, 0.0, -1.0], 500.0), (60, [1.0, 0.0, 0.0], 80.0)]
    points = [he.samplers.von_mises_fisher(n, mean, kappa, rng=rng) for n, mean, kappa in parts]
    return np.concatenate(points), np.repeat(np.arange(3), [120, 60, 60])


def same_parts(one: np.ndarray, other: np.ndarray) -> bool:
    """Whether two arrays of labels say the same, whatever modes are called."""
    return len(np.unique(np.column_stack([one, other]), axis=0)) == len(np.unique(one)) == len(np.unique(other))


def test_modes_of_different_width_are_found_and_labels_share_out_the_weight():
    points, truth = several()
    weights = np.random.default_rng(1).gamma(3.0, size=len(points))
    found = he.modes(points, weights)
    assert found.count == 3
    assert found.shares.sum() == pytest.approx(1)
    assert (np.diff(found.shares) <= 0).all()
    np.testing.assert_allclose(np.bincount(found.labels, weights) / weights.sum(), found.shares, rtol=1e-12)
    assert np.mean(found.labels == np.argsort(np.argsort(-np.bincount(truth, weights)))[truth]) > 0.97
    wide, narrow = found.labels[0], found.labels[150]
    assert found.scales[narrow] < found.scales[wide] / 2
    assert found.centers[narrow] @ [0, 0, -1] > math.cos(math.radians(8))


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize(
    "draw",
    [
        lambda rng: he.samplers.uniform(300, rng=rng),
        lambda rng: he.samplers.von_mises_fisher(300, NORTH, 10.0, rng=rng),
        lambda rng: he.samplers.girdle(300, rng=rng),
    ],
    ids=["uniform", "vMF", "girdle"],
)
def test_one_mode_stays_one(draw, seed):
    found = he.modes(draw(np.random.default_rng(seed)))
    assert found.count == 1
    assert (found.labels == 0).all()
    assert found.shares.tolist() == [1.0]
    assert found.scales.tolist() == [math.inf]


@pytest.mark.parametrize(("tilt", "rng"), [(0.65, 1), (0.61, 100)])
def test_a_narrow_mode_on_the_slope_of_a_wide_one_is_told_apart(tilt, rng):
    wide = he.samplers.von_mises_fisher(255, NORTH, 5.0, rng=0)
    narrow = he.samplers.von_mises_fisher(45, [math.sin(tilt), 0.0, math.cos(tilt)], 300.0, rng=rng)
    found = he.modes(np.concatenate([wide, narrow]))
    assert found.count == 2
    assert (found.labels[255:] == 1).all()
    assert found.shares[1] == pytest.approx(0.2, abs=0.05)


@pytest.mark.parametrize("seed", [2, 4])
def test_a_spike_in_a_flat_background_is_one_mode(seed):
    spike = he.samplers.von_mises_fisher(45, NORTH, 300.0, rng=seed + 100)
    assert he.modes(np.concatenate([he.samplers.uniform(255, rng=seed), spike])).count == 1


def test_a_border_makes_no_mode_where_the_next_leaf_rises():
    numbers = np.arange(6)
    edges = np.column_stack([numbers[:-1], numbers[1:]])
    ground = mode_ground.Ground(numbers, 6, edges, np.full(5, -1), numbers)
    measure = he.Measure(he.samplers.fibonacci(6))
    land = mode_landscape.Landscape(measure, np.full(6, 1 / 36), ground, np.array([0.2, 0.1]))
    leaves, heights = np.array([0, 0, 0, 1, 1, 1]), np.array([9.0, 7.0, 5.0, 4.0, 2.0, 8.0])
    assert mode_tree._on_a_slope(land, heights, leaves, 3, 3.0)  # vertex 3 is the end of the slope of leaf 0
    assert not mode_tree._on_a_slope(land, heights, leaves, 5, 3.0)
    assert not mode_tree._on_a_slope(land, np.array([9.0, 7.0, 1.0, 4.0, 2.0, 8.0]), leaves, 3, 3.0)


def test_order_turns_and_copies_do_not_matter():
    points, _ = several()
    found, rng = he.modes(points), np.random.default_rng(2)
    order = rng.permutation(len(points))
    assert same_parts(he.modes(points[order]).labels, found.labels[order])
    assert points.flags.writeable  # those of the caller stay as they are
    turned = Rotation.random(random_state=3).apply(points)
    assert np.mean(he.modes(turned).labels == found.labels) >= 0.99  # points on a border may go either way
    rows = np.concatenate([np.arange(len(points)), [3, 3, 100]])  # one atom as three, and one as two, of its weight
    weights = np.ones(len(rows))
    weights[[3, -3, -2]], weights[[100, -1]] = 1 / 3, 1 / 2
    split = he.modes(points[rows], weights)
    assert same_parts(split.labels, found.labels[rows])
    np.testing.assert_allclose(split.shares, found.shares, rtol=1e-12)


def test_points_without_weight_are_labelled_and_count_for_nothing():
    points, _ = several()
    extra = np.concatenate([points, [[0.0, 0.0, -1.0]]])
    found = he.modes(extra, np.append(np.ones(len(points)), 0.0))
    assert same_parts(found.labels[:-1], he.modes(points).labels)
    assert found.labels[-1] == found.labels[150]


@pytest.mark.parametrize(
    ("space", "make"),
    [
        (he.Circle(units="rad"), lambda k, e: 2.0 * k + 0.15 * e[:, :1]),
        (he.Torus(2), lambda k, e: 3.1 * k - 0.1 + 0.2 * e[:, :2]),  # one of them across the seam
        (he.Euclidean(3), lambda k, e: 8.0 * k + e[:, :3]),
        (he.Rotations(), lambda k, e: Rotation.from_rotvec([3.0 * k, 0, 0]) * Rotation.from_rotvec(0.15 * e[:, :3])),
        (he.Hyperbolic(2), lambda k, e: _hyperboloid(2.0 * k + 0.2 * e[:, :2])),
        (he.Projective(2), lambda k, e: _unit(np.eye(3)[k] * np.sign(e[:, 3:4]) + 0.1 * e[:, :3])),
        (he.ComplexProjective(1), lambda k, e: _phased(np.eye(2)[k] + 0.1 * (e[:, :2] + 1j * e[:, 2:4]), e[:, 4])),
        (POSE, lambda k, e: np.hstack([_unit(np.eye(3)[k] + 0.1 * e[:, :3]), 0.1 * e[:, 3:4]])),
        (he.Sphere(20), lambda k, e: _unit(np.eye(21)[k] + 0.05 * e)),
    ],
    ids=lambda value: repr(value) if isinstance(value, he.Space) else "",
)
def test_two_clusters_are_two_modes_on_every_homogeneous_space(space, make):
    noise = np.random.default_rng(5).normal(size=(2, 70, 21))
    clouds = [make(k, noise[k]) for k in (0, 1)]
    joined = Rotation.concatenate(clouds) if isinstance(clouds[0], Rotation) else np.concatenate(clouds)
    found = he.modes(joined, space=space)
    assert found.count == 2
    assert same_parts(found.labels, np.repeat([0, 1], 70))


def _unit(x: np.ndarray) -> np.ndarray:
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def _phased(x: np.ndarray, turn: np.ndarray) -> np.ndarray:
    return _unit(x) * np.exp(1j * turn)[:, None]


def _hyperboloid(x: np.ndarray) -> np.ndarray:
    return np.column_stack([np.sqrt(1 + np.sum(x**2, axis=1)), x])


def test_meshes_and_graphs_use_their_own_edges():
    vertices, faces = meshes.icosphere(3)
    mesh, rng = he.Mesh(vertices, faces), np.random.default_rng(0)
    density = np.exp(20 * (vertices[:, 2] - 1)) + np.exp(20 * (-vertices[:, 2] - 1))
    atoms = rng.choice(len(vertices), size=300, p=density / density.sum())
    found = he.modes(atoms, space=mesh)
    assert found.count == 2
    assert same_parts(found.labels, vertices[atoms, 2] > 0)
    ring = np.roll(np.eye(40), 1, axis=1)
    nodes = np.concatenate([rng.binomial(10, 0.5, 200), 20 + rng.binomial(10, 0.5, 200)])
    found = he.modes(nodes, space=he.Graph(ring + ring.T))
    assert found.count == 2
    assert found.shares == pytest.approx([0.5, 0.5], abs=0.05)


@pytest.mark.parametrize(**space_cases.named([case for case in space_cases.HOMOGENEOUS if "Kernels" not in case.name]))
def test_midpoints_are_half_way(case):
    space = case.space()
    points = space.check(case.points(40, np.random.default_rng(0)))
    left, right = points[:20], points[20:]
    middle = space.midpoints(left, right)
    whole = space.distance(left, right)
    np.testing.assert_allclose(space.distance(left, middle), whole / 2, rtol=1e-7)
    np.testing.assert_allclose(space.distance(middle, right), whole / 2, rtol=1e-7)


def test_standard_errors_are_those_of_the_jackknife():
    points, _ = several()
    points, weights = points[::4], np.random.default_rng(4).gamma(2.0, size=60)
    weights /= weights.sum()
    measure = he.Measure(points, weights)
    ground = mode_ground.ground_of(measure)
    land = mode_landscape.Landscape(measure, weights**2, ground, np.array([0.2, 0.1]))
    places, at = np.zeros(60), np.array([0, 40, 61])  # every atom at the first time; two vertices and one middle
    kernel = np.array([he.potential(points[[j]], time=0.2, at=ground.places[at]) for j in range(60)]).T
    heights = kernel @ weights
    np.testing.assert_allclose(land.heights(places)[at], heights, rtol=1e-4)
    expected = [np.sum(weights**2 * (row - height) ** 2) for row, height in zip(kernel, heights, strict=True)]
    np.testing.assert_allclose(land.variances(places, at), expected, rtol=1e-6)
    kept, numbers = np.linspace(0.5, 1.0, 60), np.arange(60)
    parts = kernel[:2] * kept  # at vertices 0 and 40
    falls = parts[1] - parts[0]
    fall = falls @ weights
    expected = abs(fall) / math.sqrt(weights**2 @ (falls - fall) ** 2)
    one, other = (numbers == 40, numbers == 0) if fall > 0 else (numbers == 0, numbers == 40)
    assert land.fall(0, kept, one, other) == pytest.approx(expected, rel=1e-4)
    assert land.fall(0, kept, other, one) == 0.0


def test_many_points_are_labelled_by_the_vertex_nearest_to_them(monkeypatch):
    points, _ = several()
    whole = he.modes(points)
    monkeypatch.setattr(mode_ground, "MOST_VERTICES", 150)
    few = he.modes(points)
    assert few.count == 3
    assert np.mean(few.labels == whole.labels) > 0.95


def test_too_few_draws_are_refused_with_their_number():
    with pytest.raises(he.InputError, match=r"at least 8 draws, but these points count as 5: .* give more draws"):
        he.modes(np.tile(he.samplers.fibonacci(5), (20, 1)))
    with pytest.raises(he.InputError, match="count as 1: "):
        he.modes([NORTH])


def test_results_are_tables_json_and_pictures():
    points, _ = several()
    found = he.modes(points)
    assert repr(found) == "Modes(Sphere(2), n=240: 3 modes, 50 + 25 + 25 %)"
    assert found.to_frame()["shares"].tolist() == found.shares.tolist()
    assert found.to_dict()["labels"] == found.labels.tolist()
    with pytest.raises(ValueError, match="read-only"):
        found.labels[0] = 7
    ticks = [tick.get_text() for tick in found.plot().get_yticklabels()]
    assert sorted(ticks) == ["0: 50 %", "1: 25 %", "2: 25 %"]
    assert he.modes(he.samplers.uniform(50, rng=0)).plot().get_ylabel() == "mode"


def test_the_command_line_keeps_every_column_and_adds_the_mode(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    points, _ = several()
    with open("in.csv", "w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["name", "x", "y", "z", "mode"])
        writer.writerows([f"n{k}", *map(repr, map(float, row)), "old"] for k, row in enumerate(points))
    result = CliRunner().invoke(main, ["modes", "in.csv", "-o", "labels.csv"])
    assert result.exit_code == 0, result.output
    assert "240 points in 3 modes." in result.stdout
    assert "what was called mode is called mode_before" in result.stdout
    with open("labels.csv", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert list(rows[0]) == ["row", "name", "x", "y", "z", "mode_before", "mode"]
    assert [int(row["mode"]) for row in rows] == he.modes(points).labels.tolist()
    assert [row["name"] for row in rows] == [f"n{k}" for k in range(240)]
    again = CliRunner().invoke(main, ["modes", "in.csv", "-o", "labels.csv"])
    assert again.exit_code == 2
    assert "add --force to replace it" in again.stderr
    piped = CliRunner().invoke(main, ["modes", "in.csv", "-o", "-"])
    assert piped.stdout.splitlines()[0] == "row,name,x,y,z,mode_before,mode"
