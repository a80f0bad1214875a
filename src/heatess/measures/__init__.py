"""Weighted points, checked once, and the scales at which they are looked at."""
