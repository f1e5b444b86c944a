"""Packages by apt-get: resolved, downloaded, checked and unpacked as any user, never installed."""

from __future__ import annotations

import errno
import hashlib
import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.error import NOT_POSSIBLE

from assay_lab.error import LabError

_ASK_S = 60
_DOWNLOAD_S = 600
_UNPACK_S = 300
_LINE = re.compile(r"^'[^']*' (?P<file>\S+) (?P<bytes>\d+) (?P<algorithm>\w+):(?P<digest>[0-9a-fA-F]+)$", re.MULTILINE)
_QUIET_TREE = ("recommends", "suggests", "conflicts", "breaks", "replaces", "enhances")


@dataclass(frozen=True)
class Deb:
    """A package file as the archive describes it."""

    name: str
    file: str
    bytes: int
    algorithm: str
    digest: str


def there() -> bool:
    """Whether this system has apt-get."""
    return shutil.which("apt-get") is not None and shutil.which("dpkg-deb") is not None


def dependencies(name: str) -> list[str]:
    """Everything that a package needs, itself included; nothing where it is unknown."""
    options = [f"--no-{word}" for word in _QUIET_TREE]
    done = _ask("apt-cache", "depends", "--recurse", *options, name)
    found = re.findall(r"^(\S+)$", done.stdout, re.MULTILINE) if done.returncode == 0 else []
    return [one for one in found if not one.startswith("<")]


def missing(names: Sequence[str]) -> list[str]:
    """The packages that an installation of these would bring, as this system stands."""
    options = ("-s", "-q", "-o", "Debug::NoLocking=1", "install", "--no-install-recommends")
    done = _ask("apt-get", *options, *names)
    if done.returncode != 0:
        raise _cannot("apt-get does not know how to get " + ", ".join(names), done.stderr)
    return sorted({*names, *re.findall(r"^Inst (\S+)", done.stdout, re.MULTILINE)})


def installed(names: Sequence[str]) -> list[str]:
    """Those of these packages that are installed."""
    if shutil.which("dpkg-query") is None:
        return []
    done = _ask("dpkg-query", "-W", "-f", "${Package} ${db:Status-Abbrev}\n", *names)
    return re.findall(r"^(\S+) ii", done.stdout, re.MULTILINE)


def describe(names: Sequence[str]) -> list[Deb]:
    """File, size and checksum of each."""
    done = _ask("apt-get", "download", "--print-uris", *names)
    if done.returncode != 0:
        raise _cannot("apt-get cannot download " + ", ".join(names), done.stderr)
    found = {}
    for line in _LINE.finditer(done.stdout):
        name = line["file"].partition("_")[0]
        found[name] = Deb(name, line["file"], int(line["bytes"]), line["algorithm"].lower(), line["digest"].lower())
    gone = [name for name in names if name.partition(":")[0] not in found]
    if gone:
        raise _cannot(f"apt-get has no package {', '.join(gone)}", done.stderr)
    return [found[name] for name in sorted(found)]


def fetch(debs: Sequence[Deb], folder: Path) -> None:
    """Downloads packages and unpacks them one over the other into a folder; the files themselves are not kept."""
    # The sandbox's user could not write into a folder of this user.
    command = ["apt-get", "-q", "-o", f"APT::Sandbox::User={_user()}", "download", *(deb.name for deb in debs)]
    done = _run(command, folder, _DOWNLOAD_S)
    if done.returncode != 0:
        raise _cannot("packages could not be downloaded", done.stderr)
    for deb in debs:
        # apt-get writes an epoch's colon as %3a, in the name of the file too.
        file = _verified(deb, folder)
        done = _run(["dpkg-deb", "-x", str(file), str(folder)], folder, _UNPACK_S)
        if done.returncode != 0:
            raise _not_unpacked(deb, done.stderr)
        file.unlink()


def _verified(deb: Deb, folder: Path) -> Path:
    file = folder / deb.file
    if not file.is_file():
        raise _cannot(f"apt-get said that it downloaded {deb.name}, but {deb.file} is not there", "")
    if file.stat().st_size != deb.bytes:
        raise _cannot(f"{deb.file} has {file.stat().st_size} bytes, the archive says {deb.bytes}", "")
    with file.open("rb") as stream:
        digest = hashlib.file_digest(stream, deb.algorithm).hexdigest()
    if digest != deb.digest:
        raise _cannot(f"{deb.file} has another {deb.algorithm} checksum than the archive says", "")
    return file


def _user() -> str:
    import pwd

    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return "root"


def _ask(*command: str) -> subprocess.CompletedProcess[str]:
    return _run(list(command), None, _ASK_S)


def _run(command: list[str], folder: Path | None, limit_s: float) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"LC_ALL": "C"}
    try:
        return subprocess.run(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=limit_s,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise _cannot(f"`{' '.join(command[:3])}` gave no answer in {limit_s:.0f} s", "") from error
    except OSError as error:
        raise _cannot(f"{command[0]} cannot be started: {error.strerror}", "") from error


def _not_unpacked(deb: Deb, complaint: str) -> LabError:
    reason = next(iter(complaint.strip().splitlines()), "no reason given")
    hint = "make room for the lab's cache, or set XDG_CACHE_HOME to a folder that has it"
    if not _is_full(complaint):
        hint = "try again; the package may be damaged on its way"
    return LabError(f"{deb.file} could not be unpacked: {reason}", hint=hint, code=NOT_POSSIBLE)


def _is_full(complaint: str) -> bool:
    return os.strerror(errno.ENOSPC) in complaint or os.strerror(errno.EDQUOT) in complaint


def _cannot(what: str, complaint: str) -> LabError:
    errors = [line.removeprefix("E: ") for line in complaint.splitlines() if line.startswith("E:")]
    message = f"{what}: {errors[0]}" if errors else what
    hint = "renew the package lists (sudo apt-get update) and look at the network; then `assay lab doctor`"
    return LabError(message, hint=hint, code=NOT_POSSIBLE)
