"""Pole figures: where a direction of the crystal points in the sample, and the other way round.

If R has the density p_t on the rotations, R h has the density of heat on the sphere, for the same time, from the
directions x_j h of the atoms. So a pole figure is a density on the sphere: of the atoms, or by the levels.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ..base.arrays import FloatArray, numeric_array
from ..base.errors import InputError
from ..base.known import Known
from ..engines import spectral
from ..measures.measure import Measure
from ..parts.accumulator import with_transform
from ..spaces.sphere import Sphere
from ..transforms.orbits import multiplied
from ..transforms.poles import pole_sums
from .result import Density
from .smoothing import Sums

if TYPE_CHECKING:
    from ..transforms.wigner import WignerTransform

#: Directions of atoms up to which they are taken one by one.
MOST_DIRECTIONS = 500_000


@dataclass(frozen=True, eq=False, repr=False)
class PoleFigure(Density):
    """The density on the sphere of what a direction is turned into, in multiples of a uniform one.

    It is a `Density` on S^2 without atoms of its own: directions of one orientation are not independent.
    """

    orientations: int = 0
    own_ess: float = 1.0

    usual: ClassVar[str] = "equal-area"

    @property
    def n(self) -> int:
        """Number of orientations."""
        return self.orientations

    @property
    def ess(self) -> float:
        """Ordinary effective sample size of the orientations."""
        return self.own_ess

    @property
    def in_parts(self) -> bool:
        """Always, as for sums over parts."""
        return True

    def atoms(self, what: str) -> Measure:
        """None: an `InputError`."""
        raise InputError(
            f"{what} needs <+points that are independent+>, and <!directions of one orientation!> are not; ask the "
            "density of the orientations"
        )


#: Directions whose pole figures are drawn, of those that look alike the first.
_DRAWN = ((0, 0, 1), (1, 0, 0), (0, 1, 0), (1, 1, 0), (1, 1, 1), (1, 0, 2))


def three_directions(density: Density) -> list[tuple[int, int, int]]:
    """Three directions that do not look alike, of either end."""
    found, seen = [], np.empty((0, 3))
    for direction in _DRAWN:
        own = _direction(direction)
        if not (np.abs(seen @ own) > 1 - 1e-9).any():
            found.append(direction)
            seen = np.concatenate([seen, _turned(_group(density), own)])
    return found[:3]


def pole_figure(density: Density, direction: Any, *, inverse: bool, antipodal: bool) -> PoleFigure:
    """See `Density.pole_figure` and `Density.inverse_pole_figure`."""
    which, images, own = _direction(direction), _group(density), density.measure
    found: Measure | Sums
    known = Known(frame=None if inverse else "sample")
    alike = images if inverse else _distinct(_turned(images, which))
    few = not isinstance(own, Sums) and own.n * len(alike) * (2 if antipodal else 1) <= MOST_DIRECTIONS
    degree = own.degree if isinstance(own, Sums) else _degree(density)
    if few or degree is None:
        atoms = density.atoms("a pole figure at this scale")
        directions = _of_atoms(atoms.points, which, alike, inverse, antipodal)
        weights = np.tile(atoms.weights / (len(directions) // atoms.n), len(directions) // atoms.n)
        found = Measure.trusted(Sphere(2), directions, weights, known)
    else:
        found = _of_levels(density, which, degree, known, inverse, antipodal)
    nothing, angle = np.empty(0), density.angle
    facts = density.rtol, density.n, density.ess
    return PoleFigure(density.time, angle, nothing, nothing, angle, angle, (), found, *facts)


def _group(density: Density) -> FloatArray:
    """The rotations after which things look alike."""
    if density.space.group is None:
        where = f"<!{density.space!r}!>"
        raise InputError(f"pole figures are of <+rotations+>, but this density is on {where}; make it on Rotations()")
    return density.space.group


def _direction(direction: Any) -> FloatArray:
    """One direction, of any length."""
    array = numeric_array(direction, "direction").astype(np.float64)
    length = float(np.linalg.norm(array)) if array.shape == (3,) else 0.0
    if not (0 < length < math.inf):
        raise InputError.unfit("direction", "three numbers, not all zero, such as [1, 1, 1]", direction)
    return np.asarray(array / length)


def _turned(quaternions: FloatArray, directions: FloatArray) -> FloatArray:
    """R d for all rotations and directions, broadcasting."""
    pure = np.concatenate([directions, np.zeros((*directions.shape[:-1], 1))], axis=-1)
    inverse = quaternions * [-1.0, -1.0, -1.0, 1.0]
    return multiplied(multiplied(quaternions, pure), inverse)[..., :3]


def _distinct(directions: FloatArray) -> FloatArray:
    """Without those that are the same up to rounding."""
    near = directions @ directions.T > 1 - 1e-12
    return np.asarray(directions[np.argmax(near, axis=1) == np.arange(len(directions))])


def _of_atoms(
    points: FloatArray, direction: FloatArray, alike: FloatArray, inverse: bool, antipodal: bool
) -> FloatArray:
    """x h for all directions h that look alike; or g^-1 x^-1 r for all elements g of the group."""
    if inverse:
        first = _turned(points * [-1.0, -1.0, -1.0, 1.0], direction)
        found = _turned(alike[:, None], first).reshape(-1, 3)
    else:
        found = _turned(points, alike[:, None]).reshape(-1, 3)
    found /= np.linalg.norm(found, axis=1)[:, None]
    return np.concatenate([found, -found]) if antipodal else np.asarray(found)


def _degree(density: Density) -> float | None:
    """The degree that the density at its scale needs; None if the transform has none so high."""
    transform = density.space.level_transform
    if transform is None:
        return None
    return transform.degree_for(density.time / 2, density.ess, density.rtol, mmd2=False)


def _of_levels(
    density: Density, direction: FloatArray, degree: float, known: Known, inverse: bool, antipodal: bool
) -> Sums:
    """Sums on the sphere from the coefficients on the rotations."""
    own, sphere = density.measure, Sphere(2)
    transform: WignerTransform | Any = density.space.level_transform
    if isinstance(own, Sums):
        coefficients = own.coefficients
    else:
        coefficients = spectral.coefficients_of(own, transform, degree, density.rtol)
    whole = transform.of_rotations(coefficients)
    found, low = pole_sums(whole, direction, degree, inverse=inverse, antipodal=antipodal)
    return Sums(sphere, own.n, own.ess, known, with_transform(sphere), degree, found, low)
