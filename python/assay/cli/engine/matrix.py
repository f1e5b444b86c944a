"""`assay engine study`: declared sets of TPC-C runs, from a file."""

from __future__ import annotations

import json as json_text
import tomllib
from pathlib import Path
from string import Template
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from rich.console import Console
from rich.table import Table

from assay import home
from assay.binary import Binary
from assay.cli import output
from assay.cli.engine.flags import Durability, Flags
from assay.cli.engine.job import job
from assay.document import limits
from assay.error import BAD_JOB, DONE, AssayError
from assay.results.files import make_folder
from assay.study import work
from assay.study.work.run import exit_code

Json = dict[str, Any]


class EngineRun(BaseModel):
    """One run: what differs from the others."""

    model_config = ConfigDict(extra="forbid")
    name: str = Field(min_length=1)
    pool: str
    durability: Durability


class EngineStudy(BaseModel):
    """A file of `studies/engine`."""

    model_config = ConfigDict(extra="forbid")
    version: Literal[1]
    name: str
    title: str
    question: str
    source: str
    notes: list[str] = []
    parameters: dict[str, int | str]
    run: list[EngineRun] = Field(min_length=1)


def read(name: str, changes: list[str]) -> EngineStudy:
    """The study of a name, or of a file, with other values of some of its parameters."""
    path = Path(name)
    if not path.suffix:
        path = home.studies() / "engine" / f"{name}.toml"
    if not path.is_file():
        there = ", ".join(sorted(one.stem for one in (home.studies() / "engine").glob("*.toml")))
        raise AssayError(f"there is no study {name} of the engine", hint=f"there is {there}", code=BAD_JOB)
    try:
        study = EngineStudy.model_validate(limits.toml(path.read_text(), str(path)))
    except (tomllib.TOMLDecodeError, ValidationError) as error:
        raise AssayError(f"{path} is no study of the engine: {error}", hint="compare it with dana-table") from error
    for change in changes:
        key, equals, value = change.partition("=")
        if not equals or key not in study.parameters:
            hint = f"its parameters are {', '.join(study.parameters)}; write NAME=VALUE"
            raise AssayError(f"the study has no parameter `{key}`", hint=hint, code=BAD_JOB)
        study.parameters[key] = value
    return study


def run_study(name: str, on: Path, log: Path | None, changes: list[str], out: Path, as_json: bool) -> int:
    """Runs what the folder does not have yet, and prints all of it."""
    study = read(name, changes)
    binary, records = Binary.find(), []
    for one in study.run:
        wanted = _job(study, one, on, log)
        place = out / f"{study.name}-{one.name.replace(', ', '-').replace(' ', '-')}.json"
        record = _there(place, wanted)
        if record is None:
            output.tell(f"{one.name} ...")
            record = work.run_work(binary, ["engine"], wanted)[0]
            work.save(out, record)
            place.write_text(json_text.dumps({"job": wanted, "record": record}))
        records.append(record)
    if as_json:
        output.emit({"study": study.name, "records": records})
    else:
        Console().print(_table(study, records))
        output.say(f"{len(records)} records in {out}/work")
    return exit_code(records)


def show(name: str, changes: list[str], as_json: bool) -> int:
    """Prints what would run."""
    study = read(name, changes)
    given = {key: str(value) for key, value in study.parameters.items()}
    planned = [
        {"run": one.name, "pool": Template(one.pool).safe_substitute(given), "durability": one.durability.value}
        for one in study.run
    ]
    if as_json:
        output.emit({"study": study.name, "parameters": study.parameters, "runs": planned})
        return DONE
    output.say(f"{study.title}: {', '.join(f'{key} {value}' for key, value in given.items())}")
    for entry in planned:
        output.say(f"  {entry['run']}: pool {entry['pool']}, durability {entry['durability']}")
    output.say(f"{len(planned)} runs, each with {given.get('warmup', '?')} of warm-up and {given.get('duration', '?')}")
    return DONE


def _job(study: EngineStudy, one: EngineRun, on: Path, log: Path | None) -> Json:
    given = {key: str(value) for key, value in study.parameters.items()}
    try:
        flags = Flags(
            on=str(on),
            log=str(log or ""),
            pool=Template(one.pool).substitute(given),
            threads=int(given["threads"]),
            tasks=int(given["tasks"]),
            duration=given["duration"],
            warmup=given["warmup"],
            durability=one.durability,
        )
        workload = {"kind": "tpcc", "warehouses": int(given["warehouses"]), "small": False}
    except (KeyError, ValueError) as error:
        hint = "warehouses, threads and tasks are whole numbers, and all of dana-table's parameters are needed"
        raise AssayError(f"a parameter is missing or no number: {error}", hint=hint, code=BAD_JOB) from error
    return {**job(workload, flags), "name": f"{study.name}: {one.name}"}


def _there(place: Path, wanted: Json) -> Json | None:
    """The record of an earlier, equal run."""
    if not place.is_file():
        make_folder(place.parent)
        return None
    kept: Json = json_text.loads(place.read_text())
    if kept["job"] != wanted:
        hint = "name another folder with --out, or the values of the run before"
        raise AssayError(f"{place} has this run with other parameters", hint=hint, code=BAD_JOB)
    record: Json = kept["record"]
    return record


def _table(study: EngineStudy, records: list[Json]) -> Table:
    table = Table(box=None, pad_edge=False, title=study.title, title_justify="left")
    for title in ("run", "transactions/s", "cycles", "read B", "written B", "durability", "verdict"):
        table.add_column(title, justify="left" if title in ("run", "durability", "verdict") else "right")
    for one, record in zip(study.run, records, strict=True):
        figures = record["figures"]
        names = ("cycles_per_transaction", "device_read_bytes_per_transaction", "device_written_bytes_per_transaction")
        cells = [f"{figures[name]['value']:,.0f}" if name in figures else "-" for name in names]
        rate = f"{figures['transactions_per_s']['value']:,.0f}"
        table.add_row(one.name, rate, *cells, record["durability"], record["verdict"]["status"])
    return table
