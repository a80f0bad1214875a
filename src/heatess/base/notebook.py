"""Tables and curves as notebooks show them; whatever comes from data is escaped."""

from __future__ import annotations

import math
from collections.abc import Mapping
from html import escape
from typing import Any, NamedTuple

import numpy as np

#: Rows that a table shows at most, and the width and height of the curve beside it.
SHOWN_ROWS, CURVE = 12, (220, 110)


class Heading(NamedTuple):
    """What a column is called in a notebook, its unit, and the digits that are worth reading; shares are per cent."""

    label: str
    unit: str = ""
    digits: int = 4
    factor: float = 1.0
    least: float = 0.0  #: smaller numbers are told as "< least"


#: Columns by attribute. The unit of a length is that of the space: degrees, or the unit of distance.
LENGTH = "length"
HEADINGS = {
    "angles": Heading("scale", LENGTH, 3),
    "resolutions": Heading("resolution", LENGTH, 3),
    "times": Heading("time", digits=3),
    "gess": Heading("gESS"),
    "gess_a": Heading("gESS of {0}"),
    "gess_b": Heading("gESS of {1}"),
    "places_a": Heading("places of {0}"),
    "places_b": Heading("places of {1}"),
    "leinster_cobbold": Heading("Leinster-Cobbold"),
    "volume": Heading("volume", "%", factor=100.0),
    "divergence": Heading("divergence", "nats"),
    "mmd2": Heading("MMD²", digits=3),
    "error": Heading("relative error", digits=1),
    "places_lower": Heading("places, from"),
    "places_upper": Heading("places, to"),
    "statistics": Heading("statistic"),
    "expected": Heading("if uniform"),
    "pvalues": Heading("p-value", digits=2, least=1e-6),
    "ess": Heading("ESS", "draws"),
    "autocorrelation_times": Heading("autocorrelation time", "draws"),
    "rhat": Heading("R-hat"),
    "degrees": Heading("degree"),
    "eigenvalues": Heading("eigenvalue"),
    "multiplicities": Heading("modes"),
    "energies": Heading("energy"),
    "kl": Heading("KL", "nats"),
    "counts": Heading("modes"),
    "finest": Heading("from", LENGTH, 3),
    "coarsest": Heading("to", LENGTH, 3),
    "Modes.scales": Heading("came apart at", LENGTH, 3),
    "scales": Heading("scale", LENGTH, 3),
    "cv": Heading("squared error, less that of uniform"),
    "level": Heading("mass", "%", 3, 100.0),
    "shares": Heading("share", "%", 3, 100.0),
    "bic": Heading("BIC"),
    "indices": Heading("row", digits=20),
    "weights": Heading("weight"),
}


def curve_in_svg(x: Any, y: Any, name: str) -> str:
    """A small curve over logarithmic axes with its ends written beside it; "" if it has less than two points."""
    seen = (x > 0) & (y > 0) & np.isfinite(x) & np.isfinite(y)
    order = np.argsort(x[seen])
    x, y = x[seen][order], y[seen][order]
    if len(x) < 2 or x[0] == x[-1]:
        return ""
    width, height = CURVE
    low, high = float(y.min()), float(y.max())
    across = 8 + (width - 16) * np.log(x / x[0]) / np.log(x[-1] / x[0])
    span = math.log(high / low)
    up = height - 18 - (height - 36) * (np.log(y / low) / span if span else np.full(len(y), 0.5))
    points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(across, up, strict=True))
    ends = ((0, 8, "start"), (-1, width - 8, "end"))
    texts = [(place, height - 4, anchor, readable(float(x[end]), 3)) for end, place, anchor in ends]
    texts += [(place, up[end] - 5, anchor, readable(float(y[end]), 3)) for end, place, anchor in ends]
    words = "".join(f'<text x="{a}" y="{b:.1f}" text-anchor="{c}">{escape(word)}</text>' for a, b, c, word in texts)
    label = escape(f"{name} from {readable(float(y[0]), 3)} to {readable(float(y[-1]), 3)}")
    return (
        f'<svg role="img" aria-label="{label}" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        f'style="font: 10px sans-serif; fill: currentColor"><title>{label}</title><polyline points="{points}" '
        f'style="fill: none; stroke: #0072B2; stroke-width: 2"/>{words}</svg>'
    )


def html_of(pairs: Mapping[str, Any], caption: str) -> str:
    """Names and values, one pair a row, for a notebook."""
    left = 'style="text-align: left"'
    rows = "".join(
        f"<tr><th {left}>{escape(name)}</th><td {left}>{escape(str(value))}</td></tr>" for name, value in pairs.items()
    )
    return f"<table><caption>{escape(caption)}</caption><tbody>{rows}</tbody></table>"


def head(name: str, heading: Heading) -> str:
    """A heading with its unit; a tooltip tells the attribute."""
    unit = f" ({heading.unit})" if heading.unit else ""
    return f'<th title="{escape(name)}">{escape(heading.label + unit)}</th>'


def cell(value: Any, heading: Heading) -> str:
    """A number with the digits that its column has, or text."""
    if not isinstance(value, int | float | np.number) or isinstance(value, complex | np.complexfloating):
        return escape(str(value))
    if 0 <= value < heading.least:
        return f"&lt; {heading.least:g}".replace("e-0", "e-")
    return readable(heading.factor * float(value), heading.digits)


def readable(value: float, digits: int = 4) -> str:
    """A number for readers: so many significant digits, thousands separated, "-" for what is not a number.

    >>> [readable(value) for value in (1234567.8, 0.61234567, 3e-11, 45.0, float("nan"), float("inf"), 2e31)]
    ['1,234,568', '0.6123', '3e-11', '45', '-', '∞', '2e+31']
    """
    if math.isnan(value):
        return "-"
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    if 10 ** min(digits, 9) <= abs(value) < 1e9:
        return f"{value:,.0f}"
    text = f"{value:.{digits}g}"
    return f"{float(text):,.0f}" if 1000 <= abs(value) < 1e9 and "." not in text else text
