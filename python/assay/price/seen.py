"""What a record says that a system does: rates, bytes that its drives took, and how busy its processor was.

A record is of a cell (`records/`) or of an index, an engine or a database (`work/`). Bytes are those that the block
devices under the targets counted: what the file system and the log add is in them, what the drive writes inside of
itself is not, so write amplification of the drive stays to be given.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from assay.price.error import PriceError
from assay.price.ledger import Ledger
from assay.price.ratio import Load, missing_utilisation
from assay.record import DeviceCounters, Record
from assay.results.files import read_json
from assay.results.work import Work
from assay.results.work import read as read_works
from assay.untyped import Json

FORMAT_VERSION = 1
SECONDS_PER_DAY = 86_400.0


@dataclass(frozen=True)
class Seen:
    """The figures of a record, with what it is."""

    id: str
    what: str
    status: str
    provenance: str
    rates: dict[str, float]
    written_bytes_per_s: float | None
    cpu_utilisation: float | None

    def order(self) -> Json:
        """As the tables of an order; what the user gives wins over it."""
        found: Json = {"work": dict(self.rates)}
        if self.written_bytes_per_s:
            found["endurance"] = {
                "written_per_day": self.written_bytes_per_s * SECONDS_PER_DAY, "write_amplification": 1.0
            }  # fmt: skip
        return found

    def document(self) -> Json:
        """As results print it."""
        return {
            "id": self.id,
            "what": self.what,
            "status": self.status,
            "provenance": self.provenance,
            **self.rates,
            "device_written_bytes_per_s": self.written_bytes_per_s,
            "cpu_utilisation": self.cpu_utilisation,
        }

    def note(self, ledger: Ledger) -> None:
        """Tells the reader where the figures come from, and what they do not say."""
        figures = dict(self.rates)
        if self.written_bytes_per_s is not None:
            figures["bytes written to devices a second"] = self.written_bytes_per_s
        for name, value in figures.items():
            where = {"provenance": self.provenance, "source": f"record {self.id}: {self.what}", "date": None}
            ledger.inputs.append({"name": name, "value": value, **where})
        if self.status == "suspect":
            ledger.warn(f"the record {self.id} is suspect; see its verdict before buying by it")
        if self.provenance == "emulated":
            ledger.warn(f"the record {self.id} was not taken on a drive: its rates are those of memory")


def seen(directory: Path, ident: str) -> Seen:
    """The record of a cell or of work, by its id."""
    work = find_work(directory, ident)
    if work is not None:
        return of_work(work)
    return of_cell(ident, read_record(directory, ident))


def read_record(directory: Path, cell: str) -> Record:
    """The record of a cell; a folder that was cut short, and records of another version, are refused in a sentence."""
    folder = directory / "records"
    if not known(directory):
        raise PriceError(
            f"{directory} holds no records", "name the folder that `assay run` wrote, and finish it: --resume"
        )
    if not (folder / f"{cell}.json").is_file():
        raise unknown(directory, cell)
    record = read_json(folder / f"{cell}.json")
    if not isinstance(record, dict) or not {"version", "classes", "verdict", "window"} <= set(record):
        raise PriceError(f"{folder / cell}.json is no whole record", "run its cell again: assay run --resume DIR")
    if record["version"] != FORMAT_VERSION:
        hint = "read it with the release of Assay that wrote it, or measure again"
        raise PriceError(f"the record of `{cell}` has version {record['version']}, this is {FORMAT_VERSION}", hint)
    return cast("Record", record)


def find_work(directory: Path, ident: str) -> Work | None:
    """The work record of that name; none where it is the name of a cell."""
    if not (directory / "work" / f"{ident}.json").is_file():
        return None
    problems: list[str] = []

    def parsed(path: Path, _: str) -> Json | None:
        found = read_json(path) if path.stem == ident else None
        if path.stem == ident and not isinstance(found, dict):
            raise PriceError(f"{path} is no whole record", "run it again with --out, and name the new record")
        return found if isinstance(found, dict) else None

    works = read_works(directory, parsed, problems)
    if not works:
        raise PriceError("; ".join(problems) or f"{ident} cannot be read", "run it again with this release of Assay")
    if works[0].status == "invalid":
        codes = ", ".join(str(reason["code"]) for reason in works[0].record["verdict"]["reasons"])
        raise PriceError(f"the record of `{ident}` is invalid ({codes})", "mend that and measure again; no price on it")
    return works[0]


def known(directory: Path) -> list[str]:
    """Ids of all records of a folder."""
    return sorted(path.stem for name in ("records", "work") for path in (directory / name).glob("*.json"))


def unknown(directory: Path, ident: str) -> PriceError:
    """That there is no such record, with the nearest names."""
    there = known(directory)
    near = difflib.get_close_matches(ident, there, n=3, cutoff=0.5)
    begins = [name for name in there if name.startswith(ident)][:3]
    named = ", ".join(f"`{name}`" for name in dict.fromkeys([*begins, *near, *there[:2]]))
    hint = f"there are {len(there)}, such as {named}; their names are those of the files"
    return PriceError(f"there is no record of `{ident}` in {directory}", hint)


def of_work(work: Work) -> Seen:
    """Of an index, an engine or a database: operations or transactions a second."""
    rate = work.rate
    if rate is None:
        raise PriceError(f"the record of `{work.id}` has no rate", "name a record with operations or transactions")
    kind = "transactions_per_s" if rate[0] in ("transactions_per_s", "new_orders_per_s") else "ops_per_s"
    seconds = float(work.record.get("measured_s") or 0.0)
    written = _written(work.record.get("devices") or (), seconds)
    provenance = "emulated" if work.medium == "memory" and work.provenance == "measured" else work.provenance
    what = f"{work.subject} {work.workload} on {work.on}, {work.durability or 'no'} durability"
    return Seen(work.id, what, work.status, provenance, {kind: rate[1]}, written, _busy(work, seconds))


def of_cell(ident: str, record: Record) -> Seen:
    """Of a cell: all classes together."""
    status = str(record["verdict"]["status"])
    if status == "invalid":
        raise PriceError(f"the record of `{ident}` is invalid", "mend what its verdict names and measure again")
    classes = record["classes"]
    rates = {
        "iops": sum(float(one["ops_rate"]["value"]) for one in classes),
        "ops_per_s": sum(float(one["ops_rate"]["value"]) for one in classes),
        "bandwidth": sum(float(one["bandwidth"]["value"]) for one in classes),
    }
    written = _written(record.get("devices") or (), float(record["window"]["measured_s"]))
    names = ", ".join(str(one["name"]) for one in classes)
    return Seen(ident, f"classes {names}", status, str(classes[0]["ops_rate"]["provenance"]), rates, written, None)


def load_of_work(work: Work) -> Load:
    """P, W and U of a work record: its rate, the processors that it could use, and how busy they were."""
    found = of_work(work)
    if found.cpu_utilisation is None:
        raise missing_utilisation()
    name, value = next(iter(found.rates.items()))
    threads = _cpus(work)
    warnings = [f"the record of `{work.id}` is suspect; see its verdict before buying by it"]
    return Load(
        throughput=value,
        unit="transactions/s" if name == "transactions_per_s" else "operations/s",
        threads=threads,
        utilisation=min(1.0, found.cpu_utilisation),
        provenance=found.provenance,
        source=f"record {work.id}: {found.what}",
        warnings=warnings if work.status == "suspect" else [],
    )


def _cpus(work: Work) -> int:
    return int((work.record["environment"].get("cpu") or {}).get("usable") or 1)


def _busy(work: Work, seconds: float) -> float | None:
    """CPU seconds of the program and of kernel helpers, by seconds and processors."""
    cpu = work.record.get("cpu")
    if not isinstance(cpu, dict) or seconds <= 0:
        return None
    used = sum(_value(cpu.get(name)) for name in ("user_s", "kernel_s", "helper_s"))
    return max(0.0, used - _value(cpu.get("wait_s"))) / (seconds * _cpus(work))


def _written(devices: Sequence[DeviceCounters], seconds: float) -> float | None:
    """Bytes a second that the devices took; none where no device was counted."""
    if not devices or seconds <= 0:
        return None
    return sum(_value(one.get("written_bytes")) for one in devices) / seconds


def _value(found: object) -> float:
    value = found.get("value") if isinstance(found, dict) else None
    return float(value) if isinstance(value, (int, float)) else 0.0
