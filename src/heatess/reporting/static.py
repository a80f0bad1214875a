"""Pictures of a report for readers without scripts, and for printing: the gESS curves and the atoms, as small SVG."""

from __future__ import annotations

import math
from base64 import b64decode
from html import escape
from typing import Any

import numpy as np

from ..base.arrays import FloatArray
from ..drawing.axes import COLORS, plain

#: Size of a curve, and of one cloud, in units of the picture; atoms of a cloud that are drawn.
WIDTH, HEIGHT, SIDE = 640, 320, 300
MOST_POINTS_OF_CLOUD = 1000

#: Dashes of the curves.
_DASHES = ("", "9 3", "3 2", "9 3 2 3", "6 2 2 2 2 2")
_MARGIN = (64, 16, 20, 46)  # left, right, top, bottom


def static_figures(data: dict[str, Any]) -> str:
    """SVG of the gESS curves of all measures, and of the atoms of each."""
    parts = [curve_svg(data)]
    parts += [svg for measure in data["measures"] if (svg := cloud_svg(measure))]
    return "\n".join(parts)


def curve_svg(data: dict[str, Any]) -> str:
    """GESS of every measure against the scale, both logarithmic."""
    scales = np.array(data["scales"]["values"], dtype=np.float64)
    curves = [np.array(measure["curves"]["gess"], dtype=np.float64) for measure in data["measures"]]
    top = max([*(float(np.nanmax(curve)) for curve in curves), *(measure["ess"] for measure in data["measures"]), 2.0])
    x = _Axis(float(scales.min()), float(scales.max()), _MARGIN[0], WIDTH - _MARGIN[1])
    y = _Axis(1.0, 1.3 * top, HEIGHT - _MARGIN[3], _MARGIN[2])
    unit = {"deg": "degrees", "": "unit of distance"}.get(data["scales"]["unit"], data["scales"]["unit"])
    body = [_axes(x, y, f"{data['scales']['kind']} ({unit})", "gESS")]
    for place, (measure, curve) in enumerate(zip(data["measures"], curves, strict=True)):
        color, dash = COLORS[place % len(COLORS)], _DASHES[place % len(_DASHES)]
        points = " ".join(f"{x.at(a):.1f},{y.at(b):.1f}" for a, b in zip(scales, curve, strict=True))
        look = f'fill="none" stroke="{color}" stroke-width="2" stroke-dasharray="{dash}"'
        body.append(f'<polyline points="{points}" {look}/>')
        level = y.at(measure["ess"])
        body.append(f'<path d="M{x.start} {level:.1f}H{x.end}" stroke="{color}" stroke-dasharray="2 3"/>')
        words = (
            f"{measure['name']}: ESS = {plain(measure['ess'])}" if len(curves) > 1 else f"ESS = {plain(measure['ess'])}"
        )
        body.append(_text(x.end - 4, level - 4, words, "end", color))
    said = f"gESS against the scale: {', '.join(str(measure['name']) for measure in data['measures'])}"
    return _svg(WIDTH, HEIGHT, said, body)


def cloud_svg(measure: dict[str, Any]) -> str:
    """The atoms of one measure, in the plane of the picture; "" where there is nothing to draw."""
    view = measure["view"]
    if view["kind"] == "histogram":
        return _bars_svg(measure)
    if view["kind"] == "none":
        return ""
    places = np.frombuffer(b64decode(view["points"]), "<i2").reshape(-1, view["dims"]) / 32767
    sizes = np.frombuffer(b64decode(view["sizes"]), "u1") / 255
    rows = (
        np.arange(len(places))
        if len(places) <= MOST_POINTS_OF_CLOUD
        else np.arange(MOST_POINTS_OF_CLOUD) * len(places) // MOST_POINTS_OF_CLOUD
    )
    places, sizes = places[rows], sizes[rows]
    flat, seen = _projected(view, places)
    half, middle = SIDE / 2 - 16, SIDE / 2
    round_edge = view["kind"] in ("globe", "hemisphere", "ball", "circle")
    edge = (
        f'<circle cx="{middle}" cy="{middle}" r="{half}" fill="none" stroke="#888"/>'
        if round_edge
        else f'<rect x="16" y="16" width="{2 * half}" height="{2 * half}" fill="none" stroke="#888"/>'
    )
    seen = seen & (sizes > 0)
    dots = _dots(middle + half * flat[seen] * [1, -1], 3.2 * np.sqrt(sizes[seen]))
    group = f'<g stroke="{COLORS[0]}" stroke-opacity="0.55" stroke-linecap="round">{dots}</g>'
    drawn = f"{int(seen.sum()):,} of {view['of']:,} points"
    return _svg(SIDE, SIDE, f"{measure['name']}: {drawn}", [edge, group])


