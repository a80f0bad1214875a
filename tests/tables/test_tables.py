"""Columns are recognised where names make it certain; what names and numbers cannot tell is refused with the remedy."""

from __future__ import annotations

import numpy as np
import pytest

import heatess as he
from heatess.tables.column_meaning import Reading, meaning_of
from heatess.tables.column_names import Colatitude, DecInc, LonLat, RaDec, Torsions, Vectors
from heatess.tables.points_and_weights import take
from heatess.tables.rotation_columns import Poses, Quaternions, Relion
from heatess.tables.table import Columns, Rows

N = 50


@pytest.fixture
def rng():
    return np.random.default_rng(11)


def table(names, columns=None) -> Columns:
    columns = np.zeros((len(names), N)) if columns is None else columns
    return Columns(dict(zip(names, columns, strict=True)), "f.csv")


def taken(source, **reading):
    [found] = take(source, Reading(**reading))
    return he.Measure.taken(found)


def refused(source, **reading) -> str:
    with pytest.raises(he.InputError) as caught:
        list(take(source, Reading(**reading)))
    return str(caught.value)


@pytest.mark.parametrize(
    ("names", "kind", "columns"),
    [
        (["id", "Lon", "LAT"], LonLat, ["Lon", "LAT"]),
        (["latitude_deg", "longitude_deg"], LonLat, ["longitude_deg", "latitude_deg"]),
        (["lng", "lat", "population"], LonLat, ["lng", "lat"]),
        (["RAJ2000", "DEJ2000", "mag"], RaDec, ["RAJ2000", "DEJ2000"]),
        (["RAJ2000", "DEJ2000", "RADEG", "DEDEG"], RaDec, ["RADEG", "DEDEG"]),
        (["RAICRS", "DEICRS", "pmRA", "pmDE"], RaDec, ["RAICRS", "DEICRS"]),
        (["rightascension", "declination"], RaDec, ["rightascension", "declination"]),
        (["dir_dec", "dir_inc", "site"], DecInc, ["dir_dec", "dir_inc"]),
        (["dec", "inc"], DecInc, ["dec", "inc"]),
        (["colat", "lon"], Colatitude, ["colat", "lon"]),
        (["x", "y", "z", "time"], Vectors, ["x", "y", "z"]),
        (["nx", "ny", "nz"], Vectors, ["nx", "ny", "nz"]),
        (["q_w", "q_x", "q_y", "q_z"], Quaternions, ["q_x", "q_y", "q_z", "q_w"]),
        (["orientation.x", "orientation.y", "orientation.z", "orientation.w"], Quaternions, None),
        (["t", "tx", "ty", "tz", "qx", "qy", "qz", "qw"], Quaternions, ["qx", "qy", "qz", "qw"]),
        (["rlnAngleRot", "rlnAngleTilt", "rlnAnglePsi", "rlnImageName"], Relion, None),
        (["phi", "psi"], Torsions, ["phi", "psi"]),
        (["phi", "psi", "chi1"], Torsions, ["phi", "psi", "chi1"]),
        ([f"dim_{k}" for k in range(12)], Vectors, [f"dim_{k}" for k in range(12)]),
    ],
)
def test_names_tell_what_columns_are(names, kind, columns):
    found = meaning_of(table(names), Reading()).kind
    assert type(found) is kind
    assert columns is None or found.columns == columns


def test_a_pose_takes_positions_as_well():
    names = ["t", "tx", "ty", "tz", "qx", "qy", "qz", "qw"]
    found = meaning_of(table(names), Reading(space="pose:1"))
    assert type(found.kind) is Poses
    assert "positions tx, ty, tz left out" in meaning_of(table(names), Reading()).note


