"""A few cases of the search in every run of the tests, its references held against closed forms, and invariants."""

from __future__ import annotations

import ast
import math
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from flint import arb, arb_mat, ctx, fmpq
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.spatial.transform import Rotation

import heatess as he
from certainty import reference, search
from certainty.examine import relative
from certainty.strategies import FAMILIES, clouds, draw_cloud, truth_of
from space_cases import EVERY, HOMOGENEOUS, Case, named, taken

CASES = 200


@pytest.mark.slow
def test_nothing_is_outside_its_stated_error():
    seed = int(np.random.SeedSequence().entropy % 2**32)
    report = search.search(CASES, seed, chunk=10)
    assert sum(tally.cases for tally in report.tallies.values()) > 0.95 * CASES
    found = search.violations(report)
    lines = [search.described(check, seed, ()) for check in found[:5]]
    assert not found, f"{len(found)} numbers outside a stated bound, seed {seed}:\n" + "\n".join(lines)


@pytest.mark.slow
def test_a_case_is_the_same_again():
    for name in FAMILIES:
        one, two = (draw_cloud(5, 3, (name,)) for _ in range(2))
        assert repr((one.points, one.weights, one.log_weights, one.times)) == repr(
            (two.points, two.weights, two.log_weights, two.times)
        )


@pytest.mark.slow
@pytest.mark.parametrize("share", [1e-7, 1e-3])
def test_the_search_finds_a_number_that_is_off(share, monkeypatch):
    true = he.heat_profile

    def wrong(*args, **options):
        profile = true(*args, **options)
        object.__setattr__(profile, "gess", profile.gess * (1 + share))
        return profile

    monkeypatch.setattr(he, "heat_profile", wrong)
    found = search.violations(search.search(12, 1, ("Sphere(2)", "Torus", "Rotations"), processes=1))
    assert {check.engine for check in found} >= {"auto", "pairwise"}
    assert {check.what for check in found} == {"gess"}


def off_by(share, name):
    """A function of heatess whose numbers are off by a share of themselves, or too small by it."""
    true = getattr(he, name)

    def wrong(*args, **options):
        found = true(*args, **options)
        if name == "thin":
            return replace(found, mmd=found.mmd * (1 - share), bound=found.bound * (1 - share))
        return replace(found, weights=found.weights + share * found.gess) if name == "gradient" else found * (1 + share)

    return wrong


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "share", "what"),
    [
        ("mmd2", 1e-3, "between"),
        ("potential", 1e-2, "potential"),
        ("redundancy", 0.1, "redundancy"),
        ("gradient", 0.5, "gradient"),
        ("thin", 0.99, "thin"),
    ],
)
def test_the_search_finds_what_functions_are_off_by(name, share, what, monkeypatch):
    monkeypatch.setattr(he, name, off_by(share, name))
    found = search.violations(search.search(10, 1, ("Circle",), processes=1))
    assert {check.what for check in found} == {what}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["Mesh", "PointCloud"])
def test_the_search_holds_meshes_and_samples_against_their_own_matrices(name, monkeypatch):
    right = search.search(4, 2, (name,), processes=1)
    assert not search.violations(right)
    assert right.tallies[f"{name}, as its nodes"].numbers > 20
    true = he.heat_profile

    def wrong(*args, **options):
        found = true(*args, **options)
        return replace(found, gess=found.gess * (1 + 0.9 * found.discretisation))

    monkeypatch.setattr(he, "heat_profile", wrong)
    found = search.violations(search.search(4, 2, (name,), processes=1))
    assert {(check.family, check.what) for check in found} == {(f"{name}, as its nodes", "gess")}


# What the search has found.


@pytest.mark.parametrize("time", [10.0, 19.0, 25.0, 60.0])
def test_a_balanced_product_is_warned_of_however_mixed_the_heat_is(time):
    corners = np.array([0, np.pi, 0, np.pi]), np.array([0, 0, np.pi, np.pi])
    torus = he.Product(he.Circle(), he.Circle())
    with pytest.warns(he.PrecisionWarning, match="mmd2"):
        he.heat_profile(corners, space=torus, times=[time], method="pairwise")
    apart = he.heat_profile((corners[0][:2], corners[1][:2]), space=torus, times=[time], method="pairwise")
    truth = reference.exact(truth_of(torus), (corners[0][:2], corners[1][:2]), reference.shares([1.0, 1.0]), time)
    assert relative(apart.mmd2[0], truth.mmd2) < 1e-11


