"""The page in Chromium: the slider, turning, untrusted names, requests, downloads, and what a screen reader meets."""

from __future__ import annotations

import csv
import json
import math
import re
import shutil
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

import heatess as he
from heatess.reporting import page as pages

from . import browser as browsers
from . import samples

REASON = browsers.missing()
pytestmark = pytest.mark.skipif(bool(REASON), reason=REASON or "a browser is there")

SLIDER = "input[type=range]"


@pytest.fixture(scope="module")
def browser():
    with browsers.launched() as launched:
        yield launched


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("reports")


@pytest.fixture(scope="module")
def report(folder):
    """Path of a report of one kind, made once."""

    def made(kind: str, n: int = 600) -> Path:
        path = folder / f"{kind}-{n}.html"
        if not path.exists():
            path.write_text(pages.render(samples.sample(kind, n)), encoding="utf-8")
        return path

    return made


@pytest.fixture
def opened(browser):
    ours = []

    def open_(path: Path, **options):
        ours.append(browsers.Opened(browser, path, **options))
        return ours[-1]

    yield open_
    for one in ours:
        one.close()


def data_of(page) -> dict:
    return page.evaluate("() => heatess.data")


@pytest.mark.slow
@pytest.mark.parametrize("kind", samples.KINDS)
def test_a_report_of_each_kind_opens_without_a_complaint_or_a_request(report, opened, kind):
    one = opened(report(kind))
    assert one.said == []
    assert one.outside() == []
    shown = one.page.locator(".view").first.get_attribute("data-view")
    assert shown == {"earth": "globe", "sky": "globe", "plain": "globe", "compare": "globe"}.get(kind, kind)
    for canvas in one.page.locator(".view > canvas").all():
        colours = canvas.evaluate(
            "(c) => new Set(new Uint32Array(c.getContext('2d').getImageData(0, 0, c.width, c.height).data.buffer)).size"
        )
        assert colours > 20


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "width"),
    [
        ("earth", 360),
        ("compare", 360),
        *((kind, width) for kind in ("square", "histogram") for width in (360, 1280)),
    ],
)
def test_nothing_is_wider_than_the_window(report, opened, kind, width):
    one = opened(report(kind), viewport={"width": width, "height": 800})
    assert one.page.evaluate("() => document.documentElement.scrollWidth") <= width


@pytest.mark.slow
def test_the_slider_moves_marker_readings_and_density(report, opened):
    one = opened(report("earth"))
    page, data = one.page, data_of(one.page)
    start = data["scales"]["start"]
    before = one.picture()
    for step, key in [(1, "ArrowRight"), (2, "ArrowRight"), (1, "ArrowLeft"), (-start, "Home")]:
        page.focus(SLIDER)
        page.keyboard.press(key)
        one.settle()
        index = start + step
        assert page.get_attribute("[data-chart=gess] .marker", "data-marker") == str(index)
        angle = data["scales"]["values"][index]
        km = data["scales"]["km"][index]
        assert page.inner_text(".scalebar .now").split() == [
            f"{float(f'{km:.3g}') if km < 1000 else round(km):,g}",
            "km",
            f"{angle:.3g}°",
        ]
        assert float(page.inner_text(".answer .big")) == pytest.approx(
            data["measures"][0]["curves"]["gess"][index], rel=6e-3
        )
        spoken = page.get_attribute(SLIDER, "aria-valuetext")
        assert "kilometres, " in spoken
        assert f" {angle:.3g} degrees. " in spoken
    assert one.picture() != before
    frames = [frame["scale"] for frame in data["measures"][0]["view"]["density"]["frames"]]
    assert (
        page.evaluate("() => heatess.frameFor(heatess.data.measures[0].view, heatess.state.index).scale") == frames[0]
    )


@pytest.fixture(scope="module")
def airports(folder) -> Path:
    """A report of places with names, as the library writes it."""
    points = he.samplers.uniform(300, rng=0)
    lon, lat = np.degrees(np.arctan2(points[:, 1], points[:, 0])), np.degrees(np.arcsin(points[:, 2]))
    table = folder / "airports.csv"
    rows = (f"port {k},{a},{b}" for k, (a, b) in enumerate(zip(lon, lat, strict=True)))
    table.write_text("\n".join(["name,lon,lat", *rows]), encoding="utf-8")
    return he.report(he.read(table, labels="name"), folder / "airports.html")


