"""Spaces of the GeometricKernels package: the space, its points and metric, and its heat kernels."""
