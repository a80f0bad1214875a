"""Reports as files: written whole or not at all, the same again and again, in words that fit."""

from __future__ import annotations

import re

import numpy as np
import pytest

import heatess as he
import meshes
from reporting.test_content import cloud, data_in

ANGLES = np.geomspace(4, 100, 12)


def told(measure, tmp_path, **how):
    how.setdefault("angles", ANGLES)
    return data_in(he.report(measure, tmp_path / "page.html", **how))


def from_table(rows: str, tmp_path, name: str = "places.csv", **how) -> he.Measure:
    path = tmp_path / name
    path.write_text(rows)
    return he.read(path, **how)


def lonlat(points) -> str:
    lines = [f"{np.degrees(np.arctan2(y, x))},{np.degrees(np.arcsin(z))}" for x, y, z in points]
    return "\n".join(["lon,lat", *lines])


# Words.


def test_places_on_the_earth_are_told_in_kilometres(tmp_path):
    measure = from_table(lonlat(he.samplers.von_mises_fisher(300, [0, 0, 1], 8, rng=0)), tmp_path)
    data = told(measure, tmp_path)
    verdict = data["verdict"]
    at = r"[\d.,]+ at [\d,]+ km"
    assert re.fullmatch(rf"300 places count as [\d.,]+ separate places at [\d,]+ km(, {at})+\.", verdict["headline"])
    said = " ".join(verdict["sentences"])
    assert "km²" in said
    assert "the Earth has room for" in said
    assert data["scales"]["km"] == pytest.approx((ANGLES * 111.19508).tolist())
    view = data["measures"][0]["view"]
    assert (view["graticule"], view["coast"]) == ("earth", True)
    assert data["title"] == "places.csv"
    assert "from lon, lat (degrees)" in said


def test_the_headline_names_three_round_scales_and_the_counts_there(tmp_path):
    measure = from_table(lonlat(he.samplers.uniform(2000, rng=0)), tmp_path, name="airports.csv")
    data = told(measure, tmp_path, angles=None)
    at = r"([\d.,]+) at ([\d,]+) km"
    pattern = rf"2,000 airports count as ([\d,]+) separate places at ([\d,]+) km, {at}, {at}\."
    counts = re.fullmatch(pattern, data["verdict"]["headline"])
    numbers = [float(text.replace(",", "")) for text in counts.groups()]
    assert {int(f"{km:.0f}".rstrip("0")) for km in numbers[1::2]} <= {1, 2, 5}
    angles = np.array(numbers[1::2]) * 360 / 40030.23  # kilometres around the Earth
    exact = he.heat_profile(measure, angles=angles).gess
    np.testing.assert_allclose(numbers[::2], exact, rtol=0.06)
    assert data["scales"]["values"][data["scales"]["start"]] == pytest.approx(angles[1])


def test_what_is_said_at_each_scale_is_what_the_curve_says_there(tmp_path):
    data = told(cloud(), tmp_path)
    texts, rows = data["verdict"]["follows"]["texts"], data["verdict"]["follows"]["rows"]
    assert len(rows) == len(ANGLES)
    for row, angle in enumerate(ANGLES):
        gess = data["measures"][0]["curves"]["gess"][row]
        shown = f"{gess:,.0f}" if gess >= 9.95 else f"{gess:.2g}"
        headline = texts[rows[row][0]]
        assert f"{angle:.3g}°" in headline
        assert shown in headline
    start = rows[data["scales"]["start"]]
    assert [texts[k] for k in start] == [data["verdict"]["headline"], *data["verdict"]["sentences"]]


@pytest.mark.slow
def test_points_are_called_what_their_field_calls_them(tmp_path):
    quakes = from_table("lon,lat,mag\n1,2,5\n40,5,6\n", tmp_path, name="usgs.csv", weights="mag")
    sphere = he.samplers.uniform(20, 383, rng=0)
    for measure, word in ((quakes, "quakes"), (he.Measure(sphere), "vectors"), (cloud(30), "points")):
        assert told(measure, tmp_path, angles=None)["measures"][0]["nouns"][1] == word


