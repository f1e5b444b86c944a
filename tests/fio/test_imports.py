"""Job files of fio's become studies; what cannot be carried over is named."""

from pathlib import Path
from typing import Any

import pytest
from assay.fio.imports import Imported, import_file, import_text
from assay.fio.jobfile import FioError, Option, parse, seconds, size
from assay.fio.options import CARRIED, HARMLESS, REFUSED
from assay.study.model import Study, WriteDurability
from assay.study.source import parse as parse_study
from hypothesis import given
from hypothesis import strategies as st

HEAD = "[global]\nsize=1m\nruntime=10\ntime_based\n[a]\n"


def study(text: str, **options: Any) -> tuple[Study, Imported]:
    imported = import_text(text, "job", **options)
    found = parse_study(imported.text, "job.toml")
    assert isinstance(found, Study)
    return found, imported


def test_a_whole_file() -> None:
    text = """; comment
    [global]
    directory=/mnt/data ; where
    size=1g
    runtime=30
    time_based
    direct=1
    ramp_time=5s
    [oltp reads]
    rw=randread
    bs=8k
    ioengine=io_uring
    iodepth=16
    numjobs=4
    random_distribution=zipf:1.1
    rate_iops=1000
    rate_process=poisson
    [wal]
    readwrite=write
    bssplit=4k/60:8k/
    fdatasync=4
    overwrite=1
    """
    found, imported = study(text)
    assert imported.places == {"main": "/mnt/data"}
    assert found.cache == "bypassed"
    assert (found.window.warmup, found.window.measure) == (5, 30)
    reads, wal = found.classes["oltp-reads"], found.classes["wal"]
    assert (reads.path, reads.depth, reads.threads, reads.size) == ("io_uring+direct", 16, 4, "8KiB")
    assert (reads.arrivals, reads.rate, reads.rate_scope) == ("poisson", "1000/s", "thread")
    assert found.datasets["oltp-reads"].files == 4
    assert wal.model_dump(exclude_unset=True) == {
        "dataset": "wal",
        "path": "pread+direct",
        "operation": "write",
        "pattern": "sequential",
        "size": [{"bytes": "4KiB", "weight": 60}, {"bytes": "8KiB", "weight": 40}],
        "threads": 1,
        "durability": {"kind": "fdatasync", "every": 4},
    }


