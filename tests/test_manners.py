"""Every function has one order of arguments, and errors keep their row through whatever wraps them."""

from __future__ import annotations

import ast
import inspect
import json
from collections import defaultdict

import numpy as np
import pytest

import heatess as he
from source import MODULES, ROOT, tree

#: What stands first and last among the arguments, in this order; what is special to a function stands between.
FIRST = ("weights", "log_weights", "space", "angle", "angles", "time", "times", "resolution", "resolutions")
LAST = ("rtol", "method", "pairs", "rng", "progress")

FUNCTIONS = [
    function
    for function in (getattr(he, name) for name in he.__all__ if inspect.isfunction(getattr(he, name)))
    if next(iter(inspect.signature(function).parameters)) in ("points", "a", "samples", "measures")
]

#: Functions without rtol, and why.
WITHOUT_RTOL = {
    "goodness_of_fit": "a p-value is a rank among sums of one accuracy",
    "k_sample_test": "a p-value is a rank among sums of one accuracy",
    "uniformity_test": "a p-value is a rank or a tail, of an accuracy of its own",
    "modes": "peaks are held against standard errors",
    "maximum_entropy": "grids are refined to an accuracy of their own",
}

#: Names of numbers that mean one thing in each of four modules or more.
ONE_MEANING = {
    "LANES": "sums that are kept apart",
    "SCALE": "seconds for one scale",
    "SHARP": "accuracy where it costs little",
    "START": "seconds for one call",
    "TILE": "rows of a tile",
}

BALL = he.samplers.uniform(6, rng=0)
BAD = np.concatenate([BALL[:3], 2 * BALL[3:4], BALL[4:]])


def test_all_functions_of_points_are_looked_at():
    assert len(FUNCTIONS) == 22
    assert {*WITHOUT_RTOL} <= {function.__name__ for function in FUNCTIONS}


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_whatever_sums_takes_rtol_and_whatever_may_be_long_takes_progress(function):
    names = inspect.signature(function).parameters
    assert ("rtol" in names) == (function.__name__ not in WITHOUT_RTOL)
    assert names["progress"].default is False


def test_functions_of_points_take_weights_second_and_those_of_two_samples_a_pair():
    for function in FUNCTIONS:
        first, second, *_ = names = list(inspect.signature(function).parameters)
        if first == "points" and function.__name__ not in ("chain_ess", "goodness_of_fit"):
            assert second == "weights", function.__name__
        if first == "a":
            assert second == "b"
            assert names[2] == "weights"


def test_progress_is_true_or_false():
    class Odd:
        def __bool__(self) -> bool:
            raise ValueError

    with pytest.raises(he.InputError, match="progress must be true or false, but is Odd"):
        he.modes(BALL, progress=Odd())


def test_tab_completion_shows_what_users_need():
    for shown in (dir(he.Measure), dir(he.Measure(BALL))):
        assert not {"of", "taken", "trusted"} & {*shown}
        assert {"points", "in_frame", "coalesced"} - {"points"} <= {*shown}
    inside = {"series", "transform", "pair_kernel", "embedding", "flow", "low_moments", "harmonics"}
    for space in (he.Sphere(2), he.Rotations(), he.Product(he.Sphere(2), he.Circle()), he.Graph(1 - np.eye(3))):
        assert not inside & {*dir(space)}
        assert {"dim", "distance", "angular"} <= {*dir(space)}


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_arguments_stand_in_one_order(function):
    names = [name for name, one in inspect.signature(function).parameters.items() if one.kind is one.KEYWORD_ONLY]
    special = [name for name in names if name not in FIRST + LAST]
    first, last = ([name for name in group if name in names] for group in (FIRST, LAST))
    assert names == [*first, *special, *last]


#: What functions need beside points.
NEEDED = {
    "gess_ratio": {"weights": np.ones(6)},
    "goodness_of_fit": {"law": lambda n, rng: he.samplers.uniform(n, rng=rng)},
    "report": {"path": "report.html"},
    "thin": {"size": 2},
}


def called(function, bad, good):
    """*function* of bad points, and good ones where it takes several samples."""
    names = inspect.signature(function).parameters
    how = {name: 5.0 for name in ("angle", "angles") if name in names} | NEEDED.get(function.__name__, {})
    if "b" in names:
        return function(good, bad, **how)
    return function([good, bad] if "samples" in names else bad, **how)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_every_function_of_points_tells_the_row(function):
    with pytest.raises(he.InputError, match="row 3") as caught:
        called(function, BAD, BALL)
    assert caught.value.row == 3


QUATERNIONS = np.eye(4)[[0, 1, 2, 0, 1, 2]] * [[1], [1], [1], [2], [1], [1]]


