"""An estimate with its confidence band, and the quantities that have one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import FloatArray
from ..base.results import Result
from ..engines.centred_overlap import Diagonal
from ..spaces.base import Space
from .score_intervals import Interval

QUANTITIES = ("places", "volume", "divergence", "mmd2")
ENDS = ("lower", "upper", "simultaneous_lower", "simultaneous_upper")


@dataclass(frozen=True, eq=False, repr=False)
class Band(Result):
    """An estimate with its confidence band: arrays with one entry per scale, and `numpy.asarray(band)` the estimate.

    No distribution is more even than the uniform one, so bands end there. Estimates of places and mmd2 are unbiased
    and do not: those of a nearly uniform cloud may lie a little outside their band.

    Attributes
    ----------
    estimate : ndarray
        The estimate.
    lower, upper : ndarray
        Ends of intervals that each hold the truth with the band's level, one scale at a time.
    simultaneous_lower, simultaneous_upper : ndarray
        Ends of wider intervals, which hold the truth at all scales at once with that level.

    Examples
    --------
    >>> import heatess as he
    >>> places = he.population_profile(he.samplers.uniform(300, rng=1), angles=[20, 40]).places
    >>> places.estimate.round(1)
    array([32.6,  8.5])
    >>> places.lower.round(1), places.upper.round(1)
    (array([30.8,  8. ]), array([33.2,  8.5]))
    """

    estimate: FloatArray
    lower: FloatArray
    upper: FloatArray
    simultaneous_lower: FloatArray
    simultaneous_upper: FloatArray

    schema: ClassVar[str] = "heatess.band/1"
    columns: ClassVar[tuple[str, ...]] = ("estimate", *ENDS)
    facts: ClassVar[tuple[str, ...]] = ()
    _drawing: ClassVar[str] = ".drawing.population:draw_band"

    def __repr__(self) -> str:
        rows = [0] if len(self) < 2 else [0, -1]
        ends = [f"{self.estimate[k]:.4g} [{self.lower[k]:.4g}, {self.upper[k]:.4g}]" for k in rows]
        return f"Band({len(self)} scale{'s' * (len(self) != 1)}: {' to '.join(ends)})"

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        found = self.estimate if dtype is None else self.estimate.astype(dtype)
        return found.copy() if copy else found

    def __len__(self) -> int:
        return len(self.estimate)

    def __getitem__(self, place: Any) -> Any:
        return self.estimate[place]

    def rows(self, places: Any) -> Band:
        """The same at some of the scales.

        >>> import heatess as he
        >>> places = he.population_profile(he.samplers.uniform(300, rng=1), angles=[20, 40]).places
        >>> places.rows([1]).estimate.round(1)
        array([8.5])
        """
        return Band(self.estimate[places], *(getattr(self, end)[places] for end in ENDS))


def bands_of(space: Space, diagonal: Diagonal, estimate: FloatArray, ends: list[Interval]) -> dict[str, Band]:
    """Each quantity is a monotone function of the excess, so its band is that of the excess; places and volume fall."""
    lower, upper = ends[0]
    wider_lower, wider_upper = ends[1]
    found = {}
    for name in QUANTITIES:
        values = [quantity(name, part, diagonal) for part in (estimate, lower, upper, wider_lower, wider_upper)]
        if name in ("places", "volume"):
            values = [values[0], values[2], values[1], values[4], values[3]]
        if name != "places" and not space.compact:
            values = [np.full(len(estimate), np.nan) for _ in values]
        found[name] = Band(*values)
    return found


def quantity(name: str, excess: FloatArray, diagonal: Diagonal) -> FloatArray:
    """A - 1 = (k0 - 1) e, and A / k0 = 1 / k0 + (1 - 1 / k0) e."""
    with np.errstate(divide="ignore", over="ignore", under="ignore", invalid="ignore"):
        if name == "places":
            overlap = diagonal.inverse + diagonal.rest * excess
            return np.where(np.isnan(overlap), np.nan, np.where(overlap > 0, 1 / np.maximum(overlap, 0.0), np.inf))
        if name == "mmd2":
            size = np.exp(diagonal.log_excess + np.log(np.abs(excess)))
            return np.where(excess == 0, 0.0, np.sign(excess) * size)
        log_power = np.logaddexp(0.0, diagonal.log_excess + np.log(np.maximum(excess, 0.0)))
        return np.exp(-log_power) if name == "volume" else log_power
