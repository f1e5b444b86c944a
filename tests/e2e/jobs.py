"""Jobs, each as small as its test allows."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from assay.untyped import Json

KIB, MIB = 1 << 10, 1 << 20


def klass(name: str = "reads", path: str = "pread+direct", **more: Any) -> Json:
    """A class: closed uniform 4 KiB reads, unless `more` says otherwise. `path` is a kind and its options."""
    kind, *options = path.split("+")
    spec: Json = {"kind": kind}
    for option in options:
        spec |= {"poll": option} if option in ("iopoll", "sqpoll") else {option: True}
    return {
        "name": name,
        "dataset": "data",
        "path": spec,
        "operation": {"kind": "read"},
        "pattern": {"kind": "uniform"},
        "size": 4 * KIB,
    } | more


def writes(name: str = "writes", path: str = "pread+direct", **more: Any) -> Json:
    """A class of writes."""
    return klass(name, path, **({"operation": {"kind": "write"}} | more))


def fixed(rate: float, scope: str = "total") -> Json:
    """Evenly spaced arrivals."""
    return {"kind": "fixed", "rate_per_s": rate, "scope": scope}


def dataset(name: str = "data", size: int = 32 * MIB, **more: Any) -> Json:
    """A data set on the target `main`."""
    return {"name": name, "target": "main", "bytes": size} | more


def folder(path: Path) -> Json:
    """A folder as target."""
    return {"id": "main", "kind": "folder", "members": [str(path)]}


def job(target: Json | Path, *classes: Json, measure_s: float = 0.5, **more: Any) -> Json:
    """A job of these classes on one target and one data set; `window` is merged, anything else replaces."""
    window: Mapping[str, Any] = more.pop("window", {})
    return {
        "version": 1,
        "name": "e2e",
        "seed": 7,
        "targets": [folder(target) if isinstance(target, Path) else target],
        "datasets": [dataset()],
        "classes": list(classes) or [klass()],
        "window": {"measure_s": measure_s, **window},
    } | more
