"""Files of astronomers, Bayesians, microscopists and surface people give the numbers that were written into them."""

from __future__ import annotations

import gzip
import importlib
import pickle
import shlex
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import heatess as he
from heatess.readers.package_readers import split_label
from heatess.tables.read_options import Reading

fits = pytest.importorskip("astropy.io.fits")
healpix = pytest.importorskip("astropy_healpix")
h5py = pytest.importorskip("h5py")
starfile = pytest.importorskip("starfile")
nibabel = pytest.importorskip("nibabel")
trimesh = pytest.importorskip("trimesh")
pytest.importorskip("robust_laplacian")
pytest.importorskip("h5netcdf")
xarray = pytest.importorskip("xarray")
astropy_table = pytest.importorskip("astropy.table")

MODULES = ("fits", "votable", "xml_files", "hdf5", "netcdf", "star", "mesh")


def module_of(path):
    file, _ = split_label(Path(path))
    for name in MODULES:
        module = importlib.import_module(f"heatess.readers.{name}")
        if file.name.lower().endswith(module.SUFFIXES):
            return module
    raise AssertionError(path)


def table_of(path):
    return module_of(path).table(Path(path))


def read(path, rows=None):
    """Every column by its name, and the table."""
    table, _ = table_of(path).settled(Reading())
    names = [*table.names, *(name for name in table.lists if name != "rows")]
    pieces = list(table.pieces(names, rows))
    assert pieces[-1].done == 1
    columns = [np.concatenate([piece.columns[k] for piece in pieces]) for k in range(len(names))]
    return dict(zip(names, columns, strict=True)), table


def refused(path, *parts):
    with pytest.raises(he.InputError) as caught:
        read(path)
    message = str(caught.value)
    assert str(split_label(Path(path))[0]) in message
    assert "\n" not in message
    assert ";" in message, f"no advice in: {message}"
    for part in parts:
        assert part in message, message
    return message


# FITS tables


def write_fits(path, *columns, header=(), rows=None, primary=True):
    table = fits.BinTableHDU.from_columns([fits.Column(**column) for column in columns], nrows=rows or 0)
    for key, value in dict(header).items():
        table.header[key] = value
    fits.HDUList([fits.PrimaryHDU(), table] if primary else [table]).writeto(path)
    return path


def catalogue(path, n=50):
    rng = np.random.default_rng(1)
    ra, dec, vectors = rng.uniform(0, 360, n), rng.uniform(-90, 90, n), rng.normal(size=(n, 3)).astype("f4")
    write_fits(
        path,
        {"name": "RA", "format": "D", "unit": "deg", "array": ra},
        {"name": "DEC", "format": "E", "unit": "rad", "array": np.radians(dec).astype("f4")},
        {"name": "NAME", "format": "8A", "array": [f"s{k}" for k in range(n)]},
        {"name": "N", "format": "J", "null": -99, "array": np.where(np.arange(n) == 3, -99, np.arange(n))},
        {"name": "FLUX", "format": "I", "array": np.arange(n)},
        {"name": "VEC", "format": "3E", "array": vectors},
        {"name": "MANY", "format": "PD()", "array": np.array([np.ones(k % 3) for k in range(n)], dtype=object)},
        {"name": "OK", "format": "L", "array": np.ones(n, dtype=bool)},
        {"name": "ERR", "format": "D", "unit": "arcsec", "array": np.full(n, 7200.0)},
        header={"TSCAL5": 0.5, "TZERO5": 10.0},
    )
    return ra, dec, vectors


@pytest.mark.parametrize("name", ["a.fits", "a.fits.gz", "A.FIT"])
@pytest.mark.parametrize("rows", [None, 7])
def test_a_fits_catalogue_gives_its_numbers_and_units(tmp_path, name, rows):
    ra, dec, vectors = catalogue(tmp_path / "plain.fits")
    data = (tmp_path / "plain.fits").read_bytes()
    (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith("gz") else data)
    columns, table = read(tmp_path / name, rows)
    assert table.names == ["RA", "DEC", "N", "FLUX", "ERR"]
    assert table.lists == ["VEC"]
    assert table.units == {"RA": "deg", "DEC": "rad", "ERR": "deg"}
    np.testing.assert_array_equal(columns["RA"], ra)
    np.testing.assert_array_equal(columns["DEC"], np.radians(dec).astype("f4"))
    assert columns["DEC"].dtype == np.float32
    assert columns["DEC"].dtype.isnative
    np.testing.assert_array_equal(columns["N"], np.where(np.arange(50) == 3, np.nan, np.arange(50)))
    np.testing.assert_array_equal(columns["FLUX"], np.arange(50) * 0.5 + 10)
    np.testing.assert_allclose(columns["ERR"], 2.0, rtol=1e-15)
    np.testing.assert_array_equal(columns["VEC"], vectors)


def test_hours_of_time_stay_hours_and_hour_angles_become_degrees(tmp_path):
    columns = [{"name": "RAJ2000", "format": "D", "unit": "h", "array": np.array([1.5, 23.0])}]
    columns += [{"name": "ra", "format": "D", "unit": "hourangle", "array": np.array([1.5, 23.0])}]
    found, table = read(write_fits(tmp_path / "a.fits", *columns))
    np.testing.assert_array_equal(found["RAJ2000"], [1.5, 23.0])
    np.testing.assert_allclose(found["ra"], [22.5, 345.0], rtol=1e-15)
    assert table.units == {"RAJ2000": "hours", "ra": "deg"}
    assert table.converted == {"ra": "hourangle"}


def test_an_extension_is_chosen_by_name_or_number(tmp_path):
    tables = [
        fits.BinTableHDU.from_columns([fits.Column(name="ra", format="D", array=[float(k)])], name=name)
        for k, name in enumerate(["first", "second"])
    ]
    path = tmp_path / "a.fits"
    fits.HDUList([fits.PrimaryHDU(), *tables]).writeto(path)
    assert [read(f"{path}{label}")[0]["ra"][0] for label in ("", "::second", "::1", "::2")] == [0, 1, 0, 1]
    refused(f"{path}::third", "has no extension 'third'", "1 FIRST, 2 SECOND")


