"""How fast the power of a sample converges to that of its law (thm:consistency).

For a mixture of von Mises-Fisher laws A_P(t) is known exactly, so no reference simulation is needed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .. import heat_profile, samplers
from .checks import Law
from .experiment import FloatArray, Settings
from .vmf import Mixture

#: Three modes of different direction, width and mass.
TARGET = Mixture(
    means=((0.0, 0.0, 1.0), (1.0, 0.0, 0.0), (-0.6, -0.8, 0.0)), kappas=(12.0, 5.0, 30.0), shares=(0.5, 0.3, 0.2)
)

#: The interval [t_0, T] as angles, in degrees; the supremum is over these.
ANGLES = np.geomspace(30.0, 120.0, 12)

#: The angle, in degrees, for the uniform law: its rate is stated for each fixed t.
FIXED = 45.0

#: Allowed error of a slope, because slopes are measured by simulation.
TOLERANCE = 0.12

Draw = Callable[[int, np.random.Generator], tuple[FloatArray, FloatArray | None]]


@dataclass(frozen=True)
class Rate:
    """Root-mean-square errors of the power, the sizes 1 / S_n (n for importance sampling), and the expected rate."""

    name: str
    statement: str
    sizes: FloatArray
    errors: FloatArray
    expected: float

    @property
    def slope(self) -> float:
        """The measured rate: slope of log(error) on log(size)."""
        return float(np.polyfit(np.log(self.sizes), np.log(self.errors), 1)[0])

    def law(self) -> Law:
        """The slope as a check."""
        return Law("thm:consistency", self.statement, self.slope, self.expected, TOLERANCE)


def equal(n: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray | None]:
    """Draws from the target, equally weighted."""
    return TARGET.sample(n, rng), None


def unequal(n: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray | None]:
    """Draws from the target with w_i proportional to 1 / sqrt(i), so that S_n is about log(n) / 4n."""
    return TARGET.sample(n, rng), np.asarray(1 / np.sqrt(np.arange(1, n + 1)))


def reweighted(n: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray | None]:
    """Uniform draws with self-normalised importance weights for the target."""
    points = samplers.uniform(n, rng=rng)
    return points, TARGET.density(points)


def uniform(n: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray | None]:
    """Uniform draws, equally weighted."""
    return samplers.uniform(n, rng=rng), None


def rates(settings: Settings) -> list[Rate]:
    """The four rates, each measured at sample sizes that double."""
    sizes = [400 * 2**k for k in range(settings.choose(full=8, quick=6))]
    exact = TARGET.mmd2(np.radians(ANGLES) ** 2 / 8)
    fixed = np.array([FIXED])
    half = "log sup|A_n - A| on log(1/S_n)"
    cases: list[tuple[str, str, Draw, FloatArray, FloatArray, float]] = [
        ("equal weights", f"slope of {half}, equal weights", equal, ANGLES, exact, -0.5),
        ("unequal weights", f"slope of {half}, w_i ~ 1/sqrt(i)", unequal, ANGLES, exact, -0.5),
        ("importance weights", "slope of log sup|A_n - A| on log n, SNIS", reweighted, ANGLES, exact, -0.5),
        ("uniform law", "slope of log|A_n - 1| on log n, P uniform", uniform, fixed, np.zeros(1), -1.0),
    ]
    return [
        Rate(name, statement, *errors(settings, name, draw, sizes, angles, truth), expected)
        for name, statement, draw, angles, truth, expected in cases
    ]


def errors(
    settings: Settings, name: str, draw: Draw, sizes: list[int], angles: FloatArray, truth: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Two arrays: 1 / S_n (n for importance weights), and the root-mean-square of sup |A_n - A|."""
    effective, found = [], []
    for n in settings.track(sizes, f"convergence, {name}"):
        rng = settings.rng(f"convergence {name}", n)
        worst = []
        for _ in range(settings.choose(full=100, quick=50)):
            points, weights = draw(n, rng)
            profile = heat_profile(points, weights, angles=angles)
            worst.append(np.abs(profile.mmd2 - truth).max())
        effective.append(float(n) if draw is reweighted else profile.ess)
        found.append(float(np.sqrt(np.mean(np.square(worst)))))
    return np.array(effective), np.array(found)
