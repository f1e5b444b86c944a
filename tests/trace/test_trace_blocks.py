"""Lines of the kernel's tracing become operations; operations become classes."""

import random

import pytest
from assay.trace import pattern
from assay.trace.blocks import Blocks, Reader
from assay.trace.classes import classes_of
from assay.trace.device import TracedDevice
from assay.trace.operation import Recording, TracedOperation


def dice(seed: int) -> random.Random:
    return random.Random(seed)  # noqa: S311


DISK = TracedDevice("vda", (254, 0))
# A read that its asker issues; a write that a worker of the kernel issues for the asker; a flush; somebody else's read.
LINES = """\
      postgres-100   [000] ..... 10.000000: block_getrq: 254,0 R 2048 + 16 [postgres]
      postgres-100   [000] ..... 10.000010: block_rq_issue: 254,0 R 8192 () 2048 + 16 be,0,4 [postgres]
     my thread-7-101 [001] ..... 10.000020: block_getrq: 254,0 WS 4096 + 8 [my thread-7]
    kworker/1:1H-44  [001] ..... 10.000030: block_rq_issue: 254,0 WS 4096 () 4096 + 8 be,0,4 [kworker/1:1H]
          <idle>-0   [000] d.h1. 10.001010: block_rq_complete: 254,0 R () 2048 + 16 be,0,4 [0]
      postgres-100   [000] ..... 10.001020: sys_fdatasync(fd: 5)
      postgres-100   [000] ..... 10.001030: block_getrq: 254,0 FWS 0 + 0 [postgres]
    kworker/1:1H-44  [001] ..... 10.001040: block_rq_issue: 254,0 FF 0 () 0 + 0 none,0,0 [kworker/1:1H]
    kworker/1:1H-44  [001] ..s.. 10.002030: block_rq_complete: 254,0 FF () 18446744073709551615 + 0 none,0,0 [0]
          rustc-900  [001] ..... 10.003000: block_getrq: 254,0 RA 9000 + 64 [rustc]
          rustc-900  [001] ..... 10.003010: block_rq_issue: 254,0 RA 32768 () 9000 + 64 be,0,4 [rustc]
      postgres-100   [000] ..... 10.004000: sched_process_fork: comm=postgres pid=100 child_comm=postgres child_pid=102
      postgres-102   [000] ..... 10.004100: block_getrq: 254,0 R 6144 + 16 [postgres]
      postgres-102   [000] ..... 10.004110: block_rq_issue: 254,0 R 8192 () 6144 + 16 be,0,4 [postgres]
   kworker/u8:2-55   [000] ..... 10.005000: block_getrq: 254,0 W 7000 + 32 [kworker/u8:2]
   kworker/u8:2-55   [000] ..... 10.005010: block_rq_issue: 254,0 W 16384 () 7000 + 32 be,0,4 [kworker/u8:2]
      postgres-100   [000] ..... 10.006000: block_rq_issue: 8,0 R 8192 () 100 + 16 be,0,4 [postgres]
"""


def read(own: set[int] | None, device: TracedDevice = DISK) -> Blocks:
    reader = Reader([device], own, lambda _, comm: comm.startswith("kworker"))
    return reader.read(LINES.splitlines())


def kinds(found: Blocks) -> list[tuple[str, int, str]]:
    return [(one.kind, one.bytes, one.origin) for one in found.operations]


def test_the_asker_counts_and_not_the_worker_that_issues() -> None:
    assert kinds(read({100, 101})) == [
        ("read", 8192, "own"),
        ("write", 4096, "own"),
        ("flush", 0, "own"),
        ("read", 32768, "other"),
        ("read", 8192, "own"),  # A child that was forked meanwhile.
        ("write", 16384, "kernel"),
    ]


def test_everything_on_a_device_is_meant_where_no_process_was_named() -> None:
    assert {origin for _, _, origin in kinds(read(None))} == {"own"}


def test_latency_runs_from_issue_to_completion_and_a_flush_has_one_too() -> None:
    first, write, flush, *_ = read({100}).operations
    assert first.end_s - first.at_s == pytest.approx(0.001)
    assert write.end_s < 0, "its end was not seen"
    assert flush.end_s - flush.at_s == pytest.approx(0.001)
    assert (first.offset, first.task, first.sync) == (2048 * 512, 100, True)


def test_calls_that_make_data_durable_are_counted_by_task() -> None:
    reader = Reader([DISK], {100}, lambda *_: False)
    reader.read(LINES.splitlines())
    assert reader.own_sync_calls() == 1


def test_write_back_of_the_databases_files_is_its_own_and_that_of_others_is_not() -> None:
    start = "   kworker/u8:2-55   [000] ..... 9.0: writeback_single_inode_start: bdi 254:0: ino={} state=I_DIRTY\n"
    for inode, origin in ((77, "kernel"), (78, "other")):
        reader = Reader([DISK], {100}, lambda _, comm: comm.startswith("kworker"), {77})
        found = reader.read((start.format(inode) + LINES).splitlines())
        assert [one.origin for one in found.operations if one.bytes == 16384] == [origin]


def test_sectors_outside_of_the_partition_are_another_ones() -> None:
    found = read({100}, TracedDevice("vda", (254, 0), first=2000, last=2100))
    assert [one.bytes for one in found.operations if one.kind == "read"] == [8192]


def operations(offsets: list[int], size: int = 8192, kind: str = "read", **rest: bool) -> list[TracedOperation]:
    return [
        TracedOperation(kind, "vda", at, size, i * 0.01, i * 0.01 + 0.001, 1, "own", **rest)
        for i, at in enumerate(offsets)
    ]


