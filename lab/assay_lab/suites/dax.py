"""Persistent memory: DAX is really on, stores reach the medium, and what has no DAX says so."""

from __future__ import annotations

import json
import mmap
import re
from pathlib import Path
from typing import Any

from assay_lab import job
from assay_lab.check import Broken, check, expect
from assay_lab.lab import Lab
from assay_lab.qemu import KIB, MIB
from assay_lab.suites import paths

Json = dict[str, Any]

_STATX_DAX = 0x0020_0000
_PAGE = 4 * KIB
_STAMP = b"AssayBlk"
_WRITES = {"operation": {"kind": "write"}}
# A job that ends by work may be over before its mappings were looked at once.
_LOOKED_AT_S = 5.0
# While a job runs, its mappings are looked at: `sf` is the mark of MAP_SYNC. What the job says is for failures.
_FLAGS = """
assayer run - <"$1" >/dev/null 2>/tmp/said &
pid=$!
while kill -0 $pid 2>/dev/null; do
    awk -v file="$2" '/^[0-9a-f]+-/ {inside = index($0, file)} inside && /^VmFlags/ {print}' /proc/$pid/smaps
done 2>/dev/null | sort -u
wait $pid || { echo "exit code $?"; cat /tmp/said; }
"""


def _flags(lab: Lab, wanted: Json, file: str) -> str:
    """The kernel's flags of a job's mapping of a file, as seen while it ran."""
    (lab.share / "job.json").write_text(json.dumps(wanted))
    (lab.share / "flags.sh").write_text(_FLAGS)
    return lab.guest.run(["sh", "/share/flags.sh", "/share/job.json", file], timeout_s=90).stdout


def _stores(name: str) -> Json:
    return job.klass(name, "persist", **_WRITES)


@check("map-sync-is-on", needs=("ndctl", "mkfs.xfs", "module:xfs"))
def map_sync_is_on(lab: Lab) -> None:
    """The `pmem` path maps with MAP_SYNC on ext4 and XFS with DAX and on device-DAX, as the kernel's flags show."""
    for name in ("fsdax-ext4", "fsdax-xfs"):
        with paths.PLACES[name][0](lab) as target:
            wanted = job.job(target, [_stores("pmem+clwb")], window={"measure_s": _LOOKED_AT_S})
            flags = _flags(lab, wanted, "pmem-clwb")
            expect(" sf" in flags, f"{name}: flags of the mapping are {flags.strip()!r} / sf among them")


@check("map-sync-is-refused-elsewhere", needs=("module:ext4",), ci=False)
def map_sync_is_refused_elsewhere(lab: Lab) -> None:
    """On a drive, on a file system without DAX and on a sector namespace the `pmem` path is refused, with a way out."""
    for name in ("drive", "ext4", "sector"):
        with paths.PLACES[name][0](lab) as target:
            outcome = lab.measure(job.job(target, [_stores("pmem")]))
            expect(outcome.code == 4, f"{name}: exit code {outcome.code} / 4, not possible here")
            expect("MAP_SYNC" in outcome.refusal, f"{name}: {outcome.refusal} / a word about MAP_SYNC")
            expect("dax" in outcome.refusal, f"{name}: {outcome.refusal} / a place that has DAX")


@check("statx-shows-dax", needs=("ndctl", "xfs_io", "mkfs.xfs", "module:xfs"), ci=False)
def statx_shows_dax(lab: Lab) -> None:
    """Files on a DAX mount carry the attribute, files on a drive do not; the facts name the device and say the same."""
    for name, wanted in (("fsdax-ext4", True), ("fsdax-xfs", True), ("ext4", False)):
        with paths.PLACES[name][0](lab) as target:
            at = target["members"][0]
            said = lab.guest.run(f"echo x >{at}/f && xfs_io -r -c 'statx -r' {at}/f").stdout
            found = re.search(r"stat\.attributes = 0x([0-9a-f]+)", said)
            if found is None:
                raise Broken(f"{name}: statx says {said!r} / its attributes")
            seen = bool(int(found[1], 16) & _STATX_DAX)
            expect(seen == wanted, f"{name}: the DAX attribute is {seen} / {wanted}")
            facts = lab.document("facts", "--on", at)["targets"][0]
            expect(facts["device"]["dax"] == wanted, f"{name}: facts of {facts['device']['name']} / dax = {wanted}")


@check("stores-reach-the-medium", needs=("ndctl", "module:ext4"))
def stores_reach_the_medium(lab: Lab) -> None:
    """What `nt`, `clwb` and `clflushopt` wrote stands in the module's backing file on the host, byte for byte."""
    with paths.PLACES["fsdax-ext4"][0](lab) as target:
        classes = [_stores(f"pmem+{how}") for how in ("nt", "clwb", "clflushopt")]
        lab.measure(job.job(target, classes, keep_scratch=True)).record  # noqa: B018  Breaks where there is none.
        files = lab.guest.run(f"ls {target['members'][0]}/assay-scratch/*.data").stdout.split()
        expect(len(files) == len(classes), f"data sets {files} / one for each of {len(classes)} classes")
        for file in files:
            lab.guest.run(["cp", file, "/share/copy"])
            gone = _pages_missing(lab.share / "copy", lab.folder / f"pm{paths.EXT4_MODULE}")
            expect(gone == 0, f"{file}: {gone} of its pages are not in the backing file / all are")


