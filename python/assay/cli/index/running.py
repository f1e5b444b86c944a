"""What `assay index` does."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, cast

from rich.table import Table

from assay import rivals
from assay.binary import Binary
from assay.cli import output
from assay.error import BAD_JOB, DONE, NOT_POSSIBLE, AssayError, did_you_mean
from assay.index import Wish, job
from assay.index.job import RIVALS
from assay.index.sweep import STUDIES, cells, run, there
from assay.record import WorkRecord
from assay.results import way
from assay.study.work import run_work, save, show
from assay.study.work.run import exit_code

Json = dict[str, Any]


def show_list(as_json: bool) -> int:
    """Lists the indexes."""
    listed: list[Json] = Binary.find().document("index", "--list")
    built = {one["name"] for one in rivals.listed()}
    for one in listed:
        one["there"] = one["there"] or one["name"] in built
    if as_json:
        output.emit(listed)
        return DONE
    table = Table(box=None, pad_edge=False, show_header=False)
    for one in listed:
        table.add_row(one["name"], one["what"], "" if one["there"] else _absent(one["name"]))
    output.console().print(table)
    return DONE


def _absent(name: str) -> str:
    return f"not built: `assay rivals build {name}`" if name in RIVALS else "not in this program"


def run_one(wish: Wish, out: Path | None, as_json: bool) -> int:
    """Runs one workload on one index and prints its record."""
    document = job(wish)
    records = cast("list[WorkRecord]", run_work(_program(wish.index), ["index"], document, _follower(as_json)))
    paths = [save(out, record) for record in records] if out is not None else []
    if as_json:
        output.emit({"ops_per_s": ops_per_s(records[-1]), "records": records, "files": [str(path) for path in paths]})
    else:
        for record in records:
            show(record, output.console())
        for path in paths:
            output.say(f"record: {path}")
    return exit_code(records)


def _program(index: str) -> Binary:
    """The program that has an index: rivals have one of their own."""
    return rivals.program(index) if index in RIVALS else Binary.find()


def ops_per_s(record: WorkRecord) -> float:
    """Operations per second of a record."""
    return float(record["figures"]["ops_per_s"]["value"])


def _follower(as_json: bool) -> Any:
    def listen(event: Json) -> None:
        if event["event"] == "progress" and not as_json and not event["done"]:
            output.tell(f"{event['stage']} ...")

    return listen


def run_study(
    name: str, base: Wish, places: dict[bool, str], only: list[str], threads: int, out: Path, as_json: bool
) -> int:
    """Runs a sweep and prints its table."""
    binary, sweep = Binary.find(), STUDIES[name]
    for word in only:
        if word not in sweep.indexes:
            message = f"the study {name} has no index `{word}`"
            raise AssayError(message, hint=did_you_mean(word, sweep.indexes), code=BAD_JOB)
    has = there(binary) & (set(only) or set(sweep.indexes))
    wanted = cells(sweep, base, places, has, threads or os.cpu_count() or 1)
    if not wanted:
        hint = "`assay index list` shows what is there"
        raise AssayError("none of these indexes is in this program", hint=hint, code=NOT_POSSIBLE)
    records = list(run(binary, wanted, out, output.tell))
    left_out = sorted(set(only or sweep.indexes) - has)
    if as_json:
        output.emit({"study": name, "left_out": left_out, "records": records})
    else:
        output.console().print(_table(records))
        output.say(f"{len(records)} records in {out}/work")
        if left_out:
            output.say(f"left out, as this program does not have them: {', '.join(left_out)}")
    return exit_code(records)


def _table(records: list[WorkRecord]) -> Table:
    table = Table(box=None, pad_edge=False)
    for title in ("index", "workload", "keys picked", "threads", "M ops/s", "CPU ns/op", "cycles/op", "U", "verdict"):
        table.add_column(title, justify="left" if title in ("index", "workload", "keys picked") else "right")
    for record in records:
        asked, figures = record["workload"]["parameters"], record["figures"]
        table.add_row(
            " ".join([record["subject"]["name"], *way.words(record)]),
            record["workload"]["name"],
            asked["distribution"],
            str(asked["threads"]),
            f"{ops_per_s(record) / 1e6:.3f}",
            f"{figures['cpu_ns_per_op']['value']:.0f}",
            f"{figures['cycles_per_op']['value']:.0f}",
            f"{figures['cpu_utilisation']['value']:.2f}",
            record["verdict"]["status"],
        )
    return table
