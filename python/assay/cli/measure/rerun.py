"""`assay run RECORD.json`: exactly one cell again, from the job in its record."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from assay.binary import Binary
from assay.cli import output
from assay.error import BAD_JOB, AssayError
from assay.study import outcome
from assay.study.progress import told
from assay.untyped import Json


def is_record(name: str) -> bool:
    """Whether what was typed in place of a study is a document of one cell."""
    return name.endswith(".json") and Path(name).is_file()


def rerun(path: Path, as_json: bool) -> int:
    """Runs the cell and prints its figures; with `--json` the new record. Leaves no folder; returns the exit code."""
    job = _job(path)
    binary = Binary.find()
    run = binary.start(job, sys.stderr)
    last: Json | None = None
    for event in run.events():
        last = event if event["event"] in ("finished", "refused") else last
    found = outcome.read(last, run.wait(), False, "the lines above say why")
    if found.record is None:
        raise AssayError(found.reason, hint=found.fix, code=found.exit_code)
    if as_json:
        output.emit(found.record)
    else:
        output.say(f"{job['name']}: {told(found)}")
    return found.exit_code


def _job(path: Path) -> Json:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        job: Json = document.get("job", document)
        job["classes"], job["name"]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        hint = "name a record of a result folder (records/CELL.json), or a job"
        raise AssayError(f"{path} is no record of a cell ({error})", hint=hint, code=BAD_JOB) from error
    return job
