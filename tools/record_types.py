"""Writes python/assay/record, the types of records, jobs and events, from the schemas.

.venv/bin/python tools/record_types.py            writes the files
.venv/bin/python tools/record_types.py --check    exit code 1 where one of them is stale

The schemas come from the Rust types (`assayer schema`), so a figure that is renamed there is a complaint of mypy here.
Every object becomes a TypedDict: it costs nothing when ten thousand records are read. No key is promised, as a record
may be older than a field, or damaged: readers ask, or have looked (`assay.results.folder`).
"""

from __future__ import annotations

import json
import keyword
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Json = dict[str, Any]

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "python" / "assay" / "record"
_NOTE = "Made from schema/ by `tools/record_types.py`; a test says when it is stale."
# Each file holds what its types need and no file before it holds.
_FILES = {
    "figure": ("Figure", "A figure with unit, provenance and band."),
    "verdict": ("Verdict", "Whether to believe a record, with reasons."),
    "environment": ("Environment", "The machine, as it was when a run started."),
    "job": ("Job", "What the measuring program is asked to do."),
    "record": ("Record", "What a run leaves."),
    "work": ("WorkRecord", "What a run of an index, an engine or a database leaves."),
    "event": ("Event", "What the measuring program says while it runs, line by line."),
}
_SCALARS = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}


@dataclass
class _Writer:
    """Types by name, written in an order in which each knows those that it uses."""

    definitions: Mapping[str, Json]
    lines: list[str] = field(default_factory=list)
    here: dict[str, None] = field(default_factory=dict)
    elsewhere: dict[str, str] = field(default_factory=dict)
    used: dict[str, str] = field(default_factory=dict)

    def need(self, name: str) -> str:
        """The name of a type, which is written first where it was not."""
        if name in self.elsewhere:
            self.used[name] = self.elsewhere[name]
        elif name not in self.here:
            self.here[name] = None
            self._write(name, self.definitions[name])
        return name

    def _write(self, name: str, schema: Json) -> None:
        if schema.get("properties"):
            self._table(name, schema)
        else:
            self.lines += [f"{name} = {self._expression(schema, name)}", *_about(schema), ""]

    def _table(self, name: str, schema: Json) -> None:
        properties: Json = schema["properties"]
        fields = {key: self._expression(found, name + _camel(key)) for key, found in properties.items()}
        if all(key.isidentifier() and not keyword.iskeyword(key) for key in fields):
            self.lines += [f"class {name}(TypedDict, total=False):", *_about(schema, "    "), ""]
            self.lines += [f"    {key}: {kind}" for key, kind in fields.items()]
        else:
            inside = ", ".join(f'"{key}": {kind}' for key, kind in fields.items())
            self.lines += [f'{name} = TypedDict("{name}", {{{inside},}}, total=False)', *_about(schema)]
        self.lines.append("")

    def _expression(self, schema: Json, name: str) -> str:
        if "$ref" in schema:
            return self.need(str(schema["$ref"]).rpartition("/")[2])
        if "const" in schema:
            return f"Literal[{json.dumps(schema['const'])}]"
        for key in ("oneOf", "anyOf", "allOf"):
            if key in schema:
                return self._union(schema[key], name)
        if schema.get("properties"):
            self.here[name] = None
            self._table(name, schema)
            return name
        return self._plain(schema, name)

    def _union(self, parts: list[Json], name: str) -> str:
        if words := [json.dumps(part["const"]) for part in parts if "const" in part]:
            rest = [self._expression(part, name + _tag(part)) for part in parts if "const" not in part]
            return " | ".join([f"Literal[{', '.join(words)}]", *rest])
        return " | ".join(dict.fromkeys(self._expression(part, name + _tag(part)) for part in parts))

    def _plain(self, schema: Json, name: str) -> str:
        kinds = schema.get("type", "anything")
        return " | ".join(self._one(kind, schema, name) for kind in ([kinds] if isinstance(kinds, str) else kinds))

    def _one(self, kind: str, schema: Json, name: str) -> str:
        if kind == "array":
            return f"list[{self._expression(schema.get('items') or {}, name)}]"
        if kind == "object":
            values = schema.get("additionalProperties")
            return f"dict[str, {self._expression(values, name) if isinstance(values, dict) else 'Any'}]"
        return _SCALARS.get(kind, "Any")


