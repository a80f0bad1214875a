"""Parts add up to the whole, in any order, on any scale of weights, in memory and on disk."""

from __future__ import annotations

import math
import pickle
from functools import reduce
from operator import add

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import heatess as he
from heatess.base.files import write_archive
from heatess.measures.scales import DEFAULT_ANGLES, times_of_angles
from heatess.parts.accumulator import degree_for
from heatess.parts.sums import Unit

DEGREE = 180
CURVES = ("gess", "mmd2", "divergence", "volume")


def part(points, max_degree=DEGREE, **weights):
    return he.Accumulator(max_degree=max_degree).add(points, **weights)


def parts_of(points, cuts, **weights):
    pieces = np.split(np.arange(len(points)), cuts)
    return [part(points[rows], **{name: values[rows] for name, values in weights.items()}) for rows in pieces]


def agree(one, other, rtol, curves=CURVES):
    for name in curves:
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=rtol, err_msg=name)
    assert one.n == other.n
    assert one.ess == pytest.approx(other.ess, rel=rtol)


@pytest.fixture(scope="module")
def cloud():
    rng = np.random.default_rng(5)
    return he.samplers.von_mises_fisher(4000, [0.6, 0, 0.8], 3.0, rng=3), rng.uniform(0, 1, 4000)


# Adding up.


@pytest.mark.parametrize("count", [1, 2, 3, 7, 20, 50])
def test_any_number_of_parts_is_the_whole(cloud, count):
    points, weights = cloud
    cuts = np.sort(np.random.default_rng(count).choice(np.arange(1, 4000), count - 1, replace=False))
    whole = he.heat_profile(points, weights, angles=DEFAULT_ANGLES)
    agree(reduce(add, parts_of(points, cuts, weights=weights)).profile(), whole, 1e-10)
    streamed = he.Accumulator(max_degree=DEGREE)
    for rows in np.split(np.arange(4000), cuts):
        streamed.add(points[rows], weights[rows])
    agree(streamed.profile(), whole, 1e-10)


@pytest.mark.parametrize("dim", [1, 2])
@pytest.mark.parametrize("scales", [{"angles": [5, 60]}, {"times": [0.01]}, {"resolutions": [8, 90]}])
def test_every_kind_of_scale_on_circle_and_sphere(dim, scales):
    points = he.samplers.uniform(500, dim=dim, rng=1)
    found = (part(points[:200]) + part(points[200:])).profile(**scales)
    expected = he.heat_profile(points, **scales)
    agree(found, expected, 1e-10)
    np.testing.assert_allclose(found.resolutions, expected.resolutions, rtol=1e-12)
    np.testing.assert_allclose(found.dimension, expected.dimension, rtol=1e-8)
    assert found.method == "spectral"
    assert found.space == he.Sphere(dim)


WITH_TRANSFORM = [
    he.Sphere(3),
    he.Projective(1),
    he.Projective(2),
    he.Projective(3),
    he.Rotations(),
    he.Circle(),
    he.Torus(1, periods=5),
    he.Torus(2),
    he.Torus(2, periods=(1, 7.5)),
    he.Torus(3),
    he.Product(he.Sphere(2), he.Circle()),
    he.Product(he.Rotations(), he.Torus(1), metric_scales=(1, 2)),
    he.Product(he.Torus(2), he.Projective(1), metric_scales=(0.5, 1)),
    he.Product(he.Sphere(1), he.Sphere(3)),
]


@pytest.mark.parametrize("space", WITH_TRANSFORM, ids=repr)
def test_every_space_with_a_transform_adds_up(tmp_path, space):
    points = space.check(space.uniform(400, np.random.default_rng(3)))
    weights = np.random.default_rng(4).uniform(size=400)
    times = times_of_angles(np.array([15.0, 60.0]) if space.dim < 4 else np.array([40.0, 120.0]))
    degree = degree_for(space, float(times[0]))
    one, two = (
        he.Accumulator(space, max_degree=degree).add(points[rows], weights[rows])
        for rows in (slice(0, 150), slice(150, 400))
    )
    two.save(tmp_path / "two.npz")
    found = (one + he.Accumulator.load(tmp_path / "two.npz")).profile(times=times)
    whole = he.heat_profile(points, weights, space=space, times=times, method="pairwise")
    agree(found, whole, 1e-10)
    np.testing.assert_allclose(found.dimension, whole.dimension, rtol=1e-8)
    assert (found.method, found.space) == ("spectral", space)
    np.testing.assert_allclose(
        found.at(time=1.5 * times[0]).gess, he.gess(points, weights, space=space, time=1.5 * times[0]), rtol=1e-8
    )


