"""Odd files of every field: advice is followed to the letter, and the number at the end is checked with NumPy."""

from __future__ import annotations

import gzip
import json
import re
import shlex
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result
from scipy.spatial.transform import Rotation

import heatess as he
from heatess.base.messages import Message
from heatess.cli import main
from heatess.cli.messages import typed

N = 60


@pytest.fixture
def rng():
    return np.random.default_rng(21)


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def call(*words: str) -> Result:
        result = CliRunner().invoke(main, ["profile", *words, "--angles", "30", "--json", "-"])
        assert result.exception is None or isinstance(result.exception, SystemExit)
        return result

    return call


def write(name: str, header: str, columns) -> str:
    rows = np.column_stack(columns).tolist()
    Path(name).write_text("\n".join([header, *(",".join(map(repr, row)) for row in rows)]) + "\n")
    return name


def gess_of(result: Result) -> float:
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)["gess"][0]


def refused(result: Result, code: int = 3) -> str:
    """The one sentence on stderr of a command that did nothing."""
    assert result.exit_code == code, result.output
    assert result.stdout == ""
    return result.stderr.strip().splitlines()[-1]


def advised(sentence: str, first: str) -> list[str]:
    """The options in a sentence from *first* on, up to the next word that is no option or value."""
    return shlex.split(re.split(r" (?:if|for|or|and)\b|[;?)]|, ", sentence[sentence.index(first) :])[0])


def sky(rng, n=N):
    """Longitude and latitude in degrees, and gESS at 30 degrees of the vectors they are."""
    lon, lat = rng.uniform(-180, 180, n), np.degrees(np.arcsin(rng.uniform(-0.95, 0.95, n)))
    a, b = np.radians(lon), np.radians(lat)
    vectors = np.column_stack([np.cos(b) * np.cos(a), np.cos(b) * np.sin(a), np.sin(b)])
    return lon, lat, vectors, he.gess(vectors, angle=30)


def unit(rng, n: int, width: int) -> np.ndarray:
    rows = rng.normal(size=(n, width))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


# Units that are neither degrees nor radians.


@pytest.mark.parametrize(
    ("header", "factor", "remedy"),
    [
        ("lon_h,lat_deg", 15, "multiply it by 15"),
        ("ra_arcmin,dec_deg", 1 / 60, "divide it by 60"),
        ("ra_mas,dec_deg", 1 / 3.6e6, "divide it by 3600000"),
        ("longitude_e7,latitude", 1e-7, "divide it by 10000000"),
        ("lon [turns],lat [deg]", 360, "multiply it by 360"),
    ],
)
def test_names_that_state_another_unit_are_not_read_as_degrees(run, rng, header, factor, remedy):
    lon, lat, _, truth = sky(rng)
    write("a.csv", header, [(lon % 360) / factor, lat])
    sentence = refused(run("a.csv"))
    assert remedy in sentence
    word, number = re.search(r"(multiply|divide) it by (\d+)", sentence).groups()
    degrees = (lon % 360) / factor * (float(number) if word == "multiply" else 1 / float(number))
    write("b.csv", "lon,lat", [degrees, lat])
    assert gess_of(run("b.csv")) == pytest.approx(truth, rel=1e-6)


def test_a_line_of_units_may_say_hours(run, rng):
    lon, lat, _, truth = sky(rng)
    write("a.csv", "ra,dec\nhours,degrees", [(lon % 360) / 15, lat])
    assert gess_of(run("a.csv")) == pytest.approx(truth, rel=1e-9)


@pytest.mark.parametrize(("share", "slope"), [(1.0, 0.25), (0.79, 1.0), (0.4, 1.0)])
def test_right_ascension_that_may_be_hours_is_asked_for(run, rng, share, slope):
    lon, lat, _, _ = sky(rng)
    write("a.csv", "ra,dec", [share * (lon % 360) / 15, slope * lat])
    sentence = refused(run("a.csv"))
    assert "could be hours" in sentence
    for option, factor in (("--units hours", 15), ("--units deg", 1)):
        ra = share * (lon % 360) / 15 * factor
        truth = he.gess(he.from_lonlat(ra, slope * lat, units="deg"), angle=30)
        assert gess_of(run("a.csv", *advised(sentence, option))) == pytest.approx(truth, rel=1e-9)


@pytest.mark.parametrize("dec", [41.3, 0.3])
def test_a_small_field_near_the_origin_of_right_ascension_may_be_in_hours(run, rng, dec):
    ra, dec = (4 if dec < 1 else 10.7) + 0.1 * rng.normal(size=N), dec + 0.1 * rng.normal(size=N)
    write("a.csv", "ra,dec", [ra, dec])
    sentence = refused(run("a.csv"))
    for unit, factor in (("hours", 15), ("deg", 1)):
        truth = he.gess(he.from_lonlat(factor * ra, dec, units="deg"), angle=30)
        assert gess_of(run("a.csv", *advised(sentence, f"--units {unit}"))) == pytest.approx(truth, rel=1e-9)
    write("b.csv", "ra_deg,dec_deg", [ra, dec])
    assert "(degrees)" in run("b.csv").stderr


