"""Weights that grow at the edge of the cloud: the index they tell, what it refuses, and what it leaves alone."""

from __future__ import annotations

import numpy as np
import pytest

import heatess as he
import space_cases
from heatess.inference.missed_mass import edge_of
from heatess.inference.pareto import pareto_k
from heatess.inference.policy import (
    LEAST_CARRIERS,
    LEAST_KNOWN,
    MOST_EDGE,
    MOST_K,
    carriers_of,
    standing,
)

NORTH = np.array([0.0, 0.0, 1.0])


def index_at(measure: he.Measure) -> float:
    return edge_of(measure).tail


def normal(n: int, dim: int, k: float, rng: np.random.Generator) -> he.Measure:
    """The normal law from one whose variance is 1 - k of it: weights of tail index k."""
    x = rng.normal(scale=np.sqrt(1 - k), size=(n, dim))
    return he.Measure(x, log_weights=0.5 * np.sum(x * x, axis=1) * k / (1 - k), space=he.Euclidean(dim))


def mode(n: int, target: float, proposal: float, rng: np.random.Generator) -> he.Measure:
    x = he.samplers.von_mises_fisher(n, NORTH, proposal, rng=rng)
    return he.Measure(x, log_weights=(target - proposal) * x[:, 2])


def halo(n: int, rng: np.random.Generator) -> he.Measure:
    """A tenth of the mass of the target is in a halo of kappa 6, the proposal is as narrow as its core: k = 0.9."""
    x = he.samplers.von_mises_fisher(n, NORTH, 60.0, rng=rng)
    return he.Measure(x, 0.9 + 0.01 * np.exp(54 * (1 - x[:, 2])))


@pytest.mark.parametrize("dim", [1, 2, 5])
@pytest.mark.parametrize("k", [0.3, 0.6])
def test_the_index_of_normal_clouds_is_that_of_their_weights(dim: int, k: float) -> None:
    rng = np.random.default_rng([dim, round(10 * k)])
    found = [index_at(normal(1000, dim, k, rng)) for _ in range(11)]
    assert np.median(found) == pytest.approx(k * (1 + np.sqrt(3 / 1000)), abs=0.2 * k)


def test_a_tail_that_was_missed_is_seen_at_the_edge() -> None:
    """Clouds whose largest weights and k look harmless: most of them were given a band before, and it missed."""
    rng = np.random.default_rng(7)
    clouds = [halo(300, rng) for _ in range(100)]
    passed = [c for c in clouds if carriers_of(c) >= LEAST_CARRIERS and pareto_k(weights=c.weights) <= MOST_K]
    assert len(passed) >= 20
    refused = [standing(cloud, "importance").refusal for cloud in passed]
    assert sum("grow where draws become rare" in words for words in refused) >= 0.8 * len(passed)


def test_the_advice_helps() -> None:
    rng = np.random.default_rng(8)
    narrow = next(cloud for cloud in (halo(300, rng) for _ in range(40)) if index_at(cloud) > MOST_EDGE)
    band = he.population_profile(narrow, weights_are="importance", angles=20)
    assert band.withheld is not None
    assert "wider than the target" in band.withheld
    x = he.samplers.von_mises_fisher(300, NORTH, 5.0, rng=rng)
    core, outside = 90 * np.exp(60 * (x[:, 2] - 1)), np.exp(6 * (x[:, 2] - 1))
    wide = he.Measure(x, (core + outside) * np.exp(-5 * x[:, 2]))
    assert not index_at(wide) > 0.45
    assert not np.isnan(he.population_profile(narrow, weights_are="fixed", angles=20).places.lower[0])


def student(n: int, rng: np.random.Generator) -> he.Measure:
    """Student's law of 4 degrees of freedom in the plane, from that of 5.7: a tail index of 0.3 that sets in late."""
    near, far = 4.0, 4 / 0.7
    x = rng.normal(size=(n, 2)) / np.sqrt(rng.chisquare(far, (n, 1)) / far)
    square = np.sum(x * x, axis=1)
    logs = [-(freedom / 2 + 1) * np.log1p(square / freedom) for freedom in (near, far)]
    return he.Measure(x, log_weights=logs[0] - logs[1], space=he.Euclidean(2))


