"""Densities integrate to one, agree with direct sums, choose the scale that cross-validation says, and can be drawn."""

from __future__ import annotations

import math

import numpy as np
import pytest

import heatess as he
import meshes
from heatess.spaces.heat_draws import radial_draws

RNG = np.random.default_rng(0)


class Even:
    """Uniform numbers without chance: the middles of n equal parts."""

    def random(self, n):
        return (np.arange(n) + 0.5) / n


def kernel(space, time, r):
    """k_t at distances r with respect to normalised volume, from the series."""
    levels = space.series.levels(200)
    terms = np.exp(levels.log_multiplicities - time * levels.eigenvalues)
    return np.tensordot(terms, space.series.zonal(200, r), axes=1)


def sphere_grid(count=120):
    z, weights = np.polynomial.legendre.leggauss(count)
    lon = 2 * np.pi * np.arange(2 * count) / (2 * count)
    flat = np.sqrt(1 - z**2)
    x = np.stack([np.outer(flat, np.cos(lon)), np.outer(flat, np.sin(lon)), np.outer(z, np.ones_like(lon))], axis=-1)
    return x.reshape(-1, 3), np.repeat(weights / (4 * count), 2 * count)


def test_a_density_on_the_sphere_integrates_to_one_and_is_the_direct_sum():
    cloud, weights = he.samplers.von_mises_fisher(60, [0.6, 0, 0.8], 8.0, rng=1), RNG.random(60)
    law = he.density(cloud, weights, angle=12)
    where, volumes = sphere_grid()
    assert volumes @ law.at(where) == pytest.approx(1, abs=1e-8)
    direct = kernel(law.space, law.time, law.space.distance(where[::97, None], cloud)) @ (weights / weights.sum())
    np.testing.assert_allclose(law.at(where[::97]), direct, atol=law.error)
    same = he.potential(cloud, weights, at=where[::97], angle=12, kind="density")
    np.testing.assert_allclose(law.at(where[::97]), same, atol=law.error)
    assert law.per_area(where[:1])[0] == pytest.approx(law.at(where[:1])[0] / (4 * math.pi))
    assert law.per_area(where[:1], "km2")[0] * 6371.0088**2 == pytest.approx(law.per_area(where[:1], "sr")[0])


def test_a_density_of_rotations_integrates_to_one():
    from scipy.spatial.transform import Rotation

    cloud = Rotation.random(20, random_state=0)
    law = he.density(cloud, angle=70)
    z, weights = np.polynomial.legendre.leggauss(16)
    turns = 2 * np.pi * np.arange(24) / 24
    a, b, c = (part.ravel() for part in np.meshgrid(turns, np.arccos(z), turns, indexing="ij"))
    volumes = np.broadcast_to(weights[None, :, None] / (2 * 24 * 24), (24, 16, 24)).ravel()
    where = Rotation.from_euler("ZYZ", np.stack([a, b, c], axis=1))
    assert volumes @ law.at(where) == pytest.approx(1, abs=1e-8)


def test_densities_of_flat_and_hyperbolic_space_are_per_unit_of_volume():
    from scipy.integrate import simpson

    step = np.linspace(-6, 6, 241)
    grid = np.stack(np.meshgrid(step, step), axis=-1).reshape(-1, 2)
    law = he.density(RNG.normal(size=(30, 2)) / 3, space=he.Euclidean(2), resolution=1.0)
    assert law.at(grid).sum() * (step[1] - step[0]) ** 2 == pytest.approx(1, abs=1e-8)
    r = np.linspace(0, 9, 1801)
    for dim, area in ((2, 2 * np.pi), (3, 4 * np.pi)):
        where = np.zeros((len(r), dim + 1))
        where[:, 0], where[:, 1] = np.cosh(r), np.sinh(r)
        law = he.density(where[:1], space=he.Hyperbolic(dim), time=0.25)
        ring = law.at(where) * area * np.sinh(r) ** (dim - 1)
        assert simpson(ring, x=r) == pytest.approx(1, abs=1e-8)
    pose = he.Product(he.Euclidean(1), he.Circle(), metric_scales=(1, 0.5))
    law = he.density((RNG.normal(size=5) / 3, RNG.random(5)), space=pose, time=0.1)
    x, turn = (part.ravel() for part in np.meshgrid(step, 2 * np.pi * np.arange(40) / 40))
    assert law.at((x, turn)).sum() * (step[1] - step[0]) * 0.5 * 2 * np.pi / 40 == pytest.approx(1, abs=1e-8)


