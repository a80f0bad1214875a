"""The errors heatess raises and the warnings it gives; their messages are data."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

from .messages import Code, Message, Open, shown


class Told(Exception):
    """What all errors of heatess share: a message that is data."""

    def __init__(self, message: str) -> None:
        super().__init__(Message(message))

    @property
    def message(self) -> Message:
        """What `str` gives, with its pieces of code."""
        return Message(self.args[0])

    @property
    def remedies(self) -> tuple[dict[str, Any], ...]:
        """The arguments, with their values, that the message advises: those after its first semicolon.

        >>> InputError("rtol=0 is not reached; give `rtol=1e-8`, or `method='pairwise', pairs=9`").remedies
        ({'rtol': 1e-08}, {'method': 'pairwise', 'pairs': 9})
        """
        parts = self.message.parts
        first = next((place for place, part in enumerate(parts) if isinstance(part, str) and "; " in part), len(parts))
        given = (dict(part.arguments) for part in parts[first:] if isinstance(part, Code) and not part.call)
        return tuple(arguments for arguments in given if arguments and Open not in arguments.values())

    @property
    def advises(self) -> bool:
        """Whether the message says what to do, after a semicolon."""
        return ";" in self.message

    def within(self, place: str = "", link: str = ": ", after: str = "") -> Self:
        """The same error, its row included, with the place where the data are said first, and what comes *after*.

        >>> str(InputError("the weight is negative", row=3).within("b"))
        'b: the weight is negative'
        """
        self.args = (Message(f"{place}{link if place else ''}{self.message.marked}{after}"),)
        return self

    def about(self, name: str, called: str) -> Self:
        """The same error, its row included, where what has this *name* is *called* otherwise.

        >>> str(InputError("/tmp/x/a.csv is empty").about("/tmp/x/a.csv", "data.zip::a.csv"))
        'data.zip::a.csv is empty'
        """
        self.args = (Message(self.message.marked.replace(name, called)),)
        return self


class InputError(Told, ValueError):
    """Bad data or a bad argument: what was expected, what was found, where, and what to do.

    `row` is the first row of the data that is wrong, counted from 0, and `column` the name of its column; None if no
    single one is. `expected` is in words what should have been there, `found` what was: what the message has in <+ +>
    and <! !>, or is given here; None where there is neither, as where a file is missing or an argument is one too many.
    `remedies` are the arguments that it advises, to be given to the same function.

    >>> import heatess as he
    >>> try:
    ...     he.gess([[0, 0, 1], [0, 0, 2]], angle=5)
    ... except he.InputError as error:
    ...     print(error.row)
    1
    """

    def __init__(
        self,
        message: str,
        *,
        row: int | None = None,
        column: str | None = None,
        expected: str | None = None,
        found: str | None = None,
    ) -> None:
        super().__init__(message)
        self.row, self.column = row, column
        self.expected, self.found = expected or self.message.expected, found or self.message.found

    @classmethod
    def unfit(cls, name: str, expected: str, found: Any, advice: str = "", *, verb: str = "is", **place: Any) -> Self:
        """The error for something that must be as *expected*, but was *found* otherwise; *place* is row and column.

        >>> print(InputError.unfit("size", "a whole number", 0.5, "round it"))
        size must be a whole number, but is 0.5; round it
        """
        must = "have" if verb in ("has", "have") else "be"
        text = f"{name} must {must} {expected}, but {verb} {shown(found)}{advice and f'; {advice}'}"
        return cls(text, expected=expected, found=shown(found), **place)

    @classmethod
    def misshapen(cls, name: str, expected: str, shape: tuple[int, ...], advice: str = "") -> Self:
        """The error for an array of another *shape* than *expected*.

        >>> print(InputError.misshapen("points", "(n, 3)", (5, 2)))
        points must have shape (n, 3), but have shape (5, 2)
        """
        return cls(f"{name} must have <+shape {expected}+>, but have <!shape {shape}!>{advice and f'; {advice}'}")

    @classmethod
    def lacking(cls, where: str, what: str = "point") -> Self:
        """The error for data without a single *what*; *where* says in words that there is none.

        >>> print(InputError.lacking("a.csv has no rows"))
        a.csv has no rows; at least one point is needed
        """
        return cls(f"{where}; <+at least one {what}+> is needed", found="none")


class InputTypeError(InputError, TypeError):
    """Bad data of the wrong kind altogether: strings, complex numbers, Python objects.

    >>> import heatess as he
    >>> he.gess([["a", "b", "c"]], angle=5)
    Traceback (most recent call last):
        ...
    heatess.base.errors.InputTypeError: points must be real numbers, but have dtype <U1 ...
    """


class KindError(InputError):
    """An answer that data of this kind do not have: a p-value or a band of what is no set of independent draws.

    So it is for importance weights that a few points decide.

    >>> import heatess as he
    >>> sky = he.from_healpix(range(12), order="ring")
    >>> he.uniformity_test(sky)
    Traceback (most recent call last):
        ...
    heatess.base.errors.KindError: points are a map or grid of cells, ...
    """


class ScaleError(InputError):
    """Angles, times or resolutions that cannot be used, rather than data that cannot.

    >>> import heatess as he
    >>> he.gess([[0, 0, 1]], angle=-5)
    Traceback (most recent call last):
        ...
    heatess.base.errors.ScaleError: angles must be positive and finite, but entry 0 is -5; remove or correct it
    """


class PrecisionError(Told, ArithmeticError):
    """The requested accuracy cannot be certified.

    `reached` is the relative accuracy that can be certified at the scales asked for, `needed` the degree or number of
    levels that would do, and `finest` the finest time that can be certified; None where they are not known.

    >>> import heatess as he
    >>> part = he.Accumulator(max_degree=20).add(he.samplers.fibonacci(100))
    >>> try:
    ...     part.profile(angles=[5])
    ... except he.PrecisionError as error:
    ...     print(error.needed)
    124
    """

    def __init__(
        self, message: str, *, reached: float | None = None, needed: int | None = None, finest: float | None = None
    ) -> None:
        super().__init__(message)
        self.reached, self.needed, self.finest = reached, needed, finest


class CostError(Told, RuntimeError):
    """No engine would finish in reasonable time; `seconds` is the estimate on two cores. The message names ways out.

    >>> import numpy as np
    >>> import heatess as he
    >>> try:
    ...     he.gess(np.zeros((300_000, 30)), np.ones(300_000), space=he.Torus(30), time=0.01)
    ... except he.CostError as error:
    ...     print(error.seconds > 1800)
    True
    """

    def __init__(self, message: str, *, seconds: float | None = None) -> None:
        super().__init__(message)
        self.seconds = seconds


class PrecisionWarning(UserWarning):
    """A number is less certain than it was asked to be; the message says how certain it is.

    >>> import itertools, warnings
    >>> import numpy as np
    >>> import heatess as he
    >>> cell = np.vstack([np.eye(4), -np.eye(4), list(itertools.product((0.5, -0.5), repeat=4))])
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     _ = he.heat_profile(cell, angles=[90], method="pairwise")
    >>> str(caught[0].message).endswith("gess is not affected")
    True
    """


class CalibrationWarning(UserWarning):
    """A confidence band or a test rests on assumptions that these data may not meet; the message says which.

    >>> import heatess as he
    >>> import warnings
    >>> import numpy as np
    >>> cloud = np.repeat(he.samplers.uniform(50, rng=0), 2, axis=0)
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     _ = he.population_profile(cloud, angles=[20])
    >>> caught[0].category.__name__
    'CalibrationWarning'
    """


class ScaleWarning(UserWarning):
    """A scale was given in a unit that misleads on this space.

    >>> import heatess as he
    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     _ = he.gess(he.samplers.uniform(10, 50, rng=0), angle=20)
    >>> caught[0].category.__name__
    'ScaleWarning'
    """


class FrameWarning(UserWarning):
    """Directions were turned from one frame of the sky into another one, or a frame is not known.

    >>> import heatess as he
    >>> import warnings
    >>> north = [[0, 0, 1]]
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     _ = he.mmd2(he.Measure(north, frame="icrs"), he.Measure(north, frame="galactic"), angles=[5])
    >>> print(caught[0].message)
    b is galactic and a ICRS: b was turned into ICRS
    """


class MissingExtraError(Told, ImportError):
    """An optional dependency is not installed; the message has the line that installs it.

    `needs` has the extra of heatess that brings each missing package, where there is one.

    >>> import heatess as he
    >>> issubclass(he.MissingExtraError, ImportError)
    True
    """

    def __init__(self, message: str, *, needs: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.needs = dict(needs or {})


def missing_extra(package: str, extra: str) -> MissingExtraError:
    """The error for an absent optional *package*, with the line that installs it."""
    return missing_extras({package: extra})


@contextmanager
def importing(package: str, extra: str) -> Iterator[None]:
    """While an optional *package* is imported: where it is absent, the error has the line that installs it."""
    try:
        yield
    except ImportError:
        raise missing_extras({package: extra}) from None


def missing_extras(needs: Mapping[str, str]) -> MissingExtraError:
    """The error for absent optional packages, each with its extra, and the one line that installs them all.

    >>> print(missing_extras({"astropy": "sky", "matplotlib": "plot"}))
    this needs astropy and matplotlib, which are not installed: pip install 'heatess[plot,sky]'
    """
    are, line = "is" if len(needs) == 1 else "are", f"pip install 'heatess[{','.join(sorted(set(needs.values())))}]'"
    return MissingExtraError(f"this needs {' and '.join(needs)}, which {are} not installed: {line}", needs=needs)


def message_of(error: BaseException) -> str:
    """The message of an error or a warning: a `Message` if it is one of heatess."""
    return error.args[0] if error.args and isinstance(error.args[0], Message) else str(error)


_PACKAGE, _IMPORTING = str(Path(__file__).parents[1]), "<frozen importlib"


def warn(message: str, category: type[Warning]) -> None:
    """Warn at the line that called heatess, however deep inside heatess this is."""
    depth, frame = 1, sys._getframe(0)
    while frame.f_back is not None and frame.f_code.co_filename.startswith((_PACKAGE, _IMPORTING)):
        depth += not frame.f_code.co_filename.startswith(_IMPORTING)  # `warnings` does not count the import system
        frame = frame.f_back
    warnings.warn(category(Message(message)), stacklevel=depth)
