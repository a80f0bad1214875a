"""The command line of inference: heatess test, heatess thin, bands, and the p-value of two files."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest
from click.testing import CliRunner

import heatess as he
from heatess.cli import main


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return lambda *words: CliRunner().invoke(main, [str(word) for word in words])


@pytest.fixture
def files(tmp_path):
    """four.csv (four modes, with weights), even.csv (uniform), both of longitudes and latitudes."""
    four, even = he.samplers.tetrahedral(300, 60.0, rng=0), he.samplers.uniform(200, rng=3)
    weights = np.random.default_rng(1).gamma(2, size=300)
    _write(tmp_path / "four.csv", four, weights)
    _write(tmp_path / "even.csv", even, None)
    return he.Measure(four, weights), he.Measure(even)


def _write(path, points, weights):
    lon, lat = np.degrees(np.arctan2(points[:, 1], points[:, 0])), np.degrees(np.arcsin(points[:, 2]))
    columns = [lon, lat] if weights is None else [lon, lat, weights]
    names = "lon,lat" if weights is None else "lon,lat,weight"
    np.savetxt(path, np.column_stack(columns), delimiter=",", header=names, comments="", fmt="%.17g")


def test_test_says_what_the_library_says(run, files):
    _, even = files
    found = he.uniformity_test(even)
    result = run("test", "even.csv")
    assert result.exit_code == 0, result.stderr
    assert f"p = {found.pvalue:.2g} by the limit for many points" in result.stdout
    assert result.stdout.startswith("No departure of the points from uniform was found")
    assert json.loads(run("test", "even.csv", "--json", "-").stdout)["pvalue"] == pytest.approx(found.pvalue, rel=1e-9)
    rows = list(csv.DictReader(run("test", "even.csv", "--csv", "-").stdout.splitlines()))
    assert [float(row["pvalues"]) for row in rows] == pytest.approx(found.pvalues.tolist(), rel=1e-9)


def test_test_of_modes_with_weights_fixed_and_of_importance(run, files):
    four, _ = files
    fixed = run("test", "four.csv", "--weights-are", "fixed")
    assert fixed.stdout.startswith("The points are not uniform: p < 1e-6 by")
    found = he.uniformity_test(four, weights_are="importance", draws=99, rng=4)
    result = run("test", "four.csv", "--draws", "99", "--seed", "4")
    assert result.stdout.startswith(
        f"The distribution that the importance weights aim at is not uniform: p = {found.pvalue:.2g}"
    )
    assert "by 99 random signs of the points" in result.stdout


def test_a_classical_statistic(run, files):
    _, even = files
    found = he.uniformity_test(even, statistic="rayleigh")
    assert f"p = {found.pvalue:.2g}" in run("test", "even.csv", "--statistic", "rayleigh").stdout


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("test", "even.csv", "--statistic", "rayleigh", "--angles", "20"), 2, "give --statistic or --angles"),
        (("test", "even.csv", "--statistic", "kuiper"), 2, "'rayleigh', 'bingham'"),
        (("test", "even.csv", "--draws", "5"), 3, "draws must be a whole number >= 19"),
        (("test", "even.csv", "--draws", "0"), 3, "draws must be a whole number >= 19"),
        (("thin", "four.csv", "--size", "20", "-o", "few.csv"), 2, "--angle, --time or --resolution"),
        (("thin", "four.csv", "--angle", "20", "-o", "few.csv"), 2, "--size N points, or --error X"),
        (("thin", "four.csv", "--angle", "20", "--size", "5", "--error", "0.1", "-o", "few.csv"), 2, "only one of"),
        (("thin", "four.csv", "--angle", "20", "--time", "1", "--size", "5", "-o", "few.csv"), 2, "only one of"),
        (("thin", "four.csv", "--angle", "20", "--size", "5", "-o", "-"), 2, ".csv or .npz"),
        (("thin", "four.csv", "--angle", "20", "--size", "5", "-o", "four.csv", "--force"), 2, "four.csv"),
        (("thin", "four.csv", "--angle", "20", "--size", "5", "-o", "even.csv"), 2, "--force"),
    ],
)
def test_wrong_usage_is_one_sentence_and_writes_nothing(run, files, tmp_path, words, code, said):
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    result = run(*words)
    assert result.exit_code == code
    assert said in result.stderr
    assert result.stderr.strip().splitlines()[-1].startswith("heatess: ")
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.parametrize("out", ["few.csv", "few.npz"])
def test_thin_writes_a_file_that_is_read_as_the_thinned_measure(run, files, out):
    four, _ = files
    found = he.thin(four, size=20, angle=20)
    result = run("thin", "four.csv", "--size", 20, "--angle", 20, "-o", out)
    assert result.exit_code == 0, result.stderr
    assert result.stdout.startswith(f"{found.size} of 300 points, MMD {found.mmd:.2g} at angle 20 degrees; gESS within")
    again = he.read(out, units="deg") if out.endswith("csv") else he.read(out)
    assert again.n == found.size
    np.testing.assert_allclose(again.points, found.measure.points, atol=1e-14)
    np.testing.assert_allclose(again.weights, found.weights, rtol=1e-12)
    assert abs(np.log(he.gess(again, angle=20) / he.gess(four, angle=20))) <= found.bound


def test_thin_leaves_out_rows_without_a_number_and_keeps_the_rest_in_place(run, tmp_path):
    points = he.samplers.fibonacci(40)
    rows = [[f"{value:.17g}" for value in row] for row in points]
    rows.insert(7, ["0.5", "", "0.5"])
    (tmp_path / "holes.csv").write_text("x,y,z\n" + "\n".join(",".join(row) for row in rows) + "\n")
    result = run("thin", "holes.csv", "--drop-missing", "--size", 40, "--angle", 5, "-o", "all.csv")
    assert result.exit_code == 0, result.stderr
    np.testing.assert_array_equal(he.read("all.csv").points, he.Measure(points).points)


def test_thin_reads_standard_input_once(run, tmp_path, files):
    text = (tmp_path / "four.csv").read_text()
    words = ["thin", "-", "--size", "10", "--angle", "30", "-o", "few.csv"]
    result = CliRunner().invoke(main, words, input=text)
    assert result.exit_code == 0, result.stderr
    assert he.read("few.csv", units="deg").n == he.thin(files[0], size=10, angle=30).size


def test_compare_has_the_p_value_of_two_files_and_of_no_more(run, files):
    four, even = files
    found = he.compare(four, even, names=("four.csv", "even.csv"), draws=99, rng=5)
    result = run("compare", "four.csv", "even.csv", "--draws", 99, "--seed", 5)
    assert result.exit_code == 0, result.stderr
    assert result.stdout.rstrip().endswith(f"{found.verdict}.")
    told = json.loads(run("compare", "four.csv", "even.csv", "--draws", 99, "--seed", 5, "--json", "-").stdout)
    assert told["test"]["pvalue"] == found.pvalue
    assert set(told) == {"four.csv", "even.csv", "test"}
    assert "p =" not in run("compare", "four.csv", "even.csv", "--draws", 0).stdout


def test_compare_without_a_test_says_why(run, tmp_path):
    points = he.samplers.uniform(30, rng=0)
    _write(tmp_path / "a.csv", points, np.exp(5 * points[:, 2]))
    _write(tmp_path / "b.csv", points[::-1], None)
    result = run("compare", "a.csv", "b.csv")
    assert result.exit_code == 0
    assert "no p-value: " in result.stderr
    assert "gESS" in result.stdout


def test_profile_with_bands(run, files):
    four, _ = files
    found = he.population_profile(four, angles=[10, 20, 40], weights_are="fixed")
    words = ("profile", "four.csv", "--angles", "10,20,40", "--band", "--weights-are", "fixed")
    result = run(*words)
    assert result.exit_code == 0, result.stderr
    assert "The distribution behind the sample" in result.stdout
    row = result.stdout.rsplit("95 %", 1)[1].splitlines()[1].split()
    ends = (found.places.estimate[0], found.places.lower[0], found.places.upper[0])
    assert [float(cell) for cell in row[1:4]] == pytest.approx([float(value) for value in ends], rel=1e-3)
    told = json.loads(run(*words, "--json", "-").stdout)
    assert told["schema"] == "heatess.profile/1"
    assert told["population"]["places_lower"] == pytest.approx(found.places.lower.tolist(), rel=1e-9)
    table = list(csv.DictReader(run(*words, "--csv", "-").stdout.splitlines()))
    assert float(table[1]["population_volume"]) == pytest.approx(float(found.volume.estimate[1]), rel=1e-9)


def test_bands_that_are_withheld_say_why(run, tmp_path):
    points = he.samplers.uniform(60, rng=0)
    _write(tmp_path / "few.csv", points, np.exp(12 * points[:, 2]))
    result = run("profile", "few.csv", "--angles", "20,40", "--band")
    assert result.exit_code == 0
    assert "(no bands: the variance of the importance weights rests on" in result.stdout
    assert "say --weights-are fixed)" in result.stdout


def test_reasons_and_bands_are_in_words_of_the_files(run, files, tmp_path):
    _, even = files
    _write(tmp_path / "few.csv", even.points[:20], None)
    told = run("compare", "four.csv", "few.csv", "--seed", 0)
    assert "no p-value: few.csv has 20 points, and with weights that depend on the points 25 are needed" in told.stderr
    fibonacci = he.samplers.fibonacci(40)  # more even than chance
    _write(tmp_path / "lattice.csv", fibonacci, None)
    told = run("profile", "lattice.csv", "--band", "--angles", "120", "--kind", "draws")
    table = told.stdout.splitlines()[-1].split()
    assert table[1] == table[3] == "1.342"  # all places of the sphere at that angle, not more
    assert he.population_profile(fibonacci, angles=120).places[0] > 1.35
