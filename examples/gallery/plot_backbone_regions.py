"""
Which turns of a protein's backbone are unusual?
================================================

Backbones turn about two bonds at each residue, by the angles phi and psi, and not all pairs of angles are possible:
atoms would collide. Which region holds 90 per cent of the residues, and do all kinds of residues stay in it?

Data: angles of the 776 complete residues of the PDB entry 2XHE (CC0); see data/SOURCES.md.
"""

# %%
# The density of all residues but glycine, which has no side chain. Its scale is chosen by cross-validation.

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import heatess as he

here = Path(sys.argv[0]).parent  # the folder of this script
table = pd.read_csv(here / "data" / "torsions_2xhe.csv")
torus = he.Torus(2, units="deg")
angles = table[["phi", "psi"]].to_numpy()
glycine = (table["residue"] == "GLY").to_numpy()
found = he.density(angles[~glycine], space=torus)
print(found)

# %%
# The smallest regions with 50 and 90 per cent of it, as shares of all pairs of angles. Another protein of the same size
# would have somewhat others. Of larger shares the region consists of islands around single residues.

regions = found.region([0.5, 0.9])
for level, area, error in zip(regions.level, regions.area, regions.area_error, strict=True):
    print(f"{100 * level:.0f} % of residues in {100 * area:.1f} % of the torus (+- {100 * error:.1f})")

# %%
# Left: the density and the edges of the regions. Right: how the scale was chosen; the shaded scales are as good within
# one standard error.

usual = found.region(0.9)
fig, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
found.plot(left)
left.scatter(*angles[glycine].T, s=8, color=he.plot.COLORS[1], label="glycine")
left.set(xlabel="phi (degrees)", ylabel="psi (degrees)", title="residues without glycine")
left.legend(fontsize="small")
found.plot_cv(right)
right.set_title("cross-validation")
plt.show()

# %%
# The answer:

outside = 100 * np.mean(~usual.contains(angles[glycine]))
print(f"{outside:.0f} % of the glycines lie outside the region that holds 90 % of the density of other residues.")
