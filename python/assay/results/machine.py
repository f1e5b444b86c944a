"""The machine that a run was made on, and whether it stayed the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from assay.record import Environment, TargetFacts
from assay.results.folder import Folder
from assay.units import show

Facts = list[tuple[str, str]]


def environments(folder: Folder) -> list[Environment]:
    """Environments of all records, in order."""
    found = [cell.record["environment"] for cell in folder.measured if cell.record is not None]
    return found + [one.record["environment"] for one in folder.works]


def headline(folder: Folder) -> tuple[str, str]:
    """What was measured, and on what machine."""
    found = environments(folder)
    if not found:
        return "Nothing was measured", "The run ended before its first record."
    targets = found[0].get("targets") or []
    what = ", ".join(dict.fromkeys(_target(facts) for facts in targets)) or "A target without a device"
    return what, _machine(found[0])


def _target(facts: TargetFacts) -> str:
    device, system = facts.get("device") or {}, facts.get("file_system") or {}
    model = str(device.get("model") or "").strip()
    name = model or (f"/dev/{device['name']}" if device.get("name") else str(facts.get("path") or "?"))
    return f"{name} under {system['kind']}" if system.get("kind") else name


def _machine(environment: Environment) -> str:
    cpu, memory = environment.get("cpu") or {}, environment.get("memory") or {}
    total = float(memory.get("total_bytes") or 0) / (1 << 30)
    virtual = environment.get("virtualisation")
    parts = [
        str(environment.get("host") or "unnamed host"),
        str(cpu.get("model") or "unknown CPU"),
        f"{usable} CPUs" if (usable := cpu.get("usable")) else "",
        f"{total:.3g} GiB of memory" if total else "",
        f"Linux {kernel}" if (kernel := environment.get("kernel")) else "",
        f"inside {virtual}" if virtual and virtual != "none" else "",
    ]
    return ", ".join(part for part in parts if part)


def facts(folder: Folder) -> list[tuple[str, Facts]]:
    """Groups of facts of the first record's machine; empty ones are left out."""
    found = environments(folder)
    if not found:
        return []
    first = found[0]
    groups = [("Machine", _host(first)), ("CPU and memory", _cpu(first))]
    groups += [(f"Target {target.get('path')}", _device(target)) for target in first.get("targets") or ()]
    return [(name, [(label, value) for label, value in entries if value]) for name, entries in groups]


def _host(environment: Environment) -> Facts:
    return [
        ("Host", _text(environment, "host")),
        ("Kernel", f"{_text(environment, 'kernel')} {_text(environment, 'kernel_build')}".strip()),
        ("Distribution", _text(environment, "distribution")),
        ("Architecture", _text(environment, "architecture")),
        ("Virtualisation", _text(environment, "virtualisation")),
        ("Load before the run", _text(environment, "load_average")),
        ("perf_event_paranoid", _text(environment, "perf_event_paranoid")),
        ("io_uring_disabled", _text(environment, "io_uring_disabled")),
    ]


def _cpu(environment: Environment) -> Facts:
    cpu, memory = environment.get("cpu") or {}, environment.get("memory") or {}
    clock = (
        f"{_text(cpu, 'clock')}, {float(cpu.get('tsc_hz') or 0) / 1e9:.3g} GHz"
        if cpu.get("tsc_hz")
        else _text(cpu, "clock")
    )
    return [
        ("CPU", _text(cpu, "model")),
        ("CPUs usable", f"{_text(cpu, 'usable')} of {_text(cpu, 'logical')}"),
        ("NUMA nodes", _text(cpu, "numa_nodes")),
        ("Clock", clock),
        ("Governor", _text(cpu, "governor") or "the kernel does not say"),
        ("Turbo", _text(cpu, "turbo") or "the kernel does not say"),
        ("Kernels use", ", ".join(str(one) for one in cpu.get("features") or ())),
        ("Last-level cache", _bytes(cpu, "llc_bytes")),
        ("Memory", _bytes(memory, "total_bytes")),
        ("Swap in use", _bytes(memory, "swap_used_bytes")),
        ("Huge pages", _text(memory, "transparent_hugepages")),
    ]


def _device(target: TargetFacts) -> Facts:
    device, system = target.get("device") or {}, target.get("file_system") or {}
    blocks = f"{_bytes(device, 'logical_block_bytes')} logical, {_bytes(device, 'physical_block_bytes')} physical"
    return [
        ("Device", f"{_text(device, 'name')} {_text(device, 'model')}".strip() or "none beneath"),
        ("Serial, firmware", f"{_text(device, 'serial')} {_text(device, 'firmware')}".strip()),
        ("Capacity", _bytes(device, "bytes")),
        ("Blocks", blocks if device else ""),
        ("Scheduler", _text(device, "scheduler")),
        ("Write cache", _text(device, "write_cache")),
        ("Link", _text(device, "link")),
        (
            "Requests",
            f"queue of {_text(device, 'nr_requests')}, {_text(device, 'max_sectors_kb')} KiB at most" if device else "",
        ),
        ("Poll queues", "yes" if device.get("io_poll") else ""),
        ("Members", ", ".join(str(one) for one in device.get("members") or ())),
        ("File system", f"{_text(system, 'kind')} at {_text(system, 'mount_point')}" if system else "none"),
        ("Mount options", _text(system, "options")),
        ("Free", f"{_bytes(system, 'free_bytes')} of {_bytes(system, 'total_bytes')}" if system else ""),
    ]


def _text(holder: Mapping[str, object], name: str) -> str:
    value = holder.get(name)
    return "" if value is None else str(value)


def _bytes(holder: Mapping[str, object], name: str) -> str:
    value = holder.get(name)
    return show.block(float(value)) if isinstance(value, (int, float)) and value and value < 1 << 30 else _large(value)


def _large(value: object) -> str:
    return show.size(float(value)) if isinstance(value, (int, float)) and value else ""


_WATCHED = (("host",), ("kernel",), ("cpu", "model"), ("cpu", "governor"), ("cpu", "turbo"), ("cpu", "usable"))


def changes(folder: Folder) -> list[str]:
    """What was not the same in all records: figures of different machines should not be compared unawares."""
    found = environments(folder)
    versions = [str((cell.record or {})["run"].get("assayer_version")) for cell in folder.measured]
    said = [_differs(" ".join(path), [_at(one, path) for one in found]) for path in _WATCHED]
    said.append(_differs("version of assayer", versions))
    return [one for one in said if one]


def _at(environment: Environment, path: Sequence[str]) -> str:
    value: object = environment
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return str(value)


def _differs(name: str, values: Sequence[str]) -> str:
    distinct = list(dict.fromkeys(values))
    if len(distinct) < 2:
        return ""
    return f"The records do not agree on the {name}: {', '.join(distinct[:4])}. Compare figures across them with care."
