"""What is known about data beside their points and weights: how they came about, in which frame, how coarse.

A reader fills a `Known` in, or the user says it; a `Measure` carries it, and functions ask it instead of guessing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .arrays import IntArray, names_of, one_of
from .messages import Message

#: What data are, and the words for it.
KINDS = {
    "draws": "independent draws",
    "weighted draws": "independent draws with importance weights",
    "chains": "Markov chains",
    "trajectory": "a trajectory",
    "cells": "a map or grid of cells",
    "complete": "a complete list",
}

#: Frames of directions. Those of the sky can be turned into each other, see `frames`.
SKY = ("icrs", "galactic", "ecliptic")
FRAMES = (*SKY, "geographic", "sample")

#: What points in a frame are about.
ABOUT = {"icrs": "sky", "galactic": "sky", "ecliptic": "sky", "geographic": "earth", "sample": "directions"}

#: What longitude and latitude are called in a frame, in full and in short.
AXES = {
    "icrs": ("right ascension", "declination", "RA", "Dec"),
    "galactic": ("galactic longitude", "galactic latitude", "l", "b"),
    "ecliptic": ("ecliptic longitude", "ecliptic latitude", "\u03bb", "\u03b2"),
    None: ("longitude", "latitude", "longitude", "latitude"),
}


@dataclass(frozen=True, eq=False)
class Known:
    """What is known about data; None where it is not.

    Attributes
    ----------
    kind : str or None
        "draws", "weighted draws" (importance weights), "chains", "trajectory", "cells" (a map or grid, whose weights
        are what each cell holds), "complete" (a list of all there are), or None.
    frame : str or None
        "icrs", "galactic", "ecliptic", "geographic", or "sample" for directions in a sample of rock or metal.
    cell : float or None
        The side of a cell of a map or grid, the root of its area: in degrees on angular spaces.
    chains : int or None
        The number of Markov chains.
    labels : ndarray of str, or None
        The name of each point.
    units : str or None
        The unit in which the file has its angles, "deg", "rad" or "hours".
    source : str
        The file or data frame; empty for arrays.
    doubt : str
        Why the kind cannot be told, where the data hint at one: a question to the user. Empty if they do not.
    thinned : bool
        Whether the points were chosen by `thin`, so that they are no draws any more.

    Examples
    --------
    >>> import heatess as he
    >>> he.Measure([[0, 0, 1], [0, 1, 0]], kind="complete", labels=["up", "east"]).known
    Known(kind='complete', labels=2)
    """

    kind: str | None = None
    frame: str | None = None
    cell: float | None = None
    chains: int | None = None
    labels: NDArray[np.str_] | None = None
    units: str | None = None
    source: str = ""
    doubt: str = ""
    thinned: bool = False
    chain_of: IntArray | None = None  #: the chain of each atom, where they are not blocks of one length in order

    def __post_init__(self) -> None:
        object.__setattr__(self, "doubt", Message(self.doubt))
        for name, words in (("kind", KINDS), ("frame", FRAMES)):
            if getattr(self, name) is not None:
                one_of(getattr(self, name), name, words)

    def said(
        self, kind: str | None = None, frame: str | None = None, labels: Sequence[str] | NDArray[Any] | None = None
    ) -> Known:
        """The same with what the user says, which outranks what the data say.

        >>> Known(kind="cells", frame="galactic").said(frame="icrs")
        Known(kind='cells', frame='icrs')
        """
        changed: dict[str, Any] = {}
        if kind is not None:
            changed |= {"kind": kind, "doubt": ""}
        if frame is not None:
            changed["frame"] = frame
        if labels is not None:
            changed["labels"] = names_of(labels, "point")
        return replace(self, **changed) if changed else self

    def rows(self, rows: Any, n: int) -> Known:
        """The same for some of *n* points: an index array, a mask or a slice.

        >>> Known(kind="chains", chains=2).rows([0, 1, 4], 6).chain_labels(3)
        array([0, 0, 1])
        """
        if self.labels is None and self.chains is None:
            return self
        labels = None if self.labels is None else self.labels[rows]
        doubt = self.doubt
        if self.chains is not None and np.asarray(rows).dtype.kind in "iu" and (np.diff(rows) <= 0).any():
            doubt = "the draws of its chains are not in their order any more; take them in the order of rows"
        of = None if self.chains is None else self.chain_labels(n)[rows]
        count = None if of is None else len(np.unique(of))
        return replace(self, labels=labels, chain_of=of, chains=count, doubt=doubt)

    def chain_labels(self, n: int) -> IntArray:
        """The chain of each of *n* points, a number.

        >>> Known(kind="chains", chains=2).chain_labels(4)
        array([0, 0, 1, 1])
        """
        if self.chain_of is not None:
            return self.chain_of
        count = self.chains or 1
        return np.repeat(np.arange(count), -(-n // count))[:n]

    @property
    def of_all(self) -> Known:
        """What is known of all points together, without what each of them has of its own."""
        return replace(self, labels=None, chain_of=None)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, of what is known of all points together.

        >>> Known(kind="cells", frame="galactic", cell=1.83).to_dict()["cell"]
        1.83
        """
        names = ("kind", "frame", "cell", "chains", "units", "source", "thinned")
        return {name: getattr(self, name) for name in names}

    @property
    def words(self) -> str:
        """Kind, frame and cells in a few words; empty if nothing is known."""
        kind = "" if self.kind is None else self.kind
        if self.kind == "cells" and self.cell is not None:
            kind = f"cells of {self.cell:.3g} degree{'s' * (f'{self.cell:.3g}' != '1')}"
        if self.kind == "chains" and self.chains is not None:
            kind = "1 chain" if self.chains == 1 else f"{self.chains} chains"
        return ", ".join(filter(None, [kind, frame_in_words(self.frame), "thinned" if self.thinned else ""]))

    def __repr__(self) -> str:
        fields = ("kind", "frame", "cell", "chains", "units", "source", "doubt", "thinned")
        told = [f"{name}={value!r}" for name in fields if (value := getattr(self, name))]
        if self.labels is not None:
            told.append(f"labels={len(self.labels)}")
        return f"Known({', '.join(told)})"


def frame_in_words(frame: str | None) -> str:
    """A frame as sentences call it.

    >>> frame_in_words("icrs"), frame_in_words("galactic")
    ('ICRS', 'galactic')
    """
    return "ICRS" if frame == "icrs" else frame or ""


def of_stack(chains: int, draws: int) -> Known:
    """What is known of an array (chain, draw, coordinate), with a question where it has more chains than draws.

    >>> of_stack(4, 1000), of_stack(1000, 32).doubt[:44]
    (Known(kind='chains', chains=4), 'it has 1,000 chains of 32 draws by its shape')
    """
    doubt = ""
    if chains > draws:
        doubt = (
            f"it has {chains:,} chains of {draws:,} draws by its shape; if the first axis is that of draws, as in "
            "emcee, exchange the first two: `array.swapaxes(0, 1)`; if there are more chains than draws, say "
            "`kind='chains'`"
        )
    return Known(kind="chains", chains=chains, doubt=doubt)
