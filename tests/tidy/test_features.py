"""All programs ask the libraries that they share for the same, so that each crate is compiled once."""

import shutil
import subprocess
from functools import cache

import pytest

from .files import ROOT

Asked = dict[str, frozenset[str]]

FIRST, LATER = "assayer", ("assayer-db", "assayer-mount", "assay-faultfs", "assay-libtwin-c")


#: What a program holds, and that with what its build runs.
HELD, ALL = "normal,no-proc-macro", "normal,build"


@cache
def asked_by(program: str, edges: str) -> Asked:
    """The features that each package is built with for a program, here."""
    words = ["cargo", "tree", "--locked", "-p", program, "-e", edges, "--prefix", "none", "-f", "{p}|{f}"]
    done = subprocess.run(words, capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    found: dict[str, set[str]] = {}
    for line in done.stdout.splitlines():
        package, features = line.removesuffix(" (*)").split("|")
        found.setdefault(package, set()).add(features)
    return {package: frozenset(features) for package, features in found.items()}


def differing(first: Asked, later: Asked) -> list[str]:
    """Packages of the first program that the other one wants otherwise: it may want them once more for its build."""
    return sorted(package for package, features in first.items() if not features <= later.get(package, features))


@pytest.mark.parametrize("program", LATER)
def test_a_program_asks_what_it_shares_for_no_other_features(program: str) -> None:
    if shutil.which("cargo") is None:
        pytest.skip("cargo is not on PATH")
    held, later = asked_by(FIRST, HELD), asked_by(program, HELD)
    run = [
        {name: features for name, features in asked_by(one, ALL).items() if name not in held | later}
        for one in (FIRST, program)
    ]
    found = differing(held, later) + differing(*run)
    assert not found, f"name what {program} needs of these in crates/features/Cargo.toml: {found}"


def test_a_feature_more_is_seen() -> None:
    assert differing({"a": frozenset({"std"})}, {"a": frozenset({"std,more"}), "b": frozenset()}) == ["a"]
    assert not differing({"a": frozenset({"std"})}, {"b": frozenset({"std"})})


def test_the_lock_file_of_the_rivals_knows_what_our_crates_need() -> None:
    if shutil.which("cargo") is None:
        pytest.skip("cargo is not on PATH")
    manifest = ["--manifest-path", "crates/rivals/Cargo.toml"]
    words = ["cargo", "metadata", "--locked", "--format-version", "1", *manifest]
    done = subprocess.run(words, capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, f"{done.stderr}\nrun `cargo metadata {' '.join(manifest)}` and commit its lock file"
