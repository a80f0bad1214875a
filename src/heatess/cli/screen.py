"""How text gets to the terminal: wrapped to its width, with a little colour; elsewhere as it is."""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
from typing import Any

import click

#: The narrowest and the widest text, in characters.
NARROWEST, WIDEST = 40, 110


def coloured() -> bool:
    """Whether colour is welcome: not where NO_COLOR says otherwise, nor on a terminal that knows none."""
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def styled(text: str, **style: Any) -> str:
    """*text* in a colour, if colour is welcome; what is no terminal never sees it."""
    return click.style(text, **style) if coloured() else text


def wrapped(text: str, width: int) -> str:
    r"""Lines of prose broken at spaces; lines of tables, which begin with a space, and blank ones as they are.

    >>> print(wrapped("At 5 deg they count as two.\n\n  5   2", 16))
    At 5 deg they
    count as two.
    <BLANKLINE>
      5   2
    """
    lines = [
        line
        if len(line) <= width or line.startswith(" ")
        else textwrap.fill(line, width, break_long_words=False, break_on_hyphens=False)
        for line in text.split("\n")
    ]
    return "\n".join(lines)


def echo(text: str, *, err: bool = False, strong: bool = False) -> None:
    """Print text for people: wrapped on a terminal, there with its first paragraph in bold if *strong*."""
    if (sys.stderr if err else sys.stdout).isatty():
        text = wrapped(text, min(max(shutil.get_terminal_size().columns, NARROWEST), WIDEST))
    if strong:
        first, gap, rest = text.partition("\n\n")
        text = styled(first, bold=True) + gap + rest
    click.echo(text, err=err)


def warning(text: str) -> None:
    """Print a warning on stderr."""
    echo(f"heatess: {styled('warning', fg='yellow')}: {text}", err=True)


class Formatter(click.HelpFormatter):
    """Help with headings in bold, and lines that are not broken inside the name of an option."""

    def write_heading(self, heading: str) -> None:
        """The title of a section."""
        self.write(f"{'':>{self.current_indent}}{styled(f'{heading}:', bold=True)}\n")


class Context(click.Context):
    """What a command runs in."""

    formatter_class = Formatter
