"""The published numbers, from a data file of the package."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

from .experiment import FloatArray

#: Number of decimals of each column in the paper.
DECIMALS = {"n": 0, "R": 3, "B2": 2, "ESS": 0, "ESS_H": 0, "gESS(15deg)": 1, "D_LC(15deg)": 1, "gESS(45deg)": 1}

#: Number of decimals of the curve, which was read from the figure.
CURVE_DECIMALS = 4


@cache
def _document() -> dict[str, Any]:
    stored: dict[str, Any] = json.loads((files(__package__) / "data" / "published.json").read_text(encoding="utf-8"))
    return stored


def sources() -> dict[str, str]:
    """Where the numbers come from."""
    return dict(_document()["source"])


def table(name: str) -> tuple[list[str], dict[str, list[float]]]:
    """Columns and rows of "table1_synthetic" or "table2_digits".

    >>> table("table1_synthetic")[1]["Duplicates"]
    [0.005, 0.0, 300, 29.7, 29.7, 6.8]
    """
    stored = _document()[name]
    return list(stored["columns"]), {row: list(values) for row, values in stored["rows"].items()}


def snis_curve(name: str) -> FloatArray:
    """One curve of the importance-sampling figure: "alpha_deg", "median", "q25" or "q75"; 60 entries.

    >>> len(snis_curve("median"))
    60
    """
    return np.array(_document()["snis_figure"][name])


def snis_ess() -> float:
    """The median ESS of the importance-sampling figure."""
    return float(_document()["snis_figure"]["ess_median"])
