"""Names of nodes, by which points may be given."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...base.arrays import FloatArray, names_of
from ...base.errors import InputError


class NodeNames:
    """The name of each node; *of* is what messages call the graph."""

    def __init__(self, labels: NDArray[np.str_], of: str) -> None:
        self.labels, self._of = labels, of

    def places(self, names: Sequence[str]) -> FloatArray:
        """The places of nodes by their names."""
        found = [self._places.get(name, -1) for name in names]
        for row, place in enumerate(found):
            if place < 0:
                raise self._unknown(names[row], row)
        return np.array(found, dtype=np.float64)

    @cached_property
    def _places(self) -> dict[str, int]:
        """The node of each name; -2 where several have it."""
        found: dict[str, int] = {}
        for place, name in enumerate(self.labels.tolist()):
            found[name] = -2 if name in found else place
        return found

    def _unknown(self, name: str, row: int) -> InputError:
        if name in self._places:
            found = f"several nodes of {self._of} are called <!{name!r}!>"
            return InputError(f"row {row}: {found}; give their places, from 0, in the order of nodes", row=row)
        close = get_close_matches(name, self._places, 1)
        hint = f"did you mean {close[0]!r}?" if close else f"they are called {', '.join([*self._places][:3])} and so on"
        return InputError(f"row {row}: no node of {self._of} is called <!{name!r}!>; {hint}", row=row)

    def refuse_numbers(self, nodes: FloatArray) -> None:
        """Refuse integers all of which are names as well, but not all of the nodes in those places."""
        if not self._numbered_otherwise:
            return
        numbers = np.unique(nodes).astype(np.int64).tolist()
        places = [self._places.get(str(number)) for number in numbers]
        if None in places or places == numbers:
            return
        first = next(number for number, place in zip(numbers, places, strict=True) if number != place)
        raise InputError(
            f"nodes of {self._of} are called by numbers that are not their places: {first} may be the node of that "
            f"name, or the one in that place, which is called {str(self.labels[first])!r}; give names as text, such as "
            f"'{first}', or places as `numpy.array(places, dtype=float)`"
        )

    @cached_property
    def _numbered_otherwise(self) -> bool:
        """Whether some node is called by a number that is not its place."""
        return any(name.isdecimal() and name != str(place) for place, name in enumerate(self.labels.tolist()))


def labels_of(names: Any, count: int) -> NDArray[np.str_] | None:
    """Names as text, one for each of *count* nodes."""
    if names is None:
        return None
    labels = names_of([names] if isinstance(names, str) else names, "node")
    if len(labels) != count:
        raise InputError(f"labels must be <+one name for each of {count:,} nodes+>, but are <!{len(labels):,}!>")
    return labels
