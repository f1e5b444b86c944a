"""Lines of strace become operations; counters and a server's counts become classes; classes become a study."""

import random

import pytest
from assay.error import AssayError
from assay.study.model import Study
from assay.study.source import parse
from assay.trace import counters, postgres, scenario
from assay.trace.calls import Calls
from assay.trace.classes import TracedClass, classes_of
from assay.trace.operation import Recording
from assay.trace.process import Used
from assay.trace.subject import subject_of

LINES = """\
100 1000.000000 pread64(3</data/base/1>, ""..., 8192, 16384) = 8192 <0.000100>
100 1000.001000 pwrite64(4</data/pg_wal/0001>, ""..., 8192, 8192) = 8192 <0.000020>
100 1000.002000 fdatasync(4</data/pg_wal/0001> <unfinished ...>
101 1000.002100 read(5<socket:[99]>, ""..., 8192) = 100 <0.000010>
101 1000.002200 pread64(3</data/base/1>, 0x7f, 8192, 24576) = -1 EIO (Input/output error) <0.000010>
100 1000.003000 <... fdatasync resumed>) = 0 <0.001000>
101 1000.004000 write(6</data/a file>, ""..., 1000) = 1000 <0.000010>
101 1000.004100 write(6</data/a file>, ""..., 24) = 24 <0.000010>
101 1000.005000 preadv2(3</data/base/1>, [{iov_base=""..., iov_len=4096}], 1, 40960, RWF_HIPRI) = 4096 <0.000010>
101 1000.006000 write(1</dev/pts/0<char 136:0>>, ""..., 4) = 4 <0.000010>
"""


def test_calls_on_files_are_read_and_others_are_not() -> None:
    reader = Calls()
    found = reader.read(LINES.splitlines())
    assert [(one.kind, one.bytes, one.offset) for one in found] == [
        ("read", 8192, 16384),
        ("write", 8192, 8192),
        ("flush", 0, 0),
        ("write", 1000, 0),
        ("write", 24, 1000),
        ("read", 4096, 40960),
    ]
    assert found[1].sync, "a flush of the file follows"
    assert not found[3].sync
    assert found[2].at_s == 1000.002
    assert reader.guessed == 2


def test_classes_of_calls_carry_the_flushes() -> None:
    reader = Calls()
    seen = {one.name: one for one in classes_of(Recording("calls", 1.0, reader.read(LINES.splitlines() * 5))).classes}
    assert seen["log"].flushes_per_s == 5


def test_counters_split_by_what_the_process_moved() -> None:
    moved = counters.Moved((100.0, 50.0), (0.0, 200.0), (100 * 8192.0, 50 * 65536.0), 20.0, 1.0, 4.0)
    seen = {one.name: one for one in counters.classes_of(moved, Used(50 * 8192, 25 * 65536), 10.0)}
    assert seen["reads"].rate_per_s == pytest.approx(5.0)
    assert not seen["reads"].sequential
    assert seen["writes"].sequential
    assert seen["writes"].flushes_per_s == pytest.approx(1.0), "half of the writes, half of the flushes"
    assert seen["reads"].depth == 4
    assert counters.classes_of(moved, Used(), 10.0) == []


def test_a_servers_own_counts_make_pages_and_a_log() -> None:
    counts = postgres.ServerCounts(1000, 200, 0, 100 * 8192.0, 50, 40)
    seen = {one.name: one for one in postgres.classes_of(counts, 10.0)}
    assert seen["point-reads"].rate_per_s == 100
    assert (seen["log"].sizes, seen["log"].rate_per_s, seen["log"].flushes_per_s) == (((16384, 1),), 5.0, 4.0)


@pytest.mark.parametrize("seed", range(10))
def test_any_classes_make_a_study_that_can_be_read(seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311
    names = chance.sample(["scan", "point-reads", "log", "sync-writes", "page-writes", "write-back", "metadata"], 4)
    made = [one_class(chance, name) for name in names]
    told = scenario.ScenarioFacts("trace-x", "t", "source", ['a "note"'], 5.0)
    study = parse(scenario.text(told, made), "x.toml")
    assert isinstance(study, Study), f"seed {seed}"
    assert set(study.classes) == set(names)
    for one in made:
        table = study.classes[one.name]
        assert str(table.rate).startswith("${"), "a load factor scales it"
        assert table.rate_scope == "total"
        assert (table.durability == "none") == (one.flushes_per_s == 0)


def one_class(chance: random.Random, name: str) -> TracedClass:
    writes = name not in ("scan", "point-reads")
    return TracedClass(
        name=name,
        operation="write" if writes else "read",
        sequential=name in ("scan", "log"),
        sizes=((4096, chance.randrange(1, 9)), (65536, 1))[: chance.randrange(1, 3)],
        count=10,
        rate_per_s=chance.uniform(0.01, 1e5),
        depth=chance.randrange(1, 64),
        mean_depth=1.0,
        footprint_bytes=chance.randrange(1 << 30),
        flushes_per_s=chance.choice([0.0, 3.0]) if writes else 0.0,
        variation=chance.uniform(0, 10),
        group=chance.uniform(1, 10),
        hot=chance.choice([None, (90, 10)]),
    )


def test_one_thing_is_recorded_and_it_must_be_there() -> None:
    cases = [
        (None, "", "what is to be recorded"),
        (1, "/nowhere", "two things"),
        (2**22 + 1, "", "there is no process"),
        (None, "/nowhere", "no data folder of PostgreSQL"),
        (None, "host=/nowhere user=x", "takes no connection"),
    ]
    for pid, pg, words in cases:
        with pytest.raises(AssayError, match=words):
            subject_of(pid, pg, [])
