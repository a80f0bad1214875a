"""Effective numbers of draws: against the textbook formula, brute force, and chains whose autocorrelation is known."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import heatess as he
import space_cases
from heatess.inference import autocovariance
from heatess.inference.chains import autocorrelation_time, chain_ess

#: Most chains here are short, and made for their numbers.
pytestmark = pytest.mark.filterwarnings("ignore:the chains have not mixed")


def textbook(features: np.ndarray) -> tuple[float, float]:
    """Draws / tau and R-hat of vectors (chains, draws, d), as Vehtari et al. (2021) have it for numbers."""
    draws = features.shape[1]
    halves = np.concatenate([features[:, : draws // 2], features[:, -(draws // 2) :]])
    m, n = halves.shape[:2]
    centred = halves - halves.mean(axis=1, keepdims=True)
    acov = np.array([np.einsum("cij,cij->", centred[:, : n - k], centred[:, k:]) / (n * m) for k in range(n)])
    within = acov[0] * n / (n - 1)
    total = acov[0] + np.var(halves.mean(axis=1), axis=0, ddof=1).sum()
    rho = 1 - (within - acov) / total
    rho[0] = 1.0
    tau, least, k = -1.0, np.inf, 0
    while k + 1 < n - 1:
        pair = rho[k] + rho[k + 1]
        if pair <= 0:
            tau += max(rho[k], 0.0)
            break
        least = min(least, pair)
        tau += 2 * least
        k += 2
    tau = max(tau, 1 / math.log10(m * n))
    return features.shape[0] * draws / tau, math.sqrt(total / within)


def autoregressive(rng: np.random.Generator, rho: float, shape: tuple[int, int]) -> np.ndarray:
    x, noise = np.zeros(shape), rng.normal(size=shape)
    for i in range(1, shape[1]):
        x[:, i] = rho * x[:, i - 1] + noise[:, i]
    return x


@pytest.mark.parametrize("rho", [0.9, 0.3, -0.5])
@pytest.mark.parametrize("shape", [(1, 400), (3, 251)])
def test_in_the_coarse_limit_it_is_the_textbook_value_of_numbers(rho, shape):
    x = autoregressive(np.random.default_rng(1), rho, shape)
    found = chain_ess(x, space=he.Euclidean(1), times=[3e4])
    ess, rhat = textbook(x[:, :, None])
    assert found.ess[0] == pytest.approx(ess, rel=1e-3)
    assert found.rhat[0] == pytest.approx(rhat, rel=1e-4)
    assert (found.n, found.chains) == (x.size, shape[0])
    assert found.autocorrelation_times[0] == pytest.approx(x.size / found.ess[0])


def test_in_the_coarse_limit_on_the_circle_it_is_that_of_cosine_and_sine():
    rng = np.random.default_rng(2)
    angles = np.cumsum(0.5 * rng.normal(size=(4, 500)), axis=1) % (2 * np.pi)
    found = chain_ess(angles, space=he.Circle(), angles=[250])
    vectors = np.stack([np.cos(angles), np.sin(angles)], axis=2)
    assert found.ess[0] == pytest.approx(textbook(vectors)[0], rel=1e-4)
    assert chain_ess(vectors, angles=[250]).ess[0] == pytest.approx(found.ess[0], rel=1e-6)


def staying(rng: np.random.Generator, places: int, draws: int) -> np.ndarray:
    """Numbers of places, each the one before half of the time."""
    rows = rng.integers(0, places, draws)
    for i in range(1, draws):
        rows[i] = rows[i - 1] if rng.random() < 0.5 else rows[i]
    return rows


@pytest.mark.slow
@pytest.mark.parametrize(**space_cases.named(space_cases.EVERY))
def test_on_every_space_it_is_that_of_features_found_by_brute_force(case):
    rng, space = np.random.default_rng(3), case.space()
    places, rows = case.points(12, rng), staying(rng, 12, 48)
    for time in case.times(3)[:2]:
        each = [space_cases.taken(places, [place]) for place in range(12)]
        overlaps = np.array([he.potential(place, at=places, time=time, space=space) for place in each])
        values, vectors = np.linalg.eigh(overlaps)
        features = vectors * np.sqrt(np.maximum(values, 0.0))
        measure = he.Measure(space_cases.taken(places, rows), space=space)
        found = chain_ess(measure, chains=2, times=[time])
        ess, rhat = textbook(features[rows].reshape(2, 24, -1))
        assert found.ess[0] == pytest.approx(ess, rel=1e-5)
        assert found.rhat[0] == pytest.approx(rhat, rel=1e-7)


@pytest.mark.parametrize(**space_cases.named(space_cases.HOMOGENEOUS))
def test_overlaps_of_pairs_in_a_row_are_those_of_tiles(case):
    rng = np.random.default_rng(4)
    measure = he.Measure(case.points(40, rng), space=case.space())
    time = float(case.times(3)[1])
    kernel = case.space().pair_kernel.fitted(np.array([time]), 1e-8)
    rows = kernel.rows(measure.points)
    whole = kernel.terms(rows[:20], rows[20:])(time).overlap
    assert_allclose(kernel.paired(rows[:20], rows[20:])(time), np.diag(whole), rtol=1e-10, atol=1e-14)


def within_standard_errors(values: np.ndarray, exact: np.ndarray, bias: float = 0.0) -> bool:
    """Whether means over the rows are within four standard errors, and a known *bias* relatively, of the exact."""
    spread = values.std(axis=0, ddof=1) / math.sqrt(len(values))
    return bool((np.abs(values.mean(axis=0) - exact) <= 4 * spread + bias * exact).all())


def test_a_walk_around_the_circle_has_its_exact_autocorrelation():
    # Degree l decays by exp(-l^2 s^2 / 2) a step, so 1 + 2 sum is coth(l^2 s^2 / 4).
    rng, step = np.random.default_rng(5), np.radians(40)
    angles, degrees = np.array([20.0, 60.0, 180.0]), np.arange(1, 100)
    walks = rng.uniform(0, 2 * np.pi, (12, 1)) + np.cumsum(step * rng.normal(size=(12, 3000)), axis=1)
    found = [chain_ess(walk % (2 * np.pi), space=he.Circle(), angles=angles).autocorrelation_times for walk in walks]
    shares = np.exp(-2 * np.multiply.outer(np.radians(angles) ** 2 / 8, degrees**2))
    exact = (shares / shares.sum(axis=1)[:, None]) @ (1 / np.tanh(degrees**2 * step**2 / 4))
    assert within_standard_errors(np.array(found), exact)


def brownian(rng: np.random.Generator, chains: int, draws: int, dt: float) -> np.ndarray:
    """Brownian motion on S^2 at times dt, 2 dt, ..., each step drawn from the heat kernel; (chains, draws, 3)."""
    u = np.linspace(-1, 1, 20001)
    density, before, now = np.ones_like(u), np.ones_like(u), u
    for degree in range(1, 60):
        density = density + (2 * degree + 1) * math.exp(-degree * (degree + 1) * dt) * now
        before, now = now, ((2 * degree + 1) * u * now - degree * before) / (degree + 1)
    total = np.cumsum(np.maximum(density, 0.0))
    x = np.empty((chains, draws, 3))
    x[:, 0] = he.Sphere(2).uniform(chains, rng)
    for i in range(1, draws):
        cosine = np.interp(rng.random(chains), total / total[-1], u)
        away = rng.normal(size=(chains, 3))
        away -= np.einsum("ij,ij->i", away, x[:, i - 1])[:, None] * x[:, i - 1]
        away /= np.linalg.norm(away, axis=1)[:, None]
        x[:, i] = cosine[:, None] * x[:, i - 1] + np.sqrt(1 - cosine**2)[:, None] * away
        x[:, i] /= np.linalg.norm(x[:, i], axis=1)[:, None]
    return x


def test_brownian_motion_on_the_sphere_has_its_exact_autocorrelation():
    dt, angles, degrees = 0.1, np.array([40.0, 90.0, 170.0]), np.arange(1, 60)
    chains = brownian(np.random.default_rng(6), 12, 2500, dt)
    found = np.array([chain_ess(chain, angles=angles).autocorrelation_times for chain in chains])
    eigenvalues = degrees * (degrees + 1)
    shares = (2 * degrees + 1) * np.exp(-2 * np.multiply.outer(np.radians(angles) ** 2 / 8, eigenvalues))
    exact = (shares / shares.sum(axis=1)[:, None]) @ (1 / np.tanh(eigenvalues * dt / 2))
    assert within_standard_errors(found, exact)
    assert exact[0] < exact[2] / 1.5


def test_independent_draws_are_worth_their_number():
    rng = np.random.default_rng(7)
    found = [chain_ess(he.Sphere(2).uniform(1000, rng), angles=[5, 30, 120]).autocorrelation_times for _ in range(16)]
    assert within_standard_errors(np.array(found), np.ones(3), bias=0.01)


def test_a_chain_that_stays_half_of_the_time_shows_it_at_every_scale():
    # It stays with probability r, else is drawn anew: autocorrelation r^k at all scales, so (1 + r) / (1 - r).
    rng, stay, found = np.random.default_rng(8), 0.6, []
    for _ in range(12):
        fresh = he.Sphere(2).uniform(2000, rng)
        moved = rng.random(2000) > stay
        moved[0] = True
        chain = fresh[np.maximum.accumulate(np.where(moved, np.arange(2000), 0))]
        found.append(chain_ess(chain, angles=[0.5, 20, 120]).autocorrelation_times)
    assert within_standard_errors(np.array(found), np.full(3, (1 + stay) / (1 - stay)), bias=0.01)


def test_draws_that_avoid_each_other_are_worth_more_than_their_number_up_to_a_limit():
    x = autoregressive(np.random.default_rng(9), -0.5, (2, 800))
    assert 1.5 * 1600 < chain_ess(x, space=he.Euclidean(1), times=[1e3]).ess[0] < 1600 * math.log10(1600)
    turns = np.tile([0.0, np.pi], 200)
    assert chain_ess(turns, space=he.Circle(), angles=[60]).ess[0] == pytest.approx(400 * math.log10(400))


def test_chains_in_different_places_are_worth_few_draws():
    rng = np.random.default_rng(10)
    poles = [he.samplers.von_mises_fisher(500, [0, 0, z], 50.0, rng=rng) for z in (1, -1)]
    apart = chain_ess(np.array(poles), angles=[20, 60])
    assert (apart.ess < 20).all()
    mixed = np.concatenate(poles)[rng.permutation(1000)]
    assert (chain_ess(mixed, chains=2, angles=[20, 60]).ess > 700).all()


def test_a_chain_that_drifts_is_worth_few_draws():
    x = np.linspace(0, 3, 600) + 0.1 * np.random.default_rng(11).normal(size=600)
    assert chain_ess(x, space=he.Euclidean(1), resolutions=[3]).ess[0] < 10


def test_the_forms_of_chains_are_one():
    rng = np.random.default_rng(12)
    stack = brownian(rng, 3, 60, 0.3)
    whole = chain_ess(stack, angles=[30, 90])
    rows = stack.reshape(180, 3)
    labels = np.repeat(["a", "b", "c"], 60)
    order = rng.permutation(3)[np.arange(180) % 3] * 60 + np.arange(180) // 3  # chains mixed, draws in their order
    for other in (
        chain_ess(rows, chains=3, angles=[30, 90]),
        chain_ess(rows, chains=labels, angles=[30, 90]),
        chain_ess(rows[order], chains=labels[order], angles=[30, 90]),
        chain_ess(he.Measure(rows), chains=3, angles=[30, 90]),
        chain_ess(stack.tolist(), angles=[30, 90], space=he.Sphere(2)),
    ):
        assert_allclose(other.ess, whole.ess, rtol=1e-8)
        assert (other.n, other.chains) == (180, 3)
    assert chain_ess(rows, angles=[30]).chains == 1


def test_rotations_may_be_matrices_and_graphs_have_chains_of_nodes():
    from scipy.spatial.transform import Rotation

    rng = np.random.default_rng(13)
    turns = Rotation.random(64, random_state=1)
    plain = chain_ess(turns, chains=2, angles=[60])
    assert_allclose(chain_ess(turns.as_matrix(), chains=2, angles=[60]).ess, plain.ess)
    stacked = turns.as_matrix().reshape(2, 32, 3, 3)
    assert_allclose(chain_ess(stacked, space=he.Rotations(), angles=[60]).ess, plain.ess)
    assert_allclose(chain_ess(turns.as_quat().reshape(2, 32, 4), space=he.Rotations(), angles=[60]).ess, plain.ess)
    ring = np.roll(np.eye(20), 1, axis=1)
    walk = np.cumsum(rng.choice([-1, 1], (2, 300)), axis=1) % 20
    found = chain_ess(walk, space=he.Graph(ring + ring.T), times=[2.0, 20.0])
    assert found.chains == 2
    assert found.ess[1] < found.ess[0] < 300


def test_the_scales_default_to_those_that_fit_the_cloud():
    points = brownian(np.random.default_rng(14), 1, 200, 0.2)[0]
    found = chain_ess(points)
    assert_array_equal(found.times, he.heat_profile(points).times)
    assert np.isfinite(found.resolutions[0])


def test_what_is_no_chain_is_refused():
    points = he.samplers.fibonacci(30)
    with pytest.raises(he.InputError, match="takes no weights"):
        chain_ess(points, weights=np.ones(30), angles=20)
    with pytest.raises(he.InputError, match="Measure with unequal weights"):
        chain_ess(he.Measure(points, np.arange(30)), angles=20)
    with pytest.raises(he.InputError, match="chains=7 must divide the number of draws, 30"):
        chain_ess(points, chains=7, angles=20)
    with pytest.raises(he.InputError, match="chain 0 has 10 and chain 1 has 20; drop the first draws"):
        chain_ess(points, chains=np.repeat([0, 1], [10, 20]), angles=20)
    with pytest.raises(he.InputError, match="one label for each of the 30 draws"):
        chain_ess(points, chains=[1, 2], angles=20)
    with pytest.raises(he.InputError, match="at least 8 draws"):
        chain_ess(points, chains=6, angles=20)
    with pytest.raises(he.InputError, match="a stack of 3 chains already"):
        chain_ess(points.reshape(3, 10, 3), chains=3, angles=20)
    with pytest.raises(he.InputError, match="all draws are at one place"):
        chain_ess(np.tile([0.0, 0.0, 1.0], (30, 1)), angles=20)


def test_scales_too_coarse_to_tell_draws_apart_have_no_number():
    x = 1e-3 * autoregressive(np.random.default_rng(15), 0.5, (1, 100))
    with pytest.warns(he.PrecisionWarning, match=r"at 1 of 2 scales, worst at sqrt\(8 t\) = 1e\+08.*give finer scales"):
        found = chain_ess(x, space=he.Euclidean(1), resolutions=[0.01, 1e8])
    assert np.isfinite(found.ess[0])
    assert np.isnan(found.ess[1])


def test_chains_that_never_forget_are_given_up_with_advice(monkeypatch):
    x = np.cumsum(np.random.default_rng(16).normal(size=2000)) * 0.01
    monkeypatch.setattr(autocovariance, "SECONDS_PER_OVERLAP", 1.0)
    with pytest.raises(he.CostError, match=r"have not vanished after .* lags.*give every tenth of them") as caught:
        chain_ess(x, space=he.Euclidean(1), resolutions=[10])
    assert caught.value.seconds > 0
    monkeypatch.undo()
    whole, tenth = (chain_ess(part, space=he.Euclidean(1), resolutions=[10]).ess[0] for part in (x, x[::10]))
    assert tenth == pytest.approx(whole, rel=0.2)


def test_the_initial_monotone_sequence():
    assert autocorrelation_time(np.array([1.0, 0.5, 0.1, 0.05, -0.2, 0.1]), 100) == pytest.approx(1 + 2 * 0.65)
    # A pair that rises again counts as much as the one before it.
    assert autocorrelation_time(np.array([1.0, 0.0, 0.1, 0.1, 0.3, 0.3, -1.0, 0.0]), 100) == pytest.approx(1.8)
    # The first lag beyond counts once if it is positive.
    assert autocorrelation_time(np.array([1.0, 0.2, 0.1, -0.3]), 100) == pytest.approx(1.5)
    assert autocorrelation_time(np.array([1.0, -0.99, -0.5, 0.0]), 100) == pytest.approx(1 / 2)


def test_a_result_becomes_a_table_json_and_a_plot():
    found = chain_ess(brownian(np.random.default_rng(17), 2, 80, 0.2), angles=[20, 60, 120])
    values = json.loads(found.to_json())
    assert values["schema"] == "heatess.chain_ess/1"
    assert values["ess"] == found.ess.tolist()
    assert list(found.to_frame()) == ["times", "angles", "resolutions", "ess", "autocorrelation_times", "rhat"]
    assert repr(found).startswith("ChainEss(Sphere(2), n=160 draws in 2 chains: worth ")
    assert "160 draws" in found._repr_html_()
    ax = found.plot()
    assert_array_equal(ax.lines[0].get_ydata(), found.ess)


def test_chains_in_a_list_that_are_not_equally_long_are_refused():
    x = he.samplers.uniform(41, rng=0)
    with pytest.raises(he.InputError, match="chain 0 has 20 and chain 1 has 21; drop the first draws"):
        he.chain_ess([x[:20], x[20:]], angles=[40])
    dropped = he.chain_ess([x[:20], x[21:]], angles=[40])  # as advised
    assert dropped.ess == pytest.approx(he.chain_ess(np.delete(x, 20, axis=0), chains=2, angles=[40]).ess)
    with pytest.raises(he.InputError):
        he.chain_ess([[0.0, 0.0, 1.0], [0.0, 1.0]], angles=[40])


def test_chains_that_lost_a_few_draws_are_cut_to_one_length_and_that_is_said():
    rng = np.random.default_rng(3)
    chains = [np.cumsum(rng.normal(size=60)) for _ in range(3)]
    kept = np.delete(np.arange(180), [5, 70, 71])
    rows, labels = np.concatenate(chains)[kept], np.repeat(["a", "b", "c"], 60)[kept]
    with pytest.warns(he.CalibrationWarning, match=r"chain b has 58 and chain c has 60 draws; the first 3 of 177"):
        found = he.chain_ess(rows, chains=labels, space=he.Circle(), angles=[20])
    short = [chains[0][[0, 1, 2, 3, 4, *range(6, 60)]][1:], np.delete(chains[1], [10, 11]), chains[2][2:]]
    assert found.n == 174
    assert found.ess[0] == pytest.approx(he.chain_ess(np.stack(short), space=he.Circle(), angles=[20]).ess[0])
    with pytest.raises(he.InputError, match=r"chain a has 20 and chain b has 60; drop the first draws"):
        he.chain_ess(np.concatenate(chains)[40:], chains=np.repeat(["a", "b", "c"], 60)[40:], space=he.Circle())


def around(mean, kappa, shape, rng):
    return he.samplers.von_mises_fisher(math.prod(shape), mean, kappa, rng=rng).reshape(*shape, 3)


@pytest.mark.filterwarnings("error")
def test_good_chains_are_not_warned_of():
    found = chain_ess(around([0, 0, 1], 5, (4, 500), np.random.default_rng(0)), angles=[20, 60, 150], rng=1)
    assert found.suspects == ()
    assert found.rhat.max() < 1.01
    assert found.worst == found.ess.min() == found.ess[found.worst_row]


def test_chains_stuck_in_two_places_are_all_suspects():
    rng = np.random.default_rng(1)
    chains = np.concatenate([around([0, 0, z], 20, (2, 200), rng) for z in (1, -1)])
    with pytest.warns(
        he.CalibrationWarning, match=r"R-hat is [\d.]+ at [\d.]+ degrees.*; chains 0 and 1 and 2 and 3 \(from 0\)"
    ):
        found = chain_ess(chains, angles=[20, 60], rng=2)
    assert found.rhat.max() > 2
    assert found.suspects == (0, 1, 2, 3)


def test_the_chain_that_misses_a_mode_is_found_where_r_hat_is_small():
    rng = np.random.default_rng(2)
    chains = around([0, 0, 1], 20, (4, 600), rng)
    chains[:, ::10] = around([1, 0, 0], 20, (4, 60), rng)
    chains[2] = around([0, 0, 1], 20, (1, 600), rng)[0]
    with pytest.warns(he.CalibrationWarning, match=r"chain 2 \(from 0\) lie"):
        found = chain_ess(chains, angles=[30, 90], rng=3)
    assert found.suspects == (2,)
    assert found.rhat.max() < 1.05


def test_short_chains_are_said_to_be_short():
    slow = np.cumsum(0.02 * np.random.default_rng(3).normal(size=50))
    with pytest.warns(he.CalibrationWarning, match="worth .* independent draws, and below 50 that is itself uncertain"):
        chain_ess(slow, space=he.Circle(), angles=[30])
