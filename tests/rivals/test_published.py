"""Published programs: sources, changes, builds and contests, tried on a tiny one that is made here."""

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
from assay.bench.beside import ContestResult
from assay.bench.contest import CONTESTS, MEMORY, can_meet, named, place_of
from assay.bench.reading import GOOD, of_driver, of_record
from assay.error import BAD_JOB, FAILED, NOT_POSSIBLE, AssayError
from assay.rivals import PUBLISHED, build, published
from assay.rivals.published import build as building
from assay.rivals.published import change, fetch
from assay.rivals.published.drive import DriverWork, answer, room
from assay.rivals.published.recipe import Recipe, SourceChange, folder, read

THEIRS = "#pragma once\n#include <map>\n#include <mutex>\nusing Theirs = std::map<unsigned long, unsigned long>;\n"
DRIVER = """#include "theirs.hpp"
#include "harness.hpp"
std::mutex turn;
struct Session : assay::Lacking {
  Theirs* all;
  bool lookup(uint64_t key, uint64_t& value) {
    std::lock_guard guard(turn);
    auto at = all->find(key);
    if (at == all->end()) return false;
    value = at->second;
    return true;
  }
  bool insert(uint64_t key, uint64_t value) {
    std::lock_guard guard(turn);
    return all->emplace(key, value).second;
  }
  bool remove(uint64_t key) {
    std::lock_guard guard(turn);
    return all->erase(key) == 1;
  }
};
struct Table {
  Theirs all;
  Session session(uint64_t) {
    Session one;
    one.all = &all;
    return one;
  }
};
int main(int count, char** words) {
  const auto job = assay::parse(count, words);
  Table table;
  return assay::run(job, table);
}
"""


def git(where: Path, *words: str) -> str:
    command = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-C", str(where), *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def tiny(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of recipes with one program, whose repository is `tmp_path / theirs`; the cache is this test's own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    theirs, home = tmp_path / "theirs", tmp_path / "recipes"
    theirs.mkdir()
    git(theirs, "init", "-q")
    # The line that ours mends: without it nothing compiles.
    (theirs / "theirs.hpp").write_text(THEIRS.replace("#include <map>\n", "#include <nowhere>\n"))
    git(theirs, "add", ".")
    git(theirs, "commit", "-q", "-m", "x")
    (home / "tiny").mkdir(parents=True)
    shutil.copytree(folder() / "harness", home / "harness")
    (home / "tiny" / "driver.cpp").write_text(DRIVER)
    write(home, git(theirs, "rev-parse", "HEAD"), change.digest(["#include <nowhere>"]))
    return home


def write(home: Path, commit: str, was: str) -> None:
    (home / "tiny" / "rival.toml").write_text(
        f"""name = "tiny"
about = "a map"
licence = "MIT"
durability = "none"
differences = ["It is a map."]
[[source]]
name = "theirs"
url = "file:///nowhere/at/all"
commit = "{commit}"
[[change]]
source = "theirs"
file = "theirs.hpp"
at = 2
lines = 1
was = "{was}"
text = "#include <map>"
[build]
driver = "driver.cpp"
includes = ["theirs"]
flags = ["-std=c++17", "-O1", "-Werror"]
libraries = ["pthread"]
[[structure]]
name = "tiny"
ours = "dash-eh"
contests = ["pm-lookups"]
"""
    )


def tree(home: Path) -> str:
    return str(home.parent / "theirs")


@pytest.mark.parametrize("workload", ["lookup", "missing", "insert", "remove"])
def test_a_tiny_program_is_changed_built_kept_and_run(tiny: Path, tmp_path: Path, workload: str) -> None:
    made = published.make("tiny", [tree(tiny)], where=tiny)
    assert published.built("tiny", tiny) == made
    assert made["changes"] == 1
    work = DriverWork("tiny", workload, keys=3000, threads=2, seconds=0.05, warmup_s=0.01)
    said = published.run(read("tiny", tiny), work, tmp_path, tiny)
    assert (said["wrong"], said["empty"], said["threads"]) == (0, 0, 2)
    assert said["succeeded"] > 0
    assert said["commits"] == made["commits"]
    assert not (tmp_path / "tiny-pool").exists()
    if workload == "remove":
        assert said["succeeded"] <= 3000


