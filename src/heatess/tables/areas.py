"""Areas of the cells of a grid on the unit sphere, from their centres, their edges or their corners.

Angles are degrees. Between two parallels and two meridians the area is (sin top - sin bottom) (east - west), exactly.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..base.arrays import FloatArray
from ..base.directions import from_lonlat

#: The end of a grid is a pole, or the other end of a turn, if it is nearer than this part of a step.
_SHARE_OF_STEP_AT_POLE = 0.4

#: The first zero of the Bessel function J0: the Gaussian latitude next to the pole is about this over n + 1/2 away.
_BESSEL = 2.404825557695773


class Widths(NamedTuple):
    """What each step of an axis contributes to the area of its cells, and in words how wide the steps are."""

    sizes: FloatArray  #: sin top - sin bottom for latitudes, radians for longitudes
    steps: str  #: "5", "about 2.5", "Gaussian"


def latitude_bands(lat: FloatArray, bounds: FloatArray | None = None, alone: float = 1.0) -> Widths:
    """sin top - sin bottom of the band around each latitude; the band ends half-way to the next, or at the pole.

    *bounds* (n, 2) are the edges themselves. Latitudes that are the nodes of Gauss and Legendre have their weights.
    *alone* is the height of a single band without bounds.

    >>> latitude_bands(np.array([-60.0, 0, 60])).sizes
    array([0.5, 1. , 0.5])
    >>> float(latitude_bands(np.array([-90.0, -30, 30, 90])).sizes.sum())
    2.0
    """
    if bounds is not None:
        edges = np.clip(bounds, -90, 90)
        sizes = _sines(edges.min(axis=1), edges.max(axis=1))
        return Widths(sizes, _in_words(np.abs(edges[:, 1] - edges[:, 0])))
    if len(lat) == 1:
        edges = np.clip([lat[0] - alone / 2, lat[0] + alone / 2], -90, 90)
        return Widths(_sines(edges[:1], edges[1:]), f"{alone:.6g}")
    order = np.argsort(lat)
    gaussian = _gaussian_weights(lat[order])
    sizes = _sorted_bands(lat[order]) if gaussian is None else gaussian
    return Widths(sizes[np.argsort(order)], _in_words(np.diff(lat[order])) if gaussian is None else "Gaussian")


def _sorted_bands(lat: FloatArray) -> FloatArray:
    """The bands of latitudes that ascend."""
    edges = _edges(lat)
    if 90 + edges[0] < _SHARE_OF_STEP_AT_POLE * (lat[1] - lat[0]):
        edges[0] = -90
    if 90 - edges[-1] < _SHARE_OF_STEP_AT_POLE * (lat[-1] - lat[-2]):
        edges[-1] = 90
    return _sines(edges[:-1], edges[1:])


def longitude_widths(lon: FloatArray, bounds: FloatArray | None = None, alone: float = 1.0) -> Widths:
    """The width in radians of the cell around each longitude: half-way to its neighbours on the circle.

    Longitudes may come in any order. Beyond the widest gap there is nothing, unless it is a step like its neighbours,
    so that cells go all around. A meridian that is there twice, as 0 and 360, has half a cell each time.

    >>> np.degrees(longitude_widths(np.array([0.0, 90, 180, 270])).sizes)
    array([90., 90., 90., 90.])
    >>> np.degrees(longitude_widths(np.array([0.0, 120, 240, 360])).sizes)
    array([ 60., 120., 120.,  60.])
    >>> np.degrees(longitude_widths(np.array([5.0, 345, 355])).sizes)
    array([10., 10., 10.])
    """
    if bounds is not None:
        widths = np.abs(bounds[:, 1] - bounds[:, 0])
        if len(lon) > 1:  # across the meridian where longitudes begin again
            widths = np.where(widths > 180, np.abs(360 - widths), widths)
        return Widths(np.radians(widths), _in_words(widths))
    around = np.mod(np.round(np.mod(lon, 360), 9), 360)
    places, own, counts = np.unique(around, return_inverse=True, return_counts=True)
    if len(places) == 1:
        return Widths(np.radians([alone] * len(lon)) / len(lon), f"{alone:.6g}")
    first = (int(np.argmax(np.diff(places, append=places[0] + 360))) + 1) % len(places)
    turned = np.concatenate([places[first:], places[:first] + 360])  # from the end of the widest gap on
    edges, steps, gap = _edges(turned), np.diff(turned), 360 - (turned[-1] - turned[0])
    if gap < (1 + _SHARE_OF_STEP_AT_POLE) * max(steps[0], steps[-1]):
        edges[0], edges[-1] = turned[0] - gap / 2, turned[-1] + gap / 2
    widths = np.roll(np.diff(edges), first) / counts
    return Widths(np.radians(widths)[own], _in_words(steps))


def polygon_areas(lon: FloatArray, lat: FloatArray) -> FloatArray:
    """Areas of spherical polygons from their corners, (n, corners) each; corners may be repeated.

    Edges are great circles. Each polygon is cut into triangles a, b, c, of which
    tan(area / 2) = a . (b x c) / (1 + a . b + b . c + c . a).

    >>> octant = polygon_areas(np.array([[0.0, 90, 0, 0]]), np.array([[0.0, 0, 90, 90]]))
    >>> bool(np.isclose(octant[0], np.pi / 2))
    True
    """
    east = np.mod(np.asarray(lon, dtype=np.float64), 360)
    corners = from_lonlat(east.reshape(-1), np.clip(lat, -90, 90).reshape(-1), units="deg").reshape(*east.shape, 3)
    total = np.zeros(len(corners))
    first = corners[:, 0]
    for place in range(1, corners.shape[1] - 1):
        second, third = corners[:, place], corners[:, place + 1]
        normal = np.cross(second - first, third - first)
        inner = np.einsum("ij,ij->i", first, second) + np.einsum("ij,ij->i", second, third)
        inner += np.einsum("ij,ij->i", third, first)
        total += 2 * np.arctan2(np.einsum("ij,ij->i", first, normal), 1 + inner)
    return np.abs(total)


def _edges(centres: FloatArray) -> FloatArray:
    """Half-way between neighbours, and as far beyond the ends as half the last step."""
    between = (centres[1:] + centres[:-1]) / 2
    return np.concatenate([[1.5 * centres[0] - 0.5 * centres[1]], between, [1.5 * centres[-1] - 0.5 * centres[-2]]])


def _sines(low: FloatArray, high: FloatArray) -> FloatArray:
    """Differences of sines, with all their digits for thin bands."""
    low, high = np.radians(np.clip(low, -90, 90)), np.radians(np.clip(high, -90, 90))
    return np.asarray(2 * np.cos((high + low) / 2) * np.sin((high - low) / 2))


def _gaussian_weights(lat: FloatArray) -> FloatArray | None:
    """The weights of Gauss and Legendre, if latitudes that ascend are the nodes; else None."""
    n = len(lat)
    tolerance = 0.05 * 180 / n  # files round, but regular latitudes are a quarter of a step away
    nearest = 90 - math.degrees(_BESSEL / (n + 0.5))
    if n < 4 or abs(abs(float(lat[0])) - nearest) > tolerance or abs(float(lat[0] + lat[-1])) > tolerance:
        return None
    from scipy.special import roots_legendre

    nodes, weights = roots_legendre(n)
    return np.asarray(weights) if np.abs(np.degrees(np.arcsin(nodes)) - lat).max() < tolerance else None


def _in_words(steps: FloatArray) -> str:
    """The step of an axis; "about" its middle one where steps differ."""
    steps = np.abs(np.atleast_1d(steps))
    middle = float(np.median(steps))
    about = "" if np.abs(steps - middle).max() <= 1e-3 * middle else "about "
    return f"{about}{middle:.4g}"
