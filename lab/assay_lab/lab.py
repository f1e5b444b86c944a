"""What a check works with: the guest with its drives, jobs of the measuring program in it, and a place for records."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from assay_lab.check import Broken
from assay_lab.error import GuestGoneError
from assay_lab.guest import Completed, Guest
from assay_lab.machine import Parts
from assay_lab.qemu import GIB, MIB, Drive, MachineSpec, Nvdimm, Share
from assay_lab.workspace import Workspace, require_memory, sparse

Json = dict[str, Any]

_LABEL = 2 * MIB
DRIVES = 4
DRIVE_BYTES = GIB
NVDIMM_BYTES = (384 * MIB + _LABEL,) * 4
"""What each module of persistent memory has: XFS wants 300 MiB."""
_HOST_RESERVE = 256 * MIB


@dataclass(frozen=True)
class Outcome:
    """How a job of the measuring program ended in the guest."""

    code: int
    events: list[Json]
    stderr: str

    @property
    def record(self) -> Json:
        """Its record; a job without one breaks the check with what it said."""
        last = self.events[-1] if self.events else {}
        if last.get("event") != "finished":
            raise Broken(f"expected a record / the job ended with exit code {self.code}: {self.said}")
        record: Json = last["record"]
        return record

    @property
    def refusal(self) -> str:
        """Reason and fix of a refusal; a job that ran breaks the check."""
        last = self.events[-1] if self.events else {}
        if last.get("event") != "refused":
            raise Broken(f"expected a refusal / the job ended with exit code {self.code}: {self.said}")
        return f"{last['reason']} | {last['fix']}"

    @property
    def said(self) -> str:
        """Its last words, for sentences."""
        last = self.events[-1] if self.events else {}
        if last.get("event") == "refused":
            return f"{last['reason']}; {last['fix']}"
        lines = [line for line in self.stderr.splitlines() if line.strip()]
        return lines[-1] if lines else str(last.get("event", "it said nothing"))


class Lab:
    """A context: the guest is booted when it is first used, and all of it is gone at the end."""

    def __init__(
        self, parts: Parts, out: Path | None = None, seed: int = 0, tell: Callable[[str], None] = lambda _: None
    ) -> None:
        self.parts = parts
        self.out = out
        self.booted = False
        """Whether a guest ever came up."""
        self.seed = seed
        """Of all that checks draw at random."""
        self.tell = tell
        """Hears what a long check is at."""
        self._title = ""
        self._count = 0
        self._guest: Guest | None = None
        self._to_release = False
        drives = DRIVES * DRIVE_BYTES + sum(NVDIMM_BYTES)
        require_memory(parts.memory_bytes + sum(NVDIMM_BYTES) // 4 + _HOST_RESERVE)
        # Files of drives are sparse; a run of all suites fills a quarter of them at most.
        self._workspace = Workspace(drives // 4)
        self.folder = self._workspace.folder
        try:
            self.spec = self._standard()
        except BaseException:
            self._workspace.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.cut()
        finally:
            self._workspace.close()

    @property
    def share(self) -> Path:
        """The host's folder that the guest has as /share."""
        return self.folder / "share"

    @property
    def guest(self) -> Guest:
        """The guest; booted where it is not on."""
        if self._guest is None or not self._guest.alive:
            self.cut()
            self._guest = self._boot(self.spec)
            self.booted = True
            if self._to_release:
                self.release()
        return self._guest

    def renew(self, **changes: Any) -> Guest:
        """A guest that booted just now, of the same drives; `changes` are fields of the machine that differ."""
        self.power_off()
        self._guest = self._boot(replace(self.spec, **changes))
        return self._guest

    def _boot(self, spec: MachineSpec) -> Guest:
        """Boots; once more where the machine went away before its agent answered: nothing of ours ran by then."""
        try:
            return Guest.boot(spec, self.share)
        except GuestGoneError as error:
            self.tell(f"{error.message} before its agent answered ({error.hint}); it boots again")
            return Guest.boot(spec, self.share)

    def power_off(self) -> None:
        """Ends the guest in order."""
        if self._guest is not None:
            self._guest.close()
            self._guest = None

    def cut(self) -> None:
        """Ends the guest by a power cut. Drives keep what reached them."""
        if self._guest is not None:
            self._guest.cut()
            self._guest = None

    def release(self) -> None:
        """Unmounts, stops and wipes what checks left on the drives; where no guest is on, once the next one is.

        A dead guest holds nothing any more, and its drives keep their file systems all the same.
        """
        self._to_release = self._guest is None or not self._guest.alive
        if self._guest is not None and self._guest.alive:
            self._guest.run(_RELEASE, timeout_s=120, check=False)

    def begin(self, title: str) -> None:
        """From here on records belong to this check."""
        self._title, self._count = title.replace("/", "-").replace(" ", "-"), 0

    def measure(self, job: Json, timeout_s: float = 90.0) -> Outcome:
        """Runs a job in the guest. Its record, where there is one, is kept among the results."""
        done = self.guest.assayer("run", "-", stdin=json.dumps(job), timeout_s=timeout_s, check=False)
        outcome = Outcome(done.returncode, _events(done), done.stderr)
        for event in outcome.events:
            if event.get("event") == "finished":
                self.keep(event["record"])
        return outcome

    def probe(self, place: str) -> dict[str, Json]:
        """What `assayer probe --on` says of a place, by path and variant: `io_uring fixed`."""
        found = json.loads(self.guest.assayer("probe", "--on", place).stdout)
        return {f"{entry['path']} {entry['variant']}": entry for entry in found}

    def serial(self, device: str) -> str:
        """The serial number by which a job names a device."""
        return str(self.document("guard", device)["serial"])

    def document(self, *words: str) -> Json:
        """What a command of the measuring program prints as one JSON document."""
        done = self.guest.assayer(*words, check=False)
        try:
            found: Json = json.loads(done.stdout)
        except ValueError as error:
            said = [line for line in done.stderr.splitlines() if line.strip()]
            raise Broken(f"`assayer {' '.join(words)}`: {said[0] if said else 'nothing'} / a document") from error
        return found

    def keep(self, record: Json) -> None:
        """Puts a record among the results, where results are kept."""
        if self.out is None:
            return
        self._count += 1
        folder = self.out / "records"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{self._title}-{self._count}.json").write_text(json.dumps(record, indent=1))

    def _standard(self) -> MachineSpec:
        for name in ("share", "host"):
            (self.folder / name).mkdir()
        for program in self.parts.programs:
            _stage(program, self.folder / "host" / program.name)
        drives = [self.drive(f"nv{index}") for index in range(DRIVES)]
        nvdimms = [
            Nvdimm(f"pm{index}", sparse(self.folder / f"pm{index}", size), size)
            for index, size in enumerate(NVDIMM_BYTES)
        ]
        shares: Sequence[Share] = [Share("host", self.folder / "host", read_only=True)]
        return replace(self.parts.spec(), drives=drives, nvdimms=nvdimms, shares=shares)

    def drive(self, name: str, size: int = DRIVE_BYTES, log: Path | None = None, block_bytes: int = 512) -> Drive:
        """A drive whose file lies in the lab's folder; it is made where it is not there."""
        return Drive(name, sparse(self.folder / name, size), size, log, block_bytes)


_RELEASE = """
awk '$2 ~ "^/mnt" {print $2}' /proc/mounts | sort -r | while read -r at; do umount "$at"; done
swapoff -a 2>/dev/null
[ -e /sbin/lvm ] && lvm vgchange -an >/dev/null 2>&1
[ -e /sbin/mdadm ] && mdadm --stop --scan >/dev/null 2>&1
for device in /dev/nvme?n1; do wipefs -aq "$device"; done
true
"""


def _events(done: Completed) -> list[Json]:
    found = []
    for line in done.stdout.splitlines():
        try:
            event = json.loads(line)
        except ValueError:
            continue
        if isinstance(event, dict) and "event" in event:
            found.append(event)
    return found


def _stage(program: Path, there: Path) -> None:
    """A copy that the guest may read, whoever built it."""
    shutil.copyfile(program, there)
    there.chmod(0o755)
    os.utime(there)
