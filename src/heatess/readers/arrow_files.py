"""Arrow files: Feather (version 2), and the stream and file formats of Arrow."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from ..base.blocks import slices
from ..base.errors import InputError, importing
from ..tables.arrow_columns import ArrowTable, Root
from ..tables.table import Table
from .packed_size import refuse_expansion

SUFFIXES = (".feather", ".arrow", ".ipc")


def table(path: Path) -> Table:
    """The columns of an Arrow file, which is mapped into memory."""
    with _opened(path, None) as (schema, _):
        return ArrowFile(path, schema)


class ArrowFile(ArrowTable):
    """An Arrow file: only wanted columns are read."""

    def __init__(self, path: Path, schema: Any) -> None:
        super().__init__(schema, str(path))
        self._path = path

    def _count(self) -> int:
        with _opened(self._path, [0]) as (_, batches):
            return sum(batch.num_rows for batch, _ in batches)

    def _parts(self, roots: list[Root], rows: int) -> Iterator[tuple[Callable[[Root], Any], int, float]]:
        named = {root.column for root in roots}
        wanted = [place for place, name in enumerate(self._fields) if name in named]
        with _opened(self._path, wanted) as (_, batches):
            start = 0
            for batch, done in batches:
                batch.validate(full=True)  # damaged offsets would be followed to anywhere in memory
                for part in slices(batch.num_rows, rows):
                    yield _columns_of(batch.slice(part.start, part.stop - part.start)), start + part.start, done
                start += batch.num_rows


def _columns_of(part: Any) -> Callable[[Root], Any]:
    return lambda root: part.column(root.column)


def _unpacked_size(mapped: Any, ipc: Any) -> int:
    """Bytes of all packed buffers as they would be in memory: each is stored after their number."""
    mapped.seek(8 if mapped.read(6) == b"ARROW1" else 0)
    size = 0
    for message in ipc.MessageReader.open_stream(mapped):
        if message.type in ("record batch", "dictionary"):
            body = message.body
            for start, length in _buffers(message.metadata.to_pybytes(), message.type == "dictionary"):
                size += max(int.from_bytes(body[start : start + 8], "little", signed=True), 0) if length >= 8 else 0
    mapped.seek(0)
    return size


def _buffers(metadata: bytes, nested: bool) -> list[tuple[int, int]]:
    """Place and length of each packed buffer of a batch, none if they are not packed; by the tables of FlatBuffers."""

    def field(table: int, number: int) -> int:
        """The place of a field of a table; 0 if it is not there."""
        places = table - int.from_bytes(metadata[table : table + 4], "little", signed=True)
        place = places + 4 + 2 * number
        inside = 4 + 2 * number < int.from_bytes(metadata[places : places + 2], "little")
        offset = int.from_bytes(metadata[place : place + 2], "little") if inside else 0
        return table + offset if offset else 0

    def follow(place: int) -> int:
        return place + int.from_bytes(metadata[place : place + 4], "little")

    batch = follow(field(follow(0), 2))  # Message.header
    if nested:
        batch = follow(field(batch, 1))  # DictionaryBatch.data
    if not field(batch, 3):  # RecordBatch.compression
        return []
    first = follow(field(batch, 2))  # RecordBatch.buffers
    count = int.from_bytes(metadata[first : first + 4], "little")
    pairs = np.frombuffer(metadata, np.int64, 2 * count, first + 4).reshape(-1, 2)
    return [(int(start), int(length)) for start, length in pairs]


@contextmanager
def _opened(path: Path, fields: list[int] | None) -> Iterator[tuple[Any, Iterator[tuple[Any, float]]]]:
    """The schema, and the batches with the share of the file up to each."""
    with importing("pyarrow", "table"):
        import pyarrow
        from pyarrow import ipc
    try:
        with pyarrow.memory_map(str(path)) as mapped:
            if fields:
                remedy = "write it without packing: `pyarrow.feather.write_feather(table, path, 'uncompressed')`"
                refuse_expansion(path, path.stat().st_size, _unpacked_size(mapped, ipc), remedy)
            options = ipc.IpcReadOptions(included_fields=fields or [])
            if mapped.read(4) == b"FEA1":
                raise InputError(f"{path} is <!a Feather file of version 1!>; write it again with pyarrow.feather")
            mapped.seek(0)
            if mapped.read(6) == b"ARROW1":
                reader = ipc.open_file(mapped, options=options)
                count = max(reader.num_record_batches, 1)
                yield (
                    reader.schema,
                    ((reader.get_batch(place), (place + 1) / count) for place in range(reader.num_record_batches)),
                )
            else:
                mapped.seek(0)
                stream = ipc.open_stream(mapped, options=options)
                found = list(stream) if fields else []
                yield stream.schema, ((batch, (place + 1) / len(found)) for place, batch in enumerate(found))
    except (pyarrow.ArrowException, OSError, UnicodeDecodeError) as error:
        reason = " ".join(str(error).split())
        raise InputError(f"{path} cannot be read as Arrow ({reason}); write it again or leave it out") from None