def test_hours_of_the_day_are_no_degrees(run, rng):
    hours = rng.uniform(0, 24, N)
    write("a.csv", "hour", [hours])
    write("b.csv", "angle", [15 * hours])
    truth = he.gess(hours * np.pi / 12, space=he.Circle(), angle=30)
    for name in ("a.csv", "b.csv"):
        assert gess_of(run(name, "--space", "circle")) == pytest.approx(truth, rel=1e-9)


def test_data_frames_and_tables_of_astropy_with_hours(rng):
    pandas = pytest.importorskip("pandas")
    lon, lat, _, truth = sky(rng)
    found = he.gess(pandas.DataFrame({"ra_h": (lon % 360) / 15, "dec": lat}), angle=30)
    assert found == pytest.approx(truth, rel=1e-9)
    table = pytest.importorskip("astropy.table")
    units = pytest.importorskip("astropy.units")
    hours = (lon % 360) / 15
    for unit in (units.hourangle, units.hour):
        found = he.gess(table.QTable({"ra": hours * unit, "dec": lat * units.deg}), angle=30)
        assert found == pytest.approx(truth, rel=1e-9)


def test_of_columns_that_differ_in_their_unit_one_unit_is_taken(run, rng):
    lon, lat, _, truth = sky(rng)
    write("a.csv", "lon_rad,lat,lat_rad,lon", [np.radians(lon), lat, np.radians(lat), lon])
    result = run("a.csv")
    assert gess_of(result) == pytest.approx(truth, rel=1e-9)
    assert "from lon, lat (degrees)" in result.stderr
    write("b.csv", "Lon,lon,lat", [lon, lon + 1, lat])
    sentence = refused(run("b.csv"))
    assert "has columns Lon and lon" in sentence
    assert gess_of(run("b.csv", *advised(sentence, "--lon Lon"))) == pytest.approx(truth, rel=1e-9)


# Angles beyond their limits: only what the numbers allow is offered.


def test_colatitude_in_a_column_of_latitudes(run, rng):
    lon, lat, _, truth = sky(rng)
    write("a.csv", "lon,lat", [lon % 360, 90 - lat])
    sentence = refused(run("a.csv"))
    assert "exchanged" not in sentence
    assert gess_of(run("a.csv", *advised(sentence, "--colat lat"))) == pytest.approx(truth, rel=1e-9)
    write("b.csv", "lon,lat", [lon / 2.5, 90 - lat])
    assert {"--colat lat --lon lon if", "--lon lat --lat lon if"} == set(
        re.findall(r"--\w+ \w+ --\w+ \w+ if", refused(run("b.csv")))
    )


def test_zenith_and_azimuth_in_radians_lead_to_colatitude_and_never_to_degrees(run, rng):
    lon, lat, _, truth = sky(rng)
    write("a.csv", "zenith,azimuth", np.radians([90 - lat, lon % 360]))
    first = advised(refused(run("a.csv")), "--colat zenith")
    units = advised(refused(run("a.csv", *first)), "--units rad")
    assert gess_of(run("a.csv", *first, *units)) == pytest.approx(truth, rel=1e-9)
    sentence = refused(run("a.csv", "--lon", "azimuth", "--lat", "zenith", *units))
    assert "--units deg" not in sentence
    again = advised(sentence, "--colat zenith")
    assert gess_of(run("a.csv", *again, *units)) == pytest.approx(truth, rel=1e-9)


@pytest.mark.parametrize("shift", [360.0, -360.0])
def test_longitudes_beyond_a_turn_are_not_called_exchanged(run, rng, shift):
    lon, lat, _, truth = sky(rng)
    write("a.csv", "lon,lat", [lon % 360 + shift, lat])
    assert "lon modulo 360" in refused(run("a.csv"))
    write("b.csv", "lon,lat", [np.mod(lon % 360 + shift, 360), lat])
    assert gess_of(run("b.csv")) == pytest.approx(truth, rel=1e-9)
    with pytest.raises(he.InputError, match=r"numpy\.mod\(lon, 360\)"):
        he.from_lonlat([370], [1], units="deg")


def test_a_vector_that_stands_for_a_missing_one_is_not_scaled(run):
    Path("c.csv").write_text("x,y,z\n1,0,0\n0,1,0\n-9999,-9999,-9999\n")
    assert "--normalize" not in refused(run("c.csv"))


def test_colatitude_in_radians_as_latitude_is_not_asked_whether_it_is_degrees():
    with pytest.raises(he.InputError, match="colatitude is from_spherical") as caught:
        he.from_lonlat([0.0, 6.0], [3.0, 1.0], units="rad")
    assert "degrees" not in str(caught.value)


# Rotations.


