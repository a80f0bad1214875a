"""
How much of the earth shakes in a month?
========================================

Earthquakes lie along the edges of plates. Over which part of the earth are the quakes of April 2024 spread, and in how
many regions? And if each quake counts by the energy that it set free: how many quakes really mattered?

Data: USGS earthquake catalogue, April 2024 (public domain), from the package hvsampledata.
"""

# %%
# Energy grows by a factor of 32 for each unit of magnitude, so log-weights are safe: no number can overflow.

from importlib.util import find_spec
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import heatess as he

package = Path(find_spec("hvsampledata").submodule_search_locations[0])
table = pd.read_csv(package / "_data" / "earthquakes.csv")
quakes = he.read(table)
energy = he.Measure(quakes.points, log_weights=1.5 * np.log(10) * table["mag"])
print(quakes, energy, sep="\n")

# %%
# Equal weights count events; energy weights count joules. The dots of the map have the size of the energy.

fig = plt.figure(figsize=(7, 7.2), layout="constrained")
above, below = fig.add_gridspec(2, 1, height_ratios=(1.1, 1))
sky = fig.add_subplot(above, projection="mollweide")
he.plot.sky(quakes, angle=8, ax=sky)
sky.set_title("quakes of April 2024, smoothed at 8 degrees")
curves = fig.add_subplot(below)
he.plot.compare({"each quake once": quakes, "by energy": energy}, curves, angles=np.geomspace(0.5, 90, 25))
plt.show()

# %%
# The catalogue is one sample of what the earth does. `places` and `volume` of the *law* behind it come with 95 % bands,
# for independent quakes; aftershocks are not independent, so true bands are wider.

law = he.population_profile(quakes, angles=[5, 10, 20])
for angle, share, low, high in zip(law.angles, law.volume, law.volume.lower, law.volume.upper, strict=True):
    print(f"{angle:3.0f} deg: {100 * share:5.1f} % of the earth ({100 * low:.1f} to {100 * high:.1f} %)")

# %%
# The answer:

regions, heavy = (he.gess(measure, angle=5) for measure in (quakes, energy))
print(f"{quakes.n} quakes are {regions:.0f} regions at 5 degrees and fill {100 * law.volume.estimate[0]:.0f} % of the earth;")
print(f"by energy they count as {energy.ess:.1f} quakes in {heavy:.1f} regions.")