def test_headline_and_address_follow_the_slider_and_an_address_opens_what_was_seen(airports, opened):
    one = opened(airports)
    page, data = one.page, data_of(one.page)
    km, gess = data["scales"]["km"], data["measures"][0]["curves"]["gess"]
    assert "#" not in page.url
    assert page.inner_text("h1") == re.sub(r" (?=km)", "\N{NO-BREAK SPACE}", data["verdict"]["headline"])
    for key in ("ArrowRight", "ArrowRight", "End"):
        page.focus(SLIDER)
        page.keyboard.press(key)
        one.page.wait_for_timeout(200)
        row = int(page.input_value(SLIDER))
        shown = f"{gess[row]:,.0f}" if gess[row] >= 9.95 else f"{gess[row]:.2g}"
        headline = page.inner_text("h1").replace("\N{NO-BREAK SPACE}", " ")
        assert f"{km[row]:,.0f} km" in headline
        assert shown in headline or "count as one" in headline
        assert float(page.url.split("#scale=")[1]) == pytest.approx(data["scales"]["values"][row], rel=1e-3)
    page.click(".chips button >> nth=1")
    page.wait_for_timeout(200)
    seen, said = page.url.split("#")[1], page.inner_text("#verdict")
    again = opened(airports)
    again.page.goto(f"{airports.as_uri()}#{seen}")
    again.page.reload()
    again.settle()
    assert again.page.input_value(SLIDER) == page.input_value(SLIDER)
    assert again.page.inner_text("#verdict") == said
    assert one.said == again.said == []


@pytest.mark.slow
def test_hovering_a_point_shows_its_name_and_its_place(airports, opened):
    one = opened(airports)
    one.page.evaluate("() => document.querySelector('[data-view=mollweide]').scrollIntoView()")
    one.settle()
    spot = one.page.evaluate(
        """() => {
          const figure = document.querySelector("[data-view=mollweide]"), canvas = figure.querySelector("canvas");
          const { points } = heatess.cloud(heatess.data.measures[0].view), box = canvas.getBoundingClientRect();
          const [x, y] = heatess.mollweideOf(points[21], points[22], points[23], 0, 1);
          const unit = Math.min(box.width / 4, box.height / 2) - 3;
          return [box.left + box.width / 2 + unit * x, box.top + box.height / 2 - unit * y];
        }"""
    )
    one.page.mouse.move(*spot)
    one.settle()
    tip = one.page.inner_text("[data-view=mollweide] .tip")
    assert tip.startswith("port 7")
    assert re.search(r"[\d.]+° [NS], [\d.]+° [EW]", tip)


@pytest.mark.slow
def test_the_marker_stands_where_the_axis_says(report, opened):
    one = opened(report("earth"))
    values = data_of(one.page)["scales"]["values"]
    one.page.focus(SLIDER)
    places = {}
    for key, index in [("Home", 0), ("End", len(values) - 1)]:
        one.page.keyboard.press(key)
        one.settle()
        places[index] = one.page.locator("[data-chart=volume] .marker").bounding_box()["x"]
    one.page.keyboard.press("ArrowLeft")
    one.settle()
    last = len(values) - 1
    share = math.log(values[last - 1] / values[0]) / math.log(values[last] / values[0])
    assert one.page.locator("[data-chart=volume] .marker").bounding_box()["x"] == pytest.approx(
        places[0] + share * (places[last] - places[0]), abs=1.5
    )


@pytest.mark.slow
def test_a_click_in_a_curve_sets_the_scale_and_hovering_shows_readings(report, opened):
    one = opened(report("earth"))
    box = one.page.locator("[data-chart=gess] .plot").bounding_box()
    one.page.mouse.move(box["x"] + 0.9 * box["width"], box["y"] + 60)
    one.settle()
    names = one.page.locator("[data-chart=gess] .tip div span:first-child").all_inner_texts()
    assert names == ["gESS", "equal weights", "places", "room for"]
    one.page.mouse.down()
    one.page.mouse.up()
    one.settle()
    assert int(one.page.input_value(SLIDER)) > 30


