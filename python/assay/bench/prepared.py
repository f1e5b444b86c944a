"""Data that Assay prepares and both programs use, and that is removed whatever happens."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from assay.bench import process
from assay.error import AssayError
from assay.untyped import Json


@contextmanager
def prepared(job: Json) -> Iterator[dict[str, Path]]:
    """Prepares a job's data sets in a scratch folder that the job then keeps; gives the first file of each."""
    job["scratch"] = f"assay-scratch-beside-fio-{os.getpid()}"
    job["keep_scratch"] = True
    try:
        process.prepare(job)
        yield {dataset["name"]: _file(job, dataset) for dataset in job["datasets"]}
    finally:
        process.prepare(job | {"keep_scratch": False})


def data_folder(job: Json, dataset: Json) -> Path:
    """Where the files of a data set lie while the job keeps its scratch folder."""
    target = next(target for target in job["targets"] if target["id"] == dataset["target"])
    return Path(target["members"][0]) / str(job["scratch"])


def _file(job: Json, dataset: Json) -> Path:
    found = data_folder(job, dataset) / f"{dataset['name']}.0.0.data"
    if not found.is_file() or found.stat().st_size != dataset["bytes"]:
        raise AssayError(f"{found} was not prepared as agreed", hint="run it again, with nobody else in that folder")
    return found


def folder_job(folder: str, entry: Json, size: int, seconds: float, cache: str) -> Json:
    """A job with one class on one file in a folder, in its closed loop."""
    return {
        "version": 1,
        "name": "beside fio",
        "targets": [{"id": "main", "kind": "folder", "members": [str(Path(folder).resolve())]}],
        "datasets": [{"name": "data", "target": "main", "bytes": size}],
        "classes": [{"name": "load", "dataset": "data", **entry}],
        "window": {"measure_s": seconds},
        "cache": cache,
    }
