"""The same cell by fio and by Assay, in turn, on the same prepared files; and whether the two agree.

The rule is that of `assay compare`: adjacent pairs, a rank test and a bootstrap interval. Agreement has to be shown, as
a difference has to be; overlap of two intervals shows neither.
"""

import copy
import json
import math
import os
import statistics
import tempfile
from collections.abc import Mapping
from typing import Any

import numpy as np

from assay.bench import pairs, process
from assay.bench.prepared import data_folder, prepared
from assay.compare import judgement
from assay.error import BAD_JOB, DONE, MISSED, UNDECIDED, AssayError
from assay.fio.exports import export_cell
from assay.untyped import Json

Figures = dict[str, dict[str, float]]

METRICS = {"ops_per_s": "ops/s", "mean_ns": "ns"}


def crosscheck(job: Mapping[str, Any], repeats: int = 12) -> Json:
    """Runs a cell's job by both and compares the throughput and the mean service time of each class."""
    own = _own(job)
    with prepared(own):
        folders = {dataset["name"]: str(data_folder(own, dataset)) for dataset in own["datasets"]}
        exported = export_cell(own, folders)
        results = list(pairs.in_turn(repeats, lambda: by_assay(own), lambda: by_fio(exported.text)))
    return judged([ours for ours, _ in results], [theirs for _, theirs in results]) | {
        "bench": "crosscheck",
        "cell": own["name"],
        "repeats": repeats,
        "jobfile": exported.text,
        "notes": exported.notes,
        "fio_version": process.fio_version(),
    }


def _own(job: Mapping[str, Any]) -> Json:
    """A copy that prepares its own data. Only files can be shared by both."""
    own: Json = copy.deepcopy(dict(job))
    for target in own["targets"]:
        if target["kind"] != "folder":
            said = f"the target `{target['id']}` is a {target['kind']}"
            raise AssayError(
                f"{said}; only folders can be cross-checked", hint="choose a cell on a folder", code=BAD_JOB
            )
    for dataset in own["datasets"]:
        if dataset.get("layout", "written") != "written":
            said = f"the data set `{dataset['name']}` has the layout {dataset['layout']}"
            raise AssayError(f"{said}; each run would change it", hint="choose a cell on written data", code=BAD_JOB)
    own["window"] = {**own["window"], "steady_after_s": 0}
    return own


def by_assay(job: Json) -> Figures:
    """Figures per class of one run."""
    record, _ = process.assayer(job)
    return {
        entry["name"]: {"ops_per_s": entry["ops_rate"]["value"], "mean_ns": entry["service"]["mean_ns"]}
        for entry in record["classes"]
    }


def by_fio(jobfile: str) -> Figures:
    """Figures per class of one run of a job file."""
    with tempfile.NamedTemporaryFile("w", suffix=".fio") as file:
        file.write(jobfile)
        file.flush()
        environment = {**os.environ, "PMEM_IS_PMEM_FORCE": "1"}
        done = process.run([process.fio_program(), "--output-format=json", file.name], environment=environment)
    return {job["jobname"]: fio_figures(job) for job in process.report(done.text)["jobs"]}


def fio_figures(job: Json) -> dict[str, float]:
    """Throughput, and mean time per operation. fio counts syncs apart; Assay counts a write until it is durable."""
    counts = {way: float(job[way]["total_ios"]) for way in ("read", "write")}
    operations = sum(counts.values())
    if not operations:
        raise AssayError(f"fio's job `{job['jobname']}` did nothing", hint="give the window more time")
    busy_ns = sum(counts[way] * job[way]["lat_ns"]["mean"] for way in counts)
    # The number of syncs stands with their latency; `total_ios` beside it stays 0.
    sync = job.get("sync", {}).get("lat_ns", {})
    busy_ns += float(sync.get("N", 0)) * sync.get("mean", 0.0)
    return {"ops_per_s": sum(job[way]["iops"] for way in counts), "mean_ns": busy_ns / operations}


def judged(ours: list[Figures], theirs: list[Figures]) -> Json:
    """Per class and figure: both medians, the ratio over pairs, and what is shown: equivalent, different or neither."""
    keys = [(name, metric) for name in ours[0] for metric in METRICS]
    sides = [([run[name][metric] for run in ours], [run[name][metric] for run in theirs]) for name, metric in keys]
    rules = judgement.Rules()
    logs = [np.log(np.asarray(one) / np.asarray(other)) for one, other in sides]
    family = [judgement.weigh(values, rules, comparisons=len(keys)) for values in logs]
    classes: Json = {}
    for (name, metric), side, found in zip(keys, sides, judgement.judge(family, rules), strict=True):
        classes.setdefault(name, {})[metric] = _figure(METRICS[metric], *side, found)
    outcomes = {figure["outcome"] for figures in classes.values() for figure in figures.values()}
    overall = "different" if "different" in outcomes else outcomes.pop() if len(outcomes) == 1 else "undecided"
    return {"outcome": overall, "agree": overall == "equivalent", "margin": rules.margin, "classes": classes}


def _figure(unit: str, ours: list[float], theirs: list[float], found: judgement.Judgement) -> Json:
    interval = found.evidence.interval
    return {
        "unit": unit,
        "assay": statistics.median(ours),
        "fio": statistics.median(theirs),
        "ratio": found.evidence.ratio,
        "ratio_low": math.exp(interval.low),
        "ratio_high": math.exp(interval.high),
        "outcome": found.outcome,
        "pairs_needed": found.evidence.needed,
    }


def run(job: Mapping[str, Any], repeats: int, as_json: bool) -> int:
    """Cross-checks and prints.

    Returns the exit code: 0 where agreement is shown, 6 where a difference is, 5 where neither is.
    """
    if repeats < 2:
        raise AssayError("an interval needs two repeats", hint="give --repeats 12", code=BAD_JOB)
    result = crosscheck(job, repeats)
    if as_json:
        print(json.dumps(result, indent=2))
    else:
        from assay.bench.show import show

        show("crosscheck", result, as_json=False)
    return {"equivalent": DONE, "different": MISSED}.get(result["outcome"], UNDECIDED)
