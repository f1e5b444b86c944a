"""Published programs with a command line of their own: what they print, and a tiny one from fetch to window."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest
from assay import home
from assay.bench.contest import CONTESTS, Size, can_meet, held_bytes, line_work, named, ours_of
from assay.bench.lines import ENGINE, figures, rival_record
from assay.bench.meeting import asked
from assay.bench.reading import GOOD, of_record
from assay.error import BAD_JOB, FAILED, NOT_POSSIBLE, AssayError
from assay.rivals import PUBLISHED, published
from assay.rivals.published import build as building
from assay.rivals.published import line
from assay.rivals.published.line import LineWork, told
from assay.rivals.published.printed import DAMAGED, READERS, PrintedSecond
from assay.rivals.published.recipe import Recipe, read
from assay.rivals.published.window import ProcessCount, counted, watch
from assay.untyped import Json

LINES = tuple(name for name in PUBLISHED if any(one.command is not None for one in read(name).structure))
# As they were printed on a VM; of LeanStore's the first second of a window, one in it, and the table's head.
VMCACHE = """ts,tx,rmb,wmb,system,threads,datasize,workload,batch
0,725,32.082,32.3945,vmcache,2,5,tpcc,64
1,2369,37.2773,39.1055,vmcache,2,5,tpcc,64
"""
ROW = "| {} | 1.003000 | 0.055677 | {}        | 0        | 55.3     | 69.2     | {} | {} | 0.000000 | 0.000000 | 0.0 "
ROW += "     | 0.0      | 0.0      | 0        |"
LEANSTORE = "\n".join(
    (
        "dones task: 2 toal: 2",
        "+------+----------+",
        "| t    | wt       | TX P [M] | TX A     | TX C     | W MiB    | R MiB    | Instrs/- | Cycles/- | CPUs     |",
        "|      |          |          |          |          |          |          | TX       | TX       |          |",
        ROW.format("0   ", 0, "-nan    ", "-nan    "),
        "",
        ROW.format("1   ", 7, "0.000000", "0.000000"),
        "done: time: 5.00489 tsc: 6.50891",
    )
)
TINY = """#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>
int main(int count, char** words) {
  FILE* file = fopen(words[1], "r+b");
  if (count != 3 || !file) { fprintf(stderr, "no file\\n"); return 3; }
  fputs("data", file);
  fclose(file);
  fclose(fopen("left-behind", "w"));
  const char* how = getenv("HOW");
  if (FILE* out = fopen(getenv("PIDFILE"), "w")) { fprintf(out, "%d", getpid()); fclose(out); }
  printf("ts,tx,rmb,wmb,system,threads,datasize,workload,batch\\n");
  for (int second = 0; second < atoi(words[2]); second++) {
    if (!strcmp(how, "hangs") && second == 1) for (;;) pause();
    usleep(20000);
    for (volatile int turn = 0; turn < 20000000; turn++) {}
    printf("%d,100,1.5,0.5,%s,2,5,tpcc,64\\n", second, !strcmp(how, "damages") && second == 3 ? "?" : "vmcache");
    fflush(stdout);
    if (!strcmp(how, "ends") && second == 1) return 0;
    if (!strcmp(how, "fails") && second == 1) { fprintf(stderr, "VIRTGB is too low\\n"); return 1; }
  }
}
"""
RECIPE = """name = "tiny"
about = "a loop"
licence = "MIT"
durability = "none"
differences = ["It is a loop."]
environment = {{ HOW = "{how}", PIDFILE = "{pidfile}" }}
[[source]]
name = "theirs"
url = "file:///nowhere/at/all"
commit = "{commit}"
[build]
{build}
[[structure]]
name = "loop"
ours = "engine"
contests = ["tpcc-memory"]
differences = ["It loops."]
[structure.command]
program = "{program}"
prints = "vmcache"
unit_bytes = 1000
words = ["{{file}}", "{{seconds}}"]
"""
BY_COMPILER = 'sources = ["theirs/tiny.cpp"]\nflags = ["-O1"]'
BY_CMAKE = '[build.cmake]\nroot = "theirs"\nprograms = ["below/tiny"]'


def git(where: Path, *words: str) -> str:
    command = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-C", str(where), *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def theirs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with a tiny program of somebody's; the cache is this test's own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    found = tmp_path / "theirs"
    (found / "below").mkdir(parents=True)
    git(found, "init", "-q")
    (found / "tiny.cpp").write_text(TINY)
    (found / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.7)\nproject(t CXX)\nadd_subdirectory(below)\n"
    )
    (found / "below" / "CMakeLists.txt").write_text("add_executable(tiny ../tiny.cpp)\n")
    git(found, "add", ".")
    git(found, "commit", "-q", "-m", "x")
    return found


def made(theirs: Path, how: str = "works", build: str = BY_COMPILER, program: str = "program") -> Path:
    """A folder of recipes with the program, built."""
    recipes = theirs.parent / "recipes"
    (recipes / "tiny").mkdir(parents=True, exist_ok=True)
    commit, pidfile = git(theirs, "rev-parse", "HEAD"), theirs.parent / "pid"
    text = RECIPE.format(how=how, pidfile=pidfile, commit=commit, build=build, program=program)
    (recipes / "tiny" / "rival.toml").write_text(text)
    published.make("tiny", [str(theirs)], where=recipes)
    return recipes


def work_of(recipe: Recipe, **more: Any) -> LineWork:
    words: Json = {"units": 5, "threads": 2, "tasks": 32, "pool_share": 0.5, "seconds": 2, "warmup_s": 1}
    return LineWork(structure=recipe.structure[0], workload="tpcc", **(words | more))


def folder_in(tmp_path: Path) -> Path:
    found = tmp_path / "on"
    found.mkdir()
    return found


def test_rows_of_vmcache_are_read() -> None:
    read_lines = [READERS["vmcache"](text) for text in VMCACHE.splitlines()]
    mib = float(1 << 20)
    assert read_lines == [
        None,
        PrintedSecond(0, 725, 32.082 * mib, 32.3945 * mib),
        PrintedSecond(1, 2369, 37.2773 * mib, 39.1055 * mib),
    ]


def test_rows_of_leanstore_are_read() -> None:
    read_lines = [READERS["leanstore"](text) for text in LEANSTORE.splitlines()]
    seconds = [one for one in read_lines if one is not None]
    mib = float(1 << 20)
    assert seconds == [
        PrintedSecond(0, 55_677, 69.2 * mib, 55.3 * mib),
        PrintedSecond(1, 55_677, 69.2 * mib, 55.3 * mib, given_up=7),
    ]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("vmcache", "3,12,1,"),
        ("vmcache", "3,-12,1,2,vmcache,2,5,tpcc,64"),
        ("vmcache", "3,nan,1,2,vmcache,2,5,tpcc,64"),
        ("vmcache", "3,1.5,1,2,vmcache,2,5,tpcc,64"),
        ("vmcache", "3,1e400,1,2,vmcache,2,5,tpcc,64"),
        ("vmcache", "3,12,1,2,other,2,5,tpcc,64"),
        ("leanstore", "| 1    | 1.003000 | 0.0556"),
        ("leanstore", ROW.format("1   ", "dones", "0", "0")),
        ("leanstore", ROW.format("x   ", 0, "0", "0")),
        ("leanstore", ROW.format("1   ", 0, "0", "0") + " 5 |"),
    ],
)
def test_damaged_rows_are_no_seconds(name: str, text: str) -> None:
    assert READERS[name](text) == DAMAGED


@pytest.mark.parametrize("text", ["", "space: 0.92 GB", "12", "ts,tx", "reset start time", "\0\0,", "+---+"])
@pytest.mark.parametrize("name", READERS)
def test_other_words_are_none(name: str, text: str) -> None:
    assert READERS[name](text) is None


def test_a_window_is_the_seconds_after_those_before_it() -> None:
    lines = [f"{second},{10**second},0,0,vmcache,2,5,tpcc,64" for second in range(6)]
    lines[3:3] = ["words", "3,"]
    moments = iter([ProcessCount(5.0, 1.0, 0, 10), ProcessCount(7.0, 4.0, 100, 30)])
    edges: list[bool] = []
    found = watch(lines, READERS["vmcache"], 2, 3, lambda: next(moments), edges.append)
    assert ([one.number for one in found.seconds], found.damaged, edges) == ([2, 3, 4], 1, [True, False])
    assert (found.done, found.lasted_s) == (11_100, 2.0)
    values = {name: one["value"] for name, one in figures(found).items()}
    assert values["succeeded_per_s"] == 11_100 / 2
    assert values["cpu_ns_per_op"] == pytest.approx(3e9 / 11_100)
    assert (values["read_bytes"], values["written_bytes"]) == (100, 20)
    assert {one["provenance"] for one in figures(found).values()} == {"measured"}


def test_a_process_is_counted_whatever_its_name_and_not_when_it_is_gone(tmp_path: Path) -> None:
    place = tmp_path / "7"
    place.mkdir()
    ticks = os.sysconf("SC_CLK_TCK")
    (place / "stat").write_text(f"7 (a) b (c) S {' '.join(['0'] * 10)} {3 * ticks} {2 * ticks} 9 9\n")
    (place / "io").write_text("rchar: 5\nread_bytes: 4096\nwrite_bytes: 8192\n")
    found = counted(7, tmp_path)
    assert found is not None
    assert (found.cpu_s, found.read_bytes, found.written_bytes) == (5.0, 4096, 8192)
    assert counted(8, tmp_path) is None


def test_what_is_asked_for_is_typed_whole() -> None:
    """Every recipe's words can be filled in, and pools are the share that a contest asks for."""
    contests = {one.name: one for one in CONTESTS}
    for name in LINES:
        recipe = read(name)
        for structure in recipe.structure:
            work = line_work(contests[structure.contests[0]], structure, Size(keys=1_000_000, warehouses=5))
            words, variables = told(recipe, work, Path("/f"), Path("/b"))
            typed = " ".join([*words, *variables.values()])
            assert "{" not in typed
            assert "/f" in typed
            assert work.pool_bytes < work.file_bytes or work.pool_share > 1
            assert structure.command is not None
            assert structure.command.program in building.programs(recipe.build)


