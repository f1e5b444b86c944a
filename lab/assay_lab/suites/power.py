"""Power cuts: what was acknowledged as durable is there; what nothing made durable is caught being lost."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import asdict, replace

from assay_lab import logwrites
from assay_lab.check import Broken, Skip, check, expect
from assay_lab.cut import Outcome, find_drives, power_cut
from assay_lab.lab import Lab
from assay_lab.qemu import MIB
from assay_lab.site import Cell, Expect, Site

_STATES = 2

_BUFFERED = (
    Cell("pread", "fdatasync"),
    Cell("pread", "fsync"),
    Cell("pread", "o_dsync"),
    Cell("pread", "rwf_dsync"),
    Cell("pread", "fdatasync", layout="grow"),
    Cell("pread", "fdatasync", layout="preallocated"),
    Cell("mmap", "msync"),
    Cell("mmap", "msync", layout="preallocated"),
    Cell("libaio", "fdatasync", depth=4),
    Cell("io_uring", "fdatasync", depth=4),
    Cell("pread", "none", Expect.LOST),
    Cell("mmap", "none", Expect.LOST),
)
_FLUSHED = (
    Cell("pread+direct", "fdatasync"),
    Cell("libaio+direct", "fdatasync", depth=4),
    Cell("io_uring+direct", "fdatasync", depth=4),
    Cell("io_uring+direct+fixed", "fsync", depth=4),
)
# On drives of their own: no flush of a neighbour's covers for one that is missing.
_FORCED = (
    Cell("pread+direct", "o_dsync"),
    Cell("pread+direct", "rwf_dsync", layout="preallocated"),
    Cell("libaio+direct", "o_dsync", depth=4),
    Cell("io_uring+direct", "rwf_dsync", depth=4),
)
_PERSISTED = (
    Cell("pmem", "persist"),
    Cell("pmem+nt", "persist"),
    Cell("pmem+clwb", "persist"),
    Cell("pmem+clflushopt", "persist"),
)
_ON_DAX = (Cell("mmap", "msync"), Cell("pread", "fdatasync"))
_NEGATIVE = (Cell("mmap", "none", Expect.LOST), Cell("pread", "none", Expect.LOST))
_SPARED = Cell("pmem+nopersist", "none", Expect.SPARED)

_AUDIT = {
    "ext4": "e2fsck -fn",
    "xfs": "xfs_repair -n",
    "btrfs": "btrfs check --readonly",
    # Without a terminal it asks nobody, and mends nothing in a trial.
    "f2fs": "fsck.f2fs --dry-run",
}
_MKFS = {
    "ext4": ("mkfs.ext4 -q -F -b 4096", 128 * MIB, ("mke2fs",)),
    "xfs": ("mkfs.xfs -q -f", 320 * MIB, ("mkfs.xfs", "module:xfs")),
    "btrfs": ("mkfs.btrfs -q -f", 256 * MIB, ("mkfs.btrfs", "module:btrfs")),
    "f2fs": ("mkfs.f2fs -q -f", 192 * MIB, ("mkfs.f2fs", "module:f2fs")),
}


_MAKE_EXT4 = 'mkfs.ext4 -q -F "$1"\nmount -t ext4 "$1" /mnt/{}'
_MOUNT_EXT4 = 'mount -t ext4 "$1" /mnt/{}'


def _on_file_system(kind: str, cells: tuple[Cell, ...], suffix: str = "") -> Site:
    program, size, needs = _MKFS[kind]
    name = kind + suffix
    mount = f'mount -t {kind} "$1" /mnt/{name}'
    audit = f'umount /mnt/{name}\n{_AUDIT[kind]} "$1"'
    return Site(name, cells, drive_bytes=size, make=f'{program} "$1"\n{mount}', revive=mount, audit=audit, needs=needs)


def _on_array(level: int, members: int, number: int, policy: str = "", absent: int = 0) -> Site:
    """An array with ext4; its members have caches of their own. `absent` of them do not come back after the cut."""
    name = "-".join(["raid" + str(level), *([policy] if policy else []), *(["degraded"] if absent else [])])
    array = f"/dev/md{number}"
    created = f"mdadm --create {array} --run --assume-clean --level={level} --raid-devices={members} --metadata=1.2"
    created += f" --consistency-policy={policy}" if policy else ""
    quiet = f'{created} --chunk=64 "$@"\nmkfs.ext4 -q -F -b 4096 {array}\nmount -t ext4 {array} /mnt/{name}'
    # An array that was not closed in order, and lacks a member, is started only by force: its parity may be stale.
    force = " --force" if absent and level == 5 and not policy else ""
    back = f'mdadm --assemble --run{force} {array} "$@"\nmount -t ext4 {array} /mnt/{name}'
    cells: tuple[Cell, ...] = (
        Cell("pread", "fdatasync"),
        Cell("pread+direct", "rwf_dsync"),
        Cell("io_uring+direct", "fdatasync", depth=4),
        Cell("mmap", "msync"),
        Cell("pread", "none", Expect.LOST),
    )
    if force:
        cells = tuple(replace(cell, expect=Expect.SHOWN) for cell in cells)
    needs = ("mdadm", "mke2fs", "module:md_mod", f"module:{'raid456' if level == 5 else f'raid{level}'}")
    return Site(
        name,
        cells,
        drives=members,
        drive_bytes=32 * MIB,
        make=quiet,
        revive=back,
        # The write hole may have taken a block of the file system's own.
        audit="" if force else f"umount /mnt/{name}\ne2fsck -fn {array}",
        absent=absent,
        needs=needs,
    )


def _on_drive(name: str, cell: Cell, bus: str = "nvme") -> Site:
    return Site(name, (cell,), drive_bytes=16 * MIB, bus=bus, kind="block-device")


def _on_pmem(name: str, namespace: str, kind: str, options: str, cells: tuple[Cell, ...]) -> Site:
    program, size, needs = _MKFS[kind]
    reflink = " -m reflink=0" if kind == "xfs" else ""
    mount = f'mount -t {kind} {options} "$1" /mnt/{name}'
    made = f'{program}{reflink} "$1"\n{mount}'
    return Site(
        name, cells, drive_bytes=size, bus="pmem", make=made, revive=mount, namespace=namespace, needs=("ndctl", *needs)
    )


JOURNALLED = (
    _on_file_system("ext4", (*_BUFFERED, *_FLUSHED)),
    _on_file_system("ext4", _FORCED, "-forced"),
    _on_file_system("xfs", (*_BUFFERED, *_FLUSHED)),
    _on_file_system("xfs", _FORCED, "-forced"),
)
COPIED = (
    _on_file_system("btrfs", (*_BUFFERED, *_FLUSHED)),
    _on_file_system("f2fs", (*_BUFFERED, *_FLUSHED)),
)
ARRAYS = (_on_array(0, 2, 0), _on_array(5, 3, 5), _on_array(10, 4, 10))
DEGRADED = (
    _on_array(10, 4, 11, absent=1),
    # A log of partial parity closes the write hole; without one, a stripe that was being written is lost with a member.
    _on_array(5, 3, 6, "ppl", absent=1),
    _on_array(5, 3, 7, absent=1),
)
_WHILE_RECOVERING = (*_BUFFERED[:1], *_BUFFERED[4:7], *_FLUSHED[2:3], *_NEGATIVE)
RECOVERY = (
    *(_on_file_system(kind, _WHILE_RECOVERING) for kind in _MKFS if kind != "f2fs"),
    # F2FS was seen without whole files after a second cut. Whether it or this emulation lost them is not known.
    _on_file_system("f2fs", tuple(replace(cell, expect=Expect.SHOWN) for cell in _WHILE_RECOVERING)),
    _on_array(5, 3, 8, "ppl"),
    _on_array(10, 4, 12),
)
DRIVES = (
    _on_drive("nvme-flushed", Cell("pread+direct", "fdatasync")),
    _on_drive("nvme-uring", Cell("io_uring+direct", "fdatasync", depth=8)),
    _on_drive("nvme-aio", Cell("libaio+direct", "fsync", depth=8)),
    _on_drive("nvme-passthrough", Cell("nvme_passthrough+direct", "fdatasync", depth=4)),
    _on_drive("nvme-none", Cell("pread+direct", "none", Expect.LOST)),
    _on_drive("nvme-passthrough-none", Cell("nvme_passthrough+direct", "none", Expect.LOST)),
    # QEMU's NVMe drives take no notice of forced unit access, and there is nothing else that makes this durable.
    _on_drive("nvme-passthrough-forced", Cell("nvme_passthrough+direct", "o_dsync", Expect.SHOWN)),
    _on_drive("scsi-forced", Cell("pread+direct", "o_dsync"), "scsi"),
    _on_drive("scsi-uring", Cell("io_uring+direct", "rwf_dsync", depth=8), "scsi"),
    _on_drive("scsi-none", Cell("io_uring+direct", "none", Expect.LOST, depth=8), "scsi"),
)
PMEM = (
    _on_pmem("dax-ext4", "fsdax", "ext4", "-o dax=always", (*_PERSISTED, *_ON_DAX, _SPARED)),
    _on_pmem("dax-xfs", "fsdax", "xfs", "-o dax=always", (*_PERSISTED, *_ON_DAX)),
    _on_pmem("not-dax", "fsdax", "ext4", "-o dax=never", (*_ON_DAX, *_NEGATIVE)),
    _on_pmem("sectors", "sector", "ext4", "", (*_ON_DAX, Cell("pread+direct", "o_dsync"), *_NEGATIVE)),
    Site("devdax", _PERSISTED[:3], bus="pmem", kind="device-dax", namespace="devdax", needs=("ndctl",)),
)
# Another program's writer and checker, in the shell.
OWN = Site(
    "own-program",
    (Cell("lines", "fdatasync"),),
    make=_MAKE_EXT4.format("own-program"),
    revive=_MOUNT_EXT4.format("own-program"),
    needs=("mke2fs",),
    writer="""
