"""What stands behind `twin:` on the command line: a device, several of them, an array, a cache in front of something.

p4610                    one drive
p4610*4                  four of them, pages interleaved by the program (modules of memory: interleaved by the CPU)
raid0:p4610*4            md RAID 0; raid5 and raid10 likewise; chunk=64KiB:raid5:... sets the chunk
raid1:p4610*2            two mirrors, which is RAID 10 of one pair
raid5:p4610*4-1          four members of which one has failed; raid1 and raid10 likewise
capacity=1GiB:p4510      a flash drive of that size, all else as it is, whose collection is followed page by page
unit=512KiB:capacity=... the same, which erases so many bytes together; a 1024th of it where none is said
handles=8:capacity=...   the same with placement handles (Flexible Data Placement), which keep groups of pages apart
iops=16000:io2           a volume with so many operations a second provisioned; throughput=500MiB:gp3 likewise
interleave:p4610*4       the same as p4610*4, said aloud
memory-mode:FRONT+BACK   modules of DRAM as a direct-mapped cache in front of modules of persistent memory
block:pmem100-128g*6     modules of memory as a block device: files without DAX, the page cache, direct calls
cache=16GiB:p4610        a page cache of that size; cache=16GiB@ddr5-4800-32g*8:... names its memory
"""

from __future__ import annotations

import re
from datetime import UTC, datetime

from assay.error import BAD_JOB, AssayError
from assay.target import catalog
from assay.units.parse import parse_bytes
from assay.untyped import Json

PREFIX = "twin:"
LAYOUTS = {"raid0": "raid0", "raid1": "raid10", "raid5": "raid5", "raid10": "raid10", "interleave": "interleave"}
# Layouts that go on without a member.
REDUNDANT = ("raid1", "raid5", "raid10")
# What a volume is provisioned with, and its bucket in the twin.
PROVISIONED = {"iops": "operations", "throughput": "bytes"}
# md's own default; and the page of the program that interleaves.
RAID_CHUNK_BYTES, PAGE_BYTES = 512 << 10, 16 << 10
# Units of a drive of a size that was asked for; pages and handles at most of a drive that is followed page by page.
UNITS, MAPPED_PAGES, MOST_HANDLES = 1024, 16_000_000, 64
# What a page cache lies in where nobody names it: its speed is far above what lies behind.
CACHE_MEMORY = "ddr4-2933-32g*6"

# Kinds of question of which a twin that a user fitted on his own machine knows itself how far off it is.
ALONE = ("granules", "calls_or_lines")

_COUNTED = re.compile(r"(?P<name>[^*]+)\*(?P<count>[0-9]+)(?P<missing>-[0-9]+)?")


class TwinNameError(AssayError):
    """A name that means no twin."""

    def __init__(self, name: str, problem: str, hint: str) -> None:
        super().__init__(f"`twin:{name}` {problem}", hint=hint, code=BAD_JOB)


def target(text: str, chunk_bytes: int = 0) -> Json:
    """The target that a name means, complete with every parameter; a leading `twin:` is optional.

    Raises:
        TwinNameError, CatalogError: where it means none.
    """
    name = text.removeprefix(PREFIX)
    head, colon, rest = name.partition(":")
    if colon and head in LAYOUTS:
        return _array(name, head, rest, chunk_bytes)
    if colon and head.startswith("chunk="):
        return target(rest, _bytes(name, head.removeprefix("chunk=")))
    if colon and head.startswith("cache="):
        return _cache(name, head.removeprefix("cache="), rest, chunk_bytes)
    if colon and head.startswith("capacity="):
        return _small(name, target(rest, chunk_bytes), float(_bytes(name, head.removeprefix("capacity="))))
    if colon and head.startswith("unit="):
        return _erasing(name, target(rest, chunk_bytes), float(_bytes(name, head.removeprefix("unit="))))
    if colon and head.startswith("handles="):
        return _handled(name, target(rest, chunk_bytes), head.removeprefix("handles="))
    if colon and head == "memory-mode":
        return _memory_mode(name, rest)
    if colon and head == "block":
        return _block(name, rest)
    word, equals, value = head.partition("=")
    if colon and equals and word in PROVISIONED:
        return _provision(name, target(rest, chunk_bytes), word, value)
    if colon:
        known = (
            "raid0, raid1, raid5, raid10, interleave, memory-mode, block, chunk=BYTES, cache=BYTES, capacity=BYTES, "
            "unit=BYTES, handles=N, iops=N, throughput=BYTES"
        )
        raise TwinNameError(name, f"begins with `{head}:`, which is no composition", f"known are {known}")
    return _counted(name, chunk_bytes)


