"""Tables from files of every format, and from data frames: right values, or one helpful error."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import io
import json
import lzma
import math
import struct
import sys
import zipfile
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest

import heatess as he
from heatess.base.errors import InputError, MissingExtraError
from heatess.readers import arrays, arrow_files, json_tables, parquet, text
from heatess.tables.frames import frame_table
from heatess.tables.table import Rows

pa = pytest.importorskip("pyarrow")
feather = pytest.importorskip("pyarrow.feather")
pq = pytest.importorskip("pyarrow.parquet")

NAN = math.nan


def read(found, names=None, rows=None):
    """All columns asked for, pieces joined, and the place of the last row."""
    names = names or [*found.lists, *found.names]
    pieces = list(found.pieces(names, rows))
    assert all(rows is None or len(piece.columns[0]) <= rows for piece in pieces)
    assert pieces[-1].done == pytest.approx(1.0)
    assert [piece.done for piece in pieces] == sorted(piece.done for piece in pieces)
    place = pieces[-1].place(len(pieces[-1].columns[0]) - 1)
    return [np.concatenate([piece.columns[k] for piece in pieces]) for k in range(len(names))], place


def outcome(path, names):
    """The values and the last place as text, or the message: everything that a user can see."""
    try:
        found = text.table(path)
        columns, place = read(found, names)
    except InputError as error:
        return str(error)
    return repr(
        [found.names, list(found.lists), found.note, dict(found.units), np.column_stack(columns).tolist(), place]
    )


@pytest.fixture
def ways(monkeypatch):
    """Runs a function in every way text is parsed: small files, pyarrow, NumPy, line by line, in small blocks."""

    def run(function):
        results = [function()]
        for parser in (text.arrow_parser, text.numpy_parser, lambda dialect: None):
            for block in (2**24, 64):
                with monkeypatch.context() as patch:
                    patch.setattr(text, "BYTES_TOO_FEW_FOR_PYARROW", 0)
                    patch.setattr(text, "BYTES_AT_ONCE", block)
                    patch.setattr(text, "fast_parser", parser)
                    results.append(function())
        assert len(set(results)) == 1, "\n".join(sorted(set(results)))
        return results[0]

    return run


# name: (suffix, contents, wanted columns, values by row)
GOOD = {
    "plain": (".csv", "x,y,z\n1,0,0\n0,1,0\n", "x y z", [[1, 0, 0], [0, 1, 0]]),
    "columns in another order": (".csv", "x,y,z\n1,2,3\n", "z x", [[3, 1]]),
    "the same column twice": (".csv", "x,y\n1,2\n", "y y", [[2, 2]]),
    "no newline at the end": (".csv", "x,y\n1,2\n3,4", "x y", [[1, 2], [3, 4]]),
    "newlines at the end": (".csv", "x,y\n1,2\n3,4\n\n\n\n", "x y", [[1, 2], [3, 4]]),
    "carriage returns": (".csv", "x,y\r\n1,2\r\n3,4\r\n", "x y", [[1, 2], [3, 4]]),
    "lines of an old Mac": (".csv", "x,y\r1,2\r3,4\r", "x y", [[1, 2], [3, 4]]),
    "mixed line ends": (".csv", "x,y\n1,2\r\n3,4\r5,6\n", "x y", [[1, 2], [3, 4], [5, 6]]),
    "byte order mark": (".csv", "\ufeffx,y\n1,2\n", "x y", [[1, 2]]),
    "byte order mark, no header": (".csv", "\ufeff1.5,2\n3,4\n", "0 1", [[1.5, 2], [3, 4]]),
    "quotes": (".csv", '"x","city","y"\n"1","Paris, France",2\n3,"a ""b""",4\n', "x y", [[1, 2], [3, 4]]),
    "line break in a field": (".csv", 'x,c,y\n1,"a\nb",2\n3,c,4\n', "x y", [[1, 2], [3, 4]]),
    "rows within a quoted field": (".csv", 'x,y,c\n1,2,"a\n9,9,b"\n3,4,c\n', "x y", [[1, 2], [3, 4]]),
    "fields of many lines": (".csv", "x,y,c\n" + '1,2,"a\n9,9,b"\n3,4,c\n' * 9, "x y", [[1, 2], [3, 4]] * 9),
    "comment sign within a quoted field": (".csv", 'x,y,c\n1,2,"a\n# b"\n3,4,c\n', "x y", [[1, 2], [3, 4]]),
    "a quote within a word": (".csv", 'x,c,y\n1,5" pipe,2\n3,c,4\n', "x y", [[1, 2], [3, 4]]),
    "quotes that end early": (".csv", 'x,c,y\n1,"New" York,2\n3,c,4\n', "x y", [[1, 2], [3, 4]]),
    "semicolons": (".csv", "x;y\n1;2\n", "x y", [[1, 2]]),
    "pipes": (".txt", "x|y\n1|2\n", "x y", [[1, 2]]),
    "tabs": (".tsv", "x\ty\n1\t2\n", "x y", [[1, 2]]),
    "tabs under .csv": (".csv", "x\tsome name\ty\n1\ta b\t2\n", "x y", [[1, 2]]),
    "commas under .tsv": (".tsv", "x,y\n1,2\n", "x y", [[1, 2]]),
    "spaces": (".txt", "x y z\n1 2 3\n4 5 6\n", "x y z", [[1, 2, 3], [4, 5, 6]]),
    "runs of spaces and tabs": (".dat", "  x   y\tz \n  1   2 \t 3  \n 4 5 6\n", "x y z", [[1, 2, 3], [4, 5, 6]]),
    "spaces and quotes": (".txt", 'name x y\n"New York" 1 2\nParis 3 4\n', "x y", [[1, 2], [3, 4]]),
    "spaces after commas": (".csv", "x, y, z\n1, 2, 3\n", "x y z", [[1, 2, 3]]),
    "spaces in names": (".csv", "lon (deg), lat (deg)\n1.0, 2.0\n", ["lon (deg)", "lat (deg)"], [[1, 2]]),
    "commented header": (".csv", "# x,y,z\n1,2,3\n", "x y z", [[1, 2, 3]]),
    "header and remarks in comments": (".txt", "# made by me, today\n# x y z\n1 2 3\n", "x y z", [[1, 2, 3]]),
    "percent comments": (".txt", "% a remark\nx y\n% another\n1 2\n%3 4\n5 6\n", "x y", [[1, 2], [5, 6]]),
    "slash comments": (".csv", "// a remark\nx,y\n1,2\n// 3,4\n5,6\n", "x y", [[1, 2], [5, 6]]),
    "a row commented out": (".csv", "n,x,y\na,1,2\n# b,3,4\nc,5,6\n", "x y", [[1, 2], [5, 6]]),
    "an indented comment": (".csv", "n,x,y\na,1,2\n  # b,3,4\nc,5,6\n", "x y", [[1, 2], [5, 6]]),
    "comment signs within fields": (".csv", "n,u,x\na#1,http://a,1\nb%,c,2\n", "x", [[1], [2]]),
    "blank lines": (".csv", "\n\nx,y\n\n1,2\n\n\n3,4\n", "x y", [[1, 2], [3, 4]]),
    "lines of delimiters": (".csv", "x,y\n1,2\n,,,\n3,4\n", "x y", [[1, 2], [3, 4]]),
    "a title": (".csv", "Cities of the world\nname,lon,lat\nParis,2.35,48.86\n", "lon lat", [[2.35, 48.86]]),
    "titles with delimiters": (".csv", "Cities, 2024\n\nname,lon,lat\nParis,2,48\n", "lon lat", [[2, 48]]),
    "a title above spaces": (".txt", "Ground truth three\nx y z\n1 2 3\n", "x y z", [[1, 2, 3]]),
    "MagIC": (
        ".txt",
        "tab \tsites\nsite\tdir_dec\tdir_inc\nA\t350.5\t-41\nB\t\t12\n",
        "dir_dec dir_inc",
        [[350.5, -41], [NAN, 12]],
    ),
    "a line of units": (".csv", "t,lat,lon\nUTC,degrees_north,degrees_east\n1,2,3\n", "lat lon", [[2, 3]]),
    "units and dashes": (".tsv", "#VizieR\n\nRA\tDE\ndeg\tdeg\n-----\t-----\n1.5\t2.5\n", "RA DE", [[1.5, 2.5]]),
    "decimal comma": (".csv", "x;y\n1,5;-2,25e-1\n3;NA\n", "x y", [[1.5, -0.225], [3, NAN]]),
    "decimal comma of three digits": (".csv", "lat;lon\n48,853;2,349\n", "lat lon", [[48.853, 2.349]]),
    "decimal comma and tabs": (".tsv", "x\ty\n1,5\t2\n", "x y", [[1.5, 2]]),
    "decimal comma without header": (".csv", "1,5;2,5\n3,5;4,5\n", "0 1", [[1.5, 2.5], [3.5, 4.5]]),
    "missing in every spelling": (
        ".csv",
        "x,y\n1,NA\n2,nan\n3,\n4, \n5,null\n6,N/A\n7,None\n8,--\n9,-nan\n",
        "x y",
        [[k, NAN] for k in range(1, 10)],
    ),
    "numbers in every spelling": (
        ".csv",
        "x,y\n1e-3,+2\n-.5,5.\n 7 ,1E5\ninf,-Infinity\n0.1,1e400\n",
        "x y",
        [[1e-3, 2], [-0.5, 5], [7, 1e5], [math.inf, -math.inf], [0.1, math.inf]],
    ),
    "all digits": (
        ".csv",
        "x,y\n0.1234567890123456789,2.2250738585072011e-308\n",
        "x y",
        [[0.12345678901234568, 2.2250738585072011e-308]],
    ),
    "huge integers that are exact": (
        ".csv",
        f"id,x\n{2**80},1\n+{10**22},{2**53}\n-123456789012345678901234567890.0,1e300\n",
        "id x",
        [[2.0**80, 1], [1e22, 2.0**53], [-123456789012345678901234567890.0, 1e300]],
    ),
    "huge integers in columns that are not wanted": (".csv", f"id,x\n{2**53 + 1},1\n", "x", [[1]]),
    "text in other columns": (".csv", "a,x,b\nfoo,1,\n,2,2024-01-01\n", "x", [[1], [2]]),
    "rows of text first": (
        ".csv",
        "name,lon,lat\nParis,,\nRome,,\nOslo,10.7,59.9\n",
        "lon lat",
        [[NAN, NAN], [NAN, NAN], [10.7, 59.9]],
    ),
    "few numbers among text": (".csv", "a,b,c,d,x\np,q,r,s,1\np,q,r,s,2\n", "x", [[1], [2]]),
    "a name that is a year": (".csv", "lon,lat,2020\n1.5,2,3\n", "lon lat 2020", [[1.5, 2, 3]]),
    "an index without a name": (".csv", ",x,y\n0,1,2\n1,3,4\n", "x y", [[1, 2], [3, 4]]),
    "an index and numbers for names": (".csv", ",0,1\n0,0.5,0.25\n1,3,4\n", "0 1", [[0.5, 0.25], [3, 4]]),
    "a note to Excel": (".csv", "sep=;\nlon;lat\n1,5;2,5\n", "lon lat", [[1.5, 2.5]]),
    "units and other words": (".csv", "S,LAT,LON\n ,degrees_north,East\na,10.9,80.3\n", "LAT LON", [[10.9, 80.3]]),
    "a first row that looks like units": (".csv", "sex,x,y\nm,,\nf,1,2\n", "x y", [[NAN, NAN], [1, 2]]),
    "lists in another column": (".csv", 'id,emb\n1,"[0.1, 0.2]"\n2,(deg)\n', "id", [[1], [2]]),
    "output of Stan": (
        ".csv",
        "# method = sample\nlp__,t.1\n# Step size = 0.8\n# 0.66, 0.5\n-7.1,0.9\n# \n",
        "t.1",
        [[0.9]],
    ),
    "names that are numbers": (".csv", "0,1,2\n0.5,0.25,1\n", "0 1 2", [[0.5, 0.25, 1]]),
    "empty fields at the end": (".csv", "x,y\n1,2,,\n3,4,\n", "x y", [[1, 2], [3, 4]]),
    "other columns twice": (".csv", "x,note,note,y\n1,a,b,2\n", "x y", [[1, 2]]),
    "no header": (".csv", "1,0,0\n0,1,0\n", "0 1 2", [[1, 0, 0], [0, 1, 0]]),
    "no header, spaces": (".txt", "1 0 0.5\n  0 1 0\n", "2 0", [[0.5, 1], [0, 0]]),
    "no header, remarks": (".dat", "# something about it\n\n1 0 0.5\n0 1 0\n", "0 1 2", [[1, 0, 0.5], [0, 1, 0]]),
    "one column": (".csv", "phi\n0.5\n1.5\n\n2\n", "phi", [[0.5], [1.5], [2]]),
    "a long gap": (".csv", "phi\n0.5\n1.5\n" + " \n" * 100 + "2\n", "phi", [[0.5], [1.5], [2]]),
    "one column with a long name": (".csv", "mean angle\n0.5\n1.5\n", ["mean angle"], [[0.5], [1.5]]),
    "one column without a name": (".txt", "0.5\n1.5\n", "0", [[0.5], [1.5]]),
    "one column, commented name": (".txt", "# phi\n0.5\n1.5\n", "phi", [[0.5], [1.5]]),
    "Latin-1": (".csv", "stadt,lon,lat\nZürich,8.5,47.4\n".encode("latin-1"), "lon lat", [[8.5, 47.4]]),
    "Latin-1 names": (".csv", "länge,breite\n8.5,47.4\n".encode("latin-1"), "länge breite", [[8.5, 47.4]]),
    "Latin-1 far below": (".csv", b"c,x\n" + b"a,1\n" * 20000 + "ü,2\n".encode("latin-1"), "x", [[1]] * 20000 + [[2]]),
    "UTF-16": (".csv", "x,y\n1,2\n3,4\n".encode("utf-16"), "x y", [[1, 2], [3, 4]]),
    "UTF-16, tabs": (".txt", "x\ty\r\n1,5\t2\r\n".encode("utf-16"), "x y", [[1.5, 2]]),
    "384 columns": (
        ".csv",
        ",".join(f"e{k}" for k in range(384)) + "\n" + ",".join(f"{k}.5" for k in range(384)),
        "e0 e383",
        [[0.5, 383.5]],
    ),
}


