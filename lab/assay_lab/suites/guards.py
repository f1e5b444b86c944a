"""A device in use is not written to: each way of being in use, seen and named, with nothing changed on any drive."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from assay_lab import job, place
from assay_lab.check import Body, Skip, check, expect
from assay_lab.guest import Job
from assay_lab.lab import Lab
from assay_lab.uses import DRIVE, EXT4, GROUPS, MOUNTED, OTHER, WIPE, Use

Json = dict[str, Any]

DAX_MODULE, FSDAX_MODULE = 2, 0
_IN_USE = 4
_REFUSED = 1
_PIECE = 64 << 10
_ZEROS = bytes(_PIECE)
_MODULES = "modprobe -a vfio-pci ext4 xfs btrfs f2fs loop dm_mod raid1"
_POLLED = "modprobe vfio_iommu_type1 allow_unsafe_interrupts=1"
_ONE_OF_EACH = {
    "mounted": "mounted-by-another-node",
    "partitioned": "mounted-partition",
    "arrays": "active-array",
    "volumes": "active-volume",
    "mapped": "loop-device",
    "swapped": "swap",
    "signatures": "zfs-label-2",
}


def refuses(group: str) -> Body:
    """The check that all uses of a group are refused."""
    uses, clean, needs = GROUPS[group]

    def body(lab: Lab) -> None:
        _all_refused(lab, uses, clean)

    body.__doc__ = f"{len(uses)} uses are seen and named, nothing is written, the drive stays with the kernel: {group}."
    return check(group, needs, ci=False)(body)


for _name in GROUPS:
    globals()[f"refuses_{_name}"] = refuses(_name)


@check("one-of-each", needs=("mke2fs", "sfdisk", "mdadm", "lvm", "losetup"))
def one_of_each(lab: Lab) -> None:
    """One use of each group is refused: mounted by another node, partition, array, volume, loop device, swap, ZFS."""
    for group, name in _ONE_OF_EACH.items():
        uses, clean, _ = GROUPS[group]
        _all_refused(lab, [use for use in uses if use.name == name], clean)


def _all_refused(lab: Lab, uses: Sequence[Use], clean: str) -> None:
    lab.guest.run(f"{_MODULES}; {_POLLED}; mkdir -p /mnt/u /mnt/v", check=False)
    lacking = [use.name for use in uses if any(need in lab.parts.tools.lacking for need in use.needs)]
    for use in uses:
        if use.name in lacking:
            continue
        with _without_blkid(lab), _used(lab, use, clean):
            _refused(lab, use)
    if lacking:
        raise Skip(f"passed but for {', '.join(lacking)}, whose programs are missing: assay lab doctor")


@contextmanager
def _without_blkid(lab: Lab) -> Iterator[None]:
    """It is not on every machine, and knows more than Assay's own table, which is what is asked here."""
    lab.guest.run("[ ! -e /sbin/blkid ] || mv /sbin/blkid /sbin/not-blkid")
    try:
        yield
    finally:
        if lab.guest.alive:
            lab.guest.run("[ ! -e /sbin/not-blkid ] || mv /sbin/not-blkid /sbin/blkid")


@contextmanager
def _used(lab: Lab, use: Use, clean: str = "") -> Iterator[None]:
    names = f"D={DRIVE} E={OTHER}; export D E"
    lab.guest.run(f"{names}; set -e; {use.make}", timeout_s=120)
    try:
        yield
    finally:
        if lab.guest.alive:
            ended = f"{names}; {use.undo}; {clean or 'true'}; {WIPE}"
            lab.guest.run(ended, timeout_s=120, check=False)


