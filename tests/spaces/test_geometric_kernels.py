"""The adapter for GeometricKernels, against our own spaces, closed forms, and GeometricKernels itself."""

import math
import sys

import numpy as np
import pytest

import heatess as he
from heatess.base.errors import InputError, InputTypeError, MissingExtraError, PrecisionError
from heatess.heat.series import log_diagonal, overlap

spaces = pytest.importorskip("geometric_kernels.spaces")

mpmath = pytest.importorskip("mpmath")


@pytest.fixture(scope="module")
def sphere():
    return he.GeometricKernelsSpace(spaces.Hypersphere(2))


@pytest.fixture(scope="module")
def rotations():
    return he.GeometricKernelsSpace(spaces.SpecialOrthogonal(3))


@pytest.fixture(scope="module")
def so4():
    return he.GeometricKernelsSpace(spaces.SpecialOrthogonal(4))


@pytest.fixture(scope="module")
def su2():
    return he.GeometricKernelsSpace(spaces.SpecialUnitary(2), scale=0.5**0.5)


@pytest.fixture(scope="module")
def su3():
    return he.GeometricKernelsSpace(spaces.SpecialUnitary(3))


@pytest.fixture
def rng():
    return np.random.default_rng(7)


def assert_same(profile, reference):
    """Within both error bounds, which are themselves small; and the other curves to 1e-8."""
    assert profile.error.max() < 1e-8
    assert (np.abs(profile.gess / reference.gess - 1) <= profile.error + reference.error).all()
    np.testing.assert_allclose(profile.mmd2, reference.mmd2, rtol=1e-8)
    np.testing.assert_allclose(profile.volume, reference.volume, rtol=1e-8)
    np.testing.assert_allclose(profile.dimension, reference.dimension, atol=1e-7)


# Against our own engines.


def test_hypersphere_is_sphere(sphere, rng):
    cloud, weights = sphere.uniform(150, rng), rng.random(150)
    angles = [6, 15, 40, 120]
    assert_same(
        he.heat_profile(cloud, weights, space=sphere, angles=angles),
        he.heat_profile(cloud, weights, space=he.Sphere(2), angles=angles),
    )


def test_special_orthogonal_3_is_rotations(rotations, rng):
    cloud, weights = rotations.uniform(140, rng), rng.random(140)
    angles = [25, 30, 60, 150]
    assert_same(
        he.heat_profile(cloud, weights, space=rotations, angles=angles),
        he.heat_profile(cloud, weights, space=he.Rotations(), angles=angles),
    )
    native = he.Rotations()
    assert (rotations.dim, rotations.diameter) == (native.dim, native.diameter)
    assert rotations.log_volume == pytest.approx(native.log_volume, rel=1e-14)
    assert rotations.scalar_curvature == native.scalar_curvature
    np.testing.assert_allclose(
        rotations.distance(cloud[:, None], cloud), native.distance(cloud[:, None], cloud), atol=1e-7
    )


def test_special_unitary_2_is_the_3_sphere_of_radius_sqrt_2(su2, rng):
    cloud = su2.uniform(100, rng)
    quaternions = np.stack([cloud[:, 0, 0].real, cloud[:, 0, 0].imag, cloud[:, 0, 1].real, cloud[:, 0, 1].imag], axis=1)
    native = he.Sphere(3)
    angles = [25, 40, 90]
    assert_same(
        he.heat_profile(cloud, space=su2, angles=angles), he.heat_profile(quaternions, space=native, angles=angles)
    )
    for name in ("diameter", "log_volume", "scalar_curvature"):
        assert getattr(su2, name) == pytest.approx(getattr(native, name), rel=1e-13)
    np.testing.assert_allclose(
        su2.distance(cloud[:, None], cloud), native.distance(quaternions[:, None], quaternions), atol=1e-7
    )


def test_circle_is_circle(rng):
    angles = rng.uniform(-9, 9, (60, 1))
    circle = he.GeometricKernelsSpace(spaces.Circle())
    assert_same(
        he.heat_profile(angles, space=circle, angles=[5, 30]),
        he.heat_profile(angles, space=he.Circle(), angles=[5, 30]),
    )
    np.testing.assert_allclose(
        circle.distance(angles[:30], angles[30:]), he.Circle().distance(angles[:30], angles[30:])
    )