@pytest.mark.parametrize(
    "call",
    [
        lambda: he.mmd2(BAD, BALL, angles=5),
        lambda: he.two_sample_test(BAD, BALL),
        lambda: he.compare(BAD, BALL),
        lambda: he.k_sample_test({"a": BALL, "b": BALL, "c": BAD}),
        lambda: he.potential(BALL, at=BAD, angle=5),
        lambda: he.density(BALL, angle=20).at(BAD),
        lambda: he.density(BALL, angle=20).region(0.5).contains(BAD),
        lambda: he.gess((BALL, BAD), space=he.Product(he.Sphere(2), he.Sphere(2)), time=0.1),
        lambda: he.gess(BAD, space=he.Projective(2), angle=5),
        lambda: he.gess(QUATERNIONS, space=he.Rotations(), angle=5),
        lambda: he.gess([0, 1, 2, 9, 1, 1], space=he.Graph(1 - np.eye(3)), time=1),
        lambda: he.gess([1.0, 2.0, 3.0, np.nan, 1.0, 1.0], space=he.Circle(), angle=5),
        lambda: he.gess([0.0, 0.0, 0.0, 900.0, 0.0, 0.0], space=he.Circle(), angle=5),
        lambda: he.gess(np.where(np.arange(6) == 3, np.inf, 1.0)[:, None] * BALL, space=he.Euclidean(3), time=1),
        lambda: he.Accumulator(max_degree=5).add(BAD),
        lambda: he.Accumulator(max_degree=5).add(BALL, [1, 1, 1, -1, 1, 1]),
        lambda: he.Measure({"x": BAD[:, 0], "y": BAD[:, 1], "z": BAD[:, 2]}),
        lambda: he.from_lonlat([0, 0, 0, 0], [0, 0, 0, 95], units="deg"),
        lambda: he.Measure(BALL, [1, 1, 1, -1, 1, 1]),
        lambda: he.mmd2(BALL, BALL, weights=(None, [1, 1, 1, -1, 1, 1]), angles=5),
        lambda: he.baselines.ess([1, 1, 1, -1]),
    ],
)
def test_the_row_survives_every_wrapper(call):
    with pytest.raises(he.InputError, match=r"row 3|entry 3|weights") as caught:
        call()
    assert caught.value.row == 3


def written(path):
    """BAD as a file."""
    if path.suffix == ".npy":
        np.save(path, BAD)
    elif path.suffix == ".npz":
        np.savez(path, points=BAD)
    elif path.suffix == ".json":
        path.write_text(json.dumps([dict(zip("xyz", row, strict=True)) for row in BAD.tolist()]))
    elif path.suffix == ".parquet":
        pyarrow = pytest.importorskip("pyarrow")
        pytest.importorskip("pyarrow.parquet").write_table(pyarrow.table(dict(zip("xyz", BAD.T, strict=True))), path)
    else:
        np.savetxt(path, BAD, delimiter=",", header="x,y,z", comments="")
    return path


@pytest.mark.parametrize("suffix", [".csv", ".npy", ".npz", ".json", ".parquet", ".csv.gz"])
def test_readers_tell_the_row(tmp_path, suffix):
    with pytest.raises(he.InputError, match=r"row 3|line 5|record 3") as caught:
        he.read(written(tmp_path / f"bad{suffix}"))
    assert caught.value.row == 3


def test_weights_of_two_samples_are_those_of_two_measures():
    other, rng = he.samplers.uniform(9, rng=1), np.random.default_rng(2)
    mine, theirs = rng.random(6), rng.random(9)
    measures = he.Measure(BALL, mine), he.Measure(other, theirs)
    expected = he.mmd2(*measures, angles=[10, 40])
    np.testing.assert_array_equal(he.mmd2(BALL, other, weights=(mine, theirs), angles=[10, 40]), expected)
    logs = np.log(mine), np.log(theirs)
    np.testing.assert_allclose(he.mmd2(BALL, other, log_weights=logs, angles=[10, 40]), expected, rtol=1e-10)
    half = he.mmd2(BALL, measures[1], weights=(mine, None), angles=[10, 40])
    np.testing.assert_array_equal(half, expected)
    how = {"angles": [10, 40], "weights_are": "fixed", "rng": 3, "draws": 99}
    test = he.two_sample_test(BALL, other, weights=(mine, theirs), **how)
    assert test.pvalue == he.two_sample_test(*measures, **how).pvalue
    compared = he.compare(BALL, other, weights=(mine, theirs), **how)
    assert compared.test.ess == test.ess == (measures[0].ess, measures[1].ess)


@pytest.mark.parametrize("weights", [[1.0, 2.0], np.ones((2, 6)), (np.ones(6),), "w"])
def test_weights_that_are_no_pair_are_refused(weights):
    with pytest.raises(he.InputError, match=r"weights must be a pair, weights=\(those of a, those of b\)"):
        he.mmd2(BALL, BALL, weights=weights, angles=5)


def test_a_number_has_a_name_of_its_own():
    """Not ROWS in fourteen modules, each with another meaning: names say unit and meaning, or the number is shared."""
    places = defaultdict(set)
    for path in MODULES:
        for node in tree(path).body:
            if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
                continue
            (target,) = node.targets if isinstance(node, ast.Assign) else [node.target]
            many = isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple)
            for name, value in zip(target.elts, node.value.elts, strict=True) if many else [(target, node.value)]:
                numbers = [part.value for part in ast.walk(value) if isinstance(part, ast.Constant)]
                if isinstance(name, ast.Name) and name.id.isupper() and numbers and not isinstance(value, ast.Call):
                    plain = all(type(number) in (int, float) for number in numbers)
                    if plain and isinstance(value, ast.Constant | ast.UnaryOp | ast.BinOp):
                        places[name.id.strip("_")].add(path.relative_to(ROOT).as_posix())
    assert len(places) > 500
    assert {name: sorted(files) for name, files in places.items() if len(files) > 3 and name not in ONE_MEANING} == {}
