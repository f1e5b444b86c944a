"""Every path on every place: it opens, reads back what it wrote, and refuses what it must."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import Any

from assay_lab import job, place
from assay_lab.check import Body, check, expect
from assay_lab.lab import Lab
from assay_lab.qemu import KIB, MIB

Json = dict[str, Any]
Place = Callable[[Lab], AbstractContextManager[Json]]

# Each durability with a path that has it.
BUFFERED = (("pread", "fsync"), ("mmap", "msync"), ("io_uring", "fdatasync"))
DIRECT = (
    ("pread+direct", "o_dsync"),
    ("libaio+direct", "fdatasync"),
    ("io_uring+direct", "rwf_dsync"),
    ("io_uring+direct+fixed", "fdatasync"),
    ("io_uring+direct+sqpoll", "none"),
)
IOPOLL = (("io_uring+direct+iopoll", "fdatasync"),)
STORES = (("pmem+nt", "persist"), ("pmem+clwb", "persist"), ("pmem+clflushopt", "persist"))
COMMANDS = (
    ("nvme_passthrough", "fdatasync"),
    ("nvme_passthrough+fixed", "o_dsync"),
    ("nvme_passthrough+sqpoll", "rwf_dsync"),
)

RAW_DRIVE, DRIVE = "/dev/nvme0n1", "/dev/nvme1n1"
EXT4_MODULE, XFS_MODULE, DAX_MODULE, SECTOR_MODULE = range(4)


@contextmanager
def dax_folder(lab: Lab, kind: str, module: int) -> Iterator[Json]:
    """A file system with DAX on a namespace."""
    device = place.namespace(lab.guest, module, "fsdax").device
    with place.file_system(lab.guest, kind, device, "dax=always", _make(kind)) as at:
        yield job.folder(at)


def _make(kind: str) -> Sequence[str]:
    # Extents that are shared cannot be mapped for stores; kernels before 6.1 refuse such a file system.
    return ("-m", "reflink=0") if kind == "xfs" else ()


@contextmanager
def folder(lab: Lab, kind: str) -> Iterator[Json]:
    """A file system on a drive."""
    with place.file_system(lab.guest, kind, DRIVE) as at:
        yield job.folder(at)


@contextmanager
def device_dax(lab: Lab) -> Iterator[Json]:
    """A device-DAX node."""
    at = place.namespace(lab.guest, DAX_MODULE, "devdax").device
    yield job.device(at, lab.serial(at), "device-dax")


@contextmanager
def sector(lab: Lab) -> Iterator[Json]:
    """A namespace with a block translation table."""
    at = place.namespace(lab.guest, SECTOR_MODULE, "sector").device
    lab.guest.run(["wipefs", "-aq", at])
    yield job.device(at, lab.serial(at))


@contextmanager
def drive(lab: Lab) -> Iterator[Json]:
    """A whole NVMe drive."""
    lab.guest.run(["wipefs", "-aq", RAW_DRIVE])
    yield job.device(RAW_DRIVE, lab.serial(RAW_DRIVE))


Paths = Sequence[tuple[str, str]]
PLACES: dict[str, tuple[Place, Paths]] = {
    "fsdax-ext4": (partial(dax_folder, kind="ext4", module=EXT4_MODULE), (*BUFFERED, *DIRECT, *STORES)),
    "fsdax-xfs": (partial(dax_folder, kind="xfs", module=XFS_MODULE), (*BUFFERED, *DIRECT, *STORES)),
    "device-dax": (device_dax, STORES),
    "sector": (sector, (*BUFFERED, *DIRECT)),
    "drive": (drive, (*BUFFERED, *DIRECT, *IOPOLL, *COMMANDS)),
    "ext4": (partial(folder, kind="ext4"), (*BUFFERED, *DIRECT, *IOPOLL)),
    "xfs": (partial(folder, kind="xfs"), (*BUFFERED, *DIRECT, *IOPOLL)),
    "btrfs": (partial(folder, kind="btrfs"), (*BUFFERED, *DIRECT)),
    "f2fs": (partial(folder, kind="f2fs"), (*BUFFERED, *DIRECT)),
}
NEEDS = {
    "fsdax-ext4": ("ndctl", "module:ext4"),
    "fsdax-xfs": ("ndctl", "mkfs.xfs", "module:xfs"),
    "device-dax": ("ndctl", "module:device_dax"),
    "sector": ("ndctl", "module:nd_btt"),
    "drive": (),
    "ext4": ("mke2fs", "module:ext4"),
    "xfs": ("mkfs.xfs", "module:xfs"),
    "btrfs": ("mkfs.btrfs", "module:btrfs"),
    "f2fs": ("mkfs.f2fs", "module:f2fs"),
}


def reads_back(name: str) -> Body:
    """The check that all paths of a place read back what they wrote."""
    make, paths = PLACES[name]

    def body(lab: Lab) -> None:
        with make(lab) as target:
            job.read_back(lab.measure(job.job(target, [job.klass(words, kind) for words, kind in paths])))

    body.__doc__ = f"On {name}, {len(paths)} paths at once read back what they wrote, each with its durability."
    return check(f"read-back-{name}", NEEDS[name])(body)


for _name in PLACES:
    globals()[f"read_back_{_name.replace('-', '_')}"] = reads_back(_name)


@check("stamps-written-by-commands-are-on-the-drive")
def commands_reach_the_drive(lab: Lab) -> None:
    """What NVMe commands wrote is what the kernel reads past its cache, and what stands in the drive's file."""
    with drive(lab) as target:
        wanted = job.klass("nvme_passthrough", "fdatasync", operation={"kind": "write"})
        expect(lab.measure(job.job(target, [wanted])).record["classes"][0]["writes"] > 0, "no write / some")
        reads = job.klass("pread+direct", operation={"kind": "read"}, dataset="nvme_passthrough", name="reads")
        again = job.job(target, [reads])
        again["datasets"][0]["layout"] = "as-found"
        check_ = lab.measure(again).record["classes"][0]["check"]
        expect(check_["wrong"] == 0 and check_["blocks"] > 0, f"{check_} / whole stamps")
        lab.guest.run(f"dd if={RAW_DRIVE} of=/share/copy bs=1M count=1 iflag=direct")
        with (lab.folder / "nv0").open("rb") as file:
            same = file.read(MIB) == (lab.share / "copy").read_bytes()
        expect(same, "the kernel's view of the first MiB differs from the drive's file / the same")


