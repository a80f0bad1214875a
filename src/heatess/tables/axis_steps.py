"""One step of an axis, as the user names it: by its number, or by what the file says of it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..base.errors import InputError
from ..base.messages import shown
from .variables import Variable


def chosen_steps(source: str, select: Mapping[str, Any], variables: Mapping[str, Variable]) -> dict[str, int]:
    """The number of the step that the user wants along each axis."""
    sizes = {dim: size for variable in variables.values() for dim, size in variable.sizes.items()}
    lowered = {dim.lower(): dim for dim in sizes}
    found = {}
    for name, wanted in select.items():
        dim = name if name in sizes else lowered.get(name.lower(), "")
        if not dim:
            listed = ", ".join(f"{dim} ({size:,} steps)" for dim, size in sizes.items())
            raise InputError(f"{source} has no <+axis {name!r}+>; it has <!{listed}!>")
        coordinate = variables.get(dim)
        if coordinate is not None and coordinate.dims != (dim,):
            coordinate = None
        found[dim] = _step(source, dim, sizes[dim], wanted, coordinate)
    return found


def _step(source: str, dim: str, size: int, wanted: Any, coordinate: Variable | None) -> int:
    if isinstance(wanted, int | np.integer):
        if -size <= wanted < size:
            return int(wanted) % size
        places = [] if coordinate is None else _by_value(float(wanted), coordinate)
        hint = f"; {dim} is {wanted} at `select={{{dim!r}: {places[0]}}}`" if len(places) == 1 else ""
        raise InputError(
            f"{source}: {dim} has {size:,} steps, <+0 to {size - 1:,}+>, but <!{wanted}!> was selected{hint}"
        )
    if coordinate is None:
        raise InputError(
            f"{source}: {dim} has steps without names, so <!{shown(wanted)}!> is none of them; select one by <+its "
            f"number, 0 to {size - 1:,}+>"
        )
    places = _by_value(wanted, coordinate)
    if len(places) == 1:
        return places[0]
    steps = coordinate.steps()
    if places:
        several = ", ".join(f"{place} ({steps[place]})" for place in places[:4])
        raise InputError(f"{source}: {len(places)} steps of {dim} are {shown(wanted)}: {several}; select one by number")
    raise InputError(
        f"{source}: no step of {dim} is <!{shown(wanted)}!>; they run from <+{steps[0]} to {steps[-1]}+>: name one of "
        f"them, or select it by its number, 0 to {size - 1:,}"
    )


def _by_value(wanted: Any, coordinate: Variable) -> list[int]:
    """The steps that are this number, or whose date begins so."""
    steps = coordinate.steps()
    text = str(wanted).strip().replace(" ", "T")
    exact = [place for place, step in enumerate(steps) if step == text]
    if exact:
        return exact
    try:
        number = float(text)
    except ValueError:
        return [place for place, step in enumerate(steps) if step.startswith(text)]
    close = []
    for place, step in enumerate(steps):
        try:
            if math.isclose(float(step), number, rel_tol=1e-6, abs_tol=1e-9):
                close.append(place)
        except ValueError:
            continue
    return close


def described(steps: Mapping[str, int], variables: Mapping[str, Variable]) -> str:
    """The chosen steps in words: "time 0 (1995-01-16T00:00:00), level 3 (500)"."""
    words = []
    for dim, step in steps.items():
        coordinate = variables.get(dim)
        named = coordinate is not None and coordinate.dims == (dim,)
        words.append(f"{dim} {step}" + (f" ({coordinate.steps()[step]})" if coordinate is not None and named else ""))
    return ", ".join(words)
