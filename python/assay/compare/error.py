"""What ends a comparison."""

from __future__ import annotations

from assay.error import BAD_JOB, AssayError


class CompareError(AssayError):
    """Sides that cannot be compared, or a question that cannot be asked of them."""

    def __init__(self, message: str, hint: str, code: int = BAD_JOB) -> None:
        super().__init__(message, hint=hint, code=code)
