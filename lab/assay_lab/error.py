"""What ends a command of the lab."""

from __future__ import annotations

from assay.error import AssayError


class LabError(AssayError):
    """The lab cannot be assembled, started or used: what was seen, and what to do."""


class GuestError(LabError):
    """The guest died, hung, or a command in it failed."""


class GuestGoneError(GuestError):
    """The machine ended by itself."""
