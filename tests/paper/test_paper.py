"""The paper is reproduced: its clouds, its tables to every printed digit, its figures, and honest checks."""

from __future__ import annotations

import importlib
import json
import re
import subprocess
import sys
from functools import reduce
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import heatess as he
from heatess.cli import main
from heatess.cli.own_directory import RECORD
from heatess.paper import (
    EXPERIMENTS,
    Reproduction,
    chosen,
    configurations,
    document,
    file_names,
    published,
    reproduce,
    tables,
)
from heatess.paper.checks import Check, Law, Spread, report, verdict
from heatess.paper.experiment import Settings

RANDOM_ROWS = ("Unimodal vMF", "Antipodal", "Girdle", "Four modes")


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return lambda *words: CliRunner().invoke(main, ["reproduce", *words])


@pytest.fixture(scope="module")
def clouds():
    return configurations.synthetic(np.random.default_rng(5))


# The clouds.


def test_synthetic_clouds_have_the_sizes_of_the_appendix(clouds):
    assert list(clouds) == list(published.table("table1_synthetic")[1])
    assert {len(points) for points in clouds.values()} == {300}
    wide = configurations.synthetic(np.random.default_rng(5), configurations.REPLICATED)
    assert {len(points) for points in wide.values()} == {180}


def test_antipodal_clouds_have_equal_halves(clouds):
    height = clouds["Antipodal"][:, 2]
    assert (height > 0.9).sum() == (height < -0.9).sum() == 150


def test_four_modes_have_75_atoms_each(clouds):
    nearest = (clouds["Four modes"] @ he.samplers.TETRAHEDRON.T).argmax(axis=1)
    np.testing.assert_array_equal(np.bincount(nearest), [75] * 4)