def test_text_tables_and_images_are_refused_and_the_advice_works(tmp_path):
    column = fits.Column(name="ra", format="F12.6", array=np.array([1.5, 2.5]), ascii=True)
    fits.TableHDU.from_columns([column]).writeto(tmp_path / "a.fits")
    refused(tmp_path / "a.fits", "its table is text", "Table.read(path).write(")
    astropy_table.Table.read(tmp_path / "a.fits").write(tmp_path / "new.fits")
    np.testing.assert_array_equal(read(tmp_path / "new.fits")[0]["ra"], [1.5, 2.5])
    fits.PrimaryHDU(np.ones((4, 4))).writeto(tmp_path / "b.fits")
    refused(tmp_path / "b.fits", "found PrimaryHDU", "images are not read")


# HEALPix maps: a posterior of the von Mises-Fisher kind, density proportional to exp(kappa mu.x)

KAPPA, ANGLE = 18.5, 8.3
MU = np.array([0.36, -0.48, 0.8])


def density(nside, pixels, order):
    cosine = np.stack(healpix.healpix_to_xyz(pixels, nside, order=order), axis=-1) @ MU
    return np.exp(KAPPA * (cosine - 1)) * KAPPA / (2 * np.pi * -np.expm1(-2 * KAPPA))


def flat_map(path, nside, order="NESTED", explicit=False, wide=False, column="PROB"):
    pixels = np.arange(12 * nside**2)
    values = density(nside, pixels, order.lower())
    values = values / values.sum() if column == "PROB" else values
    header = {"PIXTYPE": "HEALPIX", "ORDERING": order, "NSIDE": nside, "INDXSCHM": "IMPLICIT"}
    columns = []
    if explicit:
        pixels = np.flatnonzero(values > 1e-7 * values.max())
        values, header["INDXSCHM"] = values[pixels], "EXPLICIT"
        columns = [{"name": "PIXEL", "format": "J", "array": pixels}]
    shape = (-1, 1024) if wide else (-1,)
    columns += [{"name": column, "format": "1024D" if wide else "D", "array": values.reshape(shape)}]
    return write_fits(path, *columns, header=header)


