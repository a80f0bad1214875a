"""
Do deep earthquakes come from the same places as shallow ones?
==============================================================

Between Java and the Philippines one plate sinks below another. Quakes come from the surface and from depths of up to
640 km. In how many regions did they strike from April to July 2024, and are the regions of deep ones others?

Data: USGS earthquake catalogue (public domain), 596 quakes of magnitude 4 and more, from the package hvsampledata.
"""

# %%
# The columns lat and lon are found by their names.

from importlib.util import find_spec
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import heatess as he

package = Path(find_spec("hvsampledata").submodule_search_locations[0])
table = pd.read_csv(package / "_data" / "earthquakes.csv")
quakes = he.read(table)
deep = (table["depth"] > 70).to_numpy()
print(quakes, f"{deep.sum()} of them deeper than 70 km")

# %%
# Energy grows by a factor of 32 for each unit of magnitude. By energy, only few quakes count; log-weights are safe,
# because no number can overflow.

energy = he.Measure(quakes.points, log_weights=1.5 * np.log(10) * table["mag"].to_numpy())
print(f"by energy: ESS {energy.ess:.1f}, gESS at 1 degree {he.gess(energy, angle=1):.1f}")

# %%
# The test whether shallow and deep quakes come from one distribution, at all scales together. Aftershocks depend on
# each other, which makes p-values too small.

found = he.compare(quakes.points[~deep], quakes.points[deep], names=("shallow", "deep"), rng=0)
print(found.verdict)

# %%
# Left: the quakes. Right: how many regions can be told apart at each angle; one degree is 111 km.

fig, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2), width_ratios=(1.25, 1), layout="constrained")
for rows, name, color in ((~deep, "shallow", he.plot.COLORS[0]), (deep, "deeper than 70 km", he.plot.COLORS[1])):
    size = 8 * 3 ** (table["mag"][rows] - 4)
    left.scatter(table["lon"][rows], table["lat"][rows], s=size, color=color, label=name, alpha=0.5, linewidth=0)
left.set(xlabel="longitude (degrees)", ylabel="latitude (degrees)", aspect="equal", title="quakes, by magnitude")
left.legend(frameon=False, fontsize="small", loc="upper left")
he.plot.compare({"all": quakes, "by energy": energy}, right, angles=np.geomspace(0.1, 20, 30))
right.set_title("regions that can be told apart")
plt.show()

# %%
# The answer:

regions = he.gess(quakes, angle=1)
print(
    f"{quakes.n} quakes are {regions:.0f} regions at 1 degree. Deep and shallow ones differ (p = {found.pvalue:.2g})."
)
