"""The layers of the package, written down once: what may import what, at any depth of a file."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import heatess
from source import MODULES, ROOT, nodes

#: From the bottom up: packages, and the few modules of the root that are public by name. Each may import those before
#: it, lazily or for types as well, so that the graph of packages has no cycle.
LAYERS = [
    "base",
    "heat",
    "compiled",
    "transforms",
    "spaces",
    "tables",
    "measures",
    "engines",
    "drawing",
    "profiles",
    "parts",
    "readers",
    "distributed",
    "answers",
    "samplers",
    "asymptotics",
    "baselines",
    "inference",
    "densities",
    "plot",
    "pandas",
    "polars",
    "reporting",
    "__init__",
    "paper",
    "cli",
    "__main__",
]


def top(module: Path) -> str:
    return module.relative_to(ROOT).parts[0].removesuffix(".py")


def imported(module: Path) -> set[str]:
    """The top-level names of the package that a module imports anywhere in its text."""
    package = ("heatess", *module.relative_to(ROOT).parent.parts)
    found = set()
    for node in nodes(module):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = package[: len(package) - node.level + 1]
            parts = (*base, *(node.module or "").split("."))
            parts = tuple(part for part in parts if part)
            names = [parts[1]] if len(parts) > 1 else [alias.name for alias in node.names]
            found |= {
                name if (ROOT / name).is_dir() or (ROOT / f"{name}.py").exists() else "__init__" for name in names
            }
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""]
            found |= {name.split(".")[1] for name in names if name.startswith("heatess.")}
    return found


@pytest.mark.parametrize("layer", LAYERS)
def test_a_package_imports_itself_and_those_below(layer):
    below = LAYERS[: LAYERS.index(layer) + 1]
    for module in MODULES:
        if top(module) == layer:
            above = imported(module) - {*below}
            assert not above, f"{module.relative_to(ROOT)} imports {sorted(above)} from above"


def test_the_layers_are_the_folders():
    assert {*LAYERS} == {top(module) for module in MODULES}


def test_arrays_do_without_all_that_knows_columns_and_files():
    text = """import heatess, numpy, sys; heatess.gess(numpy.eye(3), angle=5)
print([name for name in sys.modules if name.startswith(("heatess.tables", "heatess.readers"))])"""
    assert subprocess.run([sys.executable, "-c", text], check=True, capture_output=True, text=True).stdout == "[]\n"


def test_only_spaces_ask_which_space_it_is():
    families = {"Sphere", "Projective", "ComplexProjective", "Rotations", "Torus", "Circle", "Product", "Euclidean"}
    families |= {"Hyperbolic", "Mesh", "PointCloud", "Graph", "GeometricKernelsSpace", "NodeSpace"}
    for module in (module for module in MODULES if top(module) != "spaces"):
        for node in nodes(module):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "isinstance":
                named = {n.id for n in ast.walk(node.args[1]) if isinstance(n, ast.Name)}
                named |= {n.attr for n in ast.walk(node.args[1]) if isinstance(n, ast.Attribute)}
                assert not named & families, f"{module}, line {node.lineno} asks for {sorted(named & families)}"


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


def test_every_public_name_is_there_and_import_is_light():
    text = (
        "import heatess, sys; assert 'numpy' not in sys.modules; [getattr(heatess, name) for name in heatess.__all__]"
    )
    subprocess.run([sys.executable, "-c", text], check=True)
    text = "import heatess, sys; heatess.heat_profile; print({'scipy.fft', 'numba', 'ducc0'} & {*sys.modules})"
    heavy = subprocess.run([sys.executable, "-c", text], check=True, capture_output=True, text=True).stdout
    assert heavy.strip() == "set()"
    assert callable(heatess.potential)
    assert {"gess", "Mesh", "read"} <= set(dir(heatess))
