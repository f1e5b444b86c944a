"""Drives that are driven from user space: the kernel's view of the data, the guards, and the way back."""

from __future__ import annotations

import json
import shlex
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from assay_lab import place
from assay_lab.check import Skip, check, expect
from assay_lab.guest import Job
from assay_lab.lab import Lab, Outcome
from assay_lab.qemu import KIB, MIB

Json = dict[str, Any]

DRIVES = ("/dev/nvme0n1", "/dev/nvme1n1")
_NEEDS = ("module:vfio_pci", "module:vfio_iommu_type1")
_KERNEL: Json = {"kind": "pread", "direct": True}
_POLLED: Json = {"kind": "nvme_polled"}
_READ: Json = {"kind": "read"}
_MIX: Json = {"kind": "mix", "write_percent": 50}
_LEDGER = "/run/assay/nvme_polled"
# The emulator's IOMMU remaps no interrupts, which the kernel wants to be told; the path uses none.
_SET_UP = "modprobe vfio_iommu_type1 allow_unsafe_interrupts=1; modprobe vfio-pci"


def _job(lab: Lab, path: Json, drives: Sequence[str] = DRIVES[:1], data_bytes: int = 8 * MIB, **more: Any) -> Json:
    """A job with one class on whole drives; `layout` is of its data, other fields are of its class."""
    layout, seconds = more.pop("layout", "written"), more.pop("measure_s", 0.5)
    target = {"id": "main", "kind": "block-device", "members": list(drives), "yes_destroy": True}
    one = {
        "name": "one",
        "dataset": "data",
        "path": path,
        "operation": _MIX,
        "pattern": {"kind": "uniform"},
        "size": 4096,
    }
    return {
        "version": 1,
        "name": "polled",
        "seed": 7,
        "targets": [target | {"serials": [lab.serial(drive) for drive in drives]}],
        "datasets": [{"name": "data", "target": "main", "bytes": data_bytes, "content": "stamped", "layout": layout}],
        "classes": [one | {"durability": {"kind": "none"}} | more],
        "window": {"measure_s": seconds},
        "checks": {"data": True},
    }


def _verified(outcome: Outcome, words: str) -> Json:
    """Its class; blocks were read, and all were right."""
    one: Json = outcome.record["classes"][0]
    found = one.get("check") or {"blocks": 0, "wrong": 0}
    expect(not one.get("errors"), f"{words}: errors {one.get('errors')} / none")
    expect(found["blocks"] > 0 and found["wrong"] == 0, f"{words}: {found} / blocks read, none of them wrong")
    return one


def _as_found(lab: Lab, path: Json, like: Mapping[str, Any]) -> Json:
    """Reads what a job left, by another path."""
    target, one = like["targets"][0], like["classes"][0]
    data_bytes = like["datasets"][0]["bytes"]
    return _job(lab, path, target["members"], data_bytes, layout="as-found", operation=_READ, size=one["size"])


def _with_kernel(lab: Lab, drives: Sequence[str] = DRIVES) -> list[str]:
    """Of these drives, those that the kernel does not have, by name; and notes that were left."""
    script = " ".join(f"[ -b {drive} ] || echo {drive};" for drive in drives)
    return lab.guest.run(f"{script} ls {_LEDGER} 2>/dev/null", check=False).stdout.split()


def _expect_back(lab: Lab, words: str, within_s: float = 60.0) -> None:
    """The kernel has all drives, by the names that they had."""
    limit = time.monotonic() + within_s
    while (missing := _with_kernel(lab)) and time.monotonic() < limit:
        time.sleep(0.5)
    expect(not missing, f"{words}: {', '.join(missing)} missing or noted / every drive with the kernel, no notes")


def _both_ways(lab: Lab, path: Json, **more: Any) -> None:
    """What this path wrote the kernel reads, and what the kernel wrote this path reads."""
    written = _job(lab, path, **more)
    _verified(lab.measure(written), "written and read by polling")
    _expect_back(lab, "after the run")
    _verified(lab.measure(_as_found(lab, _KERNEL, written)), "written by polling, read by the kernel")
    kernels = _job(lab, _KERNEL, written["targets"][0]["members"], size=written["classes"][0]["size"])
    _verified(lab.measure(kernels), "written by the kernel")
    _verified(lab.measure(_as_found(lab, path, kernels)), "written by the kernel, read by polling")
    _expect_back(lab, "after the second run")


