"""How overlaps are summed: by levels (spectral, pairwise) or by neighbours (local); `plan` chooses."""
