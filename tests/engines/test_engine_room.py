"""Every statistic is the same whichever engine sums it, and a new engine is used by all of them."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import heatess as he
import space_cases
from heatess.engines import plan
from heatess.engines.base import Engine

#: Engines are asked for what they say takes fewer seconds than this.
SOON = 0.03


def cloud(case: space_cases.Case, n: int = 90) -> tuple[he.Measure, he.Measure]:
    """Two clouds, the first with unequal weights, an atom of no weight and a duplicate."""
    rng, space = np.random.default_rng(7), case.space()
    one, other = case.points(n, rng), case.points(n, rng)
    one = space_cases.taken(one, np.append(np.arange(n), 0))
    return he.Measure(one, np.append(rng.gamma(2.0, size=n), 0.5), space=space), he.Measure(other, space=space)


def population(one: he.Measure, other: he.Measure, times: np.ndarray) -> np.ndarray:
    found = he.population_profile(one, times=times, weights_are="fixed")
    return np.stack([found.places.estimate, found.places.lower, found.places.upper])


def two_samples(one: he.Measure, other: he.Measure, times: np.ndarray) -> np.ndarray:
    found = he.two_sample_test(one, other, times=times, weights_are="fixed", draws=19, rng=1)
    return np.append(found.statistics, 1.0)  # standard deviations, and certain to a share of one


def uniformity(one: he.Measure, other: he.Measure, times: np.ndarray) -> np.ndarray:
    return he.uniformity_test(one, times=times, weights_are="importance", draws=19, rng=1).statistics


def mmd2(one: he.Measure, other: he.Measure, times: np.ndarray) -> np.ndarray:
    return he.mmd2(one, other, times=times)


def potential(one: he.Measure, other: he.Measure, times: np.ndarray) -> np.ndarray:
    return np.array([he.potential(one, time=float(time)) for time in times])


def redundancy(one: he.Measure, other: he.Measure, times: np.ndarray) -> np.ndarray:
    return np.array([he.redundancy(one, time=float(time)) for time in times])


def by_weights(one: he.Measure, other: he.Measure, times: np.ndarray) -> np.ndarray:
    return np.array([he.gradient(one, time=float(time)).weights for time in times])


def by_points(one: he.Measure, other: he.Measure, times: np.ndarray) -> np.ndarray:
    found = [he.gradient(one, time=float(time)).points for time in times]
    if found[0] is None:
        raise he.InputError("no sphere")
    return np.stack([part.ravel() for part in found])


def shared(one: he.Measure, other: he.Measure, times: np.ndarray) -> np.ndarray:
    found = he.compare(one, other, times=times, weights_are="fixed", draws=19, rng=1)
    return np.append(found.shared, 1.0)  # a share of one, and certain to digits of that


def thinned(one: he.Measure, other: he.Measure, times: np.ndarray) -> np.ndarray:
    found = he.thin(one, size=20, time=float(times[0]))
    return found.measure.weights[np.lexsort(np.atleast_2d(found.measure.points.T))]


def energies(one: he.Measure, other: he.Measure, times: np.ndarray) -> np.ndarray:
    return he.power_spectrum(one, max_degree=6).energies


#: Each with its accuracy, relative to the largest number: tests leave out a ten-thousandth of the kernel, the same for
#: all draws; variances are certain to 1e-4, since the squares of overlaps are truncated.
STATISTICS: list[tuple[Callable[..., np.ndarray], float]] = [
    (population, 1e-5),
    (two_samples, 1e-3),
    (uniformity, 1e-6),
    (mmd2, 1e-6),
    (potential, 1e-7),
    (redundancy, 1e-6),
    (by_weights, 1e-6),
    (by_points, 1e-6),
    (shared, 1e-6),
    (thinned, 1e-5),
    (energies, 1e-8),
]


def asked(statistic: Callable[..., np.ndarray], case: space_cases.Case, times: np.ndarray) -> np.ndarray | None:
    """One statistic, or None where the space or the engine does not serve it, or not soon."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return statistic(*cloud(case), times)
        except (he.InputError, he.PrecisionError, he.CostError):
            return None


@pytest.mark.slow
@pytest.mark.parametrize(**space_cases.named(space_cases.EVERY))
def test_every_statistic_is_the_same_by_every_engine(case: space_cases.Case, monkeypatch: pytest.MonkeyPatch) -> None:
    for statistic, accuracy in STATISTICS:
        for times in (case.times(3)[1:], case.times(2)[:1] / 16):
            best, served = asked(statistic, case, times), 0
            for engine in plan.ENGINES:
                with monkeypatch.context() as forced:
                    forced.setattr(plan, "ENGINES", (engine,))
                    forced.setattr(plan, "PATIENCE", SOON)
                    found = asked(statistic, case, times)
                if found is not None:
                    assert best is not None
                    served += 1
                    where = f"{statistic.__name__} by {type(engine).__name__}"
                    largest = np.nanmax(np.abs(best), axis=-1, keepdims=True)
                    scale = np.where(largest > 0, largest, 1.0)
                    np.testing.assert_allclose(found / scale, best / scale, atol=accuracy, rtol=0, err_msg=where)
            several = statistic is thinned  # asks many questions, of which one may take longer than that by one engine
            assert served or best is None or several, f"{statistic.__name__} is served by no engine on its own"


class Counted(Engine):
    """An engine that answers as another does, at no cost, and counts what it is asked to run."""

    def __init__(self, engine: Engine) -> None:
        self.engine, self.name, self.runs = engine, engine.name, 0

    def offer(self, question: Any) -> Any:
        return self._counted(self.engine.offer(question))

    def forms(self, question: Any) -> Any:
        return self._counted(self.engine.forms(question))

    def potentials(self, question: Any) -> Any:
        return self._counted(self.engine.potentials(question))

    def refusal(self, question: Any) -> Exception:
        return self.engine.refusal(question)

    def _counted(self, offer: Any) -> Any:
        run = offer.run

        def counted(*given: Any) -> Any:
            self.runs += 1
            return run(*given)

        object.__setattr__(offer, "run", counted)
        object.__setattr__(offer, "seconds", lambda first, end: 0.0)
        return offer


def profile(one: he.Measure, other: he.Measure, times: np.ndarray) -> np.ndarray:
    return he.heat_profile(one, times=times).gess


@pytest.mark.parametrize("statistic", [profile, population, two_samples, mmd2, potential, redundancy, shared])
def test_a_new_engine_is_used_by_every_statistic(
    statistic: Callable[..., np.ndarray], monkeypatch: pytest.MonkeyPatch
) -> None:
    case = next(case for case in space_cases.HOMOGENEOUS if case.name == "Sphere(9)")
    expected = statistic(*cloud(case), case.times(2))
    new = Counted(plan.ENGINES[-1])
    monkeypatch.setattr(plan, "ENGINES", (new, *plan.ENGINES))
    np.testing.assert_allclose(statistic(*cloud(case), case.times(2)), expected, rtol=1e-6)
    assert new.runs > 0
