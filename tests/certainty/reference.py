"""What heatess should have found: the definition in ball arithmetic, at a precision of a few hundred bits.

Nothing here uses heatess. Points are the exact values of their float64 coordinates: directions where the space is made
of unit vectors, spatial coordinates on the hyperboloid. With s = 2t and k_s the heat kernel,

    s_t(x, y) = k_s(x, y) / sqrt(k_s(x, x) k_s(y, y)), 1 / gESS = sum_ij w_i w_j s_t, MMD^2 = sum_ij w_i w_j (k_s - 1).

Each curved space has two ways to its kernel that share nothing but the distance: the series over levels, with a bound
on what it leaves out, at coarse scales; and below `FINE` the derivative of a Gaussian (odd spheres), an integral of
that (even spheres), or one over fibres (complex projective spaces). The tests hold them against each other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import comb, log2, pi
from typing import Any, NamedTuple

import numpy as np
from flint import arb, arb_mat, arb_poly, arb_series, ctx, fmpq

Matrix = list[list[Any]]

#: Bits of the first attempt, and of the last.
BITS, MOST_BITS = 160, 4096

#: alpha = sqrt(8 t) on the unit sphere below which the series gives way, as a share of the distance to the cut locus.
#: The images left out are below exp(-100).
FINE = 0.048

#: Pairs further apart than so many alpha hold less than exp(-140) at such scales.
FARTHEST = 12

#: Step and last node of the trapezoidal rule for a Gaussian integrand, good to exp(-pi^2 / h^2) = 1e-47.
STEP, NODES = fmpq(3, 10), 36


class Truth(NamedTuple):
    """1 / gESS and MMD^2 (None where the volume is infinite) as balls, and the potential at each atom as floats.

    `overlaps` and `excess` are s_t and k - 1 of all pairs i >= j, and `bits` their precision.
    """

    overlap: Any
    mmd2: Any
    potential: np.ndarray
    overlaps: Matrix
    excess: Matrix | None
    bits: int

    @property
    def gess(self) -> Any:
        return 1 / self.overlap

    def square(self, weights: Callable[[], list[Any]], *, of_kernel: bool = False) -> Any:
        """sum_ij c_i c_j s_t(x_i, x_j), or that of k - 1, for weights of either sign."""
        matrix = self.excess if of_kernel else self.overlaps
        assert matrix is not None
        with ctx.workprec(self.bits):
            return quadratic(matrix, weights())


def quadratic(matrix: Matrix, weights: list[Any]) -> Any:
    """x' M x from the lower triangle of M."""
    total = arb(0)
    for x, row in zip(weights, matrix, strict=True):
        if not x.is_zero():
            part = sum((y * value for y, value in zip(weights, row[:-1], strict=False)), arb(0))
            total += x * (2 * part + x * row[-1])
    return total


def differences(one: Callable[[], list[Any]], other: Callable[[], list[Any]]) -> Callable[[], list[Any]]:
    return lambda: [a - b for a, b in zip(one(), other(), strict=True)]


def truth_of(overlaps: Matrix, excess: Matrix | None, masses: list[Any]) -> Truth:
    """From the lower triangles of s_t and of k - 1."""
    n = len(masses)
    potential = [
        sum((masses[j] * overlaps[max(i, j)][min(i, j)] for j in range(n) if not masses[j].is_zero()), arb(0))
        for i in range(n)
    ]
    total = sum((m * p for m, p in zip(masses, potential, strict=True)), arb(0))
    mmd2 = None if excess is None else quadratic(excess, masses)
    return Truth(total, mmd2, np.array([float(p.mid()) for p in potential]), overlaps, excess, ctx.prec)


class Kernel(NamedTuple):
    """One time: k - 1 on the diagonal and as a function of a pair's geometry; or k / k(x, x), without a diagonal."""

    diagonal: Any
    of: Callable[[Any], Any]

    def overlap(self, value: Any) -> Any:
        return value if self.diagonal is None else (1 + value) / (1 + self.diagonal)


