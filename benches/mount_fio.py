"""fio on a mounted twin beside `assay run` on the same twin, and the mount's rate beside that of a plain pass-through.

.venv/bin/python benches/mount_fio.py FOLDER [NAME ...]     FOLDER takes the files (memory is best), 1 GiB of them

Prints a table; points of more than 40,000 requests a second are left out. Takes five seconds a point, up to a minute
where a drive is slow: give few names.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.mount import play
from assay.mount.drive import drive

Json = dict[str, Any]

DEPTHS = (1, 4, 16, 32)
MOST_PER_S = 40_000
SECONDS = 3
# A 99th percentile of fewer requests is one of a handful; the slowest points take so many seconds more.
REQUESTS, MOST_SECONDS = 10_000, 60
_JOB = "\n".join(
    [
        "[global]",
        *("ioengine=libaio", "direct=1", "bs=4k", "size=1g", "norandommap=1", "time_based=1", "runtime={seconds}"),
        *("[r]", "rw={rw}", "iodepth={depth}", ""),
    ]
)
# Without this the table shows how long fio waits for a CPU where others use them.
_FIRST = ["chrt", "--fifo", "1"]


@dataclass(frozen=True)
class Seen:
    """Requests a second, and ns."""

    rate: float
    p50: float
    p99: float


def seconds_for(rate: float) -> int:
    """So long that the 99th percentile is one of enough requests."""
    return math.ceil(min(max(SECONDS, REQUESTS / rate), MOST_SECONDS))


def simulated(name: str, rw: str, depth: int, room: Path, seconds: int = SECONDS) -> Seen:
    """What `assay run` says."""
    job, study, out = room / "job.fio", room / "job.toml", room / f"{name}-{rw}-{depth}-{seconds}"
    job.write_text(_JOB.format(seconds=seconds, rw=rw, depth=depth))
    assay = [sys.executable, "-m", "assay"]
    subprocess.run([*assay, "fio", "import", str(job), "--out", str(study)], check=True, capture_output=True)
    on = ["--on", f"twin:{name}", "--out", str(out), "--no-report"]
    subprocess.run([*assay, "run", str(study), *on], check=True, capture_output=True)
    record = json.loads(next((out / "records").glob("*.json")).read_text())["classes"][0]
    study.unlink()
    return Seen(record["ops_rate"]["value"], record["service"]["p50_ns"], record["service"]["p99_ns"])


def run_fio(file: Path, rw: str, depth: int, seconds: int = SECONDS) -> Seen:
    """What fio says."""
    words = [f"--filename={file}", "--name=r", "--ioengine=libaio", "--direct=1", "--bs=4k", "--size=1g", f"--rw={rw}"]
    words += ["--norandommap", "--time_based", f"--runtime={seconds}", f"--iodepth={depth}", "--output-format=json"]
    done = subprocess.run([*_FIRST, "fio", *words], check=True, capture_output=True, text=True)
    seen = json.loads(done.stdout)["jobs"][0]["write" if "write" in rw else "read"]
    shares = seen["clat_ns"]["percentile"]
    slat = seen["slat_ns"]["mean"]
    return Seen(seen["iops"], shares["50.000000"] + slat, shares["99.000000"] + slat)


def mounted(name: str, over: Path, at: Path, played: Json | str) -> Json:
    """A job."""
    part = {"at": str(at), "over": str(over), "name": name, "drive": played, "seed": 1}
    return part | {"sync_below": False}


def compare(name: str, over: Path, at: Path, room: Path) -> None:
    """A line for each depth."""
    for rw in ("randread", "randwrite"):
        for depth in DEPTHS:
            model = simulated(name, rw, depth, room)
            if model.rate > MOST_PER_S:
                continue
            if (seconds := seconds_for(model.rate)) > SECONDS:
                model = simulated(name, rw, depth, room, seconds)
            with play.playing(mounted(name, over, at, drive(f"twin:{name}"))) as one:
                seen = run_fio(at / "file", rw, depth, seconds)
            off = [seen.rate / model.rate - 1, seen.p50 / model.p50 - 1, seen.p99 / model.p99 - 1]
            words = "  ".join(f"{value:+7.1%}" for value in off)
            point = f"{name:12} {rw:9} {depth:3} floor {one.state['floor_ns'] / 1e3:.1f}"
            print(
                f"{point} {model.rate:9.0f}/s {model.p50 / 1e3:9.1f} us  {words}  {one.state['sentence']}", flush=True
            )


def pass_through(over: Path, at: Path) -> None:
    """What holding answers costs beside a pass-through; with so many in flight 25 us of a drive cost no rate."""
    for depth in (16, 32):
        with play.playing(mounted("pass", over, at, "pass")):
            plain = run_fio(at / "file", "randread", depth)
        with play.playing(mounted("quick", over, at, drive("fixed:25,25,25"))):
            held = run_fio(at / "file", "randread", depth)
        print(f"pass         randread  {depth:3} {plain.rate:9.0f}/s, held {held.rate:9.0f}/s", flush=True)


def main() -> None:
    """See above."""
    base, names = Path(sys.argv[1]), sys.argv[2:]
    with tempfile.TemporaryDirectory(dir=base) as files, tempfile.TemporaryDirectory() as room:
        over, at = Path(files), Path(room) / "mnt"
        at.mkdir()
        with (over / "file").open("wb") as file:
            for _ in range(1024):
                file.write(bytes(1 << 20))
        for name in names:
            if name == "pass":
                pass_through(over, at)
            else:
                compare(name, over, at, Path(room))


if __name__ == "__main__":
    main()
