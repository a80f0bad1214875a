"""Redundancy and gradients: against the definition, differences in 40 digits, and what must hold."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose

import heatess as he
import meshes
import reference
import space_cases
from heatess.base.progress import Progress
from heatess.engines import columns, slopes
from heatess.engines.base import SlopesQuestion
from heatess.engines.pairs import Pairs
from heatess.engines.slopes import steepness
from heatess.engines.spectral import Spectral
from heatess.inference import redundancy as module
from heatess.inference.redundancy import gradient, redundancy


def tangents(x: np.ndarray) -> np.ndarray:
    """An orthonormal basis of the tangent space at x, one vector a row."""
    return np.linalg.svd(x[None])[2][1:]


def gess_in_forty_digits(points: np.ndarray, weights: np.ndarray, time: float) -> float:
    return reference.profile(points, weights, [time], 60)[0].gess


@pytest.mark.parametrize("dim", [1, 2, 3, 7])
def test_the_gradient_is_that_of_the_definition_in_forty_digits(dim):
    rng = np.random.default_rng(dim)
    points, weights = he.Sphere(dim).uniform(4, rng), rng.random(4)
    weights /= weights.sum()
    time, step = 0.05, 1e-5
    found = gradient(points, weights, time=time)
    assert found.gess == pytest.approx(float(gess_in_forty_digits(points, weights, time)), rel=1e-10)
    for row in range(4):
        change = step * np.eye(4)[row]
        up, down = (gess_in_forty_digits(points, weights + sign * change, time) for sign in (1, -1))
        assert found.weights[row] == pytest.approx(float((up - down) / (2 * step)), abs=1e-7)
        for direction in tangents(points[row]):
            moved = [points.copy(), points.copy()]
            moved[0][row] += step * direction  # the reference puts it back on the sphere
            moved[1][row] -= step * direction
            up, down = (gess_in_forty_digits(cloud, weights, time) for cloud in moved)
            assert found.points[row] @ direction == pytest.approx(float((up - down) / (2 * step)), abs=1e-7)
    assert_allclose(np.einsum("ij,ij->i", found.points, points), 0, atol=1e-12)


@pytest.mark.parametrize(
    ("dim", "angle"), [(1, 3), (1, 40), pytest.param(2, 3, marks=pytest.mark.slow), (2, 10), (2, 60), (3, 20), (3, 60)]
)
def test_transform_and_pairs_give_the_same_gradient_by_points(dim, angle):
    rng = np.random.default_rng(3)
    space, n = he.Sphere(dim), 3000
    measure = he.Measure(space.uniform(n, rng), rng.random(n), space=space)
    time = float(np.radians(angle) ** 2 / 8)
    mean = 1 / he.gess(measure, angle=angle)
    question = SlopesQuestion(measure, np.array([time]), 1e-8, mean=mean)
    unit = np.sqrt(steepness(space.series, time)) * mean
    by_pairs, by_transform = (columns.slopes(question, str, (engine,)) for engine in (Pairs(), Spectral()))
    along = by_pairs - np.sum(by_pairs * measure.points, axis=1)[:, None] * measure.points
    found = by_transform - np.sum(by_transform * measure.points, axis=1)[:, None] * measure.points
    assert np.abs(found - along).max() < 1e-8 * unit
    assert np.abs(along).max() > 1e-3 * unit


def test_the_transform_is_used_for_many_atoms_and_not_for_few(monkeypatch):
    used = []
    whole = slopes.TransformSlopes.run
    monkeypatch.setattr(slopes.TransformSlopes, "run", lambda *given: used.append(n) or whole(*given))
    for n in (10, 5000):
        gradient(he.samplers.fibonacci(n), angle=10)
    assert used == [5000]


@pytest.mark.parametrize("angle", [0.001, 0.02])
def test_fine_scales_follow_flat_space(angle):
    """Two atoms a distance r apart: G = 2 / (1 + s), s = exp(-r^2 / 8t) up to curvature, which is below 1e-7."""
    r = 0.7 * np.radians(angle)
    found = gradient([[1, 0, 0], [np.cos(r), np.sin(r), 0]], angle=angle)
    time = np.radians(angle) ** 2 / 8
    s = np.exp(-(r**2) / (8 * time))
    slope = -2 / (1 + s) ** 2 * s * (-2 * r / (8 * time))  # of G in r
    assert_allclose(found.points[0], [0, -slope, 0], atol=1e-6 * slope)
    assert found.points[1][1] == pytest.approx(slope, rel=1e-6)


@pytest.mark.parametrize(**space_cases.named(space_cases.EVERY))
def test_by_weights_it_is_the_change_of_gess(case):
    rng = np.random.default_rng(4)
    space, time = case.space(), float(case.times()[1])
    measure = he.Measure(case.points(12, rng), rng.random(12), space=space)
    found = gradient(measure, time=time)
    assert float(measure.weights @ found.weights) == pytest.approx(0, abs=1e-9 * found.gess)
    assert (found.points is None) == (not isinstance(space, he.Sphere))
    step = 1e-4

    def at(change: np.ndarray) -> float:
        moved = measure.weights + change
        return he.gess(he.Measure.trusted(space, measure.points, moved / moved.sum()), time=time, rtol=1e-12)

    for row in (0, 5):
        change = step * measure.weights[row] * np.eye(12)[row]
        slope = (at(change) - at(-change)) / (2 * step * measure.weights[row])
        assert found.weights[row] == pytest.approx(slope, abs=1e-6 * found.gess)


def test_gradients_of_turned_and_split_clouds():
    rng = np.random.default_rng(5)
    points, weights = he.Sphere(2).uniform(30, rng), rng.random(30)
    turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    found, turned = gradient(points, weights, angle=30), gradient(points @ turn, weights, angle=30)
    assert_allclose(turned.weights, found.weights, atol=1e-9)
    assert_allclose(turned.points, found.points @ turn, atol=1e-9)
    split = gradient(np.repeat(points, 2, axis=0), np.repeat(weights, 2), angle=30)
    assert_allclose(split.weights[::2], found.weights, atol=1e-9)
    assert_allclose(split.points[::2] + split.points[1::2], found.points, atol=1e-9)


def test_a_step_along_the_gradient_raises_gess():
    cloud = he.samplers.von_mises_fisher(200, [0, 0, 1], 10.0, rng=np.random.default_rng(6))
    found = gradient(cloud, angle=15)
    moved = cloud + 1e-3 * found.points / np.abs(found.points).max()
    moved /= np.linalg.norm(moved, axis=1, keepdims=True)
    rise = 1e-3 * np.sum(found.points**2) / np.abs(found.points).max()
    assert he.gess(moved, angle=15) - found.gess == pytest.approx(rise, rel=0.01)


def test_numbers_of_float32_and_atoms_without_weight():
    cloud = he.samplers.fibonacci(50)
    weights = np.arange(50.0)
    found, single = gradient(cloud, weights, angle=20), gradient(cloud.astype(np.float32), weights, angle=20)
    assert_allclose(single.points, found.points, atol=1e-5)
    assert (found.points[0] == 0).all()
    assert redundancy(cloud, weights, angle=20)[0] == 1


def test_a_gradient_is_frozen_and_reads_as_a_line():
    found = gradient([[0, 0, 1], [0, 0.6, 0.8]], angle=20)
    assert repr(found).startswith("Gradient(Sphere(2), n=2: gESS 1.933 at angle 20 degrees; largest by weight ")
    assert "\n" not in repr(found)
    assert "by place" not in repr(gradient([[0.1], [0.2]], space=he.Circle(), angle=5))
    with pytest.raises(AttributeError):
        found.gess = 1.0
    with pytest.raises(ValueError, match="read-only"):
        found.points[0] = 0


@pytest.mark.parametrize(**space_cases.named(space_cases.EVERY))
def test_redundancy_is_one_less_the_own_share_of_the_potential(case):
    rng = np.random.default_rng(7)
    space, time = case.space(), float(case.times()[1])
    measure = he.Measure(case.points(15, rng), rng.random(15), space=space)
    found = redundancy(measure, time=time)
    single = [he.Measure.trusted(space, measure.points[[j]], np.ones(1)) for j in range(15)]
    overlaps = np.array([columns.potential(one, time, 1e-8, measure.points, Progress(False)) for one in single])
    sums = measure.weights @ overlaps
    assert_allclose(found, 1 - measure.weights / sums, atol=1e-9)
    assert ((found >= 0) & (found < 1)).all()


def test_redundancy_of_copies_and_of_lonely_atoms():
    cloud = he.samplers.fibonacci(20)
    copies = np.repeat(cloud, np.arange(1, 21), axis=0)
    expected = 1 - 1 / np.repeat(np.arange(1, 21), np.arange(1, 21))
    assert_allclose(redundancy(copies, angle=1), expected, atol=1e-8)
    assert_allclose(redundancy(copies, log_weights=np.zeros(210), angle=300), 1 - 1 / 210, atol=1e-3)


def test_atoms_of_little_weight_have_their_redundancy():
    cloud = he.samplers.fibonacci(20)
    weights = np.ones(20)
    weights[7] = 1e-6
    found = redundancy(cloud, weights, angle=3)  # no other atom is within nine times the scale
    assert_allclose(found, 0, atol=1e-4)
    pair = np.concatenate([cloud, cloud[7:8]])
    assert_allclose(redundancy(pair, np.append(weights, 3e-6), angle=3)[[7, 20]], [0.75, 0.25], atol=1e-4)


def test_too_little_weight_for_a_certain_redundancy_is_said():
    cloud = he.samplers.fibonacci(20)
    weights = np.ones(20)
    weights[7] = 1e-10
    with pytest.warns(he.PrecisionWarning, match="the redundancy of 1 of 20 points .* that of row 7 by"):
        redundancy(cloud, weights, angle=3)


def test_a_smaller_rtol_helps_where_pairs_are_too_many(monkeypatch):
    monkeypatch.setattr(module, "AGAIN", 0.0)
    cloud = he.samplers.fibonacci(20)
    weights = np.ones(20)
    weights[7] = 1e-6
    with pytest.warns(he.PrecisionWarning, match="accuracy 1e-08 of the sum; give a smaller rtol"):
        redundancy(cloud, weights, angle=3)
    assert redundancy(cloud, weights, angle=3, rtol=1e-12)[7] == pytest.approx(0, abs=1e-4)


def test_too_many_points_are_refused_with_a_way_out(monkeypatch):
    cloud, found = he.samplers.fibonacci(40), gradient(he.samplers.fibonacci(40), angle=0.5)
    monkeypatch.setattr(module.plan, "PATIENCE", 2e-5)
    monkeypatch.setattr(module, "_potential", lambda measure, time, rtol: measure.weights)  # atoms far apart
    with pytest.raises(he.CostError, match=r"take that by weights, 2 G \(1 - G f\)") as refused:
        gradient(cloud, angle=0.5)
    assert refused.value.seconds > 2e-5
    monkeypatch.undo()
    count = he.gess(cloud, angle=0.5)
    assert_allclose(2 * count * (1 - count * he.potential(cloud, angle=0.5)), found.weights, atol=1e-6)


@pytest.mark.parametrize("function", [gradient, redundancy])
def test_what_cannot_be_is_refused(function):
    cloud = he.samplers.fibonacci(9)
    with pytest.raises(he.ScaleError, match="give exactly one scale"):
        function(cloud)
    with pytest.raises(he.ScaleError, match="give exactly one scale"):
        function(cloud, angle=[1, 2])
    with pytest.raises(he.InputError, match="rtol must be"):
        function(cloud, angle=1, rtol=2)
    with pytest.raises(he.InputError, match="row 3"):
        function(cloud, np.where(np.arange(9) == 3, -1, 1), angle=1)


def test_a_gradient_becomes_json_and_a_table():
    points = he.samplers.fibonacci(6)
    found = gradient(points, angle=40)
    values = json.loads(found.to_json())
    assert values["schema"] == "heatess.gradient/1"
    assert_allclose(values["points"], found.points)
    assert_allclose(values["weights"], found.weights)
    frame = found.to_frame()
    assert list(frame) == ["weights", "points_0", "points_1", "points_2"]
    assert_allclose(frame[["points_0", "points_1", "points_2"]], found.points)
    assert "all points" in found._repr_html_()
    flat = gradient(np.array([[0.0, 1.0], [2.0, 3.0]]), space=he.Torus(2), angle=40)
    assert json.loads(flat.to_json())["points"] is None
    assert list(flat.to_frame()) == ["weights"]


@pytest.mark.parametrize("dim", [1, 2, 9])
def test_where_the_sphere_is_one_footprint_points_do_not_matter(dim):
    found = gradient(he.samplers.uniform(12, dim, rng=0), time=1e4)
    assert found.gess == pytest.approx(1, rel=1e-13)
    assert not found.points.any()


def test_the_plot_has_the_gradient_in_order():
    from matplotlib.figure import Figure

    found = gradient(he.samplers.uniform(20, rng=1), angle=30)
    ax = Figure().subplots()
    assert found.plot(ax) is ax
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), np.sort(found.weights)[::-1])
    line = found.plot(quantity="points").lines[0]
    assert_allclose(line.get_ydata()[0], np.linalg.norm(found.points, axis=1).max(), rtol=1e-12)
    flat = gradient([[0.0, 0.0], [1.0, 0.0]], time=0.1, space=he.Euclidean(2))
    with pytest.raises(he.InputError, match='must be "weights" on Euclidean'):
        flat.plot(quantity="points")


@pytest.mark.parametrize("weight", [1e-3, 1e-12, 1e-20, 1e-27, 1e-60])
def test_redundancy_of_light_atoms_far_from_the_rest_is_right_or_warned_of(weight):
    """Two of one weight at one place have 1/2, however light they are, and cannot be seen in sums beside the rest."""
    places = [[0, 0, 1.0], [0.6, 0.8, 0], [0.6, 0.8, 0]]
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        found = he.redundancy(places, [1.0, weight, weight], angle=5)
    assert np.abs(found - [0, 0.5, 0.5]).max() < 1e-4 or any(w.category is he.PrecisionWarning for w in heard)
    assert not (heard and weight > 1e-9)


def test_a_light_point_on_a_mesh_is_warned_of_where_the_triangles_make_overlaps_negative():
    """On a surface no overlap is; on triangles it may be, by 2e-4 here, beside which a weight of 1e-9 is nothing."""
    space = he.Mesh(*meshes.torus(24, 20))
    with pytest.warns(he.PrecisionWarning, match=r"too small beside the accuracy 2e-04 of the sum on these nodes"):
        he.redundancy([0, 104], [1.0, 1e-9], space=space, time=0.0455)
    assert_allclose(he.redundancy([0, 104], [1.0, 1.0], space=space, time=0.0455), 0, atol=2.1e-4)
