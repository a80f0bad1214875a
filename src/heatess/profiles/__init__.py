"""The profile that users hold, its default scales and its plateaus."""
