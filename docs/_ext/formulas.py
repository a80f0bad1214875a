"""Formulas of docstrings, which are plain text, as LaTeX."""

from __future__ import annotations

import re

_GREEK = ("alpha", "lambda", "phi", "psi", "theta", "sigma", "pi", "Gamma")
_FUNCTIONS = ("exp", "log", "min", "max")
_UPRIGHT = ("gESS", "ESS", "MMD", "KL", "Scal", "se", "sd")
_SIGNS = {
    "<=": r"\le ", ">=": r"\ge ", "!=": r"\ne ", "~": r"\sim ", "{": r"\{", "}": r"\}", "%": r"\%", "√": r"\sqrt",
    "⟨": r"\langle ", "⟩": r"\rangle ", "⦃": "{", "⦄": "}", " . ": r" \cdot ", "sum": r"\sum",
    "grad": r"\nabla ", "_": r"\_",
}  # fmt: skip
#: One part of a formula: a sub- or superscript, a phrase, a word or a letter, or a sign.
_TOKEN = re.compile(r"_\{[^}]*\}|_\w+|\^⦃[^⦄]*⦄|\*\w+\*|⟦[^⟧]*⟧|[A-Za-z]+|<=|>=|!=|\s\.\s|\s{3,}|.", re.DOTALL)
_WORD = rf"(?!(?:{'|'.join((*_GREEK, *_FUNCTIONS, *_UPRIGHT, 'sum', 'sqrt', 'grad', 'hat'))})(?![a-z]))[A-Za-z]{{2,}}"
_PHRASE = re.compile(rf"(?<![_\w⟦{{]){_WORD}(?:,? {_WORD})*(?![\w(])")


def as_latex(text: str) -> str:
    r"""A formula in plain text as LaTeX.

    >>> as_latex("gESS(t) = 1 / sum_ij w_i w_j s_t(x_i, x_j)")
    '\\mathrm{gESS}(t) = 1 / \\sum_{ij} w_{i} w_{j} s_{t}(x_{i}, x_{j})'
    >>> as_latex("V (8 pi t)^(-m/2) sqrt(min(A_P, A_Q))")
    'V (8 \\pi  t)^{-m/2} \\sqrt{\\min (A_{P}, A_{Q})}'
    """
    text = re.sub(r"<(\w[^<>=]*)>", r"⟨\1⟩", text)  # a product, not an order
    text = re.sub(r"\b([A-Za-z])(\d)\b", r"\1_\2", text)
    text = _closed(_closed(text, "^(", "^⦃"), "sqrt(", "√⦃")
    text = re.sub(r"sqrt (\w+)", "√⦃\\1⦄", text)
    text = re.sub(r"(\w)_hat\b", r"hat⦃\1⦄", text)
    text = _PHRASE.sub(lambda found: f"⟦{found[0]}⟧", text)
    return "".join(map(_token, _TOKEN.findall(text))).strip()


def _token(token: str) -> str:
    if token.startswith("_") and len(token) > 1:
        inner = token[1:].strip("{}")
        return "_{" + (inner if re.fullmatch(r"[a-zA-Z]{1,2}|\d\w?", inner) else as_latex(inner)) + "}"
    if token.startswith("^⦃"):
        return "^{" + as_latex(token[2:-1]) + "}"
    if token.startswith("⟦"):
        return rf"\text{{ {token[1:-1]} }}"
    if token.startswith("*") and len(token) > 1:
        return rf"\text{{{token.strip('*')}}}"
    if token in _SIGNS:
        return _SIGNS[token]
    if not token.strip():
        return r"\qquad " if len(token) > 2 else " "
    if token in (*_GREEK, *_FUNCTIONS):
        return rf"\{token} "
    if token in _UPRIGHT:
        return rf"\mathrm{{{token}}}"
    return r"\hat" if token == "hat" else token


def _closed(text: str, start: str, to: str) -> str:
    """The same with *to* in place of *start*, and a brace where its parenthesis closes."""
    while (at := text.find(start)) >= 0:
        depth, end = 1, at + len(start)
        while end < len(text) and depth:
            depth += {"(": 1, ")": -1}.get(text[end], 0)
            end += 1
        text = f"{text[:at]}{to}{text[at + len(start) : end - 1]}⦄{text[end:]}"
    return text
