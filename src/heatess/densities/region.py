"""The smallest region that holds a share of the mass of a density: where it is above a threshold."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..base.arrays import FloatArray, numeric_array
from ..base.errors import InputError
from ..base.messages import Message
from ..base.results import Result
from ..samplers import fibonacci
from .leave_one_out import groups_of, refuse_no_draws
from .smoothing import Smoother

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from .result import Density

#: Points all over the sphere for each square of the scale sqrt(8 t), at least and at most; draws, if these are few.
PER_SCALE, LEAST_POINTS, MOST_POINTS = 130.0, 60_000, 1_100_000

#: Draws from the density where there is no grid, at most, at least, and pairs of them with atoms.
DRAWS, FEWEST_DRAWS, MOST_PAIRS = 20_000, 2_000, 2e8

#: How much less of the distribution than of its density a region may hold before that is said.
SHORT = 0.1

#: How many scales heat reaches: a share of 10^-14 is beyond.
TAILS = 4.0

#: Uniform places where there are no atoms to draw from.
UNIFORM = 100_000

#: Parts of the places whose areas tell the accuracy.
PARTS_OF_PLACES = 7

#: How many times its numerical error the density at an atom must be, without it, for a region to reach there.
SEEN = 100.0

#: How many times as large the time is of the wider density that places between the atoms are drawn from.
WIDER = 16.0

#: Places at which densities without a group are looked at, at most.
MOST_PLACES = 200_000


class Places(NamedTuple):
    """Checked points that stand for the space, and the volume that each one stands for, as a share where it is one."""

    points: NDArray[Any]
    volumes: FloatArray
    values: FloatArray  #: of the density
    exact: bool  #: whether they are all there is, as nodes are


_NOWHERE = Places(np.empty((0, 1)), np.empty(0), np.empty(0), exact=True)


@dataclass(frozen=True, eq=False, repr=False)
class Region(Result):
    """The smallest region that holds a share of the mass, or several of them; see `Density.region`.

    Attributes
    ----------
    level : float or ndarray
        The share of the mass, one or several; each of the others has its shape.
    threshold : float or ndarray
        The region is where the density, as `Density.at` has it, is at least this.
    area : float or ndarray
        The share of the space that the region is; its volume where the space is infinite.
    accuracy : float or ndarray
        Standard error of `area` from the places where the density was looked at; zero on nodes.
    area_error : float or ndarray
        Standard error of `area` from the sample being finite: a tenth of the points left out in turn, and what the
        range of scales that are as good within one standard error adds.
    held : float or ndarray
        The share of the distribution behind the sample that the region holds, estimated by leaving each point out. If
        it is far below `level`, one scale does not fit all of the cloud, and the region is too small: ask for a
        calibrated one. nan where there are no points, but sums over parts.
    calibrated : bool
        Whether `threshold` was chosen so that `held` is the level.
    density, angle : Density, float
        The density whose region it is, and its scale: a coarser one than that of the density that was asked, where a
        calibrated region must hold points that no other is near to.

    Examples
    --------
    >>> import heatess as he
    >>> found = he.density(he.samplers.von_mises_fisher(200, [0, 0, 1], 10.0, rng=0), angle=20).region(0.9)
    >>> round(found.area, 3), round(found.area_error, 3), round(found.held, 2)
    (0.149, 0.012, 0.94)
    """

    level: Any
    threshold: Any
    area: Any
    accuracy: Any
    calibrated: bool
    density: Density
    _places: Places = _NOWHERE  #: of a region that was read from JSON

    schema: ClassVar[str] = "heatess.region/1"
    columns: ClassVar[tuple[str, ...]] = ("level", "threshold", "area", "accuracy", "area_error", "held")
    facts: ClassVar[tuple[str, ...]] = ("space", "angle", "calibrated")
    row_name: ClassVar[str] = "level"
    _row_key: ClassVar[str] = "level"
    _unsaved: ClassVar[tuple[str, ...]] = ("_places",)

    @classmethod
    def _types(cls) -> dict[str, Any]:
        from .result import Density

        return {"Density": Density}

    def plot(self, ax: Axes | None = None, **style: Any) -> Axes:
        """Draw the density with the edges of the region, and return the Axes; see `Density.plot`.

        >>> import heatess as he
        >>> he.density([[0, 0, 1]], angle=60).region(0.9).plot().name
        'mollweide'
        """
        return self.density.plot(ax, levels=self.level, calibrated=self.calibrated, **style)

    @property
    def space(self) -> Any:
        """The manifold."""
        return self.density.space

    @property
    def angle(self) -> float:
        """The scale of the density."""
        return self.density.angle

    def area_in(self, unit: str | None = None) -> Any:
        """The area in "sr", "deg2" or "km2" (on the Earth) on the sphere S^2; by default in the unit of the space.

        >>> import heatess as he
        >>> half = he.density(he.samplers.fibonacci(500), angle=90).region(0.5)
        >>> round(half.area, 2), round(half.area_in("deg2"), -3)
        (0.5, 21000.0)
        """
        factor = self.density._unit_of_area(unit)
        return self.area * factor * (self.space.volume if self.space.compact else 1.0)

    def contains(self, points: Any) -> NDArray[np.bool_]:
        """Whether each of some points is in the region; with several levels one row for each.

        >>> import heatess as he
        >>> cap = he.density([[0, 0, 1]], angle=30).region(0.9)
        >>> cap.contains([[0, 0, 1], [1, 0, 0]])
        array([ True, False])
        """
        values = self.density.at(points)
        return np.asarray(values >= np.asarray(self.threshold)[..., None])

    @cached_property
    def held(self) -> Any:
        """By the density at places of the atoms without the atoms there."""
        if self.density.in_parts:
            return self._filled(np.nan)
        inside = self.density.left_out.values >= np.asarray(self.threshold)[..., None]
        return _shaped(inside.mean(axis=-1))

    @property
    def notes(self) -> tuple[str, ...]:
        """What to know of regions that hold much less of the distribution than their level, or have another scale."""
        if self.density.in_parts or self.density.known.kind in ("cells", "complete"):
            return ()
        levels, held = np.atleast_1d(self.level), np.atleast_1d(self.held)
        worst = int(np.argmax(levels - held))
        if levels[worst] - held[worst] <= SHORT:
            return ()
        note = (
            f"the region of {100 * levels[worst]:g} % holds about {100 * held[worst]:.0f} % of the distribution behind "
            "the sample, since one scale does not fit all of it; add `calibrated=True` for one that holds its share"
        )
        return (Message(note),)

    @cached_property
    def area_error(self) -> Any:
        """By the jackknife over groups of atoms, and by the range of scales."""
        if self.density.in_parts:
            return self._filled(np.nan)
        left, places = self.density.left_out, self._places
        measure = left.measure
        if measure.support().n < 2:
            return self._filled(np.inf)
        step = max(1, math.ceil(len(places.volumes) / MOST_PLACES))
        points, volumes = places.points[::step], places.volumes[::step]
        if self.calibrated:
            points = np.concatenate([points, measure.points[left.rows]])
        areas = []
        for rows in groups_of(measure):
            share = float(measure.weights[rows].sum())
            if not 0 < share < 1:
                continue
            part = Smoother(measure[rows], self.density.rtol).at(self.density.time, points)
            rest = np.maximum(places.values[::step] - share * part[: len(volumes)], 0.0) / (1 - share)
            others = left.without(rows, share, part[len(volumes) :]) if self.calibrated else None
            areas.append(_level_set(rest, volumes, np.asarray(self.level), others).area)
        found = np.array(areas)
        chance = (len(found) - 1) / len(found) * np.square(found - found.mean(axis=0)).sum(axis=0)
        spread = np.sqrt(chance + np.square(self._by_scale(points[: len(volumes)], volumes)))
        # Places that were thinned out have a larger volume each.
        return _shaped(spread * step)

    def _filled(self, value: float) -> Any:
        """The same number for each level."""
        return _shaped(np.full(np.shape(self.level), value))

    def _by_scale(self, points: NDArray[Any], volumes: FloatArray) -> FloatArray:
        """A quarter of what areas differ by between the ends of the range of scales; nothing where it was given.

        Scales that samples choose lie in that range almost always. Calibrated areas hardly depend on the scale.
        """
        ends = {self.density.scale_lower, self.density.scale_upper}
        if self.calibrated or len(ends) < 2:
            return np.zeros(np.shape(self.level))
        smoother, unit = self.density.smoother, self.density.angle**2 / self.density.time
        level = np.asarray(self.level)
        areas = [_level_set(smoother.at(end**2 / unit, points), volumes, level).area for end in ends]
        return np.asarray((areas[1] - areas[0]) / 4)

    def __repr__(self) -> str:
        what = "of the space" if self.space.compact else "in volume"
        rows = zip(*(self._column(name) for name in ("level", "area", "threshold")), strict=True)
        parts = [f"{100 * level:g} % in {area:.3g} {what}, density from {least:.3g}" for level, area, least in rows]
        return f"Region({self.space!r}: {'; '.join(parts)})"


def region(density: Density, level: ArrayLike, calibrated: bool) -> Region:
    """See `Density.region`."""
    levels = numeric_array(level, "level").astype(np.float64)
    if levels.ndim > 1 or not levels.size or not ((levels > 0) & (levels < 1)).all():
        raise InputError.unfit("level", "one or several shares between 0 and 1, such as 0.9", level)
    others = None
    if calibrated:
        refuse_no_draws(density.atoms("a calibrated region"))
        density = _resolved(density, float(levels.max()))
        others = density.left_out.values
    places = places_of(density, wide=calibrated)
    whole = _level_set(places.values, places.volumes, levels, others)
    accuracy = np.zeros(levels.shape)
    if not places.exact:
        parts = [slice(k, None, PARTS_OF_PLACES) for k in range(PARTS_OF_PLACES)]
        areas = [
            _level_set(places.values[part], PARTS_OF_PLACES * places.volumes[part], levels, others).area
            for part in parts
        ]
        accuracy = np.std(areas, axis=0, ddof=1) / math.sqrt(PARTS_OF_PLACES)
    shares, threshold, area, spread = (_shaped(values) for values in (levels, *whole, accuracy))
    return Region(shares, threshold, area, spread, bool(calibrated), density, places)


def _resolved(density: Density, level: float) -> Density:
    """The density at its own scale, or at the next coarser one where so many atoms are seen by others."""
    while np.quantile(density.left_out.values, 1 - level) <= SEEN * density.error:
        none, angle = np.empty(0), 2 * density.angle
        coarser: dict[str, Any] = {"scales": none, "cv": none, "scale_lower": angle, "scale_upper": angle}
        density = replace(density, time=4 * density.time, angle=angle, **coarser)
    return density


def _shaped(values: FloatArray) -> Any:
    """A number for one level, else an array."""
    return values if np.ndim(values) else float(values)


def places_of(density: Density, wide: bool = False) -> Places:
    """Nodes; a spiral on S^2; or draws from the density, each of which stands for the volume 1 / (n p).

    Half of the draws are of the density at a wider scale where the region is to be *wide*, and p is the mean of both.
    """
    space = density.space
    if space.modes is not None:
        points = space.check(np.arange(len(space.modes.node_volumes)))
        return Places(points, space.modes.node_volumes, density.at_checked(points), exact=True)
    if space.directional and space.dim == 2:
        points, total = _spiral(density)
        if len(points):
            return Places(points, np.full(len(points), 1 / total), density.at_checked(points), exact=False)
    if density.in_parts:  # there are no atoms to draw from
        points = space.check(space.uniform(UNIFORM, np.random.default_rng(0)))
        return Places(points, np.full(len(points), 1 / len(points)), density.at_checked(points), exact=False)
    count = DRAWS
    if space.transform is None:
        count = int(np.clip(MOST_PAIRS / density.n, FEWEST_DRAWS, DRAWS))
    if wide:
        wider = replace(density, time=WIDER * density.time)
        points = np.concatenate([one.sample(count // 2, rng=k) for k, one in enumerate((density, wider))])
        points = points[np.arange(len(points)).reshape(2, -1).T.ravel()]  # in turns, so that parts are alike
        values = density.at_checked(points)
        proposed = (values + density.smoother.at(wider.time, points)) / 2
    else:
        points = density.sample(count, rng=0)
        values = proposed = density.at_checked(points)
    return Places(points, 1 / (len(points) * np.maximum(proposed, 1e-300)), values, exact=False)


def _spiral(density: Density) -> tuple[FloatArray, int]:
    """Points of a spiral all over the sphere, as far as there is any mass, and how many the whole has; or none."""
    wanted = int(max(PER_SCALE * (180 / density.angle) ** 2, LEAST_POINTS))
    if density.in_parts or wanted <= MOST_POINTS:
        return fibonacci(min(wanted, MOST_POINTS)), min(wanted, MOST_POINTS)
    atoms = density.atoms("a cap").support()
    centre = atoms.weights @ atoms.points
    centre = centre / max(float(np.linalg.norm(centre)), 1e-300)
    reach = float(np.arccos(np.clip((atoms.points @ centre).min(), -1, 1))) + TAILS * math.sqrt(8 * density.time)
    kept = math.ceil(wanted * math.sin(min(reach, math.pi) / 2) ** 2)
    if kept > MOST_POINTS:
        return np.empty((0, 3)), wanted
    z = 1 - (2 * np.arange(kept) + 1) / wanted
    turn, flat = np.arange(kept) * math.pi * (3 - math.sqrt(5)), np.sqrt(1 - z**2)
    cap = np.column_stack([flat * np.cos(turn), flat * np.sin(turn), z])
    mirror = np.array([0.0, 0.0, 1.0]) - centre  # takes the pole to the centre
    if (length := float(mirror @ mirror)) > 1e-24:
        cap -= np.outer(cap @ mirror, 2 / length * mirror)
    return density.space.check(cap), wanted


class _LevelSet(NamedTuple):
    threshold: FloatArray
    area: FloatArray


def _level_set(
    values: FloatArray, volumes: FloatArray, levels: FloatArray, others: FloatArray | None = None
) -> _LevelSet:
    """The thresholds above which densities hold shares of their mass, or of *others*, and the volumes there."""
    order = np.argsort(-values, kind="stable")
    sizes, values = volumes[order], values[order]
    area = np.cumsum(sizes) - sizes / 2  # half of a place is on either side of its own value
    if others is not None:
        threshold = np.quantile(others, 1 - levels)
        return _LevelSet(threshold, np.interp(-threshold, -values, area))
    masses = values * sizes
    total = np.cumsum(masses)
    inner = (total - masses / 2) / total[-1]
    return _LevelSet(np.interp(levels, inner, values), np.interp(levels, inner, area))
