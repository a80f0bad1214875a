"""Files of XML: which reader takes them is told by their first element."""

from __future__ import annotations

from pathlib import Path

from ..base.errors import InputError
from ..tables.table import Table
from . import geo, graph, quakeml, votable
from .package_readers import split_label
from .streams import Source, packed, root_of
from .unread_formats import line_to, sentence

SUFFIXES = packed((".xml", ".quakeml", ".qml"))

_STATIONS = (
    "import obspy, pandas; pandas.DataFrame([(s.code, s.longitude, s.latitude) for n in obspy.read_inventory({file!r}) "
    "for s in n], columns=['station', 'lon', 'lat']).to_csv({out!r}, index=False)"
)


def table(path: Path, source: Source | None = None) -> Table:
    """Events of QuakeML, the table of a VOTable, points of GPX and KML, nodes of GraphML; for others who reads them."""
    file, _ = split_label(path)
    source = source or Source(file)
    root = root_of(source)
    if root == "quakeml":
        return quakeml.table(path, source)
    if source.piped and root in ("votable", "gpx", "kml"):
        raise InputError(
            f"{source.name} holds {root.upper()}, which is read from a file; write it to one that ends in .{root}"
        )
    if root == "votable":
        return votable.table(path)
    if root == "graphml":
        return graph.table(path)
    if root in ("gpx", "kml"):
        return geo.table(path)
    raise InputError(_sentence(file, root))


def _sentence(file: Path, root: str) -> str:
    if not root:
        return f"{file} holds no XML element; QuakeML and VOTable are read: fetch or write it again"
    if root in ("seiscomp", "fdsnstationxml"):
        if root == "seiscomp":
            what, out = "a SeisComP file", file.with_suffix(".qml").name
            code = "import obspy; obspy.read_events({file!r}).write({out!r}, format='QUAKEML')"
        else:
            what, out, code = "a list of stations (StationXML)", file.with_suffix(".csv").name, _STATIONS
        return f"{file} is {what}, which obspy reads; {line_to('obspy', code, file, out)}"
    if root == "html":
        return sentence(file, ".html")
    code = "import pandas; pandas.read_xml({file!r}).to_csv({out!r}, index=False)"
    found = f"{file} is XML whose first element is <{root}>, but QuakeML and VOTable are read"
    return f"{found}; if it is one table, {line_to('pandas lxml', code, file, file.with_suffix('.csv').name)}"
