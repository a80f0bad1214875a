"""How importance weights grow where draws become rare: what they say of mass that was not drawn.

The largest weights of a cloud tell little of its tail, and those that were never drawn tell nothing. But weights are a
function on the space, and that function is known at every atom: if it still grows towards the edge of the cloud, as
fast as draws become rare there, then the mass of the target beyond the edge counts.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ..base.arrays import FloatArray
from ..base.blocks import slices
from ..measures.measure import Measure
from ..profiles.default_scales import spread
from .pareto import LEAST_TAIL, tail_size

#: Atoms whose depth is worked out, at most, and atoms from which it is.
MOST_POINTS_WITH_DEPTH, FIELD = 20_000, 256

#: Share of the atoms, the outermost, whose depths say how draws become rare.
OUTER = 1 / 3

#: Correlation from which on weights at the edge are a function of the depth, and least growth there, in mean weights.
CORRELATED, GROWTH = 0.8, 0.1

#: Correlation of depths at two widths, over the outer atoms, below which a cloud has several parts: the outermost atoms
#: are then those of a small part, and not rare.
ONE_PART = 0.9

#: Rates of growth that are tried, in units of the rate at which draws become rare.
RATES = np.linspace(0.05, 2.0, 40)

#: Dimensions of a cloud at most: real clouds fill fewer than their space has.
MOST_DIMENSIONS_OF_CLOUD = 10

#: Places of a compact space that are looked at for room beyond the edge, and how much deeper one must be than all
#: atoms, in units of 1 / b.
PLACES, ROOM_AT_EDGE = 200, 0.5

#: Coordinates of pairs that are held at once, and that are looked at in all.
HELD, ALL = 2**22, 2**28


class Edge(NamedTuple):
    """What the edge of a cloud tells of its weights.

    `tail` is their tail index, with its error, nan where the edge does not tell it; `heaviest` says whether the
    heaviest atom is one of the outermost, so that this is the tail that counts.
    """

    tail: float
    heaviest: bool


UNKNOWN = Edge(math.nan, False)


def edge_of(measure: Measure) -> Edge:
    """The tail index of the weights of a measure as their growth at the edge of its cloud tells it, and its error.

    The depth of an atom is z = -log mean_j exp(-d(x, x_j)^2 / (2 D^2)) over all atoms x_j alike, D the median distance.
    Draws deeper than z become rare as exp(-b z), with b from the outer third of all atoms. If weights grow as
    exp(k b z), their tail index is k. Two fits to the outermost atoms, as many as `pareto_k` takes, give it: a line
    through log w, and w = a + c exp(k b z), which sees what grows beneath weights that do not; the larger of them
    counts. The outer third of a normal cloud thins out at another rate than its tail; the ratio, which is one in two
    dimensions, is divided by. The relative standard error sqrt(3 / n) of b is added.

    It is nan where weights at the edge are no function of the depth, in clouds of several parts, and where distances
    are long to find; and 0 where a cloud covers all of a compact space, so that nothing is beyond its edge. Weights
    u^(-0.3) of even u, which grow outwards in a normal cloud, have the index 0.3:

    >>> import heatess as he
    >>> u = (np.arange(1000) + 0.5) / 1000
    >>> turn = np.pi * (1 + 5**0.5) * np.arange(1000)
    >>> cloud = np.sqrt(-2 * np.log(u)) * [np.cos(turn), np.sin(turn)]
    >>> edge = edge_of(he.Measure(cloud.T, u**-0.3, space=he.Euclidean(2)))
    >>> round(edge.tail, 1), edge.heaviest
    (0.3, True)
    """
    space = measure.space
    stride = -(-measure.n // min(MOST_POINTS_WITH_DEPTH, max(ALL // (FIELD * measure.points[0].size), FIELD)))
    points, weights = measure.points[::stride], measure.weights[::stride]
    n = len(points)
    size = tail_size(n)
    if space.modes is not None or size < LEAST_TAIL or weights.max() == weights.min():
        return UNKNOWN
    even = Measure.trusted(space, points, np.full(n, 1 / n))
    depths, closer = _depths(even, points)
    order = np.argsort(-depths, kind="stable")
    rows = order[: int(n * OUTER) + 1]
    outer = depths[rows]
    excess = float(np.mean(outer - outer[-1]))
    if not excess > 0 or not _like(outer, closer[rows]) > ONE_PART:
        return UNKNOWN
    if not _has_room(even, float(outer[0]) + ROOM_AT_EDGE * excess):
        return Edge(0.0, False)
    depth, own = depths[order[:size]] / excess, weights[order[:size]] / weights.mean()
    found = max(_line(depth, own), _growth(depth, own))
    if not found > 0:
        return UNKNOWN
    ratio = _mean_excess(min(max(space.dim, 1), MOST_DIMENSIONS_OF_CLOUD) / 2)
    top = int(measure.weights.argmax())
    deepest = float(_depths(even, measure.points[top : top + 1])[0, 0])
    return Edge(found / ratio * (1 + math.sqrt(3 / n)), bool(deepest >= depths[order[size - 1]]))


def _depths(even: Measure, points: Any) -> FloatArray:
    """z of some points in the cloud of a measure with equal weights, and the same with D / 2 in place of D."""
    field = even.points[:: -(-even.n // FIELD)]
    width = 2 * spread(even) ** 2
    found = np.empty((2, len(points)))
    for block in slices(len(points), max(HELD // field.size, 1)):
        some = points[block]
        left, right = np.repeat(some, len(field), axis=0), np.concatenate([field] * len(some))
        square = np.square(even.space.distance(left, right)).reshape(len(some), len(field)) / width
        for row, steep in enumerate((1.0, 4.0)):
            least = steep * square.min(axis=1)
            found[row, block] = least - np.log(np.exp(least[:, None] - steep * square).mean(axis=1))
    return found


def _has_room(even: Measure, depth: float) -> bool:
    """Whether the space has places deeper than this."""
    space = even.space
    if not space.compact:
        return True
    places = space.check(space.uniform(PLACES, np.random.default_rng(0)))
    return bool(_depths(even, places)[0].max() > depth)


def _like(one: FloatArray, other: FloatArray) -> float:
    """Correlation; 0 where one of both is constant."""
    a, b = one - one.mean(), other - other.mean()
    size = math.sqrt(float(a @ a) * float(b @ b))
    return float(a @ b) / size if size > 0 else 0.0


def _line(depth: FloatArray, weights: FloatArray) -> float:
    """The slope of log w; 0 if there is none to speak of."""
    present = weights > 0
    if present.sum() < LEAST_TAIL:
        return 0.0
    z, logs = depth[present], np.log(weights[present])
    like = _like(z, logs)
    return like * float(logs.std() / z.std()) if like > CORRELATED else 0.0


def _growth(depth: FloatArray, weights: FloatArray) -> float:
    """The rate k of the exponential function of the depth that weights are most like; 0 if they are not."""
    curves = np.exp(np.multiply.outer(RATES, depth - depth[0]))  # (rates, atoms)
    curves -= curves.mean(axis=1, keepdims=True)
    own, centred = np.square(curves).sum(axis=1), weights - weights.mean()
    cross = curves @ centred
    with np.errstate(divide="ignore", invalid="ignore"):
        like = np.nan_to_num(cross / np.sqrt(own * float(centred @ centred)))
    best = int(np.argmax(like))
    if like[best] <= CORRELATED:
        return 0.0
    growth = float(cross[best] / own[best] * np.ptp(curves[best]))
    return float(RATES[best]) if growth >= GROWTH else 0.0


@lru_cache(maxsize=2 * MOST_DIMENSIONS_OF_CLOUD)
def _mean_excess(shape: float) -> float:
    """Mean of z - q over the outer third of a gamma law, q its lower end: the depth of a normal cloud; 1 for shape 1.

    >>> round(_mean_excess(1.0), 12), round(_mean_excess(0.5), 2)
    (1.0, 0.76)
    """
    from scipy.special import gammaincc, gammainccinv

    least = float(gammainccinv(shape, OUTER))
    return float(shape * gammaincc(shape + 1, least) / OUTER - least)
