"""Repeats and other kinds of work, through the whole command line."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
import time

import pytest
from assay.untyped import Json
from e2e import neighbours, program
from e2e.neighbours import one_cpu
from e2e.program import Outcome

from lies.gallery import lie
from lies.room import Room

STUDY = """
name = "noise"
title = "Repeats"
question = "Do repeats agree?"
source = "none"
targets = ["memory"]
repeats = 2

[datasets.data]
bytes = "1MiB"

[classes.reads]
dataset = "data"
path = "pmem"
operation = "read"
pattern = "uniform"
size = "4KiB"

[window]
measure = "1s"
"""


def of_record(record: Json, code: int) -> Outcome:
    """A record that the command line kept, as an outcome."""
    return Outcome(code, [{"event": "finished", "record": record}])


@lie(
    "best-of-two-repeats",
    "`assay run` repeats a cell; neighbours have the CPU during the second repeat and not during the first.",
    "noisy-machine",
)
def best_of_two(room: Room) -> Outcome:
    (room.spare / "noise.toml").write_text(STUDY)
    out = room.spare / "out"
    with one_cpu(), contextlib.ExitStack() as stack:
        words = ["run", "noise.toml", "--on", "memory", "--out", str(out), "--no-report"]
        process = program.start_assay(*words, cwd=room.spare)
        end = time.monotonic() + 60
        while not list(out.glob("records/*.json")) and process.poll() is None and time.monotonic() < end:
            time.sleep(0.02)
        stack.enter_context(neighbours.busy(6, apart=True))
        said = process.communicate(timeout=60)
    assert process.returncode == 0, said
    return of_record(json.loads(min(out.glob("records/*.json")).read_text()), process.returncode)


@lie(
    "neighbours-of-an-index",
    "`assay index run`: an index in memory, and two busy processes for each CPU.",
    "cpu-taken",
)
def of_an_index(room: Room) -> Outcome:
    if not program.ASSAYER.with_name("assayer-db").is_file():
        pytest.skip("the program for indexes is not built; cargo build --release -p assayer-db")
    usual = ("--index", "fptree", "--keys", "5000", "--workload", "lookup", "--threads", "2")
    crowd = neighbours.busy(2 * len(os.sched_getaffinity(0)))
    with tempfile.TemporaryDirectory(dir="/dev/shm") as memory, crowd:
        done = program.assay("index", "run", *usual, "--on", memory, "--duration", "1.5s", "--json", cwd=room.spare)
    assert done.returncode == 0, done.stdout + done.stderr
    return of_record(json.loads(done.stdout)["records"][0], done.returncode)
