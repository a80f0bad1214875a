"""Which rule over scales and degrees loses least power: `python benchmarks/calibration_power.py [--full]`.

For each alternative the power of every rule is compared with that of the best single statistic; a rule is as good as
its largest loss. Alternatives were fixed before any of these figures was seen. Forms of all draws are worked out once,
so that a further rule costs nothing. Rules are in `EVEN_RULES` and `PAIR_RULES`; the first of each is the one in use.
For uniformity about 1,200 further rules (1 to 6 scales to 50, 100, 200 or 400 footprints, some degrees, four ways to
combine) were tried on 250 draws of each alternative: the least worst loss of any was 27 points.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
from scipy.special import eval_legendre
from scipy.stats import rankdata

import heatess as he
from heatess.inference.two_sample import scales_of_places

SEED, LEVEL, N = 59, 0.05, 100

#: Draws under the null for uniformity; permutations of a pair.
NULL, PERMUTED = 4000, 199

Rng = np.random.Generator
Draw = Callable[[int, Rng], np.ndarray]

Z, X = np.array([0.0, 0, 1]), np.array([1.0, 0, 0])
OCTAHEDRON = np.concatenate([np.eye(3), -np.eye(3)])
TETRAHEDRON = np.array([[1.0, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]]) / np.sqrt(3)
CUBE = np.array(np.meshgrid([-1.0, 1], [-1, 1], [-1, 1])).reshape(3, -1).T / np.sqrt(3)
GOLDEN = (1 + 5**0.5) / 2
_PLANES = np.array([[0, a, b * GOLDEN] for a in (-1, 1) for b in (-1, 1)])
ICOSAHEDRON = np.concatenate([np.roll(_PLANES, k, axis=1) for k in range(3)]) / np.hypot(1, GOLDEN)
_RECTANGLES = np.array([[0, a / GOLDEN, b * GOLDEN] for a in (-1, 1) for b in (-1, 1)]) / np.sqrt(3)
DODECAHEDRON = np.concatenate([CUBE, *(np.roll(_RECTANGLES, k, axis=1) for k in range(3))])


def uniform(n: int, rng: Rng) -> np.ndarray:
    return he.samplers.uniform(n, rng=rng)


def mode(kappa: float, mean: np.ndarray = Z) -> Draw:
    return lambda n, rng: he.samplers.von_mises_fisher(n, mean, kappa, rng=rng)


def around(kappa: float, places: np.ndarray) -> Draw:
    return lambda n, rng: he.samplers.mixture(n, [mode(kappa, place) for place in places], rng=rng)


def mixed(*parts: tuple[float, Draw]) -> Draw:
    shares = [share for share, _ in parts]
    return lambda n, rng: he.samplers.mixture(n, [draw for _, draw in parts], shares, rng=rng)


def density(value: Callable[[np.ndarray], np.ndarray], most: float) -> Draw:
    """By rejection, a density in proportion to *value* of the height z."""

    def draw(n: int, rng: Rng) -> np.ndarray:
        found = uniform(60 * n, rng)
        return found[rng.random(len(found)) * most < value(found[:, 2])][:n]

    return draw


def watson(kappa: float) -> Draw:
    return density(lambda z: np.exp(kappa * z**2), float(np.exp(max(kappa, 0))))


def turned(draw: Draw, degrees: float) -> Draw:
    c, s = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    return lambda n, rng: draw(n, rng) @ np.array([[c, 0, -s], [0, 1, 0], [s, 0, c]])


def stretched(along: float, across: float) -> Draw:
    """Normal in the tangent plane of the pole, standard deviations in degrees."""

    def draw(n: int, rng: Rng) -> np.ndarray:
        flat = np.radians([along, across]) * rng.normal(size=(n, 2))
        found = np.column_stack([flat, np.ones(n)])
        return found / np.linalg.norm(found, axis=1, keepdims=True)

    return draw


def twins(share: float, degrees: float) -> Draw:
    """Uniform, and a share of the points close to another."""

    def draw(n: int, rng: Rng) -> np.ndarray:
        found, count = uniform(n, rng), round(share * n / 2)
        near = found[:count] + np.radians(degrees) * rng.normal(size=(count, 3))
        found[n - count :] = near / np.linalg.norm(near, axis=1, keepdims=True)
        return found

    return draw


def circular(kappa: float, degrees: float = 0.0, modes: int = 1) -> Draw:
    def draw(n: int, rng: Rng) -> np.ndarray:
        angle = (rng.vonmises(0, kappa, n) + 2 * np.pi * rng.integers(0, modes, n)) / modes + np.radians(degrees)
        return np.stack([np.cos(angle), np.sin(angle)], axis=1)

    return draw


#: n = 100 on the sphere, and on the circle.
EVEN: dict[str, Draw] = {
    "vMF 0.5": mode(0.5),
    "axial, Watson 1.2": watson(1.2),
    "girdle, Watson -1.2": watson(-1.2),
    "6 % spike of kappa 300": mixed((0.94, uniform), (0.06, mode(300))),
    "10 % of kappa 30": mixed((0.9, uniform), (0.1, mode(30))),
    "4 modes of kappa 4": around(4, TETRAHEDRON),
    "6 modes of kappa 8": around(8, OCTAHEDRON),
    "8 modes of kappa 12": around(12, CUBE),
    "12 modes of kappa 25": around(25, ICOSAHEDRON),
    "20 modes of kappa 60": around(60, DODECAHEDRON),
    "hole of 40 degrees": density(lambda z: (z < np.cos(np.radians(40))) * 1.0, 1.0),
    "1 + 0.4 sign z": density(lambda z: 1 + 0.4 * np.sign(z), 1.4),
    "1 + 0.9 P3(z)": density(lambda z: 1 + 0.9 * eval_legendre(3, z), 1.9),
    "1 + P4(z)": density(lambda z: 1 + eval_legendre(4, z), 2.0),
    "25 % in a belt": mixed((0.75, uniform), (0.25, density(lambda z: (np.abs(z) < 0.05) * 1.0, 1.0))),
    "two caps, 15 and 8 %": mixed((0.77, uniform), (0.15, mode(10)), (0.08, mode(10, -Z))),
    "30 % twins at 3 degrees": twins(0.3, 3.0),
    "vMF 0.3 and 4 % of kappa 1,000": mixed((0.96, mode(0.3)), (0.04, mode(1000, X))),
    "circle, vM 0.4": circular(0.4),
    "circle, 2 modes of 0.5": circular(0.5, modes=2),
    "circle, 5 modes of 0.8": circular(0.8, modes=5),
    "circle, 12 modes of 1.5": circular(1.5, modes=12),
}

#: 100 against 100.
PAIRS: dict[str, tuple[Draw, Draw]] = {
    "vMF 0.7, uniform": (mode(0.7), uniform),
    "Watson 1.5, uniform": (watson(1.5), uniform),
    "girdle -1.8, uniform": (watson(-1.8), uniform),
    "vMF 5, vMF 8": (mode(5), mode(8)),
    "vMF 5, turned by 12": (mode(5), turned(mode(5), 12)),
    "vMF 50, vMF 80": (mode(50), mode(80)),
    "vMF 50, turned by 3.5": (mode(50), turned(mode(50), 3.5)),
    "vMF 50, 8 % elsewhere": (mode(50), mixed((0.92, mode(50)), (0.08, uniform))),
    "8 by 8, 11 by 6 degrees": (stretched(8, 8), stretched(11, 6)),
    "4 modes of 6, uniform": (around(6, TETRAHEDRON), uniform),
    "6 modes of 15, uniform": (around(15, OCTAHEDRON), uniform),
    "20 modes of 100, uniform": (around(100, DODECAHEDRON), uniform),
    "10 % of kappa 100, uniform": (mixed((0.9, uniform), (0.1, mode(100))), uniform),
    "4 modes of 10, turned by 12": (around(10, TETRAHEDRON), turned(around(10, TETRAHEDRON), 12)),
    "two modes, 50 and 32 %": (
        mixed((0.5, mode(20)), (0.5, mode(20, X))),
        mixed((0.32, mode(20)), (0.68, mode(20, X))),
    ),
    "two modes, one of kappa 20, 80": (
        mixed((0.5, mode(20)), (0.5, mode(20, X))),
        mixed((0.5, mode(20)), (0.5, mode(80, X))),
    ),
    "circle, vM 2, vM 4": (circular(2), circular(4)),
    "circle, vM 2, turned by 20": (circular(2), circular(2, 20)),
    "circle, 6 modes of 1.5, uniform": (circular(1.5, modes=6), circular(0)),
}

#: Footprints of the space at the single scales: 0 to 4 were in use before, 9 to 12 with 0 are in use now for n = 100.
PLACES = np.concatenate([np.geomspace(2, N / 2, 5), [1.3, 100, 200, 400], np.geomspace(2, 0.99 * N**2 / 30, 5)[1:]])


class Rule(NamedTuple):
    """Statistics that are combined, and how."""

    columns: tuple[str, ...]
    how: str  # "cauchy", "least": of p-values; "max", "soft": of standardised roots


def scale(*places: int) -> tuple[str, ...]:
    return tuple(f"scale {place}" for place in places)


def degree(*levels: int) -> tuple[str, ...]:
    return tuple(f"degree {level}" for level in levels)


EVEN_RULES = {
    "5 scales to 330 footprints, degrees 1 to 4": Rule(scale(0, 9, 10, 11, 12) + degree(1, 2, 3, 4), "cauchy"),
    "before: 5 scales to 50 footprints, degrees 1 to 3": Rule(scale(0, 1, 2, 3, 4) + degree(1, 2, 3), "cauchy"),
    "least p of these": Rule(scale(0, 1, 2, 3, 4) + degree(1, 2, 3), "least"),
    "5 scales": Rule(scale(0, 1, 2, 3, 4), "cauchy"),
    "5 scales, degrees 1, 2": Rule(scale(0, 1, 2, 3, 4) + degree(1, 2), "cauchy"),
    "a finer scale": Rule(scale(0, 1, 2, 3, 4, 6) + degree(1, 2, 3), "cauchy"),
    "two finer scales": Rule(scale(0, 1, 2, 3, 4, 6, 7) + degree(1, 2, 3), "cauchy"),
    "three finer scales": Rule(scale(0, 1, 2, 3, 4, 6, 7, 8) + degree(1, 2, 3), "cauchy"),
    "two finer, degrees 1, 2": Rule(scale(0, 1, 2, 3, 4, 6, 7) + degree(1, 2), "cauchy"),
    "least p, a finer scale": Rule(scale(0, 1, 2, 3, 4, 6) + degree(1, 2, 3), "least"),
    "least p, two finer": Rule(scale(0, 1, 2, 3, 4, 6, 7) + degree(1, 2, 3), "least"),
    "least p, two finer, degrees 1, 2": Rule(scale(0, 1, 2, 3, 4, 6, 7) + degree(1, 2), "least"),
    "every other scale to finer, degrees 1, 2": Rule(scale(1, 3, 6, 7) + degree(1, 2), "cauchy"),
    "the same, least p": Rule(scale(1, 3, 6, 7) + degree(1, 2), "least"),
    "scales 2, 4 and two finer, degrees 1, 2, 3": Rule(scale(2, 4, 6, 7) + degree(1, 2, 3), "least"),
    "scales 1 to 4, a finer, degrees 1 to 4": Rule(scale(1, 2, 3, 4, 7) + degree(1, 2, 3, 4), "least"),
    "degrees 1 to 6, four scales": Rule(scale(3, 4, 6, 7) + degree(1, 2, 3, 4, 5, 6), "least"),
}

PAIR_RULES = {
    "in use: 8 scales, degrees 1, 2": Rule(scale(*range(8)) + degree(1, 2), "max"),
    "before: 8 scales": Rule(scale(*range(8)), "max"),
    "8 scales, degree 2": Rule(scale(*range(8)) + degree(2), "max"),
    "8 scales, two coarser": Rule(scale(*range(10)), "max"),
    "every other scale": Rule(scale(1, 3, 5, 7), "max"),
    "every other, degrees 1, 2": Rule(scale(1, 3, 5, 7) + degree(1, 2), "max"),
    "8 scales, energy": Rule((*scale(*range(8)), "energy"), "max"),
    "8 scales, soft": Rule(scale(*range(8)), "soft"),
    "8 scales, degrees 1, 2, soft": Rule(scale(*range(8)) + degree(1, 2), "soft"),
    "every other, degrees 1, 2, soft": Rule(scale(1, 3, 5, 7) + degree(1, 2), "soft"),
    "8 scales, cauchy": Rule(scale(*range(8)), "cauchy"),
    "8 scales, degrees 1, 2, cauchy": Rule(scale(*range(8)) + degree(1, 2), "cauchy"),
    "8 scales, degrees 1, 2, energy, cauchy": Rule((*scale(*range(8)), *degree(1, 2), "energy"), "cauchy"),
    "8 scales, degrees 1, 2, least p": Rule(scale(*range(8)) + degree(1, 2), "least"),
    "every other, degrees 1, 2, cauchy": Rule(scale(1, 3, 5, 7) + degree(1, 2), "cauchy"),
}


def p_of(rows: np.ndarray, null: np.ndarray) -> np.ndarray:
    """The share of each column of *null* that is no less than each entry of *rows*."""
    ordered = np.sort(null, axis=0)
    found = [np.searchsorted(ordered[:, k], rows[:, k], side="left") for k in range(rows.shape[1])]
    return (len(null) + 1 - np.stack(found, axis=1)) / (len(null) + 1)


def together(values: np.ndarray, how: str) -> np.ndarray:
    """One number over the last axis, large where there is evidence."""
    if how == "max":
        return values.max(axis=-1)
    if how == "soft":
        return np.logaddexp.reduce(2 * values, axis=-1)
    if how == "least":
        return -values.min(axis=-1)
    return (1 / np.tan(np.pi * np.clip(values, 1e-300, 0.9))).mean(axis=-1)


# Uniformity: energies of levels of every draw.


def levels_of(points: np.ndarray, count: int) -> np.ndarray:
    """N_l b_l = sum_ij N_l P_l / n^2 for l = 1, ..., count."""
    if points.shape[1] == 2:
        angles = np.outer(np.arange(1, count + 1), np.arctan2(points[:, 1], points[:, 0]))
        return 2 * np.abs(np.exp(1j * angles).mean(axis=1)) ** 2
    upper = np.clip(points @ points.T, -1, 1)[np.triu_indices(len(points), 1)]
    found, before, now = np.empty(count), np.ones_like(upper), upper
    for level in range(1, count + 1):
        found[level - 1] = (2 * level + 1) * (2 * now.sum() + len(points)) / len(points) ** 2
        before, now = now, ((2 * level + 1) * upper * now - level * before) / (level + 1)
    return found


def single_statistics(d: int, count: int) -> tuple[list[str], np.ndarray]:
    """Names and coefficients, (statistics, levels)."""
    space = he.Sphere(d - 1)
    level = np.arange(1, count + 1)
    values = level * (level + d - 2.0)
    rows = [np.exp(-2 * values * _time_of(values, level, d, places)) for places in PLACES]
    names = list(scale(*range(len(rows))))
    rows += [(level == one) * 1.0 for one in range(1, 7)]
    names += degree(*range(1, 7))
    for name in ("ajne", "gine", "gine_f", "bakshaev"):
        from heatess.inference.uniformity_statistics import sobolev

        given = sobolev(space, name).coefficients[:count]
        rows.append(np.pad(given, (0, count - len(given))))
        names.append(name)
    return names, np.array(rows)


def _time_of(values: np.ndarray, level: np.ndarray, d: int, places: float) -> float:
    from scipy.optimize import brentq

    many = 2 * level + 1 if d == 3 else np.full(len(level), 2)
    return brentq(lambda t: 1 + (many * np.exp(-2 * values * t)).sum() - places, 1e-7, 5.0)


def even_table(replicates: int) -> str:
    rows: dict[str, dict[str, float]] = {}
    sizes = {}
    for d in (3, 2):
        count = 60 if d == 3 else 800
        names, coefficients = single_statistics(d, count)
        draws = {name: draw for name, draw in EVEN.items() if ("circle" in name) == (d == 2)}
        rng = np.random.default_rng([SEED, d])
        null = np.array([levels_of(he.samplers.uniform(N, d - 1, rng=rng), count) for _ in range(NULL)])
        null = null @ coefficients.T
        half, rest = null[: NULL // 2], null[NULL // 2 :]
        cut = _rule_cuts(names, half, rest)
        for number, (name, draw) in enumerate(draws.items()):
            own = np.random.default_rng([SEED, d, number])
            found = np.array([levels_of(draw(N, own), count) for _ in range(replicates)]) @ coefficients.T
            p = p_of(found, null)
            single = {names[k]: float((p[:, k] <= LEVEL).mean()) for k in range(len(names))}
            rows[name] = {"best": max(single.values()), "which": max(single, key=single.get)}  # type: ignore[dict-item, arg-type]
            own_p = p_of(found, half)
            for rule, (columns, how) in EVEN_RULES.items():
                where = [names.index(column) for column in columns]
                rows[name][rule] = float((together(own_p[:, where], how) >= cut[rule]).mean())
        check = p_of(_fresh(d, count, 1000) @ coefficients.T, half)
        for rule, (columns, how) in EVEN_RULES.items():
            where = [names.index(column) for column in columns]
            sizes.setdefault(rule, []).append(float((together(check[:, where], how) >= cut[rule]).mean()))
    return table("uniformity", rows, list(EVEN_RULES), sizes)


def _fresh(d: int, count: int, size: int) -> np.ndarray:
    rng = np.random.default_rng([SEED, d, 999])
    return np.array([levels_of(he.samplers.uniform(N, d - 1, rng=rng), count) for _ in range(size)])


def _rule_cuts(names: list[str], half: np.ndarray, rest: np.ndarray) -> dict[str, float]:
    p = p_of(rest, half)
    found = {}
    for rule, (columns, how) in EVEN_RULES.items():
        where = [names.index(column) for column in columns]
        found[rule] = float(np.quantile(together(p[:, where], how), 1 - LEVEL))
    return found


# Two samples: forms of every permutation.


def forms_of(one: np.ndarray, other: np.ndarray, rng: Rng) -> tuple[list[str], np.ndarray]:
    """Forms with every kernel, (1 + permutations, statistics), the observed first."""
    points = np.concatenate([one, other])
    space = he.Sphere(points.shape[1] - 1)
    at = np.sort(scales_of_places(he.Measure(points, space=space), (None, None, None)).times)
    coarser = at[-1] * (at[-1] / at[-2]) ** np.arange(1, 3)
    kernel = space.pair_kernel.fitted(np.concatenate([at, coarser]), 1e-6)
    rows = kernel.rows(points, slice(0, len(points)))
    terms = kernel.terms(rows, rows)
    cosine = np.clip(points @ points.T, -1, 1)
    kernels = [terms(float(time)).overlap for time in [*at, *coarser]]
    kernels += [cosine, cosine**2, -np.arccos(cosine)]
    names = [*scale(*range(10)), *degree(1, 2), "energy"]
    if space.dim == 1:  # Watson's U^2, by ranks around the circle
        turn = rankdata(np.arctan2(points[:, 1], points[:, 0])) / len(points)
        gap = np.abs(turn[:, None] - turn)
        kernels.append((gap - 0.5) ** 2)
        names.append("watson")
    signs = np.repeat([1 / len(one), -1 / len(other)], [len(one), len(other)])
    every = np.stack([signs, *(rng.permutation(signs) for _ in range(PERMUTED))])
    return names, np.stack([np.einsum("ij,ij->i", every @ form, every) for form in kernels], axis=1)


def decided(names: list[str], forms: np.ndarray, rules: Iterable[Rule]) -> list[bool]:
    """Whether each rule rejects."""
    roots = np.sqrt(np.maximum(forms, 0))
    standard = (roots - roots.mean(axis=0)) / roots.std(axis=0)
    p = np.stack([len(forms) + 1 - rankdata(column, method="min") for column in forms.T], axis=1) / len(forms)
    found = []
    for columns, how in rules:
        where = [names.index(column) for column in columns]
        values = together((standard if how in ("max", "soft") else p)[:, where], how)
        found.append(bool((values >= values[0]).mean() <= LEVEL))
    return found


def pair_table(replicates: int) -> str:
    rows: dict[str, dict[str, Any]] = {}
    for number, (name, (a, b)) in enumerate(PAIRS.items()):
        rng = np.random.default_rng([SEED, 7, number])
        hits = []
        for _ in range(replicates):
            names, forms = forms_of(a(N, rng), b(N, rng), rng)
            singles = [Rule((column,), "max") for column in names]
            hits.append(decided(names, forms, [*singles, *PAIR_RULES.values()]))
        power = np.mean(hits, axis=0)
        best = int(np.argmax(power[: len(names)]))
        rows[name] = {"best": float(power[best]), "which": names[best]}
        rows[name] |= dict(zip(PAIR_RULES, power[len(names) :].tolist(), strict=True))
    return table("two samples", rows, list(PAIR_RULES), {})


def table(title: str, rows: dict[str, dict[str, Any]], rules: list[str], sizes: dict[str, list[float]]) -> str:
    """Rules by their worst loss; then the alternatives for the first two rules, the worst loss first."""
    losses = {rule: {name: row["best"] - row[rule] for name, row in rows.items()} for rule in rules}
    order = sorted(rules, key=lambda rule: max(losses[rule].values()))
    head = ["rule", "worst loss", "at", "mean loss", *(["size on S2, S1"] if sizes else [])]
    lines = [f"| {title}: {' | '.join(head)} |", "|" + "---|" * len(head)]
    for rule in order:
        worst = max(losses[rule], key=losses[rule].get)  # type: ignore[arg-type]
        own = f"{100 * losses[rule][worst]:.0f} | {worst} | {100 * np.mean(list(losses[rule].values())):.1f}"
        size = " | " + ", ".join(f"{100 * size:.1f}" for size in sizes[rule]) if sizes else ""
        lines.append(f"| {rule} | {own}{size} |")
    lines += ["", f"| {title}: alternative | best single | power | {rules[0]} | {rules[1]} |", "|---|---|---|---|---|"]
    for name, row in sorted(rows.items(), key=lambda item: -losses[rules[0]][item[0]]):
        told = " | ".join(f"{100 * row[key]:.0f}" for key in ("best", rules[0], rules[1]))
        lines.append(f"| {name} | {row['which']} | {told} |")
    return "\n".join(lines)


def tables(full: bool) -> str:
    """Both tests."""
    return "\n\n".join([even_table(1000 if full else 200), pair_table(300 if full else 40)])


if __name__ == "__main__":
    print(tables("--full" in sys.argv))
