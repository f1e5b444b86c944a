"""A slow cable: packets between two networks, each way so much later. For kernels without `netem`, too."""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import heapq
import os
import select
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

_TUNSETIFF, _IFF_TUN, _IFF_NO_PI = 0x400454CA, 0x0001, 0x1000
_CLONE_NEWNET = 0x40000000
_LIBC = ctypes.CDLL(None, use_errno=True)
_PACKET = 1 << 16


def why_not() -> str:
    """Why there can be no such cable here; empty where there can."""
    if os.geteuid() != 0:
        return "not root"
    return "" if Path("/dev/net/tun").exists() else "the kernel has no /dev/net/tun"


def _end(process: int, commands: Sequence[str]) -> int:
    """One end, in the network of a process: its packets can be read and written here."""
    found: list[int] = []

    def inside() -> None:
        # A thread of its own: the network is that of the thread, and this one ends.
        with Path(f"/proc/{process}/ns/net").open("rb") as network:
            if _LIBC.setns(network.fileno(), _CLONE_NEWNET):
                return
        opened = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
        fcntl.ioctl(opened, _TUNSETIFF, struct.pack("16sH", b"slow0", _IFF_TUN | _IFF_NO_PI))
        for command in ("link set slow0 up", *commands):
            subprocess.run(["ip", *command.split()], check=True, capture_output=True)
        found.append(opened)

    thread = threading.Thread(target=inside)
    thread.start()
    thread.join()
    if not found:
        raise OSError(f"no cable to the network of {process}")
    return found[0]


def _shuttle(ends: tuple[int, int], delay_s: float) -> None:
    """Until somebody ends it."""
    waiting: list[tuple[float, int, int, bytes]] = []
    count = 0
    while True:
        pause = max(0.0, waiting[0][0] - time.monotonic()) if waiting else None
        readable, _, _ = select.select(ends, [], [], pause)
        for end in readable:
            count += 1
            packet = os.read(end, _PACKET)
            heapq.heappush(waiting, (time.monotonic() + delay_s, count, ends[end == ends[0]], packet))
        while waiting and waiting[0][0] <= time.monotonic():
            # A cable drops what its end does not take.
            with contextlib.suppress(OSError):
                os.write(waiting[0][2], waiting[0][3])
            heapq.heappop(waiting)


@contextlib.contextmanager
def slow(hub: int, worker: int, number: int, round_trip_s: float) -> Iterator[None]:
    """The way between the hub's process and that of the worker with this number takes so long, meanwhile."""
    words = [sys.executable, "-I", __file__, *map(str, (hub, worker, number, round_trip_s))]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        assert process.stdout.readline().strip() == "ready"
        yield
    finally:
        process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


def main(words: Sequence[str]) -> None:
    """`HUB WORKER NUMBER SECONDS`: lays the cable and carries."""
    hub, worker, number = map(int, words[:3])
    here = _end(hub, [f"route replace 10.213.{number}.2/32 dev slow0"])
    there = _end(worker, [f"route replace default dev slow0 src 10.213.{number}.2"])
    print("ready", flush=True)
    _shuttle((here, there), float(words[3]) / 2)


if __name__ == "__main__":
    main(sys.argv[1:])
