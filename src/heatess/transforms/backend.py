"""The one place where nonuniform Fourier transforms are asked for, and where it is decided who computes them.

Two sums, in one to three angles, and their relatives on S^2:

    modes    c_k = sum_i w_i exp(i sum_j f_kj x_ij)        of weights at points, for a box of frequencies,
    values   Re sum_k c_k exp(i sum_j f_kj x_ij)           at points, of such modes.

They are computed by `transforms.nonuniform` and `transforms.rings`, or by ducc0, which is under the GNU General Public
License and comes with the extra ducc: where it is installed and is the faster one, or as the environment variable
HEATESS_BACKEND says, native or ducc.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.util import find_spec
from typing import Protocol

import numpy as np

from ..base.arrays import FloatArray
from ..base.errors import InputError, missing_extra
from .nonuniform.box import Box, Modes

NAMES = ("native", "ducc")

#: The faster one by the number of angles, as `benchmarks/backends.py` measures it: ducc0 takes 0.6 to 0.9 of our time
#: in one and in two, on S^2 among them, and 1.1 to 2 times our time in three.
_FASTER = {1: "ducc", 2: "ducc", 3: "native"}


class Backend(Protocol):
    """What `transforms.native` and `transforms.ducc` both have."""

    def modes(self, points: FloatArray, weights: FloatArray, box: Box, /) -> Modes:
        """sum_i w_i exp(i sum_j f_j x_ij) of points (n, d) for the frequencies of a box, in its shape."""

    def values(self, coefficients: Modes, points: FloatArray, box: Box, /) -> FloatArray:
        """Re sum_k c_k exp(i sum_j f_kj x_ij) at points (n, d), with one coefficient for each frequency of a box."""

    def harmonics(self, places: FloatArray, weights: FloatArray, degree: int, epsilon: float, threads: int, /) -> Modes:
        """sum_i w_i conj(Y_lm) at *places* (n, 2) of colatitude and longitude, [l, m] with m >= 0; zero where m > l.

        The Y_lm are orthonormal on the sphere of area 4 pi; longitudes lie in [0, 2 pi].
        """

    def meridians(self, coefficients: Modes, threads: int, /) -> Modes:
        """sum_l a_lm Y_lm at longitude zero for each order m >= 0, at colatitudes 0, pi / count, ..., pi.

        *coefficients* stand as those of `harmonics`, shape (count, count); the result has the shape (count + 1, count).
        """


@cache
def installed() -> bool:
    """Whether ducc0 is there."""
    return find_spec("ducc0") is not None


def chosen(dim: int) -> str:
    """Who computes transforms in so many angles, native or ducc: as HEATESS_BACKEND says, or else the faster one."""
    asked = os.environ.get("HEATESS_BACKEND", "").strip()
    if asked and asked not in NAMES:
        raise InputError(
            f"the environment variable HEATESS_BACKEND must be <+native or ducc+>, but is <!{asked[:40]!r}!>; set it "
            "to one of them, or unset it"
        )
    if asked == "ducc" and not installed():
        raise missing_extra("ducc0", "ducc")
    return asked or (_FASTER[dim] if installed() else "native")


def by(dim: int) -> Backend:
    """Whoever computes transforms in so many angles.

    >>> box = Box([0], [3], 1e-12, threads=1)
    >>> by(1).modes(np.array([[0.0], [np.pi]]), np.array([1.0, 2.0]), box).real.round(6)
    array([ 3., -1.,  3.])
    >>> by(1).values(np.array([1.0, 2.0, 0j]), np.array([[0.0], [np.pi]]), box).round(6)
    array([ 3., -1.])
    """
    if chosen(dim) == "ducc":
        from . import ducc

        return ducc
    from . import native

    return native


def added(parts: Iterator[Modes], shape: Sequence[int]) -> Modes:
    """The sum of coefficients of parts of the points, in place of those of the first; zeros if there is none."""
    total = next(parts, None)
    if total is None:
        return np.zeros(shape, dtype=np.complex128)
    for part in parts:
        total += part
    return total
