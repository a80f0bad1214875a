"""Whatever is wrong with an input, the answer is a heatess error or right: no bare Python error, no warning of NumPy.

Cases are made by combination: every public function with everything that may be wrong with each of its arguments.
"""

from __future__ import annotations

import datetime
import decimal
import fractions
import math
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import heatess as he
from heatess.cli import main
from heatess.readers import open_table, read
from heatess.tables.column_meaning import Reading
from heatess.tables.points_and_weights import take
from plain_words import python_in

ERRORS = (he.InputError, he.PrecisionError, he.CostError, he.MissingExtraError)
AXES = np.eye(3)
CLOUD = he.samplers.fibonacci(12)
WEIGHTS = np.arange(1.0, 13.0)


class Hostile:
    """An object that refuses whatever NumPy asks of it."""

    def __array__(self, *args: Any, **more: Any) -> Any:
        raise RuntimeError("no array for you")

    def __len__(self) -> int:
        raise RuntimeError("no length either")

    def __repr__(self) -> str:
        return "Hostile()"


def rows(*changes: tuple[int, Any]) -> np.ndarray:
    array = CLOUD.copy()
    for row, value in changes:
        array[row] = value
    return array


NOT_NUMBERS: dict[str, Any] = {
    "None": None,
    "a word": "abc",
    "bytes": b"abc",
    "words": ["a"] * 12,
    "complex": np.ones(12) * 1j,
    "objects": np.array([object()] * 12),
    "a dict": {"a": 1},
    "a set": {1, 2},
    "a function": len,
    "a class": float,
    "a generator": (i for i in range(3)),
    "dates": np.array(["2020-01-01"] * 12, "datetime64[D]"),
    "spans of time": np.ones(12, "timedelta64[s]"),
    "a date": datetime.date(2020, 1, 1),
    "decimals": [decimal.Decimal(1)] * 12,
    "fractions": [fractions.Fraction(1, 3)] * 12,
    "records": np.zeros(12, [("x", float), ("y", int)]),
    "huge integers": [10**400] * 12,
    "ragged": [[1.0, 2.0], [3.0]],
    "deeply nested": [[[[[[1.0]]]]]],
    "with None": [1.0, None, *[2.0] * 10],
    "hostile": Hostile(),
    "a module": math,
    "ellipsis": ...,
    "strings of numbers": ["1"] * 12,
    "a memoryview": memoryview(b"123"),
}

BAD_POINTS: dict[str, Any] = NOT_NUMBERS | {
    "a number": 3.0,
    "no rows": np.zeros((0, 3)),
    "no columns": np.zeros((12, 0)),
    "one column": np.ones((12, 1)),
    "a vector": np.ones(3),
    "three axes": np.ones((2, 2, 3)),
    "a scalar array": np.array(1.0),
    "empty list": [],
    "list of empty lists": [[], []],
    "nan": rows((3, np.nan)),
    "inf": rows((3, np.inf)),
    "-inf": rows((0, -np.inf)),
    "zero row": rows((5, 0.0)),
    "long rows": 2 * CLOUD,
    "short rows": 1e-200 * CLOUD,
    "huge rows": 1e300 * CLOUD,
    "one long row": rows((7, 2.0)),
    "float16": CLOUD.astype(np.float16),
    "integers": np.arange(36).reshape(12, 3),
    "rounded integers": np.full((12, 3), 2**53 + 1),
    "booleans": np.ones((12, 3), bool),
    "masked": np.ma.masked_array(CLOUD, mask=np.eye(12, 3)),
    "complex rows": CLOUD + 0j,
    "object rows": CLOUD.astype(object),
    "words in rows": CLOUD.astype(str),
    "long doubles beyond": CLOUD.astype(np.longdouble) * np.longdouble(10) ** 400,
    "four columns": np.ones((12, 4)),
    "negative strides of nan": rows((0, np.nan))[::-1],
    "a measure twice": he.Measure(AXES),
}

BAD_WEIGHTS: dict[str, Any] = {k: v for k, v in NOT_NUMBERS.items() if k != "None"} | {
    "a number": 3.0,
    "too few": np.ones(11),
    "too many": np.ones(13),
    "none at all": [],
    "negative": -WEIGHTS,
    "one negative": WEIGHTS - 2,
    "nan": np.where(WEIGHTS == 4, np.nan, WEIGHTS),
    "inf": np.where(WEIGHTS == 4, np.inf, WEIGHTS),
    "all zero": np.zeros(12),
    "all minus infinity": np.full(12, -np.inf),
    "two columns": np.ones((12, 2)),
    "a row": np.ones((1, 12)),
    "a square": np.ones((12, 12)),
    "rounded integers": np.full(12, 2**62 + 1),
    "masked": np.ma.masked_array(WEIGHTS, mask=WEIGHTS == 2),
    "complex weights": WEIGHTS + 0j,
    "object weights": WEIGHTS.astype(object),
    "tiny": np.full(12, 5e-324),
    "huge": np.full(12, 1.7e308),
    "one of 1e300": np.where(WEIGHTS == 4, 1e300, WEIGHTS),
    "-1e300 and up": WEIGHTS * -1e300,
    "long doubles beyond": np.full(12, np.longdouble(10) ** 400),
}

