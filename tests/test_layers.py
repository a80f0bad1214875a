"""The layers of the package, written down once: what may import what, at any depth of a file."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import heatess

ROOT = Path(heatess.__file__).parent

#: From the bottom up. A module may import its own layer and those below, lazily or for types as well.
LAYERS = [
    {
        "errors",
        "arrays",
        "blocks",
        "pool",
        "progress",
        "files",
        "directions",
        "results",
        "tensors",
        "quantities",
        "known",
        "frames",
    },
    {"heat"},
    {"compiled"},
    {"transforms"},
    {"spaces"},
    {"tables"},
    {"measure", "scales", "restored"},
    {"engines"},
    {"fitting", "plateaus"},
    {"profile"},
    {
        "potentials",
        "spectrum",
        "parts",
        "accumulate",
        "baselines",
        "asymptotics",
        "samplers",
        "plot",
        "skymap",
        "healpix",
    },
    {"inference"},
    {"densities"},
    {"summary"},
    {"readers"},
    {"frame_methods"},
    {"distributed", "pandas", "polars"},
    {"reporting"},
    {"paper", "demo", "cli"},
    {"__init__", "__main__"},
]

#: Imports upwards that are meant: methods that draw or report, and a dask array that is handed on.
UPWARDS = {("profile", "plot"), ("profile", "distributed"), ("profile", "reporting")}

MODULES = sorted(ROOT.rglob("*.py"))


def layer_of(name: str) -> int:
    return next(place for place, names in enumerate(LAYERS) if name in names)


def top(module: Path) -> str:
    first = module.relative_to(ROOT).parts[0]
    return first.removesuffix(".py")


def imported(module: Path) -> set[str]:
    """The top-level names of the package that a module imports anywhere in its text."""
    package = ("heatess", *module.relative_to(ROOT).parent.parts)
    found = set()
    for node in ast.walk(ast.parse(module.read_text())):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = package[: len(package) - node.level + 1]
            parts = (*base, *(node.module or "").split("."))
            parts = tuple(part for part in parts if part)
            names = [parts[1]] if len(parts) > 1 else [alias.name for alias in node.names]
            found |= {name for name in names if (ROOT / name).is_dir() or (ROOT / f"{name}.py").exists()}
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""]
            found |= {name.split(".")[1] for name in names if name.startswith("heatess.")}
    return found


@pytest.mark.parametrize("module", MODULES, ids=lambda module: str(module.relative_to(ROOT)))
def test_a_module_imports_its_own_layer_and_those_below(module):
    own = top(module)
    upwards = {name for name in imported(module) if layer_of(name) > layer_of(own) and (own, name) not in UPWARDS}
    assert not upwards, f"{module.relative_to(ROOT)} imports {sorted(upwards)} from a layer above its own"


@pytest.mark.parametrize(
    "module", [m for m in MODULES if top(m) != "spaces"], ids=lambda module: str(module.relative_to(ROOT))
)
def test_only_spaces_ask_which_space_it_is(module):
    families = {"Sphere", "Projective", "ComplexProjective", "Rotations", "Torus", "Circle", "Product", "Euclidean"}
    families |= {"Hyperbolic", "Mesh", "PointCloud", "Graph", "GeometricKernelsSpace", "NodeSpace"}
    for node in ast.walk(ast.parse(module.read_text())):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "isinstance":
            named = {n.id for n in ast.walk(node.args[1]) if isinstance(n, ast.Name)}
            named |= {n.attr for n in ast.walk(node.args[1]) if isinstance(n, ast.Attribute)}
            assert not named & families, f"line {node.lineno} asks for {sorted(named & families)}"


def test_the_compiler_is_used_in_one_folder_only():
    about = ROOT / "cli" / "about.py"  # says its version and where it keeps what it compiled, without importing it
    assert "import numba" not in about.read_text()
    for module in MODULES:
        if top(module) != "compiled" and module != about:
            assert "numba" not in module.read_text().replace("numba's", ""), f"{module} uses numba"


def test_a_library_under_another_licence_is_asked_in_one_file_only():
    about = ROOT / "cli" / "about.py"  # says its version
    asking = [module for module in MODULES if '"ducc0"' in module.read_text() or "import ducc0" in module.read_text()]
    assert {*asking} == {ROOT / "transforms" / "ducc.py", ROOT / "transforms" / "backend.py", about}
    assert "import ducc0" not in (ROOT / "transforms" / "backend.py").read_text()


def test_the_plan_is_short():
    assert len((ROOT / "engines" / "plan.py").read_text().splitlines()) < 200


def test_every_module_has_a_layer():
    for module in MODULES:
        assert layer_of(top(module)) >= 0


def test_every_public_name_is_there_and_import_is_light():
    import subprocess
    import sys

    text = (
        "import heatess, sys; assert 'numpy' not in sys.modules; [getattr(heatess, name) for name in heatess.__all__]"
    )
    subprocess.run([sys.executable, "-c", text], check=True)
    text = "import heatess, sys; heatess.heat_profile; print({'scipy.fft', 'numba', 'ducc0'} & {*sys.modules})"
    heavy = subprocess.run([sys.executable, "-c", text], check=True, capture_output=True, text=True).stdout
    assert heavy.strip() == "set()"
    assert callable(heatess.potential)
    assert {"gess", "Mesh", "read"} <= set(dir(heatess))
