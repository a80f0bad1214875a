"""What a weighted sample says beyond its own profile: tails of weights, differences of measures, single atoms."""
