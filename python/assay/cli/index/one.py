"""What `assay index run` and `assay index list` do. What a sweep needs beside that is not loaded for them."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

from rich.table import Table

from assay.binary import Binary
from assay.cli import output
from assay.error import DONE
from assay.index import Wish, job
from assay.record import WorkRecord
from assay.study.work import run_work, save, show
from assay.study.work.index import RIVALS
from assay.study.work.run import exit_code

Json = dict[str, Any]


def show_list(as_json: bool) -> int:
    """Lists the indexes."""
    from assay.rivals.program import listed as rivals

    listed: list[Json] = Binary.find().document("index", "--list")
    built = {one["name"] for one in rivals()}
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
    if index not in RIVALS:
        return Binary.find()
    from assay.rivals.program import program

    return program(index)


def ops_per_s(record: WorkRecord) -> float:
    """Operations per second of a record."""
    return float(record["figures"]["ops_per_s"]["value"])


def _follower(as_json: bool) -> Any:
    def listen(event: Json) -> None:
        if event["event"] == "progress" and not as_json and not event["done"]:
            output.tell(f"{event['stage']} ...")

    return listen
