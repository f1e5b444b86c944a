"""wtperf: what it leaves is read, damaged or not; a stand-in runs through all modes; a real one where it is built."""

import json
import shlex
import stat
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from assay.binary import Binary
from assay.dbms.grant import Grant
from assay.dbms.wtperf import job, parse
from assay.dbms.wtperf.distribution import distribution
from assay.dbms.wtperf.runner import KIND, WtperfRunner
from assay.error import AssayError
from assay.results.store.histogram import merged_summary
from assay.rivals import wiredtiger
from assay.study import run
from assay.study.consent import Consent
from assay.study.progress import Silent
from assay.study.run import Summary
from assay.study.work import load, runners
from assay.untyped import Json
from hypothesis import given
from hypothesis import strategies as st

RECORDED = Path(__file__).with_name("wtperf-output")


def recorded(name: str) -> str:
    return (RECORDED / name).read_text()


def test_a_recorded_run_is_read() -> None:
    found = parse.stat(recorded("test.stat"))
    assert found.complete
    assert found.run_s == 3
    assert (found.load_s, found.load_per_s) == (0.07, 289855)
    assert found.executed["read"] == parse.Executed(318101, 106033)
    assert found.executed["scan"] == parse.Executed(0, None)


def test_the_recorded_histograms_give_percentiles() -> None:
    read = parse.latencies(recorded("latency.read"))
    assert read.operations == 318099
    # Cumulative counts of the file's third column.
    assert read.percentile_us(50) == 2
    assert read.percentile_us(90) == 4
    assert read.percentile_us(100) == read.edges_us[-1]
    assert not read.damaged
    assert parse.latencies(recorded("latency.modify")) == parse.Latencies()
    assert parse.latencies(recorded("latency.modify")).percentile_us(50) is None


def test_both_monitors_say_the_same() -> None:
    rates = [[point.per_s for point in found] for found in (_json(), parse.monitor_csv(recorded("monitor")))]
    assert rates[0] == rates[1]
    assert 115002 in rates[0]


def _json() -> list[parse.IntervalLine]:
    return parse.monitor_json(recorded("monitor.json"))


@given(cut=st.integers(0, 4000), name=st.sampled_from(["test.stat", "monitor", "monitor.json", "latency.read"]))
def test_a_file_that_was_cut_off_is_read_as_far_as_it_goes(cut: int, name: str) -> None:
    text = recorded(name)[:cut]
    if name == "latency.read":
        found, full = parse.latencies(text), parse.latencies(recorded(name))
        assert found.damaged <= 1
        assert found.sampled <= full.sampled
    elif name == "test.stat":
        assert parse.stat(text).complete == (text.find("Run completed: 3 second") >= 0)
    else:
        read = parse.monitor_csv if name == "monitor" else parse.monitor_json
        points = read(text)
        assert points == read(recorded(name))[: len(points)] or name == "monitor"


@given(text=st.text(max_size=400), lines=st.lists(st.text('0123456789,NY:{}" ', max_size=80), max_size=8))
def test_no_text_breaks_the_readers(text: str, lines: list[str]) -> None:
    for one in (text, "\n".join(lines), f'{{"wtperf":{text}}}', json.dumps({"wtperf": {"read": text}})):
        parse.stat(one)
        parse.monitor_csv(one)
        parse.monitor_json(one)
        assert parse.latencies(one).sampled >= 0


edges = st.one_of(st.integers(1, 1000), st.integers(2, 1000).map(lambda n: n * 1000))
buckets = st.dictionaries(edges, st.integers(1, 1000), min_size=1, max_size=20)


@given(buckets=buckets, percent=st.floats(0.1, 100))
def test_percentiles_are_those_of_the_values(buckets: dict[int, int], percent: float) -> None:
    lines, seen = ["#usecs,operations,cumulative-operations,total-operations"], 0
    for edge in sorted(buckets):
        seen += buckets[edge]
        lines.append(f"{edge},{buckets[edge]},{seen},{sum(buckets.values())}")
    found = parse.latencies("\n".join(lines))
    values = sorted(edge for edge, count in buckets.items() for _ in range(count))
    rank = next(n for n in range(1, len(values) + 1) if n >= percent / 100 * len(values))
    assert found.percentile_us(percent) == values[rank - 1]


