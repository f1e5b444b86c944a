"""`assay predict` and `assay reproduce`, and what `assay list` shows of twins."""

from __future__ import annotations

from pathlib import Path

from assay.claim.here import MeasuredWhere
from assay.claim.reproduce import document, reproduce
from assay.cli import output
from assay.error import DONE
from assay.executor.work import WorkExecutor
from assay.twin import listing
from assay.twin.point_table import answered
from assay.twin.predict import Point, predict
from assay.units.show import rate, size, time
from assay.untyped import Json


def show_point(point: Point, as_json: bool) -> int:
    """Prints one point of a twin."""
    found = predict(point)
    if as_json:
        output.emit(found)
        return DONE
    low, high = found["band"]["bandwidth_bytes_per_s"]
    latency = found["latency_ns"]
    output.say(f"{found['on']} on {found['host']}, modelled:")
    output.say(f"  bandwidth  {rate(found['bandwidth_bytes_per_s'])}, between {rate(low)} and {rate(high)}")
    output.say(f"  operations {found['iops']:,.0f}/s")
    output.say("  latency    " + ", ".join(f"{name} {time(value)}" for name, value in latency.items()))
    output.say(f"  CPU        {found['cycles_per_byte']:.3g} cycles/byte, {found['cycles_per_op']:,.0f} cycles/op")
    output.say(f"  bound by   {found['bound_by'].replace('-', ' ')}")
    if "drive" in found:
        output.say(f"  drive      {found['drive']}")
    if "depth" in found:
        output.say(f"  depth      {found['depth']}")
    for sentence in found["extrapolated"]:
        output.say(f"  extrapolated: {sentence}")
    return DONE


def show_points(point: Point, path: Path) -> int:
    """Prints a table of points with their answers as CSV."""
    import csv
    import sys

    rows = answered(path, point)
    writer = csv.DictWriter(sys.stdout, list(rows[0]) if rows else [])
    writer.writeheader()
    writer.writerows(rows)
    return DONE


def show_twins(as_json: bool) -> int:
    """Lists the catalog's devices."""
    rows = listing.rows()
    if as_json:
        output.emit(rows)
        return DONE
    width = max((len(row["name"]) for row in rows), default=0)
    for row in rows:
        kinds = ", ".join(f"{count} {kind}" for kind, count in row["parameters"].items())
        room = size(row["capacity_bytes"])
        output.say(f"{row['name']:{width}}  {row['family']:14}  {room:>9}  {row['title']}; parameters: {kinds}")
    return DONE


def show_hosts(as_json: bool) -> int:
    """Lists the catalog's hosts."""
    rows = listing.host_rows()
    if as_json:
        output.emit(rows)
        return DONE
    width = max((len(row["name"]) for row in rows), default=0)
    for row in rows:
        cpu = f"{row['cores']:.0f} cores at {row['clock_hz'] / 1e9:.2f} GHz"
        output.say(f"{row['name']:{width}}  {cpu}  {row['title']}")
    return DONE


def show_reproduction(
    study: str, folder: str, seconds: float, as_json: bool, executor: WorkExecutor | None = None
) -> int:
    """Prints the claims of a study beside what twins give, and what this machine gives where a folder is named."""
    from assay.report.view.claims import summary_said

    place = MeasuredWhere(folder, seconds) if folder else None
    found = document(reproduce(study, place, executor=executor))
    if as_json:
        output.emit(found)
        return DONE
    output.say(f"{found['title']} ({found['source']})")
    for row in found["claims"]:
        output.say(_claim(row))
    for row in found["statements"]:
        output.say(_statement(row))
    output.say(summary_said(found["summary"]))
    return DONE


def _claim(row: Json) -> str:
    head = f"{row['verdict']:15} {row['claim']:16} {row['setup']}, {row['metric']}: "
    published = _published(row)
    if row["modelled"] is None:
        return head + output.sentences(f"published {published}" if published else "", row.get("reason", ""))
    modelled, unit = row["modelled"], _unit(row)
    told = f"published {published}, modelled {modelled['value']:.4g}{unit}"
    told += f" ({modelled['low']:.3g} to {modelled['high']:.3g}), {row['error']:+.0%}"
    if row["extrapolated"]:
        told += ", extrapolated"
    here = row.get("here")
    if here is not None:
        told += f"; here {here['value']:.4g}{unit}{_origin(here)}" if here["value"] is not None else _why_not(here)
    return head + told


def _origin(here: Json) -> str:
    words = [here["provenance"], here["verdict"]]
    return f" ({', '.join(word for word in words if word not in ('measured', 'valid', ''))})".replace(" ()", "")


def _why_not(here: Json) -> str:
    return f"; here: {here['reason']}"


def _unit(row: Json) -> str:
    return "" if row["unit"] in ("", "-") else f" {row['unit']}"


def _published(row: Json) -> str:
    published = row["published"]
    if published is None:
        return ""
    words = " to ".join(f"{value:g}" for value in published) if isinstance(published, list) else f"{published:g}"
    return words + _unit(row)


def _statement(row: Json) -> str:
    words = {True: "holds", False: "does not hold", None: "not tried"}
    told = f"{words[row['on_twins']['holds']]} on twins" + _because(row["on_twins"])
    if "here" in row:
        told += f"; {words[row['here']['holds']]} here" + _because(row["here"])
    return f"{row['says']} {told[0].upper()}{told[1:]}."


def _because(found: Json) -> str:
    return f" ({found['why']})" if found["why"] else ""
