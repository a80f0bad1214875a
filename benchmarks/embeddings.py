"""Clouds of unit vectors in many columns, as embeddings are: clusters of unequal size, near-duplicates, weights."""

from __future__ import annotations

import numpy as np


def clustered(
    n: int, columns: int = 384, *, clusters: int = 100, noise: float = 1.0, copies: float = 0.0, seed: int = 0
) -> np.ndarray:
    """float32 rows about *clusters* centres, the k-th with a share of about 1 / k, of all widths up to *noise*.

    A share *copies* of the rows are near-duplicates of others, about a thousandth of a radian away.
    """
    rng = np.random.default_rng(seed)
    shares = 1 / np.arange(1, clusters + 1)
    centres = rng.standard_normal((clusters, columns), dtype=np.float32)
    labels = rng.choice(clusters, n, p=shares / shares.sum())
    x = np.empty((n, columns), dtype=np.float32)
    for start in range(0, n, 20_000):  # in pieces, so that making them sets no peak of memory
        part = x[start : start + 20_000]
        widths = (noise * rng.random((len(part), 1))).astype(np.float32)
        part[:] = centres[labels[start : start + 20_000]] + widths * rng.standard_normal(part.shape, dtype=np.float32)
    count = round(copies * n)
    places = rng.permutation(n)
    x[places[:count]] = x[places[n - count :]] + 1e-3 * rng.standard_normal((count, columns), dtype=np.float32)
    for start in range(0, n, 20_000):
        part = x[start : start + 20_000]
        part /= np.linalg.norm(part, axis=1, keepdims=True)
    return x
