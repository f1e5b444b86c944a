"""Everything that the catalog holds as pages: twins of drives, volumes, instances and memory; instances; parts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from assay.atlas.model import AtlasPage, Fact, Modelled, Price, Twin
from assay.passport import plausible
from assay.passport.figures import QUESTIONS
from assay.price.book import Book, open_book
from assay.price.choose import candidate
from assay.price.choose.candidate import Candidate
from assay.price.choose.volume import catalog_volumes
from assay.price.fact import Fact as PartFact
from assay.price.part import Part
from assay.results import row
from assay.target import catalog
from assay.units import show
from assay.untyped import Json

_KIND = {"cloud-volume": "volume", "cloud-instance": "instance"}
# Units by how a parameter's name ends, the longest end first.
_UNITS = (("bytes_per_s", "bytes/s"), ("_ns", "ns"), ("_bytes", "bytes"), ("iops", "ops/s"), ("per_s", "ops/s"))
_BANDS = ("bandwidth", "latency", "tail")
_PRICED = ("capacity", "iops", "throughput")


def entries() -> dict[str, AtlasPage]:
    """Every page by its name."""
    book = open_book()
    found = {document["name"]: _twin(document) for document in catalog.everything()}
    for name, guesses in plausible.predictions(list(found)).items():
        found[name].twin = _modelled(name, guesses)
    _volumes(found, book)
    _parts(found, book)
    for one in candidate.cloud([], book):
        _instance(found, one)
    return found


def slug(text: str) -> str:
    """A name that can be a file's."""
    return re.sub(r"[^a-z0-9.]+", "-", text.lower()).strip("-.")[:80] or "unnamed"


def _twin(document: Json) -> AtlasPage:
    family = document["device"]["family"]
    kind = "memory" if family in catalog.MEMORY_FAMILIES else _KIND.get(family, "drive")
    sheet = {key: value for key, value in document.items() if key != "band"}
    facts = [_fact(place, one) for place, one in catalog.parameters(sheet)]
    size = show.size(document["capacity_bytes"]["value"])
    return AtlasPage(document["name"], document["title"], kind, size, " ".join(document.get("notes") or ()), facts)


def _fact(place: str, one: Json) -> Fact:
    name = place.removeprefix("device.").replace("_", " ").replace(".", ", ")
    return Fact(name, _number(place, one["value"]), one["kind"], one["source"], one["date"])


def _number(place: str, value: Any) -> str:
    """A parameter in its unit, which its name ends with."""
    if not isinstance(value, (int, float)):
        return str(value)
    for end, unit in _UNITS:
        if place.endswith(end):
            return show.figure(value, unit)
    return f"{value:g}"


def title_of(figure: str) -> str:
    """A figure's title, as passports have it."""
    question, _, metric = figure.partition(".")
    asked = next(one.title for one in QUESTIONS if one.id == question)
    return f"{asked}, {row.metric_title(metric)}"


def _modelled(name: str, guesses: dict[str, plausible.Guess]) -> Twin:
    figures = [
        Modelled(key, title_of(key), show.figure(value, unit), show.span(low, high, unit))
        for key, (value, low, high) in guesses.items()
        for unit in (row.unit(key.partition(".")[2]),)
    ]
    band = catalog.twin(name)["band"]
    error = [Fact(part, f"{band[part]['value']:.0%}", *_who(band[part])) for part in _BANDS if part in band]
    return Twin(name, tuple(figures), tuple(error))


def _who(one: Json) -> tuple[str, str, str]:
    return one["kind"], one["source"], one["date"]


def _volumes(found: dict[str, AtlasPage], book: Book) -> None:
    """Prices and limits of volumes, on the pages of all twins of that kind."""
    for volume in catalog_volumes():
        alike = [entry for name, entry in found.items() if name.partition("-")[0] == volume.name]
        limits = [(name, getattr(volume, name)) for name in ("max_iops", "max_bytes_per_s", "max_bytes")]
        facts = [_of_fact(name, one) for name, one in limits if isinstance(one, PartFact)]
        prices = [price for part in _PRICED for price in _prices(book, f"{volume.cloud}-{volume.name}-{part}")]
        for entry in alike:
            entry.facts += facts
            entry.prices += prices


def _of_fact(name: str, one: PartFact) -> Fact:
    said = _number(name, float(one.value))
    return Fact(name.replace("_", " "), said, one.kind, one.source, one.date)


def _prices(book: Book, item: str) -> Iterator[Price]:
    for entry, _ in book.entries(item):
        note = f"; {entry.note}" if entry.note else ""
        yield Price(f"{entry.value} {entry.currency} per {entry.unit}", entry.date, entry.kind, entry.source + note)


def _parts(found: dict[str, AtlasPage], book: Book) -> None:
    """Parts with a price: on the page of their twin where one is of the same name, otherwise on one of their own."""
    for item, part in book.parts.items():
        if part.family == "cpu":
            continue
        entry = next((one for one in found.values() if one.slug == item or _same(one.title, part.title)), None)
        if entry is None:
            entry = found.setdefault(item, AtlasPage(item, part.title, "part"))
        entry.facts += list(_sheet(part))
        entry.prices += list(_prices(book, item))


def _same(one: str, other: str) -> bool:
    return slug(one) == slug(other)


def _sheet(part: Part) -> Iterable[Fact]:
    for name in type(part).model_fields:
        value = getattr(part, name)
        if isinstance(value, PartFact):
            yield _of_fact(name, value)


def _instance(found: dict[str, AtlasPage], one: Candidate) -> None:
    """An instance: on the page of its twin where the catalog has one."""
    name = one.name.partition("/")[2]
    own = found.get(name.replace(".", "-")) if one.cloud == "aws" else None
    entry = own or found.setdefault(slug(one.name), AtlasPage(slug(one.name), f"{one.cloud} {name}", "instance"))
    entry.capacity = entry.capacity or (show.size(one.local_bytes) if one.local_bytes else "")
    stated = {
        "cores": f"{one.cores:g}",
        "memory": show.block(one.memory_bytes),
        "local storage": show.size(one.local_bytes) if one.local_bytes else "",
        "local reads a second": show.figure(one.read_iops, "ops/s") if one.read_iops else "",
        "local writes a second": show.figure(one.write_iops, "ops/s") if one.write_iops else "",
        "operations a second on volumes": show.figure(one.volume_iops, "ops/s") if one.volume_iops else "",
        "bandwidth to volumes": show.rate(one.volume_bytes_per_s) if one.volume_bytes_per_s else "",
        "bandwidth of the network": show.rate(one.network_bytes_per_s) if one.network_bytes_per_s else "",
    }
    entry.facts += [Fact(key, said, one.provenance, one.source, one.date) for key, said in stated.items() if said]
    entry.prices.append(Price(f"{one.usd_per_month:.2f} USD per month on demand", one.date, "list", one.source))
