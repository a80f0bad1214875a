"""Rows of plain coordinates, checked: what tori, flat and hyperbolic space have in common."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from ..base.arrays import numeric_array
from ..base.errors import InputError
from .vectors import refuse_not_finite


def coordinate_rows(points: Any, columns: int, name: str, note: str = "") -> NDArray[Any]:
    """Finite numbers, shape (n, columns) with n >= 1, or (n,) for one column; or an `InputError` that says why not."""
    array = numeric_array(points, "points")
    if array.ndim == 1 and columns == 1:
        array = array[:, None]
    if array.ndim != 2 or array.shape[1] != columns:
        hint = "for one point use `points[None, :]`" if array.ndim == 1 else ""
        raise InputError.misshapen(f"points of {name}", f"(n, {columns}){note}", array.shape, hint)
    if not len(array):
        raise InputError.lacking("points are empty")
    refuse_not_finite(array)
    return array
