"""Ledgers that are killed: the measuring program commits, and notes outside what it acknowledged."""

from __future__ import annotations

import json
import signal
import struct
import subprocess
import time
from pathlib import Path
from typing import Any

import warm
from assay.untyped import Json


def job(keep: Path, duration_s: float, **more: Any) -> Json:
    """A job of `assayer engine`."""
    usual = {
        "version": 1,
        "name": "ledger",
        "target": str(keep.parent),
        "keep": str(keep),
        "pool_bytes": 4 << 20,
        "log_bytes": 4 << 20,
        "threads": 2,
        "tasks": 8,
        "duration_s": duration_s,
        "workload": {"kind": "ledger", "value_bytes": 200},
    }
    return usual | more


def acknowledged(keep: Path) -> int:
    """Transactions that were acknowledged."""
    path = keep / "engine-acknowledged"
    words = path.read_bytes() if path.is_file() else b""
    return sum(struct.unpack(f"<{len(words) // 8}Q", words[: len(words) // 8 * 8]))


def start(assayer: Path, document: Json) -> subprocess.Popen[str]:
    """The measuring program at work."""
    pipe = subprocess.PIPE
    command = [str(assayer), "engine", "-"]
    process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.STDOUT, text=True)
    assert process.stdin is not None
    process.stdin.write(json.dumps(document))
    process.stdin.close()
    process.stdin = None
    return process


def kill_after(process: subprocess.Popen[str], keep: Path, more: int) -> int:
    """Kills it when it has acknowledged so many more; how many there are then. It must not have ended before."""
    begin, patience = acknowledged(keep), time.monotonic() + 120
    try:
        while acknowledged(keep) < begin + more:
            assert process.poll() is None, process.communicate()[0]
            assert time.monotonic() < patience, "it acknowledges nothing"
            time.sleep(0.002)
    finally:
        process.send_signal(signal.SIGKILL)
        process.communicate()
    return acknowledged(keep)


def assay(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """`assay engine ...`."""
    return warm.assay(["engine", *arguments], timeout=240)


def assay_after_kill(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """As `assay`, on a database whose process was killed: the kernel may still be ending that one's requests."""
    for _ in range(50):
        done = assay(*arguments)
        if done.returncode != 4 or "in use" not in done.stderr + done.stdout:
            break
        time.sleep(0.2)
    return done


def look(keep: Path, *more: str) -> Json:
    """Opens the ledger by the command line, adds a little and gives the checks by name."""
    on = () if "--on" in more else ("--on", keep.parent)
    usual = ("--keep", keep, *on, "--pool", "4MiB", "--warmup", "0", "--duration", "0.1", "--json")
    done = assay_after_kill("ledger", *usual, "--tasks", "8", *more)
    assert done.returncode == 0, done.stdout + done.stderr
    record: Json = json.loads(done.stdout)["record"]
    return record
