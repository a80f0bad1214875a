"""
How many draws is a Markov chain on the sphere worth?
=====================================================

The mean direction of the ancient magnetic field at McMurdo is not known exactly. A Metropolis chain draws it from its
posterior. The chain has 4,000 draws, but they depend on each other. How many independent draws are they worth?

Data: sites of Lawrence et al. (2009) from the MagIC database (CC BY 4.0); see data/SOURCES.md.
"""

# %%
# Normal sites only. The likelihood of a mean direction m is exp(kappa * sum of m . x): von Mises-Fisher.

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import heatess as he

here = Path(sys.argv[0]).parent  # the folder of this script
table = pd.read_csv(here / "data" / "mcmurdo_sites.csv")
table = table[table["dir_polarity"] == "n"]
sites = he.from_decinc(table["dir_dec"], table["dir_inc"], units="deg")
total = sites.sum(axis=0)
kappa = (len(sites) - 1) / (len(sites) - np.linalg.norm(total))
print(f"{len(sites)} sites, concentration {kappa:.1f}")

# %%
# Two chains with steps of different length, both started at the first site.


def metropolis(step, draws, rng):
    """Draws of the mean direction, and the share of steps that were accepted."""
    chain, here, accepted = [], sites[0], 0
    for _ in range(draws):
        there = here + rng.normal(scale=step, size=3)
        there /= np.linalg.norm(there)
        if np.log(rng.random()) < kappa * total @ (there - here):
            here, accepted = there, accepted + 1
        chain.append(here)
    return np.array(chain), accepted / draws


rng = np.random.default_rng(0)
chains = {}
for step in (0.01, 0.06):
    chain, accepted = metropolis(step, 4500, rng)
    chains[step] = chain[500:]
    print(f"steps of {np.degrees(step):.1f} degrees: {100 * accepted:.0f} % accepted")

# %%
# ``chain_ess`` counts draws at each scale. At coarse scales long steps forget sooner. At fine scales short steps are
# better: the chain seldom stays where it was, because few steps are refused.

angles = np.geomspace(0.3, 60, 15)
found = {step: he.chain_ess(chain, angles=angles) for step, chain in chains.items()}
fig, (left, right) = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
for place, (step, chain) in enumerate(chains.items()):
    color, name = he.plot.COLORS[place], f"steps of {np.degrees(step):.1f} degrees"
    left.plot(chain[:1000, 1], chain[:1000, 0], color=color, linewidth=0.6, label=name)
    right.plot(angles, found[step].ess, color=color, label=name)
left.set(xlabel="east", ylabel="north", aspect="equal", title="the first 1,000 draws")
right.set(xscale="log", yscale="log", xlabel="angle (degrees)", ylabel="effective draws of 4,000")
right.set_xticks([0.5, 1, 2, 5, 10, 20, 50], ["0.5", "1", "2", "5", "10", "20", "50"])
right.set_yticks([200, 500, 1000, 2000], ["200", "500", "1,000", "2,000"])
right.set_yticks([], minor=True)
right.set_title("what the draws are worth")
right.legend(frameon=False, fontsize="small")
plt.show()

# %%
# The answer:

coarse = [float(result.ess[-1]) for result in found.values()]
print(f"For the mean, 4,000 draws are worth {coarse[0]:.0f} with short steps and {coarse[1]:.0f} with longer ones.")
