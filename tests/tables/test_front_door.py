"""No message leads to a certified answer to the wrong question: each test does what the message says, to the letter."""

from __future__ import annotations

import re

import numpy as np
import pytest

import heatess as he


@pytest.fixture
def rng():
    return np.random.default_rng(20)


def message_of(call, *arguments, **named) -> str:
    with pytest.raises(he.InputError) as caught:
        call(*arguments, **named)
    return str(caught.value)


def calls_in(message: str) -> list[str]:
    """The calls of heatess that a message writes out."""
    return re.findall(r"he\.\w+\((?:[^()]|\([^()]*\))*\)", message)


def advised(message: str, call: str) -> str:
    """The one call of that name in a message."""
    found = [text for text in calls_in(message) if text.startswith(f"he.{call}(")]
    assert len(found) == 1, message
    return found[0]


def sky(rng, n=400):
    """Longitude and latitude in degrees, and the vectors they are."""
    lon, lat = rng.uniform(-180, 180, n), np.degrees(np.arcsin(rng.uniform(-0.99, 0.99, n)))
    a, b = np.radians(lon), np.radians(lat)
    return lon, lat, np.column_stack([np.cos(b) * np.cos(a), np.cos(b) * np.sin(a), np.sin(b)])


# Arrays whose rows are no unit vectors.


@pytest.mark.parametrize("units", ["deg", "rad"])
def test_longitude_and_latitude_in_an_array_are_named_for_what_they_look_like(rng, units):
    lon, lat, vectors = sky(rng)
    points = np.column_stack([lon, lat]) if units == "deg" else np.radians(np.column_stack([lon, lat]))
    message = message_of(he.gess, points, angle=10)
    assert "divide" not in message
    read = eval(advised(message, "from_lonlat"), {"he": he, "points": points})
    assert he.gess(read, angle=10) == pytest.approx(he.gess(vectors, angle=10), rel=1e-10)


def test_latitude_before_longitude_is_seen(rng):
    lon, lat, vectors = sky(rng)
    points = np.column_stack([lat, lon])
    read = eval(advised(message_of(he.gess, points, angle=10), "from_lonlat"), {"he": he, "points": points})
    assert he.gess(read, angle=10) == pytest.approx(he.gess(vectors, angle=10), rel=1e-10)


def test_colatitude_and_azimuth_are_named(rng):
    lon, lat, vectors = sky(rng)
    points = np.radians(np.column_stack([90 - lat, lon]))
    read = eval(advised(message_of(he.gess, points, angle=10), "from_spherical"), {"he": he, "points": points})
    assert he.gess(read, angle=10) == pytest.approx(he.gess(vectors, angle=10), rel=1e-10)


@pytest.mark.parametrize("units", ["deg", "rad"])
def test_torsions_in_an_array_are_pointed_to_the_torus(rng, units):
    turns = rng.uniform(-0.5, 0.5, (300, 2))
    points = turns * (360 if units == "deg" else 2 * np.pi)
    message = message_of(he.gess, points, angle=20)
    space = eval(advised(message, "Torus"), {"he": he})
    expected = he.gess(turns * 2 * np.pi, space=he.Torus(2), angle=20)
    assert he.gess(points, space=space, angle=20) == pytest.approx(expected, rel=1e-10)


def test_positions_are_not_divided_by_their_norm(rng):
    message = message_of(he.gess, rng.normal(size=(50, 3)) * 30, angle=10)
    assert "divide" not in message
    assert "he.Euclidean(3)" in calls_in(message)


def test_a_sphere_of_another_radius_is_divided_by_it(rng):
    vectors = he.samplers.uniform(60, rng=rng)
    points = 6371.0 * vectors
    divisor = re.search(r"divide by it, x / ([\d.]+)", message_of(he.gess, points, angle=10))
    assert he.gess(points / float(divisor[1]), angle=10) == pytest.approx(he.gess(vectors, angle=10), rel=1e-9)


