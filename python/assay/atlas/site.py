"""The site as files: an index with a search, a page for each entry, the passports, and everything as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from importlib import resources
from pathlib import Path

from assay.atlas import seed, taken
from assay.atlas.model import KINDS, AtlasPage
from assay.charts import shell
from assay.error import BAD_JOB, AssayError
from assay.results.files import make_folder
from assay.untyped import Json
from assay.version import __version__

_SCRIPT = resources.files("assay.charts") / "assets" / "atlas.js"
MARK = "atlas.json"
"""The file that says that a folder is an atlas, and may be written anew."""
SHOWN = ("read.service_p50", "reads.ops_rate", "commit.ops_rate", "scan.bandwidth")
HEADS = ("4 KiB read, median", "reads, 32 in flight", "durable commits", "scan")
# A page of its own for each of thousands of instances is found by the search; the list shows what is a drive.
_LISTED = ("drive", "volume", "memory")


def build(site: Path, sources: Iterable[Path]) -> tuple[list[AtlasPage], list[str]]:
    """Writes the site; returns its pages, and a sentence for each source that is left out.

    Raises:
        AssayError: where the folder holds something else.
    """
    _require_ours(site)
    found, left_out = taken.find(sources)
    known = seed.entries()
    make_folder(site)
    taken.add(known, found, site)
    ordered = sorted(known.values(), key=lambda one: (not one.taken, KINDS.index(one.kind), one.title.lower()))
    _write(site, ordered, left_out)
    return ordered, left_out


def _require_ours(site: Path) -> None:
    if site.exists() and (not site.is_dir() or (any(site.iterdir()) and not (site / MARK).is_file())):
        hint = "name a new folder, or one that `assay atlas build` wrote"
        raise AssayError(f"{site} is there and is no atlas", hint=hint, code=BAD_JOB)


def _write(site: Path, entries: Sequence[AtlasPage], left_out: Sequence[str]) -> None:
    script = shell.script(_SCRIPT.read_text(encoding="utf-8"))
    common = {
        "hash": shell.fingerprint(script),
        "version": __version__,
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "heads": HEADS,
    }
    # In a file of its own: thousands of pages share it.
    shell.replace_file(site / "style.css", shell.style())
    environment = shell.environment()
    page = environment.get_template("atlas-entry.html.j2")
    pages = make_folder(site / "d")
    wanted = {f"{one.slug}.html" for one in entries}
    for old in pages.glob("*.html"):
        if old.name not in wanted:
            old.unlink()
    for one in entries:
        shell.replace_file(pages / f"{one.slug}.html", page.render(common | {"entry": one}))
    listed = [_line(one) for one in entries if one.taken or one.kind in _LISTED]
    rows = [_line(one) for one in entries]
    index = common | {"listed": listed, "count": len(rows), "left_out": left_out, "script": script, "data": _data(rows)}
    shell.replace_file(site / "index.html", environment.get_template("atlas.html.j2").render(index))
    whole = {"version": 1, "date": common["date"], "entries": [asdict(one) for one in entries]}
    shell.replace_file(site / MARK, json.dumps(whole, ensure_ascii=False, separators=(",", ":")))


def _line(one: AtlasPage) -> Json:
    """A line of the index."""
    figures = [one.first(name) for name in SHOWN]
    return {
        "title": one.title,
        "kind": one.kind,
        "href": f"d/{one.slug}.html",
        "capacity": one.capacity,
        "figures": [said for said, _ in figures],
        "origin": next((origin for _, origin in figures if origin), ""),
        "passports": len(one.taken),
        "price": one.prices[0].said if one.prices else "",
        "words": f"{one.title} {one.slug} {one.kind}".lower(),
    }


def _data(rows: Sequence[Json]) -> str:
    """What the search reads, as a block of data that no text in it can leave."""
    text = json.dumps(rows, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026").replace("\u2028", "\\u2028")
