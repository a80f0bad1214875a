"""Tensors of torch and JAX wherever numbers are taken; those that need a step first are refused with that step."""

from __future__ import annotations

import numpy as np
import plain
import pytest

import heatess as he

N = 60


@pytest.fixture(params=["torch", "jax.numpy"])
def module(request):
    found = pytest.importorskip(request.param)
    if request.param == "jax.numpy":
        import jax

        jax.config.update("jax_enable_x64", True)
    return found


@pytest.fixture
def torch():
    return pytest.importorskip("torch")


@pytest.fixture
def jax():
    return pytest.importorskip("jax")


@pytest.fixture
def cloud():
    return he.samplers.von_mises_fisher(N, [0, 0, 1], 3.0, rng=0)


@pytest.fixture
def weights():
    return np.random.default_rng(0).gamma(0.5, size=N)


@pytest.fixture
def expected(cloud, weights):
    return plain.gess(plain.overlaps_on_sphere(cloud, 15), weights)


def test_points_weights_and_scales_may_be_tensors(module, cloud, weights, expected):
    x, w, a = (module.asarray(part) for part in (cloud, weights, np.array([15.0])))
    assert he.gess(x, w, angle=15) == pytest.approx(expected, rel=1e-8)
    assert he.heat_profile(x, log_weights=module.log(w), angles=a).gess[0] == pytest.approx(expected, rel=1e-8)
    assert he.gess({"vector": x, "w": w}, angle=15) == pytest.approx(expected, rel=1e-8)
    assert he.gess(he.Measure(x, w), angle=15) == pytest.approx(expected, rel=1e-8)
    part = he.Accumulator(max_degree=200)
    part.add(x, w)
    assert part.profile(angles=a).gess[0] == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize("kind", ["float32", "float16"])
def test_short_floats_are_taken_as_they_are(module, cloud, weights, expected, kind):
    x = module.asarray(cloud.astype(kind))
    assert he.gess(x, weights, angle=15) == pytest.approx(he.gess(cloud.astype(kind), weights, angle=15), rel=1e-12)
    assert he.gess(x, weights, angle=15) == pytest.approx(expected, rel=1e-6 if kind == "float32" else 1e-2)


def test_other_spaces_take_tensors(module, cloud):
    angles = np.random.default_rng(1).uniform(-3, 3, N)
    found = he.gess(module.asarray(angles), space=he.Circle(), angle=20)
    assert found == pytest.approx(plain.gess(plain.overlaps_on_circle(angles, 20)), rel=1e-8)
    states = np.random.default_rng(2).normal(size=(2, N, 2)) @ [1, 1j]
    states = states.reshape(-1, 2) / np.linalg.norm(states.reshape(-1, 2), axis=1, keepdims=True)
    space = he.ComplexProjective(1)
    assert he.gess(module.asarray(states), space=space, time=0.05) == he.gess(states, space=space, time=0.05)
    pose = he.Product(he.Euclidean(3), he.Sphere(2))
    tensors = (module.asarray(5 * cloud), module.asarray(cloud))
    assert he.gess(tensors, space=pose, time=0.1) == he.gess((5 * cloud, cloud), space=pose, time=0.1)
    east, north = module.asarray(np.degrees(angles) % 360), module.asarray(np.degrees(angles) / 4)
    expected = plain.vectors(np.degrees(angles), np.degrees(angles) / 4)
    np.testing.assert_allclose(he.from_lonlat(east, north, units="deg"), expected, atol=1e-14)


@pytest.mark.filterwarnings("ignore:the chains have not mixed")
def test_chains_in_a_tensor_stay_chains(module):
    draws = he.samplers.von_mises_fisher(120, [0, 0, 1], 3.0, rng=0).reshape(4, 30, 3)
    found = he.chain_ess(module.asarray(draws), angles=[20]).ess
    np.testing.assert_allclose(found, he.chain_ess(draws.reshape(-1, 3), chains=4, angles=[20]).ess, rtol=1e-12)
    assert abs(found[0] / he.chain_ess(draws.reshape(-1, 3), angles=[20]).ess[0] - 1) > 1e-6


