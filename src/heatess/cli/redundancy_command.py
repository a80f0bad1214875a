"""The work of `heatess redundancy`: which rows are close to many others, and what is nearest to them."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

import click
import numpy as np

from ..base.arrays import FloatArray, IntArray
from ..base.blocks import map_rows
from ..base.text import columns
from ..drawing.axes import plain
from ..inference.redundancy import redundancy as redundancy_of
from ..measures import scales
from ..measures.measure import Measure
from ..readers import open_table
from ..spaces.base import Space
from ..tables.read_options import Reading
from ..tables.table import Table
from .inputs import measure_of, reading_of, shows_progress, warnings_printed
from .kilometres import Km, on_earth
from .options import STDOUT, refuse_together, scale_given
from .profile_output import Options, keep_apart, note, save
from .row_files import rows_of, settled
from .screen import echo
from .text import number

SCHEMA = "heatess.redundancy/1"

#: A redundancy below which a row is not listed, and characters of a name that are shown.
LEAST_REDUNDANCY_LISTED, MOST_CHARACTERS_OF_NAME = 0.01, 40


class Group(NamedTuple):
    """The most redundant row of those that lie within one scale of each other, and its nearest neighbour."""

    atom: int
    redundancy: float
    within: int  #: rows nearer than the scale, itself included
    nearest: int | None  #: None where distances are not known
    distance: float  #: in degrees on angular spaces


class Found(NamedTuple):
    """What was found, and the names and numbers of rows to tell it with."""

    measure: Measure
    time: float
    scale: str  #: in words, as it was given
    radius: float  #: the distance at which two atoms overlap by 1/e, in degrees on angular spaces
    values: FloatArray
    rows: IntArray  #: the row of each atom in the file
    groups: list[Group]

    @property
    def gess(self) -> float:
        """1 / sum_i w_i f_i, where the redundancy is 1 - w_i / f_i."""
        own = self.measure.weights
        kept = own > 0
        return min(1 / float(np.sum(own[kept] ** 2 / (1 - self.values[kept]))), self.measure.ess)

    def name(self, atom: int) -> str:
        """The name of an atom; empty if it has none."""
        labels = self.measure.known.labels
        return "" if labels is None else str(labels[atom])


def redundancy(file: str, options: Options) -> None:
    """Find the redundancy of every row, print the most redundant ones, and save all."""
    refuse_together(options, ("quiet", "verbose"))
    [(kind, value)] = scale_given(options, "say at which scale two rows are alike").items()
    keep_apart([file], options)
    table = open_table(file)
    measure = measure_of(table, options)
    options = on_earth(options, measure)
    scale = scale_given(options)
    with warnings_printed():
        at = scales.resolve(measure.space, *(scale.get(name) for name in ("angle", "time", "resolution")))
        shown = shows_progress(options)
        values = redundancy_of(measure, time=float(at.times[0]), rtol=options["rtol"], progress=shown)
    radius = _radius(measure.space, at)
    groups = list(_groups(measure, values, radius, options["top"]))
    table, how = settled(table, Reading(**reading_of(options)))
    rows = rows_of(table, measure, how)
    unit = " km" if isinstance(value, Km) else " deg" if measure.space.angular and kind != "time" else ""
    found = Found(measure, float(at.times[0]), f"{kind} {value:g}{unit}", radius, values, rows, groups)
    if options["json_file"] == STDOUT:
        click.echo(_json(found))
    elif options["csv_file"] == STDOUT:
        click.echo(_csv(found), nl=False)
    else:
        echo(_in_words(found, _places(table, found)), strong=True)
    if measure.known.labels is None and table.texts:
        note(options, f"no names of rows; to see them, add --labels with one of: {', '.join(table.texts)}")
    writers = {
        "json_file": lambda draft: draft.write_text(_json(found) + "\n", encoding="utf-8"),
        "csv_file": lambda draft: draft.write_text(_csv(found), encoding="utf-8"),
    }
    save(writers, options)


def _radius(space: Space, at: scales.Scales) -> float:
    """The distance at which two atoms overlap by 1/e, or alpha where there is none; in degrees on angular spaces."""
    if at.resolutions is not None:
        return float(at.resolutions[0])
    resolution = float(space.resolutions_of_times(at.times)[0])
    if not math.isfinite(resolution):
        return float(at.angles[0])
    return math.degrees(resolution) if space.angular else resolution


def _groups(measure: Measure, values: FloatArray, radius: float, most: int) -> Iterator[Group]:
    """The most redundant atoms, of which no two are within the scale of each other."""
    covered = (measure.weights == 0) | (values < LEAST_REDUNDANCY_LISTED)
    known = measure.space.modes is None and measure.space.flow is None  # else distances are paths through the whole
    for atom in np.argsort(-np.round(values, 12), kind="stable"):
        if not most:
            return
        if covered[atom]:
            continue
        most -= 1
        if not known:
            yield Group(int(atom), float(values[atom]), 1, None, math.nan)
            continue
        distances = _distances(measure, int(atom))
        near = distances <= radius
        distances[atom] = np.inf
        nearest = int(np.argmin(distances))
        yield Group(int(atom), float(values[atom]), int(near.sum()), nearest, float(distances[nearest]))
        covered |= near


def _distances(measure: Measure, atom: int) -> FloatArray:
    """Distances of all atoms from one, in degrees on angular spaces."""
    points, one = measure.points, measure.points[atom : atom + 1]
    size = max(1, 2**20 // points.shape[1])
    parts = map_rows(lambda rows: measure.space.distance(one, points[rows]).reshape(-1), len(points), size)
    found = np.concatenate(parts)
    return np.degrees(found) if measure.space.angular else found


def _places(table: Table, found: Found) -> Callable[[int], str]:
    """Where an atom is in the file: its line or its row."""
    place = table.places()

    def words(atom: int) -> str:
        where = place(int(found.rows[atom]))
        return where.removeprefix(table.source).removesuffix(" (counted from 0)").strip()

    return words


def _in_words(found: Found, place: Callable[[int], str]) -> str:
    measure, values, unit = found.measure, found.values, " deg" if found.measure.space.angular else ""
    own = values[measure.weights > 0]
    words = f"{measure.n:,} rows make {plain(found.gess)} distinguishable ones at {found.scale}."
    if not found.groups:
        return f"{words} None of them says what another says too."
    half, most = int((own > 0.5).sum()), int((own > 0.9).sum())
    words += f" {half:,} of them have a redundancy above 0.5, {most:,} above 0.9."
    name = [] if measure.known.labels is None else ["name"]
    if found.groups[0].nearest is None:
        rows = [["row", *name, "redundancy"]]
        rows += [[*_called(found, group.atom, place), f"{group.redundancy:.4f}"] for group in found.groups]
        return f"{words}\n\n{columns(rows, left=1 + len(name))}"
    within = f"{found.radius:.3g}{unit}"
    head = ["row", *name, "nearest", *(f"its {word}" for word in name)]
    rows = [[*head, "distance", f"rows within {within}", "redundancy"]]
    for group in found.groups:
        cells = [*_called(found, group.atom, place), *_called(found, group.nearest or 0, place)]
        distance = "0" if group.distance == 0 else f"{number(group.distance)}{unit}"
        rows.append([*cells, distance, f"{group.within:,}", f"{group.redundancy:.4f}"])
    table = columns(rows, left=len(head))
    return f"{words}\n\n{table}\n\nOf rows nearer to each other than {within} the most redundant one is shown."


def _called(found: Found, atom: int, place: Callable[[int], str]) -> list[str]:
    name = " ".join(found.name(atom).split())
    shown = name if len(name) <= MOST_CHARACTERS_OF_NAME else f"{name[: MOST_CHARACTERS_OF_NAME - 3]}..."
    return [place(atom), *([] if found.measure.known.labels is None else [shown])]


def _csv(found: Found) -> str:
    """Every row, in the order of the file: its number, its name, weight and redundancy."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    named = found.measure.known.labels is not None
    writer.writerow(["row", *(["name"] if named else []), "weight", "redundancy"])
    for atom, row in enumerate(found.rows.tolist()):
        numbers = (repr(float(array[atom])) for array in (found.measure.weights, found.values))
        writer.writerow([row, *([found.name(atom)] if named else []), *numbers])
    return text.getvalue()


def _json(found: Found) -> str:
    """The same as columns, and the groups that are printed."""
    rows, measure = found.rows.tolist(), found.measure
    groups = [
        {
            "row": rows[group.atom],
            "name": found.name(group.atom),
            "redundancy": group.redundancy,
            "rows_within": group.within,
            "nearest": None if group.nearest is None else rows[group.nearest],
            "distance": None if group.nearest is None else group.distance,
        }
        for group in found.groups
    ]
    content = {
        "schema": SCHEMA,
        "n": measure.n,
        "gess": found.gess,
        "space": repr(measure.space),
        "time": found.time,
        "resolution": found.radius,
        "rows": rows,
        "redundancy": found.values.tolist(),
        "groups": groups,
    }
    return json.dumps(content)
