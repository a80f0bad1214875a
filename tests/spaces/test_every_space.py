"""What holds on every space, over the one list of them."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose

import heatess as he
from heatess.base.progress import Progress
from heatess.engines.base import PotentialQuestion
from heatess.engines.plan import ENGINES
from space_cases import DISCRETE, EVERY, HOMOGENEOUS, Case, named, taken

COMPACT = [case for case in EVERY if case.space().compact]
MERGEABLE = [case for case in HOMOGENEOUS if case.space().transform is not None]


def cloud(case: Case, n: int = 40, seed: int = 0) -> tuple[object, np.ndarray]:
    rng = np.random.default_rng(seed)
    return case.points(n, rng), rng.random(n) ** 2 + 0.01


def profile(case: Case, points: object, weights: object = None, **options: object) -> he.HeatProfile:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", he.PrecisionWarning)  # of MMD^2, where heat has mixed
        return he.heat_profile(points, weights, space=case.space(), times=case.times(), **options)


@pytest.mark.parametrize(**named(EVERY))
def test_splitting_an_atom_changes_nothing(case):
    points, weights = cloud(case)
    rows = np.append(np.arange(40), [3, 3, 7])
    split = weights[rows]
    split[[3, 40, 41]] *= [0.5, 0.2, 0.3]
    split[[7, 42]] *= [0.25, 0.75]
    one, two = profile(case, points, weights), profile(case, taken(points, rows), split)
    assert_allclose(one.gess, two.gess, rtol=1e-10)
    assert_allclose(one.mmd2, two.mmd2, rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize(**named(EVERY))
def test_order_and_unit_of_weights_do_not_matter(case):
    points, weights = cloud(case)
    order = np.random.default_rng(1).permutation(40)
    one, two = profile(case, points, weights), profile(case, taken(points, order), 1e-5 * weights[order])
    assert_allclose(one.gess, two.gess, rtol=1e-10)
    logs = profile(case, points, log_weights=np.log(weights) - 5000)
    assert_allclose(one.gess, logs.gess, rtol=1e-10)


@pytest.mark.parametrize(**named(EVERY))
def test_gess_lies_between_one_and_ess(case):
    points, weights = cloud(case)
    found = profile(case, points, weights)
    assert (found.gess >= 1).all()
    assert (found.gess <= found.ess * (1 + 1e-12)).all()


@pytest.mark.parametrize(**named(HOMOGENEOUS))
def test_fine_scales_tell_all_atoms_apart(case):
    points, weights = cloud(case, 12)
    time = 1e-9 * case.times(1)[0]
    assert he.gess(points, weights, space=case.space(), time=time) == pytest.approx(he.baselines.ess(weights), rel=1e-6)


@pytest.mark.parametrize(**named([case for case in COMPACT if case not in DISCRETE]))
def test_coarse_scales_see_one_atom_and_the_whole_volume(case):
    points, weights = cloud(case)
    found = he.heat_profile(points, weights, space=case.space(), times=case.times(1) * (40 / case.finest) ** 2)
    assert found.gess[0] == pytest.approx(1, abs=1e-6)
    assert found.volume[0] == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize(**named(COMPACT))
def test_occupied_volume_does_not_fall_with_the_scale(case):
    found = profile(case, *cloud(case))
    assert (np.diff(found.volume) >= -1e-9 * found.volume[1:]).all()
    assert ((found.volume > 0) & (found.volume <= 1)).all()


@pytest.mark.parametrize(**named(HOMOGENEOUS))
def test_engines_agree(case):
    points, weights = cloud(case, 60)
    wanted = profile(case, points, weights)
    agreed = 0
    for method in ("spectral", "pairwise", "local"):
        for time in case.times():
            try:
                found = he.heat_profile(points, weights, space=case.space(), times=[time], method=method)
            except (he.InputError, he.PrecisionError):
                continue
            place = int(np.argmin(np.abs(wanted.times - time)))
            assert found.gess[0] == pytest.approx(wanted.gess[place], rel=1e-8)
            assert found.mmd2[0] == pytest.approx(wanted.mmd2[place], rel=1e-7, nan_ok=True)
            assert found.dimension[0] == pytest.approx(wanted.dimension[place], abs=1e-6)
            agreed += 1
    assert agreed >= 4


@pytest.mark.parametrize(**named(EVERY))
def test_the_mean_potential_is_one_over_gess(case):
    points, weights = cloud(case, 50)
    measure = he.Measure(points, weights, space=case.space())
    found = he.heat_profile(measure, times=case.times())
    for time, gess in zip(found.times, found.gess, strict=True):
        potential = he.potential(measure, time=time)
        assert measure.weights @ potential == pytest.approx(1 / gess, rel=1e-8)
        assert (potential >= 0.999 * measure.weights).all()  # every atom overlaps itself


@pytest.mark.parametrize(**named(HOMOGENEOUS))
def test_the_potential_elsewhere_is_the_sum_of_overlaps(case):
    points, weights = cloud(case, 50)
    space = case.space()
    measure, other = he.Measure(points, weights, space=space), space.check(case.points(9, np.random.default_rng(3)))
    for time in case.times():
        kernel = space.pair_kernel.fitted(np.array([time]), 1e-8)
        wanted = kernel.terms(kernel.rows(other), kernel.rows(measure.points))(time).overlap @ measure.weights
        scale = float(measure.weights @ he.potential(measure, time=time))
        assert_allclose(he.potential(measure, at=other, time=time), wanted, rtol=0, atol=1e-8 * scale)


@pytest.mark.slow
@pytest.mark.parametrize(**named(HOMOGENEOUS))
def test_engines_agree_on_potentials(case):
    points, weights = cloud(case, 50)
    measure = he.Measure(points, weights, space=case.space())
    at = case.space().check(case.points(7, np.random.default_rng(3)))
    for time in [0.02 * case.times()[0], *case.times()]:
        question = PotentialQuestion(measure, np.array([time]), 1e-8, mmd2=False, at=at)
        offers = [offer for engine in ENGINES if (offer := engine.potentials(question)) is not None]
        found = [offer.run(slice(0, 1), Progress(False)).values[0] for offer in offers if offer.seconds(0, 1) < np.inf]
        for other in found[:-1]:
            assert_allclose(other, found[-1], rtol=0, atol=1e-8 / he.gess(measure, time=time))


@pytest.mark.parametrize(**named(COMPACT))
def test_the_mean_density_is_the_power(case):
    points, weights = cloud(case, 50)
    measure = he.Measure(points, weights, space=case.space())
    found = he.heat_profile(measure, times=case.times())
    for time, mmd2 in zip(found.times, found.mmd2, strict=True):  # sum_ij w_i w_j k_2t(x_i, x_j) = A(t)
        density = he.potential(measure, time=2 * time, kind="density")
        assert measure.weights @ density == pytest.approx(1 + mmd2, rel=1e-7)


@pytest.mark.parametrize(**named(MERGEABLE))
def test_parts_add_up_to_the_whole(case, tmp_path):
    points, weights = cloud(case, 50)
    space, times = case.space(), case.times()
    degree = int(np.ceil(space.transform.degree_for(float(times[0]), 50.0, 1e-8)))
    one, two = (he.Accumulator(space, max_degree=degree) for _ in range(2))
    one.add(taken(points, slice(0, 20)), weights[:20])
    two.add(taken(points, slice(20, 50)), log_weights=np.log(weights[20:]))
    one.save(tmp_path / "one.npz")
    merged = (he.Accumulator.load(tmp_path / "one.npz") + two).profile(times=times)
    whole = he.heat_profile(points, weights, space=space, times=times)
    assert_allclose(merged.gess, whole.gess, rtol=1e-8)
    assert_allclose(merged.mmd2, whole.mmd2, rtol=1e-7)
    between = float(np.sqrt(times[1] * times[2]))
    assert merged.at(time=between).gess == pytest.approx(he.gess(points, weights, space=space, time=between), rel=1e-8)


@pytest.mark.filterwarnings("ignore::heatess.CalibrationWarning")  # of scales that are wide beside the cloud
@pytest.mark.parametrize(**named(EVERY))
def test_a_measure_takes_the_place_of_points(case):
    points, weights = cloud(case)
    space, time = case.space(), float(case.times()[1])
    measure = he.Measure(points, weights, space=space)
    assert he.gess(measure, time=time) == he.gess(points, weights, space=space, time=time)
    ratio = he.gess_ratio(points, weights, space=space, time=time)
    assert he.gess_ratio(measure, time=time) == pytest.approx(ratio, rel=1e-12)
    assert_allclose(he.heat_profile(measure, times=[time]).gess, he.gess(measure, time=time), rtol=1e-8)
    assert he.summarize(measure, times=[time]).n == 40
    with pytest.raises(he.InputError, match="weights of its own"):
        he.gess(measure, weights, time=time)
