"""Population profiles against plain sums over pairs, explicit leave-one-out, and laws whose power is known."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.special import ive
from scipy.stats import norm, t

import heatess as he
from heatess.engines.centred_overlap import diagonal_of
from heatess.heat.series import log_diagonal, overlap
from heatess.inference import jackknife, score_intervals
from heatess.transforms.levels import LevelTransform
from heatess.transforms.squared_overlap import level_squares
from heatess.transforms.torus import TorusTransform
from space_cases import DISCRETE, HOMOGENEOUS, named, taken

COMPACT = [case for case in HOMOGENEOUS if case.name not in ("pose",) and not case.name.startswith(("Eucl", "Hyper"))]
OPEN = [case for case in HOMOGENEOUS if case not in COMPACT]
FAST = [case for case in COMPACT if isinstance(case.space().transform, LevelTransform | TorusTransform)]


def cloud(n, seed, kappa=8.0):
    return he.samplers.von_mises_fisher(n, [0, 0.6, 0.8], kappa, rng=seed)


def uneven(n, seed):
    return np.random.default_rng(seed).gamma(2.0, size=n)


def profile(*args, **options):
    """Without the warnings that small clouds give."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", he.CalibrationWarning)
        return he.population_profile(*args, **options)


def kernel(x, time):
    """k_2t of all pairs on S^2, and k_2t(x, x), from the series in plain NumPy."""
    series = he.Sphere(2).series
    k0 = np.exp(log_diagonal(series, time))
    return k0 * overlap(series, time, np.arccos(np.clip(x @ x.T, -1, 1))), k0


def power_without(k, w, left_out=None):
    """A_U of some atoms by its definition: the mean of k over pairs of different atoms, by weight."""
    keep = np.arange(len(w)) != left_out
    products = np.multiply.outer(w[keep], w[keep])
    np.fill_diagonal(products, 0.0)
    return float((products * k[np.ix_(keep, keep)]).sum() / products.sum())


