"""Write files completely or not at all, never over what was read; archives of arrays that know if they were changed.

Results are first written to a *draft*, a hidden file beside the target whose name tells machine, process and chance,
such as `.state-heatess-1f2e3d4c-4711-0a1b2c3d.npz`. It replaces the target in one step, or takes its name only if there
is no such file. A process that is killed while writing leaves its draft behind; the next one that writes to the same
target removes it, and so may anybody at any time.

A symbolic link as target is written through: the file that it points to is replaced, and the link stays. Of a file with
several hard links, only the name that is written to changes.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import secrets
import shutil
import time
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from io import BytesIO
from itertools import chain, combinations, count
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from .errors import InputError, InputTypeError

AnyPath = str | os.PathLike[str]

#: Gives a draft of a file inside a `with` block, as `atomic_path` does.
Drafts = Callable[[Path], AbstractContextManager[Path]]

#: A draft left behind is removed after so many seconds: by its own machine, once its process is dead; by others.
STALE_HERE, STALE_ELSEWHERE = 60.0, 86_400.0

#: The member of an archive that holds the checksum of all others.
CHECKSUM = "checksum"

_DRAFT = re.compile(r"-heatess-([0-9a-f]{8})-(\d{1,10})-[0-9a-f]{8}")


def is_stream(path: AnyPath) -> bool:
    """Whether *path* is no file of its own but a device, a pipe, or another name of standard input or output.

    >>> is_stream("/dev/null"), is_stream("/dev/fd/1"), is_stream("cloud.csv")
    (True, True, False)
    """
    place = Path(path)
    try:
        if not place.exists() or place.is_dir():
            return False
        return not place.is_file() or (place.parts[:2] in (("/", "dev"), ("/", "proc")) and place.parts[2] != "shm")
    except (OSError, ValueError):
        return False


@contextmanager
def atomic_path(path: AnyPath, *, replace: bool = True) -> Iterator[Path]:
    """A temporary file name in the directory of *path*; write there, inside a `with` block.

    If the block succeeds, the temporary file replaces *path*; if it fails, *path* does not change. Both have
    the same suffix, which may choose the format. Devices and pipes are written to directly.

    Without *replace*, a file that is there by then stays as it is: what was written gets a free name beside it, which
    the `FileExistsError` tells.

    >>> import tempfile
    >>> target = Path(tempfile.mkdtemp()) / "result.txt"
    >>> with atomic_path(target) as draft:
    ...     _ = draft.write_text("whole")
    >>> target.read_text()
    'whole'
    """
    given = Path(path)
    if is_stream(given):
        yield given
        return
    target = given.resolve()  # replace the file that a symbolic link points to, not the link
    _remove_stale_drafts(target)
    mark = f"-heatess-{_machine()}-{os.getpid()}-{secrets.token_hex(4)}"
    draft = target.with_name(f"{_draft_stem(target)}{mark}{target.suffix}")
    try:
        yield draft
        if not replace:
            _place(draft, target)
            return
        if target.exists():
            shutil.copymode(target, draft)
        os.replace(draft, target)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def _place(draft: Path, target: Path) -> None:
    """Call a draft *target*; if there is such a file, find a free name for it and say which."""
    free = (target.with_name(f"{target.stem}-{number}{target.suffix}") for number in count(2))
    name = next(name for name in chain([target], free) if _claimed(draft, name))
    draft.unlink(missing_ok=True)
    if name != target:
        found = f"there is such a file now, which was not replaced; what was to be written is in {name}"
        raise FileExistsError(errno.EEXIST, found, str(target))


def _claimed(draft: Path, name: Path) -> bool:
    """Give a draft a name too; False if there is such a file already."""
    try:
        os.link(draft, name)
    except FileExistsError:
        return False
    except OSError:  # a file system without hard links: an empty file holds the place
        try:
            os.close(os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
        except FileExistsError:
            return False
        os.replace(draft, name)
    return True


def _draft_stem(target: Path) -> str:
    return f".{target.stem[:40]}"  # a file name has room for 255 bytes


def _machine() -> str:
    import platform

    return hashlib.sha256(platform.node().encode()).hexdigest()[:8]


def _remove_stale_drafts(target: Path) -> None:
    """Remove drafts of *target* whose process was killed."""
    stem, suffix = _draft_stem(target), target.suffix
    with suppress(OSError):
        for entry in os.scandir(target.parent):
            if not (entry.name.startswith(stem) and entry.name.endswith(suffix)):
                continue
            match = _DRAFT.fullmatch(entry.name[len(stem) : len(entry.name) - len(suffix)])
            if match is None:
                continue
            with suppress(OSError):
                age = time.time() - entry.stat(follow_symlinks=False).st_mtime
                here = match[1] == _machine() and _is_dead(int(match[2]))
                if age > (STALE_HERE if here else STALE_ELSEWHERE):
                    os.unlink(entry.path)


def _is_dead(process: int) -> bool:
    """Whether there is certainly no such process on this machine."""
    if os.name != "posix":  # where signal 0 is not a question but an interruption
        return False
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):
        pass
    return False


def check_writable(path: AnyPath) -> Path:
    """*path*, if a file can be written there; an `InputError` that says why not otherwise."""
    try:
        target = Path(path)
        folder = target.resolve().parent
        exists, is_dir = target.exists(), target.is_dir()
    except (OSError, ValueError, RuntimeError, TypeError) as error:  # a loop of links, a null byte, a name too long
        raise InputError(f"cannot write {path!r}: {error}; choose another name") from None
    if is_dir:
        raise InputError(f"cannot write {target}: it is a directory; give a file name inside it")
    if not folder.is_dir():
        raise InputError(f"cannot write {target}: there is no directory {folder}; make it first")
    if not os.access(folder, os.W_OK) or (exists and not os.access(target, os.W_OK)):
        raise InputError(f"cannot write {target}: permission denied; choose another place")
    return target


def same_file(one: AnyPath, other: AnyPath) -> bool:
    """Whether two names mean one file, by whatever links and in whatever case.

    Names of files that do not exist yet are the same if their directory is, and upper and lower case do not tell.

    >>> same_file("a/../b.csv", "./b.csv"), same_file("b.csv", "c.csv")
    (True, False)
    """
    with suppress(OSError, ValueError):
        return os.path.samefile(one, other)
    with suppress(OSError, ValueError):
        first, second = (Path(os.path.realpath(path)) for path in (one, other))
        if first == second:
            return True
        if not (first.exists() or second.exists()) and _folded(first) == _folded(second):
            return os.path.samefile(first.parent, second.parent)
    return False


def _folded(path: Path) -> str:
    import unicodedata

    return unicodedata.normalize("NFC", path.name).casefold()


def refuse_same_files(inputs: Iterable[AnyPath], outputs: Iterable[AnyPath]) -> None:
    """An `InputError` if an output is one of the inputs, or another output: call it before anything is computed."""
    sources, targets = list(inputs), list(outputs)
    for one, other in combinations(targets, 2):
        if same_file(one, other):
            raise InputError(f"two outputs go to the same place, {one} and {other}; give each its own file")
    for target in targets:
        for source in sources:
            if same_file(target, source):
                also = "" if str(target) == str(source) else f" {source} under another name"
                raise InputError(f"{target} is the input file{also}; give the output another name")


def repeated(files: Iterable[AnyPath]) -> tuple[AnyPath, AnyPath] | None:
    """Two names for the same file, links and hard links included; None if there are no such two."""
    seen: dict[object, AnyPath] = {}
    for file in files:
        try:
            found = os.stat(file)  # without a number of the file on some network drives
            key: object = (found.st_dev, found.st_ino) if found.st_ino else os.path.realpath(file)
        except (OSError, ValueError):
            key = os.path.abspath(file)
        if key in seen:
            return seen[key], file
        seen[key] = file
    return None


# Archives: .npz files of a few arrays, with a checksum.


def checksum(arrays: Mapping[str, NDArray[Any]]) -> str:
    """A digest of the names, types, shapes and contents of arrays."""
    digest = hashlib.sha256()
    for name in sorted(arrays):
        array = np.asarray(arrays[name])
        digest.update(f"{name} {array.dtype.str} {array.shape}\n".encode())
        digest.update(np.ascontiguousarray(array).view(np.uint8).data if array.size else b"")
    return digest.hexdigest()


def write_archive(stream: BinaryIO, arrays: Mapping[str, Any]) -> None:
    """Write *arrays* and their checksum as a .npz file."""
    content: dict[str, Any] = {name: np.asarray(value, order="C") for name, value in arrays.items()}
    np.savez(stream, **content | {CHECKSUM: np.asarray(checksum(content))})


def is_archive(path: AnyPath) -> bool:
    """Whether *path* is a file of `write_archive`, whole or not."""
    try:
        with zipfile.ZipFile(path) as archive:
            return f"{CHECKSUM}.npy" in archive.namelist() or "schema.npy" in archive.namelist()
    except Exception:
        return False


def read_archive(path: AnyPath, names: Iterable[str], what: str) -> dict[str, NDArray[Any]]:
    """The arrays called *names* and no others, and their checksum; an `InputError` if the file is not a whole *what*.

    Nothing is unpacked and no size is believed: an array takes as much memory as it has bytes in the file.
    """
    try:
        with Path(path).open("rb") as stream, zipfile.ZipFile(stream) as archive:
            room = os.fstat(stream.fileno()).st_size
            members = {name: _member(archive, f"{name}.npy", room) for name in (*names, CHECKSUM)}
        content = {name: _array(data) for name, data in members.items() if data is not None}
    except FileNotFoundError:
        raise InputError("does not exist; check the name") from None
    except TypeError:
        raise InputTypeError("is not the name of a file; give <+a str or a path+>") from None
    except IsADirectoryError:
        raise InputError("is <!a directory!>, not <+a file+>; check the name") from None
    except PermissionError:
        raise InputError("cannot be read: permission denied; check its permissions") from None
    except Exception as error:  # a damaged archive makes zipfile and NumPy raise nearly anything
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise InputError(f"is not <+a whole {what}+> ({reason}); make it again") from None
    return content


def refuse_changed(content: dict[str, NDArray[Any]]) -> None:
    """Take the checksum out of the *content* of an archive, or an `InputError` if it does not fit."""
    written = content.pop(CHECKSUM, None)
    if written is None or str(written) != checksum(content):
        raise InputError("was changed after it was written (its checksum does not fit); make it again")


def _member(archive: zipfile.ZipFile, name: str, room: int) -> bytes | None:
    """The bytes of one member, None if there is none."""
    found = [entry for entry in archive.infolist() if entry.filename == name]
    if not found:
        return None
    if len(found) > 1 or found[0].compress_type != zipfile.ZIP_STORED or found[0].file_size > room:
        raise ValueError(f"{name} is compressed, larger than the file, or there twice")
    return archive.read(found[0])


def _array(data: bytes) -> NDArray[Any]:
    """The array in the bytes of a .npy file; its header must tell exactly their number."""
    stream = BytesIO(data)
    version = np.lib.format.read_magic(stream)
    if version != (1, 0):
        raise ValueError(f"unknown .npy version {version}")
    shape, fortran, dtype = np.lib.format.read_array_header_1_0(stream)
    if dtype.hasobject or fortran or any(side < 0 for side in shape):
        raise ValueError("not a plain array")
    count = 1
    for side in shape:
        count *= side
    if count * dtype.itemsize != len(data) - stream.tell():
        raise ValueError("the header of an array does not fit its size")
    return np.frombuffer(data, dtype, count, stream.tell()).reshape(shape).copy()
