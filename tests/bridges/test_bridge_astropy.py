"""Coordinates, quantities and sky maps of astropy give the numbers of plain arrays."""

from __future__ import annotations

import numpy as np
import plain
import pytest

import heatess as he

u = pytest.importorskip("astropy.units")
table = pytest.importorskip("astropy.table")
healpix = pytest.importorskip("astropy_healpix")
coordinates = pytest.importorskip("astropy.coordinates")

N = 80


@pytest.fixture
def sky():
    """Right ascension and declination in degrees, and weights."""
    rng = np.random.default_rng(3)
    return rng.uniform(0, 360, N), np.degrees(np.arcsin(rng.uniform(-1, 1, N))), rng.gamma(0.5, size=N)


@pytest.fixture
def expected(sky):
    ra, dec, weights = sky
    return plain.gess(plain.overlaps_on_sphere(plain.vectors(ra, dec), 15), weights)


# Coordinates.


@pytest.mark.parametrize("frame", ["icrs", "galactic", "fk5", "barycentrictrueecliptic"])
def test_sky_coordinates_are_points_in_any_frame_because_frames_are_rotated(sky, expected, frame):
    ra, dec, weights = sky
    points = coordinates.SkyCoord(ra * u.deg, dec * u.deg).transform_to(frame)
    assert he.gess(points, weights, angle=15) == pytest.approx(expected, rel=1e-8)


def test_sky_coordinates_with_distances_are_directions(sky, expected):
    ra, dec, weights = sky
    points = coordinates.SkyCoord(ra * u.deg, dec * u.deg, distance=np.arange(1, N + 1) * u.kpc)
    assert he.gess(points, weights, angle=15) == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize("unit", ["deg", "rad", "hourangle", "arcmin", "arcsec"])
def test_angles_are_converted_from_every_unit(sky, expected, unit):
    ra, dec, weights = sky
    lon, lat = (ra * u.deg).to(unit), (dec * u.deg).to("arcmin")
    assert he.gess(he.from_lonlat(lon, lat), weights, angle=15) == pytest.approx(expected, rel=1e-8)
    spherical = he.from_spherical(90 * u.deg - lat, lon)
    assert he.gess(spherical, weights, angle=15) == pytest.approx(expected, rel=1e-8)
    for frame in (table.QTable({"ra": lon, "dec": lat, "w": weights}), {"ra": lon, "dec": lat, "w": weights}):
        assert he.gess(frame, angle=15) == pytest.approx(expected, rel=1e-8)


def test_columns_of_a_table_keep_their_unit(sky, expected):
    ra, dec, weights = sky
    frame = table.Table({"a": table.Column(ra / 15, unit="hourangle"), "d": table.Column(dec, unit="deg")})
    assert he.gess(he.from_lonlat(frame["a"], frame["d"]), weights, angle=15) == pytest.approx(expected, rel=1e-8)


def test_periodic_coordinates_are_converted():
    degrees = np.random.default_rng(0).uniform(-180, 180, 40)
    expected = plain.gess(plain.overlaps_on_circle(np.radians(degrees), 20))
    for space in (he.Circle(), he.Circle(units="deg"), he.Circle(units="rad")):
        for unit in ("deg", "rad", "arcmin"):
            assert he.gess((degrees * u.deg).to(unit), space=space, angle=20) == pytest.approx(expected, rel=1e-8)


# Scales.


@pytest.mark.parametrize("unit", ["deg", "rad", "hourangle", "arcmin"])
def test_scales_are_converted_from_every_unit(sky, unit):
    points = plain.vectors(*sky[:2])
    overlaps = [plain.overlaps_on_sphere(points, angle) for angle in (5, 15)]
    profile = he.heat_profile(points, angles=([5, 15] * u.deg).to(unit))
    np.testing.assert_allclose(profile.gess, [plain.gess(s) for s in overlaps], rtol=1e-8)
    assert profile.at(angle=(15 * u.deg).to(unit)).gess == pytest.approx(profile.gess[1], rel=1e-8)
    resolutions = he.heat_profile(points, resolutions=([5, 15] * u.deg).to(unit)).gess
    np.testing.assert_allclose(resolutions, he.heat_profile(points, resolutions=[5, 15]).gess, rtol=1e-8)
    criterion = he.ResamplingCriterion(he.Sphere(2), (15 * u.deg).to(unit))
    assert criterion.ratio(points, sky[2]) == pytest.approx(plain.gess_ratio(overlaps[1], sky[2]), rel=1e-8)


def test_weights_may_have_a_unit_because_it_cancels(sky, expected):
    points = plain.vectors(*sky[:2])
    assert he.gess(points, sky[2] * u.Jy, angle=15) == pytest.approx(expected, rel=1e-8)


def test_plain_numbers_of_astropy_are_plain(sky, expected):
    points = plain.vectors(*sky[:2])
    assert he.gess(points * u.one, sky[2] * u.percent, angle=15) == pytest.approx(expected, rel=1e-8)
    log_weights = u.Quantity(np.log(sky[2]))
    assert he.gess(points, log_weights=log_weights, angle=15) == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda x: he.gess(x, angle=5 * u.m), r"angles are in m, which is no angle; give an angle, such as 5 \* u.deg"),
        (
            lambda x: he.gess(x * u.kpc, angle=5),
            r"points are in kpc, .* without a unit, such as values.to_value\('kpc'\)",
        ),
        (lambda x: he.gess(x, time=1 * u.s), r"times are in s, which is no plain number"),
        (lambda x: he.gess(x, log_weights=np.ones(N) * u.m, angle=5), "log_weights are in m, which is no plain"),
        (lambda x: he.from_lonlat(np.ones(3) * u.m, np.ones(3) * u.deg), "lon are in m, which is no angle"),
        (
            lambda x: he.gess(x, space=he.Euclidean(3), resolution=5 * u.deg),
            "resolutions are in deg, which is no plain",
        ),
    ],
)
def test_units_of_another_kind_are_refused_and_never_dropped(sky, call, words):
    with pytest.raises(he.InputTypeError, match=words):
        call(plain.vectors(*sky[:2]))