def test_the_verdict_counts_out_of_the_most_that_are_possible(tmp_path):
    measure = cloud()
    data = told(measure, tmp_path)
    profile = he.heat_profile(measure, angles=ANGLES)
    row = data["scales"]["start"]
    said = " ".join(data["verdict"]["sentences"])
    most, found = profile.gess[row] / profile.volume[row], profile.gess[row]
    assert f"room for {most:.0f} separate places; these fill {found:.2g}" in said
    assert f"cover {100 * profile.volume[row]:.3g} %" in said


@pytest.mark.slow
def test_ordinary_ess_is_named_where_it_misleads(tmp_path):
    text = " ".join(told(cloud(), tmp_path)["verdict"]["sentences"])
    assert f"Ordinary ESS would say {cloud().ess:.3g}. It sees only weights" in text
    apart = he.Measure(he.samplers.fibonacci(20), np.arange(1, 21))
    text = " ".join(told(apart, tmp_path, angles=[2, 4, 8])["verdict"]["sentences"])
    assert "says nearly the same" in text


def test_copies_heavy_tails_and_dropped_rows_are_warned_of(tmp_path):
    rng = np.random.default_rng(0)
    heavy = he.Measure(np.repeat(he.samplers.uniform(200, rng=rng), 5, axis=0), rng.pareto(0.8, 1000))
    warned = " ".join(told(heavy, tmp_path)["verdict"]["warnings"])
    assert "Only 200 of 1,000 points are at different places" in warned
    assert re.search(r"Pareto k is \d\.\d\d", warned)
    gaps = from_table(lonlat(he.samplers.uniform(50, rng=rng)) + "\n,3\n", tmp_path, drop_missing=True)
    assert "1 row was left out because a number was missing." in told(gaps, tmp_path)["verdict"]["warnings"]


def test_a_single_atom_is_told_as_what_it_is(tmp_path):
    data = told(he.Measure([[0.0, 0.0, 1.0]]), tmp_path)
    assert data["verdict"]["headline"] == "There is one point, and so gESS is 1 at every scale."
    assert data["measures"][0]["curves"]["gess"] == [1.0] * len(ANGLES)


def test_copies_of_one_atom_act_like_one(tmp_path):
    data = told(he.Measure([[0.0, 0.0, 1.0]] * 7), tmp_path)
    at = f"{ANGLES[data['scales']['start']]:.3g}°"
    assert data["verdict"]["headline"] == f"7 points cannot be told apart at {at}: they count as one."
    assert "They count as one at every scale." in data["verdict"]["sentences"]


def test_what_is_left_out_has_a_reason(tmp_path):
    data = told(he.Measure(np.random.default_rng(0).normal(size=(40, 2)), space=he.Euclidean(2)), tmp_path, angles=None)
    assert data["methods"][-1]["title"] == "What is not shown, and why"
    assert "there is no power spectrum on the space: its volume is infinite" in data["methods"][-1]["text"]
    assert "Euclidean" not in data["methods"][-1]["text"]


def test_a_band_that_is_withheld_is_not_explained(tmp_path):
    points = he.samplers.von_mises_fisher(60, [0, 0, 1], 5, rng=0)
    for weights, withheld in ((None, False), (np.random.default_rng(0).exponential(1, 60) ** 3, True)):
        texts = {part["title"]: part["text"] for part in told(he.Measure(points, weights), tmp_path)["methods"]}
        assert ("The band covers it with 95 %" in texts["Places of the distribution"]) is not withheld
        assert ("bands are withheld" in texts.get("What is not shown, and why", "")) is withheld


def test_warnings_of_the_computation_are_given_and_on_the_page(tmp_path):
    octahedron = np.vstack([np.eye(3), -np.eye(3)])
    with pytest.warns(he.PrecisionWarning, match="mmd2"):
        path = he.report(octahedron, tmp_path / "page.html", angles=np.geomspace(60, 600, 8))
    assert any("mmd2" in text for text in data_in(path)["verdict"]["warnings"])