@pytest.mark.parametrize("scale", [2.0, 1.03, "rounded"])
def test_quaternions_x_y_z_w_of_another_length_are_no_directions_with_log_weights(run, rng, scale):
    quaternions = unit(rng, N, 4)
    stored = np.round(quaternions, 2) if scale == "rounded" else scale * quaternions
    write("a.csv", "x,y,z,w", stored.T)
    sentence = refused(run("a.csv"))
    assert "--log-weights" not in sentence
    truth = he.gess(stored / np.linalg.norm(stored, axis=1, keepdims=True), space=he.Rotations(), angle=30)
    assert gess_of(run("a.csv", "--normalize")) == pytest.approx(truth, rel=1e-9)
    assert "--normalize" in sentence


@pytest.mark.parametrize("width", [9, 12, 16])
def test_rotation_matrices_are_never_scaled_to_unit_length(run, rng, width):
    turns = Rotation.from_quat(unit(rng, N, 4))
    poses = np.zeros((N, 4, 4))
    poses[:, :3, :3], poses[:, :3, 3], poses[:, 3, 3] = turns.as_matrix(), rng.normal(size=(N, 3)), 1
    x = {9: poses[:, :3, :3], 12: poses[:, :3], 16: poses}[width].reshape(N, width)
    truth = he.gess(turns, angle=30)
    np.save("a.npy", x)
    np.save("b.npy", x.reshape(N, 3 if width < 16 else 4, -1))
    for name, array in (("a.npy", x), ("b.npy", np.load("b.npy"))):
        sentence = refused(run(name))
        assert "--normalize" not in sentence
        if name == "a.npy":
            assert gess_of(run(name, *advised(sentence, "--space"))) == pytest.approx(truth, rel=1e-9)
            continue
        call = re.search(r"Rotation\.from_matrix\(.*\)\.as_quat\(\)", sentence)[0]
        np.save("c.npy", eval(call, {"Rotation": Rotation, "x": array, "array": array}))
        assert gess_of(run("c.npy", *advised(sentence, "--quat"))) == pytest.approx(truth, rel=1e-9)
    with pytest.raises(he.InputError) as caught:
        he.gess(x, angle=30)
    call = re.search(r"give (points.*)", str(caught.value))[1]
    assert he.gess(eval(call, {"points": x}), angle=30) == pytest.approx(truth, rel=1e-9)


def test_trajectories_with_rounded_missing_or_zero_quaternions(run, rng):
    quaternions = unit(rng, N, 4)
    table = np.column_stack([1e9 + np.arange(N), rng.normal(size=(N, 3)), np.round(quaternions, 2)])
    np.savetxt("a.txt", table)
    assert "the quaternion qx, qy, qz, qw has length" in refused(run("a.txt"))
    rounded = table[:, 4:] / np.linalg.norm(table[:, 4:], axis=1, keepdims=True)
    truth = he.gess(rounded, space=he.Rotations(), angle=30)
    assert gess_of(run("a.txt", "--normalize")) == pytest.approx(truth, rel=1e-9)
    table[:, 4:] = quaternions
    table[3, 4:] = np.nan
    np.savetxt("b.txt", table)
    options = advised(refused(run("b.txt")), "--drop-missing")
    truth = he.gess(np.delete(quaternions, 3, axis=0), space=he.Rotations(), angle=30)
    assert gess_of(run("b.txt", *options)) == pytest.approx(truth, rel=1e-9)
    table[3, 4:] = 0
    np.savetxt("c.txt", table)
    assert "the quaternion is zero and has no direction (1 of 60 rows)" in refused(run("c.txt"))


@pytest.mark.parametrize("header", ["q1,q2,q3,q4", "q0,q1,q2,q3"])
def test_numbered_quaternions_name_both_orders(run, rng, header):
    quaternions = unit(rng, N, 4)
    write("a.csv", header, quaternions.T)
    options = advised(refused(run("a.csv")), f"--quat {header}")
    truth = he.gess(quaternions, space=he.Rotations(), angle=30)
    assert gess_of(run("a.csv", *options)) == pytest.approx(truth, rel=1e-9)


def test_names_with_units_in_brackets_are_quaternions(run, rng):
    quaternions = unit(rng, N, 4)
    write("a.csv", "#t [ns],q_RS_w [],q_RS_x [],q_RS_y [],q_RS_z []", [np.arange(N), *quaternions[:, [3, 0, 1, 2]].T])
    truth = he.gess(quaternions, space=he.Rotations(), angle=30)
    assert gess_of(run("a.csv")) == pytest.approx(truth, rel=1e-9)


def test_relion_angles_in_radians_are_asked_for(run, rng):
    turns = Rotation.from_quat(unit(rng, N, 4))
    angles = turns.as_euler("ZYZ")
    write("a.csv", "rlnAngleRot,rlnAngleTilt,rlnAnglePsi", angles.T)
    options = advised(refused(run("a.csv")), "--units rad")
    assert gess_of(run("a.csv", *options)) == pytest.approx(he.gess(turns, angle=30), rel=1e-9)
    write("b.csv", "rlnAngleRot,rlnAngleTilt,rlnAnglePsi", np.zeros((3, 5)))
    assert gess_of(run("b.csv")) == pytest.approx(1.0, rel=1e-9)