def test_the_circle_of_angles_adds_up_as_that_of_unit_vectors():
    rng = np.random.default_rng(9)
    angle, weights = rng.normal(size=500), rng.uniform(size=500)
    vectors = np.column_stack([np.cos(angle), np.sin(angle)])
    by_angle = he.Accumulator(he.Circle(), max_degree=DEGREE).add(angle[:200], weights[:200])
    by_angle.add(angle[200:] + 2 * np.pi, weights[200:])
    by_vector = he.Accumulator(max_degree=DEGREE).add(vectors, weights)
    agree(by_angle.profile(), by_vector.profile(), 1e-10)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), count=st.integers(1, 50), spread=st.sampled_from([0.0, 1.0, 30.0, 3000.0]))
@pytest.mark.slow
def test_the_order_of_merging_does_not_matter(seed, count, spread):
    rng = np.random.default_rng(seed)
    n = 300
    points = he.samplers.uniform(n, rng=rng)
    logs = rng.normal(size=n) + np.repeat(rng.normal(size=n // 10) * spread, 10)
    cuts = np.sort(rng.choice(np.arange(1, n), count - 1, replace=False))
    parts = parts_of(points, cuts, log_weights=logs)
    forwards = reduce(add, parts).profile()
    backwards = reduce(add, parts[::-1]).profile()
    shuffled = [parts[index] for index in rng.permutation(count)]
    while len(shuffled) > 1:  # by a tree
        shuffled = [reduce(add, shuffled[i : i + 3]) for i in range(0, len(shuffled), 3)]
    for other in (backwards, shuffled[0].profile()):
        agree(other, forwards, 1e-12)


def test_regions_of_a_balanced_sky_add_up_in_any_order():
    """Each region has large coefficients, and almost all of them cancel in the whole."""
    points = he.samplers.uniform(20_000, rng=8)
    points = points[np.argsort(points[:, 2])]
    parts = parts_of(points, np.arange(500, 20_000, 500))
    orders = [parts, parts[::-1], parts[::2] + parts[1::2]]
    one, *others = [reduce(add, order).profile() for order in orders]
    for other in others:
        agree(other, one, 1e-12)
    agree(one, he.heat_profile(points, angles=DEFAULT_ANGLES), 1e-10)


def test_a_balanced_cloud_keeps_its_small_discrepancy():
    """MMD^2 at large scales rests on levels that nearly vanish, far below the accuracy of the transform."""
    points = he.samplers.fibonacci(20_000)
    found = reduce(add, parts_of(points, [3000, 11_000])).profile(angles=[30, 120])
    whole = he.heat_profile(points, angles=[30, 120])
    assert whole.mmd2[1] < 1e-9
    np.testing.assert_allclose(found.mmd2, whole.mmd2, rtol=1e-7)
    np.testing.assert_allclose(found.gess, whole.gess, rtol=1e-10)


# Weights on different scales.


@pytest.mark.parametrize("offset", [0.0, -1e3, 1e5, -1e6, 1e9, -1e12])
def test_log_weights_far_from_zero_lose_nothing(offset):
    rng = np.random.default_rng(2)
    points, logs = he.samplers.uniform(600, rng=1), offset + np.round(rng.normal(size=600) * 3, 2)
    found = reduce(add, parts_of(points, np.arange(40, 600, 40), log_weights=logs)).profile()
    agree(found, he.heat_profile(points, log_weights=logs - logs.max(), angles=DEFAULT_ANGLES), 1e-10)


def test_parts_too_light_to_see_are_counted_but_do_not_count():
    points = he.samplers.uniform(30, rng=1)
    logs = np.repeat([1e300, -1e300, -np.inf], 10)
    parts = parts_of(points, [10, 20], log_weights=logs)
    heavy = he.heat_profile(points[:10], angles=DEFAULT_ANGLES)
    for order in (parts, parts[::-1], [parts[1], parts[2], parts[0]]):
        whole = reduce(add, order)
        assert whole.n == 30
        assert whole.ess == pytest.approx(10)
        np.testing.assert_allclose(whole.profile().gess, heavy.gess, rtol=1e-12)


@pytest.mark.parametrize("least", [1e-300, 5e-324, 1e-200])
def test_plain_weights_at_the_ends_of_the_range_of_numbers(least):
    points = he.samplers.uniform(20, rng=1)
    small, large = np.full(10, least), np.full(10, 1e300)
    mixed = part(points[:10], weights=small) + part(points[10:], weights=large)
    np.testing.assert_allclose(
        mixed.profile().gess, he.heat_profile(points[10:], angles=DEFAULT_ANGLES).gess, rtol=1e-12
    )
    alone = part(points[:5], weights=small[:5]) + part(points[5:10], weights=small[5:])
    np.testing.assert_allclose(
        alone.profile().gess, he.heat_profile(points[:10], angles=DEFAULT_ANGLES).gess, rtol=1e-12
    )


def test_weights_and_log_weights_are_on_one_scale(cloud):
    points, weights = cloud
    plain, logs = part(points[:1000], weights=weights[:1000]), part(points[1000:], log_weights=np.log(weights[1000:]))
    agree((plain + logs).profile(), he.heat_profile(points, weights, angles=DEFAULT_ANGLES), 1e-10)
    tiny = part(points[:1000], weights=weights[:1000] * 1e-250)
    low = part(points[1000:], log_weights=np.log(weights[1000:]) - 250 * math.log(10))
    agree((tiny + low).profile(), he.heat_profile(points, weights, angles=DEFAULT_ANGLES), 1e-10)


@pytest.mark.parametrize("offset", [0.0, -1e6, 1e6])
def test_parts_without_weight_are_inert(offset):
    points = he.samplers.uniform(200, rng=4)
    logs = offset + points[:, 0]
    empty = part(points[:50], log_weights=np.full(50, -np.inf))
    zero = part(points[:30], weights=np.zeros(30))
    rest = part(points, log_weights=logs)
    expected = he.heat_profile(points, log_weights=logs - offset, angles=DEFAULT_ANGLES)
    for whole in (empty + rest + zero, zero + (empty + rest), rest + empty + zero):
        assert whole.n == 280
        np.testing.assert_allclose(whole.profile().gess, expected.gess, rtol=1e-12)
    with pytest.raises(he.InputError, match="weights of all 80 points are zero"):
        (empty + zero).profile()
    with pytest.raises(he.InputError, match="are zero"):
        _ = (empty + zero).ess


def test_units_compare_exactly():
    assert Unit(3, 0.0).over(Unit(5, 0.0)) == 0.25
    assert Unit(1, 1e15).over(Unit(1, 1e15 + 2)) == math.exp(-2)
    assert Unit(-2000, 0.0).over(Unit(1000, 0.0)) == 0.0
    assert Unit().over(Unit(1, -1e300)) == 0.0
    assert Unit(997, 0.0).over(Unit(1, 800.0)) == pytest.approx(math.exp(996 * math.log(2) - 800), rel=1e-12)


# What is carried, and what is refused.


def test_n_ess_space_and_repr_are_carried(cloud):
    points, weights = cloud
    state = he.Accumulator(max_degree=20)
    assert (state.n, state.space) == (0, None)
    state.add(points[:10], weights[:10])
    assert state.space == he.Sphere(2)
    state = state + he.Accumulator(max_degree=20) + part(points[10:], 20, weights=weights[10:])
    assert state.n == 4000
    assert state.ess == pytest.approx(weights.sum() ** 2 / (weights**2).sum(), rel=1e-12)
    assert repr(state) == "Accumulator(Sphere(2), max_degree=20, n=4000)"


def test_merging_leaves_its_parts_alone(cloud):
    points, _ = cloud
    one, two = part(points[:100], 20), part(points[100:], 20, weights=np.full(3900, 1e9))
    before = one.profile(angles=[90]).gess
    _ = one + two
    np.testing.assert_array_equal(one.profile(angles=[90]).gess, before)
    assert one.n == 100


def test_empty_accumulators_have_no_profile_and_no_file(tmp_path):
    state = he.Accumulator(max_degree=10)
    for use in (state.profile, lambda: state.save(tmp_path / "a.npz"), lambda: (state + state).profile()):
        with pytest.raises(he.InputError, match=r"no points|is empty"):
            use()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("degree", [1, -3, 2.5, True, "9", None])
def test_degrees_that_are_no_degrees_are_refused(degree):
    with pytest.raises(he.InputError, match="max_degree must be a whole number >= 2"):
        he.Accumulator(max_degree=degree)


def test_spaces_and_degrees_without_a_transform_are_refused():
    with pytest.raises(he.InputError, match=r"Sphere\(4\) has no fast transform"):
        he.Accumulator(he.Sphere(4), max_degree=10)
    with pytest.raises(he.InputError, match=r"Sphere\(4\) has no fast transform"):
        he.Accumulator(max_degree=10).add(np.eye(5))
    for space in (he.Torus(4), he.Euclidean(2), he.Product(he.Euclidean(3), he.Rotations()), he.Projective(4)):
        with pytest.raises(he.InputError, match="has no fast transform, so its parts do not add up"):
            he.Accumulator(space, max_degree=10)
    with pytest.raises(he.InputError, match="may be 4095 at most"):
        he.Accumulator(he.Sphere(2), max_degree=4096)
    with pytest.raises(he.InputError, match="may be 399 at most"):
        he.Accumulator(he.Sphere(3), max_degree=400)
    with pytest.raises(he.InputError, match=r"shape \(n, 3\)"):
        he.Accumulator(he.Sphere(2), max_degree=10).add(np.eye(2))


def test_bad_parts_are_refused_with_the_row_and_change_nothing(cloud):
    points, _ = cloud
    state = part(points[:10], 20)
    for bad, weights, message in [
        ([[np.nan, 0, 0]], {}, "row 0"),
        (points[:2] * [[1], [2]], {}, "row 1"),
        (points[:2], {"weights": [1, -1]}, "row 1 is -1"),
        (points[:2], {"log_weights": [0, np.inf]}, "row 1 is inf"),
        (points[:2], {"log_weights": [np.nan, 0]}, "row 0 is nan"),
        (points[:2], {"weights": [1, 2, 3]}, "2 points but 3 weights"),
        (points[:2], {"weights": [1, 2], "log_weights": [1, 2]}, "not both"),
        (points[:0], {}, "empty"),
    ]:
        with pytest.raises(he.InputError, match=message):
            state.add(bad, **weights)
    assert state.n == 10


def test_states_that_do_not_fit_are_refused_by_name(cloud):
    points, _ = cloud
    with pytest.raises(he.InputError, match="different max_degree do not add up: 20 and 30"):
        part(points, 20) + part(points, 30)
    with pytest.raises(he.InputError, match=r"different space do not add up: Sphere\(2\) and Sphere\(1\)"):
        part(points, 20) + part(np.eye(2), 30)  # as many levels would not help
    with pytest.raises(TypeError):
        part(points, 20) + 1


def test_a_scale_too_fine_is_refused_with_the_degree_it_needs(cloud):
    points, weights = cloud
    with pytest.raises(he.PrecisionError, match=r"angle 2 degrees.*max_degree=(\d+)") as caught:
        part(points, 100, weights=weights).profile(angles=[2, 20])
    needed = int(str(caught.value).split("max_degree=")[2].split(",")[0])
    agree(
        part(points, needed, weights=weights).profile(angles=[2, 20]),
        he.heat_profile(points, weights, angles=[2, 20]),
        1e-8,
    )
    with pytest.raises(he.PrecisionError):
        part(points, needed // 2, weights=weights).profile(angles=[2, 20])


@pytest.mark.parametrize(("space", "most"), [(he.Sphere(3), 399), (he.Rotations(), 199), (he.Torus(3), 126)])
def test_a_degree_that_cannot_be_had_is_not_advised(space, most):
    state = he.Accumulator(space, max_degree=10).add(space.uniform(5, np.random.default_rng(0)))
    with pytest.raises(he.PrecisionError, match=rf"; ask for coarser scales, .*, but {most} is the most$"):
        state.profile(angles=[0.5])
    with pytest.raises(he.InputError, match=f"may be {most} at most"):
        he.Accumulator(space, max_degree=most + 1)


@pytest.mark.slow
@pytest.mark.parametrize("space", [he.Sphere(1), he.Sphere(2), *WITH_TRANSFORM], ids=repr)
def test_however_fine_a_scale_it_is_never_certified_by_too_few_levels(space):
    points = space.check(space.uniform(200, np.random.default_rng(6)))
    few = he.Accumulator(space, max_degree=10).add(points)
    for time in times_of_angles(np.geomspace(1e-3, 300, 40)):
        exact = he.gess(points, space=space, time=float(time))
        try:
            found = few.profile(times=[time])
        except he.PrecisionError:
            continue
        assert abs(found.gess[0] / exact - 1) <= found.error[0] + 1e-8


def test_the_degree_for_a_scale_certifies_it_for_any_cloud(cloud):
    points, weights = cloud
    time = float(times_of_angles(3.0))
    degree = degree_for(he.Sphere(2), time)
    assert part(points, degree, weights=weights).profile(times=[time]).error[0] < 1e-8
    with pytest.raises(he.PrecisionError, match=r"0.01 degrees is too fine.*max_degree of \d+, but 4095 is the most"):
        degree_for(he.Sphere(2), float(times_of_angles(0.01)))
    with pytest.raises(he.InputError, match="no fast transform"):
        degree_for(he.Sphere(5), time)


# On disk.


@pytest.mark.parametrize("dim", [1, 2, 3])
@pytest.mark.parametrize("offset", [0.0, 1e6, -1e300])
def test_saving_and_loading_changes_no_bit(tmp_path, dim, offset):
    points = he.samplers.uniform(100, dim=dim, rng=1)
    state = part(points, 40, log_weights=offset + points[:, 0])
    state.save(tmp_path / "a.npz")
    loaded = he.Accumulator.load(tmp_path / "a.npz")
    assert (loaded.n, loaded.ess, loaded.space, loaded.max_degree) == (100, state.ess, he.Sphere(dim), 40)
    for name in (*CURVES, "error", "dimension"):
        one, other = (getattr(each.profile(angles=[30, 90]), name) for each in (state, loaded))
        np.testing.assert_array_equal(one, other)
    more = part(points, 40)
    np.testing.assert_array_equal((loaded + more).profile(angles=[30]).gess, (state + more).profile(angles=[30]).gess)
    loaded.save(tmp_path / "b.npz")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.npz", "b.npz"]


def test_states_without_weight_are_saved_and_merged(tmp_path):
    points = he.samplers.uniform(50, rng=1)
    part(points, weights=np.zeros(50)).save(tmp_path / "zero.npz")
    part(points).save(tmp_path / "one.npz")
    whole = he.Accumulator.load(tmp_path / "zero.npz") + he.Accumulator.load(tmp_path / "one.npz")
    assert whole.n == 100
    np.testing.assert_allclose(whole.profile().gess, he.heat_profile(points, angles=DEFAULT_ANGLES).gess, rtol=1e-12)


def test_states_can_be_pickled(cloud):
    points, _ = cloud
    state = pickle.loads(pickle.dumps(part(points, 20)))
    assert (state + part(points, 20)).n == 8000


def stored(path, **changes):
    """A state file with other content, and a checksum that fits it."""
    with np.load(path) as file:
        content = {name: file[name] for name in file.files if name != "checksum"}
    content.update(changes)
    with path.open("wb") as stream:
        write_archive(stream, {name: value for name, value in content.items() if value is not None})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"schema": "heatess.accumulator/9"}, "schema heatess.accumulator/9"),
        ({"schema": "heatess.accumulator/2"}, "schema heatess.accumulator/2, but heatess.accumulator/3"),
        ({"schema": None}, "schema None"),
        ({"space": "Nowhere(9)"}, r"unknown space 'Nowhere\(9\)'.*load\(path, space=...\)"),
        ({"space": "Sphere(7)"}, r"Sphere\(7\) has no fast transform"),
        ({"space": "Torus(1000000000)"}, "unknown space"),
        ({"basis": "cosines"}, "basis 'cosines'"),
        ({"max_degree": 12}, "shape"),
        ({"max_degree": 10**9}, "at most"),
        ({"max_degree": -1}, "whole number >= 2"),
        ({"coefficients": np.zeros((5, 5), complex)}, r"shape \(5, 5\)"),
        ({"coefficients": np.zeros(0)}, r"shape \(0,\)"),
        ({"coefficients": np.zeros((11, 11))}, "do not fit its degree"),
        ({"coefficients": np.full((11, 11), np.nan + 0j)}, "not finite"),
        ({"coefficients": np.full((11, 11), "a")}, "as coefficients"),
        ({"n": None}, "has no field n"),
        ({"n": -5}, "n = -5"),
        ({"n": 2}, "2 points with an ESS of 3"),
        ({"n": 3.0}, "float64 .* as n"),
        ({"n": np.array([3])}, r"shape \(1,\) as n"),
        ({"n": np.zeros(0, int)}, r"shape \(0,\) as n"),
        ({"low": None}, "has no field low"),
        ({"low": np.zeros(0)}, "0 low sums, not 12"),
        ({"low": np.zeros((3, 4))}, r"low sums of shape \(3, 4\)"),
        ({"low": np.full(12, np.inf)}, "not finite"),
        ({"total": np.array(["x"])}, "<U1 of shape .* as total"),
        ({"total": -3.0}, "sum -3"),
        ({"total": 1e300}, "sum 1e\\+300"),
        ({"total": np.nan}, "sum nan"),
        ({"total": 0.0}, "sum 0"),
        ({"total": 0.0, "squares": 0.0}, "points without weight"),
        ({"squares": -1.0}, "sum of squares -1"),
        ({"squares": np.nan}, "sum of squares nan"),
        ({"squares": np.inf}, "sum of squares inf"),
        ({"squares": 10.0}, "ESS of 0.9"),
        ({"squares": 1e-9}, "3 points with an ESS of 9e\\+09"),
        ({"exponent": 10**9}, r"unit 2\^1000000000"),
        ({"shift": np.nan}, "sum 3"),
        ({"shift": -np.inf}, "sum 3"),
        ({"shift": "a"}, "as shift"),
    ],
)
def test_files_that_do_not_fit_are_refused_with_their_name(tmp_path, changes, message):
    path = tmp_path / "state-7.npz"
    part(np.eye(3), 10).save(path)
    stored(path, **changes)
    with pytest.raises(he.InputError, match=rf"state-7.npz.*({message})"):
        he.Accumulator.load(path)


