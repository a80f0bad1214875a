"""heatess profile -o and heatess compare -o: the report of the same numbers, and where they came from."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

import heatess as he
from heatess.cli import main
from reporting.test_content import data_in


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def call(*words: str) -> Result:
        return CliRunner().invoke(main, words)

    return call


def write(path: str, seed: int, head: str = "x,y,z,weight", n: int = 120) -> None:
    rng = np.random.default_rng(seed)
    rows = np.column_stack([he.samplers.von_mises_fisher(n, [0, 0, 1], 5, rng=rng), rng.uniform(0.5, 1, n)])
    Path(path).write_text(head + "\n" + "\n".join(",".join(map(repr, row)) for row in rows.tolist()) + "\n")


def test_profile_writes_a_report_of_the_numbers_it_prints(run):
    write("cloud.csv", 0)
    result = run("profile", "cloud.csv", "--angles", "5:60:12", "-o", "page.html")
    assert result.exit_code == 0, result.output
    assert "wrote page.html" in result.stderr
    data = data_in(Path("page.html"))
    expected = he.heat_profile(he.read("cloud.csv"), angles=np.geomspace(5, 60, 12))
    np.testing.assert_allclose(data["measures"][0]["curves"]["gess"], expected.gess, rtol=1e-12)
    facts = dict(data["provenance"])
    assert facts["Command"] == "heatess profile cloud.csv --angles 5:60:12 -o page.html"
    assert facts["SHA-256"] == hashlib.sha256(Path("cloud.csv").read_bytes()).hexdigest()
    assert facts["Columns"] == "x, y, z"
    assert facts["Weights"] == "weight"
    assert facts["Size"] == f"{Path('cloud.csv').stat().st_size:,} bytes"


def test_compare_writes_one_report_with_the_p_value_it_prints(run):
    write("a.csv", 0)
    write("b.csv", 1)
    words = ("--angles", "10:60:6", "--seed", "1", "--draws", "99", "--weights-are", "fixed")
    result = run("compare", "a.csv", "b.csv", *words, "-o", "page.html")
    assert result.exit_code == 0, result.output
    data = data_in(Path("page.html"))
    assert [measure["name"] for measure in data["measures"]] == ["a.csv", "b.csv"]
    assert f"p = {data['comparison']['pvalue']:.2g}" in result.stdout
    assert data["comparison"]["draws"] == 99
    assert {"File 1", "File 2", "SHA-256 2"} <= set(dict(data["provenance"]))


def test_a_report_is_replaced_and_written_even_if_a_bound_is_not_met(run):
    write("cloud.csv", 0)
    Path("page.html").write_text("old")
    words = ["profile", "cloud.csv", "--angles", "5,20", "-o", "page.html", "--fail-under", "gess@20deg=100"]
    assert run(*words).exit_code == 2
    assert Path("page.html").read_text() == "old"
    assert run(*words, "--force").exit_code == 4
    assert data_in(Path("page.html"))["schema"] == "heatess.report/1"


def test_hostile_names_of_files_and_columns_are_text(run):
    file, column = '"><script>alert(1).csv', "<img src=x onerror=alert(1)>"
    write(file, 0, head=f'x,y,z,"{column}"')
    result = run("profile", file, "--weights", column, "--angles", "5,20", "-o", "page.html")
    assert result.exit_code == 0, result.output
    text = Path("page.html").read_text()
    assert "<script>alert" not in text
    assert "<img" not in text
    data = data_in(Path("page.html"))
    assert data["measures"][0]["name"] == file
    assert dict(data["provenance"])["Weights"] == column


def test_options_that_decide_what_data_mean_are_on_the_page(run):
    rng = np.random.default_rng(0)
    rows = np.column_stack([rng.uniform(0, 3, 40), rng.uniform(-1, 1, 40)])
    Path("sky.csv").write_text("ra,dec\n" + "\n".join(f"{a},{b}" for a, b in rows.tolist()))
    result = run("profile", "sky.csv", "--units", "rad", "--angles", "5,20", "-o", "page.html")
    assert result.exit_code == 0, result.output
    data = data_in(Path("page.html"))
    assert "Angles were read as radians because --units rad says so." in data["verdict"]["warnings"]
    assert data["measures"][0]["view"]["graticule"] == "sky"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["-o", "page.pdf"], "does not end in .html"),
        (["-o", "-"], "does not end in .html"),
        (["-o", "no/page.html"], "no"),
    ],
)
def test_reports_that_cannot_be_written_are_refused_at_once(run, words, message):
    write("cloud.csv", 0)
    result = run("profile", "cloud.csv", *words)
    assert result.exit_code == 2
    assert message in result.stderr


@pytest.mark.slow
def test_the_demo_ends_with_a_report_and_says_where(run):
    result = run("demo", "--out", "demo")
    assert result.exit_code == 0, result.output
    assert result.stdout.strip().endswith(f"open {Path('demo/report.html').resolve()} in a browser.")
    data = data_in(Path("demo/report.html"))
    before, after = data["measures"]
    assert (round(before["ess"]), round(after["ess"])) == (152, 3000)
    np.testing.assert_allclose(after["curves"]["gess"][30:], before["curves"]["gess"][30:], rtol=0.05)
    assert any("Only 342 of 3,000" in text for text in data["verdict"]["warnings"])
