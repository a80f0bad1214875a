"""What `frame.heatess` can do once `heatess.pandas` or `heatess.polars` is imported."""

from __future__ import annotations

from typing import Any

from ..answers.profile_and_gess import gess, heat_profile
from ..measures.measure import Measure
from ..profiles.heat_profile import HeatProfile
from ..readers import read


class FrameMethods:
    """heatess on the points in a data frame; further arguments of each method are those of `read`: columns, weights."""

    def __init__(self, frame: Any) -> None:
        self._frame = frame

    def measure(self, **reading: Any) -> Measure:
        """The points and weights in the frame, as `read` takes them."""
        return read(self._frame, **reading)

    def profile(self, *, angles: Any = None, times: Any = None, resolutions: Any = None, **reading: Any) -> HeatProfile:
        """`heat_profile` of the points in the frame."""
        return heat_profile(self.measure(**reading), angles=angles, times=times, resolutions=resolutions)

    def gess(self, *, angle: Any = None, time: Any = None, resolution: Any = None, **reading: Any) -> float:
        """`gess` of the points in the frame."""
        return gess(self.measure(**reading), angle=angle, time=time, resolution=resolution)
