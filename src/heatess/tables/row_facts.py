"""What a table tells beside points and weights: names of rows, chains, and whether its rows follow in time."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base.errors import InputError
from ..base.known import FRAMES, Known
from .column_names import Kind
from .read_options import Reading
from .suggest import near
from .table import Table

#: Columns of text that hold the names of rows, the first of them that there is.
NAMES = ("name", "label", "title", "main_id", "city", "station", "site", "word", "id", "event_id", "source_id")

#: Columns that hold chains, the draws of chains in their order, and times, by the last word of their names.
CHAINS = ("chain", "chain_id", "chain_idx", "chain_index", "chain_number", "chain__", "walker", "walker_id")
DRAWS = ("draw", "draw_idx", "draw_index", "draw__", "iteration", "iter")
FRAMES_IN_TIME = (
    *("frame", "frame_index", "frame_idx", "frame_id", "frame_number", "frame_no", "frames", "snapshot", "timestep"),
    *("time_step", "step"),
)
TIMES = (
    *("time", "timestamp", "stamp", "datetime", "date_time", "date", "t", *FRAMES_IN_TIME, "epoch", "seq"),
    *("counter", "elapsed", "mjd", "jd", "bjd", "hjd"),
)

#: Columns that count the parts of a molecule, or its models, each of which is there once in a frame.
PARTS_OF_MOLECULES = (
    *("resid", "resi", "res_id", "resnum", "resseq", "residue", "residue_id", "residue_index", "residue_number"),
    *("atom", "atom_id", "atom_index", "model", "model_id", "model_number", "conformer", "conformation"),
)

#: Columns of log-densities that only samplers write, Stan and Cobaya: whatever else is there, rows are draws of chains.
SAMPLED = ("lp__", "minuslogpost")

#: Degrees a year by which the equator and the equinox turn.
PRECESSION = 50.3 / 3600

#: Tables that astropy reads by their names.
_WITH_ASTROPY = (".fits", ".fit", ".fits.gz", ".vot", ".ecsv", ".csv")

#: A column that says that rows were chosen by `thin`, and are no draws.
THINNED = "thinned"

#: Rows up to which names are looked for without being asked, and rows by which it is seen whether times run on.
MOST_ROWS_FOR_NAMES, ROWS_FOR_TIMES = 200_000, 10_000

#: Rows by which it is told that times run on in parts, and rows of such a part on average.
LEAST_TIMES, LONG_PART = 24, 4


def known_of(
    table: Table, reading: Reading, kind: Kind, n: int, kept: NDArray[np.int64] | None, *, whole: bool
) -> Known:
    """What is known about the rows of which points were made: by the user, the format, or the names of columns.

    Of *n* rows some may be *kept* alone. What takes a pass over all rows is looked for in *whole* tables alone.
    """
    known = table.known
    if known.frame is None:
        known = replace(known, frame=reading.frame or _frame(table, kind))
    known = replace(known, source=known.source or table.source).said(reading.kind, reading.frame)
    if not whole:
        return known
    if reading.labels == "none":
        known = replace(known, labels=None)
    elif known.labels is None or reading.labels is not None:
        known = known.said(labels=_labels(table, reading, n))
    if THINNED in table.names:
        known = replace(known, thinned=True)
    if table.space is not None:  # nodes, which follow each other by chance
        return known if kept is None else known.rows(kept, n)
    if known.kind in (None, "chains") and known.chains is None:
        known = _with_chains(table, known, kind, reading)
    if known.kind is None:
        known = replace(known, doubt=known.doubt or _doubt(table, kind))
    return known if kept is None else known.rows(kept, n)


def _frame(table: Table, kind: Kind) -> str | None:
    """The frame of the columns of points: what the format says of them, or their names."""
    stated = {table.frames[name] for name in kind.columns if name in table.frames}
    old = kind.frame == "icrs" and any(
        "1950" in name or (table.old and not re.search("2000|icrs", name, re.I)) for name in kind.columns
    )
    if len(stated) > 1:
        raise InputError(f"{table.source}: columns {kind.words} are in several frames, <!{', '.join(sorted(stated))}!>")
    frame = stated.pop() if stated else (table.old or "fk4 B1950") if old else _by_name(kind)
    if frame is None or frame in FRAMES:
        return frame
    which = table.cells or f"columns {kind.words}"
    system, _, equinox = frame.partition(" ")
    if system not in ("fk4", "fk5"):
        raise InputError(
            f"{table.source}: {which} are in a frame that is not known here; turn them with astropy's SkyCoord, or say "
            "`frame='icrs'` if they are equatorial of J2000 after all"
        )
    words = f"in {system.upper()} of the equinox {equinox}"
    if not equinox:
        words = "in FK4, whose equinox is not said, B1950 by convention"
    apart = abs(2000 - float(equinox[1:] or 1950)) * PRECESSION
    how = "turn them with astropy's SkyCoord"
    if not table.cells and len(kind.columns) == 2 and table.source.lower().endswith(_WITH_ASTROPY):
        text = kind.columns[0] in table.texts
        known = "" if text else ", if they are degrees"
        how = f"to turn them{known}, type: {_turned(table.source, kind.columns, text, frame)}"
    raise InputError(
        f"{table.source}: {which} are <!{words}!>, up to {apart:.2g} degrees from those of <+J2000+>; say "
        f"`frame='icrs'` if they are of J2000 after all; {how}"
    )


def _by_name(kind: Kind) -> str | None:
    """The frame of a kind; longitudes and latitudes that are called l and b, or azimuth and altitude, are no places."""
    names = tuple(name.strip().lower().removesuffix("_deg").removesuffix("_rad") for name in kind.columns)
    if kind.frame != "geographic" or len(names) != 2:
        return kind.frame
    if names == ("l", "b"):
        return "galactic"
    return None if names[0] in ("az", "azimuth", "sgl") else kind.frame


def _turned(source: str, columns: Sequence[str], text: bool, frame: str) -> str:
    """The line that writes a table with right ascension and declination in ICRS in place of two columns of FK4 or FK5.

    Columns of *text* hold hours and degrees.
    """
    out = re.sub(r"\.\w+(\.gz)?$", "", source) + "_icrs.ecsv"
    ra, dec = columns
    system, _, equinox = frame.partition(" ")
    said = f", equinox={equinox!r}" if equinox else ""
    form = ", format='votable'" if source.lower().endswith(".vot") else ""  # which astropy may not know by its start
    pair, unit = (f"list(t[{ra!r}]), list(t[{dec!r}])", "hourangle,deg") if text else (f"t[{ra!r}], t[{dec!r}]", "deg")
    code = (
        "from astropy.table import Table; from astropy.coordinates import SkyCoord; "
        f"t = Table.read({source!r}{form}); s = SkyCoord({pair}, frame={system!r}{said}, unit={unit!r}).icrs; "
        f"t.remove_columns([{ra!r}, {dec!r}]); t['ra'], t['dec'] = s.ra.deg, s.dec.deg; "
        f"t.meta.clear(); t.write({out!r})"
    )
    return f'python -c "{code}"'


def _labels(table: Table, reading: Reading, n: int) -> Sequence[str] | None:
    """The names of rows: in the column that was asked for, or that is called so and holds text."""
    if reading.labels is not None:
        every = {name.lower(): name for name in [*table.names, *table.texts]}
        column = reading.labels if reading.labels in every.values() else every.get(reading.labels.strip().lower())
        if column is None:
            found = ", ".join([*table.texts, *(name for name in table.names if name not in table.texts)][:12])
            close = near(reading.labels, list(every.values()))
            raise InputError(f"{table.source} has no <+column {reading.labels!r} of names+>; found <!{found}!>{close}")
        return table.text(column)
    texts = {name.strip().lower(): name for name in table.texts}
    column = next((texts[name] for name in NAMES if name in texts), None)
    return None if column is None or n > MOST_ROWS_FOR_NAMES else table.text(column)


def _with_chains(table: Table, known: Known, kind: Kind, reading: Reading) -> Known:
    """The chains that a column tells, of numbers or names; their draws must be in the order of another column."""
    column = _called(table, CHAINS)
    if column is None:
        return _by_draws(table, known)
    if column in kind.columns or column in (reading.weights, reading.log_weights):
        return known
    entries = _entries(table, column, None)
    if not len(entries) or (entries.dtype.kind == "f" and np.isnan(entries).any()):
        return known
    values, of = np.unique(entries, return_inverse=True)
    found = replace(known, kind="chains", chains=len(values), chain_of=of.astype(np.int64))
    draw = _called(table, DRAWS)
    draws = np.empty(0) if draw is None else _entries(table, draw, None)
    if len(draws) == len(of) and any((np.diff(draws[of == chain]) <= 0).any() for chain in range(len(values))):
        question = f"its rows are not in the order of {draw} within each {column}; sort them by both"
        found = replace(found, doubt=question)
    return found


def _by_draws(table: Table, known: Known) -> Known:
    """The chains that a column of draws tells which begins anew with each of them."""
    column = _called(table, DRAWS)
    draws = np.empty(0) if column is None else _entries(table, column, None)
    if draws.dtype.kind != "f" or len(draws) < 4:
        return known
    again = np.diff(draws) <= 0
    if not again.any() or (draws[1:][again] != draws[0]).any():
        return known
    of = np.concatenate([[0], np.cumsum(again)])
    return replace(known, kind="chains", chains=int(of[-1]) + 1, chain_of=of.astype(np.int64))


def _called(table: Table, words: Sequence[str]) -> str | None:
    """The column that is called by one of some words, apart from signs before it, a unit, and what it is a part of."""
    plain: dict[str, str] = {}
    for name in [*table.names, *table.texts]:
        base = re.sub(r"[\[(].*", "", name).strip(" #%.").lower()
        plain.setdefault(base, name)
        plain.setdefault(base.rpartition(".")[2], name)
        plain.setdefault(re.sub(r".*(?=[mbh]jd)|_(tai|utc|tdb|tt|[fpnum]?s)$", "", base), name)  # fieldMJD_TAI, time_ps
    return next((plain[word] for word in words if word in plain), None)


def _doubt(table: Table, kind: Kind) -> str:
    """A question, where a column is one of samplers, or of times or draws that run on from row to row."""
    if (sampled := _called(table, SAMPLED)) is not None:
        return (
            f"its column {sampled} is written by samplers, so that the rows are draws of Markov chains; say "
            "`kind='chains'` if they are one chain in its order, or add a column chain if they are several; say "
            "`kind='draws'` if only draws far apart were kept"
        )
    draw = _called(table, DRAWS)
    if draw is not None and draw not in kind.columns and _runs_on(_entries(table, draw, ROWS_FOR_TIMES)):
        return (
            f"its column {draw} runs on from row to row, so that the rows may be draws of a Markov chain; say "
            "`kind='draws'` or `kind='chains'`"
        )
    column = _called(table, TIMES)
    times = np.empty(0) if column is None or column in kind.columns else _entries(table, column, ROWS_FOR_TIMES)
    parts = 1 if _runs_on(times) else _parts(times)
    if not parts:
        return _in_frames(table, kind)
    what = "a trajectory" if parts == 1 else f"trajectories, {parts:,} in the first {len(times):,} rows"
    return (
        f"its column {column} runs on from row to row, so that the rows may be {what}, whose steps are no "
        "independent draws; say `kind='draws'` or `kind='trajectory'`"
    )


def _in_frames(table: Table, kind: Kind) -> str:
    """A question where rows are those of several frames, in any order.

    Frames may have any numbers of rows; times, and parts of molecules, must all be there equally often.
    """
    for words in (FRAMES_IN_TIME, TIMES, PARTS_OF_MOLECULES):
        column = _called(table, words)
        if column is None or column in kind.columns:
            continue
        values, counts = np.unique(_entries(table, column, None), return_counts=True)
        same = bool(len(values) > 1 and counts[0] > 1 and (counts == counts[0]).all())
        if not same and not (words is FRAMES_IN_TIME and 1 < len(values) <= counts.sum() / 2):
            continue
        each = f"{counts[0]:,} rows" if same else "several rows"
        return (
            f"its column {column} has {each} for each of its {len(values):,} values, so that the rows may be those of "
            "several frames of a trajectory, which are no independent draws; say `kind='draws'` or `kind='trajectory'`"
        )
    return ""


def _entries(table: Table, column: str, rows: int | None) -> Any:
    """The first entries of a column, or all: numbers, or texts, which sort as times do."""
    if column in table.names:
        try:
            return next(table.pieces([column], rows)).columns[0]
        except (InputError, StopIteration):
            pass
    try:
        return np.array(table.text(column)[:rows])
    except InputError:
        return np.empty(0)


def _parts(times: NDArray[Any]) -> int:
    """Into how many parts, of four rows or more on average, rows fall in which times run on; 0 if into shorter ones.

    Times in no order run on for two rows on average.
    """
    if len(times) < LEAST_TIMES or (times.dtype.kind == "f" and np.isnan(times).any()):
        return 0
    later, earlier = times[1:] > times[:-1], times[1:] < times[:-1]
    turns, steps = sorted((int(later.sum()), int(earlier.sum())))
    return turns + 1 if LONG_PART * (turns + 1) <= len(times) and 2 * steps >= len(times) else 0


def _runs_on(times: NDArray[Any]) -> bool:
    if len(times) < 3 or (times.dtype.kind == "f" and np.isnan(times).any()):
        return False
    later, earlier = times[1:] > times[:-1], times[1:] < times[:-1]
    return bool((later.sum() > 1 and not earlier.any()) or (earlier.sum() > 1 and not later.any()))
