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

from ..base.arrays import FloatArray, IntArray, one_of, positive, whole
from ..base.directions import from_lonlat
from ..base.errors import InputError, PrecisionWarning, importing, warn
from ..drawing.axes import save
from ..tables.pixels import Pixels

if TYPE_CHECKING:
    from .result import Density

#: Pixels and cells for each scale sqrt(8 t), and the finest step of a grid in degrees.
PIXELS, FINEST = 8.0, 0.2

#: Of multi-order maps: the first order and the last, pixels at most, and the share of the mass below which a pixel is
#: not divided.
FIRST_ORDER, DEEPEST, MOST_PIXELS, EMPTY = 3, 20, 4_000_000, 1e-8

#: Cells for each scale from which contours are drawn, whose straight lines are then off by 0.2 %, and pixels of
#: multi-order maps, whose sum is then off by 0.1 %.
FINE = 16.0

#: How many scales a box reaches beyond the atoms, and its cells at most.
SCALES_BEYOND_POINTS, BOX = 2.5, 1_000_000

#: Cells that a grid may have, and the largest nside.
MOST_CELLS_OF_MAP, LARGEST_NSIDE = 2**25, 2048

#: What the frames are called in the header of a HEALPix map.
COORDSYS = {"icrs": "C", "galactic": "G", "ecliptic": "E"}


class Grid(NamedTuple):
    """The density at the centres of cells: degrees east, degrees north, and values of shape (lat, lon)."""

    lon: FloatArray
    lat: FloatArray
    values: FloatArray

    def to_frame(self) -> Any:
        """A pandas DataFrame, one row per cell: lon, lat and density.

        >>> import heatess as he
        >>> he.density([[0, 0, 1]], angle=60).grid(60).to_frame().round(2).tail(2)
              lon   lat  density
        16   90.0  60.0     4.74
        17  150.0  60.0     4.74
        """
        with importing("pandas", "table"):
            import pandas
        lon, lat = (part.ravel() for part in np.meshgrid(self.lon, self.lat))
        return pandas.DataFrame({"lon": lon, "lat": lat, "density": self.values.ravel()})


def refuse_others(density: Density, what: str) -> None:
    """An `InputError` unless the density is on the sphere S^2."""
    space = density.space
    if not (space.directional and space.dim == 2):
        raise InputError(
            f"{what} are for <+the sphere S^2+>, but this density is on <!{space!r}!>; look at points of your own"
        )


def healpix(density: Density, nside: int, order: str) -> FloatArray:
    """See `Density.healpix`."""
    refuse_others(density, "HEALPix maps")
    one_of(order, "order", ("ring", "nested"))
    nside = whole(nside, "nside", 1, LARGEST_NSIDE)
    if nside & (nside - 1):
        raise InputError(f"nside must be <+a power of two+>, but is <!{nside}!>; give {2 ** round(math.log2(nside))}")
    with importing("astropy-healpix", "sky"):
        import astropy_healpix  # noqa: F401
    centres = Pixels(nside.bit_length() - 1, np.arange(12 * nside**2), order, "").centres(slice(None))
    values: FloatArray = density.at_checked(density.space.check(np.stack(centres, axis=1)))
    return values


def grid(density: Density, step: float | None) -> Grid:
    """See `Density.grid`."""
    refuse_others(density, "grids")
    wanted = _step(density, PIXELS) if step is None else positive(step, "step")
    rows = round(180 / wanted) if wanted < 180 else 0
    if rows < 2 or abs(rows * wanted - 180) > 1e-6 * 180:
        raise InputError(f"step must <+divide 180 degrees into rows, two or more, such as 1+>, but is <!{wanted:g}!>")
    if 2 * rows**2 > MOST_CELLS_OF_MAP:
        raise InputError(f"`step=<!{wanted:g}!>` makes {2 * rows**2:,} cells; give <+a step of 0.05 degrees or more+>")
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


