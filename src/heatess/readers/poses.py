"""Trajectories as text: TUM, EuRoC and KITTI files, told by their names or their numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ..base.errors import InputError
from ..base.known import Known
from ..tables.rotation_columns import are_turns, stacked_matrices
from ..tables.table import Piece, Table
from .text_lines import is_number

TUM = ["timestamp", "tx", "ty", "tz", "qx", "qy", "qz", "qw"]

#: Columns of the quaternion in the ground truth of EuRoC, whose names have their units in brackets.
_EUROC = {"q_rs_w", "q_rs_x", "q_rs_y", "q_rs_z"}

_POSE = TUM[1:]


def named_trajectory(names: Sequence[str]) -> str:
    """TUM or EuRoC if the names of columns are those of such a file; else nothing.

    >>> named_trajectory(["timestamp", "p_RS_R_x [m]", "q_RS_w []", "q_RS_x []", "q_RS_y []", "q_RS_z []"])
    'EuRoC trajectory'
    """
    plain = [name.partition("[")[0].strip().lower() for name in names]
    if plain == TUM:
        return "TUM trajectory"
    timed = any(name.startswith("timestamp") for name in plain)
    return "EuRoC trajectory" if timed and set(plain) >= _EUROC else ""


def is_kitti(rows: Sequence[Sequence[str]]) -> bool:
    """Whether rows of twelve numbers are matrices (3, 4), a rotation and a position each.

    >>> is_kitti(["1 0 0 5.2 0 1 0 0.1 0 0 1 7".split()])
    True
    """
    if not rows or not all(len(row) == 12 and all(map(is_number, row)) for row in rows):
        return False
    return bool(are_turns(stacked_matrices(np.array(rows, dtype=np.float64))).all())


class Kitti(Table):
    """The poses in rows of twelve numbers: positions, and quaternions made of the matrices."""

    def __init__(self, rows: Table) -> None:
        self._rows, self.source = rows, rows.source
        self.names, self.note, self.known = list(_POSE), "KITTI poses", Known(kind="trajectory")

    def pieces(self, names: Sequence[str], rows: int | None) -> Iterator[Piece]:
        """Positions and quaternions; missing numbers make a row of missing numbers."""
        from scipy.spatial.transform import Rotation

        self._rows.watch = self.watch
        for piece in self._rows.pieces(self._rows.names, rows):
            numbers = np.column_stack(piece.columns)
            present = np.isfinite(numbers).all(axis=1)
            wrong = np.flatnonzero(present)[~are_turns(stacked_matrices(numbers[present]))]
            if len(wrong):
                row = int(wrong[0])
                raise InputError(
                    f"{piece.place(row)}: the matrix is no <+rotation+> ({len(wrong):,} of {len(numbers):,} rows), "
                    "but those before are; drop or fix those rows",
                    row=row,
                )
            found = np.full((len(numbers), 7), np.nan)
            matrices = numbers[present].reshape(-1, 3, 4)
            found[present, :3] = matrices[:, :, 3]
            if len(matrices):
                found[present, 3:] = Rotation.from_matrix(matrices[:, :, :3]).as_quat()
            yield piece._replace(columns=[np.ascontiguousarray(found[:, _POSE.index(name)]) for name in names])
