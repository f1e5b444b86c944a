"""Assay measures the storage under a folder the way a database uses it."""

__version__ = "0.1.0"
