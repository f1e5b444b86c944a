"""Programs that others published with a paper: fetched, mended, built, and run beside ours.

Some are run behind a driver of ours, some have a command line of their own.
"""

from assay.rivals.published.build import built, make
from assay.rivals.published.drive import DriverWork, run
from assay.rivals.published.line import LineWork
from assay.rivals.published.recipe import Recipe, Structure, names, read

__all__ = ["Recipe", "Structure", "DriverWork", "LineWork", "built", "make", "names", "read", "run"]
