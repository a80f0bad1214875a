"""Parts of pages that are made from the source, as Markdown, and docstrings as markup. Needs no Sphinx."""

from __future__ import annotations

import inspect
import itertools
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
from formulas import as_latex

import heatess
from heatess.base.results import Result
from heatess.cli import main
from heatess.readers import COMPRESSED, FORMATS

DOCS = Path(__file__).resolve().parent.parent


def command_line() -> str:
    """Every command of heatess, its arguments, and its options with their defaults."""
    with click.Context(main, info_name="heatess") as parent:
        commands = [(name, main.get_command(parent, name)) for name in main.list_commands(parent)]
        return "\n".join(_command(name, command, parent) for name, command in commands if command is not None)


def _command(name: str, command: click.Command, parent: click.Context) -> str:
    with click.Context(command, info_name=name, parent=parent) as context:
        usage = " ".join([f"heatess {name}", *command.collect_usage_pieces(context)])
        options = [option for option in command.get_params(context) if isinstance(option, click.Option)]
        rows = [_row(option, context) for option in options if not option.hidden]
    lines = [f"## heatess {name}", "", f"```text\n{usage}\n```", "", _paragraphs(command.help or ""), ""]
    if rows:
        lines += ["| option | meaning | default |", "|---|---|---|", *rows, ""]
    if command.epilog:
        examples = [line.strip() for line in command.epilog.splitlines() if line.startswith("  ")]
        lines += ["Examples:", "", "```sh", *examples, "```", ""]
    return "\n".join(lines)


def _row(option: click.Option, context: click.Context) -> str:
    record = option.get_help_record(context)
    names, text = record if record is not None else (", ".join(option.opts), option.help or "")
    default = re.search(r"\s*\[(?:default: )?([^\]]*)\]$", text)
    if default is not None:
        text = text[: default.start()]
    shown = default[1] if default is not None else ""
    return f"| `{_in_table(names)}` | {_in_table(_plain(text))} | {_in_table(_plain(shown))} |"


def _in_table(text: str) -> str:
    return " ".join(text.split()).replace("|", r"\|")


def _plain(text: str) -> str:
    """Text in which no sign has a meaning in Markdown; options are in code font."""
    text = re.sub(r"([*_<>\[\]])", r"\\\1", text)
    return re.sub(r"(?<![\w`-])(--[a-z][\w-]*)", r"`\1`", text)


def _paragraphs(text: str) -> str:
    return "\n\n".join(_plain(" ".join(block.split())) for block in text.replace("\b", "").split("\n\n"))


def suffixes() -> str:
    """The table of file suffixes, by the module that reads them."""
    families = defaultdict(list)
    for suffix, family in FORMATS.items():
        families[family].append(suffix)
    rows = [f"| {KINDS[family]} | {' '.join(f'`{name}`' for name in names)} |" for family, names in families.items()]
    packed = " ".join(f"`{name}`" for name in COMPRESSED)
    table = "\n".join(["| kind | suffixes |", "|---|---|", *rows])
    also = "FITS and GIFTI files may end in `.fits.gz` and `.gii.gz`."
    return f"{table}\n\nText, JSON, XML and graphs may be compressed: {packed}. {also}"


#: What each module of `heatess.readers` reads, and what it needs.
KINDS = {
    "text": "CSV and other text; trajectories of TUM, EuRoC and KITTI",
    "arrays": "NumPy arrays and grids",
    "parquet": "Parquet and GeoParquet (extra `table`)",
    "arrow_files": "Arrow and Feather (extra `table`)",
    "json_tables": "JSON, JSON lines, GeoJSON points, graphs of nodes and links",
    "fits": "FITS tables and HEALPix maps (extra `sky`)",
    "votable": "VOTable and ECSV (extra `sky`)",
    "xml_files": "QuakeML; VOTable (extra `sky`)",
    "hdf5": "HDF5: posterior samples, tables, grids and EBSD maps (extra `hdf5`)",
    "netcdf": "NetCDF: grids, points, draws of ArviZ (NetCDF 4: extra `netcdf`)",
    "star": "RELION star files (extra `star`)",
    "cryosparc": "cryoSPARC particles",
    "ebsd_text": "EBSD maps of EDAX and Oxford Instruments",
    "mesh": "meshes (extra `mesh`)",
    "edge_lists": "graphs as lists of edges",
    "network_text": "networks of Pajek and Cytoscape",
    "graph": "graphs (extra `graph`)",
    "excel": "Excel (extra `excel`)",
    "archives": "zip archives of one of these",
    "geo": "shapefiles, GeoPackage, FlatGeobuf, KML, GPX (extra `geo`)",
    "plumed": "COLVAR of PLUMED, whatever its suffix",
    "xvg": "GROMACS",
    "magic": "MagIC, also as `.txt`",
    "word_vectors": "word vectors (GloVe, word2vec, fastText), also as `.txt`",
}


