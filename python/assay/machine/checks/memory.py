"""Huge pages, swap, locked memory and the limits of control groups."""

import re
from collections.abc import Iterator

from assay.machine.facts import MachineFacts, Unknown
from assay.machine.finding import Finding, Level, unknown

MEMLOCK_BYTES = 64 << 20


def huge_pages(facts: MachineFacts) -> Iterator[Finding]:
    """Transparent huge pages decide TLB misses of mappings and buffers."""
    why = (
        "buffers and mappings on small pages miss the TLB more often; with `always` the kernel decides behind your back"
    )
    text = facts.read("/sys/kernel/mm/transparent_hugepage/enabled")
    if isinstance(text, Unknown):
        yield unknown("huge pages", text.reason, why)
        return
    found = re.search(r"\[(\w+)\]", text)
    setting = found[1] if found else text
    if setting == "madvise":
        yield Finding(Level.OK, "huge pages", "given where they are asked for (madvise)")
    else:
        fix = "echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled"
        yield Finding(Level.NOTE, "huge pages", f"set to {setting}", why, fix)


def swap(facts: MachineFacts) -> Iterator[Finding]:
    """Swapping is I/O that nobody asked for."""
    text = facts.read("/proc/meminfo")
    if isinstance(text, Unknown):
        yield unknown("swap", text.reason, "swapping is I/O that nobody asked for")
        return
    kib = {name: int(value) for name, value in re.findall(r"^(\w+):\s+(\d+)", text, re.MULTILINE)}
    used = (kib.get("SwapTotal", 0) - kib.get("SwapFree", 0)) / 1024
    if used < 1:
        yield Finding(Level.OK, "swap", "none in use")
    else:
        why = "memory was short: pages may be swapped in and out in the middle of a measurement"
        yield Finding(Level.NOTE, "swap", f"{used:.0f} MiB in use", why, "sudo swapoff -a && sudo swapon -a")


def locked_memory(facts: MachineFacts) -> Iterator[Finding]:
    """Registered buffers must be locked."""
    why = "registered buffers of io_uring are locked in memory, and count against this limit"
    text = facts.read("/proc/self/limits")
    found = re.search(r"^Max locked memory\s+(\S+)", text, re.MULTILINE) if isinstance(text, str) else None
    if found is None:
        reason = text.reason if isinstance(text, Unknown) else "the limit is not in /proc/self/limits"
        yield unknown("locked memory", reason, why)
    elif found[1] == "unlimited" or int(found[1]) >= MEMLOCK_BYTES or facts.user_id == 0:
        yield Finding(
            Level.OK, "locked memory", f"limit is {found[1]}" + (", root passes" if facts.user_id == 0 else "")
        )
    else:
        seen = f"limit is {int(found[1]) / 2**20:.0f} MiB"
        yield Finding(Level.NOTE, "locked memory", seen, why, "ulimit -l unlimited (as root, or in limits.conf)")


_GROUP_WHY = {
    "cpu.max": (Level.WARN, "the kernel stops this process when its share is used up; that looks like a slow device"),
    "memory.max": (Level.NOTE, "the page cache counts against this limit, so caches are smaller than the memory"),
    "io.max": (Level.WARN, "the kernel slows this process's I/O down; the limit is measured, not the device"),
}


def control_group(facts: MachineFacts) -> Iterator[Finding]:
    """Limits that a container or a service sets."""
    limited = False
    for path, text in facts.matching("/sys/fs/cgroup/").items():
        folder, name = path.rsplit("/", 1)
        if name in _GROUP_WHY and text and not text.startswith("max"):
            limited = True
            level, why = _GROUP_WHY[name]
            seen = f"{name} is {text.splitlines()[0]} in {folder}"
            yield Finding(level, "control group", seen, why, "run outside this container or service, or lift the limit")
    if not limited:
        yield Finding(Level.OK, "control group", "no limit on CPU, memory or I/O found")


CHECKS = (huge_pages, swap, locked_memory, control_group)
