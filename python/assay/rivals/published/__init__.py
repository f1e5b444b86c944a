"""Programs that others published with a paper: fetched, mended, built behind a driver of ours, and run beside ours."""

from assay.rivals.published.build import built, make
from assay.rivals.published.drive import DriverWork, run
from assay.rivals.published.recipe import Recipe, Structure, names, read

__all__ = ["Recipe", "Structure", "DriverWork", "built", "make", "names", "read", "run"]
