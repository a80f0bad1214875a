"""
How good is importance sampling from the wrong distribution?
============================================================

The target has two sharp modes at opposite poles; particles are drawn uniformly over the sphere and weighted. How many
particles does the target really have, at the scale at which one looks? This is an experiment of the paper by You and
Cho; data are simulated.
"""

# %%
# 400 uniform particles, and log-weights of a mixture of two von Mises-Fisher distributions of concentration 18.

import matplotlib.pyplot as plt
import numpy as np

import heatess as he

kappa, particles, trials = 18.0, 400, 40
angles = np.geomspace(5, 120, 40)
rng = np.random.default_rng(0)


def log_target(x):
    """Log-density of the two modes, up to a constant."""
    return np.logaddexp(kappa * x[:, 2], -kappa * x[:, 2])


clouds = [he.samplers.uniform(particles, rng=rng) for _ in range(trials)]
profiles = [he.heat_profile(x, log_weights=log_target(x), angles=angles) for x in clouds]

# %%
# At 60 degrees gESS counts the two modes. At finer angles it counts more and more particles, up to ESS. ESS itself
# cannot tell whether the particles sit in two modes or in one.

curves = np.array([profile.gess for profile in profiles])
low, median, high = np.quantile(curves, [0.25, 0.5, 0.75], axis=0)
ess = np.median([profile.ess for profile in profiles])

fig = plt.figure(figsize=(9, 3.8), layout="constrained")
left, right = fig.add_gridspec(1, 2, width_ratios=(1.25, 1))
sky = fig.add_subplot(left, projection="mollweide")
he.plot.sky(clouds[0], log_weights=log_target(clouds[0]), angle=15, ax=sky)
sky.set_title("one trial: weighted particles")
ax = fig.add_subplot(right)
ax.fill_between(angles, low, high, color=he.plot.COLORS[0], alpha=0.25, label="half of all trials")
ax.plot(angles, median, color=he.plot.COLORS[0], label="median gESS")
ax.axhline(ess, color=he.plot.COLORS[1], linestyle="--", label=f"median ESS, {ess:.0f}")
ax.axhline(2, color="grey", linestyle=":", label="two modes")
ax.set(xscale="log", yscale="log", xlabel="angle (degrees)", ylabel="gESS", ylim=(0.2, 80))
ax.set_xticks([5, 10, 20, 50, 100], ["5", "10", "20", "50", "100"], minor=False)
ax.set_yticks([1, 2, 5, 10, 20, 50], ["1", "2", "5", "10", "20", "50"])
ax.legend(frameon=False, fontsize="small", loc="lower left")
plt.show()

# %%
# Is a mode missing? Particles in the northern half alone have nearly half the ESS, but one mode.

x = clouds[0]
north = x[x[:, 2] > 0]
for name, cloud in (("both modes", x), ("north only", north)):
    found = he.heat_profile(cloud, log_weights=log_target(cloud), angles=[90])
    print(f"{name}: ESS {found.ess:5.1f}, gESS at 90 degrees {found.gess[0]:.2f}")

# %%
# The weights themselves are harmless: their tail index is far below the limit of 0.7.

print(f"Pareto k = {he.pareto_k(log_target(x)):.2f}")

# %%
# The answer:

at = [int(np.argmin(abs(angles - angle))) for angle in (10, 60)]
fine, coarse = median[at]
print(f"ESS says {ess:.0f} of {particles} particles; gESS says {fine:.0f} at 10 degrees and {coarse:.1f} at 60.")