# References against one another and against closed forms; none of them uses heatess.


def test_references_share_nothing_with_heatess():
    tree = ast.parse(Path(reference.__file__).read_text())
    names = [alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names]
    names += [node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    assert {name.split(".")[0] for name in names} == {
        "__future__", "collections", "dataclasses", "functools", "math", "typing", "numpy", "flint",
    }  # fmt: skip


def agree(one, two, digits=30):
    return abs(one / two - 1) < arb(10) ** -digits


@pytest.mark.parametrize(
    "space",
    [
        *map(reference.Sphere, (1, 2, 3, 4, 5, 10, 11, 30)),
        *map(reference.Projective, (1, 2, 3, 6)),
        *map(reference.ComplexProjective, (1, 2, 5)),
    ],
    ids=lambda space: f"{type(space).__name__}({space.dim})",
)
@pytest.mark.parametrize("share", [1.0, 1.3])
def test_series_and_closed_forms_agree_at_the_seam(space, share):
    alpha = share * reference.FINE * space.cut
    with ctx.workprec(200):
        time = reference.exactly(alpha) ** 2 / 8
        apart = [(1 - reference.exactly(alpha * share).cos()).mid() for share in (0.0, 1e-9, 0.3, 2.0, 4.0)]
        series, closed = space.by_levels(time), space.by_gaussian(time, apart)
        # Beyond it the images on the far side, which closed forms leave out, begin to be seen.
        digits = 30 if share == 1 else 20
        assert agree(1 + series.diagonal, 1 + closed.diagonal, digits)
        for z in apart:
            assert agree(1 + series.of(z), 1 + closed.of(z), digits)


@pytest.mark.parametrize("space", [reference.Sphere(2), reference.Sphere(7), reference.ComplexProjective(3)])
def test_interpolation_over_many_pairs_changes_nothing(space):
    with ctx.workprec(160):
        time = reference.exactly(reference.FINE * space.cut) ** 2 / 8
        apart = [(1 - reference.exactly(0.0115 * space.cut * k).cos()).mid() for k in range(1, 51)]
        many, few = space.by_gaussian(time, apart), space.by_gaussian(time, [])
        for z in apart[::7]:
            assert abs(many.of(z) - few.of(z)) < arb(10) ** -28


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5])
def test_both_expansions_of_the_circle_agree(share):
    with ctx.workprec(200):
        period = arb(3)
        for s in (0.05, 0.6, 2.0):
            both = [reference.circle_excess(share * period, arb(s) / 2, period, images=images) for images in (0, 1)]
            assert agree(1 + both[0], 1 + both[1], 40)


@pytest.mark.parametrize("s", [1e-3, 0.5, 20.0])
def test_the_heat_in_the_hyperbolic_plane_is_all_there(s):
    # 2 pi int sinh(r) K_s(r) dr = 1, with K_s = 2 sqrt(s) (4 pi s)^(-3/2) exp(-s/4 - r^2/4s) times our integral.
    with ctx.workprec(128):
        exact, total, most = arb(s), arb(0), 2 * s + 14 * s**0.5
        for node, weight in zip(*np.polynomial.legendre.leggauss(60), strict=True):
            r = arb(most * (1 + node) / 2)
            total += arb(weight) * r.sinh() * (-r * r / (4 * exact)).exp() * reference.planar_integral(r, exact)
        factor = 2 * exact.sqrt() * (4 * arb.pi() * exact) ** fmpq(-3, 2) * (-exact / 4).exp()
        assert agree(total * arb(most / 2) * 2 * arb.pi() * factor, arb(1), 11)
        fine = [reference.planar_integral(arb(0.7), exact, finer=k) for k in (1, 2)]
        assert agree(*fine, 24)


def test_one_space_by_two_names_is_one_space():
    rng = np.random.default_rng(0)
    axes, masses = rng.standard_normal((5, 4)), reference.shares(rng.random(5))
    for time in (1e-4, 0.3):
        lines = reference.exact(reference.Projective(3), axes, masses, time)
        turns = reference.exact(reference.Rotations(), axes, masses, 4 * time)
        assert agree(lines.overlap, turns.overlap)
        assert agree(lines.mmd2, turns.mmd2, 9)
        angles = rng.uniform(0, 6, (5, 2))
        square = reference.exact(reference.Torus((3.0, 5.0)), angles, masses, time)
        factors = reference.Product((reference.Torus((3.0,)), reference.Torus((10.0,))), (1.0, 0.5))
        product = reference.exact(factors, (angles[:, :1], 2 * angles[:, 1:]), masses, time)
        assert agree(square.mmd2, product.mmd2, 9)


