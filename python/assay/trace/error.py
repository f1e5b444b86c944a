"""What ends a recording."""

from assay.error import AssayError


class TraceError(AssayError):
    """There is nothing to record, or no means to do it."""
