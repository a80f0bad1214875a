"""The manifolds: one file a space; `base` is the contract."""

import ast
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING

from ..base.errors import InputError
from .base import GESS_ONLY, Space
from .complex_projective import ComplexProjective
from .euclidean import Euclidean
from .hyperbolic import Hyperbolic
from .product import Product
from .projective import Projective
from .rotations import Rotations
from .sphere import Sphere
from .torus import Circle, Torus

if TYPE_CHECKING:
    from .discrete import Graph, Mesh, PointCloud
    from .geometric_kernels.space import GeometricKernelsSpace

__all__ = [
    "Circle",
    "ComplexProjective",
    "Euclidean",
    "GeometricKernelsSpace",
    "Graph",
    "Hyperbolic",
    "Mesh",
    "PointCloud",
    "Product",
    "Projective",
    "Rotations",
    "Space",
    "Sphere",
    "Torus",
    "named",
]

#: Spaces that few need, imported at first use, and where each is.
ON_DEMAND = {"GeometricKernelsSpace": "geometric_kernels.space"} | dict.fromkeys(
    ("Graph", "Mesh", "PointCloud"), "discrete"
)


def __getattr__(name: str) -> type[Space]:
    if name not in ON_DEMAND:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    space: type[Space] = getattr(import_module(f".{ON_DEMAND[name]}", __name__), name)
    return space


#: Spaces that a file may name, by what their repr begins with.
_NAMED: dict[str, Callable[..., Space]] = {
    space.__name__: space
    for space in (Sphere, Projective, ComplexProjective, Torus, Euclidean, Hyperbolic, Circle, Rotations, Product)
}


#: Of a space that a file may name: those that are saved have a few, and a million would take seconds to make.
_MOST_DIMENSIONS = 10_000


def named(name: str) -> Space:
    """The space whose repr is *name*, as it stands in files; nothing else in a name is carried out.

    >>> named("Torus(2, periods=(1.0, 24.0))")
    Torus(2, periods=(1.0, 24.0))
    >>> named("Product(Sphere(2), Circle(), metric_scales=(1.0, 0.5))")
    Product(Sphere(2), Circle(), metric_scales=(1.0, 0.5))
    """
    try:
        space = _built(ast.parse(name[:1000].removesuffix(GESS_ONLY), mode="eval").body)
    except (SyntaxError, ValueError, TypeError, RecursionError):
        space = None
    if not isinstance(space, Space):
        known = ", ".join(_NAMED)
        raise InputError(f"unknown space <!{name[:80]!r}!>; this version of heatess knows <+{known}+>")
    return space


def _built(node: ast.expr) -> object:
    """A space, or a number, or several numbers."""
    if not isinstance(node, ast.Call):
        value: object = ast.literal_eval(node)
        if isinstance(value, int) and value > _MOST_DIMENSIONS:
            raise ValueError("more dimensions than a space in a file has")
        return value
    if not isinstance(node.func, ast.Name) or node.func.id not in _NAMED:
        raise ValueError("not the name of a space")
    options = {keyword.arg: _built(keyword.value) for keyword in node.keywords if keyword.arg}
    return _NAMED[node.func.id](*(_built(argument) for argument in node.args), **options)
