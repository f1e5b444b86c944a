"""Assay beside fio: what the generator, each path and the stores cost, in one run on this machine.

Nothing here is a test: figures of one machine are no reason to fail another.
"""

from collections.abc import Callable, Sequence
from typing import Any

Result = dict[str, Any]


def null(repeats: int = 5, seconds: float = 1.0) -> Result:
    """Operations per second of the generator and of fio's null engine, one thread."""
    from assay.bench import ceiling

    return ceiling.measure(repeats, seconds)


def fio(repeats: int = 5, seconds: float = 2.0, folder: str = ".") -> Result:
    """Cycles per operation and throughput on the same file, engine by engine."""
    from assay.bench import engines

    return engines.measure(repeats, seconds, folder)


def agree(repeats: int = 5, seconds: float = 1.0, folder: str = ".", seed: int = 1) -> Result:
    """Rate, mean, median and 99th percentile of both on the same file, in paired turns."""
    from assay.bench import agreement

    return agreement.measure(repeats, seconds, folder, seed)


def pmem(repeats: int = 5, seconds: float = 1.0, folder: str = "/dev/shm") -> Result:  # noqa: S108
    """Bandwidth of the pmem path and of fio's libpmem on tmpfs."""
    from assay.bench import stores

    return stores.measure(repeats, seconds, folder)


def twin(seconds: float = 1.0) -> Result:
    """Simulated operations and analytic points per second of one core."""
    from assay.bench import answers

    return answers.measure(seconds)


def scaling(repeats: int, only: Sequence[str], told: Callable[[str], object]) -> Result:
    """How CPU time grows with the work, with an exponent for each part of Assay, and how long its programs start.

    `told` hears what is measured next: all of it takes minutes.
    """
    from assay.bench import works

    return works.measure(repeats, only, told)


BENCHES: dict[str, Callable[[], Result]] = {"null": null, "fio": fio, "pmem": pmem, "twin": twin}


def run(name: str, as_json: bool) -> int:
    """Runs a bench by name and prints it: one JSON document, or a table. Returns the exit code."""
    return tell(name, BENCHES[name](), as_json)


def tell(name: str, result: Result, as_json: bool) -> int:
    """Prints the result of a bench. Returns the exit code."""
    from assay.bench.show import show

    show(name, result, as_json)
    return 0