@pytest.mark.parametrize(
    ("lines", "field", "value"),
    [
        ("rw=randrw\nrwmixread=80", "write_percent", 20),
        ("rw=randrw\nrwmixwrite=30", "write_percent", 30),
        ("rw=randread\nrandom_distribution=zoned:90/10:10/90", "pattern.operations_percent", 90),
        ("rw=randread\nrandom_distribution=zoned:10/95:90/5", "pattern.pages_percent", 5),
        ("bs=4k,8k\nrw=write", "size", "8KiB"),
        ("bs=4kib", "size", "4000B"),
        ("bs=4kib\nkb_base=1000", "size", "4KiB"),
        ("ioengine=libaio\niodepth=8\niodepth_batch_submit=4", "batch", 4),
        ("ioengine=io_uring\nfixedbufs\nregisterfiles\nhipri\ndirect=1", "path", "io_uring+direct+fixed+iopoll"),
        ("ioengine=io_uring\nsqthread_poll=1\nbuffered=0", "path", "io_uring+direct+sqpoll"),
        ("ioengine=libpmem\ndirect=1\nsync=1\nrw=write", "path", "pmem+nt"),
        ("ioengine=libpmem\ndirect=1\nsync=1\nrw=write", "durability", "persist"),
        ("ioengine=mmap\nrw=write\nfdatasync=1", "durability", "msync"),
        ("rw=write\nsync=1", "durability", "o_dsync"),
        ("rw=read", "advice", "sequential"),
        ("rw=randread", "advice", "random"),
        ("rw=randread\nfadvise_hint=0", "advice", "normal"),
        ("rate=1m\nrw=write", "rate", "1048576B/s"),
        ("rate=,2m\nrw=write", "rate", "2097152B/s"),
        ("startdelay=500ms", "start", 0.5),
        ("thinktime=250", "think", "250us"),
        ("thinktime=2ms\nthinktime_blocks=4", "think_every", 4),
        ("latency_target=5000\nlatency_percentile=99\nrw=randread", "objective.metric", "p99_ns"),
        ("latency_target=2ms", "objective.bound", "2ms"),
        ("rw=randtrim\nfilename=/dev/nvme9n1\nioengine=libaio\niodepth=8", "operation", "trim"),
        ("rw=trim\nfilename=/dev/nvme9n1\nbs=4k,8k,1m", "size", "1MiB"),
        ("rw=trim\nfilename=/dev/nvme9n1\nfsync=1", "durability", "none"),
    ],
)
def test_one_option(lines: str, field: str, value: object) -> None:
    found, _ = study(HEAD + lines)
    seen: Any = found.classes["a"]
    for part in field.split("."):
        seen = getattr(seen, part)
    assert seen == value


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ("thinktime=10\nrate_iops=5", "remove one"),
        ("thinktime=10\nioengine=libaio\niodepth=4", "numjobs"),
        ("thinktime=10\nthinktime_blocks=0", "at least 1"),
        ("thinktime=10\nthinktime_spin=5", "pauses sleeps"),
        ("latency_target=1ms\nlatency_percentile=95", "use 50, 99, 99.9 or 100"),
        ("rw=randtrim", "block device"),
        ("rw=trimwrite", "a job of each"),
        ("read_iolog=/no/such/log", "cannot be read"),
        ("offset=1m", "whole data set"),
        ("frobnicate=1", "no counterpart"),
        ("stonewall", "--section"),
        ("rw=randread:8", "no such direction"),
        ("ioengine=rbd", "no such path"),
        ("ioengine=mmap\ndirect=1", "remove direct=1"),
        ("ioengine=libaio\nhipri", "io_uring only"),
        ("ioengine=io_uring\nfixedbufs", "together"),
        ("rw=randrw\nrate_iops=100", "reads and writes apart"),
        ("rw=randrw\nbs=4k,8k", "two jobs"),
        ("rate_iops=10\nrate=1m", "one rate"),
        ("rw=randread\nrandom_distribution=pareto:0.9", "no such distribution"),
        ("rw=randread\nrandom_distribution=zoned:50/10:50/20", "hot spot"),
        ("bssplit=4k/60:8k/30", "add up to 100"),
        ("rw=write\nfsync=1\nfdatasync=1", "one means"),
        ("rw=write\nfallocate=none", "sparse"),
        ("size=10%", "not a size"),
        ("bs=${BLOCK}", "variable"),
        ("numjobs=0", "at least 1"),
        ("iodepth=four", "whole number"),
        ("filename=/a/b:/c/d", "several files"),
        ("include x.fio", "include"),
        ("runtime=1w", "duration"),
    ],
)
def test_what_cannot_be_carried_over_is_said(lines: str, words: str) -> None:
    with pytest.raises(FioError) as caught:
        import_text(HEAD + lines, "job")
    assert words in f"{caught.value.message} {caught.value.hint}"
    assert caught.value.code == 2


def test_all_refused_options_are_named_at_once_with_their_lines() -> None:
    with pytest.raises(FioError) as caught:
        import_text(HEAD + "steadystate=iops:3\nverify=crc32c\nnrfiles=1\noffset=0\n", "job")
    assert "line 6: steadystate=iops:3" in caught.value.message
    assert "line 7: verify=crc32c" in caught.value.message
    assert "nrfiles" not in caught.value.message
    assert "offset" not in caught.value.message


