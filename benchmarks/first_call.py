"""The first call in a fresh environment, where nothing is compiled yet; as a process of its own: first_call.py NAME."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator

import numpy as np

import heatess as he
from timing import Row, within

#: Seconds that the first fine scales may take, once and a half.
LIMIT = 4.0


def fine() -> Callable[[], object]:
    """Neighbours and a transform on S^2."""
    x = he.samplers.uniform(10**5, rng=0)
    return lambda: he.heat_profile(x, angles=[0.05, 5])


def sphere() -> Callable[[], object]:
    """A transform on S^2 of our own."""
    x = he.samplers.uniform(1000, rng=0)
    return lambda: he.heat_profile(x)


def rotations() -> Callable[[], object]:
    """Contractions with Wigner's d-matrices."""
    x = he.Rotations().uniform(10**5, np.random.default_rng(0))
    return lambda: he.heat_profile(x, space=he.Rotations(), angles=np.geomspace(10, 120, 60))


def embeddings() -> Callable[[], object]:
    """Bins of cosines."""
    x = he.samplers.uniform(2000, 383, rng=0)
    return lambda: he.heat_profile(x, resolutions=np.geomspace(10, 85, 60))


def one_loop() -> Callable[[], object]:
    """The least that a compiled loop costs: numba itself, and a loop of one line."""

    def run() -> None:
        import numba

        @numba.njit
        def total(x: np.ndarray) -> float:
            found = 0.0
            for value in x:
                found += value
            return found

        total(np.ones(3))

    return run


CALLS = {"fine": fine, "sphere": sphere, "rotations": rotations, "embeddings": embeddings, "one_loop": one_loop}


def first_calls() -> Iterator[Row]:
    """The first call in a fresh environment: fine scales, rotations, embeddings."""
    times = {name: min(_seconds(name) for _ in range(3)) for name in CALLS}
    work = "first fine scales, fresh cache, n = 10^5"
    yield within(work, f"a limit of {LIMIT:g} s", times["fine"], LIMIT, 1.5)
    alone = "first profile on S^2, native, fresh cache, n = 1000"
    yield within(alone, f"a limit of {LIMIT:g} s", times["sphere"], LIMIT, 1.0)
    for name, words in {
        "fine": work,
        "rotations": "first rotations, n = 10^5",
        "embeddings": "first embeddings, S^383",
    }.items():
        yield Row(words, "import numba, and a loop of one line", times[name], times["one_loop"], "recorded", None)


def _seconds(name: str) -> float:
    """Of one call in a process with an empty cache; numba is imported in it, heatess before."""
    with tempfile.TemporaryDirectory() as empty:
        run = subprocess.run(
            [sys.executable, __file__, name],
            env=os.environ | {"NUMBA_CACHE_DIR": empty, "HEATESS_BACKEND": "native"},
            capture_output=True,
            text=True,
            check=True,
        )
    return float(run.stdout)


if __name__ == "__main__":
    call = CALLS[sys.argv[1]]()
    start = time.perf_counter()
    call()
    print(time.perf_counter() - start)
