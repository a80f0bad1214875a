"""What files say about their data reaches every answer of the command line, and advice typed as it stands is right."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from click.testing import CliRunner, Result
from test_known import slow_chain

import heatess as he
from heatess.cli import main


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def call(*words: str) -> Result:
        found = CliRunner().invoke(main, words)
        assert "Traceback" not in found.stderr
        return found

    return call


def sky_map(name: str, coordsys: str | None, nside: int = 8) -> None:
    """A source at longitude 30 and latitude 10 degrees, in whatever frame."""
    table, healpix = pytest.importorskip("astropy.table"), pytest.importorskip("astropy_healpix")
    towards = np.stack(healpix.healpix_to_xyz(np.arange(12 * nside**2), nside, order="ring"), axis=-1)
    [centre] = he.from_lonlat([30], [10], units="deg")
    found = table.Table({"HYDROGEN": np.exp(20 * (towards @ centre - 1))})
    found.meta.update(PIXTYPE="HEALPIX", ORDERING="RING", NSIDE=nside, INDXSCHM="IMPLICIT")
    if coordsys is not None:
        found.meta["COORDSYS"] = coordsys
    found.write(name)


def draws(name: str, rng: np.random.Generator) -> None:
    """Four slow chains as ArviZ writes them."""
    xarray = pytest.importorskip("xarray")
    pytest.importorskip("h5netcdf")
    chains = np.stack([slow_chain(400, rng, step=0.4) for _ in range(4)])
    data = xarray.Dataset({"direction": (("chain", "draw", "xyz"), chains)})
    data.to_netcdf(name, group="posterior", engine="h5netcdf")


def path(name: str) -> None:
    from scipy.spatial.transform import Rotation

    turns = Rotation.from_rotvec(np.linspace(0, 2, 60)[:, None] * [0.3, 0.4, 0.8]).as_quat()
    rows = [f"{k / 10:.2f} 0 0 {k} " + " ".join(f"{part:.12f}" for part in turn) for k, turn in enumerate(turns)]
    with open(name, "w") as stream:
        stream.write("\n".join(rows) + "\n")


def test_maps_in_two_frames_are_brought_into_one(run):
    """The sources are far apart; they were "not different (p = 1)"."""
    sky_map("g.fits", "G")
    sky_map("c.fits", "C")
    found = run("compare", "g.fits", "c.fits", "--angles", "10,60")
    assert found.exit_code == 0, found.stderr
    assert "warning: c.fits is ICRS and g.fits galactic: c.fits was turned into galactic" in found.stderr
    assert "there is no p-value" in found.stdout
    share = json.loads(run("compare", "g.fits", "c.fits", "--angles", "10,60", "--json", "-").stdout)["comparison"]
    assert share["pvalue"] is None
    apart = np.degrees(np.arccos(he.from_lonlat([30], [10], units="deg")[0] @ turned_source()))
    assert apart > 100  # degrees
    assert share["mmd2"][0] == pytest.approx(he.mmd2(*two_sources(), angles=[10])[0], rel=1e-3)
    same = run("compare", "g.fits", "c.fits", "--angles", "10,60", "--frame", "galactic")
    assert "are the same at every scale" in same.stdout


def two_sources() -> tuple[he.Measure, he.Measure]:
    """The same two maps, made without a file."""
    healpix = pytest.importorskip("astropy_healpix")
    towards = np.stack(healpix.healpix_to_xyz(np.arange(768), 8, order="ring"), axis=-1)
    [centre] = he.from_lonlat([30], [10], units="deg")
    one = he.Measure(towards, np.exp(20 * (towards @ centre - 1)))
    return one, he.Measure(he.Measure(towards, frame="icrs").in_frame("galactic").points, one.weights)


def turned_source() -> np.ndarray:
    centre = he.Measure(he.from_lonlat([30], [10], units="deg"), frame="icrs")
    return centre.in_frame("galactic").points[0]


def test_a_map_that_does_not_say_its_frame_is_taken_for_that_of_the_other_and_that_is_said(run):
    sky_map("g.fits", "G")
    sky_map("plain.fits", None)
    found = run("compare", "g.fits", "plain.fits", "--angles", "10,60")
    said = "plain.fits does not say its frame, and is taken for galactic; --frame says another one"
    assert found.stderr.count(said) == 1
    assert "are the same at every scale" in found.stdout


def test_a_map_has_no_pvalue_no_band_and_its_own_words(run):
    sky_map("g.fits", "G")
    tested = run("test", "g.fits")
    assert tested.exit_code == 3
    assert "there is no test of uniformity" in tested.stderr
    assert "say --kind draws" in tested.stderr
    assert run("test", "g.fits", "--kind", "draws", "--weights", "none").exit_code == 0
    found = run("profile", "g.fits", "--band", "-o", "g.html")
    assert found.exit_code == 0
    assert "no bands: " in found.stderr
    assert "768 cells of unequal weight" in found.stdout
    assert "places" in found.stdout
    with open("g.html", encoding="utf-8") as stream:
        page = stream.read()
    assert "posterior" not in page.split("<script", 1)[0]
    assert "galactic longitude and galactic latitude" in page
    assert "768 cells count as " in page


def test_scales_below_a_pixel_are_not_default_and_are_marked(run):
    sky_map("g.fits", "G", nside=4)
    pixel = np.degrees(np.sqrt(4 * np.pi / 192))  # 14.7 degrees
    profile = json.loads(run("profile", "g.fits", "--json", "-").stdout)
    assert min(profile["angles"]) >= pixel - 1e-9
    assert profile["known"]["cell"] == pytest.approx(pixel)
    asked = run("profile", "g.fits", "--angles", "3,20")
    assert "1 of 2 scales are below the size of the cells" in asked.stderr
    marked = [line for line in asked.stdout.splitlines() if line.strip().startswith("*")]
    assert re.match(r"\* 3\.000 ", marked[0].strip())
    assert marked[1].startswith("* below the size of a cell, 14.7 deg")
    assert not any(line.strip().startswith("* 20") for line in asked.stdout.splitlines())


@pytest.mark.slow
def test_two_runs_of_one_slow_chain_do_not_differ(run):
    rng = np.random.default_rng(0)
    draws("a.nc", rng)
    draws("b.nc", rng)
    found = run("compare", "a.nc", "b.nc", "--seed", "1")
    assert found.exit_code == 0, found.stderr
    assert "No difference of a.nc and b.nc found" in found.stdout
    said = run("compare", "a.nc", "b.nc", "--seed", "1", "--kind", "draws")
    assert "a.nc and b.nc differ (p <= 0.002)" in said.stdout
    tested = run("test", "a.nc", "--seed", "1", "--json", "-")
    assert tested.exit_code == 0, tested.stderr
    assert json.loads(tested.stdout)["pvalue"] > 1e-3
    assert json.loads(run("test", "a.nc", "--kind", "draws", "--json", "-").stdout)["pvalue"] < 1e-9


def test_a_path_does_not_differ_from_itself(run):
    path("a.txt")
    path("b.txt")
    found = run("compare", "a.txt", "b.txt")
    assert found.exit_code == 0, found.stderr
    assert "a.txt is a trajectory, whose steps follow from each other" in found.stderr
    assert "a.txt and b.txt are the same at every scale; there is no p-value." in found.stdout
    refused = run("test", "a.txt")
    assert (refused.exit_code, "say --kind draws" in refused.stderr) == (3, True)


def test_a_table_with_times_that_run_on_is_asked_about(run):
    cloud = he.samplers.uniform(40, rng=0)
    rows = "".join(f"{k},{x:.9f},{y:.9f},{z:.9f}\n" for k, (x, y, z) in enumerate(cloud))
    with open("track.csv", "w") as stream:
        stream.write("time,x,y,z\n" + rows)
    asked = run("test", "track.csv")
    assert asked.exit_code == 3
    assert "say --kind draws or --kind trajectory" in asked.stderr
    assert run("test", "track.csv", "--kind", "draws").exit_code == 0
    assert "a trajectory" in run("test", "track.csv", "--kind", "trajectory").stderr


def test_a_complete_list_has_no_population_behind_it(run):
    with open("airports.csv", "w") as stream:
        stream.write("name,lon,lat\n")
        stream.writelines(f"airport {k},{k * 7 % 360},{k * 5 % 160 - 80}\n" for k in range(50))
    found = run("profile", "airports.csv", "--kind", "complete", "-o", "a.html", "--band")
    assert found.exit_code == 0, found.stderr
    assert "no bands: points are a complete list" in found.stderr
    with open("a.html", encoding="utf-8") as stream:
        page = stream.read()
    assert '"resolution_limit": null' in page or '"resolution_limit":null' in page
    assert re.search(r'"name": ?"airport \d+"', page)


@pytest.mark.parametrize("out", ["few.csv", "few.npz"])
def test_a_file_that_thin_wrote_has_no_pvalue(run, out):
    cloud = he.samplers.uniform(300, rng=0)
    np.savetxt("cloud.csv", cloud, delimiter=",", header="x,y,z", comments="", fmt="%.17g")
    assert run("thin", "cloud.csv", "--size", "60", "--angle", "30", "-o", out).exit_code == 0
    tested = run("test", out)
    assert tested.exit_code == 3
    assert "points are what thinning chose" in tested.stderr
    found = json.loads(run("profile", out, "--angles", "30", "--json", "-").stdout)
    assert found["gess"][0] == pytest.approx(he.gess(cloud, angle=30), rel=0.1)


def test_inspect_says_what_is_known_and_what_is_not(run):
    sky_map("g.fits", "G")
    with open("plain.csv", "w") as stream:
        stream.write("x,y,z\n1,0,0\n0,1,0\n")
    assert (
        "known: cells of 7.33 degrees, a map or grid; frame galactic; no names of rows (--labels)"
        in run("inspect", "g.fits").stdout
    )
    assert "known: kind not known (--kind); frame not known (--frame)" in run("inspect", "plain.csv").stdout


@pytest.mark.parametrize(
    ("option", "value", "words"), [("--kind", "census", "draws"), ("--frame", "fk5", "icrs"), ("--labels", "x", "name")]
)
def test_what_cannot_be_known_is_refused_with_the_choices(run, option, value, words):
    with open("c.csv", "w") as stream:
        stream.write("name,lon,lat\na,0,0\nb,10,10\n")
    found = run("profile", "c.csv", option, value)
    assert found.exit_code in (2, 3)
    assert words in found.stderr


def test_chains_with_missing_numbers_are_cut_to_one_length(run):
    """The rows that are dropped left chains of several lengths, for which there was no option."""
    rng = np.random.default_rng(0)
    lines = ["chain,draw,x,y,z"]
    for chain in range(4):
        for draw, place in enumerate(slow_chain(300, rng, step=1.5)):
            place = [*place[:2], np.nan] if (chain, draw) in ((1, 40), (3, 7)) else place
            lines.append(f"{chain},{draw}," + ",".join("" if np.isnan(part) else f"{part:.12f}" for part in place))
    with open("chains.csv", "w") as stream:
        stream.write("\n".join(lines) + "\n")
    found = run("test", "chains.csv", "--drop-missing", "--angles", "30,90")
    assert found.exit_code == 0, found.stderr
    assert "chain 1 has 299 and chain 0 has 300 draws; the first 2 of 1,198 draws" in found.stderr
    assert re.search(r"random signs of \d+ blocks of draws", found.stdout)


def test_accumulate_and_merge_say_which_frame_was_taken(run):
    points = he.samplers.uniform(20, rng=0)
    lon, lat = np.degrees(np.arctan2(points[:, 1], points[:, 0])) % 360, np.degrees(np.arcsin(points[:, 2]))
    for name, head, columns in (
        ("vectors.csv", "x,y,z", points),
        ("galactic.csv", "glon,glat", np.column_stack([lon, lat])),
        ("stars.csv", "ra,dec", np.column_stack([lon, lat])),
    ):
        np.savetxt(name, columns, delimiter=",", header=head, comments="")
    before = "what came before does not say its frame, and is taken for galactic"
    cases = {("vectors.csv", "galactic.csv"): before, ("galactic.csv", "vectors.csv"): "vectors.csv does not say its"}
    cases |= {("stars.csv", "galactic.csv"): "galactic.csv was turned into ICRS"}
    for files, said in cases.items():
        assert f"heatess: warning: {said}" in run("accumulate", *files, "-o", "both.npz", "--force").stderr.replace(
            "galactic.csv is galactic and what came before ICRS: ", ""
        )
    for name in ("vectors", "galactic"):
        assert run("accumulate", f"{name}.csv", "-o", f"{name}.npz").exit_code == 0
    assert before in run("merge", "vectors.npz", "galactic.npz", "--angles", "30").stderr


def test_a_coverage_map_has_no_values(run):
    table = pytest.importorskip("astropy.table")
    pytest.importorskip("astropy_healpix")
    meta = {"PIXTYPE": "HEALPIX", "ORDERING": "NUNIQ", "COORDSYS": "C"}
    for column in ("UNIQ", "NPIX"):
        table.Table({column: np.arange(4, 16)}, meta=meta).write("moc.fits", overwrite=True)
        assert "is a coverage map (MOC)" in run("profile", "moc.fits").stderr


def test_steps_of_measuring_specimens_are_no_draws(run):
    with open("measurements.txt", "w") as stream:
        stream.write("tab delimited\tmeasurements\nspecimen\tdir_dec\tdir_inc\n")
        stream.writelines(f"s{k // 5}\t{(37 * k) % 360}.5\t{20 + k}.5\n" for k in range(20))
    found = run("test", "measurements.txt")
    assert (found.exit_code, "steps of measuring some specimens" in found.stderr) == (3, True)
    assert run("test", "measurements.txt", "--kind", "draws").exit_code == 0


@pytest.mark.parametrize(("names", "frame", "place"), [("l,b", "galactic", "the sky"), ("az,alt", None, "the sphere")])
def test_longitudes_of_the_sky_are_no_places_on_the_earth(run, names, frame, place):
    with open("a.csv", "w") as stream:
        stream.write(f"{names}\n120.5,20\n300,-70\n33,5\n")
    lon, lat = names.split(",")
    words = ("a.csv", "--lon", lon, "--lat", lat, "--angles")
    found = run("profile", *words, "60")
    assert f"{place} has room for" in found.stdout
    assert run("profile", *words, "100km").exit_code == 2
    assert he.read("a.csv", columns={"lon": lon, "lat": lat}).known.frame == frame