def test_states_of_a_qubit_are_a_sphere_of_half_the_radius():
    rng = np.random.default_rng(0)
    states = rng.standard_normal((4, 2)) + 1j * rng.standard_normal((4, 2))
    first, second = (states / np.linalg.norm(states, axis=1, keepdims=True)).T
    spins = np.column_stack([2 * (first * second.conj()).real, 2 * (first * second.conj()).imag,
                             abs(first) ** 2 - abs(second) ** 2])  # fmt: skip
    masses = reference.shares(np.ones(4))
    for time in (1e-3, 0.2):
        one = reference.exact(reference.ComplexProjective(1), states, masses, time)
        two = reference.exact(reference.Sphere(2), spins, masses, 4 * time)
        assert agree(one.overlap, two.overlap, 11)  # spins are rounded


def test_graphs_with_a_closed_form():
    masses = reference.shares([1.0, 2.0])
    found = reference.exact(reference.Graph(np.array([[0, 1e-9], [1e-9, 0]])), [0, 1], masses, 3e8)
    with ctx.workprec(160):
        decay = (arb(-4) * reference.exactly(1e-9) * arb(3e8)).exp()
        assert agree(found.overlap, (5 + 4 * (1 - decay) / (1 + decay)) / 9, 19)
    ring = np.roll(np.eye(7), 1, axis=1)
    found = reference.exact(reference.Graph(ring + ring.T), [0, 2], masses, 0.4)
    with ctx.workprec(160):
        turns = [2 * arb.pi() * k / 7 for k in range(7)]
        decays = [(-2 * reference.exactly(0.4) * (2 - 2 * turn.cos())).exp() for turn in turns]
        near, far = (sum(((gap * t).cos() * d for t, d in zip(turns, decays, strict=True)), arb(0)) for gap in (0, 2))
        assert agree(found.overlap, (5 + 4 * far / near) / 9, 19)


def test_a_segment_with_insulated_ends_is_a_series_of_cosines():
    x, time = [0.1, 0.7], 0.02
    found = reference.exact(reference.Interval((1.0,)), np.array(x)[:, None], reference.shares([1.0, 1.0]), time)
    terms = [[2 * math.exp(-2 * (math.pi * k) ** 2 * time) * math.cos(math.pi * k * a) * math.cos(math.pi * k * b)
              for k in range(1, 40)] for a in x for b in x]  # fmt: skip
    assert float(found.mmd2.mid()) == pytest.approx(np.sum(terms) / 4, rel=1e-13)


def test_a_dense_solution_of_matrices_is_the_heat_of_a_graph():
    rng = np.random.default_rng(0)
    links = np.triu(rng.random((9, 9)), 1)
    links += links.T
    dense = reference.Nodes.of(np.diag(links.sum(axis=0)) - links, np.ones(9), np.zeros((9, 9)))
    masses, others = reference.shares(rng.random(4)), reference.shares(rng.random(4))
    for time in (0.01, 0.3, 2.0):
        one, two = (reference.exact(space, [0, 3, 3, 7], masses, time) for space in (dense, reference.Graph(links)))
        assert agree(one.overlap, two.overlap, 9)
        assert agree(one.mmd2, two.mmd2, 9)
        apart = reference.differences(masses, others)
        assert agree(one.square(apart, of_kernel=True), two.square(apart, of_kernel=True), 8)


def test_a_square_of_differences_is_the_sum_over_pairs():
    masses, others = reference.shares([1.0, 2.0, 3.0]), reference.shares([3.0, 0.0, 1.0])
    found = reference.exact(reference.Torus((2 * math.pi,)), np.array([[0.1], [0.5], [2.0]]), masses, 0.1)
    apart = [1 / 6 - 3 / 4, 2 / 6, 3 / 6 - 1 / 4]
    full = [[float(found.overlaps[max(i, j)][min(i, j)].mid()) for j in range(3)] for i in range(3)]
    expected = np.array(apart) @ np.array(full) @ np.array(apart)
    assert float(found.square(reference.differences(masses, others)).mid()) == pytest.approx(expected, rel=1e-13)
    assert found.potential == pytest.approx(np.array(full) @ [1 / 6, 2 / 6, 3 / 6], rel=1e-13)