@pytest.mark.parametrize("w", [None, uneven(40, 3)], ids=["equal", "uneven"])
@pytest.mark.parametrize("angle", [3.0, 15.0, 60.0, 150.0])
def test_estimates_are_means_over_pairs_of_different_atoms(w, angle):
    x = cloud(40, 1)
    k, k0 = kernel(x, np.radians(angle) ** 2 / 8)
    power = power_without(k, np.ones(40) if w is None else w)
    found = profile(x, w, angles=[angle], weights_are="fixed")
    assert found.places[0] == pytest.approx(k0 / power, rel=1e-7)
    assert found.mmd2[0] == pytest.approx(power - 1, rel=1e-7, abs=1e-9 * k0)
    assert found.volume[0] == pytest.approx(min(1 / power, 1), rel=1e-7)
    assert found.divergence[0] == pytest.approx(max(np.log(power), 0), rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("angle", [4.0, 25.0, 90.0])
def test_the_jackknife_leaves_out_each_atom(angle):
    x, w = cloud(30, 5), uneven(30, 6)
    k, k0 = kernel(x, np.radians(angle) ** 2 / 8)
    whole, n = power_without(k, w), 30
    without = np.array([power_without(k, w, i) for i in range(n)])
    by_hand = n * whole - (n - 1) * without.mean()
    found = profile(x, w, angles=[angle], weights_are="importance")
    assert found.mmd2[0] == pytest.approx(by_hand - 1, rel=1e-7, abs=1e-9 * k0)
    measure = he.Measure(x, w)
    times = found.times
    diagonal = diagonal_of(measure, times, 1e-8)
    moments = score_intervals.moments_of(measure, times, jackknife.excesses(measure, times, 1e-8, diagonal)[1], 1e-8)
    variance = (n - 1) / n * np.square(without - without.mean()).sum()
    assert moments.variance[0] * (k0 - 1) ** 2 == pytest.approx(variance, rel=1e-6)


def test_equal_importance_weights_need_no_jackknife():
    x = cloud(60, 2)
    fixed, importance = (profile(x, angles=[5, 30], weights_are=kind) for kind in ("fixed", "importance"))
    np.testing.assert_allclose(fixed.places, importance.places, rtol=1e-9)


def _by_hand(case, n=24, seed=0):
    """Sums over pairs of centred overlaps, from the kernel of the space, tile by tile in one tile."""
    rng = np.random.default_rng(seed)
    measure = he.Measure(case.points(n, rng), rng.gamma(2.0, size=n), space=case.space())
    times = case.times(3)
    own = case.space().pair_kernel.fitted(times, 1e-10)
    rows = own.rows(measure.points)
    terms = own.terms(rows, rows)
    c = []
    for time in times:
        found = terms(float(time))
        if case in OPEN:
            c.append(found.overlap)
        else:
            c.append(found.excess / np.diag(found.excess)[:, None])
    return measure, times, np.array(c)


@pytest.mark.parametrize(**named(HOMOGENEOUS))
def test_potentials_and_squares_on_every_space(case):
    measure, times, c = _by_hand(case)
    w = measure.weights
    potentials, _, squares = jackknife.potentials_of(measure, times, 1e-10)
    np.testing.assert_allclose(potentials, c @ w, atol=1e-9)
    off = c * (1 - np.eye(measure.n))
    by_hand = np.einsum("i,kij,j->k", w**2, off**2, w**2)
    np.testing.assert_allclose(squares, by_hand, rtol=1e-4, atol=1e-7 * (w**4).sum())


@pytest.mark.parametrize(
    "space", [he.Sphere(1), he.Sphere(2), he.Projective(2), he.Rotations(), he.Projective(1)], ids=repr
)
def test_squares_of_overlaps_as_levels(space):
    times, count = np.array([0.02, 0.3]), 60
    shares, squares = level_squares(space.series, times, count)
    distance = np.linspace(0, space.diameter, 7)
    zonal = space.series.zonal(count, distance)
    k0 = np.exp([log_diagonal(space.series, time) for time in times])[:, None]
    c = np.array([(k * overlap(space.series, time, distance) - 1) / (k - 1) for k, time in zip(k0, times, strict=True)])
    np.testing.assert_allclose(shares @ zonal, c, atol=1e-11)
    np.testing.assert_allclose(squares @ zonal, c**2, atol=1e-11)


@pytest.mark.parametrize(**named(HOMOGENEOUS))
def test_gess_is_made_of_ess_and_places(case):
    rng = np.random.default_rng(8)
    points, w, times = case.points(60, rng), rng.gamma(2.0, size=60), case.times(4)
    found = profile(points, w, space=case.space(), times=times, weights_are="fixed")
    gess = he.heat_profile(points, w, space=case.space(), times=times).gess
    own = 1 / found.ess
    np.testing.assert_allclose(own + (1 - own) / found.places.estimate, 1 / gess, rtol=1e-9)
    for name in ("volume", "divergence", "mmd2"):
        assert np.isnan(getattr(found, name)).all() == (case in OPEN)
    assert (found.places.lower <= found.places.upper).all()


@pytest.mark.parametrize("space", [he.Sphere(383), he.ComplexProjective(9), he.Torus(8)], ids=repr)
def test_high_dimensions_do_not_overflow(space):
    rng = np.random.default_rng(2)
    x = space.uniform(40, rng)
    found = profile(x, space=space, resolutions=[2, 20, 60])
    gess = he.heat_profile(x, space=space, resolutions=[2, 20, 60]).gess
    with np.errstate(divide="ignore"):
        np.testing.assert_allclose(1 / 40 + (1 - 1 / 40) / found.places.estimate, 1 / gess, rtol=1e-9)
    assert (found.places.lower >= 1).all()
    assert not np.isnan(found.places.upper).any()
    assert (found.volume.lower <= found.volume.upper).all()


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10**6), kind=st.sampled_from(["fixed", "importance"]))
@example(seed=32867, kind="importance")  # whose tail index is below its limit, and above it with zeros
def test_order_scale_rotation_and_empty_atoms_change_nothing(seed, kind):
    rng = np.random.default_rng(seed)
    x, w = cloud(50, seed), rng.gamma(2.0, size=50)
    turn, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    order = rng.permutation(50)
    # An importance weight of zero is a draw, and counts in the tail index: there bands may be withheld with it.
    empty = 7 if kind == "fixed" else 0
    again = np.vstack([x[order] @ turn, cloud(7, seed + 1)[:empty]]), np.append(1e7 * w[order], np.zeros(empty))
    angles = [4, 20, 70]
    one, other = (profile(*data, angles=angles, weights_are=kind) for data in ((x, w), again))
    for name in ("places", "volume"):
        for end in ("estimate", "lower", "upper", "simultaneous_lower", "simultaneous_upper"):
            left, right = (getattr(getattr(found, name), end) for found in (one, other))
            np.testing.assert_allclose(left, right, rtol=2e-7)


