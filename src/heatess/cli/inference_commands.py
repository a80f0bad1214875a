"""The work of `heatess test`, `thin` and `modes`, and what `profile --band` and `compare` add to profiles."""

from __future__ import annotations

import csv
import io
import math
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click
import numpy as np

from ..base.errors import FrameWarning, InputError, KindError
from ..base.files import atomic_path
from ..base.text import columns
from ..drawing import axes
from ..inference.comparison import Comparison, affordable_draws, compare
from ..inference.modes import modes as modes_of
from ..inference.policy import SIGNIFICANT
from ..inference.population import PopulationProfile, population_profile
from ..inference.thinning import Thinned
from ..inference.thinning import thin as thinned
from ..inference.uniform_null import claimed
from ..inference.uniformity import UniformityTest, uniformity_test
from ..measures.measure import Measure
from ..profiles.heat_profile import HeatProfile
from ..readers import open_table, title_of
from ..tables.column_meaning import Reading
from .inputs import measure_of, reading_of, shows_progress, warnings_printed
from .kilometres import on_earth
from .messages import typed
from .options import STDOUT, refuse_together, scale_given, usage
from .profile_output import Options, check, keep_apart, note, save, scales_of, writing
from .row_files import all_rows, kept_rows
from .screen import echo
from .text import number, shown_rows


def test(file: str, options: Options) -> None:
    """Test for uniformity, print and save what was found."""
    check([file], options)
    statistic, given = options["statistic"], [name for name in ("angles", "times", "resolutions") if options[name]]
    if statistic and given:
        raise usage(f"a classical statistic has no scale; give --statistic or --{given[0]}, not both")
    measure = measure_of(file, options)
    options = on_earth(options, measure)
    kind, grid = scales_of(options, measure.space)
    scales: dict[str, Any] = {} if grid is None or statistic else {f"{kind}s": grid}
    with warnings_printed():
        found = uniformity_test(
            measure,
            **scales,
            statistic=statistic,
            weights_are=options["weights_are"],
            draws=options["draws"],
            rng=options["seed"],
            progress=shows_progress(options),
        )
    if options["json_file"] == STDOUT:
        click.echo(found.to_json())
    elif options["csv_file"] == STDOUT:
        click.echo(_csv(found), nl=False)
    else:
        echo(_test_in_words(found), strong=True)
    writers = {
        "json_file": lambda draft: draft.write_text(found.to_json() + "\n", encoding="utf-8"),
        "csv_file": lambda draft: draft.write_text(_csv(found), encoding="utf-8"),
        "plot_file": lambda draft: _drawn(found, title_of(file), draft),
    }
    save(writers, options)


def _how(options: Options) -> dict[str, Any]:
    return {"rtol": options["rtol"], "progress": shows_progress(options)}


def _p(pvalue: float) -> str:
    """A p-value in a table: "0.012", or "< 1e-6"."""
    return claimed(pvalue).removeprefix("p ").removeprefix("= ")


def _test_in_words(found: UniformityTest) -> str:
    """A sentence, a table of scales and one of low degrees."""
    draws = f"by {found.draws:,} draws of uniform points with these weights"
    how = {"limit": "by the limit for many points", "monte carlo": draws}
    blocks = f"{found.blocks:,} blocks of draws" if found.blocks else "the points"
    by = how.get(found.method, f"by {found.draws:,} random signs of {blocks}")
    aimed = found.weights_are == "importance"
    subject = "the distribution that the importance weights aim at" if aimed else "the points"
    if found.pvalue > SIGNIFICANT:
        verdict = f"No departure of {subject} from uniform was found"
        end = "; that is not proof that there is none."
    else:
        verdict, end = f"{subject[0].upper()}{subject[1:]} {'is' if aimed else 'are'} not uniform", "."
    sentence = f"{verdict}: {found.pvalue_in_words()} {by}{end}"
    if found.name != "heat":
        row = [found.name, number(found.statistic), number(float(found.expected[0]))]
        return f"{sentence}\n\n{columns([['statistic', 'value', 'if uniform'], row], left=1)}"
    unit = "deg" if found.space.angular else ""
    name = "angle" if unit else "distance"
    rows = [[name, "resolution", "statistic", "if uniform", "p"], [unit, unit, "", "mean", ""]]
    for k in range(len(found.times)):
        values = (found.angles[k], found.resolutions[k], found.statistics[k], found.expected[k])
        rows.append([*(number(float(value)) for value in values), _p(found.pvalues[k])])
    text = f"{sentence}\n\n{columns(rows)}"
    low = found.degrees
    if len(low.degrees):
        table = [["degree", "statistic", "if uniform", "p"]]
        for degree, count, value, p in zip(*low, strict=True):
            table.append([str(degree), number(float(value)), number(float(count)), _p(p)])
        text += f"\n\n{columns(table)}"
    return text


def _csv(found: UniformityTest) -> str:
    return _rows_csv(list(found.columns), [np.asarray(getattr(found, name)).tolist() for name in found.columns])


