"""
Do star clusters and galaxies share the sky?
============================================

The New General Catalogue lists both. Open clusters belong to the disc of the Milky Way; galaxies lie beyond it, and are
hidden behind its dust. Are the two spread over the sky in the same way, and at which angle does one see it best?

Data: OpenNGC (CC BY-SA 4.0), from the package pyongc.
"""

# %%
# The catalogue is a small database; right ascension and declination are in radians.

import sqlite3
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import heatess as he

package = Path(find_spec("pyongc").submodule_search_locations[0])
with closing(sqlite3.connect(package / "ongc.db")) as base:
    table = pd.read_sql("select ra, dec, type from objects where ra is not null", base)
# The catalogue is sorted by right ascension, and heatess asks whether rows in an order are draws: here, yes.
clusters = he.read(table[table["type"] == "OCl"], units="rad", kind="draws")
galaxies = he.read(table[table["type"] == "G"], units="rad", kind="draws")
print(clusters, galaxies, sep="\n")

# %%
# The test compares both at all scales at once. Points are permuted over the two groups, so the p-value is exact. A
# sample of the galaxies is enough.

rng = np.random.default_rng(0)
some = galaxies.points[rng.choice(galaxies.n, 1000, replace=False)]
found = he.compare(clusters, some, names=("clusters", "galaxies"), rng=rng)
print(found.verdict)

# %%
# The maps show why: clusters follow the band of the Milky Way and crowd in its companions, the Magellanic Clouds;
# galaxies leave the band out.

fig, axes = plt.subplots(2, 1, figsize=(7, 7.6), subplot_kw={"projection": "mollweide"}, layout="constrained")
for ax, name, measure in zip(axes, ("open clusters", "galaxies"), (clusters, galaxies), strict=True):
    he.plot.sky(measure, angle=10, ax=ax, atoms=False)
    ax.set_title(f"{measure.n:,} {name}, smoothed at 10 degrees")
plt.show()

# %%
# The part of the sky that each kind occupies, at 10 degrees, with 95 % bands for the distribution behind the catalogue:

for name, measure in (("open clusters", clusters), ("galaxies", galaxies)):
    volume = he.population_profile(measure, angles=[10]).volume
    low, high = 100 * volume.lower[0], 100 * volume.upper[0]
    print(f"{name:<13} {100 * volume.estimate[0]:5.1f} % of the sky ({low:.1f} to {high:.1f} %)")

# %%
# The answer:

clearest = found.test.clearest
print(f"No: p = {found.pvalue:.1g}, the least that {found.test.draws} permutations can give, and clearest at")
print(
    f"{found.test.angles[clearest]:.1f} degrees: there clusters crowd into the Magellanic Clouds, and galaxies do not."
)
