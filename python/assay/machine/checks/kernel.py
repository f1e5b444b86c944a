"""What the kernel lets this process do: counters, io_uring, persistent memory; and whether it is the machine's own."""

from collections.abc import Iterator, Mapping
from typing import Any

from assay.machine.facts import MachineFacts, Unknown
from assay.machine.finding import Finding, Level, unknown


def measuring_program(facts: MachineFacts) -> Iterator[Finding]:
    """Nothing is measured without it."""
    if isinstance(facts.environment, Unknown):
        why = "nothing can be measured without the measuring program"
        fix = "in a checkout call ./assay, which builds it; otherwise install the assay wheel again"
        yield Finding(Level.BLOCKER, "assayer", f"unknown: {facts.environment.reason}", why, fix)


def counters(facts: MachineFacts) -> Iterator[Finding]:
    """Cycles come from hardware counters, or else from CPU time."""
    why = "without hardware counters cycles are CPU time times the clock, and TLB misses are not known at all"
    text = facts.read("/proc/sys/kernel/perf_event_paranoid")
    if isinstance(text, Unknown):
        yield unknown("counters", text.reason, why)
        return
    fix = "sudo sysctl kernel.perf_event_paranoid=1"
    events = facts.matching("/sys/bus/event_source/devices/", "/type")
    hardware = any(path.split("/")[-2].startswith(("cpu", "armv8", "arm_", "ibs")) for path in events)
    if not hardware:
        seen = "this machine shows no hardware counters"
        yield Finding(Level.NOTE, "counters", seen, why, "on a virtual machine, ask its host for a virtual PMU")
    elif int(text) > 1 and facts.user_id != 0:
        yield Finding(Level.NOTE, "counters", f"perf_event_paranoid is {text}: kernel time is not counted", why, fix)
    else:
        yield Finding(Level.OK, "counters", f"hardware counters, perf_event_paranoid is {text}")


def io_uring(facts: MachineFacts) -> Iterator[Finding]:
    """Distributions and containers switch it off."""
    why = "the io_uring path cannot be measured"
    text = facts.read("/proc/sys/kernel/io_uring_disabled")
    if text == "2" or (text == "1" and facts.user_id != 0):
        yield Finding(
            Level.WARN, "io_uring", f"io_uring_disabled is {text}", why, "sudo sysctl kernel.io_uring_disabled=0"
        )
    else:
        yield from _probed(facts, "io_uring", why)


def persistent_memory(facts: MachineFacts) -> Iterator[Finding]:
    """Few machines have it; say what is there."""
    modes = facts.matching("/sys/bus/nd/devices/namespace", "/mode")
    if modes:
        seen = ", ".join(f"{path.split('/')[-2]} in mode {mode}" for path, mode in sorted(modes.items()))
        yield Finding(Level.OK, "persistent memory", seen)
    else:
        why = "the pmem path runs on tmpfs instead, and its figures are labelled emulated"
        yield Finding(Level.NOTE, "persistent memory", "none on this machine", why)


def direct_io(facts: MachineFacts) -> Iterator[Finding]:
    """The page cache can be bypassed only where the file system lets it."""
    yield from _probed(
        facts, "pread", "reads cannot bypass the page cache, so the device is not what is measured", "direct"
    )


def _probed(facts: MachineFacts, path: str, why: str, variant: str = "") -> Iterator[Finding]:
    """What probing the path found, per target: the variants that are there, and each that is not."""
    topic = "O_DIRECT" if variant == "direct" else path
    if isinstance(facts.probes, Unknown):
        yield unknown(topic, facts.probes.reason, why)
        return
    there: dict[str, list[str]] = {}
    for probe in facts.probes:
        named, on = str(probe.get("variant") or ""), str(probe.get("on") or "")
        if probe.get("path") != path or (variant and variant != named):
            continue
        if probe.get("available"):
            there.setdefault(on, []).append(named)
        else:
            yield _absent(probe, topic, why, "" if variant else named, on)
    for on, variants in there.items():
        words = ", ".join(name for name in variants if name and not variant)
        yield Finding(Level.OK, topic, f"available: {words}" if words else "available", target=on)


def _absent(probe: Mapping[str, Any], topic: str, why: str, variant: str, on: str) -> Finding:
    """A variant that is not there costs that variant only."""
    level = Level.NOTE if variant else Level.WARN
    seen = f"not available{f' ({variant})' if variant else ''}: {probe.get('reason', '')}"
    return Finding(
        level, topic, seen, "this variant cannot be measured" if variant else why, str(probe.get("fix", "")), on
    )


def virtualisation(facts: MachineFacts) -> Iterator[Finding]:
    """On a virtual machine the host is part of the device."""
    why = "what the host does (its caches, limits and neighbours) is part of every figure"
    if isinstance(facts.environment, Unknown):
        yield unknown("virtualisation", "the measuring program did not answer", why)
        return
    kind = str(facts.environment.get("virtualisation") or "none")
    if kind == "none":
        yield Finding(Level.OK, "virtualisation", "none")
    else:
        fix = "none is needed if this is where the database will run; compare only with the same kind of machine"
        yield Finding(Level.NOTE, "virtualisation", kind, why, fix)


CHECKS = (measuring_program, counters, io_uring, direct_io, persistent_memory, virtualisation)
