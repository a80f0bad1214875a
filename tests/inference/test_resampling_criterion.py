"""The resampling criterion is the ratio it says it is, of particles as filters of other packages hold them."""

from __future__ import annotations

import importlib.util
import pickle
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import heatess as he
from heatess.base.errors import InputError, ScaleError

EXAMPLES = Path(__file__).parents[2] / "examples" / "filters"
NORTH = np.array([0.0, 0.0, 1.0])


@pytest.fixture
def cloud():
    return he.samplers.von_mises_fisher(200, NORTH, 50.0, rng=0)


@pytest.fixture
def weights(cloud):
    return np.exp(60 * cloud[:, 0])


def brute_ratio(points, weights, time):
    """gESS of weighted over equally weighted atoms on S^2, from Legendre polynomials in plain NumPy."""
    levels = np.arange(300)
    terms = (2 * levels + 1) * np.exp(-2 * levels * (levels + 1) * time)
    overlap = np.polynomial.legendre.legval(np.clip(points @ points.T, -1, 1), terms) / terms.sum()
    equal = np.full(len(points), 1 / len(points))
    return (equal @ overlap @ equal) / (weights @ overlap @ weights)


def test_the_ratio_is_that_of_a_brute_sum(cloud, weights):
    expected = brute_ratio(cloud, weights / weights.sum(), np.radians(8) ** 2 / 8)
    criterion = he.ResamplingCriterion(he.Sphere(2), 8)
    assert criterion.ratio(cloud, weights) == pytest.approx(expected, rel=1e-8)
    assert criterion.ratio(cloud, log_weights=np.log(weights) - 1000) == pytest.approx(expected, rel=1e-8)


def test_it_asks_to_resample_below_the_threshold(cloud, weights):
    ratio = he.ResamplingCriterion(he.Sphere(2), 8).ratio(cloud, weights)
    assert 0.1 < ratio < 0.9
    assert he.ResamplingCriterion(he.Sphere(2), 8, ratio * 1.001)(cloud, weights) is True
    assert he.ResamplingCriterion(he.Sphere(2), 8, ratio * 0.999)(cloud, weights) is False


def test_equal_weights_never_resample_and_resampling_clears_the_trigger(cloud, weights):
    criterion = he.ResamplingCriterion(he.Sphere(2), angle=8, threshold=0.9)
    assert criterion.ratio(cloud) == pytest.approx(1.0, rel=1e-10)
    assert criterion(cloud) is False
    assert criterion(cloud, weights) is True
    rows = np.random.default_rng(0).choice(len(cloud), size=len(cloud), p=weights / weights.sum())
    assert criterion(cloud[rows]) is False


def test_far_below_all_distances_it_is_ess_over_n(cloud, weights):
    ess = weights.sum() ** 2 / np.sum(weights**2)
    assert he.ResamplingCriterion(he.Sphere(2), 0.01).ratio(cloud, weights) == pytest.approx(ess / 200, rel=1e-3)


def test_scales_may_be_times_and_resolutions(cloud, weights):
    time = np.radians(8) ** 2 / 8
    resolution = he.heat_profile(cloud, angles=[8]).resolutions[0]
    ratios = [
        he.ResamplingCriterion(he.Sphere(2), **scale).ratio(cloud, weights)
        for scale in ({"angle": 8}, {"time": time}, {"resolution": resolution})
    ]
    assert ratios == pytest.approx([ratios[0]] * 3, rel=1e-8)


@pytest.mark.parametrize("space", [he.Rotations(), he.Torus(2), he.Sphere(9), he.Euclidean(3)], ids=repr)
def test_other_spaces_serve(space):
    rng = np.random.default_rng(0)
    points = rng.normal(size=(40, 3)) if isinstance(space, he.Euclidean) else space.uniform(40, rng)
    weights = rng.gamma(0.3, size=40)
    found = he.ResamplingCriterion(space, time=0.05).ratio(points, weights)
    assert found == pytest.approx(he.gess_ratio(points, weights, time=0.05, space=space), rel=1e-12)


def test_a_scale_that_can_never_trigger_is_told_and_the_advice_works(cloud):
    one = np.where(np.arange(200) == 0, 1.0, 0.0)
    wide = he.ResamplingCriterion(he.Sphere(2), 60)
    with pytest.warns(he.CalibrationWarning, match=r"angle 60 degrees the ratio is 0\.9\d or more .* or finer") as told:
        assert wide(cloud, one) is False
    angle = float(str(told[0].message).split("give one of angle ")[1].split()[0])
    advised = he.ResamplingCriterion(he.Sphere(2), angle)
    assert advised.ratio(cloud, one) == pytest.approx(0.25, rel=0.1)
    with pytest.warns(he.CalibrationWarning, match="never below 0.5"):
        he.gess_ratio(cloud, one, angle=60)


