"""A snapshot of the machine: text files of the kernel, and what the measuring program reports.

Checks are pure functions of this snapshot, so that each can be tried on a machine that nobody has.
"""

import json
import os
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from assay import home


@dataclass(frozen=True)
class Unknown:
    """A thing that could not be read, and why."""

    reason: str


CPU = "/sys/devices/system/cpu"
MACHINE_FILES = (
    f"{CPU}/cpu*/cpufreq/scaling_governor",
    f"{CPU}/intel_pstate/no_turbo",
    f"{CPU}/cpufreq/boost",
    f"{CPU}/cpu0/cpuidle/state*/name",
    f"{CPU}/cpu0/cpuidle/state*/latency",
    f"{CPU}/cpu0/cpuidle/state*/disable",
    "/sys/devices/system/node/node*/cpulist",
    "/sys/devices/system/clocksource/clocksource0/current_clocksource",
    "/sys/bus/event_source/devices/*/type",
    "/sys/bus/nd/devices/namespace*/mode",
    "/sys/kernel/mm/transparent_hugepage/enabled",
    "/sys/module/nvme/parameters/poll_queues",
    "/proc/cpuinfo",
    "/proc/loadavg",
    "/proc/meminfo",
    "/proc/stat",
    "/proc/self/cgroup",
    "/proc/self/limits",
    "/proc/sys/kernel/io_uring_disabled",
    "/proc/sys/kernel/perf_event_paranoid",
    "/etc/systemd/system/timers.target.wants/fstrim.timer",
)
DEVICE_FILES = (
    "queue/scheduler",
    "queue/write_cache",
    "queue/iostats",
    "queue/discard_max_bytes",
    "queue/wbt_lat_usec",
    "md/sync_action",
    "device/hwmon*/temp1_input",
    "device/device/current_link_speed",
    "device/device/max_link_speed",
    "device/device/current_link_width",
    "device/device/max_link_width",
)
CGROUP_FILES = ("cpu.max", "memory.max", "io.max")


@dataclass(frozen=True)
class MachineFacts:
    """What was read. `environment` and `probes` are documents of the measuring program."""

    files: Mapping[str, str | Unknown] = field(default_factory=dict)
    environment: Mapping[str, Any] | Unknown = Unknown("it was not asked for")
    probes: list[Mapping[str, Any]] | Unknown = Unknown("it was not asked for")
    busy: Mapping[str, float | Unknown] = field(default_factory=dict)
    affinity: frozenset[int] = frozenset()
    user_id: int = 0

    def read(self, path: str) -> str | Unknown:
        """A file's text without the white space around it."""
        return self.files.get(path, Unknown(f"{path} does not exist"))

    def matching(self, start: str, end: str = "") -> dict[str, str]:
        """Files whose path starts and ends so, and that could be read."""
        return {
            path: seen
            for path, seen in self.files.items()
            if path.startswith(start) and path.endswith(end) and isinstance(seen, str)
        }

    def part(self, name: str) -> Mapping[str, Any]:
        """A part of the environment (`cpu`, `memory`); empty where it is not known."""
        if isinstance(self.environment, Unknown):
            return {}
        part = self.environment.get(name)
        return part if isinstance(part, Mapping) else {}

    def targets(self) -> list[Mapping[str, Any]]:
        """Facts of each target that was named."""
        if isinstance(self.environment, Unknown):
            return []
        return list(self.environment.get("targets") or [])

    def devices(self) -> list[tuple[str, Mapping[str, Any]]]:
        """Block devices beneath the targets, each once, with the target that led to it."""
        found: dict[str, tuple[str, Mapping[str, Any]]] = {}
        for target in self.targets():
            device = target.get("device")
            if device:
                found.setdefault(str(device.get("name", "")), (str(target.get("path", "")), device))
        return list(found.values())


def gather(targets: list[str], seconds: float = 0.3) -> MachineFacts:
    """Reads the machine. `seconds` is how long devices are watched for other users."""
    files = read_files(MACHINE_FILES)
    files |= read_files(_cgroup_files(files.get("/proc/self/cgroup")))
    on = [word for target in targets for word in ("--on", target)]
    environment = ask("facts", *on)
    facts = MachineFacts(files, environment if isinstance(environment, Mapping | Unknown) else Unknown("no document"))
    names = [str(device.get("name", "")) for _, device in facts.devices()]
    files |= read_files([f"/sys/block/{name}/{file}" for name in names for file in DEVICE_FILES])
    probes = ask("probe", *on)
    return MachineFacts(
        files,
        facts.environment,
        probes if isinstance(probes, list | Unknown) else Unknown("no list"),
        busy_shares(names, seconds),
        frozenset(os.sched_getaffinity(0)),
        os.geteuid(),
    )


def read_files(patterns: tuple[str, ...] | list[str]) -> dict[str, str | Unknown]:
    """The text of every file that matches; a pattern without `*` that matches nothing is there with the reason."""
    found: dict[str, str | Unknown] = {}
    for pattern in patterns:
        paths = [str(path) for path in Path("/").glob(pattern.lstrip("/"))] if "*" in pattern else [pattern]
        for path in paths:
            found[path] = _text(path)
    return found


def _text(path: str) -> str | Unknown:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace").strip()
    except FileNotFoundError:
        return Unknown(f"{path} does not exist")
    except OSError as error:
        return Unknown(f"{path}: {error.strerror}")


def _cgroup_files(membership: str | Unknown | None) -> list[str]:
    """Limits of this process's control group and of all above it (version 2 only)."""
    if not isinstance(membership, str):
        return []
    folders = [line[3:] for line in membership.splitlines() if line.startswith("0::")]
    if not folders:
        return []
    folder = Path("/sys/fs/cgroup" + folders[0])
    above = [folder, *(parent for parent in folder.parents if parent.is_relative_to("/sys/fs/cgroup"))]
    return [str(place / name) for place in above for name in CGROUP_FILES if (place / name).exists()]


def ask(*arguments: str) -> Any:
    """The document that the measuring program prints, or Unknown with the reason."""
    try:
        command = [str(home.binary()), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        if done.returncode != 0:
            said = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
            return Unknown(f"assayer {arguments[0]}: {said[-1]}")
        return json.loads(done.stdout)
    except (home.HomeError, OSError, subprocess.SubprocessError) as error:
        return Unknown(str(error))
    except ValueError as error:
        return Unknown(f"assayer {arguments[0]} printed no JSON document: {error}")


def busy_shares(devices: list[str], seconds: float) -> dict[str, float | Unknown]:
    """The share of the time in which each device was busy while this process left it alone."""
    if not devices:
        return {}
    before = {name: _busy_ms(name) for name in devices}
    start = time.monotonic()
    time.sleep(seconds)
    elapsed_ms = (time.monotonic() - start) * 1000
    return {name: _share(before[name], _busy_ms(name), elapsed_ms) for name in devices}


def _share(before: float | Unknown, after: float | Unknown, elapsed_ms: float) -> float | Unknown:
    if isinstance(before, Unknown):
        return before
    if isinstance(after, Unknown):
        return after
    return (after - before) / elapsed_ms


def _busy_ms(device: str) -> float | Unknown:
    text = _text(f"/sys/block/{device}/stat")
    if isinstance(text, Unknown):
        return text
    fields = text.split()
    return float(fields[9]) if len(fields) > 9 else Unknown(f"/sys/block/{device}/stat has {len(fields)} fields")
