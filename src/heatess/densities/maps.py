"""Densities as maps that other programs read: HEALPix, grids of longitude and latitude, contours."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..base.arrays import FloatArray, one_of, positive, whole
from ..base.directions import from_lonlat
from ..base.errors import InputError, missing_extra
from ..drawing.axes import save
from ..tables.pixels import Pixels

if TYPE_CHECKING:
    from .result import Density

#: Pixels and cells for each scale sqrt(8 t), the largest nside that is chosen, and the finest step in degrees.
PIXELS, MOST_NSIDE, FINEST = 8.0, 512, 0.2

#: Cells for each scale from which contours are drawn: straight lines between them are then off by 0.2 %.
FINE = 16.0

#: Cells that a grid may have, and the largest nside.
MOST_CELLS, LARGEST_NSIDE = 2**25, 2048

#: What the frames are called in the header of a HEALPix map.
COORDSYS = {"icrs": "C", "galactic": "G", "ecliptic": "E"}


class Grid(NamedTuple):
    """The density at the centres of cells: degrees east, degrees north, and values of shape (lat, lon)."""

    lon: FloatArray
    lat: FloatArray
    values: FloatArray


def refuse_others(density: Density, what: str) -> None:
    """An `InputError` unless the density is on the sphere S^2."""
    space = density.space
    if not (space.directional and space.dim == 2):
        raise InputError(f"{what} are for the sphere S^2, but this density is on {space!r}; look at points of your own")


def healpix(density: Density, nside: int, order: str) -> FloatArray:
    """See `Density.healpix`."""
    refuse_others(density, "HEALPix maps")
    one_of(order, "order", ("ring", "nested"))
    nside = whole(nside, "nside", 1, LARGEST_NSIDE)
    if nside & (nside - 1):
        raise InputError(f"nside must be a power of two, but is {nside}; give {2 ** round(math.log2(nside))}")
    try:
        import astropy_healpix  # noqa: F401
    except ImportError:
        raise missing_extra("astropy-healpix", "sky") from None
    numbers = np.arange(12 * nside**2)
    centres = Pixels(nside.bit_length() - 1, numbers, order, "").centres(numbers)
    values: FloatArray = density.at_checked(density.space.check(np.stack(centres, axis=1)))
    return values


def grid(density: Density, step: float | None) -> Grid:
    """See `Density.grid`."""
    refuse_others(density, "grids")
    wanted = _step(density, PIXELS) if step is None else positive(step, "step")
    rows = round(180 / wanted) if wanted < 180 else 0
    if rows < 2 or abs(rows * wanted - 180) > 1e-6 * 180:
        raise InputError(f"step must divide 180 degrees into two rows or more, such as 1 or 0.25, but is {wanted:g}")
    if 2 * rows**2 > MOST_CELLS:
        raise InputError(f"step={wanted:g} makes {2 * rows**2:,} cells; give a step of 0.05 degrees or more")
    lat, lon = (np.asarray((np.arange(n) + 0.5) * wanted - n * wanted / 2) for n in (rows, 2 * rows))
    return Grid(lon, lat, _on_mesh(density, lon, lat))


def _on_mesh(density: Density, lon: FloatArray, lat: FloatArray) -> FloatArray:
    across, down = (part.ravel() for part in np.meshgrid(lon, lat))
    values: FloatArray = density.at_checked(density.space.check(from_lonlat(across, down, units="deg")))
    return values.reshape(len(lat), len(lon))


def _step(density: Density, parts: float) -> float:
    """A plain part of 180 degrees, no more than such a part of the scale."""
    steps = np.array([5, 3, 2, 1, 0.5, 0.25, FINEST])
    return float(steps[np.argmax(steps <= max(density.angle / parts, FINEST))])


def contours(density: Density, levels: ArrayLike) -> dict[str, Any]:
    """See `Density.contours`."""
    refuse_others(density, "contours")
    try:
        from contourpy import FillType, contour_generator
    except ImportError:
        raise missing_extra("contourpy", "plot") from None
    found = density.region(np.atleast_1d(np.asarray(levels)))
    step = _step(density, FINE)
    lon, lat = np.linspace(-180, 180, round(360 / step) + 1), np.linspace(-90, 90, round(180 / step) + 1)
    logs = np.log(np.maximum(_on_mesh(density, lon, lat), 1e-300))
    logs[:, -1] = logs[:, 0]  # the same meridian, and at the poles one place
    logs[0], logs[-1] = logs[0, 0], logs[-1, 0]
    drawn = contour_generator(lon, lat, logs, fill_type=FillType.OuterOffset)
    features = []
    for level, threshold, area in zip(found.level, found.threshold, found.area, strict=True):
        parts: Any = drawn.filled(math.log(threshold), math.inf)
        polygons = [_rings(*polygon) for polygon in zip(*parts, strict=True)]
        about = {"level": level, "threshold": threshold, "area": area, "angle": density.angle}
        shape = {"type": "MultiPolygon", "coordinates": polygons}
        features.append({"type": "Feature", "properties": {k: float(v) for k, v in about.items()}, "geometry": shape})
    return {"type": "FeatureCollection", "features": features}


def _rings(points: FloatArray, offsets: Any) -> list[list[list[float]]]:
    """The outer line of a polygon, then its holes; each ends where it begins."""
    return [np.round(points[first:end], 9).tolist() for first, end in pairwise(offsets)]


def write_fits(density: Density, path: Path, nside: int | None) -> None:
    """A map in the multi-order format of ligo.skymap: columns UNIQ and PROBDENSITY, here of one order."""
    try:
        from astropy.io import fits
    except ImportError:
        raise missing_extra("astropy", "sky") from None
    if nside is None:
        side = math.degrees(math.sqrt(math.pi / 3)) * PIXELS / density.angle
        nside = min(2 ** max(math.ceil(math.log2(side)), 3), MOST_NSIDE)
    values = healpix(density, nside, "nested")
    uniq = fits.Column("UNIQ", "K", array=4 * nside**2 + np.arange(len(values)))
    table = fits.BinTableHDU.from_columns(
        [uniq, fits.Column("PROBDENSITY", "D", unit="sr-1", array=values / (values.mean() * 4 * math.pi))]
    )
    table.header["PIXTYPE"] = ("HEALPIX", "HEALPIX pixelisation")
    table.header["ORDERING"] = ("NUNIQ", "Pixel ordering: RING, NESTED or NUNIQ")
    table.header["INDXSCHM"] = ("EXPLICIT", "Indexing: IMPLICIT or EXPLICIT")
    table.header["MOCORDER"] = (nside.bit_length() - 1, "MOC resolution (best order)")
    if density.known.frame in COORDSYS:
        table.header["COORDSYS"] = (COORDSYS[density.known.frame], "C=Celestial, G=Galactic, E=Ecliptic")
    table.header["CREATOR"] = "heatess"
    fits.HDUList([fits.PrimaryHDU(), table]).writeto(path, overwrite=True)


def write_netcdf(density: Density, path: Path, step: float | None) -> None:
    """A grid in NetCDF 3 by the CF conventions."""
    from scipy.io import netcdf_file

    found = grid(density, step)
    with netcdf_file(path, "w") as out:
        out.Conventions, out.source = "CF-1.8", "heatess density"
        for name, values, unit, word in (
            ("lat", found.lat, "degrees_north", "latitude"),
            ("lon", found.lon, "degrees_east", "longitude"),
        ):
            out.createDimension(name, len(values))
            axis = out.createVariable(name, "d", (name,))
            axis[:], axis.units, axis.standard_name = values, unit, word
        values = out.createVariable("density", "d", ("lat", "lon"))
        values[:] = found.values / (4 * math.pi)
        values.units, values.long_name = "sr-1", f"density, smoothed at {density.angle:g} degrees"


def write_geojson(density: Density, path: Path, levels: ArrayLike) -> None:
    """Contours."""
    path.write_text(json.dumps(contours(density, levels)) + "\n", encoding="utf-8")


def writer(density: Density, suffix: str, levels: ArrayLike) -> Callable[[Path], None]:
    """What writes a file of this suffix."""
    if suffix == ".fits":
        return lambda path: write_fits(density, path, None)
    if suffix == ".nc":
        return lambda path: write_netcdf(density, path, None)
    if suffix in (".geojson", ".json"):
        return lambda path: write_geojson(density, path, levels)
    return lambda path: _draw(density, path, suffix, levels)


def _draw(density: Density, path: Path, suffix: str, levels: ArrayLike) -> None:
    save(density.plot(levels=levels), path, format=suffix[1:])