def test_results_of_two_tensors(module, cloud):
    other = he.samplers.fibonacci(N)
    found = he.mmd2(module.asarray(cloud), module.asarray(other), angles=[20])
    np.testing.assert_allclose(found, he.mmd2(cloud, other, angles=[20]), rtol=1e-10)
    at = he.potential(module.asarray(cloud), at=module.asarray(other), angle=20)
    np.testing.assert_allclose(at, he.potential(cloud, at=other, angle=20), rtol=1e-10)


def test_a_measure_does_not_change_with_its_tensor(torch, cloud, expected, weights):
    x = torch.tensor(cloud)
    measure = he.Measure(x, weights)
    x.zero_()
    assert he.gess(measure, angle=15) == pytest.approx(expected, rel=1e-8)


# Refused, with the step that is needed; each is then followed.


def test_gradients_and_devices_of_torch_are_named(torch, cloud):
    x = torch.tensor(cloud, requires_grad=True)
    with pytest.raises(he.InputTypeError, match=r"records gradients \(requires_grad\); pass tensor.detach\(\)$"):
        he.gess(x, angle=15)
    assert he.gess(x.detach(), angle=15) == he.gess(cloud, angle=15)
    with pytest.raises(he.InputTypeError, match=r"weights are a tensor that records gradients"):
        he.gess(cloud, x[:, 2] + 2, angle=15)
    away = torch.empty((3, 3), device="meta")  # a device that every machine has
    with pytest.raises(he.InputTypeError, match=r"is on the device meta; pass tensor.cpu\(\)$"):
        he.gess(away, angle=15)
    with pytest.raises(he.InputTypeError, match=r"the dict: column vector are a tensor that records gradients"):
        he.gess({"vector": x}, angle=15)


def test_everything_that_a_tensor_needs_is_said_at_once(torch, cloud):
    x = torch.tensor(cloud, dtype=torch.bfloat16, requires_grad=True)
    words = (
        r"records gradients .* and has dtype torch.bfloat16, which NumPy has not; pass tensor.detach\(\).float\(\), sc"
    )
    with pytest.raises(he.InputTypeError, match=words):
        he.gess(x, angle=15)
    rows = torch.nn.functional.normalize(x.detach().float(), dim=-1)
    assert he.gess(rows, angle=15) == pytest.approx(he.gess(cloud, angle=15), rel=0.02)
    with pytest.raises(he.InputTypeError, match=r"is sparse \(torch.sparse_coo\); pass tensor.to_dense\(\)$"):
        he.gess(torch.tensor(cloud).to_sparse(), angle=15)
    assert he.gess(torch.tensor(cloud).to_sparse().to_dense(), angle=15) == he.gess(cloud, angle=15)


def test_short_floats_and_tracers_of_jax_are_named(jax, cloud):
    x = jax.numpy.asarray(cloud, dtype="bfloat16")
    with pytest.raises(he.InputTypeError, match=r'have dtype bfloat16, .* pass array.astype\("float32"\), scaled to'):
        he.gess(x, angle=15)
    rows = x.astype("float32")
    rows = rows / jax.numpy.linalg.norm(rows, axis=1, keepdims=True)
    assert he.gess(rows, angle=15) == pytest.approx(he.gess(cloud, angle=15), rel=0.02)
    with pytest.raises(he.InputTypeError, match=r"points are a tracer of JAX.* call heatess outside jax.jit"):
        jax.jit(lambda y: he.gess(y, angle=15))(jax.numpy.asarray(cloud))


# Without the packages.


class Tensor:
    """As much of a tensor as is asked for."""

    __module__, requires_grad, dtype, layout = "torch", False, "torch.float32", "torch.strided"

    def __init__(self, array, device):
        self.array, self.device = array, type("device", (), {"type": device, "__str__": lambda self: f"{device}:0"})()

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def test_arrays_are_taken_by_dlpack_alone(cloud, weights, expected):
    assert he.gess(Tensor(cloud, "cpu"), Tensor(weights, "cpu"), angle=15) == pytest.approx(expected, rel=1e-8)


def test_a_tensor_on_a_gpu_is_refused_with_the_step(cloud):
    with pytest.raises(
        he.InputTypeError, match=r"points are a tensor that is on the device cuda:0; pass tensor.cpu\(\)$"
    ):
        he.gess(Tensor(cloud, "cuda"), angle=15)
