"""Sentences of a report: capitals, frames, and one warning of each frame."""

from __future__ import annotations

import json
import re
import warnings

import numpy as np
import pytest

import heatess as he

CLOUD = he.samplers.uniform(120, rng=0)


def data(path):
    text = path.read_text(encoding="utf-8")
    return json.loads(re.search(r'<script type="application/json"[^>]*>(.*?)</script>', text, re.DOTALL)[1])


def told(measures, folder):
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        he.report(measures, folder / "r.html", angles=[30, 60])
    return data(folder / "r.html")["verdict"], [str(one.message) for one in heard if one.category is he.FrameWarning]


def test_sentences_begin_with_capitals_and_icrs_is_a_name(tmp_path):
    draws = he.samplers.von_mises_fisher(400, [0, 0, 1], 5, rng=0).reshape(4, 100, 3)
    verdict, _ = told(he.Measure(draws), tmp_path)
    assert any(text.startswith("Points are 4 chains") for text in verdict["warnings"])
    verdict, _ = told(he.Measure(CLOUD, frame="icrs"), tmp_path)
    assert "equal weights; ICRS." in verdict["sentences"][0]


def test_a_frame_is_warned_of_once(tmp_path):
    np.savetxt(tmp_path / "xyz.csv", CLOUD, delimiter=",", header="x,y,z", comments="")
    nowhere, stars = he.read(tmp_path / "xyz.csv"), he.Measure(CLOUD[::-1], frame="icrs")
    for measures in ([nowhere, stars], [stars, nowhere], [nowhere, stars, stars]):
        verdict, heard = told(measures, tmp_path)
        assert len(heard) == 1
        assert sum("does not say its frame" in text for text in verdict["warnings"]) == 1


def test_samples_after_one_without_a_frame_are_brought_into_one():
    """Three times the same stars: without turning the third would lie elsewhere."""
    places = he.samplers.von_mises_fisher(120, [0, 0, 1], 20, rng=0)
    stars = he.Measure(places, frame="icrs")
    with pytest.warns(he.FrameWarning, match="sample 2 is galactic and sample 1 ICRS"):
        turned = he.k_sample_test([places, stars, stars.in_frame("galactic")], angles=[40], draws=19, rng=0)
    assert turned.pvalue > 0.5


def test_a_cell_of_one_degree_is_one_degree():
    assert he.Measure(CLOUD).known.words == ""
    for cell, words in {1.0: "cells of 1 degree", 1.83: "cells of 1.83 degrees"}.items():
        from heatess.base.known import Known

        assert Known(kind="cells", cell=cell).words == words
