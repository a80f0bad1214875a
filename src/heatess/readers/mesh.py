"""Surfaces: PLY, OBJ, STL and OFF by trimesh, GIFTI by nibabel. The points are the vertices."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..base.errors import InputError, importing
from ..tables.table import Columns, Table
from .package_readers import reading
from .packed_size import refuse_expansion
from .streams import Source

if TYPE_CHECKING:
    from ..spaces import Mesh

SUFFIXES = (".ply", ".obj", ".stl", ".off", ".gii", ".gii.gz")

_UNPACKED = "write it without packing: in nibabel, with encoding = 'GIFTI_ENCODING_B64BIN' of each of its darrays"

#: Properties of a PLY vertex that say where it is or how it looks.
_LOOKS = {
    "x",
    "y",
    "z",
    "nx",
    "ny",
    "nz",
    "red",
    "green",
    "blue",
    "alpha",
    "s",
    "t",
    "u",
    "v",
    "texture_u",
    "texture_v",
}


def table(path: Path) -> Table:
    """The mesh as `space`, and its vertices as the column vertex, with what the file says about each of them.

    Vertices at one place become one, as in `Mesh.from_file`. If the file has values for its vertices, its rows are the
    file's vertices; those of one place and the same values are one row, and one without a face is a missing row.
    """
    from ..spaces import Mesh

    if path.name.lower().endswith((".gii", ".gii.gz")):
        return _gifti(path, Mesh)
    with reading(path, "a mesh", "export it again as PLY"):
        _refuse_empty(path)
        space = _made(Mesh.from_file, path)
        corners = space._vertices
        values = _properties(path) if path.suffix.lower() == ".ply" else {}
        found: dict[str, NDArray[Any]] = {"vertex": np.arange(len(corners))}
        if values:
            found = _matched(values.pop("places"), corners, values)
    return _table(path, space, found)


def _refuse_empty(path: Path) -> None:
    if not path.stat().st_size:
        raise InputError(f"{path} is empty; export the mesh again")


def _made(make: Callable[..., Mesh], *given: Any, place: str = "") -> Mesh:
    """The mesh, or an error that names the *place* and says what to do."""
    try:
        return make(*given)
    except InputError as error:
        raise error.within(
            place, after="" if error.advises else "; export it again as a surface of triangles"
        ) from None


def _properties(path: Path) -> dict[str, NDArray[Any]]:
    """The numbers a PLY file has for each vertex, and under "places" where these are; nothing if there are none."""
    from ..spaces.discrete.ply import read_ply

    values = {name: array for name, array in read_ply(path).get("vertex", {}).items() if isinstance(array, np.ndarray)}
    wanted = {
        name: array.astype(np.float64) for name, array in values.items() if name not in _LOOKS and array.ndim == 1
    }
    return {"places": np.column_stack([values[axis] for axis in "xyz"]), **wanted} if wanted else {}


def _matched(places: NDArray[Any], corners: NDArray[Any], values: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """The vertex of the mesh at each place, nan where there is none, beside its values; each such row once."""
    from scipy.spatial import cKDTree

    distance, vertex = cKDTree(corners).query(places)
    on = distance <= 1e-6 * np.ptp(corners, axis=0).max()
    first = np.unique(np.column_stack([vertex, *values.values()]), axis=0, return_index=True)[1]
    kept = np.sort(np.union1d(first, np.flatnonzero(~on)))
    return {name: array[kept] for name, array in {"vertex": np.where(on, vertex, np.nan), **values}.items()}


def _gifti(path: Path, make: type[Mesh]) -> Table:
    with importing("nibabel", "mesh"):
        import nibabel
    with reading(path, "GIFTI", "fetch or export it again"):
        _refuse_empty(path)
        _refuse_expansion(path)
        image = nibabel.load(path)
        places, faces = (image.get_arrays_from_intent(f"NIFTI_INTENT_{name}") for name in ("POINTSET", "TRIANGLE"))
        if not (len(places) == len(faces) == 1):
            found = (
                ", ".join(nibabel.nifti1.intent_codes.niistring[array.intent] for array in image.darrays) or "nothing"
            )
            raise InputError(
                f"{path} holds no <+surface of one point set and one set of triangles+> (found <!{found}!>); give the "
                "surface itself, usually called .surf.gii"
            )
        count, corners = len(places[0].data), _with_area(places[0].data, faces[0].data)
        on = np.unique(corners)
        if not (len(on) < count and on[0] >= 0 and on[-1] < count):  # nothing to leave out, or a fault for Mesh
            on = np.arange(count)
        elif corners.dtype.kind in "iu":
            corners = np.searchsorted(on, corners)
        space = _made(make, places[0].data[on], corners, place=str(path))
        values: dict[str, NDArray[Any]] = {"vertex": np.full(count, np.nan)}
        values["vertex"][on] = np.arange(len(on))
        for place, array in enumerate(image.darrays):
            if array.data.shape == (count,):
                values[array.meta.get("Name") or f"data {place}"] = array.data.astype(np.float64)
    return _table(path, space, values)


def _with_area(places: NDArray[Any], corners: NDArray[Any]) -> NDArray[Any]:
    """The faces that have an area, each once, as other formats keep them; all if some are no faces of these places."""
    import trimesh

    if corners.ndim != 2 or corners.shape[1] != 3 or corners.dtype.kind not in "iu":
        return corners
    if not len(corners) or corners.min() < 0 or corners.max() >= len(places):
        return corners
    found = trimesh.Trimesh(places, corners, process=False)
    kept = found.unique_faces()
    whole = np.zeros(len(corners), dtype=bool)
    whole[kept] = True
    whole &= found.nondegenerate_faces()
    return corners[whole] if whole.any() else corners


def _refuse_expansion(path: Path) -> None:
    """Refuse entities, and packed arrays that are out of proportion to the file: nibabel unpacks them whole."""
    import zlib
    from binascii import a2b_base64
    from xml.parsers import expat

    size, rest, packs, unpacker = 0, "", False, None
    parser = expat.ParserCreate()
    parser.buffer_text = True

    def begins(name: str, attributes: dict[str, str]) -> None:
        nonlocal unpacker, rest, packs
        if name == "DataArray":
            packs = attributes.get("Encoding") == "GZipBase64Binary"
        unpacker, rest = zlib.decompressobj() if packs and name == "Data" else None, ""

    def ends(_: str) -> None:
        nonlocal unpacker
        unpacker = None

    def text(data: str) -> None:
        nonlocal size, rest
        if unpacker is None:
            return
        letters = rest + "".join(data.split())
        whole = len(letters) // 4 * 4
        rest, packed = letters[whole:], a2b_base64(letters[:whole])
        while packed:
            size += len(unpacker.decompress(packed, 2**20))
            packed = unpacker.unconsumed_tail
            refuse_expansion(path, path.stat().st_size, size, _UNPACKED)

    def defined(name: str, *_: Any) -> None:
        raise InputError(f"{path} defines the XML entity {name!r}, which is not expanded; write its value instead")

    parser.StartElementHandler, parser.EndElementHandler = begins, ends
    parser.CharacterDataHandler, parser.EntityDeclHandler = text, defined
    with Source(path).opened() as (stream, _):
        parser.ParseFile(stream)


def _table(path: Path, space: Mesh, values: dict[str, NDArray[Any]]) -> Table:
    table = Columns(values, str(path))
    table.space, table.note = space, repr(space)
    table.missing = "without a face" if np.isnan(values["vertex"]).any() else ""
    return table
