"""Peak resident memory of one profile on S^2, above its input; run as a process of its own: memory.py N."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np

import heatess as he


def peak() -> float:
    """Largest resident size of this process so far, in bytes (not inherited from its parent, as ru_maxrss is)."""
    status = Path("/proc/self/status").read_text()
    return 1024.0 * int(re.search(r"VmHWM:\s+(\d+) kB", status)[1])


def points(n: int) -> np.ndarray:
    """Uniform points made in small pieces, so that making them sets no peak of its own."""
    rng = np.random.default_rng(0)
    x = np.empty((n, 3))
    for start in range(0, n, 100_000):
        part = x[start : start + 100_000]
        part[:] = he.samplers.uniform(len(part), rng=rng)
    return x


if __name__ == "__main__":
    n = int(sys.argv[1])
    he.heat_profile(points(1000))
    x = points(n)
    before = peak()
    he.heat_profile(x, angles=np.geomspace(5, 120, 60))
    print(peak() - before)