def test_bands_hold_their_quantity_in_order():
    found = profile(cloud(300, 4), angles=[2, 10, 50])
    for name in ("places", "volume", "divergence", "mmd2"):
        band = getattr(found, name)
        assert (band.simultaneous_lower <= band.lower).all()
        assert (band.upper <= band.simultaneous_upper).all()
        assert (band.lower <= band.estimate).all()
        assert (band.estimate <= band.upper).all()
    np.testing.assert_allclose(found.volume.lower, 1 / (1 + found.mmd2.upper), rtol=1e-12)
    np.testing.assert_allclose(found.divergence.upper, np.log1p(found.mmd2.upper), rtol=1e-12)
    wider = profile(cloud(300, 4), angles=[2, 10, 50], level=0.99)
    assert (wider.places.lower < found.places.lower).all()
    assert (wider.places.upper > found.places.upper).all()


def test_many_scales_are_interpolated_closely():
    x, w = cloud(400, 9), uneven(400, 9)
    angles = np.geomspace(4, 100, 45)
    many = profile(x, w, angles=angles)
    few = profile(x, w, angles=angles[::3])
    np.testing.assert_allclose(many.places.estimate[::3], few.places.estimate, rtol=1e-6)
    for end in ("lower", "upper"):
        np.testing.assert_allclose(getattr(many.places, end)[::3], getattr(few.places, end), rtol=2e-3)


def test_scales_in_any_order_and_repeated():
    x = cloud(100, 3)
    found = profile(x, angles=[40, 5, 40, 10])
    for row, angle in enumerate([40, 5, 40, 10]):
        alone = profile(x, angles=[angle]).places
        assert found.places[row] == pytest.approx(alone[0], rel=1e-9)
        assert found.places.lower[row] == pytest.approx(alone.lower[0], rel=1e-7)


def test_no_overlapping_pair_still_leaves_an_upper_limit():
    """n = 100 atoms of which no two overlap: 95 % of the time the law then has less than about 3.8 such pairs."""
    x = he.samplers.fibonacci(100)
    found = he.population_profile(x, angles=[1.0])
    pairs = 100**2 / 2 / found.places.lower[0]  # expected sum of overlaps of the pairs
    assert 1.5 < pairs < 4.5
    assert found.places.upper[0] == pytest.approx(np.exp(log_diagonal(he.Sphere(2).series, found.times[0])), rel=1e-9)


def test_simultaneous_factor_of_independent_and_of_equal_scales():
    for level in (0.8, 0.95, 0.99):
        for k in (2, 5, 9):
            exact = norm.ppf((1 + level ** (1 / k)) / 2)
            assert score_intervals.largest_quantile(level, np.eye(k)) == pytest.approx(exact, rel=0.01)
        assert score_intervals.largest_quantile(level, np.ones((40, 40))) == pytest.approx(
            norm.ppf((1 + level) / 2), rel=1e-3
        )
    pointwise, wider = score_intervals.quantiles(0.95, 31.0, np.eye(1))
    assert pointwise == pytest.approx(t.ppf(0.975, 30), rel=1e-9)
    assert wider == pytest.approx(pointwise, rel=1e-3)


