"""A soak by an executor: stores beside each other, each with a share of the kills and moments of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from assay import own
from assay.error import AssayError
from assay.executor.work import WorkExecutor
from assay.soak.rounds import Places, Rounds, SoakOrder
from assay.untyped import Json

_PREFIX = "assay-soak-"
_APART = 1_000_003
"""Between the seeds of two stores."""


@dataclass(frozen=True)
class SoakResult:
    """What was found: kills of all stores, the sums over them, and folders that stay since they show a loss."""

    whole: bool
    kills: int
    stores: int
    finding: Json
    kept: list[str]


def soak(order: SoakOrder, executor: WorkExecutor | None, tell: Callable[[str], None]) -> SoakResult:
    """Kills as often as was asked, shared out evenly.

    Raises:
        AssayError: where a store does not work at all, or cannot be opened any more; what shows that is kept.
    """
    if executor is None:
        made = _made(order)
        return _together([_kept(_gone(order, made, tell), made)])
    orders = _shares(order, executor.size)
    if not executor.here:
        return _together(executor.do(elsewhere, [asdict(one) for one in orders]))
    folders = [_made(one) for one in orders]
    asked = [asdict(one) | {"made": _text(made)} for one, made in zip(orders, folders, strict=True)]
    ended = executor.do(here, asked)
    return _together([_kept(one, made) for one, made in zip(ended, folders, strict=True)])


def here(order: Json) -> Json:
    """One store in folders that are made already, and that whoever asks removes: work for a process of this machine."""
    made = {role: Path(folder) for role, folder in order.pop("made").items()}
    return _gone(SoakOrder(**order), made, lambda _: None)


def elsewhere(order: Json) -> Json:
    """One store on this host, whose folders go at once unless they show a loss."""
    asked = SoakOrder(**order)
    made = _made(asked)
    found = _kept(_gone(asked, made, lambda _: None), made)
    if not found["kept"]:
        for folder in made.values():
            own.remove(folder)
    return found


def _gone(order: SoakOrder, made: Places, tell: Callable[[str], None]) -> Json:
    """What became of one store. An error that came after a kill is an outcome, so that the folders can be kept."""
    rounds = Rounds(order, made, tell)
    found: Json = {"whole": False, "error": None}
    try:
        found["whole"] = rounds.go()
    except AssayError as error:
        found["error"] = error.document()["error"]
    return found | {"kills": rounds.kills, "finding": rounds.finding, "kept": []}


def _kept(found: Json, made: Places) -> Json:
    """What is not kept goes when the process that made it ends. What did not work at all shows nothing."""
    if found["whole"] or (found["error"] and found["kills"] <= 1):
        return found
    for folder in made.values():
        own.keep(folder)
    return found | {"kept": list(_text(made).values())}


def _together(found: Sequence[Json]) -> SoakResult:
    for one in found:
        if problem := one["error"]:
            raise AssayError(problem["message"], hint=problem["hint"], code=problem["exit_code"])
    counts = [one["finding"]["datasets"][0] for one in found]
    sums = {key: sum(one[key] for one in counts) for key in ("acknowledged", "found", "torn", "lost", "corrupt")}
    examples = [text for one in counts for text in one["examples"]]
    finding = {
        "datasets": [{"name": counts[0]["name"], **sums, "examples": examples}],
        "turns": sum(one["finding"]["turns"] for one in found),
        "structure": "; ".join(dict.fromkeys(one["finding"]["structure"] for one in found)),
    }
    kept = [folder for one in found for folder in one["kept"]]
    whole = all(one["whole"] for one in found)
    return SoakResult(whole, sum(one["kills"] for one in found), len(found), finding, kept)


def _shares(order: SoakOrder, most: int) -> list[SoakOrder]:
    """So many stores at most, with at least one kill each; the first has the seed that was asked for."""
    count = min(most, order.kills)
    kills = [order.kills // count + (place < order.kills % count) for place in range(count)]
    return [replace(order, kills=share, seed=order.seed + place * _APART) for place, share in enumerate(kills)]


def _made(order: SoakOrder) -> Places:
    return {role: own.make(Path(place), _PREFIX) for role, place in order.places.items()}


def _text(made: Places) -> dict[str, str]:
    return {role: str(folder) for role, folder in made.items()}
