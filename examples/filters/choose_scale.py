"""Which scale a resampling trigger should have: a particle filter on the sphere, run with several.

    pip install .
    python examples/filters/choose_scale.py

A direction drifts at random, and is measured with von Mises-Fisher noise. The table has one line per trigger: how often
the filter resampled, and the root mean square error of its mean direction. ESS < n / 2 resamples often, because most
particles get little weight. gESS at a scale no wider than the posterior resamples less, at the same error, and so does
ESS < n / 10. At much wider scales gESS sees one particle where there are many, and resamples too late.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np

import heatess as he

PARTICLES, STEPS, RUNS, THRESHOLD = 500, 200, 3, 0.5
DRIFT, NOISE = 1000.0, 30.0  # concentrations: a step of about 2.6 degrees, a measurement good to about 15
ANGLES = (1, 5, 10, 20, 30, 45, 90)

Trigger = Callable[[np.ndarray, np.ndarray], bool]


def moved(x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Unit vectors after one step of the drift: a small random vector is added."""
    x = x + rng.normal(scale=1 / np.sqrt(DRIFT), size=x.shape)
    return x / np.linalg.norm(x, axis=-1, keepdims=True)


def path(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """The true directions and one measurement of each, shape (STEPS, 3)."""
    truth = [np.array([0.0, 0.0, 1.0])]
    for _ in range(STEPS - 1):
        truth.append(moved(truth[-1], rng))
    measured = [he.samplers.von_mises_fisher(1, x, NOISE, rng=rng)[0] for x in truth]
    return np.array(truth), np.array(measured)


def resampled(weights: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Systematic resampling: the rows to keep."""
    places = (rng.random() + np.arange(len(weights))) / len(weights)
    return np.minimum(np.searchsorted(np.cumsum(weights), places), len(weights) - 1)


def run(trigger: Trigger, seed: int) -> tuple[int, float, float]:
    """How often the filter resampled; its mean square error, and that of the particles about their mean, in radians."""
    rng = np.random.default_rng(seed)
    truth, measured = path(rng)
    particles = he.samplers.uniform(PARTICLES, rng=rng)
    log_weights, times, errors, widths = np.zeros(PARTICLES), 0, [], []
    for step in range(STEPS):
        if step:
            particles = moved(particles, rng)
        log_weights = log_weights + NOISE * particles @ measured[step]
        log_weights -= log_weights.max()
        weights = np.exp(log_weights) / np.exp(log_weights).sum()
        mean = weights @ particles
        mean /= np.linalg.norm(mean)
        errors.append(np.arccos(np.clip(mean @ truth[step], -1, 1)) ** 2)
        widths.append(weights @ np.arccos(np.clip(particles @ mean, -1, 1)) ** 2)
        if trigger(particles, weights):
            particles, log_weights, times = particles[resampled(weights, rng)], np.zeros(PARTICLES), times + 1
    return times, float(np.mean(errors)), float(np.mean(widths))


def row(name: str, trigger: Trigger) -> str:
    """One line of the table: means over runs with seeds 0, 1, ..."""
    times, errors, widths = np.mean([run(trigger, seed) for seed in range(RUNS)], axis=0)
    degrees = np.degrees(np.sqrt([errors, widths]))
    return f"{name:<16} {times:>6.0f} of {STEPS}   {degrees[0]:>6.2f} deg   {degrees[1]:>6.2f} deg"


def main() -> None:
    """Print the table, wide scales included, at which the ratio can hardly fall below the threshold."""
    warnings.simplefilter("ignore", he.CalibrationWarning)
    print(f"{PARTICLES} particles, {STEPS} steps, mean of {RUNS} runs, threshold {THRESHOLD}\n")
    print(f"{'trigger':<16} {'resampled':>13}   {'error':>10}   {'posterior':>10}")
    for share in (THRESHOLD, 0.1):
        print(row(f"ESS < {share:g} n", lambda _, weights, share=share: 1 / np.sum(weights**2) < share * PARTICLES))
    print(row("gESS, own scale", he.ResamplingCriterion(he.Sphere(2), threshold=THRESHOLD)))
    for angle in ANGLES:
        print(row(f"gESS, {angle} deg", he.ResamplingCriterion(he.Sphere(2), angle, THRESHOLD)))


if __name__ == "__main__":
    main()
