"""A power cut: writers in the guest, QEMU killed in mid-run, drives made anew, the guest booted again, and a look."""

from __future__ import annotations

import json
import os
import random
import shlex
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from assay_lab import logwrites
from assay_lab.error import GuestError
from assay_lab.guest import Completed, Guest, Job
from assay_lab.lab import Lab
from assay_lab.place import namespace
from assay_lab.qemu import MIB, Drive, Nvdimm
from assay_lab.rebuild import Fates, copy_sparse, rebuild
from assay_lab.site import SHARED, Expect, Site
from assay_lab.workspace import sparse

Json = dict[str, Any]

_LABEL_BYTES = 2 * MIB
_SETUP_S = 240.0
_DRIVES_S = 30.0
_PATIENCE_S = 240.0
_VERIFY_S = 240.0
_LUCK = 0.5
_STREAM_BYTES = 1024
"""Of a cell, before the power is cut: thirty entries, for some fifteen writes."""
_RUN_S = (2.0, 6.0)
"""Writers run this long, seconds, before the power is cut."""
_RECOVERY_S = (0.0, 0.4)
"""So long after some places have begun to write while they come back, seconds, the power is cut again."""
_BEGINNING_S = 60.0
_LOG_HEAD_BYTES = 512
"""Of a log in which nothing is noted yet."""


@dataclass(frozen=True)
class Found:
    """What became of a site in one state of the drives."""

    site: str
    seed: int
    """Of this state."""
    fates: dict[str, Fates]
    datasets: dict[str, Json]
    """What `assayer verify` counted, by cell."""
    failed: str = ""
    """Why nothing could be looked at: the place did not come back; or what its own program found wrong with it."""


@dataclass
class Outcome:
    """What a power cut left."""

    seed: int
    after_s: float
    refused: dict[str, str]
    """Sites that could not be made, or whose writers ended by themselves, with the reason."""
    found: list[Found]
    recovering: list[str] = field(default_factory=list)
    """Sites that had not come back when the power was cut for the second time, once for each state."""
    mended: list[str] = field(default_factory=list)
    """Sites that had written something by then, once for each state."""


def power_cut(
    lab: Lab, sites: Sequence[Site], seed: int, states: int, tell: Callable[[str], None], again: bool = False
) -> Outcome:
    """Runs the writers of all sites at once, cuts the power, and looks at `states` states that the drives may be in.

    With `again`, the power is cut once more while the places come back, before anybody looks.
    """
    dice = random.Random(seed)  # noqa: S311  A cut that can be made again.
    bench = _Bench(lab, sites, tell)
    outcome = Outcome(seed, round(dice.uniform(*_RUN_S), 3), {}, [])
    try:
        _write_until_cut(lab, bench, outcome)
        left = [site for site in sites if site.name not in outcome.refused]
        on_drives = any(site.bus != "pmem" for site in left)
        for state in range(states if on_drives else min(len(left), 1)):
            drawn, first = dice.randrange(1 << 32), state == 0
            fates = _anew(bench, left, drawn)
            if again:
                recovering, fates = _cut_recovery(lab, bench, left, drawn)
                outcome.recovering += recovering
                outcome.mended += [name for name, drives in fates.items() if any(map(_wrote, drives.values()))]
            outcome.found += _look(lab, bench, left, drawn, fates, first)
    finally:
        # Whoever comes next gets a guest of its own.
        lab.cut()
        bench.clear()
    return outcome


def _wrote(fates: Fates) -> bool:
    return fates.durable + fates.survived + fates.torn + fates.lost > 0


def _write_until_cut(lab: Lab, bench: _Bench, outcome: Outcome) -> None:
    guest = lab.renew(drives=bench.drives(bench.log), nvdimms=bench.nvdimms())
    devices = _make(guest, bench, outcome)
    writers = _start(guest, bench, devices, outcome)
    _await_windows(guest, bench, writers, outcome)
    bench.tell(f"all are writing; the power is cut in {outcome.after_s} s")
    time.sleep(outcome.after_s)
    # A writer that ended by itself was not cut.
    outcome.refused |= {site.name: _why(bench, site) for site, job in writers if job.done}
    cut(guest)


