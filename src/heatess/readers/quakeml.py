"""QuakeML: the place, depth and magnitude of earthquakes, as seismological services and obspy write them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree.ElementTree import Element, ParseError, iterparse

import numpy as np

from ..base.errors import InputError
from ..base.known import Known
from ..tables.table import Columns, Table
from .streams import Source
from .text_lines import is_number

#: Bytes, unpacked, above which a file is not read.
LARGEST_FILE_IN_BYTES = 2**32

_QUANTITIES = {"longitude": "longitude", "latitude": "latitude", "depth": "depth", "time": "time"}


class Event(NamedTuple):
    """One earthquake: texts as they are in the file, empty where they are missing."""

    event_id: str  #: its public identifier
    time: str
    longitude: str
    latitude: str
    depth: str
    mag: str
    magnitude_type: str
    region: str
    chosen: bool  #: whether the file itself says which of several origins is meant, or has only one


_NUMBERS = ("longitude", "latitude", "depth", "mag")
_TEXTS = ("event_id", "time", "magnitude_type", "region")


def table(path: Path, source: Source | None = None) -> Table:
    """A row for each event: longitude, latitude, depth in metres, mag; as text event_id, time, magnitude_type, region.

    The preferred origin and magnitude of the event are taken, or the first where none is preferred.
    """
    source = source or Source(path)
    _refuse_entities(source)
    events: list[Event] = []
    try:
        with source.opened() as (stream, _):
            events.extend(_events(stream))
    except ParseError as error:
        raise InputError(f"{source.name} is not whole XML ({error}); it may be cut short: fetch it again") from None
    if not events:
        raise InputError.lacking(f"{source.name} is QuakeML without an event", "event")
    if not any(event.latitude for event in events):
        raise InputError(f"{source.name} has <!no event!> with an origin; <+at least one+> is needed, with its place")
    found = Columns(
        {name: _numbers(events, name, source.name) for name in _NUMBERS},
        source.name,
        units={"longitude": "deg", "latitude": "deg", "depth": "m"},
        row="event {} (counted from 0)",
        texts={name: partial(_texts, events, name) for name in _TEXTS},
    )
    vague = sum(not event.chosen for event in events)
    first = f"; {vague:,} events without a preferred origin: the first" if vague else ""
    found.note = f"QuakeML, depth in metres{first}"
    found.known, found.about = Known(frame="geographic"), "earth"
    return found


def _texts(events: list[Event], name: str) -> list[str]:
    return [getattr(event, name) for event in events]


def _refuse_entities(source: Source) -> None:
    """Refuse declarations that make a short file long or fetch others; QuakeML has none."""
    size, tail = 0, b""
    with source.opened() as (stream, _):
        while data := stream.read(2**20):
            size += len(data)
            plain = (tail + data).replace(b"\0", b"")
            if b"<!ENTITY" in plain or b"<!DOCTYPE" in plain:
                raise InputError(f"{source.name} declares entities, which are not read; write it without <!DOCTYPE")
            if size > LARGEST_FILE_IN_BYTES:
                raise InputError(
                    f"{source.name} has more than {LARGEST_FILE_IN_BYTES / 2**30:.3g} GB of XML; fetch the events in "
                    "parts, or as CSV"
                )
            tail = data[-32:]


def _events(stream: Any) -> Iterator[Event]:
    """Event after event, each forgotten by the parser when it is read."""
    root: Element | None = None
    for when, element in iterparse(stream, events=("start", "end")):
        if when == "start":
            root = element if root is None else root
        elif _name(element) == "event":
            yield _event(element)
            element.clear()
        elif _name(element) == "eventParameters" and root is not None:
            root.clear()


def _event(element: Element) -> Event:
    origins, origin_said = _preferred(element, "origin")
    magnitudes, _ = _preferred(element, "magnitude")
    places = {name: _quantity(origins, name) for name in _QUANTITIES}
    region = next((_text(child, "text") for child in element if _name(child) == "description"), "")
    return Event(
        element.get("publicID", ""),
        places["time"],
        places["longitude"],
        places["latitude"],
        places["depth"],
        _quantity(magnitudes, "mag"),
        _text(magnitudes, "type"),
        region,
        origin_said,
    )


def _preferred(event: Element, kind: str) -> tuple[Element | None, bool]:
    """The origin or magnitude that is preferred, else the first; and whether there was no choice to make."""
    every = [child for child in event if _name(child) == kind]
    wanted = _text(event, f"preferred{kind.capitalize()}ID")
    named = [child for child in every if wanted and child.get("publicID", "").strip() == wanted]
    return next(iter(named or every), None), bool(named) or len(every) < 2


def _quantity(element: Element | None, name: str) -> str:
    """The value of a quantity such as latitude."""
    for child in () if element is None else element:
        if _name(child) == name:
            return _text(child, "value")
    return ""


def _text(element: Element | None, name: str) -> str:
    for child in () if element is None else element:
        if _name(child) == name:
            return (child.text or "").strip()
    return ""


def _name(element: Element) -> str:
    """The name of an element without its namespace, of which there are several versions."""
    return str(element.tag).rpartition("}")[2]


def _numbers(events: list[Event], name: str, source: str) -> Any:
    values = np.full(len(events), np.nan)
    for row, event in enumerate(events):
        text = getattr(event, name)
        if text and not is_number(text):
            raise InputError(
                f"{source} event {row:,} (counted from 0): {name} is <!{text[:40]!r}!>, not <+a number+>; fix that "
                "event",
                row=row,
            )
        values[row] = float(text) if text else np.nan
    return values
