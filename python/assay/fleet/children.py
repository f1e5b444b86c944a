"""Processes of a fleet that this one starts: they end with it, however it ends."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from assay.binary import die_with
from assay.error import FAILED
from assay.fleet.error import FleetError
from assay.untyped import Json

_END_S = 20.0


@contextlib.contextmanager
def process(*words: str, told: str | None = None) -> Iterator[subprocess.Popen[str]]:
    """`python -m WORDS` beside this one, meanwhile; `told` goes to its standard input."""
    made = subprocess.Popen(
        [sys.executable, "-I", "-m", *words],
        stdin=subprocess.DEVNULL if told is None else subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=die_with(os.getpid()),  # noqa: PLW1509  No threads yet.
    )
    try:
        if told is not None and made.stdin is not None:
            made.stdin.write(told + "\n")
            made.stdin.flush()
        yield made
    finally:
        made.terminate()
        try:
            made.wait(_END_S)
        except subprocess.TimeoutExpired:
            made.kill()
            made.wait()
        for pipe in (made.stdin, made.stdout):
            if pipe is not None:
                pipe.close()


@contextlib.contextmanager
def scheduler(host: str, keys: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A scheduler of this machine behind certificates, meanwhile: its process and its address."""
    listen = f"tls://[{host}]:0" if ":" in host else f"tls://{host}:0"
    with process("assay", "fleet", "scheduler", "--listen", listen, "--keys", str(keys)) as made:
        yield made, next_line(made, "the scheduler")


@contextlib.contextmanager
def nursery(orders: Sequence[Json]) -> Iterator[subprocess.Popen[str]]:
    """Workers of this machine, meanwhile; when it yields, the scheduler knows all of them."""
    with process("assay.fleet.nursery", told=json.dumps(orders)) as made:
        for _ in orders:
            name, _, where = next_line(made, "what starts the workers").partition(" ")
            if not where:
                raise FleetError(f"{name} did not start", "the lines above say why", FAILED)
        yield made


def next_line(made: subprocess.Popen[str], who: str) -> str:
    """The next line that it prints.

    Raises:
        FleetError: where it ended and printed none.
    """
    line = made.stdout.readline().strip() if made.stdout is not None else ""
    if not line:
        raise FleetError(f"{who} did not start", "the lines above say why", FAILED)
    return line
