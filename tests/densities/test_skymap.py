"""Maps of the sphere, several curves on one Axes, and results as tables in notebooks."""

from __future__ import annotations

import re

import numpy as np
import pytest

import heatess as he

pytest.importorskip("matplotlib")


def drawn(ax, name):
    (found,) = [artist for artist in ax.get_children() if artist.get_gid() == name]
    return found


def frame(points, names):
    pandas = pytest.importorskip("pandas")
    lon, lat = np.degrees(np.arctan2(points[:, 1], points[:, 0])) % 360, np.degrees(np.arcsin(points[:, 2]))
    return he.Measure(pandas.DataFrame({names[0]: lon, names[1]: lat}))


@pytest.mark.parametrize(("names", "mirror"), [(("lon", "lat"), 1), (("ra", "dec"), -1)])
def test_a_map_shows_the_density_where_it_is(names, mirror):
    points = he.samplers.von_mises_fisher(60, [0, 1, 0], 20, rng=0)
    measure = frame(points, names)
    ax = he.plot.sky(measure, angle=20)
    values = np.asarray(drawn(ax, "heatess-density").get_array())
    rows, columns = values.shape
    lat = np.pi * (np.arange(rows) + 0.5) / rows - np.pi / 2
    lon = 2 * np.pi * (np.arange(columns) + 0.5) / columns - np.pi
    lon, lat = np.meshgrid(lon, lat)
    at = he.from_lonlat(mirror * lon.ravel(), lat.ravel(), units="rad")
    exact = he.potential(measure, at=at, angle=20, kind="density").reshape(values.shape)
    np.testing.assert_allclose(values, np.maximum(exact, exact.max() * 10**-2.5), rtol=1e-4)
    column = np.unravel_index(values.argmax(), values.shape)[1]
    assert np.degrees(lon[0, column]) == pytest.approx(90 * mirror, abs=15)  # right ascension grows to the left
    places = np.asarray(drawn(ax, "heatess-atoms").get_offsets())
    np.testing.assert_allclose(places[:, 0], mirror * np.arctan2(points[:, 1], points[:, 0]), atol=1e-9)


def test_a_map_is_drawn_where_it_is_asked_for_and_nowhere_else():
    from matplotlib.figure import Figure

    cloud = he.samplers.uniform(30, rng=0)
    ax = Figure().add_subplot(projection="mollweide")
    assert he.plot.sky(cloud, ax=ax, atoms=False) is ax
    assert not [artist for artist in ax.get_children() if artist.get_gid() == "heatess-atoms"]
    with pytest.raises(he.InputError, match="mollweide"):
        he.plot.sky(cloud, ax=Figure().add_subplot())
    with pytest.raises(he.InputError, match=r"needs unit vectors on Sphere\(2\)"):
        he.plot.sky(np.eye(4))
    with pytest.raises(he.ScaleError):
        he.plot.sky(cloud, angle=5, time=0.1)


def test_several_curves_share_scales_that_fit_all():
    pair = {"wide": he.samplers.uniform(100, rng=0), "narrow": he.samplers.von_mises_fisher(100, [0, 0, 1], 500, rng=0)}
    ax = he.plot.compare(pair)
    lines = [line for line in ax.get_lines() if (line.get_gid() or "").startswith("heatess-curve")]
    assert [line.get_label() for line in lines] == ["wide", "narrow"]
    ends = [he.heat_profile(points).angles for points in pair.values()]
    for line, points in zip(lines, pair.values(), strict=True):
        assert line.get_xdata()[0] == pytest.approx(min(part[0] for part in ends))
        assert line.get_xdata()[-1] == pytest.approx(max(part[-1] for part in ends))
        np.testing.assert_allclose(line.get_ydata(), he.heat_profile(points, angles=line.get_xdata()).gess, rtol=1e-6)
    profiles = [he.heat_profile(points, angles=[5, 10, 20]) for points in pair.values()]
    labels = [text.get_text() for text in he.plot.compare(profiles, quantity="volume").get_legend().get_texts()]
    assert labels == ["A", "B"]


@pytest.mark.parametrize(
    ("items", "how", "message"),
    [
        ([], {}, "a list or a mapping"),
        ([np.eye(3)], {"names": ["a", "b"]}, "names must be 1"),
        ([np.eye(3), np.eye(4)], {}, "must be on one space"),
    ],
)
def test_curves_that_cannot_be_compared_are_refused(items, how, message):
    with pytest.raises(he.InputError, match=message):
        he.plot.compare(items, **how)


def cells(html: str) -> list[list[str]]:
    return [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row) for row in re.findall(r"<tr>(.*?)</tr>", html)]


def test_a_profile_in_a_notebook_has_units_and_digits_worth_reading():
    profile = he.heat_profile(he.samplers.fibonacci(3000), angles=[2, 20, 150])
    head, fine, _, coarse = cells(profile._repr_html_())
    assert head == ["scale (degrees)", "resolution (degrees)", "gESS", "volume (%)", "dimension", "relative error"]
    assert fine[:2] == ["2", "2"]
    assert fine[2] == f"{profile.gess[0]:,.0f}"
    assert coarse[1] == "-"  # there is no resolution at so coarse a scale
    assert "nan" not in profile._repr_html_()


def test_lengths_have_no_degrees_where_distances_are_not_angles():
    head, first, *_ = cells(he.heat_profile([[0.0, 1.0], [2.0, 3.0]], space=he.Euclidean(2))._repr_html_())
    assert head[0] == "scale"
    assert first[3] == "-"  # no volume


@pytest.mark.filterwarnings("ignore:the chains have not mixed")
def test_every_kind_of_result_is_a_table_of_words_and_numbers():
    cloud = he.samplers.tetrahedral(60, 40.0, rng=0)
    results = [
        he.power_spectrum(cloud, max_degree=4),
        he.summarize(cloud),
        he.population_profile(cloud, angles=[10, 20]),
        he.uniformity_test(cloud, angles=[20, 40]),
        he.compare(cloud[:30], cloud[30:], angles=[20, 40], names=("old", "new"), rng=0, draws=99),
        he.maximum_entropy(cloud, angle=20, max_degree=2),
        he.thin(cloud, size=20, angle=20),
        he.gradient(cloud, angle=20),
        he.chain_ess(cloud, angles=[20, 40]),
    ]
    for result in results:
        head, *rows = cells(result._repr_html_())
        assert rows
        assert not [label for label in head if re.search(r"[a-z]_|pvalues", label)]
        assert not {"nan", "inf"} & {cell for row in rows for cell in row}
    assert cells(results[4]._repr_html_())[0][2:4] == ["gESS of old", "gESS of new"]