def _camel(name: str) -> str:
    return "".join(part.capitalize() for part in name.replace("-", "_").split("_"))


def _tag(part: Json) -> str:
    """What tells one table of a union from the others: its constant, or its only key."""
    properties: Json = part.get("properties") or {}
    for found in properties.values():
        if "const" in found:
            return _camel(str(found["const"]))
    return _camel(next(iter(properties))) if len(properties) == 1 else ""


def _about(schema: Json, indent: str = "") -> list[str]:
    """The first sentence of a description, as a docstring."""
    text = " ".join(str(schema.get("description", "")).split()).replace("\\", "\\\\").replace('"""', "'''")
    first = text.split(". ")[0].rstrip(".")
    quote = f'{indent}"""{first}."""'
    return [quote] if first and len(quote) <= 120 else []


def definitions() -> dict[str, Json]:
    """Every type of the schemas by its name. One name with two meanings is refused."""
    found: dict[str, Json] = {}
    for name in ("job", "record", "work", "event"):
        document: Json = json.loads((ROOT / "schema" / f"{name}.schema.json").read_text(encoding="utf-8"))
        parts = {**document.get("$defs", {}), str(document["title"]): document}
        for key, part in parts.items():
            if _bare(found.setdefault(key, part)) != _bare(part):
                told = f"`{key}` of schema/{name}.schema.json means something else in another schema; rename it"
                raise SystemExit(told)
    return found


def _bare(part: Json) -> Json:
    return {key: value for key, value in part.items() if key not in {"$schema", "$defs", "title"}}


def files() -> dict[str, str]:
    """Every file of the package by its name, as ruff formats it."""
    known, places = definitions(), dict[str, str]()
    found = {}
    for name, (root, about) in _FILES.items():
        writer = _Writer(known, elsewhere=dict(places))
        writer.need(root)
        places |= dict.fromkeys(writer.here, name)
        found[f"{name}.py"] = _formatted("\n".join(_module(about, writer)), f"{name}.py")
    found["__init__.py"] = _formatted("\n".join(_package(places)), "__init__.py")
    return found


def _module(about: str, writer: _Writer) -> Iterator[str]:
    yield from (f'"""{about}', "", _NOTE, '"""', "")
    body = "\n".join(writer.lines)
    typing = [one for one in ("Any", "Literal", "TypedDict") if one in body]
    yield f"from typing import {', '.join(typing)}"
    yield from (f"from assay.record.{place} import {name}" for name, place in sorted(writer.used.items()))
    yield from ("", body)


def _package(places: Mapping[str, str]) -> Iterator[str]:
    yield from ('"""Records, jobs and events as types.', "", _NOTE, '"""', "")
    yield from (f"from assay.record.{place} import {name}" for name, place in sorted(places.items()))
    yield from ("", f"__all__ = {sorted(places)}")


def _formatted(text: str, name: str) -> str:
    ruff = [sys.executable, "-m", "ruff"]
    where = ["--stdin-filename", str(FOLDER / name), "-"]
    for command in ([*ruff, "check", "--select", "I", "--fix", "-q", *where], [*ruff, "format", "-q", *where]):
        text = subprocess.run(command, input=text, capture_output=True, check=True, text=True, cwd=ROOT).stdout
    return text


def stale() -> list[str]:
    """Names of files that the schemas would write otherwise."""
    found = files()
    there = {path.name for path in FOLDER.glob("*.py")}
    old = {name for name, text in found.items() if not _same(FOLDER / name, text)}
    return sorted(old | (there - set(found)))


def _same(path: Path, text: str) -> bool:
    return path.is_file() and path.read_text(encoding="utf-8") == text


def main() -> int:
    """Writes, or checks."""
    if "--check" in sys.argv[1:]:
        old = stale()
        for name in old:
            told = "is stale; write it anew: .venv/bin/python tools/record_types.py"
            print(f"python/assay/record/{name} {told}", file=sys.stderr)
        return 1 if old else 0
    FOLDER.mkdir(exist_ok=True)
    for name, text in files().items():
        (FOLDER / name).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