def test_a_job_that_cannot_be_done_is_left_out_and_the_others_are_kept() -> None:
    jobs = "[trim]\nrw=randtrim\nsize=1m\n[reads]\nrw=randread\nsize=1m\n"
    with pytest.raises(FioError, match="randtrim") as refused:
        study(jobs)
    assert "--leave-out" in refused.value.hint
    found, imported = study(jobs, leave_out=True)
    assert list(found.classes) == ["reads"]
    assert any("the job [trim] rw=randtrim" in note for note in imported.notes)
    with pytest.raises(FioError, match="no job is left"):
        study("[trim]\nrw=randtrim\nsize=1m\n", leave_out=True)


def test_left_out_options_stand_in_the_study() -> None:
    found, _ = study(HEAD + "steadystate=iops:3\ngroup_reporting\n", leave_out=True)
    assert any(note.startswith("left out: line 6: steadystate=iops:3") for note in found.notes)
    assert any(note.startswith("group_reporting is not needed") for note in found.notes)


def test_a_bound_on_the_latency_tries_depths() -> None:
    deep = "ioengine=io_uring\niodepth=24\nlatency_target=1ms\nlatency_window=1s\nlatency_run=1\n"
    found, imported = study(HEAD + deep)
    assert found.matrix == {"depth": [1, 2, 4, 8, 16, 24]}
    assert found.classes["a"].depth == "${depth}"
    assert any("999 of 1,000" in note for note in imported.notes)
    found, _ = study(f"{HEAD}{deep}[b-c]\n{deep}")
    assert set(found.matrix) == {"depth_a", "depth_b_c"}
    found, _ = study(HEAD + "latency_target=1ms\n")
    assert found.matrix == {}, "one operation at a time has no depth to choose"


LOG = """fio version 3 iolog
41 /d/f add
209 /d/f open
1000 /d/f read 249856 4096
2000 /d/f write 3104768 8192
2100 /d/f datasync 3104768 0
9000 /d/f read 4096 4096
9100 /d/f trim 0 4096
10000 /d/f close
"""


def test_a_log_becomes_classes_and_is_looked_for_beside_the_job_file(tmp_path: Path) -> None:
    (tmp_path / "old.log").write_text(LOG)
    job = "[a]\nread_iolog=old.log\nioengine=libaio\niodepth=4\ndirect=1\nrefill_buffers\n"
    imported = import_text(job, "job", folder=tmp_path)
    found = parse_study(imported.text, "job.toml")
    assert isinstance(found, Study)
    assert {name: one.operation for name, one in found.classes.items()} == {
        "point-reads": "read",
        "sync-writes": "write",
    }
    assert found.classes["point-reads"].depth == 4
    durability = found.classes["sync-writes"].durability
    assert isinstance(durability, WriteDurability)
    assert (durability.kind, durability.every) == ("fdatasync", 1)
    assert any("1 trims of the log are left out" in note for note in found.notes)
    assert any(note.startswith("refill_buffers is not needed") for note in found.notes)
    with pytest.raises(FioError, match="line 7: rate_iops=5"):
        import_text(job + "rate_iops=5\n", "job", folder=tmp_path)
    left = import_text(job + "rate_iops=5\n", "job", leave_out=True, folder=tmp_path)
    assert any(note.startswith("left out: line 7: rate_iops=5") for note in left.notes)
    with pytest.raises(FioError, match="a whole load"):
        import_text(job + "[b]\nsize=1m\n", "job", folder=tmp_path)


@pytest.mark.parametrize("name", sorted(HARMLESS))
def test_no_option_is_dropped_in_silence(name: str) -> None:
    _, imported = study(f"{HEAD}{name}=1")
    assert any(note.startswith(f"{name} is not needed: ") for note in imported.notes)


def test_an_option_has_one_fate() -> None:
    assert not CARRIED & set(HARMLESS)
    assert not CARRIED & set(REFUSED)
    assert not set(HARMLESS) & set(REFUSED)


