"""Two runs of a fleet as sides of a comparison: host by host, paired by cell, and what all did together.

A host takes part with the cells in whose total it is, in both runs. The sum of a cell is over the hosts that both runs
have in it: a sum of other hosts would be another question.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

from assay.compare import side
from assay.compare.error import CompareError
from assay.compare.side import Side
from assay.fleet.folder import FILE
from assay.results import histogram, row
from assay.results.files import read_json
from assay.results.folder import Cell
from assay.results.row import rows
from assay.untyped import Json

Key = tuple[Hashable, ...]

HOST, TOGETHER = "host", "all together"
"""The factor that says whose a cell is, and its value where it is everybody's."""
_PERCENTILES = {"p50_ns": 50.0, "p90_ns": 90.0, "p99_ns": 99.0, "p999_ns": 99.9, "p9999_ns": 99.99}
_ENOUGH = 100
"""Values beyond a percentile, with which it is one."""
_GRAVITY = ("valid", "suspect", "invalid")


@dataclass(frozen=True)
class _Run:
    """A run of a fleet: cells by host and by what they are, those of its totals alone; and who was in none."""

    directory: Path
    run: str
    cells: dict[str, dict[Key, Cell]]
    absent: tuple[str, ...]


def both(a: Path, b: Path) -> tuple[Side, Side]:
    """Both runs.

    Raises:
        CompareError: where no host is in both.
    """
    left, right = _read(a), _read(b)
    shared = [host for host in left.cells if host in right.cells]
    if not shared:
        seen = f"A has {', '.join(left.cells)}; B has {', '.join(right.cells)}"
        raise CompareError(f"no host is in both runs ({seen})", "compare runs of the same fleet, or two hosts' folders")
    return _side("A", left, right, shared), _side("B", right, left, shared)


def _read(directory: Path) -> _Run:
    document = read_json(directory / FILE)
    there = {str(one["cell"]): set(map(str, one["in_total"])) for one in document["totals"]}
    cells, absent = {}, []
    for host in (str(one["name"]) for one in document["hosts"]):
        found = [one for one in side.opened(directory / "hosts" / host).cells if one.record is not None]
        whole = [one for one in found if host in there.get(one.id, ())]
        cells[host] = {_key(one): _of(host, one) for one in whole}
        if out := len(found) - len(whole):
            absent.append(f"{directory}: {host} is in no total of {out} cell{'s' * (out > 1)}, and left out there")
    return _Run(directory, str(document["run"]), cells, tuple(absent))


def _key(cell: Cell) -> Key:
    """What it is, wherever it ran: where a host's data lies is its own matter."""
    factors = {name: value for name, value in cell.factors.items() if name != "on"}
    return cell.study, cell.scenario, cell.repeat, row.hashable(factors)


def _of(host: str, cell: Cell) -> Cell:
    factors = {name: value for name, value in cell.factors.items() if name != "on"}
    return replace(cell, id=f"{host}.{cell.id}", factors={HOST: host, **factors})


def _side(name: str, mine: _Run, other: _Run, shared: Sequence[str]) -> Side:
    alone = {host: found for host, found in mine.cells.items() if host in shared}
    together = []
    for key in dict.fromkeys(key for found in alone.values() for key in found):
        hosts = [host for host in shared if key in mine.cells[host] and key in other.cells[host]]
        if hosts:
            together.append(_together(mine, key, hosts))
    cells = (*together, *(cell for found in alone.values() for cell in found.values()))
    missing = [f"{mine.directory}: only this run has {host}" for host in mine.cells if host not in shared]
    problems = (*mine.absent, *missing)
    return Side(name, str(mine.directory), mine.directory, tuple(rows(cells)), cells, problems)


def _together(run: _Run, key: Key, hosts: Sequence[str]) -> Cell:
    """A cell of all hosts as one record: sums of rates, merged histograms, the gravest verdict."""
    cells = [run.cells[host][key] for host in hosts]
    records = [cast("Json", cell.record) for cell in cells]
    first = records[0]
    reasons = [one for record in records for one in record["verdict"].get("reasons") or ()]
    status = max((str(record["verdict"]["status"]) for record in records), key=_GRAVITY.index)
    names = [str(one["name"]) for one in first["classes"]]
    record = first | {
        "run": first["run"] | {"id": f"{run.run}.{cells[0].id.partition('.')[2]}"},
        "classes": [_sum([one for record in records for one in record["classes"] if one["name"] == n]) for n in names],
        "verdict": {"status": status, "reasons": reasons},
    }
    factors = {**cells[0].factors, HOST: TOGETHER}
    return replace(cells[0], id=cells[0].id.partition(".")[2], factors=factors, record=cast("Any", record))


def _sum(results: Sequence[Json]) -> Json:
    first = results[0]
    found: Json = {"name": first["name"], "provenance": first.get("provenance")}
    for name in ("ops_rate", "bandwidth"):
        found[name] = first[name] | {"value": sum(float(one[name]["value"]) for one in results)}
    for name in ("service", "response"):
        found[name] = _merged([one.get(name) for one in results])
    return found


def _merged(distributions: Sequence[Any]) -> Json | None:
    """Percentiles of the merged histogram; none where a host has none."""
    merged = None if any(one is None for one in distributions) else histogram.merge(distributions)
    if merged is None:
        return None
    count = int(merged.get_total_count())
    bounds = [float(bound["from_ns"]) for one in distributions if (bound := one.get("at_least"))]
    found: Json = {name: int(merged.get_value_at_percentile(share)) for name, share in _PERCENTILES.items()}
    found |= {"count": count, "mean_ns": float(merged.get_mean_value()), "max_ns": int(merged.get_max_value())}
    found["supported_percentile"] = max(0.0, 100 * (1 - _ENOUGH / count))
    return found | ({"at_least": {"from_ns": min(bounds)}} if bounds else {})
