"""A warning where MMD^2 is small beyond what floating-point sums can tell."""

from __future__ import annotations

import warnings

import numpy as np

from ..errors import PrecisionWarning
from ..spaces.base import FloatArray

#: Uncertainty of mmd2 that is worth a warning.
MMD2_TOLERANCE = 1e-4


def warn_of_mmd2(
    times: FloatArray, uncertain: FloatArray, log_mmd2: FloatArray, rtol: float, *, stacklevel: int = 6
) -> None:
    """Say so where *uncertain*, a bound on the relative error of mmd2, is more than it should be."""
    bad = uncertain > max(rtol, MMD2_TOLERANCE)
    if bad.any():
        worst = int(np.argmax(uncertain))
        warnings.warn(
            f"mmd2 (and divergence) may be off by {min(float(uncertain[worst]), 1.0):.0e} relatively at "
            f"{int(bad.sum())} of {len(times)} scales, worst at time {times[worst]:.3g}, where it is "
            f"{np.exp(log_mmd2[worst]):.0e}: this cloud is more balanced than floating-point sums can certify; gess is "
            "not affected",
            PrecisionWarning,
            stacklevel=stacklevel,
        )
