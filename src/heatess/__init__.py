"""heatess: how many distinguishable particles do you have, at every scale?

Main job
    heat_profile    gESS, occupied volume, divergence and MMD at many scales
    gess            the geometric effective sample size at one scale
    gess_ratio      gESS against the same points equally weighted: a resampling trigger
    potential       the overlap of all points with each of them, or with other places; the smoothed density
    density         where the mass is: a density at the scale that the data support, its regions and draws
    Measure         points and weights, checked once, taken in place of points by every function
    Known           what a measure knows about its points: kind, frame, cells, chains, labels
    read            a Measure from a file: CSV, NumPy, Parquet, JSON, FITS, HDF5, NetCDF, star, meshes
    from_lonlat, from_spherical, from_decinc, from_euler    unit vectors and quaternions from angles
    from_healpix    a Measure from a HEALPix map held as an array
    report          one HTML file that shows all of it
    power_spectrum  level energies: resultant length, Bingham energy, and beyond
    summarize       one row of the paper's tables
    Accumulator     the same for data in parts: shards, streams, machines

Inference
    population_profile  the distribution behind the sample: places, volume, divergence, MMD with confidence bands
    uniformity_test     whether points are uniform: one p-value over scales, and the classical statistics
    two_sample_test     whether two samples come from one distribution
    k_sample_test       whether several samples do, and which two differ most
    goodness_of_fit     whether a sample comes from a given or a fitted distribution
    compare             both profiles, how far apart they are, and the verdict
    mmd, mmd2           how far apart two measures are, at many scales
    modes               modes of any width: how many, and which points belong to each
    HeatProfile.plateaus  how many modes there are, and at which scales
    maximum_entropy     the structure that moments of degree 1, 2, ... explain, on circles and spheres
    pareto_k            the tail index of importance weights
    redundancy, gradient    what single points do for gESS
    thin                fewer points with new weights, and a certificate of what that changes
    chain_ess           effective number of draws of a Markov chain, at many scales
    ResamplingCriterion     gess_ratio as particle filters of other packages take it

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
    baselines       ESS, perplexity ESS, Leinster-Cobbold diversity, uniformity loss, cap discrepancy
    plot            curves, and maps of the sphere
    asymptotics     small-time, merging, low-frequency and large-time formulas
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .base.version import __version__ as __version__

if TYPE_CHECKING:
    from . import asymptotics, baselines, plot, samplers
    from .answers.potential import potential
    from .answers.profile_and_gess import gess, gess_ratio, heat_profile
    from .answers.spectrum import PowerSpectrum, power_spectrum
    from .base.directions import from_decinc, from_euler, from_lonlat, from_spherical
    from .base.errors import (
        CalibrationWarning,
        CostError,
        FrameWarning,
        InputError,
        InputTypeError,
        KindError,
        MissingExtraError,
        PrecisionError,
        PrecisionWarning,
        ScaleError,
        ScaleWarning,
    )
    from .base.known import Known
    from .densities.estimate import density
    from .densities.region import Region
    from .densities.result import Density
    from .inference.band import Band
    from .inference.chains import ChainEss, chain_ess
    from .inference.comparison import Comparison, compare
    from .inference.goodness_of_fit import GoodnessOfFit, goodness_of_fit
    from .inference.k_sample import KSampleTest, k_sample_test
    from .inference.maximum_entropy import MaximumEntropy, maximum_entropy
    from .inference.mmd import mmd, mmd2
    from .inference.modes import Modes, modes
    from .inference.pareto import pareto_k
    from .inference.population import PopulationProfile, population_profile
    from .inference.redundancy import Gradient, gradient, redundancy
    from .inference.resampling_criterion import ResamplingCriterion
    from .inference.summary import Summary, summarize
    from .inference.thinning import Thinned, thin
    from .inference.two_sample import TwoSampleTest, two_sample_test
    from .inference.uniformity import UniformityTest, uniformity_test
    from .measures.measure import Measure
    from .parts.accumulator import Accumulator
    from .profiles.heat_profile import HeatProfile, ProfilePoint
    from .profiles.plateaus import Plateau, Plateaus
    from .readers import read
    from .readers.map_arrays import from_healpix
    from .reporting import report
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

__all__ = [
    "Accumulator",
    "Band",
    "CalibrationWarning",
    "ChainEss",
    "Circle",
    "Comparison",
    "ComplexProjective",
    "CostError",
    "Density",
    "Euclidean",
    "FrameWarning",
    "GeometricKernelsSpace",
    "GoodnessOfFit",
    "Gradient",
    "Graph",
    "HeatProfile",
    "Hyperbolic",
    "InputError",
    "InputTypeError",
    "KSampleTest",
    "KindError",
    "Known",
    "MaximumEntropy",
    "Measure",
    "Mesh",
    "MissingExtraError",
    "Modes",
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
    "Region",
    "ResamplingCriterion",
    "Rotations",
    "ScaleError",
    "ScaleWarning",
    "Space",
    "Sphere",
    "Summary",
    "Thinned",
    "Torus",
    "TwoSampleTest",
    "UniformityTest",
    "asymptotics",
    "baselines",
    "chain_ess",
    "compare",
    "density",
    "from_decinc",
    "from_euler",
    "from_healpix",
    "from_lonlat",
    "from_spherical",
    "gess",
    "gess_ratio",
    "goodness_of_fit",
    "gradient",
    "heat_profile",
    "k_sample_test",
    "maximum_entropy",
    "mmd",
    "mmd2",
    "modes",
    "pareto_k",
    "plot",
    "population_profile",
    "potential",
    "power_spectrum",
    "read",
    "redundancy",
    "report",
    "samplers",
    "summarize",
    "thin",
    "two_sample_test",
    "uniformity_test",
]


#: Modules by what they bring; each is imported when one of its names is first asked for. No module has a public name.
_MODULES = {
    "parts.accumulator": ("Accumulator",),
    "densities.region": ("Region",),
    "densities.estimate": ("density",),
    "densities.result": ("Density",),
    "base.directions": ("from_decinc", "from_euler", "from_lonlat", "from_spherical"),
    "readers.map_arrays": ("from_healpix",),
    "inference.redundancy": ("Gradient", "gradient", "redundancy"),
    "inference.band": ("Band",),
    "inference.chains": ("ChainEss", "chain_ess"),
    "inference.comparison": ("Comparison", "compare"),
    "inference.resampling_criterion": ("ResamplingCriterion",),
    "inference.goodness_of_fit": ("GoodnessOfFit", "goodness_of_fit"),
    "inference.k_sample": ("KSampleTest", "k_sample_test"),
    "inference.maximum_entropy": ("MaximumEntropy", "maximum_entropy"),
    "inference.mmd": ("mmd", "mmd2"),
    "inference.modes": ("Modes", "modes"),
    "inference.pareto": ("pareto_k",),
    "inference.population": ("PopulationProfile", "population_profile"),
    "inference.thinning": ("Thinned", "thin"),
    "inference.two_sample": ("TwoSampleTest", "two_sample_test"),
    "inference.uniformity": ("UniformityTest", "uniformity_test"),
    "base.known": ("Known",),
    "measures.measure": ("Measure",),
    "profiles.plateaus": ("Plateau", "Plateaus"),
    "answers.potential": ("potential",),
    "answers.profile_and_gess": ("gess", "gess_ratio", "heat_profile"),
    "profiles.heat_profile": ("HeatProfile", "ProfilePoint"),
    "readers": ("read",),
    "reporting": ("report",),
    "answers.spectrum": ("PowerSpectrum", "power_spectrum"),
    "inference.summary": ("Summary", "summarize"),
}
_HOMES = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name in ("asymptotics", "baselines", "plot", "samplers"):
        return import_module(f".{name}", __name__)
    home = _HOMES.get(name) or ("base.errors" if name.endswith(("Error", "Warning")) else "spaces")
    globals()[name] = value = getattr(import_module(f".{home}", __name__), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
