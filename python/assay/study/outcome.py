"""How a cell ended, read from the events and the exit code of its run."""

from __future__ import annotations

import signal
from dataclasses import dataclass

from assay.error import BAD_JOB, DONE, FAILED, INTERRUPTED, NOT_POSSIBLE, AssayError
from assay.record import Record, WorkRecord
from assay.study.work.view import first_failed
from assay.untyped import Json


@dataclass(frozen=True)
class Outcome:
    """State for the journal, the record where there is one, and why it is not there."""

    state: str
    record: Record | WorkRecord | None = None
    reason: str = ""
    fix: str = ""
    exit_code: int = DONE


def read(last: Json | None, returned: int, stopped: bool, complaint: str) -> Outcome:
    """From the last `finished`, `worked` or `refused` event, the exit code, and whether the user stopped the run.

    `complaint` is the last line that the program wrote to its log.
    """
    if last is not None and last["event"] == "worked" and returned in (DONE, FAILED):
        return of_work(last["record"], returned)
    if last is not None and last["event"] in ("finished", "worked"):
        return _finished(last["record"], returned, complaint)
    if last is not None and last["event"] == "refused":
        return _refused(last)
    if stopped:
        return STOPPED
    if returned < 0:
        return _killed(-returned)
    reason = (
        f"The measuring program ended with exit code {returned} and left no record: {complaint or 'it said nothing'}"
    )
    return Outcome("failed", reason=reason, fix="assayer.log in the result folder has all it said.", exit_code=FAILED)


def of_work(record: WorkRecord, returned: int = DONE) -> Outcome:
    """Of work: its record says whether it was stopped, and whether its checks passed."""
    if any(reason["code"] == "interrupted" for reason in record["verdict"]["reasons"]):
        return _finished(record, INTERRUPTED, "")
    failed = first_failed(record)
    return _finished(record, FAILED if failed else returned, failed)


def of_error(error: AssayError) -> Outcome:
    """Of work that was driven from Python and could not be done."""
    return _refused({"exit_code": error.code, "reason": error.message, "fix": error.hint})


STOPPED = Outcome("interrupted", reason="It was stopped by the user.", fix="Continue with --resume.", exit_code=3)


def _finished(record: Record | WorkRecord, returned: int, complaint: str) -> Outcome:
    if returned == DONE:
        return Outcome("finished", record)
    if returned == INTERRUPTED:
        reason = "It was interrupted; what was measured until then is kept."
        return Outcome("interrupted", record, reason, "Continue with --resume.", INTERRUPTED)
    reason = f"It ended with exit code {returned}: {complaint or 'operations failed'}"
    return Outcome("failed", record, reason, "The verdict of its record says more.", FAILED)


def _refused(event: Json) -> Outcome:
    code = int(event["exit_code"])
    state = {NOT_POSSIBLE: "refused", INTERRUPTED: "interrupted"}.get(code, "failed")
    return Outcome(state, None, str(event["reason"]), str(event["fix"]), code if code != BAD_JOB else BAD_JOB)


def _killed(number: int) -> Outcome:
    try:
        name = signal.Signals(number).name
    except ValueError:
        name = f"signal {number}"
    reason = f"The measuring program was ended by {name} from outside."
    fix = "Look whether memory ran out (dmesg), then continue with --resume."
    return Outcome("failed", None, reason, fix, FAILED)