def test_special_orthogonal_4_is_two_3_spheres_over_a_sign(so4):
    """A turn by (a, b) is the pair of unit quaternions at distances (a + b)/2 and (a - b)/2 from 1, or their opposites.

    The metric is that of the two spheres times sqrt(2). Isoclinic turns, a = b, have repeated eigenvalues.
    """
    a = np.array([0.0, 0.3, 1.0, 1.0, 2.0, np.pi, np.pi])
    b = np.array([0.0, 0.2, 1.0, -1.0, 3.0, 0.0, np.pi])
    turns = np.zeros((len(a), 4, 4))
    for block, angle in ((0, a), (2, b)):
        turns[:, block, block] = turns[:, block + 1, block + 1] = np.cos(angle)
        turns[:, block + 1, block], turns[:, block, block + 1] = np.sin(angle), -np.sin(angle)
    time, native = 0.4, he.Sphere(3).series

    def kernel(distance):
        return np.exp(log_diagonal(native, time / 2)) * overlap(native, time / 2, distance)

    first, second = np.abs(a + b) / 2, np.abs(a - b) / 2
    exact = (kernel(first) * kernel(second) + kernel(np.pi - first) * kernel(np.pi - second)) / 2
    terms = so4.pair_kernel.terms(so4.check(turns[:1]), so4.check(turns))(time)
    np.testing.assert_allclose(terms.overlap[0], exact / exact[0], rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(terms.excess[0], exact - 1, rtol=1e-7, atol=1e-8 * exact[0])
    assert so4.pair_kernel.log_diagonal(np.array([time]))[0] == pytest.approx(math.log(exact[0]), abs=1e-9)
    np.testing.assert_allclose(so4.distance(turns[0], turns), np.hypot(a, b), atol=1e-12)


@pytest.mark.filterwarnings("ignore:`in1d` is deprecated:DeprecationWarning")
def test_products_of_their_spaces_are_products_of_ours(sphere, rng):
    theirs = spaces.ProductDiscreteSpectrumSpace(spaces.Circle(), spaces.Hypersphere(2), num_levels=20)
    with pytest.raises(InputError, match=r"heatess.Product\(\*map\(heatess.GeometricKernelsSpace, space.factor_spaces"):
        he.GeometricKernelsSpace(theirs)
    product = he.Product(*map(he.GeometricKernelsSpace, theirs.factor_spaces))
    points = theirs.random(np.random.RandomState(3), 60)[1]
    native = he.Product(he.Circle(), he.Sphere(2))
    assert_same(
        he.heat_profile(points, space=product, angles=[15, 60]), he.heat_profile(points, space=native, angles=[15, 60])
    )
    with pytest.raises(PrecisionError, match=r"or use heatess.Circle\(\)"):
        he.gess(points, space=product, angle=1)


# Against closed forms.


@pytest.mark.parametrize(
    ("group", "share", "tolerance"), [("su2", 1e-12, 1e-12), ("so4", 1e-3, 1e-4), ("su3", 1e-5, 1e-6)]
)
def test_groups_have_the_volume_and_curvature_that_their_heat_sees(group, share, tolerance, request):
    """On a group k_2t(x, x) = vol (8 pi t)^(-m/2) exp(R t / 3), but for what goes round closed geodesics.

    At a time small enough for that, *share* bounds what the levels that GeometricKernels lacks may add.
    """
    space = request.getfixturevalue(group)
    time = space.kernel.finest_time(share) * space.scale**2
    law = space.log_volume - space.dim / 2 * math.log(8 * math.pi * time) + space.scalar_curvature * time / 3
    assert space.pair_kernel.log_diagonal(np.array([time]))[0] == pytest.approx(law, abs=tolerance)


@pytest.mark.parametrize(("length", "letters"), [(6, 2), (3, 4)])
def test_hamming_graphs_against_the_matrix_exponential(length, letters):
    from scipy.linalg import expm

    words = np.stack(np.meshgrid(*[np.arange(letters)] * length, indexing="ij"), axis=-1).reshape(-1, length)
    apart = (words[:, None] != words[None]).sum(axis=-1)
    laplacian = np.eye(len(words)) - (apart == 1) / (length * (letters - 1))
    theirs = spaces.HypercubeGraph(length) if letters == 2 else spaces.HammingGraph(length, letters)
    space = he.GeometricKernelsSpace(theirs)
    times = np.array([0.05, 0.7, 4.0])
    weights = np.arange(1.0, 21.0)
    profile = he.heat_profile(words[:20], weights, space=space, times=times)
    for k, time in enumerate(times):
        kernel = len(words) * expm(-2 * time * laplacian)
        w = weights / weights.sum()
        power = w @ kernel[:20, :20] @ w
        assert profile.gess[k] == pytest.approx(kernel[0, 0] / power, rel=1e-12)
        assert profile.mmd2[k] == pytest.approx(power - 1, rel=1e-9)
    later = he.heat_profile(words[:20], weights, space=space, times=times * math.exp(1e-4)).gess
    sooner = he.heat_profile(words[:20], weights, space=space, times=times * math.exp(-1e-4)).gess
    np.testing.assert_allclose(profile.dimension, -2 * np.log(later / sooner) / 2e-4, rtol=1e-6)
    assert space.volume == pytest.approx(len(words))


def test_hypercube_with_unit_steps_is_our_graph():
    length = 5
    words = np.array([[int(bit) for bit in f"{number:05b}"] for number in range(32)])
    adjacency = ((words[:, None] != words[None]).sum(axis=-1) == 1).astype(float)
    cube = he.GeometricKernelsSpace(spaces.HypercubeGraph(length), scale=length**-0.5)
    atoms = [0, 3, 9, 31, 30]
    ours = he.heat_profile(atoms, space=he.Graph(adjacency), times=[0.02, 0.3])
    theirs = he.heat_profile(words[atoms].astype(bool), space=cube, times=[0.02, 0.3])
    np.testing.assert_allclose(theirs.gess, ours.gess, rtol=1e-10)
    np.testing.assert_allclose(theirs.mmd2, ours.mmd2, rtol=1e-9)
    np.testing.assert_allclose(theirs.dimension, ours.dimension, rtol=1e-8)
    np.testing.assert_allclose(cube.distance(words[0], words[atoms]), [0, 2, 2, 5, 4])
    assert cube.diameter == pytest.approx(5)


def test_hypercube_of_2048_places_keeps_its_digits(rng):
    """At that length GeometricKernels has no numbers at all; the product formula at 40 digits has."""
    cube = he.GeometricKernelsSpace(spaces.HypercubeGraph(2048), scale=2048**-0.5)
    words = rng.integers(0, 2, (4, 2048))
    words[1] = words[0]
    words[1, :5] = 1 - words[0, :5]
    apart = (words[:, None] != words[None]).sum(axis=-1)
    for time in (1e-3, 0.5, 3.0):
        with mpmath.workdps(40):
            x = mpmath.exp(-4 * mpmath.mpf(time))
            same, differ = 1 + x, 1 - x
            s = sum((differ / same) ** int(m) for m in apart.flat) / 16
            power = sum(same ** int(2048 - m) * differ ** int(m) for m in apart.flat) / 16
        profile = he.heat_profile(words, space=cube, times=[time])
        assert abs(profile.gess[0] * float(s) - 1) <= profile.error[0] < 1e-12
        assert profile.divergence[0] == pytest.approx(float(mpmath.log(power)), rel=1e-12)


def test_resolution_on_a_hypercube_is_where_words_overlap_by_1_over_e(rng):
    cube = he.GeometricKernelsSpace(spaces.HypercubeGraph(30), scale=30**-0.5)
    words = np.zeros((2, 30), dtype=int)
    words[1, :4] = 1
    profile = he.heat_profile(words, space=cube, resolutions=[4])
    assert profile.gess[0] == pytest.approx(2 / (1 + math.exp(-1)), rel=1e-13)
    assert cube.resolutions_of_times(profile.times)[0] == pytest.approx(4, rel=1e-12)
    assert np.isnan(cube.resolutions_of_times(np.array([50.0]))).all()


# Against GeometricKernels' own kernel matrix, at scales where its levels suffice.


@pytest.mark.parametrize(
    ("name", "levels", "alpha"),
    [
        ("sphere", 80, math.radians(15)),
        ("rotations", 25, math.radians(30)),
        ("su3", 25, math.radians(150)),
        (spaces.HypercubeGraph(8), 9, 1.5),
        (spaces.HammingGraph(4, 3), 5, 1.5),
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore:Fundamental system:RuntimeWarning")
def test_their_kernel_matrix_is_our_overlap(name, levels, alpha, request, rng):
    from geometric_kernels.kernels import MaternKarhunenLoeveKernel

    ours = request.getfixturevalue(name) if isinstance(name, str) else he.GeometricKernelsSpace(name)
    points = ours.uniform(40, rng)
    kernel = MaternKarhunenLoeveKernel(ours._space, levels, normalize=True)
    parameters = {"nu": np.array([np.inf]), "lengthscale": np.array([alpha / math.sqrt(2)])}
    matrix = np.asarray(kernel.K(parameters, points, points)).real
    weights = rng.random(40)
    weights /= weights.sum()
    found = he.gess(points, weights, space=ours, time=alpha**2 / 8, rtol=1e-7)
    assert found == pytest.approx(1 / (weights @ matrix @ weights), rel=1e-7)


# What must always hold.


@pytest.mark.parametrize("name", ["rotations", "su3", "sphere"])
def test_profiles_stay_between_one_and_ess_and_duplicates_change_nothing(name, request, rng):
    space = request.getfixturevalue(name)
    cloud, weights = space.uniform(20, rng), rng.random(20)
    angles = [170, 200, 300] if name == "su3" else [30, 60, 170]
    profile = he.heat_profile(cloud, weights, space=space, angles=angles)
    assert (profile.gess >= 1).all()
    assert (profile.gess <= profile.ess).all()
    assert (np.diff(profile.volume) > 0).all()
    assert profile.method == "pairwise"
    split = he.heat_profile(
        np.concatenate([cloud, cloud[:5]]),
        np.concatenate([weights[:5] / 2, weights[5:], weights[:5] / 2]),
        space=space,
        angles=angles,
    )
    np.testing.assert_allclose(split.gess, profile.gess, rtol=1e-12)
    scaled = he.heat_profile(cloud[::-1], 7 * weights[::-1], space=space, angles=angles)
    np.testing.assert_allclose(scaled.gess, profile.gess, rtol=1e-12)


def test_clouds_of_several_tiles_are_summed_in_row_blocks(monkeypatch, rotations, rng):
    """No block that GeometricKernels sees is larger than a few rows, and the sum is that of all pairs."""
    cloud = rotations.uniform(300, rng)
    seen = []
    functions = type(rotations._space.get_eigenfunctions(3))
    plain = functions.phi_product

    def watched(self, x, x2=None, **kwargs):
        seen.append((len(x), len(x2)))
        return plain(self, x, x2, **kwargs)

    monkeypatch.setattr(functions, "phi_product", watched)
    found = he.gess(cloud, space=rotations, angle=60)
    assert found == pytest.approx(he.gess(cloud, space=he.Rotations(), angle=60), rel=1e-9)
    assert max(rows * columns for rows, columns in seen) <= 32 * 128


def test_coarse_scales_use_fewer_levels(sphere):
    whole, times = sphere.pair_kernel, np.array([0.2])
    coarse = whole.fitted(times, 1e-8)
    fine = whole.fitted(np.array([0.005]), 1e-8)
    assert 8 <= coarse._kernel._levels < fine._kernel._levels < whole._kernel._levels
    np.testing.assert_allclose(coarse.log_diagonal(times), whole.log_diagonal(times), rtol=1e-8)
    assert coarse.seconds(5e5, 1) < whole.seconds(5e5, 1)


def test_scale_multiplies_distances(sphere, rng):
    half = he.GeometricKernelsSpace(spaces.Hypersphere(2), scale=0.5, levels=60)
    cloud = sphere.uniform(10, rng)
    assert he.gess(cloud, space=half, angle=20) == pytest.approx(he.gess(cloud, space=sphere, angle=40), rel=1e-12)
    np.testing.assert_allclose(half.distance(cloud[:5], cloud[5:]), sphere.distance(cloud[:5], cloud[5:]) / 2)
    assert half.volume == pytest.approx(sphere.volume / 4)
    assert half != sphere
    assert "scale=0.5" in repr(half)


# Refusals.


def test_too_fine_a_scale_is_refused_with_the_finest_that_is_resolved(rotations, rng):
    cloud = rotations.uniform(5, rng)
    with pytest.raises(PrecisionError, match=r"from 22.9\d degrees .*but 10 degrees .*use heatess.Rotations"):
        he.gess(cloud, space=rotations, angle=10)
    with pytest.raises(PrecisionError, match=r"from 22\.9"):
        he.heat_profile(cloud, space=rotations, angles=[10, 60], method="pairwise")
    loose = he.heat_profile(cloud, space=rotations, angles=[15], rtol=1e-2)
    exact = he.gess(cloud, space=he.Rotations(), angle=15)
    assert abs(loose.gess[0] / exact - 1) <= loose.error[0] <= 1e-2


def test_levels_that_are_not_finite_are_not_used(sphere):
    """GeometricKernels has no numbers from level 171 on."""
    assert sphere.kernel.found == 171
    assert he.GeometricKernelsSpace(spaces.Hypersphere(2), levels=40).kernel.found == 39


def test_a_space_that_loses_its_digits_is_cut_off_where_it_does():
    class Wrong(spaces.Circle):
        def get_eigenfunctions(self, num):
            functions = super().get_eigenfunctions(num)
            plain = functions.phi_product

            def off(x, x2=None, **kwargs):
                values = np.array(plain(x, x2, **kwargs))
                values[..., 12:] *= 1 + 1e-6
                return values

            functions.phi_product = off
            return functions

    assert he.GeometricKernelsSpace(Wrong()).kernel.found == 12


class Ring(spaces.DiscreteSpectrumSpace):
    """A space that heatess knows nothing of: in truth the circle, with bumps if it is told so."""

    dimension, element_shape, element_dtype = 1, [1], float

    def __init__(self, bump=0.0):
        self._circle, self._bump = spaces.Circle(), bump

    def __str__(self):
        return f"Ring({self._bump})"

    def get_eigenfunctions(self, num):
        functions = self._circle.get_eigenfunctions(num)
        plain = functions.phi_product_diag
        functions.phi_product_diag = lambda x: plain(x) * (1 + self._bump * np.cos(x))
        return functions

    def get_eigenvalues(self, num):
        return self._circle.get_eigenvalues(num)

    def get_repeated_eigenvalues(self, num):
        return self._circle.get_repeated_eigenvalues(num)

    def random(self, key, number):
        return self._circle.random(key, number)


def test_a_space_that_is_not_known_is_known_by_its_spectrum(rng):
    ring = he.GeometricKernelsSpace(Ring())
    points = rng.uniform(0, 6, (30, 1))
    times = [0.01, 0.2]
    assert_same(
        he.heat_profile(points, space=ring, times=times), he.heat_profile(points, space=he.Circle(), times=times)
    )
    assert np.isnan([ring.volume, ring.diameter, ring.scalar_curvature]).all()
    with pytest.raises(InputError, match="distance on this space is not known"):
        ring.distance(points, points)
    with pytest.raises(InputError, match="must be finite, but row 1"):
        ring.check([[0.0], [np.inf]])
    with pytest.raises(InputError, match=r"Ring\(0.5\) is not homogeneous: .*use heatess.Graph, Mesh or PointCloud"):
        he.gess(points, space=he.GeometricKernelsSpace(Ring(0.5)), time=0.1)


def test_meshes_graphs_and_other_objects_are_refused_with_what_to_use():
    vertices = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1.0]])
    faces = np.array([[0, 2, 1], [0, 1, 3], [1, 2, 3], [0, 3, 2]])
    with pytest.raises(InputError, match=r"not orthonormal for its area.*heatess.Mesh\(space.vertices, space.faces\)"):
        he.GeometricKernelsSpace(spaces.Mesh(vertices, faces))
    with pytest.raises(InputError, match=r"heatess.Graph\(adjacency\)"):
        he.GeometricKernelsSpace(spaces.Graph(np.ones((3, 3)) - np.eye(3)))
    with pytest.raises(InputError, match="discrete-spectrum space"):
        he.GeometricKernelsSpace(spaces.Hyperbolic(2))
    with pytest.raises(InputError, match="discrete-spectrum space"):
        he.GeometricKernelsSpace(he.Sphere(2))
    with pytest.raises(InputError, match="scale must be positive"):
        he.GeometricKernelsSpace(spaces.Circle(), scale=0.0)
    with pytest.raises(InputError, match="levels must be a whole number >= 3"):
        he.GeometricKernelsSpace(spaces.Circle(), levels=2)