@pytest.mark.parametrize(
    ("header", "advice", "axes", "order"),
    [
        ("yaw,pitch,roll", "--euler yaw-pitch-roll", "ZYX", [0, 1, 2]),
        ("roll,pitch,yaw", "--euler yaw-pitch-roll", "ZYX", [2, 1, 0]),
        ("rot,tilt,psi", "--euler relion", "ZYZ", [0, 1, 2]),
        ("phi1,Phi,phi2", "--euler bunge", "ZXZ", [0, 1, 2]),
        ("phi,theta,psi", "--euler yaw-pitch-roll --columns psi,theta,phi", "ZYX", [2, 1, 0]),
        ("alpha,beta,gamma", "--euler ZYZ", "ZYZ", [0, 1, 2]),
        ("Euler1,Euler2,Euler3", "--euler bunge", "ZXZ", [0, 1, 2]),
    ],
)
@pytest.mark.parametrize("options", [(), ("--space", "rotations")])
def test_euler_angles_of_no_named_convention_are_asked_for_it(run, rng, header, advice, axes, order, options):
    angles = rng.uniform(-180, 180, (N, 3))
    write("a.csv", header, angles.T)
    sentence = refused(run("a.csv", *options))
    assert "Euler angles" in sentence
    assert "torus" not in sentence
    followed = advised(sentence, advice)
    truth = he.gess(Rotation.from_euler(axes, angles[:, order], degrees=True), angle=30)
    assert gess_of(run("a.csv", *options, *followed)) == pytest.approx(truth, rel=1e-9)


# Tori.


def test_unwrapped_torsions_in_radians_are_not_taken_for_degrees(run, rng):
    angles = rng.uniform(-3 * np.pi, 3 * np.pi, (N, 2))
    write("a.csv", "phi,psi", angles.T)
    options = advised(refused(run("a.csv")), "--units rad")
    truth = he.gess(angles, space=he.Torus(2), angle=30)
    assert gess_of(run("a.csv", *options)) == pytest.approx(truth, rel=1e-9)


def test_a_space_that_is_written_out_states_the_unit(run, rng):
    angles = rng.uniform(-np.pi, np.pi, (N, 2))
    truth = he.gess(angles, space=he.Torus(2), angle=30)
    write("rad.csv", "phi,psi", angles.T)
    write("deg.csv", "phi,psi", np.degrees(angles).T)
    write("named.csv", "phi_deg,psi_deg", np.degrees(angles).T)
    for words in (
        ["rad.csv", "--space", "Torus(2)"],
        ["rad.csv", "--space", "Torus(2, units='rad')"],
        ["deg.csv", "--space", "Torus(2, units='deg')"],
        ["named.csv", "--space", "Torus(2)"],
        ["deg.csv", "--space", "Torus(2)", *advised(refused(run("deg.csv", "--space", "Torus(2)")), "--units deg")],
    ):
        assert gess_of(run(*words)) == pytest.approx(truth, rel=1e-9)
    assert "(radians)" in run("rad.csv", "--space", "Torus(2)").stderr
    sentence = refused(run("deg.csv", "--space", "Torus(2, units='rad')", "--units", "deg"))
    assert "does not fit" in sentence
    with pytest.raises(he.InputError, match="does not fit"):
        he.read("named.csv", space=he.Torus(2, units="rad"))


def test_three_angles_in_an_array_are_not_scaled_to_unit_length(run, rng):
    angles = rng.uniform(-180, 180, (N, 3))
    np.save("a.npy", angles)
    sentence = refused(run("a.npy"))
    assert "--normalize" not in sentence
    truth = he.gess(np.radians(angles), space=he.Torus(3), angle=30)
    assert gess_of(run("a.npy", *advised(sentence, "--space torus"))) == pytest.approx(truth, rel=1e-9)


def test_one_column_on_the_circle_and_complex_phases(run, rng):
    angles = rng.uniform(-np.pi, np.pi, N)
    truth = he.gess(angles, space=he.Circle(), angle=30)
    write("a.csv", "chi1", [np.degrees(angles)])
    assert gess_of(run("a.csv", "--space", "circle")) == pytest.approx(truth, rel=1e-9)
    np.save("b.npy", np.degrees(angles))
    options = advised(refused(run("b.npy")), "--space circle")
    assert gess_of(run("b.npy", *options)) == pytest.approx(truth, rel=1e-9)
    z = np.exp(1j * angles)
    np.save("c.npy", z)
    sentence = refused(run("c.npy"))
    assert "astype(float)" not in sentence
    np.save("d.npy", eval(re.search(r"numpy\.angle\(z\)", sentence)[0], {"numpy": np, "z": z}))
    found = gess_of(run("d.npy", *advised(sentence, "--space torus"), *advised(sentence, "--units rad")))
    assert found == pytest.approx(truth, rel=1e-9)


# Arrays: a transpose, a column too many, pairs in one column.