def is_memory(found: Json) -> bool:
    """The data lies in memory that loads and stores reach."""
    return found["kind"] != "block" and family(found) in catalog.MEMORY_FAMILIES


def within(found: Json) -> Json:
    """What a composition keeps its data on: a member, what lies behind a cache, the memory of a block device."""
    inner: Json = found[{"stripe": "member", "cache": "back", "block": "memory"}[found["kind"]]]
    return inner


def family(found: Json) -> str:
    """Family of the device that holds the data."""
    if found["kind"] == "device":
        return str(found["twin"]["device"]["family"])
    return family(within(found))


def vcpus(found: Json) -> Json | None:
    """Virtual CPUs of the instance that the drives are those of, where they are an instance's."""
    if found["kind"] == "device":
        device: Json = found["twin"]["device"]
        return device.get("vcpus")
    return vcpus(within(found))


def devices(found: Json) -> int:
    """Devices that hold the data."""
    if found["kind"] == "device":
        return int(found["modules"])
    return devices(within(found)) * int(found.get("count", 1))


def capacity_bytes(found: Json) -> float:
    """Bytes that a user can store."""
    if found["kind"] == "device":
        return float(found["twin"]["capacity_bytes"]["value"]) * int(found["modules"])
    within_bytes = capacity_bytes(within(found))
    if found["kind"] != "stripe":
        return within_bytes
    count = float(found["count"])
    return within_bytes * {"raid5": count - 1, "raid10": count / 2}.get(found["layout"], count)


def _device(name: str, modules: int = 1) -> Json:
    return {"kind": "device", "twin": with_bands(catalog.twin(name), catalog.is_file(name)), "modules": modules}


def with_bands(twin: Json, fitted_here: bool = False) -> Json:
    """A twin with how far off it is at least by kind of question; its own file goes before the catalog's.

    One that a user fitted knows itself how far off it is for one load; the catalog's are asked about other machines.
    """
    family = twin["device"]["family"]
    known = catalog.bands().get(family if family in catalog.MEMORY_FAMILIES else "drives")
    own = twin.get("band", {})
    if known is None or "joined" in own:
        return twin
    joined = {key: width for key, width in known.items() if not (fitted_here and key in ALONE)}
    return twin | {"band": own | {"joined": joined}}


def _split(name: str) -> tuple[str, int, int]:
    """Name, members, and how many of them are missing."""
    if "*" not in name:
        return name, 1, 0
    match = _COUNTED.fullmatch(name)
    if match is None or int(match["count"]) == 0:
        raise TwinNameError(name, "has no count after its `*`", "write NAME*N with N from 1 on, such as p4610*4")
    return match["name"], int(match["count"]), int((match["missing"] or "-0")[1:])


def _counted(name: str, chunk_bytes: int) -> Json:
    bare, count, missing = _split(name)
    if missing:
        hint = "name an array that goes on without a member, such as raid5:p4610*4-1"
        raise TwinNameError(name, "has no copy of what a missing member held", hint)
    one = _device(bare)
    if is_memory(one):
        return one | {"modules": count}
    return one if count == 1 else _stripe(one, count, "interleave", chunk_bytes or PAGE_BYTES)


