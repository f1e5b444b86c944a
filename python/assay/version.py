"""The version of Assay, the same for the program and the package."""

__version__ = "0.1.0"
