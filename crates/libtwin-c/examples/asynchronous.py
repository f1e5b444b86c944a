"""A disk for asyncio programs: `await disk.read(...)` takes as long as on the drive, counted by the loop's clock."""

import asyncio
import ctypes
import sys
import time
from pathlib import Path

READ, WRITE, FAILED = 0, 1, 2**64 - 1


class Disk:
    def __init__(self, library: str, text: bytes, seed: int = 42) -> None:
        self.twin = ctypes.CDLL(library)
        self.twin.twin_open.restype = self.twin.twin_error.restype = ctypes.c_void_p
        self.twin.twin_submit.restype = self.twin.twin_flush.restype = ctypes.c_uint64
        handle = self.twin.twin_open(text, ctypes.c_size_t(len(text)), ctypes.c_uint64(seed))
        if handle is None:
            raise ValueError(ctypes.string_at(self.twin.twin_error()).decode())
        self.handle = ctypes.c_void_p(handle)

    async def request(self, op: int, offset: int, size: int) -> None:
        now, at = ctypes.c_uint64(time.monotonic_ns()), ctypes.c_uint64(offset)
        done = self.twin.twin_submit(self.handle, now, ctypes.c_uint32(op), at, ctypes.c_uint32(size))
        await asyncio.sleep((done - time.monotonic_ns()) / 1e9)

    async def flush(self) -> None:
        done = self.twin.twin_flush(self.handle, ctypes.c_uint64(time.monotonic_ns()))
        await asyncio.sleep((done - time.monotonic_ns()) / 1e9)


async def main(disk: Disk) -> None:
    begin = time.monotonic()
    await asyncio.gather(*(disk.request(READ, block << 30, 4096) for block in range(32)))
    middle = time.monotonic()
    await disk.request(WRITE, 0, 4096)
    await disk.flush()
    reads_ms, write_ms = (middle - begin) * 1e3, (time.monotonic() - middle) * 1e3
    print(f"32 reads at once: {reads_ms:.2f} ms; a durable write: {write_ms:.2f} ms")


if __name__ == "__main__":
    library, path = sys.argv[1:]
    asyncio.run(main(Disk(library, Path(path).read_bytes())))