@pytest.mark.parametrize("seed", range(5))
def test_random_and_sequential_reads_are_told_apart_when_they_mix(seed: int) -> None:
    chance = dice(seed)
    scan = iter(range(1 << 33, 1 << 34, 8192))
    wanted, offsets = [], []
    for _ in range(2000):
        ordered = chance.random() < 0.5
        wanted.append(ordered)
        offsets.append(next(scan) if ordered else chance.randrange(1 << 17) * 8192)
    found = pattern.in_order(operations(offsets))
    wrong = sum(one != other for one, other in zip(found, wanted, strict=True))
    assert wrong < 40, f"{wrong} of 2000 taken for the other, seed {seed}"


def test_a_log_that_writes_its_last_block_again_is_in_order() -> None:
    offsets = [block * 8192 for number in range(50) for block in (number, number)]
    assert all(pattern.in_order(operations(offsets, kind="write")))


@pytest.mark.parametrize("seed", range(3))
def test_a_hot_spot_is_found_and_even_reads_have_none(seed: int) -> None:
    chance = dice(seed)
    even = [chance.randrange(4096) * 65536 for _ in range(8000)]
    hot = [(chance.randrange(200) if chance.random() < 0.8 else chance.randrange(4096)) * 65536 for _ in range(8000)]
    assert pattern.hot_spot(operations(even)) is None, f"seed {seed}"
    found = pattern.hot_spot(operations(hot))
    assert found is not None, f"seed {seed}"
    assert found[0] > 50, f"seed {seed}: a tenth of what was touched is most of the hot regions"
    few = operations(even[:500])
    assert pattern.hot_spot(few) is None


@pytest.mark.parametrize("seed", range(20))
def test_a_mix_of_sizes_keeps_count_and_nearly_the_bytes(seed: int) -> None:
    chance = dice(seed)
    sizes = [chance.randrange(1, 100) * 4096 for _ in range(chance.randrange(1, 400))]
    found = pattern.size_mix(sizes)
    assert sum(count for _, count in found) == len(sizes), f"seed {seed}"
    assert len(found) <= 8
    assert sum(size * count for size, count in found) == pytest.approx(sum(sizes), abs=2048 * len(sizes) + 1), seed


@pytest.mark.parametrize("seed", range(20))
def test_powers_of_two_move_as_many_bytes_in_as_many_operations(seed: int) -> None:
    chance = dice(seed)
    sizes = [(chance.randrange(1, 1000) * 4096, chance.randrange(1, 1000)) for _ in range(8)]
    found = pattern.powers_of_two(sizes)
    mean = sum(size * count for size, count in sizes) / sum(count for _, count in sizes)
    seen = sum(size * weight for size, weight in found) / sum(weight for _, weight in found)
    assert seen == pytest.approx(mean, rel=0.001), f"seed {seed}"
    assert all(size.bit_count() == 1 for size, _ in found)
    assert pattern.powers_of_two([(8192, 5)]) == [(8192, 1)]


def test_operations_in_flight_are_counted_while_the_device_is_busy() -> None:
    together = [TracedOperation("read", "vda", i * 99999, 4096, 0.0, 0.5, 1, "own") for i in range(4)]
    alone = [TracedOperation("read", "vda", 1, 4096, 2.0, 2.5, 1, "own")]
    mean, deepest = pattern.in_flight(together + alone)
    assert mean == pytest.approx(2.5)
    assert deepest == 4


def classes(found: list[TracedOperation], share: float = 1.0) -> dict[str, tuple[float, float, int]]:
    seen = classes_of(Recording("block", 10.0, sorted(found, key=lambda one: one.at_s), kernel_share=share)).classes
    return {one.name: (one.rate_per_s, one.flushes_per_s, one.flush_every) for one in seen}


def test_a_log_with_its_flushes_beside_reads_and_write_back() -> None:
    log = operations([i * 8192 for i in range(100)], kind="write", sync=True)
    flushes = [TracedOperation("flush", "vda", 0, 0, one.at_s + 0.002, -1, 1, "own", sync=True) for one in log[::4]]
    chance = dice(1)
    reads = operations([(1 << 36) + chance.randrange(1 << 20) * 8192 for _ in range(300)])
    back = [
        TracedOperation("write", "vda", chance.randrange(1 << 20) * 8192, 8192, i * 0.1, -1, 9, "kernel")
        for i in range(80)
    ]
    found = classes(log + flushes + reads + back, share=0.5)
    assert found["log"] == pytest.approx((10.0, 2.5, 4))
    assert found["point-reads"] == pytest.approx((30.0, 0.0, 0))
    assert found["write-back"] == pytest.approx((4.0, 0.0, 0)), "half of what the kernel wrote"


def test_what_came_too_rarely_to_tell_when_it_comes_is_left_out_and_said() -> None:
    log = operations([i * 8192 for i in range(9000)], kind="write", sync=True)
    back = [TracedOperation("write", "vda", 1 << 37, 8 << 20, 5.0, -1, 9, "kernel")]
    both = sorted(log + back, key=lambda one: one.at_s)
    seen = classes_of(Recording("block", 100.0, both))
    assert [one.name for one in seen.classes] == ["log"]
    said = "how often write-back comes, which is left out: 1 of 8,389 kB in 100.0 s tell no rate"
    assert seen.not_known(100.0) == [said]
    # Of a load that is rare as a whole nothing is.
    assert set(classes(log[:5] + back)) == {"log", "write-back"}


def test_what_others_do_is_in_no_class() -> None:
    foreign = [TracedOperation("read", "vda", i * 8192, 8192, i * 0.1, -1, 7, "other") for i in range(50)]
    assert classes(foreign) == {}
