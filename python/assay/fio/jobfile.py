"""The syntax of fio's job files: sections of options, and values with fio's own units."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from assay.error import BAD_JOB, AssayError

GLOBAL = "global"

# fio's short names and alternative spellings, after `fio --cmdhelp=all`.
ALIASES = {
    "readwrite": "rw",
    "blocksize": "bs",
    "blockalign": "ba",
    "blocksize_range": "bsrange",
    "blocksize_unaligned": "bs_unaligned",
    "iodepth_batch_submit": "iodepth_batch",
    "iodepth_batch_complete": "iodepth_batch_complete_min",
    "io_limit": "io_size",
    "fadvise": "fadvise_hint",
    "timeout": "runtime",
    "start_delay": "startdelay",
    "delay": "startdelay",
    "ratemin": "rate_min",
    "ratecycle": "rate_cycle",
    "rate_iops_min": "rate_iops_min",
    "iomem": "mem",
    "hugepage_size": "hugepage-size",
    "job_start_clock_id": "job_start_clock",
    "wait_for_previous": "stonewall",
    "fill_fs": "fill_device",
    "cpu_load": "cpuload",
}
_NAME = re.compile(r"[A-Za-z_][\w-]*")


class FioError(AssayError):
    """A job file, or a cell, that cannot be carried over."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message, hint=hint, code=BAD_JOB)


@dataclass(frozen=True)
class Option:
    """One line: `name=value`. An option without a value has the value `1`, as for fio."""

    name: str
    value: str
    line: int

    @property
    def place(self) -> str:
        """As messages name it."""
        return f"line {self.line}: {self.name}={self.value}"


@dataclass(frozen=True)
class JobSection:
    """A job: its name, and its options with the global ones beneath. The last line that names an option holds."""

    name: str
    options: dict[str, Option] = field(default_factory=dict)

    def text(self, name: str, default: str = "") -> str:
        """The value of an option."""
        found = self.options.get(name)
        return found.value if found else default

    def flag(self, name: str, default: bool = False) -> bool:
        """The value of an option that is on or off."""
        found = self.options.get(name)
        return default if found is None else bool(integer(found))

    def integer(self, name: str, default: int) -> int:
        """The value of an option that is a whole number."""
        found = self.options.get(name)
        return default if found is None else integer(found)

    def size(self, name: str, default: int = 0) -> int:
        """The value of an option in bytes."""
        found = self.options.get(name)
        return default if found is None else size(found, self.thousand())

    def seconds(self, name: str, default: float = 0.0) -> float:
        """The value of an option in seconds."""
        found = self.options.get(name)
        return default if found is None else seconds(found)

    def microseconds(self, name: str) -> float:
        """The value, in seconds, of an option that fio counts in microseconds where it has no unit; 0 without it."""
        found = self.options.get(name)
        return 0.0 if found is None else seconds(found, "us")

    def thousand(self) -> bool:
        """Whether `k` is 1000 (`kb_base=1000`) instead of 1024."""
        return self.text("kb_base", "1024") == "1000"


def parse(text: str) -> list[JobSection]:
    """The jobs of a file, in order."""
    shared: dict[str, Option] = {}
    sections: list[JobSection] = []
    into: dict[str, Option] | None = None
    for number, line in _lines(text):
        if line.startswith("["):
            name = _section_name(number, line)
            into = shared if name == GLOBAL else dict(shared)
            if name != GLOBAL:
                sections.append(JobSection(name, into))
        elif into is None:
            raise FioError(f"line {number}: `{line}` stands before any section", "begin the file with [global]")
        else:
            option = _option(number, line)
            into[option.name] = option
    if not sections:
        raise FioError("the file has no job", "add a section such as [randread]")
    return sections


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """Lines that say something, without comments; fio knows `;` and `#`."""
    for number, line in enumerate(text.splitlines(), 1):
        kept = re.split(r"(?:^|\s)[;#]", line, maxsplit=1)[0].strip()
        if kept:
            yield number, kept


def _section_name(number: int, line: str) -> str:
    name = line[1:-1].strip()
    if not line.endswith("]") or not name:
        raise FioError(f"line {number}: `{line}` is not the head of a section", "write [name]")
    return name


def _option(number: int, line: str) -> Option:
    name, equals, value = (part.strip() for part in line.partition("="))
    if name.partition(" ")[0] == "include":
        raise FioError(f"line {number}: include reads another file", "put that file's lines in its place")
    if not _NAME.fullmatch(name):
        raise FioError(f"line {number}: `{line}` is not an option", "write name=value")
    if "${" in value or value.startswith("$"):
        raise FioError(f"line {number}: `{value}` is a variable of fio's", "write its value instead")
    name = name.lower()
    return Option(ALIASES.get(name, name), value if equals else "1", number)


def integer(option: Option) -> int:
    """A whole number."""
    try:
        return int(option.value, 0)
    except ValueError:
        raise FioError(f"{option.place}: this is not a whole number", "write digits") from None


def number(option: Option, text: str) -> float:
    """A number inside a value."""
    try:
        return float(text)
    except ValueError:
        raise FioError(f"{option.place}: `{text}` is not a number", "write digits") from None


_POWERS = {"": 0, "b": 0, "k": 1, "m": 2, "g": 3, "t": 4, "p": 5}


def size(option: Option, thousand: bool = False, text: str | None = None) -> int:
    """Bytes. fio's units: `k` and `kb` are 1024 and `kib` is 1000, the other way round with kb_base=1000."""
    written = (option.value if text is None else text).strip().lower()
    found = re.fullmatch(r"(0x[0-9a-f]+|\d+(?:\.\d+)?)\s*([kmgtp]?)(i?)(b?)", written)
    if found is None:
        raise FioError(f"{option.place}: `{written}` is not a size that Assay reads", "write bytes, or k, m, g")
    opposite = found[3] == "i" and found[4] == "b"
    base = 1000 if opposite != thousand else 1024
    amount = int(found[1], 16) if found[1].startswith("0x") else float(found[1])
    power: int = base ** _POWERS[found[2]]
    return round(amount * power)


_SECONDS = {"us": 1e-6, "usec": 1e-6, "ms": 1e-3, "msec": 1e-3, "": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


def seconds(option: Option, unit: str = "s") -> float:
    """A duration in seconds; `unit` is what fio counts where there is none."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([a-z]*)", option.value.strip().lower())
    if found is None or found[2] not in _SECONDS:
        raise FioError(f"{option.place}: this is not a duration that Assay reads", "write seconds, such as 30s")
    return float(found[1]) * _SECONDS[found[2] or unit]
