"""Messages as data: words and pieces of code.

A message is written once, with the code in it in backticks: "the angle is missing; add `units='deg'`". Python shows it
as it is, without the backticks; the command line says ``--units deg``. So a message is data, a `Message`: its words and
its pieces of `Code`. Whoever writes for others than Python renders the pieces; nobody searches the text.

What was expected stands in <+ +> and what was found in <! !>: "size must be <+positive+>, but is <!-3!>". Nobody is
shown these marks; an error has what they hold as `expected` and `found`.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Self


class Open:
    """The value of an argument that a message names without a value, as in ``space=``."""


#: An argument or a call whose values are written as no Python is, such as a repr in angle brackets.
_LIKE_CODE = re.compile(r"[a-z]\w*=.+|[\w.]+\(.*\)")

#: Arguments that messages mention without a value or an equals sign.
_WORDS = ("rtol", "max_degree", "log_weights")


@dataclass(frozen=True)
class Code:
    """A piece of Python in a message.

    `arguments` are those it consists of, with their values; empty if it is other code. `call` is the name of what is
    called, or named: ``he.Torus`` in ``he.Torus(2, units='deg')``.
    """

    text: str
    arguments: Mapping[str, Any]
    call: str = ""

    @classmethod
    def of(cls, text: str) -> Code | None:
        """Code from its text; None if that is none, such as the name of a column in backticks.

        >>> Code.of("units='deg', pairs=100").arguments
        {'units': 'deg', 'pairs': 100}
        >>> Code.of("he.Torus(2, units='deg')").call
        'he.Torus'
        >>> Code.of("my column") is None
        True
        """
        if text[-1:] == "=" and text[:-1].isidentifier():
            return cls(text, {text[:-1]: Open})
        if text.isidentifier():
            known = text in _WORDS or text in getattr(sys.modules.get("heatess"), "__all__", ())
            return cls(text, {text: Open} if text in _WORDS else {}, text) if known else None
        try:
            tree = ast.parse(f"_({text})", mode="eval").body
        except (SyntaxError, ValueError):
            return None
        if not isinstance(tree, ast.Call) or not isinstance(tree.func, ast.Name) or not text or len(tree.args) > 1:
            return None
        if tree.args:
            called = tree.args[0]
            own = called.keywords if isinstance(called, ast.Call) and not tree.keywords else []
            name = ast.unparse(called.func if isinstance(called, ast.Call) else called)
            return None if isinstance(called, ast.Constant) else cls(text, _values(own), name)
        return cls(text, _values(tree.keywords))


def _values(keywords: list[ast.keyword]) -> dict[str, Any]:
    """The arguments of a call; none if one of them is not written out."""
    try:
        return {one.arg or "": ast.literal_eval(one.value) for one in keywords}
    except ValueError:
        return {}


class Message(str):
    """What Python shows of a message, as text; `parts` are its words and its pieces of code.

    `expected` and `found` are what was marked so, as messages too; None where nothing was.

    >>> message = Message("column `a` is 3; add `units='deg'` or `units='rad'`")
    >>> print(message)
    column `a` is 3; add units='deg' or units='rad'
    >>> message.said(lambda code: code.text.upper())
    "column `a` is 3; add UNITS='DEG' or UNITS='RAD'"
    >>> message = Message("size must be <+positive+>, but is <!-3!>")
    >>> print(message, message.expected, message.found, sep=" | ")
    size must be positive, but is -3 | positive | -3
    """

    parts: tuple[str | Code, ...]
    expected: Message | None
    found: Message | None

    def __new__(cls, text: str) -> Self:
        """The message of a text with its code in backticks."""
        if isinstance(text, cls):
            return text
        text, expected = _unmarked(text, "<+", "+>")
        text, found = _unmarked(text, "<!", "!>")
        parts = tuple(_parts(text))
        made = super().__new__(cls, "".join(part if isinstance(part, str) else part.text for part in parts))
        made.parts, made.expected, made.found = parts, expected, found
        return made

    @property
    def marked(self) -> str:
        """The text with its code in backticks, to be put into another message."""
        return self.said(lambda code: f"`{code.text}`")

    @property
    def codes(self) -> tuple[Code, ...]:
        """The pieces of code."""
        return tuple(part for part in self.parts if isinstance(part, Code))

    def said(self, speak: Callable[[Code], str]) -> str:
        """The text with each piece of code as *speak* says it."""
        return "".join(part if isinstance(part, str) else speak(part) for part in self.parts)


def _unmarked(text: str, begin: str, end: str) -> tuple[str, Message | None]:
    """A text without pairs of these marks, and what stands in the first; a mark without its other is a word."""
    before, _, rest = text.partition(begin)
    marked, closed, after = rest.partition(end)
    return (f"{before}{marked}{_unmarked(after, begin, end)[0]}", Message(marked)) if closed else (text, None)


def _parts(text: str) -> Iterator[str | Code]:
    """Words and code by turns; a backtick that begins no code is a word."""
    words, *rest = text.split("`")
    while rest:
        tried = ((end, Code.of("`".join(rest[:end]))) for end in range(1, len(rest)))
        end, code = next((found for found in tried if found[1]), (1, None))
        if code is None and len(rest) > 1 and _LIKE_CODE.fullmatch(rest[0]):
            code = Code(rest[0], {})
        if code is not None:
            yield from (words, code)
            words, rest = rest[end], rest[end + 1 :]
        else:
            words, rest = f"{words}`{rest[0]}", rest[1:]
    yield words


def marked(text: str) -> str:
    """A text to be put into another message, with its code in backticks if it has some."""
    return text.marked if isinstance(text, Message) else text


def shown(value: Any) -> str:
    """*value* as it stands in messages: its repr, short and on one line; its type, if it has no repr.

    A number of NumPy is shown as one of Python.
    """
    try:
        text = " ".join(repr(value.item() if getattr(value, "shape", None) == () else value).split())
    except Exception:  # whatever an object of the user raises
        text = f"an object of type {type(value).__name__}"
    return text if len(text) <= 80 else f"{text[:77]}..."