class Space:
    """Homogeneous: `geometry` of all pairs, and the kernel of a pair at a time."""

    compact = True

    def geometry(self, points: Any) -> Matrix:
        raise NotImplementedError

    def kernel(self, time: Any, pairs: list[Any]) -> Kernel:
        raise NotImplementedError

    def values(
        self, points: Any, time: Any, places: list[tuple[int, int]]
    ) -> tuple[Kernel, dict[tuple[int, int], Any]]:
        apart = self.geometry(points)
        kernel = self.kernel(time, [apart[i][j] for i, j in places])
        return kernel, {(i, j): kernel.of(apart[i][j]) for i, j in places}

    def exact(self, points: Any, masses: list[Any], time: Any) -> Truth:
        n = len(masses)
        kernel, found = self.values(points, time, [(i, j) for i in range(n) for j in range(i)])
        overlaps = [[*(kernel.overlap(found[i, j]) for j in range(i)), arb(1)] for i in range(n)]
        if kernel.diagonal is None:
            return truth_of(overlaps, None, masses)
        return truth_of(overlaps, [[*(found[i, j] for j in range(i)), kernel.diagonal] for i in range(n)], masses)


def exact(space: Any, points: Any, masses: Callable[[], list[Any]], time: float) -> Truth:
    """The truth at one time, with as many bits as it takes for 20 digits of 1 / gESS and 10 of MMD^2.

    *masses* are made anew at every precision; see `shares` and `shares_of_logs`. MMD^2 is a ball around zero if 4096
    bits do not show that it is positive.
    """
    bits = BITS
    while True:
        with ctx.workprec(bits):
            found = space.exact(points, masses(), exactly(time))
            sharp = found.overlap.rel_accuracy_bits() > 66
            fine = found.mmd2 is None or found.mmd2.rel_accuracy_bits() > 33 or found.mmd2.abs_upper() < arb(10) ** -290
        if (sharp and fine) or bits >= MOST_BITS or isinstance(space, Nodes):
            if not sharp and not isinstance(space, Nodes):  # whose eigenpairs have the digits that they have
                raise ArithmeticError(f"no reference of {space} at t = {time}")
            return found
        bits *= 2


def exactly(value: float) -> Any:
    return arb(float(value))


def key(value: Any) -> Any:
    """Something to look numbers up by."""
    return tuple(map(int, value.mid().man_exp()))


def shares(weights: Sequence[float]) -> Callable[[], list[Any]]:
    """Weights as parts of one."""

    def masses() -> list[Any]:
        found = [exactly(value) for value in weights]
        total = sum(found, arb(0))
        return [value / total for value in found]

    return masses


def shares_of_logs(logs: Sequence[float]) -> Callable[[], list[Any]]:
    """Weights given by their logarithms, minus infinity for none."""
    largest = max(logs)

    def masses() -> list[Any]:
        found = [(exactly(x) - exactly(largest)).exp() if x > -np.inf else arb(0) for x in logs]
        total = sum(found, arb(0))
        return [value / total for value in found]

    return masses


# Geometry.


def gram(rows: np.ndarray, other: np.ndarray | None = None) -> Any:
    """Inner products of rows, exact but for the last of 1024 bits or more."""
    left = arb_mat([[exactly(x) for x in row] for row in rows])
    right = left if other is None else arb_mat([[exactly(x) for x in row] for row in other])
    return left * right.transpose()


def versine(cosine: Any) -> Any:
    """1 - cos r without its radius, which is far below what matters, and not negative."""
    found = (1 - cosine).mid()
    return found if found > 0 else arb(0)


def unit_geometry(points: Any, *, axial: bool = False) -> Matrix:
    """1 - cos r of the directions of rows, or of the lines through them."""
    with ctx.workprec(max(1024, ctx.prec)):
        products = gram(np.asarray(points, dtype=np.float64))
        n = products.nrows()
        norms = [products[i, i].sqrt() for i in range(n)]
        cosines = [[products[i, j] / (norms[i] * norms[j]) for j in range(i)] for i in range(n)]
        return [[versine(abs(c) if axial else c) for c in row] for row in cosines]


# Rank-one spaces: spheres, real and complex projective spaces, rotations.


class Levels(NamedTuple):
    """One level of a zonal series: eigenvalue, multiplicity, and P_{l+1} = (a v + b) P_l - c P_{l-1}, P_l(1) = 1."""

    eigenvalue: int
    copies: Any
    a: Any
    b: Any
    c: Any


def sphere_level(dim: int, level: int) -> Levels:
    below = comb(level - 2 + dim, dim) if level > 1 else 0
    a, c = (
        (fmpq(1), fmpq(0)) if level == 0 else (fmpq(2 * level + dim - 1, level + dim - 1), fmpq(level, level + dim - 1))
    )
    return Levels(level * (level + dim - 1), comb(level + dim, dim) - below, a, fmpq(0), c)


