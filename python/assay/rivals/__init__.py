"""Other people's engines beside Assay's: which there are, how their program is built, and where it is."""

from assay.rivals.build import build
from assay.rivals.program import NAMES, listed, program

__all__ = ["NAMES", "build", "listed", "program"]
