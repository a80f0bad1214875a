"""heatess: how many distinguishable particles do you have, at every scale?

Main job
    heat_profile    gESS, occupied volume, divergence and MMD at many scales
    gess            the geometric effective sample size at one scale
    gess_ratio      gESS against the same atoms equally weighted: a resampling trigger
    potential       the overlap of all atoms with each of them, or with other points; the smoothed density
    Measure         points and weights, checked once, taken in place of points by every function
    power_spectrum  level energies: resultant length, Bingham energy, and beyond
    summarize       one row of the paper's tables
    Accumulator     the same for data in parts: shards, streams, machines

Spaces
    Sphere          unit vectors of any dimension
    Projective      axes: unit vectors without their sign
    ComplexProjective   complex unit vectors without their phase: quantum states
    Rotations       orientations in space, SO(3)
    Torus, Circle   periodic coordinates
    Euclidean       vectors; gESS only
    Hyperbolic      points of the hyperboloid; gESS only
    Product         several of them at once, for instance poses
    Mesh            surfaces given by triangles
    PointCloud      manifolds known by sampled points
    Graph           nodes joined by weighted edges
    GeometricKernelsSpace   SO(n), SU(n), hypercubes: spaces of that package

Modules
    samplers        uniform, von Mises-Fisher, girdle, tetrahedral, Fibonacci, mixtures
    baselines       ESS, perplexity ESS, Leinster-Cobbold diversity
    asymptotics     small-time, merging, low-frequency and large-time laws
"""

from typing import TYPE_CHECKING

from . import asymptotics, baselines, samplers, spaces
from .accumulate import Accumulator
from .errors import (
    CostError,
    InputError,
    InputTypeError,
    MissingExtraError,
    PrecisionError,
    PrecisionWarning,
    ScaleError,
    ScaleWarning,
)
from .measure import Measure
from .potential import potential
from .profile import HeatProfile, ProfilePoint, gess, gess_ratio, heat_profile
from .spaces import (
    Circle,
    ComplexProjective,
    Euclidean,
    Hyperbolic,
    Product,
    Projective,
    Rotations,
    Space,
    Sphere,
    Torus,
)
from .spectrum import PowerSpectrum, power_spectrum
from .summary import Summary, summarize

if TYPE_CHECKING:
    from .spaces import GeometricKernelsSpace, Graph, Mesh, PointCloud

__version__ = "0.1.0"

__all__ = [
    "Accumulator",
    "Circle",
    "ComplexProjective",
    "CostError",
    "Euclidean",
    "GeometricKernelsSpace",
    "Graph",
    "HeatProfile",
    "Hyperbolic",
    "InputError",
    "InputTypeError",
    "Measure",
    "Mesh",
    "MissingExtraError",
    "PointCloud",
    "PowerSpectrum",
    "PrecisionError",
    "PrecisionWarning",
    "Product",
    "ProfilePoint",
    "Projective",
    "Rotations",
    "ScaleError",
    "ScaleWarning",
    "Space",
    "Sphere",
    "Summary",
    "Torus",
    "asymptotics",
    "baselines",
    "gess",
    "gess_ratio",
    "heat_profile",
    "potential",
    "power_spectrum",
    "samplers",
    "summarize",
]


def __getattr__(name: str) -> type[Space]:
    if name in spaces.ON_DEMAND:
        return spaces.__getattr__(name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
