"""Import this to get `frame.heatess` for pandas.

>>> import pandas as pd
>>> import heatess.pandas
>>> frame = pd.DataFrame({"lon": [2.35, -0.13, 139.69], "lat": [48.86, 51.51, 35.69], "people": [2.1, 8.9, 14.2]})
>>> round(frame.heatess.gess(angle=20, weights="people"), 3)
1.974
>>> frame.heatess.profile(angles=[1, 20]).gess.round(3)
array([3.   , 1.817])
"""

from __future__ import annotations

from .answers.frame_methods import FrameMethods
from .base.errors import importing

with importing("pandas", "table"):
    import pandas

pandas.api.extensions.register_dataframe_accessor("heatess")(FrameMethods)