@given(one=buckets, other=buckets)
def test_histograms_of_repeats_merge(one: dict[int, int], other: dict[int, int]) -> None:
    parts = [parse.Latencies(tuple(sorted(each)), tuple(each[n] for n in sorted(each))) for each in (one, other)]
    joined = distribution(parts[0].plus(parts[1]))
    merged = merged_summary([distribution(part) for part in parts])
    assert joined["count"] == merged["count"]
    assert joined["max_ns"] == merged["max_ns"]
    assert joined["p50_ns"] == pytest.approx(merged["p50_ns"], rel=2e-3)


STAND_IN = """
import shutil, sys
from dataclasses import replace
from pathlib import Path
words = sys.argv[1:]
home, options = Path(words[words.index("-h") + 1]), words[words.index("-o") + 1]
if "fail" in options:
    sys.stderr.write("wtperf: no such option\\n")
    sys.exit(1)
(home / "table.wt").write_bytes(b"x" * 65536)
if "create=false" not in options:
    with (Path(__file__).parent / "filled").open("a") as file:
        file.write("x")
with (home / "asked").open("a") as file:
    file.write(options + "\\n")
for name in ("test.stat", "monitor", "monitor.json", "latency.read", "latency.insert", "latency.update"):
    shutil.copy(Path({recorded!r}) / name, home / name)
"""


@pytest.fixture
def program(tmp_path: Path) -> wiredtiger.Program:
    path, script = tmp_path / "wtperf", tmp_path / "wtperf.py"
    script.write_text(STAND_IN.format(recorded=str(RECORDED)))
    # The interpreter's path may have a space, which the first line of a script cannot.
    path.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} {shlex.quote(str(script))} "$@"\n')
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    runners = tmp_path / "runners"
    runners.mkdir()
    (runners / "tiny.wtperf").write_text('conn_config="cache_size=5MB"\ntable_config="type=file"\nicount=100\n')
    return wiredtiger.find(path)


def rates(record: Any) -> Json:
    found: Json = next(part for part in record["parts"] if part["name"] == "read")
    return found


@pytest.mark.usefixtures("assayer")
def test_a_stand_in_runs_in_every_mode_and_nothing_stays(
    program: wiredtiger.Program, tmp_path: Path, wtperf: Callable[..., Summary]
) -> None:
    target = tmp_path / "target"
    target.mkdir()
    out = tmp_path / "out"
    summary = wtperf(program.path, {"workload": "tiny"}, ["on", "off", "cold"], [str(target)], out, 2)
    assert summary.exit_code == 0, summary.not_measured
    records = load(out)
    modes = [one["workload"]["parameters"]["page_cache"] for one in records]
    assert sorted(modes) == ["cold", "cold", "off", "off", "on", "on"]
    assert all(rates(one)["figures"]["ops_per_s"]["value"] == 106033 for one in records)
    assert all(rates(one)["service"]["p50_ns"] == 2000 for one in records)
    assert len((program.path.parent / "filled").read_text()) == 3, "filled once for the runs of a mode"
    assert list(target.iterdir()) == []


@pytest.mark.usefixtures("assayer")
def test_a_program_that_fails_is_told_with_its_words(
    program: wiredtiger.Program, tmp_path: Path, wtperf: Callable[..., Summary]
) -> None:
    target = tmp_path / "target"
    target.mkdir()
    table = {"workload": "tiny", "settings": ["fail=1"]}
    summary = wtperf(program.path, table, ["on"], [str(target)], tmp_path / "out")
    assert summary.exit_code == 1
    assert "no such option" in summary.not_measured[0]["reason"]
    assert list(target.iterdir()) == []


