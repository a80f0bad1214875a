"""One row of the paper's tables: classical summaries beside gESS."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from numpy.typing import ArrayLike

from . import baselines
from .measure import Measure
from .profile import heat_profile
from .spaces.base import Space
from .spectrum import power_spectrum


@dataclass(frozen=True)
class Summary:
    """Classical summaries of a weighted cloud, and gESS at a few angles.

    Attributes
    ----------
    n : int
        Number of atoms.
    resultant_length, bingham_energy : float
        R = |sum w x| and B_2; nan off spheres.
    ess, perplexity_ess : float
        1 / sum w^2 and exp(entropy of w).
    angles : tuple of float
        Scales in degrees.
    gess, leinster_cobbold : tuple of float
        One entry per angle.
    """

    n: int
    resultant_length: float
    bingham_energy: float
    ess: float
    perplexity_ess: float
    angles: tuple[float, ...]
    gess: tuple[float, ...]
    leinster_cobbold: tuple[float, ...]

    def to_dict(self) -> dict[str, float]:
        """A flat dictionary, with the keys of the paper's tables: R, B2, ESS, ESS_H, gESS(15deg), ..."""
        row = {
            "n": self.n,
            "R": self.resultant_length,
            "B2": self.bingham_energy,
            "ESS": self.ess,
            "ESS_H": self.perplexity_ess,
        }
        row.update({f"gESS({angle:g}deg)": value for angle, value in zip(self.angles, self.gess, strict=True)})
        row.update(
            {f"D_LC({angle:g}deg)": value for angle, value in zip(self.angles, self.leinster_cobbold, strict=True)}
        )
        return row

    def __str__(self) -> str:
        return "  ".join(f"{name} {value:.4g}" for name, value in self.to_dict().items())


def summarize(
    points: Any,
    weights: ArrayLike | None = None,
    *,
    log_weights: ArrayLike | None = None,
    space: Space | None = None,
    angles: tuple[float, ...] = (15, 45),
) -> Summary:
    """Classical and geometric summaries of a weighted cloud, as in the paper's tables.

    The Leinster-Cobbold baseline sums all pairs, so the cost is quadratic in n.

    >>> import heatess as he
    >>> import numpy as np
    >>> print(summarize(np.repeat(he.samplers.fibonacci(30), 10, axis=0), angles=(15,)))
    n 300  R 0.005098  B2 0.0001442  ESS 300  ESS_H 300  gESS(15deg) 29.7  D_LC(15deg) 29.71
    """
    measure = Measure.of(points, weights, log_weights=log_weights, space=space)
    points, weights, space = measure.points, measure.weights, measure.space
    spectrum = power_spectrum(points, weights, space=space, max_degree=2)
    profile = heat_profile(points, weights, space=space, angles=angles)
    at = tuple(float(angle) for angle in profile.angles)
    return Summary(
        n=measure.n,
        resultant_length=spectrum.resultant_length,
        bingham_energy=spectrum.bingham_energy,
        ess=measure.ess,
        perplexity_ess=baselines.perplexity_ess(weights),
        angles=at,
        gess=tuple(float(value) for value in profile.gess),
        leinster_cobbold=tuple(baselines.leinster_cobbold(points, weights, angle=a, space=space) for a in at),
    )