@pytest.mark.parametrize(("suffix", "contents", "names", "values"), GOOD.values(), ids=GOOD)
def test_text_is_read_right_in_every_way(tmp_path, ways, suffix, contents, names, values):
    path = tmp_path / f"cloud{suffix}"
    path.write_bytes(contents if isinstance(contents, bytes) else contents.encode())
    names = names.split() if isinstance(names, str) else names
    ways(lambda: outcome(path, names))
    columns, _ = read(text.table(path), names)
    np.testing.assert_array_equal(np.column_stack(columns), values)
    pieces, _ = read(text.table(path), names, rows=2)
    np.testing.assert_array_equal(np.column_stack(pieces), values)


# name: (suffix, contents, wanted columns, what the message must say)
BAD = {
    "empty": (".csv", "", "x", "is empty; it needs a header"),
    "blank": (".csv", "\n \n\n", "x", "is empty; it needs a header"),
    "header only": (".csv", "x,y\n", "x y", "has a header (x, y) but no rows"),
    "commented header only": (".csv", "# x,y\n", "x y", "has a header (x, y) but no rows"),
    "one name only": (".csv", "phi\n", "phi", "has a header (phi) but no rows"),
    "a short row": (".csv", "x,y,z\n1,2,3\n4,5\n", "x y z", "line 3 has 2 fields, but the header has 3 (x, y, z)"),
    "a long row": (".csv", "x,y\n1,2\n3,4,5\n", "x y", "line 3 has 3 fields, but the header has 2"),
    "a short header": (".csv", "x,y\n1,2,3\n4,5,6\n", "x y", "line 2 has 3 fields, but the header has 2"),
    "a short row after a comment": (".csv", "x,y\n# a\n\n1,2\n3\n", "x y", "line 5 has 1 field, but"),
    "a short row of spaces": (".txt", "x y z\n1 2 3\n4 5\n", "x y z", "line 3 has 2 fields, but the header has 3"),
    "a short row without header": (
        ".csv",
        "1.5,2,3\n4,5,6\n7,8\n",
        "0 1 2",
        "line 3 has 2 fields, but the first row has 3",
    ),
    "cut short": (".csv", "x,y,z\n1,2,3\n4,5,6\n7,", "x y z", "line 4 has 2 fields"),
    "a row after a line break in a field": (".csv", 'x,c\n1,"a\nb"\noops,d\n', "x", "line 4: column x is 'oops'"),
    "an open quote": (".csv", 'x,c\n1,"a\n2,b\n3,c\n', "x", "line 2: a quote is opened and never closed"),
    "an open quote in the header": (".csv", 'x,"y\n1,2\n3,4\n', "x", "line 1: a quote is opened and never closed"),
    "text": (".csv", "x,y\n1,2\n3,four\n", "x y", "line 3: column y is 'four', not a number; drop or fix that row"),
    "text in spaces": (".txt", "x y\n1 2\n3 four\n", "x y", "line 3: column y is 'four', not a number"),
    "text far below": (".csv", "x,y\n" + "1,2\n" * 5000 + "1,zwei\n", "x y", "line 5002: column y is 'zwei'"),
    "text after comments": (".csv", "x,y\n1,2\n# remark\n\n3,four\n", "x y", "line 5: column y is 'four'"),
    "text without header": (".csv", "1.5,2\n" * 70 + "3,four\n", "0 1", "line 71: column 1 is 'four'"),
    "text and numbers without header": (
        ".csv",
        "Paris,2.35,48.86\nRome,12.5,41.9\n",
        "x",
        "line 1 holds numbers and text, but a header",
    ),
    "one row and no header": (".txt", "1\tEl Tarter\t42.5\t1.6\n", "x", "line 1 holds numbers and text, but a header"),
    "lists in brackets": (
        ".csv",
        'id,emb\n1,"[0.1, 0.2]"\n',
        "id emb",
        "line 2: column emb is '[0.1, 0.2]', not a number",
    ),
    "a date": (".csv", "t,x\n2024-01-01,1\n", "t x", "line 2: column t is '2024-01-01', not a number"),
    "true and false": (".csv", "x,y\n1,true\n", "x y", "column y is 'true', not a number"),
    "underscores": (".csv", "x,y\n1_0,2\n", "x y", "column x is '1_0', not a number"),
    "hexadecimal": (".csv", "x,y\n0x10,2\n", "x y", "column x is '0x10', not a number"),
    "nan with more": (".csv", "x,y\nnan(1),2\n1.5,2\n", "x y", "column x is 'nan(1)', not a number"),
    "a quoted decimal comma": (
        ".csv",
        'x,y\n"1,5",2\n',
        "x y",
        "column x is '1,5', not a number; write decimals with a point",
    ),
    "quoted thousands": (".csv", 'x,y\n"1,234,567",2\n', "x y", "'1,234,567', not a number; write thousands without"),
    "thousands in tabs": (".tsv", "n\tx\n1,234\t2\n", "n x", "'1,234', not a number; write thousands without"),
    "thousands beside points": (
        ".tsv",
        "n\tx\n2,165,423\t48.85\n",
        "n x",
        "'2,165,423', not a number; write thousands",
    ),
    "thousands beside decimal commas": (
        ".csv",
        "n;x\n1.234,5;2,5\n",
        "n x",
        "'1.234,5', not a number; write thousands",
    ),
    "points beside decimal commas": (
        ".csv",
        "x;y\n" + "1,5;2,5\n" * 80 + "1.5;2,5\n",
        "x y",
        "'1.5', not a number; other rows have a decimal comma",
    ),
    "decimal commas after points": (
        ".csv",
        "x;y\n1.5;2\n1,25;2\n",
        "x y",
        "'1,25', not a number; write decimals with a point",
    ),
    "a decimal comma in commas": (
        ".csv",
        "angle\n1,5\n2,5\n",
        "angle",
        "line 2 has 2 fields, but the header has 1 (angle)",
    ),
    "a minus that is a dash": (".csv", "x,y\n1.5,−2\n", "x y", "column y is '−2', not a number"),
    "the wanted column twice": (
        ".csv",
        "x,y,x\n1,2,3\n",
        "x y",
        "has 2 columns 'x' (columns 1 and 3); rename one of them",
    ),
    "0,1 that may be a header": (
        ".csv",
        "0,1\n0.6,0.8\n",
        "0 1",
        "may be the names of columns or the first row; name the columns",
    ),
    "0,1,2 among integers": (".csv", "0,1,2\n3,4,5\n", "0 1", "may be the names of columns or the first row"),
    "an integer that float64 rounds": (
        ".csv",
        f"id,x\n1,1\n{2**53 + 1},1\n",
        "id x",
        "line 3: column id is 9007199254740993, an integer above 2^53 that is not exact in float64",
    ),
    "a negative one with a decimal comma": (
        ".csv",
        f"id;x\n1;1,5\n-{2**53 + 1};1,5\n",
        "id x",
        "line 3: column id is -9007199254740993, an integer above 2^53",
    ),
    "a rounded integer far below": (
        ".csv",
        "id,x\n" + "1,1\n" * 70_000 + "123456789012345678901234567890,1\n",
        "id x",
        "line 70,002: column id is 123456789012345678901234567890, an integer above 2^53",
    ),
    "NUL bytes": (".csv", b"x,y\n1,2\n\0\0\0\0", "x y", "holds NUL bytes"),
    "NUL bytes far below": (".csv", b"x,y\n" + b"1,2\n" * 200 + b"\0\0\0\0\n", "x y", "line 202 has 1 field"),
    "a NUL in a number": (".csv", b"x,y\n" + b"1,2\n" * 200 + b"1,2\0\n", "x y", r"line 202: column y is '2\x00'"),
    "UTF-16 without a mark": (".csv", "x,y\n1,2\n".encode("utf-16-le"), "x y", "holds NUL bytes, as UTF-16"),
    "Latin-1 in a number": (".csv", b"x,y\n1,2\xb0\n", "x y", "column y is '2°', not a number"),
    "bad UTF-8 in a number far below": (
        ".csv",
        b"x,y\n" + b"1,2\n" * 20000 + b"1,2\xb0\n",
        "x y",
        r"column y is '2\\xb0'",
    ),
    "Parquet": (".csv", b"PAR1" + bytes(20), "x", "holds Parquet data, not text"),
    "Excel": (".csv", b"PK\x03\x04" + bytes(20), "x", "holds a zip archive or an Excel workbook, not text"),
    "numpy": (".txt", b"\x93NUMPY" + bytes(20), "x", "holds a NumPy array, not text"),
    "a PDF": (".dat", b"%PDF-1.7\n1 0 obj\n", "x", "holds a PDF, not text"),
    "gzip cut short": (".csv.gz", gzip.compress(b"x,y\n" + b"1.25,2\n" * 500)[:-20], "x y", "is damaged or cut short"),
    "gzip of noise": (".csv.gz", b"\x1f\x8b\x08\x00" + bytes(range(60)), "x", "is damaged or cut short"),
    "bzip2 cut short": (".csv.bz2", bz2.compress(b"x,y\n" + b"1.25,2\n" * 500)[:-20], "x y", "is damaged or cut short"),
    "xz cut short": (".csv.xz", lzma.compress(b"x,y\n" + b"1.25,2\n" * 500)[:-20], "x y", "is damaged or cut short"),
}


