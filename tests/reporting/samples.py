"""Data of reports, one for each kind of picture, made from real clouds: what the page is tested and looked at with."""

from __future__ import annotations

import base64
import math
from collections.abc import Callable
from typing import Any

import numpy as np

import heatess as he

KINDS = (
    "earth", "sky", "plain", "hemisphere", "circle", "square", "ball", "flat", "solid", "surface", "graph", "histogram",
    "none", "compare",
)  # fmt: skip
ANGLES = np.geomspace(2, 120, 40)
HOSTILE = '<img src=x onerror=alert(1)>"><script>alert(2)</script>{{script}}'


def sample(kind: str, n: int = 2000, name: str | None = None) -> dict[str, Any]:
    """The data of a report whose picture is of this kind."""
    measures, scales = _MAKERS[kind](n)
    if name:
        measures[0]["name"] = name
    many = len(measures) > 1
    first = measures[0]
    gess, scale = first["curves"]["gess"][scales["start"]], scales["values"][scales["start"]]
    return {
        "schema": "heatess.report/1",
        "title": " and ".join(one["name"] for one in measures),
        "version": "0.0",
        "created": "2026-01-02T03:04:05+00:00",
        "verdict": {
            "headline": f"About {gess:.0f} of {first['n']:,} atoms can be told apart at {scale:.3g}.",
            "sentences": [
                f"{first['n']:,} weighted points were read from {first['name']}.",
                f"Ordinary ESS says {first['ess']:.0f}; it sees only weights, not that atoms lie close together.",
            ],
            "warnings": []
            if kind != "earth"
            else ["3 rows without a value were dropped.", "Weights have a heavy tail (Pareto k = 0.72)."],
            "caveat": "A low gESS is not a fault by itself: a narrow target has few distinguishable atoms.",
        },
        "scales": scales,
        "measures": measures,
        "comparison": _comparison(measures, scales) if many else None,
        "table": None,
        "methods": [
            {
                "title": "gESS",
                "text": "1 / sum of w_i w_j s_t(x_i, x_j): the number of atoms that can be told apart at a scale.",
            },
            {"title": "Engine", "text": f"{first['method']}; the relative error is certified."},
            {"title": "Scale", "text": "The angle is sqrt(8 t): two atoms that far apart overlap by about 1/e."},
        ],
        "cite": "heatess, version 0.0. Heat-kernel effective sample size of weighted points on manifolds.",
        "provenance": [
            ["command", "heatess profile cities.csv -o report.html"],
            ["file", "cities.csv"],
            ["sha256", "0f" * 32],
        ],
    }


def packed(array: Any, kind: str) -> str:
    """Base64 of little-endian numbers."""
    return base64.b64encode(np.ascontiguousarray(array, dtype=kind).tobytes()).decode()


def _view(kind: str, points: Any, weights: Any, extent: float = 1.0, **more: Any) -> dict[str, Any]:
    points = np.asarray(points, dtype=float)
    sizes = np.ceil(255 * weights / weights.max()) if weights is not None else np.full(len(points), 255)
    view = {"kind": kind, "why": "", "shown": len(points), "of": len(points), "dims": points.shape[1], "extent": extent}
    view |= {"points": packed(np.round(32767 * points / extent), "<i2"), "sizes": packed(sizes, "u1")}
    return view | {"axes": [], "graticule": None, "coast": False, "density": None} | more


def _measure(
    name: str,
    points: Any,
    weights: Any,
    space: he.Space,
    view: dict[str, Any],
    angles: Any = ANGLES,
    unit: str = "deg",
    **more: Any,
) -> dict[str, Any]:
    times = (np.radians(angles) if unit == "deg" else angles) ** 2 / 8
    profile = he.heat_profile(points, weights, space=space, times=times)
    volume = np.array(profile.volume)
    gess = np.array(profile.gess)
    with np.errstate(divide="ignore", invalid="ignore"):
        top = gess / volume
    compact = bool(np.isfinite(volume).all() and (volume > 0).all())
    chance = (top - 1) / profile.ess
    curves = {
        "gess": gess,
        "maximum": top if compact else None,
        "volume": volume if compact else None,
        "dimension": profile.dimension,
        "mmd2": profile.mmd2 if compact else None,
        "mmd2_null": {"mean": chance, "upper": 1.3 * chance} if compact else None,
        "error": profile.error,
        "places": None,
        "even": None if weights is None else he.heat_profile(points, space=space, times=times).gess,
    }
    facts = {"name": name, "n": profile.n, "ess": profile.ess, "equal": weights is None, "space": repr(space)[:60]}
    facts["certified"] = space.certified
    facts |= {
        "about": "points",
        "read": f"{profile.n} points",
        "method": profile.method,
        "curves": curves,
        "modes": None,
    }
    facts |= {
        "resolution_limit": None,
        "pareto_k": None,
        "spectrum": None,
        "maximum_entropy": None,
        "atoms": _atoms(profile.n, weights),
    }
    return facts | {"view": view} | more


