"""
Do earthquakes prefer an hour of the day?
=========================================

Hours lie on a circle: 23:59 is close to 0:01. A test of uniformity on the circle asks whether quakes come at any hour
alike. Aftershocks follow a large quake within hours, so they must be looked at apart.

Data: USGS earthquake catalogue, April 2024 (public domain), from the package hvsampledata.
"""

# %%
# The time of day as an angle.

from importlib.util import find_spec
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import heatess as he

package = Path(find_spec("hvsampledata").submodule_search_locations[0])
table = pd.read_csv(package / "_data" / "earthquakes.csv", parse_dates=["time"])
hours = (table["time"] - table["time"].dt.normalize()).dt.total_seconds().to_numpy() / 3600
taiwan = table["place"].str.contains("Taiwan").to_numpy()
day = he.Circle(units="deg")
print(f"{len(hours)} quakes, {taiwan.sum()} of them in Taiwan, where the largest (7.4) struck on April 2 at 23:58")

# %%
# One p-value over all scales and over the degrees 1, 2, 3. Nothing is random: the law of the statistic is known.

tests = {
    "all quakes": he.uniformity_test(15 * hours, space=day),
    "in Taiwan": he.uniformity_test(15 * hours[taiwan], space=day),
    "elsewhere": he.uniformity_test(15 * hours[~taiwan], space=day),
}
for name, test in tests.items():
    print(f"{name:<11} n = {test.n:3d}   p = {test.pvalue:.2g}")

# %%
# Two clocks: midnight is at the top, and time runs clockwise. The circle is the mean.

fig, axes = plt.subplots(1, 2, figsize=(7.5, 4.2), subplot_kw={"projection": "polar"}, layout="constrained")
for ax, name, rows in zip(axes, ("in Taiwan", "elsewhere"), (taiwan, ~taiwan), strict=True):
    counts, edges = np.histogram(hours[rows], bins=24, range=(0, 24))
    ax.bar(edges[:-1] * np.pi / 12, counts, width=np.pi / 12, align="edge", color=he.plot.COLORS[0], alpha=0.7)
    ax.plot(np.linspace(0, 2 * np.pi, 200), np.full(200, rows.sum() / 24), color=he.plot.COLORS[1])
    ax.set(theta_zero_location="N", theta_direction=-1, xticks=np.arange(8) * np.pi / 4, yticks=[])
    ax.set_xticklabels([f"{hour}:00" for hour in range(0, 24, 3)])
    ax.set_title(f"{name}: {rows.sum()} quakes, p = {tests[name].pvalue:.2g}")
plt.show()

# %%
# The answer:

print(f"No hour is preferred outside Taiwan (p = {tests['elsewhere'].pvalue:.2f}); aftershocks in Taiwan are not spread")
print(f"evenly over the day (p = {tests['in Taiwan'].pvalue:.1g}), and they alone would mislead a test of all quakes.")
