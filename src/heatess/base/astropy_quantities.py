"""Numbers with a unit, as astropy has them: quantities, angles, columns of tables."""

from __future__ import annotations

from typing import Any

import numpy as np

from .errors import InputTypeError


def has_unit(values: Any) -> bool:
    """Whether *values* have a unit of their own, told without importing astropy."""
    return getattr(values, "unit", None) is not None and (hasattr(values, "to_value") or hasattr(values, "quantity"))


def in_unit(values: Any, unit: str, name: str) -> Any:
    """Numbers in *unit*, "deg", "rad" or "" for plain numbers; values without a unit as they are.

    >>> from astropy import units as u
    >>> float(in_unit(30 * u.arcmin, "deg", "angles"))
    0.5
    """
    if not has_unit(values):
        return values
    quantity = values if hasattr(values, "to_value") else values.quantity
    try:
        return np.asarray(quantity.to_value(unit))
    except Exception as error:  # units of another kind
        if type(error).__module__.partition(".")[0] != "astropy":
            raise
        remedy = f"give an angle, such as 5 * u.{unit}" if unit else f"give numbers without a unit, {_stripped(values)}"
        found = f"{name} are in <!{values.unit}!>, which is no <+{'angle' if unit else 'plain number'}+>"
        raise InputTypeError(f"{found}; {remedy}") from None


def _stripped(values: Any) -> str:
    """The line that takes the unit away."""
    return (
        f"such as `values.to_value({str(values.unit)!r})`" if hasattr(values, "to_value") else "such as `column.data`"
    )