BAD_SPACES: dict[str, Any] = {
    "a word": "Sphere(2)",
    "a class": he.Sphere,
    "a number": 2,
    "a list": [he.Sphere(2)],
    "hostile": Hostile(),
    "another dimension": he.Sphere(5),
    "a torus of another dimension": he.Torus(2),
    "rotations": he.Rotations(),
    "a measure": he.Measure(AXES),
    "false": False,
    "hyperbolic": he.Hyperbolic(2),
    "a product": he.Product(he.Sphere(2), he.Circle()),
}

BAD_SCALES: dict[str, Any] = {
    "zero": 0.0,
    "negative": -5.0,
    "nan": math.nan,
    "inf": math.inf,
    "tiny": 1e-320,
    "huge": 1e300,
    "too fine": 1e-150,
    "true": True,
    "a word": "5",
    "complex": 1j,
    "an object": object(),
    "hostile": Hostile(),
    "a dict": {"a": 1},
    "an integer beyond": 10**400,
    "rounded integer": 2**53 + 1,
    "a date": datetime.date(2020, 1, 1),
    "decimal": decimal.Decimal(5),
    "fraction": fractions.Fraction(5, 2),
    "a string array": np.array("x"),
    "180.1": 180.1,
    "1e9": 1e9,
}
BAD_GRIDS: dict[str, Any] = BAD_SCALES | {
    "empty": [],
    "two axes": [[5.0, 10.0]],
    "one bad": [5.0, -1.0],
    "one nan": [5.0, np.nan],
    "ragged": [[5.0], [5.0, 6.0]],
    "with None": [5.0, None],
    "masked": np.ma.masked_array([5.0, 6.0], mask=[0, 1]),
    "a set": {5.0},
    "a generator": (x for x in [5.0]),
    "booleans": [True, False],
}
BAD_NUMBERS: dict[str, Any] = {
    "zero": 0,
    "negative": -1,
    "nan": math.nan,
    "inf": math.inf,
    "true": True,
    "a word": "1e-8",
    "None": None,
    "a list": [1e-8],
    "an array": np.array([1e-8, 1e-8]),
    "complex": 1j,
    "an object": object(),
    "hostile": Hostile(),
    "a fraction": fractions.Fraction(1, 3),
    "half": 2.5,
    "an integer beyond": 10**400,
}


def UNIFORM(n: int, rng: np.random.Generator) -> np.ndarray:
    return he.samplers.uniform(n, rng=rng)


PROFILE = he.heat_profile(CLOUD, angles=[20, 60])
SPECTRUM = he.power_spectrum(CLOUD, max_degree=4)
STATE = he.Accumulator(max_degree=30).add(CLOUD)

#: Functions of points, each called with good arguments of its own.
OF_POINTS: dict[str, Callable[..., Any]] = {
    "heat_profile": lambda *a, **k: he.heat_profile(*a, **{"angles": [30]} | k),
    "heat_profile pairs": lambda *a, **k: he.heat_profile(*a, **{"angles": [30], "pairs": 1000, "rng": 1} | k),
    "heat_profile local": lambda *a, **k: he.heat_profile(*a, **{"angles": [3], "method": "local"} | k),
    "heat_profile pairwise": lambda *a, **k: he.heat_profile(*a, **{"angles": [30], "method": "pairwise"} | k),
    "gess": lambda *a, **k: he.gess(*a, **{"angle": 30} | k),
    "gess_ratio": lambda *a, **k: he.gess_ratio(*a, **{"angle": 30} | k),
    "potential": lambda *a, **k: he.potential(*a, **{"angle": 30} | k),
    "density": lambda *a, **k: he.potential(*a, **{"angle": 30, "kind": "density"} | k),
    "power_spectrum": lambda *a, **k: he.power_spectrum(*a, **{"max_degree": 4} | k),
    "summarize": he.summarize,
    "Measure": he.Measure,
    "Accumulator.add": lambda points, weights=None, *, log_weights=None, space=None: he.Accumulator(
        space, max_degree=10
    ).add(points, weights, log_weights=log_weights),
    "leinster_cobbold": lambda *a, **k: he.baselines.leinster_cobbold(*a, **{"angle": 30} | k),
    "small_time": lambda *a, **k: he.asymptotics.small_time(*a, **{"angles": [2]} | k),
    "pairwise_overlap": lambda *a, **k: he.asymptotics.pairwise_overlap(*a, **{"angles": [2]} | k),
    "low_frequency": lambda *a, **k: he.asymptotics.low_frequency(*a, **{"angles": [90]} | k),
    "large_time": lambda *a, **k: he.asymptotics.large_time(*a, **{"angles": [90]} | k),
}
#: Those that take many scales, and those that take one.
MANY = (
    "heat_profile",
    "heat_profile pairs",
    "summarize",
    "small_time",
    "pairwise_overlap",
    "low_frequency",
    "large_time",
)
ONE = ("gess", "gess_ratio", "potential", "density")

