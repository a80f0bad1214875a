"""Every loop that is compiled, by numba, on first use: import these modules where they are needed, in functions."""
