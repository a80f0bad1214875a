"""The package `particles` with a gESS trigger: a direction that drifts on the sphere, measured with noise.

    pip install . particles
    python examples/filters/particles_sphere.py

It prints how often each of two filters resampled, and its error.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import particles

import heatess as he

STEPS, DRIFT, NOISE = 100, 1000.0, 30.0
ANGLE = 6.0  # about the width of the posterior


def moved(x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Unit vectors after one step of the drift."""
    x = x + rng.normal(scale=1 / np.sqrt(DRIFT), size=x.shape)
    return x / np.linalg.norm(x, axis=-1, keepdims=True)


class Drift(particles.FeynmanKac):
    """A bootstrap filter that resamples by ESS, as `particles` does by default."""

    def __init__(self, measured: np.ndarray) -> None:
        super().__init__(len(measured))
        self.measured, self.rng = measured, np.random.default_rng(1)

    def M0(self, N: int) -> np.ndarray:
        """Particles at the first step."""
        return moved(np.tile(self.measured[0], (N, 1)), self.rng)

    def M(self, t: int, xp: np.ndarray) -> np.ndarray:
        """Particles at step t."""
        return moved(xp, self.rng)

    def logG(self, t: int, xp: np.ndarray, x: np.ndarray) -> np.ndarray:
        """Log-likelihood of the measurement."""
        return NOISE * x @ self.measured[t]


class DriftByGess(Drift):
    """The same filter, which resamples by gESS: one method."""

    criterion = he.ResamplingCriterion(he.Sphere(2), ANGLE)

    def time_to_resample(self, smc: Any) -> bool:
        """When to resample."""
        return self.criterion(smc)


def run(model: Drift, truth: np.ndarray) -> tuple[int, float]:
    """How often the filter resampled, and its root mean square error in degrees."""
    np.random.seed(1)  # noqa: NPY002 - `particles` resamples with NumPy's global generator
    smc, times, errors = particles.SMC(fk=model, N=500), 0, []
    for step, _ in enumerate(smc):
        times += bool(smc.rs_flag)
        mean = smc.W @ smc.X
        errors.append(np.arccos(np.clip(mean @ truth[step] / np.linalg.norm(mean), -1, 1)))
    return times, float(np.degrees(np.sqrt(np.mean(np.square(errors)))))


def main() -> None:
    """Print how often each filter resampled, and its error."""
    rng = np.random.default_rng(0)
    truth = [np.array([0.0, 0.0, 1.0])]
    for _ in range(STEPS - 1):
        truth.append(moved(truth[-1], rng))
    measured = np.array([he.samplers.von_mises_fisher(1, x, NOISE, rng=rng)[0] for x in truth])
    for name, model in {"ESS": Drift(measured), f"gESS at {ANGLE:g} deg": DriftByGess(measured)}.items():
        times, error = run(model, np.array(truth))
        print(f"{name}: resampled {times} of {STEPS} times, error {error:.2f} deg")


if __name__ == "__main__":
    main()
