"""`HeatProfile.from_json`: profiles that were written are read again, and nothing else is."""

import json

import numpy as np
import pytest
from click.testing import CliRunner
from numpy.testing import assert_array_equal

import heatess as he
import space_cases
from heatess.cli import main


def same(one: he.HeatProfile, other: he.HeatProfile) -> None:
    for name in ("times", "angles", "resolutions", "gess", "volume", "divergence", "mmd2", "dimension", "error"):
        assert_array_equal(getattr(one, name), getattr(other, name))
    assert (one.ess, one.n, one.method, one.space) == (other.ess, other.n, other.method, other.space)


@pytest.mark.parametrize(**space_cases.named(space_cases.HOMOGENEOUS))
def test_profiles_on_every_space_come_back_bit_for_bit(case):
    points, times = case.points(20, np.random.default_rng(1)), case.times()
    profile = he.heat_profile(points, np.arange(1.0, 21), space=case.space(), times=times)
    again = he.HeatProfile.from_json(profile.to_json())
    same(again, profile)
    assert again.at(time=times[1]).gess == profile.at(time=times[1]).gess
    assert again.to_json() == profile.to_json()
    assert repr(again) == repr(profile)
    assert not again.gess.flags.writeable


def test_a_mesh_is_given_beside_its_profile():
    graph = he.Graph(np.ones((5, 5)) - np.eye(5))
    profile = he.heat_profile([0, 1, 4], space=graph, times=[0.1, 1.0])
    same(he.HeatProfile.from_json(profile.to_json(), space=graph), profile)
    with pytest.raises(he.InputError, match=r"pass it to from_json\(text, space=\.\.\.\)"):
        he.HeatProfile.from_json(profile.to_json())
    with pytest.raises(he.InputError, match=r"holds a result on Graph\(5 nodes, 10 edges\), but space=Sphere\(2\)"):
        he.HeatProfile.from_json(profile.to_json(), space=he.Sphere(2))


def test_what_is_not_finite_comes_back_as_it_was():
    pole = [[1.0] + [0.0] * 9] * 2
    profile = he.heat_profile(pole, times=[1e-80, 1e-2])
    assert profile.mmd2[0] == np.inf > profile.mmd2[1]
    same(he.HeatProfile.from_json(profile.to_json()), profile)
    text = profile.to_json().replace(f'"error": {json.dumps(profile.error.tolist())}', '"error": [null, 0.1]')
    assert_array_equal(he.HeatProfile.from_json(text).error, [np.inf, 0.1])


def test_what_the_command_line_writes_is_read(tmp_path):
    for name, turn in (("a", 0), ("b", 1)):
        np.savetxt(tmp_path / f"{name}.csv", np.roll(he.samplers.fibonacci(30), turn, axis=1), delimiter=",")
    one = CliRunner().invoke(main, ["profile", str(tmp_path / "a.csv"), "--angles", "5,20", "--json", "-"])
    assert he.HeatProfile.from_json(one.stdout).n == 30
    files = [str(tmp_path / f"{name}.csv") for name in "ab"]
    both = CliRunner().invoke(main, ["compare", *files, "--angles", "5,20", "--json", "-"]).stdout
    with pytest.raises(he.InputError, match="holds results by name") as told:
        he.HeatProfile.from_json(both)
    advice = str(told.value).split("give one of them, ")[1]
    found = he.HeatProfile.from_json(eval(advice, {"json": json, "text": both}))
    assert found.gess[0] == he.HeatProfile.from_json(one.stdout).gess[0]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda text: text[:-5], "is not JSON"),
        (lambda text: "profile.json", "is not JSON .*read_text"),
        (lambda text: None, "needs JSON text, as to_json gives it, but found None"),
        (lambda text: "[1, 2]", "is a list, but an object with schema heatess.profile/1 is needed"),
        (lambda text: text.replace("profile/1", "profile/9"), "has schema 'heatess.profile/9', but heatess.profile/1"),
        (lambda text: text.replace('"gess"', '"guess"'), "gess of this JSON must be numbers, but is None"),
        (lambda text: text.replace('"n": 2', '"n": "two"'), "n of this JSON must be a number"),
        (lambda text: text.replace('"Sphere(2)"', "\"__import__('os')\""), "space that is not known here"),
        (
            lambda text: text.replace('"times": [', '"times": [0.5, '),
            "angles of this JSON has 1 entries, but times",
        ),
        (lambda text: text.replace('"times": [', '"times": [-'), "times of this JSON must be positive"),
        (lambda text: text.replace('"gess": [', '"gess": [true, '), "gess of this JSON must be numbers"),
    ],
)
def test_other_text_is_refused(change, told):
    text = he.heat_profile([[0, 0, 1], [0, 1, 0]], angles=[20]).to_json()
    with pytest.raises((he.InputError, he.InputTypeError), match=told):
        he.HeatProfile.from_json(change(text))
