"""What no message of the command line may hold unless it says that it is for Python."""

from __future__ import annotations

import re

#: An argument, a package, a function of ours, a method that is called, an index.
PYTHON = re.compile(
    r"(?<![\w@/.?&-])[a-z]\w*=(?!=)|\b(?:he|numpy|np|scipy|astropy)\.\w|\bheatess\.[a-z]|\b[a-z]+_[a-z_]+\(|"
    r"\b[A-Za-z]\w*\.[a-z]\w*\(|\barray\.T\b|(?<!')\b(?:True|False|None)\b|"
    r"\b(?:heat_profile|population_profile|uniformity_test|two_sample_test|pareto_k|from_euler|weights_are)\b"
)


def python_in(message: str) -> str | None:
    """The first Python in a message that does not say so; None if there is none."""
    message = re.sub(r"""python -c (?:"[^"]*"|'[^']*')+|--select \S+""", "", message)  # which is typed so
    found = PYTHON.search(re.sub(r"\b[A-Z]\w*\((?:[^()]|\([^()]*\))*\)", "", message))  # but spaces may be written out
    return found[0] if found and "in Python" not in message else None
