"""Poles, seams and the lines of inner grids: a transform is as good there as anywhere, in both directions.

Colatitudes and longitudes of maps are whole degrees, and transforms have grids of their own inside; a point that lies
on a line of such a grid, to the last bit or next to it, is what rounding takes for either side.
"""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from numpy.polynomial.legendre import legval

import heatess as he
from heatess.base.progress import Progress
from heatess.engines.base import PotentialQuestion, Question
from heatess.engines.boxes import Boxes
from heatess.engines.pairs import Pairs
from heatess.engines.spectral import Spectral, accuracy

TOLERANCES = [1e-15, 1e-12, 1e-10, 1e-8, 1e-6, 1e-5, 1e-4, 3e-4, 1e-3, 1e-2, 0.1, 0.5]


def next_to(values):
    """Numbers and their neighbours among floating-point numbers."""
    values = np.asarray(values, dtype=float)
    return np.concatenate([values, np.nextafter(values, -np.inf), np.nextafter(values, np.inf)])


def turns(count=12):
    """Angles of the two ways to write a seam, of whole parts of a turn, of zero with either sign, and close to them."""
    fractions = np.pi * np.arange(-2 * count, 2 * count + 1) / count
    return np.concatenate([next_to(fractions), [0.0, -0.0, 1e-300, -1e-300, 1e-17, -1e-17, 1e-16, -1e-16]])


def directions(rng):
    """Unit vectors at poles, on meridians where longitude jumps, and on lines of latitude and longitude."""
    colatitudes, longitudes = np.abs(turns()), turns()
    pairs = np.array(list(product(rng.choice(colatitudes, 12), rng.choice(longitudes, 12))))
    sphere = np.stack(
        [np.sin(pairs[:, 0]) * np.cos(pairs[:, 1]), np.sin(pairs[:, 0]) * np.sin(pairs[:, 1]), np.cos(pairs[:, 0])], 1
    )
    tiny = [[1e-17, 0, 1], [-1e-17, -0.0, 1], [1e-300, 1e-300, -1], [-1, -0.0, 0], [-1, 0.0, 0], [-1, -1e-17, 1e-17]]
    return np.concatenate([np.eye(3), -np.eye(3), tiny, sphere])


def quaternions(rng):
    """Rotations without an angle, by half turns, and those whose Euler angles are not unique."""
    signs = np.array(list(product([-1.0, -0.0, 0.0, 1.0], repeat=4)))
    signs = signs[np.abs(signs).sum(axis=1) > 0]
    angle = rng.choice(turns(), 60)
    zero = np.zeros(len(angle))
    about_z = np.stack([zero, zero, np.sin(angle), np.cos(angle)], 1)
    upside_down = np.stack([np.sin(angle), np.cos(angle), zero, -zero], 1)
    found = np.concatenate([signs, about_z, upside_down])
    return found / np.linalg.norm(found, axis=1, keepdims=True)


def places(dim, period, rng):
    return rng.choice(turns() * (period / (2 * np.pi)), (150, dim))


def hard_points(space, rng):
    if isinstance(space, he.Product):
        return tuple(hard_points(factor, rng)[:150] for factor in space.spaces)
    if isinstance(space, he.Rotations) or space == he.Sphere(3) or space == he.Projective(3):
        return quaternions(rng)
    if isinstance(space, he.Torus):
        return places(space.dim, space.periods[0], rng)
    if isinstance(space, he.Euclidean):
        return places(space.dim, 2.0, rng)
    if space.dim == 1:
        angles = turns()
        return np.stack([np.cos(angles), np.sin(angles)], 1)
    return directions(rng)


SPACES = [
    he.Sphere(1),
    he.Sphere(2),
    he.Sphere(3),
    he.Projective(1),
    he.Projective(2),
    he.Projective(3),
    he.Rotations(),
    he.Circle(),
    he.Torus(1, 5.0),
    he.Torus(2),
    he.Torus(2, units="deg"),
    he.Torus(3),
    he.Euclidean(1),
    he.Euclidean(2),
    he.Euclidean(3),
    he.Product(he.Sphere(2), he.Circle()),
    he.Product(he.Projective(2), he.Sphere(1)),
    he.Product(he.Rotations(), he.Circle()),
    he.Product(he.Sphere(3), he.Circle()),
]