SPACES: dict[str, tuple[Any, Any]] = {
    "Sphere(2)": (he.Sphere(2), 3),
    "Sphere(5)": (he.Sphere(5), 6),
    "Projective(2)": (he.Projective(2), 3),
    "ComplexProjective(2)": (he.ComplexProjective(2), 3),
    "Rotations()": (he.Rotations(), 4),
    "Circle()": (he.Circle(), 1),
    "Torus(3)": (he.Torus(3), 3),
    "Euclidean(3)": (he.Euclidean(3), 3),
    "Hyperbolic(2)": (he.Hyperbolic(2), 3),
    "Product": (he.Product(he.Sphere(2), he.Circle()), None),
    "Graph": (he.Graph(np.roll(np.eye(12), 1, axis=0) + np.roll(np.eye(12), -1, axis=0)), None),
}

Case = tuple[str, Callable[[], Any]]


def cases_of_points() -> Iterator[Case]:
    for name, call in OF_POINTS.items():
        for kind, points in BAD_POINTS.items():
            yield f"{name}: points {kind}", lambda call=call, points=points: call(points)
        for kind, weights in BAD_WEIGHTS.items():
            yield f"{name}: weights {kind}", lambda call=call, w=weights: call(CLOUD, w)
            yield f"{name}: log_weights {kind}", lambda call=call, w=weights: call(CLOUD, log_weights=w)
        for kind, space in BAD_SPACES.items():
            yield f"{name}: space {kind}", lambda call=call, s=space: call(CLOUD, space=s)
        yield f"{name}: both weights", lambda call=call: call(CLOUD, WEIGHTS, log_weights=WEIGHTS)


def cases_of_scales() -> Iterator[Case]:
    for name in MANY:
        for scale in ("angles", "times", "resolutions"):
            for kind, value in BAD_GRIDS.items():
                arguments = {"angles": None, scale: value}
                yield f"{name}: {scale} {kind}", lambda n=name, a=arguments: OF_POINTS[n](CLOUD, **a)
        yield f"{name}: two scales", lambda n=name: OF_POINTS[n](CLOUD, angles=[5], times=[1.0])
    for name in ONE:
        for scale in ("angle", "time", "resolution"):
            for kind, value in BAD_GRIDS.items():
                arguments = {"angle": None, scale: value}
                yield f"{name}: {scale} {kind}", lambda n=name, a=arguments: OF_POINTS[n](CLOUD, **a)
        yield f"{name}: no scale", lambda n=name: OF_POINTS[n](CLOUD, angle=None)
    for scale in ("angle", "time", "resolution"):
        for kind, value in BAD_GRIDS.items():
            yield f"at: {scale} {kind}", lambda s=scale, v=value: PROFILE.at(**{s: v})
    for scale in ("angles", "times", "resolutions"):
        for kind, value in BAD_GRIDS.items():
            yield f"Accumulator.profile: {scale} {kind}", lambda s=scale, v=value: STATE.profile(**{s: v})
    for kind, value in BAD_GRIDS.items():
        yield f"leinster_cobbold: angle {kind}", lambda v=value: he.baselines.leinster_cobbold(CLOUD, angle=v)
        yield f"merging: distance {kind}", lambda v=value: he.asymptotics.merging(v, 0.1)
        yield f"merging: times {kind}", lambda v=value: he.asymptotics.merging(0.1, v)


