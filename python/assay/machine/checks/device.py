"""The block device beneath a target: its queue, its cache, its link, and who else uses it."""

import re
from collections.abc import Iterator

from assay.machine.facts import MachineFacts, Unknown
from assay.machine.finding import Finding, Level, unknown

BUSY_SHARE = 0.02
HOT_CELSIUS = 70


def present(facts: MachineFacts) -> Iterator[Finding]:
    """The kernel's own counters check every figure; they need a device."""
    for target in facts.targets():
        if not target.get("device"):
            why = "bytes cannot be compared with a device's own counters"
            yield unknown("device", "no block device lies beneath", why, str(target.get("path", "")))


def scheduler(facts: MachineFacts) -> Iterator[Finding]:
    """A scheduler reorders and holds back requests."""
    for path, device in facts.devices():
        name, seen = device.get("name"), str(device.get("scheduler") or "")
        why = "the scheduler reorders requests and costs CPU time on each"
        good = {"none", "noop"} | ({"mq-deadline", "bfq"} if device.get("rotational") else set())
        if not seen:
            yield unknown("I/O scheduler", f"{name} shows none", why, path)
        elif seen in good:
            yield Finding(Level.OK, "I/O scheduler", f"{seen} on {name}", target=path)
        else:
            level = Level.WARN if seen == "bfq" else Level.NOTE
            fix = f"echo none | sudo tee /sys/block/{name}/queue/scheduler"
            yield Finding(level, "I/O scheduler", f"{seen} on {name}", why, fix, path)


def write_cache(facts: MachineFacts) -> Iterator[Finding]:
    """It decides what a flush costs."""
    for path, device in facts.devices():
        seen = str(device.get("write_cache") or "")
        name = device.get("name")
        if seen == "write back":
            why = "writes end in the device's memory; only a flush makes them durable, and its cost is a result"
            fix = "none is needed; without protection against power loss never call writes without a flush durable"
            yield Finding(Level.NOTE, "write cache", f"{name} has one (write back)", why, fix, path)
        elif seen:
            text = f"{name} reports {seen}: the kernel sends no flushes"
            yield Finding(Level.OK, "write cache", text, target=path)
        else:
            yield unknown("write cache", f"{name} does not say", "it decides what a flush costs", path)


def block_size(facts: MachineFacts) -> Iterator[Finding]:
    """Direct I/O must suit the blocks."""
    for path, device in facts.devices():
        logical, physical = int(device.get("logical_block_bytes", 0)), int(device.get("physical_block_bytes", 0))
        if not logical:
            continue
        seen = f"{device.get('name')}: logical {logical} B, physical {physical} B"
        if logical < physical:
            why = f"direct writes under {physical} B make the device read, change and write a whole block"
            fix = f"use sizes that are multiples of {physical} B"
            yield Finding(Level.NOTE, "block size", seen, why, fix, path)
        else:
            yield Finding(Level.OK, "block size", seen, target=path)


def statistics(facts: MachineFacts) -> Iterator[Finding]:
    """Verdicts compare bytes asked for with bytes moved."""
    for path, device in facts.devices():
        setting = f"/sys/block/{device.get('name')}/queue/iostats"
        if facts.read(setting) == "0":
            why = "the kernel does not count this device's bytes, so page cache hits and other users go unseen"
            yield Finding(Level.WARN, "device counters", "switched off", why, f"echo 1 | sudo tee {setting}", path)


def other_users(facts: MachineFacts) -> Iterator[Finding]:
    """The device should be ours alone."""
    why = "others who use the device slow it down, and their bytes are counted as ours"
    for path, device in facts.devices():
        name = str(device.get("name"))
        share = facts.busy.get(name, Unknown("it was not watched"))
        if isinstance(share, Unknown):
            yield unknown("other users", share.reason, why, path)
        elif share > BUSY_SHARE:
            seen = f"{name} was busy {min(share, 1):.0%} of the time while Assay left it alone"
            fix = "stop what uses it; iotop -o, or pidstat -d 1, shows who that is"
            yield Finding(Level.WARN, "other users", seen, why, fix, path)
        else:
            yield Finding(Level.OK, "other users", f"none seen on {name}", target=path)