def test_damaged_files_are_refused_with_their_name(tmp_path):
    path = tmp_path / "state.npz"
    part(he.samplers.uniform(50, rng=1), 20).save(path)
    whole = path.read_bytes()
    for cut in (0, 1, 10, 100, len(whole) // 2, len(whole) - 30, len(whole) - 1):
        path.write_bytes(whole[:cut])
        with pytest.raises(he.InputError, match=r"state\.npz"):
            he.Accumulator.load(path)
    for text in (b"hello, world", b"PK\x03\x04 and nothing more"):
        path.write_bytes(text)
        with pytest.raises(he.InputError, match=r"state\.npz"):
            he.Accumulator.load(path)
    with path.open("wb") as stream:
        np.save(stream, np.eye(3))
    with pytest.raises(he.InputError, match=r"state\.npz"):
        he.Accumulator.load(path)
    with pytest.raises(he.InputError, match=r"nowhere\.npz does not exist"):
        he.Accumulator.load(tmp_path / "nowhere.npz")
    with pytest.raises(he.InputError, match="is a directory, not a file"):
        he.Accumulator.load(tmp_path)


@settings(max_examples=200, deadline=None)
@given(where=st.floats(0, 1, exclude_max=True), bit=st.integers(0, 7))
def test_a_flipped_bit_is_refused_or_changes_nothing(tmp_path_factory, where, bit):
    path = tmp_path_factory.mktemp("flip") / "state.npz"
    state = part(np.eye(3), 4)
    state.save(path)
    content = bytearray(path.read_bytes())
    content[int(where * len(content))] ^= 1 << bit
    path.write_bytes(bytes(content))
    try:
        loaded = he.Accumulator.load(path)
    except he.InputError:
        return
    assert loaded.n == 3
    np.testing.assert_array_equal(loaded.profile(angles=[150]).gess, state.profile(angles=[150]).gess)


@pytest.mark.parametrize("fault", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_a_failing_save_leaves_the_old_file(tmp_path, monkeypatch, fault):
    path = tmp_path / "state.npz"
    part(np.eye(3), 10).save(path)
    old = path.read_bytes()

    def fail(stream, **content):
        stream.write(b"half")
        raise fault

    monkeypatch.setattr(np, "savez", fail)
    with pytest.raises(type(fault)):
        part(-np.eye(3), 10).save(path)
    assert path.read_bytes() == old
    assert list(tmp_path.iterdir()) == [path]