def test_what_a_program_lacks_is_said(tiny: Path, tmp_path: Path) -> None:
    published.make("tiny", [tree(tiny)], where=tiny)
    work = DriverWork("tiny", "scan", keys=100, threads=1, seconds=0.01, warmup_s=0)
    with pytest.raises(AssayError, match="the program has no scan"):
        published.run(read("tiny", tiny), work, tmp_path, tiny)


def test_another_driver_is_another_build(tiny: Path) -> None:
    published.make("tiny", [tree(tiny)], where=tiny)
    (tiny / "tiny" / "driver.cpp").write_text(DRIVER + "\n")
    assert published.built("tiny", tiny) is None
    # The source is in the cache by now: neither network nor folder is needed.
    assert published.make("tiny", where=tiny)["name"] == "tiny"


@pytest.mark.skipif(os.geteuid() != 0, reason="giving files to another user takes root")
def test_the_settings_of_another_users_clone_run_nothing(
    tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Unpacking a commit runs the filters that a clone's own settings name."""
    theirs, ran = tmp_path / "theirs", tmp_path / "ran"
    # Whoever runs these tests may have told git to trust every folder.
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_SYSTEM", os.devnull)
    (theirs / ".git" / "info").mkdir(exist_ok=True)
    (theirs / ".git" / "info" / "attributes").write_text("* filter=planted\n")
    git(theirs, "config", "filter.planted.smudge", f"touch {ran}; cat")
    for path in (theirs, *theirs.rglob("*")):
        os.chown(path, 65534, 65534, follow_symlinks=False)
    with pytest.raises(AssayError, match="belongs to another user"):
        published.make("tiny", [str(theirs)], where=tiny)
    assert not ran.exists()


def test_without_network_and_without_a_folder_the_remedy_is_named(tiny: Path) -> None:
    with pytest.raises(AssayError, match="file:///nowhere/at/all cannot be fetched") as refused:
        published.make("tiny", where=tiny)
    assert refused.value.code == NOT_POSSIBLE
    assert "--source theirs=DIR" in str(refused.value.hint)
    assert not (fetch.cache() / "sources" / "theirs" / read("tiny", tiny).source[0].commit).exists()


def test_a_clone_without_the_commit_is_refused(tiny: Path) -> None:
    write(tiny, "0" * 40, change.digest(["#include <nowhere>"]))
    with pytest.raises(AssayError, match="has no commit 000000000000") as refused:
        published.make("tiny", [tree(tiny)], where=tiny)
    assert refused.value.code == BAD_JOB
    assert "fetch file:///nowhere/at/all" in str(refused.value.hint)


def test_a_change_that_does_not_fit_changes_nothing(tiny: Path) -> None:
    write(tiny, read("tiny", tiny).source[0].commit, "f" * 16)
    with pytest.raises(AssayError, match=r"line 2 of theirs\.hpp is not the one") as refused:
        published.make("tiny", [tree(tiny)], where=tiny)
    assert refused.value.code == FAILED
    assert published.built("tiny", tiny) is None


def test_folders_and_names_that_cannot_be_are_refused(tiny: Path, tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.mkdir()
    for word, said in ((f"other={plain}", "no source `other`"), ("/not/there", "no folder"), (str(plain), "no git")):
        with pytest.raises(AssayError, match=said):
            published.make("tiny", [word], where=tiny)
    with pytest.raises(AssayError, match="more than one rival"):
        build(["dash", "fptree"], sources=["/x"])


def test_what_is_missing_is_named_as_one_line_of_apt(tiny: Path) -> None:
    recipe = read("tiny", tiny).model_dump()
    recipe["package"] = [{"package": "lib-dev", "header": "no/such.h"}, {"package": "g++", "header": "cstdio"}]
    with pytest.raises(AssayError, match="tiny needs lib-dev") as refused:
        building.needs(Recipe.model_validate(recipe))
    assert "apt-get install lib-dev`" in str(refused.value.hint)


def test_lines_are_replaced_and_set_before_from_the_end_on(tmp_path: Path) -> None:
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / "f").write_text("a\nb\nc\n")
    before = SourceChange(source="s", file="f", at=1, was=change.digest(["a"]), text="x\ny")
    instead = SourceChange(source="s", file="f", at=2, lines=2, was=change.digest(["b", "c"]), text="z")
    change.apply(tmp_path, [before, instead])
    assert (tmp_path / "s" / "f").read_text() == "x\ny\na\nz\n"


@pytest.mark.usefixtures("assayer")
def test_a_reading_is_per_operation_and_an_empty_one_is_no_success(tmp_path: Path) -> None:
    recipe, work = read(PUBLISHED[0]), DriverWork("s", "lookup", keys=10, threads=1, seconds=2, warmup_s=0)

    def record(**more: int) -> Any:
        said = {"succeeded": 1000, "succeeded_per_s": 500.0, "cpu_s": 0.002, "empty": 0, "wrong": 0}
        return of_driver(said | more, recipe, work, tmp_path)

    found = record()
    jsonschema.validate(found, json.loads((home.schema() / "work.schema.json").read_text()))
    reading = of_record(found)
    assert (reading.per_s, reading.cpu_ns, reading.verdict) == (500.0, 2000.0, GOOD)
    assert reading.durability == recipe.durability
    assert of_record(record(empty=3)).verdict == "check empty failed"
    assert of_record(record(wrong=1)).verdict == "check wrong failed"


def test_misses_of_ours_are_counted_as_what_was_asked_for() -> None:
    """They once made a contest of misses end in a ratio of zeros."""
    figures = {"succeeded_per_s": {"value": 0.0}, "ops_per_s": {"value": 50.0}}
    cpu = {"user_s": {"value": 1e-6}, "kernel_s": {"value": 0.0}}
    record: Any = {"figures": figures, "cpu": cpu, "durability": "none", "checks": [], "verdict": {"status": "valid"}}
    reading = of_record(record | {"parts": [{"succeeded": 0, "empty": 10}]}, missing=True)
    assert (reading.per_s, round(reading.cpu_ns)) == (50.0, 100)


def test_the_ratio_of_a_contest_is_that_of_its_pairs() -> None:
    sides = ([200.0, 300.0], [100.0, 100.0])
    words = ([GOOD] * 2, [GOOD] * 2)
    result = ContestResult("pm-lookups", "fptree", "fptree", 0, ("a", "b"), sides, sides, words, 2, ("It differs.",))
    assert result.faster.median == pytest.approx(2.5)
    assert result.faster.low < 2.45 < result.faster.high
    assert (result.document()["threads"], result.document()["differences"]) == (2, ("It differs.",))


def test_an_end_without_a_document_is_told_with_its_last_words(tmp_path: Path) -> None:
    with pytest.raises(AssayError, match="p was ended by signal 6: no space"):
        answer("p", -6, "words\n", "no space\n")
    assert answer("p", 1, 'words\n{"wrong": 1}\n', "") == {"wrong": 1}
    with pytest.raises(AssayError, match="MiB was wanted"):
        room(DriverWork("s", "lookup", keys=10**13, threads=1, seconds=1, warmup_s=0), tmp_path)


@pytest.mark.parametrize("name", PUBLISHED)
def test_recipes_are_whole_and_meet_contests_that_there_are(name: str) -> None:
    recipe, contests = read(name), {one.name: one for one in CONTESTS}
    assert recipe.name == name
    assert all(len(one.commit) == 40 for one in recipe.source)
    for structure in recipe.structure:
        assert all(can_meet(contests[one], structure.ours, name) for one in structure.contests)


def test_memory_is_the_place_of_words_and_others_do_not_meet_there(tmp_path: Path) -> None:
    words, pages = named(["pm-lookups", "cold-lookups"])
    assert (place_of(words, None), place_of(pages, None), place_of(words, tmp_path)) == (MEMORY, Path(), tmp_path)
    assert not can_meet(words, "fptree", "lmdb")
    assert not can_meet(pages, "ssd-btree", "fptree")


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_built_program_has_every_entry_as_it_must_be(name: str, tmp_path: Path) -> None:
    if published.built(name) is None:
        pytest.skip(f"{name} was not built: assay rivals build {name}")
    recipe = read(name)
    for structure in (one for one in recipe.structure if one.command is None):
        for contest in named(structure.contests):
            # One thread: two that remove from FPTree as it was published miss a key now and then.
            work = DriverWork(structure.name, contest.workload, keys=20_000, threads=1, seconds=0.05, warmup_s=0)
            found = of_driver(published.run(recipe, work, tmp_path), recipe, work, tmp_path)
            assert of_record(found).verdict == GOOD