@check("vfio", needs=_NEEDS)
def vfio(lab: Lab) -> None:
    """Through VFIO and the IOMMU: the kernel reads what was written by polling, and the other way round."""
    lab.guest.run(_SET_UP)
    _both_ways(lab, _POLLED | {"reach": "vfio"}, depth=8, batch=4, durability={"kind": "fdatasync"})


@check("uio", needs=["module:uio_pci_generic"])
def uio(lab: Lab) -> None:
    """Through UIO, with physical addresses: the kernel reads what was written by polling, and the other way round."""
    lab.guest.run("modprobe uio_pci_generic")
    _both_ways(lab, _POLLED | {"reach": "uio"}, depth=64, batch=16, durability={"kind": "o_dsync"})


@check("no-iommu", needs=_NEEDS, ci=False)
def no_iommu(lab: Lab) -> None:
    """On a machine without an IOMMU VFIO is refused, and registers are mapped from sysfs."""
    lab.renew(words=(*lab.spec.words, "intel_iommu=off"))
    try:
        outcome = lab.measure(_job(lab, _POLLED | {"reach": "vfio"}))
        expect("no IOMMU" in outcome.refusal, f"{outcome.refusal} / it says that there is no IOMMU")
        _both_ways(lab, _POLLED, threads=2, depth=16)
    finally:
        lab.power_off()


@check("vfio-no-iommu", needs=_NEEDS, ci=False)
def vfio_no_iommu(lab: Lab) -> None:
    """VFIO without an IOMMU, where the kernel is built with it."""
    lab.renew(words=(*lab.spec.words, "intel_iommu=off"))
    try:
        lab.guest.run("modprobe vfio enable_unsafe_noiommu_mode=1; modprobe vfio-pci", check=False)
        parameter = "/sys/module/vfio/parameters/enable_unsafe_noiommu_mode"
        if lab.guest.run(f"grep Y {parameter}", check=False).returncode != 0:
            raise Skip("the guest's kernel is built without VFIO_NOIOMMU")
        _both_ways(lab, _POLLED | {"reach": "no_iommu"}, threads=2, depth=16)
    finally:
        lab.power_off()


@check("threads", needs=_NEEDS)
def threads(lab: Lab) -> None:
    """Several threads share a controller, each with queues of its own."""
    lab.guest.run(_SET_UP)
    one = _verified(lab.measure(_job(lab, _POLLED, threads=4, depth=4, batch=2)), "four threads")
    calls = one["cpu"]["system_calls_per_op"]["value"]
    expect(calls == 0, f"{calls} system calls per operation / none in the measured loop")


@check("interleaved", needs=_NEEDS)
def interleaved(lab: Lab) -> None:
    """Two drives by page, a depth of 1024 in batches of 256, sleeps of 50 us between polls."""
    lab.guest.run(_SET_UP)
    path = _POLLED | {"poll_sleep_us": 50}
    job = _job(lab, path, DRIVES, 32 * MIB, operation=_READ, size=16 * KIB, depth=1024, batch=256, measure_s=2.0)
    _verified(lab.measure(job), "two drives")
    _expect_back(lab, "after the run")
    large = _job(lab, _POLLED, DRIVES, 32 * MIB, size=4 * MIB, depth=2)
    _verified(lab.measure(large), "transfers of 4 MiB, larger than a command's limit")
    _verified(lab.measure(_as_found(lab, _KERNEL, large)), "the same, read by the kernel")