def cut(guest: Guest) -> None:
    """Stops QEMU in its tracks, and kills it.

    A process that is killed may leave a call that writes half done, and a log entry with it. One that is stopped
    finishes the calls that it is in, and begins no other.
    """
    os.kill(guest.pid, signal.SIGSTOP)
    limit = time.monotonic() + 10
    while not _all_stopped(guest.pid) and time.monotonic() < limit:
        time.sleep(0.002)
    guest.cut()


def _all_stopped(pid: int) -> bool:
    """Whether every thread stands still, or is gone."""
    states = []
    for task in Path(f"/proc/{pid}/task").glob("*/stat"):
        try:
            states.append(task.read_text().rpartition(")")[2].split()[0])
        except OSError:
            continue
    return all(state in "TtXZ" for state in states)


class _Bench:
    """The drives of all sites, and a folder that host and guest share."""

    def __init__(self, lab: Lab, sites: Sequence[Site], tell: Callable[[str], None]) -> None:
        self._lab = lab
        self.tell = tell
        self.sites = list(sites)
        self.shared = lab.share / "power"
        self.shared.mkdir(exist_ok=True)
        self.clear()

    def clear(self) -> None:
        """Removes what is left of all drives."""
        for left in [*self.shared.iterdir(), *self._lab.folder.glob("power-*")]:
            left.unlink()

    def names(self, site: Site) -> list[str]:
        """Names of a site's drives: numbers, since a serial number has 20 letters at most."""
        earlier = sum(other.drives for other in self.sites[: self.sites.index(site)])
        return [f"cut{number}" for number in range(earlier, earlier + site.drives)]

    def on_drives(self) -> list[Site]:
        """Sites on drives with a volatile cache."""
        return [site for site in self.sites if site.bus != "pmem"]

    def on_pmem(self) -> list[Site]:
        """Sites on persistent memory, in the order of its regions."""
        return [site for site in self.sites if site.bus == "pmem"]

    def drives(self, log_of: Callable[[str], Path] | None = None) -> list[Drive]:
        """All drives; those that will be made anew write a log."""
        return [self._drive(site, name, log_of) for site in self.on_drives() for name in self.names(site)]

    def _drive(self, site: Site, name: str, log_of: Callable[[str], Path] | None) -> Drive:
        log = log_of(name) if log_of else None
        if log:
            log.unlink(missing_ok=True)
            log.touch()
        path = sparse(self.file(name), site.drive_bytes)
        return Drive(name, path, site.drive_bytes, log, bus=site.bus)

    def file(self, name: str) -> Path:
        """The file of a drive."""
        return self._lab.folder / f"power-{name}"

    def before(self, name: str) -> Path:
        """What a drive held when it was switched on again."""
        return self._lab.folder / f"power-{name}.before"

    def log(self, name: str) -> Path:
        """The log of a drive up to the first cut: every state is made from it."""
        return self._lab.folder / f"power-{name}.log"

    def second_log(self, name: str) -> Path:
        """The log of a drive from the first cut to the second."""
        return self._lab.folder / f"power-{name}.log2"

    def nvdimms(self) -> list[Nvdimm]:
        """All modules of persistent memory."""
        made = []
        for index, site in enumerate(self.on_pmem()):
            size = site.drive_bytes + _LABEL_BYTES
            made.append(Nvdimm(f"power{index}", sparse(self.file(site.name), size), size, _LABEL_BYTES))
        return made

    def text(self, site: Site, kind: str) -> Path:
        """A file of a site that host and guest share."""
        return self.shared / f"{site.name}.{kind}"


