"""Clouds that are hard for heatess, on every space, from a random generator and for Hypothesis.

A cloud is made of centres, and of atoms at some distance from their centre: zero for duplicates, 1e-12 for clusters
that floating point hardly tells apart, anything in between.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

import hypothesis.strategies as st
import numpy as np

import heatess as he
import meshes
from certainty import reference
from space_cases import Case as ListedCase
from space_cases import taken

Rng = np.random.Generator


class Subject(NamedTuple):
    """A space of heatess, what it should be, and whether its `error` is a bound or an estimate."""

    family: str
    space: he.Space
    truth: Any
    certain: bool = True
    places: Any = None  # of the nodes of a mesh or a cloud, as points of the truth
    nodes: Any = None  # the reference of their matrices
    rows: Any = None  # of these, for each node


@dataclass
class Cloud:
    """Everything that one case consists of; `points` are as a user would give them."""

    subject: Subject
    points: Any
    times: np.ndarray
    rtol: float
    weights: np.ndarray | None = None
    log_weights: np.ndarray | None = None
    story: str = ""
    rng_seed: list[int] = field(default_factory=list)
    as_if_many: bool = False

    @property
    def n(self) -> int:
        return len(self.points[0] if isinstance(self.points, tuple) else self.points)

    @property
    def given(self) -> dict[str, Any]:
        return {"weights": self.weights, "log_weights": self.log_weights, "space": self.subject.space}

    def true_points(self) -> Any:
        nodes = self.subject.places
        return self.points if nodes is None else nodes[np.asarray(self.points, dtype=int)]

    def masses(self) -> Callable[[], list[Any]]:
        if self.log_weights is not None:
            return reference.shares_of_logs(self.log_weights)
        return reference.shares(np.ones(self.n) if self.weights is None else self.weights)


def truth_of(space: he.Space) -> Any:
    """The reference of a homogeneous space."""
    if isinstance(space, he.Product):
        return reference.Product(tuple(truth_of(factor) for factor in space.spaces), space.metric_scales)
    if isinstance(space, he.Torus):
        return reference.Torus(space.periods)
    if isinstance(space, he.Rotations):
        return reference.SymmetricRotations(space.symmetry) if space.symmetry else reference.Rotations()
    if isinstance(space, he.ComplexProjective):
        return reference.ComplexProjective(space.dim // 2)
    return getattr(reference, type(space).__name__)(space.dim)


# Points: centres of several kinds, and atoms near them.


def centres(space: he.Space, kind: str, count: int, rng: Rng) -> Any:
    """*count* places: "uniform", "opposite" (at each other's cut locus), "design" (balanced), "circle" or "far"."""
    if isinstance(space, he.Product):
        return tuple(centres(factor, kind, count, rng) for factor in space.spaces)
    if isinstance(space, he.Torus):
        return _torus_centres(space, kind, count, rng)
    if isinstance(space, he.Euclidean | he.Hyperbolic):
        return _open_centres(space, kind, count, rng)
    x = _unit(_ambient(space, count, rng))
    if kind == "opposite" and count > 1:
        x[1::2] = _opposite(space, x[: 2 * (count // 2) : 2], rng)
    elif kind == "design":
        x = np.resize(_design(x.shape[1], rng), x.shape)
    elif kind == "circle":
        frame, turn = _unit(_ambient(space, 2, rng)), rng.uniform(0, 2 * math.pi, count)
        frame[1] = _unit(frame[1:] - (frame[1:] @ frame[0].conj()) * frame[0])[0]
        x = np.cos(turn)[:, None] * frame[0] + np.sin(turn)[:, None] * frame[1]
    return _unit(x)


def near(space: he.Space, points: Any, gaps: np.ndarray, rng: Rng) -> Any:
    """Each point moved by about its gap."""
    if isinstance(space, he.Product):
        return tuple(
            near(factor, part, gaps / c, rng)
            for factor, part, c in zip(space.spaces, points, space.metric_scales, strict=True)
        )
    if isinstance(space, he.Torus):
        return points + gaps[:, None] * rng.standard_normal(points.shape) * (min(space.periods) / (2 * math.pi))
    if isinstance(space, he.Euclidean):
        return points + gaps[:, None] * rng.standard_normal(points.shape)
    if isinstance(space, he.Hyperbolic):
        # By the gap, by a share of the distance from the origin, or along the ray from there.
        place, way = points[:, 1:], rng.choice([0, 1, 2, 2])
        size = 1.0 if way == 0 else np.linalg.norm(place, axis=1)[:, None]
        aside = place / size if way == 2 else rng.standard_normal(place.shape)
        place = place + gaps[:, None] * size * aside * (rng.standard_normal((len(place), 1)) if way == 2 else 1.0)
        return np.column_stack([np.sqrt(1 + np.sum(place**2, axis=1)), place])
    moved = points + gaps[:, None] * _ambient(space, len(points), rng)
    return np.where(gaps[:, None] > 0, _unit(moved), points)


def _ambient(space: he.Space, count: int, rng: Rng) -> np.ndarray:
    if isinstance(space, he.ComplexProjective):
        parts = rng.standard_normal((2, count, space.dim // 2 + 1))
        return parts[0] + 1j * parts[1]
    return rng.standard_normal((count, 4 if isinstance(space, he.Rotations) else space.dim + 1))


def _unit(x: np.ndarray) -> np.ndarray:
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def _opposite(space: he.Space, x: np.ndarray, rng: Rng) -> np.ndarray:
    """Antipodes; orthogonal vectors where x and -x are one."""
    if isinstance(space, he.Sphere):
        return -x
    other = _ambient(space, len(x), rng)
    return other - np.sum(other * x.conj(), axis=1, keepdims=True) * x


def _design(columns: int, rng: Rng) -> np.ndarray:
    """A cross-polytope, a simplex or a cube, in a random position or as it stands."""
    kind = rng.integers(3)
    cross = np.vstack([np.eye(columns), -np.eye(columns)])
    if kind == 0 or columns > 5:
        found = cross
    elif kind == 1:
        found = _unit(np.eye(columns + 1) - 1 / (columns + 1))
        found = found @ np.linalg.svd(found)[2][:columns].T
    else:
        found = np.array(list(itertools.product((1.0, -1.0), repeat=columns)))
    turn = np.linalg.qr(rng.standard_normal((columns, columns)))[0] if rng.random() < 0.7 else np.eye(columns)
    return _unit(found @ turn)


def _torus_centres(space: he.Torus, kind: str, count: int, rng: Rng) -> np.ndarray:
    shares = rng.random((count, space.dim)) - 0.5
    if kind == "opposite":
        shares[1::2] = shares[: 2 * (count // 2) : 2] + 0.5 * rng.integers(0, 2, shares[1::2].shape)
    elif kind == "design":
        side = max(1, round(count ** (1 / space.dim)))
        grid = np.stack(np.meshgrid(*[np.arange(side) / side] * space.dim, indexing="ij"), axis=-1)
        shares = np.resize(grid.reshape(-1, space.dim), shares.shape)
    elif kind == "circle":
        shares[:, 1:] = shares[0, 1:]
    elif kind == "far":
        shares += rng.integers(-1000, 1000, shares.shape)
    return shares * np.asarray(space.periods)


def _open_centres(space: he.Space, kind: str, count: int, rng: Rng) -> np.ndarray:
    x = rng.standard_normal((count, space.dim)) * 10 ** rng.uniform(-1, 1)
    if kind == "design":
        x = np.resize(np.vstack([np.eye(space.dim), -np.eye(space.dim)]), x.shape)
    elif kind == "circle" and isinstance(space, he.Hyperbolic):  # a ray, far out
        x = x[:1] * 10 ** rng.uniform(0, 18) * (1 + 10 ** -rng.uniform(0, 8, (count, 1)))
    elif kind == "circle":
        x = x[:1] + np.outer(np.arange(count), x[-1])
    elif kind == "far":
        farther = isinstance(space, he.Hyperbolic) and rng.random() < 0.8
        x[: count if farther else 1 + count // 3] *= 10 ** (rng.uniform(4, 18) if farther else rng.uniform(1, 12))
    elif kind == "opposite":
        x[1::2] = -x[: 2 * (count // 2) : 2]
    if isinstance(space, he.Euclidean):
        return x
    return np.column_stack([np.sqrt(1 + np.sum(x**2, axis=1)), x])


CENTRES = ("uniform", "opposite", "design", "circle", "far")
GAPS = ("none", "clusters", "close", "copies", "outlier", "mixed")


def place(space: he.Space, kind: str, gaps: str, n: int, rng: Rng) -> Any:
    """*n* atoms around centres of one kind."""
    if gaps == "none":
        return centres(space, kind, n, rng)
    count = {"clusters": 3, "close": (n + 1) // 2, "copies": (n + 1) // 2, "outlier": 2}.get(gaps, (n + 2) // 3)
    middle, label = centres(space, kind, count, rng), rng.integers(count, size=n)
    if gaps == "outlier":
        label = np.minimum(np.arange(n), 1)
    exponent = {
        "clusters": np.full(n, rng.uniform(1, 12)),
        "close": np.full(n, rng.uniform(6, 16)),
        "outlier": np.full(n, rng.uniform(0.5, 12)),
    }.get(gaps, rng.uniform(0, 13, n))
    distance = np.zeros(n) if gaps == "copies" else 10.0**-exponent
    return near(space, taken(middle, label), distance, rng)


# Weights.

WEIGHTS = ("equal", "random", "heavy", "logs", "dominated", "zeros", "unit")


def weigh(kind: str, n: int, rng: Rng) -> dict[str, np.ndarray]:
    """Arguments for the weights of *n* atoms."""
    if kind == "equal":
        return {}
    if kind == "logs":  # over 600 decades, far from one
        return {"log_weights": rng.uniform(-1400, 0) * rng.random(n) + rng.choice([0.0, -5e4, 3e3])}
    values = rng.random(n) + 0.01
    if kind == "heavy":
        values = values**-4.0
    elif kind == "dominated":
        values *= 10.0 ** -rng.uniform(3, 15)
        values[rng.integers(n)] = 1.0
    elif kind == "zeros":
        values[rng.random(n) < 0.4] = 0.0
        values[0] = 1.0
    elif kind == "unit":  # another unit, near the ends of floating point
        values *= 10.0 ** rng.choice([-300, -30, 30, 300])
    return {"weights": values}


@st.composite
def clouds(draw: Any, case: ListedCase, most: int = 12) -> tuple[Any, np.ndarray]:
    """Points and weights on one space of `space_cases.py`."""
    n, rng = draw(st.integers(1, most)), np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    kind, gaps = draw(st.sampled_from(CENTRES[:4])), draw(st.sampled_from(GAPS))
    weights = weigh(draw(st.sampled_from(["equal", "random", "heavy", "dominated", "zeros"])), n, rng)
    space = case.space()
    points = rng.integers(space.node_count, size=n) if space.modes is not None else place(space, kind, gaps, n, rng)
    return points, weights.get("weights", np.ones(n))


# Scales.


def pick_times(space: he.Space, points: Any, rng: Rng) -> tuple[np.ndarray, str]:
    """Three times, in increasing order: from far below the closest pair to far above the diameter, and at switches."""
    rows = he.Measure(points, space=space).points
    with np.errstate(over="ignore"):
        apart = space.distance(rows[:, None], rows[None]) if len(rows) > 1 else np.zeros((1, 1))
    apart = apart[apart > 0]
    widest = space.diameter if space.compact else float(apart.max(initial=1.0))
    closest = max(float(apart.min(initial=widest)), 1e-15 * widest)

    def spread() -> float:
        return math.exp(rng.uniform(math.log(closest / 30), math.log(5 * widest)))

    def pair() -> float:
        return float(rng.choice(apart)) * 10 ** rng.uniform(-1.0, 0.7) if len(apart) else spread()

    def extreme() -> float:
        return closest * 10 ** -rng.uniform(1, 8) if rng.random() < 0.4 else widest * 10 ** rng.uniform(0.5, 2)

    def switch() -> float:
        unit = min(space.periods) / (2 * math.pi) if isinstance(space, he.Torus) else 1.0
        places = [0.0115, 0.15, 1.0, math.pi, unit * math.sqrt(4 * math.pi)]  # levels end, tables, k(x, x) = 2, theta
        return float(rng.choice(places)) * (1 + rng.choice([-1, 1]) * 10 ** -rng.uniform(0.3, 10))

    kinds = [spread, pair, extreme, switch]
    chosen = [kinds[k] for k in rng.choice(4, size=3, p=[0.4, 0.3, 0.08, 0.22])]
    times = np.array([kind() ** 2 / 8 for kind in chosen])
    return np.sort(np.clip(times, 1e-60, 1e60)), "+".join(kind.__name__ for kind in chosen)


# Families of spaces.


def _homogeneous(family: str, space: he.Space) -> Subject:
    return Subject(family, space, truth_of(space))


def _torus(rng: Rng) -> he.Space:
    dim = int(rng.choice([1, 1, 2, 2, 3, 4]))
    kind = rng.integers(3)
    if kind == 0:
        return he.Torus(dim, units="rad")
    size = 10 ** rng.uniform(-3, 3)
    return he.Torus(dim, periods=tuple(size * 10 ** rng.uniform(0, 1.5 * (kind == 2), dim)))


def _factor(rng: Rng) -> he.Space:
    makers: list[Callable[[], he.Space]] = [
        lambda: he.Sphere(int(rng.integers(1, 4))),
        lambda: he.Torus(int(rng.integers(1, 3)), units="rad"),
        lambda: he.Projective(int(rng.integers(1, 4))),
        he.Rotations,
        lambda: he.Euclidean(int(rng.integers(1, 4))),
        lambda: he.Hyperbolic(3),
        lambda: he.ComplexProjective(2),
    ]
    return makers[rng.choice(len(makers), p=[0.3, 0.2, 0.1, 0.1, 0.15, 0.05, 0.1])]()


def _product(rng: Rng) -> he.Space:
    factors = [_factor(rng) for _ in range(2 if rng.random() < 0.8 else 3)]
    return he.Product(*factors, metric_scales=[float(c) for c in rng.choice([1.0, 0.5, 3.0, 0.05], len(factors))])


def _graph(rng: Rng) -> Subject:
    """Rings, paths, stars, whole and random graphs, with equal, uneven or hardly any weights across a bridge."""
    size = int(rng.integers(2, 15))
    joined = np.zeros((size, size))
    shape = rng.integers(5)
    nodes = np.arange(size)
    if shape <= 1:
        joined[nodes[:-1], nodes[1:]] = 1
        joined[0, -1] = max(joined[0, -1], float(shape))
    elif shape == 2:
        joined[0, 1:] = 1
    elif shape == 3:
        joined[np.triu_indices(size, 1)] = 1
    else:
        joined[nodes[:-1], nodes[1:]] = 1
        joined = np.maximum(joined, np.triu(rng.random((size, size)) < 0.3, 1))
    joined = np.triu(joined, 1)
    weight = rng.integers(4)
    if weight == 1:
        joined = joined * rng.random((size, size))
    elif weight == 2:
        joined = joined * 10 ** rng.uniform(-3, 3, (size, size))
    elif weight == 3:
        half = size // 2
        joined[:half, half:] *= 10 ** -rng.uniform(1, 14)
    joined = joined + joined.T
    return Subject("Graph", he.Graph(joined), reference.Graph(joined))


def _of_nodes(family: str, space: Any, truth: Any, places: np.ndarray) -> Subject:
    """With the dense solution of the matrices of a mesh or a sample."""
    matrices = space._laplacian
    scale = np.outer(matrices._root, matrices._root)
    coupling = matrices._coupling.toarray() * scale if matrices._coupled else np.zeros_like(scale)
    dense = reference.Nodes.of(matrices._stiffness.toarray(), matrices.mass, coupling)
    rows = space._places(space.check(np.arange(space.node_count)))
    return Subject(family, space, truth, False, places, dense, rows)


@lru_cache(maxsize=64)
def _mesh(number: int) -> Subject:
    rng = np.random.default_rng(number)
    kind = number % 6
    if kind == 0:
        vertices, faces = meshes.icosphere(2 + number // 6 % 2)
    elif kind == 1:
        vertices, faces = meshes.globe(12, 24)
    elif kind in (2, 3):
        vertices, faces = meshes.uneven_sphere(500, rng, 0.5 if kind == 2 else 3.0)
    elif kind == 4:
        return _flat_mesh()
    else:
        vertices, faces = meshes.uneven_sphere(500, rng, 8.0)
    family = "Mesh, even" if kind < 3 else "Mesh, uneven"
    return _of_nodes(family, he.Mesh(vertices, faces), reference.Sphere(2), vertices)


def _flat_mesh() -> Subject:
    rows, columns, length = 24, 20, 2.0
    vertices, faces = meshes.folded_torus(rows, columns, length)
    around, along = 2 * rows * math.sin(math.pi / rows), 2 * length
    i, j = np.meshgrid(np.arange(rows), np.arange(columns), indexing="ij")
    places = np.column_stack([i.ravel() * around / rows, j.ravel() * along / columns])
    return _of_nodes("Mesh, even", he.Mesh(vertices, faces), reference.Torus((around, along)), places)


@lru_cache(maxsize=64)
def _sample(number: int) -> Subject:
    rng = np.random.default_rng(number)
    kind = number % 5
    if kind == 0:
        x = he.samplers.fibonacci(400)
        return _of_nodes("PointCloud", he.PointCloud(x), reference.Sphere(2), x)
    if kind == 1:
        x = he.samplers.uniform(500, rng=rng)
        return _of_nodes("PointCloud", he.PointCloud(x), reference.Sphere(2), x)
    if kind == 2:
        turn = np.sort(rng.uniform(0, 2 * math.pi, 200))
        x = np.column_stack([np.cos(turn), np.sin(turn)])
        return _of_nodes("PointCloud", he.PointCloud(x), reference.Torus((2 * math.pi,)), turn[:, None])
    if kind == 3:
        turns = rng.uniform(0, 2 * math.pi, (500, 2))
        x = np.concatenate([np.cos(turns), np.sin(turns)], axis=1)
        return _of_nodes("PointCloud", he.PointCloud(x, dim=2), reference.Torus((2 * math.pi,) * 2), turns)
    x = rng.random((500, 2))
    space = he.PointCloud(np.column_stack([x, np.zeros(500)]), dim=2)
    return _of_nodes("PointCloud, edge", space, reference.Interval((1.0, 1.0)), x)


def _always(family: str, make: Callable[[Rng], he.Space]) -> Callable[[Rng], Subject]:
    return lambda rng: _homogeneous(family, make(rng))


#: What is searched, and how often.
FAMILIES: dict[str, tuple[float, Callable[[Rng], Subject]]] = {
    name: (odds, _always(name, make))
    for name, odds, make in (
        ("Sphere(1)", 3, lambda _: he.Sphere(1)),
        ("Sphere(2)", 8, lambda _: he.Sphere(2)),
        ("Sphere(3)", 4, lambda _: he.Sphere(3)),
        ("Sphere(4..30)", 6, lambda rng: he.Sphere(int(rng.integers(4, 31)))),
        ("Projective", 6, lambda rng: he.Projective(int(rng.choice([1, 2, 3, 4, 5, 9])))),
        ("ComplexProjective", 5, lambda rng: he.ComplexProjective(int(rng.integers(1, 6)))),
        ("Rotations", 6, lambda _: he.Rotations()),
        ("Rotations(symmetry)", 2, lambda rng: he.Rotations(str(rng.choice(["C2", "C5", "D2", "D3", "D6", "T", "O"])))),
        ("Circle", 3, lambda _: he.Circle(units="rad")),
        ("Torus", 8, _torus),
        ("Euclidean", 6, lambda rng: he.Euclidean(int(rng.choice([1, 2, 3, 3, 5, 9])))),
        ("Hyperbolic(2)", 4, lambda _: he.Hyperbolic(2)),
        ("Hyperbolic(3)", 4, lambda _: he.Hyperbolic(3)),
        ("Product", 10, _product),
    )
}
FAMILIES |= {
    "Graph": (8, _graph),
    "Mesh": (3, lambda rng: _mesh(int(rng.integers(24)))),
    "PointCloud": (3, lambda rng: _sample(int(rng.integers(20)))),
}


def draw_cloud(seed: int, number: int, families: tuple[str, ...] = ()) -> Cloud:
    """The case of this number: the same for the same seed and families."""
    rng = np.random.default_rng([seed, number])
    names = list(families or FAMILIES)
    odds = np.array([FAMILIES[name][0] for name in names], dtype=float)
    subject = FAMILIES[names[rng.choice(len(names), p=odds / odds.sum())]][1](rng)
    space, rtol = subject.space, float(rng.choice([1e-8, 1e-8, 1e-8, 1e-4, 1e-2, 1e-12]))
    n = 1 + int((15 if isinstance(space, he.Hyperbolic) else 31) * rng.random() ** 2.5)
    weights, many = str(rng.choice(WEIGHTS)), bool(rng.random() < 0.3)
    if space.modes is not None:
        times, story = _node_times(subject, rng), "nodes"
        many = many and (not isinstance(space, he.Graph) or bool(rng.random() < 0.5))
        if many and not isinstance(space, he.Graph):  # runs of some hundred steps from each atom
            n, times, many = min(n, 3), np.minimum(times, 3 * times[0]), subject.family != "Mesh, uneven"
        points: Any = rng.integers(space.node_count, size=n)
    else:
        kind, gaps = str(rng.choice(CENTRES)), str(rng.choice(GAPS))
        points = place(space, kind, gaps, n, rng)
        form = rng.random()
        if isinstance(space, he.Sphere | he.Projective) and form < 0.1:
            points = points.astype(np.float32) if form < 0.05 else points * (1 + 5e-7 * rng.uniform(-1, 1, (n, 1)))
        times, scales = pick_times(space, points, rng)
        story = f"{kind} {gaps} {scales}"
    given = weigh(weights, n, rng)
    story = f"{story} {weights}{' as if many' if many else ''}"
    return Cloud(subject, points, times, rtol, **given, story=story, rng_seed=[seed, number], as_if_many=many)


def _node_times(subject: Subject, rng: Rng) -> np.ndarray:
    """From what nodes resolve, or far below one step, to where all heat is mixed and far beyond."""
    space = subject.space
    if isinstance(space, he.Graph):
        return np.sort(10 ** rng.uniform(-4, 3, 3) * np.where(rng.random(3) < 0.2, 10 ** rng.uniform(0, 12, 3), 1.0))
    return np.sort(space.finest_time * 10 ** rng.uniform(0.001, 1.5, 3))
