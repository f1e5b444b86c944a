"""What the guest boots: the kernel out of its image, and the archive of its first root."""

from __future__ import annotations

import lzma
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from assay_lab.kernel import bootable
from assay_lab.newc import Archive

NOTED = b"\x7fELF" + bytes(64) + b"Xen\x00" + bytes(64)


def image(payload: bytes) -> bytes:
    """A bzImage with one sector of set-up and this payload (fields of the boot protocol)."""
    head = bytearray(2 * 512)
    head[0x1F1] = 1
    head[0x202:0x206] = b"HdrS"
    head[0x248:0x24C] = (0).to_bytes(4, "little")
    head[0x24C:0x250] = len(payload).to_bytes(4, "little")
    return bytes(head) + payload


def test_the_elf_file_comes_out_of_a_kernel_that_xz_compressed() -> None:
    packed = lzma.compress(NOTED, check=lzma.CHECK_CRC32)
    assert bootable(image(packed)) == NOTED
    # The kernel's build appends the length to what xz made.
    assert bootable(image(packed + b"\x01\x02\x03\x04")) == NOTED


@pytest.mark.parametrize(
    "other",
    [
        b"",
        b"no kernel at all" * 100,
        image(b"\x1f\x8bgzip"),
        image(lzma.compress(b"\x7fELF without the note", check=lzma.CHECK_CRC32)),
        image(lzma.compress(NOTED, check=lzma.CHECK_CRC32)[:40]),
    ],
    ids=["empty", "foreign", "gzip", "no note", "cut off"],
)
def test_any_other_kernel_stays_as_it_is(other: bytes) -> None:
    assert bootable(other) == other


def test_the_archive_is_what_cpio_reads(tmp_path: Path, need: Callable[[str], str]) -> None:
    busybox = need("busybox")
    (tmp_path / "program").write_bytes(b"\x7fELF" + bytes(9))
    with (tmp_path / "archive").open("wb") as stream:
        archive = Archive(stream)
        archive.folder("proc")
        archive.text("etc/name", "odd")
        archive.file("sbin/program", tmp_path / "program")
        archive.link("bin/sh", "/sbin/program")
        archive.close()
    out = tmp_path / "out"
    out.mkdir()
    with (tmp_path / "archive").open("rb") as stream:
        subprocess.run([busybox, "cpio", "-i", "-d"], cwd=out, stdin=stream, check=True, capture_output=True)
    assert (out / "etc/name").read_text() == "odd"
    assert (out / "sbin/program").read_bytes() == b"\x7fELF" + bytes(9)
    assert (out / "sbin/program").stat().st_mode & 0o777 == 0o755
    assert (out / "bin/sh").readlink() == Path("/sbin/program")
    assert (out / "proc").is_dir()
