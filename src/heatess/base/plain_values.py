"""Values as plain Python, which JSON takes, and back again: bit for bit."""

from __future__ import annotations

import json
import math
import types
from collections.abc import Callable
from dataclasses import fields
from typing import Any, NamedTuple, Union, get_args, get_origin, get_type_hints

import numpy as np

from .errors import InputError, InputTypeError
from .known import Known
from .messages import Message, shown


class Codec(NamedTuple):
    """How a value of some type becomes plain values, and comes back from these; a space may be given besides."""

    encode: Callable[[Any], Any]
    decode: Callable[[Any, Any], Any]
    key: str = ""  #: which plain values of this type have, where a field may be of several


#: Types of fields that are not known here, with how they are written.
CODECS: dict[type, Codec] = {}


def plain_value(value: Any) -> Any:
    """A value in plain Python: numbers and text as they are, arrays as lists, what has no plain form as its repr."""
    if isinstance(value, np.ndarray):
        usual = value.dtype in (np.float64, np.int64) or value.dtype.kind in "bU"
        if usual and (value.size or value.ndim == 1):
            return value.tolist()
        numbers = np.ascontiguousarray(value).view(f"f{value.real.itemsize}") if value.dtype.kind in "fc" else value
        return {"dtype": value.dtype.str, "shape": list(value.shape), "values": numbers.ravel().tolist()}
    if isinstance(value, np.generic):
        return value.item()
    if hasattr(value, "to_dict"):
        return value.to_dict()
    for kind, codec in CODECS.items():
        if isinstance(value, kind):
            return codec.encode(value)
    if isinstance(value, tuple | list):
        named = getattr(value, "_asdict", None)
        return {k: plain_value(v) for k, v in named().items()} if named else [plain_value(item) for item in value]
    return value if value is None or isinstance(value, str | int | float) else repr(value)


def finite(value: Any, path: str, infinite: dict[str, str]) -> Any:
    """The same without what JSON has no number for; where it was infinite is put down."""
    if isinstance(value, dict):
        return {key: finite(item, f"{path}/{key}", infinite) for key, item in value.items()}
    if isinstance(value, list):
        return [finite(item, f"{path}/{place}", infinite) for place, item in enumerate(value)]
    if not isinstance(value, float) or math.isfinite(value):
        return value
    if math.isinf(value):
        infinite[path[1:]] = str(value)
    return None


def put(found: Any, path: list[str], value: float) -> None:
    """Set one entry of nested lists and objects."""
    *outer, last = path
    for step in outer:
        found = found[int(step) if isinstance(found, list) else step]
    found[int(last) if isinstance(found, list) else last] = value


def object_in(text: str, schema: str) -> dict[str, Any]:
    """The object with this schema that JSON text holds."""
    of_a_file = "of a file give `pathlib.Path(name).read_text()`"
    if not isinstance(text, str | bytes | bytearray):
        raise InputTypeError(
            f"from_json needs <+JSON text, as to_json gives it+>, but found <!{shown(text)}!>; {of_a_file}"
        )
    try:
        found = json.loads(text)
    except ValueError as error:
        what = f"{shown(text)} is not JSON ({error})"
        raise InputError(f"from_json needs <+JSON text, as to_json gives it+>, but <!{what}!>; {of_a_file}") from None
    if not isinstance(found, dict):
        raise InputError(f"this JSON is <!a {type(found).__name__}!>, but <+an object with schema {schema}+> is needed")
    if found.get("schema") == schema:
        return found
    names = [name for name, part in found.items() if isinstance(part, dict) and part.get("schema") == schema]
    if names:
        several = ", ".join(map(shown, names[:5]))
        one = f"`json.dumps(json.loads(text)[{names[0]!r}])`"
        raise InputError(f"this JSON holds results by name: {several}; give one of them, {one}")
    raise InputError(f"this JSON has schema <!{shown(found.get('schema'))}!>, but <+{schema}+> is needed")


def decoded(hint: Any, value: Any, name: str, space: Any) -> Any:
    """A plain value as the type of its field wants it."""
    if get_origin(hint) in (Union, types.UnionType):
        if value is None and type(None) in get_args(hint):
            return None
        kinds = [one for one in get_args(hint) if one is not type(None)]
        hint = next((one for one in kinds if one in CODECS and CODECS[one].key in (value or ())), kinds[0])
    codec = CODECS.get(hint)
    if codec is not None:
        return codec.decode(value, space)
    if hint is Known:
        return _known(value)
    kind = get_origin(hint) or hint
    if kind is np.ndarray or (hint is Any and isinstance(value, list)):
        return _array(name, value)
    if kind is tuple:
        return _tuple(hint, value, name, space)
    if hasattr(kind, "_read"):
        return kind._read(value, space)
    if hasattr(kind, "_fields") and isinstance(value, dict):
        hints = get_type_hints(kind)
        return kind(**{key: decoded(hints[key], value.get(key), key, space) for key in kind._fields})
    return _single(kind, value, name)


def _tuple(hint: Any, value: Any, name: str, space: Any) -> tuple[Any, ...]:
    if not isinstance(value, list):
        raise InputError.unfit(f"{name} of this JSON", "a list", value)
    kinds = [kind for kind in get_args(hint) if kind is not Ellipsis]
    return tuple(decoded(kinds[min(k, len(kinds) - 1)], one, name, space) for k, one in enumerate(value))


def _single(kind: Any, value: Any, name: str) -> Any:
    """A number, where null stands for nan, or a word."""
    if kind is Message:
        return Message(_single(str, value, name))
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if kind is float:
        if value is not None and not number:
            raise InputError.unfit(f"{name} of this JSON", "a number", value)
        return math.nan if value is None else float(value)
    expected = {int: "a number", str: "text", bool: "true or false"}.get(kind)
    if expected is not None and (not isinstance(value, kind) or (kind is int and not number)):
        raise InputError.unfit(f"{name} of this JSON", expected, value)
    return value


def _array(name: str, value: Any) -> Any:
    """Lists of numbers as an array; null, which stands for all that is not finite, becomes nan."""
    if isinstance(value, dict) and set(value) == {"dtype", "shape", "values"}:
        kind = np.dtype(value["dtype"])
        part = np.dtype(f"f{kind.type(0).real.itemsize}") if kind.kind in "fc" else kind
        return np.array(value["values"], dtype=part).view(kind).reshape(value["shape"])
    flat = np.array(value if isinstance(value, list) else [value], dtype=object).ravel().tolist()
    if isinstance(value, list) and flat and all(isinstance(one, str) for one in flat):
        return np.array(value, dtype=np.str_)
    plain = isinstance(value, list) and all(isinstance(one, int | float | None) for one in flat)
    if not plain or any(isinstance(one, bool) for one in flat):
        raise InputError.unfit(f"{name} of this JSON", "numbers", value)
    whole = bool(flat) and all(isinstance(one, int) for one in flat)
    return np.array(value, dtype=np.int64 if whole else np.float64)


def _known(found: Any) -> Known:
    """What was known of the measure; nothing in files written before it was kept."""
    if found is None:
        return Known()
    names = [field.name for field in fields(Known)]
    if not isinstance(found, dict) or not set(found) <= set(names):
        told = ", ".join(Known().to_dict())
        raise InputError.unfit("known of this JSON", f"an object with {told}", found)
    arrays = {name: _array(name, found[name]) for name in ("labels", "chain_of") if found.get(name) is not None}
    return Known(**found | arrays)
