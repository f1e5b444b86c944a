"""What `--on` names: a folder, a file, a device, several as members, memory, nothing, or a twin."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from assay.error import BAD_JOB, AssayError
from assay.target import catalog, names
from assay.target.host import HostWish

_ROLE = re.compile(r"([A-Za-z][A-Za-z0-9_-]*)=(.+)", re.DOTALL)
DEVICES = ("block-device", "device-dax")
TWIN = "twin"
# What a twin can stand for: the files on it, or the device itself.
_DRIVE, _MODULES = ("folder", "block-device"), ("folder", "device-dax", "memory")
_FILE_SYSTEM = re.compile(r"fs=([A-Za-z0-9_-]+):(.+)", re.DOTALL)


class TargetError(AssayError):
    """A target that is not there, or not fit."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message, hint=hint, code=BAD_JOB)


@dataclass(frozen=True)
class Target:
    """A target as the user named it: kind of every member, absolute paths, and the role it was given, if any."""

    label: str
    kind: str
    members: tuple[str, ...] = ()
    serials: tuple[str, ...] = ()
    yes_destroy: bool = False
    role: str = ""
    twin: Mapping[str, Any] | None = field(default=None, compare=False, repr=False)

    @property
    def stands_for(self) -> tuple[str, ...]:
        """Kinds of target that it is, or plays."""
        if self.twin is None:
            return (self.kind,)
        return _MODULES if names.is_memory(self.twin["target"]) else _DRIVE

    def job(self, name: str) -> dict[str, object]:
        """As it stands in a job."""
        document: dict[str, object] = {"id": name, "kind": self.kind, "members": list(self.members)}
        if self.twin is not None:
            document["twin"] = dict(self.twin)
        if self.serials:
            document["serials"] = list(self.serials)
        if self.yes_destroy:
            document["yes_destroy"] = True
        return document

    def free_bytes(self) -> int:
        """Bytes that this user may still fill: of folders what is free, of devices their size; members are added up."""
        if self.twin is not None:
            return int(names.capacity_bytes(self.twin["target"]))
        found = [_free(Path(member), self.kind) for member in self.members]
        return min(found) * len(found) if found else available_memory()

    def total_bytes(self) -> int:
        """Bytes of the file systems or devices; members are added up."""
        if self.twin is not None:
            return int(names.capacity_bytes(self.twin["target"]))
        found = [_total(Path(member), self.kind) for member in self.members]
        return min(found) * len(found) if found else available_memory()

    def facts(self) -> dict[str, Any]:
        """What studies may ask of the target and of the machine that drives it."""
        found = {
            "free_bytes": self.free_bytes(),
            "total_bytes": self.total_bytes(),
            "memory_bytes": available_memory(),
            "cpus": len(os.sched_getaffinity(0)),
            "members": max(1, len(self.members)),
        }
        return found if self.twin is None else found | _facts_of_twin(self.twin)


def _facts_of_twin(twin: Mapping[str, Any]) -> dict[str, Any]:
    host = twin["host"]
    found: dict[str, Any] = {
        "cpus": int(host["cores"]["value"] * host["threads_per_core"]["value"]),
        "members": names.devices(twin["target"]),
    }
    cache = host.get("page_cache_bytes")
    return found | ({"memory_bytes": int(cache["value"])} if cache else {})


def parse(text: str, host: HostWish | None = None) -> Target:
    """A target from `--on`: `FOLDER`, `FILE`, `/dev/...`, `A+B`, `memory`, `null` or `twin:NAME`.

    `ROLE=` may stand before it. `host` drives twins.
    """
    role = ""
    if (match := _ROLE.fullmatch(text)) and not Path(text).exists():
        role, text = match[1], match[2]
    if text in ("memory", "null"):
        return Target(text, text, role=role)
    if text.startswith(names.PREFIX):
        return Target(text, TWIN, role=role, twin=_driven(text, host or HostWish()))
    paths = [text] if Path(text).exists() or "+" not in text else text.split("+")
    kinds = [_kind(path) for path in paths]
    if len(set(kinds)) > 1:
        seen = ", ".join(f"{path} is a {kind}" for path, kind in zip(paths, kinds, strict=True))
        raise TargetError(f"the members of `{text}` are not alike: {seen}", "join only folders, or only devices")
    members = tuple(str(Path(path).absolute()) for path in paths)
    if len(set(members)) < len(members):
        raise TargetError(f"`{text}` names one member twice", "a pseudo-RAID needs members that differ")
    return Target(text, kinds[0], members, role=role)


