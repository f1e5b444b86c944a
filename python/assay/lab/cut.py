"""A power cut: writers in the guest, QEMU killed in mid-run, the drives made anew, the guest booted again, and a look at
what was acknowledged."""

from __future__ import annotations

import json
import os
import random
import shlex
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.lab import logwrites
from assay.lab.error import GuestError
from assay.lab.guest import Guest, Job
from assay.lab.lab import Lab
from assay.lab.qemu import MIB, Drive, Nvdimm
from assay.lab.rebuild import Fates, rebuild
from assay.lab.site import SHARED, Site
from assay.lab.workspace import sparse

Json = dict[str, Any]

_LABEL_BYTES = 2 * MIB
_SETUP_S = 240.0
_PATIENCE_S = 240.0
_VERIFY_S = 240.0
_RUN_S = (2.0, 6.0)
"""Writers run this long, seconds, before the power is cut."""


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
    """Why nothing could be looked at: the place did not come back."""


@dataclass
class Outcome:
    """What a power cut left."""

    seed: int
    after_s: float
    refused: dict[str, str]
    """Sites that could not be made, or whose writers ended by themselves, with the reason."""
    found: list[Found]


def power_cut(lab: Lab, sites: Sequence[Site], seed: int, states: int = 1, tell: Callable[[str], None] = print) -> Outcome:
    """Runs the writers of all sites at once, cuts the power, and looks at `states` states that the drives may be in."""
    dice = random.Random(seed)  # noqa: S311  A cut that can be made again.
    bench = _Bench(lab, sites)
    outcome = Outcome(seed, dice.uniform(*_RUN_S), {}, [])
    guest = lab.renew(drives=bench.drives(logged=True), nvdimms=bench.nvdimms())
    members, outcome.refused = _make(guest, bench)
    writers = _start(guest, bench, members, outcome)
    _await_windows(guest, bench, writers, outcome)
    time.sleep(outcome.after_s)
    _still_running(bench, writers, outcome)
    cut(guest)
    lab.cut()
    for state in range(states):
        outcome.found += _look(lab, bench, [site for site in sites if site.name not in outcome.refused], dice, state)
    return outcome


def cut(guest: Guest) -> None:
    """Stops QEMU in its tracks, and kills it.

    A process that is killed may leave a call that writes half done, and a log entry with it. One that is stopped finishes
    the calls that it is in, and begins no other.
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

    def __init__(self, lab: Lab, sites: Sequence[Site]) -> None:
        self._lab = lab
        self.sites = list(sites)
        self.shared = lab.share / "power"
        self.shared.mkdir(exist_ok=True)
        for left in [*self.shared.iterdir(), *lab.folder.glob("power-*")]:
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

    def drives(self, logged: bool) -> list[Drive]:
        """All drives; with a log before the cut."""
        return [self._drive(site, name, logged) for site in self.on_drives() for name in self.names(site)]

    def _drive(self, site: Site, name: str, logged: bool) -> Drive:
        if logged:
            self.log(name).touch()
        path = sparse(self.file(name), site.drive_bytes)
        log = self.log(name) if logged else None
        return Drive(name, path, site.drive_bytes, log, bus=site.bus)

    def file(self, name: str) -> Path:
        """The file of a drive."""
        return self._lab.folder / f"power-{name}"

    def log(self, name: str) -> Path:
        """The log of a drive."""
        return self._lab.folder / f"power-{name}.log"

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
modprobe -a virtio_scsi sd_mod nvme 2>/dev/null
# Write zeroes commands damage the log of writes.
for each in /sys/class/scsi_disk/*/max_write_same_blocks; do [ -e "$each" ] && echo 0 >"$each"; done
for each in /sys/block/sd* /sys/block/nvme*; do
    [ -e "$each" ] || continue
    serial=$(cat "$each"/device/vpd_pg80 "$each"/device/serial 2>/dev/null | tr -cd 'a-z0-9-')
    echo "$serial /dev/${each##*/}"
done
"""


def _devices(guest: Guest, bench: _Bench) -> dict[str, list[str]]:
    """The guest's devices of each site."""
    wanted = {f"assay-{name}": None for site in bench.on_drives() for name in bench.names(site)}
    limit = time.monotonic() + 30
    while True:
        lines = guest.run(_DEVICES).stdout.splitlines()
        serials = {serial: device for serial, device in (line.split() for line in lines if line.count(" ") == 1)}
        if wanted.keys() <= serials.keys():
            break
        if time.monotonic() >= limit:
            raise GuestError(f"the guest sees no drives {', '.join(sorted(wanted.keys() - serials.keys()))}")
        time.sleep(0.5)
    found = {site.name: [serials[f"assay-{name}"] for name in bench.names(site)] for site in bench.on_drives()}
    for region, site in enumerate(bench.on_pmem()):
        found[site.name] = [_PMEM[site.namespace].format(region)]
    return found


_PMEM = {"fsdax": "/dev/pmem{}", "devdax": "/dev/dax{}.0", "sector": "/dev/pmem{}s"}


