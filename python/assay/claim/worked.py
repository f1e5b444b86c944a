"""Claims about indexes, engines and databases, fed from work records that lie in a folder."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Sequence
from fnmatch import fnmatchcase
from typing import TypeVar

from assay.claim import priced
from assay.claim.answer import UnansweredError
from assay.claim.model import Claim, ClaimStudy, Statement, Works
from assay.claim.take import compare, evaluate, names
from assay.claim.unit import base_of
from assay.claim.value import ClaimValue
from assay.results import labels
from assay.results.work import Work
from assay.untyped import Json

T = TypeVar("T")

_TIMES = ("wall_s", "time_s", "elapsed_s", "median_s", "duration_s")
_WHOLE = "all"
_PLAYED = "twin:"


class Worked:
    """The work records of a folder as answers for one study."""

    def __init__(self, study: ClaimStudy, works: Sequence[Work]) -> None:
        self._study = study
        self._works = [one for one in works if one.status != "invalid"]

    def claim(self, claim: Claim) -> Json:
        """What they give for a claim, as the JSON of `here`; the reason where they give nothing."""

        def answer(group: dict[str, list[Work]]) -> Json:
            leaf = self._leaf(group)
            number = evaluate(claim.work, leaf).number / base_of(claim.unit)
            return {"value": number, **_origin(_used(claim.work, group)), "differs": self._differs(claim.work, group)}

        found = self._first([claim.work], answer)
        return {"value": None, "reason": found} if isinstance(found, str) else found

    def statement(self, statement: Statement) -> tuple[bool | None, str, tuple[str, ...]]:
        """Whether a statement holds by them, why not, and in which records."""

        def answer(group: dict[str, list[Work]]) -> tuple[bool | None, str, tuple[str, ...]]:
            used: list[Work] = []
            for text in statement.work:
                holds, left, right = compare(text, self._leaf(group))
                used += _used(text, group)
                if not holds:
                    return False, f"`{text}`: {left.number:.4g} against {right.number:.4g}", _ids(used)
            differs = [one for text in statement.work for one in self._differs(text, group)]
            return True, "; ".join(dict.fromkeys(differs)), _ids(used)

        found = self._first(statement.work, answer)
        return (None, found, ()) if isinstance(found, str) else found

    def _first(self, texts: Sequence[str], answer: Callable[[dict[str, list[Work]]], T]) -> T | str:
        """The answer of the first group of records that has all that is asked for; a sentence where none has."""
        wanted = list(dict.fromkeys(name.split(".")[0] for text in texts for name in names(text)))
        unanswered = ""
        for group in self._groups(wanted):
            try:
                return answer(group)
            except UnansweredError as reason:
                unanswered = unanswered or reason.message
        return unanswered or f"no work records for it: {_needs([self._study.works[name] for name in wanted])}"

    def _groups(self, wanted: Sequence[str]) -> Iterator[dict[str, list[Work]]]:
        """Records of the same subject and size, by the names of the study; only where each name has one."""
        selectors = {name: self._study.works[name] for name in wanted}
        keyed: dict[tuple[str, ...], dict[str, list[Work]]] = {}
        for one in self._works:
            for name, selector in selectors.items():
                if _fits(one, selector):
                    own = "" if any(each.subject for each in selectors.values()) else one.subject
                    durable = "" if selector.durability else one.durability
                    alike = (text for text in one.problem if text.split(" ")[0] not in selector.parameters)
                    key = (own, "played" if _twin(one) else "", one.workload, durable, *alike)
                    keyed.setdefault(key, {}).setdefault(name, []).append(one)
        full = [group for group in keyed.values() if set(group) == set(wanted)]
        # The studies emptied caches before each query: cold runs answer first.
        yield from sorted(full, key=lambda group: (not _cold(group), -sum(len(works) for works in group.values())))

    def _leaf(self, group: dict[str, list[Work]]) -> Callable[[str], ClaimValue | list[ClaimValue]]:
        def leaf(name: str) -> ClaimValue | list[ClaimValue]:
            head, *rest = name.split(".")
            storage = self._study.works[head].storage
            found = [value for one in group[head] if (value := _figure(one, rest, storage)) is not None]
            if not found:
                raise UnansweredError(f"`{name}`: the record {group[head][0].id} has no such figure")
            middle = statistics.median(found)
            spread = max(max(found) / middle, middle / min(found)) - 1 if middle > 0 and min(found) > 0 else 0.0
            return ClaimValue(middle, spread)

        return leaf

    def _differs(self, text: str, group: dict[str, list[Work]]) -> list[str]:
        """What is not as the study had it."""
        found = []
        for name in dict.fromkeys(each.split(".")[0] for each in names(text)):
            one, like = group[name][0], self._study.works[name].like
            size = ", ".join(one.problem)
            subjects = " and ".join(dict.fromkeys(each.subject for each in group[name]))
            found.append(f"{subjects}{f' ({size})' if size else ''} on {one.on} in place of {like}")
        return found


def _twin(one: Work) -> str:
    """The twin that it was played on, as `on` names it; empty where it ran here."""
    return one.on.removeprefix(_PLAYED).removesuffix("*1") if one.on.startswith(_PLAYED) else ""


def _placed(one: Work, selector: Works) -> bool:
    twin = _twin(one)
    return twin == selector.on.removesuffix("*1") if twin else selector.here


def _fits(one: Work, selector: Works) -> bool:
    return (
        one.kind == selector.kind
        and _placed(one, selector)
        and fnmatchcase(one.workload, selector.workload)
        and (not selector.subject or one.subject in selector.subject)
        and (not selector.medium or one.medium == selector.medium)
        and (not selector.durability or one.durability == selector.durability)
        and all(str(one.parameters.get(name)) == value for name, value in selector.parameters.items())
        and all((one.figure(name) or 0.0) >= least for name, least in selector.least.items())
    )


def _cold(group: dict[str, list[Work]]) -> bool:
    return all(one.parameters.get("protocol") == "cold" for works in group.values() for one in works)


def _needs(selectors: Sequence[Works]) -> str:
    """What to run, for each side."""
    commands = {"index": "`assay index run`", "engine": "`assay engine`", "database": "`assay dbms`"}
    sides = []
    for one in selectors:
        of = f" of {' or '.join(one.subject)}" if one.subject else ""
        on = {"drive": " on a drive", "memory": " in memory"}.get(one.medium, "")
        reach = "".join(f", {name.replace('_', ' ')} of at least {least:g}" for name, least in one.least.items())
        apart = "".join(f", {name.replace('_', ' ')} {value}" for name, value in one.parameters.items())
        sides.append(f"{one.workload.rstrip('*')}{of}{on}{apart}{reach} ({commands[one.kind]})")
    both = ", ".join(dict.fromkeys(sides))
    return f"run {both} into one folder, of the same size with as many threads or terminals, and name it with --in"


def _figure(one: Work, rest: Sequence[str], storage: str) -> float | None:
    """`rate`, `per_dollar`, `FIGURE`, `PART.time` in seconds, `PART.FIGURE`; the part `all` is the sum over all."""
    if rest == ["rate"]:
        return one.rate[1] if one.rate else None
    if rest == ["per_dollar"]:
        return _per_dollar(one, storage)
    if len(rest) == 1:
        return one.figure(rest[0])
    part, figure = rest
    if figure != "time":
        return one.figure(figure, part)
    if part == _WHOLE:
        times = [_time(one, str(each.get("name"))) for each in one.record["parts"]]
        known = [value for value in times if value is not None]
        return sum(known) if known and len(known) == len(times) else None
    return _time(one, part)


def _per_dollar(one: Work, storage: str) -> float | None:
    """R of a run: its rate, by the study's storage, memory and processor as far as its threads kept it busy."""
    busy, threads = one.figure("cpu_utilisation"), one.parameters.get("threads")
    if one.rate is None or busy is None or not isinstance(threads, int) or not storage:
        return None
    return one.rate[1] / priced.hardware(storage, threads * min(1.0, busy))


def _time(one: Work, part: str) -> float | None:
    for name in _TIMES:
        value = one.figure(name, part)
        if value is not None:
            return value
    service = (one.part(part) or {}).get("service")
    mean = service.get("mean_ns") if isinstance(service, dict) else None
    return float(mean) / 1e9 if isinstance(mean, (int, float)) else None


def _used(text: str, group: dict[str, list[Work]]) -> list[Work]:
    return [one for name in dict.fromkeys(each.split(".")[0] for each in names(text)) for one in group[name]]


def _ids(works: Sequence[Work]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(one.anchor for one in works))


def _origin(works: Sequence[Work]) -> Json:
    provenances = [one.provenance for one in works]
    worst = next((each for each in ("modelled", "emulated") if each in provenances), provenances[0])
    if any(one.medium == "memory" for one in works) and worst == "measured":
        worst = "emulated"
    return {"provenance": worst, "verdict": labels.worst([one.status for one in works]), "records": list(_ids(works))}
