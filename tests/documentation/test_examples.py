"""Files as people hold them: the examples do what they say, and what they brought to light stays right."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import json
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import heatess as he
from heatess.base.errors import InputError
from heatess.cli import main
from heatess.readers import COMPRESSED, FORMATS

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")

SCRIPT = Path(__file__).parents[2] / "examples" / "real_files.py"


@pytest.fixture
def rng():
    return np.random.default_rng(7)


@pytest.fixture(scope="module")
def real():
    if not SCRIPT.is_file():
        pytest.skip("the examples are not in this distribution")
    spec = importlib.util.spec_from_file_location("real_files", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    sys.modules["real_files"] = module
    spec.loader.exec_module(module)
    return module


NEEDS = {
    "posterior_samples": "h5py",
    "trajectories": "numpy",
    "orientation_maps": "numpy",
    "particles": "starfile",
    "draws": "h5netcdf",
    "surfaces": "trimesh",
    "sky_maps": "astropy_healpix",
    "embeddings": "pyarrow",
}
HEAVY = ("sky_maps", "embeddings")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] if name in HEAVY else []) for name in NEEDS]
)
@pytest.mark.slow
def test_what_the_example_writes_is_read_by_one_line(real, tmp_path, name):
    pytest.importorskip(NEEDS[name])
    with contextlib.chdir(tmp_path):
        cases = [case for case in getattr(real, name)(None) if not case.line.startswith("heatess ")]
        assert cases
        assert [real.faults(case, real.run(case)) for case in cases] == [""] * len(cases)


def test_each_fault_is_seen(real, tmp_path):
    pytest.importorskip("h5py")
    with contextlib.chdir(tmp_path):
        [case] = real.posterior_samples(None)
        found = real.run(case)
    assert real.row(case, found)[-1] == "PASS"
    changes = {
        "space": {"space": "Rotations()"},
        "n 4000": {"n": 3999},
        "0 dropped": {"dropped": 1},
        "ESS": {"ess": 3990.0},
        "gESS": {"gess": found.gess * (1 + 1e-6)},
        "other points": {"points": found.points * [1, 1, -1]},
    }
    for words, change in changes.items():
        assert words in real.faults(case, found._replace(**change))


def test_packages_that_cannot_be_fetched_are_said_to_be_missing(real, tmp_path, capsys):
    assert real.report(real.cities, real.Packages(tmp_path, offline=True)) == 0
    assert capsys.readouterr().out == "cities | not fetched: --offline\n"


def test_the_closed_form_of_the_sky_maps_is_that_of_a_fine_grid(real):
    grid = he.samplers.fibonacci(40_000)
    assert real.blob_gess(30.0, 10.0) == pytest.approx(he.gess(grid, log_weights=30 * grid[:, 2], angle=10), rel=1e-4)


# What real files brought to light.


def test_lists_of_text_in_json_are_no_points(tmp_path):
    records = {
        "3040051": {"name": "les Escaldes", "latitude": 42.5, "longitude": 1.5, "alternatenames": ["Escaldes", "x"]},
        "3041563": {"name": "Andorra", "latitude": 42.6, "longitude": 61.5, "alternatenames": []},
    }
    (tmp_path / "cities.json").write_text(json.dumps(records))
    cities = he.read(tmp_path / "cities.json")
    assert cities.origin.columns == ("longitude", "latitude")
    np.testing.assert_allclose(cities.points, he.from_lonlat([1.5, 61.5], [42.5, 42.6], units="deg"), atol=1e-15)


NEAR = {"lon": [1.5, 61.5, 120.0], "lat": [42.5, 42.6, 10.0], "near": [[1.0, 2.0], [3.0], []]}


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, dict])
def test_lists_of_several_lengths_beside_the_points_do_no_harm(make):
    expected = he.gess(he.from_lonlat(NEAR["lon"], NEAR["lat"], units="deg"), angle=20)
    assert he.gess(make(NEAR), angle=20) == pytest.approx(expected, rel=1e-12)
    with pytest.raises(InputError, match=r"row 1 \(counted from 0\): column near holds 1 numbers, but row 0 holds 2"):
        he.read(make(NEAR), columns="near")


def test_a_list_of_an_unknown_name_gives_way_to_columns_of_known_names(tmp_path):
    records = [{"lon": 10.0, "lat": 50.0, "box": [1, 0, 0]}, {"lon": 80.0, "lat": 50.0, "box": [0, 1, 0]}]
    (tmp_path / "a.json").write_text(json.dumps(records))
    assert he.read(tmp_path / "a.json").origin.columns == ("lon", "lat")
    assert he.read(tmp_path / "a.json", columns="box").origin.columns == ("box",)
    assert he.read(tmp_path / "a.json", space="euclidean").space == he.Euclidean(3)


def test_the_advice_for_a_data_frame_can_be_followed():
    frame = pd.DataFrame({"ra": [0.1, 0.7, None], "dec": [0.1, -0.2, 0.3]})
    with pytest.raises(InputError, match=r"drop_missing=True, as an argument of heatess.read\(frame, ...\)"):
        he.gess(frame, angle=5)
    with pytest.raises(InputError, match=r"units='deg' or units='rad' or units='hours'$"):
        he.read(frame, drop_missing=True)
    sky = he.read(frame, drop_missing=True, units="rad")
    assert (sky.n, sky.origin.dropped) == (2, 1)
    np.testing.assert_allclose(sky.points, he.from_lonlat([0.1, 0.7], [0.1, -0.2], units="rad"), atol=1e-15)
    with pytest.raises(InputError, match="has no column 'nowhere'") as caught:
        he.gess(frame, "nowhere", angle=5)
    assert "heatess.read" not in str(caught.value)


def test_what_is_neither_a_file_nor_a_data_frame_is_refused():
    with pytest.raises(TypeError, match="a file is read by its name, a str or a path, but is 3"):
        he.read(3)


def test_arrays_of_three_axes_are_refused_with_the_line_that_makes_them_rows(tmp_path):
    frames = np.random.default_rng(0).uniform(-180, 180, (4, 5, 2))
    np.save(tmp_path / "rama.npy", frames)
    with pytest.raises(InputError, match=r"save one point per row: array.reshape\(-1, 2\)"):
        he.read(tmp_path / "rama.npy", space="torus")
    np.save(tmp_path / "rows.npy", frames.reshape(-1, 2))
    assert he.read(tmp_path / "rows.npy", space="torus", units="deg").n == 20


def test_torsions_without_names_are_read_as_a_torus(tmp_path, rng):
    angles = rng.uniform(-180, 180, (50, 2))
    np.save(tmp_path / "a.npy", angles)
    expected = he.gess(np.radians(angles), space=he.Torus(2), angle=20)
    assert he.gess(he.read(tmp_path / "a.npy", space="torus"), angle=20) == pytest.approx(expected, rel=1e-12)
    np.save(tmp_path / "b.npy", np.radians(angles))
    with pytest.raises(InputError, match="units='deg' or units='rad'"):
        he.read(tmp_path / "b.npy", space="torus")
    radians = he.read(tmp_path / "b.npy", space="torus", units="rad")
    assert he.gess(radians, angle=20) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("family", sorted(set(FORMATS.values())))
def test_every_suffix_of_a_reader_leads_to_it(family):
    own = importlib.import_module(f"heatess.readers.{family}").SUFFIXES
    assert {suffix for suffix in own if not suffix.endswith(COMPRESSED) and FORMATS.get(suffix) != family} == set()


def test_a_trajectory_may_end_in_tum(tmp_path):
    (tmp_path / "a.tum").write_text("0.0 1 2 3 0 0 0 1\n0.1 1 2 3 0 0 0.6 0.8\n")
    assert he.read(tmp_path / "a.tum").space == he.Rotations()


def test_weights_are_compared_with_equal_ones_without_a_word_on_what_is_not_shown(tmp_path):
    grid = he.samplers.fibonacci(20_000)  # so even that its mmd2 cannot be certified, which is a warning
    np.savetxt(tmp_path / "map.csv", np.column_stack([grid, np.exp(30 * (grid[:, 2] - 1))]), header="x,y,z,weight")
    (tmp_path / "map.csv").write_text((tmp_path / "map.csv").read_text().removeprefix("# ").replace(" ", ","))
    with pytest.warns(he.PrecisionWarning):
        he.heat_profile(grid, angles=[20], rtol=1e-4)
    result = CliRunner().invoke(main, ["profile", str(tmp_path / "map.csv"), "--angles", "20"])
    assert result.exit_code == 0
    assert "Warning" not in result.output
    assert "warning" not in result.output
    [row] = [line.split() for line in result.stdout.splitlines() if line.startswith("  20.00")]
    assert float(row[3]) == pytest.approx(33.16, abs=0.005)  # if equal: as many as there is room for
