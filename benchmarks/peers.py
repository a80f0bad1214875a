"""What users would pick instead, in an environment of its own, with its time and its accuracy.

With K the matrix of heat overlaps, `1 / (1 - vendi.intdiv_K(K, q=1, p=w))` and `sentropy(w, similarity=K, q=2)` are
gESS; both take K ready-made. GeometricKernels computes K itself, with its lengthscale alpha / sqrt(2).

vendi-score goes into a throw-away environment. The other two bring torch with them (gigabytes), so they are measured
only if HEATESS_PEERS names the python of an environment that has them.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import heatess as he
from heatess.heat.series import overlap
from timing import Row, side_by_side

#: Each computes `value`, gESS by the peer, from points x, weights w, overlaps K and the angle.
SCRIPTS = {
    "vendi-score": """
from vendi_score import vendi
def run():
    return 1 / (1 - vendi.intdiv_K(K, q=1, p=w))
""",
    "sentropy": """
from sentropy import sentropy
def run():
    return sentropy(w, similarity=K, q=2)
""",
    "geometric-kernels": """
from geometric_kernels.kernels import MaternKarhunenLoeveKernel
from geometric_kernels.spaces import Hypersphere
kernel = MaternKarhunenLoeveKernel(Hypersphere(2), 60)
parameters = {"nu": np.array([np.inf]), "lengthscale": np.array([np.radians(angle) / np.sqrt(2)])}
def run():
    overlaps = kernel.K(parameters, x)
    return 1 / (w @ (overlaps / overlaps[0, 0]) @ w)
""",
}

FRAME = """
import sys, time
import numpy as np
x, w, K = (np.load(f"{{sys.argv[1]}}/{{name}}.npy") for name in "xwK")
angle = float(sys.argv[2])
{script}
best = float("inf")
for _ in range(2):
    start = time.perf_counter()
    value = run()
    best = min(best, time.perf_counter() - start)
print(best, repr(float(np.squeeze(value))))
"""


#: What each is compared at, and what it is given: its largest n that takes seconds.
SIZES = {
    "vendi-score": (3000, "overlaps given"),
    "sentropy": (3000, "overlaps given"),
    "geometric-kernels": (1000, "60 levels"),
}


def peers(angle: float = 15.0) -> Iterator[Row]:
    """gESS at one angle on S^2; nothing from a peer that cannot be had."""
    with tempfile.TemporaryDirectory() as folder:
        for peer, python in _pythons(Path(folder)).items():
            n, given = SIZES[peer]
            found = _measure(peer, python, Path(folder), n, angle)
            if found:
                ours, theirs, difference = found
                reference = f"{peer}, {given} (agrees to {difference:.0e})"
                yield Row(f"gess at {angle:g} degrees, n = {n}", reference, ours, theirs, "recorded", None)


def curves(angle: float = 15.0) -> dict[str, list[tuple[int, float]]]:
    """Time for one scale against n, for the scaling plot."""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for peer, python in _pythons(Path(folder)).items():
            most, given = SIZES[peer]
            sizes = [n for n in (100, 300, 1000, 3000) if n <= most]
            times = [(n, _measure(peer, python, Path(folder), n, angle)) for n in sizes]
            if all(time for _, time in times):
                found[f"{peer}, {given}"] = [(n, time[1]) for n, time in times if time]
    return found


def _pythons(place: Path) -> dict[str, str]:
    """A python that has each peer, for those that can be had."""
    heavy = os.environ.get("HEATESS_PEERS")
    if heavy:
        return dict.fromkeys(SIZES, heavy)
    light = _environment(place, "vendi-score")
    return {"vendi-score": light} if light else {}


def _measure(peer: str, python: str, place: Path, n: int, angle: float) -> tuple[float, float, float] | None:
    """Our time, theirs, and the relative difference; None, with the reason on stderr, if the peer does not run."""
    rng = np.random.default_rng(5)
    x, w = he.samplers.uniform(n, rng=rng), rng.random(n)
    w /= w.sum()
    distances = np.arccos(np.clip(x @ x.T, -1, 1))
    np.fill_diagonal(distances, 0.0)
    overlaps = overlap(he.Sphere(2).series, np.radians(angle) ** 2 / 8, distances)
    for name, array in (("x", x), ("w", w), ("K", overlaps)):
        np.save(place / f"{name}.npy", array)
    script = FRAME.format(script=SCRIPTS[peer])
    ran = subprocess.run([python, "-c", script, place, str(angle)], capture_output=True, text=True, check=False)
    if ran.returncode:
        print(f"{peer} does not run: {ran.stderr.strip().splitlines()[-1]}", file=sys.stderr)
        return None
    theirs, value = (float(word) for word in ran.stdout.split()[-2:])
    (ours,) = side_by_side(lambda: he.gess(x, w, angle=angle), rounds=50)
    return ours, theirs, abs(he.gess(x, w, angle=angle) / value - 1)


def _environment(place: Path, package: str) -> str | None:
    """Python of a new environment with *package*, or None, with the reason on stderr."""
    try:
        subprocess.run([sys.executable, "-m", "venv", place / "venv"], check=True, capture_output=True, timeout=60)
        python = place / "venv" / "bin" / "python"
        install = [python, "-m", "pip", "install", "--quiet", package]
        subprocess.run(install, check=True, capture_output=True, timeout=180)
    except (subprocess.SubprocessError, OSError) as error:
        print(f"{package} cannot be had here: {error}", file=sys.stderr)
        return None
    return str(python)
