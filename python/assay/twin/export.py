"""A drive's twin in the words of other programs, each with what its format cannot say."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from assay.error import BAD_JOB, NOT_POSSIBLE, AssayError, did_you_mean
from assay.twin.envelope import Load, Reached, drive, reached
from assay.untyped import Json

_READS, _WRITES = Load(), Load("write")
_RATES = (
    Load("read", sequential=True, size_bytes=1 << 17, in_flight=64),
    Load("read", sequential=True),
    _READS,
    Load("write", sequential=True, size_bytes=1 << 17, in_flight=64),
    Load("write", sequential=True),
    _WRITES,
)
_LATENCIES = "latencies, their percentiles, and how they grow with what is in flight"
_FLUSHES = "what a flush takes and whom it stops"
_COLLECTION = "a fresh drive that slows down when its free blocks are used up: rates are those of the steady state"


@dataclass(frozen=True)
class Exported:
    """The text of a file, and what it cannot say of the drive."""

    text: str
    missing: tuple[str, ...]

    def commented(self, mark: str, end: str = "") -> str:
        """The file with what it cannot say in its first lines."""
        lines = ["Modelled by Assay. What this format cannot say of the drive:", *(f"- {one}" for one in self.missing)]
        return "".join(f"{mark} {line}{end}\n" for line in lines) + self.text


def export(name: str, format_name: str) -> str:
    """The file of a format.

    Raises:
        AssayError: where there is no such format or twin, or the format has no words for such a drive.
    """
    if format_name not in FORMATS:
        raise AssayError(
            f"there is no format `{format_name}`", hint=did_you_mean(format_name, list(FORMATS)), code=BAD_JOB
        )
    return FORMATS[format_name](drive(name))


def _iocost(twin: Json) -> str:
    rates = reached(twin, _RATES)
    names = ("rbps", "rseqiops", "rrandiops", "wbps", "wseqiops", "wrandiops")
    values = [
        one.bytes_per_s if name.endswith("bps") else one.ops_per_s for name, one in zip(names, rates, strict=True)
    ]
    model = " ".join(f"{name}={value:.0f}" for name, value in zip(names, values, strict=True))
    text = f"block:*:name:{twin['title']}:*\n  IOCOST_SOLUTIONS=ASSAY\n  IOCOST_MODEL_ASSAY={model}\n"
    missing = (
        "the name under which the kernel shows the drive: put it in the place of the title",
        "the targets of io.cost.qos, which are a choice and no property of the drive",
        _LATENCIES,
        "reads and writes together that cost more than their parts",
        _FLUSHES,
        _COLLECTION,
    )
    return Exported(text, missing).commented("#")


def _scylla(twin: Json) -> str:
    large, _, reads, large_writes, _, writes = reached(twin, _RATES)
    lines = ["disks:", "  - mountpoint: /var/lib/scylla"]
    lines += [f"    read_iops: {reads.ops_per_s:.0f}", f"    read_bandwidth: {large.bytes_per_s:.0f}"]
    lines += [f"    write_iops: {writes.ops_per_s:.0f}", f"    write_bandwidth: {large_writes.bytes_per_s:.0f}"]
    missing = (
        "where the drive is mounted: /var/lib/scylla is a guess",
        _LATENCIES,
        "reads and writes together that cost more than their parts",
        _FLUSHES,
        _COLLECTION,
    )
    return Exported("\n".join(lines) + "\n", missing).commented("#")


def _fio(twin: Json) -> str:
    reads = {one.load.in_flight: one for one in reached(twin, [Load(in_flight=depth) for depth in (1, 8, 32, 128)])}
    lines = ["[global]", "filename=${TARGET}", "direct=1", "ioengine=io_uring", "bs=4k", "time_based=1", "runtime=20"]
    lines += ["group_reporting=1", "size=100%", "norandommap=1", "; every job waits for the one before"]
    for depth, one in reads.items():
        lines += ["", f"; the twin: {_said(one)}", f"[randread-{depth}]", "stonewall=1", "rw=randread"]
        lines += [f"iodepth={depth}"]
    large, *_ = rates = reached(twin, _RATES)
    lines += [
        "",
        f"; the twin: {large.bytes_per_s / 1e6:,.0f} MB/s",
        "[read-128k]",
        "stonewall=1",
        "rw=read",
        "bs=128k",
    ]
    lines += ["iodepth=64", "", "; Writes destroy what is there: take away the semicolons if that may be."]
    lines += [f"; the twin, in its steady state: {_said(rates[5])}"]
    lines += [f"; {line}" for line in ("[randwrite-256]", "stonewall=1", "rw=randwrite", "iodepth=256")]
    missing = (
        "what the drive would answer: a job asks; what the twin gives stands beside each job as a comment",
        "bands: `assay twin show` draws them",
        "the drive's state: precondition it before writes are compared",
    )
    return Exported("\n".join(lines) + "\n", missing).commented(";")


def _said(one: Reached) -> str:
    return f"{one.ops_per_s:,.0f}/s, median {one.p50_ns / 1e3:,.1f} us, p99 {one.p99_ns / 1e3:,.1f} us"


def _flash(twin: Json, program: str) -> Json:
    device: Json = twin["device"]
    if device["family"] != "nand":
        problem = f"{program} plays dies of flash, and {twin['name']} is of the family {device['family']}"
        raise AssayError(problem, hint="export a flash drive (assay list twins)", code=NOT_POSSIBLE)
    return device


def _value(device: Json, name: str, otherwise: float = 0.0) -> float:
    return float(device[name]["value"]) if name in device else otherwise


def _spare(device: Json) -> float:
    """Spare share of the flash: the nominal one, or that with which greedy collection copies as much as was seen."""
    collection = device["collection"]
    if "over_provisioning" in collection:
        return _value(collection, "over_provisioning")
    valid = 1.0 - 1.0 / max(_value(collection, "write_amplification"), 1.0)
    return round(-math.log(valid) / (1.0 - valid) - 1.0, 4) if valid > 0.01 else 1.0


def _split(dies: float) -> tuple[int, int]:
    """Channels, at most eight, and dies of each: a twin knows only how many there are in all."""
    count = max(1, round(dies))
    channels = next(one for one in (8, 4, 2, 1) if count % one == 0)
    return channels, count // channels


def _at_once(device: Json) -> int:
    """Pages that a die programs at a time: what makes the sustained bandwidth of all dies together."""
    each = _value(device, "sustained_bytes_per_s") * _value(device, "program_ns") / 1e9 / _value(device, "dies", 1)
    return max(1, round(each / _value(device, "page_bytes", 1)))


def _nvmevirt(twin: Json) -> str:
    device = _flash(twin, "NVMeVirt")
    channels, dies = _split(_value(device, "dies"))
    read, spread = _value(device, "read_ns"), _value(device, "read_range")
    delay, more = _value(device, "read_delay_ns"), _value(device, "spread_delay_ns")
    page = int(_value(device, "page_bytes"))
    quick, slow, oneshot = read * (1 - spread), read * (1 + spread), page * _at_once(device)
    over = _spare(device)
    values = {
        "MDTS": "(6)",
        "CELL_MODE": "(CELL_MODE_MLC)",
        "SSD_PARTITIONS": "(1)",
        "NAND_CHANNELS": f"({channels})",
        "LUNS_PER_NAND_CH": f"({dies})",
        "PLNS_PER_LUN": "(1)",
        "FLASH_PAGE_SIZE": f"({page})",
        "ONESHOT_PAGE_SIZE": f"({oneshot})",
        "BLKS_PER_PLN": "(8192)",
        "BLK_SIZE": "(0)",
        "MAX_CH_XFER_SIZE": f"({page})",
        "WRITE_UNIT_SIZE": "(512)",
        "NAND_CHANNEL_BANDWIDTH": f"({_value(device, 'channel_bytes_per_s') / 1e6:.0f}ull)",
        "PCIE_BANDWIDTH": f"({_value(device, 'read_bytes_per_s') / 1e6:.0f}ull)",
        **{f"NAND_{size}READ_LATENCY_LSB": f"({quick:.0f})" for size in ("4KB_", "")},
        **{f"NAND_{size}READ_LATENCY_MSB": f"({slow:.0f})" for size in ("4KB_", "")},
        **{f"NAND_{size}READ_LATENCY_CSB": "(0)" for size in ("4KB_", "")},
        "NAND_PROG_LATENCY": f"({_value(device, 'program_ns'):.0f})",
        # Zero is what NVMeVirt has for its own drives.
        "NAND_ERASE_LATENCY": f"({_value(device, 'erase_ns'):.0f})",
        "FW_4KB_READ_LATENCY": f"({delay:.0f})",
        "FW_READ_LATENCY": f"({delay + more:.0f})",
        "FW_WBUF_LATENCY0": f"({_value(device, 'write_latency_ns'):.0f})",
        "FW_WBUF_LATENCY1": "(0)",
        "FW_CH_XFER_LATENCY": "(0)",
        "OP_AREA_PERCENT": f"({over:g})",
        "GLOBAL_WB_SIZE": f"({_value(device, 'buffer_bytes'):.0f})",
        "WRITE_EARLY_COMPLETION": "1",
    }
    text = "".join(f"#define {name} {value}\n" for name, value in values.items())
    missing = (
        f"how the dies lie on channels: {channels} x {dies} is a guess, and so are the blocks of a die",
        "limits of the controller in commands a second, and what a mix of reads and writes costs beyond its parts",
        "programs that are suspended for reads, latencies measured beside writes, an SLC cache",
        f"what a flush takes ({device['flush']['base_ns']['value']:.0f} ns here), and that it stops the drive",
    )
    return Exported(text, missing).commented("/*", " */")


def _mqsim(twin: Json) -> str:
    device = _flash(twin, "MQSim")
    channels, dies = _split(_value(device, "dies"))
    read, spread = _value(device, "read_ns"), _value(device, "read_range")
    page, suspend = int(_value(device, "page_bytes")), _value(device, "suspend_ns")
    over = _spare(device)
    planes = _at_once(device)
    blocks = max(1, round(twin["capacity_bytes"]["value"] * (1 + over) / (channels * dies * planes * 256 * page)))
    flash = {
        "Flash_Technology": "TLC" if spread else "MLC",
        "CMD_Suspension_Support": "PROGRAM_ERASE" if suspend else "NONE",
        "Page_Read_Latency_LSB": round(read * (1 - spread)),
        "Page_Read_Latency_CSB": round(read),
        "Page_Read_Latency_MSB": round(read * (1 + spread)),
        **{f"Page_Program_Latency_{bit}": round(_value(device, "program_ns")) for bit in ("LSB", "CSB", "MSB")},
        **({"Block_Erase_Latency": round(_value(device, "erase_ns"))} if "erase_ns" in device else {}),
        "Suspend_Erase_Time": round(suspend),
        "Suspend_Program_Time": round(suspend),
        "Die_No_Per_Chip": 1,
        "Plane_No_Per_Die": planes,
        "Block_No_Per_Plane": blocks,
        "Page_No_Per_Block": 256,
        "Page_Capacity": page,
    }
    whole = {
        "Memory_Type": "FLASH",
        "HostInterface_Type": "NVME",
        "Enabled_Preconditioning": "true",
        "Data_Cache_Capacity": round(_value(device, "buffer_bytes")),
        "Overprovisioning_Ratio": f"{over:g}",
        "Flash_Channel_Count": channels,
        "Flash_Channel_Width": 1,
        "Channel_Transfer_Rate": round(_value(device, "channel_bytes_per_s") / 1e6),
        "Chip_No_Per_Channel": dies,
    }
    host = {"PCIe_Lane_Bandwidth": f"{_value(device, 'read_bytes_per_s') / 4e9:.6f}", "PCIe_Lane_Count": 4}
    inner = _tags(whole, 2) + f"    <Flash_Parameter_Set>\n{_tags(flash, 3)}    </Flash_Parameter_Set>\n"
    text = f"<Execution_Parameter_Set>\n  <Host_Parameter_Set>\n{_tags(host, 2)}  </Host_Parameter_Set>\n"
    text += f"  <Device_Parameter_Set>\n{inner}  </Device_Parameter_Set>\n</Execution_Parameter_Set>\n"
    missing = (
        f"how the dies lie on channels: {channels} x {dies} chips of one die are a guess",
        f"planes: {planes} to a die make the dies' rate of writing the drive's, where all of them program at once",
        "the firmware's delay of a read, and of a write into the buffer",
        "limits of the controller in commands a second, and what a mix costs beyond its parts",
        "latencies measured beside writes, an SLC cache, what a flush takes",
        "what is not listed here: MQSim's own defaults hold",
    )
    # A processor of XML wants its declaration first, and no two dashes in a comment.
    return '<?xml version="1.0" encoding="us-ascii"?>\n' + Exported(text, missing).commented("<!--", " -->")


def _tags(values: Json, depth: int) -> str:
    return "".join(f"{'  ' * depth}<{name}>{value}</{name}>\n" for name, value in values.items())


FORMATS: dict[str, Callable[[Json], str]] = {
    "iocost": _iocost,
    "scylla": _scylla,
    "nvmevirt": _nvmevirt,
    "mqsim": _mqsim,
    "fio": _fio,
}