def poll_queues(facts: MachineFacts) -> Iterator[Finding]:
    """Polling needs queues of its own."""
    for path, device in facts.devices():
        name = str(device.get("name"))
        if not name.startswith("nvme"):
            continue
        if device.get("io_poll"):
            yield Finding(Level.OK, "poll queues", f"{name} has them", target=path)
        else:
            why = "io_uring with IOPOLL cannot be measured; interrupts cost microseconds on a fast drive"
            fix = "boot with nvme.poll_queues=4, or reload the nvme module with that parameter"
            yield Finding(Level.NOTE, "poll queues", f"{name} has none", why, fix, path)


def trim(facts: MachineFacts) -> Iterator[Finding]:
    """Flash that is never trimmed slows down."""
    timer = facts.read("/etc/systemd/system/timers.target.wants/fstrim.timer")
    for path, device in facts.devices():
        supported = facts.read(f"/sys/block/{device.get('name')}/queue/discard_max_bytes")
        if device.get("rotational") or isinstance(supported, Unknown) or supported == "0":
            continue
        if isinstance(timer, Unknown):
            why = "blocks that files no longer use stay occupied for the drive, which then writes slower and wears more"
            seen = "no periodic fstrim found"
            yield Finding(Level.NOTE, "TRIM", seen, why, "sudo systemctl enable --now fstrim.timer", path)
        else:
            yield Finding(Level.OK, "TRIM", "fstrim.timer is enabled", target=path)


def link(facts: MachineFacts) -> Iterator[Finding]:
    """A drive in the wrong slot, or a link that trained down."""
    for path, device in facts.devices():
        base = f"/sys/block/{device.get('name')}/device/device"
        for what in ("speed", "width"):
            now, most = facts.read(f"{base}/current_link_{what}"), facts.read(f"{base}/max_link_{what}")
            if isinstance(now, str) and isinstance(most, str) and _number(now) < _number(most):
                seen = f"{what} {now}, the device can do {most}"
                why = "the link, not the drive, sets the bandwidth"
                fix = "move the drive to a slot that has it all; look at lspci -vv"
                yield Finding(Level.WARN, "PCIe link", seen, why, fix, path)


def _number(text: str) -> float:
    found = re.match(r"[\d.]+", text)
    return float(found[0]) if found else 0.0


def heat(facts: MachineFacts) -> Iterator[Finding]:
    """A hot drive slows itself down."""
    for path, device in facts.devices():
        for text in facts.matching(f"/sys/block/{device.get('name')}/device/hwmon", "/temp1_input").values():
            celsius = int(text) / 1000 if text.lstrip("-").isdigit() else 0.0
            if celsius >= HOT_CELSIUS:
                why = "a hot drive slows itself down in the middle of a measurement"
                yield Finding(Level.WARN, "temperature", f"{celsius:.0f} C", why, "let it cool down, give it air", path)


def array(facts: MachineFacts) -> Iterator[Finding]:
    """An array that is being rebuilt is slow."""
    for path, device in facts.devices():
        action = facts.read(f"/sys/block/{device.get('name')}/md/sync_action")
        if isinstance(action, str) and action != "idle":
            why = "the array reads and writes for itself"
            yield Finding(Level.WARN, "array", f"doing {action}", why, "wait for it: cat /proc/mdstat", path)


def throttled_writeback(facts: MachineFacts) -> Iterator[Finding]:
    """The kernel holds buffered writes back to keep reads fast."""
    for path, device in facts.devices():
        setting = f"/sys/block/{device.get('name')}/queue/wbt_lat_usec"
        value = facts.read(setting)
        if isinstance(value, str) and value.isdigit() and int(value) > 0:
            why = "buffered writes are held back while reads are slower than that"
            fix = f"echo 0 | sudo tee {setting}"
            yield Finding(Level.NOTE, "write-back throttling", f"aims at {value} us", why, fix, path)


CHECKS = (
    present,
    scheduler,
    write_cache,
    block_size,
    statistics,
    other_users,
    poll_queues,
    trim,
    link,
    heat,
    array,
    throttled_writeback,
)
