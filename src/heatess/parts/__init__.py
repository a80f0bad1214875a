"""Data in parts: sums that merge exactly."""