@pytest.mark.parametrize(
    ("names", "parts"),
    [
        (["theta", "phi"], ["columns={'colat': 'theta', 'azimuth': 'phi'}", "space='torus'"]),
        (["q0", "q1", "q2", "q3"], ["'qw': 'q0'", "'qw': 'q3'"]),
        (["site_lon", "site_lat"], ["did you mean columns={'lon': 'site_lon', 'lat': 'site_lat'}?"]),
        (["lon", "lat", "x", "y", "z"], ["(lon, lat) and (x, y, z)", "columns=('x', 'y', 'z')"]),
        (["a", "b"], ["columns={'lon': 'A', 'lat': 'B'}", "found 2 columns: a, b"]),
        ([f"c{k}x" for k in range(384)], ["found 384 columns", "..."]),
    ],
)
def test_what_is_not_clear_is_refused_with_the_words_that_make_it_clear(names, parts):
    message = refused(table(names))
    for part in parts:
        assert part in message
    assert len(message) < 500


def test_each_choice_that_a_message_offers_can_be_made(rng):
    lon, lat = rng.uniform(-180, 180, N), rng.uniform(-80, 80, N)
    angles = table(["theta", "phi"], np.radians([90 - lat, lon]))
    truth = he.from_lonlat(lon, lat, units="deg")
    found = taken(angles, columns={"colat": "theta", "azimuth": "phi"}, units="rad")
    np.testing.assert_allclose(found.points, truth, atol=1e-12)
    on_torus = taken(angles, space="torus", columns=("theta", "phi"), units="rad")
    assert on_torus.space == he.Torus(2, units="rad")
    turns = he.Rotations().uniform(N, rng)
    for order in ("0123", "1230"):
        names = {role: f"q{k}" for role, k in zip(("qx", "qy", "qz", "qw"), order, strict=True)}
        columns = dict(zip(names.values(), turns.T, strict=True))
        found = taken(Columns(columns, "q.csv"), columns=names)
        np.testing.assert_allclose(he.Rotations().distance(found.points, turns), 0, atol=1e-7)


# Numbers.


def test_degrees_and_radians_are_told_apart_only_where_that_is_certain(rng):
    lon, lat = rng.uniform(-180, 180, N), rng.uniform(-80, 80, N)
    truth = he.from_lonlat(lon, lat, units="deg")
    np.testing.assert_allclose(taken(table(["lon", "lat"], [lon, lat])).points, truth)
    small = table(["ra", "dec"], np.radians([lon, lat]))
    assert "add units='deg' or units='rad'" in refused(small)
    np.testing.assert_allclose(taken(small, units="rad").points, truth, atol=1e-12)
    stated = Columns({"ra": np.radians(lon), "dec": np.radians(lat)}, "f.h5", units={"ra": "rad", "dec": "rad"})
    np.testing.assert_allclose(taken(stated).points, truth, atol=1e-12)


def test_in_pieces_the_unit_is_refused_after_the_last(rng):
    small = table(["lon", "lat"], rng.uniform(0, 1, (2, N)))
    pieces = take(small, Reading(), rows=20)
    assert sum(len(piece.points) for piece in (next(pieces), next(pieces), next(pieces))) == N
    with pytest.raises(he.InputError, match="degrees or radians"):
        next(pieces)


def test_right_ascension_in_hours_is_doubted(rng):
    hours = table(["ra", "dec"], [np.linspace(0, 23.9, N), np.linspace(-80, 80, N)])
    assert "could be hours; add units='hours'" in refused(hours)
    assert taken(hours, units="deg").n == N


def test_torsions_keep_their_unit(rng):
    degrees = rng.uniform(-180, 180, (2, N))
    found = taken(table(["phi", "psi"], degrees))
    assert found.space == he.Torus(2, units="deg")
    expected = he.gess(np.radians(degrees.T), space=he.Torus(2), angle=20)
    assert he.gess(found, angle=20) == pytest.approx(expected, rel=1e-12)
    assert "units='rad' for phases that were unwrapped" in refused(table(["phi", "psi"], 5 * degrees))
    for space, columns in ((he.Torus(2, units="deg"), degrees), (he.Torus(2), np.radians(degrees))):
        found = taken(table(["a", "b"], columns), space=space, columns=("a", "b"))
        assert he.gess(found, angle=20) == pytest.approx(expected, rel=1e-12)


