"""Whole HEALPix maps, held as arrays, as measures."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..base.arrays import numeric_array, one_of
from ..base.astropy_quantities import has_unit
from ..base.errors import InputError, importing
from ..measures.measure import Measure
from ..tables.column_meaning import Reading
from ..tables.healpix import is_unseen, whole_map
from ..tables.points_and_weights import take


def from_healpix(values: Any, *, order: str, frame: str | None = None) -> Measure:
    """The pixels of a HEALPix map as weighted unit vectors to their centres.

    All pixels of a map have one area, so that probabilities, probability densities and counts give the same measure.

    Parameters
    ----------
    values : array-like, shape (12 nside^2,)
        One number per pixel, not negative; nside follows from their number. Pixels without data, nan or UNSEEN, are
        left out and counted in `origin`, as in files.
    order : {"ring", "nested"}
        How pixels are numbered; never guessed. healpy's default is "ring".
    frame : {"icrs", "galactic", "ecliptic", "geographic"}, optional
        The frame of the map, which an array does not tell.

    See Also
    --------
    read : maps in FITS files; and multi-order maps with columns UNIQ and PROBDENSITY, in a file or as a table, which
        every function takes in place of points.

    Examples
    --------
    Twelve pixels, of which two opposite ones hold everything:

    >>> import heatess as he
    >>> sky = he.from_healpix([3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0], order="ring")
    >>> sky
    Measure(Sphere(2), n=12, ess=1.6: cells of 58.6 degrees)
    >>> round(he.gess(sky, angle=60), 3)
    1.599
    """
    one_of(order, "order", ("ring", "nested"), "say which, it is never guessed")
    with importing("astropy-healpix", "sky"):
        import astropy_healpix  # noqa: F401
    if has_unit(values):
        values = np.asarray(getattr(values, "value", values))
    array = numeric_array(values, "values").astype(np.float64)
    if array.ndim != 1:
        raise InputError.misshapen("values", "(12 nside^2,)", array.shape, "give one map")
    bad = ((array < 0) & ~is_unseen(array)) | np.isinf(array)
    if bad.any():
        pixel, count = int(np.argmax(bad)), f"{int(bad.sum()):,} of {len(array):,} pixels"
        raise InputError(
            f"values must be <+finite and not negative+>, but pixel {pixel} is <!{array[pixel]:g}!> ({count}); if "
            "they are logarithms of probabilities, give `numpy.exp(values - values.max())`; if it stands for no data, "
            "make it nan",
            row=pixel,
        )
    return Measure.taken(next(take(whole_map("the map", array, order), Reading(frame=frame))))