_DEVICES = """
# Nothing becomes durable unless somebody asks for it.
echo 0 >/proc/sys/vm/dirty_writeback_centisecs
modprobe -a virtio_scsi sd_mod nvme 2>/dev/null
# Write zeroes commands damage the log of writes.
for each in /sys/class/scsi_disk/*/max_write_same_blocks; do [ -e "$each" ] && echo 0 >"$each"; done
for each in /sys/block/sd* /sys/block/nvme*; do
    [ -e "$each" ] || continue
    serial=$(cat "$each"/device/vpd_pg80 "$each"/device/serial 2>/dev/null | tr -cd 'a-z0-9-')
    echo "$serial /dev/${each##*/}"
done
"""


def find_drives(guest: Guest, names: Sequence[str]) -> dict[str, str]:
    """What the guest calls the drives with these names; none of them will be sent a write zeroes command."""
    limit = time.monotonic() + _DRIVES_S
    while True:
        lines = guest.run(_DEVICES).stdout.splitlines()
        serials = dict(line.split() for line in lines if line.count(" ") == 1)
        lacking = [name for name in names if f"assay-{name}" not in serials]
        if not lacking:
            return {name: serials[f"assay-{name}"] for name in names}
        if time.monotonic() >= limit:
            raise GuestError(f"the guest does not see the drives {', '.join(lacking)}")
        time.sleep(0.5)


def _devices(guest: Guest, bench: _Bench, with_pmem: bool = True) -> dict[str, list[str]]:
    """The guest's devices of each site. Namespaces of persistent memory are made where they are not there."""
    seen = find_drives(guest, [name for site in bench.on_drives() for name in bench.names(site)])
    found = {site.name: [seen[name] for name in bench.names(site)] for site in bench.on_drives()}
    for module, site in enumerate(bench.on_pmem() if with_pmem else []):
        found[site.name] = [namespace(guest, module, site.namespace).device]
    return found


def _script(site: Site, body: str, devices: Sequence[str]) -> str:
    """A script with the site's devices as its arguments."""
    words = shlex.join(devices)
    # Names of devices change from boot to boot; a job names the link.
    link = f'mkdir -p {site.folder} /dev/disk/by-id\nln -sfn "$1" {site.link}'
    return f"set -e\nset -- {words}\n{link}\n{body}\n"


def _make(guest: Guest, bench: _Bench, outcome: Outcome) -> dict[str, list[str]]:
    """Makes every place. The devices of each."""
    devices = _devices(guest, bench)
    jobs = [(site, guest.start(_script(site, site.make, devices[site.name]))) for site in bench.sites]
    for site, job in jobs:
        done = job.wait(_SETUP_S)
        if done.returncode != 0:
            outcome.refused[site.name] = f"making it failed: {_first(done.stderr)}"
    guest.run("sync", timeout_s=_SETUP_S)
    return devices


Writers = list[tuple[Site, Job]]


def _start(guest: Guest, bench: _Bench, devices: dict[str, list[str]], outcome: Outcome) -> Writers:
    sites = [site for site in bench.sites if site.name not in outcome.refused]
    for site in sites:
        if site.measures:
            serial = "" if site.kind == "folder" else _serial(guest, devices[site.name][0])
            bench.text(site, "job").write_text(json.dumps(site.job(serial, outcome.seed)))
        at = f"{SHARED}/{site.name}"
        script = f"{_surroundings(site)}exec >{at}.events 2>{at}.said\n{site.writer}\n"
        bench.text(site, "sh").write_text(script)
    bench.tell(f"{len(sites)} writers start")
    return [(site, guest.start(f"exec sh {SHARED}/{site.name}.sh")) for site in sites]


def _surroundings(site: Site) -> str:
    """What writer and checker find in their environment."""
    return f"export SITE={site.name} PLACE={site.member} STREAM={SHARED}/{site.name}.journal\n"


