"""Maps of electron backscatter diffraction (EBSD): crystal orientations in Bunge's Euler angles, pixel by pixel.

What every format of such maps shares is here: the phase of each pixel, pixels that were not indexed, and the words.
`ebsd_text` reads .ang and .ctf, `ebsd_hdf5` the maps in HDF5 files.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..base.errors import InputError
from ..base.known import Known
from ..spaces.point_groups import named_group
from ..tables.table import Piece, Place, Table

#: Rotations of a crystal by the number that .ang files have for its symmetry, and by the number of its Laue group.
EDAX = {
    **{"1": "1", "2": "2", "20": "121", "22": "222", "3": "3", "32": "32", "4": "4", "42": "422", "6": "6"},
    **{"62": "622", "23": "23", "43": "432"},
}
LAUE = dict(enumerate(("1", "121", "222", "4", "422", "3", "32", "6", "622", "23", "432"), 1))

#: The last of the space groups that share a Laue group, and those of -3m whose twofold axes lie along y.
_SPACE_GROUPS = dict(zip((2, 15, 74, 88, 142, 148, 167, 176, 194, 206, 230), LAUE.values(), strict=True))
_ALONG_Y = (149, 151, 153, 157, 159, 162, 163)

#: What is taken for granted about the axes of a crystal, where programs differ.
_AXES = {
    **{"211": " (twofold axis along x)", "121": " (twofold axis along y)", "C2": " (twofold axis along z)"},
    **{"D3": " (twofold axes along x)", "312": " (twofold axes along y)"},
}

#: What stands after two colons for the points of all phases.
ALL = "all"

_UNKNOWN = "crystal symmetry is not known and not applied; "
_NOWHERE = 4 * math.pi  # in place of each angle of a point that was not indexed
_ROWS_OF_A_PIECE = 2**20


class Phase(NamedTuple):
    """One kind of crystal."""

    name: str
    symmetry: str  #: the rotations that map it to itself, or what the file says; empty if nothing


class Layout(NamedTuple):
    """Which columns of a map are what."""

    angles: tuple[str, ...]  #: three columns, or one of three
    phase: str  #: the column with the number of the phase; empty if there is none
    unindexed: Mapping[str, tuple[float, ...]]  #: what marks a point that was not indexed, by column
    phases: Mapping[int, Phase]


class EbsdMap(Table):
    """The pixels of one phase, or of a map that has only one; the angles of those not indexed are missing."""

    euler, missing, about = "bunge", "not indexed", "rotations"
    known = Known(kind="cells", frame="sample")

    def __init__(self, table: Table, layout: Layout, label: str, note: str, file: str) -> None:
        self._table, self._layout, self.source = table, layout, table.source
        self.names, self.lists, self.units = table.names, table.lists, table.units
        counts = self._counts() if len(layout.phases) != 1 or label else {}
        self._number, words, phase = _chosen(counts, layout, label, file)
        self.symmetry = phase.symmetry if _group(phase.symmetry) else ""
        self.note = f"{note}; {words}pixels of a map of the sample"

    def pieces(self, names: Sequence[str], rows: int | None) -> Iterator[Piece]:
        """The rows of the phase; angles of points that were not indexed are nan."""
        layout = self._layout
        own = [*layout.angles, *layout.unindexed, *([layout.phase] if self._number is not None else [])]
        every = list(dict.fromkeys([*names, *own]))
        self._table.watch = self.watch
        for piece in self._table.pieces(every, rows):
            values = dict(zip(every, piece.columns, strict=True))
            lost = self._lost(values)
            if self._number is not None:
                kept = np.flatnonzero(~lost & (values[layout.phase] == self._number))
                if len(kept):
                    place = _places(piece.place, kept)
                    yield Piece([values[name][kept] for name in names], place, piece.done)
                continue
            for name in layout.angles:
                values[name] = np.array(values[name], dtype=np.float64)
                values[name][lost] = np.nan
            yield Piece([values[name] for name in names], piece.place, piece.done)

    def _lost(self, values: Mapping[str, NDArray[Any]]) -> NDArray[np.bool_]:
        """Which points were not indexed."""
        angles = [values[name] for name in self._layout.angles]
        stacked = angles[0] if angles[0].ndim == 2 else np.column_stack(angles)
        lost = (np.abs(stacked - _NOWHERE) < 1e-3).all(axis=1) | np.isnan(stacked).any(axis=1)
        for name, marks in self._layout.unindexed.items():
            lost |= np.isin(values[name], marks)
        return np.asarray(lost)

    def _counts(self) -> dict[int, int]:
        """The number of indexed points of each phase."""
        counts: dict[int, int] = {}
        column, own = self._layout.phase, [*self._layout.angles, *self._layout.unindexed, self._layout.phase]
        for piece in self._table.pieces(own, _ROWS_OF_A_PIECE) if column else ():
            values = dict(zip(own, piece.columns, strict=True))
            found, many = np.unique(values[column][~self._lost(values)], return_counts=True)
            if len(found) and (found != np.round(found)).any():
                wrong = found[found != np.round(found)][0]
                raise InputError(
                    f"{self.source}: column {column} is <!{wrong:g}!>, not <+the number of a phase+>; check the file"
                )
            for number, count in zip(found.tolist(), many.tolist(), strict=True):
                counts[int(number)] = counts.get(int(number), 0) + count
        return counts


def _places(place: Place, kept: NDArray[np.int64]) -> Place:
    return lambda row: place(int(kept[row]))


def _chosen(counts: Mapping[int, int], layout: Layout, label: str, file: str) -> tuple[int | None, str, Phase]:
    """The number of the phase that is wanted, None if there is no choice, words about it, and the phase."""
    phases, nothing = layout.phases, Phase("", "")
    if not label and len(counts) < 2:
        only = phases[next(iter(counts))] if counts and next(iter(counts)) in phases else None
        only = only or (next(iter(phases.values())) if len(phases) == 1 else None)
        return None, _words(only) if only else _UNKNOWN, only or nothing
    listed = ", ".join(f"{number} {_named(phases, number)} ({count:,} points)" for number, count in counts.items())
    if label.lower() == ALL:
        return None, f"all of the phases {listed}, crystal symmetry not applied; ", nothing
    if not label:
        raise InputError(
            f"{file} holds orientations of {len(counts)} phases: {listed}; choose one after two colons, such as "
            f"{file}::{next(iter(counts))}, or all of them with {file}::{ALL}"
        )
    fits = [number for number in counts if label.lower() in (str(number), _named(phases, number).lower())]
    if len(fits) != 1:
        raise InputError(
            f"{file}: none of its phases is <!{label!r}!>; choose one of these after two colons: <+{listed}+>"
        )
    (number,) = fits
    left = sum(counts.values()) - counts[number]
    others = f"{left:,} points of other phases left out, " if left else ""
    phase = phases.get(number, nothing)
    return number, f"{others}{_words(phase)}", phase


def of_space_group(number: int) -> str:
    """The rotations of the Laue group that a space group belongs to, by its number; empty if there is no such number.

    >>> of_space_group(194), of_space_group(229), of_space_group(152), of_space_group(162), of_space_group(0)
    ('622', '432', '32', '312', '')
    """
    if number in _ALONG_Y:
        return "312"
    return next((group for last, group in _SPACE_GROUPS.items() if 0 < number <= last), "")


def _named(phases: Mapping[int, Phase], number: int) -> str:
    return phases[number].name if number in phases and phases[number].name else "without a name"


def _words(phase: Phase) -> str:
    words = _AXES.get(_group(phase.symmetry), "")
    if not _group(phase.symmetry):
        words = f", crystal symmetry {phase.symmetry or 'is'} not known and not applied"
    return f"phase {phase.name or 'without a name'}{words}; "


def _group(symmetry: str) -> str:
    """The name of a point group; empty if there is none of that name."""
    try:
        return named_group(symmetry).name
    except InputError:
        return ""