@pytest.mark.parametrize(("suffix", "contents", "names", "message"), BAD.values(), ids=BAD)
@pytest.mark.slow
def test_bad_text_is_refused_with_the_same_message_in_every_way(tmp_path, ways, suffix, contents, names, message):
    path = tmp_path / f"cloud{suffix}"
    path.write_bytes(contents if isinstance(contents, bytes) else contents.encode())
    found = ways(lambda: outcome(path, names.split()))
    assert message in found
    assert found.startswith(str(path))
    assert "\n" not in found


def write(path, contents):
    path.write_bytes(contents if isinstance(contents, bytes) else contents.encode())
    return path


PIECES = [
    b",",
    b";",
    b"\t",
    b" ",
    b'"',
    b"\n",
    b"\r",
    b"#",
    b"\0",
    b"1",
    b".",
    b"nan",
    b"e5",
    b"\xff",
    b"//",
    b"1,5",
    b"|",
]


@pytest.mark.parametrize("seed", [*range(20), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(20, 100))])
def test_mutations_of_text_are_read_the_same_in_every_way(tmp_path, ways, seed):
    rng = np.random.default_rng(seed)
    pool = [case[1] for case in [*GOOD.values(), *BAD.values()] if len(case[1]) < 1000]
    case = pool[rng.integers(len(pool))]
    data = bytearray(case if isinstance(case, bytes) else case.encode())
    for _ in range(rng.integers(1, 5)):
        place, cut = rng.integers(len(data) + 1), rng.integers(3)
        data[place : place + cut] = PIECES[rng.integers(len(PIECES))] if rng.random() < 0.7 else b""
    path = write(tmp_path / f"cloud{['.csv', '.tsv', '.txt'][seed % 3]}", bytes(data))

    def run():
        try:
            names = text.table(path).names
        except InputError as error:
            return str(error)
        return " ".join([outcome(path, names), *(outcome(path, [name]) for name in names[:4])])

    ways(run)