@check("commands-with-registered-buffers-and-a-pool-of-writes")
def registered_buffers(lab: Lab) -> None:
    """Registered buffers serve NVMe commands also where the memory is larger than one command may have pages."""
    with drive(lab) as target:
        for size in (4 * KIB, 12 * KIB, 512 * KIB):
            wanted = job.klass("nvme_passthrough+fixed", "none", size=size, buffer_bytes=4 * MIB)
            job.read_back(lab.measure(job.job(target, [wanted], data_bytes=6 * MIB)))


@check("polled-commands-are-refused-where-the-kernel-panics")
def polled_commands(lab: Lab) -> None:
    """Where rings that poll NVMe commands make the kernel panic (6.1), polling is refused; elsewhere it works."""
    with drive(lab) as target:
        classes = [job.klass(words, "fdatasync") for words in ("nvme_passthrough+iopoll", "io_uring+direct+iopoll")]
        outcome = lab.measure(job.job(target, classes))
        if polls_commands(lab):
            job.read_back(outcome)
        else:
            expect("6.6" in outcome.refusal, f"{outcome.refusal} / the kernel that is needed")


def polls_commands(lab: Lab) -> bool:
    """Whether the guest's kernel polls NVMe commands by request (6.6 and newer)."""
    major, minor = (int(part) for part in lab.parts.kernel.version.split(".")[:2])
    return (major, minor) >= (6, 6)


@check("refusals")
def refusals(lab: Lab) -> None:
    """What a place cannot do is refused with a sentence that names a way out."""
    wanted: tuple[tuple[str, str, Json, str], ...] = (
        ("drive", "pmem", {}, "MAP_SYNC"),
        ("drive", "nvme_passthrough", {"size": 256}, "whole blocks"),
        ("drive", "nvme_passthrough", {"size": MIB}, "max_hw_sectors_kb"),
        ("drive", "pread+direct", {"size": 256}, "whole blocks"),
        ("sector", "io_uring+direct+iopoll", {}, "poll_queues"),
        ("sector", "nvme_passthrough", {}, "not an NVMe namespace"),
        ("btrfs", "io_uring+direct+iopoll", {}, "poll_queues"),
        ("btrfs", "nvme_passthrough", {}, "/dev/nvme0n1"),
    )
    for name, words, more, said in wanted:
        with PLACES[name][0](lab) as target:
            refusal = lab.measure(job.job(target, [job.klass(words, **more)])).refusal
            expect(said in refusal, f"{words} on {name}: {refusal} / {said!r} in the sentence")


