"""The manifolds: one file a space; `base` is the contract."""

import re
from collections.abc import Callable

from ..errors import InputError
from .base import Space
from .complex_projective import ComplexProjective
from .discrete import Graph, Mesh, PointCloud
from .euclidean import Euclidean
from .geometric_kernels import GeometricKernelsSpace
from .hyperbolic import Hyperbolic
from .product import Product
from .projective import Projective
from .rotations import Rotations
from .sphere import Sphere
from .torus import Circle, Torus

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

#: Spaces that are named by their dimension.
_BY_DIMENSION: dict[str, Callable[[int], Space]] = {
    "Sphere": Sphere,
    "Projective": Projective,
    "ComplexProjective": ComplexProjective,
    "Torus": Torus,
    "Euclidean": Euclidean,
    "Hyperbolic": Hyperbolic,
}


def named(name: str) -> Space:
    """The space whose repr is *name*, as it stands in files.

    >>> named("Sphere(2)")
    Sphere(2)
    >>> named("Torus(2, periods=(1.0, 24.0))")
    Torus(2, periods=(1.0, 24.0))
    >>> named("Product(Sphere(2), Circle(), scales=(1.0, 0.5))")
    Product(Sphere(2), Circle(), scales=(1.0, 0.5))
    """
    product = re.fullmatch(r"Product\((.*)\)(?: \[.*\])?", name)
    if product is not None:
        parts = _split(product[1])
        scales = re.fullmatch(r"scales=\(([\d.e+, -]+)\)", parts[-1])
        numbers = [float(part) for part in scales[1].split(",")] if scales else None
        return Product(*(named(part) for part in (parts[:-1] if scales else parts)), scales=numbers)
    if name in ("Circle()", "Rotations()"):
        return Circle() if name == "Circle()" else Rotations()
    match = re.fullmatch(r"(\w+)\((\d{1,6})(?:, periods=([\d.e+-]+|\([\d.e+, -]+\)))?\)(?: \[.*\])?", name)
    if match is not None and match[1] == "Torus" and match[3] is not None:
        numbers = [float(part) for part in match[3].strip("()").split(",") if part.strip()]
        return Torus(int(match[2]), numbers if match[3].startswith("(") else numbers[0])
    if match is None or match[1] not in _BY_DIMENSION or match[3] is not None:
        known = ", ".join(f"{kind}(dim)" for kind in _BY_DIMENSION) + ", Circle(), Rotations() and a Product of these"
        raise InputError(f"unknown space {name!r}; this version of heatess knows {known}")
    return _BY_DIMENSION[match[1]](int(match[2]))


def _split(text: str) -> list[str]:
    """At the commas that are not within brackets."""
    parts, depth = [""], 0
    for character in text:
        depth += (character == "(") - (character == ")")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts]