def _script(site: Site, body: str, devices: Sequence[str]) -> str:
    """A script with the site's devices as its arguments."""
    words = shlex.join(devices)
    return f"set -e\nset -- {words}\nmkdir -p {site.folder}\n{body}\n"


def _make(guest: Guest, bench: _Bench) -> tuple[dict[str, str], dict[str, str]]:
    """Makes every place. The folder or device of each, and the reason where one could not be made."""
    refused = {}
    for region, site in enumerate(bench.on_pmem()):
        extra = "-l 4096" if site.namespace == "sector" else "--map=mem"
        name = f"namespace{region}.0"
        command = f"ndctl create-namespace -f -e {name} -m {site.namespace} {extra}"
        done = guest.run(command, timeout_s=_SETUP_S, check=False)
        if done.returncode != 0:
            refused[site.name] = f"{command}: {_last(done.stderr)}"
    devices = _devices(guest, bench)
    sites = [site for site in bench.sites if site.name not in refused]
    jobs = [(site, guest.start(_script(site, site.make, devices[site.name]))) for site in sites]
    for site, job in jobs:
        done = job.wait(_SETUP_S)
        if done.returncode != 0:
            refused[site.name] = f"making it failed: {_last(done.stderr)}"
    guest.run("sync", timeout_s=_SETUP_S)
    members = {site.name: site.folder if site.kind == "folder" else devices[site.name][0] for site in bench.sites}
    return members, refused


def _start(guest: Guest, bench: _Bench, members: dict[str, str], outcome: Outcome) -> dict[str, Job]:
    writers = {}
    for site in bench.sites:
        if site.name in outcome.refused:
            continue
        serial = "" if site.kind == "folder" else _serial(guest, members[site.name])
        job = site.job(members[site.name], serial, outcome.seed)
        bench.text(site, "job").write_text(json.dumps(job))
        at = f"{SHARED}/{site.name}"
        writers[site.name] = guest.start(f"exec assayer run {at}.job >{at}.events 2>{at}.said")
    return writers


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


def _await_windows(guest: Guest, bench: _Bench, writers: dict[str, Job], outcome: Outcome) -> None:
    """Waits until every writer has written for a while."""
    limit = time.monotonic() + _PATIENCE_S
    waiting = [site for site in bench.sites if site.name in writers]
    while waiting:
        guest.listen(0.2)
        waiting = [site for site in waiting if not _opened(bench, site)]
        for site in [site for site in waiting if writers[site.name].done]:
            outcome.refused[site.name] = _why(bench, site)
            waiting.remove(site)
        if waiting and time.monotonic() >= limit:
            names = ", ".join(site.name for site in waiting)
            raise GuestError(f"the writers on {names} did not begin within {_PATIENCE_S:.0f} s", hint=guest.where())


def _opened(bench: _Bench, site: Site) -> bool:
    return any(event.get("event") == "interval" and event["at_s"] > 0 for event in _events(bench, site))


def _still_running(bench: _Bench, writers: dict[str, Job], outcome: Outcome) -> None:
    """A writer that ended by itself was not cut."""
    for site in bench.sites:
        if site.name in writers and site.name not in outcome.refused and writers[site.name].done:
            outcome.refused[site.name] = _why(bench, site)


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


def _look(lab: Lab, bench: _Bench, sites: Sequence[Site], dice: random.Random, state: int) -> list[Found]:
    """Makes the drives anew, boots, and looks. Persistent memory has one state, which the first look shows."""
    seed = dice.randrange(1 << 32)
    fates = {site.name: _rebuilt(bench, site, seed) for site in sites if site.bus != "pmem"}
    shown = [site for site in sites if site.bus != "pmem" or state == 0]
    guest = lab.renew(drives=bench.drives(logged=False), nvdimms=bench.nvdimms())
    devices = _devices(guest, bench)
    jobs = [(site, guest.start(_script(site, _revival(site), devices[site.name]), stdin="")) for site in shown]
    found = []
    for site, job in jobs:
        done = job.wait(_VERIFY_S)
        broken = done.returncode not in (0, 1) or not done.stdout.strip().startswith("{")
        failed = f"it did not come back: {_last(done.stderr) or _last(done.stdout)}" if broken else ""
        counted = {} if broken else {one["name"]: one for one in json.loads(done.stdout)["datasets"]}
        found.append(Found(site.name, seed, fates.get(site.name, {}), counted, failed))
    return found


def _revival(site: Site) -> str:
    # What a script of the place says is not what the check found.
    revive = f"{{ {site.revive}\n}} >&2" if site.revive else ":"
    return f"{revive}\nset +e\nassayer verify {SHARED}/{site.name}.job"


def _rebuilt(bench: _Bench, site: Site, seed: int) -> dict[str, Fates]:
    fates = {}
    for name in bench.names(site):
        log = logwrites.read(bench.log(name), site.drive_bytes)
        own = random.Random(f"{seed}/{name}").randrange(1 << 32)  # noqa: S311
        fates[name] = rebuild(log, bench.file(name), site.drive_bytes, own)
    return fates


def _last(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else ""
