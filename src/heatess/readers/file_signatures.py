"""What a file holds, told from its first bytes where they are certain."""

from __future__ import annotations

import re

from .magic import TITLE
from .plumed import FIELDS
from .streams import Source
from .word_vectors import head_of

#: Modules that read text, and take a source as well as a path.
TEXTS = ("text", "plumed", "xvg", "magic", "word_vectors", "json_tables", "xml_files")

#: Formats by the first bytes of their files.
_BYTES = {
    b"PAR1": "parquet",
    b"ARROW1": "arrow_files",
    b"\x93NUMPY": "arrays",
    b"SIMPLE  =": "fits",
    b"\x89HDF": "hdf5",
    b"CDF": "netcdf",
    b"<?xml": "xml_files",
    b"\xef\xbb\xbf<?xml": "xml_files",
}

_GRACE = re.compile(r"@\s*(title|xaxis|yaxis|TYPE|view|legend)\b", re.I)

#: How a record or a list of records begins, and how XML does.
_JSON = re.compile(rb'(?:\xef\xbb\xbf)?\s*(?:\{\s*["}]|\[\s*[\[{\]])')
_XML = re.compile(rb"(?:\xef\xbb\xbf)?\s*<")

#: Lines that are looked at, and bytes that each may have.
_LINES, _MOST_BYTES_OF_LINE = 50, 2**20


def held_in(source: Source, family: str) -> str:
    """The module that reads what a file holds, where that is certain; else *family*, that for its suffix.

    Files of PLUMED, GROMACS and MagIC and word vectors often have the suffix of plain text, or none at all.
    """
    if not family:
        for mark, module in _BYTES.items():
            if source.start.startswith(mark):
                return module
        if source.binary:
            return ""
    if marked := _marked(source):
        return marked
    lines = _first(source)
    texts = [line.decode("utf-8-sig", "replace") for line in lines if line.strip()]
    if not texts:
        return family
    if texts[0].startswith(FIELDS):
        return "plumed"
    if TITLE.fullmatch(texts[0]):
        return "magic"
    if texts[0].lstrip()[:1] in ("#", "@") and any(_GRACE.match(text) for text in texts):
        return "xvg"
    return "word_vectors" if head_of(lines) else family


def _marked(source: Source) -> str:
    """The module for what begins like JSON, or in a pipe like XML, as no table of text does; empty for others."""
    with source.opened() as (stream, _):
        start = stream.read(2**12)
    return "json_tables" if _JSON.match(start) else "xml_files" if source.piped and _XML.match(start) else ""


def _first(source: Source) -> list[bytes]:
    """The first lines; none if one of them is so long that this can be no table."""
    with source.opened() as (stream, _):
        lines = [line for line in (stream.readline(_MOST_BYTES_OF_LINE) for _ in range(_LINES)) if line]
    if any(len(line) >= _MOST_BYTES_OF_LINE for line in lines):
        return []
    return [part for line in lines for part in line.splitlines(keepends=True)][:_LINES]  # also at \r alone
