"""Take the pictures of reports on the pages: python docs/figures/reports.py

Needs Playwright with Chromium, Pillow, trimesh and airportsdata. Data but the airports are made up.
"""

from __future__ import annotations

import io
import shutil
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
from playwright.sync_api import sync_playwright
from scipy.spatial.transform import Rotation

import heatess as he

DOCS = Path(__file__).parent.parent
RNG = np.random.default_rng(0)


def airports() -> he.Measure:
    """All airports, as the package airportsdata has them."""
    return he.read(Path(str(find_spec("airportsdata").origin)).parent / "airports.csv", labels="name")


def sky() -> he.Measure:
    """A map with a spot and a ring."""
    cells = he.from_healpix(np.ones(12_288), order="ring")
    x = cells.points
    spot, ring = np.array([-0.383, 0.838, 0.389]), np.array([-0.3, 0.9, -0.3]) / np.linalg.norm([-0.3, 0.9, -0.3])
    value = np.exp(60 * (x @ spot - 1)) + 0.6 * np.exp(-((x @ ring / 0.12) ** 2) / 2 + 3 * (x @ spot - 1))
    return he.from_healpix(value, order="ring")


def torsions() -> he.Measure:
    """Three wells of a backbone."""
    parts = [([-65, -42], 12, 900), ([-120, 135], 20, 700), ([60, 45], 8, 80)]
    angles = np.concatenate([RNG.normal(mean, width, (count, 2)) for mean, width, count in parts])
    return he.Measure(angles, space=he.Torus(2, units="deg"))


def compared() -> dict[str, he.Measure]:
    """A broad cloud, and the same with a small group of its own."""
    draws = he.samplers.von_mises_fisher
    after = np.concatenate([draws(360, [0, 0, 1], 5, rng=1), draws(40, [1, 0, 0], 200, rng=3)])
    return {"before": he.Measure(draws(400, [0, 0, 1], 5, rng=0)), "after": he.Measure(after)}


def surface() -> he.Measure:
    """Points near one end of an ellipsoid."""
    import trimesh

    shape = trimesh.creation.icosphere(4)
    vertices = shape.vertices * [1, 0.7, 0.5]
    share = np.exp(3 * vertices[:, 0])
    rows = RNG.choice(len(vertices), 200, replace=False, p=share / share.sum())
    return he.Measure(rows, space=he.Mesh(vertices, shape.faces))


def grains() -> he.Measure:
    """Orientations about a preferred axis."""
    turns = Rotation.from_rotvec(RNG.normal(0, 0.5, (800, 3)) * [1, 0.3, 1.5])
    return he.Measure(turns, space=he.Rotations())


#: File, what is reported, its name, colours, and the part of the page.
SHOTS: list[tuple[str, Any, str, str, str]] = [
    ("guides/report-airports.png", airports, "airports.csv", "light", ""),
    ("guides/report-sky.png", sky, "skymap.fits", "dark", ""),
    ("guides/report-torsions.png", torsions, "torsions.csv", "light", ""),
    ("guides/report-compare.png", compared, "", "light", ""),
    ("figures/guide-meshes.png", surface, "surface", "light", ".explorer"),
    ("figures/guide-rotations.png", grains, "grains", "light", ".explorer"),
]


def main() -> None:
    """Write every report into a folder that is thrown away, and take its picture."""
    folder = Path(tempfile.mkdtemp())
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for file, made, name, colours, part in SHOTS:
            path = he.report(made(), folder / "report.html", names=name or None, rng=0)
            size = {"width": 1180, "height": 1000}
            context = browser.new_context(viewport=size, color_scheme=colours, device_scale_factor=1.25)
            page = context.new_page()
            page.goto(path.as_uri())
            page.wait_for_timeout(600)
            shot = page.locator(part).screenshot() if part else page.screenshot()
            picture = (
                Image.open(io.BytesIO(shot))
                .convert("RGB")
                .quantize(200, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
            )
            picture.save(DOCS / file, optimize=True)
            context.close()
        browser.close()


if __name__ == "__main__":
    main()
