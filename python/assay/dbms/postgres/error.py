"""What PostgreSQL could not do."""

from assay.error import AssayError


class PostgresError(AssayError):
    """PostgreSQL is not there, does not start, or ended."""
