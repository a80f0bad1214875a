"""Plots of what inference finds, one file a result."""
