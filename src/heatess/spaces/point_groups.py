"""The finite groups of rotations, by the names that SciPy, crystallographers and cryo-EM programs have for them."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import permutations, product
from typing import Any

import numpy as np

from ..base.arrays import FloatArray
from ..base.errors import InputError
from ..transforms.orbits import multiplied

#: The largest order of an axis; more would be a body of revolution.
MOST_FOLD = 60

#: Rotations of the crystal classes by the short Hermann-Mauguin symbol, in Schoenflies' names. A class with mirrors or
#: an inversion has the rotations that it contains; those of Laue classes are half of their elements.
_CRYSTALS = {
    "C1": "1 -1 m",
    "C2": "2 2/m 112 mm2 -4 112/m",
    "121": "121 12/m1",
    "211": "211 2/m11",
    "C3": "3 -3 3m -6",
    "C4": "4 4/m 4mm",
    "C6": "6 6/m 6mm",
    "D2": "222 mmm -42m -4m2",
    "D3": "32 321 -3m -3m1 -6m2 -62m",
    "312": "312 -31m",
    "D4": "422 4/mmm",
    "D6": "622 6/mmm",
    "T": "23 m-3 m3 -43m",
    "O": "432 m-3m m3m",
}

#: Schoenflies' names of classes with reflections, beside those with an n.
_REFLECTED = {"Ci": "C1", "Cs": "C1", "Td": "T", "Th": "T", "Oh": "O", "Ih": "I"}

_NAMES = {name: group for group, names in _CRYSTALS.items() for name in names.split()} | _REFLECTED

_GOLDEN = (1 + math.sqrt(5)) / 2

#: A fivefold axis of I2 is so far from z, and a threefold one of T, in radians.
_FIVEFOLD, _THREEFOLD = math.atan(1 / _GOLDEN), math.atan(math.sqrt(2))

#: Groups with other axes, as RELION and other programs for particles have them: the group, and turns about axes, one
#: after the other, that bring it there. Axes of order 2, 3, 5 along z and near it lie so:
#: I1 2 along z, 5 in the plane of y and z (as SciPy's I); I2 2 along z, 5 in the plane of x and z; I3 and I4 5 along z,
#: and the next one at -x and +x; Tz 3 along z, 2 in the plane of y and z.
_SETTINGS: dict[str, tuple[str, tuple[tuple[int, float], ...]]] = {
    "I1": ("I", ()),
    "I2": ("I", ((2, math.pi / 2),)),
    "I3": ("I", ((2, math.pi / 2), (1, -_FIVEFOLD))),
    "I4": ("I", ((2, math.pi / 2), (1, _FIVEFOLD))),
    "Tz": ("T", ((2, -3 * math.pi / 4), (0, -_THREEFOLD))),
}

#: Orders of four numbers with an even number of exchanges.
_EVEN = [order for order in permutations(range(4)) if np.linalg.det(np.eye(4)[list(order)]) > 0]


@dataclass(frozen=True)
class PointGroup:
    """A finite group of rotations: its *name*, and the order of its main axis."""

    name: str
    fold: int

    @property
    def kind(self) -> str:
        """The name of the group with the axes that SciPy has."""
        return _SETTINGS.get(self.name, (self.name,))[0]

    @cached_property
    def elements(self) -> FloatArray:
        """Quaternions, the scalar last and not negative, the unit first; shape (order, 4)."""
        found, turn = _elements(self.kind), self._turn
        if self.kind != self.name:
            found = multiplied(turn, multiplied(found, turn * [-1.0, -1.0, -1.0, 1.0]))
            found[np.abs(found) < 1e-15] = 0.0
        return found[np.argsort(-found[:, 3], kind="stable")]

    @property
    def _turn(self) -> FloatArray:
        """The rotation that brings the axes of SciPy's group to those of this one."""
        turn = np.array([0.0, 0.0, 0.0, 1.0])
        for axis, angle in _SETTINGS.get(self.name, ("", ()))[1]:
            turn = multiplied(math.sin(angle / 2) * np.eye(4)[axis] + math.cos(angle / 2) * np.eye(4)[3], turn)
        return turn

    @property
    def order(self) -> int:
        """Elements."""
        return len(self.elements)

    @cached_property
    def angles(self) -> tuple[float, ...]:
        """The angle of each element."""
        axis = np.linalg.norm(self.elements[:, :3], axis=1)
        return tuple((2 * np.arctan2(axis, self.elements[:, 3])).tolist())

    @cached_property
    def frame(self) -> FloatArray:
        """The rotation h that takes z to the main axis, so that h^-1 G h has it along z."""
        axis = {
            "T": (1.0, 1.0, 1.0),
            "I": (_GOLDEN, 0.0, 1.0),
            "211": (1.0, 0.0, 0.0),
            "121": (0.0, 1.0, 0.0),
        }.get(self.kind, (0.0, 0.0, 1.0))
        x, y, z = np.array(axis) / np.linalg.norm(axis)
        half = np.array([-y, x, 0.0, 1 + z])  # half way from z to the axis
        return multiplied(self._turn, half / np.linalg.norm(half))

    @property
    def diameter(self) -> float:
        """The largest disorientation: of the corners of the cell of rotations nearest to the unit, in Rodrigues' space.

        About an axis of order n alone, half a turn about an axis across it; with axes across it, a prism of 2n sides;
        a cube or octahedron of rotations, a truncated cube, and a dodecahedron.
        """
        half = math.pi / (2 * self.fold)
        if self.kind == "T":
            square = 1.0
        elif self.kind == "O":
            square = 2 * (math.sqrt(2) - 1) ** 2 + (3 - 2 * math.sqrt(2)) ** 2
        elif self.kind == "I":
            square = (math.tan(math.pi / 10) ** 2) * (15 - 6 * math.sqrt(5))
        elif self.order == self.fold:
            return math.pi
        else:
            square = math.tan(half) ** 2 + 1 / math.cos(half) ** 2
        return 2 * math.atan(math.sqrt(square))


