"""What `assay index` does."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, cast

from rich.table import Table

from assay import rivals
from assay.binary import Binary
from assay.cli import output
from assay.error import BAD_JOB, DONE, NOT_POSSIBLE, AssayError, did_you_mean
from assay.index import Wish, job, picture
from assay.index.played import PlayedIndex, answers, played
from assay.index.sweep import STUDIES, Places, Sweep, cells, run, there
from assay.record import WorkRecord
from assay.results import way
from assay.study.work import run_work, save, show
from assay.study.work.index import RIVALS
from assay.study.work.run import exit_code
from assay.target import names
from assay.target.host import HostWish

Json = dict[str, Any]
# Of a window of a sweep that is measured.
DURATION = "2s"


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


@dataclass(frozen=True)
class Narrowed:
    """What a sweep is narrowed to: these indexes and workloads, so many threads; all where there is nothing."""

    indexes: tuple[str, ...] = ()
    workloads: tuple[str, ...] = ()
    threads: int = 0

    def of(self, name: str, sweep: Sweep) -> Sweep:
        """The sweep without what is not asked for."""
        known = {"index": sweep.indexes, "workload": tuple(dict.fromkeys(one for one, _ in sweep.workloads))}
        for what, words in (("index", self.indexes), ("workload", self.workloads)):
            for word in words:
                if word not in known[what]:
                    hint = did_you_mean(word, known[what])
                    raise AssayError(f"the study {name} has no {what} `{word}`", hint=hint, code=BAD_JOB)
        return replace(
            sweep,
            indexes=[one for one in sweep.indexes if not self.indexes or one in self.indexes],
            workloads=[one for one in sweep.workloads if not self.workloads or one[0] in self.workloads],
        )


def run_study(name: str, base: Wish, where: Places, narrowed: Narrowed, out: Path, as_json: bool) -> int:
    """Runs a sweep and prints its table; what was played on twins is drawn too."""
    binary, sweep = Binary.find(), narrowed.of(name, STUDIES[name])
    has = there(binary)
    twins = [one for each in where.values() for one in each if one.startswith(names.PREFIX)]
    if twins:
        base = replace(base, twin=replace(base.twin, host=base.twin.host or sweep.host))
    else:
        base = replace(base, duration=base.duration or DURATION)
    most = narrowed.threads or (_threads(base, twins[0]) if twins else os.cpu_count() or 1)
    wanted = cells(sweep, base, where, has, most)
    if not wanted:
        hint = "`assay index list` shows what is there; indexes in memory go with modules, others with drives"
        raise AssayError("none of these indexes is in this program, or has a place", hint=hint, code=NOT_POSSIBLE)
    records = list(run(binary, wanted, out, output.tell))
    left_out = sorted(set(sweep.indexes) - has)
    runs = played(records) if twins else []
    drawn = picture.write(out / "figures", name, runs) if runs else []
    if as_json:
        rows = [asdict(one) | {"per_dollar": one.per_dollar} for one in runs]
        more = {"rows": rows, "answers": answers(runs), "figures": [str(path) for path in drawn]} if twins else {}
        output.emit({"study": name, "left_out": left_out, "records": records, **more})
        return exit_code(records)
    output.console().print(_played_table(runs) if twins else _table(records))
    output.say(f"{len(records)} records in {out}/work")
    if left_out:
        output.say(f"left out, as this program does not have them: {', '.join(left_out)}")
    for line in [*answers(runs), *(f"drawn: {path}" for path in drawn if path.suffix == ".svg")]:
        output.say(line)
    return exit_code(records)


def _threads(base: Wish, on: str) -> int:
    """Hardware threads of the host that is played."""
    host = HostWish(base.twin.host, base.twin.cores).document(names.target(on.removeprefix(names.PREFIX)))
    return int(host["cores"]["value"] * host["threads_per_core"]["value"])


def _played_table(runs: Sequence[PlayedIndex]) -> Table:
    table = Table(box=None, pad_edge=False)
    for title in (
        "index",
        "workload",
        "threads",
        "on",
        "M ops/s",
        "from",
        "to",
        "ops/s per USD",
        "bound by",
        "verdict",
    ):
        table.add_column(title, justify="left" if title in ("index", "workload", "on") else "right")
    for one in runs:
        rates = [f"{rate / 1e6:.3f}" for rate in (one.rate, one.low, one.high)]
        dollars = "" if one.per_dollar is None else f"{one.per_dollar:.0f}"
        place = one.on.removeprefix(names.PREFIX)
        table.add_row(one.index, one.workload, str(one.threads), place, *rates, dollars, one.bound_by, one.status)
    return table


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
