"""Plots of results, on a given Axes or on a new Figure: one of pyplot in notebooks and where windows are open."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .base import arrays
from .base.errors import InputError, InputTypeError
from .base.messages import shown
from .drawing import curves
from .drawing.axes import COLORS as COLORS
from .drawing.axes import DASHES as DASHES

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from .answers.spectrum import PowerSpectrum
    from .profiles.heat_profile import HeatProfile

__all__ = ["compare", "draw_profile", "draw_spectrum", "sky"]


def draw_profile(profile: HeatProfile, ax: Axes | None = None, *, quantity: str = "gess", **style: Any) -> Axes:
    """Draw one curve of a profile against the angle, or the resolution above ten dimensions, and return the Axes.

    Each curve on the same Axes gets its own colour and dashes. A gESS curve has two reference lines: ESS and n.

    Parameters
    ----------
    profile : HeatProfile
        The profile to draw.
    ax : matplotlib Axes, optional
        Where to draw. Default: a new Figure, which notebooks and `plt.show()` show.
    quantity : {"gess", "volume", "divergence", "mmd2", "dimension"}
        Which curve to draw.
    **style
        Passed to `Axes.plot`: label, color, linewidth and so on.

    Examples
    --------
    >>> import heatess as he
    >>> ax = he.plot.draw_profile(he.heat_profile(he.samplers.fibonacci(300)))
    >>> ax.get_xscale()
    'log'
    """
    from .profiles.heat_profile import HeatProfile

    arrays.refuse_others(profile, "profile", HeatProfile, "heat_profile")
    return curves.draw_profile(profile, ax, quantity=quantity, **style)


def draw_spectrum(spectrum: PowerSpectrum, ax: Axes | None = None, **style: Any) -> Axes:
    """Draw the energy per mode, B_l / N_l, against the degree l >= 1.

    The reference line is 1 / ESS, the value of equal independent uniform points at every degree. Levels without energy
    are marked at the bottom of the Axes. Parameters are as in `draw_profile`.

    >>> import heatess as he
    >>> ax = he.plot.draw_spectrum(he.power_spectrum(he.samplers.uniform(300, rng=0), max_degree=20))
    >>> ax.get_yscale()
    'log'
    """
    from .answers.spectrum import PowerSpectrum

    arrays.refuse_others(spectrum, "spectrum", PowerSpectrum, "power_spectrum")
    return curves.draw_spectrum(spectrum, ax, **style)


def sky(
    points: Any,
    weights: Any = None,
    *,
    angle: float | None = None,
    time: float | None = None,
    resolution: float | None = None,
    log_weights: Any = None,
    ax: Axes | None = None,
    atoms: bool = True,
) -> Axes:
    """Draw a cloud on the sphere S^2 as a map of the whole, smoothed at one scale, and return the Axes.

    The projection is Mollweide's, which keeps areas. Colours are the density over that of the uniform distribution, on
    a logarithmic scale. Of sky coordinates, as a Measure that was read from columns ra and dec has them, right
    ascension increases to the left.

    Parameters
    ----------
    points, weights, log_weights
        As for `heat_profile`, on the sphere S^2.
    angle, time, resolution : float, optional
        At most one of them: the scale. Default: 10 degrees.
    ax : matplotlib Axes, optional
        Where to draw: an Axes made with projection="mollweide". Default: one on a new Figure.
    atoms : bool
        Whether to draw points, at most 5,000 of them, as dots whose area is the weight.

    Examples
    --------
    >>> import heatess as he
    >>> ax = he.plot.sky(he.samplers.von_mises_fisher(500, [0, 0, 1], 10, rng=0), angle=15)
    >>> ax.name
    'mollweide'
    """
    from .densities.skymap import draw_sky
    from .measures.measure import Measure
    from .measures.scales import check_one_scale, resolve

    if angle is None and time is None and resolution is None:
        angle = 10.0
    check_one_scale(angle, time, resolution)
    measure = Measure.of(points, weights, log_weights=log_weights)
    return draw_sky(measure, resolve(measure.space, angle, time, resolution), ax, atoms=atoms)


def compare(
    items: Any, ax: Axes | None = None, *, names: Sequence[str] | None = None, quantity: str = "gess", **scales: Any
) -> Axes:
    """Draw one curve of several profiles or measures on one Axes, with a legend, and return the Axes.

    Parameters
    ----------
    items : mapping or sequence
        `HeatProfile` or `Measure` objects, or points as `heat_profile` takes them; a mapping has their names. Measures
        are profiled at scales that fit all of them.
    ax, quantity
        As in `draw_profile`.
    names : sequence of str, optional
        Names for the legend. Default: those of the mapping, or A, B, ...
    **scales
        angles, times or resolutions for measures, as for `heat_profile`.

    >>> import heatess as he
    >>> wide, narrow = (he.samplers.von_mises_fisher(200, [0, 0, 1], kappa, rng=0) for kappa in (2, 50))
    >>> ax = compare({"wide": wide, "narrow": narrow}, angles=[5, 10, 20, 40])
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['wide', 'narrow']
    """
    from .answers.profile_and_gess import heat_profile
    from .drawing.axes import new_axes
    from .measures.measure import Measure
    from .profiles.default_scales import common_scales
    from .profiles.heat_profile import HeatProfile

    if isinstance(items, Mapping):
        names, items = list(items) if names is None else names, list(items.values())
    if not isinstance(items, list | tuple) or not items:
        raise InputTypeError(f"give <+a list or a mapping of profiles or measures+>, but found <!{shown(items)}!>")
    letters = [chr(ord("A") + place % 26) for place in range(len(items))]
    called = letters if names is None else arrays.names_of(names, "curve", "names").tolist()
    if len(called) != len(items):
        raise InputError.unfit("names", f"{len(items)}, one for each curve", names, verb="are")
    items = [item if isinstance(item, HeatProfile) else Measure.of(item) for item in items]
    measures = [item for item in items if isinstance(item, Measure)]
    if any(item.space != items[0].space for item in items):
        raise InputError("curves on one Axes must be <+on one space+>; draw the others on an Axes of their own")
    if measures and not scales:
        scales = {"times": common_scales(measures).times}
    ax = new_axes(ax)
    for name, item in zip(called, items, strict=True):
        profile = item if isinstance(item, HeatProfile) else heat_profile(item, **scales)
        ax = draw_profile(profile, ax, quantity=quantity, label=str(name))
    ax.legend(frameon=False, fontsize="small")
    return ax
