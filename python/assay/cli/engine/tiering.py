"""`assay engine tiers`: policies for memory below the pool, beside each other, from a file of `studies/tiers`."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from rich.console import Console
from rich.table import Table

from assay import home
from assay.binary import Binary
from assay.cli import output
from assay.cli.engine.flags import Durability, Flags, Placement
from assay.cli.engine.job import job
from assay.document import limits
from assay.error import BAD_JOB, AssayError
from assay.study import work
from assay.study.work.run import exit_code
from assay.units.parse import parse_bytes

Json = dict[str, Any]


class TierRuns(BaseModel):
    """What is run: one workload, at each size of the pool, with each policy; `none` is the drive alone."""

    model_config = ConfigDict(extra="forbid")
    on: str
    host: str = ""
    tier: str
    rows: int = Field(gt=0)
    value: str
    reads: float = Field(ge=0, le=1)
    zipf: float = Field(ge=0)
    threads: int = Field(gt=0)
    tasks: int = Field(gt=0)
    warmup: str
    duration: str
    pools: list[str] = Field(min_length=1)
    placements: list[Literal["none", "copy", "in-place", "hot"]] = Field(min_length=1)


class TierStudy(BaseModel):
    """A file of `studies/tiers` about tiers."""

    model_config = ConfigDict(extra="forbid")
    version: Literal[1]
    name: str
    title: str
    question: str
    source: str
    notes: list[str] = []
    run: TierRuns


def read(name: str) -> TierStudy:
    """The study of a name, or of a file."""
    path = Path(name) if Path(name).suffix else home.studies() / "tiers" / f"{name}.toml"
    try:
        return TierStudy.model_validate(limits.toml(path.read_text(), str(path)))
    except (OSError, tomllib.TOMLDecodeError, ValidationError) as error:
        hint = "name lessons-tiers, or a file that is made like it"
        raise AssayError(f"{path} is no study of tiers: {error}", hint=hint, code=BAD_JOB) from error


def run_study(name: str, out: Path, seed: int, as_json: bool) -> int:
    """Runs all of it, saves each record, and prints them beside each other."""
    study = read(name)
    binary, records = Binary.find(), []
    for wanted in runs(study.run, seed):
        record = work.run_work(binary, ["engine"], job(_workload(study.run), wanted) | {"name": study.name})[0]
        work.save(out, record)
        records.append(record)
    if as_json:
        output.emit({"study": study.name, "records": records})
    else:
        with output.to_reader():
            Console(width=150).print(_table(study, records))
        output.say(f"{len(records)} records in {out}/work; assay report {out} shows them")
    return exit_code(records)


def _workload(study: TierRuns) -> Json:
    shape = {"rows": study.rows, "value_bytes": int(parse_bytes(study.value))}
    return {"kind": "ycsb", "read_share": study.reads, "zipf": study.zipf} | shape


def runs(study: TierRuns, seed: int) -> Iterator[Flags]:
    """One run for each pool and policy."""
    for pool in study.pools:
        for placement in study.placements:
            there = placement != "none"
            yield Flags(
                on=study.on,
                pool=pool,
                threads=study.threads,
                tasks=study.tasks,
                duration=study.duration,
                warmup=study.warmup,
                durability=Durability.NONE,
                seed=seed,
                host=study.host,
                tier=study.tier if there else "",
                placement=Placement(placement) if there else None,
            )


_SHARES = ("tier_dram_share", "tier_in_place_share", "tier_brought_up_share", "tier_drive_share")


def _table(study: TierStudy, records: list[Json]) -> Table:
    table = Table(box=None, pad_edge=False, title=study.title, title_justify="left")
    for title in (
        "pool",
        "policy",
        "transactions/s",
        "band",
        "in DRAM",
        "in place",
        "brought up",
        "drive",
        "MB up",
        "MB down",
    ):
        table.add_column(title, justify="left" if title in ("pool", "policy") else "right")
    for record in records:
        settings, figures = record["subject"]["settings"], record["figures"]
        rate = figures["transactions_per_s"]
        band = rate.get("band")
        between = f"{band['low']:,.0f} to {band['high']:,.0f}" if band else ""
        has = "placement" in settings
        shares = [f"{figures[name]['value'] * 100:.1f} %" if has else "" for name in _SHARES]
        moved = [f"{figures[name]['value'] / 1e6:,.0f}" if has else "" for name in ("tier_up_bytes", "tier_down_bytes")]
        pool = f"{settings['pool_bytes'] / 2**20:g} MiB"
        table.add_row(pool, settings.get("placement", "no tier"), f"{rate['value']:,.0f}", between, *shares, *moved)
    return table
