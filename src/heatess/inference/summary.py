"""One row of the paper's tables: classical summaries beside gESS."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

from numpy.typing import ArrayLike

from .. import baselines
from ..answers.profile_and_gess import heat_profile
from ..answers.spectrum import power_spectrum
from ..base.progress import told
from ..base.results import Result
from ..measures.measure import Measure
from ..spaces.base import Space
from .pareto import tail_index

#: In degrees, those of the paper.
DEFAULT_ANGLES = (15.0, 45.0)


@dataclass(frozen=True, repr=False)
class Summary(Result):
    """Classical summaries of a weighted cloud, and gESS at a few scales.

    Attributes
    ----------
    n, resultant_length, bingham_energy : int, float, float
        Number of points, R = |sum w x| and B_2; the last two are nan off spheres.
    ess, perplexity_ess : float
        1 / sum w^2 and exp(entropy of w).
    angles, unit : tuple of float, str
        Scales sqrt(8 t) in degrees, and "deg"; in the unit of distance, and "", where distances are not angles.
    gess, leinster_cobbold : tuple of float
        One entry per scale; the diversity is nan where the overlap depends on more than an angle.
    pareto_k : float
        Tail index of the weights, see `pareto_k`; nan if they are equal or too few for a tail.

    Examples
    --------
    >>> import heatess as he
    >>> found = he.summarize(he.samplers.fibonacci(30), angles=[15, 45])
    >>> round(found.gess[0], 1), round(found.gess[1], 1)
    (29.7, 6.8)
    """

    n: int
    resultant_length: float
    bingham_energy: float
    ess: float
    perplexity_ess: float
    angles: tuple[float, ...]
    gess: tuple[float, ...]
    leinster_cobbold: tuple[float, ...]
    unit: str = "deg"
    pareto_k: float = math.nan

    schema: ClassVar[str] = "heatess.summary/1"
    columns: ClassVar[tuple[str, ...]] = ("angles", "gess", "leinster_cobbold")
    facts: ClassVar[tuple[str, ...]] = (
        *("n", "resultant_length", "bingham_energy", "ess", "perplexity_ess", "pareto_k", "unit"),
    )
    _row_key: ClassVar[str] = "angles"
    _drawing: ClassVar[str] = "..drawing.curves:draw_summary"

    def row(self) -> dict[str, float]:
        """A flat dictionary, with the keys of the paper's tables, R, B2, ESS, ESS_H, gESS(15deg), ..., and k.

        >>> import heatess as he
        >>> found = he.summarize(he.samplers.fibonacci(30), angles=[15]).row()
        >>> {name: round(value, 2) for name, value in found.items()}
        {'n': 30, 'R': 0.01, 'B2': 0.0, 'ESS': 30.0, 'ESS_H': 30.0, 'gESS(15deg)': 29.7, 'D_LC(15deg)': 29.71, 'k':
        nan}
        """
        row = {"n": self.n, "R": self.resultant_length, "B2": self.bingham_energy}
        row |= {"ESS": self.ess, "ESS_H": self.perplexity_ess}
        for name, values in (("gESS", self.gess), ("D_LC", self.leinster_cobbold)):
            row.update({f"{name}({at:g}{self.unit})": value for at, value in zip(self.angles, values, strict=True)})
        return row | {"k": self.pareto_k}

    def __repr__(self) -> str:
        return f"Summary({self})"

    def __str__(self) -> str:
        known = {name: value for name, value in self.row().items() if name != "k" or not math.isnan(value)}
        return "  ".join(f"{name} {value:.4g}" for name, value in known.items())


@told
def summarize(
    points: Any,
    weights: ArrayLike | None = None,
    *,
    log_weights: ArrayLike | None = None,
    space: Space | None = None,
    angles: ArrayLike | None = None,
    times: ArrayLike | None = None,
    resolutions: ArrayLike | None = None,
    rtol: float = 1e-8,
    progress: bool = False,
) -> Summary:
    """Classical and geometric summaries of a weighted cloud, as in the paper's tables.

    Scales are those of `heat_profile`, by default 15 and 45 degrees. On spheres, projective spaces and rotations the
    Leinster-Cobbold baseline sums all pairs, so the cost is quadratic in n.

    >>> import heatess as he
    >>> import numpy as np
    >>> print(summarize(np.repeat(he.samplers.fibonacci(30), 10, axis=0), angles=(15,)))
    n 300  R 0.005098  B2 0.0001442  ESS 300  ESS_H 300  gESS(15deg) 29.7  D_LC(15deg) 29.71
    """
    measure = Measure.of(points, weights, log_weights=log_weights, space=space)
    if angles is None and times is None and resolutions is None:
        angles = DEFAULT_ANGLES
    space = measure.space
    profile = heat_profile(measure, angles=angles, times=times, resolutions=resolutions, rtol=rtol)
    spectrum = power_spectrum(measure, max_degree=2, rtol=min(rtol, 1e-9)) if space.directional else None
    at = tuple(profile.angles.tolist())
    known = space.series is not None and space.angular
    return Summary(
        n=measure.n,
        resultant_length=spectrum.resultant_length if spectrum else math.nan,
        bingham_energy=spectrum.bingham_energy if spectrum else math.nan,
        ess=measure.ess,
        perplexity_ess=baselines.perplexity_ess(measure.weights),
        angles=at,
        gess=tuple(profile.gess.tolist()),
        leinster_cobbold=tuple(baselines.leinster_cobbold(measure, angle=a) if known else math.nan for a in at),
        unit="deg" if space.angular else "",
        pareto_k=tail_index(measure.weights),
    )
