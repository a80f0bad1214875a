"""What the readers of other people's formats share: a guard, columns read when asked for, the choice of a part.

Where a file holds several tables, a label after two colons chooses one: ``samples.h5::C01:IMRPhenomXPHM``.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from numpy.typing import NDArray

from ..base.errors import InputError, MissingExtraError
from ..tables.table import Columns

T = TypeVar("T")


def split_label(path: Path) -> tuple[Path, str]:
    """The file, and the label after ``::`` that chooses a part of it; empty if there is none.

    >>> split_label(Path("runs/a.h5::C01:Mixed/posterior_samples"))[1]
    'C01:Mixed/posterior_samples'
    >>> split_label(Path("a.h5"))[1]
    ''
    """
    file, mark, label = str(path).partition("::")
    return (Path(file), label) if mark and not path.exists() else (path, "")


@contextmanager
def reading(path: Path, kind: str, remedy: str) -> Iterator[None]:
    """Whatever a parser raises in this block becomes an `InputError`: foreign parsers fail on damage in every way."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    except (InputError, MissingExtraError):
        raise
    except Exception as error:
        words = " ".join(str(error).split())[:200].rstrip(".") or "no reason given"
        reason = f"{type(error).__name__}: {words}"
        raise InputError(
            f"{path} cannot be read as {kind} ({reason}); it may be damaged or cut short: {remedy}"
        ) from None


class Lazy:
    """A column whose shape is known, and which is read when it is asked for."""

    def __init__(self, shape: tuple[int, ...], load: Callable[[], NDArray[Any]]) -> None:
        self.shape, self._load = shape, load

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        array = self._load()
        return array if dtype is None else array.astype(dtype)


def chosen(path: Path, label: str, parts: Mapping[str, T], kind: str) -> tuple[str, T]:
    """The only one of *parts*, or the one that *label* names, whole or by its beginning or end; *kind* is a plural."""
    found = list(parts)
    if label:
        inner = label.strip("/")
        found = [name for name in parts if name in (label, inner)] or [
            name for name in parts if f"/{name}/".startswith(f"/{inner}/") or f"/{name}/".endswith(f"/{inner}/")
        ]
    if len(found) == 1:
        return found[0], parts[found[0]]
    listed = _listed(found or list(parts))
    if not found:
        raise InputError(
            f"{path}: none of its {kind} is <!{label!r}!>; choose one of these after two colons: <+{listed}+>"
        )
    example = f"{path}::{found[0]}"
    raise InputError(f"{path} holds {len(found)} {kind}: {listed}; choose one after two colons, such as {example}")


def _listed(names: list[str], most: int = 20) -> str:
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def columns(
    path: Path,
    found: Mapping[str, Any],
    expected: str,
    *,
    units: Mapping[str, str] | None = None,
    note: str = "",
    row: str = "row {} (counted from 0)",
    texts: Mapping[str, Callable[[], Sequence[str]]] | None = None,
    converted: Mapping[str, str] | None = None,
) -> Columns:
    """A table of *found* and of *texts*, refused if it has no column or no row.

    *expected* says what should have been there.
    """
    if not found and not texts:
        raise InputError(f"{path} has no columns of numbers; {expected}")
    stated = {name: unit for name, unit in (units or {}).items() if unit}
    table = Columns(found, str(path), units=stated, row=row, texts=texts)
    if not (next(iter(found.values())).shape[0] if found else len(next(iter((texts or {}).values()))())):
        raise InputError(
            f"{path} has columns {', '.join([*found, *(texts or ())])} but <!no rows!>; <+at least one+> is needed"
        )
    table.note, table.converted = note, converted or {}
    return table
