"""JSON objects that have no type of their own: parts of jobs, settings, answers. Records and their parts have types
(`assay.record`)."""

from typing import Any

Json = dict[str, Any]
"""An object of JSON, by the names of its members."""
