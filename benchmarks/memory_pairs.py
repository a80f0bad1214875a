"""Seconds and peak memory of random pairs of many embeddings, above their input; a process of its own.

python benchmarks/memory_pairs.py [N] [PAIRS]          # 1,000,000 x 384 float32 (1.5 GB) and 20,000,000 unless given
"""

from __future__ import annotations

import sys
import time
import warnings

import heatess as he
from embeddings import clustered
from memory import peak

RESOLUTIONS = (10.0, 20.0, 40.0, 60.0, 80.0)

if __name__ == "__main__":
    warnings.simplefilter("ignore", he.PrecisionWarning)
    n, pairs = (int(given) for given in (sys.argv[1:] + ["1000000", "20000000"][len(sys.argv) - 1 :]))
    he.heat_profile(clustered(5000), resolutions=RESOLUTIONS, pairs=10**6, rng=0)  # compiles
    x = clustered(n, copies=0.01)
    before = peak()
    start = time.perf_counter()
    found = he.heat_profile(x, resolutions=RESOLUTIONS, pairs=pairs, rng=0)
    print(f"{n:,} x {x.shape[1]}, pairs={pairs:,}: {time.perf_counter() - start:.2f} s, ", end="")
    print(f"{(peak() - before) / 1e9:.2f} GB above the input of {x.nbytes / 1e9:.2f} GB")
    print("gESS", *(f"{value:.5g}" for value in found.gess), " error", *(f"{value:.1e}" for value in found.error))
