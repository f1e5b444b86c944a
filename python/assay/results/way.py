"""How an index on a drive was run, in words."""

from __future__ import annotations

from assay.record import WorkRecord


def words(record: WorkRecord) -> list[str]:
    """Path, split keys and lookups that wait together, each where it applies; of an index in memory nothing."""
    asked, settings = record["workload"].get("parameters") or {}, record["subject"].get("settings") or {}
    found = [str(settings["io"])] if settings.get("io") else []
    found += ["split"] if asked.get("split") else []
    return found + ([f"{asked['batch']} together"] if asked.get("batch", 1) > 1 else [])
