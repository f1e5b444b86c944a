"""What a passport says of machine, device, volume and limits, out of the environment of records; names stay out."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from assay.passport.document import Limit, PassportDevice, PassportMachine, Volume
from assay.record import BlockDevice, Environment, FileSystem, TargetFacts
from assay.results.row import Row

# How clouds name what they attach. The first that is in the device's model counts.
VOLUMES = {
    "Amazon Elastic Block Store": "AWS EBS; which type is not visible from inside",
    "Amazon EC2 NVMe Instance Storage": "AWS instance storage, local NVMe",
    "nvme_card-pd": "Google Persistent Disk or Hyperdisk",
    "PersistentDisk": "Google Persistent Disk",
    "nvme_card": "Google local SSD",
    "EphemeralDisk": "Google local SSD",
    "MSFT NVMe Accelerator": "Azure managed disk",
    "Microsoft NVMe Direct Disk": "Azure local NVMe",
    "Virtual Disk": "Azure or Hyper-V virtual disk",
    "QEMU": "virtual disk of QEMU",
    "VMware": "virtual disk of VMware",
}
# Of what is set, what names places and users of a machine.
_NAMES = {"host", "path", "mount_point", "group", "serial", "hostname"}


def machine(found: Environment) -> PassportMachine:
    """The machine."""
    cpu, memory = found.get("cpu") or {}, found.get("memory") or {}
    return PassportMachine(
        cpu=_text(cpu, "model"),
        cpus=int(cpu.get("usable") or 0),
        memory_bytes=int(memory.get("total_bytes") or 0),
        kernel=_text(found, "kernel"),
        architecture=_text(found, "architecture"),
        virtualisation=_text(found, "virtualisation"),
    )


def device(found: Environment) -> PassportDevice:
    """The device of the first target; several alike are its members."""
    target = _target(found)
    block: BlockDevice = target.get("device") or {}
    system: FileSystem = target.get("file_system") or {}
    digest = hashlib.sha256(serial.encode()).hexdigest()[:16] if (serial := _text(block, "serial")) else ""
    return PassportDevice(
        model=_text(block, "model") or _unnamed(_text(block, "name")),
        firmware=_text(block, "firmware"),
        serial_digest=digest,
        bytes=int(block.get("bytes") or system.get("total_bytes") or 0),
        members=max(1, len(found.get("targets") or ())),
        write_cache=_text(block, "write_cache"),
        scheduler=_text(block, "scheduler"),
        link=_text(block, "link"),
        file_system=_text(system, "kind"),
        layers=[f"{one.get('kind')} {one.get('detail') or ''}".strip()[:200] for one in target.get("layers") or ()],
    )


def _unnamed(name: str) -> str:
    """What a device is called that has no model; `vda` would be the name of thousands."""
    return "virtio disk" if name.startswith("vd") else name or "unknown"


def volume(found: Environment, said: str, twin: bool) -> Volume:
    """What kind of volume: what the owner said, otherwise what the name of the device tells."""
    if said:
        return Volume(type=said, origin="said")
    if twin:
        return Volume(type="twin: a model, no device", origin="seen")
    block: BlockDevice = _target(found).get("device") or {}
    model = _text(block, "model")
    known = next((kind for part, kind in VOLUMES.items() if part in model), "")
    if known:
        return Volume(type=known, origin="seen")
    if _text(block, "name").startswith("vd"):
        return Volume(type="virtio disk; what lies behind it is not visible from inside", origin="unknown")
    if _text(found, "virtualisation") not in ("", "none") or not model:
        return Volume(type="not visible from inside", origin="unknown")
    return Volume(type="a drive", origin="seen")


def limits(found: Environment, rows: Sequence[Row]) -> list[Limit]:
    """Limits that are set, and those that a run met."""
    met = list(dict.fromkeys(_met(rows)))
    listed = [
        Limit(what=f"{one.get('setting')} of {one.get('device') or 'the machine'}", value=one.get("value"), met=False)
        for one in found.get("limits") or ()
    ]
    return [*listed, *(Limit(what=evidence, met=True) for evidence in met)][:256]


def _met(rows: Iterable[Row]) -> Iterable[str]:
    for one in rows:
        for reason in one.record["verdict"].get("reasons") or ():
            if reason.get("code") == "limit-met":
                yield str(reason.get("evidence"))


def without_names(found: Any) -> Any:
    """The same without names of hosts, places, groups and serial numbers."""
    if isinstance(found, Mapping):
        return {key: without_names(value) for key, value in found.items() if key not in _NAMES}
    return [without_names(one) for one in found] if isinstance(found, list) else found


def _target(found: Environment) -> TargetFacts:
    targets: list[TargetFacts] = found.get("targets") or []
    return targets[0] if targets else {}


def _text(table: Mapping[str, Any], key: str) -> str:
    return str(table.get(key) or "").strip()[:200]