def test_vectors_about_as_long_as_one_and_embeddings_are_divided(rng):
    for points in (he.samplers.uniform(40, rng=rng) * 1.001, rng.normal(size=(40, 384))):
        message = message_of(he.gess, points, resolution=30)
        assert "divide first: x / numpy.linalg.norm(x, axis=1, keepdims=True)" in message
        assert he.gess(points / np.linalg.norm(points, axis=1, keepdims=True), resolution=30) > 1


def test_the_transpose_is_asked_for(rng):
    points = he.samplers.uniform(4000, rng=rng)
    assert "did you mean the transpose, points.T?" in message_of(he.gess, points.T, angle=10)
    assert "did you mean the transpose, points.T?" in message_of(he.gess, points.T, angle=10, space=he.Sphere(2))


def test_half_precision_is_read(rng):
    vectors = he.samplers.uniform(200, 383, rng=rng)
    half = vectors.astype(np.float16)
    assert he.gess(half, resolution=40) == pytest.approx(he.gess(vectors, resolution=40), rel=1e-2)
    divided = half / np.linalg.norm(half, axis=1, keepdims=True)
    assert divided.dtype == np.float16
    assert he.gess(divided, resolution=40) == pytest.approx(he.gess(vectors, resolution=40), rel=1e-2)


# Tori.


@pytest.mark.parametrize(("make", "dim"), [("Torus(2", 2), ("Circle(", 1)])
def test_degrees_on_a_torus_are_refused_until_the_unit_is_said(rng, make, dim):
    degrees = rng.uniform(-180, 180, (200, dim))
    plain = eval(f"he.{make})", {"he": he})
    message = message_of(he.gess, degrees, space=plain, angle=10)
    in_degrees, in_radians = (eval(text, {"he": he}) for text in calls_in(message) if text.startswith(f"he.{make}"))
    truth = he.gess(np.radians(degrees), space=plain, angle=10)
    assert he.gess(degrees, space=in_degrees, angle=10) == pytest.approx(truth, rel=1e-12)
    phases = np.radians(degrees) + 2 * np.pi * rng.integers(3, 9, degrees.shape)
    assert he.gess(phases, space=in_radians, angle=10) == pytest.approx(truth, rel=1e-10)


def test_a_period_of_360_is_a_turn_in_degrees():
    torus = he.Torus(2, periods=360)
    assert torus.angular
    assert torus == he.Torus(2, units="deg")
    assert "leave out periods=" in message_of(he.Torus, 2, periods=180, units="deg")


# Objects of other packages.


def test_scipy_rotations_need_no_space(rng):
    from scipy.spatial.transform import Rotation

    turns = Rotation.random(100, random_state=np.random.RandomState(0))
    assert he.Measure(turns).space == he.Rotations()
    assert he.gess(turns, angle=20) == he.gess(turns.as_quat(), space=he.Rotations(), angle=20)
    assert he.gess(turns.as_matrix(), angle=20) == pytest.approx(he.gess(turns, angle=20), rel=1e-12)


def test_chains_and_draws_are_flattened(rng):
    vectors = he.samplers.uniform(120, rng=rng)
    assert he.gess(vectors.reshape(4, 30, 3), angle=20) == he.gess(vectors, angle=20)
    assert "neither rotation matrices" in message_of(he.gess, rng.normal(size=(3, 3, 3)), angle=20)


# Scales.


def test_one_message_says_which_scales_a_space_takes():
    pose = he.Product(he.Euclidean(3), he.Rotations())
    points = ([[0.0, 0, 0]], [[0.0, 0, 0, 1]])
    message = message_of(he.gess, points, space=pose, angle=5)
    assert "give times" in message
    assert "resolutions" not in message
    assert he.gess(points, space=pose, time=0.5**2 / 8) == 1.0


def test_more_than_ten_dimensions_are_profiled_by_resolution(rng):
    profile = he.heat_profile(he.samplers.uniform(60, 30, rng=rng))
    assert np.isfinite(profile.resolutions).all()
    assert profile.resolutions[-1] < 90