def result_classes() -> list[type[Result]]:
    """The public classes whose results become JSON."""
    public = (getattr(heatess, name) for name in heatess.__all__)
    return [item for item in public if isinstance(item, type) and issubclass(item, Result)]


def schemas() -> str:
    """The columns and single values of each kind of result."""
    return "\n".join(_schema(item) for item in result_classes())


def _schema(item: type[Result]) -> str:
    rows = [f"| `{name}` | list, one entry per {item.row_name} |" for name in item.columns]
    rows += [f"| `{name}` | single value |" for name in item.facts]
    told = {*item.columns, *item.facts}
    rows += [f"| `{key}` | what else `from_json` needs |" for key in item._fields().values() if key not in told]
    head = [f"## {item.__name__}", "", f'`"schema": "{item.schema}"`', "", "| key | form |", "|---|---|"]
    return "\n".join([*head, *rows, ""])


_SECTIONS = re.compile(r"^(Parameters|Attributes|Returns|Raises|Warns|Yields|Notes|Examples|References|See Also)$")


def as_markup(lines: list[str]) -> list[str]:
    r"""A plain docstring as reStructuredText.

    Indented formulas become mathematics, and signs that markup would take for its own are escaped. Parameters and
    examples are left to numpydoc.

    >>> as_markup(["The length", "", "    R = |x|", "", "of |x|."])
    ['The length', '', '.. math::', '', '    R = |x|', '', 'of \\|x\\|.']
    """
    return list(_marked(lines))


def _marked(lines: list[str]) -> Iterator[str]:
    formulas, block, before = True, [], ""
    for line in [*lines, ""] if lines and lines[-1].startswith("    ") else lines:
        text = line.strip()
        if _SECTIONS.match(text) and line == text:
            formulas = text == "Notes"
        doctest = text.startswith((">>>", "..."))
        if formulas and line.startswith("    ") and not doctest and (block or not before):
            block.append(text)
        else:
            if block:
                yield from _formula(block)
                block = []
            yield line if doctest else _escaped(line)
        before = text


def _formula(block: list[str]) -> list[str]:
    """One or several lines of a formula; those that are half code stay as they are."""
    if any(sign in line for line in block for sign in ('"', "`", "he.")):
        return [".. code-block:: text", "    :class: formula", "", *(f"    {line}" for line in block)]
    rows = [as_latex(line) for line in block]
    rows = [row.replace(r"\qquad ", r" \\ ") if len(line) > 62 else row for row, line in zip(rows, block, strict=True)]
    return [".. math::", "", "    " + r" \\ ".join(rows)]


#: Types as readers know them, in place of the names that the source has for them.
_TYPES = {
    r"NDArray\[[^\]]*(?:\[[^\]]*\])?\]": "ndarray",
    r"\b(?:Float|Int|Bool)Array\b": "ndarray",
    r"\bArrayLike\b": "array",
}


def type_in_words(annotation: Any) -> str:
    """An annotation as it stands in the source, with plain names; "" if it says nothing.

    >>> type_in_words("ArrayLike | None"), type_in_words("Any"), type_in_words("np.random.Generator | int")
    ('array | None', '', 'Generator | int')
    """
    text = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", "")
    for pattern, name in _TYPES.items():
        text = re.sub(pattern, name, text)
    text = re.sub(r"\b(?:[a-z_]+\.)+(?=\w)", "", text)
    return "" if text in ("Any", "_empty", "") else text


def signature_of(obj: Any, *, method: bool) -> tuple[str, str]:
    """The arguments of a function with their types, and the type of what it returns."""
    found = inspect.signature(obj)
    own = list(found.parameters.values())[1 if method and not inspect.ismethod(obj) else 0 :]
    parts, before = [], None
    for item in own:
        if item.kind is item.KEYWORD_ONLY and before not in (item.KEYWORD_ONLY, item.VAR_POSITIONAL):
            parts.append("*")
        stars = {item.VAR_POSITIONAL: "*", item.VAR_KEYWORD: "**"}.get(item.kind, "")
        kind = type_in_words(item.annotation)
        default = "" if item.default is item.empty else f" = {item.default!r}" if kind else f"={item.default!r}"
        parts.append(f"{stars}{item.name}{f': {kind}' if kind else ''}{default}")
        before = item.kind
    return f"({', '.join(parts)})", type_in_words(found.return_annotation)