def _dots(places: FloatArray, radii: FloatArray) -> str:
    """Discs as lines without length and with round ends: few bytes each. Radii are rounded to five sizes."""
    steps = np.ceil(np.clip(radii / 3.2, 0.01, 1) * 5).astype(int)
    paths = []
    for step in np.unique(steps).tolist():
        marks = "".join(f"M{x:.0f} {y:.0f}h0" for x, y in places[steps == step].tolist())
        paths.append(f'<path d="{marks}" stroke-width="{max(1.4, 6.4 * step / 5):.1f}"/>')
    return "".join(paths)


def _projected(view: dict[str, Any], places: FloatArray) -> tuple[FloatArray, Any]:
    """Places in the plane, and which of them are seen: of a globe the half about its centre."""
    if view["dims"] == 2:
        return places, np.ones(len(places), dtype=bool)
    towards = np.array(view.get("centre") or (0.0, -0.94, 0.34), dtype=np.float64)
    right = np.cross([0.0, 0.0, 1.0], towards)
    right = np.array([1.0, 0.0, 0.0]) if np.linalg.norm(right) < 1e-6 else right / np.linalg.norm(right)
    up = np.cross(towards, right)
    flat = np.column_stack([places @ right, places @ up])
    if view["kind"] in ("solid", "surface"):
        flat /= math.sqrt(3)
    return flat, places @ towards >= 0 if view["kind"] == "globe" else np.ones(len(places), dtype=bool)


def _bars_svg(measure: dict[str, Any]) -> str:
    told = measure["view"]["histogram"]
    edges, counts = np.array(told["edges"]), np.array(told["counts"], dtype=np.float64)
    left, right, top, bottom = _MARGIN
    wide, high = WIDTH - left - right, HEIGHT - top - bottom
    span, most = edges[-1] - edges[0], counts.max() or 1.0
    bars = [
        f'<rect x="{left + wide * (low - edges[0]) / span:.1f}" y="{top + high * (1 - count / most):.1f}" '
        f'width="{wide * (upper - low) / span:.1f}" height="{high * count / most:.1f}"/>'
        for low, upper, count in zip(edges[:-1], edges[1:], counts, strict=True)
    ]
    unit = "degrees" if measure["view"].get("unit") else "unit of distance"
    ends = [_text(left, HEIGHT - bottom + 18, plain(float(edges[0])), "middle")]
    ends.append(_text(WIDTH - right, HEIGHT - bottom + 18, plain(float(edges[-1])), "end"))
    ends.append(_text(left + wide / 2, HEIGHT - 10, f"distance of two points ({unit})", "middle"))
    return _svg(WIDTH, HEIGHT, f"{measure['name']}: distances", [f'<g fill="{COLORS[0]}">{"".join(bars)}</g>', *ends])


class _Axis:
    """A logarithmic axis from one place of the picture to another."""

    def __init__(self, low: float, high: float, start: float, end: float) -> None:
        self.low, self.high, self.start, self.end = low, max(high, 1.01 * low), start, end

    def at(self, value: float) -> float:
        if not value > 0:
            return self.start
        share = math.log(value / self.low) / math.log(self.high / self.low)
        return self.start + (self.end - self.start) * share

    def ticks(self) -> list[float]:
        """Numbers such as 1, 2, 5, 10 within the axis, or whole powers of ten where it is long."""
        first, last = math.floor(math.log10(self.low)), math.ceil(math.log10(self.high))
        steps = (1, 2, 5) if last - first <= 3 else (1,)
        every = max(1, (last - first) // 6)
        found = [step * 10.0**power for power in range(first, last + 1, every) for step in steps]
        return [value for value in found if self.low * 0.999 <= value <= self.high * 1.001]


def _axes(x: _Axis, y: _Axis, below: str, beside: str) -> str:
    lines = [f'<path d="M{x.start} {y.end}V{y.start}H{x.end}" fill="none" stroke="#888"/>']
    lines += [_text(x.at(tick), y.start + 18, plain(tick), "middle") for tick in x.ticks()]
    lines += [_text(x.start - 6, y.at(tick) + 4, plain(tick), "end") for tick in y.ticks()]
    lines.append(_text((x.start + x.end) / 2, y.start + 38, below, "middle"))
    lines.append(_text(x.start + 6, y.end + 4, beside, "start"))
    return "".join(lines)


def _text(x: float, y: float, words: str, anchor: str, color: str = "#555") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{color}">{escape(words)}</text>'


def _svg(width: int, height: int, title: str, body: list[str]) -> str:
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    return f'{head} role="img" font-size="12"><title>{escape(title)}</title>{"".join(body)}</svg>'
