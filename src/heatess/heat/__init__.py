"""The heat kernel itself: series, small times, tables, bounds and sums. Nothing here knows a space."""
