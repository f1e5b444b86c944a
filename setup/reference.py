"""Writes docs/reference from the code: commands, schemas, verdicts, catalog.

.venv/bin/python setup/reference.py            writes the pages
.venv/bin/python setup/reference.py --check    exit code 1 where one of them is stale
"""

from __future__ import annotations

import json
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer.main
from assay.claim import model
from assay.cli.app import app
from assay.price.book import open_book
from assay.results import reasons

Json = dict[str, Any]

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "docs" / "reference"
_NOTE = "Made from the code by `setup/reference.py`; a test says when it is stale.\n"


def pages() -> dict[str, str]:
    """Every page of the reference by its file name."""
    return {
        "commands.md": _page("Commands in full", _commands()),
        "schemas.md": _page("Documents and their fields", _schemas()),
        "verdicts.md": _page("Reasons of a verdict", _verdicts()),
        "catalog.md": _page("What the catalog holds", _catalog()),
    }


def stale() -> list[str]:
    """Names of pages that the code would write otherwise."""
    found = pages()
    return [name for name, text in found.items() if not _same(FOLDER / name, text)]


def _same(path: Path, text: str) -> bool:
    return path.is_file() and path.read_text(encoding="utf-8") == text


def _page(title: str, lines: Iterator[str]) -> str:
    return "\n".join([f"# {title}", "", _NOTE, *lines]).rstrip() + "\n"


def _commands() -> Iterator[str]:
    root: Any = typer.main.get_command(app)
    for name, command in sorted(root.commands.items()):
        yield from _command(f"assay {name}", command)


def _command(name: str, command: Any) -> Iterator[str]:
    """A command; of a group what its word does alone, if anything, and its commands."""
    children = getattr(command, "commands", {})
    if not children or getattr(command, "invoke_without_command", False):
        yield from _alone(name, command)
    for child, found in sorted(children.items()):
        yield from _command(f"{name} {child}", found)


def _alone(name: str, command: Any) -> Iterator[str]:
    yield f"## `{name}`\n"
    yield re.sub(r"\n\s*\n", "\n\n", (command.help or "").strip()) + "\n"
    rows = [_parameter(one) for one in command.params if one.name != "help"]
    if rows:
        yield from ("| argument or option | meaning |", "| --- | --- |", *rows, "")


def _parameter(one: Any) -> str:
    flags = " / ".join(one.opts + one.secondary_opts) if one.param_type_name == "option" else ""
    metavar = one.metavar or ("" if getattr(one, "is_flag", False) else str(one.name).upper())
    name = f"{flags} {metavar}".strip() if flags else (one.metavar or one.name.upper())
    default = one.default if isinstance(one.default, (int, float, str)) and not isinstance(one.default, bool) else None
    more = f" Default: `{default}`." if default not in (None, "") else ""
    return f"| `{_cell(name)}` | {_cell((one.help or '').strip())}{more} |"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _schemas() -> Iterator[str]:
    for path in sorted((ROOT / "schema").glob("*.json")):
        document: Json = json.loads(path.read_text(encoding="utf-8"))
        yield f"## {path.name.removesuffix('.schema.json')}\n"
        yield f"{_cell(document.get('description', ''))} The schema: `schema/{path.name}`.\n"
        yield from _fields(document)
        for name, part in sorted((document.get("$defs") or {}).items()):
            if part.get("properties"):
                yield f"### {path.name.removesuffix('.schema.json')}: {name}\n"
                yield f"{_cell(part.get('description', ''))}\n"
                yield from _fields(part)


def _fields(part: Json) -> Iterator[str]:
    properties: Json = part.get("properties") or {}
    if not properties:
        return
    required = set(part.get("required") or ())
    yield from ("| field | type | meaning |", "| --- | --- | --- |")
    for name, found in properties.items():
        mark = "" if name in required else " (may be left out)"
        yield f"| `{name}` | {_type(found)} | {_cell(found.get('description', ''))}{mark} |"
    yield ""


def _type(found: Any) -> str:
    if not isinstance(found, dict):
        return "anything"
    if "$ref" in found:
        return str(found["$ref"]).rpartition("/")[2]
    for key in ("anyOf", "oneOf", "allOf"):
        if key in found:
            kinds = dict.fromkeys(_type(one) for one in found[key])
            return " or ".join(one for one in kinds if one != "null")
    kind = found.get("type", "anything")
    if kind == "array" or (isinstance(kind, list) and "array" in kind):
        return f"list of {_type(found.get('items', {}))}"
    return " or ".join(one for one in kind if one != "null") if isinstance(kind, list) else str(kind)


def _verdicts() -> Iterator[str]:
    yield from ("| reason | what it means | page |", "| --- | --- | --- |")
    for code, title in sorted(reasons.TITLES.items()):
        yield f"| {title} | {_cell(reasons.MEANINGS.get(code, ''))} | [`{code}`](../verdicts/{code}.md) |"


def _catalog() -> Iterator[str]:
    yield from ("## Twins\n", "| name | device | kind |", "| --- | --- | --- |")
    for path in sorted((ROOT / "catalog" / "twins").glob("*.toml")):
        twin = tomllib.loads(path.read_text(encoding="utf-8"))
        family = (twin.get("device") or twin.get("memory") or {}).get("family", "")
        yield f"| `{path.stem}` | {_cell(str(twin.get('title', '')))} | {family} |"
    yield from ("\n## Hosts\n", "| name | host |", "| --- | --- |")
    for path in sorted((ROOT / "catalog" / "hosts").glob("*.toml")):
        host = tomllib.loads(path.read_text(encoding="utf-8"))
        yield f"| `{path.stem}` | {_cell(str(host.get('title', '')))} |"
    yield from ("\n## Claims\n", "| study | source | figures | statements |", "| --- | --- | --- | --- |")
    for name in model.known():
        study = model.load(name)
        yield f"| `{name}` | {_cell(study.source)} | {len(study.claims)} | {len(study.statements)} |"
    yield from ("\n## Parts with prices\n", "| item | part | family | prices of |", "| --- | --- | --- | --- |")
    book = open_book()
    for item, part in sorted(book.parts.items()):
        dates = dict.fromkeys(price.entry.date for price in book.dated(item))
        yield f"| `{item}` | {_cell(part.title)} | {part.family} | {', '.join(dates) or '-'} |"


def main() -> int:
    """Writes, or checks."""
    if "--check" in sys.argv[1:]:
        old = stale()
        for name in old:
            print(
                f"docs/reference/{name} is stale; write it anew: .venv/bin/python setup/reference.py", file=sys.stderr
            )
        return 1 if old else 0
    FOLDER.mkdir(exist_ok=True)
    for name, text in pages().items():
        (FOLDER / name).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
