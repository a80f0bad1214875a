"""Where the mass is: the scale that the data support, regions that hold shares of the mass, and a map of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..base.arrays import FloatArray
from ..densities.estimate import density as density_of
from ..densities.region import Region
from ..densities.result import Density
from ..measures.measure import Measure
from ..spaces.drawing import Drawing, Patch, frame_of, sphere_cells
from .computed import OrReason, Reasons, is_few
from .pictures import shades
from .views import attitude_of, coded, patch_of
from .vocabulary import area, length_in_words

#: Shares of the mass whose regions are told.
LEVELS = (0.5, 0.9)

#: Cells for each scale, and rows of a map of the whole sphere at most.
CELLS_PER_SCALE_OF_MAP, MOST_ROWS_OF_MAP = 4.0, 180

#: Dimensions above which densities are not looked at, unless they are asked for.
MOST_DIMENSIONS_OF_DENSITY = 10

#: Points up to which a report computes the uncertainty of areas, which takes ten transforms.
MOST_JACKKNIFE = 300_000


class Asked(NamedTuple):
    """A density that a report is to show, and the levels of its regions."""

    density: Density | None = None
    levels: Sequence[float] = LEVELS
    calibrated: bool = False


def mass_of(
    measure: Measure, asked: Asked, rtol: float, reasons: Reasons, spelled: Callable[[str], str]
) -> dict[str, Any] | None:
    """The panel on a density, by default on that at the scale which cross-validation chooses."""
    found = asked.density
    if found is None and is_few(measure, "mass", reasons):
        if measure.space.dim > MOST_DIMENSIONS_OF_DENSITY:
            reasons["mass"] = f"a density in {measure.space.dim} dimensions says little at any scale"
            return None
        with OrReason(reasons, "mass"):
            found = density_of(measure, rtol=rtol)
    if found is None:
        return None
    with OrReason(reasons, "mass"):
        regions = found.region(np.asarray(asked.levels), calibrated=asked.calibrated)
        return {
            "sentence": scale_sentence(found),
            "notes": [sentence_of(spelled(note)) for note in (*found.notes, *regions.notes)],
            "curve": _curve(found),
            "regions": _table(regions, measure.about),
            "map": _map(found, regions, measure),
            "unit": "deg" if found.space.angular else "",
        }
    return None


def sentence_of(note: str) -> str:
    """A note as a sentence."""
    return f"{note[:1].upper()}{note[1:]}."


def scale_sentence(found: Density) -> str:
    """At which scale a density is smoothed, and how that was chosen."""
    about = found.measure.about

    def words(value: float) -> str:
        return length_in_words(value, found.space, about)

    sentence = f"The {found.n:,} points are smoothed at {words(found.angle)}"
    if len(found.scales):
        low, high = words(found.scale_lower), words(found.scale_upper)
        sentence += f", where cross-validation is best; from {low} to {high} it is as good within one standard error"
    return f"{sentence}."


def _curve(found: Density) -> dict[str, Any] | None:
    """The cross-validated error, without what is far above that of the uniform density."""
    if not len(found.scales):
        return None
    least = float(found.cv.min())
    top = max(-0.5 * least, 0.2 * abs(least))
    values = np.where(found.cv <= top, found.cv, np.nan)
    ends = {"chosen": found.angle, "lower": found.scale_lower, "upper": found.scale_upper}
    return {"scales": found.scales.tolist(), "values": values.tolist()} | ends


def _table(regions: Region, about: str) -> dict[str, Any]:
    """One row a level: the share of the space or the volume, the area, how sure that is, and what the region holds."""
    space, draws = regions.space, regions.density.known.kind not in ("cells", "complete")
    columns = [("level", "mass", "%"), ("share", "share" if space.compact else "volume", "%" if space.compact else "")]
    sphere = space.directional and space.dim == 2
    columns += [("area", "area", "")] if sphere else []
    few = regions.density.n <= MOST_JACKKNIFE and draws
    columns += [("error", "±", "%")] if few else []
    columns += [("held", "holds", "%")] if draws else []
    rows = []
    for k, level in enumerate(np.atleast_1d(regions.level).tolist()):
        share = float(np.atleast_1d(regions.area)[k])
        row: list[Any] = [100 * level, share * (100 if space.compact else 1)]
        row += [area(share, about)] if sphere else []
        row += [100 * float(np.atleast_1d(regions.area_error)[k]) / share] if few else []
        row += [100 * float(np.atleast_1d(regions.held)[k])] if draws else []
        rows.append(row)
    told = [{"key": key, "label": label, "unit": unit} for key, label, unit in columns]
    return {"columns": told, "rows": rows, "calibrated": regions.calibrated}


def _map(found: Density, regions: Region, measure: Measure) -> dict[str, Any] | None:
    """The density on cells, in 256 shades, and the thresholds of regions; None where the space has no map."""
    drawing = found.space.drawing
    if drawing is None or drawing.cells is None or drawing.part is not None or drawing.layout == "nodes":
        return None
    own = regions.density  # whose thresholds they are
    width = math.sqrt(8 * own.time) / CELLS_PER_SCALE_OF_MAP
    named = zip(np.atleast_1d(regions.level), np.atleast_1d(regions.threshold), strict=True)
    told: dict[str, Any] = {
        "levels": [{"label": f"{100 * level:g} %", "log": math.log10(threshold)} for level, threshold in named],
        "relative": found.space.compact,
        "axes": drawing.named(measure.columns),
    }
    if drawing.layout == "circle":
        cells = drawing.cells(width, frame_of(drawing, drawing.places(measure.points), measure.weights))
        around = own.at_checked(own.space.check(cells.points))
        angles = 360 * (np.arange(len(around)) + 0.5) / len(around) - 180
        return told | {"layout": "circle", "angles": angles.tolist(), "density": around.tolist()}
    patch = None
    if drawing.layout == "lonlat":
        if math.pi / width > MOST_ROWS_OF_MAP:
            patch = _small_patch(drawing, measure, own.time)
            if patch is None:
                return None
        cells = patch.cells(width) if patch is not None else sphere_cells(width, MOST_ROWS_OF_MAP)
        view = {"sky": measure.about == "sky", "coast": measure.about == "earth", "frame": measure.known.frame}
        told |= view | ({} if patch is None else {"centre": patch.centre.tolist(), "half": math.degrees(patch.half)})
    else:
        frame = frame_of(drawing, drawing.places(measure.points), measure.weights)
        if drawing.half is None:
            frame = frame._replace(half=frame.half + math.sqrt(8 * own.time))
        cells = drawing.cells(width, frame)
        told |= {"middle": frame.middle.tolist(), "half": frame.half.tolist(), "unit": drawing.unit}
    values: FloatArray = own.at_checked(own.space.check(cells.points))
    least, most, dark = shades(values)
    layout = "patch" if patch is not None else drawing.layout
    grid = {"layout": layout, "rows": cells.rows, "columns": cells.columns, "least": least, "most": most}
    return told | grid | {"values": coded(dark, "u1")}


def _small_patch(drawing: Drawing, measure: Measure, time: float) -> Patch | None:
    """The part of the sphere that holds a small cloud, if cells are fine enough there."""
    places = drawing.places(measure.points)
    patch = patch_of(drawing, attitude_of(drawing, places, measure.weights, time))
    return patch if patch is not None and patch.is_seen(math.sqrt(8 * time) / CELLS_PER_SCALE_OF_MAP) else None
