"""
In how many places are the deepest furrows of the brain?
========================================================

The surface of the brain is folded. Two points on both sides of a furrow are close in space, but far apart along the
surface. Along the surface, how many places are the deepest 5 % of the left half of the cortex?

Data: the average surface fsaverage5 of FreeSurfer, from the package nilearn.
"""

# %%
# A triangulated surface with 10,242 vertices, in millimetres, and the depth of each vertex in the folds.

from importlib.util import find_spec
from pathlib import Path

import matplotlib.pyplot as plt
import nibabel
import numpy as np

import heatess as he

folder = Path(find_spec("nilearn").submodule_search_locations[0]) / "datasets" / "data" / "fsaverage5"
vertices, faces = nibabel.load(folder / "pial_left.gii.gz").agg_data()
depth = nibabel.load(folder / "sulc_left.gii.gz").agg_data()
cortex = he.Mesh(vertices.astype(float), faces)
print(cortex)

# %%
# The deepest vertices, each weighted by the area of surface that it stands for. Scales are millimetres along the
# surface.

deep = np.flatnonzero(depth > np.quantile(depth, 0.95))
area = cortex.node_volumes[deep]
profile = he.heat_profile(deep, area, space=cortex, times=np.array([40, 60, 80, 120]) ** 2 / 8)
for scale, gess, volume, error in zip(profile.angles, profile.gess, profile.volume, profile.error, strict=True):
    print(f"{scale:4.0f} mm: {gess:.2f} places (to {100 * error:.1f} %), {100 * volume:.0f} % of the surface")

# %%
# In space, through the folds, the same vertices overlap more: a flat measure counts fewer places.

flat = he.gess(vertices[deep].astype(float), area, space=he.Euclidean(3), time=40**2 / 8)
print(f"through space at 40 mm: {flat:.2f} places")

# %%
# The furrows can be seen when the surface is blown up like a balloon: dark is deep, and the deepest 5 % are orange.

fig, axes = plt.subplots(1, 2, figsize=(9, 4), subplot_kw={"projection": "3d"}, layout="constrained")
balloon, _ = nibabel.load(folder / "infl_left.gii.gz").agg_data()
grey = np.repeat(0.75 - 0.12 * depth[faces].mean(axis=1)[:, None], 3, axis=1)
colors = np.where(np.isin(faces, deep).sum(axis=1)[:, None] > 1, (0.9, 0.45, 0.1), grey)
for ax, side, name in zip(axes, (180, 0), ("from the side", "from the middle"), strict=True):
    surface = ax.plot_trisurf(*balloon.T, triangles=faces, linewidth=0, antialiased=False, shade=False)
    surface.set_facecolors(colors)
    ax.view_init(elev=0, azim=side)
    ax.set_title(name)
    ax.set_box_aspect(np.ptp(balloon, axis=0), zoom=1.5)
    ax.set_axis_off()
plt.show()

# %%
# The answer:

print(f"{len(deep)} vertices in the deepest furrows are {profile.gess[0]:.1f} places at 40 mm along the surface.")