echo '{"event": "interval", "at_s": 1}'
line=0
while :; do
    line=$((line + 1))
    echo "begin $line" >>"$STREAM"
    echo "$line" >>"$PLACE/lines"
    sync -d "$PLACE/lines"
    echo "durable $line" >>"$STREAM"
done
""",
    checker="""
acknowledged=$(grep -c '^durable' "$STREAM")
found=$(head -n "$acknowledged" "$PLACE/lines" | awk '$1 == NR {n++} END {print n + 0}')
echo "{\\"datasets\\": [{\\"name\\": \\"lines-fdatasync\\", \\"acknowledged\\": $acknowledged, \\"found\\": $found,"
echo "\\"torn\\": 0, \\"lost\\": $((acknowledged - found)), \\"corrupt\\": 0, \\"examples\\": []}]}"
""",
)


def _store(name: str, store: str, cell: Cell, threads: int = 2, **more: str) -> Site:
    """An index or the engine, killed with the machine while it works through its turns."""
    words = {"version": 1, "name": cell.name, "store": store, "threads": threads, "keys": 256, **more}
    job = json.dumps(words)[:-1].replace('"', '\\"') + ', \\"place\\": \\"$PLACE\\", \\"journal\\": \\"$STREAM\\"}'
    job = f'echo "{job}"'
    in_pmem = store in _IN_PMEM
    size = _STORE_PMEM_BYTES if in_pmem else _STORE_DRIVE_BYTES
    mount = f'mount -t ext4 {"-o dax=always " if in_pmem else ""}"$1" /mnt/{name}'
    return Site(
        name,
        (cell,),
        drive_bytes=size,
        bus="pmem" if in_pmem else "scsi",
        namespace="fsdax" if in_pmem else "",
        make=f'mkfs.ext4 -q -F -b 4096 "$1"\n{mount}',
        revive=mount,
        audit="" if in_pmem else f'umount /mnt/{name}\n{_AUDIT["ext4"]} "$1"',
        needs=("ndctl", "mke2fs") if in_pmem else ("mke2fs",),
        writer=f"{job} | assayer soak work -",
        checker=f"{job} | assayer soak check -",
    )


_IN_PMEM = ("fptree", "bztree", "dash-eh", "dash-lh")
_STORE_PMEM_BYTES = 128 * MIB
_STORE_DRIVE_BYTES = 512 * MIB
STORES = (
    _store("engine", "engine", Cell("turns", "fdatasync"), durability="fdatasync"),
    # Without a log all since the last checkpoint is gone, and the check has to see that.
    _store("engine-none", "engine", Cell("turns", "none", Expect.LOST), durability="none"),
    _store("ssd-btree", "ssd-btree", Cell("turns", "checkpoint")),
    _store("ssd-hash", "ssd-hash", Cell("turns", "checkpoint")),
    *(_store(store, store, Cell("turns", "pmem")) for store in _IN_PMEM),
)
SOME = (
    STORES[0],
    _on_file_system("ext4", (_BUFFERED[0], _BUFFERED[4], _BUFFERED[6], _FLUSHED[2], _FORCED[1], *_NEGATIVE)),
    *(site for site in DRIVES if site.name in ("nvme-passthrough", "nvme-none", "scsi-uring")),
    _on_pmem("dax-ext4", "fsdax", "ext4", "-o dax=always", (_PERSISTED[0], *_ON_DAX, _SPARED)),
    OWN,
)
GROUPS = {
    "journalled": JOURNALLED,
    "copied": COPIED,
    "arrays": ARRAYS,
    "degraded": DEGRADED,
    "recovery": RECOVERY,
    "drives": DRIVES,
    "pmem": PMEM,
    "stores": STORES,
    "some": SOME,
}


@check("log", needs=["xfs_io"], ci=False)
def log(lab: Lab) -> None:
    """The log of writes that all this rests on holds each write with its data, and each flush after what it covers."""
    files = {name: lab.folder / f"{name}.log" for name in _LOGGED}
    for file in files.values():
        file.write_bytes(b"")
    try:
        logged = [replace(lab.drive(name, 16 * MIB, files[name]), bus=bus) for name, bus in _LOGGED.items()]
        guest = lab.renew(drives=logged)
        for name, device in find_drives(guest, list(_LOGGED)).items():
            for command, wanted in _LOG_STEPS:
                before = len(logwrites.read(files[name], 16 * MIB).entries)
                guest.run(f"xfs_io {command} {device}")
                seen = _in_words(logwrites.read(files[name], 16 * MIB), before)
                expect(
                    bool(re.fullmatch(wanted, seen)),
                    f"xfs_io {command} on a drive of kind {_LOGGED[name]}: {seen} / {wanted}",
                )
    finally:
        lab.cut()


_LOGGED = {"logn": "nvme", "logs": "scsi"}
_LOG_STEPS = (
    ("-d -c 'pwrite -q -S 0x41 -b 4k 0 12k'", "0:AA 8:AA 16:AA"),
    ("-d -c 'pwrite -q -S 0x42 -b 4k 8k 4k' -c fdatasync", "16:BB flush"),
    # The kernel may write the two pages of its cache in one piece or in two.
    ("-c 'pwrite -q -S 0x43 -b 8k 0 8k' -c fdatasync", "0:CC( 8:CC)? flush"),
    ("-c 'fzero 4k 8k' -c fdatasync", r"8:\.\. flush"),
)


def _in_words(log: logwrites.Log, first: int) -> str:
    """Entries as `16:BB flush`: first sector and data of a write."""
    data = log.path.read_bytes()

    def word(entry: logwrites.Entry) -> str:
        if not entry.writes:
            return "flush" if entry.flags == logwrites.FLUSH else f"flags {entry.flags}"
        piece = data[entry.data_at : entry.data_at + entry.sectors * log.sector_bytes]
        ends = (chr(piece[at]) if piece[at] else "." for at in (0, -1))
        return f"{entry.sector}:{''.join(ends)}"

    return " ".join(word(entry) for entry in log.entries[first:])


@check("some")
def some(lab: Lab) -> None:
    """A cut while a few ways of writing are at work; what is durable is there, what is not is caught."""
    _cut(lab, "some", states=1)


@check("journalled", ci=False)
def journalled(lab: Lab) -> None:
    """ext4 and XFS, written to by every path with every means of durability."""
    _cut(lab, "journalled")


@check("copied", ci=False)
def copied(lab: Lab) -> None:
    """The same on Btrfs and F2FS, which write elsewhere what is overwritten."""
    _cut(lab, "copied")


@check("arrays", needs=["mdadm"], ci=False)
def arrays(lab: Lab) -> None:
    """md RAID 0, 5 and 10, each drive with a volatile cache of its own."""
    _cut(lab, "arrays")


@check("degraded", needs=["mdadm"], ci=False)
def degraded(lab: Lab) -> None:
    """The power goes and takes a member along: RAID 10, and RAID 5 with a log of partial parity, lose nothing."""
    _cut(lab, "degraded")


@check("recovery", ci=False)
def recovery(lab: Lab) -> None:
    """The power goes again while places recover: nothing durable is lost, and every structure is sound."""
    _cut(lab, "recovery", states=3, again=True)


@check("drives", ci=False)
def drives(lab: Lab) -> None:
    """NVMe and SCSI drives without a file system, each with one way of writing; NVMe passthrough."""
    _cut(lab, "drives")


@check("pmem", needs=["ndctl"], ci=False)
def pmem(lab: Lab) -> None:
    """Persistent memory: file systems on DAX, device-DAX, the sector layer, and a mount without DAX."""
    _cut(lab, "pmem", states=1)


@check("stores", needs=["ndctl"], ci=False)
def stores(lab: Lab) -> None:
    """The engine and every index: what they acknowledged is there, and no transaction by half."""
    _cut(lab, "stores")


def _cut(lab: Lab, group: str, states: int = _STATES, again: bool = False) -> None:
    lacking = {site.name: why for site in GROUPS[group] if (why := _lacking(lab, site))}
    sites = [site for site in GROUPS[group] if site.name not in lacking]
    if not sites:
        raise Skip("; ".join(f"{name}: {why}" for name, why in lacking.items()))
    outcome = power_cut(lab, sites, lab.seed, states, lab.tell, again)
    _keep(lab, group, outcome, lacking)
    wrong = judge(sites, outcome)
    if again and not wrong:
        expect(bool(outcome.mended), "no place had written anything when the power went again / some")
    if wrong:
        raise Broken(f"with --seed {lab.seed}: {'; '.join(wrong)}")
    if lacking:
        raise Skip("passed but for " + "; ".join(f"{name}: {why}" for name, why in lacking.items()))


def judge(sites: Sequence[Site], outcome: Outcome) -> list[str]:
    """Sentences about what is not as expected."""
    known = {site.name: site for site in sites}
    wrong = [f"{name}: {why}" for name, why in outcome.refused.items()]
    for found in outcome.found:
        site = known[found.site]
        if not site.judged:
            continue
        said = [f"{found.site}: {found.failed}"] if found.failed else site.judge(found.datasets)
        wrong += [f"{one} (drives as of seed {found.seed})" for one in said]
    return wrong


def _lacking(lab: Lab, site: Site) -> str:
    """What the guest lacks for a site."""
    for need in site.needs:
        kind, _, name = need.rpartition(":")
        if kind == "module" and not lab.parts.kernel.has(name):
            return f"the guest's kernel has no module {name}"
        if not kind and name in lab.parts.tools.lacking:
            return f"{name} is missing; install {lab.parts.tools.lacking[name]}"
    return ""


def _keep(lab: Lab, group: str, outcome: Outcome, lacking: dict[str, str]) -> None:
    """What was counted, among the results. It holds no times."""
    if lab.out is None:
        return
    found = [asdict(one) for one in outcome.found]
    document = {
        "seed": outcome.seed,
        "lacking": lacking,
        "refused": outcome.refused,
        "recovering": outcome.recovering,
        "mended": outcome.mended,
        "found": found,
    }
    folder = lab.out / "power"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{group}.json").write_text(json.dumps(document, indent=1))