@check("stores-to-device-dax-reach-the-medium", needs=("ndctl", "module:device_dax"))
def stores_to_device_dax_reach_the_medium(lab: Lab) -> None:
    """What the `pmem` path writes to a device-DAX node changes the module's backing file on the host."""
    backing = lab.folder / f"pm{paths.DAX_MODULE}"
    with paths.PLACES["device-dax"][0](lab) as target:
        before = backing.read_bytes()
        record = lab.measure(job.job(target, [_stores("pmem+nt")], seed=11)).record
        after = backing.read_bytes()
    pages = range(0, len(after), _PAGE)
    stamped = sum(after.startswith(_STAMP, at) for at in pages)
    expect(stamped >= MIB // _PAGE, f"{stamped} pages hold stamps / all of the data set, 256")
    # What an earlier check prepared there may be the same, page by page; what was written over it is not.
    changed = sum(before[at : at + _PAGE] != after[at : at + _PAGE] for at in pages)
    writes = record["classes"][0]["writes"]
    expect(changed > 0, f"no page changed after {writes} writes / some")


@check("device-dax-alignment", needs=("ndctl", "module:device_dax"))
def device_dax_alignment(lab: Lab) -> None:
    """Data sets that begin and end off the node's pages work; the kernel itself refuses such a mapping."""
    with paths.PLACES["device-dax"][0](lab) as target:
        align = int(lab.guest.run(f"cat /sys/bus/dax/devices/{_node(target)}/align").stdout)
        expect(align == 2 * MIB, f"the node's pages have {align} bytes / 2 MiB")
        classes = [job.klass("pmem+nt", "persist"), job.klass("pmem+clwb", "persist", size=64)]
        job.read_back(lab.measure(job.job(target, classes, data_bytes=3 * MIB // 2)))
        done = lab.guest.run(["xfs_io", "-r", "-c", f"mmap -r 0 {_PAGE}", target["members"][0]], check=False)
        said = done.stdout + done.stderr
        expect("Invalid argument" in said, f"a mapping of {_PAGE} bytes gave {said!r} / Invalid argument")


@check("device-dax-refusals", needs=("ndctl", "module:device_dax"))
def device_dax_refusals(lab: Lab) -> None:
    """A node refuses paths of system calls, data that does not fit, a missing or wrong serial, and no confirmation."""
    with paths.PLACES["device-dax"][0](lab) as target:
        for words in ("pread", "mmap", "libaio+direct", "io_uring", "nvme_passthrough"):
            _refused(lab, job.job(target, [job.klass(words)]), "pmem" if words != "nvme_passthrough" else "namespace")
        stores = [_stores("pmem+nt")]
        _refused(lab, job.job(target, stores, data_bytes=1 << 30), "does not fit")
        _refused(lab, job.job(target | {"serials": ["wrong"]}, stores), "serial number is")
        _refused(lab, job.job(target | {"serials": []}, stores), "--serial")
        _refused(lab, job.job(target | {"yes_destroy": False}, stores), "--yes-destroy")
        _refused(lab, job.job(target | {"kind": "block-device"}, stores), "device-DAX")


@check("guard-knows-device-dax", needs=("ndctl", "module:device_dax"))
def guard_knows_device_dax(lab: Lab) -> None:
    """`assayer guard` says of a device-DAX node what it is to be named by, and who has it mapped."""
    with paths.PLACES["device-dax"][0](lab) as target:
        node = target["members"][0]
        seen = lab.document("guard", node)
        expect(seen["in_use"] == [] and len(seen["serial"]) == 36, f"a free node: {seen} / no use, a UUID")


def _node(target: Json) -> str:
    return str(target["members"][0]).rpartition("/")[2]


def _refused(lab: Lab, wanted: Json, word: str) -> None:
    refusal = lab.measure(wanted).refusal
    expect(word in refusal, f"{wanted['classes'][0]['path']}: {refusal} / {word!r} in the sentence")


def _pages_missing(copy: Path, backing: Path) -> int:
    """Pages of a file that stand nowhere in the backing file; each has contents of its own."""
    pages = copy.read_bytes()
    missing = 0
    at = -_PAGE
    with backing.open("rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as medium:
        for start in range(0, len(pages), _PAGE):
            page = pages[start : start + _PAGE]
            if medium[at + _PAGE : at + 2 * _PAGE] == page:
                at += _PAGE
                continue
            at = medium.find(page)
            missing += at < 0
    return missing
