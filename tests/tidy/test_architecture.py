"""ARCHITECTURE.md and CONTRIBUTING.md are true of the tree."""

import re
from collections.abc import Iterator

import pytest
from tidy.files import ROOT, matching, ours, place, text
from tidy.floors import graph, rooms
from tidy.test_floors import ARROWS, FLOORS, GROUND

PAGE = ROOT / "ARCHITECTURE.md"
LINES = 250
CODE = ("crates/*/src/**/*.rs", "crates/*/Cargo.toml", "python/assay/**/*.py", "mkdocs.yml")
#: Files outside of the example's own folder that an addition may touch.
FEW = {
    "A verdict": (10, ""),
    "A path": (8, "crates/path/src/passthrough/"),
    "An index": (4, "crates/index/src/dash/"),
    "A database": (18, ""),
}
GENERATED = re.compile(r"python/assay/record/|/tests/|/tests\.rs$")


def named(page: str) -> Iterator[str]:
    """Files and folders that a page names: words in code quotes with a slash that begin with one of our folders."""
    tops = {path.relative_to(ROOT).parts[0] for path in ours()}
    for word in re.findall(r"`([A-Za-z_./-]+)`", page):
        if "/" in word and word.partition("/")[0] in tops:
            yield word


@pytest.mark.parametrize("page", ["ARCHITECTURE.md", "CONTRIBUTING.md"])
def test_every_place_that_is_named_is_there(page: str) -> None:
    found = list(named(text(ROOT / page)))
    missing = [word for word in found if not (ROOT / word).exists()]
    assert len(found) > 5
    assert not missing, f"{page} names what is not there: {missing}"


def test_the_page_is_short() -> None:
    assert text(PAGE).count("\n") <= LINES


def test_every_crate_has_its_line() -> None:
    crates = {f"crates/{path.parent.name}" for path in matching("crates/*/Cargo.toml")}
    listed = set(re.findall(r"^\| `(crates/[a-z-]+)` \|", text(PAGE), re.MULTILINE))
    assert listed == crates


def drawn_floors() -> dict[str, int]:
    """Floor of every room, as the page has it."""
    rows = re.findall(r"^\| (\d) \| (.*) \|$", text(PAGE), re.MULTILINE)
    return {name: int(floor) for floor, names in rows for name in re.findall(r"`([a-z]+)`", names)}


def test_every_room_stands_on_its_floor_and_above_all_that_it_uses() -> None:
    floors = drawn_floors()
    assert set(floors) == set(ARROWS) - {"assay", "__main__"}
    assert max(floors.values()) + 1 == FLOORS
    used = rooms(graph(ROOT / "python", "assay"))
    wrong = [
        f"{name} (floor {floors[name]}) uses {other} (floor {floors[other]})"
        for name in floors
        for other in used.get(name, ())
        if floors[other] >= floors[name] and not {name, other} <= GROUND
    ]
    assert not wrong, "\n".join(wrong)


def additions() -> list[tuple[str, list[str], set[str]]]:
    """What can be added, the words of its example, and the files that the page lists."""
    parts = re.split(r"^### ", text(PAGE).partition("## To add something")[2], flags=re.MULTILINE)[1:]
    found = []
    for part in parts:
        title, _, body = part.partition("\n")
        if example := re.search(r"^As (.*?)[.,] (?:Its|which)", body, re.MULTILINE):
            words = re.findall(r"`([^`]+)`", example[1])
            found.append((title, words, set(re.findall(r"^- `([^`]+)`$", body, re.MULTILINE))))
    return found


@pytest.mark.parametrize(("title", "words", "listed"), additions())
def test_what_is_to_be_touched_is_all_that_names_the_example(title: str, words: list[str], listed: set[str]) -> None:
    pattern = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, words))})(?!\w)")
    touched = {place(path) for path in matching(*CODE) if pattern.search(text(path))}
    assert {name for name in touched if not GENERATED.search(name)} == listed, title


def test_additions_are_read_from_the_page() -> None:
    assert [title for title, _, _ in additions()] == ["A verdict", "A path", "An index", "A database"]


@pytest.mark.parametrize(("title", "listed"), [(title, listed) for title, _, listed in additions()])
def test_an_addition_touches_few_files(title: str, listed: set[str]) -> None:
    most, own = FEW[title]
    outside = [name for name in listed if not own or not name.startswith(own)]
    assert 0 < len(outside) <= most