@pytest.mark.parametrize("width", [3, 4, 16])
@pytest.mark.parametrize("length", [1.0, 3.0])
def test_transposed_arrays_are_named(run, rng, width, length):
    array = length * unit(rng, N, width)
    np.save("a.npy", array.T)
    sentence = refused(run("a.npy"))
    assert "did you mean the transpose? write array.T" in sentence
    assert "--normalize" not in sentence
    with pytest.raises(he.InputError, match=r"did you mean the transpose, points\.T\?"):
        he.gess(array.T, resolution=30)


def test_longitudes_and_latitudes_as_two_rows_offer_the_transpose(run, rng):
    lon, lat, _, truth = sky(rng)
    np.save("a.npy", np.stack([lon, lat]))
    assert "if these are 60 points in 2 rows, write the transpose" in refused(run("a.npy"))
    np.save("a.npy", np.load("a.npy").T)
    options = advised(refused(run("a.npy")), "--lon 0")
    assert gess_of(run("a.npy", *options)) == pytest.approx(truth, rel=1e-9)
    with pytest.raises(he.InputError, match=r"give the transpose, points\.T"):
        he.gess((lon, lat), angle=30)


@pytest.mark.parametrize("width", [3, 10])
def test_a_column_beside_unit_vectors_is_no_coordinate(run, rng, width):
    vectors, weights = unit(rng, N, width), rng.uniform(0.1, 1, N)
    logs = np.log(weights)
    np.savetxt("index.csv", np.column_stack([np.arange(N), vectors]), delimiter=",")
    np.save("weights.npy", np.column_stack([vectors, weights]))
    np.save("logs.npy", np.column_stack([vectors, logs]))
    for name, first, truth in [
        ("index.csv", "--columns 1:", he.gess(vectors, angle=30)),
        ("weights.npy", "--columns 0:", he.gess(vectors, weights, angle=30)),
        ("logs.npy", "--columns 0:", he.gess(vectors, log_weights=logs, angle=30)),
    ]:
        sentence = refused(run(name))
        assert "--normalize" not in sentence
        assert gess_of(run(name, *advised(sentence, first))) == pytest.approx(truth, rel=1e-9)
    points = np.load("weights.npy")
    with pytest.raises(he.InputError) as caught:
        he.gess(points, angle=30)
    arguments = re.search(r"give (points.*\])", str(caught.value))[1]
    truth = he.gess(vectors, weights, angle=30)
    assert eval(f"he.gess({arguments}, angle=30)", {"he": he, "points": points}) == pytest.approx(truth, rel=1e-9)


def test_rows_that_count_from_zero_before_vectors_of_any_length(run, rng):
    rows = 5 * rng.normal(size=(N, 10))
    np.save("a.npy", np.column_stack([np.arange(N), rows]))
    options = advised(refused(run("a.npy")), "--columns 1:10")
    options += advised(refused(run("a.npy", *options)), "--normalize")
    truth = he.gess(rows / np.linalg.norm(rows, axis=1, keepdims=True), angle=30)
    assert gess_of(run("a.npy", *options)) == pytest.approx(truth, rel=1e-9)


def test_pairs_in_one_column_are_not_called_0_and_1(run, rng):
    lon, lat, _, _ = sky(rng)
    Path("a.json").write_text(json.dumps([{"place": pair} for pair in np.column_stack([lon, lat]).tolist()]))
    sentence = refused(run("a.json"))
    assert "--lon 0" not in sentence
    assert "write place as two columns, named lon and lat" in sentence
    truth = he.gess(np.radians(np.column_stack([lon, lat])), space=he.Torus(2), angle=30)
    assert gess_of(run("a.json", *advised(sentence, "--space torus"))) == pytest.approx(truth, rel=1e-9)


# Weights.


@pytest.mark.parametrize("name", ["logwt", "ln_weight", "lnw"])
def test_more_names_of_log_weights(run, rng, name):
    _, _, vectors, _ = sky(rng)
    logs = rng.normal(size=N) - 500
    write("a.csv", f"x,y,z,{name}", [*vectors.T, logs])
    np.savez("a.npz", samples=vectors, **{name: logs}, logz=3.0)
    truth = he.gess(vectors, log_weights=logs, angle=30)
    for file in ("a.csv", "a.npz"):
        assert gess_of(run(file)) == pytest.approx(truth, rel=1e-9)


@pytest.mark.parametrize("name", ["importance_weight", "count", "n_counts"])
def test_columns_that_may_be_weights_are_not_passed_over_in_silence(run, rng, name):
    _, _, vectors, truth = sky(rng)
    weights = rng.integers(1, 9, N)
    write("a.csv", f"x,y,z,{name}", [*vectors.T, weights])
    result = run("a.csv")
    assert gess_of(result) == pytest.approx(truth, rel=1e-9)
    assert f"column {name} not used" in result.stderr
    options = re.search(r"\((--weights \S+)", result.stderr)[1].split()
    assert gess_of(run("a.csv", *options)) == pytest.approx(he.gess(vectors, weights, angle=30), rel=1e-9)
    assert "not used" not in run("a.csv", "--weights", "none").stderr


