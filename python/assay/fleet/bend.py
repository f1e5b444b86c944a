"""Whether a worker bends what is measured beside it: the same load with the worker running and with it stopped.

On a host: a load on nothing that takes every CPU, in turns with the worker as it is in a run (its Python reads events,
its connection beats) and with the whole process of the worker stopped by the kernel meanwhile.
"""

from __future__ import annotations

import json
import math
import os
import random
import shlex
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import cast

import numpy as np

from assay.binary import Binary, die_with
from assay.error import FAILED
from assay.fleet import work
from assay.fleet.error import FleetError
from assay.record import Record
from assay.stats import bootstrap
from assay.untyped import Json

PAIRS = 8
_AT_MOST_S = 20
_LOAD = """version = 1
name = "fleet-bend"
title = "A load on nothing"
question = "Does a worker bend what is measured beside it?"
source = "A check of Assay's own"
targets = ["null"]

[datasets.nothing]
bytes = "1GiB"

[classes.reads]
dataset = "nothing"
path = "null"
operation = "read"
pattern = "uniform"
size = "4KiB"
threads = {threads}

[window]
warmup = "50ms"
measure = "300ms"
"""
# The worker is stopped, and goes on whatever becomes of the program.
_STOPPED = (
    "kill -STOP {worker}; timeout -s KILL {most} {program} run - <{job} >{events} 2>/dev/null; kill -CONT {worker}"
)


def on_host(asked: Json) -> Json:
    """Operations a second with the worker and without it, a pair each; which of both comes first is drawn by lot."""
    lots = random.Random(int(asked["seed"]))  # noqa: S311  An order that can be repeated.
    job = _job(str(asked["run"]), str(asked["host"]))
    found: dict[str, list[float]] = {"with": [], "without": []}
    for _ in range(int(asked["pairs"])):
        for kind in lots.sample(("with", "without"), 2):
            found[kind].append(_rate(_beside_worker(job) if kind == "with" else _beside_nobody(job)))
    return dict(found)


def _job(run: str, host: str) -> Json:
    asked: Json = {"study": "fleet-bend", "text": _LOAD.format(threads=len(os.sched_getaffinity(0))), "settings": []}
    asked |= {"profile": None, "repeats": 1, "seed": 1, "run": run, "host": host, "on": ["null"], "command": []}
    (cell,) = work.plan_cells(asked)["plan"]["cells"]
    job: Json = cell["job"]
    return job


def _beside_worker(job: Json) -> Record | None:
    """The record of the same job as this process does it."""
    return cast("Record | None", work.measured(job).record)


def _beside_nobody(job: Json) -> Record | None:
    """The record of the bare program, while this process is stopped."""
    with tempfile.TemporaryDirectory(prefix="assay-fleet-") as place:
        files = {name: Path(place) / name for name in ("job", "events")}
        files["job"].write_text(json.dumps(job), encoding="utf-8")
        words = {name: shlex.quote(str(path)) for name, path in files.items()}
        words |= {"program": shlex.quote(str(Binary.find().path)), "worker": str(os.getpid()), "most": str(_AT_MOST_S)}
        subprocess.run(
            ["sh", "-c", _STOPPED.format(**words)],
            stdin=subprocess.DEVNULL,
            check=False,
            start_new_session=True,
            preexec_fn=die_with(os.getpid()),
        )
        events = [json.loads(line) for line in files["events"].read_text(encoding="utf-8").splitlines()]
    return next((one["record"] for one in reversed(events) if one["event"] == "finished"), None)


def _rate(record: Record | None) -> float:
    if record is None:
        raise FleetError("a load on nothing did not end", "try `assay run` with --on null on that host", FAILED)
    return float(record["classes"][0]["ops_rate"]["value"])


def judged(rates: Mapping[str, Json]) -> dict[str, Json]:
    """By host: how much more or less was done with the worker, as a share, with its 95 % interval and the pairs."""
    found = {}
    for host, one in rates.items():
        ratios = np.log(np.asarray(one["with"]) / np.asarray(one["without"]))
        bounds = bootstrap.median_interval(ratios)
        shares = (float(np.median(ratios)), bounds.low, bounds.high)
        share, low, high = (round(math.expm1(value), 6) for value in shares)
        found[host] = {"share": share, "low": low, "high": high, "pairs": len(ratios)}
    return found


def sentence(found: Mapping[str, Json]) -> str:
    """What is said once a run; empty where nothing was measured."""
    if not found:
        return ""
    worst = max(found, key=lambda host: abs(float(found[host]["share"])))
    one = found[worst]
    where = worst if len(found) == 1 else f"{worst}, which is furthest off of {len(found)}"
    return (
        f"a load on every CPU did {one['share']:+.2%} beside its worker against the same with the worker stopped, on "
        f"{where} (95 %: {one['low']:+.2%} to {one['high']:+.2%}, {one['pairs']} pairs)"
    )


def one_a_machine(looks: Mapping[str, Json]) -> Sequence[str]:
    """A host of each machine: loads on every CPU beside each other would say nothing."""
    found: dict[str, str] = {}
    for host, look in looks.items():
        found.setdefault(str(look["boot"]), host)
    return list(found.values())
