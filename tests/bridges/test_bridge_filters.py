"""The resampling criterion within particles, PyRecEst and Stone Soup: each asks for it, and it answers rightly."""

from __future__ import annotations

import warnings

import numpy as np
import plain
import pytest

import heatess as he

pytestmark = pytest.mark.filterwarnings("default")  # of the packages themselves


class Recorded:
    """A criterion that keeps what it was asked, as plain arrays, and what it answered."""

    def __init__(self, criterion, read):
        self.criterion, self.read, self.asked = criterion, read, []

    def __call__(self, state):
        points, weights = self.read(state)
        answer = self.criterion(state)
        self.asked.append((np.array(points, dtype=float), np.array(weights, dtype=float), answer))
        return answer

    def check(self, overlaps, *, steps):
        """Every answer is that of a brute sum, and both answers were given."""
        assert len(self.asked) == steps
        for points, weights, answer in self.asked:
            ratio = plain.gess_ratio(overlaps(points), weights)
            assert abs(ratio - self.criterion.threshold) > 1e-9
            assert answer is bool(ratio < self.criterion.threshold)
        assert len({answer for _, _, answer in self.asked}) == 2
        return sum(answer for _, _, answer in self.asked)


def drift(module, steps):
    rng = np.random.default_rng(0)
    truth = [np.array([0.0, 0.0, 1.0])]
    for _ in range(steps - 1):
        truth.append(module.moved(truth[-1], rng))
    return np.array(truth), np.array([he.samplers.von_mises_fisher(1, x, 30.0, rng=rng)[0] for x in truth])


def test_particles_resamples_exactly_when_the_criterion_says_so():
    particles = pytest.importorskip("particles")
    module = plain.example("filters/particles_sphere")
    _, measured = drift(module, 30)
    model = module.DriftByGess(measured)
    model.criterion = Recorded(model.criterion, lambda smc: (smc.X, smc.W))
    np.random.seed(1)  # noqa: NPY002 - `particles` resamples with NumPy's global generator
    smc, resampled = particles.SMC(fk=model, N=200), 0
    for _ in smc:
        resampled += bool(smc.rs_flag)
    asked = model.criterion.check(lambda x: plain.overlaps_on_sphere(x, module.ANGLE), steps=29)
    assert resampled == asked


def test_pyrecest_resamples_exactly_when_the_criterion_says_so(monkeypatch):
    pytest.importorskip("pyrecest")
    module = plain.example("filters/pyrecest_sphere")
    monkeypatch.setattr(module, "PARTICLES", 200)
    truth, measured = drift(module, 30)
    criterion = Recorded(he.ResamplingCriterion(he.Sphere(2), module.ANGLE), lambda state: (state.d, state.w))
    resampled, error = module.run(criterion, truth, measured)
    assert resampled == criterion.check(lambda x: plain.overlaps_on_sphere(x, module.ANGLE), steps=30)
    assert error < 20


def test_stone_soup_resamples_exactly_when_the_criterion_says_so(monkeypatch):
    pytest.importorskip("stonesoup")
    module = plain.example("filters/stonesoup_bearing")
    monkeypatch.setattr(module, "PARTICLES", 200)
    monkeypatch.setattr(module, "STEPS", 20)
    np.random.seed(0)  # noqa: NPY002 - Stone Soup draws from NumPy's global generator
    steps, counted = module.path(), module.Counted()
    criterion = Recorded(
        he.ResamplingCriterion(he.Circle(), module.ANGLE, points=module.direction),
        lambda state: (
            np.asarray(state.state_vector, dtype=float).T,
            np.exp(np.asarray(state.log_weight, dtype=float)),
        ),
    )
    module.run(module.GessResampler(criterion, counted), steps)
    overlaps = lambda states: plain.overlaps_on_circle(module.direction(states)[:, 0], module.ANGLE)  # noqa: E731
    assert counted.times == criterion.check(overlaps, steps=20)


@pytest.mark.parametrize(
    ("name", "package"),
    [("particles_sphere", "particles"), ("pyrecest_sphere", "pyrecest"), ("stonesoup_bearing", "stonesoup")],
)
def test_the_example_resamples_less_by_gess_than_by_ess(name, package, capsys):
    pytest.importorskip(package)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plain.example(f"filters/{name}").main()
    lines = capsys.readouterr().out.splitlines()
    times = {line.split(":")[0].split()[0]: int(line.split("resampled ")[1].split()[0]) for line in lines}
    assert 0 < times["gESS"] < times["ESS"]
