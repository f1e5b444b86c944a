"""What the generator can do where nothing is moved, beside fio's null engine."""

from typing import Any

from assay.bench import pairs, process

SIZE = 4096


def measure(repeats: int, seconds: float) -> dict[str, Any]:
    """One thread, 4 KiB random reads, latency recorded for each operation by both."""
    documents: list[dict[str, Any]] = []

    def ours() -> float:
        documents.append(process.document("null", "--seconds", str(seconds)))
        return float(documents[-1]["ops_per_s"])

    results = list(pairs.in_turn(repeats, ours, lambda: fio_rate(seconds)))
    found = pairs.compared([pair[0] for pair in results], [pair[1] for pair in results], "ops/s")
    return {
        "bench": "null",
        "ops_per_s": found["assay"],
        "fio_ops_per_s": found["fio"],
        "ratio": found["ratio"],
        "ratio_low": found["ratio_low"],
        "ratio_high": found["ratio_high"],
        "assay_repeats": found["assay_repeats"],
        "fio_repeats": found["fio_repeats"],
        "assay_spread": found["assay_spread"],
        "fio_spread": found["fio_spread"],
        "seconds": seconds,
        "fio_version": process.fio_version(),
        "assayer": documents[-1],
    }


def fio_rate(seconds: float) -> float:
    """Operations per second of fio's null engine. Without its map of blocks already read, as Assay draws too."""
    options = {
        "name": "null",
        "ioengine": "null",
        "rw": "randread",
        "bs": SIZE,
        "size": "1g",
        "norandommap": 1,
        "time_based": 1,
        "runtime": f"{round(seconds * 1000)}ms",
        "thread": 1,
    }
    job, _ = process.fio(options)
    return float(job["read"]["iops"])
