"""Which data have p-values and bands: independent draws, whose weights let their variance be known.

`independent` and `standing` are the places that decide it; what is known about a measure comes with it, see `Known`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..base.arrays import IntArray
from ..base.errors import CalibrationWarning, KindError, warn
from ..base.known import KINDS
from ..base.messages import marked
from ..measures.measure import Measure
from .chain_blocks import Serial, in_blocks, thinned
from .chain_draws import in_chains, order_of_rows
from .missed_mass import UNKNOWN, edge_of
from .pareto import tail_index
from .weight_origin import WeightsAre

#: Steps from row to row, as a share of the distance of rows at random, below which rows of a file are in an order: that
#: of a chain with an autocorrelation of 0.75, whose time is 7 draws; and below which there is a warning.
SHORT_OF_DRAWS_AT_RANDOM, NEARER = 0.5, 0.9

#: Effective number of atoms that carry the variance of importance weights, (sum w^2)^2 / sum w^4: below the first there
#: is no p-value and no band, below the second a warning. It stays small, whatever n is, from a tail index of 1/2 on.
LEAST_CARRIERS, FEW_CARRIERS = 25.0, 50.0

#: Index at the edge of the cloud, see `edge_of`, above which there is no p-value and no band.
MOST_EDGE = 0.45

#: Fewest carriers where the index is lower and the heaviest atom is at the edge, so that the tail is known better than
#: from the largest weights, and Pareto k is not asked; and where uneven weights have no index at the edge.
LEAST_KNOWN, LEAST_UNKNOWN = 10.0, 35.0

#: Pareto k of importance weights above which there is no p-value and no band, and above which there is a warning.
MOST_K, HIGH_K = 0.7, 0.5

#: ESS of fixed weights below which bands are withheld, and below which there is a warning. Tests are exact for them.
LEAST_ESS, LOW_ESS = 10.0, 25.0

#: Share of the points that may be copies of others: above the first a report mentions it, above the second bands and
#: tests are warned of.
COPIES_TO_MENTION, COPIES_TO_WARN_OF = 0.01, 0.05

#: The p-value up to which two samples differ, or points are not uniform.
SIGNIFICANT = 0.05

#: What helps where the weights do not.
_REMEDY = (
    "draw from a proposal that is wider than the target, draw more, or, if the weights do not depend on the points, "
    'say `weights_are="fixed"`'
)

#: What helps where the weights grow at the edge: more draws of the same proposal do not.
_WIDER = (
    "draw from a proposal that is wider than the target or, if the weights do not depend on the points, say "
    '`weights_are="fixed"`'
)

#: Why data of a kind have no p-value and no band.
_REASONS = {
    "trajectory": "whose steps follow from each other and are no independent draws",
    "cells": "whose cells were not drawn, so that chance has no part in it",
    "complete": "which is no sample of anything, so that chance has no part in it",
}


#: Kinds that are no draws at all.
NO_DRAWS = tuple(_REASONS)


def independent(
    measure: Measure, name: str, what: str, instead: str, chains: Any = None, *, copies_once: bool = False
) -> Measure:
    """The draws of a measure, if they are independent; Markov chains are thinned until they are, with a warning.

    Parameters are those of `serial`. There is a warning of copies too, unless the caller counts them once.
    """
    subject = f"{name} {'are' if name == 'points' else 'is'}"
    found = _chains_of(measure, name, subject, what, instead, chains)
    draws = measure if found is None else thinned(subject, *found)
    if not copies_once:
        _warn_of_copies(draws, name)
    return draws


def serial(measure: Measure, name: str, what: str, instead: str, chains: Any = None) -> Serial:
    """The draws of a measure, Markov chains as blocks that are independent, if it has draws at all.

    *name* is what messages call the measure, *what* is asked of it, *instead* what can be had. *chains* are its chains,
    as for `chain_ess`, where it does not know them itself.
    """
    subject = f"{name} {'are' if name == 'points' else 'is'}"
    found = _chains_of(measure, name, subject, what, instead, chains)
    if found is not None:
        return in_blocks(subject, *found)
    _warn_of_copies(measure, name)
    return Serial.independent(measure)


def _warn_of_copies(measure: Measure, name: str) -> None:
    """Points at exactly one place, as after resampling; on nodes of a mesh or a graph they are to be expected."""
    if measure.space.modes is not None or measure.space.flow is not None:
        return
    atoms = measure.support()
    first = np.sort(np.asarray(atoms.points).reshape(atoms.n, -1)[:, 0])
    if np.count_nonzero(first[1:] == first[:-1]) <= COPIES_TO_WARN_OF * atoms.n:  # no fewer than copies, and quick
        return
    copies = atoms.n - atoms.coalesced().n
    if copies > COPIES_TO_WARN_OF * atoms.n:
        warn(
            f"{copies:,} of {atoms.n:,} points{'' if name == 'points' else f' of {name}'} are exact copies of others; "
            "estimates, bands and p-values assume independent draws. If the points were resampled, give them and their "
            "weights as they were before; if coordinates were rounded, give scales well above the rounding; if one "
            "place has several rows, keep one of them",
            CalibrationWarning,
        )


def _chains_of(
    measure: Measure, name: str, subject: str, what: str, instead: str, chains: Any
) -> tuple[Measure, IntArray] | None:
    """The chains of a measure, (chains, draws) rows of it; None if its draws are independent, or refused."""
    known = measure.known
    if chains is not None:
        return in_chains(measure, chains)
    if known.thinned:
        raise KindError(
            f"{subject} what thinning chose, and no set of draws, so there is no {what}; give the sample as it was "
            f"before, or know that {instead}"
        )
    if known.kind in _REASONS:
        raise KindError(
            f"{subject} {KINDS[known.kind]}, {_REASONS[known.kind]}: there is no {what}; {instead}; if these are "
            "independent draws after all, say `kind='draws'`"
        )
    if known.doubt:
        raise KindError(f"{known.source or name}: {marked(known.doubt)}; draws alone have a {what}")
    if known.kind is None and known.source:
        _refuse_order(measure, known.source, what)
    if known.kind == "chains":
        return in_chains(measure, known.chain_labels(measure.n))
    return None


def _refuse_order(measure: Measure, source: str, what: str) -> None:
    """Refuse rows of a file that run on from one to the next, and warn of those that are nearer than at random."""
    share, lag, runs_on = order_of_rows(measure)
    if share >= NEARER:
        return
    to = "the next" if lag == 1 else f"that {lag} rows on"
    order = f"from one to {to} is {share:.2g} of the distance of rows at random"
    like, unlike = "a trajectory, a Markov chain", "`kind='draws'` if they are independent draws that were sorted"
    also = "or `kind='trajectory'` or `kind='chains'`"
    if lag > 1:
        like = f"frames of {lag} rows each, {lag} Markov chains whose draws stand in turn"
        also = "or `kind='trajectory'`, or add a column chain that tells which row is of which"
    if share < SHORT_OF_DRAWS_AT_RANDOM and (runs_on or lag > 1):
        raise KindError(
            f"{source}: its rows are in an order: {order}, as in {like} or a sorted table; say {unlike}, {also}; "
            f"draws alone have a {what}"
        )
    if lag == 1:
        like, also = f"frames of a simulation, {like}", "or `kind='chains'` if they follow from each other"
    warn(
        f"{source}: its rows may be in an order: {order}, as in {like} or a sorted table, whose {what} would be too "
        f"sure; say {unlike}, {also}",
        CalibrationWarning,
    )


class Standing(NamedTuple):
    """What the weights of a sample allow: why there is no p-value and no band, and what to be warned of; "" if nothing.

    `pareto_k` is that of the weights, nan where there is no tail to fit.
    """

    refusal: str
    caution: str
    pareto_k: float


def standing(measure: Measure, weights_are: WeightsAre, name: str = "") -> Standing:
    """Whether the variance of weights can be known; *name* is what messages call the sample.

    A cloud that missed its tail has a large ESS and a small Pareto k, so neither tells it apart. How many atoms carry
    the variance does so more often: few where the weights grow steeply, even if the largest of them was never drawn.
    What tells most is how fast the weights grow at the edge of the cloud, see `edge_of`: where that is slow, and the
    heaviest atom is at the edge, nearly even weights have bands, whatever Pareto k is fitted to their largest. Atoms
    of zero weight are draws, and count.

    >>> import heatess as he
    >>> steep = he.Measure(he.samplers.fibonacci(100), 1 / np.arange(1, 101))
    >>> print(standing(steep, "importance").refusal[:76])
    the variance of the importance weights rests on 2.5 of 100 points, and below
    """
    ess, tail = measure.ess, tail_index(measure.weights)
    if weights_are == "fixed":
        few = f"ESS is {ess:.3g}, and with fewer than"
        refusal = f"{few} {LEAST_ESS:g} effective draws bands hold too rarely; draw more" if ess < LEAST_ESS else ""
        often = f"{few} {LOW_ESS:g} effective draws bands hold less often than their level says; draw more"
        return Standing(refusal, often if ess < LOW_ESS else "", tail)
    whose = f"the importance weights of {name}" if name else "the importance weights"
    carriers = carriers_of(measure)
    rests = f"the variance of {whose} rests on {carriers:.2g} of {measure.n:,} points, and below"
    heavy = f"Pareto k of {whose} is {tail:.2f}, and above"
    refusal = caution = ""
    enough = carriers >= LEAST_KNOWN
    edge = edge_of(measure) if enough else UNKNOWN
    grows = f"{whose} grow where draws become rare, as those of a tail index of {edge.tail:.2f} do, and above"
    known = edge.heaviest and edge.tail <= MOST_EDGE
    even = carriers > measure.n / 2  # too few atoms, if they are few, and not too uneven
    least = LEAST_CARRIERS
    if not even:
        least = LEAST_KNOWN if not enough else LEAST_UNKNOWN if np.isnan(edge.tail) else LEAST_CARRIERS
    if even and carriers < least:
        who = f"{name} has" if name else "there are"
        refusal = f"{who} {measure.n} points, and with weights that depend on the points {least:g} are needed at "
        refusal += 'least; draw more or, if the weights do not depend on the points, say `weights_are="fixed"`'
    elif carriers < least and not known:
        refusal = f"{rests} {least:g} no band and no p-value can be trusted; {_REMEDY}"
    elif tail > MOST_K and not known:
        refusal = f"{heavy} {MOST_K:g} no band and no p-value can be trusted; {_REMEDY}"
    elif edge.tail > MOST_EDGE:
        refusal = f"{grows} {MOST_EDGE:g} no band and no p-value can be trusted, for what was not drawn; {_WIDER}"
    elif carriers < FEW_CARRIERS and not even:
        caution = f"{rests} {FEW_CARRIERS:g} bands and tests err more often than their level says; {_REMEDY}"
    elif tail > HIGH_K and not known:
        caution = f"{heavy} {HIGH_K:g} bands and tests err more often than their level says; {_REMEDY}"
    return Standing(refusal, caution, tail)


def carriers_of(measure: Measure) -> float:
    """Effective number of atoms that carry the variance of importance weights: (sum w^2)^2 / sum w^4, at most ESS."""
    return float(1 / (measure.ess**2 * np.sum(measure.weights**4)))


def ask_weights(measure: Measure, name: str = "") -> None:
    """Refuse a test with importance weights whose variance cannot be known, or warn."""
    found = standing(measure, "importance", name)
    if found.refusal:
        raise KindError(found.refusal)
    if found.caution:
        warn(found.caution, CalibrationWarning)
