"""`assay engine` is short for studies of the engine: its words as a study, and what `--json` says of records."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from assay.cli.engine.flags import Flags
from assay.cli.short import ShortStudy, carry_out, say_each
from assay.record import WorkRecord
from assay.untyped import Json


def run(workload: str, asks: Json, flags: Flags) -> int:
    """Runs the engine under a workload, which `asks` for this, and shows what was seen; returns the exit code."""
    asked = ShortStudy(
        name=f"engine-{workload}",
        command=f"engine {workload}",
        question="How much does the engine do on each target?",
        kind=f"engine-{workload}",
        say=say_each,
        parts=("log", "pmem"),
        targets=("folder", "block-device"),
        document=_said,
    )
    return carry_out(asked, asks | vars(flags))


def _said(records: Sequence[WorkRecord], _: Sequence[Path]) -> Json:
    """What is asked for most often of the last run stands first."""
    record = records[-1]
    rate = record["figures"]["transactions_per_s"]
    first = {"transactions_per_s": rate["value"], "provenance": rate["provenance"], "band": rate.get("band")}
    settings = record["subject"]["settings"]
    bound = {"bound_by": settings["bound_by"]} if "bound_by" in settings else {}
    judged = {"verdict": record["verdict"]["status"], "durability": record["durability"]}
    return first | bound | judged | {"record": record, "records": list(records)}
