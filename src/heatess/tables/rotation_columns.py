"""Columns that are rotations: quaternions, Euler angles, rotation vectors, and poses, which have a position as well."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import FloatArray
from ..base.directions import euler_axes, from_euler
from ..base.errors import InputError
from ..spaces import Rotations, Space
from .column_names import Kind, side_by_side

#: How to say what a pose without a length leaves open.
POSE_LENGTH = (
    "`space='pose'` leaves open how turns count beside shifts; write `space='pose:R'`, where R is the length, in the "
    "unit of the positions, that counts as much as one radian of turning"
)


class Quaternions(Kind):
    """Unit quaternions, in the order x, y, z, w whatever the order of the columns."""

    roles: ClassVar[tuple[str, ...]] = ("qx", "qy", "qz", "qw")
    angles, about, form = False, "rotations", "quaternions"
    #: Whether they turn the world into the body. Symmetry is that of the body, so its points are the inverse.
    backwards: bool = False

    def points(self, columns: list[NDArray[Any]], units: str) -> FloatArray:
        """The scalar last."""
        return np.column_stack(columns).astype(np.float64, copy=False)

    def lengths(self, points: Any) -> tuple[Kind, NDArray[Any]] | None:
        """All of them."""
        return self, points

    def space(self, points: Any, units: str) -> Space:
        """The rotations."""
        return Rotations()


class ListedQuaternions(Quaternions):
    """One column of quaternions, the scalar last."""

    roles: ClassVar[tuple[str, ...]] = ("xyzw",)
    order: ClassVar[tuple[int, ...]] = (0, 1, 2, 3)

    def points(self, columns: list[NDArray[Any]], units: str) -> FloatArray:
        """The scalar last."""
        (rows,) = columns
        if rows.ndim != 2 or rows.shape[1] != 4:
            found = "one number" if rows.ndim == 1 else f"{rows.shape[1]} numbers"
            raise InputError(f"column {self.words} holds <!{found} a row!>, but a quaternion has <+four+>")
        return rows[:, self.order].astype(np.float64)


class ScalarFirst(ListedQuaternions):
    """One column of quaternions, the scalar first."""

    roles, order = ("wxyz",), (1, 2, 3, 0)


class Euler(Quaternions):
    """Three Euler angles, or one column of three, of a convention that the user or the format names."""

    angles = True

    def __init__(self, columns: Sequence[str], convention: str) -> None:
        super().__init__(columns)
        self.named, self.axes = convention, euler_axes(convention, "`euler=`")
        self.backwards = convention.lower() == "relion"

    @property
    def roles(self) -> tuple[str, ...]:  # type: ignore[override]
        """The columns themselves."""
        return tuple(self.columns)

    @property
    def convention(self) -> str:
        """The axes, and whether they turn."""
        if self.backwards:
            return f"{self.axes}, from the image to the particle"
        return f"{self.axes} {'turning with the body' if self.axes.isupper() else 'about fixed axes'}"

    def points(self, columns: list[NDArray[Any]], units: str) -> FloatArray:
        """Quaternions, the scalar last."""
        angles = side_by_side(columns)
        if angles.shape[1] != 3:
            raise InputError(
                f"columns {self.words} hold <!{angles.shape[1]} numbers a row!>, but Euler angles are <+three+>"
            )
        return from_euler(angles, convention=self.named, units=units)

    def lengths(self, points: Any) -> None:
        """Of angles none."""
        return


class Relion(Euler):
    """Euler angles of RELION, rot, tilt and psi, ZYZ, which RELION itself writes in degrees."""

    roles = ("rot", "tilt", "psi")
    names = (("rlnanglerot", "_rlnanglerot"), ("rlnangletilt", "_rlnangletilt"), ("rlnanglepsi", "_rlnanglepsi"))

    def __init__(self, columns: Sequence[str]) -> None:
        super().__init__(columns, "relion")


class RotationVectors(Quaternions):
    """One column of rotation vectors, the axis times the angle in radians, as cryoSPARC writes poses.

    As RELION's angles they turn the image into the particle.
    """

    backwards = True
    NAME = re.compile(r"alignments(?:_class)?_?3D(?:_\d+)?/pose", re.I)

    @property
    def roles(self) -> tuple[str, ...]:  # type: ignore[override]
        """The column itself."""
        return tuple(self.columns)

    @property
    def convention(self) -> str:
        """What the three numbers are."""
        return "rotation vectors, axis times angle in radians, from the image to the particle"

    def points(self, columns: list[NDArray[Any]], units: str) -> FloatArray:
        """Quaternions, the scalar last."""
        from scipy.spatial.transform import Rotation

        return np.asarray(Rotation.from_rotvec(side_by_side(columns).astype(np.float64)).as_quat())

    def lengths(self, points: Any) -> None:
        """Any length is an angle."""
        return


class Matrices(Quaternions):
    """Rotation matrices row by row: nine columns, or the first three of every four in those of twelve or sixteen."""

    #: Rows of these lengths may be matrices: (3, 3), (3, 4) or (4, 4).
    WIDTHS = (9, 12, 16)

    @property
    def roles(self) -> tuple[str, ...]:  # type: ignore[override]
        """The columns themselves."""
        return tuple(self.columns)

    @property
    def convention(self) -> str:
        """What the numbers are."""
        return "rotation matrices, row by row"

    @property
    def places(self) -> list[str]:
        """The columns of the position, where there are such."""
        return [] if len(self.columns) == 9 else self.columns[3:12:4]

    @property
    def alone(self) -> Matrices:
        """The nine columns of the rotation."""
        return (
            self if len(self.columns) == 9 else Matrices([self.columns[4 * i + j] for i in range(3) for j in range(3)])
        )

    def points(self, columns: list[NDArray[Any]], units: str) -> FloatArray:
        """Quaternions, the scalar last, of the nearest rotations."""
        from scipy.spatial.transform import Rotation

        matrices = stacked_matrices(side_by_side(columns))
        wrong = ~are_turns(matrices)
        if wrong.any():
            row = int(np.argmax(wrong))
            raise InputError(
                f"columns {self.words} are no rotation matrix in row {row} ({int(wrong.sum()):,} of {len(wrong):,} "
                "rows); drop or fix those rows, or name other columns with `columns=`",
                row=row,
            )
        return np.asarray(Rotation.from_matrix(matrices).as_quat())

    def lengths(self, points: Any) -> None:
        """Of matrices none."""
        return


def stacked_matrices(rows: NDArray[Any]) -> FloatArray:
    """The matrices (n, 3, 3) in rows of 9, 12 or 16 numbers."""
    size = 3 if rows.shape[1] == 9 else 4
    return rows.astype(np.float64, copy=False).reshape(len(rows), -1, size)[:, :3, :3]


def are_turns(matrices: FloatArray) -> NDArray[np.bool_]:
    """For each matrix (n, 3, 3) whether it is a rotation, rounded to two digits, and no reflection."""
    with np.errstate(over="ignore", invalid="ignore"):
        off = np.abs(matrices @ matrices.transpose(0, 2, 1) - np.eye(3)).max(axis=(1, 2))
        return np.asarray((off < 0.02) & (np.linalg.det(matrices) > 0))


class Poses(Kind):
    """Positions and orientations."""

    roles, angles, about, form = ("tx", "ty", "tz", "qx", "qy", "qz", "qw"), False, "rotations", "poses"

    def points(self, columns: list[NDArray[Any]], units: str) -> tuple[FloatArray, FloatArray]:
        """A tuple of positions and quaternions."""
        split = len(columns) - 4
        return np.column_stack(columns[:split]), np.column_stack(columns[split:])

    def lengths(self, points: Any) -> tuple[Kind, NDArray[Any]] | None:
        """The quaternions alone."""
        return Quaternions(self.columns[-4:]), points[1]

    def space(self, points: Any, units: str) -> Space:
        """Never taken for granted: only the user knows what a radian is worth."""
        raise InputError(POSE_LENGTH)


class TurnedPoses(Poses):
    """Positions, and orientations that are written otherwise than as quaternions."""

    def __init__(self, places: Sequence[str], turns: Quaternions) -> None:
        super().__init__([*places, *turns.columns])
        self._turns, self.angles = turns, turns.angles  # type: ignore[misc]

    @property
    def roles(self) -> tuple[str, ...]:  # type: ignore[override]
        """The columns themselves."""
        return tuple(self.columns)

    @property
    def convention(self) -> str:
        """What the orientations are."""
        return self._turns.convention

    @property
    def angular(self) -> Kind:
        """The columns of the orientations."""
        return self._turns

    def points(self, columns: list[NDArray[Any]], units: str) -> tuple[FloatArray, FloatArray]:
        """A tuple of positions and quaternions."""
        split = len(columns) - len(self._turns.columns)
        return np.column_stack(columns[:split]), self._turns.points(columns[split:], units)

    def lengths(self, points: Any) -> None:
        """Of angles and matrices none."""
        return


_QUATERNION = re.compile(
    r"(?:.*[._]|)(?:q|quat|quaternion|orientation|rotation|rot|r|attitude|att)?[._]?([xyzw])", re.I
)


def quaternion_columns(names: Sequence[str]) -> list[list[str]]:
    """Every group of four columns that are x, y, z, w of one quaternion by their names, in that order.

    >>> quaternion_columns(["t", "orientation.w", "orientation.x", "orientation.y", "orientation.z"])
    [['orientation.x', 'orientation.y', 'orientation.z', 'orientation.w']]
    >>> quaternion_columns(["q0", "q1", "q2", "q3"])
    []
    """
    groups: dict[str, dict[str, str]] = {}
    for name in names:
        match = _QUATERNION.fullmatch(re.sub(r"\s*[\[(][^\])]*[\])]$", "", name.strip()))
        if match:
            groups.setdefault(name[: match.start(1)].lower(), {})[match[1].lower()] = name
    return [[group[axis] for axis in "xyzw"] for group in groups.values() if len(group) == 4]


_ENTRY = re.compile(r"(.*?)[._\[(]*([0-3])[._,\]\[ ]*([0-3])[\])]?")


def matrix_columns(names: Sequence[str]) -> list[list[str]]:
    """Every group of nine, twelve or sixteen columns that are entries of a matrix by their names, row by row.

    >>> matrix_columns(["t", *(f"R{i}{j}" for j in (1, 2, 3) for i in (1, 2, 3))])
    [['R11', 'R12', 'R13', 'R21', 'R22', 'R23', 'R31', 'R32', 'R33']]
    """
    groups: dict[str, dict[tuple[int, int], str]] = {}
    for name in names:
        if match := _ENTRY.fullmatch(name.strip()):
            groups.setdefault(match[1], {})[int(match[2]), int(match[3])] = name
    found = []
    for entries in groups.values():
        first = min(min(place) for place in entries)
        width, height = (max(place[axis] for place in entries) - first + 1 for axis in (1, 0))
        wanted = [(row + first, column + first) for row in range(height) for column in range(width)]
        if (height, width) in ((3, 3), (3, 4), (4, 4)) and len(entries) == len(wanted):
            found.append([entries[place] for place in wanted])
    return found
