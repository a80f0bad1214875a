"""heatess within scikit-learn: as a score of a transformer, and as a function of rows in a pipeline."""

from __future__ import annotations

import numpy as np
import plain
import pytest

import heatess as he

pytest.importorskip("sklearn")

from sklearn.decomposition import PCA
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, Normalizer


@pytest.fixture
def rows():
    """Directions around one axis, of which the first three coordinates vary most."""
    rng = np.random.default_rng(0)
    return rng.normal(size=(90, 6)) * [3, 3, 3, 0.5, 0.5, 0.5]


def distinct(estimator, X, y=None):
    """How many of the rows are distinguishable at 20 degrees: a scorer as scikit-learn takes it."""
    return he.gess(estimator.transform(X), resolution=20)


def test_a_scorer_scores_held_out_rows(rows):
    search = GridSearchCV(
        make_pipeline(PCA(), Normalizer()), {"pca__n_components": [2, 3]}, scoring=distinct, cv=3, refit=False
    ).fit(rows)
    for fold, held_out in enumerate(np.array_split(np.arange(90), 3)):
        for place, count in enumerate((2, 3)):
            kept = np.delete(np.arange(90), held_out)
            mean = rows[kept].mean(axis=0)
            axes = np.linalg.svd(rows[kept] - mean)[2][:count]
            points = (rows[held_out] - mean) @ axes.T
            points /= np.linalg.norm(points, axis=1, keepdims=True)
            found = search.cv_results_[f"split{fold}_test_score"][place]
            assert found == pytest.approx(he.gess(points, resolution=20), rel=1e-6)
    assert search.best_params_ == {"pca__n_components": 3}  # there is more room on a sphere than on a circle


def test_a_function_of_rows_is_a_step(rows):
    points = rows[:, :3] / np.linalg.norm(rows[:, :3], axis=1, keepdims=True)
    step = FunctionTransformer(lambda x: he.redundancy(x, angle=20)[:, None])
    found = make_pipeline(Normalizer(), step).fit_transform(rows[:, :3])
    overlaps = plain.overlaps_on_sphere(points, 20)
    np.testing.assert_allclose(found[:, 0], 1 - 1 / overlaps.sum(axis=1), rtol=1e-6)