def complex_level(n: int, k: int) -> Levels:
    """Jacobi polynomials P_k^(n - 1, 0) (DLMF 18.9), over their values at 1, C(k + n - 1, k)."""
    a = n - 1
    if k == 0:
        first, second, third = fmpq(a + 2, 2), fmpq(a, 2), fmpq(0)
    else:
        below = 2 * (k + 1) * (k + a + 1) * (2 * k + a)
        first = fmpq((2 * k + a + 1) * (2 * k + a + 2) * (2 * k + a), below)
        second = fmpq((2 * k + a + 1) * a * a, below)
        third = fmpq(2 * (k + a) * k * (2 * k + a + 2), below)
    sizes = [comb(j + a, a) if j >= 0 else 1 for j in (k - 1, k, k + 1)]
    up, down = fmpq(sizes[1], sizes[2]), fmpq(sizes[0], sizes[2])
    copies = fmpq(comb(n + k - 1, k) ** 2 * (2 * k + n), n)
    return Levels(4 * k * (k + n), copies, first * up, second * up, third * down)


@dataclass(frozen=True)
class RankOne(Space):
    """A space whose kernel is a function of the distance, given by 1 - cos r as its geometry."""

    dim: int
    radius: int = 1

    def unit_time(self, time: Any) -> Any:
        return time / self.radius**2

    def level(self, level: int) -> Levels:
        return sphere_level(self.dim, level)

    def argument(self, versine: Any) -> Any:
        """What the polynomials are in: cos r."""
        return 1 - versine

    step = 1  # every level, or every second
    cut = pi  # the distance at which the kernel of fine scales is singular

    def kernel(self, time: Any, pairs: list[Any]) -> Kernel:
        time = self.unit_time(time)
        return self.by_levels(time) if 8 * time > (FINE * self.cut) ** 2 else self.by_gaussian(time, pairs)

    def by_levels(self, time: Any) -> Kernel:
        """The series as one polynomial, whose coefficients alternate: up to 3.6 bits are lost with each level."""
        bits = ctx.prec
        levels, tail = self._terms(time, bits)
        with ctx.workprec(bits + int(3.6 * len(levels)) + 64):
            polynomial = self._polynomial(levels)
            diagonal = sum((weight for _, weight in levels[1:]), arb(0)) + arb(tail)

            def of(versine: Any) -> Any:
                with ctx.workprec(bits + int(3.6 * len(levels)) + 64):
                    return polynomial(self.argument(versine)) + arb(0, tail)

        return Kernel(diagonal, of)

    def _terms(self, time: Any, bits: int) -> tuple[list[tuple[Levels, Any]], Any]:
        """Levels with N exp(-2 lambda t), until those left out are below 2^-bits of the first, and a bound on them."""
        found: list[tuple[Levels, Any]] = []
        first = None
        while True:
            level = self.level(len(found))
            kept = len(found) % self.step == 0
            weight = arb(level.copies) * (-2 * time * level.eigenvalue).exp() if kept else arb(0)
            if kept and len(found) > self.step:
                before = found[-self.step][1]
                ratio = weight / before
                # Ratios of successive terms fall from here on.
                if ratio < 0.9 and weight / (1 - ratio) < first * arb(2) ** -bits:
                    return found, (weight / (1 - ratio)).upper()
            found.append((level, weight))
            if kept and first is None and len(found) > 1:
                first = weight

    def _polynomial(self, levels: list[tuple[Levels, Any]]) -> Any:
        """sum_{l >= 1} N_l exp(-2 lambda_l t) P_l by Clenshaw's recurrence on polynomials."""
        now, after = arb_poly([0]), arb_poly([0])
        for place in range(len(levels) - 1, -1, -1):
            level, weight = levels[place]
            ahead = levels[place + 1][0].c if place + 1 < len(levels) else fmpq(0)
            linear = arb_poly([arb(level.b), arb(level.a)])
            now, after = linear * now - arb(ahead) * after + (weight if place else arb(0)), now
        return now

    def by_gaussian(self, time: Any, pairs: list[Any]) -> Kernel:
        """The kernel over that at distance zero, from `density`, by interpolation where there are many pairs."""
        s = 2 * time
        power = self.log_density(s, arb(0)).exp() * self.volume()
        reach = versine((FARTHEST * (8 * time).sqrt()).cos())
        log_origin = self.log_density(s, arb(0))
        distinct = {key(z) for z in pairs if z < reach}

        def slow(z: Any) -> Any:
            """log s_t + r^2 / 4s, which varies slowly."""
            return self.log_density(s, z) - log_origin + squared_angle(z) / (4 * s)

        slow_part = slow
        if len(distinct) > 40:
            slow_part = self._interpolated(slow, reach)

        def of(z: Any) -> Any:
            if not z < reach:
                return arb(-1)
            return power * (slow_part(z) - squared_angle(z) / (4 * s)).exp() - 1

        return Kernel(power - 1, of)

    def _interpolated(self, slow: Callable[[Any], Any], reach: Any) -> Callable[[Any], Any]:
        """At Chebyshev nodes in r^2, up to less than a third of the nearest singularity."""
        most = squared_angle(reach)
        rate = 2 * exactly(self.cut) ** 2 / most - 1  # of the ellipse through it
        count = int(110 / log2(float((rate + (rate * rate - 1).sqrt()).mid()))) + 4
        nodes = [(most * (1 - (arb.pi() * (2 * k + 1) / (2 * count)).cos()) / 2).mid() for k in range(count)]
        values = [slow(2 * (node.sqrt() / 2).sin() ** 2) for node in nodes]
        found = arb_poly.interpolate(nodes, values, algorithm="newton")
        return lambda z: found(squared_angle(z))

    def log_density(self, s: Any, z: Any) -> Any:
        """log k_s with respect to Riemannian volume, at fine scales."""
        return log_sphere_density(self.dim, s, z)

    def volume(self) -> Any:
        half = arb(fmpq(self.dim + 1, 2))
        return 2 * arb.pi() ** half / half.gamma()