def _driven(text: str, host: HostWish) -> dict[str, Any]:
    """A twin with its host and, after `twin:fs=NAME:`, the file system on it."""
    name = text.removeprefix(names.PREFIX)
    system = _FILE_SYSTEM.fullmatch(name)
    target = names.target(system[2] if system else name)
    found: dict[str, Any] = {
        "version": catalog.VERSION,
        "label": text,
        "target": target,
        "host": host.document(target),
    }
    return found | ({"file_system": system[1]} if system else {})


def _kind(path: str) -> str:
    try:
        mode = Path(path).stat().st_mode
    except FileNotFoundError as error:
        if Path(path).parent == Path("/dev"):
            hint = "look at `lsblk -o NAME,SERIAL`, and name a device that is there"
            raise TargetError(f"`{path}` does not exist: it is no device", hint) from error
        raise TargetError(f"`{path}` does not exist", f"make it first (mkdir -p {path}) or name another") from error
    except OSError as error:
        raise TargetError(f"`{path}` cannot be looked at: {error.strerror}", "check its permissions") from error
    if stat.S_ISDIR(mode):
        return "folder"
    if stat.S_ISREG(mode):
        return "file"
    if stat.S_ISBLK(mode):
        return "block-device"
    if stat.S_ISCHR(mode) and Path(path).name.startswith("dax"):
        return "device-dax"
    raise TargetError(
        f"`{path}` is neither a folder, a file, a block device nor a device-DAX node", "name one of these"
    )


def parse_all(
    texts: Sequence[str], serials: Sequence[str], yes_destroy: bool, host: HostWish | None = None
) -> list[Target]:
    """All targets, with serial numbers given to device members in order."""
    targets, left = [parse(text, host) for text in texts], list(serials)
    found = []
    for target in targets:
        if target.kind not in DEVICES:
            found.append(target)
            continue
        taken, left = tuple(left[: len(target.members)]), left[len(target.members) :]
        found.append(replace(target, serials=taken, yes_destroy=yes_destroy))
    if left:
        raise TargetError(f"--serial {left[0]} belongs to no device", "give one --serial for each device, in order")
    _distinct([target for target in found if not target.role])
    return found


def _distinct(targets: Sequence[Target]) -> None:
    labels = [target.label for target in targets]
    repeated = next((label for index, label in enumerate(labels) if label in labels[:index]), None)
    if repeated is not None:
        raise TargetError(f"--on {repeated} stands there twice", "name each target once")


def _free(path: Path, kind: str) -> int:
    if kind in DEVICES:
        return _total(path, kind)
    facts = os.statvfs(path)
    return facts.f_bavail * facts.f_frsize


def _total(path: Path, kind: str) -> int:
    if kind in DEVICES:
        return _device_bytes(path, kind)
    if kind == "file":
        return path.stat().st_size
    facts = os.statvfs(path)
    return facts.f_blocks * facts.f_frsize


def _device_bytes(path: Path, kind: str) -> int:
    """Size of a device as the kernel says it; the device itself is not opened."""
    number = path.stat().st_rdev
    block = Path(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}/size")
    size, unit = (block, 512) if kind == "block-device" else (Path("/sys/bus/dax/devices") / path.name / "size", 1)
    try:
        return int(size.read_text()) * unit
    except (OSError, ValueError):
        return 0


def available_memory() -> int:
    """Bytes of memory that can be had without swapping."""
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return 0
