"""Write files completely or not at all."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .errors import InputError


@contextmanager
def atomic_path(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary file name in the directory of *path*; write there, inside a `with` block.

    If the block succeeds, the temporary file replaces *path*; if it fails, *path* does not change. Both have
    the same suffix, which may choose the format. Devices and pipes are written to directly.

    >>> import tempfile
    >>> target = Path(tempfile.mkdtemp()) / "result.txt"
    >>> with atomic_path(target) as draft:
    ...     _ = draft.write_text("whole")
    >>> target.read_text()
    'whole'
    """
    given = Path(path)
    if given.exists() and (not given.is_file() or given.parent.parts[:2] in (("/", "dev"), ("/", "proc"))):
        yield given
        return
    target = given.resolve()  # replace the file that a symbolic link points to, not the link
    draft = target.with_name(f".{target.stem}-{secrets.token_hex(4)}{target.suffix}")
    try:
        yield draft
        if target.exists():
            shutil.copymode(target, draft)
        os.replace(draft, target)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def check_writable(path: str | os.PathLike[str]) -> Path:
    """*path*, if a file can be written there; an `InputError` that says why not otherwise."""
    target = Path(path)
    folder = target.resolve().parent
    if target.is_dir():
        raise InputError(f"cannot write {target}: it is a directory; give a file name inside it")
    if not folder.is_dir():
        raise InputError(f"cannot write {target}: there is no directory {folder}; make it first")
    if not os.access(folder, os.W_OK) or (target.exists() and not os.access(target, os.W_OK)):
        raise InputError(f"cannot write {target}: permission denied; choose another place")
    return target