# Several measures.


def test_two_on_the_earth_are_told_in_kilometres_and_shaded_at_the_scale_at_which_the_page_opens(tmp_path):
    parts = [he.samplers.von_mises_fisher(60, [1, 0, 0], kappa, rng=0) for kappa in (300, 900)]
    wide, narrow = (he.Measure(part, frame="geographic", kind="complete") for part in parts)
    data = told({"wide": wide, "narrow": narrow}, tmp_path, angles=None)
    shares = r"[\d.]+ % at [\d.,]+ km"
    assert re.fullmatch(
        rf"wide and narrow share {shares}, {shares}, .*% at [\d.,]+ km; there is no p-value.",
        data["verdict"]["headline"],
    )
    assert any(
        re.search(r"wide: The cloud has 1 mode between [\d,]+ and [\d,]+ km.", text)
        for text in data["verdict"]["sentences"]
    )
    for measure in data["measures"]:
        assert data["scales"]["start"] in [frame["scale"] for frame in measure["view"]["density"]["frames"]]


@pytest.mark.slow
def test_two_measures_are_compared_and_the_p_value_is_that_of_compare(tmp_path):
    wide = he.Measure(he.samplers.von_mises_fisher(150, [0, 0, 1], 5, rng=0))
    narrow = he.Measure(he.samplers.von_mises_fisher(150, [0, 0, 1], 20, rng=1))
    data = told({"wide": wide, "narrow": narrow}, tmp_path, angles=[10, 20, 40, 80], rng=2)
    found = he.compare(wide, narrow, angles=[10, 20, 40, 80], names=("wide", "narrow"), rng=2)
    assert data["comparison"]["pvalue"] == found.pvalue
    assert data["comparison"]["mmd2"] == pytest.approx(found.mmd2)
    assert data["verdict"]["headline"] == f"{found.verdict}.".replace("<=", "≤").replace(" degrees", "°")
    assert data["verdict"]["headline"].startswith("wide and narrow differ (p ≤ 0.002)")
    assert [measure["name"] for measure in data["measures"]] == ["wide", "narrow"]
    assert data["comparison"]["clearest"] == data["scales"]["start"] == found.test.clearest
    assert data["comparison"]["said"] == "p ≤ 0.002"


@pytest.mark.slow
def test_measures_without_scales_share_scales_that_fit_all(tmp_path):
    pair = [he.Measure(he.samplers.von_mises_fisher(100, [0, 0, 1], kappa, rng=0)) for kappa in (2, 500)]
    data = told(pair, tmp_path, angles=None, rng=0)
    ends = [he.heat_profile(measure).angles for measure in pair]
    values = data["scales"]["values"]
    assert values[0] == pytest.approx(min(part.min() for part in ends))
    assert values[-1] == pytest.approx(max(part.max() for part in ends))
    assert [measure["name"] for measure in data["measures"]] == ["A", "B"]


