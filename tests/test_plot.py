"""Pictures show the numbers, name their levels, and leave no trace."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import heatess as he

pytest.importorskip("matplotlib")
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from heatess.drawing.axes import QUANTITIES
from heatess.plot import draw_profile, draw_spectrum


def curves(ax: Axes) -> list:
    return [line for line in ax.lines if (line.get_gid() or "").startswith("heatess-curve")]


def levels(ax: Axes) -> list[float]:
    return [line.get_ydata()[0] for line in ax.lines if (line.get_gid() or "").startswith("heatess-level")]


def names(ax: Axes) -> list[str]:
    return [text.get_text() for text in ax.texts]


def tick_labels(axis) -> list[str]:
    axis.figure.draw_without_rendering()
    low, high = sorted(axis.get_view_interval())
    return [tick.label1.get_text() for tick in axis.get_major_ticks() if low <= tick.get_loc() <= high]


@pytest.fixture(scope="module")
def cloud():
    points = he.samplers.uniform(1000, rng=5)
    return points, 20 * points[:, 2]


@pytest.fixture(scope="module")
def profile(cloud):
    return he.heat_profile(cloud[0], log_weights=cloud[1], angles=np.geomspace(5, 120, 60))


@pytest.fixture(scope="module")
def high():
    return he.heat_profile(he.samplers.uniform(60, dim=40, rng=0), resolutions=[80, 20, 40])


@pytest.mark.parametrize("quantity", list(QUANTITIES))
def test_a_curve_holds_the_numbers_of_the_profile(profile, quantity):
    ax = profile.plot(quantity=quantity)
    assert isinstance(ax, Axes)
    (line,) = curves(ax)
    np.testing.assert_array_equal(line.get_xdata(), profile.angles)
    np.testing.assert_array_equal(line.get_ydata(), getattr(profile, quantity))
    assert "degrees" in ax.get_xlabel()
    assert ax.get_ylabel() == QUANTITIES[quantity].label
    assert ax.get_xscale() == "log"
    assert ax.get_yscale() == ("log" if QUANTITIES[quantity].logarithmic else "linear")


def test_ess_and_n_are_named_levels(profile):
    ax = profile.plot()
    assert levels(ax) == pytest.approx([1000, profile.ess])
    assert names(ax) == ["n = 1,000", f"ESS = {profile.ess:.3g}"]


def test_equal_ess_and_n_are_one_level():
    ax = he.heat_profile(he.samplers.fibonacci(300)).plot()
    assert levels(ax) == [300]
    assert names(ax) == ["ESS = n = 300"]


def test_close_levels_have_names_on_either_side(cloud):
    weights = np.random.default_rng(0).uniform(0.7, 1, 1000)
    ax = he.heat_profile(cloud[0], weights).plot()
    assert [text.get_va() for text in ax.texts] == ["bottom", "top"]


def test_names_do_not_overlap(profile):
    ax = profile.plot()
    for n, spread in ((90, 0.0), (110, 0.5), (140, 0.9)):
        weights = np.random.default_rng(n).uniform(1 - spread, 1, n)
        he.heat_profile(he.samplers.fibonacci(n), weights).plot(ax)
    ax.figure.draw_without_rendering()
    boxes = [text.get_window_extent() for text in ax.texts]
    assert len(boxes) >= 5
    assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])


def test_ticks_are_plain_numbers(profile):
    ax = profile.plot()
    assert tick_labels(ax.xaxis) == ["5", "10", "20", "50", "100"]
    assert tick_labels(ax.yaxis)[:2] == ["1", "10"]
    assert "1,000" in tick_labels(ax.yaxis)


def test_narrow_ranges_still_have_ticks(cloud):
    ax = he.heat_profile(cloud[0], angles=[10, 11, 12]).plot()
    assert {"10", "11", "12"} <= set(tick_labels(ax.xaxis))


def test_above_ten_dimensions_the_scale_is_the_resolution(high):
    ax = high.plot()
    np.testing.assert_allclose(curves(ax)[0].get_xdata(), [20, 40, 80])
    np.testing.assert_array_equal(curves(ax)[0].get_ydata(), high.gess[[1, 2, 0]])
    assert ax.get_xlabel() == "resolution (degrees)"


def test_scales_without_a_resolution_are_left_out():
    with pytest.warns(he.ScaleWarning):
        profile = he.heat_profile(he.samplers.uniform(20, dim=40, rng=0), angles=[20, 170])
    assert np.isnan(profile.resolutions[1])
    assert len(curves(profile.plot())[0].get_xdata()) == 1


def test_several_profiles_differ_in_colour_and_dashes(profile):
    ax = profile.plot()
    for n in (50, 80):
        assert he.heat_profile(he.samplers.fibonacci(n)).plot(ax) is ax
    drawn = curves(ax)
    assert len({line.get_color() for line in drawn}) == 3
    assert len({str(line._dash_pattern) for line in drawn}) == 3
    assert levels(ax)[-1] == 80
    assert ax.get_ylim()[1] > 1000


def test_the_caller_may_style_the_curve(profile):
    (line,) = curves(profile.plot(color="black", linestyle=":", label="mine", linewidth=4))
    assert (line.get_color(), line.get_linestyle(), line.get_label(), line.get_linewidth()) == ("black", ":", "mine", 4)


def test_a_given_axes_is_used_and_returned(profile):
    figure = Figure()
    ax = figure.add_subplot()
    assert draw_profile(profile, ax) is ax
    assert figure.axes == [ax]


def test_an_unknown_quantity_is_refused(profile):
    with pytest.raises(he.InputError, match="'gess', 'volume', 'divergence', 'mmd2', 'dimension', but is 'power'"):
        profile.plot(quantity="power")


def test_the_spectrum_shows_energy_per_mode_without_degree_zero(cloud):
    spectrum = he.power_spectrum(cloud[0], log_weights=cloud[1], max_degree=20)
    ax = spectrum.plot()
    (line,) = curves(ax)
    np.testing.assert_array_equal(line.get_xdata(), np.arange(1, 21))
    np.testing.assert_allclose(line.get_ydata(), spectrum.energies[1:] / (2 * np.arange(1, 21) + 1))
    assert levels(ax) == [1 / spectrum.ess]
    assert ax.get_yscale() == "log"
    assert "degree" in ax.get_xlabel()
    assert any("1/ESS" in text.get_text() for text in ax.get_legend().get_texts())


def test_levels_without_energy_are_marked_at_the_foot():
    ax = he.power_spectrum([[0, 0, 1], [0, 0, -1]], max_degree=6).plot()
    (line,) = curves(ax)
    np.testing.assert_allclose(line.get_ydata()[1::2], 1)
    assert np.isnan(line.get_ydata()[::2]).all()
    (zeros,) = (artist for artist in ax.lines if (artist.get_gid() or "").startswith("heatess-zeros"))
    np.testing.assert_array_equal(zeros.get_xdata(), [1, 3, 5])
    assert ax.get_ylim()[0] > 0.01


def test_a_spectrum_on_a_given_axes(cloud):
    ax = Figure().add_subplot()
    spectrum = he.power_spectrum(cloud[0], max_degree=8)
    assert draw_spectrum(spectrum, ax, color="black") is ax
    assert curves(ax)[0].get_color() == "black"
    draw_spectrum(he.power_spectrum(cloud[0][:100], max_degree=8), ax)
    low, high = ax.get_ylim()
    assert low < 1 / 1000 < 1 / 100 < high


@pytest.mark.slow
def test_pyplot_is_not_imported_where_nothing_can_be_shown():
    code = (
        "import sys, io, heatess as he; x = he.samplers.fibonacci(20)\n"
        "he.heat_profile(x).plot().figure.savefig(io.BytesIO()); he.power_spectrum(x).plot()\n"
        "assert 'matplotlib.pyplot' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    ("backend", "before", "shown"),
    [
        ("module://tests_no_such_backend", "", False),  # a backend that cannot be loaded does no harm
        ("agg", "import matplotlib.pyplot; ", False),
        ("webagg", "import matplotlib.pyplot; ", True),
        ("webagg", "", False),
    ],
)
@pytest.mark.slow
def test_a_figure_belongs_to_pyplot_only_where_a_backend_that_shows_is_in_use(backend, before, shown, monkeypatch):
    pytest.importorskip("tornado" if backend == "webagg" else "matplotlib")
    monkeypatch.setenv("MPLBACKEND", backend)
    code = (
        f"import sys, heatess as he; {before}ax = he.heat_profile(he.samplers.fibonacci(20), angles=[10, 20]).plot()\n"
        "pyplot = sys.modules.get('matplotlib.pyplot')\n"
        "assert (pyplot is not None and pyplot.get_fignums() == [1]) == "
        f"{shown}"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_matplotlib_is_imported_only_to_draw():
    code = "import sys, heatess, heatess.plot, heatess.cli; assert 'matplotlib' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_without_matplotlib_the_install_line_is_given(profile, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(he.MissingExtraError, match=r"pip install 'heatess\[plot\]'"):
        profile.plot()