def _refused(lab: Lab, use: Use) -> None:
    """Seen by `assayer guard`; refused to the kernel's paths, and to the path that takes the drive, even to read."""
    before = _contents(lab)
    seen = _guarded(lab, use.device)
    reasons = "; ".join(one["reason"] for one in seen["in_use"])
    expect(use.said in reasons or use.name == "read-only", f"{use.name}: guard says {reasons!r} / {use.said!r}")
    target = job.device(use.device, seen["serial"])
    kernels = [job.klass("pread+direct")] + [job.klass("nvme_passthrough")] * (use.device == DRIVE)
    wanted = [("the kernel", job.job(target, kernels))]
    if use.device == DRIVE and use.name != "read-only":
        taken = job.job(target, [job.klass("nvme_polled", operation={"kind": "read"})])
        taken["datasets"][0]["layout"] = "as-found"
        wanted.append(("nvme_polled", taken))
    for path, one in wanted:
        outcome = lab.measure(one)
        words = f"{use.name}, by {path}"
        expect(outcome.code == _REFUSED, f"{words}: exit code {outcome.code} ({outcome.said}) / {_REFUSED}")
        expect(use.said in outcome.refusal, f"{words}: {outcome.refusal} / {use.said!r} in the sentence")
        expect(use.device in outcome.refusal, f"{words}: {outcome.refusal} / {use.device} in the sentence")
    _unchanged(lab, before, use.name)
    lab.guest.run(f"[ -b {use.device} ]")


def _guarded(lab: Lab, device: str) -> Json:
    """What `assayer guard` says of a device."""
    done = lab.guest.assayer("guard", device, check=False)
    found: Json = json.loads(done.stdout or "{}")
    expected = _IN_USE if found.get("in_use") else 0
    expect(done.returncode == expected, f"guard {device}: exit code {done.returncode}, {found} {done.stderr}")
    return found


def _contents(lab: Lab, kind: str = "nv") -> dict[str, str]:
    """A checksum of every drive (`pm`: every module of memory), out of what the host keeps of it."""
    lab.guest.run("sync")
    names = [path for path in sorted(lab.folder.iterdir()) if path.name.startswith(kind)]
    return {path.name: _checksum(path) for path in names}


def _checksum(path: Path) -> str:
    """Of all that stands in a file; where it has holes and where zeros may change without a write."""
    seen = hashlib.blake2b()
    with path.open("rb") as file:
        at, end = 0, path.stat().st_size
        while at < end:
            try:
                at = os.lseek(file.fileno(), at, os.SEEK_DATA) // _PIECE * _PIECE
            except OSError:
                break
            piece = os.pread(file.fileno(), _PIECE, at)
            if piece != _ZEROS[: len(piece)]:
                seen.update(at.to_bytes(8, "little") + piece)
            at += _PIECE
    return seen.hexdigest()


def _unchanged(lab: Lab, before: dict[str, str], words: str, kind: str = "nv") -> None:
    after = _contents(lab, kind)
    changed = [name for name, checksum in after.items() if before[name] != checksum]
    expect(not changed, f"{words}: {', '.join(changed)} changed / nothing is written to a device that is refused")


@check("names-and-confirmation")
def names_and_confirmation(lab: Lab) -> None:
    """A wrong serial number, none, no --yes-destroy, and what is no block device are refused; nothing is written."""
    target = job.device(DRIVE, lab.serial(DRIVE))
    before = _contents(lab)
    wanted: tuple[tuple[Json, str], ...] = (
        ({"serials": ["assay-nv1"]}, "its serial number is assay-nv0, not assay-nv1"),
        ({"serials": []}, "no serial number was given"),
        ({"yes_destroy": False}, "--yes-destroy"),
        ({"members": ["/dev/nvme0"]}, "it is no block device"),
        ({"members": ["/dev"]}, "it is no block device"),
        ({"members": [DRIVE, "/dev/disk/by-id/twice"], "serials": ["assay-nv0"] * 2}, "named twice"),
    )
    lab.guest.run(f"ln -sf {DRIVE} /dev/disk/by-id/twice")
    for change, said in wanted:
        outcome = lab.measure(job.job(target | change, [job.klass("pread+direct")]))
        expect(outcome.code == _REFUSED, f"{change}: exit code {outcome.code} ({outcome.said}) / {_REFUSED}")
        expect(said in outcome.refusal, f"{change}: {outcome.refusal} / {said!r}")
    _unchanged(lab, before, "without confirmation")


