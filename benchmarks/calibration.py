"""Do bands hold and tests err as often as they say? Simulations, written into docs/explanation/calibration.md.

    python benchmarks/calibration.py               # every table, under 15 minutes on two idle cores
    python benchmarks/calibration.py --full        # with more replicates: the published figures
    python benchmarks/calibration.py --only bands  # one of: bands, tails, uniformity, two_sample, thinning, modes
    python benchmarks/calibration.py --print       # to the terminal; the document stays as it is

Designs were chosen before anything was looked at. Cells that fall short of what is promised are marked in the tables.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import time
from importlib import import_module
from pathlib import Path

#: Set before NumPy is imported: one process for each core, one thread for each process.
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "HEATESS_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

SECTIONS = ("bands", "tails", "uniformity", "two_sample", "thinning", "modes")
DOCUMENT = Path(__file__).parents[1] / "docs" / "explanation" / "calibration.md"


def main() -> None:
    """Run the sections that were asked for, one after another."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help="more replicates")
    parser.add_argument("--only", choices=SECTIONS, action="append", help="may be repeated")
    parser.add_argument("--print", action="store_true", dest="printed", help="leave the page as it is")
    given = parser.parse_args()
    for section in given.only or SECTIONS:
        started = time.perf_counter()
        tables = import_module(f"calibration_{section}").tables(given.full)
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
