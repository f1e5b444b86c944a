"""The host that drives twins: one of the catalog, with cores and clock as the user wants them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from assay.error import BAD_JOB, AssayError
from assay.target import catalog, names
from assay.units.parse import number_of
from assay.untyped import Json

# The words of `--set` that mean the host, and the parameters that they change.
SETTINGS = {"cores": "cores", "clock": "clock_hz"}
# Who drives a twin where nobody is named: by what the catalog's figures of that family were taken on.
DEFAULT = "xeon-5220s"
DEFAULT_OF_FAMILY = {"cloud-volume": "cloud-vcpu", "cloud-instance": "cloud-vcpu"}


@dataclass(frozen=True)
class HostWish:
    """A host as the user named it; empty where it is the family's own."""

    name: str = ""
    cores: float | None = None
    clock_hz: float | None = None

    def document(self, target: Json) -> Json:
        """The host that drives a target, complete with every parameter."""
        found = catalog.host(self.name or DEFAULT_OF_FAMILY.get(names.family(target), DEFAULT))
        if not self.name:
            # A stand-in drives modules of any generation: nobody said how many channels they lie in.
            found = {key: value for key, value in found.items() if key != "memory_channels"}
        vcpus = names.vcpus(target)
        if vcpus is not None and not self.name:
            # Every virtual CPU counts as a core of its own, as in the two threads of a core.
            found = found | {"cores": vcpus, "threads_per_core": vcpus | {"value": 1}}
        given = {"cores": self.cores, "clock_hz": self.clock_hz}
        return found | {key: _given(value) for key, value in given.items() if value is not None}


def _given(value: float) -> Json:
    date = f"{datetime.now(UTC):%Y-%m-%d}"
    return {"value": value, "kind": "assumed", "source": "Given on the command line", "date": date}


def from_settings(name: str, settings: Mapping[str, Any]) -> HostWish:
    """What `--host` and `--set` say of the host."""
    values = {key: _number(key, settings[key]) for key in SETTINGS if key in settings}
    return HostWish(name, values.get("cores"), values.get("clock"))


def _number(key: str, value: Any) -> float:
    """`16`, `3.2GHz`, `3200MHz`, or hertz."""
    text = str(value).strip()
    unit = next((unit for unit in _HERTZ if text.lower().endswith(unit)), "")
    try:
        return float(number_of(text[: len(text) - len(unit)].strip())) * _HERTZ.get(unit, 1.0)
    except AssayError as error:
        raise AssayError(
            f"--set {key}={value} is no number", hint="write --set cores=16 or --set clock=3.2GHz", code=BAD_JOB
        ) from error


_HERTZ = {"ghz": 1e9, "mhz": 1e6, "hz": 1.0}
