"""
Would this log do to calibrate a sensor?
========================================

To calibrate an inertial sensor, one turns it into as many attitudes as possible. A log of ten seconds has 500 rows. How
many different attitudes are in it, and which part of all attitudes has been visited?

Data: attitude of an x-IMU3, from the tests of scikit-kinematics (BSD licence); see data/SOURCES.md.
"""

# %%
# Names qw, qx, qy, qz say which number is the scalar. The quaternions of this sensor are not exactly of length 1; they
# are scaled because ``normalize`` asks for it.

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from scipy.spatial.transform import Rotation

import heatess as he

here = Path(sys.argv[0]).parent  # the folder of this script
file = here / "data" / "imu_attitude.csv"
log = he.read(file, normalize=True)
seconds = pd.read_csv(file)["time_us"].to_numpy() / 1e6
print(log)

# %%
# Count attitudes that differ by about 10 degrees, in what has been logged so far. Time at rest adds rows, but no
# attitudes.

lengths = np.arange(10, log.n + 1, 10)
visited = [he.gess(log.points[:length], space=log.space, angle=10) for length in lengths]

# %%
# Left: where the three axes of the sensor pointed. Right: how the number of attitudes grows.

turns = Rotation.from_quat(log.points).as_matrix()
fig = plt.figure(figsize=(9.5, 3.6), layout="constrained")
grid = fig.add_gridspec(1, 2, width_ratios=(1.5, 1))
left, right = fig.add_subplot(grid[0], projection="mollweide"), fig.add_subplot(grid[1])
for axis, name in enumerate("xyz"):
    east, north, up = turns[:, :, axis].T
    left.plot(np.arctan2(north, east), np.arcsin(up), ".", markersize=3, color=he.plot.COLORS[axis], label=name)
left.set(xticklabels=[], yticklabels=[], title="where the axes of the sensor pointed")
left.grid(alpha=0.4)
left.legend(frameon=False, loc="upper center", bbox_to_anchor=(0.5, 0), ncols=3, markerscale=3)
right.plot(seconds[lengths - 1], visited, color=he.plot.COLORS[0])
right.set(xlabel="seconds", ylabel="gESS at 10 degrees", title="attitudes that differ", ylim=0)
plt.show()

# %%
# The part of all attitudes that the log covers, at three angles:

profile = he.heat_profile(log, angles=[10, 30, 90])
for angle, gess, volume in zip(profile.angles, profile.gess, profile.volume, strict=True):
    print(f"{angle:3.0f} deg: {gess:6.2f} attitudes, {100 * volume:.1f} % of all")

# %%
# The answer:

part = 100 * profile.volume[0]
print(f"{log.n} rows are {visited[-1]:.0f} attitudes at 10 degrees, {part:.1f} % of all: turn it further.")
