"""
Which handwritten digit varies most?
====================================

Images of digits, seen as vectors of pixels, are directions in a space of 64 dimensions. Some digits are written in one
way by everybody, others in many ways. How many different ways of writing does each digit have?

Data: 1,797 images of the UCI repository (CC BY 4.0), from scikit-learn.
"""

# %%
# Each image is scaled to length one, so that faint and bold writing is the same: a point of the sphere of dimension 63.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

import heatess as he

images, digit = load_digits(return_X_y=True)
unit = images / np.linalg.norm(images, axis=1, keepdims=True)

# %%
# In many dimensions the scale is given as a resolution: images closer than 20 degrees are not told apart. The number of
# images differs a little from digit to digit, so look at the distribution behind them: ``places``, with 95 % bands.

profiles = [he.population_profile(unit[digit == which], resolutions=[20]) for which in range(10)]
places = np.array([one.places.estimate[0] for one in profiles])
low, high = (np.array([getattr(one.places, end)[0] for one in profiles]) for end in ("lower", "upper"))
for which, one in enumerate(profiles):
    print(f"{which}: {places[which]:6.1f} ways ({low[which]:.1f} to {high[which]:.1f}) in {one.n} images")

# %%
# The most typical image of each digit has the most company: the largest overlap with all others.

fig = plt.figure(figsize=(8, 4.6), layout="constrained")
grid = fig.add_gridspec(2, 10, height_ratios=(3, 1))
ax = fig.add_subplot(grid[0, :])
ax.bar(range(10), places, color=he.plot.COLORS[0], alpha=0.8)
ax.errorbar(range(10), places, yerr=[places - low, high - places], fmt="none", color="black", capsize=4)
ax.set(xticks=range(10), xlim=(-0.5, 9.5), ylabel="ways of writing", title="ways that can be told apart at 20 degrees")
for which in range(10):
    rows = np.flatnonzero(digit == which)
    typical = rows[np.argmax(he.potential(unit[rows], resolution=20))]
    small = fig.add_subplot(grid[1, which])
    small.imshow(images[typical].reshape(8, 8), cmap="gray_r")
    small.set_axis_off()
plt.show()

# %%
# The answer:

most, least = int(np.argmax(places)), int(np.argmin(places))
rivals = [str(which) for which in range(10) if which != most and high[which] > low[most]]
print(
    f"The {most} varies most, with {places[most]:.0f} ways of writing it; the {least} least, with {places[least]:.0f}."
)
print(f"Bands overlap with those of {', '.join(rivals)}: these may vary as much as the {most}.")
