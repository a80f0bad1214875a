"""Plot of what compares several samples."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...drawing import axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..k_sample import KSampleTest


def draw_pairs(test: KSampleTest, ax: Axes | None = None) -> Axes:
    """Draw the corrected p-value of each pair of samples: darker squares are pairs that differ more clearly.

    Parameters
    ----------
    test : KSampleTest
        The test to draw.
    ax : matplotlib Axes, optional
        Where to draw. Default: a new Figure, which notebooks and `plt.show()` show.
    """
    ax = axes.new_axes(ax)
    count = len(test.names)
    clear = np.ma.masked_array(-np.log10(test.pair_pvalues), np.eye(count, dtype=bool))
    most = max(float(np.log10(test.draws + 1)), 2.0)
    ax.imshow(clear, cmap="Blues", vmin=0, vmax=1.3 * most)
    for k in range(count):
        for m in range(count):
            if k != m:
                dark = clear[k, m] > 0.7 * most
                text = f"{test.pair_pvalues[k, m]:.2g}"
                ax.text(m, k, text, ha="center", va="center", fontsize="small", color="white" if dark else "black")
    labels = [str(name) for name in test.names]
    ax.set_xticks(range(count), labels, rotation=45 if max(map(len, labels)) > 6 else 0)
    ax.set_yticks(range(count), labels)
    ax.grid(visible=False)
    for edge in ax.spines.values():
        edge.set_visible(False)
    ax.set_title(
        f"{test.pvalue_in_words()} over all samples; squares: p-value of each pair, corrected", fontsize="medium"
    )
    return ax