def test_densities_on_nodes_integrate_to_one_and_can_be_drawn():
    ring = np.roll(np.eye(40), 1, axis=1)
    for space, time in ((he.Graph(ring + ring.T), 2.0), (he.Mesh(*meshes.icosphere(2)), 0.3)):
        law = he.density([3, 3, 5], space=space, time=time)
        where = np.arange(space.node_count)
        values = law.at(where)
        assert space.node_volumes @ values == pytest.approx(1, abs=1e-8)
        drawn = np.bincount(law.sample(20_000, rng=0), minlength=len(where)) / 20_000
        assert np.abs(drawn - space.node_volumes * values).max() < 0.02


def test_the_curve_is_the_error_but_for_a_constant():
    """Against the direct sum over pairs, with unequal weights and a copy, which counts once."""
    cloud, weights = he.samplers.von_mises_fisher(80, [0, 0, 1], 6.0, rng=3), RNG.random(80)
    law = he.density(np.concatenate([cloud, cloud[:1]]), [*weights, 0.0])
    assert law.notes == ()
    law = he.density(np.concatenate([cloud, cloud[:1]]), [*weights, 0.7])
    assert "1 of 81 points are exact copies" in law.notes[0]
    weights[0] += 0.7
    w = weights / weights.sum()
    distances, own = law.space.distance(cloud[:, None], cloud), w @ w
    for place in (4, 20, 35):
        t = np.radians(law.scales[place]) ** 2 / 8
        alone = w @ kernel(law.space, t, distances) @ w - own * kernel(law.space, t, np.zeros(1))[0]
        expected = w @ kernel(law.space, 2 * t, distances) @ w - 2 * alone / (1 - own) + 1
        assert law.cv[place] == pytest.approx(expected, rel=1e-6)
    best = int(np.argmin(law.cv))
    assert law.scales[best - 1] < law.angle < law.scales[best + 1]
    assert law.scale_lower <= law.angle <= law.scale_upper


