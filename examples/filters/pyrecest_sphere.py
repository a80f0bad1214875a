"""PyRecEst with a gESS trigger: a direction that drifts on the sphere, measured with noise.

    pip install . pyrecest
    python examples/filters/pyrecest_sphere.py

It prints how often each of three filters resampled, and its error.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
from pyrecest.distributions import HypersphericalUniformDistribution
from pyrecest.filters.hyperspherical_particle_filter import HypersphericalParticleFilter

import heatess as he

PARTICLES, STEPS, DRIFT, NOISE = 500, 100, 1000.0, 30.0
ANGLE = 6.0  # about the width of the posterior


def moved(x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Unit vectors after one step of the drift."""
    x = x + rng.normal(scale=1 / np.sqrt(DRIFT), size=x.shape)
    return x / np.linalg.norm(x, axis=-1, keepdims=True)


def run(criterion: Any, truth: np.ndarray, measured: np.ndarray) -> tuple[int, float]:
    """How often the filter resampled, and its root mean square error in degrees."""
    np.random.seed(1)  # noqa: NPY002 - PyRecEst draws from NumPy's global generator
    rng, times, errors = np.random.default_rng(1), 0, []
    particle_filter = HypersphericalParticleFilter(PARTICLES, 2)
    particle_filter.set_resampling_criterion(criterion)
    particle_filter.filter_state = HypersphericalUniformDistribution(2)
    drift = SimpleNamespace(sample_next=lambda x: moved(np.asarray(x), rng))
    for x, z in zip(truth, measured, strict=True):
        particle_filter.predict_model(drift)
        before = particle_filter.particle_diagnostics().resampling_count
        particle_filter.update_nonlinear_using_likelihood(lambda y, z=z: np.exp(NOISE * (np.asarray(y) @ z - 1)))
        times += particle_filter.particle_diagnostics().resampling_count - before
        mean = np.asarray(particle_filter.get_estimate_mean())
        errors.append(np.arccos(np.clip(mean @ x, -1, 1)))
    return times, float(np.degrees(np.sqrt(np.mean(np.square(errors)))))


def main() -> None:
    """Print how often each filter resampled, and its error."""
    rng = np.random.default_rng(0)
    truth = [np.array([0.0, 0.0, 1.0])]
    for _ in range(STEPS - 1):
        truth.append(moved(truth[-1], rng))
    measured = np.array([he.samplers.von_mises_fisher(1, x, NOISE, rng=rng)[0] for x in truth])
    triggers = {
        "always (PyRecEst's default)": None,
        "ESS": lambda state: 1 / np.sum(np.asarray(state.w) ** 2) < PARTICLES / 2,
        f"gESS at {ANGLE:g} deg": he.ResamplingCriterion(he.Sphere(2), ANGLE),
    }
    for name, trigger in triggers.items():
        times, error = run(trigger, np.array(truth), measured)
        print(f"{name}: resampled {times} of {STEPS} times, error {error:.2f} deg")


if __name__ == "__main__":
    main()
