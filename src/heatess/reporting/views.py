"""What is drawn of a measure: its atoms and its density in a picture, or a histogram of distances."""

from __future__ import annotations

import math
from base64 import b64encode
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import FloatArray
from ..base.known import AXES, SKY
from ..heat.radial import radial, radial_terms
from ..measures.measure import Measure
from ..spaces.drawing import Drawing, Frame, Patch, frame_of
from .pictures import MOST_CELLS_OF_FRAMES, pictures, shades

#: Atoms drawn at most; nodes of a mesh or graph, and edges, that are drawn.
MOST_POINTS_OF_VIEW, MOST_NODES, MOST_EDGES = 100_000, 60_000, 40_000

#: Atoms drawn by weight whose distances make the histogram, and its bars.
POINTS_OF_HISTOGRAM, BARS = 400, 60

#: A cloud whose spread is less, in degrees, is drawn on a patch of the globe at fine scales.
MOST_SPREAD = 25.0

#: Letters of names that a page holds.
MOST_LETTERS = 1_000_000

#: The largest of 16 bits.
FULL = 32767


def coded(array: NDArray[Any], kind: str) -> str:
    """The bytes of an array as base64, little-endian: *kind* is i2, u1 or u4.

    >>> coded(np.array([1, -2]), "i2")
    'AQD+/w=='
    """
    return b64encode(np.ascontiguousarray(array).astype(f"<{kind}").tobytes()).decode()


def view_of(
    measure: Measure, times: FloatArray, *, most_cells: int = MOST_CELLS_OF_FRAMES, opening: int | None = None
) -> dict[str, Any]:
    """The view of a measure: what the page draws, for scales at these *times* in increasing order.

    It has a density at the scale at which the page opens, if there can be one.
    """
    modes = measure.space.modes
    if modes is not None and modes.node_count > MOST_NODES:
        why = f"There are {modes.node_count:,} nodes, more than the {MOST_NODES:,} that a page can show."
        return {"kind": "none", "why": why, "note": why, "of": measure.n, "footprint": None, "density": None}
    drawing = measure.space.drawing
    if drawing is None:
        return _histogram(measure, times)
    if drawing.node_of is not None and drawing.nodes is not None:
        places = drawing.nodes()
        nodes = drawing.node_of(measure.points)
        weights = np.bincount(nodes, measure.weights, len(places)).astype(np.float64)
        shown, labels = measure.n, _node_labels(measure, nodes, len(places))
    else:
        rows = chosen_rows(measure.n)
        places, weights, shown = drawing.places(measure.points[rows]), measure.weights[rows], len(rows)
        labels = None if measure.known.labels is None else measure.known.labels[rows]
    frame = frame_of(drawing, places, weights)
    extent = float(frame.half.max())
    view: dict[str, Any] = {
        "kind": drawing.kind,
        "why": "",
        "shown": shown,
        "of": measure.n,
        "dims": drawing.dims,
        "points": coded(quantised(places, frame.middle, extent), "i2"),
        "extent": extent,
        "middle": frame.middle.tolist(),
        "box": frame.half.tolist(),
        "unit": drawing.unit,
        "sizes": coded(np.ceil(255 * (weights / weights.max())), "u1"),
        "axes": drawing.named(measure.columns),
        "periodic": drawing.periodic,
        "footprint": drawing.footprint,
        "graticule": None,
        "coast": False,
        "note": _note(measure, drawing, shown),
    }
    about = measure.about
    view["frame"] = measure.known.frame
    view["names"] = list(AXES.get(measure.known.frame, AXES[None])[2:])
    view["labels"] = _letters(labels)
    view["dots"] = measure.known.kind != "cells"
    if drawing.kind in ("globe", "hemisphere"):
        view["graticule"] = about if about in ("earth", "sky") else "plain"
        view["coast"] = about == "earth" and drawing.kind == "globe"
    attitude = attitude_of(drawing, places, weights, float(np.median(times)))
    view |= attitude | _skeleton(drawing)
    return view | _density(measure, drawing, times, frame, most_cells, patch_of(drawing, attitude), opening)


def _node_labels(measure: Measure, nodes: NDArray[Any], count: int) -> NDArray[np.str_] | None:
    """The name of each node at which there is a point."""
    if measure.known.labels is None:
        return None
    names = np.full(count, "", dtype=measure.known.labels.dtype)
    names[nodes] = measure.known.labels
    return names


def _letters(labels: NDArray[np.str_] | None) -> str | None:
    """Names, one a line; None if there are none or too many to hold."""
    if labels is None:
        return None
    text = "\n".join(" ".join(str(name).split()) for name in labels)
    return text if len(text) <= MOST_LETTERS else None


def chosen_rows(n: int, most: int = MOST_POINTS_OF_VIEW) -> NDArray[np.int64]:
    """All rows, or *most* of them, evenly spread whatever their weights.

    >>> chosen_rows(7, 3)
    array([0, 2, 4])
    """
    return np.arange(n) if n <= most else np.arange(most) * n // most


def quantised(places: FloatArray, middle: FloatArray, extent: float) -> NDArray[np.int16]:
    """Coordinates in steps of extent / 32767 about the middle."""
    return np.clip(np.rint((places - middle) * (FULL / extent)), -FULL, FULL).astype(np.int16)


def _note(measure: Measure, drawing: Drawing, shown: int) -> str:
    said = [drawing.note]
    if drawing.kind == "globe" and measure.known.frame in SKY:
        said.append(f"Lines are of {' and '.join(AXES[measure.known.frame][:2])}.")
    if shown < measure.n:
        said.append(f"{shown:,} of {measure.n:,} points are drawn, evenly spread over the rows; all numbers use all.")
    return " ".join(filter(None, said))