@pytest.mark.usefixtures("assayer")
def test_a_tiny_program_is_built_run_and_read(theirs: Path, tmp_path: Path) -> None:
    recipes, on = made(theirs), folder_in(tmp_path)
    recipe, edges = read("tiny", recipes), list[bool]()
    window, about = line.run(recipe, work_of(recipe), on, edges.append, recipes)
    assert ([one.number for one in window.seconds], window.done, window.damaged) == ([2, 3], 200, 0)
    assert edges == [True, False]
    assert about["programs"] == ["program"]
    # Its file is there for the next turn; what it left where it ran is gone.
    assert [one.name for one in on.iterdir()] == ["tiny-loop-file"]
    assert (on / "tiny-loop-file").read_bytes()[:4] == b"data"


@pytest.mark.usefixtures("assayer")
@pytest.mark.parametrize(("how", "verdict"), [("works", ""), ("damages", "check printed failed")])
def test_its_record_says_what_is_known(theirs: Path, tmp_path: Path, monkeypatch: Any, how: str, verdict: str) -> None:
    recipes, on = made(theirs, how), folder_in(tmp_path)
    recipe = read("tiny", recipes)
    monkeypatch.setattr(line, "required", lambda name, _: building.required(name, recipes))
    record = rival_record(recipe, work_of(recipe), on)
    jsonschema.validate(record, json.loads((home.schema() / "work.schema.json").read_text()))
    reading = of_record(record)
    assert reading.per_s > 0
    assert reading.cpu_ns > 0
    # Others may take the CPUs while tests run, which is said and is no failure of this one.
    assert reading.verdict == verdict or (not verdict and reading.verdict in (GOOD, "suspect"))
    assert {one["what"] for one in record["not_measured"]} >= {"latencies", "checks of its data", "steadiness"}
    assert record["subject"]["settings"]["pool_bytes"] == 4 << 20


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("ends", "printed 0 of 2 seconds"),
        ("fails", "tiny ended with exit code 1: VIRTGB is too low"),
        ("hangs", "tiny did not end within"),
    ],
)
def test_an_end_that_cannot_be_used_is_told_and_nobody_stays(
    theirs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str, said: str
) -> None:
    recipes, on = made(theirs, how), folder_in(tmp_path)
    recipe = read("tiny", recipes)
    if how == "hangs":
        monkeypatch.setattr(line, "_AT_LEAST_S", -49.0)
    with pytest.raises(AssayError, match=said) as refused:
        line.run(recipe, work_of(recipe), on, where=recipes)
    assert refused.value.code == FAILED
    assert [one.name for one in on.iterdir()] == ["tiny-loop-file"]
    assert not Path("/proc", (tmp_path / "pid").read_text()).exists()


