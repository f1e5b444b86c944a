"""Passports and result folders as what was measured of a page."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.atlas.model import AtlasPage, SeenFigure, Taken
from assay.atlas.seed import slug
from assay.error import BAD_JOB, AssayError
from assay.passport import badge, make, plausible, read
from assay.passport.document import SUFFIX, Passport, PassportFigure
from assay.passport.plausible import Guess
from assay.results import folder
from assay.results.files import make_folder
from assay.target import catalog

FOLDER = "passports"
"""Folder of the site that holds the passports themselves."""


@dataclass(frozen=True)
class Source:
    """A passport, or a result folder taken as one; `fingerprint` is empty of what nobody signed."""

    path: Path
    passport: Passport
    fingerprint: str = ""
    key: str = ""


def find(paths: Iterable[Path]) -> tuple[list[Source], list[str]]:
    """Everything that the paths name, and a sentence for each that is left out.

    A folder may be a result folder, or hold passports and result folders.
    """
    sources, left_out = [], []
    for path in paths:
        if not path.exists():
            hint = "name passports, result folders or folders of them"
            raise AssayError(f"{path} is not there", hint=hint, code=BAD_JOB)
        for one in _inside(path):
            try:
                sources.append(_source(one))
            except AssayError as error:
                left_out.append(error.message)
    return _once(sources), left_out


def _once(sources: Sequence[Source]) -> list[Source]:
    """Without result folders of which a passport is there: it holds the same runs, signed."""
    signed = {run for one in sources if one.fingerprint for run in _runs(one)}
    return [one for one in sources if one.fingerprint or not _runs(one) <= signed]


def _runs(source: Source) -> set[str]:
    return {str((one.record.get("run") or {}).get("id")) for one in source.passport.runs}


def _inside(path: Path) -> Iterator[Path]:
    if path.is_file() or (path / "records").is_dir() or (path / "plan.json").is_file():
        yield path
        return
    yield from sorted(path.rglob(f"*{SUFFIX}"))
    yield from sorted(one.parent for one in path.rglob("plan.json"))


def _source(path: Path) -> Source:
    if path.is_dir():
        return Source(path, make.passport(folder.read(path)))
    found = read.read(path)
    if not found.good:
        said = found.problems[0] if found.signed else "its signature does not hold"
        raise AssayError(f"{path}: {said}")
    return Source(path, found.passport, found.fingerprint, found.sealed.key)


def page_of(found: Passport, known: Mapping[str, AtlasPage]) -> str:
    """The page that a passport belongs to: by the volume that its owner names, by its model, or one of its own."""
    word = slug(found.volume.type.partition(",")[0].partition(" ")[0]) if found.volume.origin == "said" else ""
    if word in known:
        return word
    return plausible.twin_of(found) or slug(found.device.model)


def add(known: dict[str, AtlasPage], sources: Sequence[Source], site: Path) -> None:
    """Puts every source on its page, and copies passports and badges into the site."""
    pages = {id(source): page_of(source.passport, known) for source in sources}
    twins = [page for page in dict.fromkeys(pages.values()) if page in catalog.twins()]
    guesses = plausible.predictions(twins)
    for source in sorted(sources, key=lambda one: one.passport.made.at, reverse=True):
        page, found = pages[id(source)], source.passport
        entry = known.setdefault(page, AtlasPage(page, found.device.model, "drive"))
        entry.taken.append(_taken(source, guesses.get(page, {}), _copy(source, page, site)))


def _copy(source: Source, page: str, site: Path) -> tuple[str, str]:
    """Names, inside the site, of the passport and its badge; of a result folder there is neither."""
    if not source.fingerprint:
        return "", ""
    found = source.passport
    content = source.path.read_bytes()
    stem = f"{page}-{slug(found.made.at[:10])}-{hashlib.sha256(content).hexdigest()[:8]}"
    target = make_folder(site / FOLDER) / f"{stem}{SUFFIX}"
    target.write_bytes(content)
    badge.write(found, source.key, target.with_suffix(".svg"))
    return f"{FOLDER}/{target.name}", f"{FOLDER}/{target.with_suffix('.svg').name}"


def _taken(source: Source, guesses: Mapping[str, Guess], files: tuple[str, str]) -> Taken:
    found, beside = source.passport, {one.figure.id: one for one in plausible.beside(source.passport, guesses)}
    state, verdicts = found.state, found.verdicts
    answers = (("initialised", state.initialised), ("cached", state.cached), ("collected", state.collected))
    return Taken(
        who=found.made.by or "who did not say",
        when=found.made.at[:10],
        what=_what(found),
        signature=f"key {source.fingerprint}" if source.fingerprint else "none: a result folder",
        file=files[0],
        badge=files[1],
        figures=tuple(_seen(one, beside) for one in found.figures),
        state=tuple((name, answer.answer, answer.why) for name, answer in answers),
        limits=tuple(f"{'met: ' if one.met else ''}{one.what}" for one in found.limits),
        counts=(("valid", verdicts.valid), ("suspect", verdicts.suspect), ("invalid", verdicts.invalid)),
        findings=tuple(f"{one.severity}: {one.code}, {one.runs} runs: {one.evidence}" for one in verdicts.findings),
    )


def _seen(figure: PassportFigure, beside: Mapping[str, plausible.BesideTwin]) -> SeenFigure:
    known = beside.get(figure.id)
    said = "" if known is None else f"{known.ratio:.2f}"
    inside = None if known is None else known.inside
    return SeenFigure(figure.id, figure.title, badge.value(figure), figure.provenance, figure.verdict, said, inside)


def _what(found: Passport) -> str:
    device, machine = found.device, found.machine
    parts = [
        device.model,
        f"firmware {device.firmware}" if device.firmware else "",
        found.volume.type,
        device.file_system,
        machine.cpu,
        f"Linux {machine.kernel}" if machine.kernel else "",
        f"inside {machine.virtualisation}" if machine.virtualisation not in ("", "none") else "",
    ]
    return ", ".join(part for part in parts if part)
