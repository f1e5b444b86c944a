"""md arrays over the four drives: data in all states of an array are right, or an error that is a sentence."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from assay_lab import job, place
from assay_lab.check import Body, check, expect
from assay_lab.guest import Guest
from assay_lab.lab import Lab, Outcome
from assay_lab.qemu import MIB

Json = dict[str, Any]

ARRAY, FAILED = "/dev/md0", "/dev/nvme1n1"
DRIVES = tuple(f"/dev/nvme{index}n1" for index in range(4))
NAMES = [drive.removeprefix("/dev/") for drive in DRIVES]
PATHS = (
    ("pread+direct", "o_dsync"),
    ("libaio+direct", "fdatasync"),
    ("io_uring+direct", "rwf_dsync"),
    ("io_uring+direct+fixed", "fdatasync"),
)
_WRITER = ("io_uring+direct", "fdatasync")
_DATA = 4 * MIB
# A part of each drive, so that a rebuild is short; XFS wants 300 MiB of two drives. Then what md keeps for itself.
_SIZE_KIB = 160 * 1024
_SMALL_KIB = 32 * 1024
_OWN_KIB = 16 * 1024
_REBUILD_S = 180.0
_LEVELS = {0: "raid0", 5: "raid5", 10: "raid10"}


def _needs(level: int) -> tuple[str, ...]:
    return ("mdadm", "xfs_io", "module:raid456" if level == 5 else f"module:{_LEVELS[level]}")


@contextmanager
def _array(lab: Lab, level: int, size_kib: int = _SIZE_KIB) -> Iterator[str]:
    """A small array of all four drives, without a bitmap: all of a drive is rebuilt, not what it missed alone."""
    # Members count as in sync, and are: what earlier checks left is gone.
    zero = f"wipefs -aq $one; xfs_io -c 'fzero 0 {size_kib + _OWN_KIB}k' -c fsync $one"
    lab.guest.run(f"for one in {' '.join(DRIVES)}; do {zero}; done", timeout_s=120)
    size = [] if level == 0 else [f"--size={size_kib}", "--bitmap=none"]
    with place.array(lab.guest, level, DRIVES, ARRAY, options=size) as at:
        lab.guest.run(["wipefs", "-aq", at])
        yield at


def _written(target: Json, layout: str = "written") -> Json:
    """A job that writes stamped data all over its data set; it stays there."""
    words, durability = _WRITER
    one = job.klass(words, durability, operation={"kind": "write"}, dataset="data")
    return _with_data(job.job(target, [one], data_bytes=_DATA, keep_scratch=True), layout)


def _read(target: Json) -> Json:
    """A job that reads what is there by every path, and verifies it."""
    classes = [
        job.klass(words, operation={"kind": "read"}, dataset="data", pattern={"kind": "sequential"})
        for words, _ in PATHS
    ]
    reads = _with_data(job.job(target, classes, data_bytes=_DATA, keep_scratch=True), "as-found")
    return reads | {"window": {"measure_s": 60.0, "bytes_at_most": 2 * _DATA * len(classes)}}


def _with_data(one: Json, layout: str) -> Json:
    one["datasets"] = [{"name": "data", "target": "main", "bytes": _DATA, "content": "stamped", "layout": layout}]
    return one


def _verified(outcome: Outcome, words: str) -> Json:
    """The record of reads by every path, all of them right."""
    record = outcome.record
    for one in record["classes"]:
        found = one.get("check") or {"blocks": 0, "wrong": 0}
        expect(not one.get("errors"), f"{words}, {one['name']}: errors {one.get('errors')} / none")
        expect(one["reads"] > 0, f"{words}, {one['name']}: {one['reads']} reads / some")
        expect(found["blocks"] > 0 and found["wrong"] == 0, f"{words}, {one['name']}: {found} / blocks, none wrong")
    job.emulated(record)
    return record


def _facts(lab: Lab, at: str) -> Json:
    found: Json = lab.document("facts", "--on", at)["targets"][0]["device"]
    return found


def _fail(guest: Guest, drive: str = FAILED) -> None:
    guest.run(["mdadm", ARRAY, "--fail", drive])
    # The array lets go of the drive when it has ended what it was at.
    guest.run(f"i=0; until mdadm {ARRAY} --remove {drive}; do i=$((i+1)); [ $i -lt 50 ]; sleep 0.2; done")


def _rebuilt(lab: Lab) -> None:
    """Gives the array its drive back, empty, and waits until it is whole."""
    wiped = f"mdadm --zero-superblock {FAILED}; xfs_io -c 'fzero 0 {_SIZE_KIB + _OWN_KIB}k' -c fsync {FAILED}"
    lab.guest.run(f"{wiped}; mdadm {ARRAY} --add {FAILED}", timeout_s=120)
    limit = time.monotonic() + _REBUILD_S
    while (seen := _facts(lab, ARRAY)["array"])["missing"] or seen["sync"] != "idle":
        expect(time.monotonic() < limit, f"after {_REBUILD_S:.0f} s the array is {seen} / whole")
        time.sleep(0.5)


def _consistent(lab: Lab) -> None:
    """The kernel itself finds no stripe whose copies or parity differ."""
    state = f"/sys/block/{ARRAY.rpartition('/')[2]}/md"
    lab.guest.run(f"echo check >{state}/sync_action; until grep -q idle {state}/sync_action; do sleep 0.2; done", 180)
    wrong = lab.guest.run(f"cat {state}/mismatch_cnt").stdout.strip()
    expect(wrong == "0", f"{wrong} sectors of the rebuilt array do not agree / 0")


def _lose_and_rebuild(lab: Lab, target: Json) -> None:
    """Data are right while the array is whole, degraded, rebuilt, and when the others fail in its place."""
    job.read_back(lab.measure(job.job(target, [job.klass(*one) for one in PATHS])))
    expect(lab.measure(_written(target)).record["classes"][0]["writes"] > 0, "no writes / some")
    _verified(lab.measure(_read(target)), "whole")
    _fail(lab.guest)
    seen = _facts(lab, target["members"][0])
    expect(seen["array"]["missing"] == 1, f"degraded: facts say {seen['array']} / one missing")
    expect(set(seen["members"]) == set(NAMES) - {"nvme1n1"}, f"degraded: members {seen['members']} / three")
    _verified(lab.measure(_read(target)), "degraded")
    _rebuilt(lab)
    _verified(lab.measure(_read(target)), "rebuilt")


def survives(level: int, kind: str) -> Body:
    """The check that an array, or a file system on it, loses no data with a drive."""

    def body(lab: Lab) -> None:
        with _array(lab, level, _SIZE_KIB if kind else _SMALL_KIB) as at:
            if not kind:
                _lose_and_rebuild(lab, job.device(at, lab.serial(at)))
                _consistent(lab)
                return
            lab.guest.run(f"modprobe {kind}")
            with place.file_system(lab.guest, kind, at) as folder:
                _lose_and_rebuild(lab, job.folder(folder))

    words = f"{kind} on RAID {level}" if kind else f"RAID {level} itself"
    body.__doc__ = f"On {words} every path reads what was written: whole, with a drive lost, and rebuilt."
    name = f"{_LEVELS[level]}-{kind or 'device'}"
    makers = {"ext4": ("mke2fs",), "xfs": ("mkfs.xfs",)}.get(kind, ())
    return check(name, (*_needs(level), *makers), ci=(level, kind) == (5, ""))(body)


for _level in (5, 10):
    for _kind in ("", "ext4", "xfs"):
        globals()[f"survives_{_level}_{_kind}"] = survives(_level, _kind)


def _broken_off(lab: Lab, target: Json, words: str) -> None:
    """With a drive gone, errors are counted and said; nothing that was read passes for data, and none is wrong."""
    outcome = lab.measure(_read(target))
    last = outcome.events[-1] if outcome.events else {}
    if last.get("event") == "refused":
        expect("error" in outcome.refusal.lower(), f"{words}: {outcome.refusal} / it says that there was an error")
        return
    record = outcome.record
    failed = [one for one in record["classes"] if one.get("errors")]
    expect(bool(failed), f"{words}: no class saw an error / a quarter of the data is gone")
    for one in record["classes"]:
        found = one.get("check") or {"wrong": 0}
        expect(found["wrong"] == 0, f"{words}, {one['name']}: {found} / an error is never taken for data")
    said = [reason for reason in record["verdict"]["reasons"] if reason["code"] == "errors"]
    expect(bool(said), f"{words}: the verdict's reasons are {record['verdict']['reasons']} / errors among them")
    expect("operations failed" in said[0]["evidence"], f"{words}: {said[0]} / a sentence that counts them")


@check("raid0-device", needs=(*_needs(0), "module:dm_mod", "dmsetup"))
def raid0_device(lab: Lab) -> None:
    """RAID 0 serves every path; where a drive gives only errors, reads end in errors that are told, never in data."""
    with _mapped_array(lab) as at:
        target = job.device(at, lab.serial(at))
        job.read_back(lab.measure(job.job(target, [job.klass(*one) for one in PATHS])))
        expect(lab.measure(_written(target)).record["classes"][0]["writes"] > 0, "no writes / some")
        _verified(lab.measure(_read(target)), "whole")
        _lose_mapped(lab.guest)
        _broken_off(lab, target, "a drive is gone")


@check("raid0-xfs", needs=(*_needs(0), "module:dm_mod", "dmsetup", "mkfs.xfs"), ci=False)
def raid0_xfs(lab: Lab) -> None:
    """On XFS over RAID 0 the same: what a lost drive held is an error that is told."""
    lab.guest.run("modprobe xfs")
    with _mapped_array(lab) as at, place.file_system(lab.guest, "xfs", at) as folder:
        target = job.folder(folder)
        job.read_back(lab.measure(job.job(target, [job.klass(*one) for one in PATHS])))
        expect(lab.measure(_written(target)).record["classes"][0]["writes"] > 0, "no writes / some")
        _verified(lab.measure(_read(target)), "whole")
        _lose_mapped(lab.guest)
        _broken_off(lab, target, "a drive is gone")


@contextmanager
def _mapped_array(lab: Lab) -> Iterator[str]:
    """RAID 0 of which one member is a mapping that can be replaced by one that fails: md has no `--fail` for it."""
    lab.guest.run(f"modprobe dm_mod; wipefs -aq {' '.join(DRIVES)}")
    blocks = lab.guest.run(f"blockdev --getsz {FAILED}").stdout.strip()
    lab.guest.run(f'echo "0 {blocks} linear {FAILED} 0" | dmsetup create lost')
    lab.guest.run("dmsetup mknodes lost")
    node = lab.guest.run("dmsetup info -c --noheadings -o blkdevname lost").stdout.strip()
    try:
        with place.array(lab.guest, 0, [f"/dev/{node}" if drive == FAILED else drive for drive in DRIVES]) as at:
            lab.guest.run(["wipefs", "-aq", at])
            try:
                yield at
            finally:
                _map(lab.guest, "linear", f"{FAILED} 0")
    finally:
        if lab.guest.alive:
            lab.guest.run("dmsetup remove --retry lost", check=False)


def _map(guest: Guest, kind: str, rest: str = "") -> None:
    if guest.alive:
        table = f"0 $(blockdev --getsz {FAILED}) {kind} {rest}"
        guest.run(f'dmsetup suspend --noflush lost; echo "{table}" | dmsetup load lost; dmsetup resume lost')


def _lose_mapped(guest: Guest) -> None:
    _map(guest, "error")
    guest.run("echo 3 >/proc/sys/vm/drop_caches")


@check("facts-name-level-and-members", needs=(*_needs(5), *_needs(10), *_needs(0)), ci=False)
def facts_name_level_and_members(lab: Lab) -> None:
    """`assayer facts` names members, level and stripes of an array; its record names them too."""
    for level, name in _LEVELS.items():
        with _array(lab, level) as at:
            seen = _facts(lab, at)
            expect(sorted(seen["members"]) == NAMES, f"members of {name}: {seen['members']} / {NAMES}")
            wanted = {"level": name, "chunk_bytes": 64 << 10, "devices": 4, "missing": 0}
            found = {key: seen["array"][key] for key in wanted}
            expect(found == wanted, f"facts of {name}: {found} / {wanted}")


@check("names-of-an-array", needs=_needs(5), ci=False)
def names_of_an_array(lab: Lab) -> None:
    """An array is confirmed by its UUID, or by its size where the kernel shows none; its members are refused."""
    with _array(lab, 5) as at:
        serial = lab.serial(at)
        expect(len(serial) == 36 or serial.endswith("-bytes"), f"the array's serial number is {serial!r} / a name")
        wanted = job.klass("io_uring+direct")
        refusal = lab.measure(job.job(job.device(at, "assay-nv0"), [wanted])).refusal
        expect(f"its serial number is {serial}, not assay-nv0" in refusal, f"{refusal} / the array's own name")
        for drive in DRIVES:
            refusal = lab.measure(job.job(job.device(drive, lab.serial(drive)), [wanted])).refusal
            expect("the md array md0 is built on it" in refusal, f"{drive}: {refusal} / its array is named")
