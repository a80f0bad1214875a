"""Weighted points, checked once, and the scales at which they are looked at."""

from . import restored as restored  # so that results on spaces can be read
