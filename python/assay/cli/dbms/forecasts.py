"""`assay dbms predict`: what runs would take elsewhere, beside what they took there where somebody measured it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from assay.binary import Binary
from assay.cli import output
from assay.cli.bracket import found as found_in
from assay.dbms.predict import demand, report
from assay.dbms.predict.forecast import Forecast, Hit, summary
from assay.error import BAD_JOB, DONE, AssayError
from assay.mount.drive import PREFIX
from assay.record import WorkRecord
from assay.results.repeats import together
from assay.results.work import Work
from assay.study.work import load, save
from assay.units import show
from assay.untyped import Json


def run_predict(folder: Path, on: Sequence[str], against: Path | None, out: Path | None, as_json: bool) -> int:
    """Predicts and shows it; returns the exit code."""
    if not on:
        raise AssayError("no device was named", hint="--on twin:NAME, or --on limit:RATE", code=BAD_JOB)
    sources = _sources(folder)
    measured = _measured(against) if against is not None else []
    binary = Binary.find()
    documents: list[Json] = []
    for source in sources:
        for device in on:
            found = report.forecasts(source, device)
            document = report.record(binary, source, device, found)
            hits = report.hits(found, _twin_of(source, device, measured)) if measured else []
            if out is not None:
                save(out, document)
            documents.append({"record": document, "against": _document(hits)})
            if not as_json:
                _show(source, device, found, hits)
    if as_json:
        output.emit(documents)
        return DONE
    for bracket in found_in(Work("", one) for one in measured):
        output.say(bracket.sentence)
    return DONE


def _sources(folder: Path) -> list[WorkRecord]:
    usable = _together(demand.usable(load(folder)))
    found = [record for record in usable if demand.demands(record)]
    if not found:
        message = f"{folder} has no record of a database's run whose device could be told from the rest"
        hint = "name the result folder of `assay dbms tpch --cold`, `tpcc` or `wtperf` on a device"
        raise AssayError(message, hint=hint, code=BAD_JOB)
    return found


def _measured(folder: Path) -> list[WorkRecord]:
    """What ran there, on a device or on a drive that was played."""
    found = [
        one for one in _together(load(folder)) if one["kind"] == "database" and demand.took(one) and not _modelled(one)
    ]
    if not found:
        hint = "name the result folder of `assay dbms tpch`, `tpcc` or `wtperf`"
        raise AssayError(f"{folder} has no record of a database's run", hint=hint, code=BAD_JOB)
    return found


def _together(records: Sequence[WorkRecord]) -> list[WorkRecord]:
    return [work.record for work in together(Work("", one) for one in records)]


def _modelled(record: WorkRecord) -> bool:
    return any(reason["code"] == "modelled-target" for reason in record["verdict"]["reasons"])


def _twin_of(source: WorkRecord, device: str, measured: Sequence[WorkRecord]) -> WorkRecord:
    """The measured record of the same work, where there is one on that drive as it is played; otherwise the first."""
    same = [one for one in measured if one["subject"]["name"] == source["subject"]["name"]] or list(measured)
    played = [one for one in same if any(target["target"] == f"{PREFIX}{device}" for target in one["targets"])]
    return (played or same)[0]


def _document(hits: Sequence[Hit]) -> Json:
    rows = [
        {"name": hit.forecast.name, "predicted_s": hit.forecast.seconds, "measured_s": hit.seen_s, "inside": hit.inside}
        for hit in hits
    ]
    return {"rows": rows, "summary": summary(hits)} if rows else {}


def _show(source: WorkRecord, device: str, found: Sequence[Forecast], hits: Sequence[Hit]) -> None:
    target = next(one["target"] for one in source["targets"] if one["role"] == "data")
    output.say(f"{source['workload']['name']} on {source['subject']['name']}, measured on {target}, on {device}:")
    table = Table(box=None, pad_edge=False)
    for name in ("", "measured here", "predicted", "band", *(["measured there", "in band"] if hits else [])):
        table.add_column(name, justify="left" if not name else "right")
    seen = {hit.forecast.name: hit for hit in hits}
    for one in found:
        hit = seen.get(one.name)
        there = [_time(hit.seen_s), "yes" if hit.inside else "no"] if hit else []
        band = f"{_time(one.low_s)} to {_time(one.high_s)}"
        table.add_row(one.name, _time(one.measured_s), _time(one.seconds), band, *there)
    Console(file=sys.stdout, highlight=False, width=None if sys.stdout.isatty() else 120).print(table)
    for one in found:
        if one.operations:
            rates = [show.count(one.operations / seconds) for seconds in (one.seconds, one.high_s, one.low_s)]
            output.say(f"  {rates[0]} operations/s ({rates[1]} to {rates[2]})")
    if hits:
        told = summary(hits)
        output.say(
            f"  median error {told['median_error_ratio']:.0%}, {told['inside_ratio']:.0%} inside the band, "
            f"sum {told['sum_ratio']:.2f} of what was measured"
        )


def _time(seconds: float) -> str:
    return show.time(seconds * 1e9)
