"""Results that were written as JSON, read again."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from .. import spaces
from ..base.arrays import FloatArray, shown
from ..base.errors import InputError, InputTypeError
from ..base.known import Known
from ..spaces.base import Space, check_space


def profile(text: str, schema: str, curves: tuple[str, ...], space: Space | None) -> dict[str, Any]:
    """The arguments of a `HeatProfile` with these *curves*."""
    check_space(space)
    found = _object(text, schema)
    columns = {name: _numbers(name, found.get(name)) for name in curves}
    for name, values in columns.items():
        if len(values) != len(columns["times"]) or not len(values):
            raise InputError(f"{name} of this JSON has {len(values)} entries, but times has {len(columns['times'])}")
    if not (columns["times"] > 0).all():
        raise InputError(f"times of this JSON must be positive, but are {shown(found['times'])}")
    columns["mmd2"][np.isnan(columns["mmd2"]) & np.isfinite(columns["divergence"])] = np.inf
    columns["error"][np.isnan(columns["error"])] = np.inf
    n, method = found.get("n"), found.get("method")
    if not isinstance(n, int) or not isinstance(method, str):
        raise InputError(f"n of this JSON must be a number and method text, but are {shown(n)} and {shown(method)}")
    try:
        known = space_of(found.get("space"), space, "a profile", "HeatProfile.from_json(text, space=...)")
    except InputError as error:
        raise error.within("this JSON", " ") from None
    facts = {"ess": float(_numbers("ess", [found.get("ess")])[0]), "n": n, "space": known, "method": method}
    facts["known"] = _known(found.get("known"))
    return {"_resolutions": columns.pop("resolutions"), **columns, **facts}


def _known(found: Any) -> Known:
    """What was known of the measure; nothing in files written before it was kept."""
    names = Known().to_dict()
    if found is None:
        return Known()
    if not isinstance(found, dict) or not set(found) <= set(names):
        raise InputError(f"known of this JSON must be an object with {', '.join(names)}, but is {shown(found)}")
    return Known(**found)


def space_of(name: Any, given: Space | None, what: str, call: str) -> Space:
    """The space that *what* is on, by its *name*: one that heatess knows, or the one *given* in *call*."""
    name = str(name)
    if given is not None:
        if repr(given) != name:
            raise InputError(f"holds {what} on {name[:80]}, but space={given!r} was given")
        return given
    try:
        return spaces.named(name)
    except InputError as error:
        hint = f"if it is a mesh, a graph, a point cloud or a space of your own, pass it to {call}"
        raise InputError(f"holds {what} on a space that is not known here ({error}); {hint}") from None


def _object(text: str, schema: str) -> dict[str, Any]:
    of_a_file = "of a file give pathlib.Path(name).read_text()"
    if not isinstance(text, str | bytes | bytearray):
        raise InputTypeError(f"from_json needs JSON text, as to_json gives it, but found {shown(text)}; {of_a_file}")
    try:
        found = json.loads(text)
    except ValueError as error:
        what = f"{shown(text)} is not JSON ({error})"
        raise InputError(f"from_json needs JSON text, as to_json gives it, but {what}; {of_a_file}") from None
    if not isinstance(found, dict):
        raise InputError(f"this JSON is a {type(found).__name__}, but an object with schema {schema} is needed")
    if found.get("schema") == schema:
        return found
    names = [name for name, part in found.items() if isinstance(part, dict) and part.get("schema") == schema]
    if names:
        several = ", ".join(map(shown, names[:5]))
        one = f"json.dumps(json.loads(text)[{names[0]!r}])"
        raise InputError(f"this JSON holds results by name: {several}; give one of them, {one}")
    raise InputError(f"this JSON has schema {shown(found.get('schema'))}, but {schema} is needed")


def _numbers(name: str, values: Any) -> FloatArray:
    """A list of numbers; null, which stands for all that is not finite, becomes nan."""
    plain = isinstance(values, list) and all(isinstance(value, int | float | None) for value in values)
    if not plain or any(isinstance(value, bool) for value in values):
        raise InputError(f"{name} of this JSON must be numbers, but is {shown(values)}")
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)
