"""The page as text: what is escaped, what the policy allows, and how large it is."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from heatess.reporting import page

from . import samples

FOLDER = Path(page.__file__).parent / "page"
#: Not the data blocks, which are never run.
SCRIPT = re.compile(r"<script>(.*?)</script>", re.DOTALL)


class Elements(HTMLParser):
    """Which elements a page has, and the text of its data blocks."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str]] = []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]


def elements(text: str) -> Elements:
    parser = Elements()
    parser.feed(text)
    return parser


@pytest.fixture(scope="module")
def plain() -> dict:
    return samples.sample("plain", 300)


def hostile(data: dict) -> dict:
    """The same data with a name that is HTML wherever there is text."""

    def changed(value, key=""):
        if isinstance(value, dict):
            return {name: changed(item, name) for name, item in value.items()}
        if isinstance(value, list):
            return [changed(item, key) for item in value]
        binary = {"points", "sizes", "values", "faces", "kind", "unit", "graticule", "schema"}
        return samples.HOSTILE if isinstance(value, str) and key not in binary else value

    return changed(data)


def test_the_policy_allows_this_style_and_this_script_and_nothing_else(plain):
    text = page.render(plain)
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text).group(1).replace("&#x27;", "'")
    style, script = re.search(r"<style>(.*?)</style>", text, re.DOTALL).group(1), SCRIPT.search(text).group(1)
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    digest = {
        name: base64.b64encode(hashlib.sha256(part.encode()).digest()).decode()
        for name, part in [("style-src", style), ("script-src", script)]
    }
    assert rules == {
        "default-src": "'none'",
        "style-src": f"'sha256-{digest['style-src']}'",
        "script-src": f"'sha256-{digest['script-src']}'",
        "img-src": "data: blob:",
        "base-uri": "'none'",
        "form-action": "'none'",
    }


def test_names_are_text_wherever_they_stand(plain):
    harmless, harmful = elements(page.render(plain)), elements(page.render(hostile(plain)))
    assert harmful.tags == harmless.tags
    assert not [name for name, _ in harmful.attributes if name.startswith("on") or name == "style"]


def test_the_data_come_back_from_the_page_as_they_went_in(plain):
    data = hostile(plain)
    text = page.render(data)
    stored = re.search(r'id="heatess-data">(.*?)</script>', text, re.DOTALL).group(1)
    assert not set("<>&") & set(stored)
    assert json.loads(stored) == page.plain(data)


def test_a_name_that_looks_like_a_place_of_the_template_stays_a_name(plain):
    text = page.render(plain | {"title": "{{script}}"})
    assert "<title>{{script}}</title>" in text


def test_a_file_name_that_is_not_unicode_is_shown_and_can_be_written(plain):
    name = b"caf\xe9.csv".decode("utf-8", "surrogateescape")
    text = page.render(plain | {"title": name})
    assert "<title>caf?.csv</title>" in text
    text.encode("utf-8")


def test_numbers_that_are_not_finite_become_null():
    assert json.loads(page.embedded({"a": [np.inf, np.float64(2.5), np.nan], "b": np.arange(2)})) == {
        "a": [None, 2.5, None],
        "b": [0, 1],
    }


def test_the_verdict_methods_and_provenance_are_read_without_scripts(plain):
    text = re.sub(
        r"<script.*?</script>", "", page.render(plain, static="<svg><title>still</title></svg>"), flags=re.DOTALL
    )
    for words in [
        plain["verdict"]["headline"],
        *plain["verdict"]["sentences"],
        plain["verdict"]["caveat"],
        plain["cite"],
    ]:
        assert words.replace("'", "&#x27;") in text
    assert all(value in text for _, value in plain["provenance"])
    assert "<svg><title>still</title></svg>" in re.search(r"<noscript>(.*?)</noscript>", text, re.DOTALL).group(1)


def test_coastlines_are_in_the_page_only_where_they_are_drawn(plain):
    assert "heatess-coast" not in page.render(plain).replace(page._text("globe.js"), "")
    plain["measures"][0]["view"]["coast"] = True
    try:
        assert 'id="heatess-coast"' in page.render(plain)
    finally:
        plain["measures"][0]["view"]["coast"] = False


def test_coastlines_are_places_on_the_earth_and_steps_are_short():
    stored = json.loads((FOLDER / "coastlines.json").read_text())
    places = 0
    for line in stored["lines"]:
        lon, lat = np.cumsum(np.reshape(line, (-1, 2)), axis=0).T * stored["unit"]
        assert np.abs(lon).max() <= 180
        assert np.abs(lat).max() <= 90
        assert np.abs((np.diff(lon) + 180) % 360 - 180).max() < 20  # a line may cross the meridian of 180 degrees
        places += len(lon)
    assert places == 5120


def test_the_page_is_small():
    whole = len(page.render(samples.sample("earth", 6)))
    assert whole <= 300_000
    many = samples.sample("plain", 300)
    points = np.zeros((100_000, 3))
    many["measures"][0]["view"] = samples._view("globe", points, None)
    few = samples.sample("plain", 300)
    few["measures"][0]["view"] = samples._view("globe", points[:0], None)
    assert (len(page.render(many)) - len(page.render(few))) / 100_000 <= 12


def test_the_scripts_never_make_html_or_code_from_text():
    for path in FOLDER.glob("*.js"):
        text = path.read_text()
        for call in (
            "innerHTML",
            "outerHTML",
            "insertAdjacentHTML",
            "document.write",
            "eval(",
            "new Function",
            "fetch(",
            "XMLHttpRequest",
        ):
            assert call not in text, f"{path.name} uses {call}"


def test_every_script_of_the_folder_is_in_the_page():
    assert sorted(page.SCRIPTS) == sorted(path.name for path in FOLDER.glob("*.js"))
