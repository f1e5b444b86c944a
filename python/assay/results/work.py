"""Records of indexes, engines and databases, as they lie in a folder's `work`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from assay.record import WorkPart, WorkRecord
from assay.results import labels, way
from assay.untyped import Json

VERSION = 1
FOLDER = "work"
_PARTS: dict[str, type] = {
    "kind": str,
    "run": dict,
    "subject": dict,
    "workload": dict,
    "targets": list,
    "environment": dict,
    "figures": dict,
    "parts": list,
    "checks": list,
    "not_measured": list,
    "verdict": dict,
}
#: Figures that say how much was done a second, the first that a record has.
RATES = ("transactions_per_s", "new_orders_per_s", "queries_per_s", "ops_per_s")
_MEMORY = {"tmpfs", "ramfs"}
_PROBLEM = (
    *("scale", "warehouses", "keys", "records", "protocol", "page_cache", "queries", "threads", "terminals", "mix"),
    *("seconds", "distribution"),
)


@dataclass(frozen=True, eq=False)
class Work:
    """One record, with the name of its file."""

    id: str
    record: WorkRecord

    @property
    def kind(self) -> str:
        """`index`, `engine` or `database`."""
        return str(self.record["kind"])

    @property
    def subject(self) -> str:
        """What ran."""
        return str(self.record["subject"].get("name") or "?")

    @property
    def workload(self) -> str:
        """What it was asked to do."""
        return str(self.record["workload"].get("name") or "?")

    @property
    def durability(self) -> str:
        """What makes a change durable."""
        return str(self.record.get("durability") or "")

    @property
    def status(self) -> str:
        """Verdict."""
        found = str(self.record["verdict"].get("status") or "invalid")
        return found if found in labels.STATUS_RANK else "invalid"

    @property
    def anchor(self) -> str:
        """Where the report shows it."""
        return f"work-{self.id}"

    @property
    def parameters(self) -> Json:
        """What it was asked, by name."""
        return dict(self.record["workload"].get("parameters") or {})

    @property
    def settings(self) -> Json:
        """How the subject was set."""
        return dict(self.record["subject"].get("settings") or {})

    @property
    def on(self) -> str:
        """Where its data lay."""
        return ", ".join(dict.fromkeys(str(one.get("target") or "?") for one in self.record["targets"]))

    @property
    def medium(self) -> str:
        """`memory` where its targets are memory or stand-ins, otherwise `drive`; empty where it is not known."""
        targets = [one for one in self.record["targets"] if isinstance(one, dict)]
        if targets and all(one.get("emulated") for one in targets):
            return "memory"
        if self.on.startswith("twin:"):
            return "memory" if "cpu_cache_bytes" in self.settings else "drive"
        members = [one for one in self.record["environment"].get("targets") or () if isinstance(one, dict)]
        kinds = {str((one.get("file_system") or {}).get("kind") or "") for one in members}
        if kinds and kinds <= _MEMORY:
            return "memory"
        return "drive" if kinds - _MEMORY - {""} else ""

    @property
    def provenance(self) -> str:
        """Where its figures came from."""
        figures = self.record["figures"]
        named = figures.get(self.rate[0]) if self.rate else None
        first = named if isinstance(named, dict) else next((v for v in figures.values() if isinstance(v, dict)), None)
        return str((first or {}).get("provenance") or "assumed")

    def figure(self, name: str, part: str = "") -> float | None:
        """A figure of the whole, or of a part; none where it was not measured."""
        holder = self.record["figures"] if not part else (self.part(part) or {}).get("figures") or {}
        found = holder.get(name)
        value = found.get("value") if isinstance(found, dict) else None
        return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None

    def part(self, name: str) -> WorkPart | None:
        """One kind of operation."""
        parts = (one for one in self.record["parts"] if isinstance(one, dict))
        return next((one for one in parts if one.get("name") == name), None)

    @property
    def rate(self) -> tuple[str, float] | None:
        """The figure that says how much was done a second, by its name; none where there is none."""
        for name in RATES:
            value = self.figure(name)
            if value is not None:
                return name, value
        total = self.figure("sum_s")
        return ("queries_per_s", len(self.record["parts"]) / total) if total else None

    @property
    def way(self) -> str:
        """How it reached its drive, where there are several ways."""
        return " ".join(way.words(self.record))

    @property
    def problem(self) -> tuple[str, ...]:
        """What must be alike for two records to compare: the size of the problem, and how caches were."""
        return tuple(_spoken(name, self.parameters[name]) for name in _PROBLEM if name in self.parameters)


def problem_parameters(parameters: Json) -> Json:
    """The parameters that must be alike for two records to compare, by name; lists and mixes in words."""
    known = {name: parameters[name] for name in _PROBLEM if name in parameters}
    return {
        name: value if isinstance(value, (int, float, str)) else _spoken(name, value).removeprefix(f"{name} ")
        for name, value in known.items()
    }


def _spoken(name: str, value: object) -> str:
    """A parameter in a few words: shares of a mix as one line, many queries as their number."""
    if isinstance(value, dict):
        return f"{name} {'/'.join(str(value[key]) for key in sorted(value, key=lambda key: -float(value[key])))}"
    if isinstance(value, list) and len(value) > 3:
        whole = all(isinstance(one, int) for one in value) and value == list(range(value[0], value[-1] + 1))
        return f"{name} {value[0]} to {value[-1]}" if whole else f"{len(value)} {name}"
    if isinstance(value, list):
        return f"{name} {', '.join(str(one) for one in value)}"
    return f"{name} {value}"


def read(directory: Path, parsed: Callable[[Path, str], Json | None], problems: list[str]) -> tuple[Work, ...]:
    """All records of a folder that can be read; what cannot is added to `problems`."""
    paths = sorted((directory / FOLDER).glob("*.json"))
    found = [(path, parsed(path, f"{FOLDER}/{path.name}")) for path in paths]
    return tuple(
        Work(path.stem, cast("WorkRecord", record))
        for path, record in found
        if record and _sound(path, record, problems)
    )


def _sound(path: Path, document: Json, problems: list[str]) -> bool:
    name = f"{FOLDER}/{path.name}"
    if document.get("version") != VERSION:
        seen = document.get("version", "none")
        problems.append(f"{name} has version {seen}, this report reads version {VERSION}; use the assay that wrote it.")
        return False
    missing = [part for part, kind in _PARTS.items() if not isinstance(document.get(part), kind)]
    if missing:
        problems.append(f"{name} has no valid {', '.join(missing)}; it is left out.")
    return not missing
