"""
Do earthquakes prefer an hour of the day?
=========================================

Hours lie on a circle: 23:59 is close to 0:01. A test of uniformity on the circle asks whether quakes come at any hour
alike, without bins. Tides and temperature might say otherwise.

Data: USGS earthquake catalogue (public domain), 596 quakes between Java and the Philippines, from the package
hvsampledata.
"""

# %%
# The time of day as an angle: 15 degrees for each hour. Local solar time needs the longitude.

from importlib.util import find_spec
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import heatess as he

package = Path(find_spec("hvsampledata").submodule_search_locations[0])
table = pd.read_csv(package / "_data" / "earthquakes.csv", parse_dates=["time"])
universal = (table["time"] - table["time"].dt.normalize()).dt.total_seconds().to_numpy() / 3600
hours = (universal + table["lon"].to_numpy() / 15) % 24
day = he.Circle(units="deg")

# %%
# One p-value over all scales and over the degrees 1, 2, 3. Nothing is random: the distribution of the statistic is
# known. The classical tests of Rayleigh and Watson are there too.

test = he.uniformity_test(15 * hours, space=day)
print(test)
for name in ("rayleigh", "watson"):
    print(f"{name}: p = {he.uniformity_test(15 * hours, space=day, statistic=name).pvalue:.2f}")

# %%
# Would a preference have been seen? Move a tenth of the quakes to six o'clock in the morning, give or take an hour.

rng = np.random.default_rng(0)
moved = hours.copy()
moved[rng.choice(len(hours), len(hours) // 10, replace=False)] = rng.normal(6, 1, len(hours) // 10) % 24
print(f"with a tenth of the quakes moved: p = {he.uniformity_test(15 * moved, space=day).pvalue:.1g}")

# %%
# A clock with midnight at the top. The line is the density, smoothed by heat of 30 degrees (two hours).

fig, axes = plt.subplots(1, 2, figsize=(8, 4.2), subplot_kw={"projection": "polar"}, layout="constrained")
around = np.linspace(0, 360, 361)
for ax, name, shown in zip(axes, ("the quakes", "a tenth moved to 6:00"), (hours, moved), strict=True):
    density = he.potential(15 * shown, space=day, at=around, angle=30, kind="density")
    counts, edges = np.histogram(shown, bins=24, range=(0, 24))
    ax.bar(edges[:-1] * np.pi / 12, counts / counts.mean(), width=np.pi / 12, align="edge", color="#c9d8e6")
    ax.plot(np.radians(around), density, color=he.plot.COLORS[0], linewidth=2)
    ax.plot(np.radians(around), np.ones(361), color=he.plot.COLORS[1], linestyle="--", linewidth=1.2)
    ax.set(theta_zero_location="N", theta_direction=-1, yticks=[], xticks=np.arange(8) * np.pi / 4, title=name)
    ax.set_xticklabels([f"{hour}:00" for hour in range(0, 24, 3)])
plt.show()

# %%
# The answer:

print(f"No hour is preferred, as far as {len(hours)} quakes can tell: p = {test.pvalue:.2f}.")