def test_there_are_enough_odd_files():
    assert len(GOOD) + len(BAD) > 100


TUM = "1305031098.6659 1.3563 0.6305 1.6380 0.5 -0.5 0.5 0.5\n1305031098.6758 1.3543 0.6306 1.6360 0 0 0.6 0.8\n"


def test_trajectories_without_header_are_recognised(tmp_path):
    found = text.table(write(tmp_path / "groundtruth.txt", "# made by hand\n" + TUM))
    assert found.names == ["timestamp", "tx", "ty", "tz", "qx", "qy", "qz", "qw"]
    assert found.note == "TUM trajectory"
    columns, place = read(found, ["tx", "qx", "qw"])
    assert np.column_stack(columns).tolist() == [[1.3563, 0.5, 0.5], [1.3543, 0, 0.8]]
    assert place.endswith("groundtruth.txt line 3")


def test_eight_numbers_that_end_in_no_quaternion_are_rows(tmp_path):
    found = text.table(write(tmp_path / "rows.txt", TUM + "1 2 3 4 5 6 7 8\n"))
    assert isinstance(found, Rows)
    assert found.names == [str(column) for column in range(8)]
    [rows], _ = read(found, ["rows"])
    assert rows.shape == (3, 8)
    assert rows[2].tolist() == [1, 2, 3, 4, 5, 6, 7, 8]


def test_a_header_of_a_trajectory_is_believed(tmp_path):
    contents = "# ground truth trajectory\n# file: 'a.bag'\n# timestamp tx ty tz qx qy qz qw\n" + TUM
    found = text.table(write(tmp_path / "groundtruth.txt", contents))
    assert found.names == ["timestamp", "tx", "ty", "tz", "qx", "qy", "qz", "qw"]
    assert read(found, ["qw"])[0][0].tolist() == [0.5, 0.8]


def test_rows_below_an_index_of_pandas_are_rows(tmp_path):
    found = text.table(write(tmp_path / "a.csv", ",0,1,2\n0,0.5,0.25,1\n1,2,3,4\n"))
    assert isinstance(found, Rows)
    assert found.names == ["0", "1", "2"]
    assert read(found, ["rows"])[0][0].tolist() == [[0.5, 0.25, 1], [2, 3, 4]]


def test_units_are_taken_from_names_and_lines(tmp_path):
    found = text.table(write(tmp_path / "a.csv", "lon [deg],phi (rad),x [m],y\n1,2,3,4\n"))
    assert found.units == {"lon [deg]": "deg", "phi (rad)": "rad"}
    found = text.table(write(tmp_path / "b.csv", "t,lat,phi\nUTC,degrees_north,rad\n1,2,3\n"))
    assert found.units == {"lat": "deg", "phi": "rad"}


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".csv.bz2", ".csv.xz", ".csv.zst"])
@pytest.mark.slow
def test_compressed_text_is_read(tmp_path, ways, suffix):
    import pyarrow

    rows = np.random.default_rng(1).normal(size=(3000, 2)).tolist()
    contents = ("x,y\n" + "".join(f"{x!r},{y!r}\n" for x, y in rows)).encode()
    pack = {".csv": bytes, ".csv.gz": gzip.compress, ".csv.bz2": bz2.compress, ".csv.xz": lzma.compress}
    pack[".csv.zst"] = lambda data: pyarrow.compress(data, "zstd", asbytes=True)
    path = write(tmp_path / f"a{suffix}", pack[suffix](contents))
    assert suffix in text.SUFFIXES
    assert repr(rows) in ways(lambda: outcome(path, ["x", "y"]))


def test_zst_cut_short_or_without_pyarrow_is_refused(tmp_path, monkeypatch):
    import pyarrow

    packed = pyarrow.compress(b"x,y\n" + b"1.25,2\n" * 500, "zstd", asbytes=True)
    with pytest.raises(InputError, match=r"a\.csv\.zst is damaged or cut short"):
        read(text.table(write(tmp_path / "a.csv.zst", packed[:-9])))
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    if sys.version_info < (3, 14):
        with pytest.raises(MissingExtraError, match=r"pip install 'heatess\[table\]'$"):
            text.table(tmp_path / "a.csv.zst")


def test_standard_input_is_read_more_than_once(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(gzip.compress(b"x,y\n1,2\n3,oops\n"))))
    found = text.table(Path("-"))
    for _ in range(2):
        assert read(found, ["x"])[0][0].tolist() == [1, 3]
    with pytest.raises(InputError, match="standard input line 3: column y is 'oops'"):
        read(found, ["y"])


