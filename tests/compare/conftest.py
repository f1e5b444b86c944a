"""The command line against the stand-in for the measuring program."""

from study.conftest import Assay, assay, fake

__all__ = ["Assay", "assay", "fake"]
