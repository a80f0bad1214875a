"""The work of `heatess density`: the scale, the regions that hold most of the mass, and maps."""

from __future__ import annotations

import json
from typing import Any

import click
import numpy as np

from ..base.text import columns
from ..densities.estimate import density as density_of
from ..densities.maps import refuse_others, writer
from ..densities.region import Region
from ..densities.result import Density
from ..measures.measure import Measure
from .deliver import Options, keep_apart, note, save
from .kilometres import on_earth
from .options import STDOUT, refuse_together
from .reading import measure_of, shows_progress, warnings_printed
from .screen import echo
from .text import number

#: Shares of the mass whose regions are told.
LEVELS = (0.5, 0.9)

#: How much less of the law than of its density a region may hold before that is said.
SHORT = 0.1

#: Suffixes of maps, which are for the sphere; pictures are for other spaces too.
MAPS = (".fits", ".nc", ".geojson")


def density(file: str, options: Options) -> None:
    """Smooth, print the regions, and write the map that was asked for."""
    refuse_together(options, ("quiet", "verbose"), ("angle", "time", "resolution"))
    keep_apart([file], options)
    measure = measure_of(file, options)
    options = on_earth(options, measure)
    scale = {name: options[name] for name in ("angle", "time", "resolution") if options[name]}
    with warnings_printed():
        found = density_of(measure, **scale, rtol=options["rtol"], progress=shows_progress(options))
        out = options["out"]
        if out is not None and out.suffix.lower() in MAPS:
            refuse_others(found, "maps and contours")
        levels = options["levels"] or LEVELS
        regions = found.region(levels)
        text = _in_json(found, regions) if options["json_file"] else ""
        if options["json_file"] == STDOUT:
            click.echo(text)
        else:
            echo(_in_words(found, regions, measure), strong=True)
        for said in (*found.notes, *_too_small(regions)):
            note(options, said)
        writers = {"json_file": lambda draft: draft.write_text(text + "\n", encoding="utf-8")}
        if out is not None:
            writers["out"] = writer(found, out.suffix.lower(), levels)
        save(writers, options)


def _too_small(regions: Region) -> list[str]:
    """What is said of regions that hold much less of the law than of its density."""
    short = np.asarray(regions.level) - np.asarray(regions.held)
    worst = int(np.argmax(short))
    if short[worst] <= SHORT:
        return []
    level, held = 100 * regions.level[worst], 100 * regions.held[worst]
    return [
        f"the region of {level:g} % holds about {held:.0f} % of the law behind the sample: one scale does not fit all "
        "of it; a coarser scale makes regions larger"
    ]


def _in_json(found: Density, regions: Region) -> str:
    whole, parts = json.loads(found.to_json()), json.loads(regions.to_json())
    del whole["measure"], parts["density"]  # the points, which are in the file
    return json.dumps(whole | {"regions": parts})


def _in_words(found: Density, regions: Region, measure: Measure) -> str:
    """A sentence about the scale, and a table of regions."""
    unit = " degrees" if found.space.angular else ""
    scale = f"sqrt(8 t) = {found.angle:.3g}{unit}"
    sentence = f"{found.n:,} atoms, smoothed at {scale}"
    if len(found.scales):
        sentence += (
            f", where cross-validation is best; {found.scale_lower:.3g} to {found.scale_upper:.3g}{unit} are as good "
            "within one standard error"
        )
    if "not distinguishable from uniform at any scale" in found.notes:
        sentence += ". They are not distinguishable from uniform at any scale"
    name, areas = _areas(regions, measure)
    what = "share of the space" if found.space.compact else "volume"
    percent, factor = ("%", 100.0) if found.space.compact else ("", 1.0)
    rows = [["mass", what, *name, "uncertain by", "held"], ["%", percent, *([""] * len(name)), "%", "%"]]
    for row, level in enumerate(np.atleast_1d(regions.level)):
        share, error = float(regions.area[row]), float(regions.area_error[row])
        own = [number(float(areas[row]))] if name else []
        told = [number(100 * error / share), f"{100 * regions.held[row]:.0f}"]
        rows.append([f"{100 * level:g}", number(factor * share), *own, *told])
    held = "Held: the mass of the law behind the sample, estimated by leaving each atom out."
    return f"{sentence}.\n\n{columns(rows)}\n\n{held}"


def _areas(regions: Region, measure: Measure) -> tuple[list[str], Any]:
    """The unit in which areas on the sphere are told, and the areas."""
    if not (regions.space.directional and regions.space.dim == 2):
        return [], ()
    unit, name = ("km2", "area, km^2") if measure.about == "earth" else ("deg2", "area, deg^2")
    return [name], regions.area_in(unit)