def multi_order_map(path, nside):
    """Fine pixels of *nside* where the blob is, pixels of a quarter of it elsewhere."""
    coarse = np.arange(12 * (nside // 4) ** 2)
    near = density(nside // 4, coarse, "nested") > 1e-9
    fine = (coarse[near][:, None] * 16 + np.arange(16)).ravel()
    levels = np.repeat([nside.bit_length() - 3, nside.bit_length() - 1], [(~near).sum(), len(fine)])
    pixels = np.concatenate([coarse[~near], fine])
    values = density(2**levels, pixels, "nested")
    order = np.random.default_rng(0).permutation(len(pixels))
    uniq = healpix.level_ipix_to_uniq(levels, pixels)[order]
    return write_fits(
        path,
        {"name": "UNIQ", "format": "K", "array": uniq},
        {"name": "PROBDENSITY", "format": "D", "unit": "sr-1", "array": values[order]},
        {"name": "DISTMU", "format": "D", "array": values},
        header={"PIXTYPE": "HEALPIX", "ORDERING": "NUNIQ", "COORDSYS": "C", "INDXSCHM": "EXPLICIT"},
    )


def exact_gess(angle):
    """k_2t(x, x) / A(t) of the von Mises-Fisher density itself, from the integrals of Legendre polynomials."""
    nodes, weights = np.polynomial.legendre.leggauss(400)
    share = weights * np.exp(KAPPA * (nodes - 1))
    levels = np.arange(200)
    means = np.array([(share * np.polynomial.Legendre.basis(n)(nodes)).sum() for n in levels]) / share.sum()
    heat = (2 * levels + 1) * np.exp(-2 * levels * (levels + 1) * np.radians(angle) ** 2 / 8)
    return heat.sum() / (heat * means**2).sum()


def measured(path):
    columns, table = read(path)
    points = np.column_stack([columns[axis] for axis in "xyz"])
    assert table.about == "sky"
    assert table.names == ["x", "y", "z", "weight"]
    np.testing.assert_allclose(np.linalg.norm(points, axis=1), 1, atol=1e-14)
    return he.gess(points, columns["weight"], angle=ANGLE), he.baselines.ess(columns["weight"]), columns["weight"].sum()


@pytest.mark.parametrize("kind", ["nested", "ring", "multi-order"])
@pytest.mark.slow
def test_one_sky_map_at_four_resolutions_has_one_gess(tmp_path, kind):
    found = []
    for nside in (32, 64, 128, 256):
        path = tmp_path / f"{nside}.fits"
        multi_order_map(path, nside) if kind == "multi-order" else flat_map(path, nside, kind.upper())
        gess, ess, total = measured(path)
        found.append((gess, ess))
        assert total == pytest.approx(1, abs=2e-3)
        # sum w^2 = (4 pi / pixels) times the integral of the squared density, kappa coth(kappa) / (4 pi)
        assert ess == pytest.approx(12 * nside**2 / KAPPA * np.tanh(KAPPA), rel=0.01)
    gess, ess = np.array(found).T
    np.testing.assert_allclose(gess, exact_gess(ANGLE), rtol=1e-4)
    assert 10.5 < gess[0] < 11.7
    assert 60 < ess[-1] / ess[0] < 66


@pytest.mark.parametrize("order", ["RING", "NESTED"])
@pytest.mark.parametrize(
    "how", [{"wide": True}, {"explicit": True}, {"column": "PROBDENSITY"}, {"column": "TEMPERATURE"}]
)
def test_every_layout_of_a_flat_map_is_the_same_map(tmp_path, order, how):
    plain = measured(flat_map(tmp_path / "plain.fits", 64, order))[0]
    gess, _, total = measured(flat_map(tmp_path / "a.fits", 64, order, **how))
    assert gess == pytest.approx(plain, rel=1e-4)
    if how.get("column") != "TEMPERATURE":
        assert total == pytest.approx(1, rel=1e-3)


def test_notes_say_what_the_map_is(tmp_path):
    assert table_of(flat_map(tmp_path / "a.fits", 64)).note == "HEALPix map, nside 64, nested, 49,152 pixels"
    words = he.read(tmp_path / "a.fits").origin.description
    assert words == "49,152 pixels of a HEALPix map (nside 64, nested); weight is PROB"
    words = he.read(flat_map(tmp_path / "b.fits", 32, "RING", explicit=True)).origin.description
    assert words.endswith(" pixels of a HEALPix map (nside 32, ring, 5,355 of 12,288); weight is PROB")
    words = he.read(multi_order_map(tmp_path / "c.fits", 64)).origin.description
    assert " pixels of a HEALPix map (multi-order, nside 16 to 64); weight is PROBDENSITY times the area" in words


def test_ring_and_nested_maps_have_their_weight_where_the_source_is(tmp_path):
    for order in ("RING", "NESTED"):
        columns, _ = read(flat_map(tmp_path / f"{order}.fits", 32, order), rows=1000)
        mean = [np.average(columns[axis], weights=columns["weight"]) for axis in "xyz"]
        np.testing.assert_allclose(mean / np.linalg.norm(mean), MU, atol=1e-3)


def test_pixels_without_data_are_left_out_and_counted(tmp_path):
    values = np.ones(48)
    values[[3, 7]] = -1.6375e30, np.nan
    header = {"PIXTYPE": "HEALPIX", "ORDERING": "RING", "NSIDE": 2}
    write_fits(tmp_path / "a.fits", {"name": "PROB", "format": "E", "array": values}, header=header)
    found = he.read(tmp_path / "a.fits")
    centres = np.stack(healpix.healpix_to_xyz(np.delete(np.arange(48), [3, 7]), 2, order="ring"), axis=-1)
    np.testing.assert_array_equal(found.points, centres)
    assert found.origin.dropped == 2
    assert found.origin.description.endswith("; 2 pixels without a value left out")


def small_map(path, header=(), **columns):
    columns = columns or {"PROB": np.ones(48)}
    formats = {name: "K" if values.dtype.kind == "i" else "D" for name, values in columns.items()}
    described = [{"name": name, "format": formats[name], "array": values} for name, values in columns.items()]
    return write_fits(path, *described, header={"PIXTYPE": "HEALPIX", "ORDERING": "RING", "NSIDE": 2, **dict(header)})


@pytest.mark.parametrize(
    ("header", "columns", "parts"),
    [
        ({"NSIDE": 3}, {}, ["NSIDE must be a power of two", "is 3"]),
        ({"NSIDE": 4}, {}, ["nside 4 has 192 pixels, but column PROB has 48 values"]),
        ({"NSIDE": -2}, {}, ["NSIDE must be a power of two"]),
        ({"NSIDE": "two"}, {}, ["NSIDE must be a power of two", "two"]),
        ({"ORDERING": "SPIRAL"}, {}, ["ORDERING must be RING or NESTED", "'SPIRAL'"]),
        ({"INDXSCHM": "EXPLICIT"}, {}, ["no column PIXEL"]),
        ({}, {"PIXEL": np.array([1, 48]), "PROB": np.ones(2)}, ["PIXEL in row 1 is 48", "0 to 47"]),
        ({}, {"PIXEL": np.array([1, 1]), "PROB": np.ones(2)}, ["names some pixels twice"]),
        ({}, {"I": np.ones(48), "Q": np.ones(48)}, ["do not say which holds the weights", "I, Q", "weights='I' or"]),
        ({"ORDERING": "NUNIQ"}, {"UNIQ": np.array([4, 5])}, ["is a coverage map (MOC)"]),
        ({"ORDERING": "NUNIQ"}, {"UNIQ": np.array([4, 3]), "PROBDENSITY": np.ones(2)}, ["UNIQ in row 1 is 3"]),
        ({"ORDERING": "NUNIQ"}, {"UNIQ": np.array([18, 4]), "PROBDENSITY": np.ones(2)}, ["rows 0 and 1", "overlap"]),
        ({"ORDERING": "NUNIQ"}, {"UNIQ": np.array([5, 5]), "PROBDENSITY": np.ones(2)}, ["overlap"]),
        ({}, {"PROB": np.ones(0)}, ["no pixels"]),
    ],
)
def test_a_map_that_contradicts_itself_is_refused(tmp_path, header, columns, parts):
    refused(small_map(tmp_path / "a.fits", header, **columns), *parts)


def test_a_map_without_ordering_is_refused_and_setting_it_helps(tmp_path):
    path = small_map(tmp_path / "a.fits")
    fits.delval(path, "ORDERING", ext=1)
    refused(path, "ORDERING must be RING or NESTED, but is nothing")
    fits.setval(path, "ORDERING", value="NESTED", ext=1)
    assert "nested" in table_of(path).note


@pytest.mark.parametrize("name", ["a.fits", "a.fits.gz"])
def test_changed_data_are_refused_where_the_file_has_a_checksum(tmp_path, name):
    with fits.open(small_map(tmp_path / "plain.fits"), checksum=True) as file:
        file.writeto(tmp_path / "summed.fits", checksum=name == "a.fits")
    data = (tmp_path / "summed.fits").read_bytes()
    (tmp_path / name).write_bytes(data if name == "a.fits" else gzip.compress(data))
    assert read(tmp_path / name)
    if name == "a.fits":
        damaged = bytearray(data)
        damaged[-2800] ^= 1
    else:
        damaged = bytearray(gzip.compress(data))
        damaged[-5] ^= 1  # of the checksum itself
    (tmp_path / name).write_bytes(damaged)
    words = ("cannot be read as FITS", "atasum") if name == "a.fits" else ("is damaged or cut short", "CRC")
    refused(tmp_path / name, *words)


def test_a_table_whose_sum_is_old_is_read_after_it_was_written_anew_as_advised(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    place = {"ra": np.array([10.0, 200.0]), "dec": np.array([5.0, -70.0])}
    fits.HDUList([fits.PrimaryHDU(), fits.table_to_hdu(astropy_table.Table(place))]).writeto("a.fits", checksum=True)
    data = bytearray(Path("a.fits").read_bytes())
    data[-2880:-2872] = np.array([11.0], dtype=">f8").tobytes()
    Path("a.fits").write_bytes(data)
    with pytest.raises(he.InputError, match="only the sum of its bytes") as caught:
        he.read("a.fits")
    with warnings.catch_warnings(action="ignore"):
        exec(shlex.split(str(caught.value).partition(", type: ")[2])[-1], {})
    expected = he.from_lonlat([11, 200], [5, -70], units="deg")
    np.testing.assert_allclose(he.read("a-new.fits").points, expected, atol=1e-15)


# VOTable and ECSV


def sky_table(n=20):
    rng = np.random.default_rng(2)
    masked = np.ma.masked_array(np.arange(n), mask=np.arange(n) == 4)
    table = astropy_table.Table(
        {"ra": rng.uniform(0, 360, n), "dec": rng.uniform(-1, 1, n), "n": masked, "name": ["x"] * n}
    )
    table["v"] = rng.normal(size=(n, 3))
    table["pm"] = np.full(n, 3600.0)
    table["ra"].unit, table["dec"].unit, table["pm"].unit, table["n"].unit = "deg", "rad", "arcsec", "Jy"
    return table


@pytest.mark.parametrize(
    ("name", "how"),
    [
        ("a.vot", {"format": "votable"}),
        ("a.xml", {"format": "votable", "tabledata_format": "binary2"}),
        ("a.votable", {"format": "votable", "tabledata_format": "tabledata"}),
        ("a.ecsv", {"format": "ascii.ecsv"}),
    ],
)
def test_a_table_of_the_observatory_gives_its_numbers_and_units(tmp_path, name, how):
    written = sky_table()
    written.write(tmp_path / name, **how)
    columns, table = read(tmp_path / name, 6)
    assert table.names == ["ra", "dec", "n", "pm"]
    assert table.lists == ["v"]
    assert table.units == {"ra": "deg", "dec": "rad", "pm": "deg"}
    for column in ("ra", "dec", "v"):
        np.testing.assert_array_equal(columns[column], written[column])
    np.testing.assert_array_equal(columns["n"], np.where(np.arange(20) == 4, np.nan, np.arange(20)))
    np.testing.assert_allclose(columns["pm"], 1.0, rtol=1e-15)


def test_of_several_tables_one_is_chosen(tmp_path):
    from astropy.io.votable import from_table, writeto

    votable = from_table(astropy_table.Table({"ra": [1.0]}))
    votable.resources[0].tables[0].name = "one"
    other = from_table(astropy_table.Table({"ra": [2.0]}))
    other.resources[0].tables[0].name = "two"
    votable.resources.extend(other.resources)
    path = tmp_path / "a.vot"
    writeto(votable, str(path))
    refused(path, "2 tables: one, two", f"{path}::one")
    assert read(f"{path}::one")[0]["ra"] == [1]
    assert read(f"{path}::two")[0]["ra"] == [2]
    refused(f"{path}::three", "none of its tables is 'three'")


def test_a_votable_that_points_elsewhere_is_never_followed(tmp_path):
    secret = tmp_path / "secret.fits"
    catalogue(secret)
    start = '<?xml version="1.0"?><VOTABLE version="1.4"><RESOURCE><TABLE><FIELD name="ra" datatype="double"/><DATA>'
    end = "</DATA></TABLE></RESOURCE></VOTABLE>"
    inner = f'<FITS><STREAM\n href="file://{secret}"/></FITS>'
    for encoding in ("utf-8", "utf-16"):
        (tmp_path / "a.vot").write_bytes((start + inner + end).encode(encoding))
        refused(tmp_path / "a.vot", "points to data outside of itself")
    entity = start.replace("<VOTABLE", '<!DOCTYPE V [<!ENTITY e "x">]><VOTABLE')
    (tmp_path / "a.vot").write_text(entity + "&e;" + end)
    refused(tmp_path / "a.vot", "points to data outside of itself")


# HDF5


SAMPLES = np.zeros(
    30, dtype=[("ra", "f8"), ("dec", "f8"), ("mass", "f4"), ("ok", "?"), ("name", "S3"), ("spin", "f8", 3)]
)
for _name in ("ra", "dec", "mass"):
    SAMPLES[_name] = np.random.default_rng(3).uniform(0, 1, 30)
SAMPLES["spin"] = np.random.default_rng(4).normal(size=(30, 3))


def write_h5(path, **items):
    with h5py.File(path, "w") as root:
        for name, values in items.items():
            root[name] = values
    return path


@pytest.mark.parametrize(
    "place",
    [
        "posterior_samples",
        "lalinference/lalinference_mcmc/posterior_samples",
        "C01:Mixed/posterior_samples",
        "posterior_samples/C01:Mixed",
        "Overall_posterior",
    ],
)
def test_posterior_samples_are_found_wherever_they_are_in_radians(tmp_path, place):
    extra = {"version": np.arange(3), "priors/samples": np.ones((4, 2)), "psds/H1": np.ones((100, 2))}
    columns, table = read(write_h5(tmp_path / "a.h5", **{place: SAMPLES}, **extra), 7)
    assert table.names == ["ra", "dec", "mass"]
    assert table.lists == ["spin"]
    assert table.units == {"ra": "rad", "dec": "rad"}
    assert table.note == f"HDF5, {place}"
    for name in ("ra", "dec", "mass", "spin"):
        np.testing.assert_array_equal(columns[name], SAMPLES[name])


def test_a_group_of_samples_is_a_table(tmp_path):
    items = {f"posterior/{name}": SAMPLES[name] for name in ("ra", "dec", "name")}
    columns, table = read(
        write_h5(tmp_path / "a.hdf5", **items, **{"nested_samples/ra": np.ones(99), "label": "bilby"})
    )
    assert sorted(table.names) == ["dec", "ra"]
    assert table.units == {"ra": "rad", "dec": "rad"}
    np.testing.assert_array_equal(columns["ra"], SAMPLES["ra"])


def test_of_several_labels_one_is_chosen(tmp_path):
    other = SAMPLES.copy()
    other["ra"] += 1
    path = write_h5(tmp_path / "a.h5", **{"C01:A/posterior_samples": SAMPLES, "C01:B/posterior_samples": other})
    message = refused(path, "2 sets of posterior samples: C01:A/posterior_samples, C01:B/posterior_samples")
    advised = message.rpartition("such as ")[2]
    np.testing.assert_array_equal(read(advised)[0]["ra"], SAMPLES["ra"])
    for label in ("C01:B", "C01:B/posterior_samples", "/C01:B/"):
        np.testing.assert_array_equal(read(f"{path}::{label}")[0]["ra"], other["ra"])
    refused(f"{path}::C01", "'C01'", "C01:A/posterior_samples")


def test_one_array_of_vectors_is_rows_read_in_pieces(tmp_path):
    array = np.random.default_rng(5).normal(size=(40, 8)).astype(">f4")
    path = write_h5(tmp_path / "a.h5", **{"some/embeddings": array})
    table = table_of(path)
    assert table.lists == ["rows"]
    pieces = list(table.pieces(["rows", "2"], 9))
    assert [len(piece.columns[0]) for piece in pieces] == [9, 9, 9, 9, 4]
    np.testing.assert_array_equal(np.concatenate([piece.columns[0] for piece in pieces]), array)
    np.testing.assert_array_equal(np.concatenate([piece.columns[1] for piece in pieces]), array[:, 2])
    assert pieces[0].columns[0].dtype == np.float32
    assert pieces[0].columns[0].dtype.isnative
    refused(write_h5(tmp_path / "b.h5", a=array, b=array), "2 tables: a, b", "b.h5::a")
    np.testing.assert_array_equal(read(f"{tmp_path / 'b.h5'}::b")[0]["3"], array[:, 3])


def test_vectors_with_weights_beside_them_are_a_table(tmp_path):
    array, weights = np.random.default_rng(6).normal(size=(12, 4)), np.arange(12)
    with h5py.File(tmp_path / "a.h5", "w") as root:
        root["embedding"], root["weight"], root["lat"] = array, weights, np.ones(12)
        root["lat"].attrs["units"] = "degrees"
    columns, table = read(tmp_path / "a.h5")
    assert table.lists == ["embedding"]
    assert table.units == {"lat": "deg"}
    np.testing.assert_array_equal(columns["embedding"], array)
    np.testing.assert_array_equal(columns["weight"], weights)


# NetCDF


def draws(group="posterior"):
    rng = np.random.default_rng(7)
    sizes = {"chain": 3, "draw": 20, "axis": 3}
    variables = {"ra": ("chain", "draw"), "turned": ("axis", "draw", "chain"), "dir": ("chain", "draw", "axis")}
    found = {name: (dims, rng.normal(size=[sizes[dim] for dim in dims])) for name, dims in variables.items()}
    found["count"] = (("chain", "draw"), rng.integers(0, 9, size=(3, 20)))
    found["matrix"] = (("chain", "draw", "axis", "other"), rng.normal(size=(3, 20, 3, 2)))
    found["fixed"] = (("axis",), np.ones(3))
    data = xarray.Dataset(found, coords={"chain": np.arange(3), "draw": np.arange(20)})
    data["ra"].attrs["units"] = "rad"
    data["ra"].values[1, 2] = np.nan
    return data


def write_draws(path, data=None, groups=("posterior", "sample_stats"), encoding=None):
    data = draws() if data is None else data
    for place, group in enumerate(groups):
        data.to_netcdf(path, group=group, engine="h5netcdf", mode="a" if place else "w", encoding=encoding or {})
    return data


def check_draws(path, data):
    columns, table = read(path, 11)
    assert sorted(table.names) == ["count", "ra"]
    assert sorted(table.lists) == ["dir", "turned"]
    assert table.units == {"ra": "rad"}
    assert "3 chains of 20 draws" in table.note
    np.testing.assert_allclose(columns["ra"], data["ra"].values.ravel(), atol=1e-6)
    np.testing.assert_array_equal(columns["count"], data["count"].values.ravel())
    np.testing.assert_array_equal(columns["dir"], data["dir"].values.reshape(-1, 3))
    np.testing.assert_array_equal(
        columns["turned"], data["turned"].transpose("chain", "draw", "axis").values.reshape(-1, 3)
    )


@pytest.mark.parametrize("groups", [("posterior", "sample_stats"), ("posterior",), (None,), ("prior",)])
def test_draws_are_flattened_chain_after_chain(tmp_path, groups):
    check_draws(tmp_path / "a.nc", write_draws(tmp_path / "a.nc", groups=groups))


def test_a_data_tree_is_read(tmp_path):
    data = draws()
    xarray.DataTree.from_dict({"posterior": data, "prior": data}).to_netcdf(tmp_path / "a.nc", engine="h5netcdf")
    check_draws(tmp_path / "a.nc", data)
    assert "prior" in table_of(tmp_path / "a.nc::prior").note


def test_packed_and_compressed_draws_are_unpacked(tmp_path):
    packed = {"dtype": "int32", "scale_factor": 1e-6, "add_offset": 0.5, "_FillValue": -99}
    data = write_draws(tmp_path / "a.nc", groups=("posterior",), encoding={"ra": packed, "dir": {"zlib": True}})
    check_draws(tmp_path / "a.nc", data)


def test_groups_of_draws_without_a_posterior_are_named(tmp_path):
    write_draws(tmp_path / "a.nc", groups=("prior", "predictions"))
    refused(tmp_path / "a.nc", "2 groups of draws: ", "predictions", "prior")
    refused(f"{tmp_path / 'a.nc'}::posterior", "none of its groups of draws is 'posterior'")


def test_a_grid_without_degrees_is_refused(tmp_path):
    grid = xarray.Dataset({"t": (("lat", "lon"), np.ones((2, 3)))})
    for name, engine in (("a.nc", "h5netcdf"), ("b.nc", "scipy")):
        grid.to_netcdf(tmp_path / name, engine=engine)
        refused(tmp_path / name, "has no latitudes and longitudes; add arrays lat and lon", "t (lat 2, lon 3)")


# STAR

STAR = """# version 30001

data_optics

loop_
_rlnOpticsGroupName #1
_rlnOpticsGroup #2
opticsGroup1            1

# version 30001

data_particles

loop_
_rlnAngleRot #1
_rlnAngleTilt #2
_rlnAnglePsi #3
_rlnImageName #4
_rlnClassNumber #5
  12.500000    80.250000  -170.125000 000001@a.mrcs            1
 -99.750000     3.500000    45.000000 000002@a.mrcs            2
   0.000000        nan     90.000000 000003@a.mrcs            1
"""


@pytest.mark.parametrize("text", [STAR, "data_\n" + STAR.partition("data_particles\n")[2]])
def test_particles_of_both_versions_of_relion_are_read(tmp_path, text):
    (tmp_path / "a.star").write_text(text)
    columns, table = read(tmp_path / "a.star")
    assert table.names == ["rlnAngleRot", "rlnAngleTilt", "rlnAnglePsi", "rlnClassNumber"]
    assert table.units == dict.fromkeys(table.names[:3], "deg")
    np.testing.assert_array_equal(columns["rlnAngleRot"], [12.5, -99.75, 0])
    np.testing.assert_array_equal(columns["rlnAngleTilt"], [80.25, 3.5, np.nan])
    np.testing.assert_array_equal(columns["rlnClassNumber"], [1, 2, 1])
    [piece] = table.pieces(["rlnAngleRot"], None)
    assert "block " in piece.place(2)
    assert "row 2" in piece.place(2)


def relion_matrix(rot, tilt, psi):
    """RELION's matrix from the particle to the image, for angles in degrees."""
    (ca, cb, cg), (sa, sb, sg) = np.cos(np.radians([rot, tilt, psi])), np.sin(np.radians([rot, tilt, psi]))
    return np.array(
        [
            [cg * cb * ca - sg * sa, cg * cb * sa + sg * ca, -cg * sb],
            [-sg * cb * ca - cg * sa, -sg * cb * sa + cg * ca, sg * sb],
            [sb * ca, sb * sa, cb],
        ]
    )


def test_angles_of_particles_in_turned_subtomograms_are_composed(tmp_path):
    rows = np.array([[10, 20, 30, 0, 90, 0], [-50, 170, 80, 5, 60, -7], [0, 0, 0, 15, 25, 35], [40, 90, 3, 0, 0, 9.0]])
    names = [f"{start}{name}" for start in ("TomoSubtomogram", "Angle") for name in ("Rot", "Tilt", "Psi")]
    body = "\n".join(" ".join(map(str, row)) for row in rows)
    (tmp_path / "a.star").write_text(
        "data_particles\nloop_\n" + "".join(f"_rln{name}\n" for name in names) + body + "\n"
    )
    measure = he.read(tmp_path / "a.star")
    from scipy.spatial.transform import Rotation

    turns = [(relion_matrix(*row[:3]) @ relion_matrix(*row[3:])).T for row in rows]
    np.testing.assert_allclose(Rotation.from_quat(measure.points).as_matrix(), turns, atol=1e-12)
    assert "angles of rlnTomoSubtomogram taken in" in read(tmp_path / "a.star")[1].note
    (tmp_path / "c.star").write_text((tmp_path / "a.star").read_text().replace(body, "1 2 3 0 0 0\n4 5 6 0 0 0"))
    np.testing.assert_allclose(read(tmp_path / "c.star")[0]["rlnAnglePsi"], [3, 6], atol=1e-10)
    (tmp_path / "b.star").write_text((tmp_path / "a.star").read_text().replace(body, "0 0 0 1 2 3\n0 0 0 nan 5 6"))
    columns, table = read(tmp_path / "b.star")
    assert "taken" not in table.note
    assert "not aligned" not in table.note
    np.testing.assert_array_equal(columns["rlnAngleRot"], [1, np.nan])


def test_particles_that_were_never_aligned_are_called_so(tmp_path):
    head = "data_\nloop_\n_rlnAngleRot\n_rlnAngleTilt\n_rlnAnglePsi\n"
    for rows, aligned in (("0 0 0\n0 0 0\n", False), ("0 0 30\n0 0 70\n", False), ("0 0 30\n0 5 70\n", True)):
        (tmp_path / "a.star").write_text(head + rows)
        assert ("not aligned in three dimensions" in he.read(tmp_path / "a.star").origin.description) is not aligned


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("", ["no data_ line"]),
        ("hello\n", ["no data_ line"]),
        ("data_general\n\n_rlnValue 3\n", ["no loop_", "general"]),
        (STAR.replace("80.250000", "eighty"), ["row 0", "rlnAngleTilt is 'eighty'", "1 of 3 rows"]),
        (STAR[:-40], ["ends in the middle of a row", "of 5 entries"]),
        (STAR.partition("loop_")[0], ["cannot be read as STAR"]),
        (
            STAR.replace("data_particles", "data_a") + "\n" + STAR.replace("data_particles", "data_b"),
            ["blocks", "a, b"],
        ),
        (STAR.replace("Angle", "Corner").replace("particles", "a"), ["2 blocks", "optics, a"]),
        (STAR.replace("_rlnClassNumber #5\n", ""), ["cannot be read as STAR"]),
        (STAR[: STAR.index("  12.5")], ["no rows"]),
    ],
)
def test_a_damaged_star_file_is_refused(tmp_path, text, parts):
    (tmp_path / "a.star").write_text(text)
    refused(tmp_path / "a.star", *parts)


# Surfaces


def ball():
    return trimesh.creation.icosphere(subdivisions=2)


@pytest.mark.parametrize("name", ["a.ply", "a.obj", "a.stl", "a.off"])
def test_a_surface_is_the_space_and_its_vertices_are_the_points(tmp_path, name):
    ball().export(tmp_path / name)
    columns, table = read(tmp_path / name)
    assert repr(table.space) == "Mesh(162 vertices, 320 faces)" == table.note
    assert table.names == ["vertex"]
    np.testing.assert_array_equal(columns["vertex"], np.arange(162))
    exact = he.gess(ball().vertices[:40], time=0.1)
    nearest = [int(np.argmax(table.space._vertices @ vertex)) for vertex in ball().vertices[:40]]
    assert he.gess(columns["vertex"][nearest], space=table.space, time=0.1) == pytest.approx(exact, rel=0.02)


@pytest.mark.parametrize("encoding", ["ascii", "binary"])
def test_values_at_the_vertices_of_a_ply_file_are_columns(tmp_path, encoding):
    mesh, height = ball(), np.arange(162) * 0.25
    mesh.vertex_attributes["height"] = height
    (tmp_path / "a.ply").write_bytes(mesh.export(file_type="ply", encoding=encoding))
    columns, table = read(tmp_path / "a.ply")
    assert table.names == ["vertex", "height"]
    np.testing.assert_array_equal(columns["height"], height)
    np.testing.assert_array_equal(columns["vertex"], np.arange(162))


def test_values_follow_vertices_that_are_joined_or_left_out(tmp_path):
    # two triangles that share an edge whose ends are written twice, and a vertex without a face
    text = """ply
format ascii 1.0
element vertex 7
property float x
property float y
property float z
property float weight
element face 2
property list uchar int vertex_indices
end_header
9 9 9 7
0 0 0 1
1 0 0 2
0 1 0 3
1 0 0 4
1 1 0 5
0 1 0 6
3 1 2 3
3 4 5 6
"""
    (tmp_path / "a.ply").write_text(text)
    columns, table = read(tmp_path / "a.ply")
    assert repr(table.space) == "Mesh(4 vertices, 2 faces, open)"
    np.testing.assert_array_equal(columns["weight"], [7, 1, 2, 3, 4, 5, 6])
    vertex = columns["vertex"]
    assert np.isnan(vertex[0])
    assert vertex[2] == vertex[4]
    assert vertex[3] == vertex[6]
    assert sorted(set(vertex[1:])) == [0, 1, 2, 3]


def gifti(path, *arrays):
    made = [nibabel.gifti.GiftiDataArray(values, intent=intent, meta=meta) for values, intent, meta in arrays]
    nibabel.save(nibabel.gifti.GiftiImage(darrays=made), path)
    return path


def surface():
    mesh = ball()
    return (
        (mesh.vertices.astype("f4"), "NIFTI_INTENT_POINTSET", None),
        (mesh.faces.astype("i4"), "NIFTI_INTENT_TRIANGLE", None),
    )


def test_a_gifti_surface_keeps_the_numbers_of_its_vertices(tmp_path):
    depth = np.arange(162, dtype="f4")
    values = (depth, "NIFTI_INTENT_SHAPE", {"Name": "sulc"})
    columns, table = read(gifti(tmp_path / "a.surf.gii", *surface(), values))
    assert repr(table.space) == "Mesh(162 vertices, 320 faces)"
    assert table.names == ["vertex", "sulc"]
    np.testing.assert_array_equal(columns["vertex"], np.arange(162))
    np.testing.assert_array_equal(columns["sulc"], depth)
    refused(gifti(tmp_path / "b.gii", values), "no surface", "NIFTI_INTENT_SHAPE", ".surf.gii")
    refused(gifti(tmp_path / "c.gii", surface()[0]), "no surface", "POINTSET")
    (places, *kind), faces = surface()
    more = (np.vstack([[[9, 9, 9]], places]).astype("f4"), *kind)
    path = gifti(tmp_path / "d.gii", more, (faces[0] + 1, *faces[1:]), (np.arange(163, dtype="f4"), *values[1:]))
    with pytest.raises(
        he.InputError, match=r"row 0 .*: the point is without a face \(1 of 163 rows\); leave such rows"
    ):
        he.read(path)
    with_values = he.read(path, drop_missing=True, weights="sulc")
    assert "1 row without a face dropped" in with_values.origin.description
    plain = he.Measure(np.arange(162), depth + 1, space=he.Mesh(places, faces[0]))
    assert he.gess(with_values, time=0.1) == pytest.approx(he.gess(plain, time=0.1), rel=1e-12)


def test_copies_of_a_vertex_count_once_whether_or_not_the_file_has_values(tmp_path):
    box = trimesh.creation.box()
    seams = trimesh.Trimesh(box.triangles.reshape(-1, 3), np.arange(36).reshape(-1, 3), process=False)
    (tmp_path / "plain.ply").write_bytes(seams.export(file_type="ply"))
    seams.vertex_attributes["height"] = seams.vertices[:, 2].astype("f4")
    (tmp_path / "values.ply").write_bytes(seams.export(file_type="ply"))
    plain, valued = (he.read(tmp_path / name) for name in ("plain.ply", "values.ply"))
    assert plain.n == valued.n == 8
    assert he.gess(valued, time=1) == pytest.approx(he.gess(plain, time=1), rel=1e-12)


def test_surfaces_that_are_none_are_refused(tmp_path):
    cloud = trimesh.PointCloud(ball().vertices)
    cloud.export(tmp_path / "a.ply")
    refused(tmp_path / "a.ply")
    both = trimesh.util.concatenate([ball(), ball().apply_translation([5, 0, 0])])
    both.export(tmp_path / "b.obj")
    refused(tmp_path / "b.obj", "2 ")


# Damage


def whole_files(folder):
    """One good file of each kind."""
    catalogue(folder / "table.fits")
    flat_map(folder / "map.fits", 8)
    multi_order_map(folder / "orders.fits", 8)
    (folder / "map.fits.gz").write_bytes(gzip.compress((folder / "map.fits").read_bytes()))
    sky_table().write(folder / "a.vot", format="votable")
    sky_table().write(folder / "b.xml", format="votable", tabledata_format="binary2")
    sky_table().write(folder / "a.ecsv", format="ascii.ecsv")
    write_h5(folder / "a.h5", **{"C01/posterior_samples": SAMPLES})
    write_h5(folder / "b.h5", vectors=np.random.default_rng(0).normal(size=(500, 8)))
    write_draws(folder / "a.nc")
    (folder / "a.star").write_text(STAR)
    ball().export(folder / "a.ply")
    ball().export(folder / "a.stl")
    ball().export(folder / "a.obj")
    gifti(folder / "a.gii", *surface())


KINDS = ["table.fits", "map.fits", "orders.fits", "map.fits.gz", "a.vot", "b.xml", "a.ecsv", "a.h5", "b.h5", "a.nc"]
KINDS += ["a.star", "a.ply", "a.stl", "a.obj", "a.gii"]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    whole_files(folder)
    return folder


@pytest.mark.parametrize("kind", KINDS)
def test_the_undamaged_file_is_read(whole, kind):
    assert read(whole / kind)[0]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("share", [0.0, 0.01, 0.1, 0.4, 0.7])
def test_a_file_that_was_cut_short_is_refused(whole, tmp_path, kind, share):
    data = (whole / kind).read_bytes()
    (tmp_path / kind).write_bytes(data[: int(share * len(data))])
    refused(tmp_path / kind)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "content", [b"\0" * 5000, b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 20, pickle.dumps([1.0] * 99), b"\n"]
)
def test_a_file_of_another_kind_is_refused(tmp_path, kind, content):
    (tmp_path / kind).write_bytes(content)
    refused(tmp_path / kind)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_damage_anywhere_gives_numbers_or_an_input_error(whole, tmp_path, kind):
    """Bytes changed at random: no other exception and no warning ever gets out."""
    rng = np.random.default_rng(0)
    data = np.frombuffer((whole / kind).read_bytes(), dtype=np.uint8)
    for _ in range(15):
        damaged = data.copy()
        places = rng.integers(0, len(data), size=rng.integers(1, 40))
        damaged[places] = rng.integers(0, 256, size=len(places))
        (tmp_path / kind).write_bytes(damaged.tobytes())
        try:
            read(tmp_path / kind)
        except he.InputError as error:
            assert kind in str(error)  # noqa: PT017


@pytest.mark.parametrize(
    ("kind", "package", "extra"),
    [
        ("table.fits", "astropy.io", "sky"),
        ("map.fits", "astropy_healpix", "sky"),
        ("a.vot", "astropy", "sky"),
        ("a.h5", "h5py", "hdf5"),
        ("a.nc", "h5py", "hdf5"),
        ("a.star", "starfile", "star"),
        ("a.ply", "trimesh", "mesh"),
        ("a.gii", "nibabel", "mesh"),
    ],
)
def test_a_missing_package_is_named_with_the_line_that_installs_it(whole, monkeypatch, kind, package, extra):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(he.MissingExtraError, match=rf"pip install 'heatess\[{extra}\]'$"):
        read(whole / kind)


def test_a_run_of_emcee_is_as_many_chains_as_it_has_walkers(tmp_path):
    """Its backend keeps (draw, walker, parameter), with room for draws to come."""
    h5py = pytest.importorskip("h5py")
    rng = np.random.default_rng(0)
    steps = np.cumsum(rng.normal(size=(50, 6, 2)), axis=0)
    with h5py.File(tmp_path / "run.h5", "w") as file:
        run = file.create_group("mcmc")
        run.attrs.update({"version": "3.1.6", "nwalkers": 6, "ndim": 2, "iteration": 40, "has_blobs": False})
        run["chain"], run["log_prob"], run["accepted"] = steps, np.zeros((50, 6)), np.zeros(6)
    found = he.read(tmp_path / "run.h5", space="euclidean")
    np.testing.assert_array_equal(found.points, steps[:40].reshape(-1, 2))
    assert (found.known.kind, found.known.chains, found.n) == ("chains", 6, 240)
    stacked = he.Measure(steps[:40].swapaxes(0, 1), space=he.Euclidean(2))
    with pytest.warns(he.CalibrationWarning, match="not mixed"):
        worth = [he.chain_ess(chains, times=[1.0]).ess for chains in (found, stacked)]
    np.testing.assert_allclose(*worth)


def test_a_chain_of_getdist_has_the_names_of_its_parameters(tmp_path):
    rng = np.random.default_rng(1)
    rows = np.column_stack([rng.integers(1, 5, 200), rng.normal(size=(200, 4))])
    np.savetxt(tmp_path / "run_2.txt", rows)
    (tmp_path / "run.paramnames").write_text("a\tA\nb\t\\beta\nc*\tderived\n")
    found = he.read(tmp_path / "run_2.txt", space="euclidean", columns=("a", "b"))
    np.testing.assert_allclose(found.points, rows[:, 2:4])
    np.testing.assert_allclose(found.weights, rows[:, 0] / rows[:, 0].sum())
    with pytest.raises(he.KindError, match=r"rows are those of a sampler; say kind='chains' .* kind='weighted draws'"):
        he.population_profile(found, times=[1.0])
    (tmp_path / "run.paramnames").write_text("a\n")
    assert he.read(tmp_path / "run_2.txt", space="euclidean").points.shape == (200, 5)
