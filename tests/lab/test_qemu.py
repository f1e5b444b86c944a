"""The command line of QEMU."""

from __future__ import annotations

from pathlib import Path

import pytest
from assay_lab.error import LabError
from assay_lab.qemu import GIB, MIB, Drive, MachineSpec, Nvdimm, Share, command

SPEC = MachineSpec(Path("/k/image"), Path("/k/initrd"))


def after(words: list[str], option: str) -> list[str]:
    return [words[at + 1] for at, word in enumerate(words[:-1]) if word == option]


def spec(**more: object) -> MachineSpec:
    return MachineSpec(Path("/k/image"), Path("/k/initrd"), **more)  # type: ignore[arg-type]


def test_a_drive_has_its_name_as_serial_and_its_file_is_not_flushed() -> None:
    words = command(spec(drives=[Drive("nv0", Path("/d/a,b"), GIB)]))
    assert any("serial=assay-nv0,drive=raw-nv0" in word for word in after(words, "-device"))
    file = next(word for word in after(words, "-blockdev") if "node-name=file-nv0" in word)
    assert "filename=/d/a,,b," in file
    assert "cache.no-flush=on" in file


def test_a_log_of_writes_lies_between_the_drive_and_its_file() -> None:
    words = command(spec(drives=[Drive("nv0", Path("/d/a"), GIB, log=Path("/d/log"), block_bytes=4096)]))
    log = next(word for word in after(words, "-blockdev") if "driver=blklogwrites" in word)
    assert "file=raw-nv0,log=log-raw-nv0,log-sector-size=4096" in log
    assert any("drive=log-nv0,logical_block_size=4096" in word for word in after(words, "-device"))


def test_memory_has_room_for_every_module() -> None:
    nvdimms = [Nvdimm(f"pm{index}", Path(f"/d/pm{index}"), 514 * MIB) for index in range(3)]
    words = command(spec(nvdimms=nvdimms, memory_bytes=GIB))
    assert after(words, "-m") == ["size=1024M,slots=3,maxmem=5120M"]
    assert len([word for word in after(words, "-device") if word.startswith("nvdimm,")]) == 3


def test_a_module_that_the_kernel_would_call_misaligned_is_refused() -> None:
    with pytest.raises(LabError, match="no multiple of 16 MiB"):
        command(spec(nvdimms=[Nvdimm("pm0", Path("/d/pm0"), 512 * MIB, label_bytes=256 << 10)]))


def test_shares_agent_and_console_are_attached_as_asked() -> None:
    words = command(spec(shares=[Share("host", Path("/s"), read_only=True)], agent_fd=9, console=Path("/c")))
    assert after(words, "-virtfs")[0].endswith("readonly=on")
    assert "socket,id=agent,fd=9" in after(words, "-chardev")
    assert "file,id=console,path=/c" in after(words, "-chardev")
    assert "stdio,id=console,signal=off" in after(command(SPEC), "-chardev")


@pytest.mark.parametrize(("accel", "cpu"), [("tcg", "max"), ("kvm", "host")])
def test_the_processor_is_the_one_that_was_chosen(accel: str, cpu: str) -> None:
    words = command(spec(accel=accel))
    assert after(words, "-accel")[0].startswith(accel)
    assert after(words, "-cpu") == [cpu]