@pytest.mark.parametrize("kind", ["flat", "graph", "rotations", "hyperbolic"])
def test_the_curve_elsewhere(kind):
    if kind == "graph":
        ring = np.roll(np.eye(30), 1, axis=1)
        space, cloud = he.Graph(ring + ring.T), RNG.permutation(30)[:12]
        values, vectors = np.linalg.eigh(2 * np.eye(30) - ring - ring.T)

        def own(t):
            return 30 * (vectors * np.exp(-t * values)) @ vectors.T[:, cloud]

        def pairs(t):
            return own(t)[cloud]
    else:
        space = {"flat": he.Euclidean(2), "rotations": he.Rotations(), "hyperbolic": he.Hyperbolic(3)}[kind]
        cloud = RNG.normal(size=(12, 2)) if kind == "flat" else he.samplers.uniform(12, 3, rng=1)
        if kind == "hyperbolic":
            cloud = np.column_stack([np.full(12, np.cosh(0.5)), np.sinh(0.5) * he.samplers.uniform(12, rng=1)])

        def pairs(t):
            return np.stack([he.density(cloud[[i]], space=space, time=t).at(cloud) for i in range(12)])

    law = he.density(cloud, space=space)
    for place in (3, len(law.cv) // 2):
        t = (np.radians(law.scales[place]) if space.angular else law.scales[place]) ** 2 / 8
        kernels = pairs(t)
        alone = (kernels.sum() - np.trace(kernels)) / (12 * 11)
        expected = pairs(2 * t).mean() - 2 * alone + space.compact
        assert law.cv[place] == pytest.approx(expected, rel=1e-5)


def test_what_is_uniform_or_too_little_is_said():
    law = he.density(he.samplers.uniform(200, rng=5))
    assert law.notes == ("not distinguishable from uniform at any scale",)
    rounded = np.round(RNG.normal(size=(300, 2)), 1)
    assert "exact copies" in he.density(rounded, space=he.Euclidean(2)).notes[0]
    with pytest.raises(he.InputError, match="from 1 different place"):
        he.density([[0, 0, 1], [0, 0, 1]])
    with pytest.raises(he.KindError, match="no choice of the scale"):
        he.density(he.Measure(he.samplers.uniform(20, rng=0), kind="complete"))
    sky = he.from_healpix(np.arange(48.0), order="nested")
    assert he.density(sky).angle == pytest.approx(sky.known.cell)
    with pytest.raises(he.ScaleError, match="exactly one scale"):
        he.density(he.samplers.uniform(20, rng=0), angle=5, time=0.1)
    with pytest.raises(he.InputError, match=r"for the sphere S\^2"):
        he.density([0.0, 1.0], space=he.Circle(), angle=30).per_area([0.0], "sr")


@pytest.mark.parametrize("weighted", [False, True])
def test_standard_errors_are_those_of_the_jackknife(weighted):
    cloud, n = he.samplers.uniform(25, rng=2), 25
    w = RNG.random(n) if weighted else np.ones(n)
    w /= w.sum()
    law = he.density(cloud, w, angle=50)
    value, deviation = law.at(cloud[:3], error=True)
    kernels = kernel(law.space, law.time, law.space.distance(cloud[:3, None], cloud))
    expected = np.sqrt((w**2 * (kernels - value[:, None]) ** 2).sum(axis=1) / (1 - w @ w))
    np.testing.assert_allclose(deviation, expected, rtol=1e-6)
    if not weighted:
        left_out = np.stack([np.delete(kernels, i, axis=1).mean(axis=1) for i in range(n)])
        jackknife = np.sqrt((n - 1) / n * ((left_out - left_out.mean(axis=0)) ** 2).sum(axis=0))
        np.testing.assert_allclose(deviation, jackknife, rtol=1e-6)


def test_distances_are_drawn_from_their_distribution():
    r = radial_draws(lambda r: np.log(np.maximum(r, 1e-300)) - r**2 / 2, 12.0, 2001, Even(), "the plane")
    np.testing.assert_allclose(r, np.sqrt(-2 * np.log1p(-Even().random(2001))), rtol=1e-6)


@pytest.mark.parametrize("time", [1e-4, 0.02, 0.5])
@pytest.mark.parametrize(
    "space",
    [he.Sphere(1), he.Sphere(2), he.Sphere(5), he.Projective(2), he.Rotations(), he.ComplexProjective(2)],
    ids=repr,
)
def test_draws_of_heat_have_the_moments_of_heat(space, time):
    """The mean of each zonal function over k_t(x, .) is exp(-lambda t), within four standard errors."""
    start = space.check(space.uniform(1, np.random.default_rng(1)))
    draws = space.heated(np.repeat(start, 4000, axis=0), time, np.random.default_rng(2))
    distances = space.distance(start, space.check(draws))
    count = 8 if time > 0.01 else 40
    zonal = space.series.zonal(count, distances)[1:]
    expected = np.exp(-time * space.series.levels(count).eigenvalues[1:])
    assert (np.abs(zonal.mean(axis=1) - expected) < 4.5 * zonal.std(axis=1) / math.sqrt(4000)).all()


def test_draws_elsewhere_have_the_distances_of_heat():
    rng, root = np.random.default_rng(0), math.sqrt(20_000)
    pose = he.Product(he.Euclidean(2), he.Torus(1, periods=24), metric_scales=(1, 2))
    start = pose.check(([[1.0, 2.0]], [23.0]))
    drawn = pose.heated(np.repeat(start, 20_000, axis=0), 0.5, rng)
    np.testing.assert_allclose(drawn[:, :2].var(axis=0), 1.0, rtol=6 / root)
    assert np.var(np.mod(drawn[:, 2] + 13, 24) - 12) == pytest.approx(0.25, rel=6 / root)
    r = np.linspace(1e-3, 20, 4000)
    for dim in (2, 3):
        space = he.Hyperbolic(dim)
        start = space.check([[math.cosh(2), *([0] * (dim - 1)), math.sinh(2)]])
        found = space.distance(start, space.heated(np.repeat(start, 20_000, axis=0), 0.7, rng))
        where = np.column_stack([np.cosh(r), np.sinh(r), *np.zeros((dim - 1, len(r)))])
        ring = he.density([[1.0, *([0] * dim)]], space=space, time=0.7).at(where) * np.sinh(r) ** (dim - 1)
        assert found.mean() == pytest.approx(ring @ r / ring.sum(), abs=5 * found.std() / root)
    with pytest.raises(he.InputError, match="would not be accurate"):
        he.density(he.samplers.uniform(3, 300, rng=0), time=1e-3).sample(3)


def test_draws_of_a_density_come_back_to_it():
    law = he.density([[0, 0, 1], [1, 0, 0]], [3, 1], angle=30)
    draws = law.sample(4000, rng=1)
    heat = kernel(law.space, 0.01, law.space.distance(np.eye(3)[:, None], draws))  # at the ends of the axes
    wider = he.density([[0, 0, 1], [1, 0, 0]], [3, 1], time=law.time + 0.01)
    off = heat.mean(axis=1) - wider.at(np.eye(3))
    assert (np.abs(off) < 4 * heat.std(axis=1) / math.sqrt(4000) + 1e-3).all()


def test_results_have_the_manners_of_results():
    law = he.density(he.samplers.von_mises_fisher(100, [0, 0, 1], 9.0, rng=0))
    found = law.to_dict()
    assert (found["schema"], found["cv"]) == ("heatess.density/1", law.cv.tolist())
    assert (found["angle"], found["notes"], found["error"]) == (law.angle, [], law.error)
    assert len(law.to_frame()) == len(law.scales)
    assert "by cross-validation" in repr(law)
    with pytest.raises(ValueError, match="read-only"):
        law.cv[0] = 0
    with pytest.raises(he.InputError, match="the scale was given"):
        he.density(he.samplers.uniform(10, rng=0), angle=30).plot_cv()


def test_the_region_of_one_atom_is_a_cap_of_known_size():
    """The mass of heat within r of its source is known in closed form in the plane, and by quadrature on the sphere."""
    cap = he.density([[0.6, 0, 0.8]], angle=25).region([0.5, 0.9])
    z = np.linspace(1, -1, 40_001)
    density = kernel(cap.space, cap.density.time, np.arccos(z))
    mass = np.append(0.0, np.cumsum(density[1:] + density[:-1])) * (z[0] - z[1]) / 4
    np.testing.assert_allclose(cap.area, np.interp(cap.level, mass, (1 - z) / 2), rtol=3e-3)
    np.testing.assert_allclose(cap.threshold, np.interp(cap.level, mass, density), rtol=3e-3)
    assert (cap.accuracy < 0.02 * cap.area).all()
    assert cap.area_in("sr") == pytest.approx(4 * np.pi * cap.area)
    disc = he.density([[1.0, 2.0]], space=he.Euclidean(2), time=0.5).region(0.9)
    exact = np.pi * 4 * 0.5 * math.log(10)  # of the disc with r^2 = 4 t log 10
    assert disc.area == pytest.approx(exact, abs=4 * disc.accuracy)
    assert disc.accuracy < 0.02 * exact
    assert disc.contains([[1.0, 2.0], [1.0, 2.0 + 1.01 * math.sqrt(exact / np.pi)]]).tolist() == [True, False]


def test_a_region_of_nodes_is_that_of_the_sorted_nodes():
    ring = np.roll(np.eye(40), 1, axis=1)
    found = he.density([3, 9, 20], space=he.Graph(ring + ring.T), time=4.0).region(0.8)
    values = np.sort(found.density.at(np.arange(40)))[::-1]
    count = int(np.searchsorted(np.cumsum(values) / 40, 0.8))
    assert abs(40 * found.area - count) <= 1
    assert values[count + 1] <= found.threshold <= values[max(count - 1, 0)]
    assert found.accuracy == 0


@pytest.mark.slow
@pytest.mark.parametrize("calibrated", [False, True])
def test_the_uncertainty_of_an_area_is_that_of_new_samples(calibrated):
    """Twelve samples of one law: the spread of their areas, and the mean of what each says of itself."""
    clouds = [he.samplers.von_mises_fisher(200, [0, 0, 1], 10.0, rng=k) for k in range(12)]
    found = [he.density(cloud, angle=20).region(0.9, calibrated=calibrated) for cloud in clouds]
    spread = np.std([one.area for one in found], ddof=1)
    said = np.sqrt(np.mean([one.area_error**2 for one in found]))
    assert 0.5 < said / spread < 2


def test_wrong_levels_are_refused():
    law = he.density([[0, 0, 1]], angle=30)
    for level in (90, 0.0, [0.5, 1.0], []):
        with pytest.raises(he.InputError, match="shares between 0 and 1"):
            law.region(level)
    found = law.region([0.5, 0.9]).to_dict()
    assert (found["schema"], found["level"], found["angle"]) == ("heatess.region/1", [0.5, 0.9], pytest.approx(30))


def test_a_calibrated_region_holds_its_share_of_the_law():
    """A narrow cluster in a wide one: a region of 90 % of the density holds less of the law, a calibrated one does not.

    Atoms that no other is near to need a coarser scale. Copies are left out together.
    """
    rng, plane = np.random.default_rng(3), he.Euclidean(2)
    narrow, wide = rng.normal(scale=0.1, size=(2, 4000, 2)) * np.array([1, 20])[:, None, None]
    truth, held = np.concatenate([narrow[1000:], wide[1000:]]), []
    for k in range(0, 750, 150):
        law = he.density(np.concatenate([narrow[k : k + 150], wide[k : k + 150]]), space=plane)
        for found in (law.region([0.5, 0.9]), law.region([0.5, 0.9], calibrated=True)):
            held.append([found.contains(truth).mean(axis=1), found.held])
    assert found.angle > law.angle
    plain, calibrated = np.mean(held[::2], axis=0), np.mean(held[1::2], axis=0)
    assert plain[0, 1] < 0.75
    np.testing.assert_allclose(plain[1], plain[0], atol=0.05)
    np.testing.assert_allclose(calibrated[0], [0.5, 0.9], atol=0.04)
    np.testing.assert_allclose(calibrated[1], [0.5, 0.9], atol=0.005)
    copied = np.repeat(rng.normal(size=(30, 2)), 3, axis=0)
    one, three = (he.density(cloud, space=plane, time=0.05).region(0.9) for cloud in (copied[::3], copied))
    assert one.held == three.held


def test_steps_of_a_chain_are_left_out_together():
    """A slow chain: the neighbours of a draw in time are near it, and would say that it is no surprise."""
    steps = np.random.default_rng(0).normal(size=(1000, 2))
    walk = np.empty_like(steps)
    walk[0] = steps[0]
    for k in range(1, 1000):
        walk[k] = 0.995 * walk[k - 1] + math.sqrt(1 - 0.995**2) * steps[k]
    space, truth = he.Euclidean(2), np.random.default_rng(1).normal(size=(4000, 2))
    apart = he.density(he.Measure(walk, space=space, kind="draws"), time=0.01).region(0.9)
    together = he.density(he.Measure(walk, space=space, kind="chains"), time=0.01).region(0.9)
    assert apart.held - apart.contains(truth).mean() > 0.3
    assert together.held == pytest.approx(together.contains(truth).mean(), abs=0.1)
    with pytest.raises(he.KindError, match="no calibrated region; leave out calibrated=True"):
        he.density(he.Measure(walk, space=space, kind="complete"), time=0.01).region(0.9, calibrated=True)


@pytest.mark.parametrize(("space", "time"), [(he.Sphere(2), 0.1), (he.Rotations(), 0.4), (he.Torus(2), 0.3)], ids=repr)
def test_parts_have_the_density_of_the_whole(space, time):
    """Coefficients are all that a density needs: values, error, choice of the scale, areas."""
    start = space.check(space.uniform(1, np.random.default_rng(0)))
    cloud = space.heated(np.repeat(start, 600, axis=0), time, np.random.default_rng(1))
    weights, degree = np.random.default_rng(2).random(600), 90 if space.dim < 3 else 30
    parts = [he.Accumulator(space, max_degree=degree).add(cloud[k::3], weights[k::3]) for k in range(3)]
    whole = he.density(cloud, weights, space=space)
    found = he.density(parts[0] + parts[1] + parts[2])
    assert found.angle == pytest.approx(whole.angle, rel=0.02)
    assert (found.scale_lower, found.scale_upper) == pytest.approx((whole.scale_lower, whole.scale_upper), rel=0.5)
    same, where = he.density(cloud, weights, space=space, time=found.time), space.check(cloud[:50])
    np.testing.assert_allclose(found.at(where), same.at(where), atol=found.error + same.error)
    assert found.error == pytest.approx(same.error, rel=0.02)
    one, other = found.region(0.8), same.region(0.8)
    assert one.area == pytest.approx(other.area, abs=4 * math.hypot(one.accuracy, other.accuracy))
    assert math.isnan(one.held)
    assert math.isnan(one.area_error)
    for call in (
        lambda: found.sample(1),
        lambda: found.at(where, error=True),
        lambda: found.region(0.8, calibrated=True),
    ):
        with pytest.raises(he.InputError, match="needs the points"):
            call()


def test_parts_that_are_too_coarse_say_what_they_need():
    cloud = he.samplers.von_mises_fisher(500, [0, 0, 1], 500.0, rng=0)
    parts = he.Accumulator(max_degree=60).add(cloud)
    assert "accumulate with more than max_degree=60" in he.density(parts).notes[0]
    with pytest.raises(he.PrecisionError, match="or give a coarser scale") as refused:
        he.density(parts, angle=2)
    he.density(he.Accumulator(max_degree=refused.value.needed).add(cloud), angle=2)
    with pytest.raises(he.InputError, match="has weights and a space of its own"):
        he.density(parts, np.ones(500))
    with pytest.raises(he.InputError, match="no points in any part"):
        he.density(he.Accumulator(he.Sphere(2), max_degree=60))


def test_a_dask_collection_has_the_density_of_the_whole():
    array = pytest.importorskip("dask.array")
    cloud = he.samplers.von_mises_fisher(900, [0, 0, 1], 60.0, rng=0)
    parts = array.from_array(cloud, chunks=(300, 3))
    assert he.density(parts).angle == pytest.approx(he.density(cloud).angle, rel=0.02)
    one, whole = he.density(parts, angle=8), he.density(cloud, angle=8)
    np.testing.assert_allclose(one.at(cloud[:20]), whole.at(cloud[:20]), atol=2 * whole.error)


def spot(n, seed, width=0.05):
    cloud = np.random.default_rng(seed).normal(size=(n, 3)) * width + [0, 0, 1]
    return cloud / np.linalg.norm(cloud, axis=1, keepdims=True)


def test_points_are_transformed_twice_for_a_chosen_scale_and_a_map(monkeypatch):
    from heatess.transforms.levels import HarmonicTransform

    degrees, plain = [], HarmonicTransform.coefficients

    def counted(self, points, weights, degree, *how):
        degrees.append(degree)
        return plain(self, points, weights, degree, *how)

    monkeypatch.setattr(HarmonicTransform, "coefficients", counted)
    cloud, where = spot(2000, 1, 0.3), spot(5, 2, 0.3)
    found = he.density(cloud)
    values = found.at(where)
    assert len(degrees) == 2  # the profile, and what the range of scales and the map share
    monkeypatch.undo()
    again = he.density(cloud, time=found.time)
    np.testing.assert_allclose(values, again.at(where), rtol=0, atol=found.error)
    direct = kernel(he.Sphere(2), found.time, np.arccos(np.clip(cloud @ where.T, -1, 1))).mean(axis=0)
    np.testing.assert_allclose(values, direct, rtol=1e-6)


def test_small_steps_to_finer_scales_find_the_same_minimum(monkeypatch):
    from heatess.densities import scale_choice
    from heatess.measures.scales import resolve

    cloud, space = spot(1000, 3, 0.15), he.Sphere(2)
    monkeypatch.setattr(scale_choice, "fitting_scales", lambda *_: resolve(space, angles=[10.0, 20.0]))
    far = he.density(cloud)
    monkeypatch.setattr(scale_choice, "TIMES_FINER", (2.0,))
    near = he.density(cloud)
    assert 0 < near.cv.argmin() < len(near.cv) - 1
    assert near.scales[0] > far.scales[0]
    assert near.angle == pytest.approx(far.angle, rel=1e-9)
    assert near.angle < 7


def test_finer_scales_that_take_too_long_are_left_out_and_said(monkeypatch):
    from heatess.densities import scale_choice
    from heatess.measures.scales import resolve

    monkeypatch.setattr(scale_choice, "fitting_scales", lambda *_: resolve(he.Sphere(2), angles=[10.0, 20.0]))
    monkeypatch.setattr(scale_choice.plan, "estimate", lambda question: 1e-3 if question.times[0] > 3e-3 else 1e9)
    found = he.density(spot(3000, 3))
    assert found.cv.argmin() == 0
    assert any("finest scale looked at" in note for note in found.notes)


def test_the_range_of_scales_is_that_of_all_scales_looked_at(monkeypatch):
    clouds = [spot(n, n, width) for n in (40, 400, 4000) for width in (0.1, 0.5)]
    narrow = [he.density(cloud) for cloud in clouds]
    monkeypatch.setattr(he.Sphere, "level_transform", None)
    for cloud, found in zip(clouds, narrow, strict=True):
        every = he.density(cloud)
        assert found.scale_lower == pytest.approx(every.scale_lower)
        assert found.scale_upper == pytest.approx(every.scale_upper)