@pytest.mark.parametrize("space", SPACES, ids=repr)
@pytest.mark.slow
def test_transforms_are_right_on_poles_and_seams_at_every_tolerance_and_in_both_directions(space):
    rng = np.random.default_rng(1)
    points = hard_points(space, rng)
    n = len(points[0]) if isinstance(points, tuple) else len(points)
    measure = he.Measure(points, rng.random(n), space=space)
    engine = Boxes() if isinstance(space, he.Euclidean) else Spectral()
    for alpha in (0.9, 1.2, 1.6):  # transforms of different degrees
        times = np.array([alpha**2 / 8])
        exact = Pairs().potentials(PotentialQuestion(measure, times, 1e-12, mmd2=False))
        true = exact.run(slice(0, 1), Progress(False)).values[0]
        mean = float(measure.weights @ true)
        for rtol in TOLERANCES:
            question = Question(measure, times, rtol, mmd2=False)
            offer = engine.potentials(PotentialQuestion(measure, times, rtol, mmd2=False))
            found = offer.run(slice(0, 1), Progress(False)).values[0]
            assert np.abs(found - true).max() < (max(rtol, offer.error) + exact.error) * mean
            answer = engine.offer(question).run(slice(0, 1), Progress(False))
            assert abs(answer.sums.overlap[0] / mean - 1) < answer.sums.error[0] + exact.error


@pytest.mark.parametrize("step", [1, 2], ids=["S2", "RP2"])
@pytest.mark.parametrize("epsilon", [3e-13, 1e-10, 1e-8, 4e-8, 1e-7, 1e-6])
def test_a_function_on_the_sphere_is_right_on_every_line_of_latitude(step, epsilon):
    """Whatever grid a transform has inside, some of these points are on a line of it, or next to one."""
    rng = np.random.default_rng(2)
    atom = np.array([[0.48, -0.6, 0.64]])
    transform = (he.Sphere(2) if step == 1 else he.Projective(2)).transform
    colatitude = np.concatenate([np.pi * np.arange(parts + 1) / parts for parts in range(16, 84)])
    colatitude = np.clip(next_to(colatitude), 0, np.pi)
    longitude = rng.uniform(0, 2 * np.pi, len(colatitude))
    sine = np.sin(colatitude)
    at = np.stack([sine * np.cos(longitude), sine * np.sin(longitude), np.cos(colatitude)], 1)
    for most in range(step * 4, 36, step * 3):
        degree = most // step
        shares = rng.dirichlet(np.ones(degree + 1))
        zonal = np.zeros(step * degree + 1)
        zonal[::step] = shares
        true, threads = legval(at @ atom[0], zonal), 1 + most % 2
        one = transform.coefficients(atom, np.ones(1), degree, 3e-13, 1)
        assert np.abs(transform.synthesis(one, shares, at, epsilon, threads) - true).max() < 8 * epsilon
        # The other direction: what all of these points, with weights, say at the place of the atom.
        weights = rng.normal(size=len(at))
        many = transform.coefficients(at, weights, degree, epsilon, threads)
        found = transform.synthesis(many, shares, atom, 3e-13, 1)[0]
        assert abs(found - weights @ true) < 8 * epsilon * np.sqrt(len(at))


def test_a_map_on_whole_degrees_gets_the_potentials_it_has():
    longitude, latitude = np.meshgrid(np.arange(-180, 180, 5.0), np.arange(-90, 90.1, 2.5))
    cells = he.from_lonlat(longitude.ravel(), latitude.ravel(), units="deg")
    weights = np.random.default_rng(3).random(len(cells))
    for angle, rtol in product([8, 13, 24, 45], [1e-4, 1e-3, 1e-2]):
        rough = he.potential(cells, weights, angle=angle, rtol=rtol)
        fine = he.potential(cells, weights, angle=angle, rtol=1e-9)
        assert np.abs(rough - fine).max() < 2 * rtol * fine.mean()
        assert np.ptp(rough[latitude.ravel() == 90]) < 1e-5 * fine.mean()  # one point, written 72 times


def test_atoms_at_both_poles_have_the_same_redundancy_as_others_like_them():
    ends = np.concatenate([np.eye(3), -np.eye(3)])
    cloud = np.concatenate([ends, he.Sphere(2).uniform(3000, np.random.default_rng(4))])
    weights = np.append(np.ones(6), np.full(3000, 1e-9))
    for angle, rtol in product([30, 55, 70, 90], [3e-4, 1e-3, 1e-2]):
        found = he.redundancy(cloud, weights, angle=angle, rtol=rtol)[:6]
        assert np.ptp(found) < rtol
        slope = he.gradient(cloud, weights, angle=angle, rtol=rtol)
        assert slope.gess == pytest.approx(he.gess(ends, angle=angle), rel=rtol)
        assert np.ptp(slope.weights[:6]) < 20 * rtol


def test_accuracy_asked_of_a_transform_stays_within_what_is_tested_here():
    asked = [accuracy(rtol) for rtol in TOLERANCES]
    assert min(asked) == 3e-13
    assert max(asked) == 1e-6
