"""Hosts that are reached by ssh: servers of the tests' own on the loopback, each with keys and a state of its own."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from .processes import until

_ROOT = Path(__file__).resolve().parents[2]
_PLACES = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin:{_ROOT / '.assay' / 'sshd'}"
"""The last is where the set-up of the tests unpacks one."""
_SERVER = """Port {port}
ListenAddress 127.0.0.1
HostKey {place}/host
AuthorizedKeysFile {place}/user.pub
PidFile none
StrictModes no
UsePAM no
PasswordAuthentication no
PermitRootLogin prohibit-password
LogLevel VERBOSE
SetEnv {environment}
"""
_CLIENT = """Host {name}
    HostName 127.0.0.1
    Port {port}
    IdentityFile {place}/user
    IdentitiesOnly yes
    IdentityAgent none
    UserKnownHostsFile {place}/known
    GlobalKnownHostsFile /dev/null
    StrictHostKeyChecking yes
"""
# As root it wants a user and a folder of its own: both are made in a view of the file system that nobody else has.
_APART = """mount -t tmpfs tmpfs /run && mkdir -m 755 /run/sshd || exit 1
grep -q ^sshd: /etc/passwd || {{
    (cat /etc/passwd; echo sshd:x:65533:65534::/run/sshd:/usr/sbin/nologin) >{place}/passwd
    mount --bind {place}/passwd /etc/passwd || exit 1
}}
exec {program} -D -E {place}/log -f {place}/config
"""


def why_not() -> str:
    """Why there can be no such hosts here; empty where there can."""
    missing = [one for one in ("sshd", "ssh", "ssh-keygen") if shutil.which(one, path=_PLACES) is None]
    return f"{', '.join(missing)} not installed (openssh-server, openssh-client)" if missing else ""


@dataclass(frozen=True)
class Host:
    """One of them: its files, and its server's process."""

    name: str
    place: Path
    process: subprocess.Popen[bytes]

    @property
    def state(self) -> Path:
        """Where Assay keeps its state there."""
        return self.place / "state"

    @property
    def busy(self) -> list[str]:
        """Commands of all processes that came by its server and are there."""
        known = _processes()
        return [command for parent, command in known.values() if self._is_below(parent, known)]

    def _is_below(self, number: int, known: dict[int, tuple[int, str]]) -> bool:
        while number > 1:
            if number == self.process.pid:
                return True
            number = known.get(number, (0, ""))[0]
        return False


def _processes() -> dict[int, tuple[int, str]]:
    """Parent and command of every process."""
    found = {}
    for path in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            parent = int((path / "stat").read_text().rpartition(")")[2].split()[1])
            found[int(path.name)] = parent, (path / "cmdline").read_bytes().replace(b"\0", b" ").decode()
    return found


@contextlib.contextmanager
def hosts(
    place: Path, environments: Mapping[str, Mapping[str, str]]
) -> Iterator[tuple[dict[str, Host], dict[str, str]]]:
    """A host for each name, with variables of its own, and the environment in which `ssh NAME` reaches it."""
    found, configuration = {}, ""
    with contextlib.ExitStack() as running:
        for name, environment in environments.items():
            (place / name).mkdir()
            port = _free()
            found[name] = running.enter_context(_host(name, place / name, port, environment))
            configuration += _CLIENT.format(name=name, port=port, place=place / name)
        (place / "ssh_config").write_text(configuration)
        tools = place / "bin"
        tools.mkdir()
        _script(tools / "ssh", f'exec {shutil.which("ssh")} -F {place / "ssh_config"} "$@"')
        yield found, os.environ | {"PATH": f"{tools}:{os.environ['PATH']}"}


def remote(place: Path) -> Path:
    """The command `assay` of those hosts."""
    return _script(place / "assay", f'exec {sys.executable} -I -m assay "$@"')


@contextlib.contextmanager
def _host(name: str, place: Path, port: int, environment: Mapping[str, str]) -> Iterator[Host]:
    for key in ("host", "user"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(place / key)], check=True)
    (place / "known").write_text(f"[127.0.0.1]:{port} {(place / 'host.pub').read_text()}")
    told = {"XDG_STATE_HOME": str(place / "state"), **environment}
    words = " ".join(f'{key}="{value}"' for key, value in told.items())
    (place / "config").write_text(_SERVER.format(port=port, place=place, environment=words))
    program = shutil.which("sshd", path=_PLACES)
    server = f"exec {program} -D -E {place}/log -f {place}/config"
    apart = os.geteuid() == 0
    if apart:
        server = _APART.format(program=program, place=place)
    process = subprocess.Popen([*(["unshare", "--mount"] if apart else []), "sh", "-c", server])
    try:
        until(lambda: _answers(port) or process.poll() is not None)
        assert process.poll() is None, (place / "log").read_text()
        yield Host(name, place, process)
    finally:
        process.terminate()
        process.wait()


def _script(path: Path, text: str) -> Path:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def _free() -> int:
    with socket.socket() as opened:
        opened.bind(("127.0.0.1", 0))
        port: int = opened.getsockname()[1]
        return port


def _answers(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1):
            return True
    except OSError:
        time.sleep(0.05)
        return False
