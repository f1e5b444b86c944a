"""Where a host of a fleet keeps what is this user's alone."""

from pathlib import Path

from assay import home
from assay.error import FAILED
from assay.fleet.error import FleetError


def folder(name: str = "") -> Path:
    """A folder below the fleet's in the user's state, or that one itself, made where it is not there.

    Raises:
        FleetError: where there is no home.
    """
    state = home.state()
    if state is None:
        raise FleetError(
            f"there is no home for what a fleet keeps ({name or 'notes'})", "set HOME or XDG_STATE_HOME there", FAILED
        )
    found = state / "fleet" / name
    found.mkdir(mode=0o700, parents=True, exist_ok=True)
    return found