def test_a_slow_growth_at_the_edge_counts_more_than_pareto_k() -> None:
    """The largest of nearly even weights have any Pareto k: a third of these clouds were refused for it."""
    rng = np.random.default_rng(14)
    clouds = [student(300, rng) for _ in range(40)]
    heavy = [cloud for cloud in clouds if pareto_k(weights=cloud.weights) > MOST_K]
    assert len(heavy) >= 8
    assert sum(not standing(cloud, "importance").refusal for cloud in heavy) >= 0.8 * len(heavy)


def test_fewer_points_may_carry_the_variance_where_the_edge_is_known() -> None:
    rng = np.random.default_rng(15)
    clouds = [normal(300, 5, 0.3, rng) for _ in range(40)]
    few = [cloud for cloud in clouds if LEAST_KNOWN <= carriers_of(cloud) < LEAST_CARRIERS]
    told = [(edge_of(cloud), standing(cloud, "importance")) for cloud in few]
    assert all(bool(found.refusal) == (not edge.heaviest or edge.tail > MOST_EDGE) for edge, found in told)
    assert sum("rests on" in found.caution for _, found in told) >= 2


def test_a_spike_within_the_cloud_is_judged_by_pareto_k() -> None:
    """The edge tells of the tail that is there; the heaviest points are elsewhere."""
    rng = np.random.default_rng(16)
    x = rng.normal(scale=0.95, size=(300, 2))
    square = np.sum(x * x, axis=1)
    logs = 0.5 * square * (1 / 0.9025 - 1) + np.log1p(0.2 * square**-0.6)
    found = edge_of(he.Measure(x, log_weights=logs, space=he.Euclidean(2)))
    assert found.tail < MOST_EDGE
    assert not found.heaviest


def test_clouds_that_cover_the_space_have_no_edge() -> None:
    rng = np.random.default_rng(9)
    for kappa in (0.5, 1.0):
        assert edge_of(mode(500, 0.0, kappa, rng)) == (0.0, False)


def test_a_proposal_that_is_wide_enough_has_bands() -> None:
    rng = np.random.default_rng(10)
    assert not standing(mode(300, 30.0, 20.0, rng), "importance").refusal
    assert sum(index_at(mode(300, 30.0, 37.5, rng)) < 0.45 for _ in range(20)) >= 19  # k = 0.2


def test_a_small_mode_is_no_edge() -> None:
    """Two modes, each a little too narrow (k = 0.3): the atoms of the smaller one are not rare."""
    rng, refused = np.random.default_rng(11), 0
    axes, share, kappa = np.array([[0, 0, 1], [np.sin(1.4), 0, np.cos(1.4)]]), np.log([[0.75], [0.25]]), 50.0
    for _ in range(20):
        parts = [
            he.samplers.von_mises_fisher(n, axis, kappa / 0.7, rng=rng) for n, axis in zip((225, 75), axes, strict=True)
        ]
        x = np.concatenate(parts)
        logs = [np.logaddexp(*(share + own * (axes @ x.T - 1))) for own in (kappa, kappa / 0.7)]
        refused += index_at(he.Measure(x, log_weights=logs[0] - logs[1])) > MOST_EDGE
    assert refused <= 2


def test_many_points_are_looked_at_in_part() -> None:
    rng = np.random.default_rng(12)
    assert index_at(normal(60_000, 2, 0.4, rng)) == pytest.approx(0.4, abs=0.06)


@pytest.mark.parametrize("case", space_cases.EVERY, ids=lambda case: case.name)
def test_every_space_has_an_answer(case: space_cases.Case) -> None:
    """Weights of any space can be asked about; atoms of zero weight too."""
    rng = np.random.default_rng(13)
    measure = he.Measure(case.points(80, rng), rng.gamma(2, size=80) * (rng.random(80) > 0.1), space=case.space())
    found = index_at(measure)
    assert np.isnan(found) or found >= 0