class Sphere(RankOne):
    def geometry(self, points: Any) -> Matrix:
        return unit_geometry(points)

    def slopes(self, points: Any, row: int, time: float) -> tuple[np.ndarray, float]:
        """d s_t / d cos r between one point and each, and at distance zero, by differences in many digits."""
        with ctx.workprec(BITS):
            apart, t = self.geometry(points), exactly(time)
            pairs = [apart[max(row, j)][min(row, j)] if j != row else arb(0) for j in range(len(apart))]
            kernel, step = self.kernel(t, []), min(t, arb(1)) * arb(2) ** -60
            here, ahead = ([kernel.overlap(kernel.of(z + d)) for z in [arb(0), *pairs]] for d in (arb(0), step))
            found = np.array([float(((a - b) / step).mid()) for a, b in zip(here, ahead, strict=True)])
        return found[1:], float(found[0])


class Projective(RankOne):
    """The even levels; and half the sphere's volume, where the far image does not count at fine scales."""

    step = 2

    def geometry(self, points: Any) -> Matrix:
        return unit_geometry(points, axial=True)

    def volume(self) -> Any:
        return super().volume() / 2


@dataclass(frozen=True)
class ComplexProjective(RankOne):
    """Complex dimension *dim*; points are complex vectors."""

    cut = pi / 2

    def geometry(self, points: Any) -> Matrix:
        with ctx.workprec(max(1024, ctx.prec)):
            x = np.asarray(points, dtype=np.complex128)
            flat, turned = np.hstack([x.real, x.imag]), np.hstack([-x.imag, x.real])
            real, imaginary = gram(flat), gram(flat, turned)
            n = len(x)
            return [
                [
                    versine(((real[i, j] ** 2 + imaginary[i, j] ** 2) / (real[i, i] * real[j, j])).sqrt())
                    for j in range(i)
                ]
                for i in range(n)
            ]

    def level(self, level: int) -> Levels:
        return complex_level(self.dim, level)

    def argument(self, versine: Any) -> Any:
        """cos 2r."""
        return 2 * (1 - versine) ** 2 - 1

    def log_density(self, s: Any, z: Any) -> Any:
        """The integral of the kernel of S^(2n + 1) over the fibre, a great circle, by the trapezoidal rule."""
        total = arb(0)
        for k in range(NODES):
            turn = 2 * s.sqrt() * arb(k * STEP)
            if not turn < arb.pi():
                break
            # 1 - cos(r) cos(turn), without cancellation
            apart = z + (1 - z) * 2 * (turn / 2).sin() ** 2
            total += (1 if k == 0 else 2) * log_sphere_density(2 * self.dim + 1, s, apart).exp()
        return (total * 2 * s.sqrt() * arb(STEP)).log()

    def volume(self) -> Any:
        return arb.pi() ** self.dim / arb(self.dim + 1).gamma()