def _atoms(n: int, weights: Any) -> dict[str, Any]:
    shares = np.full(n, 1 / n) if weights is None else weights / weights.sum()
    order = np.argsort(-shares)[:10]
    rows = [
        {
            "row": int(i),
            "place": f"{i % 90}.5° N, {i % 180}° E",
            "weight": float(shares[i]),
            "redundancy": 0.9 - 0.05 * k,
        }
        for k, i in enumerate(order)
    ]
    return {"heaviest": rows, "redundant": rows[::-1]}


def _scales(values: Any = ANGLES, start: int = 22, **more: Any) -> dict[str, Any]:
    return {"kind": "angle", "unit": "deg", "values": values, "km": None, "start": start} | more


def _frames(
    values_at: Callable[[float], Any], rows: int, columns: int, layout: str, angles: Any = ANGLES
) -> dict[str, Any]:
    frames = []
    for index in range(0, len(angles), 5):
        logs = np.log10(np.maximum(values_at(float(angles[index])), 1e-12))
        least, most = max(float(logs.min()), float(logs.max()) - 6), float(logs.max())
        shades = np.clip(np.round(255 * (logs - least) / max(most - least, 1e-9)), 0, 255)
        frames.append({"scale": index, "least": least, "most": most, "values": packed(shades, "u1")})
    return {"rows": rows, "columns": columns, "layout": layout, "frames": frames}


def _sphere_grid(rows: int, columns: int) -> Any:
    lat = np.radians(90 - (np.arange(rows) + 0.5) * 180 / rows)
    lon = np.radians(-180 + (np.arange(columns) + 0.5) * 360 / columns)
    lat, lon = np.meshgrid(lat, lon, indexing="ij")
    return np.column_stack(
        [(np.cos(lat) * np.cos(lon)).ravel(), (np.cos(lat) * np.sin(lon)).ravel(), np.sin(lat).ravel()]
    )