def _array(name: str, head: str, rest: str, chunk_bytes: int) -> Json:
    bare, count, missing = _split(rest)
    default = PAGE_BYTES if head == "interleave" else RAID_CHUNK_BYTES
    one = _device(bare)
    if is_memory(one):
        hint = f"modules of memory interleave by themselves: write twin:{rest}"
        raise TwinNameError(name, "makes an array of memory modules", hint)
    if head == "raid1" and count != 2:
        hint = f"write raid1:{bare}*2, or raid10:{bare}*{count + count % 2} for pairs side by side"
        raise TwinNameError(name, f"mirrors {count} members; twins mirror two by two", hint)
    found = _stripe(one, count, LAYOUTS[head], chunk_bytes or default)
    return found | {"missing": _missing(name, head, missing)} if missing else found


def _missing(name: str, head: str, missing: int) -> int:
    """Members that an array goes on without."""
    if head not in REDUNDANT:
        raise TwinNameError(name, f"is lost with a member: {head} holds no copies", f"use {', '.join(REDUNDANT)}")
    if missing > 1:
        raise TwinNameError(name, f"lacks {missing} members", "twins know arrays that lack one: write -1")
    return missing


def _small(name: str, found: Json, size: float) -> Json:
    """A flash drive of another size, followed page by page."""
    twin = _one_of_flash(name, found)["twin"]
    most = float(twin["capacity_bytes"]["value"])
    if not UNITS << 14 <= size <= most:
        raise TwinNameError(
            name, f"asks for {size:.0f} bytes", f"16 MiB up to the drive's {most:.0f} bytes are possible"
        )
    unit = 1 << (int(size) // UNITS).bit_length() - 1
    return _erasing(name, found | {"twin": twin | {"capacity_bytes": _asked(size)}}, float(unit))


def _erasing(name: str, found: Json, unit: float) -> Json:
    """A flash drive that erases so many bytes together."""
    twin = _one_of_flash(name, found)["twin"]
    size = float(twin["capacity_bytes"]["value"])
    if unit < PAGE_BYTES or unit % PAGE_BYTES or not 16 * unit <= size <= MAPPED_PAGES * 4096:
        hint = (
            "units are a multiple of 16 KiB and 16 or more on a drive of 64 GB at most: capacity=1GiB:p4510 makes one"
        )
        raise TwinNameError(name, f"has units of {unit:.0f} bytes on {size:.0f}", hint)
    device = twin["device"]
    collection = device["collection"] | {"unit_bytes": _asked(unit)}
    return found | {"twin": twin | {"device": device | {"collection": collection}}}


def _handled(name: str, found: Json, count: str) -> Json:
    """A flash drive with placement handles."""
    twin = _one_of_flash(name, found)["twin"]
    if not count.isdecimal() or not 1 <= int(count) <= MOST_HANDLES or "unit_bytes" not in twin["device"]["collection"]:
        hint = (
            f"write handles=N with N from 1 to {MOST_HANDLES} before unit= or capacity=: handles=8:capacity=1GiB:p4510"
        )
        raise TwinNameError(name, f"asks for handles={count}", hint)
    device = twin["device"]
    collection = device["collection"] | {"placement_handles": _asked(float(count))}
    return found | {"twin": twin | {"device": device | {"collection": collection}}}


def _one_of_flash(name: str, found: Json) -> Json:
    if found["kind"] != "device" or found["twin"]["device"]["family"] != "nand":
        raise TwinNameError(name, "is no single flash drive", "capacity= and unit= are for one, such as p4510")
    return found


def unit_bytes(found: Json) -> int | None:
    """What a drive erases together, where it is known."""
    collection = found["twin"]["device"].get("collection", {}) if found["kind"] == "device" else {}
    return int(collection["unit_bytes"]["value"]) if "unit_bytes" in collection else None


def _asked(value: float) -> Json:
    date = f"{datetime.now(UTC):%Y-%m-%d}"
    return {"value": value, "kind": "assumed", "source": "Asked for on the command line", "date": date}


def _provision(name: str, found: Json, word: str, value: str) -> Json:
    """The same with another rate in a bucket of its volume.

    Raises:
        TwinNameError: where it is no volume, or its vendor provisions no such rate.
    """
    inner = {"stripe": "member", "cache": "back", "block": "memory"}.get(found["kind"])
    if inner:
        return found | {inner: _provision(name, found[inner], word, value)}
    twin = found["twin"]
    if twin["device"]["family"] != "cloud-volume":
        raise TwinNameError(name, f"sets {word} of what is no volume", "only volumes are provisioned: io2, gp3")
    rate, most = float(_bytes(name, value)), _most(twin["name"], PROVISIONED[word])
    if not 0 < rate <= most:
        raise TwinNameError(name, f"asks for {word}={value}", f"volumes of this kind have {word} up to {most:.0f}")
    date = f"{datetime.now(UTC):%Y-%m-%d}"
    given = {"value": rate, "kind": "assumed", "source": "Provisioned on the command line", "date": date}
    bucket = twin["device"][PROVISIONED[word]] | {"rate_per_s": given}
    return found | {"twin": twin | {"device": twin["device"] | {PROVISIONED[word]: bucket}}}


def _most(name: str, bucket: str) -> float:
    """The highest rate that the catalog knows of volumes of a kind (`gp3`, `gp3-16k` and `gp3-80k` are of one kind)."""
    kind = name.partition("-")[0]
    alike = [catalog.twin(other) for other in catalog.twins() if other.partition("-")[0] == kind] or [
        catalog.twin(name)
    ]
    return max(float(other["device"][bucket]["rate_per_s"]["value"]) for other in alike)


def _stripe(one: Json, count: int, layout: str, chunk_bytes: int) -> Json:
    return {"kind": "stripe", "member": one, "count": count, "chunk_bytes": chunk_bytes, "layout": layout}


def _cache(name: str, head: str, rest: str, chunk_bytes: int) -> Json:
    size, _, memory = head.partition("@")
    front = target(memory or CACHE_MEMORY)
    if not is_memory(front):
        raise TwinNameError(name, "caches in something that is no memory", "name modules of DRAM after the @")
    back = target(rest, chunk_bytes)
    if back["kind"] == "block":
        hint = f"the host's own page cache lies before it: twin:{rest} with a buffered path, such as pread"
        raise TwinNameError(name, "caches a block device of memory", hint)
    return {"kind": "cache", "front": front, "back": back, "bytes": _bytes(name, size), "policy": "lru"}


def _block(name: str, rest: str) -> Json:
    """Modules of memory that the kernel offers as a block device."""
    memory = target(rest)
    if memory["kind"] != "device" or not is_memory(memory):
        hint = f"drives are block devices as they are: write twin:{rest}; of memory, name modules: block:pmem100-128g*6"
        raise TwinNameError(name, "makes a block device of something that is no memory", hint)
    return {"kind": "block", "memory": memory}


def _memory_mode(name: str, rest: str) -> Json:
    front, plus, back = rest.partition("+")
    if not plus:
        raise TwinNameError(name, "lacks one of its two sides", "write memory-mode:DRAM*N+PMEM*N")
    memory, behind = target(front), target(back)
    if not (is_memory(memory) and is_memory(behind)):
        raise TwinNameError(name, "joins something that is no memory", "both sides must be modules of memory")
    size = int(capacity_bytes(memory))
    return {"kind": "cache", "front": memory, "back": behind, "bytes": size, "policy": "direct-mapped"}


def _bytes(name: str, text: str) -> int:
    try:
        return parse_bytes(text)
    except AssayError as error:
        raise TwinNameError(name, f"has a size that cannot be read: {error.message}", error.hint) from error
