"""What ends a command of a fleet."""

from __future__ import annotations

from assay.error import BAD_JOB, NOT_POSSIBLE, AssayError


class FleetError(AssayError):
    """A fleet that cannot be reached, is not allowed to be, or does not agree."""

    def __init__(self, message: str, hint: str, code: int = BAD_JOB) -> None:
        super().__init__(message, hint=hint, code=code)


def packages_missing(error: ImportError) -> FleetError:
    """The packages of fleets are an extra: who measures one machine needs none of them."""
    hint = "install them: pip install 'assay[fleet]'; a checkout has them"
    return FleetError(f"a fleet needs the package {error.name}, which is not installed", hint, NOT_POSSIBLE)
