"""How long Ctrl-C takes: long calls are started, each in a process of its own, and interrupted in the midst of work.

python benchmarks/interrupts.py [words of names] prints a table of the seconds from the signal until the caller has the
KeyboardInterrupt, and until the process has ended; -v adds where each call was.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent

#: Seconds of work before the signal, and those within which every call should end.
BEFORE, WITHIN = 2.0, 1.0

#: What every call begins with.
COMMON = """
import numpy as np, heatess as he
from scipy import sparse
rng = np.random.default_rng(1)
def uniform(n, k, dtype=float):
    x = rng.standard_normal((n, k), dtype=np.float32)
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    return x.astype(dtype) if dtype != float else x / np.linalg.norm(x.astype(float), axis=1, keepdims=True)
def links(n, each):
    ahead = (np.arange(n)[:, None] + rng.integers(1, n, (n, each))) % n
    m = sparse.csr_array((rng.random(n * each) + 1, (np.repeat(np.arange(n), each), ahead.ravel())), shape=(n, n))
    return m + m.T
def grid(side):
    path = sparse.diags_array([np.ones(side - 1)] * 2, offsets=[1, -1])
    return sparse.kronsum(path, path).tocsr()
def ball(level):
    import sys; sys.path.insert(0, TESTS)
    import meshes
    return meshes.icosphere(level)
