"""Whether an environment holds nothing under the GNU General Public License: `python licences.py`, in it.

Metadata alone does not tell: a wheel may say Apache and hold FFTW. So compiled files are searched, too, for names of
functions of libraries that are under it.
"""

from __future__ import annotations

import re
import sys
from importlib.metadata import Distribution, distributions
from pathlib import Path

#: Names that a compiled file has if it holds, or is, one of these libraries.
LIBRARIES = {
    "FFTW": rb"fftwf?_(?:execute|plan_dft)",
    "the GNU Scientific Library": rb"gsl_(?:vector_alloc|error_handler)",
    "ducc0": rb"ducc0",
    "SuiteSparse's CHOLMOD supernodal": rb"cholmod_l?_?super_numeric",
    "SuiteSparse's UMFPACK": rb"umfpack_d[il]_numeric",
}


#: Files that hold the Fourier transforms of ducc0 alone, which their author gives under the BSD licence too.
FREE = re.compile(r"scipy/fft/_duccfft/")


def names_gpl(words: str) -> bool:
    """Whether a licence is the GPL or the AGPL; not the Lesser one, nor one with an exception, as that of GCC.

    >>> [names_gpl(w) for w in ("GPL-2.0-or-later", "LGPLv3", "MIT", "GPL-3.0-or-later WITH GCC-exception-3.1")]
    [True, False, False, False]
    """
    words = re.sub(r"A?GPL[\w.+-]* WITH [\w.-]+", "", words)
    words = re.sub(r"(?i)lesser general public licen[sc]e|library or lesser general|L-?GPL", "", words)
    return re.search(r"(?i)GPL|general public licen[sc]e", words) is not None


def licences(package: Distribution) -> list[str]:
    """What its metadata says; of a whole text, only how it begins."""
    said = package.metadata.get_all("Classifier") or []
    found = [words for words in said if words.startswith("License")]
    found += package.metadata.get_all("License-Expression") or []
    return found + [words.strip()[:80] for words in package.metadata.get_all("License") or []]


def held(file: Path) -> list[str]:
    """The libraries that a compiled file has names of."""
    content = file.read_bytes()
    return [name for name, words in LIBRARIES.items() if re.search(words, content)]


def faults() -> list[str]:
    """One line for each package or file that should not be there."""
    found = []
    for package in distributions():
        said = [words for words in licences(package) if names_gpl(words)]
        if said:
            found.append(f"{package.metadata['Name']} is under {' / '.join(said)}")
        for file in package.files or []:
            if re.search(r"\.(so|pyd|dylib|dll)(\.|$)", file.name) and not FREE.match(file.as_posix()):
                path = Path(str(package.locate_file(file)))
                found += [f"{package.metadata['Name']}: {file} holds {name}" for name in held(path)]
    return found


if __name__ == "__main__":
    wrong = faults()
    print("\n".join(wrong) or "nothing under the GPL", file=sys.stderr if wrong else sys.stdout)
    sys.exit(1 if wrong else 0)
