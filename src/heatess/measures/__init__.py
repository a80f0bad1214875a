"""Weighted points, checked once, and the scales at which they are looked at."""

from . import from_json as from_json  # so that results on spaces can be read
