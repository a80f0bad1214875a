"""heatess: how many distinguishable particles do you have, at every scale?

Main job
    heat_profile    gESS, occupied volume, divergence and MMD at many scales
    HeatProfile.modes   how many modes there are, and at which scales
    gess            the geometric effective sample size at one scale
    gess_ratio      gESS against the same atoms equally weighted: a resampling trigger
    ResamplingCriterion     the same as particle filters of other packages take it
    potential       the overlap of all atoms with each of them, or with other points; the smoothed density
    Measure         points and weights, checked once, taken in place of points by every function
    read            a Measure from a file: CSV, NumPy, Parquet, JSON, FITS, HDF5, NetCDF, star, meshes
    from_lonlat, from_spherical, from_decinc, from_euler    unit vectors and quaternions from angles
    mmd, mmd2       how far apart two measures are, at many scales
    two_sample_test whether two samples come from one law
    compare         both profiles, how far apart they are, and the verdict
    redundancy, gradient    what single atoms do for gESS
    population_profile  the law behind the sample: places, volume, divergence, MMD with confidence bands
    pareto_k        the tail index of importance weights
    uniformity_test whether points are uniform: one p-value over scales, and the classical statistics
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

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import asymptotics, baselines, samplers
    from .accumulate import Accumulator
    from .directions import from_decinc, from_euler, from_lonlat, from_spherical
    from .errors import (
        CalibrationWarning,
        CostError,
        InputError,
        InputTypeError,
        MissingExtraError,
        PrecisionError,
        PrecisionWarning,
        ScaleError,
        ScaleWarning,
    )
    from .inference.atoms import Gradient, gradient, redundancy
    from .inference.band import Band
    from .inference.mmd import mmd2
    from .inference.pareto import pareto_k
    from .inference.population import PopulationProfile, population_profile
    from .measure import Measure
    from .plateaus import Plateau, Plateaus
    from .potentials import potential
    from .profile import HeatProfile, ProfilePoint, gess, gess_ratio, heat_profile
    from .readers import read
    from .spaces import (
        Circle,
        ComplexProjective,
        Euclidean,
        GeometricKernelsSpace,
        Graph,
        Hyperbolic,
        Mesh,
        PointCloud,
        Product,
        Projective,
        Rotations,
        Space,
        Sphere,
        Torus,
    )
    from .spectrum import PowerSpectrum, power_spectrum
    from .summary import Summary, summarize

__version__ = "0.1.0"

__all__ = [
    "Accumulator",
    "Band",
    "CalibrationWarning",
    "Circle",
    "Comparison",
    "ComplexProjective",
    "CostError",
    "Euclidean",
    "GeometricKernelsSpace",
    "Gradient",
    "Graph",
    "HeatProfile",
    "Hyperbolic",
    "InputError",
    "InputTypeError",
    "MaximumEntropy",
    "Measure",
    "Mesh",
    "MissingExtraError",
    "Plateau",
    "Plateaus",
    "PointCloud",
    "PopulationProfile",
    "PowerSpectrum",
    "PrecisionError",
    "PrecisionWarning",
    "Product",
    "ProfilePoint",
    "Projective",
    "ResamplingCriterion",
    "Rotations",
    "ScaleError",
    "ScaleWarning",
    "Space",
    "Sphere",
    "Summary",
    "Thinned",
    "Torus",
    "UniformityTest",
    "asymptotics",
    "baselines",
    "chain_ess",
    "from_decinc",
    "from_euler",
    "from_lonlat",
    "from_spherical",
    "gess",
    "gess_ratio",
    "gradient",
    "heat_profile",
    "maximum_entropy",
    "mmd2",
    "pareto_k",
    "population_profile",
    "potential",
    "power_spectrum",
    "read",
    "redundancy",
    "samplers",
    "summarize",
    "uniformity_test",
]


#: Modules by what they bring; each is imported when one of its names is first asked for. No module has a public name.
_MODULES = {
    "accumulate": ("Accumulator",),
    "directions": ("from_decinc", "from_euler", "from_lonlat", "from_spherical"),
    "inference.band": ("Band",),
    "inference.atoms": ("Gradient", "gradient", "redundancy"),
    "inference.filters": ("ResamplingCriterion",),
    "inference.maximum_entropy": ("MaximumEntropy", "maximum_entropy"),
    "inference.mmd": ("mmd2",),
    "inference.pareto": ("pareto_k",),
    "inference.population": ("PopulationProfile", "population_profile"),
    "measure": ("Measure",),
    "plateaus": ("Plateau", "Plateaus"),
    "potentials": ("potential",),
    "profile": ("HeatProfile", "ProfilePoint", "gess", "gess_ratio", "heat_profile"),
    "readers": ("read",),
    "spectrum": ("PowerSpectrum", "power_spectrum"),
    "summary": ("Summary", "summarize"),
}
_HOMES = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name in ("asymptotics", "baselines", "samplers"):
        return import_module(f".{name}", __name__)
    home = _HOMES.get(name) or ("errors" if name.endswith(("Error", "Warning")) else "spaces")
    globals()[name] = value = getattr(import_module(f".{home}", __name__), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
