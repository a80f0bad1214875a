"""The work of `heatess density`: the scale, the regions that hold most of the mass, maps, and a report."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import numpy as np

from ..base.errors import InputError
from ..base.files import is_archive
from ..base.text import columns
from ..densities.estimate import density as density_of
from ..densities.maps import refuse_others, writer
from ..densities.region import Region
from ..densities.result import Density
from ..densities.scale_choice import UNIFORM
from ..measures.measure import Measure
from ..parts.accumulator import Accumulator
from .inputs import measure_of, profiled, shows_progress, warnings_printed
from .kilometres import on_earth
from .messages import typed
from .options import STDOUT, refuse_together
from .profile_output import Options, keep_apart, note, save
from .screen import echo
from .text import number

#: Shares of the mass whose regions are told.
LEVELS = (0.5, 0.9)

#: Suffixes of maps, which are for the sphere; pictures are for other spaces too.
MAPS = (".fits", ".nc", ".tif", ".tiff", ".geojson")


def density(file: str, options: Options) -> None:
    """Smooth, print the regions, and write the map that was asked for."""
    refuse_together(options, ("quiet", "verbose"), ("angle", "time", "resolution"))
    keep_apart([file], options)
    source = Accumulator.load(file) if is_archive(file) else measure_of(file, options)
    if isinstance(source, Measure):
        options = on_earth(options, source)
    scale = {name: options[name] for name in ("angle", "time", "resolution") if options[name]}
    with warnings_printed():
        found = density_of(source, **scale, rtol=options["rtol"], progress=shows_progress(options))
        out = options["out"]
        if out is not None and out.suffix.lower() in MAPS:
            refuse_others(found, "maps and contours")
        levels = options["levels"] or LEVELS
        regions = found.region(levels, calibrated=options["calibrated"])
        text = _in_json(found, regions) if options["json_file"] else ""
        if options["json_file"] == STDOUT:
            click.echo(text)
        else:
            echo(_in_words(found, regions), strong=True)
        for said in (*found.notes, *regions.notes):
            if said != UNIFORM:  # which the sentence above the table says
                note(options, typed(said))
        writers = {"json_file": lambda draft: draft.write_text(text + "\n", encoding="utf-8")}
        if out is not None and out.suffix.lower() in (".html", ".htm"):
            writers["out"] = _report(file, source, found, levels, options)
        elif out is not None:
            writers["out"] = writer(found, out.suffix.lower(), levels, options["calibrated"])
        save(writers, options)


def _report(
    file: str, source: Measure | Accumulator, found: Density, levels: Any, options: Options
) -> Callable[[Path], Any]:
    """What writes the report of a profile, with this density in it."""
    from ..readers import title_of
    from ..reporting.mass import Asked
    from .report import page_writer

    if not isinstance(source, Measure):
        raise InputError(f"a report shows <+points+>, but {file} holds <!sums of them!>; write a map, such as map.fits")
    name = title_of(file)
    heard: list[str] = []
    usual = "angle" if source.space.angular else "time"
    result = profiled(source, usual, None, options, heard)
    asked = Asked(found, levels, options["calibrated"])
    how = {**options, "weights_are": None}
    return page_writer({name: result}, {name: source}, [file], how, notes=heard, asked=asked)


def _in_json(found: Density, regions: Region) -> str:
    whole, parts = json.loads(found.to_json()), json.loads(regions.to_json())
    del whole["measure"], parts["density"]  # the points, which are in the file
    return json.dumps(whole | {"regions": parts})


def _in_words(found: Density, regions: Region) -> str:
    """A sentence about the scale, and a table of regions."""
    unit = " degrees" if found.space.angular else ""
    scale = f"sqrt(8 t) = {found.angle:.3g}{unit}"
    sentence = f"{found.n:,} points, smoothed at {scale}"
    if len(found.scales):
        sentence += (
            f", where cross-validation is best; {found.scale_lower:.3g} to {found.scale_upper:.3g}{unit} are as good "
            "within one standard error"
        )
    if UNIFORM in found.notes:
        sentence += ". They are not distinguishable from uniform at any scale"
    name, areas = _areas(regions)
    what = "share of the space" if found.space.compact else "volume"
    percent, factor = ("%", 100.0) if found.space.compact else ("", 1.0)
    leaving = [] if found.in_parts else ["uncertain by", "held"]
    rows = [["mass", what, *name, *leaving], ["%", percent, *([""] * len(name)), *(["%"] * len(leaving))]]
    for row, level in enumerate(np.atleast_1d(regions.level)):
        share, error = float(regions.area[row]), float(regions.area_error[row])
        own = [number(float(areas[row]))] if name else []
        sure = [number(100 * error / share), f"{100 * regions.held[row]:.0f}"] if leaving else []
        rows.append([f"{100 * level:g}", number(factor * share), *own, *sure])
    held = "Held: the share of the distribution behind the sample that the region holds, by leaving each point out."
    wider = (
        f"Regions are those of the density at {regions.angle:.3g}{unit}, where they reach all points that they must."
    )
    told = ([held] if leaving else []) + ([wider] if regions.angle != found.angle else [])
    return "\n\n".join([f"{sentence}.", columns(rows), *told])


def _areas(regions: Region) -> tuple[list[str], Any]:
    """The unit in which areas on the sphere are told, and the areas."""
    if not (regions.space.directional and regions.space.dim == 2):
        return [], ()
    unit, name = ("km2", "area, km^2") if regions.density.measure.about == "earth" else ("deg2", "area, deg^2")
    return [name], regions.area_in(unit)
