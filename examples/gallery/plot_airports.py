"""
How few airports can stand for all of them?
===========================================

A simulation needs the airports of the world, but 28,000 are too many. Which few, with which weights, give the same
picture at 10 degrees and coarser, and how wrong can the picture be? ``thin`` chooses them and says how sure that is.

Data: the package airportsdata (MIT licence).
"""

# %%
# Read the table of airports; longitude and latitude are found by the names of the columns.

from importlib.util import find_spec
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import heatess as he

airports = he.read(Path(find_spec("airportsdata").submodule_search_locations[0]) / "airports.csv")
print(airports)

# %%
# Choose airports and weights so that gESS changes by less than 2 % at 10 degrees. That is a certificate, not an
# estimate, and it holds at every coarser angle too.

few = he.thin(airports, error=0.02, angle=10)
print(few)

# %%
# Random choice of as many airports, for comparison: each with the same weight.

rng = np.random.default_rng(0)
random = airports.points[rng.choice(airports.n, few.size, replace=False)]
distances = [float(he.mmd(airports, other, angles=[10])[0]) for other in (few.measure, random)]
print(f"distance (MMD) to all airports: thinned {distances[0]:.3f}, chosen at random {distances[1]:.3f}")

# %%
# Above: all airports. Below: the chosen ones; the area of a dot is its weight.

fig, axes = plt.subplots(2, 1, figsize=(7, 7.6), subplot_kw={"projection": "mollweide"}, layout="constrained")
he.plot.sky(airports, angle=10, ax=axes[0], atoms=False)
axes[0].set_title(f"all {airports.n:,} airports, smoothed at 10 degrees")
he.plot.sky(few.measure, angle=10, ax=axes[1], atoms=False)
x, y, z = few.measure.points.T
axes[1].scatter(np.arctan2(y, x), np.arcsin(z), s=1200 * few.weights, color="white", edgecolor="black", linewidth=0.4)
axes[1].set_title(f"{few.size} airports with new weights")
plt.show()

# %%
# The answer:

before, after = (he.gess(measure, angle=10) for measure in (airports, few.measure))
print(f"{few.size} of {airports.n:,} airports are enough: gESS at 10 degrees is {after:.2f} in place of {before:.2f},")
print(f"and cannot differ by more than {100 * np.expm1(few.bound):.1f} % at 10 degrees or any coarser angle.")
