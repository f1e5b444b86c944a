"""Work that the measuring program does: a job goes in, events come out, the last one has the record."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence

from assay.binary import Binary, Run, said
from assay.error import DONE, FAILED, INTERRUPTED, AssayError
from assay.record import WorkRecord
from assay.study.interrupts import Interrupts
from assay.untyped import Json

Listener = Callable[[Json], None]


class WorkError(AssayError):
    """The work could not be done, or left no record."""


def run_work(binary: Binary, command: Sequence[str], job: Json, listen: Listener | None = None) -> list[WorkRecord]:
    """Runs `assayer COMMAND... -` on a job and returns its records.

    `listen` gets every other event. One interrupt lets the work finish and keep what it has; a second ends it at once.
    Raises `WorkError` with the program's own words where there is no record.
    """
    with tempfile.TemporaryFile() as log, Interrupts() as interrupts:
        run = binary.start(job, log, [*command, "-"])
        interrupts.watch(run)
        try:
            records, refusal = _follow(run, listen)
            returned = run.wait()
        except BaseException:
            run.kill()
            run.wait()
            raise
        finally:
            interrupts.watch(None)
        log.seek(0)
        messages = log.read().decode(errors="replace")
    if refusal is not None:
        raise WorkError(str(refusal["reason"]), hint=str(refusal["fix"]), code=int(refusal["exit_code"]))
    if not records or returned not in (DONE, FAILED, INTERRUPTED):
        raise _silent(returned, messages, interrupts.count > 0)
    return records


def _follow(run: Run, listen: Listener | None) -> tuple[list[WorkRecord], Json | None]:
    records: list[WorkRecord] = []
    refusal = None
    for event in run.events():
        if event["event"] == "worked":
            records.append(event["record"])
        elif event["event"] == "refused":
            refusal = event
        elif listen is not None:
            listen(event)
    return records, refusal


def _silent(returned: int, messages: str, stopped: bool) -> WorkError:
    if stopped:
        return WorkError("it was stopped before there was a record", hint="run it again", code=INTERRUPTED)
    error, hint = said(messages)
    if returned < 0:
        message = f"the measuring program was ended by signal {-returned} from outside"
        return WorkError(message, hint="look whether memory ran out (dmesg), then run it again", code=FAILED)
    return WorkError(error or f"the measuring program ended with exit code {returned} and left no record", hint=hint)
