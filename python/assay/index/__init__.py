"""Runs of persistent indexes: jobs out of flags, waits out of twins, sweeps.

The indexes themselves, their workloads and their checks are the measuring program's (`assayer index`).
"""

from assay.index.job import job
from assay.index.waits import as_if
from assay.study.work.index import TwinWish, Wish

__all__ = ["TwinWish", "Wish", "as_if", "job"]
