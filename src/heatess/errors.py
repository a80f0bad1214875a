"""The errors heatess raises, and the warnings it gives."""

from __future__ import annotations


class InputError(ValueError):
    """Bad data or a bad argument: what was expected, what was found, where, and what to do."""


class InputTypeError(InputError, TypeError):
    """Bad data of the wrong kind altogether: strings, complex numbers, Python objects."""


class ScaleError(InputError):
    """Angles, times or resolutions that cannot be used, rather than data that cannot."""


class PrecisionError(ArithmeticError):
    """The requested accuracy cannot be certified; the message carries the estimate."""


class CostError(RuntimeError):
    """No engine would finish in reasonable time; the message carries the estimate and the way out."""


class PrecisionWarning(UserWarning):
    """A number is less certain than it was asked to be; the message says how certain it is."""


class ScaleWarning(UserWarning):
    """A scale was given in a unit that misleads on this space."""


class MissingExtraError(ImportError):
    """An optional dependency is not installed; the message is the install line."""


def missing_extra(package: str, extra: str) -> MissingExtraError:
    """The error for an absent optional *package*, with the line that installs it."""
    return MissingExtraError(f"this needs {package}, which is not installed: pip install 'heatess[{extra}]'")
