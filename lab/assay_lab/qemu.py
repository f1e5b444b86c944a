"""The machine that QEMU plays, as its command line. Nothing here touches the system."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from assay.error import BAD_JOB

from assay_lab.error import LabError

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
# Persistent memory is managed in pieces of this size; what the label leaves must be a multiple.
_REGION_BYTES = 16 * MIB
_LABEL_BYTES = 2 * MIB


@dataclass(frozen=True)
class Drive:
    """An NVMe drive, its content in a file."""

    name: str
    path: Path
    bytes: int
    log: Path | None = None
    """Where QEMU's blklogwrites filter writes down each write and flush, in the format of dm-log-writes."""
    block_bytes: int = 512
    bus: str = "nvme"
    """`nvme`, or `scsi`: QEMU's NVMe drives take no notice of forced unit access, its SCSI drives do."""

    @property
    def serial(self) -> str:
        """By which the guest knows it."""
        return f"assay-{self.name}"


@dataclass(frozen=True)
class Nvdimm:
    """A module of persistent memory, its content in a file: the label lies at the file's end."""

    name: str
    path: Path
    bytes: int
    label_bytes: int = _LABEL_BYTES


@dataclass(frozen=True)
class Share:
    """A folder of the host that the guest sees."""

    tag: str
    path: Path
    read_only: bool = False


@dataclass(frozen=True)
class MachineSpec:
    """A machine."""

    kernel: Path
    initrd: Path
    drives: Sequence[Drive] = ()
    nvdimms: Sequence[Nvdimm] = ()
    shares: Sequence[Share] = ()
    memory_bytes: int = 2 * GIB
    processors: int = 2
    accel: str = "tcg"
    mode: str = "agent"
    """What the guest does once it is up: `agent`, `shell` or `hello`."""
    poll_queues: int = 1
    program: str = "qemu-system-x86_64"
    console: Path | None = None
    """The file that the console goes to; this terminal without one."""
    agent_fd: int | None = None
    """A connected socket that QEMU inherits; the agent's port is at its other end."""
    words: Sequence[str] = field(default_factory=tuple)
    """More words of the kernel's command line."""


def command(spec: MachineSpec) -> list[str]:
    """The command line of QEMU."""
    for nvdimm in spec.nvdimms:
        _check(nvdimm)
    return [
        spec.program,
        *("-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"),
        *_processor(spec),
        *_memory(spec),
        *("-device", "intel-iommu"),
        *(word for nvdimm in spec.nvdimms for word in _nvdimm(nvdimm)),
        *(("-device", "virtio-scsi-pci,id=scsi") if any(drive.bus == "scsi" for drive in spec.drives) else ()),
        *(word for drive in spec.drives for word in _drive(drive)),
        *(word for share in spec.shares for word in _share(share)),
        *("-device", "virtio-rng-pci"),
        *_agent(spec),
        *_console(spec),
        *("-kernel", str(spec.kernel), "-initrd", str(spec.initrd), "-append", _words(spec)),
    ]


def _processor(spec: MachineSpec) -> list[str]:
    accel, cpu = ("kvm", "host") if spec.accel == "kvm" else ("tcg,thread=multi", "max")
    machine = "q35,nvdimm=on,usb=off,vmport=off" + (",kernel-irqchip=split" if spec.accel == "kvm" else "")
    return ["-machine", machine, "-accel", accel, "-cpu", cpu, "-smp", str(spec.processors)]


def _memory(spec: MachineSpec) -> list[str]:
    slots = max(len(spec.nvdimms), 1)
    room = spec.memory_bytes + sum(_up(nvdimm.bytes, GIB) for nvdimm in spec.nvdimms) + GIB
    return ["-m", f"size={spec.memory_bytes // MIB}M,slots={slots},maxmem={_up(room, GIB) // MIB}M"]


def _nvdimm(one: Nvdimm) -> list[str]:
    backend = f"memory-backend-file,id=mem-{one.name},share=on,mem-path={_escaped(one.path)},size={one.bytes}"
    device = f"nvdimm,memdev=mem-{one.name},id={one.name},label-size={one.label_bytes}"
    return ["-object", backend, "-device", device]