def contours(density: Density, levels: ArrayLike, calibrated: bool = False) -> dict[str, Any]:
    """See `Density.contours`."""
    refuse_others(density, "contours")
    with importing("contourpy", "plot"):
        from contourpy import FillType, contour_generator
    found = density.region(np.atleast_1d(np.asarray(levels)), calibrated=calibrated)
    density = found.density
    lon, lat = _lines(density)
    logs = np.log(np.maximum(_on_mesh(density, lon, lat), 1e-300))
    if lat[-1] == 90:
        logs[:, -1] = logs[:, 0]  # the same meridian, and at the poles one place
        logs[0], logs[-1] = logs[0, 0], logs[-1, 0]
    drawn = contour_generator(lon, lat, logs, fill_type=FillType.OuterOffset)
    features = []
    for level, threshold, area in zip(found.level, found.threshold, found.area, strict=True):
        parts: Any = drawn.filled(math.log(threshold), math.inf)
        polygons = [_rings(*polygon) for polygon in zip(*parts, strict=True)]
        about = {"level": level, "threshold": threshold, "area": area, "angle": density.angle}
        shape = {"type": "MultiPolygon", "coordinates": polygons}
        told = {k: float(v) for k, v in about.items()} | {"calibrated": calibrated}
        features.append({"type": "Feature", "properties": told, "geometry": shape})
    return {"type": "FeatureCollection", "features": features}


def _lines(density: Density) -> tuple[FloatArray, FloatArray]:
    """Longitudes and latitudes whose crossings contours are drawn from: of the whole sphere, or of a box of it.

    Cells are a sixteenth of the scale. Where that is too fine for the whole, they are in a box around the atoms, if
    that does not reach the date line or a pole.
    """
    step = _step(density, FINE)
    if step > density.angle / FINE and not density.in_parts:
        x, y, z = density.atoms("contours").support().points.T
        reach = SCALES_BEYOND_POINTS * density.angle
        lat = np.degrees(np.arcsin(np.clip([z.min(), z.max()], -1, 1))) + np.array([-reach, reach])
        wide = reach / max(math.cos(math.radians(min(float(np.abs(lat).max()), 89.0))), 1e-3)
        lon = np.degrees(np.arctan2(y, x))
        ends = np.array([lon.min() - wide, lon.max() + wide])
        if np.abs(lat).max() < 85 and np.abs(ends).max() < 180:
            sides = np.array([np.ptp(ends), np.ptp(lat)])
            fine = max(density.angle / FINE, math.sqrt(float(sides.prod()) / BOX))
            if fine < step:
                across, down = (math.ceil(side / fine) + 1 for side in sides.tolist())
                return np.linspace(ends[0], ends[1], across), np.linspace(lat[0], lat[1], down)
    if step > density.angle / 3:
        warn(
            f"contours are drawn from cells {step:g} degrees wide, but the density is smoothed at {density.angle:.2g}; "
            "give a coarser scale",
            PrecisionWarning,
        )
    return np.linspace(-180, 180, round(360 / step) + 1), np.linspace(-90, 90, round(180 / step) + 1)


def _rings(points: FloatArray, offsets: Any) -> list[list[list[float]]]:
    """The outer line of a polygon, then its holes; each ends where it begins."""
    return [np.round(points[first:end], 9).tolist() for first, end in pairwise(offsets)]


class Mosaic(NamedTuple):
    """Pixels of several orders that cover the sphere: their numbers in the NUNIQ scheme, and densities there."""

    uniq: IntArray
    orders: IntArray
    values: FloatArray


