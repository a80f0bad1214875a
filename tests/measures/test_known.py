"""What is known about data travels with the measure, and every function asks it."""

from __future__ import annotations

import copy
import pickle
import re
import shlex

import numpy as np
import pytest

import heatess as he
from heatess.base.sky_frames import turned

CLOUD = he.samplers.uniform(60, rng=0)


def slow_chain(draws: int, rng: np.random.Generator, step: float = 0.15) -> np.ndarray:
    """A random walk on the sphere, whose stationary law is uniform, from a uniform start."""
    place = rng.normal(size=3)
    found = []
    for _ in range(draws):
        place = place / np.linalg.norm(place)
        found.append(place)
        place = place + step * rng.normal(size=3)
    return np.array(found)


# The record.


def test_a_measure_says_its_kind_and_frame_in_its_repr():
    told = he.Measure(CLOUD, kind="complete", frame="galactic")
    assert repr(told) == "Measure(Sphere(2), n=60, ess=60: complete, galactic)"


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ({"kind": "sample"}, "kind must be one of 'draws', .*, but is 'sample'"),
        ({"kind": 3}, "kind must be one of"),
        ({"frame": "fk5"}, "frame must be one of 'icrs', 'galactic', .*, but is 'fk5'"),
        ({"labels": ["one"]}, "labels must be one name for each of 60 points, but are 1"),
        ({"labels": 3}, "labels must be one name for each point, but are 3"),
        ({"labels": "name"}, "points have no columns"),
    ],
)
def test_what_cannot_be_known_is_refused(argument, message):
    with pytest.raises(he.InputError, match=message):
        he.Measure(CLOUD, **argument)


def test_a_frame_of_the_sky_is_for_directions():
    with pytest.raises(he.InputError, match="frame='icrs' is for directions on the sky, but points are on Torus"):
        he.Measure(np.zeros((3, 2)), space=he.Torus(2), frame="icrs")


