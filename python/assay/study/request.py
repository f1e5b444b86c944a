"""From what was typed to what runs: studies, compositions, settings, targets, and the size that fits."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from assay.binary import Binary
from assay.error import NOT_POSSIBLE, AssayError, did_you_mean
from assay.space import kept
from assay.study import source
from assay.study.cell import Cell
from assay.study.demand import Demand
from assay.study.expand import expand, suits
from assay.study.expression import is_template
from assay.study.model import Composition, Fit, Study
from assay.study.plan import Plan, bytes_needed, make
from assay.study.settings import ExpandRequest, Value, apply, keys_of, with_profile
from assay.study.source import StudyError
from assay.target.target import Target
from assay.units.parse import exact_size, format_bytes, number_of, parse_bytes

_MIB = 2**20
# A study whose declared data finds no room takes this share of what is free, where it can.
_MODEST_PERCENT = 10.0


@dataclass(frozen=True)
class Wish:
    """What the user asked for."""

    study: str | Study
    """By name or file, or as a command wrote it."""
    targets: tuple[Target, ...]
    settings: Mapping[str, Value]
    profile: str | None = None
    repeats: int | None = None
    seed: int = 0
    demand: Demand = field(default_factory=Demand)


@dataclass(frozen=True)
class Prepared:
    """Requests that fit, with their plan."""

    name: str
    requests: list[ExpandRequest]
    plan: Plan
    left_out: tuple[str, ...] = ()
    """Parts of a composition that run on no target of this kind."""


def prepare(wish: Wish, binary: Binary | None) -> Prepared:
    """Everything that is known before the run: cells, order, cost. Nothing is touched."""
    document = wish.study if isinstance(wish.study, Study) else source.read(wish.study)
    requests, left_out = _suited(document, _requests(document, wish), wish.targets)
    requests = _roomy(document, requests, wish)
    cells = wish.demand.on(cell for request in requests for cell in expand(request))
    return Prepared(document.name, requests, make(cells, wish.seed, binary), left_out)


def _suited(
    document: Study | Composition, requests: list[ExpandRequest], targets: Sequence[Target]
) -> tuple[list[ExpandRequest], tuple[str, ...]]:
    """The parts of a composition that the targets can run, and the names of the others; all where none can."""
    kept = [request for request in requests if suits(request.study, targets)]
    if isinstance(document, Study) or not kept:
        return requests, ()
    return kept, tuple(request.name for request in requests if request not in kept)


def _requests(document: Study | Composition, wish: Wish) -> list[ExpandRequest]:
    settings = dict(wish.settings) | ({"repeats": wish.repeats} if wish.repeats is not None else {})
    scratch = "assay-scratch-" + hashlib.sha256(f"{document.name}:{wish.seed}".encode()).hexdigest()[:8]
    if isinstance(document, Study):
        requests = [apply(with_profile(document, wish.profile), settings)]
    elif wish.profile is not None:
        raise StudyError(f"`{document.name}` is a composition and has no profiles", "its parts name theirs")
    else:
        requests = _parts(document, settings)
    return [replace(one, targets=wish.targets, seed=wish.seed, scratch=scratch) for one in requests]


def _parts(document: Composition, settings: Mapping[str, Value]) -> list[ExpandRequest]:
    """Every part with its own settings and those of the command line that it knows."""
    found, unused = [], set(settings)
    for part in document.parts:
        study = source.read_study(part.study)
        request = apply(with_profile(study, part.profile), part.set, f"part {part.study}")
        request = replace(request, name=part.as_ or study.name, title=part.title or study.title)
        known = {key: value for key, value in settings.items() if key in keys_of(study)}
        unused -= set(known)
        found.append(apply(request, known))
    if unused:
        key = min(unused)
        hint = did_you_mean(key, {name for request in found for name in keys_of(request.study)})
        raise StudyError(f"--set: no part of `{document.name}` has a parameter or factor `{key}`", hint)
    return found


def _roomy(document: Study | Composition, requests: list[ExpandRequest], wish: Wish) -> list[ExpandRequest]:
    """Requests that find room: as declared, or else made smaller, unless their size was typed."""
    fit = document.fit
    if fit is None or fit.automatic or set(fit.parameters) & set(wish.settings):
        return _fitting(fit, requests, wish.targets)
    if _share(fit, requests, wish.targets) >= 1:
        return requests
    smaller = fit.model_copy(update={"automatic": True})
    try:
        modest = smaller.model_copy(update={"space_percent_at_most": _MODEST_PERCENT})
        return _fitting(modest, requests, wish.targets)
    except AssayError:
        # What does not shrink may take more than that.
        return _fitting(smaller, requests, wish.targets)


def _fitting(fit: Fit | None, requests: list[ExpandRequest], targets: Sequence[Target]) -> list[ExpandRequest]:
    """Requests whose data finds room. What is scaled down is stated in every record."""
    for _ in range(8):
        share = _share(fit, requests, targets)
        if share >= 1:
            return requests
        if fit is None or not fit.automatic:
            raise _too_large(fit, requests, targets, share)
        requests = _scaled(fit, requests, targets, share)
    raise _too_large(None, requests, targets, share)


def _share(fit: Fit | None, requests: Sequence[ExpandRequest], targets: Sequence[Target]) -> float:
    """Room allowed over room needed; the smallest of all places."""
    percent = fit.space_percent_at_most if fit else 90.0
    room = {"+".join(target.members): _room(target, percent) for target in targets if target.kind == "folder"}
    needed = bytes_needed(_cells(requests))
    return min((room[place] / size for place, size in needed.items() if place in room), default=1.0)


def _room(target: Target, percent: float) -> float:
    """Bytes that a run may fill: a share of what is free, and what is kept of the file system stays free."""
    free = target.free_bytes()
    return max(0.0, min(free * percent / 100, free - kept(target.total_bytes())))


def _cells(requests: Sequence[ExpandRequest]) -> list[Cell]:
    return [cell for request in requests for cell in expand(request)]


def _scaled(fit: Fit, requests: list[ExpandRequest], targets: Sequence[Target], share: float) -> list[ExpandRequest]:
    found = []
    for request in requests:
        smaller = _smaller(fit, request.study, share)
        if any(parse_bytes(value) < parse_bytes(fit.at_least) for value in smaller.values()):
            raise _too_large(None, requests, targets, share)
        found.append(apply(request, smaller))
    return found


def _smaller(fit: Fit, study: Study, share: float) -> dict[str, str]:
    """The scalable parameters of a study, made smaller by a share and rounded down to whole MiB."""
    values = {name: study.parameters[name] for name in fit.parameters if name in study.parameters}
    sizes = {name: int(number_of(value) * share) for name, value in values.items() if not is_template(value)}
    return {name: exact_size(size - size % _MIB) for name, size in sizes.items()}


def _too_large(
    fit: Fit | None, requests: Sequence[ExpandRequest], targets: Sequence[Target], share: float
) -> AssayError:
    needed = sum(bytes_needed(_cells(requests)).values())
    free = sum(target.free_bytes() for target in targets if target.kind == "folder")
    message = f"the data of `{requests[0].study.name}` takes {format_bytes(needed)}, {format_bytes(free)} are free"
    hint = "free some space or name another folder with --on"
    if fit is not None:
        settings = _smaller(fit, requests[0].study, share)
        hint = "scale it down: " + " ".join(f"--set {name}={value}" for name, value in settings.items())
        hint += "; the report says what was scaled"
    return AssayError(message, hint=hint, code=NOT_POSSIBLE)
