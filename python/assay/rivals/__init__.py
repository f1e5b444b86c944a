"""Other people's engines beside Assay's: which there are, how their program is built, and where it is."""

from assay.rivals import published
from assay.rivals.build import build
from assay.rivals.program import NAMES, PUBLISHED, built, listed, program

__all__ = ["NAMES", "PUBLISHED", "build", "built", "listed", "program", "published"]
