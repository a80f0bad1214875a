"""Triangles from mesh files, whole or not at all."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...base.arrays import FloatArray
from ...base.errors import InputError, MissingExtraError, missing_extra

#: Modules that trimesh needs for other formats, and the packages they are in.
_PACKAGES = {"networkx": "networkx", "lxml": "lxml", "collada": "pycollada", "cascadio": "cascadio", "PIL": "pillow"}


def read_triangles(path: str) -> tuple[FloatArray, NDArray[np.int64]]:
    """Vertices (v, 3) and faces (f, 3) of a file that trimesh reads, or an `InputError` that names it.

    Corners at the same place become one vertex; vertices without a face and faces without area or repeated are left
    out. A file that holds fewer faces than it announces is refused.
    """
    try:
        import trimesh
    except ImportError:
        raise missing_extra("trimesh", "mesh") from None
    if not Path(path).is_file():
        what = "it is a folder" if Path(path).is_dir() else "there is no such file"
        raise InputError(f"{path} cannot be read as a mesh: {what}")
    try:
        off = Path(path).suffix.lower() == ".off"
        found = trimesh.Trimesh(*_off(path), process=False) if off else trimesh.load_mesh(path, process=False)
    except InputError:
        raise
    except ImportError as error:
        raise _missing(path, error) from None
    except Exception as error:  # parsers raise anything on broken bytes
        hint = "" if isinstance(error, NotImplementedError) else "; is it cut short, or of another format?"
        raise _broken(path, f"{type(error).__name__}: {error}{hint}") from None
    faces = np.asarray(getattr(found, "faces", ()))
    if not len(faces):
        raise _broken(path, "no faces were found in it")
    vertices = np.asarray(found.vertices)
    _check(path, vertices, faces)
    found.merge_vertices(merge_tex=True, merge_norm=True)
    found.update_faces(found.unique_faces())
    found.update_faces(found.nondegenerate_faces())
    found.remove_unreferenced_vertices()
    if not len(found.faces):
        raise _broken(path, f"all of its {len(faces)} faces have no area")
    return np.asarray(found.vertices), np.asarray(found.faces)


def _check(path: str, vertices: NDArray[Any], faces: NDArray[Any]) -> None:
    """Refuse what trimesh passes on or leaves out in silence."""
    if vertices.ndim != 2 or vertices.shape[1] != 3:
        raise _broken(path, f"vertices have shape {vertices.shape}, not (v, 3)")
    if not np.isfinite(vertices).all():
        row = int(np.argmin(np.isfinite(vertices).all(axis=1)))
        raise _broken(path, f"vertex {row} is {vertices[row].tolist()}")
    outside = ((faces < 0) | (faces >= len(vertices))).any(axis=1)
    if outside.any():
        row = int(np.argmax(outside))
        raise _broken(path, f"face {row} has the corners {faces[row].tolist()}, but there are {len(vertices)} vertices")
    announced = _announced(path)
    if len(faces) < announced:
        raise _broken(path, f"it announces {announced} faces, of which {len(faces)} can be read; is it cut short?")


def _announced(path: str) -> int:
    """The number of faces that a file says it has, or begins to give; zero where its format is not known."""
    kind = Path(path).suffix.lower()
    if kind not in (".obj", ".ply", ".stl"):
        return 0
    content = Path(path).read_bytes()
    if kind == ".obj":
        return len(re.findall(rb"^[ \t]*f(?=\s)", content, re.MULTILINE))
    if kind == ".stl":
        return len(re.findall(rb"^\s*facet\s", content, re.MULTILINE)) if content.lstrip()[:5] == b"solid" else 0
    header = content.partition(b"end_header")[0]
    counts = re.search(rb"element\s+face\s+(\d+)", header)
    return int(counts[1]) if counts else 0


def _off(path: str) -> tuple[FloatArray, NDArray[np.int64]]:
    """Vertices and triangles of an OFF file, of which trimesh drops a fourth coordinate and misreads some comments."""
    from trimesh.geometry import triangulate_quads

    text = re.sub(r"#.*", "", Path(path).read_bytes().decode("latin-1"))
    header = re.search(r"^[ \t{=]*(?:ST)?C?N?(4?n?)OFF\b[ \t]*(BINARY)?", text, re.MULTILINE)
    if header and (header[1] or header[2]):
        what = "it is binary" if header[2] else "its vertices have another number of coordinates than three"
        raise _broken(path, f"{what} ({header[0].strip()}); export it again as OFF in text, or as .ply or .obj")
    lines = [line.split() for line in text[header.end() if header else 0 :].splitlines() if line.strip()]
    if not lines or not 2 <= len(lines[0]) <= 3 or not all(word.isdigit() for word in lines[0]):
        raise _broken(path, "the line with the numbers of vertices and faces is missing; is it of another format?")
    v, f = int(lines[0][0]), int(lines[0][1])
    places, corners = lines[1 : v + 1], lines[v + 1 : v + f + 1]
    for name, announced, rows in (("vertices", v, places), ("faces", f, corners)):
        if len(rows) < announced:
            raise _broken(path, f"it announces {announced} {name}, of which {len(rows)} can be read; is it cut short?")
    polygons = [[int(word) for word in words[1 : int(words[0]) + 1]] for words in corners]
    for row, polygon in enumerate(polygons):
        if len(polygon) < max(3, int(corners[row][0])):
            found = " ".join(corners[row])
            raise _broken(path, f"face {row} is {found!r}, but faces have three corners or more, as many as they say")
    vertices = np.array([words[:3] for words in places], dtype=np.float64)
    for row, polygon in enumerate(polygons):
        if len(polygon) > 3:  # it is cut from its first corner, which is wrong where a triangle is turned over
            sides = vertices[polygon[1:]] - vertices[polygon[0]]
            normals = np.cross(sides[:-1], sides[1:])
            if (normals @ normals.sum(axis=0) < -1e-9 * (normals**2).sum()).any():
                raise _broken(path, f"face {row}, of {len(polygon)} corners, is not convex")
    return vertices, np.asarray(triangulate_quads(polygons) if polygons else np.empty((0, 3)), dtype=np.int64)


def _broken(path: str, why: str) -> InputError:
    return InputError(f"{path} cannot be read as a mesh: {why}")


def _missing(path: str, error: ImportError) -> Exception:
    """Another package that trimesh needs for a format, or for text that is not UTF-8."""
    named = re.search(r"(?:pip install |No module named ')([\w-]+)", str(error))
    module = named[1] if named else error.name or str(error)
    if module == "charset_normalizer":
        return _broken(
            path,
            "it is neither a whole binary file nor text in UTF-8; is it cut short, or of another format? If it is text "
            "in another encoding, save it as UTF-8",
        )
    package = _PACKAGES.get(module, module if module in _PACKAGES.values() else None)
    if package is None:
        return _broken(path, f"this format needs {module}, which is not installed; save it as .ply, .obj or .stl")
    return MissingExtraError(f"{path} needs {package}, which is not installed: pip install {package}")
