"""What ends a command of a fleet."""

from __future__ import annotations

from assay.error import BAD_JOB, AssayError


class FleetError(AssayError):
    """A fleet that cannot be reached, is not allowed to be, or does not agree."""

    def __init__(self, message: str, hint: str, code: int = BAD_JOB) -> None:
        super().__init__(message, hint=hint, code=code)
