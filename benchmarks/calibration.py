"""Do bands hold and tests err as often as they say? Simulations, written into docs/explanation/calibration.md.

    python benchmarks/calibration.py               # the parts that are marked below, under 15 minutes on two idle cores
    python benchmarks/calibration.py --full        # with more replicates: the published figures
    python benchmarks/calibration.py --only bands  # one part; may be repeated
    python benchmarks/calibration.py --all         # every part, about two hours
    python benchmarks/calibration.py --print       # to the terminal; the document stays as it is
    python benchmarks/calibration.py --list        # the parts and what they measure

Designs were chosen before anything was looked at. Cells that fall short of what is promised are marked in the tables.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import time
from importlib import import_module
from pathlib import Path

#: Set before NumPy is imported: one process for each core, one thread for each process.
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "HEATESS_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

#: Parts, each in calibration_NAME.py, and what they measure; those of a usual run first.
USUAL = {
    "bands": "coverage of bands, weights of three kinds, 108 cells",
    "tails": "bands and both tests with importance weights of known tail index: how often given, and given and wrong",
    "uniformity": "sizes and powers of uniformity_test",
    "two_sample": "sizes and powers of two_sample_test",
    "thinning": "thin against other ways to thin; its certificate; autocorrelation times of chain_ess",
    "modes": "counts of plateaus, and order of maximum entropy",
}
LONG = {
    "power": "what rules over scales lose against the best single statistic, both tests, 41 alternatives",
    "fit": "sizes and powers of goodness_of_fit and k_sample_test",
    "chains": "how often chain_ess warns of good and bad chains",
    "serial": "sizes and powers of both tests on Markov chains",
}
#: Parts that print their own tables, which stand in other guides or are put into the page by hand, and their arguments.
APART = {
    "mode_tree": ("how often he.modes finds the right number of modes", ("--clouds", "20")),
    "density": ("error of he.density beside the best scale; with --regions, what regions hold", ("--clouds", "10")),
    "pairs": ("how often the truth lies within the stated error of random pairs", ()),
}
DOCUMENT = Path(__file__).parents[1] / "docs" / "explanation" / "calibration.md"


def main() -> None:
    """Run the sections that were asked for, one after another."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help="more replicates")
    parser.add_argument("--only", choices=[*USUAL, *LONG, *APART], action="append", help="may be repeated")
    parser.add_argument("--all", action="store_true", help="every part")
    parser.add_argument("--clouds", type=int, help="how many, with --only chains, fit or serial")
    parser.add_argument("--list", action="store_true", dest="listed", help="the parts and what they measure")
    parser.add_argument("--print", action="store_true", dest="printed", help="leave the page as it is")
    given = parser.parse_args()
    if given.listed:
        for name, what in (USUAL | LONG | {name: what for name, (what, _) in APART.items()}).items():
            print(f"{name:12s} {what}")
        return
    for section in given.only or [*USUAL, *([*LONG, *APART] if given.all else [])]:
        if section in APART:
            script = Path(__file__).with_name(f"calibration_{section}.py")
            subprocess.run([sys.executable, script, *APART[section][1]], check=True)
            continue
        started = time.perf_counter()
        tables = import_module(f"calibration_{section}").tables(given.full, *([given.clouds] if given.clouds else []))
        note = (
            f"{'Full' if given.full else 'Quick'} run, {(time.perf_counter() - started) / 60:.1f} minutes on two cores."
        )
        print(f"# {section}\n\n{tables}\n\n{note}\n", flush=True)
        if not given.printed:
            DOCUMENT.write_text(placed(DOCUMENT.read_text(encoding="utf-8"), section, f"{tables}\n\n{note}"), "utf-8")


def placed(document: str, section: str, text: str) -> str:
    """The document with *text* between the marks of a section."""
    marks = re.compile(rf"(<!-- {section} -->).*?(<!-- end of {section} -->)", re.DOTALL)
    if not marks.search(document):
        sys.exit(f"{DOCUMENT} has no marks <!-- {section} --> and <!-- end of {section} -->")
    return marks.sub(lambda found: f"{found[1]}\n\n{text}\n\n{found[2]}", document)


if __name__ == "__main__":
    main()