@check("the-character-device-is-no-target")
def character_device(lab: Lab) -> None:
    """Naming /dev/ng0n1 is refused, and the sentence names the block device to use."""
    with drive(lab) as target:
        named = target | {"members": ["/dev/ng0n1"]}
        refusal = lab.measure(job.job(named, [job.klass("nvme_passthrough")])).refusal
        expect(RAW_DRIVE in refusal, f"{refusal} / {RAW_DRIVE} in the sentence")


WORKS = {
    "fsdax-ext4": {"pmem load and store"},
    "device-dax": {"pmem load and store"},
    "sector": set[str](),
    "drive": {"io_uring iopoll", "nvme_passthrough direct"},
    "xfs": {"io_uring iopoll"},
    "f2fs": set[str](),
}
_EVERYWHERE = {
    *("pread buffered", "pread direct", "mmap mapped", "libaio direct", "io_uring buffered", "io_uring direct"),
    *("io_uring fixed", "io_uring sqpoll"),
}


@check("probe")
def probe(lab: Lab) -> None:
    """`assayer probe` finds every path that works at a place, and says why and what to do of every other."""
    for name, special in WORKS.items():
        with PLACES[name][0](lab) as target:
            seen = lab.probe(target["members"][0])
            commands = {"nvme_passthrough iopoll"} if name == "drive" and polls_commands(lab) else set[str]()
            wanted = special | commands | (_EVERYWHERE if name != "device-dax" else set()) | {"null null"}
            works = {path for path, entry in seen.items() if entry["available"] and "nvme_polled" not in path}
            expect(works == wanted, f"{name}: available {sorted(works)} / {sorted(wanted)}")
            for path, entry in seen.items():
                told = bool(entry["reason"] and entry["fix"]) or entry["available"]
                expect(told, f"{name}: {path} is not available without a word / reason and fix")


@check("probe-does-not-take-a-device-for-memory")
def probe_of_devices(lab: Lab) -> None:
    """Nodes of devices lie in memory; the device behind one does not, and the probe must not say so."""
    notes = {path: entry["reason"] for path, entry in lab.probe(RAW_DRIVE).items() if entry["available"]}
    wrong = {path: note for path, note in notes.items() if "memory" in note}
    expect(not wrong, f"{wrong} / no word about memory on {RAW_DRIVE}")


@check("probe-blames-the-file-system-that-cannot-poll", needs=("mkfs.btrfs", "module:btrfs"))
def probe_of_polling(lab: Lab) -> None:
    """Where the device has poll queues and its file system does not use them, the probe says that."""
    with folder(lab, "btrfs") as target:
        entry = lab.probe(target["members"][0])["io_uring iopoll"]
        expect("file system" in entry["reason"], f"{entry['reason']} / the file system is named")


@check("without-poll-queues-and-with-blocks-of-4096", ci=False)
def other_drives(lab: Lab) -> None:
    """Without poll queues polling is refused with the module's option; a drive of 4096-byte blocks takes commands."""
    fresh = lab.drive("nv4096", block_bytes=4 * KIB)
    lab.renew(poll_queues=0, drives=[fresh])
    try:
        target = job.device(RAW_DRIVE, lab.serial(RAW_DRIVE))
        refusal = lab.measure(job.job(target, [job.klass("io_uring+direct+iopoll")])).refusal
        expect("nvme.poll_queues" in refusal, f"{refusal} / nvme.poll_queues in the sentence")
        seen = lab.probe(RAW_DRIVE)["io_uring iopoll"]
        expect("no poll queues" in seen["reason"], f"the probe says {seen} / no poll queues")
        classes = [job.klass("nvme_passthrough", "fdatasync"), job.klass("pread+direct", "fsync")]
        job.read_back(lab.measure(job.job(target, classes)))
        half = lab.measure(job.job(target, [job.klass("nvme_passthrough", size=512)])).refusal
        expect("whole blocks" in half, f"{half} / a word about whole blocks")
    finally:
        lab.power_off()
