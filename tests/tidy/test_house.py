"""The house stands as it was drawn: arrows run one way, versions agree, licences are among the allowed."""

import json
import re
import shutil
import subprocess
import tomllib
from typing import Any

import assay
import pytest
from assay import packages
from tidy import uses
from tidy.files import ROOT, matching, place, text
from tidy.floors import circles

# Who may use whom. A crate that is not named here has no place yet: give it one.
ARROWS: dict[str, set[str]] = {
    "features": set(),
    "record": {"features"},
    "own": set(),
    "path": {"record", "own"},
    "instruments": {"record", "path"},
    "workload": {"record", "instruments"},
    "load": {"record", "path", "instruments", "workload"},
    "libtwin": set(),
    "libtwin-c": {"features", "libtwin"},
    "twin": {"record", "path", "instruments", "load", "libtwin"},
    "pmem": {"record", "path"},
    "buffer": {"record", "path"},
    "scene": {"record", "instruments", "twin", "pmem", "buffer", "workload"},
    "btree": {"record", "path", "buffer"},
    "index": {"record", "path", "pmem", "buffer", "btree"},
    "tpcc": {"record", "instruments", "workload", "load"},
    "engine": {"record", "own", "path", "pmem", "buffer", "btree", "tpcc"},
    "soak": {"record", "path", "instruments", "workload", "pmem", "buffer", "btree", "index", "tpcc", "engine"},
    "work": {
        "record",
        "own",
        "path",
        "instruments",
        "workload",
        "load",
        "twin",
        "pmem",
        "buffer",
        "scene",
        "index",
        "tpcc",
        "engine",
        "soak",
    },
    "assayer": {"record", "own", "path", "instruments", "load", "twin"},
    "mount": {"own", "libtwin", "assayer"},
    "rivals": {"record", "own", "index", "tpcc", "soak", "work", "assayer"},
    "assayer-db": {"instruments", "index", "soak", "work", "assayer"},
}


def manifest(path: str) -> dict[str, Any]:
    return tomllib.loads((ROOT / path).read_text())


def wrong_arrows(crate: str, dependencies: list[str]) -> list[str]:
    used = {name.removeprefix("assay-") for name in dependencies if name.startswith("assay")}
    if crate not in ARROWS:
        return [f"crates/{crate} has no place among the arrows; give it one in tests/tidy/test_house.py"]
    return [f"{crate} -> {other}: this arrow runs against the design" for other in sorted(used - ARROWS[crate])]


def test_arrows_run_one_way() -> None:
    found = []
    for path in matching("crates/*/Cargo.toml"):
        document = manifest(place(path))
        parts = [document.get(key, {}) for key in ("dependencies", "build-dependencies")]
        found += wrong_arrows(path.parent.name, [name for part in parts for name in part])
    assert not found, "\n".join(found)
    assert wrong_arrows("record", ["assay-path"])
    assert wrong_arrows("attic", [])


def test_files_of_a_crate_do_not_use_each_other_in_circles() -> None:
    found = [
        f"in a circle in {place(path.parent)}: {' '.join(one)}"
        for path in matching("crates/*/Cargo.toml")
        for one in circles(uses.graph(path.parent / "src"))
    ]
    assert not found, "\n".join(found)


def test_uses_are_found_as_they_are_declared() -> None:
    tree = "super::{Tree, way::{Way, child}, self as there}"
    assert list(uses.paths(tree)) == [
        ["super", "Tree"],
        ["super", "way", "Way"],
        ["super", "way", "child"],
        ["super", "self"],
    ]
    source = ROOT / "crates" / "record" / "src"
    assert "class" in uses.graph(source)["job"]
    assert ("path",) in uses.modules(source)


def test_no_crate_knows_the_command_line() -> None:
    found = [
        place(path)
        for path in matching("crates/*/Cargo.toml")
        if not path.parent.name.startswith("assayer") and "clap" in manifest(place(path)).get("dependencies", {})
    ]
    assert not found, f"only the programs parse arguments: {found}"


def test_versions_agree() -> None:
    assert manifest("Cargo.toml")["workspace"]["package"]["version"] == assay.__version__


def test_oldest_rust_and_python_are_the_ones_that_set_up_looks_for() -> None:
    system = text(ROOT / "setup" / "system.sh")
    rust, python = (re.search(rf"oldest_{name}_minor=(\d+)", system) for name in ("rust", "python"))
    assert rust is not None
    assert python is not None
    assert manifest("Cargo.toml")["workspace"]["package"]["rust-version"] == f"1.{rust[1]}"
    assert manifest("pyproject.toml")["project"]["requires-python"] == f">=3.{python[1]}"


def locked(name: str) -> set[str]:
    return set(re.findall(r"^([a-z0-9._-]+)==", text(ROOT / "setup" / name), re.MULTILINE))


