"""Flat spaces at every scale: neighbours, transform and all pairs agree, and the plan joins them without a seam."""

from __future__ import annotations

import math
import warnings

import mpmath as mp
import numpy as np
import pytest

import heatess as he
import reference_flat
from heatess.engines import neighbours, plan
from heatess.engines.base import Offer, Question
from heatess.engines.cells import Grid
from heatess.engines.close_pair_counts import PairCounts
from heatess.heat import bounds
from heatess.measures.measure import Measure
from heatess.transforms import torus

SPACES = {
    "line": he.Euclidean(1),
    "plane": he.Euclidean(2),
    "space": he.Euclidean(3),
    "R5": he.Euclidean(5),
    "T1": he.Circle(units="rad"),
    "T2 uneven": he.Torus(2, (1.0, 7.5)),
    "T3": he.Torus(3, units="rad"),
    "T3 uneven": he.Torus(3, (9.0, 1.0, 2.0)),
    "T5": he.Torus(5, (1.0, 2.0, 3.0, 4.0, 2.5)),
}


def cloud(space: he.Space, n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """A broad part that winds several times around, a tight one on a corner of the periods, copies, skewed weights."""
    rng = np.random.default_rng(seed)
    periods = np.array(getattr(space, "periods", [1.0] * space.dim))
    points = rng.normal(size=(n, space.dim)) * 2 * periods
    points[: n // 2] = periods / 2 + 0.01 * periods.min() * rng.normal(size=(n // 2, space.dim))
    points[:9] = points[-9:]
    return points, rng.random(n) ** 3


def within(space: he.Space, points: np.ndarray, weights: np.ndarray, times: np.ndarray, method: str) -> np.ndarray:
    """The times at which an engine may be asked for."""
    measure = Measure(points, weights, space=space)

    def seconds(time: float) -> float:
        offered = offers(Question(measure, np.array([time]), 1e-8), method)
        return min((cost(offer, slice(0, 1)) for offer in offered), default=math.inf)

    return np.array([t for t in times if seconds(float(t)) < 1])


def offers(question: Question, method: str = "auto") -> list[Offer]:
    """Those of the engines of one name, or of all."""
    found = (engine.offer(question) for engine in plan.ENGINES if method in ("auto", engine.name))
    return [offer for offer in found if offer is not None]


def cost(offer: Offer, part: slice) -> float:
    """Seconds of a range of scales."""
    return offer.seconds(part.start, part.stop)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "method"),
    [
        (name, method)
        for name, space in SPACES.items()
        for method in ("auto", "local", "spectral")
        if method != "spectral" or space.dim <= 3
    ],
)
def test_every_engine_agrees_with_all_pairs(name: str, method: str) -> None:
    space = SPACES[name]
    points, weights = cloud(space, 700, seed=len(name))
    times = np.geomspace(2e-3, 3.0, 8) ** 2 / 8
    if method != "auto":
        times = within(space, points, weights, times, method)
    assert len(times) >= 3
    found = he.heat_profile(points, weights, space=space, times=times, method=method)
    pairs = he.heat_profile(points, weights, space=space, times=times, method="pairwise", rtol=1e-12)
    assert pairs.method == "pairwise"
    assert method == "auto" or found.method == method
    assert (np.abs(found.gess / pairs.gess - 1) <= found.error + pairs.error).all()
    assert found.error.max() < 1e-8
    np.testing.assert_allclose(found.gess, pairs.gess, rtol=1e-10)
    np.testing.assert_allclose(found.dimension, pairs.dimension, rtol=1e-8, atol=1e-9)
    if space.compact:
        np.testing.assert_allclose(found.mmd2, pairs.mmd2, rtol=1e-9)
    else:
        assert np.isnan(found.mmd2).all()


@pytest.mark.slow
@pytest.mark.parametrize("method", ["local", "spectral"])
@pytest.mark.parametrize("name", ["line", "plane", "space", "T1", "T2 uneven", "T3"])
def test_the_error_bounds_the_distance_to_forty_digits(name: str, method: str) -> None:
    space = SPACES[name]
    points, weights = cloud(space, 22, seed=3)
    points = space.check(points)
    times = within(space, points, weights, np.geomspace(1e-2, 2.0, 5) ** 2 / 8, method)
    kernel = reference_flat.torus(space.periods) if space.compact else reference_flat.euclidean
    truth = reference_flat.profile(kernel, points, weights, times)
    for rtol in (1e-3, 1e-6, 1e-8):
        found = he.heat_profile(points, weights, space=space, times=times, method=method, rtol=rtol)
        for k, exact in enumerate(truth):
            assert float(abs(mp.mpf(float(found.gess[k])) / exact.gess - 1)) <= found.error[k] <= rtol
            if space.compact:
                assert found.mmd2[k] == pytest.approx(float(exact.mmd2), rel=2 * rtol)


