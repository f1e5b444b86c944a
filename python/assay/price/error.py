"""What is wrong with a price, a quote, a workload."""

from __future__ import annotations

from assay.error import BAD_JOB, AssayError


class PriceError(AssayError):
    """Something that cannot be priced as asked; the hint says what to give."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message, hint=hint, code=BAD_JOB)
