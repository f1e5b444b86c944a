"""`assay engine`: what was done and shown."""

from __future__ import annotations

import sys
from typing import Any

from rich.console import Console

from assay.binary import Binary
from assay.cli import output
from assay.cli.engine.flags import Flags
from assay.study import work
from assay.study.work.engine import job
from assay.study.work.run import exit_code

Json = dict[str, Any]


def run(workload: Json, wanted: Flags) -> int:
    """Runs the engine and shows what was seen; returns the exit code."""
    record = work.run_work(Binary.find(), ["engine"], job(workload, wanted))[0]
    if wanted.out is not None:
        output.tell(f"the record is {work.save(wanted.out, record)}")
    if wanted.json:
        output.emit(_said(record))
    else:
        with output.to_reader():
            width = None if sys.stdout.isatty() else 160
            work.show(record, Console(file=sys.stdout, highlight=False, width=width))
    return exit_code([record])


def _said(record: Json) -> Json:
    """What is asked for most often stands first."""
    rate = record["figures"]["transactions_per_s"]
    first = {"transactions_per_s": rate["value"], "provenance": rate["provenance"], "band": rate.get("band")}
    settings = record["subject"]["settings"]
    bound = {"bound_by": settings["bound_by"]} if "bound_by" in settings else {}
    judged = {"verdict": record["verdict"]["status"], "durability": record["durability"]}
    return first | bound | judged | {"record": record}