def test_every_declared_python_package_is_locked() -> None:
    project = manifest("pyproject.toml")["project"]
    parts = {part: bare(lines) for part, lines in project["optional-dependencies"].items() if part != "all"}
    core, checkout, tests = bare(project["dependencies"]), parts.pop("checkout"), parts.pop("test")
    parts.pop("site")
    assert core | checkout <= locked("requirements.lock"), "run setup/lock"
    for part, names in parts.items():
        assert core | names <= locked(f"requirements-{part}.lock"), "run setup/lock"
        assert names <= locked("requirements-all.lock"), "run setup/lock"
    assert core.union(checkout, tests, *parts.values()) <= locked("requirements-test.lock"), "run setup/lock"


def bare(lines: list[str]) -> set[str]:
    """Names without versions and extras."""
    return {re.split(r"[<>=!~\[; ]", line)[0].lower() for line in lines}


def test_every_lock_file_has_the_same_versions() -> None:
    files = sorted((ROOT / "setup").glob("requirements*.lock"))
    assert len(files) >= 8
    whole = set(re.findall(r"^[a-z0-9._-]+==\S+", text(ROOT / "setup" / "requirements-test.lock"), re.MULTILINE))
    for file in files:
        if file.name != "requirements-site.lock":
            assert set(re.findall(r"^[a-z0-9._-]+==\S+", text(file), re.MULTILINE)) <= whole, file.name


def test_parts_are_the_same_in_manifest_set_up_and_program() -> None:
    extras = manifest("pyproject.toml")["project"]["optional-dependencies"]
    declared = set(re.findall(r"[a-z]+", extras["all"][0].partition("[")[2]))
    (listed,) = re.findall(r"^parts=\((.*)\)$", text(ROOT / "setup" / "setup.sh"), re.MULTILINE)
    assert declared == set(listed.split()) == set(packages.PARTS.values())
    heavy = set.union(*(bare(extras[part]) for part in declared)) - {"tpchgen-cli"}
    known = {"psycopg": "psycopg", "pytds": "python-tds", "vl_convert": "vl-convert-python", "yaml": "pyyaml"}
    assert {known.get(name, name) for name in packages.PARTS} - {"dask"} == heavy


def licence_allowed(expression: str, allowed: set[str]) -> bool:
    """An SPDX expression of AND and OR, where `/` is an old way to write OR."""
    expression = expression.replace("/", " OR ").replace("(", " ( ").replace(")", " ) ")
    with_exception = re.sub(r"(\S+) WITH (\S+)", r"\1_WITH_\2", expression)
    words = [word if word in "()" else _licence_word(word, allowed) for word in with_exception.split()]
    return bool(_truth(words))


def _licence_word(word: str, allowed: set[str]) -> str:
    return word.lower() if word in {"AND", "OR"} else str(word.replace("_WITH_", " WITH ") in allowed)


def _truth(words: list[str]) -> bool:
    """Reads `or` of `and` of words and brackets."""
    value = _all_of(words)
    while words and words[0] == "or":
        words.pop(0)
        value = _all_of(words) or value
    return value


def _all_of(words: list[str]) -> bool:
    value = _one(words)
    while words and words[0] == "and":
        words.pop(0)
        value = _one(words) and value
    return value


def _one(words: list[str]) -> bool:
    word = words.pop(0)
    if word != "(":
        return word == "True"
    value = _truth(words)
    words.pop(0)
    return value


@pytest.mark.parametrize(
    ("expression", "good"),
    [
        ("MIT", True),
        ("GPL-3.0", False),
        ("MIT/Apache-2.0", True),
        ("(MIT OR GPL-3.0) AND Zlib", True),
        ("MIT AND GPL-3.0", False),
        ("Apache-2.0 WITH LLVM-exception OR GPL-3.0", True),
    ],
)
def test_licence_expressions(expression: str, good: bool) -> None:
    allowed = {"MIT", "Apache-2.0", "Apache-2.0 WITH LLVM-exception", "Zlib"}
    assert licence_allowed(expression, allowed) is good


def test_licences_of_crates_are_allowed() -> None:
    cargo = shutil.which("cargo")
    if cargo is None:
        pytest.skip("cargo is not on PATH")
    platform = "x86_64-unknown-linux-gnu"
    command = [cargo, "metadata", "--format-version", "1", "--locked", "--offline", "--filter-platform", platform]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"cargo metadata: {done.stderr.strip().splitlines()[-1:]}")
    allowed = set(manifest("deny.toml")["licenses"]["allow"])
    packages = json.loads(done.stdout)["packages"]
    found = [f"{p['name']}: {p['license']}" for p in packages if not licence_allowed(p["license"] or "none", allowed)]
    assert len(packages) > 10
    assert not found, f"not among the allowed licences of deny.toml: {found}"
