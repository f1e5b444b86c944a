"""Shared memory that a killed server leaves is given back, and nobody else's."""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from assay.dbms import segment

_LIBC = ctypes.CDLL(None, use_errno=True)
_IPC_CREAT, _IPC_EXCL, _IPC_RMID = 0o1000, 0o2000, 0
Make = Callable[[int], int]


@pytest.fixture
def make() -> Iterator[Make]:
    """Makes a segment with a key; removes what is left of them."""
    made: list[int] = []

    def one(key: int) -> int:
        number = int(_LIBC.shmget(ctypes.c_int(key), ctypes.c_size_t(56), _IPC_CREAT | _IPC_EXCL | 0o600))
        if number < 0:
            pytest.skip(f"this machine gives no System V segments (errno {ctypes.get_errno()})")
        made.append(number)
        return number

    yield one
    for number in made:
        _LIBC.shmctl(number, _IPC_RMID, None)


def note(folder: Path, key: int, number: int) -> None:
    """What a server writes about itself."""
    (folder / "postmaster.pid").write_text(f"4711\n{folder}\n1764000000\n5432\n/tmp\n\n{key:>9} {number:>9}\nready\n")


def there(number: int) -> bool:
    """Whether a segment is there."""
    return any(line.split()[1] == str(number) for line in Path("/proc/sysvipc/shm").read_text().splitlines()[1:])


def test_the_segment_of_a_folder_is_given_back(tmp_path: Path, make: Make) -> None:
    key = tmp_path.stat().st_ino % (1 << 32)
    number = make(key)
    note(tmp_path, key, number)
    assert segment.free(tmp_path)
    assert not there(number)
    assert not segment.free(tmp_path), "it is gone"


@pytest.mark.parametrize("key_of", [lambda inode: inode + 1000, lambda inode: inode - 1])
def test_a_planted_note_cannot_name_another_folders_segment(
    tmp_path: Path, make: Make, key_of: Callable[[int], int]
) -> None:
    key = key_of(tmp_path.stat().st_ino) % (1 << 32)
    number = make(key)
    note(tmp_path, key, number)
    assert not segment.free(tmp_path)
    # Nor under the name of the right key.
    note(tmp_path, tmp_path.stat().st_ino, number)
    assert not segment.free(tmp_path)
    assert there(number)


@pytest.mark.parametrize("text", ["", "1\n2\n3\n", "\n" * 6 + "one two\n", "\n" * 6 + "1 2 3\n", "\n" * 6 + "9" * 5000])
def test_a_note_that_says_nothing_is_no_reason(tmp_path: Path, text: str) -> None:
    (tmp_path / "postmaster.pid").write_text(text)
    assert not segment.free(tmp_path)


def test_a_link_in_the_place_of_the_note_is_not_followed(tmp_path: Path, make: Make) -> None:
    data, other = tmp_path / "data", tmp_path / "other"
    data.mkdir()
    other.mkdir()
    key = data.stat().st_ino % (1 << 32)
    number = make(key)
    note(other, key, number)
    (data / "postmaster.pid").symlink_to(other / "postmaster.pid")
    assert not segment.free(data)
    with contextlib.suppress(FileNotFoundError):
        (data / "postmaster.pid").unlink()
    assert there(number)
