"""Reports: one self-contained HTML file about one or several measures.

report      writes the page
content     the data of the page; views, pictures, mass, quantities, words and methods make its parts
page        puts data, style and scripts together
static      pictures for readers without scripts
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..answers.profile_and_gess import heat_profile
from ..base.arrays import one_of
from ..base.errors import CalibrationWarning, InputError, InputTypeError, message_of, warn
from ..base.files import AnyPath, atomic_path
from ..base.messages import Message, shown
from ..base.progress import told
from ..base.version import __version__
from ..inference.comparison import Comparison, affordable_draws, compare
from ..inference.mmd import in_one_frame
from ..measures.measure import Measure
from ..measures.scales import check_rtol
from ..profiles.default_scales import common_scales
from ..profiles.heat_profile import HeatProfile
from .content import entry_of, report_data
from .landmarks import with_round_scales
from .mass import Asked, mass_of
from .static import static_figures


@told
def report(
    measures: Any,
    path: AnyPath,
    *,
    angles: ArrayLike | None = None,
    times: ArrayLike | None = None,
    resolutions: ArrayLike | None = None,
    names: str | Sequence[str] | None = None,
    title: str | None = None,
    weights_are: str | None = None,
    provenance: Mapping[str, str] | None = None,
    rtol: float = 1e-8,
    rng: np.random.Generator | int | None = None,
    progress: bool = False,
) -> Path:
    """Write a report on one or several measures: one HTML file that needs no network and no other file.

    It shows the verdict in words, the curves of the profile, the points and their smoothed density as they are seen at
    each scale, the power spectrum, single points, tables, methods and caveats. Two measures are tested for a
    difference. What is not defined on a space, or would take long, is left out, and the page says why.

    Parameters
    ----------
    measures : Measure, points, HeatProfile, or a list or mapping of them
        What to report: a `Measure`, points as `heat_profile` takes them, or a profile alone, of which there are curves
        but no picture. A list or a mapping of names to measures is compared, all on the same space.
    path : str or path
        The file to write. It is replaced in one step when everything is ready.
    names : str or sequence of str, optional
        What the measures are called. Default: the keys of a mapping, the files that they were read from, or A, B, ...
    title : str, optional
        The title of the page. Default: the names.
    angles, times, resolutions
        As for `heat_profile`.
    weights_are : {"fixed", "importance"}, optional
        Where weights come from, as for `population_profile`.
    rtol : float
        Relative accuracy wanted of gESS.
    rng : Generator or int, optional
        Randomness of the test of two measures.
    provenance : mapping, optional
        Labels and values to print at the end, for instance how the data were made.
    progress : bool
        Say on stderr, after three seconds, for how long it has been at work.

    Returns
    -------
    Path
        The file that was written.

    Examples
    --------
    >>> import tempfile, heatess as he
    >>> cloud = he.samplers.tetrahedral(300, 140.0, rng=0)
    >>> path = he.report(he.Measure(cloud), Path(tempfile.mkdtemp()) / "cloud.html")
    >>> "4 modes between" in path.read_text(encoding="utf-8")
    True
    """
    check_rtol(rtol)
    if weights_are is not None:
        one_of(weights_are, "weights_are", ("fixed", "importance"))
    if title is not None and not isinstance(title, str):
        raise InputTypeError.unfit("title", "text", title)
    target, printed = _checked_path(path), _checked_provenance(provenance)
    items, called = _named(measures, names)
    with _kept_warnings() as heard:
        items = _in_one_frame(items, called)
        profiles, comparison, why = _computed(items, called, (angles, times, resolutions), weights_are, rtol, rng)
    parts = [item if isinstance(item, Measure) else None for item in items]
    text = page_of(
        dict(zip(called, zip(profiles, parts, strict=True), strict=True)),
        title=title,
        comparison=comparison,
        no_comparison=why,
        weights_are=weights_are,
        rtol=rtol,
        notes=heard,
        provenance={"Version": f"heatess {__version__}"} | printed,
    )
    with atomic_path(target) as draft:
        draft.write_text(text, encoding="utf-8", errors="replace")
    return target


def page_of(
    profiled: Mapping[str, tuple[HeatProfile, Measure | None]],
    *,
    title: str | None = None,
    comparison: Comparison | None = None,
    no_comparison: str = "",
    weights_are: str | None = None,
    rtol: float = 1e-8,
    notes: Sequence[str] = (),
    provenance: Mapping[str, str] | None = None,
    spelled: Callable[[str], str] = str,
    asked: Asked | None = None,
) -> str:
    """The page of a report on profiles that are known already, by the names of their measures.

    *notes* are warnings that are shown with those that computing the page gives. Warnings and reasons of the library
    are *spelled* for the reader, who may have typed options. The density that was *asked* for is that of one measure.
    """
    from .page import render

    if comparison is not None and comparison.no_test:
        comparison = replace(comparison, no_test=Message(spelled(comparison.no_test)))
    with _kept_warnings() as heard:
        profiles = _at_round_scales(profiled, comparison, rtol)
        entries = [
            entry_of(name, profile, part, weights_are, rtol)
            for profile, (name, (_, part)) in zip(profiles, profiled.items(), strict=True)
        ]
        for entry in entries:
            if entry.measure is not None:
                entry.smoothed = mass_of(entry.measure, asked or Asked(), rtol, entry.reasons, spelled)
        data = report_data(
            entries,
            title=title or " and ".join(profiled),
            comparison=comparison,
            no_comparison=no_comparison,
            weights_are=weights_are,
            notes=lambda: [*notes, *(text for text in map(spelled, heard) if text not in notes)],
            provenance=list((provenance or {}).items()),
            spelled=spelled,
        )
    return render(data, static=static_figures(data))


def _at_round_scales(
    profiled: Mapping[str, tuple[HeatProfile, Measure | None]], comparison: Comparison | None, rtol: float
) -> tuple[HeatProfile, ...]:
    """The profiles, with round scales among theirs and that of the verdict on two."""
    about = {"" if part is None else part.about for _, part in profiled.values()}
    exact = None
    if comparison is not None and comparison.test is not None:
        exact = float(comparison.test.times[comparison.test.clearest])
    profiles, measures = zip(*profiled.values(), strict=True)
    return with_round_scales(profiles, measures, about.pop() if len(about) == 1 else "", exact, rtol)


def _computed(
    items: list[Measure | HeatProfile],
    names: list[str],
    scales: tuple[Any, Any, Any],
    weights_are: str | None,
    rtol: float,
    rng: Any,
) -> tuple[list[HeatProfile], Comparison | None, str]:
    """Profiles at common scales, and the test of two measures, or why there is none."""
    given = dict(zip(("angles", "times", "resolutions"), scales, strict=True))
    measures = [item for item in items if isinstance(item, Measure)]
    ready = [item for item in items if isinstance(item, HeatProfile)]
    spaces = [item.space for item in items]
    for name, space in zip(names, spaces, strict=True):
        if space != spaces[0]:
            raise InputError(f"{name} is on <!{space!r}!>, but {names[0]} on <+{spaces[0]!r}+>; report like with like")
    asked = [name for name, value in given.items() if value is not None]
    if ready:
        if asked:
            raise InputError(f"a HeatProfile has scales of its own; leave out `{asked[0]}=`, or give measures")
        if any(len(p.times) != len(ready[0].times) or not np.allclose(p.times, ready[0].times) for p in ready):
            raise InputError(
                "profiles in one report must have <+the same scales+>; call `heat_profile` with the same `angles=`"
            )
        given = {"times": ready[0].times}
    elif not asked:
        given = {"times": common_scales(measures, rtol).times}
    profiles = [item if isinstance(item, HeatProfile) else heat_profile(item, rtol=rtol, **given) for item in items]
    if len(measures) != 2 or len(items) != 2:
        return profiles, None, "it is made of two measures" if len(items) > 1 else ""
    total = sum(measure.n for measure in measures)
    draws = affordable_draws(total)
    if not draws:
        return profiles, None, f"{total:,} points are many to resample; heatess.two_sample_test does it with draws=99"
    how: dict[str, Any] = {"draws": draws, "rng": rng, "rtol": rtol, "weights_are": weights_are}
    own = {name: given[name] for name in asked}
    try:
        return profiles, compare(measures[0], measures[1], names=(names[0], names[1]), **own, **how), ""
    except InputError as error:
        return profiles, None, error.message


def _named(measures: Any, names: Any) -> tuple[list[Measure | HeatProfile], list[str]]:
    """Measures or profiles, and what each is called."""
    several = isinstance(measures, Mapping) and not hasattr(measures, "columns")
    several = several and all(isinstance(value, Measure | HeatProfile) for value in measures.values())
    if several:
        items = list(measures.values())
        names = list(measures) if names is None else names
    elif isinstance(measures, list | tuple) and any(isinstance(item, Measure | HeatProfile) for item in measures):
        items = list(measures)
    else:
        items = [measures]
    if not items:
        raise InputError("there is <!nothing!> to report; give <+a measure or several+>")
    found = [item if isinstance(item, Measure | HeatProfile) else Measure.of(item) for item in items]
    if isinstance(names, str):
        names = [names]
    if names is None:
        called = [_own_name(item, place, len(found)) for place, item in enumerate(found)]
    else:
        called = list(names) if isinstance(names, Sequence) else []
    if len(called) != len(found) or not all(isinstance(name, str) and name.strip() for name in called):
        raise InputError.unfit("names", f"{len(found)}, one for each measure and none empty", names, verb="are")
    if len(set(called)) < len(called):
        if names is not None:
            raise InputError(f"names must <+differ+>, but are <!{shown(names)}!>")
        called = [f"{name} ({letter(place)})" for place, name in enumerate(called)]
    return found, called


def _checked_provenance(provenance: Any) -> dict[str, str]:
    if provenance is None:
        return {}
    texts = isinstance(provenance, Mapping) and all(
        isinstance(word, str) for pair in provenance.items() for word in pair
    )
    if not texts:
        raise InputTypeError.unfit("provenance", "a dict of labels and values, both text", provenance)
    return dict(provenance)


def _in_one_frame(items: list[Measure | HeatProfile], names: list[str]) -> list[Measure | HeatProfile]:
    """Measures in the frame of the first one; profiles do not depend on it."""
    found = [(item, name) for item, name in zip(items, names, strict=True) if isinstance(item, Measure)]
    turned = iter(in_one_frame(*zip(*found, strict=True))) if found else iter(())
    return [next(turned) if isinstance(item, Measure) else item for item in items]


def _own_name(item: Measure | HeatProfile, place: int, count: int) -> str:
    origin = item.origin if isinstance(item, Measure) else None
    if origin is not None and origin.source:
        return Path(origin.source).name or origin.source
    return letter(place) if count > 1 else "Heat profile"


def letter(place: int) -> str:
    """A, B, C, ..., Z, A1, B1, ..."""
    return chr(ord("A") + place % 26) + (str(place // 26) if place >= 26 else "")


def _checked_path(path: Any) -> Path:
    try:
        target = Path(path)
    except TypeError:
        raise InputTypeError.unfit("path", "the name of a file, a str or a path", path) from None
    if target.is_dir():
        raise InputError(f"{target} is <!a directory!>; name <+a file+> in it, such as {target / 'report.html'}")
    if target.suffix.lower() not in (".html", ".htm"):
        raise InputError(f"a report is <+an HTML file+>, but <!{target.name}!> does not end in .html; name it so")
    if not target.parent.exists():
        raise InputError(f"the directory {target.parent} does not exist; make it first, or choose another")
    return target


@contextmanager
def _kept_warnings() -> Iterator[list[str]]:
    """Collect the warnings of this block for the page, and give them again at its end."""
    kept: list[str] = []

    def keep(message: Warning | str, category: type[Warning], *rest: Any, **more: Any) -> None:
        text = message_of(message) if isinstance(message, Warning) else message
        if text not in kept:
            kept.append(text)
            caught.append((text, category))

    caught: list[tuple[str, type[Warning]]] = []
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = keep
        yield kept
    for text, category in caught:
        if not issubclass(category, CalibrationWarning):  # of bands, which the page alone has
            warn(text, category)
