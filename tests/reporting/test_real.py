"""Real reports of `heatess.report` in Chromium: one of every space that heatess has."""

from __future__ import annotations

import numpy as np
import pytest

import heatess as he
import space_cases

from . import browser as browsers

REASON = browsers.missing()
pytestmark = [pytest.mark.skipif(bool(REASON), reason=REASON or "a browser is there")]

COLOURS = "(c) => new Set(new Uint32Array(c.getContext('2d').getImageData(0, 0, c.width, c.height).data.buffer)).size"


@pytest.fixture(scope="module")
def browser():
    with browsers.launched() as launched:
        yield launched


def opened_cleanly(browser, path):
    one = browsers.Opened(browser, path)
    try:
        assert one.said == []
        assert one.outside() == []
        for canvas in one.page.locator(".view > canvas").all():
            assert canvas.evaluate(COLOURS) > 5
        first = one.picture() if one.page.locator(".view > canvas").count() else ""
        one.page.focus("input[type=range]")
        for key in ("Home", "End"):
            one.page.keyboard.press(key)
            one.settle()
        assert one.said == []
        return first, one.page.evaluate("() => heatess.data")
    finally:
        one.close()


@pytest.mark.slow
@pytest.mark.parametrize(**space_cases.named(space_cases.EVERY))
def test_a_report_of_every_space_opens_cleanly(browser, tmp_path, case):
    rng = np.random.default_rng(0)
    measure = he.Measure.of(case.points(80, rng), rng.gamma(2.0, size=80), space=case.space())
    path = he.report(measure, tmp_path / "report.html", times=case.times(6), rng=0)
    _, data = opened_cleanly(browser, path)
    assert data["measures"][0]["n"] == 80
    assert path.stat().st_size <= 300_000 + 12 * 80


@pytest.mark.slow
def test_a_report_of_columns_on_the_earth_has_coasts_and_kilometres(browser, tmp_path):
    rng = np.random.default_rng(1)
    table = tmp_path / 'x"><img src=x onerror=alert(1)>.csv'
    places = rng.uniform(-20, 60, size=(200, 2))
    rows = "\n".join(f"{lon:.3f},{lat:.3f}" for lon, lat in places)
    table.write_text(f"lon,lat\n{rows}\n")
    path = he.report(he.read(table, units="deg"), tmp_path / "earth.html", rng=0)
    one = browsers.Opened(browser, path)
    try:
        assert one.said == []
        assert one.page.locator("img").count() == 0
        assert 'x"><img src=x onerror=alert(1)>.csv' in one.page.inner_text(".source")
        assert " km" in one.page.inner_text(".scalebar .now")
        assert one.page.locator("#heatess-coast").count() == 1
        assert one.page.evaluate("() => heatess.data.measures[0].view.graticule") == "earth"
    finally:
        one.close()


@pytest.mark.slow
def test_two_real_measures_are_compared_in_the_page(browser, tmp_path):
    rng = np.random.default_rng(2)
    one = he.samplers.von_mises_fisher(150, [0, 0, 1], 5.0, rng=rng)
    other = he.samplers.von_mises_fisher(150, [0, 1, 0], 5.0, rng=rng)
    path = he.report({"north": he.Measure(one), "east": he.Measure(other)}, tmp_path / "two.html", rng=0)
    page = browsers.Opened(browser, path)
    try:
        assert page.said == []
        data = page.page.evaluate("() => heatess.data")
        assert data["comparison"]["pvalue"] < 0.01
        assert data["comparison"]["verdict"] in page.page.inner_text("#comparison")
        assert page.page.locator(".view > canvas").count() == 2
        assert page.page.locator("[data-chart=comparison] .curve").count() == 1
    finally:
        page.close()


@pytest.mark.slow
@pytest.mark.parametrize("width", [360, 1280])
def test_five_measures_with_long_names_fit(browser, tmp_path, width):
    rng = np.random.default_rng(3)
    clouds = {f"{'averylongnamewithoutanyspace' * 4}{k}": he.samplers.uniform(40, rng=rng) for k in range(5)}
    path = he.report({name: he.Measure(cloud) for name, cloud in clouds.items()}, tmp_path / "five.html", rng=0)
    one = browsers.Opened(browser, path, viewport={"width": width, "height": 800})
    try:
        assert one.said == []
        assert one.page.evaluate("() => document.documentElement.scrollWidth") <= width
    finally:
        one.close()


EXTREMES = {
    "one atom": lambda rng: ([[0.0, 0.0, 1.0]], {"angles": [10.0]}),
    "one place": lambda rng: (np.tile([0.0, 0.0, 1.0], (20, 1)), {}),
    "one scale": lambda rng: (he.samplers.uniform(50, rng=rng), {"angles": [20.0]}),
    "numbers up to 1e205": lambda rng: (he.samplers.uniform(40, 383, rng=rng), {"angles": [1, 2, 5, 10, 20, 50, 100]}),
}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::heatess.ScaleWarning")
@pytest.mark.filterwarnings("ignore::heatess.CalibrationWarning")
@pytest.mark.filterwarnings("ignore::heatess.PrecisionWarning")
@pytest.mark.parametrize("name", EXTREMES)
def test_extremes_open_cleanly_with_few_ticks_on_each_axis(browser, tmp_path, name):
    points, scales = EXTREMES[name](np.random.default_rng(4))
    path = he.report(he.Measure(points), tmp_path / "extreme.html", rng=0, **scales)
    one = browsers.Opened(browser, path)
    try:
        assert one.said == []
        for chart in one.page.locator(".chart svg[role=img]").all():
            assert 2 <= chart.locator("text").count() <= 40
        assert not one.page.locator("svg [d*=NaN], svg [d*=Infinity]").count()
    finally:
        one.close()


@pytest.mark.slow
def test_a_plane_is_shaded_up_to_its_own_highest_density(browser, tmp_path):
    points = np.random.default_rng(0).normal(size=(300, 2)) * [1, 3]
    path = he.report(he.Measure(points, space=he.Euclidean(2)), tmp_path / "plane.html")
    one = browsers.Opened(browser, path)
    try:
        ends = one.page.locator(".ramp span").all_inner_texts()
        assert 1 / (6 * np.pi) / 3 < float(ends[1]) < 1 / (6 * np.pi)
        assert one.page.get_by_text("300 points in the plane, equal weights.").count()
    finally:
        one.close()