def test_of_a_count_and_a_weight_the_weight_is_mentioned_and_no_account_is(run, rng):
    _, _, vectors, _ = sky(rng)
    write("a.csv", "count,x,y,z,sample_weight", [np.ones(N), *vectors.T, np.ones(N)])
    assert "column sample_weight not used (--weights sample_weight takes" in run("a.csv").stderr
    write("b.csv", "account,x,y,z,country", [np.ones(N), *vectors.T, np.ones(N)])
    assert "not used" not in run("b.csv").stderr


def test_logarithms_to_base_10_are_not_natural_ones(run, rng):
    _, _, vectors, _ = sky(rng)
    logs = rng.normal(size=N)
    write("a.csv", "x,y,z,log10_weight", [*vectors.T, logs / np.log(10)])
    sentence = refused(run("a.csv", "--log-weights", "log10_weight"))
    factor = float(re.search(r"multiply it by ([\d.]+\d)", sentence)[1])
    write("b.csv", "x,y,z,log_weight", [*vectors.T, logs / np.log(10) * factor])
    assert gess_of(run("b.csv")) == pytest.approx(he.gess(vectors, log_weights=logs, angle=30), rel=1e-9)


# Names, and what is suggested.


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("az,el", "--lon az --lat el"),
        ("trend,plunge", "--dec trend --inc plunge"),
        ("lon's,lat's", '--lon "lon\'s" --lat "lat\'s"'),
        ("{lon},{lat}", "--lon '{lon}' --lat '{lat}'"),
        ("site lon,site lat", "--lon 'site lon' --lat 'site lat'"),
    ],
)
def test_suggested_columns_can_be_typed(run, rng, header, expected):
    lon, lat, _, truth = sky(rng)
    write("a.csv", header, [lon, lat])
    sentence = refused(run("a.csv"))
    words = re.search(r"did you mean (.*)\? \(found", sentence)[1]
    assert shlex.split(words) == shlex.split(expected)
    assert gess_of(run("a.csv", *shlex.split(words))) == pytest.approx(truth, rel=1e-9)


def test_words_that_merely_contain_lon_and_lat_are_not_suggested(run):
    write("a.csv", "decade,income,latency,along", [[10.0], [20.0], [30.0], [40.0]])
    assert "did you mean" not in refused(run("a.csv"))


@pytest.mark.parametrize(
    ("header", "columns", "frame"),
    [
        ("ra,dec,l,b", {"glon": "l", "glat": "b"}, "galactic"),
        ("ra,dec,ecl_lon,ecl_lat", {"elon": "ecl_lon", "elat": "ecl_lat"}, "ecliptic"),
        ("ra,dec,ra2,dec2", {"ra": "ra2", "dec": "dec2"}, "icrs"),
        ("lon,lat,lon2,lat2", {"lon": "lon2", "lat": "lat2"}, "geographic"),
        ("LAT,LON,End Lat,End Lon", {"lon": "End Lon", "lat": "End Lat"}, "geographic"),
    ],
)
def test_a_second_pair_of_directions_is_mentioned_with_what_takes_it(run, rng, header, columns, frame):
    lon, lat, _, truth = sky(rng)
    other_lon, other_lat, vectors, other = sky(rng)
    order = (lat, lon, other_lat, other_lon) if header.startswith("LAT") else (lon, lat, other_lon, other_lat)
    write("a.csv", header, order)
    result = run("a.csv")
    assert gess_of(result) == pytest.approx(truth, rel=1e-9)
    options = re.search(rf"; {', '.join(columns.values())} left out \((--.*) takes them\); equal", result.stderr)[1]
    assert gess_of(run("a.csv", *shlex.split(options))) == pytest.approx(other, rel=1e-9)
    found = he.read("a.csv", columns=columns)
    np.testing.assert_allclose(found.points, vectors, atol=1e-12)
    assert found.known.frame == frame
    assert "left out" not in found.origin.description


@pytest.mark.parametrize(
    "header",
    [
        "ra,dec,ra_error,dec_error,pmra,pmdec,ra_pmra_corr,dec_pmra_corr",
        "RA_ICRS,DE_ICRS,e_RA_ICRS,e_DE_ICRS,pm_ra,pm_dec,mu_ra,mu_dec",
        "lon,lat,lon_rad,lat_rad,dlon,dlat,lon std,lat std",
        "longitude,latitude,longitudeErr,latitudeErr,azimuth,altitude,l,b",
    ],
)
def test_errors_motions_and_other_units_are_no_second_pair(run, rng, header):
    lon, lat, _, truth = sky(rng)
    write("a.csv", header, [lon, lat, *rng.uniform(0, 1, (6, N))])
    result = run("a.csv")
    assert gess_of(result) == pytest.approx(truth, rel=1e-9)
    assert "left out" not in result.stderr


