"""Tensors of torch, JAX and their like as NumPy arrays, or an error that says how to convert them."""

from __future__ import annotations

from typing import Any

import numpy as np

from .errors import InputTypeError


def is_tensor(values: Any) -> bool:
    """Whether *values* are an array of another package, told by DLPack without importing that package."""
    own = isinstance(values, np.ndarray | np.generic) or type(values).__module__.startswith("pyarrow")
    return not own and hasattr(values, "__dlpack__")


def plain(values: Any, name: str) -> Any:
    """A tensor as an array, which shares its memory where that is possible; anything else as it is.

    Tensors that have to be changed first (of gradients, of another device, of bfloat16) are refused with the line that
    does it, so that nothing is copied or rounded unasked.
    """
    if not is_tensor(values):
        return values
    package = type(values).__module__.partition(".")[0]
    if package == "torch":
        _refuse_torch(values, name)
    if "Tracer" in type(values).__name__:
        raise InputTypeError(
            f"{name} are a tracer of JAX, which has no numbers yet; call heatess outside jax.jit, jax.grad and jax.vmap"
        )
    _refuse_short(values, name, '`array.astype("float32")`' if package.startswith("jax") else "float32")
    try:
        return np.asarray(values) if hasattr(values, "__array__") else np.from_dlpack(values)
    except Exception:  # whatever its package answers, which `numeric_array` tells
        return values


def _refuse_torch(tensor: Any, name: str) -> None:
    """All that has to be done to a tensor of torch, in one line."""
    found, steps = [], ""
    if tensor.requires_grad:
        found.append("records gradients (requires_grad)")
        steps += ".detach()"
    if tensor.device.type != "cpu":
        found.append(f"is on the device {tensor.device}")
        steps += ".cpu()"
    if str(tensor.layout) != "torch.strided":
        found.append(f"is sparse ({tensor.layout})")
        steps += ".to_dense()"
    if _is_short(tensor.dtype):
        found.append(f"has dtype {tensor.dtype}, which NumPy has not")
        steps += ".float()"
    if found:
        reason = " and ".join(found)
        raise InputTypeError(f"{name} are a tensor that {reason}; pass tensor{steps}{_rescaled(tensor.dtype)}")


def _refuse_short(values: Any, name: str, remedy: str) -> None:
    kind = getattr(values, "dtype", "")
    if _is_short(kind):
        raise InputTypeError(f"{name} have <!dtype {kind}!>, which NumPy has not; pass {remedy}{_rescaled(kind)}")


def _is_short(dtype: Any) -> bool:
    """Whether a type of numbers is known to packages for machine learning only."""
    return any(word in str(dtype) for word in ("bfloat16", "float8", "float4"))


def _rescaled(dtype: Any) -> str:
    """What unit vectors need after they were rounded to few digits."""
    return ", scaled to unit length again if they are unit vectors" if _is_short(dtype) else ""
