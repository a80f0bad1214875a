"""
Into how many shapes does a protein fold its backbone?
======================================================

The backbone of a protein turns about two bonds at each residue, by the angles phi and psi. Pairs of angles are points
of a torus. How many shapes do the residues of a protein take: helix, sheet, or anything?

Data: angles of the 776 complete residues of the PDB entry 2XHE (CC0); see data/SOURCES.md.
"""

# %%
# Angles in degrees, on a torus of two dimensions.

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import heatess as he

here = Path(sys.argv[0]).parent  # the folder of this script
table = pd.read_csv(here / "data" / "torsions_2xhe.csv")
torus = he.Torus(2, units="deg")
residues = he.Measure(table[["phi", "psi"]].to_numpy(), space=torus)
profile = he.heat_profile(residues)
print(profile)

# %%
# Glycine has no side chain and can turn more freely than other residues: it fills more of the torus. Bands say how sure
# that is.

glycine = (table["residue"] == "GLY").to_numpy()
for name, rows in (("glycine", glycine), ("others", ~glycine)):
    behind = he.population_profile(residues.points[rows], space=torus, angles=[20])
    low, high = 100 * behind.volume.lower[0], 100 * behind.volume.upper[0]
    print(f"{name}: {100 * behind.volume.estimate[0]:.1f} % of the torus at 20 degrees ({low:.1f} to {high:.1f} %)")

# %%
# Left: the density, smoothed by heat of 20 degrees. Right: the number of shapes that can be told apart.

grid = np.stack(np.meshgrid(np.arange(-180, 181, 3.0), np.arange(-180, 181, 3.0)), axis=-1)
density = he.potential(residues, angle=20, at=grid.reshape(-1, 2), kind="density").reshape(grid.shape[:2])
fig, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
log_density = np.log10(np.maximum(density, 0.01))
shown = left.contourf(
    grid[..., 0], grid[..., 1], log_density, levels=np.linspace(-2, 2, 17), cmap="cividis", extend="both"
)
left.scatter(*table[["phi", "psi"]].to_numpy().T, s=2, color="white", alpha=0.5)
fig.colorbar(shown, ax=left, ticks=[-2, -1, 0, 1, 2], label="log10 of the density over uniform")
left.set(xlabel="phi (degrees)", ylabel="psi (degrees)", xticks=range(-180, 181, 90), yticks=range(-180, 181, 90))
left.set(aspect="equal", title="residues, smoothed at 20 degrees")
profile.plot(right)
right.set_title(profile.plateaus().sentence)
plt.show()

# %%
# The answer:

print(f"{residues.n} residues: {profile.plateaus().sentence}.")
