"""Stands in for the measuring program: answers as agreed, with plausible records, and misbehaves on request.

FAKE_BEHAVIOUR is a JSON object from a part of a cell's name to what it does: refuse, fail, bad-job, crash, kill, hang,
slow, silent, corrupt, refuse-plan, errors. FAKE_LOG is a file that gets one line per run.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from assay.untyped import Json

MARKER = ".assay-scratch.json"
STOPPED: list[int] = []
BEGUN = datetime.now(UTC)


def main() -> int:
    command, *words = sys.argv[1:]
    return {
        "run": run,
        "plan": plan,
        "probe": probe,
        "scratch": scratch,
        "polled": polled,
        "verify": verify,
        "schema": schema,
    }[command](words)


def say(document: Any) -> None:
    print(json.dumps(document), flush=True)


def given(words: list[str]) -> Json:
    text = sys.stdin.read() if words[0] == "-" else Path(words[0]).read_text()
    job: Json = json.loads(text)
    return job


def behaviour(job: Json) -> str:
    wanted: dict[str, str] = json.loads(os.environ.get("FAKE_BEHAVIOUR", "{}"))
    return next((what for part, what in wanted.items() if part in job["name"]), "")


def plan(words: list[str]) -> int:
    job = given(words)
    if behaviour(job) == "bad-plan":
        print("error: classes[0].depth: 0; give at least 1\n\nhint: mend the job", file=sys.stderr)
        return 2
    refused = behaviour(job) == "refuse-plan"
    refusals = [{"reason": "It is not possible here.", "fix": "Go elsewhere."}] if refused else []
    say(
        {
            "bytes_to_prepare": 0,
            "bytes_written_at_most": 1000,
            "bytes_free_needed": 0,
            "seconds": 1,
            "refusals": refusals,
        }
    )
    return 0


def probe(words: list[str]) -> int:
    on = words[1] if words else None
    say([{"on": on, "path": "pread", "variant": "direct", "available": True, "reason": "", "fix": ""}])
    return 0


def schema(words: list[str]) -> int:
    say({"title": words[0], "type": "object"})
    return 0


def scratch(words: list[str]) -> int:
    action, *folders = words
    named = ""
    if folders[0] == "--named":
        _, named, *folders = folders
    found = []
    for folder in folders:
        for marker in Path(folder).glob(f"{named}*/{MARKER}"):
            alive = Path(f"/proc/{json.loads(marker.read_text())['pid']}").exists()
            found.append({"path": str(marker.parent), "owner": None, "alive": alive, "bytes": 5})
            if action == "clean" and not alive:
                shutil.rmtree(marker.parent)
    say(found)
    return 0


def polled(words: list[str]) -> int:
    drives = json.loads(os.environ.get("FAKE_DRIVES", "[]"))
    say(drives)
    return int(any(not drive["alive"] and not drive["returned"] for drive in drives))


def verify(words: list[str]) -> int:
    job = given(words)
    acknowledged = len(Path(job["checks"]["acknowledgements"]).read_text().splitlines())
    lost = int(os.environ.get("FAKE_LOST", "0"))
    found = {
        "acknowledged": acknowledged,
        "found": acknowledged - lost,
        "torn": 0,
        "lost": lost,
        "corrupt": 0,
        "examples": [],
    }
    say(found)
    return 1 if lost else 0


def run(words: list[str]) -> int:
    signal.signal(signal.SIGINT, stop)
    signal.signal(signal.SIGTERM, stop)
    job = given(words)
    log_run(job)
    make_scratch(job)
    what = behaviour(job)
    if what in ("refuse", "fail", "bad-job"):
        code = {"refuse": 4, "fail": 1, "bad-job": 2}[what]
        say({"event": "refused", "reason": "It cannot be done.", "fix": "Do something else.", "exit_code": code})
        return code
    say({"event": "started", "version": 1, "name": job["name"], "pid": os.getpid(), "seconds": 1.0})
    say({"event": "progress", "stage": "prepare", "done": 0.5, "detail": "data"})
    return misbehave(job, what) if what in MISBEHAVIOURS else measure(job, what)


def stop(_number: int, _frame: object) -> None:
    if STOPPED:
        os._exit(3)
    STOPPED.append(_number)


def log_run(job: Json) -> None:
    if path := os.environ.get("FAKE_LOG"):
        with Path(path).open("a") as log:
            log.write(f"{job.get('labels', {}).get('cell', job['name'])}\n")


def make_scratch(job: Json) -> None:
    for target in job["targets"]:
        for member in target["members"] if target["kind"] == "folder" else []:
            folder = Path(member) / job["scratch"]
            folder.mkdir(exist_ok=True)
            (folder / MARKER).write_text(json.dumps({"pid": os.getpid()}))


MISBEHAVIOURS = ("crash", "kill", "silent", "cut")


def misbehave(job: Json, what: str) -> int:
    if what == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if what == "cut":
        sys.stdout.write('{"event":"finished","record":{"version":1,')
        sys.stdout.flush()
        os._exit(1)
    if what == "crash":
        print("error: something broke\n\nhint: mend it", file=sys.stderr)
    return 1 if what == "crash" else 0


def measure(job: Json, what: str) -> int:
    acknowledge(job)
    length = {"slow": 30.0, "hang": 1e6, "verify": 1e6}.get(what, 0.0)
    length = length or (1e6 if job["checks"].get("acknowledgements") else 0.0)
    begun, number = time.monotonic(), 0
    while not number or (time.monotonic() - begun < length and not (STOPPED and what != "hang")):
        number += 1
        sample = {"operations": 10, "bytes": 40960, "mean_ns": 1e5, "max_ns": 200000}
        samples = [{"class": entry["name"], **sample} for entry in job["classes"]]
        say({"event": "interval", "at_s": round(number * 0.1, 3), "classes": samples})
        time.sleep(0.02 if length else 0)
    say({"event": "finished", "record": record(job, what)})
    return 3 if STOPPED else 1 if what == "errors" else 0


def acknowledge(job: Json) -> None:
    if path := job["checks"].get("acknowledgements"):
        Path(path).write_text("0\n1\n2\n")


def record(job: Json, what: str) -> Json:
    from hdrh.histogram import HdrHistogram

    pick = random.Random(job["seed"])  # noqa: S311  Figures that can be repeated.
    factor = pick.uniform(0.4, 2.0) if what == "noisy" else 1.0
    histogram = HdrHistogram(1, 3_600_000_000_000, 3)
    values = [pick.randrange(50_000, 150_000) for _ in range(200)]
    for value in values:
        histogram.record_value(value)
    distribution = {
        "provenance": "measured",
        "count": len(values),
        "min_ns": min(values),
        "mean_ns": sum(values) / len(values),
        "stdev_ns": 1.0,
        **{f"p{name}_ns": histogram.get_value_at_percentile(share) for name, share in PERCENTILES.items()},
        "max_ns": max(values),
        "above_range": 0,
        "supported_percentile": 50.0,
        "histogram": histogram.encode().decode(),
    }
    reasons = []
    if STOPPED:
        reasons.append(reason("interrupted", "suspect"))
    if what == "corrupt":
        reasons.append(reason("data-corrupt", "invalid"))
    status = {"invalid": "invalid", "suspect": "suspect"}.get(reasons[0]["severity"] if reasons else "", "valid")
    return {
        "version": 1,
        "run": {
            "id": f"run-{os.getpid()}",
            "started_at": BEGUN.isoformat(timespec="microseconds").replace("+00:00", "Z"),
            "assayer_version": "0.0.0",
            "wall_s": (datetime.now(UTC) - BEGUN).total_seconds(),
            "prepare_s": 0.1,
        },
        "job": job,
        "environment": environment(job),
        "window": {
            "warmup_s": 0.0,
            "measured_s": 1.0,
            "stop": "interrupted" if STOPPED else "limit",
            "edge_skew_ns": 100,
            "clock_drift": 1e-6,
        },
        "classes": [result(entry, distribution, factor) for entry in job["classes"]],
        "process_cpu": cpu(),
        "devices": [device()],
        "not_measured": [{"what": "TLB misses", "reason": "There is no counter.", "fix": "Use a machine with one."}],
        "verdict": {"status": status, "reasons": reasons},
    }


PERCENTILES = {"50": 50.0, "90": 90.0, "99": 99.0, "999": 99.9, "9999": 99.99}


def reason(code: str, severity: str) -> Json:
    return {"code": code, "severity": severity, "evidence": "It was seen.", "fix": "Mend it.", "numbers": {"n": 1.0}}


def figure(value: float, unit: str, method: str = "loop") -> Json:
    return {"value": value, "unit": unit, "provenance": "measured", "method": method}


def cpu() -> Json:
    return {
        **{name: figure(0.5, "s", "rusage") for name in ("user_s", "kernel_s", "helper_s", "wait_s")},
        "cycles_per_op": figure(9000.0, "cycles/op", "rusage-times-tsc"),
        "cycles_per_byte": figure(2.2, "cycles/byte", "rusage-times-tsc"),
        **{
            name: figure(1.0, "1/op")
            for name in ("context_switches_per_op", "system_calls_per_op", "page_faults_per_op")
        },
    }


def device() -> Json:
    counts = {name: figure(10.0, "count") for name in ("reads", "writes", "flushes")}
    return {
        "device": "vda",
        "read_bytes": figure(1000.0, "bytes"),
        "written_bytes": figure(1000.0, "bytes"),
        **counts,
        "mean_in_flight": figure(1.0, "count"),
        "utilisation": figure(0.5, "ratio"),
    }


def environment(job: Json) -> Json:
    members = [(target["id"], member) for target in job["targets"] for member in target["members"]]
    system = {
        "kind": "ext4",
        "mount_point": "/",
        "options": "rw",
        "block_bytes": 4096,
        "total_bytes": 1,
        "free_bytes": 1,
    }
    return {
        "host": "here",
        "kernel": "6.0",
        "kernel_build": "",
        "distribution": "",
        "architecture": "x86_64",
        "virtualisation": "none",
        "cpu": {"model": "CPU", "usable": 2, "logical": 2},
        "memory": {"total_bytes": 2**30},
        "load_average": 0.0,
        "targets": [{"target": name, "path": path, "file_system": system} for name, path in members],
    }


def result(entry: Json, distribution: Json, factor: float) -> Json:
    rate = 1000.0 * factor
    found: Json = {
        "name": entry["name"],
        "operations": 1000,
        "reads": 1000,
        "writes": 0,
        "bytes": 4_096_000,
        "bandwidth": figure(rate * 4096, "bytes/s"),
        "ops_rate": figure(rate, "ops/s"),
        "asked_depth": entry["threads"] * entry["depth"],
        "achieved_depth": figure(1.0, "count"),
        "service": distribution,
        "cpu": cpu(),
        "baseline": {
            "null_ops_per_s": figure(2e7, "ops/s"),
            "null_cycles_per_op": figure(100.0, "cycles/op"),
            "generator_share": figure(0.01, "ratio"),
        },
        "intervals": [
            {"at_s": 0.1 * n, "length_s": 0.1, "operations": 100, "bytes": 409600, **LATENCIES} for n in range(1, 11)
        ],
    }
    if entry.get("objective"):
        found["objective"] = {"objective": entry["objective"], "seen": 1.0, "met": True}
    return found


LATENCIES = {"mean_ns": 1e5, "p50_ns": 100_000, "p99_ns": 150_000, "max_ns": 160_000}


if __name__ == "__main__":
    sys.exit(main())
