"""`heatess --version -v`: what heatess runs on, for bug reports. Says what is broken instead of failing with it."""

from __future__ import annotations

import os
import platform
import re
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable
from importlib import import_module
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import Any

from .. import __version__
from ..base.blocks import thread_count

#: Environment variables that change speed or the number of threads.
VARIABLES = (
    "HEATESS_NUM_THREADS", "HEATESS_BACKEND", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS",
    "DUCC0_NUM_THREADS", "NUMBA_NUM_THREADS", "NUMBA_CACHE_DIR", "NUMBA_DISABLE_JIT", "NUMBA_CPU_NAME",
    "NPY_DISABLE_CPU_FEATURES",
)  # fmt: skip

_REQUIREMENT = re.compile(r"([\w.-]+).*;.*\bextra\s*==\s*['\"]([\w.-]+)['\"]")


def about() -> str:
    """All of it as lines of text; numba is not imported, which would take most of a second."""
    packages = {
        "numpy": _told(_numpy),
        "scipy": "",
        "ducc0": _told(_ducc) if _version("ducc0") != "missing" else "not needed; the extra ducc brings it",
        "numba": "",
        "llvmlite": "",
        "click": "",
        "threadpoolctl": "",
    }
    rows = [
        ("python", f"{platform.python_version()} ({platform.python_implementation()}), {sys.executable}"),
        ("platform", f"{platform.platform()}, {platform.machine()}"),
        *((name, "; ".join(filter(None, (_version(name), more)))) for name, more in packages.items()),
        ("transforms", _told(_transforms)),
        ("BLAS", _told(_blas)),
        ("threads", _told(_threads)),
        ("numba cache", _told(_cache)),
        ("variables", ", ".join(f"{name}={os.environ[name]!r}" for name in VARIABLES if name in os.environ) or "none"),
        *((f"extra {name}", ", ".join(found)) for name, found in extras().items()),
        ("installed", str(Path(__file__).parents[1])),
    ]
    width = max(len(name) for name, _ in rows)
    return "\n".join([f"heatess {__version__}", *(f"  {name:{width}}  {text}" for name, text in rows)])


def extras() -> dict[str, list[str]]:
    """For each extra, its packages with their versions; empty where heatess is not installed but only on the path."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    try:
        needs = requires("heatess") or []
    except PackageNotFoundError:
        needs = []
    for match in filter(None, map(_REQUIREMENT.match, needs)):
        package, extra = match.groups()
        if extra != "all":
            found[extra].append(f"{package} {_version(package)}")
    return dict(sorted(found.items()))


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "missing"


def _told(question: Callable[[], str]) -> str:
    """The answer, or in one line why there is none: a report is needed most where something is broken."""
    try:
        return question()
    except Exception as error:
        return " ".join(f"cannot be told: {type(error).__name__}: {error}".split())


def _numpy() -> str:
    import numpy as np

    config: Any = np.show_config(mode="dicts")
    known = config.get("SIMD Extensions", {})
    return "SIMD " + (" ".join([*known.get("baseline", []), *known.get("found", [])]) or "not told")


def _ducc() -> str:
    """ducc0 tells its vectors or its profile in newer versions only."""
    misc: Any = import_module("ducc0").misc
    told = []
    if hasattr(misc, "cpu_info"):
        told.append(str(misc.cpu_info().get("active_profile", "")))
    if hasattr(misc, "native_vector_lengths"):
        told.append(f"{misc.native_vector_lengths()[1]} float64 at a time")
    return "SIMD " + (", ".join(filter(None, told)) or "not told")


def _transforms() -> str:
    from ..transforms.backend import chosen

    names = [chosen(dim) for dim in (1, 2, 3)]
    if os.environ.get("HEATESS_BACKEND", "").strip():
        return f"{names[0]}, from HEATESS_BACKEND"
    if names == ["native"] * 3:
        return "native"
    return f"in 1, 2 and 3 angles: {', '.join(names)}, the faster of native and ducc"


def _blas() -> str:
    import numpy  # noqa: F401  (loads its BLAS)
    from threadpoolctl import threadpool_info

    keys = ("internal_api", "version", "architecture")
    found = [
        " ".join(str(pool[key]) for key in keys if pool.get(key)) + f", threads: {pool['num_threads']}"
        for pool in threadpool_info()
        if pool["user_api"] == "blas"
    ]
    return "; ".join(found) or "not told"


def _threads() -> str:
    count = thread_count()
    asked = os.environ.get("HEATESS_NUM_THREADS", "").strip()
    source = "HEATESS_NUM_THREADS" if asked else "the cores that this process may use"
    return f"{count}, from {source}; cores of the machine: {os.cpu_count() or 'not told'}"


def _cache() -> str:
    """Where compiled loops are kept: the first of the places numba looks at that can be written to."""
    places = _cache_places()
    for place in places:
        if _writable(place):
            return f"{place}, writable"
    tried = ", ".join(map(str, places))
    return f"none: cannot write to {tried}; set NUMBA_CACHE_DIR to a directory that can be written to"


def _cache_places() -> list[Path]:
    """NUMBA_CACHE_DIR if it is set, beside the package, the user's directory for caches."""
    asked = os.environ.get("NUMBA_CACHE_DIR")
    home = Path.home()
    if sys.platform == "win32":
        user = Path(os.environ.get("LOCALAPPDATA", home / "AppData" / "Local")) / "numba" / "Cache"
    elif sys.platform == "darwin":
        user = home / "Library" / "Caches" / "numba"
    else:
        user = Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache") / "numba"
    return [*([Path(asked)] if asked else []), Path(__file__).parents[1] / "compiled" / "__pycache__", user]


def _writable(place: Path) -> bool:
    """Whether a directory can be written to, or made; it is not made, only tried with a file that vanishes."""
    existing = next(path for path in (place, *place.absolute().parents) if path.exists())
    try:
        with tempfile.TemporaryFile(dir=existing):
            return True
    except OSError:
        return False
