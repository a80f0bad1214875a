"""Files that heatess does not read: for each the package that does, and the line that makes a file which is read."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import NamedTuple

from ..base.errors import InputError
from .package_readers import split_label


class Other(NamedTuple):
    """A format, and the way from it to a file that is read."""

    what: str
    needs: str  #: packages for pip; empty if Python alone will do
    code: str  #: one line of Python with {file!r} and {out!r}; or, without a bracket, a command
    suffix: str = ".csv"  #: of the file that it writes
    then: str = ""  #: what to know about that file


def _frame(call: str) -> str:
    return f"import pandas; pandas.{call}.to_csv({{out!r}}, index=False)"


_SHEET = ("pandas python-calamine", _frame("read_excel({file!r}, engine='calamine')"))
_MOLECULE = "its torsions phi and psi, in degrees"
_RAMA = (
    "import MDAnalysis as m, numpy; from MDAnalysis.analysis.dihedrals import Ramachandran; "
    "u = m.Universe(UNIVERSE); a = Ramachandran(u.select_atoms('protein')).run().results.angles; "
    "numpy.savetxt({out!r}, numpy.c_[numpy.repeat(range(len(a)), a.shape[1]), a.reshape(-1, 2)], delimiter=',', "
    "header='frame,phi,psi', comments='')"
)
_STRUCTURE = Other("a molecule", "MDAnalysis", _RAMA.replace("UNIVERSE", "{file!r}"), then=_MOLECULE)
_FRAMES = Other(
    "the frames of a simulation",
    "MDAnalysis",
    _RAMA.replace("UNIVERSE", "'topology.pdb', {file!r}"),
    then=f"{_MOLECULE}; with the file of its atoms for topology.pdb",
)
_ARRAYS = "import numpy, scipy.io as s; d = s.loadmat({file!r}, squeeze_me=True); "
_NOT_HIDDEN = "numpy.savez({out!r}, **{{k: v for k, v in d.items() if not k.startswith('_')}})"
_VOLUME = (
    "k = numpy.argwhere(v > 0); numpy.savetxt({out!r}, numpy.c_[k, v[tuple(k.T)]], delimiter=',', "
    "header='i,j,k,weight', comments='')"
)
_IN_SPACE = "for `space='euclidean', columns=('i', 'j', 'k')`, where distances are voxels"
_SQL = (
    "import sqlite3, pandas; c = sqlite3.connect({file!r}); [pandas.read_sql(f'select * from [{{t}}]', c)"
    ".to_csv({out!r} + f'-{{t}}.csv', index=False) for k, t in c.execute('select type, name from sqlite_master') "
    "if k == 'table']"
)
_BASE = Other("an SQLite database", "pandas", _SQL, "", "one for each table")
_SAS = "import pyreadstat; pyreadstat.read_KIND({file!r})[0].to_csv({out!r}, index=False)"
_R = Other(
    "data of R", "pyreadr", "import pyreadr; next(iter(pyreadr.read_r({file!r}).values())).to_csv({out!r}, index=False)"
)
_CLOUD = Other(
    "a point cloud",
    "'laspy[lazrs]'",
    "import laspy, numpy; numpy.save({out!r}, laspy.read({file!r}).xyz)",
    ".npy",
    "for `space='euclidean'`",
)
_PICKLE = Other(
    "a pickle, code that runs when it is loaded",
    "pandas",
    "import pandas, numpy; x = pandas.read_pickle({file!r}); x.to_csv({out!r}, index=False) "
    "if hasattr(x, 'to_csv') else numpy.save({out!r}[:-4], x)",
    ".csv",
    "only if you trust it",
)
_TENSORS = Other(
    "a file of torch", "torch numpy", "import torch, numpy; numpy.save({out!r}, torch.load({file!r}).numpy())", ".npy"
)
_NETWORK = "import networkx as n; n.write_graphml(n.read_KIND({file!r}), {out!r})"
_MATRIX = (
    "import networkx as n, scipy.io as s; m = s.mmread({file!r}); n.write_graphml(n.from_scipy_sparse_array(m, "
    "create_using=n.Graph if abs(m - m.T).max() == 0 else n.DiGraph), {out!r})"
)

_RASTER = (
    "import rioxarray as r; r.open_rasterio({file!r}, masked=True)[0].rio.reproject('EPSG:4326').rename(x='lon', "
    "y='lat').rename('value').to_netcdf({out!r}, engine='h5netcdf')"
)
_GRIB = "import xarray as x; x.open_dataset({file!r}, engine='cfgrib').to_netcdf({out!r}, engine='h5netcdf')"
_TABLE = "from astropy.table import Table; Table.read({{file!r}}, format='ascii.{}').write({{out!r}})"
_TREE = (
    "import asdf; from astropy.table import Table; f = asdf.open({file!r}); "
    "next(v for v in f.tree.values() if isinstance(v, Table)).write({out!r})"
)
_SURFACE = "import trimesh; trimesh.load_mesh({file!r}).export({out!r})"
_COLLADA = "assert b'<poly' not in open({file!r}, 'rb').read(), 'it has polygons: export it as .obj'; " + _SURFACE

#: Formats that share their suffix with others, and are known by their words.
GEOGRAPHY = Other(
    "a map in Geography Markup Language",
    "geopandas",
    "import geopandas as g; g.read_file({file!r}).to_file({out!r})",
    ".gpkg",
)
IPAC = Other("a table of IPAC", "astropy", _TABLE.format("ipac"), ".ecsv")
CDS = Other("a table of the CDS, described byte by byte", "astropy", _TABLE.format("cds"), ".ecsv")

#: Well-known formats by their suffix.
OTHERS = {
    **dict.fromkeys(
        (".tif", ".tiff"), Other("a raster", "rioxarray h5netcdf h5py", _RASTER, ".nc", "of its first band")
    ),
    **dict.fromkeys(
        (".grib", ".grb", ".grib2", ".grb2"), Other("a file of GRIB", "cfgrib h5netcdf h5py", _GRIB, ".nc")
    ),
    ".mrt": CDS,
    ".asdf": Other("a file of ASDF", "asdf-astropy", _TREE, ".ecsv", "of its first table"),
    **dict.fromkeys((".glb", ".gltf", ".3mf"), Other("a surface", "'trimesh[easy]'", _SURFACE, ".ply")),
    ".dae": Other("a surface", "'trimesh[easy]'", _COLLADA, ".ply"),
    ".xls": Other("an old Excel workbook", *_SHEET),
    ".ods": Other("an OpenDocument sheet", *_SHEET),
    ".xlsb": Other("a binary Excel workbook", *_SHEET),
    ".mat": Other("a file of MATLAB", "scipy numpy", _ARRAYS + _NOT_HIDDEN, ".npz"),
    ".sav": Other("data of SPSS", "pandas pyreadstat", _frame("read_spss({file!r})")),
    ".dta": Other("data of Stata", "pandas", _frame("read_stata({file!r})")),
    ".sas7bdat": Other("data of SAS", "pyreadstat", _SAS.replace("KIND", "sas7bdat")),
    ".xpt": Other("data of SAS", "pyreadstat", _SAS.replace("KIND", "xport")),
    **dict.fromkeys((".rds", ".rda", ".rdata"), _R),
    ".root": Other(
        "a file of ROOT",
        "uproot pandas",
        "import uproot; t = next(v for v in uproot.open({file!r}).values() if hasattr(v, 'arrays')); "
        "t.arrays(library='pd').to_csv({out!r}, index=False)",
        then="of its first tree",
    ),
    **dict.fromkeys((".las", ".laz"), _CLOUD),
    ".pcd": Other(
        "a point cloud",
        "pypcd4 numpy",
        "import numpy, pypcd4; numpy.save({out!r}, pypcd4.PointCloud.from_path({file!r}).numpy(['x', 'y', 'z']))",
        ".npy",
        "for `space='euclidean'`",
    ),
    ".bag": Other("a recording of ROS", "evo", "evo_traj bag {file} --all_topics --save_as_tum", ""),
    ".mcap": Other("a recording of ROS 2", "evo", "evo_traj mcap {file} --all_topics --save_as_tum", ""),
    ".db3": Other("a recording of ROS 2", "evo", "evo_traj bag2 {folder} --all_topics --save_as_tum", ""),
    **dict.fromkeys((".sqlite", ".sqlite3", ".db"), _BASE),
    **dict.fromkeys((".pkl", ".pickle"), _PICKLE),
    **dict.fromkeys((".pdb", ".gro"), _STRUCTURE),
    **dict.fromkeys((".xtc", ".trr", ".dcd"), _FRAMES),
    **dict.fromkeys(
        (".mrc", ".map"),
        Other(
            "a volume of density",
            "mrcfile numpy",
            f"import mrcfile, numpy; v = mrcfile.read({{file!r}}); {_VOLUME}",
            then=_IN_SPACE,
        ),
    ),
    ".nii": Other(
        "a volume of density",
        "nibabel numpy",
        f"import nibabel, numpy; v = nibabel.load({{file!r}}).get_fdata(); {_VOLUME}",
        then=_IN_SPACE,
    ),
    **dict.fromkeys((".pt", ".pth"), _TENSORS),
    **dict.fromkeys(
        (".vtk", ".vtu", ".msh", ".mesh", ".inp", ".med", ".xdmf", ".ugrid"),
        Other("a mesh", "meshio", "import meshio; meshio.read({file!r}).write({out!r})", ".obj"),
    ),
    **dict.fromkeys(
        (".pial", ".white", ".inflated", ".sphere"),
        Other(
            "a surface of FreeSurfer",
            "nibabel trimesh",
            "import nibabel, trimesh; v, f = nibabel.freesurfer.read_geometry({file!r}); "
            "trimesh.Trimesh(v, f, process=False).export({out!r})",
            ".ply",
        ),
    ),
    ".gexf": Other("a network of Gephi", "networkx", _NETWORK.replace("KIND", "gexf"), ".graphml"),
    ".mtx": Other("a matrix", "networkx scipy", _MATRIX, ".graphml", "a graph, if it is square"),
    ".safetensors": Other(
        "a file of tensors",
        "safetensors numpy",
        "import numpy; from safetensors.numpy import load_file; numpy.savez({out!r}, **load_file({file!r}))",
        ".npz",
    ),
    ".bin": Other(
        "a binary file, perhaps of word vectors",
        "gensim",
        "from gensim.models import KeyedVectors as K; K.load_word2vec_format({file!r}, binary=True)"
        ".save_word2vec_format({out!r})",
        ".vec",
    ),
    ".orc": Other(
        "a file of ORC", "pandas pyarrow", "import pandas; pandas.read_orc({file!r}).to_parquet({out!r})", ".parquet"
    ),
    **dict.fromkeys(
        (".html", ".htm"),
        Other("a web page", "pandas lxml", _frame("read_html({file!r})[0]"), then="of its first table"),
    ),
    ".kmz": Other(
        "a packed KML file",
        "",
        "import zipfile; zipfile.ZipFile({file!r}).extractall({out!r})",
        "",
        "the .kml in it",
    ),
    **dict.fromkeys(
        (".tar", ".tgz"),
        Other(
            "an archive",
            "",
            "import shutil; shutil.unpack_archive({file!r}, {out!r})",
            "",
            "or several, each read alone",
        ),
    ),
    ".7z": Other(
        "an archive",
        "py7zr",
        "import py7zr; py7zr.SevenZipFile({file!r}).extractall({out!r})",
        "",
        "or several, each read alone",
    ),
}


def sentence(path: Path, suffix: str) -> str:
    """What a file with this *suffix* is, who reads it, and the line that makes a file which heatess reads; or nothing.

    >>> print(sentence(Path("survey.dta"), ".dta"))
    survey.dta is data of Stata, which heatess does not read; to make a file that it reads, type: pip install pandas \