def _serial(guest: Guest, device: str) -> str:
    """By which a job confirms a device: a drive's serial number, the UUID of a namespace of persistent memory."""
    if "/dax" in device:
        return guest.run(_UUID.format(device.removeprefix("/dev/"))).stdout.strip()
    return str(json.loads(guest.assayer("guard", device, check=False).stdout)["serial"])


_UUID = """
at=$(readlink -f /sys/bus/dax/devices/{0})
while [ "$at" != /sys ]; do [ -s "$at/uuid" ] && cat "$at/uuid" && exit; at=${{at%/*}}; done
echo {0}
"""


def _await_windows(guest: Guest, bench: _Bench, writers: Writers, outcome: Outcome) -> None:
    """Waits until every writer is at work."""
    limit = time.monotonic() + _PATIENCE_S
    waiting = list(writers)
    while waiting:
        guest.listen(0.2)
        waiting = [(site, job) for site, job in waiting if not _opened(bench, site)]
        ended = [site for site, job in waiting if job.done]
        outcome.refused |= {site.name: _why(bench, site) for site in ended}
        waiting = [(site, job) for site, job in waiting if site not in ended]
        if waiting and time.monotonic() >= limit:
            names = ", ".join(site.name for site, _ in waiting)
            raise GuestError(f"the writers on {names} did not begin within {_PATIENCE_S:.0f} s", hint=guest.where())


def _opened(bench: _Bench, site: Site) -> bool:
    """Whether a writer is at work, and each of its cells has got somewhere, however slow this machine is."""
    stream = bench.text(site, "journal")
    if not stream.exists() or stream.stat().st_size < _STREAM_BYTES * len(site.cells):
        return False
    return any(event.get("event") == "interval" and event["at_s"] > 0 for event in _events(bench, site))


def _events(bench: _Bench, site: Site) -> Iterator[Json]:
    path = bench.text(site, "events")
    for line in path.read_text().splitlines() if path.exists() else []:
        try:
            event = json.loads(line)
        except ValueError:
            continue
        if isinstance(event, dict):
            yield event


def _why(bench: _Bench, site: Site) -> str:
    last: Json = {}
    for event in _events(bench, site):
        last = event
    if last.get("event") == "refused":
        return f"{last['reason']}; {last['fix']}"
    path = bench.text(site, "said")
    said = _last(path.read_text(errors="replace")) if path.exists() else ""
    return f"the writer ended by itself: {said or 'it said nothing'}"


def _anew(bench: _Bench, sites: Sequence[Site], seed: int) -> dict[str, dict[str, Fates]]:
    """Brings every drive into a state that it may be in after the cut."""
    bench.tell(f"the drives are made anew with seed {seed}, and the guest boots again")
    return {site.name: _rebuilt(bench, site, seed) for site in sites if site.bus != "pmem"}


def _cut_recovery(
    lab: Lab, bench: _Bench, sites: Sequence[Site], seed: int
) -> tuple[list[str], dict[str, dict[str, Fates]]]:
    """Lets the places come back, cuts the power in the middle of it, and makes the drives anew once more.

    Who had not come back by then, and what became of the drives' writes since the first cut.
    """
    left = [site for site in sites if site.bus != "pmem"]
    for name in (name for site in left for name in bench.names(site)):
        # The guest writes to the drive itself; what it held before is what the second log begins from.
        copy_sparse(bench.file(name), bench.before(name))
    guest = lab.renew(drives=bench.drives(bench.second_log), nvdimms=[])
    devices = _devices(guest, bench, with_pmem=False)
    jobs = [(site, guest.start(_back(site, devices[site.name]))) for site in left]
    dice = random.Random(f"{seed}/again")  # noqa: S311
    begun, after_s = dice.randint(1, len(left)), round(dice.uniform(*_RECOVERY_S), 3)
    bench.tell(f"the places come back; the power is cut again {after_s} s after {begun} of them have begun to write")
    _await_writes(bench, jobs, begun)
    time.sleep(after_s)
    recovering = [site.name for site, job in jobs if not job.done]
    cut(guest)
    bench.tell("the drives are made anew once more, and the guest boots again")
    fates = {site.name: _rebuilt(bench, site, seed + 1, second=True) for site in left}
    return recovering, fates


