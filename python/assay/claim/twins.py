"""Runs of a study on twins of its hardware."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from assay.claim.answer import Answers, RunAnswer, StreamAnswer
from assay.claim.model import ClaimMachine, ClaimStudy
from assay.claim.question import SweepPoint, points, streams_of
from assay.claim.simulate import answer_of, job_of
from assay.claim.value import ClaimValue
from assay.error import AssayError
from assay.executor.dispatch import Dispatcher
from assay.target import catalog, names
from assay.untyped import Json


def answers(study: ClaimStudy, wanted: set[str], dispatcher: Dispatcher) -> Answers:
    """Every run of `wanted` on twins: one batch for the analytic engine, the rest simulated."""
    found: dict[str, list[RunAnswer]] = {}
    asked = list(points(study, wanted))
    analytic = [point for point in asked if point.settings.engine == "analytic"]
    others = [point for point in asked if point.settings.engine != "analytic"]
    known = dict(zip(map(_key, analytic), _solve(analytic, dispatcher), strict=True))
    known |= dict(zip(map(_key, others), _simulated(others, dispatcher), strict=True))
    for point in asked:
        found.setdefault(point.run, []).append(known[_key(point)])
    return Answers(found)


def _key(point: SweepPoint) -> tuple[str, int]:
    return point.run, point.index


def _solve(asked: Sequence[SweepPoint], dispatcher: Dispatcher) -> list[RunAnswer]:
    """Targets and hosts go into the document once each; a machine that the catalog lacks refuses its runs alone."""
    machines = _machines(asked)
    known = [machine for machine, document in machines.items() if not isinstance(document, str)]
    documents = [document for document in machines.values() if not isinstance(document, str)]
    questions, places = [], []
    for place, point in enumerate(asked):
        if point.machine in known:
            at = known.index(point.machine)
            streams = streams_of(point, names.is_memory(documents[at][0]))
            questions.append({"target": at, "host": at, "streams": streams})
            places.append(place)
    document = {
        "version": catalog.VERSION,
        "targets": [target for target, _ in documents],
        "hosts": [host for _, host in documents],
        "questions": questions,
    }
    replies = dispatcher.solutions(document) if questions else []
    found = [RunAnswer({}, str(machines[point.machine])) for point in asked]
    for place, reply in zip(places, replies, strict=True):
        found[place] = _answer(reply)
    return found


def _machines(asked: Sequence[SweepPoint]) -> dict[ClaimMachine, tuple[Json, Json] | str]:
    found: dict[ClaimMachine, tuple[Json, Json] | str] = {}
    for point in asked:
        if point.machine not in found:
            found[point.machine] = _documents(point.machine)
    return found


def _documents(machine: ClaimMachine) -> tuple[Json, Json] | str:
    try:
        return names.target(machine.on), catalog.host(machine.host)
    except AssayError as error:
        return error.message


def _answer(reply: Json) -> RunAnswer:
    if reply["kind"] == "refused":
        return RunAnswer({}, reply["reason"])
    return RunAnswer({stream["name"]: _stream(stream) for stream in reply["solution"]["streams"]})


def _stream(found: Json) -> StreamAnswer:
    band, outside = found["band"], tuple(found["extrapolated"])
    metrics: dict[str, ClaimValue] = {
        "bandwidth": ClaimValue(found["bandwidth_bytes_per_s"], band["bandwidth"], outside),
        "rate": ClaimValue(found["ops_per_s"], band["bandwidth"], outside),
        "latency": ClaimValue(found["mean_ns"], band["latency"], outside),
        "cycles_per_byte": ClaimValue(found["cycles_per_byte"], band["bandwidth"], outside),
    }
    if found["time"]["flush_ns"] > 0:
        metrics["flush"] = ClaimValue(found["time"]["flush_ns"], band["latency"], outside)
    metrics |= {name: _percentile(found[name], outside) for name in ("p50", "p99", "p999")}
    time = {name.removesuffix("_ns"): float(value) for name, value in found["time"].items()}
    return StreamAnswer(metrics, time)


def _percentile(found: Mapping[str, float], outside: tuple[str, ...]) -> ClaimValue:
    middle = found["mid_ns"]
    width = max(middle / found["low_ns"], found["high_ns"] / middle) - 1 if found["low_ns"] > 0 else 0.0
    return ClaimValue(middle, width, outside)


def _simulated(asked: Sequence[SweepPoint], dispatcher: Dispatcher) -> list[RunAnswer]:
    """One run each; a machine that the catalog lacks refuses its runs alone."""
    machines = _machines(asked)
    able = [(point, machines[point.machine]) for point in asked]
    jobs = {_key(point): job_of(point, *found) for point, found in able if not isinstance(found, str)}
    ended = dict(zip(jobs, dispatcher.runs(list(jobs.values())), strict=True))
    return [RunAnswer({}, found) if isinstance(found, str) else answer_of(ended[_key(point)]) for point, found in able]


def memory_machines(study: ClaimStudy) -> dict[str, bool]:
    """Of each machine of a study whether its device is byte-addressable; what the catalog lacks counts as a drive."""
    found = {}
    for name, machine in study.machines.items():
        documents = _documents(machine)
        found[name] = not isinstance(documents, str) and names.is_memory(documents[0])
    return found
