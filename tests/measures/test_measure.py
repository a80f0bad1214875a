"""What may be given as points, weights and scales, and what is refused with which words."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import heatess as he
from heatess.measures.measure import Measure

N = 40
POINTS = he.samplers.uniform(N, rng=1)
WEIGHTS = np.random.default_rng(2).integers(1, 9, N).astype(float)
ANGLES = [8.0, 30.0, 90.0]
EXPECTED = he.heat_profile(POINTS.copy(), WEIGHTS, angles=ANGLES).gess


def assert_as_plain(points, weights=WEIGHTS, rtol=1e-12):
    found = he.heat_profile(points, weights, angles=ANGLES)
    assert found.n == N
    assert_allclose(found.gess, EXPECTED, rtol=rtol)


def refused(match, *args, error=he.InputError, **kwargs):
    kwargs = {"angles": [20.0]} | kwargs
    with pytest.raises(error, match=match):
        he.heat_profile(*args, **kwargs)


def changed(array, where, value):
    array = np.array(array, dtype=float)
    array[where] = value
    return array


# What must work.


@pytest.mark.parametrize("factor", [7.0, 1e-3, 1e300, 1e-300, 5e-324, 2.0**1000])
def test_weights_need_not_be_normalised(factor):
    assert_as_plain(POINTS, WEIGHTS * factor)


def test_weights_that_overflow_their_sum_are_accepted():
    assert he.baselines.ess(np.full(100, 1.7e308)) == pytest.approx(100, rel=1e-13)


def test_a_negligible_weight_beside_a_huge_one_is_zero():
    found = he.heat_profile(np.eye(3), [1e300, 1e-300, 5e-324], angles=[20])
    assert (found.ess, found.gess[0]) == (1.0, 1.0)


@pytest.mark.parametrize("shift", [0.0, 1000.0, -1000.0, 1e5])
def test_log_weights_are_shifted_by_their_maximum(shift):
    found = he.heat_profile(POINTS, log_weights=np.log(WEIGHTS) + shift, angles=ANGLES)
    assert_allclose(found.gess, EXPECTED, rtol=1e-10)


def test_minus_infinity_is_the_logarithm_of_a_zero_weight():
    weights = changed(WEIGHTS, slice(0, 10), 0.0)
    with np.errstate(divide="ignore"):
        found = he.heat_profile(POINTS, log_weights=np.log(weights), angles=ANGLES)
    assert_allclose(found.gess, he.heat_profile(POINTS[10:], WEIGHTS[10:], angles=ANGLES).gess, rtol=1e-10)
    assert found.n == N


KINDS_OF_WEIGHTS = {
    "list": WEIGHTS.tolist(),
    "tuple": tuple(WEIGHTS),
    "integers": WEIGHTS.astype(int).tolist(),
    "uint8": WEIGHTS.astype(np.uint8),
    "float16": WEIGHTS.astype(np.float16),
    "float32": WEIGHTS.astype(np.float32),
    "longdouble": WEIGHTS.astype(np.longdouble),
    "(n, 1)": WEIGHTS[:, None],
    "strided": np.repeat(WEIGHTS, 3)[::3],
    "reversed": WEIGHTS[::-1].copy()[::-1],
    "unmasked": np.ma.masked_array(WEIGHTS, mask=False),
}


@pytest.mark.parametrize("kind", KINDS_OF_WEIGHTS)
def test_every_kind_of_weights_means_the_same(kind):
    assert_as_plain(POINTS, KINDS_OF_WEIGHTS[kind])


def test_boolean_weights_choose_atoms():
    chosen = WEIGHTS > 4
    expected = he.heat_profile(POINTS[chosen], angles=ANGLES).gess
    assert_allclose(he.heat_profile(POINTS, chosen, angles=ANGLES).gess, expected, rtol=1e-12)


KINDS_OF_POINTS = {
    "lists": POINTS.tolist(),
    "tuples": tuple(map(tuple, POINTS)),
    "rows": list(POINTS),
    "strided": np.repeat(POINTS, 2, axis=0)[::2],
    "reversed": POINTS[::-1].copy()[::-1],
    "longdouble": POINTS.astype(np.longdouble),
    "big-endian": POINTS.astype(">f8"),
    "unmasked": np.ma.masked_array(POINTS, mask=False),
}


@pytest.mark.parametrize("kind", KINDS_OF_POINTS)
def test_every_kind_of_points_means_the_same(kind):
    assert_as_plain(KINDS_OF_POINTS[kind])


@pytest.mark.parametrize("dim", [1, 2, 3, 9])
@pytest.mark.parametrize("order", ["F", "columns"])
def test_memory_order_does_not_matter(dim, order):
    x = he.samplers.uniform(N, dim, rng=3)
    expected = he.heat_profile(x.copy(), WEIGHTS, angles=ANGLES).gess
    other = np.asfortranarray(x) if order == "F" else np.repeat(x, 2, axis=1)[:, ::2]
    for writeable in (True, False):
        other.flags.writeable = writeable
        assert_allclose(he.heat_profile(other, WEIGHTS, angles=ANGLES).gess, expected, rtol=1e-12)
        ratio = expected / he.heat_profile(x, angles=ANGLES).gess
        assert he.gess_ratio(other, WEIGHTS, angle=ANGLES[1]) == pytest.approx(ratio[1], rel=1e-7)
    assert_array_equal(other, x)


def test_integer_points_are_accepted():
    axes = he.heat_profile([[0, 0, 1], [0, 1, 0]], angles=ANGLES).gess
    assert_allclose(axes, he.heat_profile([[0.0, 0, 1], [0, 1.0, 0]], angles=ANGLES).gess, rtol=1e-14)


@pytest.mark.parametrize("method", ["spectral", "pairwise"])
def test_float32_points_are_corrected_to_unit_length(method):
    single = POINTS.astype(np.float32)
    double = single.astype(float)
    double /= np.linalg.norm(double, axis=1, keepdims=True)
    found, expected = (he.heat_profile(x, WEIGHTS, angles=ANGLES, method=method).gess for x in (single, double))
    assert_allclose(found, expected, rtol=1e-12)
    assert_allclose(found, EXPECTED, rtol=1e-6)


def test_a_norm_within_rounding_is_corrected():
    stretch = 1 + np.linspace(-9e-7, 9e-7, N)
    assert_as_plain(POINTS * stretch[:, None])


def test_norms_corrected_by_block_are_those_of_the_whole_array():
    rng = np.random.default_rng(0)
    x = he.samplers.uniform(70_001, rng=rng) * (1 + 5e-7 * rng.uniform(-1, 1, (70_001, 1)))
    expected = x / np.sqrt((x[:, 0] ** 2 + x[:, 1] ** 2) + x[:, 2] ** 2)[:, None]
    weights = rng.random(70_001)
    measure = he.Measure(x, weights)
    np.testing.assert_array_equal(measure.points, expected)
    np.testing.assert_array_equal(measure.weights, weights / weights.sum())


@pytest.mark.parametrize("row", [3, 69_999])
def test_one_bad_weight_of_many_is_named(row):
    x, weights = he.samplers.uniform(70_000, rng=0), np.ones(70_000)
    for bad in (np.nan, -1, np.inf):
        weights[row] = bad
        with pytest.raises(he.InputError, match=rf"row {row} is {bad} \(1 of 70000 rows\)"):
            he.Measure(x, weights)


def test_signed_zeros_are_one_coordinate():
    pair = np.array([[0.0, 0.0, 1.0], [-0.0, 0.0, 1.0]])
    assert Measure.of(pair).coalesced().n == 1
    assert he.gess(pair, time=1e-12) == 1.0


def test_coalescing_adds_masses_and_drops_zeros():
    atoms = Measure.of(np.eye(3)[[0, 1, 0, 2, 1]], [1, 2, 3, 0, 4]).coalesced()
    order = np.argsort(atoms.weights)
    assert_array_equal(atoms.points[order], np.eye(3)[[0, 1]])
    assert_allclose(atoms.weights[order], [0.4, 0.6], rtol=1e-15)


def test_pandas_columns_are_accepted():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(POINTS, columns=list("xyz"))
    assert_as_plain(frame, pd.Series(WEIGHTS))
    assert_as_plain(frame, pd.Series(WEIGHTS, index=np.arange(N)[::-1]))
    assert_as_plain(frame, pd.DataFrame({"w": WEIGHTS.astype(int)}))
    assert_as_plain(pd.Series(POINTS.tolist()), WEIGHTS)
    assert_as_plain(pd.Series(list(POINTS)), WEIGHTS)


@pytest.mark.parametrize("dtype", ["Float64", "double[pyarrow]"])
def test_pandas_nullable_columns_are_accepted(dtype):
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    assert_as_plain(POINTS, pd.Series(WEIGHTS).astype(dtype))
    assert_as_plain(pd.DataFrame(POINTS, columns=list("xyz")).astype(dtype), WEIGHTS)


def test_polars_columns_are_accepted():
    pl = pytest.importorskip("polars")
    assert_as_plain(pl.DataFrame(POINTS, schema=list("xyz")), pl.Series(WEIGHTS))
    assert_as_plain(pl.Series(POINTS.tolist()), pl.DataFrame({"w": WEIGHTS}))
    assert_as_plain(pl.Series(POINTS.tolist(), dtype=pl.Array(pl.Float64, 3)), pl.Series(WEIGHTS.astype(int)))


def test_pyarrow_columns_are_accepted():
    pa = pytest.importorskip("pyarrow")
    columns = {name: POINTS[:, k] for k, name in enumerate("xyz")}
    assert_as_plain(pa.table(columns), pa.array(WEIGHTS))
    assert_as_plain(pa.record_batch(columns), pa.chunked_array([WEIGHTS[:7], WEIGHTS[7:]]))
    assert_as_plain(pa.array(POINTS.tolist()), WEIGHTS)
    assert_as_plain(pa.chunked_array([POINTS[:5].tolist(), POINTS[5:].tolist()]), WEIGHTS)
    assert_as_plain(pa.array(POINTS.tolist(), type=pa.list_(pa.float64(), 3)), WEIGHTS)


# What must be refused.


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_point_that_is_not_finite_is_named(value, dtype):
    points = changed(POINTS, (17, 1), value).astype(dtype)
    refused(rf"points must be finite, but row 17 is \[.*{value}.*\] \(1 of 40 rows\); drop or fix", points)


@pytest.mark.parametrize(
    ("value", "shown"), [(math.nan, "nan"), (math.inf, "inf"), (-0.5, r"-0\.5"), (-5e-324, "-5e-324")]
)
def test_a_bad_weight_is_named(value, shown):
    weights = changed(WEIGHTS, [5, 9], value)
    message = rf"weights must be finite and not negative, but row 5 is {shown} \(2 of 40 rows\); drop or fix"
    refused(message, POINTS, weights)
    with pytest.raises(he.InputError, match=message):
        he.baselines.ess(weights)


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_bad_log_weight_is_named(value):
    logs = changed(np.log(WEIGHTS), 5, value)
    refused(rf"log_weights must be finite, or -inf for a zero weight, but row 5 is {value}", POINTS, log_weights=logs)


def test_weights_without_any_mass_are_refused():
    refused("weights sum to zero over 40 points; at least one must be positive", POINTS, np.zeros(N))
    refused("log_weights are all -inf over 40 points; at least one", POINTS, log_weights=np.full(N, -np.inf))


def test_weights_of_the_wrong_shape_are_refused():
    refused("one entry per point: there are 40 points but 39 weights", POINTS, WEIGHTS[1:])
    refused("there are 40 points but 1 log_weights", POINTS, log_weights=[0.0])
    refused(r"weights must have shape \(n,\), but have shape \(1, 40\)", POINTS, WEIGHTS[None])
    refused(r"weights must have shape \(n,\), but have shape \(40, 2\)", POINTS, np.ones((N, 2)))
    refused(r"weights must have shape \(n,\), but have shape \(\)", POINTS, 2.0)
    refused("weights are empty; at least one point is needed", POINTS, [])
    refused("give weights or log_weights, not both", POINTS, WEIGHTS, log_weights=WEIGHTS)


def test_no_points_are_refused():
    refused("points are empty; at least one point is needed", np.empty((0, 3)))
    refused(r"points must be an \(n, d\) array .* shape \(0,\); give one point per row", [])


def test_points_of_the_wrong_shape_are_refused():
    refused(r"\(n, d\) array of unit vectors .* shape \(3,\); give one point per row", [0, 0, 1])
    refused(
        r"shape \(n, 3\), but have shape \(3,\); for one point use points\[None, :\]", [0, 0, 1], space=he.Sphere(2)
    )
    refused(r"have shape \(2, 3, 3\), but are neither rotation matrices .* nor unit vectors", np.ones((2, 3, 3)))
    refused(r"d >= 2, but have shape \(4, 1\)", np.ones((4, 1)))
    refused(r"on Sphere\(3\) must have shape \(n, 4\), but have shape \(40, 3\)", POINTS, space=he.Sphere(3))


def test_points_off_the_sphere_are_refused_with_their_distance():
    points = POINTS.copy()
    points[[3, 11]] *= [[1.00001], [0.5]]
    message = (
        r"points on Sphere\(2\) must be unit vectors \(norm within 1e-06 of 1\), but row 3 has norm 1\.00001 "
        r"\(2 of 40 rows, worst row 11 with 0\.5\); .* numpy\.linalg\.norm"
    )
    refused(message, points)
    refused("row 3 has norm 1.00000", changed(POINTS, 3, POINTS[3] * (1 + 2e-6)))
    refused("row 3 is zero and has no direction; drop it", changed(POINTS, 3, 0.0))


def test_float16_points_may_be_off_by_their_rounding_only():
    half = POINTS.astype(np.float16)
    assert he.Measure(half).n == N
    refused(r"must be unit vectors \(norm within 0.001 of 1\)", (half * np.float16(1.01)))


def test_numbers_of_the_wrong_kind_are_refused():
    wrong = {"error": he.InputTypeError}
    refused("points must be real numbers, but are complex .* pass real coordinates", POINTS + 0j, **wrong)
    refused("points must be real numbers, but have dtype <U.*'a'.* convert them first", [["a", "b"]], **wrong)
    refused("points must be real numbers, but have dtype object", POINTS.astype(object), **wrong)
    refused("points must be real numbers, but have dtype object .*None", None, **wrong)
    refused("weights must be real numbers, but have dtype <U.* convert", POINTS, ["1"] * N, **wrong)
    refused("weights must be real numbers, but are complex", POINTS, WEIGHTS + 0j, **wrong)
    refused("weights must be real numbers, but have dtype object", POINTS, WEIGHTS.astype(object), **wrong)
    refused("angles must be real numbers, but have dtype <U", POINTS, angles=["20"], **wrong)
    assert issubclass(he.InputTypeError, TypeError)
    assert issubclass(he.InputTypeError, ValueError)


def test_ragged_rows_are_refused():
    refused("points: rows have different lengths .* every row must have the same", [[1.0, 0, 0], [0.0, 1]])
    pd = pytest.importorskip("pandas")
    refused("row 1 holds 2 numbers, but row 0 holds 3; drop or fix", pd.Series([[1.0, 0, 0], [0.0, 1]]))
    refused("row 1 holds nothing, but row 0 holds 3; drop or fix", pd.Series([[1.0, 0, 0], None]))


def test_masked_and_missing_rows_are_refused():
    points, weights = np.ma.masked_array(POINTS.copy()), np.ma.masked_array(WEIGHTS.copy())
    points[4, 2] = weights[6] = np.ma.masked
    refused("points: row 4 is masked; drop or fill masked rows first", points)
    refused("weights: row 6 is masked; drop or fill masked rows first", POINTS, weights)
    pl = pytest.importorskip("polars")
    refused("weights must be finite .* but row 1 is nan", np.eye(3), pl.Series([1.0, None, 2.0]))


@pytest.mark.parametrize("kind", [np.int64, np.uint64])
def test_integers_that_float64_would_round_are_refused_by_their_row(kind):
    exact, rounded = np.array([3, 2**53, 2**60], kind), np.array([3, 2**53, 2**53 + 1], kind)
    assert he.Measure(np.eye(3), exact).weights[2] == 2**60 / (3 + 2**53 + 2**60)
    refused(r"weights: row 2 holds 9007199254740993, .* dtype=float", np.eye(3), rounded)
    assert he.Measure(np.eye(3), np.asarray(rounded, dtype=float)).n == 3  # what the message advises
    refused(r"points: row 2 holds 9007199254740993", rounded[:, None], space=he.Torus(1, periods=7), angles=None)
    for largest in (2**63 - 1, 2**64 - 1):
        refused(f"weights: row 0 holds {largest}", np.eye(2), np.array([largest, 1], np.uint64))
    refused(rf"weights: row 1 holds -{2**63 - 1}", np.eye(2), np.array([1, -(2**63) + 1]))


def test_missing_values_in_frames_with_one_name_for_two_columns_are_refused():
    pd = pytest.importorskip("pandas")
    for missing in (None, pd.NA):
        frame = pd.DataFrame([[1.0, 0.0, 0.0], [0.0, missing, 0.0]], columns=["x", "x", "z"])
        refused("the data frame has 2 columns 'x'; rename or drop one of them", frame)


@pytest.mark.parametrize("name", ["angles", "times", "resolutions"])
@pytest.mark.parametrize(("value", "shown"), [(0.0, "0"), (-3.0, "-3"), (math.nan, "nan"), (math.inf, "inf")])
def test_a_scale_must_be_positive_and_finite(name, value, shown):
    scales = {"angles": None, name: [0.5, value]}
    refused(rf"{name} must be positive and finite, but entry 1 is {shown}; remove or correct it", POINTS, **scales)
    with pytest.raises(he.InputError, match=f"{name} must be positive and finite, but entry 0 is {shown}"):
        he.gess(POINTS, **{name[:-1]: value})


@pytest.mark.parametrize("scale", [{"angles": 1e-170}, {"times": 1e-320}, {"resolutions": 1e-170}, {"angles": 1e160}])
def test_scales_at_the_ends_of_floating_point_are_refused(scale):
    (name,) = scale
    with pytest.raises(he.InputError, match=rf"{name} must be such that the time t lies .* but entry 0 is"):
        he.heat_profile(POINTS, **scale)


def test_scales_of_the_wrong_shape_are_refused():
    refused(r"angles must be a number or a one-dimensional list, but have shape \(1, 2\)", POINTS, angles=[[1, 2]])
    refused(r"angles must be a number or a one-dimensional list, but have shape \(0,\)", POINTS, angles=[])
    with pytest.raises(he.InputError, match=r"exactly one scale, a number: .* found shape \(2,\)"):
        he.gess(POINTS, angle=[1, 2])


def test_at_most_one_scale_may_be_given():
    refused("at most one of angles, times, resolutions, but found angles and times", POINTS, times=[1.0])
    with pytest.raises(he.InputError, match="exactly one scale, a number: angle=, time= or resolution=; found 2"):
        he.gess(POINTS, angle=3, resolution=3)
    for measure in (he.gess, he.gess_ratio):
        with pytest.raises(
            he.InputError, match="exactly one scale, a number: angle=, time= or resolution=; found none"
        ):
            measure(POINTS, WEIGHTS)


@pytest.mark.parametrize("value", [180.0, 500.0])
def test_a_resolution_beyond_the_diameter_is_refused(value):
    message = rf"resolutions must be less than the diameter of Sphere\(2\), 180 degrees, but entry 1 is {value:g}"
    refused(message, POINTS, angles=None, resolutions=[20.0, value])


def test_an_unknown_method_is_refused():
    refused("method must be one of 'auto', 'spectral', 'pairwise', 'local', but is 'fft'", POINTS, method="fft")
    refused(r"Sphere\(4\) has no fast transform; use method='pairwise' or 'auto'", np.eye(5), method="spectral")


def test_an_engine_out_of_its_range_says_so():
    precise = {"error": he.PrecisionError}
    refused(
        "neighbours do not suffice at angle 60 degrees, .* use method='auto'",
        POINTS,
        angles=60,
        method="local",
        **precise,
    )
    refused(
        "at angle 0.01 degrees needs a degree above the limit of 4095",
        POINTS,
        angles=0.01,
        method="spectral",
        **precise,
    )


@pytest.mark.parametrize("dim", [9, 40, 383])
def test_the_finest_scales_answer_a_tight_tolerance_with_an_honest_error(dim):
    found = he.heat_profile(np.eye(dim + 1)[:3], times=[1e-8], rtol=1e-12)
    assert found.gess[0] == pytest.approx(3, rel=1e-12)
    assert 0 < found.error[0] < 1e-10


@pytest.mark.parametrize("rtol", [0, -1e-3, 1, 1e-17, math.nan, "tight", None, True])
def test_a_bad_rtol_is_refused(rtol):
    refused(r"rtol must be a number from 1e-15 to 1, but is", POINTS, rtol=rtol)


def test_a_space_must_be_a_space():
    refused("space must be .* but (is|found) 'sphere'", POINTS, space="sphere")
    with pytest.raises(he.InputError, match=r"Sphere\(dim\) needs a whole number dim >= 1, but found 0"):
        he.Sphere(0)


def test_angles_warn_above_ten_dimensions_and_resolutions_do_not():
    with pytest.warns(he.ScaleWarning, match=r"angles mislead on Sphere\(11\).* give resolutions="):
        he.heat_profile(np.eye(12), angles=[20])
    with pytest.warns(he.ScaleWarning, match="angles mislead"):
        he.gess(np.eye(12), angle=20)
    assert he.gess(np.eye(12), resolution=20) > 11.99
    assert he.gess(np.eye(11), angle=20) > 10.9


def test_a_measure_does_not_change_with_the_array_it_was_made_of():
    for points in (POINTS.copy(), POINTS.astype(np.float32)):
        measure = he.Measure(points)
        before = he.gess(measure, angle=20)
        points[:] = points[0]
        assert he.gess(measure, angle=20) == before


@pytest.mark.parametrize(
    ("space", "points"),
    [
        (he.Hyperbolic(2), [[1.0, 0, 0], [5, 0, 0]]),
        (he.Hyperbolic(2), [[1.0, 0, 0], [1e200, 0, 0]]),
        (he.Torus(2, periods=[1, 2]), [[0.0, 0], [1e40, 0]]),
        (he.Torus(2), [[0.0, 0], [100, 0]]),
        (he.Rotations(), [np.eye(3), 2 * np.eye(3)]),
        (he.Rotations(), [np.eye(3), -np.eye(3)]),
        (he.Product(he.Sphere(2), he.Circle()), ([[0, 0, 1.0], [0, 0, 3]], [0.0, 0])),
        (he.Graph(np.ones((3, 3)) - np.eye(3)), [0, 7]),
        (he.Euclidean(2), [[0.0, 0], [np.nan, 0]]),
        (None, np.ma.masked_greater([[0.0, 0, 1], [0, 0, 2]], 1.5)),
    ],
)
def test_errors_of_points_carry_their_row(space, points):
    with pytest.raises(he.InputError, match=r"\brow 1\b") as caught:
        he.Measure(points, space=space)
    assert caught.value.row == 1