def multi_order(density: Density) -> Mosaic:
    """Pixels a sixteenth of the scale wide where the mass is, and wider ones elsewhere.

    Whether there is mass in a pixel, its density smoothed at the size of the pixel tells, which misses nothing.
    """
    deepest = math.ceil(math.log2(math.degrees(math.sqrt(math.pi / 3)) * FINE / density.angle))
    order, numbers = FIRST_ORDER, np.arange(12 * 4**FIRST_ORDER)
    parts: list[tuple[int, IntArray]] = []
    while order < min(deepest, DEEPEST):
        time = max(density.time, _side(order) ** 2 / 2)
        full = density.smoother.at(time, _centres(density, order, numbers)) > EMPTY * 12 * 4**order
        if 4 * np.count_nonzero(full) > MOST_PIXELS:
            break
        parts.append((order, numbers[~full]))
        order, numbers = order + 1, (4 * numbers[full][:, None] + np.arange(4)).ravel()
    if math.degrees(_side(order)) > density.angle / 2:
        warn(
            f"pixels of the map are {math.degrees(_side(order)):.2g} degrees wide, but the density is smoothed at "
            f"{density.angle:.2g}; look at points of your own, or give a coarser scale",
            PrecisionWarning,
        )
    parts.append((order, numbers))
    uniq = np.concatenate([4 ** (order + 1) + own for order, own in parts])
    orders = np.concatenate([np.full(len(own), order) for order, own in parts])
    centres = np.concatenate([_centres(density, *part) for part in parts])
    return Mosaic(uniq, orders, density.at_checked(centres))


def _side(order: int) -> float:
    """The side of a pixel in radians."""
    return math.sqrt(math.pi / 3) / 2.0**order


def _centres(density: Density, order: int, numbers: IntArray) -> Any:
    centres = Pixels(order, numbers, "nested", "").centres(slice(None))
    return density.space.check(np.stack(centres, axis=1))


def write_fits(density: Density, path: Path) -> None:
    """A map in the multi-order format of ligo.skymap: columns UNIQ and PROBDENSITY."""
    refuse_others(density, "HEALPix maps")
    with importing("astropy", "sky"):
        import astropy_healpix  # noqa: F401
        from astropy.io import fits
    found = multi_order(density)
    total = float(found.values @ (4 * math.pi / (12 * 4.0**found.orders)))
    table = fits.BinTableHDU.from_columns(
        [
            fits.Column("UNIQ", "K", array=found.uniq),
            fits.Column("PROBDENSITY", "D", unit="sr-1", array=found.values / total),
        ]
    )
    table.header["PIXTYPE"] = ("HEALPIX", "HEALPIX pixelisation")
    table.header["ORDERING"] = ("NUNIQ", "Pixel ordering: RING, NESTED or NUNIQ")
    table.header["INDXSCHM"] = ("EXPLICIT", "Indexing: IMPLICIT or EXPLICIT")
    table.header["MOCORDER"] = (int(found.orders.max()), "MOC resolution (best order)")
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


def write_geotiff(density: Density, path: Path) -> None:
    """A grid in degrees of longitude and latitude, north up; 64-bit numbers, per steradian."""
    with importing("rasterio", "geotiff"):
        import rasterio
        from rasterio.transform import from_origin
    found = grid(density, None)
    step, (rows, columns) = float(found.lat[1] - found.lat[0]), found.values.shape
    shape: dict[str, Any] = {"height": rows, "width": columns, "count": 1, "dtype": "float64", "compress": "deflate"}
    place: dict[str, Any] = {"crs": "EPSG:4326", "transform": from_origin(-180, 90, step, step)}
    with rasterio.open(path, "w", driver="GTiff", **shape, **place) as out:
        out.write(found.values[::-1] / (4 * math.pi), 1)
        out.set_band_description(1, f"density per steradian, smoothed at {density.angle:g} degrees")
        out.update_tags(units="sr-1", creator="heatess")


def writer(density: Density, suffix: str, levels: ArrayLike, calibrated: bool = False) -> Callable[[Path], None]:
    """What writes a file of this suffix."""
    if suffix == ".fits":
        return lambda path: write_fits(density, path)
    if suffix == ".nc":
        return lambda path: write_netcdf(density, path, None)
    if suffix in (".tif", ".tiff"):
        return lambda path: write_geotiff(density, path)
    if suffix in (".geojson", ".json"):
        return lambda path: _write_text(path, json.dumps(contours(density, levels, calibrated)))
    return lambda path: save(density.plot(levels=levels, calibrated=calibrated), path, format=suffix[1:])


def _write_text(path: Path, text: str) -> None:
    path.write_text(text + "\n", encoding="utf-8")
