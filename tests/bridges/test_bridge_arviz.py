"""Posterior draws of ArviZ, old (InferenceData) and new (DataTree), and profiles as datasets of xarray."""

from __future__ import annotations

import numpy as np
import plain
import pytest

import heatess as he

CHAINS, DRAWS = 4, 60


@pytest.fixture
def draws():
    """Directions (chain, draw, 3), the same as longitude and latitude in degrees, and a number beside them."""
    rng = np.random.default_rng(0)
    x = he.samplers.von_mises_fisher(CHAINS * DRAWS, [0, 0, 1], 5.0, rng=rng).reshape(CHAINS, DRAWS, 3)
    return x, np.degrees(np.arctan2(x[..., 1], x[..., 0])), np.degrees(np.arcsin(x[..., 2])), rng.gamma(1, size=(4, 60))


def made(package, posterior):
    """Draws as the package holds them."""
    module = pytest.importorskip(package)
    if package == "arviz" and not hasattr(module, "InferenceData"):
        pytest.skip("this ArviZ has no InferenceData")
    return module.from_dict(posterior=posterior) if package == "arviz" else module.from_dict({"posterior": posterior})


PACKAGES = pytest.mark.parametrize("package", ["arviz", "arviz_base"])


@PACKAGES
@pytest.mark.filterwarnings("default")
def test_angles_and_vectors_of_a_posterior_are_its_points(package, draws):
    x, lon, lat, other = draws
    expected = plain.gess(plain.overlaps_on_sphere(x.reshape(-1, 3), 10))
    assert he.gess(made(package, {"lon": lon, "lat": lat, "noise": other}), angle=10) == pytest.approx(
        expected, rel=1e-8
    )
    assert he.gess(made(package, {"vector": x, "noise": other}), angle=10) == pytest.approx(expected, rel=1e-8)


@PACKAGES
@pytest.mark.filterwarnings("default")
def test_draws_are_weighted_by_a_variable(package, draws):
    x, lon, lat, other = draws
    data = made(package, {"lon": lon, "lat": lat, "noise": other})
    expected = plain.gess(plain.overlaps_on_sphere(x.reshape(-1, 3), 10), other.ravel())
    assert he.gess(data, "noise", angle=10) == pytest.approx(expected, rel=1e-8)


@PACKAGES
@pytest.mark.filterwarnings("default")
def test_chains_of_a_posterior_keep_their_order(package, draws):
    x = draws[0]
    data = made(package, {"direction": x})
    values = data.posterior["direction"].values
    np.testing.assert_array_equal(values, x)
    found = he.chain_ess(values, angles=[20])
    assert found.ess == pytest.approx(he.chain_ess(x.reshape(-1, 3), chains=CHAINS, angles=[20]).ess, rel=1e-12)


@PACKAGES
@pytest.mark.filterwarnings("default")
def test_a_posterior_without_points_is_refused_with_its_names(package, draws):
    with pytest.raises(he.InputError, match="found 1 column: noise"):
        he.gess(made(package, {"noise": draws[3]}), angle=10)


def test_a_profile_is_a_dataset_over_scales(draws):
    pytest.importorskip("xarray")
    profile = he.heat_profile(draws[0], angles=[10, 20, 40])
    dataset = profile.to_xarray()
    overlaps = [plain.overlaps_on_sphere(draws[0].reshape(-1, 3), angle) for angle in (10, 20, 40)]
    np.testing.assert_allclose(dataset["gess"].values, [plain.gess(s) for s in overlaps], rtol=1e-8)
    np.testing.assert_array_equal(dataset["angle"].values, [10, 20, 40])
