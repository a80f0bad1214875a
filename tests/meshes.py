"""Small triangle meshes with known geometry, as (vertices, faces)."""

from __future__ import annotations

import numpy as np


def icosphere(subdivisions):
    """The unit sphere with 10 * 4^subdivisions + 2 vertices: 642 at three, 2562 at four, 10242 at five."""
    golden = (1 + 5**0.5) / 2
    corners = [(0, s, t * golden) for s in (-1, 1) for t in (-1, 1)]
    vertices = np.array([np.roll(corner, shift) for corner in corners for shift in range(3)], dtype=float)
    gaps = np.linalg.norm(vertices[:, None] - vertices, axis=2)
    near = np.isclose(gaps, 2)
    faces = [
        (i, j, k) for i in range(12) for j in range(i) for k in range(j) if near[i, j] and near[j, k] and near[i, k]
    ]
    faces = np.array(faces)
    vertices /= np.linalg.norm(vertices, axis=1, keepdims=True)
    for _ in range(subdivisions):
        edges, label = np.unique(
            np.sort(faces[:, [[1, 2], [2, 0], [0, 1]]].reshape(-1, 2), axis=1), axis=0, return_inverse=True
        )
        middle = label.reshape(-1, 3) + len(vertices)  # the vertex opposite each corner
        a, b, c = faces.T
        x, y, z = middle.T
        faces = np.concatenate([np.stack(part, axis=1) for part in ((a, z, y), (z, b, x), (y, x, c), (x, y, z))])
        added = vertices[edges].sum(axis=1)
        vertices = np.concatenate([vertices, added / np.linalg.norm(added, axis=1, keepdims=True)])
    return vertices, faces


def uneven_sphere(n, rng, concentration=3.0):
    """The unit sphere with random vertices, exp(2 * concentration) times denser at one pole than the other."""
    from scipy.spatial import ConvexHull

    u = rng.random(n)
    z = 1 + np.log(u + (1 - u) * np.exp(-2 * concentration)) / concentration  # density proportional to exp(c z)
    turn = rng.uniform(0, 2 * np.pi, n)
    across = np.sqrt(1 - z**2)
    vertices = np.stack([across * np.cos(turn), across * np.sin(turn), z], axis=1)
    return vertices, ConvexHull(vertices).simplices


def globe(rings, around):
    """The unit sphere by latitude and longitude, with thin triangles at the poles."""
    polar = np.pi * np.arange(1, rings) / rings
    turn = 2 * np.pi * np.arange(around) / around
    circles = np.stack(
        [
            np.outer(np.sin(polar), np.cos(turn)),
            np.outer(np.sin(polar), np.sin(turn)),
            np.outer(np.cos(polar), turn**0),
        ],
        axis=2,
    )
    label = np.arange((rings - 1) * around).reshape(rings - 1, around)
    after = np.roll(label, -1, axis=1)
    a, b, c, d = (part.ravel() for part in (label[:-1], label[1:], after[1:], after[:-1]))
    caps = [np.stack([np.full(around, label.size + k), label[-k], after[-k]], axis=1) for k in (0, 1)]
    faces = np.concatenate([np.stack([a, b, c], axis=1), np.stack([a, c, d], axis=1), *caps])
    return np.concatenate([circles.reshape(-1, 3), [[0, 0, 1], [0, 0, -1]]]), faces


def grid_torus(rows, columns, surface):
    """A doubly periodic grid of rows x columns, placed in space by surface(u, v) with angles u and v."""
    i, j = np.meshgrid(np.arange(rows), np.arange(columns), indexing="ij")
    vertices = surface(2 * np.pi * i.ravel() / rows, 2 * np.pi * j.ravel() / columns)

    def index(a, b):
        return ((a % rows) * columns + b % columns).ravel()

    corners = index(i, j), index(i + 1, j), index(i + 1, j + 1), index(i, j + 1)
    a, b, c, d = corners
    return vertices, np.concatenate([np.stack([a, b, c], axis=1), np.stack([a, c, d], axis=1)])


def torus(rows, columns, outer=1.0, inner=0.4):
    """The torus of revolution."""
    return grid_torus(rows, columns, lambda u, v: ring(u, v, outer, inner))


def ring(u, v, outer, inner):
    """A point of the torus of revolution; *inner* may depend on the angle u around the axis."""
    reach = outer + inner * np.cos(v)
    return np.stack([reach * np.cos(u), reach * np.sin(u), inner * np.sin(v)], axis=1)


def pinched_torus(rows, columns, neck=0.15):
    """A torus whose tube narrows to the fraction *neck* of its radius at one place."""
    return grid_torus(
        rows, columns, lambda u, v: ring(u, v, 1.0, 0.4 * (1 - (1 - neck) * np.exp(-2 * (1 - np.cos(u)) * 2)))
    )


def ellipsoid(subdivisions, axes=(1.0, 0.7, 2.0)):
    """A stretched icosphere."""
    vertices, faces = icosphere(subdivisions)
    return vertices * np.asarray(axes), faces


def dumbbell(subdivisions, neck=0.15):
    """Two balls joined by a narrow neck: a sphere, lengthened twice, with its waist drawn in."""
    vertices, faces = icosphere(subdivisions)
    z = vertices[:, 2:]
    waist = 1 - (1 - neck) * np.exp(-((z / 0.35) ** 2))
    return np.concatenate([vertices[:, :2] * waist, 2 * z], axis=1), faces


def lollipop(neck=0.04, bulb=0.3, stalk=0.5, around=24):
    """A unit ball with a small bulb on a thin stalk, and the vertices at the bulb's tip and half-way up the stalk."""
    start, end = np.arcsin(neck), np.pi - np.arcsin(neck / bulb)
    foot = np.cos(start)
    down, up = np.linspace(np.pi, start, 60)[1:], np.linspace(end, 0, 24)[:-1]
    centre = foot + stalk - bulb * np.cos(end)
    height = np.concatenate([np.cos(down), foot + np.linspace(0, stalk, 22)[1:-1], centre + bulb * np.cos(up)])
    radius = np.concatenate([np.sin(down), np.full(20, neck), bulb * np.sin(up)])
    turn = 2 * np.pi * np.arange(around) / around
    rings = np.stack(
        [np.outer(radius, np.cos(turn)), np.outer(radius, np.sin(turn)), np.outer(height, turn**0)], axis=2
    )
    poles = np.array([[0, 0, -1.0], [0, 0, centre + bulb]])
    label = np.arange(len(height) * around).reshape(len(height), around)
    after = np.roll(label, -1, axis=1)
    quads = [part.ravel() for part in (label[:-1], after[:-1], after[1:], label[1:])]
    caps = [np.stack([np.full(around, label.size + k), label[row], after[row]], axis=1) for k, row in ((0, 0), (1, -1))]
    a, b, c, d = quads
    faces = np.concatenate([np.stack([a, b, c], axis=1), np.stack([a, c, d], axis=1), *caps])
    return np.concatenate([rings.reshape(-1, 3), poles]), faces, [label.size + 1, label[59 + 10, 0]]


def folded_torus(rows, columns, length):
    """An exactly flat torus: a prism of *rows* sides over itself, out and back, joined at both ends.

    Its circumference is 2 * rows * sin(pi / rows) and its length 2 * *length*; *columns* must be even.
    """

    def surface(u, v):
        return np.stack([np.cos(u), np.sin(u), length * (1 - np.abs(v / np.pi - 1))], axis=1)

    return grid_torus(rows, columns, surface)
