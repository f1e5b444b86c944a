"""What a run does to a drive is said before it begins, and where it is much, it is asked for."""

from __future__ import annotations

from assay.cli import output
from assay.cli.confirm import confirm
from assay.study.consent import MUCH
from assay.study.request import Prepared
from assay.units.parse import format_bytes, format_seconds


def confirm_plan(prepared: Prepared, yes: bool) -> None:
    """Says what was made smaller, and asks where more than 50 GiB may be written.

    Raises:
        AssayError: where nobody can be asked, or the answer is no.
    """
    for request in prepared.requests:
        for key, change in request.changes.items():
            if request.study.fit is not None and key in request.study.fit.parameters:
                output.tell(f"{request.name}: {key} = {change.used} instead of {change.declared}")
    plan = prepared.plan
    if plan.bytes_written <= MUCH:
        return
    said = f"this run writes up to {format_bytes(plan.bytes_written)} in about {format_seconds(plan.seconds)}"
    hint = "give --yes if that is meant; --dry-run shows the plan, --profile quick or --set makes it smaller"
    confirm(said, yes=yes, hint=hint, declined="--dry-run shows the plan")