@check("links", needs=("mke2fs", "module:ext4"), ci=False)
def links(lab: Lab) -> None:
    """Links, chains of links and other nodes are refused while their device is mounted, and serve when it is free."""
    lab.guest.run("mkdir -p /mnt/u; ln -sf ../../nvme0n1 /dev/disk/by-id/one; ln -sf /dev/disk/by-id/one /run/two")
    lab.guest.run(f"rm -f /run/node; cp -a {DRIVE} /run/node")
    named = ("/dev/disk/by-id/one", "/run/two", "/run/node")
    with _used(lab, MOUNTED[0]):
        before = _contents(lab)
        for name in named:
            outcome = lab.measure(job.job(job.device(name, "assay-nv0"), [job.klass("io_uring+direct")]))
            expect("mounted at /mnt/u" in outcome.refusal, f"{name}: {outcome.refusal} / it is mounted")
        _unchanged(lab, before, "through a link")
    for name in named:
        job.read_back(lab.measure(job.job(job.device(name, "assay-nv0"), [job.klass("io_uring+direct")])))
    lab.guest.run("rm /dev/disk/by-id/one /run/two /run/node")


@check("free-partition", needs=("sfdisk", "mke2fs", "module:ext4"), ci=False)
def free_partition(lab: Lab) -> None:
    """A free partition is written to while its sister is mounted, and no byte of the rest of the drive changes."""
    two = Use(
        "two",
        f'printf \'label: gpt\\n,64M\\n,64M\\n,\\n\' | sfdisk -q "$D"; {EXT4} "$D"p1; mount -o ro "$D"p1 /mnt/u',
        "",
        "umount /mnt/u",
    )
    lab.guest.run("mkdir -p /mnt/u")
    with _used(lab, two, 'wipefs -aq "$D"; blockdev --rereadpt "$D"'):
        said = lab.guest.run("cd /sys/block/nvme0n1/nvme0n1p2; cat start size").stdout.split()
        start, size = (int(sectors) * 512 for sectors in said)
        before = _around(lab, start, size)
        classes = [job.klass("pread+direct"), job.klass("io_uring+direct"), job.klass("pread", "fsync")]
        job.read_back(lab.measure(job.job(job.device(f"{DRIVE}p2", "assay-nv0"), classes)))
        expect(_around(lab, start, size) == before, "bytes outside the partition changed / none")


def _around(lab: Lab, start: int, size: int) -> str:
    lab.guest.run("sync")
    data = (lab.folder / "nv0").read_bytes()
    return hashlib.blake2b(data[:start] + data[start + size :]).hexdigest()


@contextmanager
def _busy(lab: Lab, target: Json, words: str, durability: str = "none") -> Iterator[Job]:
    """A run on a device that lasts."""
    long = job.job(target, [job.klass(words, durability)]) | {"window": {"measure_s": 300.0}}
    running = lab.guest.start("echo $$ >/tmp/busy; exec assayer run -", stdin=json.dumps(long))
    try:
        told = running.path("out")
        lab.guest.run(
            "i=0; until grep -q interval /share/.lab/" + told.name + "; do i=$((i+1)); [ $i -lt 600 ]; sleep 0.1; done"
        )
        yield running
    finally:
        if not running.done:
            lab.guest.run("kill -9 $(cat /tmp/busy)", check=False)
            running.wait()


@check("held", needs=("mke2fs", "mdadm"))
def held(lab: Lab) -> None:
    """While a run writes to a drive, another run, mount, swapon, mkfs and mdadm are refused it."""
    target = job.device(DRIVE, lab.serial(DRIVE))
    lab.guest.run(f"{_MODULES}; {_POLLED}; mkdir -p /mnt/u", check=False)
    with _busy(lab, target, "pread+direct"):
        for words in ("io_uring+direct", "nvme_polled"):
            refusal = lab.measure(job.job(target, [job.klass(words)])).refusal
            expect("in exclusive use" in refusal, f"{words}: {refusal} / the kernel says that it is in exclusive use")
        for command in (
            f"mount -t ext4 {DRIVE} /mnt/u",
            f"mke2fs -q -F {DRIVE} 8192",
            f"mkswap {DRIVE} && swapon {DRIVE}",
            f"mdadm --create /dev/md9 --run --level=0 --force --raid-devices=1 {DRIVE}",
        ):
            done = lab.guest.run(command, check=False)
            expect(done.returncode != 0, f"`{command}` got a drive that a run writes to / refused")
    job.read_back(lab.measure(job.job(target, [job.klass("io_uring+direct")])))


