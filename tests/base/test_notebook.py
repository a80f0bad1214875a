"""A real kernel shows what a cell draws or returns."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow
nbclient = pytest.importorskip("nbclient")
nbformat = pytest.importorskip("nbformat")
pytest.importorskip("ipykernel")
pytest.importorskip("matplotlib")


def outputs(*cells: str) -> list[list[dict]]:
    """The data that each cell shows, run one after the other in a new kernel."""
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    nbclient.NotebookClient(book, timeout=300, kernel_name="python3").execute()
    return [[dict(output.get("data", {})) for output in cell.outputs] for cell in book.cells]


def test_a_cell_shows_the_picture_and_the_table_of_what_it_returns():
    found = outputs(
        "import heatess as he\nprofile = he.heat_profile(he.samplers.fibonacci(200))",
        "profile.plot()",
        "ax = profile.plot(quantity='volume')\nax.set_title('mine');",
        "import matplotlib.pyplot as plt\nprofile.plot()\nplt.show()",
        "profile",
        "import tempfile, pathlib\n"
        "he.density(he.samplers.fibonacci(200), angle=30).save(pathlib.Path(tempfile.mkdtemp()) / 'map.png').name",
    )
    for cell in found[1:4]:
        assert [data for data in cell if "image/png" in data], cell
    (shown,) = found[4]
    assert shown["text/html"].count("<table") == shown["text/html"].count("<svg") == 1
    assert not [data for data in found[5] if "image/png" in data]


def test_a_kernel_shows_every_result_and_its_picture():
    makers = (Path(__file__).parent / "test_results.py").read_text().partition("@pytest.fixture")[0]
    names = re.findall(r'^    "(\w+)": lambda', makers, re.M)
    head = "import sys\nsys.modules['pytest'] = type(sys)('pytest')\nsys.modules['pytest'].importorskip = __import__\n"
    cells = [
        head + makers,
        *(cell for name in names for cell in (f"found = MAKERS['{name}']()\nfound", "found.plot()")),
    ]
    found = outputs(*cells)[1:]
    assert len(names) == 18
    for name, result, picture in zip(names, found[::2], found[1::2], strict=True):
        assert any("<table" in data.get("text/html", "") for data in result), name
        assert any("image/png" in data for data in picture), name
