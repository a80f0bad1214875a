"""What a report computes of a measure beyond its profile: each where it is defined and cheap, else a reason why not."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..answers.profile_and_gess import heat_profile
from ..answers.spectrum import power_spectrum
from ..base.arrays import FloatArray, IntArray
from ..base.errors import CostError, InputError, PrecisionError, PrecisionWarning
from ..base.known import AXES, KINDS
from ..base.messages import Message, marked
from ..base.progress import Progress
from ..engines import columns
from ..inference.chi_square_mixtures import ChiSquareMixture
from ..inference.maximum_entropy import maximum_entropy
from ..inference.pareto import pareto_k
from ..inference.policy import NO_DRAWS
from ..inference.population import PopulationProfile, population_profile
from ..inference.uniform_null import limit_holds
from ..inference.uniformity_families import space_levels
from ..measures.measure import Measure
from ..measures.scales import Scales
from ..profiles.heat_profile import HeatProfile

#: Atoms up to which quantities are computed: in linear time, and over all pairs.
FEW = {"places": 200_000, "even": 1_000_000, "redundancy": 1_000_000, "maximum_entropy": 200_000, "mass": 1_000_000}
FEW_PAIRS = 4_000

#: Atoms up to which copies are counted.
MOST_COUNTED = 2_000_000

#: Level of the bound on MMD^2 under uniformity, and scales at which it is computed; between them it is interpolated.
TAIL, NULL_SCALES = 0.05, 8

#: Rows of the tables of atoms, and the least weight, in mean weights, of an atom in that of the most redundant.
ROWS_OF_TABLE, LEAST_WEIGHT = 10, 0.01

#: Points among which the most redundant are found, copies counted, and the redundancy below which one stands alone.
AMONG, ALONE = 400, 0.5

#: Degrees of the power spectrum, and of maximum-entropy laws, whose scale is no finer than this, in degrees.
MAX_DEGREE, ENTROPY_DEGREE, ENTROPY_ANGLE = 64, 4, 15.0

#: Why something is not there, by its name.
Reasons = dict[str, str]


@dataclass(frozen=True)
class OrReason:
    """A block that may be refused: writes down why what it computes is not there."""

    reasons: Reasons
    name: str

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> bool:
        if refused := isinstance(error, InputError | PrecisionError | CostError):
            self.reasons[self.name] = error.message
        return refused


def is_linear(measure: Measure) -> bool:
    """Whether sums over atoms take linear time."""
    return measure.space.transform is not None or measure.space.modes is not None


def is_few(measure: Measure, name: str, reasons: Reasons) -> bool:
    """Whether a report computes what is called so for so many points; else the reason is written down."""
    most = FEW[name] if is_linear(measure) else FEW_PAIRS
    if measure.n > most:
        how = "" if is_linear(measure) else " in this space, where all pairs are summed"
        reasons[name] = f"a report computes this for up to {most:,} points{how}, and there are {measure.n:,}"
    return measure.n <= most


def population_of(
    measure: Measure, times: FloatArray, weights_are: str | None, rtol: float, reasons: Reasons
) -> PopulationProfile | None:
    """Estimates for the law behind the sample, with bands."""
    found = None
    if is_few(measure, "places", reasons):
        with OrReason(reasons, "places"):
            found = population_profile(measure, times=times, weights_are=weights_are, rtol=rtol)
            if found.withheld is not None:
                reasons["places"] = Message(f"bands are withheld: {marked(found.withheld)}")
    return found


def limit_of(profile: HeatProfile) -> float:
    """The resolution limit by the profile alone, for weights that do not depend on the points; nan if outside.

    There places = ESS, hence 1 / gESS = (2 - 1 / ESS) / ESS.
    """
    if profile.space.modes is not None or profile.ess < 2:
        return math.nan
    wanted = profile.ess / (2 - 1 / profile.ess)
    order = np.argsort(profile.times)
    counts, angles = profile.gess[order], profile.angles[order]
    if not counts[-1] < wanted < counts[0]:
        return math.nan
    return float(np.exp(np.interp(-math.log(wanted), -np.log(counts), np.log(angles))))


def even_of(measure: Measure, times: FloatArray, reasons: Reasons) -> FloatArray | None:
    """GESS of the same atoms equally weighted, of which a page shows four digits."""
    if math.isclose(measure.ess, measure.n, rel_tol=1e-9) or measure.known.kind == "cells":
        return None
    if not is_few(measure, "even", reasons):
        return None
    with OrReason(reasons, "even"), warnings.catch_warnings():
        warnings.simplefilter("ignore", PrecisionWarning)  # of mmd2, which is not shown
        found = heat_profile(measure.equally_weighted, times=times, rtol=1e-4)
        return np.where(found.error <= 1e-3, found.gess, np.nan)
    return None


def tail_of(measure: Measure) -> float:
    """Pareto k of the weights; nan if they are equal or too few."""
    if math.isclose(measure.ess, measure.n, rel_tol=1e-9):
        return math.nan
    try:
        return pareto_k(weights=measure.weights)
    except InputError:
        return math.nan


def null_of(
    measure: Measure, times: FloatArray, weights_are: str | None, reasons: Reasons
) -> dict[str, FloatArray] | None:
    """MMD^2 of independent uniform points with the same weights: its mean, and what it exceeds once in twenty times.

    ESS MMD^2 is a mixture of chi-square variables, one per level, with mean k_2t(x, x) - 1.
    """
    space, kernel = measure.space, measure.space.pair_kernel
    if not space.compact or kernel is None:
        return None
    if measure.known.kind in NO_DRAWS:
        reasons["mmd2_null"] = f"{KINDS[str(measure.known.kind)]} has no draws that could be uniform by chance"
        return None
    if weights_are == "importance" or (weights_are is None and not math.isclose(measure.ess, measure.n, rel_tol=1e-9)):
        reasons["mmd2_null"] = (
            "for importance weights there is no simple distribution of MMD² under uniformity; see heatess test"
        )
        return None
    with np.errstate(over="ignore"):
        mean = np.expm1(space.log_diagonal(times, 1e-8)) / measure.ess
    at = np.unique(np.linspace(0, len(times) - 1, NULL_SCALES).round().astype(int))
    ratios = np.full(len(at), np.nan)
    # What pairs of an atom with itself add does not vary.
    squares = 1 / measure.n if measure.ess == measure.n else float(np.sum(measure.weights**4)) * measure.ess**2
    share = math.sqrt(max(1 - squares, 0.0))
    for place, row in enumerate(at):
        time = times[row : row + 1]
        if limit_holds(measure, Scales(time, time, None)):
            levels = space_levels(space, float(time[0]))
            if levels is not None:
                ratios[place] = 1 + share * (_upper_ratio(float(time[0]), *levels) - 1)
    if not np.isfinite(ratios).any():
        reasons["mmd2_null"] = "there are too few points at these scales for the limit of MMD² under uniformity"
        return None
    return {"mean": mean, "upper": mean * np.interp(np.log(times), np.log(times[at]), ratios)}


def _upper_ratio(time: float, eigenvalues: FloatArray, log_multiplicities: FloatArray) -> float:
    """The value that a mixture exceeds once in twenty times, over its mean."""
    from scipy.optimize import brentq

    law = ChiSquareMixture(np.exp(-2 * time * (eigenvalues - eigenvalues[0])), log_degrees=log_multiplicities)
    mean, spread = law.mean, math.sqrt(law.variance)

    def excess(x: float) -> float:
        return law.tail(x).log - math.log(TAIL)

    return float(brentq(excess, mean, mean + 6 * spread, xtol=0.01 * spread)) / mean


def spectrum_of(measure: Measure, reasons: Reasons) -> dict[str, Any] | None:
    """The power spectrum, and what independent uniform atoms would have."""
    if not is_linear(measure) and measure.n > 5 * FEW_PAIRS:
        reasons["spectrum"] = f"it would sum all pairs of {measure.n:,} points"
        return None
    with OrReason(reasons, "spectrum"):
        found = power_spectrum(measure, max_degree=MAX_DEGREE)
        kept = np.isfinite(found.multiplicities) & np.isfinite(found.energies)
        kept &= np.cumprod(kept).astype(bool)
        kept[0] = False
        names = {}
        if measure.space.directional:
            names = {"1": "mean direction (Rayleigh)", "2": "axes (Bingham)"}
        elif measure.space.form == "vectors":
            names = {"1": "axes (Bingham)"}
        return {
            "degrees": found.degrees[kept].tolist(),
            "energies": found.energies[kept].tolist(),
            "multiplicities": found.multiplicities[kept].tolist(),
            "expected": (found.multiplicities[kept] / found.ess).tolist(),
            "names": names,
        }
    return None


def entropy_of(measure: Measure, time: float, in_words: Callable[[float], str], reasons: Reasons) -> Any:
    """Shares of the structure by degree, on circles and spheres."""
    if len(measure.space.harmonics) != 1 or measure.space.dim > 2:
        return None
    if not is_few(measure, "maximum_entropy", reasons):
        return None
    if measure.space.angular:
        time = max(time, math.radians(ENTROPY_ANGLE) ** 2 / 8)
    with OrReason(reasons, "maximum_entropy"):
        found = maximum_entropy(measure, time=time, max_degree=ENTROPY_DEGREE)
        if np.isnan(found.shares).any():
            reasons["maximum_entropy"] = "there is no structure to explain at this scale"
            return None
        told = {"degrees": found.degrees.tolist(), "shares": found.shares.tolist(), "beyond": found.beyond}
        return told | {"scale": in_words(time), "order": found.order}
    return None


def atoms_of(measure: Measure, time: float, in_words: str, reasons: Reasons) -> dict[str, Any]:
    """The heaviest points, those of which others say most, and those that stand alone; of exact copies one."""
    equal = math.isclose(measure.ess, measure.n, rel_tol=1e-9)
    heaviest = np.empty(0, dtype=np.int64) if equal else _largest(measure.weights)
    known: dict[int, float] = {}
    redundant = alone = heaviest[:0]
    if measure.n > 1 and is_few(measure, "redundancy", reasons):
        with OrReason(reasons, "redundancy"):
            rows = np.flatnonzero(measure.weights >= LEAST_WEIGHT / measure.n)
            sums = columns.potential(measure, time, 1e-8, measure.points[rows], Progress(False))
            values = np.clip(1 - measure.weights[rows] / sums, 0.0, 1.0)
            known = dict(zip(rows.tolist(), values.tolist(), strict=True))
            redundant = _once(measure, rows[_largest(values, AMONG)])
            alone = rows[_largest(1 - values)]
            alone = alone[[known[int(row)] < ALONE for row in alone]]
    note = ""
    if known and len(known) < measure.n:
        note = f"Of points with less than {LEAST_WEIGHT:g} of the mean weight, redundancy is not shown."
    tables = {"heaviest": heaviest, "redundant": redundant, "alone": alone}
    told: dict[str, Any] = {name: _rows(measure, rows, known) for name, rows in tables.items()}
    return told | {"scale": in_words, "note": note}


def _once(measure: Measure, rows: IntArray) -> IntArray:
    """The same rows without those that are exact copies of an earlier one, as many as a table has."""
    seen: dict[bytes, int] = {}
    for row in rows.tolist():
        seen.setdefault(np.ascontiguousarray(measure.points[row]).tobytes(), row)
    return np.array(list(seen.values())[:ROWS_OF_TABLE], dtype=np.int64)


def _largest(values: FloatArray, most: int = ROWS_OF_TABLE) -> IntArray:
    """Rows of the largest values, from the largest; of equal ones the first."""
    count = min(most, len(values))
    if len(values) > 4 * count:  # without sorting all
        least = np.partition(values, len(values) - count)[len(values) - count]
        rows = np.flatnonzero(values >= least)
        return rows[np.argsort(-values[rows], kind="stable")][:count]
    return np.argsort(-values, kind="stable")[:count]


def _rows(measure: Measure, rows: IntArray, redundancies: dict[int, float]) -> list[dict[str, Any]]:
    counted = measure.n <= MOST_COUNTED
    return [
        {
            "row": int(row),
            "name": "" if measure.known.labels is None else str(measure.known.labels[row]),
            "place": place_in_words(measure, int(row)),
            "copies": int((measure.points == measure.points[row]).all(axis=1).sum()) if counted else 1,
            "weight": float(measure.weights[row]),
            "redundancy": redundancies.get(int(row)),
        }
        for row in rows
    ]


def place_in_words(measure: Measure, row: int) -> str:
    """Where an atom is.

    >>> from heatess import Measure, Rotations
    >>> place_in_words(Measure([[0.0, 0.6, 0.8]]), 0)
    '(0, 0.6, 0.8)'
    >>> place_in_words(Measure([[0.0, 0.0, 0.6, 0.8]], space=Rotations()), 0)
    '73.74° about (0, 0, 1)'
    """
    about = measure.about
    point = np.asarray(measure.points[row], dtype=np.float64)
    if measure.space.modes is not None:
        return f"node {int(point[0])}" if len(point) == 1 or point[3] == 1 else f"near vertex {int(point[0])}"
    drawing = measure.space.drawing
    if drawing is not None and drawing.kind == "globe" and about in ("earth", "sky"):
        lon, lat = math.degrees(math.atan2(point[1], point[0])), math.degrees(math.asin(max(-1, min(1, point[2]))))
        if about == "sky":
            east, north = AXES.get(measure.known.frame, AXES[None])[2:]
            return f"{east} {lon % 360:.2f}°, {north} {lat:+.2f}°"
        depth = f", depth {point[3]:.1f} km" if len(point) > 3 else ""
        return f"{abs(lat):.2f}° {'N' if lat >= 0 else 'S'}, {abs(lon):.2f}° {'E' if lon >= 0 else 'W'}{depth}"
    if drawing is not None and drawing.kind == "ball" and drawing.part is None:
        turn = drawing.places(measure.points[row : row + 1])[0]
        angle = float(np.linalg.norm(turn))
        axis = turn / angle if angle else np.zeros(3)
        return (
            f"{math.degrees(angle):.2f}° about {_numbers(axis)}"
            if measure.space.form == "quaternions"
            else _numbers(point)
        )
    if drawing is not None and drawing.part is None and drawing.kind in ("square", "solid") and drawing.unit == "rad":
        return ", ".join(f"{value:.1f}°" for value in np.degrees(drawing.places(measure.points[row : row + 1])[0]))
    return _numbers(point)


def _numbers(values: FloatArray, most: int = 4) -> str:
    said = ", ".join(f"{value + 0.0:.4g}" for value in np.round(values[:most], 12))
    return f"({said}, ...)" if len(values) > most else f"({said})"


def distinct_of(measure: Measure) -> int | None:
    """How many places atoms with a weight are at; None if there are too many to count."""
    if measure.n > MOST_COUNTED or measure.space.modes is not None:
        return None
    return measure.coalesced().n + int((measure.weights == 0).sum())