def with_returns(obj: Any, lines: list[str]) -> list[str]:
    """The docstring of a function that does not say what it returns, with its type and its first sentence.

    >>> def half(x: float) -> float:
    ...     "Half of x."
    >>> with_returns(half, ["Half of x."])
    ['Half of x.', '', 'Returns', '-------', 'float', '    Half of x.']
    """
    text = "\n".join(lines)
    if not inspect.isfunction(obj) or re.search(r"^(Returns|Yields)\s*$", text, re.MULTILINE):
        return lines
    given = inspect.signature(obj).return_annotation
    kind = "points" if given == "Any" and ".samplers" in obj.__module__ else type_in_words(given)
    if kind in ("None", ""):
        return lines
    summary = " ".join(itertools.takewhile(str.strip, lines))
    section = ["Returns", "-------", kind, f"    {summary}"]
    at = next(
        (k for k, line in enumerate(lines) if line.strip() in ("Examples", "Notes", "Raises") or ">>>" in line),
        len(lines),
    )
    return [*lines[:at], *([""] if at == len(lines) else []), *section, *([""] if at < len(lines) else []), *lines[at:]]


#: Signs of markup that are none in plain text: bars, a trailing underscore, two stars, a star that no letter follows.
_SIGNS = re.compile(r"(\||(?<=\w)_(?!\w)|\*(?=\*)|(?<=[-/])\*)")


def _escaped(line: str) -> str:
    parts = re.split(r"(`[^`]*`)", line)
    return "".join(part if place % 2 else _SIGNS.sub(r"\\\1", part) for place, part in enumerate(parts))


def public_modules() -> dict[str, Any]:
    """The modules with public functions, by name."""
    from importlib import import_module

    names = ("samplers", "baselines", "asymptotics", "plot", "distributed")
    return {name: import_module(f"heatess.{name}") for name in names}


def public_names(module: Any) -> list[str]:
    """What a module offers: its `__all__` or, without one, the functions and classes it defines itself."""
    if hasattr(module, "__all__"):
        return list(module.__all__)
    own = (name for name, item in vars(module).items() if getattr(item, "__module__", "") == module.__name__)
    return [name for name in own if not name.startswith("_") and callable(getattr(module, name))]


#: The order in which pages are listed; those that are not named here follow.
ORDER = {
    "guides": [
        "choose-a-scale",
        "what-is-a-good-gess",
        "weights",
        "from-csv-to-report",
        "known",
        "particle-filters",
        "sky-maps",
        "grids",
        "where-is-the-mass",
        "embeddings",
        "rotations-and-poses",
        "torsions",
        "meshes",
        "graphs",
        "many-files-and-clusters",
        "tests-and-bands",
        "report",
        "inference",
        "thin-chains-modes",
        "scaling",
    ],
    "explanation": ["idea", "mathematics", "what-you-use-now", "certainty", "calibration", "architecture", "extending"],
}


def guides() -> str:
    """The list of guides."""
    return _pages("guides")


def explanation() -> str:
    """The list of explanations."""
    return _pages("explanation")


def _pages(folder: str) -> str:
    there = {path.stem for path in (DOCS / folder).glob("*.md")} - {"index"}
    order = [name for name in ORDER[folder] if name in there]
    names = [*order, *sorted(there - set(order))]
    listed, toctree = "\n".join(_entry(DOCS / folder / f"{name}.md") for name in names), "\n".join(names)
    return f"{listed}\n\n```{{toctree}}\n:hidden:\n:maxdepth: 1\n\n{toctree}\n```\n"


def _entry(page: Path) -> str:
    """A link to a page, and whom it is for if it says so."""
    text = page.read_text(encoding="utf-8")
    title = text.partition("\n")[0].removeprefix("# ")
    found = re.search(r"\*\*For\*\* (.+?)\.\s", text, re.DOTALL)
    return f"- [{title}]({page.name})" + (f", for {' '.join(found[1].split())}" if found else "")


_OUTWARD = re.compile(r"(?<!!)\[([^\]`]*)\]\(((?:\.\./)+[^)#\s]+)\)")


def outward_links(text: str, page: Path) -> str:
    """Links to files of the repository that are no part of the site, as files to download."""

    def replaced(found: re.Match[str]) -> str:
        file = (page.parent / found[2]).resolve()
        outside = file.is_file() and not file.is_relative_to(DOCS)
        return f"{{download}}`{found[1]} <{found[2]}>`" if outside else found[0]

    return _OUTWARD.sub(replaced, text)


_OUTPUT = re.compile(r"sphx-glr-script-out\n\n \.\. code-block:: none\n\n((?:(?:    .*)?\n)+)")
_PICTURE = re.compile(r"\.\. image-sg:: (\S+)\n\s+:alt: (.*)")


def answer_first(text: str) -> str:
    """A page of the gallery with its last output, which is the answer, and its first picture below the title."""
    outputs, pictures = _OUTPUT.findall(text), _PICTURE.findall(text)
    if not outputs or not pictures:
        return text
    answer = " ".join(outputs[-1].split())
    answer = re.sub(r"([*`|\\_])", r"\\\1", answer)
    path, alt = pictures[-1]
    top = f"**The answer:** {answer}\n\n.. image:: {path}\n    :alt: {alt}\n    :class: sphx-glr-single-img\n\n"
    return re.sub(r"(\n=+\n\n?)", lambda title: f"{title[0]}{top}", text, count=1)
