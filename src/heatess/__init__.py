"""heatess: how many distinguishable particles do you have, at every scale?

Main job
    heat_profile    gESS, occupied volume, divergence and MMD at many scales
    gess            the geometric effective sample size at one scale
    gess_ratio      gESS against the same atoms equally weighted: a resampling trigger
    power_spectrum  level energies: resultant length, Bingham energy, and beyond
    summarize       one row of the paper's tables
    Accumulator     the same for data in parts: shards, streams, machines

Spaces
    Sphere          unit vectors of any dimension

Modules
    samplers        uniform, von Mises-Fisher, girdle, tetrahedral, Fibonacci, mixtures
    baselines       ESS, perplexity ESS, Leinster-Cobbold diversity
    asymptotics     small-time, merging, low-frequency and large-time laws
"""

from . import asymptotics, baselines, samplers
from .accumulate import Accumulator
from .errors import CostError, InputError, InputTypeError, MissingExtraError, PrecisionError, ScaleWarning
from .profile import HeatProfile, ProfilePoint, gess, gess_ratio, heat_profile
from .spaces import Space, Sphere
from .spectrum import PowerSpectrum, power_spectrum
from .summary import Summary, summarize

__version__ = "0.1.0"

__all__ = [
    "Accumulator",
    "CostError",
    "HeatProfile",
    "InputError",
    "InputTypeError",
    "MissingExtraError",
    "PowerSpectrum",
    "PrecisionError",
    "ProfilePoint",
    "ScaleWarning",
    "Space",
    "Sphere",
    "Summary",
    "asymptotics",
    "baselines",
    "gess",
    "gess_ratio",
    "heat_profile",
    "power_spectrum",
    "samplers",
    "summarize",
]
