"""`--on mount:twin:NAME`: drives that are played for a run, in folders that Assay makes and removes.

`mount:slow=8:twin:NAME` stretches the drive's time.
"""

from __future__ import annotations

import contextlib
import json
import re
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from assay import own
from assay.cli import output
from assay.cli.bracket import slowed
from assay.error import BAD_JOB, AssayError
from assay.mount import play
from assay.mount.drive import PREFIX, drive
from assay.untyped import Json

_NAMED = re.compile(rf"^(?P<role>\w+=)?(?P<name>{PREFIX}[^@]+)(?:@(?P<folder>.+))?$")
_PLAIN = re.compile(r"(?!\w+=)")
_SLOW = re.compile(r"slow=(?P<slow>[^:]+):(?P<drive>.+)")


@dataclass
class PlayFlags:
    """What is played for a run: names of targets with folders in place of drives."""

    on: list[str]
    mounts: dict[str, play.Playing] = field(default_factory=dict)
    """By folder."""
    names: dict[str, str] = field(default_factory=dict)
    """As they were typed, by folder."""

    def take(self, one: play.Playing, name: str) -> str:
        """Takes a drive in; its folder."""
        at = str(one.state["at"])
        self.mounts[at], self.names[at] = one, name
        return at

    def mark(self, document: Json) -> Json:
        """A record as what it is: of drives that were played, and how late. It may name those of others, too."""
        lies_on = json.dumps(document.get("targets", document))
        for folder, one in self.mounts.items():
            quoted, name = json.dumps(folder)[1:-1], self.names[folder]
            document = json.loads(json.dumps(document).replace(quoted, json.dumps(name)[1:-1]))
            if quoted in lies_on:
                document = _emulated(document)
                document["verdict"] = _verdict(document["verdict"], name, one.state)
        return document

    def mark_files(self, folder: Path) -> None:
        """Every record of a folder."""
        from assay.results.files import write_json

        for path in sorted(folder.glob("*.json")) if self.mounts else ():
            write_json(path, self.mark(json.loads(path.read_text())))

    def tell(self) -> None:
        """Says what was played."""
        for folder, one in self.mounts.items():
            for sentence in play.told(one.state):
                output.tell(f"{self.names[folder]}: {sentence}")


def _emulated(found: Any) -> Any:
    """The same with no figure of a device measured; what was observed of this machine stays as it is."""
    if isinstance(found, list):
        return [_emulated(one) for one in found]
    if not isinstance(found, dict):
        return found
    same = {"environment", "cpu", "process_cpu"}
    changed = {key: value if key in same else _emulated(value) for key, value in found.items()}
    if changed.get("provenance") == "measured":
        changed["provenance"] = "emulated"
    if "emulated" in changed:
        changed["emulated"] = True
    return changed


def _verdict(verdict: Json, name: str, state: Json) -> Json:
    numbers = {
        f"{one['class']}_{key}": float(one[key])
        for one in state["played"]
        for key in ("late_p50_ns", "late_p99_ns", "late_share")
    } | {"floor_ns": float(state["floor_ns"])}
    evidence = f"{name} plays a drive that is not here, in the whole run {state['sentence']}"
    if (slow := float(state["slow"])) != 1:
        numbers["slow"] = slow
        evidence = f"{evidence}; its time is stretched {slow:g} times, and all times here are this machine's"
    fix = "measure on the device itself where it can be had"
    reasons = [_reason("emulated-target", "note", evidence, fix, numbers)]
    if "played-late" in state["reasons"]:
        fix = f"give the machine less to do beside it, or play it slowed down too: --on {slowed(name, _beside(state))}"
        reasons.append(_reason("played-late", "suspect", evidence, fix, numbers))
    status = verdict["status"]
    if len(reasons) > 1 and status == "valid":
        status = "suspect"
    return verdict | {"status": status, "reasons": [*verdict["reasons"], *reasons]}


def _reason(code: str, severity: str, evidence: str, fix: str, numbers: Json) -> Json:
    return {"code": code, "severity": severity, "evidence": evidence, "fix": fix, "numbers": numbers}


def _beside(state: Json) -> float:
    """How slowly a drive that was late is played beside itself."""
    slow = float(state["slow"])
    return float(state.get("slow_wanted") or 4 * slow)


@contextlib.contextmanager
def played(on: Sequence[str], seed: int = 1, others: Sequence[int] = (), *, both: bool = False) -> Iterator[PlayFlags]:
    """Drives of a run, mounted meanwhile; unmounted and removed however it ends.

    `others` are users besides this one who work there.
    With `both`, a drive whose writes cannot be in time here is a target twice, as it is and slowed down, where all
    of the work lies on it.
    """
    found = PlayFlags(list(on))
    both = both and all(_PLAIN.match(text) for text in on)
    with contextlib.ExitStack() as stack:
        for place, text in enumerate(on):
            match = _NAMED.match(text)
            if match is None:
                continue
            name, folder = match["name"], Path(match["folder"] or tempfile.gettempdir())
            one = stack.enter_context(_mounted(name.removeprefix(PREFIX), folder, seed, others))
            found.on[place] = f"{match['role'] or ''}{found.take(one, name)}"
            wanted = one.state.get("slow_wanted")
            if both and wanted:
                stretched = slowed(name, wanted)
                two = stack.enter_context(_mounted(stretched.removeprefix(PREFIX), folder, seed, others))
                found.on.append(found.take(two, stretched))
        yield found


def drive_of(name: str) -> tuple[Json, float]:
    """What is played, and how slowly, by a name without its prefix.

    Raises:
        AssayError: where there is no such drive, or the factor is none.
    """
    match = _SLOW.fullmatch(name)
    if match is None:
        return drive(name), 1.0
    try:
        slow = float(match["slow"])
    except ValueError:
        slow = 0.0
    if not 0.1 <= slow <= 1e6:
        hint = "write how many times as slowly its time passes: mount:slow=8:twin:NAME"
        raise AssayError(f"`slow={match['slow']}` is no factor between 0.1 and 1,000,000", hint=hint, code=BAD_JOB)
    return drive(match["drive"]), slow


@contextlib.contextmanager
def _mounted(name: str, folder: Path, seed: int, others: Sequence[int]) -> Iterator[play.Playing]:
    wanted, slow = drive_of(name)
    made = own.make(folder, "assay-mount-", others[0] if others else None, measured=False)
    files, at = made / "files", made / (re.sub(r"\W+", "-", name.removeprefix("twin:")).strip("-") or "drive")
    for path in (files, at):
        own.make_folder(path)
        if others:
            # Whoever works there goes through to what it is given.
            path.chmod(0o711)
    try:
        # A crash of this machine ends the run: what is flushed need not outlive that.
        job = {"at": str(at), "over": str(files), "name": name, "drive": wanted, "slow": slow, "seed": seed}
        with play.playing(job | {"sync_below": False, "others": list(others)}) as one:
            yield one
    finally:
        own.remove(made)
