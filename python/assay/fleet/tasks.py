"""All that a worker does for others: tasks by name, with arguments and answers in JSON."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from assay.document import limits
from assay.error import BAD_JOB, FAILED, AssayError
from assay.untyped import Json


def perform(name: str, arguments: str) -> str:
    """Runs a task of this list; the one function that Dask calls. What goes wrong is an answer too."""
    try:
        return json.dumps({"answer": _named(name)(limits.json_document(arguments, "the task's arguments"))})
    except AssayError as error:
        return json.dumps(error.document())
    except Exception as error:  # noqa: BLE001  A defect here is told there, where somebody reads it.
        told = AssayError(f"the task {name} failed: {type(error).__name__}: {error}", code=FAILED)
        return json.dumps(told.document())


def _named(name: str) -> Callable[[Json], Any]:
    from assay.fleet import bend, computing, work

    found: dict[str, Callable[[Json], Any]] = {
        "look": work.look,
        "examine": work.examine,
        "bend": bend.on_host,
        "plan": work.plan_cells,
        "prepare": work.prepare,
        "run": work.run,
        "kept": work.kept,
        "finish": work.finish,
        "compute": computing.compute,
    }
    if name not in found:
        message = f"`{name}` is no task of a fleet"
        raise AssayError(message, hint=f"known are {', '.join(found)}", code=BAD_JOB)
    return found[name]
