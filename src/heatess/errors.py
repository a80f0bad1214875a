"""The errors heatess raises, and the warnings it gives."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path


class InputError(ValueError):
    """Bad data or a bad argument: what was expected, what was found, where, and what to do.

    `row` is the first row of the data that is wrong, counted from 0; None if no single row is.
    """

    def __init__(self, message: str, *, row: int | None = None) -> None:
        super().__init__(message)
        self.row = row


class InputTypeError(InputError, TypeError):
    """Bad data of the wrong kind altogether: strings, complex numbers, Python objects."""


class ScaleError(InputError):
    """Angles, times or resolutions that cannot be used, rather than data that cannot."""


class PrecisionError(ArithmeticError):
    """The requested accuracy cannot be certified.

    `reached` is the relative accuracy that can be certified at the scales asked for, `needed` the degree or number of
    levels that would do, and `finest` the finest time that can be certified; None where they are not known.
    """

    def __init__(
        self, message: str, *, reached: float | None = None, needed: int | None = None, finest: float | None = None
    ) -> None:
        super().__init__(message)
        self.reached, self.needed, self.finest = reached, needed, finest


class CostError(RuntimeError):
    """No engine would finish in reasonable time; `seconds` is the estimate on two cores. The message names ways out."""

    def __init__(self, message: str, *, seconds: float | None = None) -> None:
        super().__init__(message)
        self.seconds = seconds


class PrecisionWarning(UserWarning):
    """A number is less certain than it was asked to be; the message says how certain it is."""


class CalibrationWarning(UserWarning):
    """A confidence band or a test rests on assumptions that these data may not meet; the message says which."""


class ScaleWarning(UserWarning):
    """A scale was given in a unit that misleads on this space."""


class MissingExtraError(ImportError):
    """An optional dependency is not installed; the message is the install line."""


def missing_extra(package: str, extra: str) -> MissingExtraError:
    """The error for an absent optional *package*, with the line that installs it, and the extra that brings it."""
    return MissingExtraError(f"this needs {package}, which is not installed: pip install {package} (extra: {extra})")


_PACKAGE, _IMPORTING = str(Path(__file__).parent), "<frozen importlib"


def warn(message: str, category: type[Warning]) -> None:
    """Warn at the line that called heatess, however deep inside heatess this is."""
    depth, frame = 1, sys._getframe(0)
    while frame.f_back is not None and frame.f_code.co_filename.startswith((_PACKAGE, _IMPORTING)):
        depth += not frame.f_code.co_filename.startswith(_IMPORTING)  # `warnings` does not count the import system
        frame = frame.f_back
    warnings.warn(message, category, stacklevel=depth)
