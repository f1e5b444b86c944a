"""A job file of fio's as a study file. What cannot be carried over is named, all of it at once; nothing is dropped."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.document.text import table_text, value_text
from assay.error import remedy
from assay.fio import replay
from assay.fio.jobfile import FioError, JobSection, parse
from assay.fio.options import CARRIED, HARMLESS, REFUSED
from assay.fio.workload import FioWorkload, place_of, workload

Table = dict[str, Any]


@dataclass(frozen=True)
class Imported:
    """A study file as text, what is said about it, and where the job file's data lay (for `--on`)."""

    text: str
    notes: tuple[str, ...]
    places: dict[str, str]


def import_file(path: Path, out: Path | None = None, sections: Sequence[str] = (), leave_out: bool = False) -> Imported:
    """Reads a job file; writes the study to `out` where that is given.

    `sections` chooses jobs by name (all of them where empty). With `leave_out` the options that cannot be carried
    over, and jobs that Assay cannot do at all, are left out and named in the study; without it they are an error.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise FioError(f"{path} cannot be read: {error}", "name a job file of fio's") from error
    imported = import_text(text, path.stem, sections, leave_out, path.parent)
    if out is not None:
        _write(out, imported.text)
    return imported


def _write(out: Path, text: str) -> None:
    """A new file, whole or not there."""
    try:
        with out.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError as error:
        raise FioError(f"{out} is there already", "name a file that is not, or remove it first") from error
    except OSError as error:
        out.unlink(missing_ok=True)
        raise FioError(f"{out} cannot be written: {error.strerror}", remedy(error)) from error


def import_text(
    text: str, name: str, sections: Sequence[str] = (), leave_out: bool = False, folder: Path = Path()
) -> Imported:
    """The study that does what the jobs of a job file do. `folder` is where the job file lies."""
    chosen = _chosen(parse(text), sections)
    _alone(chosen)
    refused = [line for section in chosen for line in _refused(section)]
    if refused and not leave_out:
        hint = "remove these lines, or leave them out with --leave-out; the study then says so"
        raise FioError(
            "these options change the load and Assay cannot carry them over:\n  " + "\n  ".join(refused), hint
        )
    if replay.asks(chosen[0]):
        refused += replay.refused(chosen[0], leave_out)
        return _replayed(chosen[0], name, folder, [f"left out: {line}" for line in refused])
    works, impossible = _carried(chosen, leave_out)
    refused += impossible
    notes = [
        *(f"left out: {line}" for line in refused),
        *_notes([section for section, _ in works], [w for _, w in works]),
    ]
    return _study(name, [work for _, work in works], tuple(dict.fromkeys(notes)))


def _alone(chosen: list[JobSection]) -> None:
    """A log is a load of its own."""
    for section in chosen:
        if replay.asks(section) and len(chosen) > 1:
            said = f"[{section.name}] {section.options['read_iolog'].place}: a log holds a whole load"
            raise FioError(said, f"import it alone: --section {section.name}")


def _replayed(section: JobSection, name: str, folder: Path, left_out: list[str]) -> Imported:
    said = [
        f"{option.name} is not needed: {HARMLESS.get(option.name, 'the log says it')}"
        for option in section.options.values()
        if option.name in HARMLESS or option.name in replay.SAID_BY_LOG
    ]
    place = place_of(section)
    text, notes = replay.text(section, _identifier(name), folder, [*left_out, *said])
    return Imported(_heading({"main": place or "."}) + text, tuple(notes), {"main": place or "."})


def _carried(chosen: list[JobSection], leave_out: bool) -> tuple[list[tuple[JobSection, FioWorkload]], list[str]]:
    """Jobs with what they become, and with `leave_out` those that Assay cannot do at all, which are no error then."""
    works: list[tuple[JobSection, FioWorkload]] = []
    impossible: list[str] = []
    for section in chosen:
        try:
            works.append((section, workload(section)))
        except FioError as error:
            if not leave_out:
                raise FioError(error.message, f"{error.hint}; or leave this job out with --leave-out") from error
            impossible.append(f"the job {error.message}")
    if not works:
        raise FioError("no job is left that Assay can do:\n  " + "\n  ".join(impossible), "write the study by hand")
    return works, impossible


def _chosen(found: list[JobSection], sections: Sequence[str]) -> list[JobSection]:
    known = [section.name for section in found]
    missing = [name for name in sections if name not in known]
    if missing:
        raise FioError(f"there is no job [{missing[0]}]", f"the file has {', '.join(known)}")
    return [section for section in found if not sections or section.name in sections]


def _refused(section: JobSection) -> Iterator[str]:
    for option in section.options.values():
        if option.name in CARRIED or option.name in HARMLESS or _is_off(option.name, option.value):
            continue
        yield f"{option.place}: {REFUSED.get(option.name, 'Assay has no counterpart')}"


def _is_off(name: str, value: str) -> bool:
    """`offset=0`, `stonewall=0`, `nrfiles=1` and the like say what holds anyway."""
    return value == ("1" if name == "nrfiles" else "0") and name in REFUSED


def _notes(sections: list[JobSection], works: list[FioWorkload]) -> Iterator[str]:
    for section, work in zip(sections, works, strict=True):
        yield from (f"{work.name}: {note}" for note in work.notes)
        for option in section.options.values():
            if option.name in HARMLESS:
                yield f"{option.name} is not needed: {HARMLESS[option.name]}"
    random = [s for s in sections if s.text("rw").startswith("rand") and not s.flag("norandommap")]
    if random:
        yield "fio visits every block once before any comes again; Assay draws each independently (norandommap)"


def _study(name: str, works: list[FioWorkload], notes: tuple[str, ...]) -> Imported:
    places = {work.place for work in works}
    targets = {place: "main" if index == 0 else f"place{index + 1}" for index, place in enumerate(sorted(places))}
    classes, datasets = _tables(works, targets)
    matrix = _matrix(works, classes)
    head = {
        "name": _identifier(name),
        "title": f"{name}, from a job file of fio",
        "question": "What does this load get here?",
        "source": f"{name}.fio",
        "notes": list(notes),
        "targets": _kinds(works),
        "cache": _cache(works),
    }
    parts = [table_text("", head), *([table_text("matrix", matrix)] if matrix else [])]
    parts += [table_text(f"datasets.{key}", table) for key, table in datasets.items()]
    parts += [table_text(f"classes.{key}", table) for key, table in classes.items()]
    parts += [table_text("window", _window(works))]
    where = {target: place or "." for place, target in targets.items()}
    return Imported(_heading(where) + "\n".join(parts), notes, where)


def _heading(where: dict[str, str]) -> str:
    words = [value_text(place if target == "main" else f"{target}={place}") for target, place in where.items()]
    return f"# Run it: assay run THIS-FILE {' '.join(f'--on {word}' for word in words)}\n\n"


def _identifier(name: str) -> str:
    word = "".join(letter if letter.isascii() and letter.isalnum() else "-" for letter in name).strip("-")
    return word or "imported"


def _tables(works: list[FioWorkload], targets: dict[str, str]) -> tuple[dict[str, Table], dict[str, Table]]:
    """Classes and data sets by name. Jobs that name the same file share a data set."""
    classes: dict[str, Table] = {}
    datasets: dict[str, Table] = {}
    shared: dict[tuple[str, str], str] = {}
    for work in works:
        name = _unused(work.name, classes)
        dataset = shared.setdefault((work.place, work.file), name) if work.file else name
        found = work.dataset | ({"target": targets[work.place]} if targets[work.place] != "main" else {})
        datasets[dataset] = _merged(datasets.get(dataset, found), found, work)
        classes[name] = {"dataset": dataset, **work.table}
    return classes, datasets


def _matrix(works: list[FioWorkload], classes: dict[str, Table]) -> dict[str, list[int]]:
    """Depths to try, a factor for each class that has them; the class then names the factor."""
    found: dict[str, list[int]] = {}
    for work, (name, table) in zip(works, classes.items(), strict=True):
        if work.depths:
            factor = "depth" if len(works) == 1 else f"depth_{name.replace('-', '_')}"
            found[factor], table["depth"] = work.depths, f"${{{factor}}}"
    return found


def _unused(name: str, taken: dict[str, Table]) -> str:
    numbered = (f"{name}-{number}" if number > 1 else name for number in range(1, len(taken) + 2))
    return next(candidate for candidate in numbered if candidate not in taken)


def _merged(one: Table, other: Table, work: FioWorkload) -> Table:
    """What two jobs say of one file. One that is also read is written beforehand."""
    if one["bytes"] != other["bytes"]:
        said = f"the file `{work.file}` has {one['bytes']} in one job and {other['bytes']} in another"
        raise FioError(said, "give both the same size")
    return {key: value for key, value in one.items() if key != "layout" or "layout" in other}


def _kinds(works: list[FioWorkload]) -> list[str]:
    if all(work.table["path"] == "null" for work in works):
        return ["null"]
    return ["block-device"] if any(work.place.startswith("/dev/") for work in works) else ["folder", "block-device"]


def _cache(works: list[FioWorkload]) -> str:
    found = {work.cache for work in works}
    if len(found - {"bypassed"}) > 1:
        said = ", ".join(f"{work.name}: {work.cache}" for work in works)
        raise FioError(f"the jobs ask for different states of the page cache ({said})", "import them one at a time")
    return next(iter(found - {"bypassed"}), "bypassed")


def _window(works: list[FioWorkload]) -> Table:
    """All classes share one window; jobs that differ cannot be one scenario."""
    first, *others = works
    for work in others:
        differing = [key for key in {**first.window, **work.window} if first.window.get(key) != work.window.get(key)]
        if differing == ["bytes"]:
            raise FioError("the jobs move different amounts of data", "give all a runtime and time_based")
        if differing:
            said = f"{first.name} and {work.name} differ in {', '.join(differing)}"
            raise FioError(f"all classes share one window, but {said}", "give all the same runtime and ramp_time")
    return first.window