def test_keys_on_a_curve_change_the_scale(report, opened):
    one = opened(report("plain"))
    start = int(one.page.input_value(SLIDER))
    one.page.focus("[data-chart=gess] .plot")
    one.page.keyboard.press("ArrowRight")
    one.settle()
    assert int(one.page.input_value(SLIDER)) == start + 1
    assert one.page.locator("[data-chart=gess] .tip").is_visible()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sky", "ball", "earth", "hemisphere", "solid", "surface"])
def test_the_picture_turns_by_mouse_and_by_keys(report, opened, kind):
    one = opened(report(kind))
    canvas = one.page.locator(".view canvas").first
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    middle = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    pictures = [one.picture()]
    yaw = one.page.evaluate("() => heatess.state.yaw")
    one.page.mouse.move(*middle)
    one.page.mouse.down()
    one.page.mouse.move(middle[0] + 80, middle[1] + 10, steps=4)
    one.page.mouse.up()
    one.page.wait_for_timeout(250)
    pictures.append(one.picture())
    turned = one.page.evaluate("() => heatess.state.yaw") - yaw
    expected = 80 / (0.475 * box["height"])
    assert turned == pytest.approx(expected if kind == "sky" else -expected, rel=0.02)
    canvas.focus()
    one.page.keyboard.press("ArrowLeft")
    one.page.wait_for_timeout(250)
    pictures.append(one.picture())
    one.page.keyboard.press("Home")
    one.page.wait_for_timeout(250)
    assert len(set(pictures)) == 3
    assert one.picture() == pictures[0]


@pytest.mark.slow
def test_a_finger_that_moves_sideways_turns_the_globe(report, opened):
    one = opened(report("earth"), viewport={"width": 390, "height": 800}, has_touch=True, is_mobile=True)
    canvas = one.page.locator(".view canvas").first
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    yaw, picture = one.page.evaluate("() => heatess.state.yaw"), one.picture()
    touch = one.context.new_cdp_session(one.page)
    touch.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [{"x": x, "y": y}]})
    for step in range(1, 9):
        touch.send("Input.dispatchTouchEvent", {"type": "touchMove", "touchPoints": [{"x": x + 10 * step, "y": y}]})
    touch.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    one.page.wait_for_timeout(300)
    assert one.page.evaluate("() => heatess.state.yaw") < yaw - 0.2
    assert one.picture() != picture


@pytest.mark.slow
def test_what_is_under_the_hand_stays_under_the_hand(report, opened):
    """A small drag to the right carries a place at the middle of the globe to the right; on the sky as well."""
    for kind in ("earth", "sky"):
        one = opened(report(kind))
        moved = one.page.evaluate(
            """(mirror) => {
              const { yaw, pitch } = heatess.state;
              const seen = heatess.screenAxes(yaw, pitch, mirror).toward;
              const to = heatess.screenAxes(yaw + (mirror ? 1 : -1) * 0.1, pitch, mirror);
              return heatess.dot(to.right, ...seen);
            }""",
            kind == "sky",
        )
        assert moved > 0


@pytest.mark.slow
def test_north_is_up_and_east_is_right_on_the_earth_and_left_on_the_sky(report, opened):
    one = opened(report("earth"))
    east = "(mirror) => heatess.dot(heatess.screenAxes(0, 0, mirror).right, 0, 1, 0)"
    north = "() => heatess.dot(heatess.screenAxes(0.3, 0.2, true).up, 0, 0, 1)"
    assert one.page.evaluate(east, False) == 1
    assert one.page.evaluate(east, True) == -1
    assert one.page.evaluate(north) == pytest.approx(math.cos(0.2))


#: Where the pixels nearest to a colour of the style lie, as a mean, in shares of the picture.
NEAREST = """(name) => {
  const canvas = document.querySelector(".view canvas"), { width, height } = canvas;
  const pixels = canvas.getContext("2d").getImageData(0, 0, width, height).data, wanted = heatess.rgb(name);
  const far = [];
  for (let i = 0; i < width * height; i++) {
    if (pixels[4 * i + 3] < 255) continue;
    far.push([wanted.reduce((sum, value, c) => sum + (pixels[4 * i + c] - value) ** 2, 0), i]);
  }
  const least = far.reduce((a, b) => Math.min(a, b[0]), Infinity);
  const near = far.filter(([d]) => d <= least + 30);
  const best = near.map(([, i]) => [(i % width) / width, Math.floor(i / width) / height]);
  return [0, 1].map((k) => best.reduce((sum, place) => sum + place[k], 0) / best.length);
}"""


