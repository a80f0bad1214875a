"""HEALPix maps say their frame and the size of their pixels, and any of their columns may be the weights."""

from __future__ import annotations

import numpy as np
import pytest
from click.testing import CliRunner

import heatess as he
from heatess.cli import main

table = pytest.importorskip("astropy.table")
healpix = pytest.importorskip("astropy_healpix")


def sky(path, nside=4, header=(), **columns):
    columns = columns or {"PROB": np.arange(1.0, 12 * nside**2 + 1)}
    frame = table.Table(columns)
    frame.meta = {"PIXTYPE": "HEALPIX", "ORDERING": "RING", "NSIDE": nside, "INDXSCHM": "IMPLICIT", **dict(header)}
    frame.write(path, overwrite=True)
    return path


@pytest.mark.parametrize(
    ("header", "frame"),
    [
        ({"COORDSYS": "C"}, "icrs"),
        ({"COORDSYS": "EQUATORIAL"}, "icrs"),
        ({"COORDSYS": "ICRS"}, "icrs"),
        ({"COORDSYS": "G"}, "galactic"),
        ({"COORDSYS": "GALACTIC"}, "galactic"),
        ({"COORDSYS": "E"}, "ecliptic"),
        ({"RADESYS": "FK5"}, "icrs"),
        ({"COORDSYS": "UNKNOWN"}, None),
        ({}, None),
    ],
)
def test_the_header_tells_the_frame(tmp_path, header, frame):
    found = he.read(sky(tmp_path / "a.fits", header=header))
    assert found.known.frame == frame
    assert found.known.kind == "cells"
    assert found.origin.about == "sky"


@pytest.mark.parametrize("nside", [1, 4, 32])
def test_a_cell_is_the_root_of_the_area_of_a_pixel(tmp_path, nside):
    side = healpix.nside_to_pixel_resolution(nside).to_value("deg")
    assert he.read(sky(tmp_path / "a.fits", nside)).known.cell == pytest.approx(side, rel=1e-12)
    assert he.from_healpix(np.ones(12 * nside**2), order="ring").known.cell == pytest.approx(side, rel=1e-12)


def test_an_array_has_the_frame_that_is_said():
    assert he.from_healpix(np.ones(48), order="ring").known.frame is None
    assert he.from_healpix(np.ones(48), order="ring", frame="galactic").known.frame == "galactic"
    with pytest.raises(he.InputError, match="frame must be one of 'icrs', 'galactic'"):
        he.from_healpix(np.ones(48), order="ring", frame="lunar")


def multi_order(**columns):
    """Eleven large pixels, and the twelfth cut into sixteen."""
    levels = np.repeat([0, 2], [11, 16])
    pixels = np.concatenate([np.arange(11), 11 * 16 + np.arange(16)])
    frame = table.Table({"UNIQ": healpix.level_ipix_to_uniq(levels, pixels), **columns})
    frame.meta = {"PIXTYPE": "HEALPIX", "ORDERING": "NUNIQ", "COORDSYS": "C"}
    return frame, levels


@pytest.mark.parametrize(("share", "level"), [(0.94, 0), (0.96, 2)])
def test_the_cell_of_a_multi_order_map_holds_most_of_its_weight(share, level):
    frame, _ = multi_order(PROB=np.repeat([(1 - share) / 11, share / 16], [11, 16]))
    side = healpix.nside_to_pixel_resolution(2**level).to_value("deg")
    assert he.Measure(frame).known.cell == pytest.approx(side, rel=1e-12)


def test_values_of_a_multi_order_map_are_per_area_unless_said_otherwise():
    frame, levels = multi_order(FLUX=np.ones(27))
    found = he.read(frame)
    np.testing.assert_allclose(found.weights, 0.25**levels / 12, rtol=1e-12)
    assert found.origin.description.endswith("weight is FLUX times the area of its pixel")
    totals = he.read(frame, area=False)
    np.testing.assert_allclose(totals.weights, np.ones(27) / 27, rtol=1e-12)
    shares, _ = multi_order(PROB=np.ones(27))
    np.testing.assert_allclose(he.read(shares).weights, np.ones(27) / 27, rtol=1e-12)


def test_the_column_of_weights_is_chosen_as_the_message_says(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    values = np.arange(1.0, 193)
    sky("a.fits", I_STOKES=values, HITS=values[::-1].copy())
    result = CliRunner().invoke(main, ["profile", "a.fits", "--angles", "20"])
    assert result.exit_code == 3
    assert result.stderr.strip().endswith("choose with --weights I_STOKES or --weights HITS")
    assert CliRunner().invoke(main, ["profile", "a.fits", "--angles", "20", "--weights", "I_STOKES"]).exit_code == 0
    np.testing.assert_allclose(he.read("a.fits", weights="i_stokes").weights, values / values.sum(), rtol=1e-12)
    logs = he.read("a.fits", log_weights="HITS")
    np.testing.assert_allclose(logs.weights, np.exp(1 - np.arange(1, 193)) * (1 - np.exp(-1)), rtol=1e-12)
    assert np.ptp(he.read("a.fits", weights="none").weights) == 0
    with pytest.raises(he.InputError, match="without a column 'Q'; it has I_STOKES, HITS"):
        he.read("a.fits", weights="Q")


def test_inspect_shows_the_columns_of_a_map(tmp_path):
    sky(tmp_path / "a.fits", NHI=np.arange(192.0), HITS=np.ones(192))
    text = CliRunner().invoke(main, ["inspect", str(tmp_path / "a.fits"), "--weights", "NHI"]).output
    assert "2 columns, HEALPix map, nside 4, ring, 192 pixels" in text
    assert "192 pixels of a HEALPix map (nside 4, ring); weight is NHI" in text
    assert "posterior" not in text


def test_signed_maps_and_other_arguments_are_refused(tmp_path):
    path = sky(tmp_path / "a.fits", TEMPERATURE=np.linspace(-1, 1, 192))
    with pytest.raises(
        he.InputError, match=r"TEMPERATURE is -1 in pixel 0 \(96 of 192 pixels\), but weights are finite"
    ):
        he.read(path)
    with pytest.raises(he.InputError, match="its points are its pixels; leave out columns="):
        he.read(path, columns=["x", "y"])
    with pytest.raises(he.InputError, match="which has no axes to select from; leave out select="):
        he.read(path, select={"time": 0})
    with pytest.raises(he.InputError, match="no pixel has a value"):
        he.read(sky(tmp_path / "b.fits", PROB=np.full(192, np.nan)))


def test_the_order_of_a_partial_map_may_be_in_the_header(tmp_path):
    frame = table.Table({"PIXEL": [3, 5], "VALUE": [1.0, 2.0]})
    frame.meta = {"PIXTYPE": "HEALPIX", "ORDERING": "NESTED", "ORDER": 3, "INDXSCHM": "EXPLICIT"}
    frame.write(tmp_path / "a.fits")
    expected = np.stack(healpix.healpix_to_xyz([3, 5], 8, order="nested"), axis=-1)
    np.testing.assert_array_equal(he.read(tmp_path / "a.fits").points, expected)
