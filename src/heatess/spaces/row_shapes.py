"""What rows of numbers that are no unit vectors look like: matrices, a transpose, a column too many."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

#: Matrices and lengths that were written with few digits are still recognised.
_TOLERANCE = 1e-2


def matrices_in(rows: NDArray[np.floating]) -> str:
    """The expression for the rotation matrices in rows *x* of 9, 12 or 16 numbers; empty if there are none.

    >>> matrices_in(np.eye(3).reshape(1, 9))
    'x.reshape(-1, 3, 3)'
    """
    count, width = rows.shape
    if width == 9:
        matrices, words = rows.reshape(count, 3, 3), "x.reshape(-1, 3, 3)"
    elif width in (12, 16):  # a pose, without or with the row 0, 0, 0, 1
        matrices, words = rows.reshape(count, -1, 4)[:, :3, :3], f"x.reshape(-1, {width // 4}, 4)[:, :3, :3]"
    else:
        return ""
    return words if are_rotations(matrices) else ""


def poses_in(stack: NDArray[np.floating]) -> bool:
    """Whether an array (n, 3, 3), (n, 3, 4) or (n, 4, 4) starts with a rotation matrix in each of its n entries.

    >>> poses_in(np.eye(4)[None]), poses_in(np.ones((2, 4, 4)))
    (True, False)
    """
    return bool(stack.size) and stack.shape[1:] in ((3, 3), (3, 4), (4, 4)) and are_rotations(stack[:, :3, :3])


def are_rotations(matrices: NDArray[np.floating]) -> bool:
    """Whether every matrix (n, 3, 3) is orthogonal, within rounding to few digits."""
    array = np.asarray(matrices, dtype=np.float64)
    if not np.isfinite(array).all() or np.abs(array).max() > 2:
        return False
    return bool(np.abs(array @ array.transpose(0, 2, 1) - np.eye(3)).max() < 2 * _TOLERANCE)


def is_transposed(rows: NDArray[np.floating]) -> bool:
    """Whether columns are vectors of one length, and rows are not."""
    count, width = rows.shape
    if not 2 <= count < width:
        return False
    across, along = (np.sqrt(np.einsum(f"ij,ij->{axis}", rows, rows, dtype=np.float64)) for axis in "ij")
    return bool(np.ptp(along) <= 1e-3 * along.max() and np.ptp(across) > 1e-3 * across.max())


def extra_column(rows: NDArray[np.floating]) -> str:
    """The word first or last if the other columns are unit vectors, or the first counts the rows; else nothing."""
    count, width = rows.shape
    if width < 3 or not np.isfinite(rows).all():
        return ""
    with np.errstate(over="ignore"):
        squares = np.asarray(rows, dtype=np.float64) ** 2
        inner = squares[:, 1:-1].sum(axis=1)
    for where, edge in (("first", squares[:, -1]), ("last", squares[:, 0])):
        if (np.abs(np.sqrt(inner + edge) - 1) < 1e-3).all():
            return where
    steps = np.diff(rows[:, 0].astype(np.float64))
    return "first" if count > 2 and bool((steps == 1).all()) and float(rows[0, 0]) in (0.0, 1.0) else ""
