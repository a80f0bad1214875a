"""What users ask of one measure: profile, gESS, potential, power spectrum."""