@pytest.mark.slow
@pytest.mark.parametrize("graticule", [None, "sky"])
def test_an_atom_and_its_density_are_drawn_at_one_place(folder, opened, graticule):
    """Seen from 0.4 to the east of it, an atom lies sin(0.4) cos(lat) of the radius to the left of the middle."""
    data = samples.sample("plain", 300)
    lon, lat = -0.8, 0.78  # far from the lines and labels of the graticule
    where = np.array([[math.cos(lat) * math.cos(lon), math.cos(lat) * math.sin(lon), math.sin(lat)]])
    grid = samples._sphere_grid(48, 96)
    density = samples._frames(lambda angle: np.exp(20 * (grid @ where[0])), 48, 96, "lonlat")
    atom = samples._view("globe", where, None, graticule=graticule)
    smooth = samples._view("globe", where[:0], None, graticule=graticule, density=density)
    places = []
    for number, (view, colour) in enumerate([(atom, "atom"), (smooth, "high")]):
        data["measures"][0]["view"] = view
        path = folder / f"one-{graticule}-{number}.html"
        path.write_text(pages.render(data), encoding="utf-8")
        one = opened(path)
        one.page.evaluate("(row) => heatess.setScale(row)", density["frames"][-1]["scale"])
        one.page.evaluate(
            "([yaw]) => { Object.assign(heatess.state, { yaw, pitch: 0 }); heatess.tell('turn'); }", [lon + 0.4]
        )
        one.settle()
        places.append(one.page.evaluate(NEAREST, colour))
    side = -1 if graticule is None else 1
    expected = [0.5 + side * 0.475 * math.sin(0.4) * math.cos(lat), 0.5 - 0.475 * math.sin(lat)]
    assert places[0] == pytest.approx(expected, abs=0.006)
    assert places[1] == pytest.approx(expected, abs=0.02)


@pytest.mark.slow
def test_globes_side_by_side_turn_together(report, opened):
    one = opened(report("compare"))
    canvases = one.page.locator(".view canvas[tabindex]")
    assert canvases.count() == 2
    before = [canvas.evaluate("(c) => c.toDataURL()") for canvas in canvases.all()]
    canvases.first.focus()
    one.page.keyboard.press("ArrowRight")
    one.page.wait_for_timeout(250)
    after = [canvas.evaluate("(c) => c.toDataURL()") for canvas in canvases.all()]
    assert all(a != b for a, b in zip(before, after, strict=True))
    assert one.page.locator("[data-chart=gess] [data-curve^=gess-]").count() == 2
    assert "p = 0.004" in one.page.inner_text("#comparison")


@pytest.mark.slow
def test_untrusted_names_are_shown_as_text(folder, opened):
    from .test_page import hostile

    data = hostile(samples.sample("compare", 60))
    data["measures"][0]["name"] = "<img src=x onerror=alert(1)>"
    path = folder / '"><script>.html'
    path.write_text(pages.render(data | {"title": '"><script>'}), encoding="utf-8")
    one = opened(path)
    assert one.said == []
    assert one.outside() == []
    assert one.page.locator("img").count() == 0
    assert one.page.title() == '"><script>'
    assert "<img src=x onerror=alert(1)>" in one.page.inner_text(".legend >> nth=0")
    assert one.page.locator("main script").count() == 0


@pytest.mark.slow
def test_downloads_hold_every_digit(report, opened, tmp_path):
    one = opened(report("earth"), accept_downloads=True)
    data = data_of(one.page)
    files = {}
    for label in ("Curves as CSV", "Everything as JSON", "Figures as SVG"):
        with one.page.expect_download() as waited:
            one.page.get_by_role("button", name=label).click()
        path = tmp_path / waited.value.suggested_filename
        waited.value.save_as(path)
        files[path.suffix] = path.read_text("utf-8")
    rows = list(csv.DictReader(files[".csv"].splitlines()))
    assert [float(row["gess"]) for row in rows] == data["measures"][0]["curves"]["gess"]
    assert [float(row["angle"]) for row in rows] == data["scales"]["values"]
    assert {row["measure"] for row in rows} == {"cities.csv"}
    assert json.loads(files[".json"])["measures"][0]["curves"]["mmd2"] == data["measures"][0]["curves"]["mmd2"]
    assert files[".svg"].startswith("<svg")
    assert "var(--" not in files[".svg"]
    assert "Separate points" in files[".svg"]
    assert "room for" in files[".svg"]
    ElementTree.fromstring(files[".svg"])


