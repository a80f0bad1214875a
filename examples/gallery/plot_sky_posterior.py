"""
Where on the sky should telescopes look?
========================================

Two detectors hear the same signal 20 ms apart. The source lies on a ring around the line between them, and how loud
each of them heard it tells which part of the ring is likely. Given 4,000 draws of a posterior, how large is the area
that has to be searched, and which map do others read?

Data: simulated here.
"""

# %%
# The delay fixes the angle to the baseline, here with an error of 1.5 degrees; loudness prefers one side.

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import heatess as he

rng = np.random.default_rng(4)
angle, turn = np.radians(rng.normal(53, 1.5, 4000)), rng.vonmises(0.7, 2.5, 4000)
baseline, first = np.array([0.35, -0.52, 0.78]), np.array([0.83, 0.56, 0.0])
baseline, first = baseline / np.linalg.norm(baseline), first / np.linalg.norm(first)
first = first - baseline * (first @ baseline)
first /= np.linalg.norm(first)
second = np.cross(baseline, first)
around = np.cos(turn)[:, None] * first + np.sin(turn)[:, None] * second
draws = he.Measure(np.cos(angle)[:, None] * baseline + np.sin(angle)[:, None] * around, kind="draws", frame="icrs")

# %%
# The scale follows from the draws alone. Areas agree with what ligo.skymap computes from the map that is written below.

found = he.density(draws)
regions = found.region([0.5, 0.9])
print(found)
for level, area, error in zip(regions.level, regions.area_in("deg2"), regions.area_error / regions.area, strict=True):
    print(f"{100 * level:.0f} %: {area:.0f} square degrees, uncertain by {100 * error:.0f} %")

# %%
# A multi-order map: fine pixels where the mass is, coarse ones elsewhere.

path = found.save(Path(tempfile.mkdtemp()) / "posterior.fits")
pixels = he.read(path)
print(f"{pixels.n:,} pixels in {path.stat().st_size / 1e6:.1f} MB")

# %%
# The whole sky, and the half of it where the source is.

fig = plt.figure(figsize=(11, 4.4), layout="constrained")
found.plot(fig.add_subplot(121, projection="mollweide"))
found.plot(fig.add_subplot(122), projection="globe")
plt.show()

# %%
# The answer:

half, most = regions.area_in("deg2")
print(f"90 % of the posterior lie in {most:.0f} square degrees, and half of it in {half:.0f}.")