def _rows_csv(names: Sequence[str], values: Sequence[Sequence[Any]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(names)
    for row in zip(*values, strict=True):
        writer.writerow(["" if isinstance(value, float) and math.isnan(value) else repr(value) for value in row])
    return text.getvalue()


def _drawn(found: Any, title: str, draft: Path) -> None:
    ax = found.plot()
    ax.set_title(title, parse_math=False)
    axes.save(ax, draft)


def thin(file: str, options: Options) -> None:
    """Keep some points, write them with their new weights, and say what that changes."""
    refuse_together(options, ("quiet", "verbose"), ("size", "error"))
    out: Path = options["out"]
    if not options["size"] and not options["error"]:
        raise usage("say how far to go: --size N points, or --error X, the share by which gESS may change")
    scale_given(options, "say at which scale nothing must change")
    keep_apart([file], options)
    table = open_table(file)
    measure = measure_of(table, options)
    options = on_earth(options, measure)
    scale = scale_given(options)
    with warnings_printed():
        found = thinned(measure, size=options["size"], error=options["error"], **scale, **_how(options))
    kept = kept_rows(table, measure, found, Reading(**reading_of(options)))
    with writing(out), atomic_path(out, replace=options["force"]) as draft:
        words = kept.write(draft, out.suffix.lower())
    echo(f"{_thinned_in_words(found)}\nwrote {out}: {words}", strong=True)


def modes(file: str, options: Options) -> None:
    """Find the modes, print them, and write the mode of every row."""
    refuse_together(options, ("quiet", "verbose"))
    out: Path | None = options["out"]
    keep_apart([file], options)
    table = open_table(file)
    measure = measure_of(table, options)
    with warnings_printed():
        found = modes_of(measure, progress=shows_progress(options))
    text, words = all_rows(table, measure, Reading(**reading_of(options))).labelled(found)
    if out == STDOUT:
        click.echo(text, nl=False)
        return
    unit = " deg" if found.space.angular else ""
    rows = [["mode", "rows", "share", "came apart at"]]
    counts = np.bincount(found.labels, minlength=found.count).tolist()
    for mode, (count, share, scale) in enumerate(zip(counts, found.shares, found.scales, strict=True)):
        apart = f"{number(float(scale))}{unit}" if math.isfinite(scale) else "-"
        rows.append([str(mode), f"{count:,}", f"{100 * share:.3g} %", apart])
    what = "1 mode" if found.count == 1 else f"{found.count} modes"
    echo(f"{found.n:,} points in {what}.\n\n{columns(rows)}", strong=True)
    if out is not None:
        with writing(out), atomic_path(out, replace=options["force"]) as draft:
            draft.write_text(text, encoding="utf-8", newline="")
        echo(f"\nwrote {out}: {words}")


def _thinned_in_words(found: Thinned) -> str:
    return repr(found).partition(": ")[2].removesuffix(")") + "."


def banded(measure: Measure, profile: HeatProfile, options: Options) -> PopulationProfile | None:
    """The distribution behind the sample, at the scales of a profile; None, with a note, for what is no sample."""
    how = {"weights_are": options["weights_are"], **_how(options)}
    try:
        with warnings_printed():
            return population_profile(measure, times=profile.times, **how)
    except KindError as error:
        note(options, f"no bands: {typed(error)}")
        return None


def band_table(profile: HeatProfile, found: PopulationProfile) -> str:
    """Places and volume of the distribution at the scales of the table, with the ends of their bands."""
    level = f"{100 * found.level:g} %"
    unit = "deg" if found.space.angular else ""
    rows = [["angle" if unit else "distance", "places", "from", "to"], [unit, "", level, level]]
    quantities = [(found.places, found.possible_places(), 1.0)]
    if found.space.compact:
        rows[0] += ["volume", "from", "to"]
        rows[1] += ["%", level, level]
        quantities.append((found.volume, found.volume.estimate, 100.0))
    for row in shown_rows(profile):
        cells = [number(float(found.angles[row]))]
        for band, estimate, factor in quantities:
            cells += [number(factor * float(part[row])) for part in (estimate, band.lower, band.upper)]
        rows.append(cells)
    head = "The distribution behind the sample, for independent draws"
    if found.withheld is not None:
        head += f" (no bands: {typed(found.withheld)})"
    text = f"{head}:\n\n{columns(rows)}"
    if math.isfinite(found.resolution_limit):
        at = f"{found.resolution_limit:.3g}{f' {unit}' if unit else ''}"
        text += f"\n\nBelow {at} you have too few points: there gESS counts the points themselves."
    return text


def compared(measures: Mapping[str, Measure], options: Options, scales: dict[str, Any]) -> Comparison | None:
    """The test of two files; None, with a note, where there is none."""
    (one, a), (other, b) = measures.items()
    total = a.n + b.n
    draws = options["draws"]
    if draws is None:
        draws = affordable_draws(total)
        if not draws:
            note(options, f"{total:,} points are many to resample, so the two are not tested; --draws 99 does it")
    if not draws:
        return None
    how = {"weights_are": options["weights_are"], "draws": draws, "rng": options["seed"], "rtol": options["rtol"]}
    try:
        with warnings_printed():
            warnings.simplefilter("ignore", FrameWarning)  # which was printed before the profiles
            found = compare(a, b, names=(one, other), **scales, **how, progress=shows_progress(options))
    except InputError as error:
        note(options, f"no p-value: {typed(error)}")
        return None
    if found.no_test:
        note(options, f"no p-value: {typed(found.no_test)}")
    return found


def in_a_sentence(found: Comparison) -> str:
    """The verdict with a capital letter and a full stop; names of files stay as they are."""
    words = found.verdict
    return f"{'No ' + words.removeprefix('no ') if words.startswith('no ') else words}."