def cases_of_options() -> Iterator[Case]:
    for name in ("heat_profile", "heat_profile pairs", "gess", "potential", "density"):
        for kind, value in BAD_NUMBERS.items():
            yield f"{name}: rtol {kind}", lambda n=name, v=value: OF_POINTS[n](CLOUD, rtol=v)
    for kind, value in BAD_NUMBERS.items():
        yield f"pairs {kind}", lambda v=value: he.heat_profile(CLOUD, angles=[30], pairs=v, rng=1)
        yield f"rng {kind}", lambda v=value: he.heat_profile(CLOUD, angles=[30], pairs=1000, rng=v)
        yield f"method {kind}", lambda v=value: he.heat_profile(CLOUD, angles=[30], method=v)
        yield f"progress {kind}", lambda v=value: he.heat_profile(CLOUD, angles=[30], progress=v)
        yield f"kind {kind}", lambda v=value: he.potential(CLOUD, angle=30, kind=v)
        yield f"spectrum max_degree {kind}", lambda v=value: he.power_spectrum(CLOUD, max_degree=v)
        yield f"Accumulator max_degree {kind}", lambda v=value: he.Accumulator(max_degree=v)
        yield f"Accumulator.profile rtol {kind}", lambda v=value: STATE.profile(rtol=v)
        yield f"Accumulator.load {kind}", lambda v=value: he.Accumulator.load(v)
        yield f"Accumulator.save {kind}", lambda v=value: STATE.save(v)
        yield f"low_frequency degrees {kind}", lambda v=value: he.asymptotics.low_frequency(CLOUD, degrees=v)
        yield f"merging share {kind}", lambda v=value: he.asymptotics.merging(0.1, 0.1, share=v)
        yield f"read {kind}", lambda v=value: read(v)
        yield f"pieces {kind}", lambda v=value: list(take(open_table(v), Reading(), 5))
        yield f"plot {kind}", lambda v=value: PROFILE.plot(quantity=v)
        yield f"plot on {kind}", lambda v=value: PROFILE.plot(ax=v) if v is not None else None
        yield f"plot of a spectrum on {kind}", lambda v=value: SPECTRUM.plot(ax=v) if v is not None else None
        yield f"uniform n {kind}", lambda v=value: he.samplers.uniform(v, rng=1)
        yield f"uniform dim {kind}", lambda v=value: he.samplers.uniform(5, v, rng=1)
        yield f"uniform rng {kind}", lambda v=value: he.samplers.uniform(5, rng=v)
        yield f"fibonacci n {kind}", lambda v=value: he.samplers.fibonacci(v)
        yield f"fibonacci rng {kind}", lambda v=value: he.samplers.fibonacci(5, rng=v)
        yield f"girdle spread {kind}", lambda v=value: he.samplers.girdle(5, spread=v, rng=1)
        yield f"girdle clip {kind}", lambda v=value: he.samplers.girdle(5, clip=v, rng=1)
        yield f"tetrahedral kappa {kind}", lambda v=value: he.samplers.tetrahedral(5, v, rng=1)
        yield f"von Mises kappa {kind}", lambda v=value: he.samplers.von_mises_fisher(5, [0, 0, 1], v, rng=1)
        yield f"mixture {kind}", lambda v=value: he.samplers.mixture(5, v, rng=1)
        yield f"mixture shares {kind}", lambda v=value: he.samplers.mixture(5, [UNIFORM], v, rng=1)
    for kind, value in BAD_POINTS.items():
        yield f"potential at {kind}", lambda v=value: he.potential(CLOUD, at=v, angle=30)
        yield f"mean {kind}", lambda v=value: he.samplers.von_mises_fisher(5, v, 2.0, rng=1)
    for kind, value in BAD_WEIGHTS.items():
        yield f"ess {kind}", lambda v=value: he.baselines.ess(v)
        yield f"perplexity_ess {kind}", lambda v=value: he.baselines.perplexity_ess(v)


def cases_of_spaces() -> Iterator[Case]:
    for name in ("Sphere", "Projective", "ComplexProjective", "Torus", "Euclidean", "Hyperbolic"):
        for kind, value in BAD_NUMBERS.items():
            yield f"{name} dim {kind}", lambda n=name, v=value: getattr(he, n)(v)
    for kind, value in (BAD_NUMBERS | BAD_GRIDS).items():
        yield f"Torus periods {kind}", lambda v=value: he.Torus(2, periods=v)
        yield f"Product scales {kind}", lambda v=value: he.Product(he.Circle(), he.Sphere(2), metric_scales=v)
        yield f"Product of {kind}", lambda v=value: he.Product(he.Circle(), v)
        yield f"Product alone of {kind}", lambda v=value: he.Product(v)
    yield "Product of nothing", he.Product
    for name, (space, _) in SPACES.items():
        for kind, points in BAD_POINTS.items():
            yield f"{name}: check {kind}", lambda s=space, p=points: s.check(p)
            yield f"{name}: gess {kind}", lambda s=space, p=points: he.gess(p, space=s, time=0.1)
    for kind, value in BAD_POINTS.items():
        yield f"Graph {kind}", lambda v=value: he.Graph(v)
        yield f"PointCloud {kind}", lambda v=value: he.PointCloud(v)
        yield f"Mesh vertices {kind}", lambda v=value: he.Mesh(v, [[0, 1, 2]])
        yield f"Mesh faces {kind}", lambda v=value: he.Mesh(CLOUD, v)


CASES = [*cases_of_points(), *cases_of_scales(), *cases_of_options(), *cases_of_spaces()]


def sane(found: Any) -> bool:
    """What must hold of an answer, whatever was asked: no nan where none is documented, and gESS from 1 to n."""
    if isinstance(found, he.HeatProfile):
        return bool((found.gess >= 1).all() and (found.gess <= found.ess).all() and found.ess <= found.n * (1 + 1e-12))
    if isinstance(found, float | np.floating):
        return not math.isnan(found)
    if isinstance(found, np.ndarray):
        return found.dtype.kind not in "fc" or not np.isnan(found).any()
    if isinstance(found, he.Measure):
        return bool(abs(found.weights.sum() - 1) < 1e-9)
    return True