@pytest.mark.parametrize(
    ("recipe", "places", "clip"), [(configurations.MAIN, 30, 0.12), (configurations.REPLICATED, 20, 0.15)]
)
def test_duplicates_and_girdle_follow_their_recipe(recipe, places, clip):
    found = configurations.synthetic(np.random.default_rng(1), recipe)
    _, copies = np.unique(found["Duplicates"], axis=0, return_counts=True)
    np.testing.assert_array_equal(copies, [recipe.n // places] * places)
    heights = np.concatenate(
        [configurations.synthetic(np.random.default_rng(seed), recipe)["Girdle"][:, 2] for seed in range(60)]
    )
    assert np.abs(heights).max() <= clip
    assert heights.std() == pytest.approx(recipe.spread, rel=0.02)


def test_digits_are_whole_numbers_from_0_to_16():
    pixels, labels = configurations.handwritten()
    assert pixels.shape == (1797, 64)
    assert (pixels.min(), pixels.max()) == (0, 16)
    assert len(labels) == 1797
    assert set(labels) == set(range(10))


def test_digit_clouds_are_the_first_thirty_of_each_digit():
    found = configurations.digits()
    points, weights = found["Digits weighted"]
    np.testing.assert_allclose(weights, np.exp(2.5 * points[:, 0]))
    np.testing.assert_allclose(np.linalg.norm(points, axis=1), 1)
    np.testing.assert_array_equal(found["Digits all"][0], points)
    np.testing.assert_array_equal(found["Digits 0/1"][0], points[:60])


def test_principal_directions_do_not_depend_on_units_or_constant_features():
    rng = np.random.default_rng(0)
    features = rng.normal(size=(200, 6)) @ rng.normal(size=(6, 6))
    expected = configurations.principal_directions(features)
    rescaled = np.column_stack([features * [1, 10, 3, 0.1, 7, 2] + 5, np.full(200, 4.0)])
    np.testing.assert_allclose(configurations.principal_directions(rescaled), expected, atol=1e-10)


def test_digits_are_those_of_scikit_learn():
    datasets = pytest.importorskip("sklearn.datasets")
    decomposition = pytest.importorskip("sklearn.decomposition")
    preprocessing = pytest.importorskip("sklearn.preprocessing")
    given = datasets.load_digits()
    pixels, labels = configurations.handwritten()
    np.testing.assert_array_equal(pixels, given.data)
    np.testing.assert_array_equal(labels, given.target)
    standard = preprocessing.StandardScaler().fit_transform(given.data)
    expected = decomposition.PCA(3).fit_transform(standard)
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    np.testing.assert_allclose(configurations.principal_directions(pixels.astype(float)), expected, atol=1e-9)


# The tables.


def test_table_2_matches_to_every_printed_digit():
    columns, rows = published.table("table2_digits")
    assert tables.as_published("table2_digits", tables.digit_rows()) == {"columns": columns, "rows": rows}


def test_duplicates_row_matches_to_every_printed_digit():
    found = tables.as_published("table1_synthetic", tables.synthetic_rows(Settings(seed=3)))
    assert found["rows"]["Duplicates"] == published.table("table1_synthetic")[1]["Duplicates"]


def test_tables_have_the_shape_of_the_published_ones():
    columns, rows = published.table("table1_synthetic")
    found = tables.as_published("table1_synthetic", tables.synthetic_rows(Settings()))
    assert found["columns"] == columns
    assert list(found["rows"]) == list(rows)
    for name, values in rows.items():
        assert [type(value) for value in found["rows"][name]] == [type(value) for value in values]


def test_ours_and_theirs_stand_side_by_side_in_markdown_and_latex():
    rows = tables.digit_rows()
    assert "| Digits 0/1 | 60 (60) | 0.540 (0.540) | 0.81 (0.81) |" in tables.markdown("table2_digits", rows)
    text = tables.latex("table2_digits", rows)
    assert r"Digits weighted & 300 & 0.649 & 0.53 & 123 & 156 & 15.4 & 15.5 \\" in text
    assert r"\textit{15.4}" in text
    assert text.count("&") == 7 * (1 + 2 * 3)


def test_published_numbers_name_their_source_and_are_complete():
    assert "You and Cho" in published.sources()["paper"]
    for name in ("table1_synthetic", "table2_digits"):
        columns, rows = published.table(name)
        assert set(columns) <= set(published.DECIMALS)
        assert {len(values) for values in rows.values()} == {len(columns)}
    np.testing.assert_allclose(published.snis_curve("alpha_deg"), np.geomspace(5, 120, 60), rtol=1e-7)
    low, middle, high = (published.snis_curve(name) for name in ("q25", "median", "q75"))
    assert (low < middle).all()
    assert (middle < high).all()


# The checks.


def check(ours: float, theirs: float, *values: float, decimals: int = 1) -> Check:
    return Check("Table 1", "Girdle", "gESS(15deg)", ours, theirs, decimals, Spread.of(values) if values else None)


def test_a_number_without_randomness_must_match_to_the_printed_digit():
    assert check(15.4475, 15.4).consistent
    assert not check(15.4475, 15.5).consistent
    assert not check(15.34, 15.4).consistent


def test_a_random_number_must_lie_within_the_spread_as_rounded():
    assert check(2.0, 1.4, 1.35, 2.0).consistent
    assert check(2.0, 1.24, 1.2405, 1.3, decimals=2).consistent
    assert not check(2.0, 1.3, 1.36, 2.0).consistent
    assert not check(2.0, 2.1, 1.36, 2.04).consistent


def test_an_inconsistent_number_is_flagged_everywhere():
    good, bad = check(2.0, 2.0), check(2.0, 2.1)
    law = Law("thm:gess", "a slope", 0.3, 0.5, 0.1)
    text = report([good, bad], [law])
    assert "1 of 2 published numbers are NOT consistent" in text
    assert "1 of 1 theorem checks do NOT hold" in text
    assert [line.split()[-1] for line in text.splitlines() if "Girdle" in line] == ["yes", "NO"]
    done = Reproduction(Settings(), ("tables",), (good, bad), (law,), (), None)
    written = document(done)
    assert written["consistent"] is False
    assert [entry["consistent"] for entry in written["published"]] == [True, False]
    assert written["published"][1]["difference"] == pytest.approx(-0.1)
    assert written["theorems"][0]["holds"] is False
    assert "NOT" in written["verdict"]


def test_every_inconsistent_point_of_a_curve_is_listed():
    points = [Check("SNIS figure", "median gESS", f"{k} deg", 2.0, 2.0 + k, 4, Spread.of([1.5, 3.5])) for k in range(4)]
    text = report(points, [])
    assert "2 of 4 inside" in text
    assert [line.split()[4] for line in text.splitlines() if " deg" in line] == ["2", "3"]


def test_agreement_is_said_plainly():
    sentence = verdict([check(2.0, 2.0), check(2.0, 2.1, 1.9, 2.2)], [Law("thm:gess", "a bound", 0.2, 1.0)])
    assert sentence == (
        "All 2 published numbers are consistent with ours: 1 to every printed digit, 1 within the sampling spread. "
        "All 1 theorem checks hold."
    )


def test_a_law_without_tolerance_is_a_bound():
    assert Law("thm:gess", "a bound", 1.0, 1.0).holds
    assert not Law("thm:gess", "a bound", 1.01, 1.0).holds
    assert Law("thm:gess", "a bound", 0.1, 1.0).to_dict()["relation"] == "at most"


# The command.


def made_in(out: Path) -> list[str]:
    """The files in a directory, without the record of them."""
    return sorted(path.name for path in out.iterdir() if path.name != RECORD)


@pytest.mark.slow
def test_tables_are_reproduced_by_one_command(run, tmp_path):
    result = run("--quick", "--only", "tables")
    assert result.exit_code == 0, result.output
    out = tmp_path / "heatess-paper"
    assert made_in(out) == ["checks.json", "tables.json", "tables.md", "tables.tex"]
    assert set(made_in(out)) <= set(file_names(["tables"]))  # those that are looked for before anything is computed
    found, written = (json.loads((out / name).read_text()) for name in ("tables.json", "checks.json"))
    for name in ("table1_synthetic", "table2_digits"):
        columns, rows = published.table(name)
        assert found[name]["columns"] == columns
        assert list(found[name]["rows"]) == list(rows)
    assert len(written["published"]) == 5 * 6 + 3 * 7
    assert written["consistent"] is True
    assert written["quick"] is True
    for entry in written["published"]:
        random = entry["row"] in RANDOM_ROWS and entry["column"] != "ESS"
        assert entry["random"] is random
        assert (entry["spread"] is not None) is random
    assert "All 51 published numbers are consistent with ours" in result.stdout
    assert result.stderr == ""


@pytest.mark.slow
def test_the_seed_fixes_everything_and_changes_only_what_is_random(tmp_path):
    pytest.importorskip("matplotlib")

    def rows(seed: int) -> dict:
        return tables.as_published("table1_synthetic", tables.synthetic_rows(Settings(seed=seed)))["rows"]

    first, again, other = rows(1), rows(1), rows(2)
    assert first == again
    assert [name for name in first if first[name] == other[name]] == ["Duplicates"]
    together = reproduce(tmp_path, only=["clouds", "truncation"], seed=4)
    alone = tmp_path / "alone"
    alone.mkdir()
    reproduce(alone, only=["truncation"], seed=4)
    assert (tmp_path / "truncation.pdf").read_bytes() == (alone / "truncation.pdf").read_bytes()
    assert together.missing is None


@pytest.mark.slow
def test_figures_come_as_png_and_pdf_at_printing_size(run, tmp_path):
    pytest.importorskip("matplotlib")
    from matplotlib.image import imread

    names = ["clouds", "asymptotics", "truncation", "digits"]
    result = run("--out", "made/here", "--only", ", ".join(names))
    assert result.exit_code == 0, result.output
    out = tmp_path / "made" / "here"
    assert made_in(out) == sorted(f"{n}.{s}" for n in names for s in ("pdf", "png"))
    for name in names:
        width = 3.3 if name == "truncation" else 6.9
        picture = imread(out / f"{name}.png")
        assert picture.shape[1] == pytest.approx(300 * width, abs=1)
        assert picture.std() > 0.05
        assert (out / f"{name}.pdf").read_bytes().startswith(b"%PDF")
    assert "These experiments have no published numbers" in result.stdout


@pytest.mark.slow
def test_drawing_leaves_no_trace(tmp_path):
    pytest.importorskip("matplotlib")
    code = (
        "import sys, pathlib, matplotlib\n"
        "def settings(): return {k: matplotlib.rcParams[k] for k in matplotlib.rcParams if k != 'backend'}\n"
        "before = settings()\n"
        "from heatess.paper import reproduce; reproduce(pathlib.Path(sys.argv[1]), only=['profiles'])\n"
        "assert settings() == before; assert 'matplotlib.pyplot' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True)


def test_without_matplotlib_tables_are_written_and_the_install_line_given(run, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setattr(tables, "synthetic_rows", lambda settings, seed=0: ROWS)
    result = run("--only", "tables,clouds", "--quick")
    assert result.exit_code == 0, result.output
    assert (tmp_path / "heatess-paper" / "tables.json").exists()
    assert not list(tmp_path.rglob("*.png"))
    assert "pip install 'heatess[plot]'" in result.stderr


ROWS = {
    name: dict(zip(*(published.table("table1_synthetic")[0], values), strict=True))
    for name, values in published.table("table1_synthetic")[1].items()
}


def test_wrong_usage_is_refused_before_anything_is_computed(run, tmp_path):
    (tmp_path / "file").write_text("")
    for words, part in (
        (["--only", "tables,figure7"], "there is no experiment 'figure7'; choose from tables, clouds"),
        (["--only", ","], "no experiment is named"),
        (["--out", "file/below"], "cannot make the directory"),
        (["--seed", "-1"], "--seed"),
    ):
        result = run(*words)
        assert result.exit_code == 2
        assert part in result.stderr
        assert result.stdout == ""
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_help_names_every_experiment(run):
    text = " ".join(run("--help").stdout.split())
    assert ", ".join(EXPERIMENTS) in text


def test_experiments_run_once_and_in_order():
    assert chosen(["digits", "tables", "digits"]) == ("tables", "digits")


@pytest.mark.slow
def test_every_published_number_is_consistent_and_every_theorem_holds(run, tmp_path):
    result = run("--no-progress")
    assert result.exit_code == 0, result.output
    out = tmp_path / "heatess-paper"
    written = json.loads((out / "checks.json").read_text())
    assert len(written["published"]) == 51 + 3 * 60 + 1
    assert [entry for entry in written["published"] if not entry["consistent"]] == []
    assert {entry["spread"]["replicates"] for entry in written["published"] if entry["random"]} == {200}
    assert [entry for entry in written["theorems"] if not entry["holds"]] == []
    assert written["experiments"] == list(EXPERIMENTS)
    for name in EXPERIMENTS[1:]:
        assert (out / f"{name}.png").stat().st_size > 10_000
        assert (out / f"{name}.pdf").stat().st_size > 10_000


# The map of the paper.

ROOT = Path(__file__).parents[2]
LABELS = """
eq:weighted_measure eq:pt_def thm:pairwise_monotone eq:pairwise_identity def:gess thm:gess alg:heat-gess fig:profiles
thm:small_time eq:small_time_expansion prop:merging eq:local_overlap eq:two_atom_gess thm:spectral eq:pt_spectral
eq:D2_spectral eq:Aminus_spectral eq:B1 eq:B2 cor:sphere thm:consistency eq:W1_stability eq:weighted_rate fig:clouds
fig:asymptotics tab:synthetic tab:digits eq:mcdiarmid_weighted fig:app_replicates fig:app_truncation fig:app_snis
fig:app_digits_profiles
"""


@pytest.fixture(scope="module")
def page():
    path = ROOT / "docs" / "paper.md"
    if not path.is_file():
        pytest.skip("the documentation is not in this distribution")
    return path.read_text()


def test_the_map_of_the_paper_has_every_label(page):
    assert [label for label in LABELS.split() if f"`{label}`" not in page] == []


def test_the_map_of_the_paper_names_tests_that_exist(page):
    defined = set(
        re.findall(r"^def (test_\w+)", "\n".join(p.read_text() for p in ROOT.glob("tests/**/*.py")), re.MULTILINE)
    )
    named = set(re.findall(r"`(test_\w+)`", page))
    assert len(named) > 40
    assert named - defined == set()


def test_the_map_of_the_paper_names_functions_that_exist(page):
    # `he.gess`, `limits.laws` and the like; attributes of results are fields of their classes
    modules = {path.stem for path in (Path(he.__file__).parent / "paper").glob("*.py")}
    named = [name.split(".") for name in re.findall(r"`((?:\w+\.)+\w+)[`(]", page)]
    named = [parts for parts in named if parts[0] in {"he", *modules} and parts[-1] not in {"json", "md", "tex"}]
    assert len(named) > 40
    for head, *rest in named:
        start = he if head == "he" else importlib.import_module(f"heatess.paper.{head}")
        reduce(lambda found, part: vars(found).get(part) or found.__annotations__[part], rest, start)


def test_the_citation_names_the_paper_and_its_authors():
    path = ROOT / "CITATION.cff"
    if not path.is_file():
        pytest.skip("the citation is not in this distribution")
    text = path.read_text()
    for part in ("Heat-Kernel Entropy Profiles", "family-names: You", "family-names: Cho"):
        assert part in text
