"""How long a read from storage takes: the one place where a model or a measurement of a device comes in.

A choice asks `Latencies.under` and never knows who answers. Twins answer what they know (`twinned.py`), the data sheets
of the catalog the rest; a file of predictions or measurements (`--latencies FILE`) wins over both.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from assay.price.error import PriceError
from assay.price.part import catalog_parts

from .volume import Volume

STAND_IN = "p4500-4t"
LOCAL = "local"


@dataclass(frozen=True)
class LatencyFigure:
    """A mean read latency with where it came from; `value_ns` is none where nobody knows it.

    `p99_ns` and the relative band (a factor of 1 + width to either side) are there where a twin answered.
    """

    value_ns: float | None
    provenance: str
    source: str
    date: str | None = None
    p99_ns: float | None = None
    band: float | None = None
    tail_band: float | None = None

    def document(self) -> dict[str, Any]:
        """As results print it."""
        found = {"value_ns": self.value_ns, "provenance": self.provenance, "source": self.source, "date": self.date}
        return found | {"p99_ns": self.p99_ns, "band": self.band, "tail_band": self.tail_band}


@dataclass(frozen=True)
class Ask:
    """What one device is asked: `local`, a volume's name or a machine's; the twin that stands for it, where there is
    one (`lent` where it is another instance's); the share of its IOPS that is in use; the share of reads among them."""

    device: str
    twin: str
    lent: bool
    page_bytes: float
    busy: float
    read_share: float


UNKNOWN = LatencyFigure(None, "assumed", "no source states a latency")


class Latencies(Protocol):
    """Who knows latencies."""

    def under(self, ask: Ask) -> LatencyFigure:
        """Latency of a read under that load."""
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

    def under(self, ask: Ask) -> LatencyFigure:
        """The idle latency, raised by the load as of one station."""
        return raised(self.read(ask.device, ask.page_bytes), ask.busy)


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

    def under(self, ask: Ask) -> LatencyFigure:
        """The idle latency of the file, raised by the load as of one station."""
        figure = self._figures.get(ask.device)
        return self._otherwise.under(ask) if figure is None else raised(figure, ask.busy)


def raised(figure: LatencyFigure, busy: float) -> LatencyFigure:
    """An idle latency at a utilisation of its device."""
    return figure if figure.value_ns is None else replace(figure, value_ns=loaded_ns(figure.value_ns, busy))


def loaded_ns(idle_ns: float, utilisation: float) -> float:
    """A mean latency at a utilisation of the device: one station with exponential service, idle / (1 - u)."""
    return idle_ns / (1 - min(utilisation, 0.99))
