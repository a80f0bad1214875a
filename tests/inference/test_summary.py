"""One row of the paper's tables."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import heatess as he

DUPLICATES = np.repeat(he.samplers.fibonacci(30), 10, axis=0)


def test_duplicates_row_of_the_paper():
    found = he.summarize(DUPLICATES)
    assert found.n == 300
    assert round(found.resultant_length, 3) == 0.005
    assert round(found.bingham_energy, 2) == 0.00
    assert found.ess == pytest.approx(300, rel=1e-12)
    assert found.perplexity_ess == pytest.approx(300, rel=1e-12)
    assert found.angles == pytest.approx((15, 45), rel=1e-14)
    assert round(found.gess[0], 1) == 29.7
    assert round(found.leinster_cobbold[0], 1) == 29.7
    assert round(found.gess[1], 1) == 6.8


def test_resultant_of_the_duplicates_row_is_that_of_its_lattice():
    assert he.summarize(DUPLICATES).resultant_length == pytest.approx(
        np.linalg.norm(he.samplers.fibonacci(30).mean(axis=0)), rel=1e-10
    )


@pytest.mark.parametrize("dim", [1, 2, 3, 9])
def test_each_entry_is_its_own_function(dim):
    x = he.samplers.uniform(40, dim, rng=dim)
    w = np.random.default_rng(dim).random(40)
    found = he.summarize(x, w, angles=(10, 60))
    spectrum, profile = he.power_spectrum(x, w), he.heat_profile(x, w, angles=[10, 60])
    assert found.resultant_length == pytest.approx(spectrum.resultant_length, rel=1e-10)
    assert found.bingham_energy == pytest.approx(spectrum.bingham_energy, rel=1e-10)
    assert found.ess == pytest.approx(he.baselines.ess(w), rel=1e-14)
    assert found.perplexity_ess == pytest.approx(he.baselines.perplexity_ess(w), rel=1e-14)
    assert found.gess == pytest.approx(tuple(profile.gess), rel=1e-12)
    by_pairs = tuple(he.baselines.leinster_cobbold(x, w, angle=angle) for angle in (10, 60))
    assert found.leinster_cobbold == pytest.approx(by_pairs, rel=1e-12)


def test_log_weights_mean_the_same():
    x = he.samplers.fibonacci(25)
    logs = 3 * x[:, 0]
    by_logs, plain = he.summarize(x, log_weights=logs + 900).row(), he.summarize(x, np.exp(logs)).row()
    assert by_logs == pytest.approx(plain, rel=1e-11)


def test_dictionary_has_the_keys_of_the_table():
    row = he.summarize(DUPLICATES, angles=(7.5, 45)).row()
    table = ["n", "R", "B2", "ESS", "ESS_H", "gESS(7.5deg)", "gESS(45deg)", "D_LC(7.5deg)", "D_LC(45deg)"]
    assert list(row) == [*table, "k"]
    assert all(type(value) in (int, float) for value in row.values())


def test_text_names_every_entry():
    text = str(he.summarize(DUPLICATES))
    for part in ("n 300", "ESS 300", "gESS(15deg) 29.7", "D_LC(15deg) 29.7", "gESS(45deg) 6.8"):
        assert part in text


def test_the_tail_of_the_weights_is_named_where_they_have_one():
    w = np.arange(1.0, 301) ** -0.6
    found = he.summarize(DUPLICATES, w)
    assert found.row()["k"] == found.pareto_k == he.pareto_k(weights=w / w.sum())
    assert f"k {found.pareto_k:.4g}" in str(found)
    equal = he.summarize(DUPLICATES)
    assert np.isnan(equal.pareto_k)
    assert "  k " not in str(equal)


def test_summary_is_frozen_and_comparable():
    found = he.summarize(DUPLICATES)
    assert found == he.summarize(DUPLICATES)
    with pytest.raises(dataclasses.FrozenInstanceError):
        found.ess = 1.0


def test_one_atom_is_one_particle():
    row = he.summarize([[0.6, 0.0, 0.8]]).row()
    assert row == pytest.approx(
        {"n": 1, "R": 1, "B2": 5, "ESS": 1, "ESS_H": 1, "gESS(15deg)": 1, "gESS(45deg)": 1}
        | {"D_LC(15deg)": 1, "D_LC(45deg)": 1, "k": np.nan},
        rel=1e-12,
        nan_ok=True,
    )


def test_what_makes_no_sense_on_a_space_is_nan():
    rng = np.random.default_rng(4)
    ring = np.roll(np.eye(30), 1, axis=1)
    for points, space, scales in (
        (rng.random((20, 2)), he.Torus(2), {}),
        (rng.random((20, 5)), he.Euclidean(5), {"times": [0.1]}),
        (
            (rng.random((20, 3)), he.Rotations().uniform(20, rng)),
            he.Product(he.Euclidean(3), he.Rotations()),
            {"times": 1},
        ),
        (rng.integers(0, 30, 20), he.Graph(ring + ring.T), {"times": [0.5, 2.0]}),
    ):
        found = he.summarize(points, space=space, **scales)
        profile = he.heat_profile(points, space=space, **(scales or {"angles": [15, 45]}))
        assert np.isnan([found.resultant_length, found.bingham_energy, *found.leinster_cobbold]).all()
        assert found.gess == pytest.approx(tuple(profile.gess), rel=1e-12)
        assert found.angles == pytest.approx(tuple(profile.angles), rel=1e-14)
        assert (found.n, found.ess) == (20, pytest.approx(20))


def test_the_circle_of_angles_has_the_summary_of_that_of_unit_vectors():
    rng = np.random.default_rng(4)
    angle, w = rng.random(20), rng.random(20)
    vectors = np.column_stack([np.cos(angle), np.sin(angle)])
    by_angle, by_vector = he.summarize(angle, w, space=he.Circle()), he.summarize(vectors, w)
    assert by_angle.row() == pytest.approx(by_vector.row(), rel=1e-10, nan_ok=True)
    length = {"space": he.Torus(1, periods=3), "resolutions": [0.2, 0.4]}  # the same circle, in another unit
    found = he.summarize(angle * 3 / (2 * np.pi), w, **length)
    profile = he.heat_profile(angle * 3 / (2 * np.pi), w, **length)
    assert found.resultant_length == pytest.approx(by_vector.resultant_length, rel=1e-10)
    assert found.bingham_energy == pytest.approx(by_vector.bingham_energy, rel=1e-10)
    assert np.isnan(found.leinster_cobbold).all()
    assert found.gess == pytest.approx(tuple(profile.gess), rel=1e-12)
    assert found.angles == pytest.approx(tuple(profile.angles), rel=1e-14)
    assert (found.n, found.ess) == (20, pytest.approx(he.baselines.ess(w)))


def test_rotations_have_no_resultant_but_a_diversity():
    found = he.summarize(he.Rotations().uniform(30, np.random.default_rng(1)), space=he.Rotations())
    assert np.isnan([found.resultant_length, found.bingham_energy]).all()
    assert 1 < found.leinster_cobbold[1] < found.leinster_cobbold[0] < 30


def test_scales_that_are_not_angles_are_named_without_degrees():
    row = he.summarize([[0.0], [1.0]], space=he.Euclidean(1), times=[0.5]).row()
    assert list(row)[-3:] == ["gESS(2)", "D_LC(2)", "k"]
    with pytest.raises(he.InputError, match="are not angles; give resolutions"):
        he.summarize([[0.0], [1.0]], space=he.Euclidean(1))