@pytest.mark.parametrize("name", ["plane", "T2 uneven", "T3"])
@pytest.mark.slow
def test_the_seam_is_invisible(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    space = SPACES[name]
    points, weights = cloud(space, 3000, seed=8)
    times = np.geomspace(2e-3, 2.0, 40) ** 2 / 8
    both = [within(space, points, weights, times, method) for method in ("local", "spectral")]
    profiles = []
    for seam in np.intersect1d(*both)[:2]:
        first = int(np.searchsorted(times, seam))

        def cut(question: Question, *_: object, first: int = first) -> tuple[list[plan.Step], float]:
            (near,), (far,) = offers(question, "local"), offers(question, "spectral")
            coarse, _ = plan._cheapest([far], list(range(first, len(times) + 1)))  # flat space may take several boxes
            return [plan.Step(near, slice(0, first)), *coarse], 0.0

        monkeypatch.setattr(plan, "plan", cut)
        profiles.append(he.heat_profile(points, weights, space=space, times=times))
        assert profiles[-1].method == "local+spectral"
    one, other = profiles
    np.testing.assert_allclose(one.gess, other.gess, rtol=1e-8)
    np.testing.assert_allclose(one.dimension, other.dimension, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(one.mmd2, other.mmd2, rtol=1e-8)


@pytest.mark.parametrize("dim", [2, 3])
@pytest.mark.slow
def test_mmd2_of_many_even_atoms_is_the_same_on_both_sides_of_the_seam(dim: int) -> None:
    space = he.Torus(dim)
    points = space.uniform(60_000, np.random.default_rng(dim))
    times = np.array([0.23, 0.26]) ** 2 / 8
    near = he.heat_profile(points, space=space, times=times, method="local")
    far = he.heat_profile(points, space=space, times=times, method="spectral")
    np.testing.assert_allclose(near.gess, far.gess, rtol=1e-9)
    np.testing.assert_allclose(near.mmd2, far.mmd2, rtol=1e-7)
    assert near.mmd2.max() < 0.2


@pytest.mark.parametrize(
    ("space", "n"),
    [(he.Euclidean(2), 100_000), (he.Euclidean(9), 3000), (he.Torus(5), 3000), (he.Torus(3), 20_000)],
    ids=repr,
)
def test_the_plan_takes_the_cheapest_engine_at_each_scale(space: he.Space, n: int) -> None:
    rng = np.random.default_rng(0)
    times = np.geomspace(1e-3, 3.0, 20) ** 2 / 8
    question = Question(Measure(rng.normal(size=(n, space.dim)), space=space), times, 1e-8)
    steps, seconds = plan.plan(question)
    assert [place for step in steps for place in range(20)[step.part]] == list(range(20))
    assert seconds == pytest.approx(sum(cost(step.offer, step.part) for step in steps), rel=1e-9)
    offered = offers(question)
    singles = {
        (first, end): min(cost(offer, slice(first, end)) for offer in offered)
        for first in range(20)
        for end in range(first + 1, 21)
    }
    ways = [[(0, 20)]]
    ways += [[(0, one), (one, 20)] for one in range(1, 20)]
    ways += [[(0, one), (one, two), (two, 20)] for one in range(1, 20) for two in range(one + 1, 20)]
    least = min(sum(singles[part] for part in way) for way in ways)
    # A plan that is cheap anyway is searched for among few seams only.
    assert seconds <= max(least * (1 + 1e-9), plan.WORTH_SEARCH)


def test_fine_scales_go_to_neighbours_and_coarse_ones_to_the_transform() -> None:
    rng = np.random.default_rng(0)
    times = np.geomspace(1e-3, 3.0, 20) ** 2 / 8

    def names(space: he.Space, n: int, times: np.ndarray) -> list[str]:
        measure = Measure(rng.normal(size=(n, space.dim)), space=space)
        return list(dict.fromkeys(step.offer.name for step in plan.plan(Question(measure, times, 1e-8))[0]))

    assert names(he.Euclidean(2), 100_000, times) == ["local", "spectral"]
    assert names(he.Euclidean(2), 100_000, times[-3:]) == ["spectral"]
    assert names(he.Euclidean(9), 3000, times) == ["pairwise"]  # nothing else will do
    assert names(he.Torus(5), 3000, times) == ["local", "pairwise"]
    few = Measure(rng.normal(size=(20, 2)), space=he.Euclidean(2))
    assert plan.plan(Question(few, times, 1e-8))[1] < 5e-3


def test_the_transform_may_turn_out_impossible(monkeypatch: pytest.MonkeyPatch) -> None:
    points = np.random.default_rng(0).normal(size=(500, 2))
    times = [0.01, 0.1]
    expected = he.heat_profile(points, space=he.Torus(2), times=times, method="spectral")
    monkeypatch.setitem(torus.MODE_LIMIT, 2, 49)  # frequencies up to three
    found = he.heat_profile(points, space=he.Torus(2), times=times)
    assert expected.method == "spectral"
    assert "spectral" not in found.method
    np.testing.assert_allclose(found.gess, expected.gess, rtol=1e-10)
    with pytest.raises(he.PrecisionError, match=r"needs a degree above the limit of 3 on Torus\(2\)") as caught:
        he.heat_profile(points, space=he.Torus(2), times=times, method="spectral")
    finest = caught.value.finest
    assert finest is not None
    assert finest > 0.01
    certain = he.heat_profile(points, space=he.Torus(2), times=[finest], method="spectral")
    pairs = he.heat_profile(points, space=he.Torus(2), times=[finest], method="pairwise")
    assert certain.error[0] < 1e-8
    np.testing.assert_allclose(certain.gess, pairs.gess, rtol=1e-10)


@pytest.mark.parametrize("name", ["plane", "T2 uneven"])
@pytest.mark.parametrize("method", ["local", "spectral"])
def test_splitting_an_atom_changes_nothing(name: str, method: str) -> None:
    space = SPACES[name]
    points, weights = cloud(space, 400, seed=2)
    times = [2e-3, 5e-3] if method == "spectral" else [1e-6, 1e-4]
    split = np.concatenate([points, points[:50], points[:50] + getattr(space, "periods", 0.0)])
    shares = np.concatenate([weights, 0.25 * weights[:50], 0.5 * weights[:50]])
    shares[:50] *= 0.25
    one = he.heat_profile(points, weights, space=space, times=times, method=method)
    other = he.heat_profile(split, shares, space=space, times=times, method=method)
    np.testing.assert_allclose(other.gess, one.gess, rtol=1e-10)


@pytest.mark.parametrize("space", [he.Euclidean(1), he.Euclidean(3), he.Circle(), he.Torus(3)], ids=repr)
@pytest.mark.parametrize("method", ["auto", "local", "spectral", "pairwise"])
def test_one_and_two_atoms(space: he.Space, method: str) -> None:
    alpha = 0.2
    here = np.full((1, space.dim), math.pi)
    assert he.heat_profile(here, space=space, times=[alpha**2 / 8], method=method).gess[0] == pytest.approx(1)
    pair = np.concatenate([here, here])
    pair[1, 0] += 0.1
    profile = he.heat_profile(pair, space=space, times=[alpha**2 / 8], method=method)
    overlap = math.exp(-0.25)
    assert profile.gess[0] == pytest.approx(2 / (1 + overlap), rel=1e-10)
    assert profile.dimension[0] == pytest.approx(2 * 0.25 * overlap / (1 + overlap), rel=1e-9)


def test_outliers_beyond_all_reason_do_not_crowd_the_cells() -> None:
    rng = np.random.default_rng(4)
    tight = 1e-3 * rng.normal(size=(4000, 3))
    far = np.concatenate([1e6 * rng.normal(size=(20, 3)), 1e200 * rng.normal(size=(5, 3))])
    times = np.array([1e-5, 1e-4]) ** 2 / 8
    alone = he.heat_profile(tight, space=he.Euclidean(3), times=times, method="local")
    both = he.heat_profile(np.concatenate([tight, far]), space=he.Euclidean(3), times=times, method="local")
    expected = (4000**2 / alone.gess + 25) / 4025**2  # outliers overlap with nobody
    np.testing.assert_allclose(1 / both.gess, expected, rtol=1e-9)
    radius = neighbours.cutoff(he.Euclidean(3), float(times.max()), 4025.0, 1e-8)
    assert radius is not None
    frame = neighbours.Frame.of(np.concatenate([tight, far]), np.full(3, np.inf), radius)
    crowd = Grid.of(frame.points, np.ones(4025), radius / frame.unit).candidates().sum()
    assert crowd < 0.1 * 4000**2 / 2


def test_gaps_that_no_pair_sees_close_and_smaller_ones_stay() -> None:
    x = np.array([1e300, 5.0, -1e9, 5.5, 8.0, -1e9 + 1])
    np.testing.assert_allclose(neighbours.without_gaps(x, 2.0), [7.5, 3.0, 0.0, 3.5, 5.5, 1.0])


def test_a_pair_is_seen_once_across_every_face_edge_and_corner() -> None:
    periods = np.array([1.0, 2.0, 4.0])
    rng = np.random.default_rng(1)
    corner = periods / 2 + 0.02 * rng.normal(size=(200, 3))
    middle = 0.02 * rng.normal(size=(200, 3))
    space = he.Torus(3, periods)
    for cluster in (corner, middle):
        apart = cluster[:, None] - cluster
        expected = 200**2 / np.exp(-(apart**2).sum(axis=2) / 0.03**2).sum()
        found = he.heat_profile(cluster, space=space, times=[0.03**2 / 8], method="local")
        assert found.gess[0] == pytest.approx(expected, rel=1e-10)


def test_all_pairs_of_many_atoms_at_all_scales_at_once() -> None:
    rng = np.random.default_rng(6)
    points, weights = rng.normal(size=(2500, 12)), rng.random(2500)
    points[:5] = points[5:10]
    times = np.geomspace(0.1, 100, 7) ** 2 / 8
    fast = he.heat_profile(points, weights, space=he.Euclidean(12), times=times, method="pairwise")
    slow = he.heat_profile(points, weights, space=he.Euclidean(12), times=times, method="pairwise", rtol=1e-12)
    assert (np.abs(fast.gess / slow.gess - 1) <= fast.error).all()
    np.testing.assert_allclose(fast.gess, slow.gess, rtol=1e-11)
    np.testing.assert_allclose(fast.dimension, slow.dimension, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("dim", [1, 2, 5])
def test_pairs_beyond_the_cut_off_hold_no_more_than_the_bound(dim: int) -> None:
    rng = np.random.default_rng(dim)
    for spread in (0.5, 1.0, 2.0, 5.0):
        x = spread * rng.normal(size=(400, dim))
        square = ((x[:, None] - x) ** 2).sum(axis=2)
        overlap = np.exp(-square)  # 8 t = 1
        for y in (1.0, 3.0, 6.0, 10.0):
            share = overlap[square > y].sum() / overlap.sum()
            assert share <= math.exp(float(bounds.log_share(dim, y)))
            along = (x[:, None, 0] - x[None, :, 0]) ** 2 > y
            assert overlap[along].sum() / overlap.sum() <= math.exp(float(bounds.log_share(1, y)))


def test_modes_left_out_hold_no_more_than_the_bound() -> None:
    rng = np.random.default_rng(0)
    frequency = np.arange(-400, 401)
    for spread in (0.01, 0.1, 1.0):
        x = spread * rng.normal(size=60)
        energies = np.abs(np.exp(1j * np.multiply.outer(frequency, x)).mean(axis=1)) ** 2
        for time in (1e-4, 1e-2, 0.3):
            terms = np.exp(-2 * frequency**2 * time) * energies
            for y in (1.0, 4.0, 12.0):
                share = terms[2 * frequency**2 * time > y].sum() / terms.sum()
                assert share <= math.exp(float(bounds.log_share(1, y)))


def test_a_perfectly_even_cloud_is_not_certified_in_silence() -> None:
    even = np.arange(64) / 64
    with pytest.warns(he.PrecisionWarning, match="more balanced than floating-point sums can certify"):
        profile = he.heat_profile(even, space=he.Torus(1, 1.0), times=[0.02])
    assert profile.gess[0] == pytest.approx(
        math.exp(float(he.Torus(1, 1.0).pair_kernel.log_diagonal(np.array([0.02]))[0])), rel=1e-9
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        he.heat_profile(even + 0.01 * np.sin(even), space=he.Torus(1, 1.0), times=[0.02])


def test_the_cost_of_neighbours_is_of_the_right_order() -> None:
    rng = np.random.default_rng(3)
    space = he.Torus(2, (1.0, 3.0))
    sample = PairCounts.of(Measure(space.uniform(5000, rng), space=space), space.embedding)
    for distance in (0.005, 0.03, 0.1):
        expected = 5000**2 / 2 * math.pi * distance**2 / 3
        assert 0.7 < sample.within(distance) / expected < 1.4


def test_what_cannot_be_done_is_refused_with_the_reason() -> None:
    points = np.random.default_rng(0).normal(size=(30, 9))
    with pytest.raises(he.InputError, match="no neighbour sums, which do not exist in more than 8 coordinates"):
        he.heat_profile(points, space=he.Euclidean(9), times=[1.0], method="local")
    poses = points[:, :3], he.Rotations().uniform(30, np.random.default_rng(1))
    with pytest.raises(he.InputError, match="no neighbour sums, which do not exist on this space"):
        he.heat_profile(poses, space=he.Product(he.Euclidean(3), he.Rotations()), times=[1.0], method="local")
    with pytest.raises(he.PrecisionError, match="neighbours do not suffice"):
        he.heat_profile(points[:, :2], space=he.Torus(2), times=[1.0], method="local")
    with pytest.raises(he.InputError, match="no fast transform at these scales"):
        he.heat_profile(points[:, :3], space=he.Euclidean(3), times=[1e-12], method="spectral")
    crowd = np.random.default_rng(1).normal(size=(2_000_000, 6))
    with pytest.raises(he.CostError, match="would take about"):
        he.heat_profile(crowd, space=he.Euclidean(6), times=[1.0])
