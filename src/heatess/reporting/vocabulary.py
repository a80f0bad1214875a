"""What a report calls things: points by the words of their field, scales, shares and areas in the units of readers."""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np

from ..base.arrays import FloatArray
from ..base.directions import EARTH_SQUARE_KM, KM_PER_DEGREE, SKY_SQUARE_DEGREES
from ..drawing.axes import plain
from ..measures.measure import Measure
from ..measures.scales import ANGLE_DIMENSION
from ..profiles.heat_profile import HeatProfile
from ..spaces.base import GESS_ONLY, Space

#: What points are called, one and many, by what the columns were, and else by the form of points.
_NOUNS = {
    "earth": ("place", "places"),
    "sky": ("direction", "directions"),
    "directions": ("direction", "directions"),
    "rotations": ("orientation", "orientations"),
    "torsions": ("conformation", "conformations"),
    "poses": ("pose", "poses"),
    "quaternions": ("orientation", "orientations"),
}

#: What points are called on spaces that say it, whatever the columns were.
_OWN = {"Graph": ("node", "nodes"), "Projective": ("axis", "axes")}

#: What files are named after, where that is what their points are: many, and one.
_FILES = {
    "airports": "airport", "cities": "city", "craters": "crater", "earthquakes": "earthquake", "galaxies": "galaxy",
    "particles": "particle", "ports": "port", "quakes": "quake", "stars": "star", "stations": "station",
    "storms": "storm", "volcanoes": "volcano",
}  # fmt: skip

#: Columns that only catalogues of earthquakes have beside places.
_QUAKES = re.compile(r"mag|magnitude|mag_?value|depth(_?km)?|energy|moment", re.IGNORECASE)

#: The whole that a sample lies in, by what the columns were.
_WHOLES = {"earth": "the Earth", "sky": "the sky"}

#: Spaces by their class, where they have a plain name.
_SPACES = {"Torus": "the torus", "Rotations": "the space of rotations", "Mesh": "the surface", "Graph": "the graph"}


def nouns(measure: Measure | None, space: Space, about: str, kind: str | None = None) -> tuple[str, str]:
    """What one point and many are called.

    >>> from heatess import Measure, Sphere
    >>> nouns(None, Sphere(2), "sky"), nouns(None, Sphere(2), "sky", "cells"), nouns(None, Sphere(383), "")
    (('direction', 'directions'), ('cell', 'cells'), ('vector', 'vectors'))
    """
    if kind == "cells":
        return "cell", "cells"
    origin = measure.origin if measure is not None else None
    if origin is not None:
        words = re.split(r"[^a-z]+", Path(origin.source).name.split(".")[0].lower())
        named = next((word for word in words if word in _FILES), None)
        if named is not None:
            return _FILES[named], named
        if about == "earth" and any(_QUAKES.fullmatch(name) for name in (*origin.columns, origin.weights)):
            return "quake", "quakes"
    if type(space).__name__ in _OWN:
        return _OWN[type(space).__name__]
    if about in _NOUNS or space.form in _NOUNS:
        return _NOUNS.get(about) or _NOUNS[space.form]
    if space.form == "vectors" and space.dim > ANGLE_DIMENSION:
        return "vector", "vectors"
    return ("draw", "draws") if kind in ("draws", "weighted draws", "chains") else ("point", "points")


def whole(about: str, space: Space) -> str:
    """What the space is called in a sentence.

    >>> from heatess import Sphere, Torus
    >>> whole("", Sphere(2)), whole("earth", Sphere(2)), whole("", Torus(2))
    ('the sphere', 'the Earth', 'the torus')
    """
    if about in _WHOLES and space.dim == 2 and space.directional:
        return _WHOLES[about]
    if space.directional:
        return {1: "the circle", 2: "the sphere"}.get(space.dim, "the space")
    return _SPACES.get(type(space).__name__, "the space")


