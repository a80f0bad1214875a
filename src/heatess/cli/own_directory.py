"""The directory of `heatess demo` or `heatess reproduce`: written again and again, but never over other files.

A record beside the files, `.heatess-files`, has the checksum of each as it was written, in the format of `sha256sum`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from ..base.files import atomic_path
from .options import usage
from .profile_output import writing

RECORD = ".heatess-files"


class Owned:
    """The files in one directory that a command wrote and may replace: those that are as it wrote them."""

    def __init__(self, folder: Path, *, force: bool) -> None:
        self._folder, self._force = folder, force
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise click.UsageError(f"cannot make the directory {folder}: {error.strerror or error}") from error
        self._sums = dict(_read(folder / RECORD))

    def refuse_others(self, names: Iterable[str]) -> None:
        """Refuse to replace files that were not written by the command, or were changed since."""
        others = [str(self._folder / name) for name in names if self._is_other(self._folder / name)]
        if others and not self._force:
            which = others[0] if len(others) == 1 else f"{others[0]} and {len(others) - 1} more"
            what, them = ("is a file", "it") if len(others) == 1 else ("are files", "them")
            raise usage(
                f"{which} {what} that this command did not write, or changed since; give another directory with --out, "
                f"or add --force to replace {them}"
            )

    @contextmanager
    def writing(self, path: Path) -> Iterator[Path]:
        """A draft of one of the files, as `heatess.files.atomic_path` gives it, and its entry in the record."""
        mine = path.exists() and not self._is_other(path)
        with writing(path):
            with atomic_path(path, replace=mine or self._force) as draft:
                yield draft
            self._sums[path.name] = _checksum(path)
            with atomic_path(self._folder / RECORD) as draft:
                draft.write_text("".join(f"{found}  {name}\n" for name, found in self._sums.items()), encoding="utf-8")

    def _is_other(self, path: Path) -> bool:
        return path.exists() and self._sums.get(path.name) != _checksum(path)


def _read(record: Path) -> Iterator[tuple[str, str]]:
    """Names and checksums of a record; nothing if there is none."""
    lines = record.read_text(encoding="utf-8", errors="replace").splitlines() if record.is_file() else []
    for line in lines:
        found, _, name = line.partition("  ")
        yield name, found


def _checksum(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