def Rotations() -> RankOne:
    """The lines of R^4, with all lengths doubled."""
    return Projective(3, radius=2)


def times(p: Any, q: Any) -> list[Any]:
    """The product of two quaternions x, y, z, w."""
    (a, b, c, d), (e, f, g, h) = p, q
    return [
        d * e + a * h + b * g - c * f,
        d * f - a * g + b * h + c * e,
        d * g + a * f - b * e + c * h,
        d * h - a * e - b * f - c * g,
    ]


@dataclass(frozen=True)
class SymmetricRotations(Space):
    """R and R g are one point for the turns g of a group: the kernel is the mean of that of rotations over the group.

    *group* is Cn or Dn, with turns about z and half a turn about x, or T or O, with turns about z and about (1, 1, 1).
    """

    group: str

    def elements(self) -> list[list[Any]]:
        """All products of the generators, the unit first."""
        fold = {"T": 2, "O": 4}.get(self.group) or int(self.group[1:])
        zero, one = arb(0), arb(1)
        generators = [[zero, zero, (arb.pi() / fold).sin(), (arb.pi() / fold).cos()]]
        if self.group[0] == "D":
            generators.append([one, zero, zero, zero])
        elif self.group in "TO":
            generators.append([one / 2] * 4)
        found, ahead = {}, [[zero, zero, zero, one]]
        while ahead:
            new = ahead.pop(0)
            numbers = np.array([float(x.mid()) for x in new])
            numbers = numbers * np.sign(numbers[np.flatnonzero(np.abs(numbers) > 1e-6)[0]])  # q and -q are one turn
            if (place := tuple(np.round(numbers, 6) + 0.0)) not in found:
                found[place] = new
                ahead += [times(new, generator) for generator in generators]
        return list(found.values())

    def geometry(self, points: Any) -> Matrix:
        """1 - cos r to each of the images of the other."""
        with ctx.workprec(max(1024, ctx.prec)):
            rows = [[exactly(x) for x in row] for row in np.asarray(points, dtype=np.float64)]
            units = [[x / sum((y * y for y in row), arb(0)).sqrt() for x in row] for row in rows]
            images = [[times(row, element) for element in self.elements()] for row in units]
            return [[[_axial(units[i], image) for image in images[j]] for j in range(i)] for i in range(len(units))]

    def kernel(self, time: Any, pairs: list[Any]) -> Kernel:
        with ctx.workprec(max(1024, ctx.prec)):
            unit, *others = self.elements()
            turned = [_axial(unit, other) for other in others]
        whole = Rotations().kernel(time, [*turned, *(z for pair in pairs for z in pair)])

        def mean(values: list[Any]) -> Any:
            return sum(values, arb(0)) / len(values)

        own = mean([whole.diagonal, *(whole.of(z) for z in turned)])
        return Kernel(own, lambda pair: mean([whole.of(z) for z in pair]))


def _axial(p: list[Any], q: list[Any]) -> Any:
    return versine(abs(sum((a * b for a, b in zip(p, q, strict=True)), arb(0))))


def squared_angle(z: Any) -> Any:
    """r^2 from z = 1 - cos r."""
    return (2 * (z / 2).sqrt().asin()) ** 2


def log_sphere_density(dim: int, s: Any, z: Any) -> Any:
    """log K_s on S^dim with respect to Riemannian volume, without the images beyond the far side.

    Odd dimensions: K_{m+2} = exp(m s) / 2 pi dK_m / d cos r, from the Gaussian on S^1. Even ones:
    K_m = sqrt(2) exp(-(2m - 1) s / 4) int_r^pi K_{m+1}(v) sin v (cos r - cos v)^(-1/2) dv, with v^2 = r^2 + 4 s y^2.
    """
    if dim % 2:
        return _odd_density(dim, s, z).log()
    square = squared_angle(z)
    r, total = square.sqrt(), arb(0)
    for k in range(NODES):
        y = arb(k * STEP)
        angle = (square + 4 * s * y * y).sqrt()
        if not angle < arb.pi():
            break
        lower = 2 * s * y * y / (angle + r) if k else arb(0)  # (angle - r) / 2
        bend = angle.sinc() / (((angle + r) / 2).sinc() * lower.sinc()).sqrt()
        total += (1 if k == 0 else 2) * _odd_density(dim + 1, s, 2 * (angle / 2).sin() ** 2) * bend
    # dv sin v (cos r - cos v)^(-1/2) = 4 s / sqrt(2 s) sinc(v) (sinc sinc)^(-1/2) dy, and half the line is y >= 0.
    return (2 * s.sqrt() * arb(STEP) * total * (-(2 * dim - 1) * s / 4).exp()).log()


