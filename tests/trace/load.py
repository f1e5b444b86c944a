"""A load of known content: four direct reads of 8 KiB at random, then one write of 16 KiB in order and `fdatasync`.

Called with the file to work on; says on standard output when it begins, and goes on until it is killed.
"""

import itertools
import mmap
import os
import random
import sys

READ, WRITE = 8192, 16384
READS, LOG = 16 << 20, 4 << 20


def main() -> None:
    handle = os.open(sys.argv[1], os.O_RDWR | os.O_DIRECT)
    memory = mmap.mmap(-1, WRITE)
    memory.write(os.urandom(WRITE))
    chance = random.Random(2)  # noqa: S311
    print("begun", flush=True)
    for number in itertools.count():
        for _ in range(4):
            os.preadv(handle, [memoryview(memory)[:READ]], chance.randrange(READS // READ) * READ)
        os.pwritev(handle, [memory], READS + number * WRITE % LOG)
        os.fdatasync(handle)


if __name__ == "__main__":
    main()