def where(space: Space) -> str:
    """Where points are, after their number; spaces without a plain name are named as in Python.

    >>> from heatess import Circle, Euclidean, Rotations, Sphere, Torus
    >>> [where(space) for space in (Circle(units="deg"), Sphere(2), Sphere(383), Torus(2), Euclidean(2), Rotations())]
    [' on the circle', ' on the sphere', ' with 384 coordinates', ' of 2 angles each', ' in the plane', '']
    """
    match type(space).__name__, space.dim:
        case "Sphere" | "Circle", 1 | 2:
            return " on the circle" if space.dim == 1 else " on the sphere"
        case "Projective", 2:
            return ""
        case "Sphere", dim:
            return f" with {dim + 1} coordinates"
        case "Torus", dim if space.angular:
            return " on the circle" if dim == 1 else f" of {dim} angles each"
        case "Euclidean", dim:
            return {1: " on the line", 2: " in the plane", 3: " in space"}.get(dim, f" with {dim} coordinates")
        case "Rotations", _:
            found = re.search(r"symmetry='(.*?)'", repr(space))
            return f" of bodies with the symmetry {found[1]}" if found else ""
        case "Mesh" | "Graph" | "PointCloud" as name, _ if space.modes is not None:
            nodes = f"{space.modes.node_count:,}"
            told = {"Mesh": f"a surface with {nodes} vertices", "Graph": f"a graph with {nodes} nodes"}
            return f" on {told.get(name, f'a surface that {nodes} points stand for')}"
    return f" on {repr(space).removesuffix(GESS_ONLY)}"


def scale_kind(profile: HeatProfile) -> str:
    """What scales are: angle, resolution or distance."""
    if not profile.space.angular:
        return "distance"
    high = profile.space.dim > ANGLE_DIMENSION
    return "resolution" if high and bool(np.isfinite(profile.resolutions).all()) else "angle"


def scale_values(profile: HeatProfile) -> FloatArray:
    """The scales as a report has them: angles or resolutions in degrees, or distances."""
    return profile.resolutions if scale_kind(profile) == "resolution" else profile.angles


def scale_unit(profile: HeatProfile, about: str = "") -> str:
    """The unit of scales: degrees, or kilometres for places on the Earth at a depth; empty if it is not known."""
    return "deg" if profile.space.angular else "km" if about == "earth" else ""


def scale_in_words(profile: HeatProfile, row: int, about: str = "", *, short: bool = False) -> str:
    """One scale of a profile, in kilometres on the Earth; a *short* one as the bare number with its unit."""
    value, kind = scale_values(profile)[row], scale_kind(profile)
    if kind == "distance":
        return f"{value:.3g} km" if about == "earth" else f"{value:.3g}" if short else f"a distance of {value:.3g}"
    if kind == "resolution":
        return f"{value:.3g}°" if short else f"a resolution of {value:.3g}°"
    if about != "earth":
        return f"{value:.3g}°"
    km = f"{plain(profile.angles[row] * KM_PER_DEGREE)} km"
    return km if short else f"{km} ({value:.3g}°)"


def length_in_words(length: float, space: Space, about: str) -> str:
    """A scale that need not be one of a profile, in the unit of its angles."""
    if not space.angular:
        return f"{length:.3g}{' km' if about == 'earth' else ''}"
    return f"{plain(length * KM_PER_DEGREE)} km ({length:.3g}°)" if about == "earth" else f"{length:.3g}°"


def percent(share: float) -> str:
    """A share in per cent, for readers.

    >>> percent(0.0237), percent(1e-9), percent(0.5)
    ('2.37 %', 'less than 0.001 %', '50 %')
    """
    return "less than 0.001 %" if share < 1e-5 else f"{100 * share:.3g} %"


def area(share: float, about: str) -> str:
    """A share of a sphere as an area, with three digits.

    >>> area(0.138, "earth"), area(0.00138, "earth"), area(0.5, "sky")
    ('70.4 million km²', '704,000 km²', '20,600 deg²')
    """
    size, unit = (share * EARTH_SQUARE_KM, "km²") if about == "earth" else (share * SKY_SQUARE_DEGREES, "deg²")
    if size >= 1e6:
        return f"{plain(float(f'{size:.3g}') / 1e6)} million {unit}"
    return f"{plain(float(f'{size:.3g}'))} {unit}"


def count(value: float) -> str:
    """A count of points: whole from ten on, two digits below; a power of ten where it is huge.

    >>> [count(value) for value in (7_851_952, 313.4, 40.45, 6.375, 1.04, 3e12)]
    ['7,850,000', '313', '40', '6.4', '1', 'about 10^12']
    """
    if value >= 1e9:
        return f"about 10^{math.floor(math.log10(value))}"
    if value >= 1e6:
        return f"{float(f'{value:.3g}'):,.0f}"
    return f"{value:,.0f}" if value >= 9.95 else f"{value:.2g}"