def test_a_file_that_does_not_fit_is_refused_before_anything_is_made(theirs: Path, tmp_path: Path) -> None:
    recipes, on = made(theirs), folder_in(tmp_path)
    recipe = read("tiny", recipes)
    with pytest.raises(AssayError, match="MiB are free") as refused:
        line.run(recipe, work_of(recipe, units=10**12), on, where=recipes)
    assert refused.value.code == NOT_POSSIBLE
    assert list(on.iterdir()) == []


@pytest.mark.skipif(shutil.which("cmake") is None or shutil.which("make") is None, reason="takes cmake and make")
def test_a_program_of_cmake_is_built_and_run(theirs: Path, tmp_path: Path) -> None:
    recipes, on = made(theirs, build=BY_CMAKE, program="tiny"), folder_in(tmp_path)
    about = published.built("tiny", recipes)
    assert about is not None
    assert about["programs"] == ["tiny"]
    assert about["command"].startswith("cmake -S theirs -B made && cmake --build made")
    recipe = read("tiny", recipes)
    assert line.run(recipe, work_of(recipe), on, where=recipes)[0].done == 200
    Path(about["path"]).unlink()
    assert published.built("tiny", recipes) is None


def test_a_missing_tool_is_named_with_the_line_that_installs_it(theirs: Path) -> None:
    recipe = read("tiny", made(theirs)).model_dump()
    recipe["package"] = [{"package": "no-such-tool", "tool": "no-such-tool"}]
    with pytest.raises(AssayError, match="tiny needs no-such-tool"):
        building.needs(Recipe.model_validate(recipe))


