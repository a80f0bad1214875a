"""Pictures of results: Axes, lines and levels, and the curves drawn with them."""