def test_quaternions_and_weighted_directions_in_x_y_z_w_are_told_apart_by_their_length(rng):
    turns = he.Rotations().uniform(N, rng) * rng.choice([-1, 1], N)[:, None]
    assert taken(table("xyzw", turns.T)).space == he.Rotations()
    directions = np.column_stack([he.samplers.uniform(N, rng=rng), rng.random(N)])
    found = taken(table("xyzw", directions.T))
    assert found.space == he.Sphere(2)
    assert found.origin.weights == "w"


def test_relion_angles_are_zyz_in_degrees(rng):
    from scipy.spatial.transform import Rotation

    angles = np.column_stack([rng.uniform(-180, 180, N), rng.uniform(0, 180, N), rng.uniform(-180, 180, N)])
    found = taken(table(["rlnAngleRot", "rlnAngleTilt", "rlnAnglePsi"], angles.T))
    truth = Rotation.from_euler("ZYZ", angles, degrees=True)
    np.testing.assert_allclose(found.space.distance(found.points, truth), 0, atol=1e-7)


def test_an_array_without_names_is_rows_or_columns_by_number(rng):
    vectors = he.samplers.uniform(N, 5, rng=rng)
    assert taken(Rows(vectors, "v.npy")).space == he.Sphere(5)
    lon, lat = rng.uniform(-180, 180, N), rng.uniform(-80, 80, N)
    found = taken(Rows(np.column_stack([lat, lon]), "v.npy"), columns={"lon": "1", "lat": "0"})
    np.testing.assert_allclose(found.points, he.from_lonlat(lon, lat, units="deg"))
    assert taken(Rows(rng.normal(size=(N, 3)), "v.npy"), space="euclidean").space == he.Euclidean(3)


def test_missing_numbers_are_refused_or_dropped_and_counted(rng):
    columns = rng.uniform(0, 80, (3, N))
    columns[0, 3] = columns[2, 7] = np.nan
    source = table(["lon", "lat", "weight"], columns)
    message = refused(source)
    assert message.startswith("f.csv row 3 (counted from 0): column lon has no number (2 of 50 rows)")
    assert "drop_missing=True" in message
    found = taken(source, drop_missing=True)
    assert found.n == N - 2
    assert found.origin.dropped == 2
    assert "2 rows without a number dropped" in found.origin.description


def test_errors_of_a_space_name_the_place_in_the_file(rng):
    columns = he.samplers.uniform(N, rng=rng).T.copy()
    columns[:, 9] *= 1.01
    with pytest.raises(he.InputError, match=r"^f\.csv row 9 \(counted from 0\): points on Sphere\(2\) must be unit"):
        taken(table("xyz", columns))
    lat = table(["lon", "lat"], [np.full(N, 100.0), np.where(np.arange(N) == 4, 95.0, 10.0)])
    assert refused(lat).startswith(
        "f.csv row 4 (counted from 0): column lat is 95, but must lie between -90 and 90 deg"
    )


# Weights.


def test_weights_are_known_by_name_or_named(rng):
    lon, lat, w = rng.uniform(-180, 180, N), rng.uniform(-80, 80, N), rng.random(N)
    for name, reading in (("weight", {}), ("population", {"weights": "population"}), ("POP", {"weights": "pop"})):
        found = taken(table(["lon", "lat", name], [lon, lat, w]), **reading)
        np.testing.assert_allclose(found.weights, w / w.sum())
    logs = taken(table(["lon", "lat", "logw"], [lon, lat, np.log(w)]))
    np.testing.assert_allclose(logs.weights, w / w.sum())
    assert "choose with weights='w' or log_weights='logw'" in refused(
        table(["lon", "lat", "w", "logw"], [lon, lat, w, w])
    )
    assert taken(table(["lon", "lat", "w"], [lon, lat, w]), weights="none").ess == N
    for names in (["lon", "lat", "u", "v", "w"], ["lon", "lat", "U (m/s)", "V (m/s)", "W (m/s)"]):  # a velocity
        drifter = table(names, [lon, lat, w, w, w])
        assert taken(drifter).ess == N
        np.testing.assert_allclose(taken(drifter, weights=names[-1]).weights, w / w.sum())
    assert "did you mean 'population'?" in refused(
        table(["lon", "lat", "population"], [lon, lat, w]), weights="popluation"
    )


