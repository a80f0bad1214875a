"""Coefficients of a measure, sum_i w_i phi(x_i): fast, linear in the measure, and so mergeable across its parts."""