def test_the_resolution_limit_is_where_places_are_ess():
    x, w = cloud(500, 1), uneven(500, 2)
    found = profile(x, w, angles=[0.5, 3, 30], weights_are="fixed")
    there = profile(x, w, angles=[found.resolution_limit], weights_are="fixed")
    assert there.places[0] == pytest.approx(found.ess, rel=1e-6)
    fine = profile(x, w, angles=np.geomspace(0.5, 30, 50), weights_are="importance")
    there = profile(x, w, angles=[fine.resolution_limit], weights_are="importance")
    assert there.places[0] == pytest.approx(found.ess, rel=2e-3)
    for angles in ([20, 30], [0.01, 0.02]):  # above the limit, and below it
        assert np.isnan(profile(x, angles=angles).resolution_limit)
    flat = profile(
        np.random.default_rng(0).normal(size=(200, 2)), space=he.Euclidean(2), resolutions=np.geomspace(0.05, 2, 30)
    )
    again = profile(
        np.random.default_rng(0).normal(size=(200, 2)), space=he.Euclidean(2), times=[flat.resolution_limit**2 / 8]
    )
    assert again.places[0] == pytest.approx(200, rel=0.02)


def test_the_truth_lies_near():
    """vMF: E P_l = I_(l + 1/2)(kappa) / I_(1/2)(kappa), so A is known; 20,000 draws are within a few per cent."""
    degree, kappa, times = np.arange(200), 8.0, np.radians([2.0, 10.0, 40.0]) ** 2 / 8
    moments = (ive(degree + 0.5, kappa) / ive(0.5, kappa)) ** 2
    decay = (2 * degree + 1) * np.exp(-2 * np.multiply.outer(times, degree * (degree + 1)))
    places = decay.sum(axis=1) / (decay @ moments)
    # 200 levels do not hold the diagonal at 2 degrees; its logarithm is known.
    places[0] = np.exp(log_diagonal(he.Sphere(2).series, times[0])) / (decay @ moments)[0]
    found = he.population_profile(cloud(20_000, 11, kappa), times=times)
    np.testing.assert_allclose(found.places.estimate, places, rtol=0.04)
    assert (found.places.simultaneous_lower <= places).all()
    assert (places <= found.places.simultaneous_upper).all()


def test_bands_are_withheld_with_the_reason():
    x = cloud(200, 1)
    few = he.population_profile(x[:9], angles=[10, 40])
    assert "ESS is 9" in few.withheld
    assert "withheld" in repr(few)
    assert np.isnan([few.places.lower, few.mmd2.simultaneous_upper]).all()
    assert np.isfinite(few.places).all()
    heavy = (np.arange(200) + 0.5) / 200
    found = he.population_profile(x, log_weights=-1.0 * np.log(heavy), angles=[10], weights_are="importance")
    assert found.pareto_k > 0.7
    assert "the variance of the importance weights rests on" in found.withheld
    n = 4000
    tail = -1.3 * np.log((np.arange(n) + 0.5) / n)
    tail[:20] = tail[20]  # with the largest cut off, many atoms carry the variance; Pareto k shows the rest
    found = he.population_profile(cloud(n, 2), log_weights=tail, angles=[10])
    assert "Pareto k of the importance weights is 0.7" in found.withheld
    assert found.ess > 25
    fixed = he.population_profile(cloud(n, 2), log_weights=tail, angles=[10], weights_are="fixed")
    assert fixed.withheld is None
    assert np.isfinite(fixed.places.lower).all()


def test_warnings_say_what_bands_assume():
    with pytest.warns(he.CalibrationWarning, match=r"ESS is 20, and with fewer than 25"):
        he.population_profile(cloud(20, 1), angles=[10])
    n = 4000
    with pytest.warns(he.CalibrationWarning, match="below 50 bands and tests err.*wider than the target"):
        he.population_profile(cloud(n, 2), log_weights=-0.45 * np.log((np.arange(n) + 0.5) / n), angles=[10])
    x = cloud(300, 3)
    resampled = x[np.random.default_rng(0).integers(0, 300, 300)]
    with pytest.warns(he.CalibrationWarning, match="exact copies of others.*weights as they were before"):
        he.population_profile(resampled, angles=[10])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        he.population_profile(x, angles=[10])


@pytest.mark.parametrize(**named(DISCRETE))
def test_spaces_where_the_diagonal_varies_are_refused(case):
    points = case.points(30, np.random.default_rng(0))
    with pytest.raises(he.InputError, match=r"k_2t\(x, x\), depends on its place"):
        he.population_profile(points, space=case.space(), times=case.times(2))