def test_without_geometric_kernels_the_install_line_is_given(monkeypatch):
    monkeypatch.setitem(sys.modules, "geometric_kernels", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'heatess\[geometric-kernels\]'"):
        he.GeometricKernelsSpace(object())


def test_points_off_the_group_are_refused_with_their_row(rotations, su3, rng):
    matrices = rotations.uniform(6, rng)
    near = matrices * (1 + 1e-8)
    np.testing.assert_allclose(rotations.check(near), rotations.check(matrices), atol=1e-14)
    far = matrices.copy()
    far[4] *= 1.001
    with pytest.raises(
        InputError, match=r"orthogonal within 1e-06, but in row 4 R R\^T is off the unit matrix by 0.002"
    ):
        rotations.check(far)
    far[4] = -matrices[4]
    with pytest.raises(InputError, match=r"determinant 1, but in row 4 the determinant is off it by 2 \(1 of 6 rows\)"):
        rotations.check(far)
    far[4] = np.nan
    with pytest.raises(InputError, match="finite, but row 4 is"):
        rotations.check(far)
    with pytest.raises(
        InputError, match=r"shape \(n, 3, 3\), but have shape \(3, 3\); for one matrix use points\[None\]"
    ):
        rotations.check(np.eye(3))
    with pytest.raises(InputError, match="empty"):
        rotations.check(np.empty((0, 3, 3)))
    with pytest.raises(InputTypeError, match="complex"):
        rotations.check(matrices + 0j)
    unitary = su3.uniform(4, rng)
    unitary[2] *= np.exp(0.1j)
    with pytest.raises(InputError, match="determinant 1, but in row 2"):
        su3.check(unitary)
    unitary[2] *= 2
    with pytest.raises(InputError, match=r"unitary within 1e-06, but in row 2 U U\^\* is off the unit matrix by 3"):
        su3.check(unitary)
    with pytest.raises(InputTypeError, match="dtype"):
        su3.check(np.full((2, 3, 3), "x"))


def test_words_must_be_letters_and_vectors_of_unit_length(sphere):
    cube = he.GeometricKernelsSpace(spaces.HypercubeGraph(4))
    with pytest.raises(InputError, match=r"must be 0 or 1, but row 1 is \[0.0, 2.0, 0.0, 1.0\] \(1 of 2 rows\)"):
        cube.check([[0, 1, 0, 1], [0, 2, 0, 1]])
    with pytest.raises(InputError, match="whole numbers from 0 to 2, but row 0"):
        he.GeometricKernelsSpace(spaces.HammingGraph(2, 3)).check([[0.5, 1]])
    with pytest.raises(InputError, match=r"shape \(n, 4\)"):
        cube.check([[0, 1, 0]])
    with pytest.raises(InputError, match="give resolutions"):
        he.heat_profile([[0, 1, 0, 1]], space=cube, angles=[5])
    with pytest.raises(InputError, match=r"GeometricKernelsSpace\(Hypersphere\(2\)\)"):
        sphere.check([[1.0, 2.0]])


def test_columns_of_checked_points_are_points(su3, rng):
    points = su3.check(su3.uniform(5, rng))
    np.testing.assert_allclose(su3.check(points), points, atol=1e-15)
    np.testing.assert_allclose(su3.distance(points, points), 0, atol=1e-7)


def test_distance_on_su3_is_the_frobenius_norm_of_the_logarithm(su3, rng):
    from scipy.linalg import expm

    raw = rng.standard_normal((3, 3)) + 1j * rng.standard_normal((3, 3))
    skew = raw - raw.conj().T
    skew -= np.trace(skew) / 3 * np.eye(3)
    skew /= np.linalg.norm(skew)
    for length in (1e-3, 1.0, 2.5):
        assert su3.distance(np.eye(3), expm(length * skew)) == pytest.approx(length, rel=1e-9)
    centre = np.exp(2j * np.pi / 3) * np.eye(3)
    assert su3.distance(np.eye(3), centre) == pytest.approx(su3.diameter, rel=1e-12)