def attitude_of(drawing: Drawing, places: FloatArray, weights: FloatArray, time: float) -> dict[str, Any]:
    """The direction around which a globe is to be seen first, and how far from it nine tenths of the weight lie.

    That is half the scale at this *time* at least.
    """
    if drawing.kind not in ("globe", "hemisphere"):
        return {"centre": None, "spread": None}
    if drawing.kind == "globe":
        centre = weights @ places / weights.sum()
    else:
        values, vectors = np.linalg.eigh(np.einsum("n,ni,nj->ij", weights / weights.sum(), places, places))
        centre = vectors[:, 2] * (1 if vectors[2, 2] >= 0 else -1) * (values[2] - values[1])
    length = float(np.linalg.norm(centre))
    if length < 0.02:
        return {"centre": None, "spread": None}
    centre = centre / length
    cosines = places @ centre
    angles = np.degrees(np.arccos(np.clip(cosines if drawing.kind == "globe" else np.abs(cosines), -1, 1)))
    order = np.argsort(angles)
    share = np.cumsum(weights[order])
    spread = float(angles[order][np.searchsorted(share, 0.9 * share[-1])])
    return {"centre": centre.tolist(), "spread": max(spread, math.degrees(math.sqrt(2 * time)))}


def patch_of(drawing: Drawing, attitude: dict[str, Any]) -> Patch | None:
    """The part of a globe that holds a small cloud, for maps at fine scales."""
    spread = attitude["spread"]
    if drawing.kind != "globe" or spread is None or spread > MOST_SPREAD:
        return None
    return Patch.around(np.array(attitude["centre"]), math.radians(min(max(2.6 * spread, 1e-3), 89.0)))


def _skeleton(drawing: Drawing) -> dict[str, Any]:
    """Faces of a mesh, or edges of a graph, as numbers of nodes."""
    if drawing.faces is not None:
        return {"faces": coded(drawing.faces, "u4")}
    return {} if drawing.edges is None else {"edges": coded(drawing.edges[:MOST_EDGES], "u4")}


def _density(
    measure: Measure,
    drawing: Drawing,
    times: FloatArray,
    frame: Frame,
    most_cells: int,
    patch: Patch | None,
    opening: int | None,
) -> dict[str, Any]:
    if drawing.cells is None:
        return {"density": None, "no_density": "The density is not shaded in this kind of picture."}
    if drawing.layout == "nodes":
        most_cells = max(most_cells, 4 * len(drawing.nodes()) if drawing.nodes is not None else 0)
    found = pictures(measure, drawing, times, frame, most=most_cells, patch=patch, opening=opening)
    if not found:
        why = (
            "The density is not shaded: these scales are too fine for a map of the whole space, or it would take long."
        )
        return {"density": None, "no_density": why}
    frames = []
    for scale, cells, values, near in found:
        least, most, dark = shades(values)
        size: dict[str, Any] = {"scale": scale, "rows": cells.rows, "columns": cells.columns}
        if near is not None:
            size["patch"] = {name: np.asarray(part).tolist() for name, part in near._asdict().items()}
        frames.append(size | {"least": least, "most": most, "values": coded(dark, "u1")})
    compact = (measure.space if drawing.part is None else drawing.part[0]).compact
    kind = "density" if compact else "density per unit of area"
    told = {"layout": drawing.layout, "of": kind, "relative": compact, "frames": frames}
    return {"density": told, "no_density": ""}


def _histogram(measure: Measure, times: FloatArray) -> dict[str, Any]:
    """Distances of atoms drawn by weight, and the overlap at each distance."""
    why = "These points have too many coordinates for a picture; their distances are shown instead."
    base: dict[str, Any] = {"why": why, "of": measure.n, "note": why, "footprint": None, "density": None}
    shares = np.cumsum(measure.weights)
    picked = np.searchsorted(shares, shares[-1] * (np.arange(POINTS_OF_HISTOGRAM) + 0.5) / POINTS_OF_HISTOGRAM)
    picked = np.minimum(picked, measure.n - 1)
    one, other = np.triu_indices(len(picked), 1)
    distinct = picked[one] != picked[other]
    one, other = picked[one[distinct]], picked[other[distinct]]
    if not len(one):
        return base | {"kind": "none", "why": "There is only one point."}
    distances = measure.space.distance(measure.points[one], measure.points[other])
    unit = math.degrees(1) if measure.space.angular else 1.0
    most = unit * (measure.space.diameter if math.isfinite(measure.space.diameter) else float(distances.max()))
    counts, edges = np.histogram(unit * distances, BARS, (0.0, most or 1.0))
    curves = _overlaps(measure, times, (edges[1:] + edges[:-1]) / (2 * unit))
    told = {"edges": edges.tolist(), "counts": counts.tolist(), "pairs": len(distances), "overlap": curves}
    return base | {"kind": "histogram", "unit": "deg" if measure.space.angular else "", "histogram": told}


def _overlaps(measure: Measure, times: FloatArray, distances: FloatArray) -> list[list[float]]:
    """s_t at these distances for each time; empty where it depends on more than the distance."""
    series, embedding = measure.space.series, measure.space.embedding
    if series is not None:
        return [radial_terms(radial(series, float(time)), distances).overlap.round(4).tolist() for time in times]
    if embedding is not None and embedding.open:
        return [np.exp(-(distances**2) / (8 * time)).round(4).tolist() for time in times]
    return []
