"""Profiles of the digit embeddings of Table 2, at all scales."""

from __future__ import annotations

from .. import heat_profile
from . import configurations, profiles, style
from .experiment import Outcome, Settings


def run(settings: Settings) -> Outcome:
    """All digits, all digits weighted, and digits 0 and 1; nothing is random."""
    found = {name: heat_profile(points, weights) for name, (points, weights) in configurations.digits().items()}
    return Outcome(figure=lambda: profiles.draw(found, style.panels(style.FULL, 2.75, columns=2)))
