"""Assay: what a storage device, an I/O path and a dollar are worth to a database."""

__version__ = "0.1.0"
