"""Tests and examples of a crate are run; of a crate that has none no program is made for them."""

import tomllib
from pathlib import Path

import pytest

from .files import ROOT

Manifest = dict[str, object]

CRATES = sorted(path.parent for path in ROOT.glob("crates/*/Cargo.toml"))


def runs(target: object, what: str) -> bool:
    """Whether `cargo test` builds the examples (`doctest`) or the tests (`test`) of a library or program."""
    return not isinstance(target, dict) or target.get(what, True) is True


def unread(crate: Path, manifest: Manifest, what: str) -> list[Path]:
    """Sources of which `cargo test` builds nothing; a program's own is `main.rs` where there is a library."""
    sources, lib = crate / "src", crate / "src" / "lib.rs"
    programs = manifest.get("bin", [])
    assert isinstance(programs, list)
    if lib.is_file() and not runs(manifest.get("lib"), what):
        return sorted(sources.rglob("*.rs"))
    if what == "test" and programs and not any(runs(one, what) for one in programs):
        return [sources / "main.rs"] if lib.is_file() else sorted(sources.rglob("*.rs"))
    return []


@pytest.mark.parametrize(("what", "mark"), [("doctest", "/ ```"), ("doctest", "! ```"), ("test", "#[test]")])
def test_what_a_crate_has_is_run(what: str, mark: str) -> None:
    assert CRATES
    left_out = [
        path.relative_to(ROOT)
        for crate in CRATES
        for path in unread(crate, tomllib.loads((crate / "Cargo.toml").read_text()), what)
        if mark in path.read_text()
    ]
    assert not left_out, f"say nothing of `{what}` in their Cargo.toml"


def test_what_is_switched_off_is_seen(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    main, lib = tmp_path / "src" / "main.rs", tmp_path / "src" / "lib.rs"
    main.touch()
    off: Manifest = {"bin": [{"name": "a", "test": False}]}
    assert unread(tmp_path, off, "test") == [main]
    lib.touch()
    assert unread(tmp_path, off, "test") == [main]
    assert unread(tmp_path, off | {"lib": {"test": False}}, "test") == [lib, main]
    assert unread(tmp_path, off, "doctest") == unread(tmp_path, {}, "test") == []
