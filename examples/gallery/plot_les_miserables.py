"""
How many characters does Les Miserables have?
=============================================

Knuth listed which characters of Hugo's novel appear together, and how often. There are 77, but most belong to a small
circle. With heat spreading from each character to those whom he or she meets: how many can be told apart?

Data: D. E. Knuth, The Stanford GraphBase (1993), from the package networkx.
"""

# %%
# Nodes are characters, and edges are weighted by the number of chapters that two of them share. The weight of a
# character is the number of appearances with others.

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np

import heatess as he

network = nx.les_miserables_graph()
characters = he.Measure(network, "degree")
names = characters.known.labels
print(characters)

# %%
# Heat flows along an edge in proportion to its weight w. A pair that met nobody else would overlap by tanh(2 w t): with
# 30 shared chapters that is 0.54 at t = 0.01, with one it is 0.02.

times = np.geomspace(0.001, 10, 40)
profile = he.heat_profile(characters, times=times)
for time in (0.01, 0.1, 1.0):
    print(f"t = {time:<5g} gESS {he.gess(characters, time=time):.2f}")

# %%
# Who could be left out? ``redundancy`` is the part of a character that others say too: near 1 for those whose friends
# carry more weight.

company = he.redundancy(characters, time=0.01)
order = np.argsort(company)
print("stand for themselves:", ", ".join(names[k] for k in order[:5]))
print("others say the same: ", ", ".join(names[k] for k in order[::-1][:5]))

# %%
# The network, coloured by redundancy, and the number of characters at all times.

fig, (left, right) = plt.subplots(1, 2, figsize=(10, 4.6), width_ratios=(1.3, 1), layout="constrained")
place = nx.kamada_kawai_layout(network, weight=None)
size = [6 * meetings for _, meetings in network.degree(weight="weight")]
nx.draw_networkx_edges(network, place, ax=left, edge_color="#bbbbbb", width=0.6)
dots = nx.draw_networkx_nodes(network, place, ax=left, node_size=size, node_color=company, cmap="cividis")
major = {name: name for name in ("Valjean", "Marius", "Enjolras", "Javert", "Fantine", "Myriel", "Thenardier")}
nx.draw_networkx_labels(network, place, major, ax=left, font_size=8)
left.set_axis_off()
fig.colorbar(dots, ax=left, label="redundancy at t = 0.01", shrink=0.7)
right.plot(times, profile.gess, color=he.plot.COLORS[0])
right.axhline(profile.ess, color=he.plot.COLORS[1], linestyle="--", label=f"ESS = {profile.ess:.1f}")
right.set(xscale="log", yscale="log", xlabel="time of spreading, t", ylabel="gESS")
right.set_yticks([1, 2, 5, 10, 20], ["1", "2", "5", "10", "20"])
right.legend(frameon=False)
plt.show()

# %%
# The answer:

different = he.gess(characters, time=0.01)
print(f"{len(names)} characters count as {profile.ess:.1f} by weight, and as {different:.1f} at t = 0.01.")