def test_catalogues_of_vizier_are_recognised(run, rng):
    lon, lat, _, truth = sky(rng)
    write("a.csv", "RAdeg,DEdeg", [lon % 360, lat])
    assert gess_of(run("a.csv")) == pytest.approx(truth, rel=1e-9)


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("say `columns={'lon': \"a'b\", 'lat': '{c}'}, units='deg'`", "say --lon 'a'\"'\"'b' --lat '{c}' --units deg"),
        ("say `columns=('a)', 'b')`; then", "say --columns 'a),b'; then"),
        ("use `he.Torus(2, units='deg')`", "use --units deg"),
        ("a`b.csv: say `columns='c`d'`", "a`b.csv: say --columns 'c`d'"),
        ("weights=3/b.csv and units=rad.csv", "weights=3/b.csv and units=rad.csv"),
    ],
)
def test_arguments_become_options_whatever_the_names_hold(message, expected):
    assert typed(Message(message)) == expected


# Text and JSON.


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("ra,dec\n187.5,12.4\n187.6,12.5\n12:30:01.1,+12:23:28\n", "decimal degrees"),
        ("RAJ2000,DEJ2000\n187.5,12.4\n187.6,12.5\n12 30 01.1,+12 23 28\n", "decimal degrees"),
        ("lon,lat\n12.5,45\n12.6,45\n12.5E,45N\n", "negative numbers, without a letter"),
        ("lon,lat\n\u221212.5,45\n", "a hyphen"),
    ],
)
def test_numbers_in_other_spellings_say_how_to_write_them(run, text, hint):
    Path("a.csv").write_text(text, encoding="utf-8")
    assert hint in refused(run("a.csv"))


@pytest.mark.parametrize("header", ["", "x|y|z|", "x|y|z", "# x|y|z", "# x|y|z|", "a|b|c|Unnamed: 3"])
@pytest.mark.parametrize(("mark", "end"), [("\t", "\t\n"), (",", ",\r\n"), (";", ";;\n")])
def test_an_extra_delimiter_at_the_end_of_every_line_makes_no_column(run, rng, header, mark, end):
    _, _, vectors, truth = sky(rng, 3 * N)
    head = header.replace("|", mark) + "\n"
    Path("a.txt").write_text(head + "".join(mark.join(map(repr, row)) + end for row in vectors.tolist()), newline="")
    np.testing.assert_array_equal(he.read("a.txt", space=he.Euclidean(3)).points, vectors)
    options = ["--columns", "a,b,c"] if "a" in header else []
    assert gess_of(run("a.txt", *options)) == pytest.approx(truth, rel=1e-9)


def test_trajectories_and_edges_with_an_extra_tab_are_what_they_are_without(run, rng):
    table = np.column_stack([np.arange(N), rng.normal(size=(N, 3)), unit(rng, N, 4)])
    poses = np.concatenate([Rotation.from_quat(table[:, 4:]).as_matrix(), table[:, 1:4, None]], axis=2).reshape(N, 12)
    for name, rows in (("TUM trajectory", table), ("KITTI poses", poses)):
        Path("a.txt").write_text("".join("\t".join(map(repr, row)) + "\t\n" for row in rows.tolist()))
        found = he.read("a.txt")
        assert name in found.origin.description
        truth = he.gess(table[:, 4:], space=he.Rotations(), angle=30)
        assert he.gess(found, angle=30) == pytest.approx(truth, rel=1e-9)
    Path("b.tsv").write_text("1\t2\t\n2\t3\t\n3\t1\t\n")
    assert he.gess(he.read("b.tsv", space="graph"), time=0.1) == pytest.approx(1 + 2 * np.exp(-0.6))


def test_a_last_column_that_is_empty_in_the_first_rows_alone_is_a_column(run, rng):
    vectors = unit(rng, 200, 3)
    rows = [",".join(map(repr, row)) + "," for row in vectors.tolist()]
    Path("a.csv").write_text("\n".join([*rows[:-1], rows[-1] + "0.5"]) + "\n")
    assert "an entry is no number (199 of 200 rows)" in refused(run("a.csv"))
    found = gess_of(run("a.csv", "--columns", "0,1,2"))
    assert found == pytest.approx(he.gess(vectors, angle=30), rel=1e-9)


def test_a_column_that_is_empty_in_every_row_is_not_answered_with_dropping_all_rows(run, rng):
    lon, lat, vectors, truth = sky(rng)
    Path("a.csv").write_text("".join(f"{x!r},,{y!r},{z!r}\n" for x, y, z in vectors.tolist()))
    sentence = refused(run("a.csv"))
    assert "line 1: column 1 has no number (60 of 60 rows); fill those rows, or name other columns with --c" in sentence
    assert gess_of(run("a.csv", "--columns", "0,2,3")) == pytest.approx(truth, rel=1e-9)
    Path("b.csv").write_text("lon,lat,weight\n" + "".join(f"{x!r},{y!r},\n" for x, y in np.c_[lon, lat].tolist()))
    sentence = refused(run("b.csv"))
    assert "column weight has no number (60 of 60 rows)" in sentence
    assert gess_of(run("b.csv", *advised(sentence, "--weights"))) == pytest.approx(truth, rel=1e-9)
    assert "--weights none" in CliRunner().invoke(main, ["accumulate", "b.csv", "-o", "b.npz"]).output
    write("c.csv", "lon,lat", [np.where(np.arange(N) % 2, lon, np.nan), np.where(np.arange(N) % 2, np.nan, lat)])
    sentence = refused(run("c.csv"))
    assert "column lon has no number (60 of 60 rows)" in sentence
    assert "--drop-missing" not in sentence


