"""`python -m fleet.many [N [null]]` in tests/: N hosts on this machine (200), and what a scheduler takes of them.

Twins, each played when it is its turn, or `null`: targets of nothing at a low rate, all at the same moment. Ended where
the machine's load passes a bound, or after some minutes.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from .processes import HERE, above, command, states

CELLS, TWIN, NULL = 3, "twin:990pro", "null"
#: Seconds from the order to the moment of null targets: so long do two CPUs take to have two hundred programs ready.
LEAD_S = 40
LARGEST_LOAD, LONGEST_S = {TWIN: 30.0, NULL: 100.0}, 460.0
_LOOK_S = 0.5
_TICKS = os.sysconf("SC_CLK_TCK")


def main(words: list[str]) -> int:
    """1 where it was ended, or a cell was not whole."""
    number = int(words[0]) if words else 200
    with tempfile.TemporaryDirectory(prefix="assay-fleet-many-") as place:
        out = Path(place) / "out"
        on = words[1] if len(words) > 1 else TWIN
        study, lead, cells = ("slow.toml", LEAD_S, 1) if on == NULL else ("writes.toml", 5, CELLS)
        asked = command("run", HERE / study, "--local", str(number), "--on", on, "--out", out,
                        "--repeats", str(cells), "--lead", str(lead), "--json")  # fmt: skip
        begun = time.monotonic()
        with (Path(place) / "printed").open("w") as printed:
            process = subprocess.Popen(asked, stdout=printed, stderr=subprocess.DEVNULL)
            seen = list(_watched(process, out, begun, LARGEST_LOAD[on]))
        text = (Path(place) / "printed").read_text()
    for line in seen:
        print(line)
    if process.returncode:
        print(f"ended with exit code {process.returncode}")
        return 1
    totals = json.loads(text)["totals"]
    for total in totals:
        rates = [f"{one['ops_per_s']:.1f}/s" for one in total["classes"]]
        coincide = f", windows coincide to {total['coincide']:.1%}" if total["coincide"] is not None else ""
        print(f"{total['cell']}: {len(total['in_total'])} of {number} hosts in the total, {', '.join(rates)}{coincide}")
        for host, reason in list(total["not_in_total"].items())[:3]:
            print(f"  without {host}: {reason}")
    print(f"all of it: {time.monotonic() - begun:.0f} s")
    return 0 if len(totals) == cells else 1


def _watched(process: subprocess.Popen[bytes], out: Path, begun: float, load: float) -> Iterator[str]:
    """Lines about each step, while it runs."""
    last, before, largest = -1, 0.0, 0.0
    while process.poll() is None:
        time.sleep(_LOOK_S)
        largest = max(largest, os.getloadavg()[0])
        if os.getloadavg()[0] > load or time.monotonic() - begun > LONGEST_S:
            yield f"ended at a load of {os.getloadavg()[0]:.0f} after {time.monotonic() - begun:.0f} s"
            process.send_signal(signal.SIGTERM)
            process.send_signal(signal.SIGTERM)
            process.wait()
            return
        step = _step(out)
        if step != last:
            scheduler = _scheduler(process.pid)
            used, memory = _cpu_s(scheduler), _memory(process.pid)
            if last >= 0:
                yield f"cell {step}: {used - before:.2f} s of CPU by the scheduler"
            elif step >= 0:
                yield f"planned on all after {time.monotonic() - begun:.0f} s; the scheduler took {used:.2f} s of CPU"
            if step == 1:
                yield memory
            last, before = step, used
    yield f"the largest load was {largest:.1f}"


def _step(out: Path) -> int:
    """Cells that are over; -1 before the first is planned."""
    places = sorted((out / "hosts").glob("*/journal.ndjson"))
    ended = [sum(state != "started" for _, state in states(place)) for place in places[-1:]]
    return min(ended, default=-1)


def _below(run: int) -> Iterator[Path]:
    for path in Path("/proc").glob("[0-9]*"):
        try:
            if run in list(above(path)):
                yield path
        except OSError:
            continue


def _scheduler(run: int) -> Path | None:
    for path in _below(run):
        words = (path / "cmdline").read_bytes().split(b"\0")
        if b"scheduler" in words and b"--listen" in words:
            return path
    return None


def _cpu_s(process: Path | None) -> float:
    if process is None:
        return 0.0
    fields = (process / "stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def _memory(run: int) -> str:
    """Proportional shares: what several processes have together is counted once."""
    scheduler, shares = _scheduler(run), {}
    for path in _below(run):
        try:
            lines = (path / "smaps_rollup").read_text().splitlines()
            shares[path] = next(int(line.split()[1]) / 1024 for line in lines if line.startswith("Pss:"))
        except (OSError, StopIteration):
            continue
    workers = sorted(share for path, share in shares.items() if path != scheduler)
    own = shares.get(scheduler, 0.0) if scheduler else 0.0
    return (
        f"memory: {sum(shares.values()):.0f} MiB together, {own:.0f} of the scheduler; of a worker "
        f"{workers[len(workers) // 2]:.1f} MiB (median of {len(workers)})"
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
