"""Every argument of every public function takes any object at all: the answer is right, or an error of heatess."""

from __future__ import annotations

import datetime
import decimal
import inspect
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import heatess as he

ERRORS = (he.InputError, he.PrecisionError, he.CostError, he.MissingExtraError)


class Silent:
    """An object without a repr, which is therefore hard to name in a message."""

    def __repr__(self) -> str:
        raise RuntimeError("no repr")


class NoArray:
    def __array__(self, *args: Any, **more: Any) -> Any:
        raise RuntimeError("no array")

    def __len__(self) -> int:
        raise RuntimeError("no length")


ODD: dict[str, Callable[[], Any]] = {
    "an array": lambda: np.array([1.0, 2.0]),
    "an object without repr": Silent,
    "a span of time": lambda: np.timedelta64(3, "s"),
    "a huge array": lambda: np.broadcast_to(np.array([0.0, 0.0, 1.0]), (10**12, 3)),
    "no array": NoArray,
}
MORE: dict[str, Callable[[], Any]] = {
    "words": lambda: np.array(["a", "b"]),
    "an array of one word": lambda: np.array("deg"),
    "a huge column": lambda: np.broadcast_to(1.0, 10**12),
    "bytes": lambda: b"deg",
    "a set": lambda: {1, 2},
    "a date": lambda: np.datetime64("2020-01-01"),
    "a day": lambda: datetime.date(2020, 1, 1),
    "complex": lambda: 1 + 2j,
    "decimal": lambda: decimal.Decimal(3),
    "a word": lambda: "abc",
    "a surrogate": lambda: "\udc80",
    "negative": lambda: -3,
    "true": lambda: True,
    "an integer beyond": lambda: 10**400,
    "a generator": lambda: (k for k in range(3)),
    "nested": lambda: [[1], [2, 3]],
    "a record": lambda: np.zeros(3, [("x", float)]),
    "objects without repr": lambda: [Silent(), Silent()],
    "a class": lambda: float,
    "nan": lambda: np.nan,
    "nothing": lambda: None,
    "an empty array": lambda: np.empty((0, 3)),
    "a space": he.Circle,
}

CLOUD = he.samplers.uniform(30, rng=1)
RING = np.roll(np.eye(12), 1, axis=0) + np.roll(np.eye(12), -1, axis=0)
TETRAHEDRON = {
    "vertices": [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]],
    "faces": [[0, 1, 2], [0, 1, 3], [0, 2, 3], [1, 2, 3]],
}

#: A good call of each function that is not made of its name alone.
CALLS: dict[str, dict[str, Any]] = {
    **{name: {"points": CLOUD, "angle": 40.0} for name in ("gess", "potential", "redundancy", "gradient")},
    **{name: {"points": CLOUD, "angles": [40.0]} for name in ("heat_profile", "population_profile")},
    **{name: {"a": CLOUD, "b": CLOUD[:20], "angles": [40.0]} for name in ("mmd2", "mmd")},
    "uniformity_test": {"points": CLOUD, "angles": [40.0], "draws": 20, "rng": 1},
    "two_sample_test": {"a": CLOUD, "b": CLOUD[:20], "angles": [40.0], "draws": 20, "rng": 1},
    "k_sample_test": {"samples": [CLOUD, CLOUD[:20]], "angles": [40.0], "draws": 20, "rng": 1},
    "goodness_of_fit": {"points": CLOUD, "law": "uniform", "angles": [40.0], "draws": 20, "rng": 1},
    "gess_ratio": {"points": CLOUD, "weights": np.arange(1.0, 31.0), "angle": 40.0},
    "summarize": {"points": CLOUD},
    "power_spectrum": {"points": CLOUD, "max_degree": 3},
    "thin": {"points": CLOUD, "size": 5, "angle": 40.0},
    "chain_ess": {"points": he.samplers.uniform(120, rng=1).reshape(2, 60, 3), "angles": [40.0], "rng": 1},
    "pareto_k": {"log_weights": np.linspace(0, 3, 60)},
    "maximum_entropy": {"points": CLOUD, "angle": 60.0, "max_degree": 2},
    "Measure": {"points": CLOUD},
    "Accumulator": {"max_degree": 5},
    "ResamplingCriterion": {"space": he.Sphere(2), "angle": 40.0},
    "Sphere": {"dim": 2},
    "Projective": {"dim": 2},
    "ComplexProjective": {"dim": 2},
    "Euclidean": {"dim": 2},
    "Hyperbolic": {"dim": 2},
    "Torus": {"dim": 2},
    "Circle": {},
    "Rotations": {},
    "Graph": {"adjacency": RING},
    "Mesh": TETRAHEDRON,
    "PointCloud": {"points": CLOUD},
    "from_lonlat": {"lon": [1.0], "lat": [2.0], "units": "deg"},
    "from_spherical": {"colatitude": [1.0], "azimuth": [2.0], "units": "deg"},
    "from_decinc": {"dec": [1.0], "inc": [2.0], "units": "deg"},
    "from_euler": {"angles": [[1.0, 2.0, 3.0]], "convention": "ZYZ", "units": "deg"},
    "from_healpix": {"values": np.ones(12), "order": "ring"},
    "samplers.uniform": {"n": 5, "rng": 1},
    "samplers.fibonacci": {"n": 5},
    "baselines.ess": {"weights": [1.0, 2.0]},
    "baselines.leinster_cobbold": {"points": CLOUD, "angle": 40.0},
    "plot.draw_profile": {"profile": he.heat_profile(CLOUD, angles=[20, 60])},
    "plot.draw_spectrum": {"spectrum": he.power_spectrum(CLOUD, max_degree=3)},
    "plot.compare": {"items": [he.heat_profile(CLOUD, angles=[20, 60])]},
    "read": {"path": {"x": CLOUD[:, 0], "y": CLOUD[:, 1], "z": CLOUD[:, 2]}},
}
#: Calls that take longer.
LONG: dict[str, dict[str, Any]] = {
    "compare": {"a": CLOUD, "b": CLOUD[:20], "angles": [40.0], "draws": 20, "rng": 1},
    "report": {"measures": he.Measure(CLOUD), "path": "page.html", "angles": [20.0, 60.0]},
}
SCALES = ("angle", "time", "resolution", "angles", "times", "resolutions")