def test_jobs_that_name_one_file_share_a_data_set() -> None:
    found, _ = study(HEAD + "filename=/d/f\nrw=randwrite\n[b]\nfilename=/d/f\nrw=randread\n[c]\nrw=read\nfilename=/d/g")
    assert [found.classes[name].dataset for name in "abc"] == ["a", "a", "c"]
    assert found.datasets["a"].layout == "written", "what is also read is written beforehand"
    with pytest.raises(FioError, match="in another"):
        import_text(HEAD + "filename=f\n[b]\nfilename=f\nsize=2m", "job")


def test_places_become_targets() -> None:
    _, imported = study(HEAD + "directory=/mnt/a\n[b]\nfilename=/mnt/b/log\nrw=write\noverwrite=1")
    assert imported.places == {"main": "/mnt/a", "place2": "/mnt/b"}
    found, _ = study("[a]\nfilename=/dev/nvme9n1\nsize=1g\nruntime=1\ntime_based")
    assert found.targets == ["block-device"]


def test_jobs_of_other_lengths_are_no_scenario() -> None:
    with pytest.raises(FioError, match="differ in measure"):
        import_text(HEAD + "[b]\nruntime=20", "job")
    found, _ = study(HEAD + "[b]\nruntime=20", sections=["b"])
    assert list(found.classes) == ["b"]
    with pytest.raises(FioError, match="no job"):
        import_text(HEAD, "job", sections=["z"])


def test_without_a_runtime_bytes_end_the_window() -> None:
    found, imported = study("[a]\nsize=1m\nnumjobs=2\nloops=3")
    assert found.window.bytes == "6MiB"
    assert any("no runtime" in note for note in imported.notes)


def test_states_of_the_cache() -> None:
    assert study(HEAD)[0].cache == "cold"
    assert study(HEAD + "invalidate=0")[0].cache == "as-found"
    assert study(HEAD + "pre_read=1")[0].cache == "warm"
    with pytest.raises(FioError, match="page cache"):
        import_text(HEAD + "pre_read=1\n[b]", "job")


def test_file_in_and_out(tmp_path: Path) -> None:
    source, out = tmp_path / "my job.fio", tmp_path / "study.toml"
    source.write_text(HEAD)
    imported = import_file(source, out)
    assert out.read_text() == imported.text
    assert 'name = "my-job"' in imported.text
    with pytest.raises(FioError, match="cannot be read"):
        import_file(tmp_path / "absent")


def test_units_are_fios() -> None:
    sizes = {"4k": 4096, "4kb": 4096, "4ki": 4096, "4kib": 4000, "0x10": 16, "1.5m": 1572864, "7b": 7}
    assert {text: size(Option("bs", text, 1)) for text in sizes} == sizes
    durations = {"3": 3.0, "3s": 3.0, "2m": 120.0, "250ms": 0.25, "1h": 3600.0}
    assert {text: seconds(Option("runtime", text, 1)) for text in durations} == durations


NAMES = st.sampled_from(sorted(CARRIED | set(HARMLESS) | set(REFUSED) | {"x", "[a]", "[global]", "["}))
VALUES = st.one_of(
    st.text(max_size=12), st.sampled_from(["4k", "1", "0", "zoned:1/1", "a:b", "4k/:", ",", "1e9", "-1"])
)
LINES = st.lists(st.tuples(NAMES, st.sampled_from(["=", "", " = ", ";"]), VALUES).map("".join), max_size=12)


@given(LINES.map("\n".join) | st.text(max_size=200))
def test_any_text_is_read_or_refused_with_a_sentence(text: str) -> None:
    for source in (text, HEAD + text):
        try:
            imported = import_text(source, "job", leave_out=True)
        except FioError:
            continue
        parse_study(imported.text, "job.toml")


@given(st.lists(st.from_regex(r"[a-z]{1,8}", fullmatch=True), min_size=1, max_size=5, unique=True))
def test_sections_keep_their_order(names: list[str]) -> None:
    names = [name for name in names if name != "global"] or ["a"]
    assert [section.name for section in parse("".join(f"[{name}]\nrw=read\n" for name in names))] == names
