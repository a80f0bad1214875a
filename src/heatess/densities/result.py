"""`density`: the heat-smoothed density of weighted points, at a scale that is given or chosen from the data."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..base.arrays import FloatArray, generator, one_of, whole
from ..base.directions import EARTH_RADIUS_KM
from ..base.errors import InputError
from ..base.files import atomic_path, check_writable
from ..base.known import Known
from ..base.messages import Message
from ..base.results import Result
from ..measures.measure import Measure
from ..parts.sums import part_named
from ..spaces.base import Space
from .smoothing import Smoother, Sums, deviations, mean_density

if TYPE_CHECKING:
    from os import PathLike
    from pathlib import Path

    from matplotlib.axes import Axes

    from .leave_one_out import LeftOut
    from .maps import Grid
    from .pole_figures import PoleFigure
    from .region import Region

#: What a unit of area is on a sphere of radius one, in the unit's own size: areas are multiplied by it.
UNITS = {"sr": 1.0, "deg2": math.degrees(1) ** 2, "km2": EARTH_RADIUS_KM**2}

#: What `save` writes.
SUFFIXES = (".fits", ".nc", ".tif", ".tiff", ".geojson", ".json", ".png", ".svg", ".pdf")


@dataclass(frozen=True, eq=False, repr=False)
class Density(Result):
    """The density of the heat of a measure at one scale, see `density`; it integrates to one.

    Attributes
    ----------
    time, angle : float
        The scale: t, and sqrt(8 t) in degrees (in the unit of distance where distances are not angles). The kernel is
        k_t; where that is nearly a normal density, its standard deviation along each axis is angle / 2.
    scales, cv : ndarray
        The scales looked at, in the unit of `angle`, and the cross-validated squared error at each, less that of the
        uniform density; empty where the scale was given.
    scale_lower, scale_upper : float
        The range of scales whose error is within one standard error of the least; the scale itself where it was given.
    notes : tuple of str
        What to know about the choice: copies, a minimum at the end of the range, no difference from uniform.
    error : float
        Bound on the numerical error of `at`, absolute; an estimate on meshes and point clouds.
    n, ess, space, known : int, float, Space, Known
        As in `HeatProfile`.

    Examples
    --------
    >>> import heatess as he
    >>> cloud = he.samplers.von_mises_fisher(500, [0, 0, 1], 20.0, rng=0)
    >>> found = he.density(cloud)
    >>> found
    Density(Sphere(2), n=500: angle 9.51 degrees, by cross-validation (7.34 to 12.3))
    >>> found.at([[0, 0, 1], [0, 0, -1]]).round(2)
    array([33.11,  0.  ])
    """

    time: float
    angle: float
    scales: FloatArray
    cv: FloatArray
    scale_lower: float
    scale_upper: float
    notes: tuple[Message, ...]
    measure: Measure | Sums
    rtol: float

    #: The projection of pictures on S^2.
    usual: ClassVar[str] = "mollweide"

    schema: ClassVar[str] = "heatess.density/1"
    columns: ClassVar[tuple[str, ...]] = ("scales", "cv")
    _row_key: ClassVar[str] = "scales"
    facts: ClassVar[tuple[str, ...]] = (
        *("time", "angle", "scale_lower", "scale_upper", "error", "n", "ess", "space", "known"),
    )

    @property
    def space(self) -> Space:
        """The manifold."""
        return self.measure.space

    @property
    def known(self) -> Known:
        """What was known of the measure."""
        return self.measure.known.of_all

    @property
    def n(self) -> int:
        """Number of points."""
        return self.measure.n

    @property
    def ess(self) -> float:
        """Ordinary effective sample size of the points."""
        return self.measure.ess

    @cached_property
    def smoother(self) -> Smoother:
        """What gives densities of the same atoms at any time."""
        return Smoother(self.measure, self.rtol)

    @cached_property
    def left_out(self) -> LeftOut:
        """The density at places of atoms without the atoms there."""
        from .leave_one_out import left_out

        return left_out(self, self.atoms("what a region holds"))

    @property
    def in_parts(self) -> bool:
        """Whether it is made of sums over parts, without points."""
        return isinstance(self.measure, Sums)

    def atoms(self, what: str) -> Measure:
        """The points, which *what* needs; an `InputError` where there are only sums over parts.

        >>> import heatess as he
        >>> he.density([[0, 0, 1]], angle=20).atoms("a map of them").n
        1
        """
        if isinstance(self.measure, Sums):
            raise InputError(
                f"{what} needs <+the points+>, but <!this density is made of sums over parts, which keep none!>; make "
                "it of the points, or of a sample of them"
            )
        return self.measure

    @cached_property
    def error(self) -> float:
        """Bound on the numerical error of `at`: *rtol* of the mean of the density over the atoms, A(t / 2)."""
        return self.rtol * 1.01 * mean_density(self.smoother, self.time)

    def _checked(self, points: Any) -> NDArray[Any]:
        with part_named("points"):
            return Measure.of(points, space=self.space).points

    def at(self, points: Any, *, error: bool = False) -> Any:
        """The density at each of some points: against uniform, or per unit of volume where that is infinite.

        With *error* a pair of arrays: the density, and its standard error by the jackknife, points left out in turn. It
        says how far the smoothed density of the sample is from the smoothed density of the distribution; what smoothing
        itself takes from peaks is not in it.

        >>> import heatess as he
        >>> law = he.density(he.samplers.uniform(1000, rng=0), angle=40)
        >>> value, deviation = law.at([[0, 0, 1]], error=True)
        >>> value.round(2), deviation.round(2)
        (array([0.96]), array([0.08]))
        """
        return self.at_checked(self._checked(points), error)

    def at_checked(self, where: NDArray[Any], error: bool = False) -> Any:
        """`at` of points that were checked before.

        >>> import heatess as he
        >>> found = he.density([[0, 0, 1]], angle=60)
        >>> found.at_checked(found.atoms("this").points).round(2)
        array([7.64])
        """
        values = self.smoother.at(self.time, where)
        if not error:
            return values
        return values, deviations(self.atoms("a standard error"), self.time, where, values, self.rtol)

    def log_at(self, points: Any) -> FloatArray:
        """The logarithm of `at`; minus infinity where the density is below its numerical `error`.

        >>> import heatess as he
        >>> he.density([[0, 0, 1], [0, 1, 0]], angle=60).log_at([[0, 0, 1], [0, 0, -1]]).round(3)
        array([ 1.354, -2.932])
        """
        values = self.at(points)
        with np.errstate(divide="ignore"):
            return np.where(values > self.error, np.log(values), -np.inf)

    def per_area(self, points: Any, unit: str | None = None) -> FloatArray:
        """The density per unit of volume of the space, radians and steradians where distances are angles.

        *unit* may be "sr", "deg2" or "km2" (on the Earth) on the sphere S^2.

        >>> import heatess as he
        >>> law = he.density(he.samplers.fibonacci(500), angle=90)
        >>> law.per_area([[0, 0, 1]], "deg2").round(9), round(1 / 41252.96, 9)
        (array([2.4241e-05]), 2.4241e-05)
        """
        values, factor = self.at(points), self._unit_of_area(unit)
        return np.asarray(values / factor if not self.space.compact else values / (factor * self.space.volume))

    def _unit_of_area(self, unit: str | None) -> float:
        """How many of the *unit* are in a unit of volume of the space."""
        if unit is None:
            return 1.0
        one_of(unit, "unit", tuple(UNITS))
        if not (self.space.directional and self.space.dim == 2):
            raise InputError(
                f"`unit={unit!r}` is for <+the sphere S^2+>, but this density is on <!{self.space!r}!>; leave it out"
            )
        return UNITS[unit]

    def sample(self, n: int, *, rng: np.random.Generator | int | None = None) -> NDArray[Any]:
        """*n* independent draws from the density, as checked points; nodes, by their number, on meshes and graphs.

        A point is drawn by its weight, and heat takes it from there for time t: at a distance by inverting its
        distribution function, in a random direction. On nodes they are drawn from the density there.

        >>> import heatess as he
        >>> law = he.density([[0, 0, 1]], angle=20)
        >>> draws = law.sample(1000, rng=0)
        >>> draws.shape, round(float(draws[:, 2].mean()), 2), round(float(np.exp(-2 * law.time)), 2)
        ((1000, 3), 0.97, 0.97)
        """
        n, rng = whole(n, "n", 1), generator(rng)
        modes = self.space.modes
        if modes is not None:
            shares = self.at_checked(self.space.check(np.arange(len(modes.node_volumes)))) * modes.node_volumes
            return rng.choice(len(shares), size=n, p=shares / shares.sum())
        atoms = self.atoms("a draw")
        rows = rng.choice(atoms.n, size=n, p=atoms.weights)
        return self.space.heated(atoms.points[rows], self.time, rng)

    def region(self, level: ArrayLike, *, calibrated: bool = False) -> Region:
        """The smallest region that holds a share of the mass, such as 0.9; several shares give arrays.

        That is a share of the density, as of a map. Where parts of a cloud are narrow and others wide, no one scale
        fits, and it holds much less of the distribution behind the sample, see `Region.held`. A *calibrated* region
        does hold that share of it: its threshold is the quantile of the densities at the points, each left out.

        On S^2 the density is looked at on a spiral of points a tenth of the scale apart, on nodes at each of them, and
        elsewhere at 20,000 of its own draws; `accuracy` says what that leaves open, `area_error` what the sample does.

        >>> import heatess as he
        >>> law = he.density(he.samplers.von_mises_fisher(500, [0, 0, 1], 20.0, rng=0))
        >>> law.region(0.9)
        Region(Sphere(2): 90 % in 0.0681 of the space, density from 3.66)
        >>> law.region([0.5, 0.9], calibrated=True).area.round(4)
        array([0.0179, 0.0654])
        """
        from .region import region

        return region(self, level, calibrated)

    def healpix(self, nside: int, *, order: str = "ring") -> FloatArray:
        """The density at the centres of the pixels of a HEALPix map, 12 nside^2 of them, against uniform; on S^2.

        >>> import heatess as he
        >>> found = he.density([[0, 0, 1]], angle=60).healpix(8)
        >>> found.shape, round(float(found.mean()), 2), float(found.max().round(2))
        ((768,), 1.0, 7.5)
        """
        from .maps import healpix

        return healpix(self, nside, order)

    def grid(self, step: float | None = None) -> Grid:
        """The density at the centres of cells *step* degrees wide: `lon`, `lat` and `values` (lat, lon); on S^2.

        By default the step is about an eighth of the scale.

        >>> import heatess as he
        >>> found = he.density([[0, 0, 1]], angle=60).grid(30)
        >>> found.lat, found.values.mean(axis=1).round(2)
        (array([-75., -45., -15.,  15.,  45.,  75.]), array([0.  , 0.  , 0.02, 0.39, 2.61, 6.78]))
        """
        from .maps import grid

        return grid(self, step)

    def contours(self, levels: ArrayLike = (0.5, 0.9), *more: float, calibrated: bool = False) -> dict[str, Any]:
        """The regions that hold shares of the mass as GeoJSON, one MultiPolygon in longitude and latitude each.

        Shares are given as a sequence or one after the other: `contours([0.5, 0.9])` is `contours(0.5, 0.9)`.
        Polygons are closed; those across the date line are cut there, and those around a pole end there, as GeoJSON
        wants it. On S^2; the format itself is for the Earth. See `region` for *calibrated* ones.

        >>> import heatess as he
        >>> found = he.density([[0, 0, 1]], angle=60).contours(0.5, 0.9)
        >>> len(found["features"]), round(found["features"][1]["properties"]["area"], 3)
        (2, 0.272)
        """
        from .maps import contours

        return contours(self, [*np.atleast_1d(np.asarray(levels)), *more] if more else levels, calibrated)

    def pole_figure(self, direction: ArrayLike, *, antipodal: bool = True) -> PoleFigure:
        """Where a *direction* of the crystal points in the sample: the density of R h on S^2, on rotations.

        All directions that look alike count, and both ends of each if *antipodal*. `at`, `region`, `healpix` and
        `plot`, an equal-area picture of the upper half, are as for any density; at the same scale.

        >>> import heatess as he
        >>> cubes = he.density([[0, 0, 0, 1]], space=he.Rotations(symmetry="O"), angle=20)
        >>> cubes.pole_figure([1, 0, 0]).at([[0, 0, 1]]).round(2)
        array([11.])
        """
        from .pole_figures import pole_figure

        return pole_figure(self, direction, inverse=False, antipodal=antipodal)

    def inverse_pole_figure(self, direction: ArrayLike, *, antipodal: bool = True) -> PoleFigure:
        """Which directions of the crystal point along a *direction* of the sample: the density of R^-1 r on S^2.

        >>> import heatess as he
        >>> cubes = he.density([[0, 0, 0, 1]], space=he.Rotations(symmetry="O"), angle=20)
        >>> cubes.inverse_pole_figure([0, 0, 2]).at([[1, 0, 0]]).round(2)
        array([11.])
        """
        from .pole_figures import pole_figure

        return pole_figure(self, direction, inverse=True, antipodal=antipodal)

    def plot(  # type: ignore[override]
        self,
        ax: Axes | None = None,
        *,
        levels: ArrayLike = (0.5, 0.9),
        calibrated: bool = False,
        atoms: bool = False,
        projection: str | None = None,
    ) -> Axes:
        """Draw the density, with the edges of the regions that hold shares of the mass, and return the Axes.

        On S^2 a map in Mollweide's *projection*, or the half of a "globe" with most of the mass, or the upper half,
        "equal-area" or "stereographic"; on circles a curve, on the plane and two-dimensional tori shades, on meshes the
        surface, without edges; on rotations three pole figures, of directions that do not look alike.

        >>> import heatess as he
        >>> he.density([[0, 0, 1]], angle=60).plot().name
        'mollweide'
        """
        from .drawing import draw

        return draw(self, ax, levels, atoms, projection, calibrated)

    def save(
        self,
        path: str | PathLike[str],
        *,
        levels: ArrayLike = (0.5, 0.9),
        calibrated: bool = False,
        replace: bool = False,
    ) -> Path:
        """Write a map, by the suffix of *path*, and return the path; a file is replaced only with *replace*.

        .fits is a multi-order HEALPix map as ligo.skymap has it, .nc a grid by the CF conventions, .tif a GeoTIFF (if
        rasterio is installed), .geojson has the contours at *levels*, and .png, .svg or .pdf a picture. Densities in
        files are per steradian. See `region` for *calibrated* levels.

        >>> import heatess as he
        >>> import tempfile, pathlib
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "map.nc"
        >>> he.read(he.density([[0, 0, 1]], angle=60).save(path)).n
        2592
        """
        from .maps import writer

        target = check_writable(path)
        suffix = one_of(target.suffix.lower(), "the suffix of path", SUFFIXES)
        with atomic_path(target, replace=replace) as draft:
            writer(self, suffix, levels, calibrated)(draft)
        return target

    def plot_cv(self, ax: Axes | None = None, **style: Any) -> Axes:
        """Draw the cross-validated error against the scale, with the chosen scale and its range; return the Axes.

        >>> import heatess as he
        >>> ax = he.density(he.samplers.von_mises_fisher(200, [0, 0, 1], 20.0, rng=0)).plot_cv()
        >>> ax.get_xscale()
        'log'
        """
        from ..drawing.axes import GREY, draw_line, log_ticks, new_axes

        if not len(self.scales):
            raise InputError("the scale was given, so there is no curve of cross-validation; leave the scale out")
        ax = new_axes(ax)
        line = draw_line(ax, np.array(self.scales), np.array(self.cv), **style)
        ax.axvline(self.angle, color=str(line.get_color()), linewidth=1, linestyle=(0, (5, 3)))
        ax.axvspan(self.scale_lower, self.scale_upper, color=GREY, alpha=0.12, linewidth=0)
        least = float(self.cv.min())
        ax.set_ylim(1.1 * least if least < 0 else None, max(-0.5 * least, 0.2 * abs(least)))
        unit = " (degrees)" if self.space.angular else ""
        ax.set(xscale="log", xlabel=f"scale $\\sqrt{{8t}}${unit}", ylabel="squared error, less that of uniform")
        log_ticks(ax.xaxis, *ax.get_xlim())
        return ax

    def __repr__(self) -> str:
        unit = " degrees" if self.space.angular else ""
        name = "angle" if unit else "sqrt(8 t)"
        how = f", by cross-validation ({self.scale_lower:.3g} to {self.scale_upper:.3g})" if len(self.scales) else ""
        told = f"; {'; '.join(self.notes)}" if self.notes else ""
        return f"Density({self.space!r}, n={self.n}: {name} {self.angle:.3g}{unit}{how}{told})"
