"""Which data have p-values and bands: independent draws. What is asked of others is refused, or thinned first.

`independent` is the one place that decides it; what is known about a measure comes with it, see `Known`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ..errors import CalibrationWarning, InputError, KindError, warn
from ..fitting import fitting_scales
from ..known import KINDS
from ..measure import Measure
from ..scales import in_words, resolve
from .chains import mixing
from .draws import in_chains, share_of_steps, step_of

#: Scales at which the autocorrelation time is looked at, and draws that must be left.
SCALES, LEAST = 8, 8

#: Accuracy of its sums.
RTOL = 1e-8

#: R-hat from which on chains, or their halves, disagree by more than chance.
DISAGREE = 1.1

#: Steps from row to row, as a share of the distance of rows at random, below which rows of a file are in an order: that
#: of a chain with an autocorrelation of 0.75, whose time is 7 draws.
NEAR = 0.5

#: Why data of a kind have no p-value and no band.
_REASONS = {
    "trajectory": "whose steps follow from each other and are no independent draws",
    "cells": "whose cells were not drawn, so that chance has no part in it",
    "complete": "which is no sample of anything, so that chance has no part in it",
}


#: Kinds that are no draws at all.
NO_DRAWS = tuple(_REASONS)


def independent(measure: Measure, name: str, what: str, instead: str, chains: Any = None) -> Measure:
    """The draws of a measure, if they are independent; Markov chains are thinned until they are, with a warning.

    *name* is what messages call the measure, *what* is asked of it, *instead* what can be had. *chains* are its chains,
    as for `chain_ess`, where it does not know them itself.
    """
    known, verb = measure.known, "are" if name == "points" else "is"
    if chains is not None:
        return _thinned(f"{name} {verb}", *in_chains(measure, chains))
    if known.thinned:
        raise KindError(
            f"{name} {verb} what thinning chose, and no set of draws, so there is no {what}; give the sample as it was "
            f"before, or know that {instead}"
        )
    if known.kind in _REASONS:
        raise KindError(
            f"{name} {verb} {KINDS[known.kind]}, {_REASONS[known.kind]}: there is no {what}; {instead}; if these are "
            "independent draws after all, say kind='draws'"
        )
    if known.doubt:
        raise KindError(f"{known.source or name}: {known.doubt}; draws alone have a {what}")
    if known.kind is None and known.source and (share := share_of_steps(measure)) < NEAR:
        raise KindError(
            f"{known.source}: its rows are in an order: from one to the next is {share:.2g} of the distance of rows at "
            "random, as in a trajectory, a Markov chain or a sorted table; say kind='draws' if they are independent "
            f"draws that were sorted, or kind='trajectory' or kind='chains'; draws alone have a {what}"
        )
    if known.kind == "chains":
        return _thinned(f"{name} {verb}", *in_chains(measure, known.chain_labels(measure.n)))
    return measure


def _thinned(subject: str, measure: Measure, places: Any) -> Measure:
    """One draw in so many of each chain, (chains, draws) rows, that they are all but independent."""
    fitting = fitting_scales(measure).times
    times = np.geomspace(float(fitting.min()), float(fitting.max()), SCALES)
    found, _ = mixing(measure, places, resolve(measure.space, times=times), RTOL)
    taus = np.where(np.isnan(found.autocorrelation_times), 0.0, found.autocorrelation_times)
    worst = int(np.argmax(taus))
    step = step_of(float(taus[worst]))
    kept = np.sort(places[:, ::step].ravel())
    count = f"{len(places)} chains" if len(places) > 1 else "one chain"
    if len(kept) < LEAST:
        raise InputError(
            f"{subject} {count} with an autocorrelation time of {taus[worst]:.3g} draws at "
            f"{in_words(measure.space, float(times[worst]))}, which leaves {len(kept)} that are independent; at least "
            f"{LEAST} are needed: run the chains longer"
        )
    rhat = float(found.rhat.max())
    apart = f"; R-hat is up to {rhat:.3g}, so that chains or their halves disagree" if rhat > DISAGREE else ""
    if step > 1 or apart:
        warn(
            f"{subject} {count}, with an autocorrelation time of up to {taus[worst]:.3g} draws (at "
            f"{in_words(measure.space, float(times[worst]))}); one in {step} is used, {len(kept):,} of {measure.n:,}"
            f"{apart}",
            CalibrationWarning,
        )
    some = measure[kept]
    return Measure.trusted(some.space, some.points, some.weights, replace(some.known, kind="draws", chains=None))
