"""Profiles of data on a cluster: dask arrays, dask data frames, and partitioned Parquet.

profile_collection  what `heat_profile` does with a dask array or data frame
profile_parquet     the same for a table in many Parquet files, read where the workers are

Where the space has a fast transform, each partition becomes an `Accumulator` and a tree of sums brings them
together: nothing but coefficients crosses the network. Elsewhere the pairs of two blocks of rows are one task.
Tasks are pure functions of their partition, so the scheduler may repeat those of a worker that was lost.
"""

from .parquet import profile_parquet
from .reduction import profile_collection

__all__ = ["profile_collection", "profile_parquet"]