&& python -c "import pandas; pandas.read_stata('survey.dta').to_csv('survey.csv', index=False)"
    """
    other = OTHERS.get(suffix)
    return "" if other is None else _sentence(path, suffix, other)


def refuse(path: Path | str, other: Other) -> None:
    """Refuse a file that is another format than its suffix says."""
    raise InputError(_sentence(Path(path), "", other))


def _sentence(path: Path, suffix: str, other: Other) -> str:
    file, _ = split_label(path)
    if suffix == ".mat" and _is_hdf5(file):
        other = other._replace(
            needs="h5py numpy",
            code="import h5py, numpy; f = h5py.File({file!r}); "
            "numpy.savez({out!r}, **{{k: f[k][()].T.squeeze() for k in f if hasattr(f[k], 'shape')}})",
        )
    out = new_name(file, other.suffix)
    then = f" ({other.then})" if other.then else ""
    way = line_to(other.needs, other.code, file, out)
    return f"{file} is {other.what}, which heatess does not read; to make a file that it reads{then}, {way}"


def _is_hdf5(file: Path) -> bool:
    """Whether a file of MATLAB is of version 7.3, which is HDF5."""
    try:
        with file.open("rb") as stream:
            return stream.read(10) == b"MATLAB 7.3"
    except OSError:
        return False


def line_to(needs: str, code: str, file: Path, out: str) -> str:
    """The line to type: what to install, and Python *code* with {file!r} and {out!r}, or a command with {file}."""
    if "(" in code:
        text = code.format(file=str(file), out=out)
        command = f"python -c {_quoted(text)}"
    else:
        command = code.format(file=shlex.quote(str(file)), folder=shlex.quote(str(file.parent)))
    install = f"pip install {needs} && " if needs else ""
    return f"type: {install}{command}"


def _quoted(code: str) -> str:
    """Code in double quotes where the shell changes nothing in them, which is easier to read."""
    return f'"{code}"' if not set(code) & set('"$`\\') else shlex.quote(code)


def new_name(file: Path, suffix: str) -> str:
    """The name of a file to write into the current directory, which is not there yet.

    >>> new_name(Path("data/cities.xls"), ".csv")
    'cities.csv'
    """
    stem = file.name.removesuffix(".gz").rpartition(".")[0] or file.name
    name, count = f"{stem}{suffix}", 1
    while Path(name).exists():
        count += 1
        name = f"{stem}-{count}{suffix}"
    return name
