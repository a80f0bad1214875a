"""The Sphinx side of generated text: parts of pages that come from the source, and docstrings as plain text."""

from __future__ import annotations

import builtins
import inspect
import re
from html import escape
from pathlib import Path
from typing import Any

import generated
from docutils import nodes
from pygments.lexers.special import TextLexer

from heatess import Plateaus
from heatess.base.results import Result

#: Characters of the description of a page: at least, and at most.
SHORTEST, LONGEST = 40, 160

MARK = re.compile(r"<!-- generated: (\w+) -->")

_PLACEHOLDER = "# Gallery\n\nThe examples of the gallery are not part of this checkout.\n"


def insert_generated(app: Any, name: str, source: list[str]) -> None:
    """Replace each `<!-- generated: part -->` by what `generated.part()` writes, and links that leave the site."""
    source[0] = generated.outward_links(source[0], Path(app.env.doc2path(name)))
    if name.startswith("gallery/plot_"):
        source[0] = generated.answer_first(source[0])
    source[0] = MARK.sub(lambda found: str(getattr(generated, found[1])()), source[0])


def as_markup(app: Any, kind: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Make reStructuredText of a docstring written as plain text: what is returned, formulas, bars that are bars."""
    lines[:] = generated.as_markup(generated.with_returns(obj, lines))


def without_private(
    app: Any, kind: str, name: str, obj: Any, options: Any, signature: str | None, returns: str | None
) -> tuple[str | None, str | None] | None:
    """Signatures with types; without the arguments of results, which functions make and users do not."""
    if kind == "class" and (issubclass(obj, Result | Plateaus) or ", _" in (signature or "")):
        return "", None
    if kind in ("function", "method") and inspect.isfunction(obj):
        return generated.signature_of(obj, method=kind == "method" and not isinstance(obj, staticmethod))
    return None


def write_placeholder(app: Any) -> None:
    """Write a page for the gallery where there are no examples, so that links to it hold."""
    page = Path(app.srcdir) / "gallery" / "index.md"
    if "sphinx_gallery.gen_gallery" in app.extensions:
        page.unlink(missing_ok=True)
    else:
        page.parent.mkdir(exist_ok=True)
        page.write_text(_PLACEHOLDER, encoding="utf-8")


def tell_file(settings: dict[str, Any], name: str) -> None:
    """Let an example find files beside itself by `__file__`, as when it is run alone."""
    builtins.__file__ = str(Path(settings["examples_dirs"][0]) / Path(name).name)  # type: ignore[attr-defined]


def describe(app: Any, name: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Give a page the description that search engines show: what follows "The answer:", else its first sentences."""
    if doctree is None:
        return
    texts = [" ".join(node.astext().split()) for node in doctree.findall(nodes.paragraph)]
    answers = [text.partition("The answer:")[2].strip() for text in texts if "The answer:" in text]
    text = next((text for text in answers + texts if len(text) > SHORTEST), "")
    if text:
        shown = text if len(text) <= LONGEST else f"{text[: text.rfind(' ', 0, LONGEST)]} ..."
        context["metatags"] = f'{context.get("metatags", "")}<meta name="description" content="{escape(shown)}" />'


def setup(app: Any) -> dict[str, bool]:
    """Connect all of it."""
    app.add_lexer("csv", TextLexer)
    app.connect("builder-inited", write_placeholder, priority=100)
    app.connect("autodoc-process-signature", without_private)
    app.connect("source-read", insert_generated)
    app.connect("html-page-context", describe)
    app.connect("autodoc-process-docstring", as_markup, priority=100)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
