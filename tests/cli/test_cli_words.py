"""The command line speaks of options and commands; what has none is said to be for Python."""

from __future__ import annotations

import re
import shlex
from io import StringIO
from pathlib import Path

import click
import numpy as np
import pytest
from click.testing import CliRunner, Result

import heatess as he
from heatess.base.messages import Message
from heatess.cli import main
from heatess.cli.messages import typed as in_options
from heatess.readers.unread_formats import OTHERS, sentence
from plain_words import python_in

ICOSAHEDRON = "\n".join(
    ["OFF", "4 4 6", "1 1 1", "-1 -1 1", "-1 1 -1", "1 -1 -1", "3 0 1 2", "3 0 3 1", "3 0 2 3", "3 1 3 2"]
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Files that are read, and make each command complain about something else than reading."""
    place = tmp_path_factory.mktemp("files")
    rng = np.random.default_rng(5)
    vectors = he.samplers.uniform(6000, rng=rng)
    tables = {
        "plain.csv": ("x,y,z", vectors[:80]),
        "other.csv": ("x,y,z", vectors[80:160]),
        "few.csv": ("x,y,z", vectors[:2]),
        "heavy.csv": ("x,y,z,weight", np.column_stack([vectors[:2000], rng.pareto(0.9, 2000) + 1])),
        "light.csv": ("x,y,z,weight", np.column_stack([vectors[:60], rng.gamma(0.5, size=60)])),
        "many.csv": ("x,y,z,weight", np.column_stack([vectors, rng.uniform(0.5, 1, 6000)])),
        "nothing.csv": ("x,y,z,logw", np.column_stack([vectors[:3], np.full(3, -np.inf)])),
        "path.csv": ("time,x,y,z", np.column_stack([np.arange(40), vectors[:40]])),
        "other_path.csv": ("time,x,y,z", np.column_stack([np.arange(40), vectors[40:80]])),
        "flat.csv": ("a,b", rng.normal(size=(50, 2))),
        "torsions.csv": ("phi,psi", rng.uniform(-180, 180, (50, 2))),
        "weights.csv": ("x,y,z,w,logw", np.ones((2, 5))),
        "euler.csv": ("phi1,Phi,phi2", rng.uniform(0, 90, (20, 3))),
    }
    for name, (header, rows) in tables.items():
        text = StringIO()
        np.savetxt(text, rows, "%.12g", ",", header=header, comments="")
        (place / name).write_text(text.getvalue())
    np.save(place / "embeddings.npy", he.samplers.uniform(60, 50, rng=1))
    np.save(place / "angles.npy", rng.uniform(0, 6, (300, 30)))
    np.save(place / "phases.npy", np.exp(1j * rng.uniform(0, 6, (10, 2))))
    np.save(place / "poses.npy", np.tile(np.eye(4), (5, 1, 1)))
    np.save(place / "names.npy", np.array(["a", "b"]))
    np.savez(place / "two.npz", a=np.eye(3), b=np.eye(4))
    (place / "surface.off").write_text(ICOSAHEDRON)
    he.Accumulator(max_degree=10).add(vectors).save(place / "coarse.npz")
    he.Accumulator(max_degree=12).add(vectors).save(place / "finer.npz")
    return place


#: What was run already.
RUNS: dict[str, Result] = {}


@pytest.fixture
def run(folder, tmp_path, monkeypatch):
    monkeypatch.chdir(folder)

    def call(words: str) -> Result:
        return CliRunner().invoke(main, shlex.split(words.replace("OUT", str(tmp_path))))

    return call


FLAT = "--columns a,b --space euclidean"
#: A command, and what it says: part of the sentence.
SAID = {
    "test heavy.csv --weights-are importance": "the importance weights rests on",
    "test light.csv --weights-are importance": "say --weights-are fixed",
    f"test flat.csv {FLAT}": "there is no uniform distribution",
    "test surface.off": "space.uniform(n, rng) in Python",
    "test surface.off --statistic rayleigh": "",
    "test torsions.csv --statistic rayleigh": "--statistic",
    "test plain.csv --statistic watson": "",
    "test plain.csv --statistic nope": "'rayleigh', 'bingham'",
    "test embeddings.npy --angles 20": "give --resolutions",
    "profile surface.off --band": "the places of a distribution on Mesh",
    "profile few.csv --band": "heatess profile --band needs three or more points",
    "profile embeddings.npy --angles 20": "give --resolutions",
    "profile nothing.csv": "log-weights are all -inf",
    "profile phases.npy": "numpy.angle(z) in Python, and read them with --space torus and --units rad",
    "profile poses.npy": "in Python",
    "profile names.npy": "in Python",
    "profile two.npz": "in Python",
    "profile euler.csv": "--euler bunge",
    "profile weights.csv": "--weights w or --log-weights logw",
    "profile plain.csv --weights nope.csv": "numpy.save in Python",
    "profile plain.csv --units rad": "--units is for angles",
    "profile torsions.csv --normalize": "--normalize is for vectors",
    "profile plain.csv --space torus": "for --space torus; name the columns with --columns",
    "profile plain.csv --space 'Torus(3, periods=5)' --units deg": "",
    "profile plain.csv --space nope": "space must be one of",
    "compare light.csv plain.csv --weights-are importance": "say --weights-are fixed",
    "compare plain.csv flat.csv": "",
    "thin embeddings.npy --size 5 --angle 20 -o OUT/a.csv": "give --resolution ",
    "thin surface.off --size 2 --time 0.1 -o OUT/a.csv": "",
    "modes few.csv": "modes need at least 8 draws",
    "redundancy embeddings.npy --angle 20": "give --resolution ",
    "redundancy torsions.csv": "say at which scale two rows are alike: --angle, --time or --resolution",
    "redundancy phases.npy --angle 5": "numpy.angle(z) in Python",
    "redundancy plain.csv --angle 5 --labels nope": "has no column 'nope' of names",
    "density plain.csv --kind complete": "give the scale as --angle or --time",
    "density torsions.csv -o OUT/a.nc": "this density is on Torus",
    "density embeddings.npy --angle 20": "give --resolution ",
    f"accumulate flat.csv {FLAT} -o OUT/s.npz": "use heatess profile on the whole",
    "accumulate plain.csv --finest 0.0001 -o OUT/s.npz": "use heatess profile on the whole",
    "accumulate plain.csv --max-degree 99999 -o OUT/s.npz": "--max-degree",
    "accumulate plain.csv many.csv -o OUT/s.npz": "give --weights none for equal weights",
    "merge coarse.npz --angles 5": "accumulate with --max-degree",
    "merge coarse.npz finer.npz": "--max-degree",
    "merge plain.csv": "",
    "modes phases.npy": "numpy.angle(z) in Python",
    "inspect phases.npy": "",
    "inspect weights.csv": "",
}


@pytest.mark.parametrize("words", SAID)
def test_no_message_has_python_in_it_unless_it_says_so(run, words):
    result = RUNS.setdefault(words, run(words))
    said = [line for line in result.stderr.splitlines() if line.startswith("heatess: ") or "no p-value" in line]
    assert "internal error" not in result.stderr
    for line in said:
        assert python_in(line) is None, line
    assert any(SAID[words] in line for line in said), result.stderr


def test_what_would_take_hours_names_what_python_can_do_about_it(run, monkeypatch):
    monkeypatch.setattr("heatess.engines.plan.PATIENCE", 1e-6)
    for words in (
        "profile angles.npy --space torus --units rad --columns 0:29 --times 0.01",
        "test angles.npy --space torus --units rad --columns 0:29 --draws 99",
    ):
        line = run(words).stderr.splitlines()[-1]
        assert python_in(line) is None, line
    line = run("profile angles.npy --space torus --units rad --columns 0:29 --times 0.01").stderr.splitlines()[-1]
    assert "or call heat_profile in Python: with pairs=" in line


def test_draws_that_would_take_hours_are_fewer_draws(run, monkeypatch):
    monkeypatch.setattr("heatess.inference.uniform_null.PATIENCE", 1e-6, raising=False)
    line = run("test many.csv --weights-are fixed --draws 10000000 --angles 1").stderr.splitlines()[-1]
    assert "give fewer --draws, coarser scales, or fewer points" in line


def test_the_walk_goes_through_every_command_that_reads(run):
    met = {words.split()[0] for words in SAID}
    reading = {
        name for name, command in main.commands.items() if any(p.name in ("file", "files") for p in command.params)
    }
    assert reading | {"accumulate", "merge"} <= met


def test_options_that_are_advised_are_options_of_that_command(run):
    """Every --word of a sentence is an option of the command, or of one that the sentence names."""
    for words in SAID:
        name = words.split()[0]
        for line in (RUNS.get(words) or run(words)).stderr.splitlines():
            if line.startswith("heatess: "):
                named = {name, *re.findall(r"heatess (\w+)", line), *(["accumulate"] if "accumulat" in line else [])}
                known = {
                    option
                    for found in named & main.commands.keys()
                    for p in main.commands[found].params
                    for option in p.opts
                }
                assert set(re.findall(r"(?<!\S)--[a-z-]+", line)) <= known | {"--help"}, line


# What is spelled how.


def test_an_option_is_known_by_its_name(monkeypatch):
    """A new option needs no entry anywhere."""
    message = (
        "say `kind='draws', area=False, chains=4, select={'time': 0}, names=('a', 'b c')`, `pairs=9` or `log_it=True`"
    )
    assert in_options(Message("say `flavour='plain'`")) == "say flavour='plain' in Python"
    command = click.Command(
        "profile",
        params=[
            click.Option([f"--{name}"])
            for name in ("kind", "no-area", "chains", "select", "names", "log-it", "flavour")
        ],
    )
    monkeypatch.setitem(main.commands, "profile", command)
    from heatess.cli import messages

    messages._options.cache_clear()
    try:
        assert in_options(Message("say `flavour='plain'`"), command) == "say --flavour plain"
        expected = (
            "say --kind draws --no-area --chains 4 --select time=0 --names 'a,b c', pairs=9 in Python or --log-it"
        )
        assert in_options(Message(message), command) == expected
    finally:
        messages._options.cache_clear()


@pytest.mark.parametrize(
    ("python", "typed"),
    [
        ("on Torus(2, units='deg') add `units='rad'`", "on Torus(2, units='deg') add --units rad"),
        ("write f(path, units='deg') again", "write f(path, units='deg') again"),
        (
            "as in `he.from_lonlat(lon, lat, units='deg').T`, or",
            "as in he.from_lonlat(lon, lat, units='deg').T in Python, or",
        ),
        ("give `space='pose:0.5', units='hours'`", "give --space pose:0.5 --units hours"),
        ("year=2024/part.csv does not exist", "year=2024/part.csv does not exist"),
        ("a larger `rtol`, or `max_degree=3`", "a larger --rtol, or --max-degree 3"),
        ("column log_weights is 3, rtol.csv too", "column log_weights is 3, rtol.csv too"),
        ("heat_profile.csv has no columns", "heat_profile.csv has no columns"),
        ("write it with `numpy.save`", "write it with numpy.save in Python"),
        ("take `x[:, 0]`, in Python", "take x[:, 0], in Python"),
    ],
)
def test_arguments_calls_and_paths(python, typed):
    assert in_options(Message(python)) == typed


@pytest.mark.parametrize("suffix", OTHERS)
def test_a_line_to_type_is_left_as_it_is(suffix):
    said = sentence(Path("my data.x" + suffix), suffix)
    line = said.partition(", type: ")[2]
    printed = in_options(Message(said))
    assert printed.endswith(f", type: {line}")
    assert shlex.split(line)
    assert python_in(printed.removesuffix(line)) is None


def test_what_stands_around_a_line_to_type_is_spelled_in_options():
    message = (
        """give `units='deg'`, or type: pip install a && python -c "a.b('c', units='deg')[None]"; or `units='rad'`"""
    )
    expected = """give --units deg, or type: pip install a && python -c "a.b('c', units='deg')[None]"; or --units rad"""
    assert in_options(Message(message)) == expected
    quoted = """type: python -c 'a.b("c", kind='"'"'x'"'"')' (`kind='draws'`)"""
    assert in_options(Message(quoted)) == quoted.replace("`kind='draws'`", "--kind draws")


def test_the_words_of_another_package_are_left_as_they_are():
    said = "a.gml cannot be read as GML (NetworkXError: cannot tokenize units='1' at (1, 1)); it may be damaged: give "
    assert in_options(Message(f"{said}`units='deg'`")) == f"{said}--units deg"


def test_a_command_of_one_scale_has_options_for_one_scale():
    message = Message("give `resolutions=` instead of `angles=20`")
    assert in_options(message, main.commands["thin"]) == "give --resolution instead of --angle 20"
    assert in_options(message, main.commands["profile"]) == "give --resolutions instead of --angles 20"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("profile embeddings.npy --angles 20", "give --resolutions"),
        ("compare path.csv other_path.csv --angles 20,40", "say --kind draws or --kind trajectory"),
        ("profile path.csv --angles 20", "say --kind draws or --kind trajectory"),
    ],
)
def test_reports_speak_of_options_too(run, tmp_path, words, said):
    result = run(f"{words} -o {tmp_path}/a.html")
    assert result.exit_code == 0
    page = Path(tmp_path / "a.html").read_text()
    assert said in page
    for argument in ("resolutions=", "kind="):
        assert argument not in page