def _cities(n: int, seed: int = 0) -> tuple[Any, Any]:
    """Clusters with heavy-tailed weights, as cities are."""
    rng = np.random.default_rng(seed)
    centres = he.from_lonlat([10, 78, 115, -80, -50, 5], [48, 22, 32, 38, -15, 9], units="deg")
    points = np.concatenate([he.samplers.von_mises_fisher(n // 6 + 1, centre, 30, rng=rng) for centre in centres])[:n]
    return points, rng.pareto(1.6, n) + 0.1


def _sphere(name: str, n: int, seed: int, **more: Any) -> dict[str, Any]:
    points, weights = _cities(n, seed)
    grid = _sphere_grid(48, 96)
    density = _frames(
        lambda angle: he.potential(points, weights, at=grid, angle=angle, kind="density", rtol=1e-4), 48, 96, "lonlat"
    )
    spectrum = he.power_spectrum(points, weights, max_degree=24)
    facts = {
        "spectrum": {
            "degrees": spectrum.degrees, "energies": spectrum.energies, "multiplicities": spectrum.multiplicities,
            "names": {"1": "mean direction (Rayleigh)", "2": "axes (Bingham)"},
        },
        "maximum_entropy": {
            "degrees": [1, 2, 3, 4, 5], "shares": [0.42, 0.23, 0.12, 0.08, 0.05],
            "beyond": 0.1, "scale": "20°", "order": 3,
        },
        "modes": {
            "sentence": "The cloud has 6 modes between 8° and 15°.",
            "plateaus": [{"count": 6, "finest": 8, "coarsest": 15}],
        },
        "resolution_limit": 2.4,
    }  # fmt: skip
    view = _view("globe", points, weights, density=density, **({"graticule": "plain"} | more))
    measure = _measure(name, points, weights, he.Sphere(2), view, **facts)
    gess = measure["curves"]["gess"]
    measure["curves"]["places"] = {"estimate": gess * 1.3, "lower": gess * 1.05, "upper": gess * 1.7}
    return measure


def _earth(n: int) -> Any:
    return [_sphere("cities.csv", n, 0, graticule="earth", coast=True) | {"about": "earth"}], _scales(
        km=ANGLES * 111.195
    )


def _sky(n: int) -> Any:
    return [_sphere("galaxies.fits", n, 1, graticule="sky") | {"about": "sky"}], _scales()


def _plain(n: int) -> Any:
    points = he.samplers.uniform(n, rng=np.random.default_rng(2))
    return [
        _measure("directions.npy", points, None, he.Sphere(2), _view("globe", points, None, graticule="plain"))
    ], _scales()


def _hemisphere(n: int) -> Any:
    points, weights = _cities(n, 3)
    grid = _sphere_grid(36, 72)
    space = he.Projective(2)
    angles = np.geomspace(3, 60, 30)
    density = _frames(
        lambda angle: he.potential(points, weights, at=grid, angle=angle, space=space, kind="density", rtol=1e-4),
        36,
        72,
        "lonlat",
        angles,
    )
    view = _view("hemisphere", points, weights, density=density, graticule="plain")
    return [_measure("axes.csv", points, weights, space, view, angles)], _scales(angles, 15)


def _circle(n: int) -> Any:
    rng = np.random.default_rng(4)
    angles = np.concatenate([rng.vonmises(1, 8, n // 2), rng.vonmises(-2, 3, n - n // 2)])
    space = he.Circle(units="rad")
    grid = -math.pi + (np.arange(180) + 0.5) * 2 * math.pi / 180
    density = _frames(
        lambda angle: he.potential(angles, at=grid, angle=angle, space=space, kind="density"), 1, 180, "circle"
    )
    view = _view("circle", np.column_stack([np.cos(angles), np.sin(angles)]), None, density=density)
    return [_measure("hours.csv", angles, None, space, view)], _scales()


def _square(n: int) -> Any:
    rng = np.random.default_rng(5)
    centres = np.array([[-1.1, -0.8], [-1.2, 2.4], [1.0, 0.8], [-2.6, 2.9]])
    points = centres[rng.choice(4, n, p=[0.5, 0.25, 0.1, 0.15])] + rng.normal(scale=0.28, size=(n, 2))
    points = (points + math.pi) % (2 * math.pi) - math.pi
    space = he.Torus(2, units="rad")
    side = -math.pi + (np.arange(48) + 0.5) * 2 * math.pi / 48
    y, x = np.meshgrid(side[::-1], side, indexing="ij")
    grid = np.exp(1j * np.stack([x.ravel(), y.ravel()], axis=1))
    far = [np.abs(np.angle(grid[:, None, k] / np.exp(1j * points[None, :, k]))) for k in (0, 1)]
    square = far[0] ** 2 + far[1] ** 2

    def density_at(angle: float) -> Any:
        time = np.radians(angle) ** 2 / 8
        return np.pi / time * np.exp(-square / (4 * time)).mean(axis=1)

    density = _frames(density_at, 48, 48, "square")
    view = _view("square", points, None, math.pi, density=density, axes=["phi", "psi"])
    return [_measure("torsions.csv", points, None, space, view)], _scales()


def _ball(n: int) -> Any:
    rng = np.random.default_rng(6)
    axes = he.samplers.von_mises_fisher(n, [0.48, 0.36, 0.8], 6, rng=rng)
    vectors = axes * (rng.beta(5, 4, n) * math.pi)[:, None]
    angle = np.linalg.norm(vectors, axis=1)
    quaternions = np.column_stack([np.cos(angle / 2), axes * np.sin(angle / 2)[:, None]])
    view = _view("ball", vectors, None, math.pi, axes=["x", "y", "z"])
    return [_measure("poses.star", quaternions, None, he.Rotations(), view)], _scales()


def _flat(n: int) -> Any:
    rng = np.random.default_rng(7)
    points = np.concatenate([rng.normal(size=(n // 2, 2)), rng.normal(loc=[3, 2], scale=0.4, size=(n - n // 2, 2))])
    scales = np.geomspace(0.05, 5, 30)
    view = _view("flat", points, None, 5.0, axes=["x (m)", "y (m)"])
    return [_measure("plane.csv", points, None, he.Euclidean(2), view, scales, "")], _scales(
        scales, 15, kind="distance", unit=""
    )


def _solid(n: int) -> Any:
    points = np.random.default_rng(8).normal(size=(n, 3)) * [1, 0.6, 0.3]
    scales = np.geomspace(0.05, 5, 30)
    view = _view("solid", points, None, 3.5, axes=["x", "y", "z"])
    return [_measure("space.csv", points, None, he.Euclidean(3), view, scales, "")], _scales(
        scales, 15, kind="distance", unit=""
    )


def _bumpy() -> tuple[Any, Any]:
    """A sphere with bumps, 60 x 30 quadrilaterals cut into triangles, closed at the poles."""
    rows, columns = 24, 48
    lat = np.pi * (np.arange(1, rows) / rows - 0.5)
    lon = 2 * np.pi * np.arange(columns) / columns
    u, v = np.meshgrid(lat, lon, indexing="ij")
    r = 1 + 0.18 * np.cos(3 * v) * np.cos(u) ** 3
    ring = np.stack([r * np.cos(u) * np.cos(v), r * np.cos(u) * np.sin(v), 0.8 * r * np.sin(u)], axis=-1).reshape(-1, 3)
    vertices = np.vstack([ring, [[0, 0, -0.8], [0, 0, 0.8]]])
    faces = []
    for i in range(rows - 2):
        for j in range(columns):
            a, b = i * columns + j, i * columns + (j + 1) % columns
            faces += [[a, b, a + columns], [b, b + columns, a + columns]]
    south, north, top = len(ring), len(ring) + 1, (rows - 2) * columns
    for j in range(columns):
        faces += [[(j + 1) % columns, j, south], [top + j, top + (j + 1) % columns, north]]
    return vertices, np.array(faces)


def _surface(n: int) -> Any:
    vertices, faces = _bumpy()
    space = he.Mesh(vertices, faces)
    nodes = np.random.default_rng(9).choice(np.flatnonzero(vertices[:, 0] > 0.3), min(n, 60))
    scales = np.geomspace(0.6, 4, 30)
    every = np.arange(len(vertices))
    density = _frames(
        lambda scale: he.potential(nodes, at=every, time=scale**2 / 8, space=space, kind="density"),
        1,
        len(vertices),
        "nodes",
        scales,
    )
    weights = np.bincount(nodes, minlength=len(vertices)).astype(float)
    view = _view("surface", vertices, weights, 1.3, density=density, faces=packed(faces, "<u4"))
    return [_measure("cortex.gii", nodes, None, space, view, scales, "")], _scales(scales, 12, kind="distance", unit="")


def _graph(n: int) -> Any:
    size = 40
    ring = np.roll(np.eye(size), 1, axis=1)
    ring[0, 20] = 1
    space = he.Graph(ring + ring.T)
    nodes = np.random.default_rng(10).choice(15, min(n, 40))
    scales = np.geomspace(1, 12, 24)
    every = np.arange(size)
    density = _frames(
        lambda scale: he.potential(nodes, at=every, time=scale**2 / 8, space=space, kind="density"),
        1,
        size,
        "nodes",
        scales,
    )
    turn = 2 * np.pi * every / size
    view = _view(
        "graph",
        np.column_stack([np.cos(turn), np.sin(turn)]),
        np.bincount(nodes, minlength=size).astype(float),
        1.1,
        density=density,
    )
    view["edges"] = packed(np.argwhere(np.triu(ring + ring.T)), "<u4")
    return [_measure("network.csv", nodes, None, space, view, scales, "")], _scales(
        scales, 10, kind="distance", unit=""
    )


def _histogram(n: int) -> Any:
    points = np.random.default_rng(11).normal(size=(min(n, 400), 40)) + 0.25
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    angles = np.geomspace(15, 150, 30)
    far = np.degrees(np.arccos(np.clip(points @ points.T, -1, 1)))[np.triu_indices(len(points), 1)]
    counts, edges = np.histogram(far, bins=60, range=(0, 180))
    middles = (edges[1:] + edges[:-1]) / 2
    overlap = [np.exp(-((middles / angle) ** 2)) for angle in angles]
    view = _view("histogram", np.zeros((0, 3)), None, histogram={"edges": edges, "counts": counts, "overlap": overlap})
    return [_measure("embeddings.npy", points, None, he.Sphere(39), view, angles)], _scales(
        angles, 14, kind="resolution"
    )


def _none(n: int) -> Any:
    points = he.samplers.uniform(min(n, 300), 5, rng=np.random.default_rng(12))
    view = {"kind": "none", "why": "A product of three spaces has no picture in the plane; the curves are complete."}
    return [_measure("product.csv", points, None, he.Sphere(5), view)], _scales()


def _compare(n: int) -> Any:
    return [
        _sphere("before.csv", n, 0, graticule="earth", coast=True),
        _sphere("after, resampled.csv", n // 2, 5, graticule="earth", coast=True),
    ], _scales(km=ANGLES * 111.195)


def _comparison(measures: Any, scales: dict[str, Any]) -> dict[str, Any]:
    values = np.asarray(scales["values"])[::4]
    mmd2 = 0.3 / values**1.5
    pvalues = np.clip(np.geomspace(0.002, 0.6, len(values)), 0, 1)
    verdict = f"{measures[0]['name']} and {measures[1]['name']} differ (p = 0.004)."
    return {"scales": values, "mmd2": mmd2, "pvalues": pvalues, "pvalue": 0.004, "verdict": verdict, "draws": 999}


_MAKERS: dict[str, Callable[[int], Any]] = {
    "earth": _earth, "sky": _sky, "plain": _plain, "hemisphere": _hemisphere, "circle": _circle, "square": _square,
    "ball": _ball, "flat": _flat, "solid": _solid, "surface": _surface, "graph": _graph, "histogram": _histogram,
    "none": _none, "compare": _compare,
}  # fmt: skip
