"""The report in a browser: milliseconds a frame while 100,000 atoms turn, time to open, and size of the file.

    python benchmarks/report.py [atoms]

Needs Playwright's Python package and Chromium. There is no GPU: pixels are written by the processor.
"""

from __future__ import annotations

import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import heatess as he

FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update",
    "--disable-sync",
]  # fmt: skip
FRAMES = 120

#: Turns the globe a little and draws it, FRAMES times; one pixel is read back, so that all drawing is done and counted.
TURN = """async (frames) => {
  const figure = document.querySelector(".view"), context = figure.querySelector("canvas").getContext("2d"), times = [];
  for (let k = 0; k < frames; k++) {
    Object.assign(heatess.state, { yaw: heatess.state.yaw + 0.02, pitch: 0.4 * Math.sin(k / 9), moving: true });
    const start = performance.now();
    figure.draw();
    context.getImageData(0, 0, 1, 1);
    times.push(performance.now() - start);
    await new Promise((done) => requestAnimationFrame(done));
  }
  return times;
}"""

#: Milliseconds from the start of the navigation until everything stands on the screen.
OPEN = (
    """() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now()))))"""
)


def cloud(n: int) -> he.Measure:
    """Clusters on the Earth with unequal weights."""
    rng = np.random.default_rng(0)
    centres = he.from_lonlat([10, 78, 115, -80, -50, 5], [48, 22, 32, 38, -15, 9], units="deg")
    points = np.concatenate([he.samplers.von_mises_fisher(n // 6 + 1, centre, 6, rng=rng) for centre in centres])[:n]
    lon, lat = np.degrees(np.arctan2(points[:, 1], points[:, 0])), np.degrees(np.arcsin(points[:, 2]))
    return he.read({"lon": lon, "lat": lat, "weight": rng.gamma(2.0, size=n)}, units="deg")


def measured(path: Path) -> dict[str, Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        opening = []
        for _ in range(3):
            page.goto(path.as_uri())
            opening.append(page.evaluate(OPEN))
        page.locator(".view canvas").first.scroll_into_view_if_needed()
        page.evaluate(TURN, 20)
        frames = page.evaluate(TURN, FRAMES)
        canvas = page.evaluate(
            "() => { const c = document.querySelector('.view canvas'); return [c.width, c.height]; }"
        )
        browser.close()
    return {"open": min(opening), "frames": frames, "canvas": canvas}


def main() -> None:
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    measure = cloud(n)
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        path = he.report(measure, Path(folder) / "report.html", rng=0)
        writing = time.perf_counter() - start
        size = path.stat().st_size
        found = measured(path)
    frames = sorted(found["frames"])
    width, height = found["canvas"]
    print(f"{n:,} atoms on a globe of {width} x {height} pixels, no GPU")
    slow = frames[int(0.95 * len(frames))]
    print(f"frame: median {statistics.median(frames):.1f} ms, 95 % {slow:.1f} ms (target: under 16)")
    print(f"open: {found['open']:.0f} ms (target: under 1000)")
    print(f"size: {size:,} bytes, {(size - 300_000) / min(n, 100_000):.2f} an atom above 300,000 (target: at most 12)")
    print(f"written in {writing:.1f} s")


if __name__ == "__main__":
    main()