def _await_writes(bench: _Bench, jobs: Writers, begun: int) -> None:
    """Waits until so many of the places have written something, or no more of them will."""

    def has_written(site: Site) -> bool:
        return any(bench.second_log(name).stat().st_size > _LOG_HEAD_BYTES for name in bench.names(site))

    limit = time.monotonic() + _BEGINNING_S
    while time.monotonic() < limit:
        over = sum(job.done or has_written(site) for site, job in jobs)
        if over >= begun:
            return
        time.sleep(0.01)


def _look(
    lab: Lab, bench: _Bench, sites: Sequence[Site], seed: int, fates: dict[str, dict[str, Fates]], first: bool
) -> list[Found]:
    """Boots, and looks. Persistent memory has one state, which the first look shows."""
    guest = lab.renew(drives=bench.drives(), nvdimms=bench.nvdimms() if first else [])
    devices = _devices(guest, bench, with_pmem=first)
    shown = [site for site in sites if first or site.bus != "pmem"]
    jobs = [(site, guest.start(_revival(site, devices[site.name]))) for site in shown]
    seen = [(site, _found(site, seed, fates.get(site.name, {}), job.wait(_VERIFY_S))) for site, job in jobs]
    return [_audited(guest, site, devices[site.name], found) for site, found in seen]


def _back(site: Site, devices: Sequence[str]) -> str:
    # What a script of the place says is not what the check found.
    return _script(site, f"{{ {site.revive or ':'}\n}} >&2", devices[: len(devices) - site.absent])


def _revival(site: Site, devices: Sequence[str]) -> str:
    return f"{_back(site, devices)}set +e\n{_surroundings(site)}{site.checker}\n"


def _audited(guest: Guest, site: Site, devices: Sequence[str], found: Found) -> Found:
    """What the place's own program says of its structure, after the look."""
    if not site.audit or found.failed:
        return found
    done = guest.start(_script(site, site.audit, devices[: len(devices) - site.absent])).wait(_VERIFY_S)
    if done.returncode == 0:
        return found
    said = _last(done.stdout) or _last(done.stderr)
    return replace(found, failed=f"its structure is not sound (exit code {done.returncode}): {said}")


def _found(site: Site, seed: int, fates: dict[str, Fates], done: Completed) -> Found:
    try:
        counted = {one["name"]: one for one in json.loads(done.stdout)["datasets"]}
    except (ValueError, KeyError, TypeError):
        said = _last(done.stderr) or _last(done.stdout) or "nothing was said"
        return Found(site.name, seed, fates, {}, f"it did not come back: {said}")
    return Found(site.name, seed, fates, counted)


def _rebuilt(bench: _Bench, site: Site, seed: int, second: bool = False) -> dict[str, Fates]:
    """New contents of a site's drives: from nothing and the log, or from what they held and a second log."""
    fates = {}
    for name in bench.names(site):
        log = logwrites.read(bench.second_log(name) if second else bench.log(name), site.drive_bytes)
        own = random.Random(f"{seed}/{name}").randrange(1 << 32)  # noqa: S311
        # A drive that keeps all that was never flushed is a lucky one, and shows nothing of who relies on it.
        kept = _LUCK if site.kind != "folder" and any(cell.expect is Expect.LOST for cell in site.cells) else 1.0
        file = bench.before(name) if second else None
        fates[name] = rebuild(log, bench.file(name), site.drive_bytes, own, survive_at_most=kept, base=file)
    return fates


def _first(text: str) -> str:
    """What a program complains of before it explains its usage."""
    return next((line.strip() for line in text.splitlines() if line.strip()), "it said nothing")


def _last(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else ""