def test_a_header_of_words_and_counted_columns_is_a_header(run, rng):
    vectors = unit(rng, N, 10)
    write("a.csv", "id,part," + ",".join(map(str, range(10))), [np.arange(N), np.arange(N), *vectors.T])
    found = gess_of(run("a.csv", "--columns", "0:9"))
    assert found == pytest.approx(he.gess(vectors, angle=30), rel=1e-9)


def test_json_under_the_other_name_and_in_a_wrapper(run, rng):
    lon, lat, _, truth = sky(rng)
    records = [{"lon": a, "lat": b} for a, b in zip(lon.tolist(), lat.tolist(), strict=True)]
    Path("a.jsonl").write_text(json.dumps(records))
    Path("b.json").write_text(json.dumps({"count": N, "results": records}))
    for name in ("a.jsonl", "b.json"):
        assert gess_of(run(name)) == pytest.approx(truth, rel=1e-9)
    lines = "\n".join(map(json.dumps, records))
    Path("c.json").write_text(lines)
    assert "rename it to .jsonl" in refused(run("c.json"))
    Path("c.jsonl").write_text(lines)
    assert gess_of(run("c.jsonl")) == pytest.approx(truth, rel=1e-9)


@pytest.mark.parametrize("name", ["a.npy.gz", "a.h5.gz", "a.nc.bz2", "a.star.gz", "a.ply.xz", "a.parquet.zst"])
def test_packed_files_of_other_formats_are_to_be_unpacked(run, name):
    Path(name).write_bytes(gzip.compress(b"something"))
    assert refused(run(name)).endswith("unpack it first")


def test_two_columns_of_vectors_are_a_choice(run, rng):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    one, two = unit(rng, N, 8), unit(rng, N, 8)
    parquet.write_table(pyarrow.table({"title_vec": one.tolist(), "body_vec": two.tolist()}), "a.parquet")
    options = advised(refused(run("a.parquet")), "--columns body_vec")
    assert gess_of(run("a.parquet", *options)) == pytest.approx(he.gess(two, angle=30), rel=1e-9)


def test_an_array_beside_the_chains_of_a_sampler_is_not_taken_for_the_draws(run, rng):
    h5py = pytest.importorskip("h5py")
    with h5py.File("a.h5", "w") as file:
        file["mcmc/chain"], file["mcmc/log_prob"] = rng.normal(size=(10, 6, 2)), rng.normal(size=(10, 6))
    assert "mcmc/chain (10, 6, 2), not (n, d)" in refused(run("a.h5"))


@pytest.mark.parametrize(
    "options", [["--space", "sphere"], ["--lon", "x", "--lat", "y"], ["--units", "deg"], ["--normalize"]]
)
def test_what_a_surface_would_pass_over_is_refused(run, options):
    pytest.importorskip("trimesh")
    from meshes import icosphere

    vertices, faces = icosphere(1)
    lines = [*(f"v {x} {y} {z}" for x, y, z in vertices), *(f"f {a + 1} {b + 1} {c + 1}" for a, b, c in faces)]
    Path("a.obj").write_text("\n".join(lines))
    assert "leave out --" in refused(run("a.obj", *options))


def test_shards_with_and_without_weights_are_not_added(run, rng):
    lon, lat, _, _ = sky(rng)
    write("a.csv", "lon,lat,weight", [lon, lat, 100 * np.ones(N)])
    write("b.csv", "lon,lat", [lon, lat])
    add = ["accumulate", "a.csv", "b.csv", "-o", "s.npz"]
    result = CliRunner().invoke(main, add)
    assert "a.csv has weights, but b.csv has none" in refused(result)
    assert not Path("s.npz").exists()
    result = CliRunner().invoke(main, [*add, *advised(result.stderr, "--weights none")])
    assert result.exit_code == 0
    assert "a.csv: points from lon, lat (degrees); equal weights" in result.stderr
    assert he.Accumulator.load("s.npz").ess == pytest.approx(2 * N)


def test_weights_in_a_file_of_another_kind_and_an_option_without_its_pair(run, rng):
    lon, lat, _, _ = sky(rng)
    write("a.csv", "lon,lat", [lon, lat])
    np.savetxt("w.txt", np.ones(N))
    assert "read from .npy: write them with numpy.save" in refused(run("a.csv", "--weights", "w.txt"))
    assert "--lon is not enough; give --lon with --lat" in refused(run("a.csv", "--lon", "lon"), 2)


def test_names_of_several_lines_are_shown_in_one(tmp_path):
    """A quote that is not closed takes in lines until the next one."""
    file = tmp_path / "open.csv"
    file.write_text('"on,lat,weight\n10,20,1\n359,"on,lat,weight\n10,20,1\n359,90,0\n')
    with pytest.raises(he.InputError, match="found 3 columns: on,lat,weight 10,20,1 359,on, lat, weight") as caught:
        he.read(file)
    assert "\n" not in str(caught.value)
