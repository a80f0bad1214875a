"""
Does rolling leave a texture, and how strong is it?
===================================================

Grains of a rolled metal have preferred orientations. A cube looks the same after 24 turns, so orientations count up to
these: ``Rotations(symmetry="O")``. How many orientations are there, is there a texture at all, and which directions of
the crystal lie along the directions of rolling?

Data: drawn here, from three ideal components of rolled face-centred cubic metals and their mirror images in the sheet.
"""

# %%
# Components in Bunge's Euler angles, each with its share, and grains scattered by about 6 degrees around them. A sixth
# of the grains point anywhere.

import matplotlib.pyplot as plt
import numpy as np
from scipy.spatial.transform import Rotation

import heatess as he

rng = np.random.default_rng(8)
components = {"copper": ([90, 35, 45], 0.3), "brass": ([35, 45, 90], 0.35), "Goss": ([0, 45, 90], 0.18)}
mirrors = Rotation.from_rotvec(np.pi * np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]))  # of the sheet
grains = [Rotation.random(170, random_state=1)]
for angles, share in components.values():
    count = int(1000 * share)
    ideal = mirrors[rng.integers(4, size=count)] * Rotation.from_euler("ZXZ", angles, degrees=True)
    grains.append(ideal * Rotation.from_rotvec(np.radians(6) * rng.normal(size=(count, 3))))
grains = Rotation.concatenate(grains)
cubes = he.Rotations(symmetry="O")

# %%
# Without symmetry the same grains look like many more orientations, but most of these cannot be told apart by looking.

for angle in (5, 10, 20):
    plain, up_to_turns = he.gess(grains, angle=angle), he.gess(grains, space=cubes, angle=angle)
    print(f"{angle:2d} deg: {up_to_turns:6.1f} orientations of cubes, {plain:6.1f} without symmetry")

# %%
# Is there a texture? The test knows the levels of cubes: the first that is not empty is the fourth.

test = he.uniformity_test(grains, space=cubes)
print(test.pvalue_in_words())

# %%
# The density of orientations, at the scale that the grains support; its mean square is the texture index. Pole figures
# show where the directions 1 1 1 and 1 0 0 of the crystal point in the sheet (x is the direction of rolling), and the
# inverse pole figure which direction of the crystal lies along the normal of the sheet.

density = he.density(grains, space=cubes)
index = 1 + he.heat_profile(grains, space=cubes, times=[density.time]).mmd2[0]
print(f"smoothed at {density.angle:.1f} degrees; texture index {index:.1f}")

fig, axes = plt.subplots(1, 3, figsize=(12, 3.6), layout="constrained")
density.pole_figure([1, 1, 1]).plot(axes[0], levels=())
density.pole_figure([1, 0, 0]).plot(axes[1], levels=())
density.inverse_pole_figure([0, 0, 1]).plot(axes[2], levels=())
for ax, title in zip(axes, ("poles of 1 1 1", "poles of 1 0 0", "inverse: normal of the sheet"), strict=True):
    ax.set_title(title)
plt.show()

# %%
# The answer:

print(f"{len(grains)} grains are {he.gess(grains, space=cubes, angle=10):.0f} orientations at 10 degrees; texture")
print(f"index {index:.1f}, where no texture has 1.")
