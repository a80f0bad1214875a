"""What is suggested where names do not tell what columns hold, as arguments that can be typed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from .column_names import Colatitude, DecInc, Ecliptic, Galactic, Kind, LonLat, RaDec, Torsions
from .rotation_columns import ListedQuaternions, Quaternions, ScalarFirst
from .units import split_unit

#: More words for two roles, by which columns are suggested but not taken.
_ALSO: dict[type[Kind], tuple[tuple[str, ...], tuple[str, ...]]] = {
    Galactic: ((), ()),
    Ecliptic: ((), ()),
    LonLat: (("azimuth", "az"), ("elevation", "altitude", "alt", "el")),
    RaDec: ((), ()),
    DecInc: (("trend",), ("plunge",)),
    Colatitude: (("zenith", "polar"), ()),
}

#: What is left of names that are no places, but errors, motions, steps or numbers of places.
_NO_PLACE = re.compile(
    r"(?<![a-z])([deinv]|mu|(pm|err|unc|sig|std|prec|acc|vel|ind|rms)[a-z]*|delta|diff|offset|step|res|sd|idx)(?![a-z])"
)


def likely_pair(columns: Sequence[str]) -> str:
    """The pair of columns that are lon and lat, ra and dec, or the like, but for the same addition; as an argument.

    A pair such as glon and glat, or pickup_longitude and pickup_latitude; not along and latency.

    >>> likely_pair(["id", "pickup_lon", "pickup_lat", "drop_lon", "drop_lat"])
    "`columns={'lon': 'pickup_lon', 'lat': 'pickup_lat'}`"
    >>> likely_pair(["SiteLat[deg.]", "SiteLon[deg.]"])
    "`columns={'lon': 'SiteLon[deg.]', 'lat': 'SiteLat[deg.]'}`"
    >>> likely_pair(["along", "latency"])
    ''
    """
    for kind, also in _ALSO.items():
        words = [(*names, *more, role) for names, more, role in zip(kind.names, also, kind.roles, strict=True)]
        for pair, _ in _alike(kind, columns, words):
            return spelled(pair)
        whole = [[name for name, _ in _rests(columns, names, whole=True)] for names in words]
        if all(len(found) == 1 for found in whole) and whole[0] != whole[1]:
            return spelled(kind([whole[0][0], whole[1][0]]))
    return ""


def other_pairs(columns: Sequence[str], taken: Kind) -> list[str]:
    """What is said of pairs such as lon2 and lat2, or glon and glat, beside the pair that was *taken*; three at most.

    >>> other_pairs(["ra", "dec", "ra_err", "dec_err", "l", "b"], RaDec(["ra", "dec"]))
    ["l, b left out (`columns={'glon': 'l', 'glat': 'b'}` takes them)"]
    """
    used, found = {split_unit(name).base for name in taken.columns}, []
    for kind in _ALSO if isinstance(taken, LonLat) else ():
        letters = "lb" if kind is Galactic and taken.about == "sky" else kind.roles
        for pair, rest in _alike(kind, columns, [(*a, b) for a, b in zip(kind.names, letters, strict=True)]):
            bases = {split_unit(name).base for name in pair.columns}
            if not _NO_PLACE.search(rest) and not bases & used:
                used |= bases
                found.append(f"{pair.words} left out ({spelled(pair)} takes them)")
    return found[:3]


def _alike(kind: type[Kind], columns: Sequence[str], words: list[tuple[str, ...]]) -> Iterator[tuple[Kind, str]]:
    """Pairs of columns that hold one word each, and what is left of both names, which is the same."""
    first, second = ([*_rests(columns, names, inside=kind not in (Galactic, Ecliptic))] for names in words)
    for one, rest in first:
        for two, other in second:
            if one != two and rest == other:
                yield kind([one, two]), rest


def _rests(
    columns: Sequence[str], words: Sequence[str], *, whole: bool = False, inside: bool = True
) -> Iterator[tuple[str, str]]:
    """Columns that hold one of some words, each with what is left of its name without the word and its unit.

    Only *whole* words if so asked: site_lon or lon2, but not glon. Unless *inside*, only where letters begin with it:
    elon2000, but not sitelon.
    """
    words = sorted(words, key=len, reverse=True)
    for name in columns:
        base = split_unit(name).base
        for word in filter(base.__contains__, words):
            if re.search(alone := rf"(?<![a-z0-9]){word}(?![a-z])", base):
                yield name, re.sub(alone, "", base, count=1)
                break
            if len(word) > 2 and not whole and re.search(word if inside else rf"(?<![a-z]){word}", base):
                yield name, base.replace(word, "", 1)
                break


def spelled(kind: Kind) -> str:
    """The argument that chooses these columns."""
    if kind.names and kind.roles:
        return f"`columns={dict(zip(kind.roles, kind.columns, strict=True))}`"
    if isinstance(kind, Quaternions):
        return f"`space='rotations', columns={tuple(kind.columns)}`"
    if isinstance(kind, Torsions):
        return f"`space='torus', columns={tuple(kind.columns)}`"
    return f"`columns={tuple(kind.columns) if len(kind.columns) > 1 else kind.columns[0]!r}`"


def sphere_or_rotations(names: Sequence[str]) -> str:
    """What is asked about rows of four numbers and length one, with the arguments that answer it."""
    if len(names) == 1 and names[0] != "rows":
        last, first = (f"`columns={{{kind.roles[0]!r}: {names[0]!r}}}`" for kind in (ListedQuaternions, ScalarFirst))
        sphere = f"`space='sphere', columns={names[0]!r}`"
    else:
        four = ["0", "1", "2", "3"] if len(names) == 1 else list(names)
        last, first = (
            f"`columns={dict(zip(Quaternions.roles, order, strict=True))}`" for order in (four, [*four[1:], four[0]])
        )
        sphere = "`space='sphere'`" if len(names) == 1 else f"`space='sphere', columns={tuple(names)}`"
    return (
        "rows of four numbers and length one may be points of a sphere, or quaternions, of which q and -q are one "
        f"rotation; say {sphere}, or {last} if the scalar is last, or {first} if it is first"
    )


def matrices_said(names: Sequence[str], width: int) -> str:
    """What is said about rows of rotation matrices, alone or with a position, with the arguments that read them."""
    columns = "" if len(names) == 1 else f", columns={tuple(names)}"
    pose = (
        f", or `space='pose:R'{columns}` with their positions, R being the length that counts as much as one radian"
        if width > 9
        else ""
    )
    return f"these are rotation matrices, row by row; say `space='rotations'{columns}`{pose}"


def near(name: str, every: Sequence[str]) -> str:
    """The name that is most like one that is not there, as a question; empty if none is."""
    from difflib import get_close_matches

    close: list[Any] = get_close_matches(name, every, 1)
    return f"; did you mean {close[0]!r}?" if close else ""
