"""What `assay index study` does."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import cast

from rich.table import Table

from assay.binary import Binary
from assay.cli import output
from assay.cli.measure.order import show_plan
from assay.cli.short import records_of
from assay.error import BAD_JOB, DONE, AssayError, did_you_mean
from assay.index.played import PlayedIndex, answers, played
from assay.index.sweep import STUDIES, CommonParts, Places, Sweep, prepared, there
from assay.record import WorkRecord
from assay.results import way
from assay.study import plan, run
from assay.study.cell import Cell
from assay.study.consent import Consent
from assay.study.observer import watching
from assay.study.request import Prepared
from assay.study.run import Summary
from assay.target import names
from assay.target.host import HostWish
from assay.untyped import Json

# Of a window of a sweep that is measured.
DURATION = "2s"


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


@dataclass(frozen=True)
class SweepFlags:
    """What a sweep is asked for beside what its runs have in common."""

    name: str
    where: Places
    narrowed: Narrowed
    out: Path
    repeats: int = 1
    dry_run: bool = False
    json: bool = False


def run_study(common: CommonParts, asked: SweepFlags) -> int:
    """Runs a sweep, or what is left of it, and prints its table; what was played on twins is drawn too."""
    binary, sweep = Binary.find(), asked.narrowed.of(asked.name, STUDIES[asked.name])
    twins = [one for each in asked.where.values() for one in each if one.startswith(names.PREFIX)]
    if twins:
        common = replace(common, host=replace(common.host, name=common.host.name or sweep.host))
    else:
        if common.host != HostWish():
            hint = "leave them away, or name a twin: --on 'twin:pmem100-128g*4'"
            raise AssayError("--host, --cores and --clock are for twins", hint=hint, code=BAD_JOB)
        common = replace(common, words=common.words | {"duration": common.words["duration"] or DURATION})
    most = asked.narrowed.threads or (_threads(common.host, twins[0]) if twins else os.cpu_count() or 1)
    wanted = prepared(asked.name, sweep, common, asked.where, most, asked.repeats, binary)
    if asked.dry_run:
        show_plan(wanted, asked.json)
        return DONE
    summary = _carried_out(wanted, asked, binary)
    records = list(records_of(asked.out).values())
    _show(asked, records, sorted(set(sweep.indexes) - there(binary)), played(records) if twins else [])
    for one in summary.not_measured:
        output.tell(f"error: {output.sentences(one['reason'], one['fix'])}")
    return summary.exit_code


def _carried_out(wanted: Prepared, asked: SweepFlags, binary: Binary) -> Summary:
    """A new run, or the one that was begun in its folder."""
    observer = watching(asked.json)
    if not (asked.out / "plan.json").is_file():
        return run.start(wanted, asked.out, binary, observer, ["assay", *sys.argv[1:]])
    begun = plan.load(asked.out / "plan.json").cells
    if _told(begun) != _told(wanted.plan.cells):
        hint = "say what was said then, or choose another folder with --out"
        raise AssayError(f"{asked.out} holds a run of another sweep", hint=hint, code=BAD_JOB)
    return run.resume(asked.out, binary, observer, Consent(), f"assay index study {asked.name}")


def _told(cells: Sequence[Cell]) -> Json:
    """What cells do, by their ids; what a host of the catalog is may be told anew."""
    found = {cell.id: {key: cell.job[key] for key in cell.job if key != "twin"} for cell in cells}
    return cast("Json", json.loads(json.dumps(found)))


def _show(asked: SweepFlags, records: list[WorkRecord], left_out: Sequence[str], runs: Sequence[PlayedIndex]) -> None:
    from assay.index import picture

    drawn = picture.write(asked.out / "figures", asked.name, runs) if runs else []
    if asked.json:
        rows = [asdict(one) | {"per_dollar": one.per_dollar} for one in runs]
        more = {"rows": rows, "answers": answers(runs), "figures": [str(path) for path in drawn]} if runs else {}
        output.emit({"study": asked.name, "left_out": left_out, "records": records, **more})
        return
    output.console().print(_played_table(runs) if runs else _table(records))
    output.say(f"{len(records)} records in {asked.out}/work")
    if left_out:
        output.say(f"left out, as this program does not have them: {', '.join(left_out)}")
    for line in [*answers(runs), *(f"drawn: {path}" for path in drawn if path.suffix == ".svg")]:
        output.say(line)


def _threads(driver: HostWish, on: str) -> int:
    """Hardware threads of the host that is played."""
    host = driver.document(names.target(on.removeprefix(names.PREFIX)))
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
            f"{figures['ops_per_s']['value'] / 1e6:.3f}",
            f"{figures['cpu_ns_per_op']['value']:.0f}",
            f"{figures['cycles_per_op']['value']:.0f}",
            f"{figures['cpu_utilisation']['value']:.2f}",
            record["verdict"]["status"],
        )
    return table
