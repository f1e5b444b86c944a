"""How an index on a drive was run, in words."""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]


def words(record: Json) -> list[str]:
    """Path, split keys and lookups that wait together, each where it applies; of an index in memory nothing."""
    asked, settings = record["workload"].get("parameters") or {}, record["subject"].get("settings") or {}
    found = [str(settings["io"])] if settings.get("io") else []
    found += ["split"] if asked.get("split") else []
    return found + ([f"{asked['batch']} together"] if asked.get("batch", 1) > 1 else [])
