"""`assay index run` is short for a study of an index: its words as a study, and what `--json` says of records."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from assay.cli.short import ShortStudy, carry_out, say_each
from assay.record import WorkRecord
from assay.rivals import NAMES
from assay.study.work.index import INDEXES, WORKLOADS, usual_place
from assay.untyped import Json

# What may have several values.
_COLUMNS = ("workload", "threads", "pool")


def run_one(given: Json) -> int:
    """Runs one workload on one index and shows its records; returns the exit code."""
    index = given["index"]
    several = {key: given[key] or [] for key in _COLUMNS}
    single = {key: values[0] for key, values in several.items() if len(values) == 1}
    asked = ShortStudy(
        name="-".join([index if index in INDEXES + NAMES else "index", *_known(single.get("workload"))]),
        command="index run",
        question="How many operations does the index do on each target?",
        kind="index",
        say=say_each,
        columns=[key for key, values in several.items() if len(values) > 1],
        targets=("folder", "device-dax"),
        document=_said,
    )
    return carry_out(asked, given | single | {"on": given["on"] or [str(usual_place(index))]})


def _known(workload: str | None) -> list[str]:
    return [workload] if workload in WORKLOADS else []


def _said(records: Sequence[WorkRecord], files: Sequence[Path]) -> Json:
    rate = float(records[-1]["figures"]["ops_per_s"]["value"])
    return {"ops_per_s": rate, "records": list(records), "files": [str(path) for path in files]}