@pytest.mark.parametrize("rows", [slice(10, 20), np.arange(10, 20), (np.arange(60) // 10) == 1])
def test_what_is_known_survives_subsetting(rows):
    names = [f"star {k}" for k in range(60)]
    part = he.Measure(CLOUD, np.arange(1, 61), kind="complete", frame="icrs", labels=names)[rows]
    assert part.known.labels.tolist() == names[10:20]
    assert (part.known.kind, part.known.frame) == ("complete", "icrs")
    np.testing.assert_allclose(part.weights, np.arange(11, 21) / np.arange(11, 21).sum())
    np.testing.assert_array_equal(part.points, CLOUD[10:20])


def test_one_row_is_a_measure_of_one_atom():
    assert he.Measure(CLOUD, labels=[str(k) for k in range(60)])[-1].known.labels.tolist() == ["59"]


@pytest.mark.parametrize("rows", [[], np.zeros(60, dtype=bool)])
def test_no_rows_are_refused(rows):
    with pytest.raises(he.InputError, match="rows must choose points"):
        he.Measure(CLOUD)[rows]


def test_what_is_known_survives_merging_thinning_and_copies():
    names = np.array([f"p{k}" for k in range(60)])
    twice = he.Measure(np.repeat(CLOUD, 2, axis=0), kind="complete", frame="galactic", labels=np.repeat(names, 2))
    merged = twice.coalesced()
    for name, point in zip(merged.known.labels, merged.points, strict=True):
        np.testing.assert_array_equal(CLOUD[int(name[1:])], point)
    few = he.thin(twice, size=9, angle=40).measure
    assert few.known.thinned
    assert few.known.frame == "galactic"
    for name, point in zip(few.known.labels, few.points, strict=True):
        np.testing.assert_allclose(CLOUD[int(name[1:])], point)
    assert twice.equally_weighted.known.frame == "galactic"
    assert copy.copy(twice).known.frame == pickle.loads(pickle.dumps(twice)).known.frame == "galactic"


def test_a_profile_keeps_what_was_known_and_so_does_its_json():
    profile = he.heat_profile(he.Measure(CLOUD, kind="complete", frame="icrs"), angles=[20])
    again = he.HeatProfile.from_json(profile.to_json())
    assert (again.known.kind, again.known.frame, again.known.cell) == ("complete", "icrs", None)
    old = profile.to_dict()
    del old["known"]
    import json

    assert he.HeatProfile.from_json(json.dumps(old)).known.kind is None


# Frames.


@pytest.mark.parametrize(("frame", "theirs"), [("galactic", "galactic"), ("ecliptic", "barycentricmeanecliptic")])
def test_frames_are_turned_as_astropy_turns_them(frame, theirs):
    coordinates = pytest.importorskip("astropy.coordinates")
    sky = coordinates.SkyCoord(*CLOUD.T, representation_type="cartesian", frame="icrs").transform_to(theirs)
    expected = sky.cartesian.xyz.value.T
    arcsecond = np.radians(1 / 3600)
    np.testing.assert_allclose(turned(CLOUD, "icrs", frame), expected, atol=0.03 * arcsecond)
    np.testing.assert_allclose(turned(expected, frame, "icrs"), CLOUD, atol=0.03 * arcsecond)


def test_the_same_stars_in_two_frames_are_the_same():
    """They were [217, 134] apart when the frame was forgotten."""
    coordinates = pytest.importorskip("astropy.coordinates")
    stars = coordinates.SkyCoord(*he.samplers.uniform(300, rng=1).T, representation_type="cartesian", frame="icrs")
    with pytest.warns(he.FrameWarning, match="b is galactic and a ICRS: b was turned into ICRS"):
        apart = he.mmd2(stars, stars.galactic, angles=[2, 5])
    assert apart.max() < 1e-8
    assert he.mmd2(stars, he.Measure(stars.galactic).points, angles=[2, 5]).min() > 1


def test_sky_coordinates_of_other_equinoxes_become_icrs():
    coordinates = pytest.importorskip("astropy.coordinates")
    old = coordinates.SkyCoord(ra=[10, 200], dec=[5, -60], unit="deg", frame="fk4", equinox="B1950")
    found = he.Measure(old)
    assert found.known.frame == "icrs"
    np.testing.assert_allclose(found.points, old.icrs.cartesian.xyz.value.T, atol=1e-12)


def test_a_map_of_the_earth_and_one_of_the_sky_are_not_compared():
    with pytest.raises(he.InputError, match="a is in the frame icrs, but b in geographic"):
        he.mmd2(he.Measure(CLOUD, frame="icrs"), he.Measure(CLOUD, frame="geographic"), angles=[5])


def test_an_array_has_no_frame_and_is_taken_as_it_is():
    assert he.mmd2(he.Measure(CLOUD, frame="galactic"), CLOUD, angles=[5])[0] == 0


def test_parts_in_two_frames_add_up_in_the_first_one(tmp_path):
    sky = he.Measure(CLOUD, frame="icrs")
    galactic = sky.in_frame("galactic")
    state = he.Accumulator(max_degree=60).add(CLOUD, frame="icrs")
    with pytest.warns(he.FrameWarning, match="turned into ICRS"):
        state.add(galactic.points, frame="galactic")
    assert state.profile(angles=[20]).gess[0] == pytest.approx(he.gess(sky, angle=20), rel=1e-9)
    state.save(tmp_path / "state.npz")
    assert he.Accumulator.load(tmp_path / "state.npz").frame == "icrs"
    other = he.Accumulator(max_degree=60).add(galactic.points, frame="galactic")
    with pytest.raises(he.InputError, match="different frame do not add up: 'icrs' and 'galactic'"):
        state + other


# Kinds.


@pytest.mark.parametrize("kind", ["trajectory", "cells", "complete"])
@pytest.mark.parametrize("ask", [he.uniformity_test, he.population_profile])
def test_what_is_not_drawn_has_no_pvalue_and_no_band(kind, ask):
    with pytest.raises(he.KindError, match=r"there is no .*; if these are independent .*, say kind='draws'"):
        ask(he.Measure(CLOUD, kind=kind))
    ask(he.Measure(CLOUD, kind="draws"))  # what the message advises


@pytest.mark.parametrize("kind", ["trajectory", "cells", "complete"])
def test_two_that_are_not_drawn_are_compared_without_a_pvalue(kind):
    one, other = he.Measure(CLOUD, kind=kind), he.Measure(-CLOUD, kind=kind)
    with pytest.raises(he.KindError, match=r"a is .* there is no p-value"):
        he.two_sample_test(one, other)
    found = he.compare(one, other, angles=[5, 20, 80])
    assert found.test is None
    assert np.isnan(found.pvalue)
    assert "no p-value" in found.verdict
    np.testing.assert_allclose(found.mmd2, he.mmd2(one, other, angles=[5, 20, 80]))
    power = 2 + sum(he.heat_profile(part, angles=[5, 20, 80]).mmd2 for part in (one, other))
    np.testing.assert_allclose(found.shared, 1 - found.mmd2 / power)
    assert he.compare(one, one).shared.min() == 1
    assert found.to_frame()["pvalues"].isna().all()
    assert found.plot() is not None
    assert "no p-value" in found.to_dict()["no_test"]


def test_what_is_shared_is_known_on_spaces_of_infinite_volume():
    """Two atoms each in the plane, of which one is common: O_a = O_b = 1/2 and O_ab = 1/4 at fine scales."""
    plane = he.Euclidean(2)
    one, other = (he.Measure(points, space=plane, kind="complete") for points in ([[0, 0], [9, 0]], [[0, 0], [0, 9]]))
    np.testing.assert_allclose(he.compare(one, other, resolutions=[0.1]).shared, 0.5, rtol=1e-9)


def test_thinned_atoms_are_no_draws():
    few = he.thin(he.Measure(CLOUD, kind="draws"), size=20, angle=30).measure
    with pytest.raises(he.KindError, match="points are what thinning chose"):
        he.uniformity_test(few)


def test_weighted_draws_have_importance_weights():
    sample = he.Measure(CLOUD, kind="weighted draws")
    assert he.population_profile(sample, angles=[30]).weights_are == "importance"
    assert he.population_profile(CLOUD, angles=[30]).weights_are == "fixed"


@pytest.mark.filterwarnings("ignore:the chains have not mixed")
def test_chains_that_a_measure_knows_are_used():
    rng = np.random.default_rng(3)
    chains = np.stack([slow_chain(300, rng) for _ in range(4)])
    known = he.Measure(chains)
    assert (known.known.kind, known.known.chains, known.n) == ("chains", 4, 1200)
    found = he.chain_ess(known, angles=[30, 90])
    np.testing.assert_allclose(found.ess, he.chain_ess(chains, angles=[30, 90]).ess)
    assert found.chains == 4
    mixed = rng.permutation(1200)
    reordered = known[np.sort(mixed[:600])]
    assert reordered.known.chains == 4
    assert len(reordered.known.chain_labels(600)) == 600


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*4 chains; R-hat is up to")
def test_two_runs_of_one_slow_chain_do_not_differ():
    """As independent draws p was 0.002, and 1e-59 against uniform."""
    rng = np.random.default_rng(0)
    one, other = (np.stack([slow_chain(1000, rng) for _ in range(4)]) for _ in range(2))
    assert he.two_sample_test(one.reshape(-1, 3), other.reshape(-1, 3), rng=1).pvalue < 0.01
    found = he.two_sample_test(one, other, rng=1)
    assert found.pvalue > 0.05
    assert found.n == (4000, 4000)
    assert 12 <= min(found.blocks) <= max(found.blocks) <= 60
    said = he.two_sample_test(one.reshape(-1, 3), other.reshape(-1, 3), chains=(4, 4), rng=1)
    assert said.pvalue == found.pvalue
    assert he.uniformity_test(one.reshape(-1, 3), chains=4, rng=1).pvalue > 0.01
    assert he.uniformity_test(one.reshape(-1, 3)).pvalue < 1e-20


def test_blocks_of_a_chain_get_one_sign_together():
    from heatess.inference.null_resampling import multiplied

    block, weights = np.array([0, 0, 1, 1, 1, 2]), np.array([1, 2, 3, 4, 5, 5]) / 20
    moved = multiplied(weights, np.random.default_rng(0), block)
    np.testing.assert_allclose(moved.sum(), 0, atol=1e-15)
    np.testing.assert_allclose(moved / weights, (moved / weights)[[0, 0, 2, 2, 2, 5]])
    own = np.bincount(block, weights)
    sums = {
        tuple(np.bincount(block, multiplied(weights, np.random.default_rng(seed), block)).round(12))
        for seed in range(99)
    }
    signs = np.array(np.meshgrid(*[[-1, 1]] * 3)).reshape(3, -1).T * own / (1 - own)
    assert sums == {tuple((row - own * row.sum()).round(12)) for row in signs}


def test_what_blocks_lack_is_that_of_an_autoregression():
    """rho_k = r^k has tau = (1 + r) / (1 - r), and b draws have tau_b = tau - 2 r (1 - r^b) / (b (1 - r)^2)."""
    from heatess.inference.chain_blocks import _lack
    from heatess.inference.chains import falling_pairs

    r, b = 0.9, 60
    tau = (1 + r) / (1 - r)
    within = tau - 2 * r * (1 - r**b) / (b * (1 - r) ** 2)
    assert _lack(falling_pairs(r ** np.arange(400)), b) == pytest.approx(tau / within, rel=2e-3)
    assert _lack(np.array([0.9]), 5) == 1.0


def test_chains_in_tests_are_blocks_on_every_space_and_beside_independent_draws():
    rng = np.random.default_rng(5)
    steps = np.cumsum(rng.normal(scale=0.5, size=(2, 400, 2)), axis=1) % (2 * np.pi)
    torus = he.Torus(2, units="rad")
    flat = steps.reshape(-1, 2)
    found = he.uniformity_test(flat, space=torus, chains=2, draws=99, rng=0)
    assert found.method == "multiplier"
    assert found.blocks >= 8
    assert found.n == 800
    assert found.expected[0] > 1.5 * he.uniformity_test(flat, space=torus, draws=19, rng=0).expected[0]
    free = rng.uniform(0, 2 * np.pi, size=(60, 2))
    both = he.two_sample_test(flat, free, space=torus, chains=(2, None), draws=99, rng=0)
    assert both.blocks[1] == 0 < both.blocks[0]
    assert both.to_dict()["blocks"] == list(both.blocks)
    known = he.Measure(flat, space=torus, kind="chains")
    assert he.compare(known, free, draws=99, rng=0).test.blocks[0] >= 8
    turns = np.arange(800).reshape(2, 400).T.ravel()  # a draw of each chain in turn
    again = he.uniformity_test(flat[turns], space=torus, chains=np.tile([0, 1], 400), draws=99, rng=0)
    assert again.pvalue == found.pvalue


def test_too_few_independent_draws_of_a_chain_are_refused():
    chain = slow_chain(60, np.random.default_rng(1), step=0.02)
    with pytest.raises(he.InputError, match="at least 20 are needed: run the chains longer"):
        he.uniformity_test(chain, chains=1)


# Cells.


def test_default_scales_are_not_below_a_cell():
    from heatess.base.known import Known

    atoms = he.samplers.fibonacci(192)
    cells = he.Measure.trusted(he.Sphere(2), atoms, np.full(192, 1 / 192), Known(kind="cells", cell=14.66))
    profile = he.heat_profile(cells)
    assert profile.angles.min() >= 14.66
    assert not profile.below_cell.any()
    with pytest.warns(he.ScaleWarning, match=r"1 of 2 scales are below the size of the cells of .* grid, 14\.7"):
        asked = he.heat_profile(cells, angles=[3, 20])
    assert asked.below_cell.tolist() == [True, False]
    with pytest.warns(he.ScaleWarning, match="the scale 3 is below"):
        he.gess(cells, angle=3)


# Files.


def test_names_of_rows_are_found_by_their_column(tmp_path):
    (tmp_path / "cities.csv").write_text("name,country,lon,lat\nParis,FR,2.35,48.86\nTokyo,JP,139.69,35.68\n")
    found = he.read(tmp_path / "cities.csv")
    assert found.known.labels.tolist() == ["Paris", "Tokyo"]
    assert found.known.frame == "geographic"
    assert he.read(tmp_path / "cities.csv", labels="country").known.labels.tolist() == ["FR", "JP"]
    assert he.read(tmp_path / "cities.csv", labels="none").known.labels is None
    assert he.read(tmp_path / "cities.csv", labels=["a", "b"]).known.labels.tolist() == ["a", "b"]
    with pytest.raises(he.InputError, match=r"has no column 'nam' of names; found name, .*did you mean 'name'"):
        he.read(tmp_path / "cities.csv", labels="nam")


def test_names_of_rows_stay_with_them_when_others_are_dropped(tmp_path):
    (tmp_path / "cities.csv").write_text("name,lon,lat\nParis,2.35,48.86\nNowhere,,\nTokyo,139.69,35.68\n")
    found = he.read(tmp_path / "cities.csv", drop_missing=True)
    assert found.known.labels.tolist() == ["Paris", "Tokyo"]


def test_names_of_rows_come_from_frames_and_json(tmp_path):
    pandas, polars, pyarrow = (pytest.importorskip(name) for name in ("pandas", "polars", "pyarrow"))
    columns = {"lon": [2.35, 139.69], "lat": [48.86, 35.68], "name": ["Paris", None]}
    frames = [columns, pandas.DataFrame(columns), polars.DataFrame(columns), pyarrow.table(columns)]
    for frame in frames:
        assert he.Measure(frame).known.labels.tolist() == ["Paris", ""]
    index = pandas.DataFrame({"lon": [2.35, 139.69], "lat": [48.86, 35.68]}, index=["Paris", "Tokyo"])
    assert he.Measure(index).known.labels.tolist() == ["Paris", "Tokyo"]
    frames[1].to_parquet(tmp_path / "c.parquet")
    (tmp_path / "c.json").write_text(frames[1].to_json(orient="records"))
    for file in ("c.parquet", "c.json"):
        assert he.read(tmp_path / file).known.labels.tolist() == ["Paris", ""]


def test_galactic_coordinates_are_galactic(tmp_path):
    (tmp_path / "stars.csv").write_text("glon,glat\n0,0\n90,45\n")
    assert he.read(tmp_path / "stars.csv").known.frame == "galactic"
    (tmp_path / "both.csv").write_text("ra,dec,glon,glat\n266.4,-28.9,0,0\n318,48.3,90,0\n")
    both = he.read(tmp_path / "both.csv")
    assert (both.known.frame, both.origin.columns) == ("icrs", ("ra", "dec"))
    (tmp_path / "plain.csv").write_text("lon,lat\n0,0\n90,45\n")
    said = he.read(tmp_path / "plain.csv", frame="galactic")
    assert (said.known.frame, said.about) == ("galactic", "sky")


@pytest.mark.filterwarnings("ignore:the chains have not mixed")
def test_chains_are_told_by_a_column(tmp_path):
    rng = np.random.default_rng(0)
    rows = [f"{chain},{x:.8f},{y:.8f},{z:.8f}" for chain in (1, 2, 3) for x, y, z in slow_chain(40, rng)]
    (tmp_path / "draws.csv").write_text("\n".join(["chain,x,y,z", *rows]) + "\n")
    found = he.read(tmp_path / "draws.csv")
    assert (found.known.kind, found.known.chains) == ("chains", 3)
    assert he.chain_ess(found, angles=[60]).chains == 3


@pytest.mark.parametrize("space", [he.Torus(2), he.Circle(), he.Rotations(), he.Euclidean(3)])
def test_a_stack_of_chains_is_known_on_every_space(space):
    """Without that people wrote reshape(-1, d), and their chains were independent draws."""
    width = 4 if isinstance(space, he.Rotations) else space.dim
    stack = np.random.default_rng(0).normal(size=(4, 30, width))
    stack = stack / np.linalg.norm(stack, axis=-1, keepdims=True) if width == 4 else stack
    found = he.Measure(stack, space=space)
    assert (found.n, found.known.kind, found.known.chains) == (120, "chains", 4)
    scale = {"times": [0.1]}
    assert he.chain_ess(found, **scale).ess == pytest.approx(he.chain_ess(stack, space=space, **scale).ess)
    assert he.gess(found, time=0.1) == pytest.approx(he.gess(stack.reshape(-1, width), space=space, time=0.1))


def test_a_data_array_keeps_its_chains_in_any_order_and_stacked():
    """Of those that were stacked the chains were forgotten."""
    xarray = pytest.importorskip("xarray")
    draws = he.samplers.uniform(120, rng=0).reshape(4, 30, 3)
    array = xarray.DataArray(draws, dims=("chain", "draw", "k"), coords={"chain": range(4), "draw": range(30)})
    stacked = array.stack(sample=("chain", "draw"))
    expected = he.chain_ess(draws, angles=[60]).ess
    for points in (array, array.transpose("draw", "chain", "k"), stacked, stacked.transpose("sample", "k")):
        found = he.Measure(points)
        assert (found.n, found.known.kind, found.known.chains) == (120, "chains", 4)
        np.testing.assert_allclose(he.chain_ess(found, angles=[60]).ess, expected)
    for points in (array[:, :, 0], stacked[0]):
        assert he.Measure(points, space=he.Circle()).known.chains == 4


@pytest.mark.parametrize("column", ["lp__", "minuslogpost"])
def test_rows_of_samplers_are_asked_about_as_draws_of_chains(tmp_path, column):
    """CSV of Stan and of Cobaya has no column of chains; two chains of one law differed with p = 0.002."""
    rng = np.random.default_rng(0)
    for name in ("one", "two"):
        rows = np.column_stack([rng.normal(-7, 1, 300), he.samplers.uniform(300, rng=rng)])
        np.savetxt(tmp_path / f"{name}.csv", rows, delimiter=",", header=f"{column},x,y,z", comments="")
    one, two = (he.read(tmp_path / f"{name}.csv") for name in ("one", "two"))
    assert he.heat_profile(one, angles=[30]).n == 300
    with pytest.raises(he.KindError, match=rf"column {column} is written by samplers.* say kind='chains'"):
        he.uniformity_test(one)
    assert np.isnan(he.compare(one, two, angles=[30]).pvalue)
    told = [he.read(tmp_path / f"{name}.csv", kind="chains") for name in ("one", "two")]
    assert 0 < he.compare(*told, angles=[30], rng=0).pvalue <= 1


@pytest.mark.parametrize("column", ["fieldMJD_TAI", "BJD_TDB", "obs.mjd", "JD", "HJD [d]"])
def test_dates_of_astronomers_are_times(tmp_path, column):
    """Two asteroids by turns, night after night, were "not uniform: p < 1e-6"."""
    rows = np.column_stack([60_000 + np.arange(60.0), [3, 200] * 30, np.linspace(-20, -10, 60)])
    np.savetxt(tmp_path / "nights.csv", rows, delimiter=",", header=f"{column},ra,dec", comments="")
    with pytest.raises(he.KindError, match="runs on from row to row"):
        he.uniformity_test(he.read(tmp_path / "nights.csv"))


@pytest.mark.parametrize(
    ("settings", "others"),
    [
        (("save_warmup = 1", "num_warmup = 21", "thin = 2"), 11),
        (("save_warmup = true", "num_warmup = 7", "thin = 1 (Default)"), 7),
        (("method = variational", "algorithm = meanfield (Default)"), 1),
        (("save_warmup = 1", "num_warmup = 21", "algorithm = fixed_param"), 0),
        (("save_warmup = 0 (Default)", "num_warmup = 21", "thin = 2"), 0),
    ],
)
def test_rows_of_stan_that_are_no_draws_of_the_posterior(tmp_path, monkeypatch, settings, others):
    """Its CSV holds the warm-up, if it was saved, and the mean before the draws of ADVI."""
    monkeypatch.chdir(tmp_path)
    rows = np.column_stack([np.arange(40.0), he.samplers.uniform(40, rng=0)])
    lines = [",".join(map(repr, row)) for row in rows.tolist()]
    lines[others:others] = ["# Adaptation terminated", "# Step size = 0.8", "# 0.66, 0.5"]
    comments = [f"#     {setting}" for setting in settings]
    (tmp_path / "fit.csv").write_text("\n".join([*comments, "lp__,x,y,z", *lines, "# Elapsed Time: 1 s", ""]))
    file = "fit.csv"
    if others:
        with pytest.raises(he.InputError, match=r"no draws? of the posterior; to leave (it|them) out, type") as caught:
            he.read(file)
        exec(shlex.split(str(caught.value))[-1], {})
        file = "fit-draws.csv"
    np.testing.assert_allclose(he.read(file).points, rows[others:, 1:])


@pytest.mark.parametrize("named", [{"chain": ["a", "b", "c"]}, {"draw": None}])
def test_chains_are_told_by_names_and_by_draws_that_begin_anew(tmp_path, named):
    rng = np.random.default_rng(0)
    names = named.get("chain") or [""] * 3
    rows = [
        ",".join([name or str(k), *(f"{part:.8f}" for part in place)])
        for name in names
        for k, place in enumerate(slow_chain(40, rng))
    ]
    (tmp_path / "draws.csv").write_text("\n".join([f"{next(iter(named))},x,y,z", *rows]) + "\n")
    found = he.read(tmp_path / "draws.csv")
    assert (found.known.kind, found.known.chains) == ("chains", 3)


@pytest.mark.filterwarnings("ignore:the chains have not mixed")
def test_a_stack_of_unit_vectors_in_a_file_is_chains(tmp_path):
    rng = np.random.default_rng(0)
    np.save(tmp_path / "stack.npy", np.stack([slow_chain(50, rng) for _ in range(4)]))
    found = he.read(tmp_path / "stack.npy")
    assert (found.n, found.known.kind, found.known.chains) == (200, "chains", 4)
    assert he.chain_ess(found, angles=[60]).chains == 4


def test_draws_out_of_their_order_are_refused(tmp_path):
    rng = np.random.default_rng(0)
    lines = [f"1,{k},{x:.8f},{y:.8f},{z:.8f}" for k, (x, y, z) in enumerate(slow_chain(60, rng))]
    (tmp_path / "mixed.csv").write_text("\n".join(["chain,draw,x,y,z", *rng.permutation(lines)]) + "\n")
    mixed = he.read(tmp_path / "mixed.csv")
    for ask in (he.uniformity_test, he.chain_ess):
        with pytest.raises(he.InputError, match="not in the order of draw within each chain; sort them by both"):
            ask(mixed)
    stack = he.Measure(np.stack([slow_chain(60, rng) for _ in range(2)]))
    with pytest.raises(he.InputError, match="not in their order any more"):
        he.uniformity_test(stack[rng.permutation(120)])


@pytest.mark.parametrize("name", ["t", "%time", "Time (ps)", "field.header.stamp", "#Frame"])
def test_times_are_known_by_many_names_and_may_repeat(tmp_path, name):
    rows = [f"{k // 2},{x:.8f},{y:.8f},{z:.8f}" for k, (x, y, z) in enumerate(CLOUD)]
    (tmp_path / "track.csv").write_text("\n".join([f"{name},x,y,z", *rows]) + "\n")
    with pytest.raises(he.KindError, match="runs on from row to row"):
        he.uniformity_test(he.read(tmp_path / "track.csv"))


def test_a_table_of_all_cells_of_a_grid_is_asked_about(tmp_path):
    rows = [f"{lon},{lat}" for lon in range(0, 360, 30) for lat in range(-60, 61, 30)]
    (tmp_path / "grid.csv").write_text("\n".join(["lon,lat", *rows]) + "\n")
    with pytest.raises(he.KindError, match="its rows are all cells of a grid, which are no draws; say kind='cells'"):
        he.uniformity_test(he.read(tmp_path / "grid.csv"))
    assert he.read(tmp_path / "grid.csv", kind="cells").known.kind == "cells"


def test_frames_of_votables_are_heard(tmp_path):
    pytest.importorskip("astropy")
    form = """<VOTABLE version="1.3" xmlns="http://www.ivoa.net/xml/VOTable/v1.3"><RESOURCE>
    <COOSYS ID="S" system="{system}"/><TABLE><FIELD name="{a}" ref="S" unit="deg" datatype="double"/>
    <FIELD name="{b}" ref="S" unit="deg" datatype="double"/><DATA><TABLEDATA><TR><TD>10</TD><TD>20</TD></TR>
    <TR><TD>100</TD><TD>-20</TD></TR></TABLEDATA></DATA></TABLE></RESOURCE></VOTABLE>"""
    (tmp_path / "g.vot").write_text(form.format(system="galactic", a="lon", b="lat"))
    assert he.read(tmp_path / "g.vot").known.frame == "galactic"
    (tmp_path / "old.vot").write_text(form.format(system="eq_FK4", a="ra", b="dec"))
    with pytest.raises(he.InputError, match=r"in FK4, whose equinox is not said.*say frame='icrs'"):
        he.read(tmp_path / "old.vot")
    assert he.read(tmp_path / "old.vot", frame="icrs").known.frame == "icrs"
    (tmp_path / "new.vot").write_text(form.format(system="eq_FK5", a="ra", b="dec"))
    assert he.read(tmp_path / "new.vot").known.frame == "icrs"


@pytest.mark.parametrize("times", [range(50), [f"2024-05-01T00:00:{k:02d}Z" for k in range(50)], range(50, 0, -1)])
def test_rows_that_run_on_in_time_are_asked_about(tmp_path, times):
    rows = [f"{time},{x:.8f},{y:.8f},{z:.8f}" for time, (x, y, z) in zip(times, CLOUD, strict=False)]
    (tmp_path / "track.csv").write_text("\n".join(["time,x,y,z", *rows]) + "\n")
    track = he.read(tmp_path / "track.csv")
    with pytest.raises(he.KindError, match=r"column time runs on .*; say kind='draws' or kind='trajectory'"):
        he.uniformity_test(track)
    he.uniformity_test(he.read(tmp_path / "track.csv", kind="draws"))
    with pytest.raises(he.KindError, match="a trajectory"):
        he.uniformity_test(he.read(tmp_path / "track.csv", kind="trajectory"))


def test_rows_close_to_the_next_are_asked_about_without_a_column_of_times(tmp_path):
    """A path without times has no p-value unasked; sorted groups, which may be frames of a simulation, a warning."""
    rng = np.random.default_rng(3)
    groups = [he.samplers.von_mises_fisher(60, axis, 200, rng=rng) for axis in np.eye(3)]
    for name, rows in (("path", slow_chain(400, rng)), ("groups", np.concatenate(groups)), ("draws", CLOUD)):
        np.savetxt(tmp_path / f"{name}.csv", rows, delimiter=",", header="x,y,z", comments="")
    path, other = he.read(tmp_path / "path.csv"), he.read(tmp_path / "draws.csv")
    for ask in (he.uniformity_test, lambda points: he.two_sample_test(other, points), he.population_profile):
        with pytest.raises(he.KindError, match=r"rows are in an order: .* say kind='draws' if .* kind='trajectory'"):
            ask(path)
    assert he.compare(other, path, angles=[30], draws=19).test is None
    assert he.uniformity_test(he.read(tmp_path / "path.csv", kind="draws")).pvalue < 1
    shuffled = path[rng.permutation(path.n)]
    for found in (other, he.read(tmp_path / "groups.csv", kind="draws"), shuffled):
        assert he.uniformity_test(found, draws=19).pvalue <= 1
    with pytest.warns(he.CalibrationWarning, match=r"may be in an order: .* 0.1\d of .* kind='draws' if .* sorted"):
        he.uniformity_test(he.read(tmp_path / "groups.csv"), draws=19)


def test_draws_of_many_chains_in_turn_are_asked_about_and_known_by_a_column(tmp_path):
    """emcee writes the first draw of all walkers, then the second: the next row is of another chain."""
    rng = np.random.default_rng(2)
    walkers = np.stack([slow_chain(60, rng) for _ in range(16)], axis=1).reshape(-1, 3)
    np.savetxt(tmp_path / "flat.csv", walkers, delimiter=",", header="x,y,z", comments="")
    with pytest.raises(he.KindError, match=r"to that 16 rows on is 0\.\d+ of .* 16 Markov chains .*a column chain"):
        he.uniformity_test(he.read(tmp_path / "flat.csv"))
    told = np.column_stack([walkers, np.arange(960) % 16])
    np.savetxt(tmp_path / "told.csv", told, delimiter=",", header="x,y,z,chain", comments="")
    assert he.read(tmp_path / "told.csv").known.chains == 16


def test_frames_of_a_simulation_far_apart_are_warned_of_and_right_as_chains(tmp_path):
    """Fast motion within two states and rare steps between them: the next row is not much nearer than others."""
    rng = np.random.default_rng(0)
    for name in ("a", "b"):
        state = np.cumsum(rng.random(1000) < 0.03) % 2
        angles = np.stack([np.where(state, -60, 60), np.where(state, -45, 130)], axis=1) + rng.normal(0, 40, (1000, 2))
        np.savetxt(tmp_path / f"{name}.csv", angles, delimiter=",", header="phi,psi", comments="")
    frames = [he.read(tmp_path / f"{name}.csv") for name in ("a", "b")]
    with pytest.warns(he.CalibrationWarning, match=r"as in frames of a simulation.*kind='chains' if they follow"):
        unasked = he.two_sample_test(*frames, angles=[60], rng=0)
    chains = [he.read(tmp_path / f"{name}.csv", kind="chains") for name in ("a", "b")]
    assert unasked.pvalue < 0.01 < 0.05 < he.two_sample_test(*chains, angles=[60], rng=0).pvalue


def test_times_in_no_order_are_not_asked_about(tmp_path):
    order = np.random.default_rng(0).permutation(50)
    rows = [f"{time},{x:.8f},{y:.8f},{z:.8f}" for time, (x, y, z) in zip(order, CLOUD, strict=False)]
    (tmp_path / "hits.csv").write_text("\n".join(["time,x,y,z", *rows]) + "\n")
    assert he.uniformity_test(he.read(tmp_path / "hits.csv")).pvalue > 0


def test_a_path_in_tum_format_is_a_trajectory(tmp_path):
    from scipy.spatial.transform import Rotation

    turns = Rotation.random(30, random_state=0).as_quat()
    rows = [f"{k / 10:.2f} 0 0 {k} " + " ".join(f"{part:.9f}" for part in turn) for k, turn in enumerate(turns)]
    (tmp_path / "path.txt").write_text("\n".join(rows) + "\n")
    path = he.read(tmp_path / "path.txt")
    assert path.known.kind == "trajectory"
    assert he.compare(path, path).verdict == "a and b are the same at every scale; there is no p-value"


# Headers and sky coordinates in files of astropy.


def catalogue(count: int = 40) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(5)
    return rng.uniform(0, 360, count), np.degrees(np.arcsin(rng.uniform(-1, 1, count)))


@pytest.mark.parametrize("name", ["stars.ecsv", "stars.fits"])
@pytest.mark.parametrize(("system", "frame"), [("icrs", "icrs"), ("galactic", "galactic"), ("fk4", "icrs")])
def test_columns_of_sky_coordinates_are_read_in_their_frame(tmp_path, name, system, frame):
    coordinates, table = pytest.importorskip("astropy.coordinates"), pytest.importorskip("astropy.table")
    sky = coordinates.SkyCoord(*catalogue(), unit="deg", frame=system)
    table.QTable({"flux": np.ones(40), "place": sky}).write(tmp_path / name)
    turned = sky.transform_to(frame).spherical
    expected = he.from_lonlat(turned.lon.deg, turned.lat.deg, units="deg")
    for found in (he.read(tmp_path / name), he.Measure(table.QTable({"flux": np.ones(40), "place": sky}))):
        assert found.known.frame == frame
        np.testing.assert_allclose(found.points, expected, atol=1e-12)


def test_two_columns_of_sky_coordinates_are_asked_about(tmp_path):
    coordinates, table = pytest.importorskip("astropy.coordinates"), pytest.importorskip("astropy.table")
    sky = coordinates.SkyCoord(*catalogue(), unit="deg")
    table.QTable({"a": sky, "b": sky[::-1]}).write(tmp_path / "pairs.ecsv")
    with pytest.raises(he.InputError, match=r"columns=\{'ra': 'a.ra', 'dec': 'a.dec'\}"):
        he.read(tmp_path / "pairs.ecsv")
    second = he.read(tmp_path / "pairs.ecsv", columns={"ra": "b.ra", "dec": "b.dec"})
    np.testing.assert_allclose(second.points, he.from_lonlat(sky.ra.deg, sky.dec.deg, units="deg")[::-1], atol=1e-12)


@pytest.mark.parametrize("name", ["old.fits", "old.ecsv"])
@pytest.mark.parametrize("header", [{"RADESYS": "FK4"}, {"EQUINOX": 1950.0}])
def test_a_header_of_an_old_equinox_is_not_taken_for_icrs(tmp_path, name, header):
    table = pytest.importorskip("astropy.table")
    ra, dec = catalogue()
    found = table.Table({"ra": ra, "dec": dec, "RAJ2000": ra, "DEJ2000": dec, "glon": ra, "glat": dec}, meta=header)
    found.write(tmp_path / name)
    for source in (tmp_path / name, found):
        with pytest.raises(he.InputError, match=r"columns ra, dec are in FK4.* 0\.7 degrees .*frame='icrs'"):
            he.read(source, columns={"ra": "ra", "dec": "dec"})
        assert he.read(source, columns={"ra": "ra", "dec": "dec"}, frame="icrs").known.frame == "icrs"
        assert he.read(source, columns={"ra": "RAJ2000", "dec": "DEJ2000"}).known.frame == "icrs"
        assert he.read(source, columns={"glon": "glon", "glat": "glat"}).known.frame == "galactic"


@pytest.mark.parametrize(
    ("name", "a", "b"), [("old.fits", "ra", "dec"), ("old.csv", "RA1950", "DE1950"), ("text.csv", "RA1950", "DE1950")]
)
def test_the_line_that_turns_an_old_equinox_makes_a_file_that_is_read(tmp_path, monkeypatch, name, a, b):
    coordinates, table = pytest.importorskip("astropy.coordinates"), pytest.importorskip("astropy.table")
    monkeypatch.chdir(tmp_path)
    ra, dec = catalogue()
    entries = {a: ra, b: dec}
    if name.startswith("text"):
        written = coordinates.SkyCoord(ra, dec, unit="deg")
        entries = {
            a: written.ra.to_string("hour", sep=":", precision=9),
            b: written.dec.to_string(sep=":", precision=8),
        }
    table.Table({**entries, "flux": ra}, meta={"RADESYS": "FK4"} if a == "ra" else {}).write(name)
    with pytest.raises(he.InputError, match="type: python -c") as caught:
        he.read(name, columns={"ra": a, "dec": b})
    exec(re.search('python -c "(.*)"$', str(caught.value))[1])
    turned = coordinates.SkyCoord(ra, dec, unit="deg", frame="fk4").icrs
    found = he.read(name.partition(".")[0] + "_icrs.ecsv")
    assert found.known.frame == "icrs"
    np.testing.assert_allclose(found.points, he.from_lonlat(turned.ra.deg, turned.dec.deg, units="deg"), atol=1e-11)


def test_a_map_of_an_old_equinox_is_not_taken_for_icrs():
    table = pytest.importorskip("astropy.table")
    pytest.importorskip("astropy_healpix")
    meta = {"PIXTYPE": "HEALPIX", "ORDERING": "RING", "NSIDE": 2, "COORDSYS": "C", "RADESYS": "FK4"}
    old = table.Table({"PROB": np.ones(48)}, meta=meta)
    with pytest.raises(he.InputError, match=r"pixels of a HEALPix map .* are in FK4"):
        he.read(old)
    assert he.read(old, frame="icrs").known.frame == "icrs"
    assert he.read(table.Table({"PROB": np.ones(48)}, meta=meta | {"COORDSYS": "G"})).known.frame == "galactic"


# Stacks of chains whose axes may be exchanged.


@pytest.mark.filterwarnings("ignore:the chains have not mixed")
def test_more_chains_than_draws_are_asked_about(tmp_path):
    """As emcee has them, (draw, chain, coordinate), slow chains were taken for many short ones."""
    chains = np.stack([slow_chain(200, np.random.default_rng(k)) for k in range(6)])
    exchanged = chains.swapaxes(0, 1)
    np.save(tmp_path / "walkers.npy", exchanged)
    advice = r"200 chains of 6 draws by .* shape.*swapaxes\(0, 1\)"
    for points in (he.Measure(exchanged), he.read(tmp_path / "walkers.npy")):
        assert points.known.chains == 200
        with pytest.raises(he.KindError, match=advice):
            he.uniformity_test(points)
    with pytest.raises(he.InputError, match=advice):
        he.chain_ess(exchanged)
    with pytest.raises(he.InputError, match="12 chains of 2 draws"):
        he.chain_ess(np.linspace(0, 6, 24).reshape(12, 2, 1), space=he.Circle())
    assert he.Measure(exchanged, kind="chains").known.doubt == ""
    found, wide = he.chain_ess(exchanged.swapaxes(0, 1), angles=[30]), np.repeat(exchanged, 2, axis=1)
    assert found.ess[0] < 400
    assert he.chain_ess(wide.reshape(-1, 3), chains=200, angles=[30]).chains == 200


def test_values_at_places_of_another_frame_are_those_of_the_places():
    """They were taken as vectors of the first frame, without a word."""
    stars = he.Measure(he.samplers.von_mises_fisher(60, [0, 0, 1], 3, rng=1), frame="icrs")
    other = stars.in_frame("galactic")
    law = he.maximum_entropy(stars, angle=40, max_degree=2)
    for name, values in {
        "at": lambda where: he.potential(stars, at=where, angle=20),
        "points": law.density,
    }.items():
        with pytest.warns(he.FrameWarning, match=f"{name} is galactic and .* ICRS: {name} was turned into ICRS"):
            found = values(other)
        np.testing.assert_allclose(found, values(stars), rtol=1e-10)
    with pytest.raises(he.InputError, match="in the frame icrs, but at in geographic"):
        he.potential(stars, at=he.Measure(stars.points, frame="geographic"), angle=20)


@pytest.mark.parametrize("times", [np.tile(np.arange(8.0), 5), [f"2021-08-{d:02d}" for d in range(1, 9)] * 5])
def test_several_paths_one_after_another_are_asked_about(times):
    lon = np.random.default_rng(0).uniform(-60, 60, 40)
    storms = {"lon": lon, "lat": lon[::-1] / 2, "time": times, "storm": np.repeat(np.arange(5.0), 8)}
    with pytest.raises(he.KindError, match=r"column time runs on .* may be trajectories, 5 in the first 40 rows"):
        he.uniformity_test(he.Measure(storms))
    mixed = {name: np.asarray(column)[np.random.default_rng(1).permutation(40)] for name, column in storms.items()}
    assert "5 rows for each of its 8 values" in he.Measure(mixed).known.doubt
    assert he.Measure(storms | {"time": np.repeat([0.0, 1.0, 0.0, 1.0, 0.0], 8)}).known.doubt == ""


def test_stacked_samples_keep_their_chains():
    """As `arviz.extract` gives them; they were taken for draws of no known kind, with a p-value."""
    xarray = pytest.importorskip("xarray")
    chains = np.stack([slow_chain(60, np.random.default_rng(k)) for k in range(3)])
    stacked = xarray.Dataset({"place": (("chain", "draw", "xyz"), chains)}).stack(sample=("chain", "draw"))
    found = he.Measure(stacked)
    assert (found.known.kind, found.known.chains) == ("chains", 3)
    np.testing.assert_array_equal(found.points, chains.reshape(-1, 3))
    with pytest.warns(he.CalibrationWarning, match="have not mixed"):
        alone, whole = he.chain_ess(found, angles=[30]), he.chain_ess(chains, angles=[30])
    assert alone.ess[0] == pytest.approx(whole.ess[0], rel=1e-12)
    with pytest.raises(he.InputError, match="not in the order of draw within each chain; sort them"):
        he.chain_ess(he.Measure(stacked.isel(sample=slice(None, None, -1))), angles=[30])


def test_the_index_of_a_data_frame_tells_chains_and_times():
    pandas = pytest.importorskip("pandas")
    chains = np.stack([slow_chain(60, np.random.default_rng(k)) for k in range(3)])
    index = pandas.MultiIndex.from_product([range(3), range(60)], names=["chain", "draw"])
    draws = pandas.DataFrame(chains.reshape(-1, 3), columns=list("xyz"), index=index)
    assert he.Measure(draws).known.chains == 3
    assert "not in the order of draw" in he.Measure(draws[::-1]).known.doubt
    path = draws.set_index(pandas.date_range("2021-01-01", periods=180, name="time"))
    for frame in (path, path.reset_index(), path.tz_localize("UTC").reset_index()):
        assert "column time runs on" in he.Measure(frame).known.doubt
    assert he.Measure(path.sample(frac=1, random_state=0)).known.doubt == ""