"""


class Call(NamedTuple):
    """Something that takes more than a few seconds."""

    name: str
    before: str  #: lines that are run before the clock starts
    call: str  #: what is interrupted; words of a command line if it starts with heatess


CALLS = [
    Call("heat_profile, S^8, 60,000 atoms", "x = uniform(60_000, 9)", "he.heat_profile(x)"),
    Call(
        "heat_profile, E^3, 400,000 atoms",
        "x = rng.normal(size=(400_000, 3))",
        "he.heat_profile(x, space=he.Euclidean(3), method='pairwise')",
    ),
    Call(
        "heat_profile, hyperbolic plane, 100,000 atoms",
        "p = rng.normal(size=(100_000, 2)); p = np.column_stack([np.sqrt(1 + (p * p).sum(axis=1)), p])",
        "he.heat_profile(p, space=he.Hyperbolic(2))",
    ),
    Call(
        "heat_profile, graph of 6,889 nodes, 5 atoms",
        "g = he.Graph(grid(83))",
        "he.heat_profile([0, 100, 2000, 5000, 6000], space=g)",
    ),
    Call(
        "heat_profile, graph of 202,500 nodes",
        "g = he.Graph(grid(450))",
        "he.heat_profile(rng.integers(0, 202_500, 2000), space=g)",
    ),
    Call(
        "gess, dense graph of 6,000 nodes",
        "g = he.Graph(links(6000, 600), modes=6000)",
        "he.gess([0, 5], space=g, time=1e-3)",
    ),
    Call(
        "gess, random graph of 7,000 nodes, 300 eigenpairs",
        "g = he.Graph(links(7000, 2), modes=300)",
        "he.gess([0, 5], space=g, time=1.0)",
    ),
    Call(
        "gess, graph of 1,200 nodes, links over 28 orders of magnitude",
        "a = np.triu(10.0 ** rng.uniform(-14, 2, (1200, 1200)), 1); a[:600, 600:] *= 1e-12; g = he.Graph(a + a.T)",
        "he.gess([0, 5, 900], space=g, time=1.0)",
    ),
    Call(
        "heat_profile, mesh of 163,842 vertices",
        "m = he.Mesh(*ball(7))",
        "he.heat_profile(rng.integers(0, 163_842, 3000), space=m)",
    ),
    Call(
        "heat_profile, rotations, 10 million atoms",
        "x = uniform(10_000_000, 4)",
        "he.heat_profile(x, space=he.Rotations(), angles=[2, 5])",
    ),
    Call(
        "heat_profile, rotations, 300,000 atoms, fine scales",
        "x = uniform(300_000, 4)",
        "he.heat_profile(x, space=he.Rotations(), angles=[0.1, 1, 5], method='pairwise')",
    ),
    Call(
        "heat_profile, poses, 30,000 atoms",
        "x = np.column_stack([rng.normal(size=(30_000, 3)), uniform(30_000, 4)])",
        "he.heat_profile(x, space=he.Product(he.Euclidean(3), he.Rotations()))",
    ),
    Call("heat_profile, embeddings, 20,000 x 768", "x = uniform(20_000, 768)", "he.heat_profile(x)"),
    Call(
        "heat_profile, 4 million on S^8, random pairs",
        "x = uniform(4_000_000, 9)",
        "he.heat_profile(x, pairs=10**9, rng=1, angles=[20, 60])",
    ),
    Call(
        "two_sample_test, S^5, 20,000 and 20,000",
        "x, y = uniform(20_000, 6), uniform(20_000, 6)",
        "he.two_sample_test(x, y)",
    ),
    Call("population_profile, S^8, 40,000", "x = uniform(40_000, 9)", "he.population_profile(x)"),
    Call(
        "uniformity_test, S^2, weights, 300,000",
        "x = uniform(300_000, 3); w = rng.random(300_000)",
        "he.uniformity_test(x, w, draws=20_000)",
    ),
    Call("thin, S^2, 200,000 to 3,000", "x = uniform(200_000, 3)", "he.thin(x, size=3000, angle=1.0)"),
    Call("redundancy, S^8, 60,000", "x = uniform(60_000, 9)", "he.redundancy(x, angle=40)"),
    Call("potential, S^8, 60,000", "x = uniform(60_000, 9)", "he.potential(x, angle=40)"),
    Call("chain_ess, S^2, 4 x 100,000", "x = uniform(400_000, 3).reshape(4, 100_000, 3)", "he.chain_ess(x)"),
    Call(
        "Accumulator, S^2, 10 million to degree 3,000",
        "x = uniform(10_000_000, 3)",
        "he.Accumulator(max_degree=3000).add(x)",
    ),
    Call(
        "heatess profile, 60,000 rows on S^8",
        "np.save('x.npy', uniform(60_000, 9))",
        "heatess profile x.npy --json out.json -q",
    ),
    Call(
        "heatess compare, two files of 40,000 rows",
        "np.save('x.npy', uniform(40_000, 9)); np.save('y.npy', uniform(40_000, 9))",
        "heatess compare x.npy y.npy --json out.json -q",
    ),
    Call(
        "heatess profile with a report, CSV of 2 million rows",
        "np.savetxt('x.csv', uniform(2_000_000, 3), delimiter=',', header='x,y,z', comments='')",
        "heatess profile x.csv -o out.html -q",
    ),
]


class Found(NamedTuple):
    """What an interrupted process did."""

    raised: float | None  #: seconds until the caller had the exception
    ended: float  #: seconds until the process was gone
    code: int
    said: str


def interrupted(call: Call, folder: Path) -> Found | str:
    """Start a call, interrupt it, and wait for its end; or why that was not possible."""
    common = COMMON.replace("TESTS", repr(str(HERE.parent / "tests")))
    typed = call.call.startswith("heatess ")
    if typed:
        subprocess.run([sys.executable, "-c", f"{common}\n{call.before}"], cwd=folder, check=True)
        command = [sys.executable, "-m", *call.call.split()]
    else:
        lines = (call.before, "import time", "print('now', flush=True)", "try:", f"    {call.call}")
        caught = ("except KeyboardInterrupt:", "    print(time.monotonic(), flush=True)", "    raise")
        command = [sys.executable, "-c", "\n".join((common, *lines, *caught))]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if process.stdout is not None and not typed:
        process.stdout.readline()
    try:
        process.wait(BEFORE)
        return "ended too early: " + process.communicate()[1].strip()[-300:]
    except subprocess.TimeoutExpired:
        pass
    start = time.monotonic()
    process.send_signal(signal.SIGINT)
    try:
        out, said = process.communicate(timeout=60)
    except subprocess.TimeoutExpired:
        process.kill()
        out, said = process.communicate()
    end = time.monotonic()
    raised = float(out.split()[-1]) - start if out.strip() and not typed else None
    return Found(raised, end - start, process.returncode, said)


def main(words: list[str]) -> None:
    """Print the table."""
    told = "-v" in words
    words = [word for word in words if word != "-v"]
    print(f"| interrupted after {BEFORE:g} s | seconds to the exception | to the end of the process |\n|---|---|---|")
    slow = 0
    for call in CALLS:
        if words and not any(word in call.name for word in words):
            continue
        with tempfile.TemporaryDirectory() as name:
            found = interrupted(call, Path(name))
            left = sorted(set(os.listdir(name)) - {"x.npy", "y.npy", "x.csv"})
        if isinstance(found, str):
            print(f"| {call.name} | {found} | |", flush=True)
            continue
        slow += found.ended > WITHIN
        strange = found.code not in (-signal.SIGINT, 130) or bool(left)
        raised = "" if found.raised is None else f"{found.raised:.2f}"
        fault = f" (exit code {found.code}, files {left})" if strange else ""
        print(f"| {call.name} | {raised} | {found.ended:.2f}{fault} |", flush=True)
        if told:
            print(found.said[-1500:])
    print(f"\n{slow} calls took longer than {WITHIN:g} s; {os.getloadavg()[0]:.0f} processes on {os.cpu_count()} cores")


if __name__ == "__main__":
    main(sys.argv[1:])
