"""How long a read from storage takes: the one place where a model or a measurement of a device comes in.

A choice asks `Latencies.read` and never knows who answers. Today the catalog answers with data sheets; a file of
predictions or measurements (`--latencies FILE`) wins over it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from assay.price.error import PriceError
from assay.price.part import catalog_parts

from .volume import Volume

STAND_IN = "p4500-4t"
LOCAL = "local"


@dataclass(frozen=True)
class LatencyFigure:
    """A mean read latency with where it came from; `value_ns` is none where nobody knows it."""

    value_ns: float | None
    provenance: str
    source: str
    date: str | None = None

    def document(self) -> dict[str, Any]:
        """As results print it."""
        return {"value_ns": self.value_ns, "provenance": self.provenance, "source": self.source, "date": self.date}


UNKNOWN = LatencyFigure(None, "assumed", "no source states a latency")


class Latencies(Protocol):
    """Who knows latencies. `device` is `local`, a volume's name, or a machine's; idle, at the page size asked for."""

    def read(self, device: str, page_bytes: float) -> LatencyFigure:
        """Mean latency of a read without a queue."""
        ...


class CatalogLatencies:
    """Data sheets. Clouds do not state a latency of instance storage: an enterprise drive of the catalog stands in."""

    def __init__(self, volumes: list[Volume]) -> None:
        self._volumes = {volume.name: volume for volume in volumes}

    def read(self, device: str, page_bytes: float) -> LatencyFigure:
        """Mean latency of a read without a queue."""
        del page_bytes
        if device == LOCAL:
            fact = next(part for part in catalog_parts().part if part.item == STAND_IN).fact("read_latency_ns")
            return LatencyFigure(
                float(fact.value), "assumed", f"{fact.source}, taken for the cloud's drives", fact.date
            )
        volume = self._volumes.get(device)
        if volume is None or volume.read_latency_ns is None:
            return UNKNOWN
        fact = volume.read_latency_ns
        return LatencyFigure(float(fact.value), fact.kind, fact.source, fact.date)


class FileLatencies:
    """A file of figures, by device: what `assay predict --json` prints, or `{"mean_ns", "provenance", "source"}`."""

    def __init__(self, path: Path, otherwise: Latencies) -> None:
        self._otherwise = otherwise
        self._path = path
        try:
            document = json.loads(path.read_text(encoding="utf-8"))
            self._figures = {device: self._figure(found) for device, found in document.items()}
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            hint = 'write {"local": {"mean_ns": 90000, "provenance": "measured", "source": "..."}}'
            raise PriceError(f"{path} is no file of latencies ({error})", hint) from error

    def _figure(self, found: dict[str, Any]) -> LatencyFigure:
        nanoseconds = found["latency_ns"]["mean"] if "latency_ns" in found else found["mean_ns"]
        if not float(nanoseconds) > 0:
            raise ValueError("a latency is above zero")
        return LatencyFigure(float(nanoseconds), str(found["provenance"]), str(found.get("source", self._path)))

    def read(self, device: str, page_bytes: float) -> LatencyFigure:
        """Mean latency of a read without a queue."""
        return self._figures.get(device) or self._otherwise.read(device, page_bytes)


def loaded_ns(idle_ns: float, utilisation: float) -> float:
    """A mean latency at a utilisation of the device: one station with exponential service, idle / (1 - u)."""
    return idle_ns / (1 - min(utilisation, 0.99))
