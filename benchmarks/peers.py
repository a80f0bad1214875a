"""Peers in a throw-away environment: what users would pick instead, with its time and its accuracy.

vendi-score gives 1 / (1 - intdiv_K(K, p=w)) = gESS when K is the matrix of heat overlaps, which it takes ready-made.
GeometricKernels and sentropy bring torch with them (gigabytes), so they are not installed here.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import heatess as he
from heatess.kernel import overlap
from timing import Row, side_by_side

VENDI = """
import sys, time
import numpy as np
from vendi_score import vendi
K, w = np.load(sys.argv[1]), np.load(sys.argv[2])
best = float("inf")
for _ in range(3):
    start = time.perf_counter()
    value = 1 / (1 - vendi.intdiv_K(K, q=1, p=w))
    best = min(best, time.perf_counter() - start)
print(best, repr(float(value)))
"""


def vendi(n: int = 3000, angle: float = 15.0) -> Iterator[Row]:
    """gESS at one angle on S^2 against vendi-score on the ready-made overlaps; nothing if it cannot be had."""
    rng = np.random.default_rng(5)
    x, w = he.samplers.uniform(n, rng=rng), rng.random(n)
    w /= w.sum()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        python = _environment(place, "vendi-score")
        if python is None:
            return
        distances = np.arccos(np.clip(x @ x.T, -1, 1))
        np.fill_diagonal(distances, 0.0)
        np.save(place / "K.npy", overlap(he.Sphere(2), np.radians(angle) ** 2 / 8, distances))
        np.save(place / "w.npy", w)
        ran = subprocess.run(
            [python, "-c", VENDI, place / "K.npy", place / "w.npy"], capture_output=True, text=True, check=True
        )
    theirs, value = (float(word) for word in ran.stdout.split())
    (ours,) = side_by_side(lambda: he.gess(x, w, angle=angle), rounds=50)
    difference = abs(he.gess(x, w, angle=angle) / value - 1)
    yield Row(
        f"gess at {angle:g} degrees, n = {n}",
        f"vendi-score, overlaps given (agrees to {difference:.0e})",
        ours,
        theirs,
        "recorded",
        None,
    )


def _environment(place: Path, package: str) -> Path | None:
    """Python of a new environment with *package*, or None, with the reason on stderr."""
    try:
        subprocess.run([sys.executable, "-m", "venv", place / "venv"], check=True, capture_output=True, timeout=60)
        python = place / "venv" / "bin" / "python"
        install = [python, "-m", "pip", "install", "--quiet", package]
        subprocess.run(install, check=True, capture_output=True, timeout=180)
    except (subprocess.SubprocessError, OSError) as error:
        print(f"{package} cannot be had here: {error}", file=sys.stderr)
        return None
    return python