@check("refusals", needs=(*_NEEDS, "mdadm"), ci=False)
def refusals(lab: Lab) -> None:
    """A drive in use stays with the kernel: mounted, partitioned, with a file system, part of an array; reads too."""
    lab.guest.run(_SET_UP)
    job = _job(lab, _POLLED)
    reads = _job(lab, _POLLED, layout="as-found", operation=_READ)
    drive = DRIVES[0]

    def refused(words: str) -> None:
        for wanted in (job, reads):
            said = lab.measure(wanted).refusal
            expect(words in said, f"{said} / a refusal that says `{words}`")
        _expect_back(lab, words, within_s=0.0)

    lab.guest.run("modprobe xfs")
    with place.file_system(lab.guest, "xfs", drive):
        refused("mounted at")
    refused("signature")
    lab.guest.run(f"wipefs -aq {drive}")
    lab.guest.run(f"printf 'label: gpt\\n,\\n' | sfdisk -q {drive}", check=False)
    lab.guest.run(f"[ -b {drive}p1 ] || printf 'n\\np\\n1\\n\\n\\nw\\n' | fdisk {drive}", check=False)
    refused("partition")
    lab.guest.run(f"wipefs -aq {drive}; blockdev --rereadpt {drive}", check=False)
    with place.array(lab.guest, 0, DRIVES):
        refused("md array")
    lab.guest.run(f"wipefs -aq {' '.join(DRIVES)}")
    mixed = _job(lab, _POLLED)
    other = mixed["classes"][0] | {"name": "other", "path": _KERNEL}
    mixed["classes"].append(other)
    said = lab.measure(mixed).refusal
    expect("class other would reach it" in said, f"{said} / no other path on a drive that is taken")


def _measures(running: Job) -> bool:
    """It has told of an interval of its window."""
    told = running.path("out")
    return told.exists() and '"interval"' in told.read_text()


@contextmanager
def _running(lab: Lab) -> Iterator[tuple[Job, str]]:
    """A run on two drives that would last long, in its window; and its process."""
    lab.guest.run(_SET_UP)
    job = _job(lab, _POLLED, DRIVES, depth=8, batch=4, threads=2, measure_s=300.0)
    note = f"echo {shlex.quote(json.dumps(job))} >/tmp/polled.json; echo $$ >/tmp/polled.pid"
    command = f"{note}; exec assayer run /tmp/polled.json"
    running = lab.guest.start(command)
    try:
        limit = time.monotonic() + 120.0
        while not _measures(running):
            expect(not running.done and time.monotonic() < limit, "the run came to no window / it measures")
            time.sleep(0.2)
        taken = [drive for drive in DRIVES if drive in _with_kernel(lab)]
        expect(taken == list(DRIVES), f"{taken} are away from the kernel / {DRIVES}")
        yield running, lab.guest.run("cat /tmp/polled.pid").stdout.strip()
    finally:
        if not running.done:
            lab.guest.run("kill -9 $(cat /tmp/polled.pid)", check=False)


@check("killed", needs=_NEEDS)
def killed(lab: Lab) -> None:
    """After a kill in mid-run the drives are back with the kernel, and their data are whole."""
    with _running(lab) as (running, process):
        lab.guest.run(f"kill -9 {process}")
        running.wait()
    _expect_back(lab, "after a kill")
    _verified(lab.measure(_job(lab, _POLLED)), "the next run")


@check("killed-all", needs=_NEEDS, ci=False)
def killed_all(lab: Lab) -> None:
    """After a kill of the run and its guardians, cleaning gives the drives back."""
    with _running(lab) as (running, process):
        guardians = lab.guest.run("grep -l '^assay-guardian' /proc/[0-9]*/comm | cut -d/ -f3").stdout.split()
        expect(len(guardians) == len(DRIVES), f"{len(guardians)} guardians / one for each of {len(DRIVES)} drives")
        lab.guest.run(f"kill -9 {' '.join(guardians)} {process}")
        running.wait()
    noted = lab.guest.run(f"ls {_LEDGER}").stdout.split()
    expect(len(noted) == len(DRIVES), f"notes {noted} / one for each drive")
    given = json.loads(lab.guest.assayer("polled", "clean").stdout)
    expect(all(drive["returned"] for drive in given) and len(given) == 2, f"{given} / both returned")
    _expect_back(lab, "after cleaning")


@check("interrupted", needs=_NEEDS, ci=False)
def interrupted(lab: Lab) -> None:
    """One interrupt ends the run in order; two end it at once, and the drives are back in either case."""
    for times in (1, 2):
        with _running(lab) as (running, process):
            lab.guest.run("; ".join([f"kill -INT {process}"] * times), check=False)
            ended = running.wait()
            expect(ended.returncode == 3, f"exit code {ended.returncode} after {times} interrupts / 3")
        _expect_back(lab, f"after {times} interrupts")
