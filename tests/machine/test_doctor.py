"""The doctor on machines that nobody has: each check is a pure function of what was read."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from assay.machine import diagnosis
from assay.machine.checks import ALL, cpu, device, kernel, memory, place
from assay.machine.diagnosis import document, examine, worst
from assay.machine.facts import MachineFacts, Unknown, ask, gather, read_files
from assay.machine.finding import Finding, Level

Check = Callable[[MachineFacts], Iterator[Finding]]
CPUS = "/sys/devices/system/cpu"
QUEUE = "/sys/block/nvme0n1/queue"
LINK = "/sys/block/nvme0n1/device/device"
STAT = "cpu  100 0 100 800 0 0 0 {steal} 0 0\ncpu0 1 2 3"
LIMITS = "Max locked memory         {0}              {0}              bytes"
MEMINFO = "MemTotal: 8000000 kB\nSwapTotal: 4096 kB\nSwapFree: {free} kB"


def on_disk(**device_facts: Any) -> dict[str, Any]:
    """An environment with one folder on an NVMe drive."""
    system = {"kind": "ext4", "mount_point": "/", "options": "rw", "total_bytes": 100 << 30, "free_bytes": 50 << 30}
    for key in list(device_facts):
        if key.startswith("fs_"):
            system[key[3:]] = device_facts.pop(key)
    drive = {"name": "nvme0n1", "scheduler": "none", "write_cache": "write through", **device_facts}
    return {"virtualisation": "none", "targets": [{"path": "/data", "file_system": system, "device": drive}]}


def probe(path: str, available: bool, variant: str = "") -> dict[str, Any]:
    return {
        "on": "/data",
        "path": path,
        "variant": variant,
        "available": available,
        "reason": "the file system says EINVAL",
        "fix": "name another folder",
    }


ENABLED = f"{CPUS}/cpu0/cpuidle/state2"
CASES: list[tuple[Check, MachineFacts, Level | None, str]] = [
    (cpu.governor, MachineFacts({f"{CPUS}/cpu0/cpufreq/scaling_governor": "performance"}), Level.OK, "1 CPUs"),
    (cpu.governor, MachineFacts({f"{CPUS}/cpu0/cpufreq/scaling_governor": "powersave"}), Level.WARN, "powersave"),
    (cpu.governor, MachineFacts(), Level.NOTE, "unknown"),
    (cpu.turbo, MachineFacts({f"{CPUS}/intel_pstate/no_turbo": "1"}), Level.OK, "off"),
    (cpu.turbo, MachineFacts({f"{CPUS}/cpufreq/boost": "1"}), Level.NOTE, "on"),
    (cpu.turbo, MachineFacts({f"{CPUS}/cpufreq/boost": Unknown("no right")}), Level.NOTE, "unknown"),
    (cpu.idle_states, MachineFacts({f"{ENABLED}/latency": "133", f"{ENABLED}/name": "C6"}), Level.NOTE, "C6, 133 us"),
    (cpu.idle_states, MachineFacts({f"{ENABLED}/latency": "133", f"{ENABLED}/disable": "1"}), Level.OK, "disabled"),
    (cpu.clock, MachineFacts({cpu._CLOCK: "tsc"}), Level.OK, "tsc"),
    (cpu.clock, MachineFacts({cpu._CLOCK: "hpet"}), Level.WARN, "hpet"),
    (cpu.clock, MachineFacts(environment={"cpu": {"clock": "clock_gettime"}}), Level.WARN, "no usable counter"),
    (cpu.load, MachineFacts({"/proc/loadavg": "0.05 1 1"}, affinity=frozenset({0, 1})), Level.OK, "0.05"),
    (cpu.load, MachineFacts({"/proc/loadavg": "0.50 1 1"}, affinity=frozenset({0, 1})), Level.NOTE, "0.50"),
    (cpu.load, MachineFacts({"/proc/loadavg": "1.50 1 1"}, affinity=frozenset({0, 1})), Level.WARN, "1.50"),
    (cpu.cpus, MachineFacts(affinity=frozenset({3})), Level.WARN, "only one"),
    (cpu.steal, MachineFacts({"/proc/stat": STAT.format(steal=0)}), None, ""),
    (cpu.steal, MachineFacts({"/proc/stat": STAT.format(steal=200)}), Level.WARN, "16.7%"),
    (
        memory.huge_pages,
        MachineFacts({"/sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never"}),
        Level.OK,
        "",
    ),
    (
        memory.huge_pages,
        MachineFacts({"/sys/kernel/mm/transparent_hugepage/enabled": "[always] never"}),
        Level.NOTE,
        "always",
    ),
    (memory.swap, MachineFacts({"/proc/meminfo": MEMINFO.format(free=4096)}), Level.OK, "none"),
    (memory.swap, MachineFacts({"/proc/meminfo": MEMINFO.format(free=0)}), Level.NOTE, "4 MiB"),
    (memory.locked_memory, MachineFacts({"/proc/self/limits": LIMITS.format("unlimited")}, user_id=7), Level.OK, ""),
    (memory.locked_memory, MachineFacts({"/proc/self/limits": LIMITS.format(8 << 20)}, user_id=7), Level.NOTE, "8 MiB"),
    (memory.locked_memory, MachineFacts({"/proc/self/limits": LIMITS.format(8 << 20)}, user_id=0), Level.OK, "root"),
    (memory.control_group, MachineFacts({"/sys/fs/cgroup/a/io.max": "259:0 rbps=1000"}), Level.WARN, "io.max"),
    (memory.control_group, MachineFacts({"/sys/fs/cgroup/a/cpu.max": "50000 100000"}), Level.WARN, "cpu.max"),
    (memory.control_group, MachineFacts({"/sys/fs/cgroup/a/memory.max": "1000"}), Level.NOTE, "memory.max"),
    (memory.control_group, MachineFacts({"/sys/fs/cgroup/a/cpu.max": "max 100000"}), Level.OK, "no limit"),
    (kernel.measuring_program, MachineFacts(environment=Unknown("it is not there")), Level.BLOCKER, "it is not there"),
    (kernel.measuring_program, MachineFacts(environment={}), None, ""),
    (
        kernel.counters,
        MachineFacts({"/proc/sys/kernel/perf_event_paranoid": "2"}, user_id=0),
        Level.NOTE,
        "no hardware",
    ),
    (kernel.io_uring, MachineFacts({"/proc/sys/kernel/io_uring_disabled": "2"}), Level.WARN, "io_uring_disabled is 2"),
    (
        kernel.io_uring,
        MachineFacts({"/proc/sys/kernel/io_uring_disabled": "1"}, user_id=7),
        Level.WARN,
        "disabled is 1",
    ),
    (kernel.io_uring, MachineFacts(probes=[probe("io_uring", True)]), Level.OK, "available"),
    (kernel.io_uring, MachineFacts(probes=[probe("io_uring", False)]), Level.WARN, "EINVAL"),
    (kernel.io_uring, MachineFacts(probes=[probe("io_uring", False, "iopoll")]), Level.NOTE, "(iopoll)"),
    (
        kernel.direct_io,
        MachineFacts(probes=[probe("pread", True), probe("pread", False, "direct")]),
        Level.WARN,
        "EINVAL",
    ),
    (kernel.persistent_memory, MachineFacts({"/sys/bus/nd/devices/namespace0.0/mode": "fsdax"}), Level.OK, "fsdax"),
    (kernel.persistent_memory, MachineFacts(), Level.NOTE, "none"),
    (kernel.virtualisation, MachineFacts(environment=on_disk()), Level.OK, "none"),
    (kernel.virtualisation, MachineFacts(environment={"virtualisation": "kvm"}), Level.NOTE, "kvm"),
    (place.kind, MachineFacts(environment=on_disk()), Level.OK, "ext4"),
    (place.kind, MachineFacts(environment=on_disk(fs_kind="tmpfs")), Level.WARN, "tmpfs"),
    (place.kind, MachineFacts(environment=on_disk(fs_kind="overlay")), Level.WARN, "overlay"),
    (place.kind, MachineFacts(environment=on_disk(fs_kind="nfs4")), Level.NOTE, "nfs4"),
    (place.read_only, MachineFacts(environment=on_disk(fs_options="ro,noatime")), Level.BLOCKER, "read-only"),
    (place.discard, MachineFacts(environment=on_disk(fs_options="rw,discard")), Level.NOTE, "discard"),
    (place.free_space, MachineFacts(environment=on_disk()), Level.OK, "50%"),
    (place.free_space, MachineFacts(environment=on_disk(fs_free_bytes=10 << 30)), Level.WARN, "10%"),
    (place.free_space, MachineFacts(environment=on_disk(fs_free_bytes=4 << 30)), Level.WARN, "4%"),
    (place.free_space, MachineFacts(environment=on_disk(fs_free_bytes=2 << 30)), Level.BLOCKER, "2%"),
    (device.present, MachineFacts(environment={"targets": [{"path": "/tmp"}]}), Level.NOTE, "no block device"),
    (device.scheduler, MachineFacts(environment=on_disk()), Level.OK, "none"),
    (device.scheduler, MachineFacts(environment=on_disk(scheduler="mq-deadline")), Level.NOTE, "mq-deadline"),
    (device.scheduler, MachineFacts(environment=on_disk(scheduler="mq-deadline", rotational=True)), Level.OK, ""),
    (device.scheduler, MachineFacts(environment=on_disk(scheduler="bfq")), Level.WARN, "bfq"),
    (device.write_cache, MachineFacts(environment=on_disk()), Level.OK, "write through"),
    (device.write_cache, MachineFacts(environment=on_disk(write_cache="write back")), Level.NOTE, "write back"),
    (
        device.block_size,
        MachineFacts(environment=on_disk(logical_block_bytes=512, physical_block_bytes=4096)),
        Level.NOTE,
        "",
    ),
    (
        device.block_size,
        MachineFacts(environment=on_disk(logical_block_bytes=4096, physical_block_bytes=4096)),
        Level.OK,
        "",
    ),
    (device.statistics, MachineFacts({f"{QUEUE}/iostats": "0"}, on_disk()), Level.WARN, "off"),
    (device.statistics, MachineFacts({f"{QUEUE}/iostats": "1"}, on_disk()), None, ""),
    (device.other_users, MachineFacts(environment=on_disk(), busy={"nvme0n1": 0.4}), Level.WARN, "40%"),
    (device.other_users, MachineFacts(environment=on_disk(), busy={"nvme0n1": 0.0}), Level.OK, "none"),
    (
        device.other_users,
        MachineFacts(environment=on_disk(), busy={"nvme0n1": Unknown("no right")}),
        Level.NOTE,
        "no right",
    ),
    (device.poll_queues, MachineFacts(environment=on_disk(io_poll=True)), Level.OK, ""),
    (device.poll_queues, MachineFacts(environment=on_disk()), Level.NOTE, "none"),
    (device.trim, MachineFacts({f"{QUEUE}/discard_max_bytes": "4096"}, on_disk()), Level.NOTE, "no periodic"),
    (device.trim, MachineFacts({f"{QUEUE}/discard_max_bytes": "0"}, on_disk()), None, ""),
    (
        device.link,
        MachineFacts({f"{LINK}/current_link_speed": "8.0 GT/s", f"{LINK}/max_link_speed": "16.0 GT/s"}, on_disk()),
        Level.WARN,
        "8.0 GT/s",
    ),
    (
        device.link,
        MachineFacts({f"{LINK}/current_link_width": "4", f"{LINK}/max_link_width": "4"}, on_disk()),
        None,
        "",
    ),
    (
        device.heat,
        MachineFacts({"/sys/block/nvme0n1/device/hwmon1/temp1_input": "81850"}, on_disk()),
        Level.WARN,
        "82 C",
    ),
    (device.array, MachineFacts({"/sys/block/nvme0n1/md/sync_action": "resync"}, on_disk()), Level.WARN, "resync"),
    (device.throttled_writeback, MachineFacts({f"{QUEUE}/wbt_lat_usec": "2000"}, on_disk()), Level.NOTE, "2000 us"),
    (device.throttled_writeback, MachineFacts({f"{QUEUE}/wbt_lat_usec": "0"}, on_disk()), None, ""),
]


@pytest.mark.parametrize(
    ("check", "facts", "level", "words"), CASES, ids=[f"{case[0].__name__}-{n}" for n, case in enumerate(CASES)]
)
def test_check(check: Check, facts: MachineFacts, level: Level | None, words: str) -> None:
    findings = list(check(facts))
    assert [finding.level for finding in findings] == ([] if level is None else [level])
    for finding in findings:
        assert words in finding.seen
        if finding.level in (Level.WARN, Level.BLOCKER):
            assert finding.why, "what matters must say why"
            assert finding.fix, "what matters must say how to mend it"


def test_every_check_was_tried() -> None:
    assert {check.__name__ for check in ALL} - {case[0].__name__ for case in CASES} == {"numa"}


def test_numa_compares_the_device_with_the_cpus_in_use() -> None:
    nodes: dict[str, str | Unknown] = {
        f"/sys/devices/system/node/node{n}/cpulist": text for n, text in ((0, "0-3"), (1, "4-7,9"))
    }
    near = MachineFacts(nodes, on_disk(numa_node=1), affinity=frozenset({5, 9}))
    assert [finding.level for finding in cpu.numa(near)] == [Level.OK]
    both = MachineFacts(nodes, on_disk(numa_node=1), affinity=frozenset({0, 5}))
    (finding,) = cpu.numa(both)
    assert finding.level is Level.NOTE
    assert "--cpunodebind=1" in finding.fix
    assert list(cpu.numa(MachineFacts(nodes, on_disk(numa_node=-1), affinity=frozenset({0})))) == []


NOTHING = MachineFacts(environment=Unknown("it is not built"), probes=Unknown("it is not built"))
NONSENSE = MachineFacts(
    {
        **dict.fromkeys(("/proc/loadavg", "/proc/stat", "/proc/meminfo", "/proc/self/limits"), "?"),
        **dict.fromkeys((f"{QUEUE}/wbt_lat_usec", f"{LINK}/current_link_speed", f"{LINK}/max_link_speed"), ""),
        "/proc/sys/kernel/perf_event_paranoid": "much",
        "/sys/bus/event_source/devices/cpu/type": "4",
        "/sys/devices/system/node/node0/cpulist": "?",
        "/sys/devices/system/node/node1/cpulist": "-",
    },
    {"cpu": None, "targets": [{"path": "/x", "device": {"name": None, "numa_node": "?"}, "file_system": {"kind": 3}}]},
    [{"path": "io_uring"}],
)


@pytest.mark.parametrize("facts", [MachineFacts(), NOTHING, NONSENSE], ids=["empty", "nothing", "nonsense"])
def test_what_cannot_be_read_is_said_and_stops_nothing(facts: MachineFacts) -> None:
    findings = examine(facts)
    assert any(finding.seen.startswith("unknown: ") for finding in findings)
    ranks = [finding.level.rank for finding in findings]
    assert ranks == sorted(ranks, reverse=True)


def test_blocker_gives_exit_code_4(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(diagnosis, "gather", lambda _targets: NOTHING)
    assert diagnosis.doctor(["/data"], as_json=True) == 4
    shown = json.loads(capsys.readouterr().out)
    assert (shown["version"], shown["level"], shown["findings"][0]["topic"]) == (1, "blocker", "assayer")
    monkeypatch.setattr(diagnosis, "gather", lambda _targets: MachineFacts(environment={}, probes=[]))
    assert diagnosis.doctor(["/data"], as_json=False) == 0
    assert "\x1b" not in (plain := capsys.readouterr().out)
    assert "0 blocker" in plain


def test_document_is_what_worst_says() -> None:
    findings = [Finding(Level.WARN, "a", "b", "c", "d"), Finding(Level.OK, "e", "f")]
    assert document(findings)["level"] == worst(findings) == Level.WARN
    assert worst([]) is Level.OK


def test_this_machine_is_read_without_a_binary(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ASSAYER", str(tmp_path / "absent"))
    facts = gather([str(tmp_path)], seconds=0)
    assert isinstance(facts.environment, Unknown)
    assert "ASSAYER names it" in facts.environment.reason
    assert facts.affinity
    assert isinstance(facts.read("/proc/loadavg"), str)


def program(folder: Path, text: str) -> Path:
    path = folder / "assayer"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize(
    ("text", "reason"),
    [("echo '['", "no JSON document"), ("echo first >&2; echo it broke >&2; exit 1", "it broke"), ("exit 3", "code 3")],
)
def test_a_binary_that_fails_is_a_reason(
    text: str, reason: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("ASSAYER", str(program(tmp_path, text)))
    answer = ask("facts")
    assert isinstance(answer, Unknown)
    assert reason in answer.reason


def test_unreadable_files_keep_their_reason(tmp_path: Path) -> None:
    (tmp_path / "a").write_text(" text \n")
    seen = read_files([f"{tmp_path}/*", f"{tmp_path}/b", str(tmp_path)])
    assert seen[f"{tmp_path}/a"] == "text"
    assert seen[f"{tmp_path}/b"] == Unknown(f"{tmp_path}/b does not exist")
    assert isinstance(seen[str(tmp_path)], Unknown)
