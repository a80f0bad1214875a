"""Every result has one manner: frozen, plain values and back, tables, datasets, a picture, one line and HTML."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest

import heatess as he
from heatess.base.results import Result
from heatess.densities.smoothing import Sums

pytest.importorskip("matplotlib")
from matplotlib.axes import Axes

CLOUD = he.samplers.tetrahedral(120, 60.0, rng=0)
OTHER = he.samplers.von_mises_fisher(80, [0, 0, 1], 10.0, rng=1)
WEIGHTS = np.random.default_rng(2).random(120) + 0.1
FEW = {"angles": [10, 20, 40]}

MAKERS = {
    "HeatProfile": lambda: he.heat_profile(CLOUD, WEIGHTS),
    "PowerSpectrum": lambda: he.power_spectrum(CLOUD, max_degree=5),
    "Summary": lambda: he.summarize(CLOUD, WEIGHTS),
    "PopulationProfile": lambda: he.population_profile(CLOUD, **FEW),
    "Band": lambda: he.population_profile(CLOUD, **FEW).places,
    "UniformityTest": lambda: he.uniformity_test(CLOUD),
    "TwoSampleTest": lambda: he.two_sample_test(CLOUD, OTHER, **FEW, draws=19, rng=0),
    "KSampleTest": lambda: he.k_sample_test({"a<b": CLOUD, "c": OTHER, "d": CLOUD[:60]}, **FEW, draws=19, rng=0),
    "GoodnessOfFit": lambda: he.goodness_of_fit(CLOUD, "uniform", **FEW, draws=19, rng=0),
    "Comparison": lambda: he.compare(CLOUD, OTHER, names=("<i>a</i>", "b"), **FEW, draws=19, rng=0),
    "Thinned": lambda: he.thin(he.Measure(CLOUD, labels=[f"p{k}" for k in range(120)]), size=20, angle=20),
    "Gradient": lambda: he.gradient(CLOUD, angle=20),
    "ChainEss": lambda: he.chain_ess(OTHER, **FEW),
    "MaximumEntropy": lambda: he.maximum_entropy(CLOUD, angle=30, max_degree=3),
    "Modes": lambda: he.modes(CLOUD),
    "Plateaus": lambda: he.heat_profile(CLOUD).plateaus(),
    "Density": lambda: he.density(CLOUD, WEIGHTS),
    "Region": lambda: he.density(CLOUD, angle=40).region([0.5, 0.9]),
}
#: The same in places where something is missing, infinite, complex or of one entry.
ODD = {
    "Gradient on a torus": lambda: he.gradient([[0.1, 0.2], [1.0, 2.0]], space=he.Torus(2), time=0.1),
    "Modes, one alone": lambda: he.modes(OTHER),
    "Region, one level": lambda: he.density(CLOUD, angle=40).region(0.9),
    "PopulationProfile, flat": lambda: he.population_profile(
        np.random.default_rng(0).normal(size=(60, 2)), space=he.Euclidean(2), times=[0.01, 0.1]
    ),
    "HeatProfile, flat": lambda: he.heat_profile(CLOUD[:, :2], space=he.Euclidean(2), times=[0.01, 0.1]),
    "Comparison without a test": lambda: he.compare(
        he.Measure(CLOUD, kind="complete"), he.Measure(OTHER, kind="complete"), angles=[20]
    ),
    "Density of float32": lambda: he.density(CLOUD.astype(np.float32), angle=30),
    "Density of parts": lambda: he.density(he.Accumulator(max_degree=40).add(CLOUD), angle=30),
    "Density of states": lambda: he.density(np.eye(3) + 0j, space=he.ComplexProjective(2), time=0.1),
    "Plateaus, none": lambda: he.heat_profile(he.samplers.uniform(50, rng=0)).plateaus(),
}


@pytest.fixture(scope="module")
def made():
    """Results by name, each made once."""
    found: dict[str, Result] = {}

    def make(name: str) -> Result:
        if name not in found:
            found[name] = (MAKERS | ODD)[name]()
        return found[name]

    return make


def same(one: object, other: object, where: str) -> None:
    """Bit for bit, types of arrays included."""
    assert type(one) is type(other), where
    if isinstance(one, np.ndarray):
        assert one.dtype == other.dtype, where
        np.testing.assert_array_equal(one, other, err_msg=where)
    elif isinstance(one, Sums):
        for name in ("coefficients", "low", "n", "ess", "degree"):
            same(getattr(one, name), getattr(other, name), f"{where}.{name}")
    elif isinstance(one, he.Measure):
        for name in ("points", "weights"):
            same(getattr(one, name), getattr(other, name), f"{where}.{name}")
        assert one.space == other.space
        assert one.known.to_dict() == other.known.to_dict()
        np.testing.assert_array_equal(one.known.labels, other.known.labels)
    elif isinstance(one, Result):
        fields = [field.name for field in dataclasses.fields(one) if field.name not in (*one._unsaved, "_resolutions")]
        for name in dict.fromkeys([*fields, *(name for name in one.columns if hasattr(one, name))]):
            same(getattr(one, name), getattr(other, name), f"{where}.{name}")
    elif isinstance(one, tuple):
        assert len(one) == len(other), where
        for k, (a, b) in enumerate(zip(one, other, strict=True)):
            same(a, b, f"{where}[{k}]")
    elif isinstance(one, float):
        np.testing.assert_array_equal(one, other, err_msg=where)
    elif not isinstance(one, he.Known):
        assert one == other, where


def test_all_results_are_looked_at():
    every = {getattr(he, name) for name in he.__all__}
    assert {kind.__name__ for kind in every if isinstance(kind, type) and issubclass(kind, Result)} == {*MAKERS}


@pytest.mark.parametrize("name", [*MAKERS, *ODD])
def test_a_result_comes_back_bit_for_bit_from_json(made, name):
    found = made(name)
    text = found.to_json()
    again = type(found).from_json(text)
    same(found, again, name)
    assert again.to_json() == text
    assert repr(again) == repr(found)
    assert json.loads(text)["schema"] == found.schema == f"{found.schema[:-2]}/1"


@pytest.mark.parametrize("name", [*MAKERS, *ODD])
def test_tables_and_datasets_have_every_column(made, name):
    found = made(name)
    pytest.importorskip("pandas")
    xarray = pytest.importorskip("xarray")
    frame, data = found.to_frame(), found.to_xarray()
    assert isinstance(data, xarray.Dataset)
    for column in (column for column, values in found._table().items() if values.ndim == 1):
        np.testing.assert_array_equal(frame[column], found._column(column))
        shown = data.get(column)
        if shown is None:  # a coordinate, which has the name of one
            shown = next(one for one in data.coords.values() if np.array_equal(one, frame[column], equal_nan=True))
        np.testing.assert_array_equal(shown, found._column(column))
    for other in found._others:
        np.testing.assert_array_equal(data[other], getattr(found, other))
    assert set(frame.attrs) == {*found._facts()}
    assert None not in data.attrs.values()


@pytest.mark.parametrize("name", [*MAKERS, *ODD])
def test_a_result_has_one_line_and_escaped_html(made, name):
    found = made(name)
    assert repr(found).startswith(f"{type(found).__name__}(")
    assert "\n" not in repr(found)
    html = found._repr_html_()
    assert html.count("<table") == html.count("</table>") == 1
    assert "<i>" not in html
    assert "a<b" not in html
    assert "nan" not in html
    assert "e-38" not in html  # p-values of a limit are not told so far


@pytest.mark.parametrize("name", [name for name in [*MAKERS, *ODD] if not name.startswith("Density of states")])
def test_plot_returns_the_axes_and_takes_one(made, name):
    found = made(name)
    ax = found.plot()
    assert isinstance(ax, Axes)
    assert ax.get_xlabel() or ax.name == "mollweide" or name.startswith("KSample")
    with pytest.raises(he.InputError, match="ax must be"):
        found.plot("here")


@pytest.mark.parametrize("name", [*MAKERS])
def test_nothing_of_a_result_can_be_changed(made, name):
    found = made(name)
    for field in dataclasses.fields(found):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(found, field.name, 1)

    def arrays(value: object) -> None:
        if isinstance(value, np.ndarray):
            assert not value.flags.writeable
        for item in value if isinstance(value, tuple) else ():
            arrays(item)

    for field in dataclasses.fields(found):
        arrays(getattr(found, field.name))


@pytest.mark.parametrize("name", ["HeatProfile", "PopulationProfile", "ChainEss"])
def test_the_curve_is_drawn_beside_the_table(made, name):
    html = made(name)._repr_html_()
    assert html.startswith("<p>")
    assert html.index("<svg") < html.index("<table")
    points = html.partition('<polyline points="')[2].partition('"')[0].split()
    assert len(points) == len(made(name).times)
    heights = [float(point.partition(",")[2]) for point in points]
    values = np.asarray(made(name)._column(made(name)._curve))
    assert (np.argsort(heights, kind="stable")[::-1][0] == np.argmin(values)) or heights[-1] == max(heights)


def test_a_point_of_a_profile_is_rounded():
    point = he.heat_profile(CLOUD, **FEW).at(angle=20)
    assert repr(point).startswith("ProfilePoint(time=0.01523, angle=20, resolution=20.1, gess=6.28,")
    assert "<td" in point._repr_html_()


def test_a_measure_tells_a_notebook_what_is_known():
    measure = he.Measure(CLOUD, kind="complete", frame="galactic", labels=[f"<b>{k}</b>" for k in range(120)])
    html = measure._repr_html_()
    for word in ("Sphere(2)", "120", "a complete list", "galactic", "&lt;b&gt;0&lt;/b&gt;"):
        assert word in html
    assert "<b>" not in html


def test_what_is_not_finite_is_told_apart_in_json(made):
    found = made("Modes, one alone")
    content = json.loads(found.to_json())
    assert content["scales"] == [None]
    assert content["infinite"] == {"scales/0": "inf"}


@pytest.mark.parametrize("name", ["PowerSpectrum", "Modes"])
def test_other_json_is_refused(made, name):
    kind = type(made(name))
    with pytest.raises(he.InputError, match=f"but {kind.schema} is needed"):
        kind.from_json(made("HeatProfile").to_json())
    content = json.loads(made(name).to_json())
    first = kind.columns[0]
    with pytest.raises(he.InputError, match=f"{first} of this JSON must be numbers, but is 'many'"):
        kind.from_json(json.dumps(content | {first: "many"}))
    with pytest.raises(he.InputError, match=f"of this JSON has .* entries, but {first} has"):
        kind.from_json(json.dumps(content | {first: content[first][:1] * 9}))