# Maps.


def centres(nside, order):
    return np.stack(healpix.healpix_to_xyz(np.arange(12 * nside**2), nside, order=order), axis=-1)


@pytest.mark.parametrize("order", ["ring", "nested"])
def test_a_map_is_its_pixels(order):
    values = np.random.default_rng(0).gamma(0.2, size=192)
    found = he.from_healpix(values, order=order)
    expected = plain.gess(plain.overlaps_on_sphere(centres(4, order), 20), values)
    assert he.gess(found, angle=20) == pytest.approx(expected, rel=1e-8)
    assert he.gess(he.from_healpix(values / u.sr, order=order), angle=20) == pytest.approx(expected, rel=1e-8)
    assert found.origin.about == "sky"


def multi_order():
    """A sky in ligo.skymap's layout, UNIQ and PROBDENSITY: one of the twelve pixels twice divided, the rest whole."""
    levels = np.repeat([0, 2], [11, 16])
    pixels = np.concatenate([np.delete(np.arange(12), 4), 4 * 16 + np.arange(16)])
    density = np.random.default_rng(1).gamma(0.3, size=27)
    order = np.random.default_rng(2).permutation(27)
    xyz = np.stack(healpix.healpix_to_xyz(pixels, 2**levels, order="nested"), axis=-1)
    shares = density * 4 * np.pi / (12 * 4.0**levels)
    frame = table.QTable({"UNIQ": healpix.level_ipix_to_uniq(levels, pixels)[order]})
    frame["PROBDENSITY"] = density[order] / u.sr
    frame["DISTMU"] = np.ones(27) * u.Mpc
    frame.meta = {"PIXTYPE": "HEALPIX", "ORDERING": "NUNIQ", "COORDSYS": "C", "MOCORDER": 2, "INDXSCHM": "EXPLICIT"}
    return frame, plain.gess(plain.overlaps_on_sphere(xyz, 60), shares)


def test_a_multi_order_map_weighs_density_by_area(tmp_path):
    frame, expected = multi_order()
    assert he.gess(frame, angle=60) == pytest.approx(expected, rel=1e-8)
    assert he.gess(frame.to_pandas(), angle=60) == pytest.approx(expected, rel=1e-8)
    assert he.gess({name: frame[name] for name in frame.colnames}, angle=60) == pytest.approx(expected, rel=1e-8)
    frame.write(tmp_path / "sky.multiorder.fits")
    assert he.gess(he.read(tmp_path / "sky.multiorder.fits"), angle=60) == pytest.approx(expected, rel=1e-8)
    assert he.gess(table.Table.read(tmp_path / "sky.multiorder.fits"), angle=60) == pytest.approx(expected, rel=1e-8)


def test_numbers_of_the_finest_pixels_are_exact():
    pixels = np.array([2**59 + 1, 2**59 + 3])
    frame = table.Table({"UNIQ": healpix.level_ipix_to_uniq(29, pixels), "PROBDENSITY": [1.0, 1.0]})
    expected = np.stack(healpix.healpix_to_xyz(pixels, 2**29, order="nested"), axis=-1)
    np.testing.assert_array_equal(he.Measure(frame).points, expected)


def test_overlapping_pixels_are_refused():
    frame = table.Table({"UNIQ": healpix.level_ipix_to_uniq([0, 1], [0, 2]), "PROBDENSITY": [1.0, 1.0]})
    with pytest.raises(he.InputError, match=r"the pixels in rows 0 and 1 \(counted from 0\) overlap"):
        he.Measure(frame)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (np.ones(13), r"12 nside\^2 of them .* but has 13; the nearest are 12 \(nside 1\) and 48 \(nside 2\)"),
        (np.ones((12, 2)), "give one map"),
        ([np.nan] * 11 + [-1.6375e30], "no pixel has a value"),
        ([1.0] * 11 + [-999.0], "pixel 11 is -999 .*make it nan"),
        ([-1.0] + [-2.0] * 11, r"pixel 0 is -1 .* give numpy.exp\(values - values.max\(\)\)"),
    ],
)
def test_broken_maps_are_refused(values, words):
    with pytest.raises(he.InputError, match=words):
        he.from_healpix(values, order="ring")


@pytest.mark.parametrize("empty", [-1.6375e30, np.nan])
def test_pixels_without_data_are_left_out_and_counted(empty):
    found = he.from_healpix([1.0] * 11 + [empty], order="ring")
    np.testing.assert_array_equal(found.points, centres(1, "ring")[:11])
    assert found.origin.dropped == 1
    expected = plain.gess(plain.overlaps_on_sphere(centres(1, "ring")[:11], 60))
    assert he.gess(found, angle=60) == pytest.approx(expected, rel=1e-8)


def test_the_order_of_a_map_is_never_guessed():
    with pytest.raises(he.InputError, match="order must be 'ring' or 'nested', but is 'nest'"):
        he.from_healpix(np.ones(12), order="nest")