def _drive(one: Drive) -> list[str]:
    # The host need not make anything durable: a power cut of the guest leaves the host's page cache alone.
    file = f"driver=file,node-name=file-{one.name},filename={_escaped(one.path)},aio=threads,cache.no-flush=on"
    words = ["-blockdev", file, "-blockdev", f"driver=raw,node-name=raw-{one.name},file=file-{one.name}"]
    node = f"raw-{one.name}"
    if one.log is not None:
        words += [
            "-blockdev",
            f"driver=file,node-name=log-file-{one.name},filename={_escaped(one.log)},aio=threads,cache.no-flush=on",
        ]
        words += ["-blockdev", f"driver=raw,node-name=log-raw-{one.name},file=log-file-{one.name}"]
        sectors = f"log-sector-size={one.block_bytes},log-append=off,log-super-update-interval=1"
        log = f"driver=blklogwrites,node-name=log-{one.name},file={node},log=log-raw-{one.name},{sectors}"
        words += ["-blockdev", log]
        node = f"log-{one.name}"
    blocks = f"logical_block_size={one.block_bytes},physical_block_size={max(one.block_bytes, 512)}"
    if one.bus == "scsi":
        # What is thinly provisioned is zeroed by commands that damage the log of writes.
        plain = "dpofua=on,discard_granularity=0"
        return [*words, "-device", f"scsi-hd,bus=scsi.0,serial={one.serial},drive={node},{plain},{blocks}"]
    # Linux sends no write zeroes command to a drive with Intel's number: it would damage the log of writes.
    quirk = ",use-intel-id=on" if one.log is not None else ""
    return [*words, "-device", f"nvme,serial={one.serial},drive={node},{blocks}{quirk}"]


def _share(one: Share) -> list[str]:
    access = ",readonly=on" if one.read_only else ""
    # Ordinary users may not give files away: owners stay as they are on the host.
    options = f"local,path={_escaped(one.path)},mount_tag={one.tag},security_model=none,multidevs=remap{access}"
    return ["-virtfs", options]


def _agent(spec: MachineSpec) -> list[str]:
    if spec.agent_fd is None:
        return []
    socket = f"socket,id=agent,fd={spec.agent_fd}"
    port = "virtserialport,chardev=agent,name=agent"
    return ["-device", "virtio-serial-pci", "-chardev", socket, "-device", port]


def _console(spec: MachineSpec) -> list[str]:
    if spec.console is None:
        return ["-chardev", "stdio,id=console,signal=off", "-serial", "chardev:console"]
    return ["-chardev", f"file,id=console,path={_escaped(spec.console)}", "-serial", "chardev:console"]


def _words(spec: MachineSpec) -> str:
    own = (f"lab.mode={spec.mode}", f"lab.poll_queues={spec.poll_queues}")
    iommu = ("intel_iommu=on", "iommu=pt")
    # A warning of the clock's would come from the emulator's pauses, a mitigation only costs time.
    quiet = ("console=ttyS0", "quiet", "panic=-1", "oops=panic", "mitigations=off", "nokaslr", "tsc=reliable")
    # On a busy host the emulated timer may tick too late for a check that the kernel makes as it boots and panics over.
    patient = ("no_timer_check",)
    return " ".join((*quiet, *patient, *iommu, *own, *spec.words))


def _check(one: Nvdimm) -> None:
    usable = one.bytes - one.label_bytes
    if usable <= 0 or usable % _REGION_BYTES:
        message = f"NVDIMM {one.name}: {one.bytes} bytes less {one.label_bytes} of the label are no multiple of 16 MiB"
        raise LabError(
            message, hint="the kernel would call its region misaligned; choose 16 MiB x N + label", code=BAD_JOB
        )


def _escaped(path: Path) -> str:
    """QEMU splits options at commas; a doubled one stands for itself."""
    return str(path).replace(",", ",,")


def _up(number: int, unit: int) -> int:
    return -(-number // unit) * unit