@pytest.mark.parametrize(
    ("space", "threshold"), [(he.Sphere(2), 0.5), (he.Sphere(2), 0.2), (he.Euclidean(3), 0.5)], ids=repr
)
def test_without_a_scale_the_floor_is_half_the_threshold(space, threshold):
    rng = np.random.default_rng(1)
    flat = space == he.Euclidean(3)
    points = rng.normal(size=(400, 3)) if flat else he.samplers.von_mises_fisher(400, NORTH, 50.0, rng=rng)
    criterion = he.ResamplingCriterion(space, threshold=threshold)
    assert "scale from the cloud" in repr(criterion)
    assert criterion.ratio(points, np.where(np.arange(400) == 0, 1.0, 0.0)) == pytest.approx(threshold / 2, rel=0.15)
    assert criterion(points) is False


# As other packages hand particles, without them.


def test_smc_of_particles(cloud, weights):
    criterion = he.ResamplingCriterion(he.Sphere(2), 8)
    smc = SimpleNamespace(X=cloud, aux=SimpleNamespace(W=weights / weights.sum()))
    assert criterion.ratio(smc) == pytest.approx(criterion.ratio(cloud, weights), rel=1e-12)
    assert criterion.ratio(SimpleNamespace(X=cloud, aux=None)) == pytest.approx(1.0, rel=1e-10)


def test_structured_particles_are_mapped(cloud, weights):
    angles = np.zeros(200, dtype=[("lon", float), ("lat", float), ("speed", float)])
    angles["lon"] = np.degrees(np.arctan2(cloud[:, 1], cloud[:, 0]))
    angles["lat"] = np.degrees(np.arcsin(cloud[:, 2]))
    smc = SimpleNamespace(X=angles, aux=SimpleNamespace(W=weights))
    criterion = he.ResamplingCriterion(
        he.Sphere(2), 8, points=lambda x: he.from_lonlat(x["lon"], x["lat"], units="deg")
    )
    assert criterion.ratio(smc) == pytest.approx(criterion.ratio(angles, weights), rel=1e-12)
    assert criterion.ratio(smc) == pytest.approx(
        he.ResamplingCriterion(he.Sphere(2), 8).ratio(cloud, weights), rel=1e-8
    )


def test_state_of_pyrecest(cloud, weights):
    criterion = he.ResamplingCriterion(he.Sphere(2), 8)
    assert criterion.ratio(SimpleNamespace(d=cloud, w=weights)) == criterion.ratio(cloud, weights)


def test_state_of_stone_soup(weights):
    angles = np.random.default_rng(0).normal(size=200)
    state = SimpleNamespace(state_vector=np.array([angles, angles]).astype(object), log_weight=np.log(weights))
    criterion = he.ResamplingCriterion(he.Circle(), 8, points=lambda x: x[:, :1])
    expected = he.gess_ratio(angles[:, None], weights, angle=8, space=he.Circle())
    assert criterion.ratio(state) == pytest.approx(expected, rel=1e-10)


def test_weights_that_are_given_come_before_those_of_the_object(cloud, weights):
    measure = he.Measure(cloud, weights)
    criterion = he.ResamplingCriterion(he.Sphere(2), 8)
    assert criterion.ratio(measure) == pytest.approx(criterion.ratio(cloud, weights), rel=1e-12)
    assert criterion.ratio(cloud.tolist(), weights.tolist()) == pytest.approx(criterion.ratio(cloud, weights))


# And with them.


def example(name, package):
    pytest.importorskip(package)
    if not EXAMPLES.is_dir():
        pytest.skip("the examples are not in this distribution")
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def test_the_filter_of_the_example_resamples_less_at_the_width_of_the_posterior():
    choose = example("choose_scale", "numpy")
    choose.STEPS = 40
    ess = choose.run(lambda _, weights: 1 / np.sum(weights**2) < 250, 0)
    gess = choose.run(he.ResamplingCriterion(he.Sphere(2), 6), 0)
    assert 0 < gess[0] < ess[0]
    assert gess[1] < 2 * ess[1]


# The object.


def test_it_is_plain_frozen_and_speaks():
    criterion = he.ResamplingCriterion(he.Sphere(2), 8, 0.4)
    assert repr(criterion) == "ResamplingCriterion(Sphere(2), angle 8 degrees: gESS ratio < 0.4)"
    assert pickle.loads(pickle.dumps(criterion)) == criterion
    with pytest.raises(AttributeError):
        criterion.threshold = 0.3


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        (
            {"space": "sphere", "angle": 8},
            TypeError,
            r"space must be a heatess space .*, but is 'sphere'",
        ),
        ({"space": he.Sphere(2), "angle": 8, "time": 0.1}, ScaleError, "found 2 arguments"),
        ({"space": he.Sphere(2), "angle": -1}, ScaleError, "positive and finite"),
        ({"space": he.Euclidean(2), "angle": 8}, ScaleError, "are not angles; give resolutions"),
        ({"space": he.Sphere(2), "angle": 8, "threshold": 1.5}, InputError, r"in \(0, 1\], but is 1.5"),
        ({"space": he.Sphere(2), "angle": 8, "threshold": 0}, InputError, r"in \(0, 1\], but is 0"),
        ({"space": he.Sphere(2), "angle": 8, "points": 3}, TypeError, "a function of the particles, but is 3"),
    ],
)
def test_bad_arguments_are_refused_when_it_is_made(arguments, error, words):
    with pytest.raises(error, match=words):
        he.ResamplingCriterion(**arguments)