@pytest.mark.slow
def test_a_spreadsheet_does_not_run_a_name(folder, opened):
    path = folder / "formula.html"
    path.write_text(pages.render(samples.sample("plain", 300, name='=HYPERLINK("x")')), encoding="utf-8")
    text = opened(path).page.evaluate("() => heatess.csv()")
    assert next(csv.reader(text.splitlines()[1:]))[0] == '\'=HYPERLINK("x")'


@pytest.mark.slow
def test_a_subsample_is_said_where_it_is_shown(folder, opened):
    data = samples.sample("plain", 300)
    data["measures"][0]["view"]["of"] = 5_000_000
    path = folder / "many.html"
    path.write_text(pages.render(data), encoding="utf-8")
    assert "Shown: 300 of 5,000,000 points" in opened(path).page.inner_text(".view figcaption")


@pytest.mark.slow
def test_dark_follows_the_system_and_the_button(report, opened):
    paper = "() => getComputedStyle(document.body).backgroundColor"
    light, dark = "rgb(255, 255, 255)", "rgb(20, 22, 26)"
    one = opened(report("plain"), color_scheme="dark")
    assert one.page.evaluate(paper) == dark
    picture = one.picture()
    one.page.click("#theme")
    one.settle()
    assert one.page.evaluate(paper) == light
    assert one.picture() != picture
    assert opened(report("plain")).page.evaluate(paper) == light


@pytest.mark.slow
def test_without_scripts_the_verdict_and_the_still_figures_are_read(browser, folder):
    data = samples.sample("plain", 300)
    path = folder / "still.html"
    still = '<svg role="img" width="90" height="50"><title>still</title></svg>'
    path.write_text(pages.render(data, static=still), encoding="utf-8")
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(path.as_uri())
    assert data["verdict"]["headline"] in page.inner_text("h1")
    assert page.locator("noscript svg").is_visible()
    context.close()


@pytest.mark.slow
def test_the_printed_report_is_light_and_has_no_buttons(report, opened, tmp_path):
    one = opened(report("earth"), color_scheme="dark")
    one.page.emulate_media(media="print")
    assert not one.page.locator("#theme").is_visible()
    assert not one.page.locator(".controls button").first.is_visible()
    one.page.evaluate("() => window.dispatchEvent(new Event('beforeprint'))")
    assert one.page.evaluate("() => getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert len(one.page.pdf(format="A4")) > 20_000


@pytest.fixture(scope="module")
def axe(tmp_path_factory) -> str:
    """The text of axe-core, from npm."""
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("npm is not installed, so axe-core cannot be fetched")
    folder = tmp_path_factory.mktemp("axe")
    done = subprocess.run(
        [npm, "install", "--no-save", "--prefix", str(folder), "axe-core@4"],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    path = folder / "node_modules" / "axe-core" / "axe.min.js"
    if not path.exists():
        pytest.skip(f"axe-core cannot be fetched from npm: {done.stderr.strip()[-200:]}")
    return path.read_text("utf-8")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "theme"),
    [
        ("compare", "light"),
        *((kind, "dark") for kind in ("earth", "compare", "square")),
        *((kind, "light") for kind in ("earth", "histogram")),
    ],
)
def test_axe_finds_no_serious_fault(report, opened, axe, kind, theme):
    one = opened(report(kind), color_scheme=theme)
    # Playwright's own world is not bound by the policy of the page.
    one.page.evaluate(f"() => {{ {axe}; }}")
    found = one.page.evaluate("async () => (await axe.run(document, { resultTypes: ['violations'] })).violations")
    serious = [
        (fault["id"], fault["impact"], [node["target"] for node in fault["nodes"]][:3])
        for fault in found
        if fault["impact"] in ("serious", "critical")
    ]
    assert serious == []