def test_bad_arguments_are_refused():
    x = cloud(50, 0)
    for level in (0.2, 1.0, True, "high"):
        with pytest.raises(he.InputError, match=r"level must be a number from 0\.5 to 0\.999"):
            he.population_profile(x, angles=[10], level=level)
    with pytest.raises(he.InputError, match="three or more points with a weight, but found 2"):
        he.population_profile(x[:3], [1, 0, 1], angles=[10])
    with pytest.raises(he.InputError, match="weights_are must be"):
        he.population_profile(x, angles=[10], weights_are="random")
    with pytest.raises(he.CostError, match="give coarser scales") as caught:
        he.population_profile(np.random.default_rng(0).normal(size=(2_000_000, 4)), space=he.Euclidean(4), times=[1.0])
    assert caught.value.seconds > 1800


def test_results_are_data():
    x = cloud(100, 0)
    found = profile(x, angles=[5, 20, 80])
    assert len(found.places) == 3
    assert np.asarray(found.places).tolist() == found.places.estimate.tolist()
    assert found.places[1] == found.places.estimate[1]
    row = json.loads(found.to_json())
    assert row["schema"] == "heatess.population/1"
    assert row["pareto_k"] is None
    assert row["withheld"] is None
    assert row["places_lower"] == pytest.approx(found.places.lower.tolist())
    frame = found.to_frame()
    assert list(frame["mmd2_simultaneous_upper"]) == found.mmd2.simultaneous_upper.tolist()
    assert "places_lower" in found._repr_html_()
    assert "fixed weights: 3 scales, places" in repr(found)
    assert found.at(angle=20).places.upper[0] == found.places.upper[1]
    with pytest.raises(he.InputError, match="the nearest is angle 20 degrees"):
        found.at(angle=21)
    with pytest.raises(ValueError, match="read-only"):
        found.places.lower[0] = 0.0
    np.testing.assert_allclose(found.resolutions, he.heat_profile(x, angles=[5, 20, 80]).resolutions)


def test_a_measure_and_rows_of_it():
    rng = np.random.default_rng(1)
    case = next(case for case in HOMOGENEOUS if case.name == "S2 x S1")
    points, w = case.points(80, rng), rng.gamma(2.0, size=80)
    order = rng.permutation(80)
    times = case.times(3)
    one = profile(he.Measure(points, w, space=case.space()), times=times)
    other = profile(taken(points, order), w[order], space=case.space(), times=times)
    np.testing.assert_allclose(one.places.upper, other.places.upper, rtol=1e-8)


def test_plots_show_both_bands_and_the_limit():
    found = profile(cloud(200, 1))
    for quantity in ("places", "volume", "divergence", "mmd2"):
        ax = found.plot(quantity=quantity)
        assert len([part for part in ax.collections if part.get_gid() == "heatess-band"]) == 2
        ax.figure.canvas.draw()
    ax = found.plot()
    limits = [line for line in ax.lines if line.get_gid() == "heatess-limit"]
    assert limits[0].get_xdata()[0] == pytest.approx(found.resolution_limit)
    low, high = ax.get_ylim()
    assert low <= found.places.simultaneous_lower.min()
    assert high >= found.places.simultaneous_upper.max()
    few = profile(cloud(8, 1)).plot()
    assert any("bands withheld" in text.get_text() for text in few.texts)
    with pytest.raises(he.InputError, match="quantity must be one of 'places'"):
        found.plot(quantity="gess")


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["equal", "importance"])
def test_bands_hold_as_often_as_they_say(kind):
    """vMF(6), or vMF(3) with weights exp(3 z); 300 replicates of n = 100, within 4 standard errors of 90 to 100 %."""
    degree, kappa = np.arange(120), 6.0
    times = np.radians([10.0, 25.0, 60.0]) ** 2 / 8
    decay = (2 * degree + 1) * np.exp(-2 * np.multiply.outer(times, degree * (degree + 1)))
    places = decay.sum(axis=1) / (decay @ (ive(degree + 0.5, kappa) / ive(0.5, kappa)) ** 2)
    held, together = [], []
    for seed in range(300):
        x = he.samplers.von_mises_fisher(100, [0, 0, 1], kappa if kind == "equal" else 3.0, rng=seed)
        w = None if kind == "equal" else np.exp(3 * x[:, 2])
        band = profile(x, w, times=times).places
        held.append((band.lower <= places) & (places <= band.upper))
        together.append(((band.simultaneous_lower <= places) & (places <= band.simultaneous_upper)).all())
    least = 0.90 - 4 * np.sqrt(0.9 * 0.1 / 300)
    assert np.mean(held, axis=0).min() > least
    assert np.mean(together) > least
    assert 0.92 < np.mean(held) < 0.99