def function(name: str) -> Callable[..., Any]:
    found: Any = he
    for part in name.split("."):
        found = getattr(found, part)
    return found


def wrong(name: str, objects: dict[str, Callable[[], Any]]) -> list[str]:
    """What a function does with odd arguments that is neither an answer nor an error of heatess."""
    if name in ("from_healpix",):
        pytest.importorskip("astropy_healpix")
    if name.startswith("plot."):
        pytest.importorskip("matplotlib")
    call, good, found = function(name), (CALLS | LONG)[name], []
    call(**good)
    for argument in (own for own in inspect.signature(call).parameters.values() if own.kind != own.VAR_KEYWORD):
        kept = {key: value for key, value in good.items() if not (argument.name in SCALES and key in SCALES)}
        for kind, make in objects.items():
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    call(**kept | {argument.name: make()})
            except ERRORS:
                pass
            except Exception as error:
                found.append(f"{name}({argument.name}={kind}): {type(error).__name__}")
    return found


@pytest.mark.parametrize("name", CALLS)
def test_odd_arguments_are_refused_in_words(name):
    assert not wrong(name, ODD)


@pytest.mark.slow
@pytest.mark.parametrize("name", CALLS)
def test_more_odd_arguments_are_refused_in_words(name):
    assert not wrong(name, MORE)


@pytest.mark.slow
@pytest.mark.parametrize("name", LONG)
def test_odd_arguments_of_long_calls_are_refused_in_words(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # a word is a path too
    assert not wrong(name, ODD | MORE)


def test_what_stands_for_a_word_is_named_with_the_words():
    with pytest.raises(he.InputTypeError, match=r"units must be 'deg' or 'rad', but is array\(\[1, 2\]\); say which"):
        he.from_lonlat([1.0], [2.0], units=np.array([1, 2]))
    with pytest.raises(he.InputTypeError, match=r"space must be a heatess space such as Sphere\(2\), but is 3"):
        he.chain_ess(he.samplers.uniform(120, rng=1).reshape(2, 60, 3), space=3)
    with pytest.raises(he.InputTypeError, match="profile must be a HeatProfile, as heat_profile gives it, but is 3"):
        he.plot.draw_profile(3)
    with pytest.raises(he.InputTypeError, match=r"units must be .*, but is an object of type Silent"):
        he.from_lonlat([1.0], [2.0], units=Silent())


def test_an_array_that_repeats_one_row_is_refused_at_once_with_what_to_do():
    row = np.array([0.0, 0.0, 1.0])
    with pytest.raises(he.InputError, match="give each row once, and how often it counts as its weight"):
        he.two_sample_test(np.broadcast_to(row, (10**12, 3)), CLOUD)
    assert he.Measure([row, [0, 1, 0]], [10**12, 1]).ess < 1.1