def named_group(symmetry: Any) -> PointGroup:
    """The group of rotations that a name stands for.

    >>> [named_group(name).name for name in ("432", "m-3m", "6/mmm", "D3d", "Ih")]
    ['O', 'O', 'D6', 'D3', 'I']
    >>> named_group("622").order
    12
    """
    if not isinstance(symmetry, str):
        raise InputError.unfit("symmetry", "the name of a point group such as 'O' or '622'", symmetry)
    name = _canonical(symmetry)
    fold = int(name[1:]) if name[0] in "CD" else {"T": 3, "O": 4, "I": 5, "3": 3}.get(name[0], 2)
    if fold > MOST_FOLD:
        raise InputError(
            f"symmetry has <+an axis of order {MOST_FOLD} at most+>, but <!{symmetry!r} has one of {fold}!>; what "
            "looks alike after any turn about an axis is a direction: give the axes as points of Sphere(2)"
        )
    return _kept(name, fold)


@lru_cache(maxsize=64)
def _kept(name: str, fold: int) -> PointGroup:
    return PointGroup(name, fold)


def _canonical(symmetry: str) -> str:
    """Schoenflies' name of the rotations, or that of a setting with other axes."""
    text = re.sub(r"[\s_]", "", symmetry).replace("\u2212", "-").replace("\u0305", "")
    if text in _NAMES:
        return _NAMES[text]
    word = text[:1].upper() + text[1:].lower()
    if word in _NAMES:
        return _NAMES[word]
    if word in ("T", "O", "I", *_SETTINGS):
        return word
    found = re.fullmatch(r"([CD])([1-9]\d*)([vhd]?)", word)
    if found:
        kind, fold = found[1], int(found[2])
        return "211" if (kind, fold) == ("D", 1) else f"{kind}{fold}"
    found = re.fullmatch(r"S([2-9]\d*)", word)
    if found and int(found[1]) % 2 == 0:
        return f"C{int(found[1]) // 2}"
    known = (
        "C1, C2, ..., D2, D3, ..., T, Tz, O, I, I1, ..., I4, or a crystal class such as 222, 32, 622, 432, mmm, -3m, "
        "6/mmm, m-3m"
    )
    raise InputError.unfit("symmetry", f"one of {known}", symmetry)


def _elements(name: str) -> FloatArray:
    """Quaternions in any order, one of each pair q and -q."""
    if name[0] in "CD" or name in ("312", "211", "121"):
        return _about_axis(name)
    signs = np.array(list(product((1.0, -1.0), repeat=3)))
    found = [np.eye(4), np.column_stack([signs, np.ones(8)]) / 2]  # the unit and half turns about the axes, thirds
    if name == "O":
        quarters = [(sign * np.eye(4)[axis] + np.eye(4)[3]) for axis in range(3) for sign in (1, -1)]
        halves = [np.eye(4)[a] + sign * np.eye(4)[b] for a, b in ((0, 1), (1, 2), (2, 0)) for sign in (1, -1)]
        found.append(np.array(quarters + halves) / math.sqrt(2))
    if name == "I":
        shape = np.array([1.0, 0.0, 1 / _GOLDEN, _GOLDEN]) / 2
        every = [shape[list(order)] * sign for order in _EVEN for sign in product((1.0, -1.0), repeat=4)]
        rows = np.unique(np.array(every), axis=0)  # q and -q, each with zeros of either sign
        found.append(rows[[row[np.flatnonzero(row)[-1]] > 0 for row in rows]])
    return np.concatenate(found)


def _about_axis(name: str) -> FloatArray:
    """Turns about one axis and, for D, half turns about axes across it."""
    if name in ("211", "121"):
        return np.array([[0.0, 0.0, 0.0, 1.0], np.eye(4)[0 if name == "211" else 1]])
    fold = 3 if name == "312" else int(name[1:])
    turn = np.arange(fold) * (math.pi / fold)
    turn -= np.where(turn > math.pi / 2 + 1e-9, math.pi, 0.0)
    zero = np.zeros(fold)
    found = np.column_stack([zero, zero, np.sin(turn), np.cos(turn)])
    found[np.abs(found) < 1e-15] = 0.0
    if name[0] == "C":
        return found
    across = np.arange(fold) * (math.pi / fold) + (math.pi / 2 if name == "312" else 0.0)
    halves = np.column_stack([np.cos(across), np.sin(across), zero, zero])
    halves[np.abs(halves) < 1e-15] = 0.0
    return np.concatenate([found, halves])