@pytest.mark.slow
def test_a_report_is_the_same_again(tmp_path, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    pair = {"a": cloud(80, 0), "b": cloud(90, 1)}
    pages = [he.report(pair, tmp_path / f"{k}.html", angles=ANGLES, rng=3, weights_are="fixed") for k in range(2)]
    assert pages[0].read_bytes() == pages[1].read_bytes()
    assert data_in(pages[0])["created"] == "2023-11-14T22:13:20Z"


def test_a_profile_has_curves_and_no_picture(tmp_path):
    profile = he.heat_profile(cloud(), angles=ANGLES[::-1])
    path = he.report(profile, tmp_path / "profile.html", names="from a state")
    (measure,) = data_in(path)["measures"]
    assert measure["view"]["kind"] == "none"
    assert "no points" in measure["view"]["why"]
    assert measure["curves"]["gess"] == profile.gess[::-1].tolist()
    assert measure["name"] == "from a state"


# Files.


def test_a_failure_leaves_the_old_report_as_it_was(tmp_path, monkeypatch):
    path = tmp_path / "page.html"
    path.write_text("old")

    def broken(*args, **how):
        raise RuntimeError("broken")

    monkeypatch.setattr("heatess.reporting.page.render", broken)
    with pytest.raises(RuntimeError, match="broken"):
        he.report(cloud(50), path, angles=ANGLES)
    assert path.read_text() == "old"
    assert [file.name for file in tmp_path.iterdir()] == ["page.html"]


HOSTILE = '"><script>alert(1)</script><img src=x onerror=alert(2)>'


def test_hostile_names_are_text(tmp_path):
    path = he.report(cloud(50), tmp_path / "page.html", angles=ANGLES, names=HOSTILE, provenance={HOSTILE: HOSTILE})
    text = path.read_text(encoding="utf-8")
    assert "<script>alert" not in text
    assert "<img src=x" not in text
    assert data_in(path)["measures"][0]["name"] == HOSTILE


def test_names_that_are_not_unicode_are_written(tmp_path):
    path = he.report(cloud(50), tmp_path / "page.html", angles=ANGLES, names="caf\udce9.csv")
    assert "caf?.csv" in path.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "how", "message"),
    [
        ([cloud(9), "page.txt"], {}, "does not end in .html"),
        ([cloud(9), "no/such/page.html"], {}, "does not exist; make it first"),
        ([cloud(9), 7], {}, "path must be the name of a file"),
        ([[], "page.html"], {}, "points"),
        ([[cloud(9), cloud(9)], "page.html"], {"names": ["a", "a"]}, "names must differ"),
        ([cloud(9), "page.html"], {"names": ["a", "b"]}, "names must be 1, one for each measure"),
        ([cloud(9), "page.html"], {"rtol": -1}, "rtol"),
        ([he.heat_profile(cloud(9), angles=[5, 10]), "page.html"], {"angles": [3]}, "has scales of its own"),
        ([[cloud(9), he.Measure([0.0, 1.0], space=he.Circle())], "page.html"], {}, "report like with like"),
    ],
)
def test_what_cannot_be_reported_is_refused(arguments, how, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(he.InputError, match=re.escape(message)):
        he.report(*arguments, **how)
    assert not list(tmp_path.iterdir())


def test_a_surface_has_buttons_for_round_scales_too(tmp_path):
    mesh = he.Mesh(*meshes.icosphere(2))
    data = told(he.Measure(np.arange(0, 60), space=mesh), tmp_path, angles=None)
    scales = data["scales"]
    named = [scales["values"][row] for row in scales["buttons"]]
    assert len(named) > 1
    assert {f"{value:.6g}".strip("0.") for value in named} <= {"1", "2", "5"}
    exact = he.heat_profile(np.arange(0, 60), space=mesh, times=np.square(named) / 8).gess
    np.testing.assert_allclose([data["measures"][0]["curves"]["gess"][row] for row in scales["buttons"]], exact)


def test_a_report_that_is_forwarded_does_not_say_where_the_file_was(tmp_path):
    path = np.cumsum(np.full((300, 2), 0.1), axis=0)  # each row close to the next: no draws
    rows = "\n".join(["lon,lat", *(f"{lon},{lat}" for lon, lat in path)])
    measure = from_table(rows, tmp_path, name="track.csv")
    data = told(measure, tmp_path)
    missing = next(part["text"] for part in data["methods"] if part["title"].startswith("What is not shown"))
    assert "track.csv" in missing
    assert str(tmp_path) not in str(data)


def test_several_clouds_without_a_test_are_told_with_their_ess(tmp_path):
    points = he.samplers.uniform(200, rng=0)
    uneven = he.Measure(points, log_weights=6 * points[:, 2])
    profiles = {
        name: he.heat_profile(one, angles=ANGLES) for name, one in {"a": he.Measure(points), "b": uneven}.items()
    }
    data = data_in(he.report(profiles, tmp_path / "page.html"))
    pattern = rf"Separate points at [\d.]+°: [\d.]+ in “a”, [\d.]+ in “b” \(ordinary ESS: 200, {uneven.ess:.3g}\)\."
    assert re.fullmatch(pattern, data["verdict"]["headline"])
