"""The documentation knows everything that the code has, and its links lead somewhere."""

import json
import re
import subprocess
import tomllib
from pathlib import Path

import pytest
from tidy import rust
from tidy.files import ROOT, matching, place, text

LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)(?:\s+\"[^\"]*\")?\)")


def pages_missing(names: list[str], folder: str) -> list[str]:
    return [f"{folder}/{name}.md" for name in names if not (ROOT / folder / f"{name}.md").is_file()]


def test_every_verdict_has_its_page() -> None:
    names = [rust.kebab(name) for name in rust.variants(text(ROOT / "crates/record/src/verdict.rs"), "ReasonCode")]
    assert "page-cache-served" in names
    assert not pages_missing(names, "docs/verdicts")


def test_every_path_has_its_page() -> None:
    kinds = rust.variants(text(ROOT / "crates/record/src/path.rs"), "PathKind")
    names = [rust.kebab(name).replace("-", "_") for name in kinds]
    assert "io_uring" in names
    assert not pages_missing(names, "docs/paths")


def test_every_study_is_in_the_documentation() -> None:
    everything = "\n".join(text(path) for path in matching("docs/**/*.md"))
    missing = [path.stem for path in matching("studies/*.toml") if f"`{path.stem}`" not in everything]
    assert not missing, f"name these studies in docs/: {missing}"


def declared_dependencies() -> set[str]:
    names: set[str] = set()
    for path in matching("Cargo.toml", "crates/*/Cargo.toml", "tests/*/Cargo.toml", "fuzz/Cargo.toml"):
        document = tomllib.loads(text(path))
        for part in (document, document.get("workspace", {})):
            for key in ("dependencies", "dev-dependencies", "build-dependencies"):
                names |= set(part.get(key, {}))
    project = tomllib.loads(text(ROOT / "pyproject.toml"))["project"]
    extras = [line for part in project["optional-dependencies"].values() for line in part]
    names |= {re.split(r"[<>=!~\[; ]", line)[0] for line in [*project["dependencies"], *extras]}
    return {name for name in names if not name.startswith("assay")}


def test_every_dependency_is_explained_and_none_that_is_gone() -> None:
    explained = set(re.findall(r"^\| `([^`]+)`", text(ROOT / "docs" / "dependencies.md"), re.MULTILINE))
    declared = declared_dependencies()
    assert not declared - explained, f"say in docs/dependencies.md what these are for: {sorted(declared - explained)}"
    assert not explained - declared, f"docs/dependencies.md explains what is gone: {sorted(explained - declared)}"


def unused_crates(declared: set[str], used: set[str]) -> list[str]:
    return [f"{name} is declared in Cargo.toml and used by no crate" for name in sorted(declared - used)]


def test_every_declared_crate_is_used() -> None:
    workspace = tomllib.loads(text(ROOT / "Cargo.toml"))["workspace"]["dependencies"]
    used: set[str] = set()
    for path in matching("crates/*/Cargo.toml", "tests/*/Cargo.toml"):
        document = tomllib.loads(text(path))
        for key in ("dependencies", "dev-dependencies", "build-dependencies"):
            sources = "\n".join(text(source) for source in matching(f"{place(path.parent)}/**/*.rs"))
            used |= {name for name in document.get(key, {}) if re.search(rf"\b{crate_word(name)}\b", sources)}
    found = unused_crates(
        set(workspace) - {"assay-features", "assay-record", "assay-path", "assay-instruments", "assay-load"}, used
    )
    assert not found, "\n".join(found)
    assert unused_crates({"a", "b"}, {"a"})


def crate_word(name: str) -> str:
    """The name that sources use."""
    return {"perf-event2": "perf_event"}.get(name, name.replace("-", "_"))


def anchors(markdown: str) -> set[str]:
    """Names that a page's headings can be linked by."""
    titles = re.findall(r"^#+\s+(.+?)\s*$", markdown, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def broken_links(path: Path, markdown: str) -> list[str]:
    prose = re.sub(r"```.*?```", "", markdown, flags=re.DOTALL)
    found = []
    for link in LINK.findall(prose):
        if re.match(r"[a-z]+:", link):
            continue
        name, _, anchor = link.partition("#")
        target = path.parent / name if name else path
        if not target.exists():
            found.append(f"{place(path)}: {link} leads nowhere")
        elif anchor and target.suffix == ".md" and anchor not in anchors(text(target)):
            found.append(f"{place(path)}: {link} names a heading that is not there")
    return found


def test_links_lead_somewhere() -> None:
    found = [line for path in matching("*.md", "docs/**/*.md") for line in broken_links(path, text(path))]
    assert not found, "\n".join(found)


def test_a_broken_link_is_seen(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "# A head\n[good](#a-head) [bad](#b) [gone](gone.md) [out](https://example.org)\n```\n[x](y)\n```\n"
    )
    assert [line.split(": ")[1].split(" ")[0] for line in broken_links(page, page.read_text())] == ["#b", "gone.md"]


def test_schema_of_studies_is_not_stale() -> None:
    from assay.study.model import schema

    assert schema() == json.loads(text(ROOT / "schema" / "study.schema.json")), "assay schema study > schema/..."


def test_schema_of_passports_is_not_stale() -> None:
    from assay.passport.document import schema

    committed = json.loads(text(ROOT / "schema" / "passport.schema.json"))
    assert schema() == committed, "assay schema passport > schema/..."


@pytest.mark.parametrize("document", ["job", "event", "record", "work", "twin", "engine"])
def test_schema_is_not_stale(assayer: Path, document: str) -> None:
    done = subprocess.run([str(assayer), "schema", document], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    path = ROOT / "schema" / f"{document}.schema.json"
    committed = text(path) if path.is_file() else "{}"
    assert json.loads(done.stdout) == json.loads(committed), (
        f"assayer schema {document} > schema/{document}.schema.json"
    )
