"""Hosts that are not there: each worker of `--local` in a network of its own, which ends with its process.

The networks are namespaces that no file names. This process moves into one too, where the scheduler listens; the
machine's own network is neither changed nor reached.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence

_CLONE_NEWNET = 0x40000000
_LIBC = ctypes.CDLL(None, use_errno=True)
_OWN = "/proc/thread-self/ns/net"

HUB = "10.213.0.1"
"""Where the scheduler listens."""
MOST = 250


def address(number: int) -> str:
    """The address of the worker with this number, from 1."""
    return f"10.213.{number}.2"


def _gateway(number: int) -> str:
    return f"10.213.{number}.1"


@contextlib.contextmanager
def private() -> Iterator[str]:
    """This process in a network of its own meanwhile; says why not where that is not possible, else nothing."""
    before = os.open(_OWN, os.O_RDONLY | os.O_CLOEXEC)
    try:
        refused = _enter(before)
        yield refused
    finally:
        if not refused:
            _LIBC.setns(before, _CLONE_NEWNET)
        os.close(before)


def _enter(before: int) -> str:
    if os.geteuid() != 0:
        return "only root makes networks of their own"
    if _LIBC.unshare(_CLONE_NEWNET):
        return f"the kernel refuses networks of their own ({os.strerror(ctypes.get_errno())})"
    try:
        _ip("link", "set", "lo", "up")
        _ip("address", "add", f"{HUB}/32", "dev", "lo")
    except OSError as error:
        _LIBC.setns(before, _CLONE_NEWNET)
        return f"the program `ip` cannot be used ({error})"
    return ""


def connect(number: int, pid: int) -> None:
    """A cable from this network to that of a process, which waits for it."""
    here, there = f"host{number}", "fleet0"
    _batch(
        f"link add {here} type veth peer name {there} netns {pid}",
        f"address add {_gateway(number)}/30 dev {here}",
        f"link set {here} up",
    )


def unshare() -> None:
    """This process goes into a network of its own, which is empty."""
    if _LIBC.unshare(_CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), "unshare")


def inside(number: int) -> None:
    """The other end, from within."""
    _batch(
        "link set lo up",
        f"address add {address(number)}/30 dev fleet0",
        "link set fleet0 up",
        f"route add default via {_gateway(number)}",
    )


def _batch(*lines: str) -> None:
    """All in one process: hundreds of workers each have some of them."""
    words = ["ip", "-batch", "-"]
    done = subprocess.run(words, input="\n".join(lines) + "\n", capture_output=True, text=True, check=False)
    if done.returncode:
        raise OSError(f"ip: {done.stderr.strip()}")


def _ip(*words: str) -> None:
    done = subprocess.run(["ip", *words], capture_output=True, text=True, check=False)
    if done.returncode:
        raise OSError(f"ip {' '.join(words)}: {done.stderr.strip()}")


def main(arguments: Sequence[str]) -> None:
    """`NUMBER COMMAND...`: makes a network, says so, waits for the cable, and becomes the command."""
    number, *command = arguments
    unshare()
    print("ready", flush=True)
    sys.stdin.readline()
    inside(int(number))
    os.execv(command[0], command)  # noqa: S606  The command is Assay's own.


if __name__ == "__main__":
    main(sys.argv[1:])
