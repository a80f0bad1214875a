"""The version of heatess."""

__version__ = "0.1.0"