@pytest.mark.usefixtures("assayer")
def test_a_run_that_broke_off_is_kept_and_goes_on(
    program: wiredtiger.Program, tmp_path: Path, wtperf: Callable[..., Summary]
) -> None:
    targets = [tmp_path / name for name in ("a", "b")]
    for one in targets:
        one.mkdir()
    script, out = program.path.with_suffix(".py"), tmp_path / "out"
    whole = script.read_text()
    # It fails from its tenth run on.
    script.write_text(
        whole.replace(
            "words = sys",
            f"""count = Path({str(tmp_path / "count")!r})
count.write_text(count.read_text() + "x" if count.exists() else "x")
if len(count.read_text()) > 9: sys.exit("out of luck")
words = sys""",
        )
    )
    broken = wtperf(program.path, {"workload": "tiny"}, ["on", "off"], [str(one) for one in targets], out, 3)
    assert broken.exit_code == 1
    assert "out of luck" in broken.not_measured[0]["reason"]
    kept = {one["run"]["id"] for one in load(out)}
    assert 0 < len(kept) < 12, "what was finished is kept"
    script.write_text(whole)
    done = run.resume(out, Binary.find(), Silent(), Consent(), "assay dbms wtperf")
    assert done.exit_code == 0, done.not_measured
    records = load(out)
    assert len(records) == 12
    assert kept < {one["run"]["id"] for one in records}
    for mode in ("on", "off"):
        told = [
            rates(one)["facts"]["against_first"]
            for one in records
            if one["workload"]["parameters"]["page_cache"] == mode
            and "against_first" in (rates(one).get("facts") or {})
        ]
        assert "no difference shown; the devices were busy" in told[-1]
    assert all(list(one.iterdir()) == [] for one in targets)


def test_the_page_cache_is_kept_out_by_options_that_work(program: wiredtiger.Program) -> None:
    workload = job.WtperfWorkload.find("tiny", program, ['table_config="type=file,leaf_page_max=4KB"'])
    table, connection = job._off(workload, "off")
    assert "leaf_page_max=4KB,os_cache_max=1MB" in table
    assert "cache_size=5MB,mmap=false" in connection
    assert job._off(workload, "cold") == []


@pytest.mark.parametrize("setting", ['conn_config="extensions=[/tmp/x.so]"', 'icount=1,conn_config="log=(path=/tmp)"'])
def test_a_study_loads_no_library_into_wiredtiger(setting: str) -> None:
    with pytest.raises(AssayError, match="loads libraries") as caught:
        Grant(command="wtperf").require_typed("small-btree", [setting])
    assert "--set" in caught.value.hint
    Grant(command="wtperf", wt_set=(setting,)).require_typed("small-btree", [setting, "icount=1"])


def test_a_study_brings_no_workload_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "own.wtperf"
    path.write_text('conn_config="extensions=[/tmp/x.so]"\n')
    with pytest.raises(AssayError, match="a workload of its own"):
        Grant(command="wtperf").require_typed(str(path), [])
    Grant(command="wtperf", workloads=(path.resolve(),)).require_typed(str(path), [])


def test_what_is_not_there_is_named(
    program: wiredtiger.Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(AssayError, match="no workload"):
        job.WtperfWorkload.find("tinny", program)
    with pytest.raises(AssayError, match="no program"):
        wiredtiger.find(tmp_path / "nothing")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with pytest.raises(AssayError, match="was not found") as caught:
        wiredtiger.find()
    assert "install wiredtiger" in caught.value.hint


@pytest.mark.usefixtures("assayer")
def test_a_built_wtperf_really_runs(tmp_path: Path, wtperf: Callable[..., Summary]) -> None:
    try:
        wiredtiger.find()
    except AssayError as error:
        pytest.skip(f"{error.message}; {error.hint}")
    (tmp_path / "on").mkdir()
    table = {"workload": "small-btree", "settings": ["icount=20000", "populate_threads=1"], "duration": "1s"}
    summary = wtperf(None, table, ["cold"], [str(tmp_path / "on")], tmp_path / "out")
    assert summary.exit_code == 0
    (record,) = load(tmp_path / "out")
    assert rates(record)["service"]["count"] > 0


def test_a_result_folder_names_no_program(
    program: wiredtiger.Program, tmp_path: Path, wtperf: Callable[..., Summary], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "on").mkdir()
    out = tmp_path / "out"
    wtperf(program.path, {"workload": "tiny"}, ["on"], [str(tmp_path / "on")], out)
    (out / "work" / "wtperf-0001-r1.json").unlink()
    monkeypatch.setitem(runners._KNOWN, KIND, WtperfRunner)
    again = run.resume(out, Binary.find(), Silent(), Consent(), "assay dbms wtperf")
    assert again.exit_code == 1
    assert "begun with --wtperf" in again.not_measured[0]["reason"]