# Scales far above the cloud.


def test_bands_scale_with_the_lowest_level_where_all_else_has_vanished():
    # At 10 < t the level l = 1 is all there is: A - 1 and its band fall as exp(-2 lambda_1 t), here by exp(-40).
    found = he.population_profile(cloud(60, 1, 1.0), times=[12.0, 22.0])
    for part in (found.mmd2.estimate, found.mmd2.lower, found.mmd2.upper, found.mmd2.simultaneous_upper):
        assert part[0] > 0
        np.testing.assert_allclose(part[1] / part[0], np.exp(-40.0), rtol=1e-9)
    x = cloud(60, 1, 1.0)
    level = 3 * (60 * np.sum(x.mean(axis=0) ** 2) - 1) / 59  # unbiased for the energy of degree 1
    np.testing.assert_allclose(found.mmd2.estimate, level * np.exp(-4 * found.times), rtol=1e-9)


@pytest.mark.parametrize("space", [he.Sphere(2), he.Sphere(9), he.Rotations(), he.Torus(2)], ids=repr)
def test_scales_at_which_the_space_is_one_footprint_are_refused(space):
    x = space.uniform(40, np.random.default_rng(0))
    with pytest.raises(he.ScaleError, match=r"one footprint.*give finer scales"):
        he.population_profile(x, space=space, times=[1e3])
    with pytest.raises(he.ScaleError, match="one footprint"):
        he.uniformity_test(x, space=space, times=[0.1, 1e3], draws=19, rng=0)
    with pytest.raises(he.ScaleError, match="one footprint"):
        he.two_sample_test(x, x, space=space, times=[1e3], draws=19, rng=0)


def test_rng_is_taken_as_everywhere_and_changes_nothing():
    x = cloud(40, 2)
    found = [he.population_profile(x, angles=[20], rng=rng) for rng in (None, 0, np.random.default_rng(1))]
    assert len({float(one.places.upper[0]) for one in found}) == 1
    with pytest.raises(he.InputError, match="rng must be"):
        he.population_profile(x, angles=[20], rng="seed")


def test_words_tell_no_more_places_than_the_space_has():
    found = he.population_profile(he.samplers.fibonacci(60), angles=[20.0, 60.0])
    degrees = np.arange(100)
    most = ((2 * degrees + 1) * np.exp(-2 * np.outer(found.times, degrees * (degrees + 1)))).sum(axis=1)
    assert (found.places.estimate > most).all()  # unbiased, so that 1 / gESS = 1 / ESS + (1 - 1 / ESS) / places
    np.testing.assert_allclose(found.possible_places(), most, rtol=1e-12)
    assert f"places {most[0]:.4g} [" in repr(found)
    flat = he.population_profile(np.random.default_rng(0).normal(size=(30, 2)), space=he.Euclidean(2), times=[0.1])
    np.testing.assert_array_equal(flat.possible_places(), flat.places.estimate)


def test_the_order_of_scales_and_their_repetition_change_no_band():
    x, angles = cloud(80, 3), np.geomspace(2.0, 120.0, 30)
    order = np.random.default_rng(0).permutation(30)
    one, other = (he.population_profile(x, angles=given) for given in (angles, np.tile(angles[order], 2)))
    for end in ("estimate", "lower", "upper", "simultaneous_lower", "simultaneous_upper"):
        np.testing.assert_allclose(getattr(other.places, end)[:30], getattr(one.places, end)[order], rtol=1e-9)
    assert other.resolution_limit == pytest.approx(one.resolution_limit, rel=1e-9)
