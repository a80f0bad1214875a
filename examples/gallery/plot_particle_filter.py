"""
When should a particle filter resample?
=======================================

A filter resamples when too few particles carry the weight. Ordinary ESS calls for it often, because it does not see
that particles close to each other say the same. Does a filter that asks gESS resample less, with the same error? The
path is simulated, since the error needs a known truth.
"""

# %%
# A direction drifts at random and is measured with von Mises-Fisher noise of about 15 degrees.

import matplotlib.pyplot as plt
import numpy as np

import heatess as he

particles, steps, drift, noise = 500, 200, 1000.0, 30.0


def moved(x, rng):
    """Unit vectors after one step of the drift."""
    x = x + rng.normal(scale=1 / np.sqrt(drift), size=x.shape)
    return x / np.linalg.norm(x, axis=-1, keepdims=True)


def track(rng):
    """True directions and one measurement of each."""
    truth = [np.array([0.0, 0.0, 1.0])]
    for _ in range(steps - 1):
        truth.append(moved(truth[-1], rng))
    return np.array(truth), np.array([he.samplers.von_mises_fisher(1, x, noise, rng=rng)[0] for x in truth])


def filtered(trigger, seed):
    """The error in degrees at each step, and the steps at which the filter resampled."""
    rng = np.random.default_rng(seed)
    truth, measured = track(rng)
    cloud, log_weights = he.samplers.uniform(particles, rng=rng), np.zeros(particles)
    errors, resampled = [], []
    for step in range(steps):
        cloud = moved(cloud, rng) if step else cloud
        log_weights = log_weights + noise * cloud @ measured[step]
        weights = np.exp(log_weights - log_weights.max())
        weights /= weights.sum()
        mean = weights @ cloud
        errors.append(np.degrees(np.arccos(min(mean @ truth[step] / np.linalg.norm(mean), 1))))
        if trigger(cloud, weights):
            comb = (rng.random() + np.arange(particles)) / particles
            rows = np.minimum(np.searchsorted(np.cumsum(weights), comb), particles - 1)
            cloud, log_weights = cloud[rows], np.zeros(particles)
            resampled.append(step)
    return np.array(errors), resampled


# %%
# The same paths with two triggers. The scale of gESS is about the width of the posterior.

triggers = {
    "ESS": lambda _, weights: 1 / np.sum(weights**2) < particles / 2,
    "gESS at own scale": he.ResamplingCriterion(he.Sphere(2), threshold=0.5),
}
runs = {name: [filtered(trigger, seed) for seed in range(5)] for name, trigger in triggers.items()}
summary = {}
for name, found in runs.items():
    error = np.sqrt(np.mean([errors**2 for errors, _ in found]))
    count = np.mean([len(when) for _, when in found])
    summary[name] = (count, error)
    print(f"{name:<19} resampled {count:5.1f} of {steps} times, error {error:.2f} degrees")

# %%
# One of the five runs: the error of both filters, and a mark for each time of resampling.

fig, ax = plt.subplots(figsize=(8, 3.6), layout="constrained")
for place, (name, found) in enumerate(runs.items()):
    errors, when = found[0]
    color = he.plot.COLORS[place]
    ax.plot(errors, color=color, linewidth=1, label=name)
    ax.plot(when, np.full(len(when), -1.5 - 1.5 * place), "|", color=color, markersize=9)
ax.set(xlabel="step", ylabel="error (degrees)", title="error of the mean direction; marks: the filter resampled")
ax.legend(frameon=False)
plt.show()

# %%
# The answer:

(often, error), (seldom, other) = summary.values()
print(
    f"gESS resamples {often / seldom:.1f} times less often; the error is {other:.2f} in place of {error:.2f} degrees."
)