def test_a_data_frame_is_read_like_a_file(rng):
    import pandas

    lon, lat, w = rng.uniform(-180, 180, N), rng.uniform(-80, 80, N), rng.random(N)
    frame = pandas.DataFrame({"name": ["a"] * N, "lon": lon, "lat": lat, "population": w})
    expected = he.gess(he.from_lonlat(lon, lat, units="deg"), w, angle=10)
    assert he.gess(frame, weights="population", angle=10) == pytest.approx(expected, rel=1e-12)
    assert he.heat_profile(frame, w, angles=[10]).gess[0] == pytest.approx(expected, rel=1e-12)


def test_columns_of_unknown_names_are_taken_where_all_of_them_fit(rng):
    vectors = he.samplers.uniform(N, rng=rng)
    assert taken(table("abc", vectors.T), loose=True).space == he.Sphere(2)
    assert "no columns known" in refused(table("abc", vectors.T))
    assert "no columns known" in refused(table("abc", 2 * vectors.T), loose=True)
    degrees = rng.uniform(-180, 180, (1, N))
    found = taken(table(["heading"], degrees), space=he.Circle(units="deg"))
    assert found.space == he.Circle(units="deg")
    assert taken(table("abc", rng.normal(size=(3, N))), space=he.Euclidean(3)).space == he.Euclidean(3)
    assert "no columns known" in refused(table(["id", "u", "v"], rng.normal(size=(3, N))), space=he.Euclidean(2))


# Units that contradict each other or the numbers.


def test_units_of_the_format_that_contradict_the_numbers_are_refused(rng):
    ra, dec = rng.uniform(100, 200, N), rng.uniform(-1, 1, N)
    wrong = Columns({"ra": ra, "dec": dec}, "f.csv", units={"ra": "rad", "dec": "rad"})
    message = refused(wrong)
    assert message.startswith(f"f.csv row 0 (counted from 0): column ra is {ra[0]:.6g}, but must lie between")
    assert "say units='deg'" in message
    expected = he.from_lonlat(ra, dec, units="deg")
    np.testing.assert_allclose(taken(wrong, units="deg").points, expected, atol=1e-15)


@pytest.mark.parametrize("rows", [None, 7])
def test_two_units_are_refused_and_one_is_for_both(rng, rows):
    lon, lat = rng.uniform(1, 3, N), rng.uniform(-1, 1, N)
    for names, units in ((["lon_deg", "lat_rad"], {}), (["lon", "lat"], {"lon": "deg", "lat": "rad"})):
        mixed = Columns(dict(zip(names, (100 * lon, lat), strict=True)), "f.csv", units=units)
        with pytest.raises(he.InputError, match=r"is in degrees, but column .* in radians"):
            list(take(mixed, Reading(), rows))
    [*pieces] = take(table(["lon (rad)", "lat"], [lon, lat]), Reading(), rows)
    found = np.concatenate([piece.points for piece in pieces])
    np.testing.assert_allclose(found, he.from_lonlat(lon, lat, units="rad"), atol=1e-15)


@pytest.mark.parametrize("rows", [None, 7])
def test_hours_are_seen_in_pieces_too(rng, rows):
    hours, dec = rng.uniform(0, 23, N), rng.uniform(-80, 80, N)
    hours[3], dec[40] = 22, 75
    with pytest.raises(he.InputError, match="which could be hours; add units='hours'"):
        list(take(table(["ra", "dec"], [hours, dec]), Reading(), rows))
    assert len(list(take(table(["ra", "dec"], [hours, dec]), Reading(units="deg"), rows))) >= 1


def test_two_longitudes_are_a_choice():
    message = refused(table(["lon", "longitude", "lat"]))
    assert "columns={'lon': 'lon', 'lat': 'lat'} or columns={'lon': 'longitude', 'lat': 'lat'}" in message