def _odd_density(dim: int, s: Any, z: Any) -> Any:
    order = (dim - 1) // 2
    gaussian = (_squared_angle_series(z, order + 1) / (-4 * s)).exp()
    derivative = gaussian[order] * arb(order + 1).gamma() * (-1) ** order
    return derivative * (order**2 * s).exp() / (2 * arb.pi()) ** order / (4 * arb.pi() * s).sqrt()


@lru_cache(maxsize=64)
def _powers(count: int, bits: int) -> list[Any]:
    with ctx.workprec(bits):
        return [arb(0)] + [arb(fmpq(2 ** (n + 1), n * n * comb(2 * n, n))) for n in range(1, count)]


def _squared_angle_series(z: Any, terms: int) -> Any:
    """r^2 as a power series around z = 1 - cos r, to so many terms."""
    ctx.cap = terms
    here = arb_series([z, 1], terms)
    if z < 0.02:  # r^2 = 2 sum_n (2z)^n / (n^2 C(2n, n)), because arccos is singular at one
        powers = _powers(ctx.prec // 7 + terms + 2, ctx.prec)
        found = arb_series([powers[-1]], terms)
        for power in reversed(powers[:-1]):
            found = found * here + power
        return found
    return (1 - here).acos() ** 2


# Flat spaces.


@dataclass(frozen=True)
class Torus(Space):
    """Coordinates modulo periods, which are float64 numbers taken as exact."""

    periods: tuple[float, ...]

    def geometry(self, points: Any) -> Matrix:
        rows = [
            [exactly(x) for x in row] for row in np.asarray(points, dtype=np.float64).reshape(-1, len(self.periods))
        ]
        with ctx.workprec(max(1024, ctx.prec)):
            return [
                [[self._gap(a, b, t) for a, b, t in zip(x, y, self.periods, strict=True)] for y in rows[:i]]
                for i, x in enumerate(rows)
            ]

    def _gap(self, a: Any, b: Any, period: float) -> Any:
        turns = ((a - b) / exactly(period) + arb(fmpq(1, 2))).mid().floor()
        return a - b - turns.mid() * exactly(period)

    def kernel(self, time: Any, pairs: list[Any]) -> Kernel:
        diagonal = combined([circle_excess(arb(0), time, exactly(t)) for t in self.periods])
        known: dict[Any, Any] = {}

        def one(gap: Any, period: float) -> Any:
            place = key(gap), period
            if place not in known:
                known[place] = circle_excess(gap, time, exactly(period))
            return known[place]

        return Kernel(diagonal, lambda gaps: combined([one(g, t) for g, t in zip(gaps, self.periods, strict=True)]))


def combined(excesses: list[Any]) -> Any:
    """prod (1 + e) - 1."""
    total = arb(0)
    for excess in excesses:
        total = total + excess + total * excess
    return total


def circle_excess(gap: Any, time: Any, period: Any, *, images: bool | None = None) -> Any:
    """k - 1 of one periodic coordinate, by whichever expansion is shorter or the one asked for."""
    s, length, bits = 2 * time, period, ctx.prec
    if images is None:
        images = bool(s < length**2 / 12)
    if images:
        # exp(-(k T - T/2)^2 / 4s) left out, beside the nearest image
        count = 1 + int(float(((4 * s * (bits + 8)).sqrt() / length).mid()) + 1)
        terms = [(-((gap + k * length) ** 2) / (4 * s)).exp() for k in range(-count, count + 1)]
        rest = 4 * (-(((count + fmpq(1, 2)) * length) ** 2) / (4 * s)).exp()
        return length / (4 * arb.pi() * s).sqrt() * (sum(terms, arb(0)) + arb(0, rest.upper())) - 1
    rate = (2 * arb.pi() / length) ** 2 * s
    count = 2 + int(float((bits / rate + 1).sqrt().mid()))
    total = sum((2 * (-k * k * rate).exp() * (2 * arb.pi() * k * gap / length).cos() for k in range(1, count)), arb(0))
    rest = 4 * (-count * count * rate).exp()
    return total + arb(0, rest.upper())


@dataclass(frozen=True)
class Euclidean(Space):
    dim: int
    compact = False

    def geometry(self, points: Any) -> Matrix:
        rows = [[exactly(x) for x in row] for row in np.asarray(points, dtype=np.float64).reshape(-1, self.dim)]
        with ctx.workprec(max(4200, ctx.prec)):
            return [
                [sum(((a - b) ** 2 for a, b in zip(x, y, strict=True)), arb(0)) for y in rows[:i]]
                for i, x in enumerate(rows)
            ]

    def kernel(self, time: Any, pairs: list[Any]) -> Kernel:
        return Kernel(None, lambda square: (-square / (8 * time)).exp())


@dataclass(frozen=True)
class Hyperbolic(Space):
    """Dimension two or three; the spatial coordinates are exact, and x_0 follows from them."""

    dim: int
    compact = False

    def geometry(self, points: Any) -> Matrix:
        with ctx.workprec(max(1600, ctx.prec)):
            x = np.asarray(points, dtype=np.float64)[:, 1:]
            products = gram(x)
            first = [(1 + products[i, i]).sqrt() for i in range(len(x))]
            squares = [[(first[i] * first[j] - products[i, j] - 1).mid() for j in range(i)] for i in range(len(x))]
            return [[2 * (max(square, arb(0)) / 2).sqrt().asinh() for square in row] for row in squares]

    def kernel(self, time: Any, pairs: list[Any]) -> Kernel:
        s = 2 * time
        if self.dim == 3:
            return Kernel(None, lambda r: (-r * r / (4 * s)).exp() * (r / r.sinh() if r > 0 else arb(1)))
        origin = planar_integral(arb(0), s)
        known: dict[Any, Any] = {}

        def of(r: Any) -> Any:
            place = key(r)
            if place not in known:
                decay = (-r * r / (4 * s)).exp()
                whole = decay > arb(10) ** -100
                known[place] = decay * planar_integral(r, s) / origin if whole else arb(0, decay.upper())
            return known[place]

        return Kernel(None, of)


def planar_integral(r: Any, s: Any, *, finer: int = 1) -> Any:
    """int_0^inf exp(-y^2) (shc((u + r)/2) shc((u - r)/2))^(-1/2) dy with u^2 = r^2 + 4 s y^2, up to a factor.

    The kernel of H^2 is exp(-r^2/4s) times it. The nearest singularity is pi / sqrt(s) from the real axis.
    """
    goal = 60.0  # exponents of what is neglected
    root = float(s.sqrt().mid())
    step = min(0.3, 2 * np.pi**2 / (goal * root)) / finer
    last = min(np.sqrt(goal), 2 * goal / root + float(r.mid()) / root + 2)
    total = arb(0)
    for k in range(int(last / step) + 1):
        y = arb(k) * exactly(step)
        u = (r * r + 4 * s * y * y).sqrt() if k else r
        lower = 2 * s * y * y / (u + r) if k else arb(0)
        total += (1 if k == 0 else 2) * (-y * y).exp() / (_shc((u + r) / 2) * _shc(lower)).sqrt()
    return total * exactly(step)


def _shc(x: Any) -> Any:
    """sinh(x) / x."""
    return x.sinh() / x if x > 0 else arb(1)


@dataclass(frozen=True)
class Interval(Space):
    """A segment with insulated ends, which is not homogeneous: a circle twice as long, folded."""

    lengths: tuple[float, ...]

    def exact(self, points: Any, masses: list[Any], time: Any) -> Truth:
        rows = [
            [exactly(x) for x in row] for row in np.asarray(points, dtype=np.float64).reshape(-1, len(self.lengths))
        ]

        def excess(x: list[Any], y: list[Any]) -> Any:
            parts = [
                (circle_excess(a - b, time, 2 * exactly(t)) + circle_excess(a + b, time, 2 * exactly(t))) / 2
                for a, b, t in zip(x, y, self.lengths, strict=True)
            ]
            return combined(parts)

        return uneven([[excess(x, y) for y in rows[: i + 1]] for i, x in enumerate(rows)], masses)


def uneven(excess: Matrix, masses: list[Any]) -> Truth:
    """The truth from k - 1 of all pairs, where k(x, x) depends on the place."""
    roots = [(1 + row[i]).sqrt() for i, row in enumerate(excess)]
    lower = [row[: i + 1] for i, row in enumerate(excess)]
    overlaps = [[(1 + value) / (root * other) for value, other in zip(row, roots, strict=False)]
                for row, root in zip(lower, roots, strict=True)]  # fmt: skip
    return truth_of(overlaps, lower, masses)


# Products and graphs.


@dataclass(frozen=True)
class Product(Space):
    """Factors with their metric multipliers; points are a tuple."""

    factors: tuple[Any, ...]
    scales: tuple[float, ...]

    @property
    def compact(self) -> bool:  # type: ignore[override]
        return all(factor.compact for factor in self.factors)

    def geometry(self, points: Any) -> Matrix:
        parts = [factor.geometry(part) for factor, part in zip(self.factors, points, strict=True)]
        return [[[part[i][j] for part in parts] for j in range(i)] for i in range(len(parts[0]))]

    def kernel(self, time: Any, pairs: list[Any]) -> Kernel:
        kernels = [
            factor.kernel(time / exactly(c) ** 2, [pair[k] for pair in pairs])
            for k, (factor, c) in enumerate(zip(self.factors, self.scales, strict=True))
        ]
        if self.compact:
            diagonal = combined([kernel.diagonal for kernel in kernels])
            return Kernel(diagonal, lambda pair: combined([k.of(x) for k, x in zip(kernels, pair, strict=True)]))

        def of(pair: Any) -> Any:
            total = arb(1)
            for kernel, x in zip(kernels, pair, strict=True):
                total *= kernel.overlap(kernel.of(x))
            return total

        return Kernel(None, of)


@dataclass(frozen=True, eq=False)
class Graph:
    """D - W with the counting measure; points are node indices."""

    adjacency: np.ndarray

    def exact(self, points: Any, masses: list[Any], time: Any) -> Truth:
        size = len(self.adjacency)
        weights = [[exactly(x) for x in row] for row in self.adjacency]
        degrees = [sum(row, arb(0)) for row in weights]
        rate = max(float((2 * time * degree).mid()) for degree in degrees)
        with ctx.workprec(ctx.prec + 4 * max(0, int(log2(rate + 1))) + 32):
            generator = arb_mat(
                [[2 * time * (weights[i][j] - (degrees[i] if i == j else 0)) for j in range(size)] for i in range(size)]
            )
            heat = semigroup(generator, rate)
            nodes = [int(node) for node in np.asarray(points).ravel()]
            return uneven([[size * heat[i, j] - 1 for j in nodes[: k + 1]] for k, i in enumerate(nodes)], masses)


def semigroup(generator: Any, rate: float) -> Any:
    """exp of a matrix with rows that sum to zero and entries that are not negative off the diagonal.

    Halved until it is small, then squared: all matrices on the way are stochastic, so that errors do not grow.
    """
    halvings = max(0, int(log2(rate + 1e-300)) + 2)
    found = (generator * (arb(2) ** -halvings)).exp()
    for _ in range(halvings):
        found = found * found
    return found


@dataclass(frozen=True, eq=False)
class Nodes:
    """A mesh or a sample as its matrices: all eigenpairs by a dense solver in double precision.

    The pencil is (L, mass + coupling), and functions are the mean of those of both metrics. Points are rows.
    """

    values: np.ndarray
    functions: np.ndarray

    @classmethod
    def of(cls, stiffness: np.ndarray, mass: np.ndarray, coupling: np.ndarray) -> Nodes:
        root = np.sqrt(mass)
        metric = np.eye(len(mass)) + coupling / np.outer(root, root)
        turned = np.linalg.inv(np.linalg.cholesky(metric))
        values, vectors = np.linalg.eigh(turned @ (stiffness / np.outer(root, root)) @ turned.T)
        vectors = turned.T @ vectors
        return cls(values, (vectors + metric @ vectors) / 2 * np.sqrt(mass.sum()) / root[:, None])

    def exact(self, points: Any, masses: list[Any], time: Any) -> Truth:
        functions = self.functions[np.asarray(points, dtype=int).ravel(), 1:]
        decayed = functions * np.exp(-2 * float(time.mid()) * self.values[1:])
        kernel = decayed @ functions.T
        own = kernel.diagonal()
        noise = 1e-11 + 2 * float(time.mid()) * 8 * np.finfo(float).eps * self.values[-1]  # of eigenvalues
        doubt = noise * np.sqrt(np.outer(own, own)) + 1e-300
        excess = [[arb(kernel[i, j], doubt[i, j]) for j in range(i + 1)] for i in range(len(kernel))]
        return uneven(excess, masses)
