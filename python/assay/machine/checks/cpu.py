"""Frequency, idle states, clocks, load and NUMA."""

from collections import Counter
from collections.abc import Iterator

from assay.machine.facts import CPU, MachineFacts, Unknown
from assay.machine.finding import Finding, Level, unknown

_CLOCK = "/sys/devices/system/clocksource/clocksource0/current_clocksource"
_GOOD_CLOCKS = {"tsc", "kvm-clock", "hyperv_clocksource_tsc_page", "arch_sys_counter", "xen"}
DEEP_IDLE_US = 20


def governor(facts: MachineFacts) -> Iterator[Finding]:
    """A CPU that changes its frequency changes every figure that counts cycles."""
    why = "a CPU that clocks up and down gives the same work different times and cycles"
    seen = Counter(facts.matching(f"{CPU}/cpu", "/scaling_governor").values())
    if not seen:
        yield unknown("governor", "the kernel shows no frequency governor (usual in a virtual machine)", why)
        return
    words = ", ".join(f"{name} on {count} CPUs" for name, count in seen.most_common())
    if set(seen) == {"performance"}:
        yield Finding(Level.OK, "governor", words)
    else:
        yield Finding(Level.WARN, "governor", words, why, "sudo cpupower frequency-set -g performance")


def turbo(facts: MachineFacts) -> Iterator[Finding]:
    """Turbo depends on heat and on neighbours."""
    why = "turbo depends on heat and on what other cores do, so repeats spread"
    off_when = {f"{CPU}/intel_pstate/no_turbo": "1", f"{CPU}/cpufreq/boost": "0"}
    known = {path: seen for path in off_when if isinstance(seen := facts.read(path), str)}
    if not known:
        yield unknown("turbo", "the kernel does not say", why)
        return
    path, seen = next(iter(known.items()))
    if seen == off_when[path]:
        yield Finding(Level.OK, "turbo", "off")
    else:
        yield Finding(Level.NOTE, "turbo", "on", why, f"echo {off_when[path]} | sudo tee {path}")


def idle_states(facts: MachineFacts) -> Iterator[Finding]:
    """A sleeping core adds its wake-up to every latency at low rates."""
    start = f"{CPU}/cpu0/cpuidle/state"
    why = "at low rates a core sleeps between operations and its wake-up is part of every latency"
    states = facts.matching(start, "/latency")
    if not states:
        yield unknown("idle states", "the kernel shows none (usual in a virtual machine)", why)
        return
    enabled = {path: int(us) for path, us in states.items() if _enabled(facts, path) and us.isdigit()}
    deepest, latency_us = max(enabled.items(), key=lambda item: item[1], default=("", 0))
    name = facts.read(deepest.replace("/latency", "/name"))
    seen = f"deepest enabled state is {name}, {latency_us} us to wake" if isinstance(name, str) else "all are disabled"
    if latency_us <= DEEP_IDLE_US:
        yield Finding(Level.OK, "idle states", seen)
    else:
        yield Finding(Level.NOTE, "idle states", seen, why, f"sudo cpupower idle-set -D {DEEP_IDLE_US}")


def _enabled(facts: MachineFacts, latency_path: str) -> bool:
    return facts.read(latency_path.replace("/latency", "/disable")) != "1"


def clock(facts: MachineFacts) -> Iterator[Finding]:
    """Operations are timed with the time stamp counter."""
    why = "operations are timed with the CPU's counter; where that cannot be trusted each time stamp is a system call"
    used = facts.part("cpu").get("clock")
    if used == "clock_gettime":
        fix = "look in dmesg for why the kernel gave the tsc up; on a virtual machine ask for a stable one"
        yield Finding(Level.WARN, "clock", "no usable counter, clock_gettime is used", why, fix)
        return
    source = facts.read(_CLOCK)
    if isinstance(source, Unknown):
        yield unknown("clock", source.reason, why)
    elif source in _GOOD_CLOCKS:
        yield Finding(Level.OK, "clock", f"the kernel uses {source}")
    else:
        fix = "look in dmesg for why the kernel gave the tsc up; boot with clocksource=tsc if it is sound"
        yield Finding(Level.WARN, "clock", f"the kernel uses {source} instead of the tsc", why, fix)


def load(facts: MachineFacts) -> Iterator[Finding]:
    """Others who use the CPUs."""
    why = "other programs take CPU time and cache from what is measured"
    text = facts.read("/proc/loadavg")
    if isinstance(text, Unknown):
        yield unknown("load", text.reason, why)
        return
    average = float(text.split()[0])
    cpus = max(len(facts.affinity), 1)
    seen = f"load average {average:.2f} on {cpus} CPUs"
    level = Level.WARN if average > cpus / 2 else Level.NOTE if average > cpus / 8 else Level.OK
    if level is Level.OK:
        yield Finding(level, "load", seen)
    else:
        yield Finding(level, "load", seen, why, "wait until the machine is idle; top -d 1 shows who works")


def cpus(facts: MachineFacts) -> Iterator[Finding]:
    """One CPU must carry the generator and the kernel's part."""
    if len(facts.affinity) == 1:
        why = "the generator, the kernel's helper threads and the interrupts share one CPU and take turns"
        yield Finding(Level.WARN, "CPUs", "only one may be used", why, "give the machine or this process two or more")
    elif facts.affinity:
        yield Finding(Level.OK, "CPUs", f"{len(facts.affinity)} may be used")


def steal(facts: MachineFacts) -> Iterator[Finding]:
    """Time that the hypervisor gave to others."""
    text = facts.read("/proc/stat")
    if isinstance(text, Unknown):
        return
    ticks = [int(word) for word in text.split("\n", 1)[0].split()[1:]]
    share = ticks[7] / max(sum(ticks[:8]), 1) if len(ticks) > 7 else 0.0
    if share > 0.01:
        why = "the host gives this machine's CPUs to others: a pause of the CPU looks like a slow device"
        seen = f"{share:.1%} of the CPU time since boot"
        yield Finding(Level.WARN, "stolen time", seen, why, "use a machine with CPUs of its own")


def numa(facts: MachineFacts) -> Iterator[Finding]:
    """The device hangs on one node."""
    nodes = {path.split("/")[-2]: cpu_set(text) for path, text in facts.matching("/sys/devices/system/node/").items()}
    if len(nodes) < 2:
        return
    for target, device in facts.devices():
        node = int(device.get("numa_node", -1))
        own = nodes.get(f"node{node}")
        if own is None:
            continue
        name = f"{device.get('name')} is on node {node}"
        if facts.affinity <= own:
            yield Finding(Level.OK, "NUMA", f"{name}, as are the CPUs in use", target=target)
        else:
            why = "threads on another node reach the device through the link between the sockets"
            fix = f"numactl --cpunodebind={node} --membind={node} assay ..."
            yield Finding(Level.NOTE, "NUMA", f"{name}; this process may run on others too", why, fix, target)


def cpu_set(text: str) -> frozenset[int]:
    """The kernel's lists: 0-3,8."""
    found: set[int] = set()
    for part in text.split(","):
        first, _, last = part.partition("-")
        if first.strip().isdigit():
            found |= set(range(int(first), int(last or first) + 1))
    return frozenset(found)


CHECKS = (governor, turbo, idle_states, clock, load, cpus, steal, numa)
