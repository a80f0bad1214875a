"""Stone Soup with a gESS trigger: a target in the plane, seen from the origin as bearing and range.

    pip install . stonesoup
    python examples/filters/stonesoup_bearing.py

The state is position and velocity. What matters here is the direction of the target, a point of the circle; the
argument points= of the criterion makes it of the state. The posterior is about 3 degrees wide, seen from the origin.
The scale is a third of that, because the criterion does not see range and velocity, of which particles run short too.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import numpy as np
from stonesoup.base import Property
from stonesoup.models.measurement.nonlinear import CartesianToBearingRange
from stonesoup.models.transition.linear import CombinedLinearGaussianTransitionModel, ConstantVelocity
from stonesoup.predictor.particle import ParticlePredictor
from stonesoup.resampler import Resampler
from stonesoup.resampler.particle import ESSResampler, SystematicResampler
from stonesoup.types.detection import Detection
from stonesoup.types.groundtruth import GroundTruthState
from stonesoup.types.hypothesis import SingleHypothesis
from stonesoup.types.state import ParticleState, StateVectors
from stonesoup.updater.particle import ParticleUpdater

import heatess as he

PARTICLES, STEPS = 500, 60
ANGLE = 1.0  # degrees


def direction(states: np.ndarray) -> np.ndarray:
    """The angle of each particle as seen from the origin, shape (n, 1), from its state (x, vx, y, vy)."""
    return np.arctan2(states[:, 2], states[:, 0])[:, None]


class GessResampler(Resampler):
    """Resamples when the criterion says so; otherwise leaves the particles as they are."""

    criterion: he.ResamplingCriterion = Property(doc="Tells whether to resample")
    resampler: Resampler = Property(default_factory=SystematicResampler, doc="Called when it says so")

    def resample(self, particles: Any, nparts: int | None = None) -> Any:
        """The particles, resampled or not."""
        return self.resampler.resample(particles, nparts) if self.criterion(particles) else particles


class Counted(SystematicResampler):
    """Systematic resampling that counts how often it is called."""

    times: int = Property(default=0, doc="How often")

    def resample(self, particles: Any, nparts: int | None = None) -> Any:
        """Resampled particles."""
        self.times += 1
        return super().resample(particles, nparts)


START, SECOND = datetime(2026, 1, 1), timedelta(seconds=1)
FIRST = np.array([10.0, 0.5, -10.0, 0.5])
WALK = CombinedLinearGaussianTransitionModel([ConstantVelocity(0.01), ConstantVelocity(0.01)])
SENSOR = CartesianToBearingRange(ndim_state=4, mapping=(0, 2), noise_covar=np.diag([np.radians(8) ** 2, 1.0]))


def path() -> list[tuple[GroundTruthState, Detection]]:
    """The target and what is seen of it, at each step."""
    truth, found = GroundTruthState(FIRST, timestamp=START), []
    for step in range(1, STEPS + 1):
        moved = WALK.function(truth, noise=True, time_interval=SECOND)
        truth = GroundTruthState(moved, timestamp=START + step * SECOND)
        seen = SENSOR.function(truth, noise=True)
        found.append((truth, Detection(seen, timestamp=truth.timestamp, measurement_model=SENSOR)))
    return found


def run(resampler: Resampler, steps: list[tuple[GroundTruthState, Detection]]) -> float:
    """Root mean square error of the direction in degrees."""
    np.random.seed(1)  # noqa: NPY002 - Stone Soup draws from NumPy's global generator
    predictor, updater = ParticlePredictor(WALK), ParticleUpdater(SENSOR, resampler)
    spread = np.random.default_rng(1).normal(size=(4, PARTICLES)) * [[1.0], [0.2], [1.0], [0.2]]
    weights = np.full(PARTICLES, -np.log(PARTICLES))
    posterior = ParticleState(StateVectors(FIRST[:, None] + spread), log_weight=weights, timestamp=START)
    errors = []
    for truth, seen in steps:
        prediction = predictor.predict(posterior, timestamp=truth.timestamp)
        posterior = updater.update(SingleHypothesis(prediction, seen))
        mean, true = (np.asarray(state, dtype=float).ravel() for state in (posterior.mean, truth.state_vector))
        turn = (direction(mean[None]) - direction(true[None])).item()
        errors.append((turn + np.pi) % (2 * np.pi) - np.pi)
    return float(np.degrees(np.sqrt(np.mean(np.square(errors)))))


def main() -> None:
    """Print how often each filter resampled, and its error."""
    np.random.seed(0)  # noqa: NPY002 - Stone Soup draws from NumPy's global generator
    steps = path()
    criterion = he.ResamplingCriterion(he.Circle(), ANGLE, points=direction)
    for name, make in {
        "ESS": lambda counted: ESSResampler(resampler=counted),
        f"gESS at {ANGLE:g} deg": lambda counted: GessResampler(criterion, counted),
    }.items():
        counted = Counted()
        error = run(make(counted), steps)
        print(f"{name}: resampled {counted.times} of {STEPS} times, error {error:.2f} deg")


if __name__ == "__main__":
    main()
