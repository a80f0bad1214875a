"""What tab completion shows of classes that have much inside."""

from __future__ import annotations

from abc import ABCMeta
from collections.abc import Iterable


class Tidy(ABCMeta):
    """The class of classes whose `_inside`, names that are not for users, neither they nor their instances show."""

    _inside: frozenset[str] = frozenset()

    def __dir__(cls) -> Iterable[str]:
        return [name for name in super().__dir__() if name not in cls._inside]


class Tidied(metaclass=Tidy):
    """An object of a tidy class."""

    def __dir__(self) -> Iterable[str]:
        return [name for name in super().__dir__() if name not in type(self)._inside]
