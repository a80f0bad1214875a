"""The page of a report: template, style, scripts and data in one HTML file that needs no network.

What does not change with the scale (verdict, methods, how to cite, provenance) is written here as escaped HTML, so that
it can be read without scripts. Everything else is drawn by the scripts of the folder `page` from the data in the page.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
import re
from collections.abc import Mapping, Sequence
from html import escape
from importlib import resources
from typing import Any

import numpy as np

#: The scripts, in the order in which they run. Each adds its part to one namespace.
SCRIPTS = (
    "base.js",
    "address.js",
    "curves.js",
    "paint.js",
    "globe.js",
    "planes.js",
    "surface.js",
    "mollweide.js",
    "hover.js",
    "views.js",
    "sections.js",
    "mass.js",
    "downloads.js",
    "main.js",
)

_PLACE = re.compile(r"\{\{(\w+)\}\}")


def render(data: Mapping[str, Any], *, static: str = "") -> str:
    """The whole page as text.

    Parameters
    ----------
    data : mapping
        The data of the report, as in `heatess.report/1`. Numbers that are not finite become null. No text in it is
        trusted: names of files and columns are shown as they are, never read as HTML.
    static : str
        Figures as SVG markup, for readers without scripts. It is put in the page as it is, so it must be escaped, and
        styled by attributes such as `fill`, since the page forbids inline styles.

    Examples
    --------
    >>> text = render({"title": "<b>", "measures": [], "verdict": {"headline": "No atoms"}})
    >>> "<title>&lt;b&gt;</title>" in text, ">No atoms</h1>" in text
    (True, True)
    """
    data = plain(data)
    style, script = _text("style.css"), "\n".join(_text(name) for name in SCRIPTS)
    pieces = {
        "csp": escape(policy(style, script)),
        "version": escape(_str(data.get("version"))),
        "title": escape(_str(data.get("title") or "heatess report")),
        "style": style,
        "verdict": _verdict(data),
        "static": static,
        "back": _back(data),
        "foot": _foot(data),
        "data": embedded(data),
        "coast": _coast(data),
        "script": script,
    }
    # One pass: what is put in is not searched again, so a name such as "{{script}}" stays a name.
    page = _PLACE.sub(lambda place: pieces[place.group(1)], _text("page.html"))
    return page.encode("utf-8", "replace").decode("utf-8")


def policy(style: str, script: str) -> str:
    """The content security policy: this style and this script run, nothing else does, and nothing is fetched."""
    rules = {
        "default-src": "'none'",
        "style-src": _digest(style),
        "script-src": _digest(script),
        "img-src": "data: blob:",
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    return "; ".join(f"{name} {value}" for name, value in rules.items())


def embedded(data: Any) -> str:
    r"""JSON that can stand inside a script element: ASCII, with every "<", ">" and "&" written as \u003c and so on.

    >>> embedded({"name": "</script>"})
    '{"name":"\\u003c/script\\u003e"}'
    """
    text = json.dumps(plain(data), allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def plain(value: Any) -> Any:
    """The same data in plain Python types; null in place of numbers that are not finite.

    >>> plain({"gess": np.array([1.5, np.nan])})
    {'gess': [1.5, None]}
    """
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def _text(name: str) -> str:
    return resources.files("heatess.reporting").joinpath("page", name).read_text("utf-8").replace("\r\n", "\n")


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _str(value: Any) -> str:
    return "" if value is None else str(value)


def _coast(data: Mapping[str, Any]) -> str:
    views = [measure.get("view") or {} for measure in data.get("measures", [])]
    if not any(view.get("coast") for view in views):
        return ""
    return f'<script type="application/json" id="heatess-coast">{_text("coastlines.json").strip()}</script>'


def _verdict(data: Mapping[str, Any]) -> str:
    """Title, headline, sentences and warnings: the first thing that is read."""
    verdict = data.get("verdict") or {}
    said = "".join(f"<p>{escape(_str(sentence))}</p>" for sentence in verdict.get("sentences") or [])
    caveat = f'<p class="caveat">{escape(_str(verdict["caveat"]))}</p>' if verdict.get("caveat") else ""
    warnings = verdict.get("warnings") or []
    return "\n".join(
        [
            '<section class="verdict" id="verdict" aria-labelledby="headline">',
            f'<p class="source">{escape(_str(data.get("title")))}</p>',
            f'<h1 id="headline">{escape(_together(_str(verdict.get("headline"))))}</h1>',
            f'<div class="said{" alone" if len(warnings) not in range(1, 4) else ""}">{said}{caveat}</div>',
            _warnings(warnings),
            "</section>",
        ]
    )


def _together(text: str) -> str:
    """Numbers and their units in one line."""
    return re.sub(r"(?<=\d) (?=km|%)", "\N{NO-BREAK SPACE}", text)


def _warnings(texts: Sequence[str]) -> str:
    """Up to three warnings stand beside the verdict, more of them below it."""
    if not texts:
        return ""
    items = "".join(f"<li>{escape(_str(text))}</li>" for text in texts)
    many = " many" if len(texts) > 3 else ""
    return f'<aside class="warnings{many}" aria-label="Warnings"><h2>Read this first</h2><ul>{items}</ul></aside>'


def _back(data: Mapping[str, Any]) -> str:
    """Methods, how to cite and provenance: what a referee asks for."""
    parts = []
    if data.get("methods"):
        texts = (
            f"<div><dt>{escape(_str(item.get('title')))}</dt><dd>{escape(_str(item.get('text')))}</dd></div>"
            for item in data["methods"]
        )
        parts.append(_section("methods", "Methods and caveats", f'<dl class="methods">{"".join(texts)}</dl>'))
    if data.get("cite"):
        parts.append(_section("cite", "How to cite", f'<p class="citation">{escape(_str(data["cite"]))}</p>'))
    if data.get("provenance"):
        parts.append(_section("provenance", "Where this comes from", _facts(data["provenance"])))
    return "\n".join(parts)


def _facts(rows: Sequence[Sequence[Any]]) -> str:
    cells = (f'<tr><th scope="row">{escape(_str(a))}</th><td>{escape(_str(b))}</td></tr>' for a, b in rows)
    caption = '<caption class="hidden">Command, files and versions behind this report</caption>'
    return f'<table class="facts">{caption}<tbody>{"".join(cells)}</tbody></table>'


def _section(name: str, heading: str, body: str) -> str:
    return (
        f'<section class="part" id="{name}" aria-labelledby="{name}-h"><h2 id="{name}-h">{heading}</h2>{body}</section>'
    )


def _foot(data: Mapping[str, Any]) -> str:
    made = f"Made by heatess {_str(data.get('version'))}"
    when = f" on {_str(data['created'])[:10]}" if data.get("created") else ""
    return escape(f"{made}{when}. This file needs no network; nothing in it leaves your computer.")
