"""Examples in a crate's documentation are run; of a crate that has none no program is made for them."""

import tomllib

import pytest

from .files import ROOT

CRATES = sorted(path.parent for path in ROOT.glob("crates/*/Cargo.toml") if (path.parent / "src" / "lib.rs").is_file())


def runs(crate: dict[str, object], what: str) -> bool:
    """Whether `cargo test` builds the examples (`doctest`) or the tests (`test`) of a library."""
    lib = crate.get("lib", {})
    assert isinstance(lib, dict)
    return lib.get(what, True) is True


@pytest.mark.parametrize(("what", "mark"), [("doctest", "/ ```"), ("doctest", "! ```"), ("test", "#[test]")])
def test_what_a_library_has_is_run(what: str, mark: str) -> None:
    assert CRATES
    left_out = [
        path.relative_to(ROOT)
        for crate in CRATES
        if not runs(tomllib.loads((crate / "Cargo.toml").read_text()), what)
        for path in crate.glob("src/**/*.rs")
        if mark in path.read_text()
    ]
    assert not left_out, f"say nothing of `{what}` in their Cargo.toml"


def test_what_is_switched_off_is_seen() -> None:
    assert runs({}, "test")
    assert not runs({"lib": {"test": False}}, "test")
