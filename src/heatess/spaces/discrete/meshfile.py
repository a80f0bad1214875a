"""Triangles from mesh files, whole or not at all."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...base.arrays import FloatArray
from ...base.errors import InputError, MissingExtraError, importing
from .polygons import Polygons, read_polygons

#: Modules that trimesh needs for other formats, and the packages they are in.
_PACKAGES = {"networkx": "networkx", "lxml": "lxml", "collada": "pycollada", "cascadio": "cascadio", "PIL": "pillow"}


def read_triangles(path: str) -> tuple[FloatArray, NDArray[np.int64]]:
    """Vertices (v, 3) and faces (f, 3) of a file that trimesh reads, or an `InputError` that names it.

    Corners at the same place become one vertex; vertices without a face and faces without area or repeated are left
    out. A file that holds fewer faces than it announces is refused.
    """
    with importing("trimesh", "mesh"):
        import trimesh
    if not Path(path).is_file():
        what = "it is a folder" if Path(path).is_dir() else "there is no such file"
        raise InputError(f"{path} cannot be read as a mesh: {what}")
    try:
        polygons = read_polygons(path) or _by_trimesh(path)
        found = trimesh.Trimesh(polygons.vertices, polygons.triangles(), process=False)
    except InputError as error:
        raise error.within(f"{path} cannot be read as a mesh") from None
    except ImportError as error:
        raise _missing(path, error) from None
    except Exception as error:  # parsers raise anything on broken bytes
        hint = "" if isinstance(error, NotImplementedError) else "; is it cut short, or of another format?"
        raise _broken(path, f"{type(error).__name__}: {error}{hint}") from None
    vertices, faces = np.asarray(found.vertices), np.asarray(found.faces)
    if not len(faces):
        raise _broken(path, "no faces were found in it")
    small = min(1.0, 2.0 ** np.floor(np.log2(max(np.ptp(vertices, axis=0).max(), 1e-300))))
    found.vertices = vertices / small  # trimesh merges what is nearer than 1e-8, whatever the unit
    found.merge_vertices(merge_tex=True, merge_norm=True)
    found.update_faces(found.unique_faces())
    found.update_faces(found.nondegenerate_faces())
    found.remove_unreferenced_vertices()
    if not len(found.faces):
        raise _broken(path, f"all of its {len(faces)} faces have no area")
    return np.asarray(found.vertices) * small, np.asarray(found.faces)


def _refuse_fans(path: str) -> None:
    """Refuse files whose polygons trimesh would cut from their first corners, convex or not."""
    kind = Path(path).suffix.lower()
    if kind in (".zip", ".gz", ".bz2", ".zae"):
        raise InputError("it is <!packed!>; unpack it, and give the file in it")
    if kind == ".dae" and re.search(rb"<(\w+:)?(polylist|polygons)\b", Path(path).read_bytes()):
        raise InputError(
            "its faces are <!polygons!>, not <+triangles+>; export it again as .obj or .ply, which are read whole"
        )


def _by_trimesh(path: str) -> Polygons:
    """What trimesh reads of the other formats, unless it left something out in silence."""
    import trimesh

    _refuse_fans(path)
    found = trimesh.load_mesh(path, process=False)
    faces = np.asarray(getattr(found, "faces", ()), dtype=np.int64)
    vertices = np.asarray(found.vertices) if len(faces) else np.empty((0, 3))
    if vertices.ndim != 2 or vertices.shape[1] != 3:
        raise InputError(f"vertices have <!shape {vertices.shape}!>, not <+(v, 3)+>")
    announced = _announced(path)
    if 0 < len(faces) < announced:
        raise InputError(f"it announces <+{announced} faces+>, of which <!{len(faces)}!> can be read; is it cut short?")
    return Polygons(vertices, faces)


def _announced(path: str) -> int:
    """The number of faces that an STL file in text begins to give; zero for other formats."""
    content = Path(path).read_bytes() if Path(path).suffix.lower() == ".stl" else b""
    return len(re.findall(rb"^\s*facet\s", content, re.MULTILINE)) if content.lstrip()[:5] == b"solid" else 0


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