@check("clean-drive", ci=False)
def clean_drive(lab: Lab) -> None:
    """A drive that nobody uses is accepted by every path, and by the one that takes it from the kernel."""
    lab.guest.run(f"wipefs -aq {DRIVE}; {_MODULES}; {_POLLED}", check=False)
    seen = _guarded(lab, DRIVE)
    expect(seen["in_use"] == [] and seen["serial"] == "assay-nv0", f"{seen} / free, with its serial number")
    target = job.device(DRIVE, seen["serial"])
    for words in ("pread+direct", "libaio+direct", "io_uring+direct", "nvme_passthrough", "nvme_polled"):
        job.read_back(lab.measure(job.job(target, [job.klass(words)])))


@check("reading-is-allowed", needs=("mke2fs", "module:ext4"), ci=False)
def reading_is_allowed(lab: Lab) -> None:
    """A mounted drive is read without confirmation, and does not change."""
    lab.guest.run("mkdir -p /mnt/u")
    with _used(lab, MOUNTED[0]):
        before = _contents(lab)
        target = {"id": "main", "kind": "block-device", "members": [DRIVE]}
        reads = job.job(target, [job.klass("pread+direct", operation={"kind": "read"})], checks={})
        reads["datasets"][0] |= {"layout": "as-found", "content": "random"}
        one = lab.measure(reads).record["classes"][0]
        expect(one["reads"] > 0 and one["writes"] == 0, f"{one['reads']} reads, {one['writes']} writes / reads alone")
        _unchanged(lab, before, "by reads")


@check("persistent-memory", needs=("ndctl", "mke2fs", "module:ext4"), ci=False)
def persistent_memory(lab: Lab) -> None:
    """A namespace with a file system on it is refused, mounted with DAX or not mounted at all."""
    at = place.namespace(lab.guest, FSDAX_MODULE, "fsdax").device
    lab.guest.run(f"mkdir -p /mnt/u; modprobe ext4; {EXT4} {at}")
    target = job.device(at, lab.serial(at))
    wanted = job.job(target, [job.klass("pread+direct")])
    for make, undo, said in (
        (f"mount -o ro,dax=always {at} /mnt/u", "umount /mnt/u", "it is mounted at /mnt/u"),
        ("true", f"wipefs -aq {at}", "ext4"),
    ):
        lab.guest.run(make)
        try:
            before = _contents(lab, "pm")
            refusal = lab.measure(wanted).refusal
            expect(said in refusal, f"{refusal} / {said!r}")
            _unchanged(lab, before, at, "pm")
        finally:
            lab.guest.run(undo)
    job.read_back(lab.measure(wanted))


@check("device-dax-in-use", needs=("ndctl", "xfs_io", "module:device_dax"))
def device_dax_in_use(lab: Lab) -> None:
    """A device-DAX node that a process has mapped, by its name or by another node of it, is refused."""
    at = place.namespace(lab.guest, DAX_MODULE, "devdax").device
    target = job.device(at, lab.serial(at), "device-dax")
    wanted = job.job(target, [job.klass("pmem+nt", "persist")])
    lab.guest.run(f"rm -f /run/node; cp -a {at} /run/node")
    for node in (at, "/run/node"):
        maps = f"(echo 'mmap -r 0 2m'; exec sleep 600) | xfs_io -r {node} >/dev/null & echo $! >/tmp/maps"
        lab.guest.run(f"{maps}; until grep -q {node} /proc/$(cat /tmp/maps)/maps; do sleep 0.1; done", timeout_s=30)
        try:
            refusal = lab.measure(wanted).refusal
            expect("has it mapped" in refusal, f"mapped as {node}: {refusal} / a process has it mapped")
            expect(_guarded(lab, at)["in_use"] != [], f"mapped as {node}: guard sees no use / a process has it mapped")
        finally:
            lab.guest.run("kill $(cat /tmp/maps)")
    with _busy(lab, target, "pmem+nt", "persist"):
        refusal = lab.measure(wanted).refusal
        expect("has it mapped" in refusal or "another run" in refusal, f"{refusal} / another run has it")
    job.read_back(lab.measure(wanted))
