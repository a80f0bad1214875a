"""Text in columns."""

from __future__ import annotations

from collections.abc import Sequence


def columns(rows: Sequence[Sequence[str]], *, left: int = 0) -> str:
    """Rows of text as aligned columns: the first *left* columns to the left, the others to the right."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    sides = [str.ljust] * left + [str.rjust] * (len(widths) - left)
    aligned = ([side(text, width) for side, text, width in zip(sides, row, widths, strict=True)] for row in rows)
    return "\n".join("  " + "   ".join(cells).rstrip() for cells in aligned)
