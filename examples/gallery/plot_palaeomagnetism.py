"""
Has the earth's field turned over, and by exactly half a turn?
==============================================================

Lava keeps the direction of the earth's magnetic field from the day it cooled. The lavas around McMurdo in Antarctica
are up to 13 million years old. How many directions do they show? And is one the exact opposite of the other?

Data: sites of Lawrence et al. (2009) from the MagIC database (CC BY 4.0); see data/SOURCES.md.
"""

# %%
# Declination and inclination of each site. Sites that the authors call transitional are left out.

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd

import heatess as he

here = Path(sys.argv[0]).parent  # the folder of this script
table = pd.read_csv(here / "data" / "mcmurdo_sites.csv")
table = table[table["dir_polarity"] != "t"]
sites = he.Measure(he.from_decinc(table["dir_dec"], table["dir_inc"], units="deg"))
print(sites)

# %%
# The profile knows the number of modes. On the sphere a direction and its opposite are two; as axes they are one.

directions = he.heat_profile(sites)
axes = he.heat_profile(sites.points, space=he.Projective(2))
print("directions:", directions.plateaus().sentence)
print("axes:      ", axes.plateaus().sentence)

# %%
# The reversal test: turn the reversed sites by half a turn. Do both groups then come from one distribution?

up = sites.points[:, 2] < 0
test = he.two_sample_test(sites.points[up], -sites.points[~up], angles=[5, 10, 20, 40], rng=0)
print(f"normal {up.sum()}, reversed {(~up).sum()}: p = {test.pvalue:.2f}")

# %%
# In Antarctica the field is nearly vertical, so directions are drawn by their horizontal part.

fig, (left, right) = plt.subplots(1, 2, figsize=(8.5, 4), layout="constrained")
for rows, color, name in ((up, he.plot.COLORS[0], "normal (up)"), (~up, he.plot.COLORS[1], "reversed (down)")):
    left.scatter(sites.points[rows, 1], sites.points[rows, 0], s=14, color=color, label=name, alpha=0.7)
left.set(
    xlabel="east", ylabel="north", aspect="equal", xlim=(-1, 1), ylim=(-1, 1), title="horizontal part of directions"
)
left.legend(frameon=False, fontsize="small", loc="lower right")
directions.plot(right, label="directions")
axes.plot(right, label="axes")
right.legend(frameon=False, fontsize="small")
right.set_title("how many can be told apart")
plt.show()

# %%
# The answer:

print(f"{directions.plateaus().sentence}. That they are exactly opposite is not refuted (p = {test.pvalue:.2f}).")