def test_they_meet_the_engine_in_tasks_and_others_do_not() -> None:
    memory, reads = named(["tpcc-memory", "random-reads"])
    assert ours_of(memory) == ("assay", ENGINE)
    assert ours_of(reads) == (ENGINE,)
    for name in LINES:
        assert can_meet(memory, ENGINE, name)
        assert not can_meet(memory, "assay", name)
        assert read(name).differs("random-reads", ENGINE) != read(name).differs("tpcc-memory", ENGINE)
        assert held_bytes(reads, name, ENGINE, Size()) > held_bytes(reads, "lmdb", ENGINE, Size())
    assert not can_meet(memory, ENGINE, "lmdb")
    assert not can_meet(memory, ENGINE, "postgres")
    assert can_meet(memory, "assay", "lmdb")


@pytest.mark.parametrize("name", LINES)
def test_a_log_of_ours_does_not_meet_a_program_without_one(name: str) -> None:
    with pytest.raises(AssayError, match="has no log that a commit waits for") as refused:
        asked("tpcc-memory", ENGINE, name, durability="fsync")
    assert refused.value.code == BAD_JOB


@pytest.mark.usefixtures("assayer")
@pytest.mark.parametrize("name", LINES)
def test_a_built_program_comes_to_its_window(name: str, tmp_path: Path) -> None:
    if published.built(name) is None:
        pytest.skip(f"{name} was not built: assay rivals build {name}")
    recipe = read(name)
    for number, structure in enumerate(recipe.structure):
        on = tmp_path / str(number)
        on.mkdir()
        contest = named(structure.contests)[0]
        size = Size(keys=100_000, threads=1, duration_s=1, warmup_s=0, warehouses=1)
        found = rival_record(recipe, line_work(contest, structure, size), on)
        assert all(one["passed"] for one in found["checks"])
        assert found["figures"]["succeeded_per_s"]["value"] > 0