def test_without_pyarrow_text_is_read(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setattr(text, "BYTES_TOO_FEW_FOR_PYARROW", 0)
    assert read(text.table(write(tmp_path / "a.csv", "x,y\n1,2\n")))[0] == [[1], [2]]


def test_pieces_of_text_know_their_lines(tmp_path, ways, monkeypatch):
    text_lines = ["x,c"] + [f"{k},{'# no' if k % 3 else 'a'}" for k in range(100)]
    text_lines[50:50] = ["# a remark", ""]
    path = write(tmp_path / "a.csv", "\n".join(text_lines) + "\n")
    where = {float(line.split(",")[0]): place for place, line in enumerate(text_lines, 1) if line[:1].isdigit()}

    def run():
        pieces = list(text.table(path).pieces(["x"], 7))
        assert [len(piece.columns[0]) for piece in pieces] == [7] * 14 + [2]
        return repr([(x, piece.place(row)) for piece in pieces for row, x in enumerate(piece.columns[0].tolist())])

    assert ways(run) == repr([(x, f"{path} line {place:,}") for x, place in where.items()])


def test_a_line_without_end_is_refused(tmp_path, monkeypatch):
    from heatess.readers import text_lines

    for module in (text_lines, text):
        monkeypatch.setattr(module, "MOST_CHARACTERS_OF_LINE", 1000)
    monkeypatch.setattr(text, "BYTES_AT_ONCE", 512)
    with pytest.raises(InputError, match="line 1 is longer than 1,000 characters"):
        text.table(write(tmp_path / "a.csv", "1," * 2000))
    found = text.table(write(tmp_path / "b.csv", "x,y\n" + "1,2\n" * 100 + "1," * 2000))
    with pytest.raises(InputError, match="line of more than 1,000 bytes"):
        read(found)


# JSON


def geo(*features, **more):
    return json.dumps({"type": "FeatureCollection", "features": list(features), **more})


def point(*position, **properties):
    return {"type": "Feature", "geometry": {"type": "Point", "coordinates": position}, "properties": properties}


JSON_GOOD = {
    "records": (".json", '[{"x": 1, "y": 2.5}, {"y": null, "x": -3e-2}]', "x y", [[1, 2.5], [-0.03, NAN]]),
    "missing entries": (".json", '[{"x": 1}, {"y": 2}]', "x y", [[1, NAN], [NAN, 2]]),
    "columns": (".json", '{"title": "a", "x": [1, 2], "y": [3, NaN], "c": ["a", "b"]}', "x y", [[1, 3], [2, NAN]]),
    "columns and data": (".json", '{"columns": ["x", "y"], "index": [0], "data": [[1, 2]]}', "y x", [[2, 1]]),
    "a table of pandas": (".json", '{"x": {"0": 1, "1": 2}, "y": {"0": 3, "1": null}}', "x y", [[1, 3], [2, NAN]]),
    "records by row": (".json", '{"0": {"x": 1, "y": 3}, "1": {"x": 2, "y": 4}}', "x y", [[1, 3], [2, 4]]),
    "records under data": (".json", '{"schema": {}, "data": [{"x": 1}, {"x": 2}]}', "x", [[1], [2]]),
    "rows": (".json", "[[1, 2], [3, 4]]", "0 1", [[1, 2], [3, 4]]),
    "lines": (".jsonl", '{"x": 1}\n\n{"x": 2}\r\n', "x", [[1], [2]]),
    "lines of rows": (".ndjson", "[1, 2]\n[3, null]", "0 1", [[1, 2], [3, NAN]]),
    "lines of features": (".jsonl", json.dumps(point(1, 2, m=3)) + "\n", "lon lat m", [[1, 2, 3]]),
    "points": (
        ".geojson",
        geo(point(2.35, 48.86, 35, pop=9, name="a"), point(1, 2)),
        "lon lat pop",
        [[2.35, 48.86, 9], [1, 2, NAN]],
    ),
    "points without place": (
        ".geojson",
        geo({"type": "Feature", "geometry": None}, point(1, 2)),
        "lon lat",
        [[NAN, NAN], [1, 2]],
    ),
    "points in degrees by name": (
        ".json",
        geo(point(1, 2, lon=99), crs={"properties": {"name": "urn:ogc:def:crs:OGC:1.3:CRS84"}}),
        "lon lat",
        [[1, 2]],
    ),
    "UTF-8 with a mark": (".json", '\ufeff[{"x": 1}]', "x", [[1]]),
    "UTF-16": (".json", '[{"x": 1}]'.encode("utf-16"), "x", [[1]]),
    "gzip": (".json.gz", gzip.compress(b'[{"x": 1}]'), "x", [[1]]),
    "xz lines": (".jsonl.xz", lzma.compress(b'{"x": 1}\n{"x": 2}\n'), "x", [[1], [2]]),
    "huge integers that are exact": (
        ".json",
        f'[{{"x": {2**80}}}, {{"x": 123456789012345678901.0}}]',
        "x",
        [[2.0**80], [123456789012345678901.0]],
    ),
}


@pytest.mark.parametrize(("suffix", "contents", "names", "values"), JSON_GOOD.values(), ids=JSON_GOOD)
def test_json_is_read_right(tmp_path, suffix, contents, names, values):
    path = write(tmp_path / f"cloud{suffix}", contents)
    assert suffix in json_tables.SUFFIXES
    for rows in (None, 1):
        columns, _ = read(json_tables.table(path), names.split(), rows)
        np.testing.assert_array_equal(np.column_stack(columns), values)


JSON_BAD = {
    "empty": (".json", "", "is empty; it needs records"),
    "empty lines": (".jsonl", "\n\n", "is empty; it needs records"),
    "cut short": (".json", '[{"x": 1}, {"x"', "is not valid JSON ("),
    "a bad line": (".jsonl", '{"x": 1}\n{"x": \n', "line 2 is not valid JSON ("),
    "nested": (".json", "[" * 200_000, "nested too deeply"),
    "Latin-1": (".json", '[{"ü": 1}]'.encode("latin-1"), "is not UTF-8 text"),
    "NUL bytes": (".json", bytes(20), "is not valid JSON"),
    "a number": (".json", "3", "holds 3, not a table; write a list of records"),
    "text": (".json", '"abc"', 'holds "abc", not a table'),
    "nothing": (".json", "[]", "holds an empty list; at least one record"),
    "an empty record": (".json", "{}", "no columns (found: nothing)"),
    "other things": (".json", '{"a": {"b": [1]}, "c": 2}', "no columns (found: a, c)"),
    "mixed": (".json", '[{"x": 1}, 2]', "record 1 (counted from 0): 2, not a record like the others"),
    "text for a number": (
        ".json",
        '[{"x": 1}, {"x": "2"}]',
        'record 1 (counted from 0): column x is "2", not a number',
    ),
    "true for a number": (".jsonl", '{"x": 1}\n\n{"x": true}', "line 3: column x is true, not a number"),
    "a list for a number": (
        ".json",
        '[{"x": 1}, {"x": [2]}]',
        "record 1 (counted from 0): column x is a list, not a number",
    ),
    "lists of two lengths": (".json", '[{"x": [1, 2]}, {"x": [1]}]', "column x holds 1 numbers, but 2 in"),
    "text in a list": (".json", '[{"x": [1, "a"]}]', 'column x entry 1 is "a", not a number'),
    "rows of two lengths": (".json", "[[1, 2], [3]]", "the row holds 1 numbers, but 2 in"),
    "columns of two lengths": (".json", '{"x": [1, 2], "y": [1]}', "columns of different lengths (x 2, y 1)"),
    "a short row": (".json", '{"columns": ["x", "y"], "data": [[1]]}', "1 entries, but there are 2 columns"),
    "a column twice": (".json", '{"columns": ["x", "x"], "data": [[1, 2]]}', "has 2 columns 'x'; rename one"),
    "a number too large": (".json", '[{"x": 1' + "0" * 400 + "}]", "column x is a number too large to hold"),
    "digits without end": (".json", '[{"x": ' + "1" * 5000 + "}]", "is not valid JSON"),
    "a polygon": (
        ".geojson",
        geo({"type": "Feature", "geometry": {"type": "Polygon", "coordinates": []}}),
        "feature 0 (counted from 0): the geometry is Polygon, not Point",
    ),
    "an integer that float64 rounds": (
        ".json",
        f'[{{"x": 1}}, {{"x": {2**53 + 1}}}]',
        "record 1 (counted from 0): column x is 9007199254740993, an integer above 2^53 that is not exact in float64",
    ),
    "one in a vector": (
        ".jsonl",
        f'{{"v": [0, 1]}}\n{{"v": [1, {2**53 + 1}]}}\n',
        "line 2: column v entry 1 is 90071992",
    ),
    "text for a coordinate": (".geojson", geo(point("a", 1)), 'column lon is "a", not a number'),
    "no features": (".geojson", '{"type": "FeatureCollection"}', "without a list of features"),
    "metres": (".geojson", geo(point(1, 2), crs={"properties": {"name": "EPSG:3857"}}), "coordinates in EPSG:3857"),
    "gzip cut short": (".json.gz", gzip.compress(b'[{"x": 1}]')[:-6], "is damaged or cut short"),
}


@pytest.mark.parametrize(("suffix", "contents", "message"), JSON_BAD.values(), ids=JSON_BAD)
def test_bad_json_is_refused(tmp_path, suffix, contents, message):
    path = write(tmp_path / f"cloud{suffix}", contents)
    with pytest.raises(InputError) as caught:
        read(json_tables.table(path))
    assert str(caught.value).startswith(str(path))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_geojson_says_that_it_is_the_earth_in_degrees(tmp_path):
    found = json_tables.table(write(tmp_path / "a.geojson", geo(point(1, 2, pop=3, name="b"))))
    assert (found.about, found.units) == ("earth", {"lon": "deg", "lat": "deg"})
    assert found.names == ["lon", "lat", "pop"]


def test_lists_in_json_are_vectors(tmp_path):
    found = json_tables.table(
        write(tmp_path / "a.jsonl", '{"e": [1, 2], "w": 3}\n{"e": null, "w": 4}\n{"e": [5, null]}\n')
    )
    assert (found.lists, found.names) == (["e"], ["w"])
    [vectors, weights], place = read(found)
    np.testing.assert_array_equal(vectors, [[1, 2], [NAN, NAN], [5, NAN]])
    np.testing.assert_array_equal(weights, [3, 4, NAN])
    assert place.endswith("a.jsonl line 3")


# Arrays


@pytest.mark.parametrize("dtype", ["f2", "<f4", ">f4", "f8", ">f8", "i4", "u1"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_arrays_are_read_with_their_precision(tmp_path, dtype, order):
    array = np.arange(12).reshape(4, 3).astype(dtype, order=order)
    np.save(tmp_path / "a.npy", array)
    found = arrays.table(tmp_path / "a.npy")
    assert isinstance(found, Rows)
    [rows, last], place = read(found, ["rows", "2"], 3)
    np.testing.assert_array_equal(rows, array)
    np.testing.assert_array_equal(last, [2, 5, 8, 11])
    expected = np.dtype(dtype).newbyteorder("=") if np.dtype(dtype).kind == "f" else np.dtype("f8")
    assert rows.dtype == last.dtype == expected
    assert place.endswith("a.npy row 3 (counted from 0)")


def test_arrays_are_mapped_and_not_loaded(tmp_path):
    array = np.lib.format.open_memmap(tmp_path / "a.npy", "w+", np.float64, (2**31, 3))  # a sparse file of 48 GiB
    array[0] = [1, 2, 3]
    del array
    piece = next(arrays.table(tmp_path / "a.npy").pieces(["rows"], 10))
    assert piece.columns[0][0].tolist() == [1, 2, 3]


def test_numbers_in_one_array_and_named_fields_are_columns(tmp_path):
    np.save(tmp_path / "a.npy", np.array([0.5, 1.5]))
    assert read(arrays.table(tmp_path / "a.npy"), ["0"])[0][0].tolist() == [0.5, 1.5]
    records = np.array([(1, 2.5, "a"), (3, 4.5, "b")], dtype=[("lon", "i4"), ("lat", "f8"), ("name", "U1")])
    np.save(tmp_path / "b.npy", records)
    found = arrays.table(tmp_path / "b.npy")
    assert found.names == ["lon", "lat"]
    assert np.column_stack(read(found)[0]).tolist() == [[1, 2.5], [3, 4.5]]


def test_archives_are_columns_by_name(tmp_path):
    path = tmp_path / "a.npz"
    points = np.arange(6, dtype="f4").reshape(3, 2)
    np.savez(path, points)
    assert read(arrays.table(path), ["rows"])[0][0].tolist() == points.tolist()
    np.savez_compressed(path, emb=points, w=[1, 2, 3], labels=np.array(["a", "b", "c"]), seed=3)
    found = arrays.table(path)
    assert (found.lists, found.names) == (["emb"], ["w"])
    [vectors, weights], _ = read(found, rows=2)
    assert vectors.tolist() == points.tolist()
    assert vectors.dtype == np.float32
    assert weights.tolist() == [1, 2, 3]
    np.savez(path, lon=[1.5, 2], lat=[3, 4])
    assert np.column_stack(read(arrays.table(path), ["lon", "lat"])[0]).tolist() == [[1.5, 3], [2, 4]]


def npy(array):
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


def npz(**members):
    stream = io.BytesIO()
    np.savez(stream, **members)
    return stream.getvalue()


def zipped(**members):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, data in members.items():
            archive.writestr(f"{name}.npy", data)
    return stream.getvalue()


def huge():
    """An array that says it has 10^15 rows."""
    header = str({"descr": "<f8", "fortran_order": False, "shape": (10**15, 3)}).ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode()


ARRAYS_BAD = {
    "empty": (".npy", b"", "is empty; write it with numpy.save"),
    "a zip": (".npy", npz(a=[1]), "is a zip archive; write it with numpy.save"),
    "text": (".npy", b"x,y\n1,2\n", "does not hold .npy data"),
    "cut short": (".npy", npy(np.zeros((9, 3)))[:-8], "is damaged or cut short"),
    "cut in the header": (".npy", npy(np.zeros((9, 3)))[:40], "is damaged or cut short"),
    "ten to the fifteen rows": (".npy", huge() + bytes(48), "is damaged or cut short"),
    "no points": (".npy", npy(np.zeros((0, 3))), "holds no points (shape (0, 3))"),
    "no columns": (".npy", npy(np.zeros((3, 0))), "has shape (3, 0), not (n, d)"),
    "three dimensions": (".npy", npy(np.zeros((2, 3, 4))), "has shape (2, 3, 4), not (n, d)"),
    "one number": (".npy", npy(np.float64(3)), "has shape (), not (n, d)"),
    "complex numbers": (".npy", npy(np.ones((2, 2), complex)), "holds complex128, not real numbers"),
    "words": (".npy", npy(np.array([["a"]])), "holds <U1, not real numbers"),
    "an empty archive": (".npz", b"", "is empty; write it again with numpy.savez"),
    "an archive cut short": (".npz", npz(a=np.ones((99, 3)))[:-30], "is damaged, cut short or too large"),
    "an archive of text": (".npz", b"x,y\n1,2\n", "is damaged, cut short or too large"),
    "an archive of nothing": (".npz", npz(), "holds nothing, but one array of points (n, d)"),
    "an archive of a huge header": (".npz", zipped(a=huge()), "should have 24,000,000,000,000,128 bytes, but has"),
    "an archive of noise": (".npz", zipped(a=b"noise"), "is damaged, cut short or too large"),
    "two arrays of points": (
        ".npz",
        npz(train=np.ones((2, 3)), test=np.ones((2, 3))),
        "holds train (2, 3), test (2, 3), but one array",
    ),
    "two lengths": (".npz", npz(x=np.ones(2), w=np.ones(3)), "holds x (2,), w (3,), but one array"),
    "a complex array": (".npz", npz(x=np.ones(2), z=np.ones(2, complex)), "holds x (2,), z (2,), but"),
    "only words": (".npz", npz(a=np.array(["a", "b"])), "holds a (2,), but one array of points"),
    "empty columns": (".npz", npz(x=np.ones(0), y=np.ones(0)), "holds no points"),
}


@pytest.mark.parametrize(("suffix", "contents", "message"), ARRAYS_BAD.values(), ids=ARRAYS_BAD)
def test_bad_arrays_are_refused(tmp_path, suffix, contents, message):
    path = write(tmp_path / f"cloud{suffix}", contents)
    with pytest.raises(InputError) as caught:
        read(arrays.table(path))
    assert str(caught.value).startswith(str(path))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


class Bomb:
    def __reduce__(self):
        return (pytest.fail, ("a pickle was loaded",))


def test_python_objects_are_never_loaded(tmp_path):
    bomb = np.array([Bomb(), Bomb()], dtype=object)
    np.save(tmp_path / "a.npy", bomb, allow_pickle=True)
    with pytest.raises(InputError, match="holds Python objects, which are never loaded"):
        arrays.table(tmp_path / "a.npy")
    np.savez(tmp_path / "a.npz", x=[1, 2], bomb=bomb)
    assert read(arrays.table(tmp_path / "a.npz"), ["0"])[0][0].tolist() == [1, 2]
    np.savez(tmp_path / "b.npz", bomb=bomb)
    with pytest.raises(InputError, match=r"holds bomb \(2,\), but one array of points"):
        arrays.table(tmp_path / "b.npz")


# Parquet and Arrow


def save(path, columns, metadata=None, **options):
    table = columns if isinstance(columns, pa.Table) else pa.table(columns)
    table = table.replace_schema_metadata(metadata) if metadata else table
    if path.suffix == ".parquet":
        pq.write_table(table, path, **options)
    elif path.suffix == ".feather":
        feather.write_feather(table, path, chunksize=2, **options)
    else:
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table, max_chunksize=2)
    return path


def opened(path):
    return (parquet if path.suffix == ".parquet" else arrow_files).table(path)


SUFFIXES = [".parquet", ".feather", ".arrow"]


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("kind", [pa.float16(), pa.float32(), pa.float64(), pa.int8(), pa.uint16(), pa.int64()])
def test_numbers_of_every_arrow_type_are_read(tmp_path, suffix, kind):
    columns = {"x": pa.array([1, 2, 3], kind), "c": ["a", "b", "c"], "y": pa.array([4, None, 6], kind)}
    path = save(tmp_path / f"a{suffix}", columns)
    for rows in (None, 1, 2, 10):
        [x, y], place = read(opened(path), ["x", "y"], rows)
        assert x.tolist() == [1, 2, 3]
        np.testing.assert_array_equal(y, [4, NAN, 6])
        assert x.dtype == (kind.to_pandas_dtype() if pa.types.is_floating(kind) else np.float64)
        assert place == f"{path} row 2 (counted from 0)"


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("inner", [pa.float16(), pa.float32(), pa.float64(), pa.int32()])
@pytest.mark.parametrize("kind", [pa.list_, pa.large_list, lambda inner: pa.list_(inner, 2)])
def test_lists_of_every_arrow_type_are_vectors(tmp_path, suffix, inner, kind):
    values = [[1, 2], None, [3, 4], [5, None], [6, 7]]
    columns = {"e": pa.array(values, kind(inner)), "w": [1.0, 2, 3, 4, 5]}
    path = save(tmp_path / f"a{suffix}", columns)
    found = opened(path)
    assert (found.lists, found.names) == (["e"], ["w"])
    for rows in (None, 2, 3):
        [e, w], _ = read(found, ["e", "w"], rows)
        np.testing.assert_array_equal(e, [[1, 2], [NAN, NAN], [3, 4], [5, NAN], [6, 7]])
        assert w.tolist() == [1, 2, 3, 4, 5]
    if pa.types.is_floating(inner):
        assert e.dtype == inner.to_pandas_dtype()


@pytest.mark.parametrize("rows", [None, 2, 3, 7])
def test_slices_of_lists_are_read_from_where_they_start(rows):
    values = pa.array([[9.0, 9.0]] * 3 + [[float(k), k + 0.5] for k in range(8)], pa.list_(pa.float64(), 2))
    for column in (values, values.cast(pa.list_(pa.float64())), values.cast(pa.large_list(pa.float64()))):
        found = frame_table(pa.table({"e": column}).slice(3, 7))
        [e], _ = read(found, ["e"], rows)
        assert e.tolist() == [[k, k + 0.5] for k in range(7)]


def test_members_of_structs_have_names_with_a_point(tmp_path):
    quaternions = [{"x": 0.0, "y": 0.6, "z": 0.0, "w": 0.8}, None, {"x": 1.0, "y": 0.0, "z": 0.0, "w": None}]
    path = save(tmp_path / "a.parquet", {"orientation": quaternions, "t": [1, 2, 3]})
    names = [f"orientation.{axis}" for axis in "xyzw"]
    assert set(opened(path).names) == {*names, "t"}
    for rows in (None, 2):
        columns, _ = read(opened(path), names, rows)
        np.testing.assert_array_equal(np.column_stack(columns), [[0, 0.6, 0, 0.8], [NAN] * 4, [1, 0, 0, NAN]])


def wkb(x, y, order="<", kind=1, more=b""):
    return struct.pack(order + "BI", order == "<", kind) + more + struct.pack(order + "dd", x, y)


GEO = {"version": "1.1.0", "primary_column": "geometry", "columns": {"geometry": {"encoding": "WKB"}}}
POINTS = {
    "WKB": pa.array([wkb(1, 2), None, wkb(3, 4, ">"), wkb(5, 6, kind=1001) + bytes(8)], pa.binary()),
    "large WKB": pa.array([wkb(1, 2), None, wkb(3, 4), wkb(5, 6)], pa.large_binary()),
    "PostGIS": pa.array([wkb(1, 2, kind=0x20000001, more=bytes(4)), None, wkb(3, 4), wkb(5, 6)], pa.binary()),
    "struct": pa.array([{"x": 1.0, "y": 2.0}, None, {"x": 3.0, "y": 4.0}, {"x": 5.0, "y": 6.0}]),
    "pairs": pa.array([[1.0, 2.0], None, [3.0, 4.0], [5.0, 6.0]], pa.list_(pa.float64(), 2)),
}


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("points", POINTS.values(), ids=POINTS)
def test_points_of_geoparquet_are_longitude_and_latitude(tmp_path, suffix, points):
    columns = {"pop": [1, 2, 3, 4], "geometry": points}
    path = save(tmp_path / f"a{suffix}", columns, {"geo": json.dumps(GEO)})
    found = opened(path)
    assert (found.about, found.units) == ("earth", {"lon": "deg", "lat": "deg"})
    for rows in (None, 1, 3):
        found, _ = read(opened(path), ["lat", "pop", "lon"], rows)
        np.testing.assert_array_equal(np.column_stack(found), [[2, 1, 1], [NAN, 2, NAN], [4, 3, 3], [6, 4, 5]])


def test_other_geometries_are_refused(tmp_path):
    def message(*values):
        path = save(tmp_path / "a.parquet", {"geometry": pa.array(values, pa.binary())}, {"geo": json.dumps(GEO)})
        with pytest.raises(InputError) as caught:
            read(parquet.table(path), ["lon"], 2)
        return str(caught.value)

    assert "row 3 (counted from 0): column geometry holds Polygon, not Point" in message(
        wkb(1, 2), wkb(1, 2), wkb(1, 2), wkb(0, 0, kind=3)
    )
    assert "row 0 (counted from 0): column geometry holds no point" in message(b"abc")
    assert "holds a point cut short" in message(wkb(1, 2, kind=0x20000001))


@pytest.mark.parametrize("crs", [{"type": "ProjectedCRS", "id": {"authority": "EPSG", "code": 3857}}, None])
def test_geometries_in_metres_are_not_longitude_and_latitude(tmp_path, crs):
    geo = GEO | {"columns": {"geometry": {"encoding": "WKB", "crs": crs}}}
    path = save(tmp_path / "a.parquet", {"geometry": [wkb(1e6, 2e6)], "x": [1.5]}, {"geo": json.dumps(geo)})
    found = parquet.table(path)
    assert "lon" not in found.names
    words = "is in EPSG:3857, not longitude and latitude" if crs else "has no coordinate reference system"
    assert found.note == f"column geometry {words}"


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize(
    ("column", "message"),
    [
        (["a", "b"], "column x holds string, not numbers; convert it"),
        ([True, False], "column x holds bool, not numbers"),
        (pa.array(["a", "b"]).dictionary_encode(), "column x holds dictionary<"),
        ([Decimal("1.5"), Decimal("2.5")], "column x holds decimal128"),
        (pa.array([1, 2], pa.timestamp("s")), "column x holds timestamp["),
        ([[1.0, 2.0], [3.0]], "row 1 (counted from 0): column x holds 1 numbers, but 2 in rows before"),
        (pa.array([[], []], pa.list_(pa.float64())), "row 0 (counted from 0): column x holds an empty list"),
        ([["a"], ["b"]], "column x holds list<"),
        (pa.array([None, None], pa.list_(pa.float64())), "column x is empty; drop those rows"),
        (pa.array([], pa.float64()), "has no rows; at least one point is needed"),
    ],
)
def test_bad_columns_are_refused(tmp_path, suffix, column, message):
    path = save(tmp_path / f"a{suffix}", {"x": column})
    with pytest.raises(InputError) as caught:
        read(opened(path), ["x"])
    assert str(caught.value).startswith(str(path))
    assert message in str(caught.value)


def test_lengths_that_change_between_pieces_are_refused(tmp_path):
    path = save(tmp_path / "a.parquet", {"e": [[1.0, 2.0]] * 4 + [[1.0]] * 4})
    with pytest.raises(InputError, match=r"row 4 \(counted from 0\): column e holds 1 numbers, but 2"):
        read(parquet.table(path), ["e"], 4)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_damaged_arrow_files_are_refused(tmp_path, suffix):
    path = save(tmp_path / f"a{suffix}", {"x": np.arange(1000.0)})
    data = path.read_bytes()
    for contents in (b"", b"x,y\n1,2\n", data[: len(data) // 2], data[:3]):
        path.write_bytes(contents)
        with pytest.raises(InputError, match="cannot be read as"):
            read(opened(path), ["x"])


@pytest.mark.parametrize("seed", range(60))
def test_damage_of_any_byte_is_refused_or_does_no_harm(tmp_path, seed):
    columns = {"x": np.arange(50.0), "e": [[1.0, 2.0], None] * 25, "geometry": [wkb(1, 2)] * 50}
    rng = np.random.default_rng(seed)
    for suffix in [*SUFFIXES, ".npy", ".npz"]:
        path = tmp_path / f"a{suffix}"
        if suffix in SUFFIXES:
            save(path, columns, {"geo": json.dumps(GEO)})
        else:
            path.write_bytes(npy(np.ones((9, 3))) if suffix == ".npy" else npz(x=np.ones(9), w=np.ones(9)))
        data = bytearray(path.read_bytes())
        for place in rng.integers(len(data), size=3):
            data[place] = rng.integers(256)
        path.write_bytes(data)
        with contextlib.suppress(InputError):
            found = arrays.table(path) if suffix[:3] == ".np" else opened(path)
            for name in [*found.names, *found.lists]:
                with contextlib.suppress(InputError):
                    list(found.pieces([name], 7))


def test_a_column_twice_is_refused_only_if_wanted(tmp_path):
    table = pa.Table.from_arrays([pa.array([1.0]), pa.array([2.0]), pa.array([3.0])], ["x", "x", "y"])
    path = save(tmp_path / "a.parquet", table)
    assert read(parquet.table(path), ["y"])[0][0].tolist() == [3]
    with pytest.raises(InputError, match="has 2 columns 'x'; rename one of them"):
        read(parquet.table(path), ["x"])


def test_row_groups_are_read_in_pieces(tmp_path):
    path = save(tmp_path / "a.parquet", {"x": np.arange(100.0)}, row_group_size=30)
    [x], place = read(parquet.table(path), ["x"], 7)
    assert x.tolist() == list(range(100))
    assert place.endswith("row 99 (counted from 0)")
    assert list(parquet.table(save(tmp_path / "b.parquet", {"x": pa.array([], pa.float64())})).pieces(["x"], 10)) == []


@pytest.mark.parametrize("name", ["a.parquet", "a.feather"])
def test_without_pyarrow_the_install_line_is_given(tmp_path, monkeypatch, name):
    path = save(tmp_path / name, {"x": [1.0]})
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'heatess\[table\]'$"):
        opened(path)


def test_a_header_may_hold_a_mark_that_is_not_between_its_columns(tmp_path):
    """Loggers of x-io write names such as Roll | Phi | X, between commas; words between spaces became columns."""
    names = ["Packet number", "Roll | Phi | X (degrees)", "Pitch | Theta | Y (degrees)", "Yaw | Psi | Z (degrees)"]
    rows = np.random.default_rng(0).uniform(-80, 80, (40, 3)).round(4)
    text = [",".join(names), *(f"{k},{a},{b},{c}" for k, (a, b, c) in enumerate(rows))]
    (tmp_path / "euler.csv").write_text("\n".join(text) + "\n")
    found = he.read(tmp_path / "euler.csv", euler="xyz", columns=names[1:])
    expected = he.gess(he.from_euler(rows, convention="xyz", units="deg"), angle=20, space=he.Rotations())
    assert he.gess(found, angle=20) == pytest.approx(expected)


def test_places_that_are_all_at_zero_are_no_rows_to_leave_out(tmp_path):
    (tmp_path / "log.csv").write_text("Counter,Latitude,Longitude\n" + "".join(f"{k},0.0,0.0\n" for k in range(9)))
    with pytest.raises(he.InputError, match=r"both 0, .* \(9 of 9 rows\); name other columns with columns=, or add"):
        he.read(tmp_path / "log.csv")


def test_angles_of_relion_that_are_zero_in_some_rows_are_asked_about(tmp_path):
    loop = "data_particles\n\nloop_\n_rlnAngleRot #1\n_rlnAngleTilt #2\n_rlnAnglePsi #3\n"
    rows = [f"{10 * k} {5 * k} {7 * k}" for k in range(1, 9)]
    (tmp_path / "a.star").write_text(loop + "\n".join([*rows, "0 0 0", "0 0 0"]) + "\n")
    with pytest.raises(he.InputError, match=r"are all 0, as where no orientation was found \(2 of 10 rows\)"):
        he.read(tmp_path / "a.star")
    assert he.read(tmp_path / "a.star", missing=0, drop_missing=True).n == 8


def test_a_first_row_of_angles_in_parts_is_no_header(tmp_path):
    path = tmp_path / "faults.txt"
    path.write_text("# Slickenlines\n#Strike\tDip\tRake\n045\t61S\t80E\n036\t59S\t80W\n090\t80N\t58W\n")
    read = he.read(path, space="circle", columns="Strike", units="deg")
    np.testing.assert_array_equal(read.points.ravel(), [45, 36, 90])


@pytest.mark.parametrize("rows", ["M31 00h42m44s +41d16m09s\nM33 01h33m50s +30d39m36s\n", "05:34:31 +22:00:52\n" * 3])
def test_rows_of_angles_in_parts_without_a_header_are_refused_not_shortened(tmp_path, rows):
    path = tmp_path / "stars.txt"
    path.write_text(rows)
    with pytest.raises(he.InputError, match=r"line 1 holds numbers and text, but a header is needed"):
        he.read(path, columns={"ra": "1", "dec": "2"})


def test_a_header_of_names_with_digits_stays_a_header(tmp_path):
    path = tmp_path / "named.csv"
    path.write_text("2MASS,ra_12h,dec:1,lon,lat\n1,2,3,10,20\n1,2,3,30,40\n")
    assert he.read(path).n == 2