def outcome(call: Callable[[], Any]) -> str:
    """Empty if a call was refused by heatess or gave a sane answer; else what went wrong."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", he.PrecisionWarning)
        warnings.simplefilter("ignore", he.ScaleWarning)
        try:
            found = call()
        except ERRORS as error:
            return "" if str(error).strip() and "\n" not in str(error) else f"unclear message {str(error)!r}"
        except Exception as error:
            return f"{type(error).__name__}: {str(error)[:120]}"
    return "" if sane(found) else f"answer {found!r}"


def test_every_kind_of_bad_input_is_refused_by_heatess_or_answered_right(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert len(CASES) == len({name for name, _ in CASES}) >= 600
    wrong = {name: fault for name, call in CASES if (fault := outcome(call))}
    assert not wrong, "\n".join(f"{name}: {fault}" for name, fault in wrong.items())


@pytest.mark.parametrize("name", ["gess", "heat_profile", "heat_profile pairwise"])
def test_weights_that_look_bad_but_are_good_count_as_they_should(name):
    def answer(*given: Any, **more: Any) -> float:
        found = OF_POINTS[name](*given, **more)
        return float(found.gess[0]) if isinstance(found, he.HeatProfile) else found

    equal, rising = answer(CLOUD), answer(CLOUD, WEIGHTS)
    for kind in ("tiny", "huge"):
        assert answer(CLOUD, BAD_WEIGHTS[kind]) == pytest.approx(equal, rel=1e-12)
    for kind in ("tiny", "all zero", "huge"):
        assert answer(CLOUD, log_weights=BAD_WEIGHTS[kind]) == pytest.approx(equal, rel=1e-12)
    assert answer(CLOUD, BAD_WEIGHTS["one of 1e300"]) == pytest.approx(1, rel=1e-12)
    assert answer(CLOUD, log_weights=BAD_WEIGHTS["-1e300 and up"]) == pytest.approx(1, rel=1e-12)
    assert answer(CLOUD, log_weights=np.log(WEIGHTS) - 1e4) == pytest.approx(rising, rel=1e-9)


# Files, and the command line.

CSV: dict[str, str | bytes] = {
    "empty": "",
    "blank": "\n\n  \n",
    "header only": "x,y,z\n",
    "one column": "x\n1\n",
    "unknown columns": "a,b,c\n1,0,0\n",
    "half a place": "lon\n5\n",
    "two columns of one name": "x,x,y,z\n1,1,0,0\n",
    "two weights": "x,y,z,w,weight\n1,0,0,1,1\n",
    "weights and logs": "x,y,z,w,logw\n1,0,0,1,1\n",
    "vectors and places": "x,y,z,lon,lat\n1,0,0,20,30\n",
    "too few fields": "x,y,z\n1,0\n",
    "too many fields": "x,y,z\n1,0,0,5\n",
    "a word": "x,y,z\n1,0,zero\n",
    "an empty field": "x,y,z\n1,,0\n",
    "nan": "x,y,z\nnan,0,0\n",
    "inf": "x,y,z\ninf,0,0\n",
    "1e999": "x,y,z\n1e999,0,0\n",
    "not a unit vector": "x,y,z\n1,1,0\n",
    "zero vector": "x,y,z\n0,0,0\n",
    "negative weight": "x,y,z,w\n1,0,0,-1\n",
    "nan weight": "x,y,z,w\n1,0,0,nan\n",
    "inf weight": "x,y,z,w\n1,0,0,inf\n",
    "zero weights": "x,y,z,w\n1,0,0,0\n",
    "inf log-weight": "x,y,z,logw\n1,0,0,inf\n",
    "no log-weight": "x,y,z,logw\n1,0,0,-inf\n",
    "rounded weight": "x,y,z,w\n1,0,0,9007199254740993\n",
    "5000 digits": "x,y,z,w\n1,0,0," + "7" * 5000 + "\n",
    "latitude 91": "lon,lat\n50,91\n",
    "longitude 400": "lon,lat\n400,10\n",
    "degrees or radians": "lon,lat\n1,1\n",
    "a quote that never ends": 'x,y,z\n"1,0,0\n',
    "text after a quote": 'x,y,z\n"1"a,0,0\n',
    "a null byte": "x,y,z\n1,0,\x000\n",
    "latin-1": "x,y,z\n1,0,0\n".replace("x", "\xe9").encode("latin-1"),
    "utf-32": "x,y,z\n1,0,0\n".encode("utf-32"),
    "bytes": bytes(range(256)),
    "zeros": bytes(1000),
    "a field too long": "x,y,z\n1,0," + "0" * 200_000 + "\n",
    "100,000 columns": ",".join(f"c{i}" for i in range(100_000)) + "\n1\n",
    "underscores": "x,y,z\n1_0,0,0\n",
    "hexadecimal": "x,y,z\n0x1,0,0\n",
    "complex": "x,y,z\n1+0j,0,0\n",
    "true": "x,y,z\nTrue,False,False\n",
    "line breaks of old": "x,y,z\r1,0,0\r2,0,0\r",
    "only commas": ",,,\n,,,\n",
    "html": "<html><body>not found</body></html>",
    "json": '{"x": [1, 2]}',
    "a zip": b"PK\x03\x04" + bytes(100),
    "gzip": b"\x1f\x8b\x08" + bytes(100),
}

ARRAYS: dict[str, Any] = {
    "no rows": np.zeros((0, 3)),
    "a vector": np.ones(3),
    "a number": np.array(1.0),
    "one column": np.ones((3, 1)),
    "three axes": np.ones((2, 2, 2)),
    "words": np.array([["a", "b"]]),
    "complex": np.eye(3) + 0j,
    "booleans": np.eye(3, dtype=bool),
    "dates": np.zeros((3, 3), "datetime64[s]"),
    "records": np.zeros(3, [("x", float)]),
    "void": np.zeros((3, 3), "V8"),
    "nan": np.full((3, 3), np.nan),
    "inf": np.full((3, 3), np.inf),
    "not unit": np.ones((3, 3)),
    "zero": np.zeros((3, 3)),
    "huge": np.full((3, 3), 1e300),
    "rounded": np.full((3, 3), 2**53 + 1),
    "no columns": np.zeros((3, 0)),
    "float16": np.full((3, 3), 0.57, np.float16),
}


def npy(array: Any) -> bytes:
    from io import BytesIO

    stream = BytesIO()
    np.save(stream, array, allow_pickle=False)
    return stream.getvalue()


GOOD_NPY = npy(AXES)
NPY: dict[str, bytes] = {kind: npy(array) for kind, array in ARRAYS.items()} | {
    "empty": b"",
    "magic only": GOOD_NPY[:6],
    "half a header": GOOD_NPY[:40],
    "header only": GOOD_NPY[:128],
    "half the data": GOOD_NPY[:-20],
    "too much data": GOOD_NPY + b"more",
    "version 9": GOOD_NPY[:6] + b"\x09\x00" + GOOD_NPY[8:],
    "a header that is no dict": GOOD_NPY.replace(b"{'descr'", b"['descr'"),
    "a header without end": GOOD_NPY.replace(b"}", b"("),
    "10^15 rows": GOOD_NPY.replace(b"(3, 3), }" + b" " * 15, b"(1000000000000000, 3), }"),
    "negative rows": GOOD_NPY.replace(b"(3, 3)", b"(-3,3)"),
    "an unknown type": GOOD_NPY.replace(b"<f8", b"<q9"),
    "objects": GOOD_NPY.replace(b"'<f8'", b"'|O' "),
    "a pickle": b"\x80\x04K\x01.",
    "an npz": b"PK\x03\x04",
    "text": b"x,y,z\n1,0,0\n",
}


def parquet_files() -> dict[str, bytes]:
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    def stored(columns: dict[str, Any]) -> bytes:
        sink = pa.BufferOutputStream()
        parquet.write_table(pa.table(columns), sink, write_page_checksum=True)
        return sink.getvalue().to_pybytes()

    axes = {"x": [1.0, 0.0], "y": [0.0, 1.0], "z": [0.0, 0.0]}
    good = stored(axes)
    tables: dict[str, dict[str, Any]] = {
        "no rows": {name: pa.array([], pa.float64()) for name in "xyz"},
        "no columns": {},
        "words": axes | {"z": ["a", "b"]},
        "nulls": axes | {"z": [0.0, None]},
        "dates": axes | {"z": np.zeros(2, "datetime64[s]")},
        "decimals": axes | {"z": pa.array([1, 2], pa.decimal128(5))},
        "booleans": axes | {"z": [True, False]},
        "structs": {"x": [{"a": 1}, {"a": 2}]},
        "nan": axes | {"z": [0.0, math.nan]},
        "no unit vectors": axes | {"z": [1.0, 1.0]},
        "negative weights": axes | {"w": [1.0, -1.0]},
        "rounded weights": axes | {"w": [1, 2**53 + 1]},
        "ragged lists": {"embedding": [[1.0, 0.0], [1.0]]},
        "empty lists": {"embedding": pa.array([[], []], pa.list_(pa.float64()))},
        "lists with null": {"embedding": [[1.0, None], [1.0, 0.0]]},
        "a null list": {"embedding": [[1.0, 0.0], None]},
        "lists of words": {"embedding": [["a"], ["b"]]},
        "lists of lists": {"embedding": [[[1.0]], [[1.0]]]},
        "vectors twice": {"embedding": [[1.0, 0.0]], "vector": [[1.0, 0.0]]},
        "unknown": {"a": [1.0], "b": [2.0]},
    }
    found = {kind: stored(columns) for kind, columns in tables.items()}
    cuts = {"empty": b"", "magic": good[:4], "half": good[: len(good) // 2], "no end": good[:-4], "text": b"x,y\n1,2\n"}
    return found | cuts | {"a byte changed": good[:30] + bytes([good[30] ^ 255]) + good[31:]}


GRIDS = ["", "a", "5:", "5:6", "5:120:0", "5:120:-1", "5:120:1e9", "5:120:10001", "0", "-5", "nan", "inf", "1e400"]
GRIDS += ["5,,6", "5:120:60:7", ":::", "5;6", "5:nan:3", "[5,6]", "5,1e999", ","]
NUMBERS = ["", "a", "0", "-1", "nan", "inf", "1e400", "1,5", "9" * 400, "0x10", "1e-16", "1"]
BOUNDS = [
    "",
    "gess",
    "gess@",
    "gess@20deg",
    "gess@20deg=",
    "foo@20deg=5",
    "gess@-1deg=5",
    "gess@0deg=5",
    "@=",
    "gess@20=5",
]
BOUNDS += ["gess@infdeg=5", "gess@20deg=nan", "gess@20deg=5=6", "gess@@20deg=5", "gess@1e400deg=5", "gess@20deg=1e9"]
OUTPUTS = [
    "",
    "x",
    "sub",
    "no/dir/x",
    "x.txt",
    "bad\0.json",
    "a" * 300 + ".json",
    "sub.json",
    "good.npy",
]
COLUMNS = ["", "nope", ",", "x,x", "a,b", "x,,y", "\0", "z" * 5000, "x,y,nope"]
FILES = [
    "",
    ".",
    "/",
    "nope.csv",
    "nope",
    "bad\0.csv",
    "a" * 5000 + ".csv",
    "sub",
    "/dev/null",
    "good.npz",
    "a.gz",
    "sub.json/",
]


def command_lines() -> Iterator[list[str]]:
    for command in (["profile", "good.npy"], ["profile", "good.csv"], ["merge", "state.npz"]):
        for option in ("--angles", "--times", "--resolutions"):
            yield from ([*command, option, value] for value in GRIDS)
        yield from ([*command, "--rtol", value] for value in NUMBERS if value != "1e400")
        yield from ([*command, "--fail-under", value] for value in BOUNDS)
        for option in ("--json", "--csv", "--plot"):
            yield from ([*command, option, value] for value in OUTPUTS)
        for words in (["--nope"], ["-q", "-v"], ["--angles", "5", "--times", "1"], ["--json", "-", "--csv", "-"]):
            yield [*command, *words]
    for command in (["profile", "good.csv"], ["accumulate", "good.csv", "-o", "new.npz"], ["profile", "good.npy"]):
        for option in ("--lon", "--lat", "--xyz", "--vector", "--weights", "--log-weights"):
            yield from ([*command, option, value] for value in COLUMNS)
        yield from ([*command, "--units", value] for value in ("", "degrees", "DEG", "grad", "rad"))
        yield [*command, "--weights", "w", "--log-weights", "w"]
    accumulate = ["accumulate", "good.csv", "-o", "new.npz"]
    for option in ("--max-degree", "--finest"):
        yield from ([*accumulate, option, value] for value in NUMBERS if value != "1" or option == "--max-degree")
    yield from (["accumulate", "good.csv", "-o", value] for value in OUTPUTS)
    for file in FILES:
        yield ["profile", file]
        yield ["merge", file]
        yield ["accumulate", file, "-o", "new.npz"]
    yield from (["reproduce", "--only", value] for value in ("", "nope", ",", "tables,nope"))
    yield from (["reproduce", "--only", "digits", "--seed", value] for value in ("-1", "a", "1.5"))
    yield from ([command, "--out", "good.npy"] for command in ("demo", "reproduce"))
    yield from ([], ["nope"], ["good.csv"], ["profile"], ["merge"], ["accumulate"], ["-x"], ["--json", "-"])


def complaint(words: list[str], *, least: int = 2) -> str:
    """What is wrong with how the command line refuses *words*; empty if nothing is."""
    result = CliRunner().invoke(main, words)
    if words == [] and result.exit_code == 0:  # the help
        return ""
    lines = result.stderr.strip().splitlines()
    if not least <= result.exit_code <= 4:
        return f"exit code {result.exit_code}: {result.output[-200:]}"
    if result.exit_code != 4 and (result.stdout or not lines or not lines[-1].startswith("heatess: ")):
        return f"not one sentence: {result.output[-200:]}"
    if result.exit_code != 4 and python_in(lines[-1]):
        return f"Python without a word about it: {lines[-1]}"
    return "internal error" if "internal error" in result.stderr or "Traceback" in result.stderr else ""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("good.npy", AXES)
    Path("good.csv").write_text("x,y,z\n1,0,0\n0,1,0\n0,0,1\n")
    he.Accumulator(max_degree=160).add(AXES).save("state.npz")
    Path("sub").mkdir()
    Path("sub.json").mkdir()
    return tmp_path


def unchanged(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def test_every_bad_command_line_is_refused_in_one_sentence_and_changes_no_file(folder):
    before = unchanged(folder)
    lines = list(command_lines())
    assert len(lines) >= 400
    wrong = {" ".join(words)[:100]: fault for words in lines if (fault := complaint(words))}
    assert not wrong, "\n".join(f"{words}: {fault}" for words, fault in wrong.items())
    assert unchanged(folder) == before


@pytest.mark.slow
def test_every_bad_file_is_refused_in_one_sentence_that_names_it(folder):
    contents = {f"csv {kind}": (".csv", text) for kind, text in CSV.items()}
    contents |= {f"tsv {kind}": (".tsv", text) for kind, text in CSV.items()}
    contents |= {f"npy {kind}": (".npy", data) for kind, data in NPY.items()}
    contents |= {f"parquet {kind}": (".parquet", data) for kind, data in parquet_files().items()}
    assert len(contents) >= 150
    wrong = {}
    for kind, (suffix, content) in contents.items():
        bad = folder / f"bad{suffix}"
        bad.write_bytes(content if isinstance(content, bytes) else content.encode())
        for words in (["profile", bad.name], ["accumulate", bad.name, "-o", "new.npz", "--force"]):
            zero = "accumulate" in words and ("zero weights" in kind or "no log-weight" in kind)
            wrong[f"{kind}: {words[0]}"] = "" if zero else complaint(words)
        wrong[f"{kind}: read"] = outcome(lambda bad=bad: read(bad))
        bad.unlink()
    wrong = {kind: fault for kind, fault in wrong.items() if fault}
    assert not wrong, "\n".join(f"{kind}: {fault}" for kind, fault in wrong.items())


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("1,0,0\n0,1,0\n", he.Measure(AXES[:2])),
        ('x;y;z\n"1,0";"0,0";"0,0"\n', he.Measure(AXES[:1])),
        ("x,y,z\n1,0,0\n".encode("utf-16"), he.Measure(AXES[:1])),
        ("x,y,z,w\n0,0,0.6,0.8\n", he.Measure(np.array([[0, 0, 0.6, 0.8]]), space=he.Rotations())),
    ],
    ids=["no header", "decimal commas", "utf-16", "quaternions"],
)
@pytest.mark.parametrize("suffix", [".csv", ".tsv"])
def test_odd_files_that_can_be_read_are_read_right(folder, content, expected, suffix):
    path = folder / f"odd{suffix}"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    found = read(path)
    assert found.space == expected.space
    np.testing.assert_array_equal(found.points, expected.points)


@pytest.mark.parametrize(
    "field", ["space", "columns", "units", "weights", "log_weights", "normalize", "drop_missing", "lon", "ra", "qx"]
)
@pytest.mark.parametrize(
    "value", [5, 1.5, b"x", ["x"], {"x": 1}, object(), ("x", 5), (5, 6), True, "", "nope", Hostile()]
)
def test_options_of_the_wrong_kind_are_refused_by_the_readers(folder, field, value):
    given = (
        {field: value} if field in Reading.__annotations__ else {"columns": {field: value, "lat": "y", "dec": value}}
    )
    for file in ("good.csv", "good.npy"):
        assert outcome(lambda file=file: read(file, **given)) == ""


# Data in parts.


def test_bad_arguments_of_dask_collections_are_refused(folder):
    da = pytest.importorskip("dask.array")
    x = da.from_array(CLOUD, chunks=(5, 3))
    cases: dict[str, Callable[[], Any]] = {}
    for kind, value in BAD_WEIGHTS.items():
        cases[f"weights {kind}"] = lambda v=value: he.heat_profile(x, v, angles=[30])
        cases[f"log_weights {kind}"] = lambda v=value: he.heat_profile(x, log_weights=v, angles=[30])
    for kind, value in BAD_SPACES.items():
        cases[f"space {kind}"] = lambda v=value: he.heat_profile(x, space=v, angles=[30])
    for kind, value in BAD_NUMBERS.items():
        cases[f"method {kind}"] = lambda v=value: he.heat_profile(x, angles=[30], method=v)
        cases[f"pairs {kind}"] = lambda v=value: he.heat_profile(x, angles=[30], pairs=v)
        cases[f"progress {kind}"] = lambda v=value: he.heat_profile(x, angles=[30], progress=v)
        cases[f"rtol {kind}"] = lambda v=value: he.heat_profile(x, angles=[30], rtol=v)
    for kind in ("nan", "inf", "zero row", "long rows", "one long row", "complex rows", "words in rows", "integers"):
        bad = da.from_array(BAD_POINTS[kind], chunks=(5, 3))
        cases[f"points {kind}"] = lambda bad=bad: he.heat_profile(bad, angles=[30])
        cases[f"points {kind} by pairs"] = lambda bad=bad: he.heat_profile(bad, angles=[30], method="pairwise")
    for kind, bad in {"one axis": x[:, 0], "three axes": x[None], "no rows": x[:0], "one column": x[:, :1]}.items():
        cases[f"points with {kind}"] = lambda bad=bad: he.heat_profile(bad, angles=[30])
    wrong = {kind: fault for kind, call in cases.items() if (fault := outcome(call))}
    assert not wrong, "\n".join(f"{kind}: {fault}" for kind, fault in wrong.items())


def test_bad_arguments_of_profile_parquet_are_refused(folder):
    pytest.importorskip("dask")
    from heatess.distributed import profile_parquet

    for name, content in parquet_files().items():
        (folder / f"{name}.parquet").write_bytes(content)
    cases: dict[str, Callable[[], Any]] = {}
    for name in parquet_files():
        cases[f"file {name}"] = lambda name=name: profile_parquet(folder / f"{name}.parquet", angles=[30])
    good = folder / "good.csv"
    for kind, value in (
        BAD_NUMBERS | {"an empty list": [], "names": ["nope.parquet", 5], "bytes": b"x", "csv": good}
    ).items():
        cases[f"paths {kind}"] = lambda v=value: profile_parquet(v, angles=[30])
    file = folder / "nan.parquet"
    for kind, value in BAD_NUMBERS.items():
        for option in (
            "points",
            "lon",
            "lat",
            "units",
            "weights",
            "log_weights",
            "normalize",
            "rtol",
            "angles",
            "progress",
        ):
            arguments = {"angles": [30.0], option: value}
            cases[f"{option} {kind}"] = lambda a=arguments: profile_parquet(file, **a)
        if value is not None:
            cases[f"client {kind}"] = lambda v=value: profile_parquet(file, angles=[30], client=v)
    wrong = {kind: fault for kind, call in cases.items() if (fault := outcome(call))}
    assert not wrong, "\n".join(f"{kind}: {fault}" for kind, fault in wrong.items())
