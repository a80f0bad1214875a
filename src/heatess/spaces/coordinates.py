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
        hint = "; for one point use `points[None, :]`" if array.ndim == 1 else ""
        raise InputError(f"points of {name} must have shape (n, {columns}){note}, but have shape {array.shape}{hint}")
    if not len(array):
        raise InputError("points are empty; at least one point is needed")
    refuse_not_finite(array)
    return array
