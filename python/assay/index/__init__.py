"""Runs of persistent indexes: jobs out of flags, waits out of twins, sweeps.

The indexes themselves, their workloads and their checks are the measuring program's (`assayer index`).
"""

from assay.index.job import TwinWish, Wish, job
from assay.index.waits import as_if

__all__ = ["TwinWish", "Wish", "as_if", "job"]