def test_squaring_a_stochastic_matrix_loses_nothing():
    with ctx.workprec(200):
        generator = arb_mat([[-1, 1, 0], [1, -3, 2], [0, 2, -2]]) * 50
        halved = reference.semigroup(generator, 200.0)
        whole = generator.exp()
        assert all(agree(halved[i, j], whole[i, j]) for i in range(3) for j in range(3))


def test_every_homogeneous_space_of_the_list_has_a_reference():
    for case in HOMOGENEOUS:
        rng = np.random.default_rng(0)
        points = case.points(3, rng)
        time = float(case.times()[1])
        truth = reference.exact(truth_of(case.space()), points, reference.shares([1.0, 2.0, 3.0]), time)
        found = he.heat_profile(points, [1.0, 2.0, 3.0], space=case.space(), times=[time])
        assert relative(found.gess[0], truth.gess) <= found.error[0]


# Invariants of hard clouds on every space.

FEW = settings(deadline=None, max_examples=6, suppress_health_check=list(HealthCheck))


def profile(case: Case, points, weights, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", he.PrecisionWarning)  # of MMD^2, where heat has mixed
        return he.heat_profile(points, weights, space=case.space(), times=case.times(), **options)


@pytest.mark.parametrize(**named(EVERY))
@FEW
@given(data=st.data())
def test_gess_lies_between_one_and_the_ess_of_distinct_places(case, data):
    points, weights = data.draw(clouds(case))
    found = profile(case, points, weights)
    merged = he.Measure(points, weights, space=case.space()).coalesced()
    assert (found.gess >= 1).all()
    assert (found.gess <= merged.ess * (1 + found.error)).all()
    if case.space().compact:
        assert (np.diff(found.volume) >= -found.error[1:] * found.volume[1:]).all()


@pytest.mark.parametrize(**named(HOMOGENEOUS))
@FEW
@given(data=st.data())
def test_engines_agree_within_their_errors(case, data):
    points, weights = data.draw(clouds(case))
    one, two = profile(case, points, weights), profile(case, points, weights, method="pairwise")
    assert (np.abs(one.gess / two.gess - 1) <= one.error + two.error).all()


@pytest.mark.parametrize(**named(EVERY))
@FEW
@given(data=st.data())
def test_atoms_split_in_any_order_change_nothing(case, data):
    points, weights = data.draw(clouds(case))
    shares, order = data.draw(st.floats(0.01, 0.99)), data.draw(st.permutations(range(2 * len(weights))))
    rows = np.tile(np.arange(len(weights)), 2)[list(order)]
    halves = np.concatenate([shares * weights, (1 - shares) * weights])[list(order)]
    one, two = profile(case, points, weights), profile(case, taken(points, rows), halves)
    assert (np.abs(one.gess / two.gess - 1) <= one.error + two.error + 1e-14).all()


def moved(space, points, rng):
    """The same cloud elsewhere, by an isometry that is good to rounding."""
    if isinstance(space, he.Product):
        return tuple(moved(factor, part, rng) for factor, part in zip(space.spaces, points, strict=True))
    if isinstance(space, he.Torus):
        return points + space.periods * rng.random(space.dim)
    if isinstance(space, he.Hyperbolic):  # about the origin
        turn = np.linalg.qr(rng.standard_normal((space.dim, space.dim)))[0]
        return np.column_stack([points[:, 0], points[:, 1:] @ turn])
    if isinstance(space, he.Rotations) and space.symmetry:  # turned after, since symmetry turns before
        return (Rotation.random(random_state=rng) * Rotation.from_quat(points)).as_quat()
    columns = points.shape[1]
    mixed = rng.standard_normal((columns, columns))
    if np.iscomplexobj(points):
        mixed = mixed + 1j * rng.standard_normal((columns, columns))
    return points @ np.linalg.qr(mixed)[0]


@pytest.mark.parametrize(**named(HOMOGENEOUS))
@FEW
@given(data=st.data())
def test_a_cloud_moved_as_a_whole_has_the_same_profile(case, data):
    points, weights = data.draw(clouds(case))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    after = moved(case.space(), points, rng)
    if case.name.startswith("Hyperbolic"):  # far out the rounding of the moved coordinates is a distance of its own
        assume(max(np.abs(points).max(), np.abs(after).max()) < 100)
    one, two = profile(case, points, weights), profile(case, after, weights)
    assert_allclose(one.gess, two.gess, rtol=1e-10)
