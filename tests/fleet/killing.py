"""A run of a fleet in which one process is killed at random, its continuation, and a witness of what really began."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from assay import home

from .forked import Forked
from .processes import HERE, states, until

HOSTS = ("a", "b")
VICTIMS = ("worker", "scheduler", "run")
CELLS = 3
#: Seconds from the order to the end of a run that nobody kills, and what a process may take to end.
SPAN_S, PATIENCE_S = 9.0, 90.0
_WITNESS = """#!/bin/sh
# Keeps each job that is begun, and becomes the program that does it.
[ "$1" = run ] || exec "{program}" "$@"
job="{log}/$$.json"
cat >"$job"
exec "{program}" "$@" <"$job"
"""


@dataclass(frozen=True)
class Kill:
    """Who is killed, and when: a share of the usual time of a run."""

    victim: str
    moment: float


@dataclass(frozen=True)
class Seen:
    """What became of it. `begun` counts starts by the witness, `twice` those that were no start of their own."""

    kill: Kill
    alive: bool
    begun: int
    twice: int
    wrong: str


def drawn(number: int, seed: int) -> list[Kill]:
    """So many kills."""
    chance = random.Random(seed)  # noqa: S311  Moments that can be repeated.
    return [Kill(VICTIMS[index % len(VICTIMS)], chance.random()) for index in range(number)]


def run(kill: Kill, keys: Path) -> Seen:
    """Runs, kills, continues, and looks."""
    with tempfile.TemporaryDirectory(prefix="assay-fleet-kill-") as place:
        room = Path(place)
        for name in (*HOSTS, "log", "state"):
            (room / name).mkdir()
        alive = False
        try:
            alive = _killed(kill, room, keys)
            wrong = _continued(room, keys)
        except (AssertionError, subprocess.TimeoutExpired) as error:
            wrong = str(error)
        begun = witnessed(room / "log")
        again = twice(begun)
        left = [str(path) for host in HOSTS for path in (room / host).iterdir()]
        wrong = wrong or (f"left behind: {left}" if left else "")
        return Seen(kill, alive, sum(begun.values()), again, wrong)


def witnessed(log: Path) -> Counter[tuple[str, str, str]]:
    """How often each start of a cell was really begun: by host, cell and attempt."""
    found: Counter[tuple[str, str, str]] = Counter()
    for path in log.glob("*.json"):
        with contextlib.suppress(ValueError):
            job = json.loads(path.read_text())
            labels = job["labels"]
            if "fleet.attempt" in labels:
                found[labels["host"], labels["cell"], labels["fleet.attempt"]] += 1
    return found


def twice(begun: Counter[tuple[str, str, str]]) -> int:
    """Starts beyond the first of the same attempt."""
    return sum(count - 1 for count in begun.values())


def _killed(kill: Kill, room: Path, keys: Path) -> bool:
    """The first run, of which one process is killed; whether that still ran."""
    with _fleet(room, keys) as (where, processes):
        order = _order(room, keys, where, HERE / "writes.toml", "--repeats", str(CELLS), "--on", room / "{host}",
                       "--out", room / "out")  # fmt: skip
        try:
            until(lambda: (room / "out" / "fleet.json").is_file() or order.poll() is not None)
            with contextlib.suppress(subprocess.TimeoutExpired):
                order.wait(kill.moment * SPAN_S)
            victim = {"worker": processes["b"], "scheduler": processes["scheduler"], "run": order}[kill.victim]
            alive = order.poll() is None and victim.poll() is None
            victim.send_signal(signal.SIGKILL)
            order.wait(PATIENCE_S)
        finally:
            order.kill()
            order.wait()
    return alive


def _continued(room: Path, keys: Path) -> str:
    """The rest, with a fleet that is started anew; what is wrong with it."""
    with _fleet(room, keys) as (where, _):
        order = _order(room, keys, where, "--resume", room / "out")
        try:
            code = order.wait(PATIENCE_S)
        finally:
            order.kill()
            order.wait()
    if code:
        return f"the continuation ended with {code}: {(room / 'said').read_text()[-500:]}"
    for host in HOSTS:
        last = dict(states(room / "out" / "hosts" / host / "journal.ndjson"))
        if len(last) != CELLS or set(last.values()) != {"finished"}:
            return f"{host} is not whole: {last}"
    return ""


def _order(room: Path, keys: Path, where: str, *words: str | Path) -> Forked:
    with (room / "said").open("ab") as said:
        asked = ("fleet", "run", *words, "--scheduler", where, "--keys", keys, "--lead", "1", "--no-aa")
        return Forked([*map(str, asked)], _environment(room), said)


def _environment(room: Path) -> dict[str, str]:
    program = room / "witness"
    if not program.exists():
        program.write_text(_WITNESS.format(program=home.binary(), log=room / "log"))
        program.chmod(0o755)
    return os.environ | {"XDG_STATE_HOME": str(room / "state"), "ASSAYER": str(program)}


@contextlib.contextmanager
def _fleet(room: Path, keys: Path) -> Iterator[tuple[str, dict[str, Forked]]]:
    """A scheduler and workers on the loopback; all ended when this ends."""
    with contextlib.ExitStack() as running:
        scheduler, where = _serving(running, room, "scheduler", "--listen", "tls://127.0.0.1:0", "--keys", keys)
        found = {"scheduler": scheduler}
        for host in HOSTS:
            words = ("worker", where, "--name", host, "--listen", "127.0.0.1", "--keys", keys)
            found[host], _ = _serving(running, room, *words)
        yield where, found


def _serving(running: contextlib.ExitStack, room: Path, *words: str | Path) -> tuple[Forked, str]:
    process = Forked(["fleet", *map(str, words)], _environment(room))
    running.callback(_ended, process)
    assert process.stdout is not None
    address = process.stdout.readline().strip()
    assert address, f"{words[0]} did not start"
    return process, address


def _ended(process: Forked) -> None:
    process.terminate()
    end = time.monotonic() + PATIENCE_S
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(end - time.monotonic())
    process.kill()
    process.wait()
    if process.stdout is not None:
        process.stdout.close()
