"""The fleet before it measures: who is there, the same program everywhere, clocks, and what each host's doctor says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from assay.error import DONE, NOT_POSSIBLE
from assay.fleet import clock
from assay.fleet.call import Fleet
from assay.untyped import Json

_SAME = (
    ("assay", "versions of Assay"),
    ("dask", "versions of Dask"),
    ("assayer_sha256", "measuring programs"),
    ("kernel", "kernels"),
)
_BLOCKS = ("assayer_sha256",)


def examine(fleet: Fleet, on: Mapping[str, Sequence[str]]) -> Json:
    """Everything that is asked; nothing is touched."""
    looks = fleet.ask("look", {host: {} for host in fleet.there})
    offsets = fleet.offsets()
    findings = fleet.ask("examine", {host: {"on": list(on.get(host, ()))} for host in fleet.there})
    return {
        "version": 1,
        "hosts": {host: looks[host] | {"doctor": findings.get(host)} for host in looks},
        "clocks": {host: offset.document() for host, offset in offsets.items()},
        "differences": differences(looks),
        "clocks_apart": [told for host, offset in offsets.items() if (told := clock.told(host, offset))],
        "lost": [{"host": one.host, "during": one.during, "seen": one.seen} for one in fleet.lost.values()],
    }


def differences(looks: Mapping[str, Json]) -> list[Json]:
    """What is not alike on all hosts, and whether a run is refused for it."""
    found = []
    for key, what in _SAME:
        seen = {host: str(look.get(key, ""))[:12] for host, look in looks.items()}
        if len(set(seen.values())) > 1:
            found.append({"what": what, "seen": seen, "blocks": key in _BLOCKS})
    return found


def exit_code(found: Json) -> int:
    """4 where a run would be refused, or a host's own doctor sees what blocks."""
    blocked = any(one["blocks"] for one in found["differences"]) or found["lost"]
    grave = any((one["doctor"] or {}).get("level") == "blocker" for one in found["hosts"].values())
    return NOT_POSSIBLE if blocked or grave else DONE


def lines(found: Json) -> list[str]:
    """For people: the fleet first, then what each host's doctor warns of."""
    said = [f"lost: {one['host']} ({one['during']}: {one['seen']})" for one in found["lost"]]
    for one in found["differences"]:
        seen = ", ".join(f"{host} {value}" for host, value in one["seen"].items())
        said.append(f"{'blocker' if one['blocks'] else 'note'}: {one['what']} differ: {seen}")
    said += [f"warn: {told}" for told in found["clocks_apart"]]
    for host, look in found["hosts"].items():
        said.append(_host(host, look, found["clocks"].get(host)))
        grave = [one for one in (look["doctor"] or {}).get("findings", ()) if one["level"] in ("warn", "blocker")]
        said += [f"    {one['level']}: {one['topic']}: {one['seen']}" for one in grave]
    return said


def _host(host: str, look: Json, offset: Json | None) -> str:
    known = f"{host}: {look['node']}, assay {look['assay']}, Linux {look['kernel']}, {look['cpus']} CPUs"
    if offset is None:
        return f"{known}; its clock was not compared"
    error_us, wall_ms = offset["error_ns"] / 1e3, offset["wall_ahead_ns"] / 1e6
    kernel = "" if offset["synchronised"] else ", which its kernel does not call synchronised"
    return f"{known}; starts within {error_us:.0f} us, its clock of the day {wall_ms:+.1f} ms{kernel}"
