"""Polygons of OBJ, PLY and OFF files, cut into triangles that cover them once."""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...base.arrays import FloatArray
from ...base.errors import InputError
from .ply import read_ply


class Polygons(NamedTuple):
    """Places (v, 3), faces as sequences of their numbers, and what to call a face in a message."""

    vertices: FloatArray
    faces: Sequence[Sequence[int]] | NDArray[np.int64]
    called: Callable[[int], str] = "face {}".format

    def triangles(self) -> NDArray[np.int64]:
        """Triangles (f, 3), in an order of their own.

        Each face is cut from the first of its corners from which no triangle is turned over. A flat face of four
        corners has one; others that have none, as they are not convex, are refused.
        """
        if not np.isfinite(self.vertices).all():
            row = int(np.argmin(np.isfinite(self.vertices).all(axis=1)))
            raise InputError(f"vertex {row} is <!{self.vertices[row].tolist()}!>")
        sizes = np.fromiter(map(len, self.faces), np.int64, len(self.faces))
        cut = []
        for size in np.unique(sizes):
            rows = np.flatnonzero(sizes == size)
            corners = np.array([self.faces[row] for row in rows.tolist()], dtype=np.int64)
            self._check(rows, corners)
            first = np.full(len(rows), -1)
            for start in range(size if size > 3 else 1):
                left = np.flatnonzero(first < 0)
                turned = np.roll(corners[left], -start, axis=1)
                first[left[~self._turns_over(turned)]] = start
            if (first < 0).any():
                row = rows[np.argmin(first)]
                raise InputError(
                    f"{self.called(row)}, of {size} corners, is <!not convex!>, and no corner sees all of it; cut the "
                    "faces into triangles in the program that made it, and export it again"
                )
            turned = np.take_along_axis(corners, (first[:, None] + np.arange(size)) % size, axis=1)
            cut += [turned[:, [0, one, two]] for one, two in pairwise(range(1, size))]
        return np.concatenate(cut) if cut else np.empty((0, 3), dtype=np.int64)

    def _check(self, rows: NDArray[np.int64], corners: NDArray[np.int64]) -> None:
        outside = ((corners < 0) | (corners >= len(self.vertices))).any(axis=1)
        if outside.any() or corners.shape[1] < 3:
            row = int(np.argmax(outside))
            why = f"there are {len(self.vertices)} vertices" if outside.any() else "a face has three or more"
            found = corners[row].tolist()
            raise InputError(f"{self.called(rows[row])} has the corners <!{found}!>, counted from 0, but <+{why}+>")

    def _turns_over(self, corners: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether triangles from the first corner look to the other side than the whole face, for each face."""
        if corners.shape[1] == 3:
            return np.zeros(len(corners), dtype=bool)
        sides = self.vertices[corners[:, 1:]] - self.vertices[corners[:, :1]]
        normals = np.cross(sides[:, :-1], sides[:, 1:])
        whole = normals.sum(axis=1, keepdims=True)
        squares = (normals**2).sum(axis=(1, 2))
        turned: NDArray[np.bool_] = ((normals * whole).sum(axis=2) < -1e-9 * squares[:, None]).any(axis=1)
        turned |= (whole**2).sum(axis=(1, 2)) < 1e-18 * squares  # a bow tie: its halves cancel
        return turned


def read_polygons(path: str) -> Polygons | None:
    """Places and faces of an OBJ, PLY or OFF file; None for other formats."""
    reader = {".obj": _obj, ".ply": _ply, ".off": _off}.get(Path(path).suffix.lower())
    return reader and reader(path)


def _obj(path: str) -> Polygons:
    """OBJ by ourselves: trimesh counts relative corners from the end of the file."""
    text = Path(path).read_bytes().decode("latin-1").replace("\r\n", "\n").replace("\r", "\n")

    def lines(kind: str) -> list[re.Match[str]]:
        return list(re.finditer(rf"^[ \t]*{kind}[ \t]((?:\\\n|[^\n#])*)", text, re.MULTILINE))

    def words(line: re.Match[str]) -> list[str]:
        return line[1].replace("\\\n", " ").split()

    def called(line: re.Match[str]) -> str:
        return f"line {text.count(chr(10), 0, line.start()) + 1} ({' '.join(line[0].split())[:60]!r})"

    places, faces = lines("v"), lines("f")
    starts = [line.start() for line in places]
    vertices, corners = np.empty((len(places), 3)), []
    for line in (*places, *faces):
        try:
            if line[0].lstrip()[0] == "v":
                x, y, z = words(line)[:3]
                vertices[bisect(starts, line.start()) - 1] = float(x), float(y), float(z)
            else:
                numbers = [int(word.partition("/")[0]) for word in words(line)]
                before = bisect(starts, line.start()) if min(numbers, default=0) < 0 else 0
                corners.append([number + before if number < 0 else number - 1 for number in numbers])
        except ValueError:
            what = "three coordinates" if line in places else "numbers of vertices"
            raise InputError(f"{called(line)} does not give <+{what}+>; is it cut short, or another format?") from None
    return Polygons(vertices, corners, lambda row: called(faces[row]))


def _ply(path: str) -> Polygons:
    elements = read_ply(path)
    places, faces = elements.get("vertex", {}), elements.get("face", {})
    if not {"x", "y", "z"} <= places.keys():
        raise InputError(f"its vertices have no <+x, y and z+>; found <!{', '.join(places) or 'nothing'}!>")
    named = [name for name in faces if name in ("vertex_index", "vertex_indices") or len(faces) == 1]
    return Polygons(np.column_stack([places[axis] for axis in "xyz"]), faces[named[0]] if named else [])


def _off(path: str) -> Polygons:
    """OFF by ourselves: trimesh drops a fourth coordinate and misreads some comments."""
    text = re.sub(r"#.*", "", Path(path).read_bytes().decode("latin-1"))
    header = re.search(r"^[ \t{=]*(?:ST)?C?N?(4?n?)OFF\b[ \t]*(BINARY)?", text, re.MULTILINE)
    if header and (header[1] or header[2]):
        what = "it is <!binary!>" if header[2] else "its vertices have another number of coordinates than <+three+>"
        raise InputError(f"{what} ({header[0].strip()}); export it again as OFF in text, or as .ply or .obj")
    lines = [line.split() for line in text[header.end() if header else 0 :].splitlines() if line.strip()]
    if not lines or not 2 <= len(lines[0]) <= 3 or not all(word.isdigit() for word in lines[0]):
        raise InputError("<+the line with the numbers of vertices and faces+> is missing; is it of another format?")
    v, f = int(lines[0][0]), int(lines[0][1])
    places, corners = lines[1 : v + 1], lines[v + 1 : v + f + 1]
    for name, announced, rows in (("vertices", v, places), ("faces", f, corners)):
        if len(rows) < announced:
            raise InputError(
                f"it announces <+{announced} {name}+>, of which <!{len(rows)}!> can be read; is it cut short?"
            )
    faces = [[int(word) for word in words[1 : int(words[0]) + 1]] for words in corners]
    for row, face in enumerate(faces):
        if len(face) < max(3, int(corners[row][0])):
            found = " ".join(corners[row])
            raise InputError(
                f"face {row} is <!{found!r}!>, but faces have <+three corners or more+>, as many as they say"
            )
    return Polygons(np.array([words[:3] for words in places], dtype=np.float64), faces)
