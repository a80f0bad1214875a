"""
Where do nine of ten quakes strike?
===================================

A list of earthquakes is a sample of where they strike. How finely may it be smoothed to a map, and how large is the
region in which nine of ten of the next ones are to be expected?

Data: USGS earthquake catalogue (public domain), 596 quakes of magnitude 4 and more, from the package hvsampledata.
"""

# %%
# The scale is chosen by cross-validation. Quakes are in the order of their times, so we say that they are draws;
# aftershocks make them somewhat less than that.

from importlib.util import find_spec
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import heatess as he

table = pd.read_csv(Path(find_spec("hvsampledata").submodule_search_locations[0]) / "_data" / "earthquakes.csv")
quakes = he.read(table, kind="draws")
found = he.density(quakes)
print(found)

# %%
# The smallest region with 90 % of the density holds less of the quakes to come: quakes are dense along the trench and
# sparse elsewhere, and no one scale fits both. A calibrated region holds what it promises. Each quake is left out in
# turn to find that.

plain, calibrated = found.region(0.9), found.region(0.9, calibrated=True)
for name, region in (("of the density", plain), ("calibrated", calibrated)):
    area, error = region.area_in("km2") / 1e6, region.area_error / region.area
    print(f"{name}: {area:.2f} million km^2, uncertain by {100 * error:.0f} %, holds {100 * region.held:.0f} %")

# %%
# Half of the quakes, by turns, as a check: the region of one half holds this much of the other.

half = he.density(quakes[::2]).region(0.9, calibrated=True)
print(f"the region of every second quake holds {100 * half.contains(quakes[1::2]).mean():.0f} % of the others")

# %%
# Both, on a grid of a tenth of a degree. `found.contours()` has the same edges as GeoJSON, which every map program
# reads.

lon, lat = np.meshgrid(np.arange(table["lon"].min() - 1, table["lon"].max() + 1, 0.1), np.arange(-14, 13, 0.1))
where = he.from_lonlat(lon.ravel(), lat.ravel(), units="deg")
fig, axes = plt.subplots(1, 2, figsize=(10, 5.2), layout="constrained", sharex=True, sharey=True)
for ax, region, name in zip(axes, (plain, calibrated), ("the density", "calibrated"), strict=True):
    ax.contourf(lon, lat, region.contains(where).reshape(lon.shape), [0.5, 1.5], colors=[he.plot.COLORS[1]], alpha=0.5)
    ax.scatter(table["lon"], table["lat"], s=3, color="black")
    ax.set(xlabel="longitude (degrees)", aspect="equal", title=f"{name}: holds {100 * region.held:.0f} % of quakes")
axes[0].set_ylabel("latitude (degrees)")
plt.show()

# %%
# The answer:

print(f"Nine of ten strike in {calibrated.area_in('km2') / 1e6:.2f} million square kilometres.")
