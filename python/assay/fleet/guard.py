"""No code from strangers: what a fleet unpickles names Assay's one task and Dask's own envelopes, nothing else.

Dask sends functions as pickles, and a pickle may name anything that can be imported, or carry code with it. Here a name
that is not on the list is refused before it is looked up.
"""

from __future__ import annotations

import builtins
import io
import pickle
from collections.abc import Iterable
from typing import Any

TASK = ("assay.fleet.tasks", "perform")
_KINDS = ("str", "int", "float", "bool", "bytes", "dict", "list", "tuple", "set", "frozenset")
_ERRORS = ("traceback", "exception", "exception_with_attrs")


def _is_error(kind: object) -> bool:
    return isinstance(kind, type) and issubclass(kind, Exception)


ALLOWED = frozenset(
    {
        TASK,
        ("dask._expr", "LLGExpr"),
        ("dask._expr", "Expr._reconstruct"),
        ("dask._task_spec", "Task"),
        ("distributed.scheduler", "KilledWorker"),
        ("distributed.scheduler", "NoValidWorkerError"),
        ("assay.fleet.guard", "StrangeError"),
        # What a lost worker is told by: the state of that worker.
        ("distributed.scheduler", "WorkerState"),
        ("distributed.core", "Status"),
        # Errors with their tracebacks, which hold names and lines and no code.
        *(("tblib", name) for name in ("Frame", "Code", "Traceback")),
        *(("tblib.pickling_support", f"unpickle_{name}") for name in _ERRORS),
        *(("builtins", kind) for kind in _KINDS),
        *(("builtins", name) for name, kind in vars(builtins).items() if _is_error(kind)),
    }
)


class StrangeError(pickle.UnpicklingError):
    """A pickle names what is not among the tasks of a fleet."""


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in ALLOWED:
            raise StrangeError(f"{module}.{name} is refused: a fleet runs the named tasks of Assay and nothing else")
        return super().find_class(module, name)


def loads(data: Any, /, *, buffers: Iterable[Any] | None = None, **_: Any) -> Any:
    """As `pickle.loads`, for the names that are allowed."""
    return _Unpickler(io.BytesIO(bytes(data)), buffers=buffers).load()


class _Guarded:
    """Stands where Dask's modules have the module `pickle`."""

    loads = staticmethod(loads)

    def __getattr__(self, name: str) -> Any:
        if name in ("load", "Unpickler"):
            raise StrangeError(f"pickle.{name} is not used in a fleet")
        return getattr(pickle, name)


def install() -> None:
    """For every process of a fleet, before it speaks to another one."""
    import distributed.client
    import distributed.protocol.pickle
    import distributed.scheduler

    guarded = _Guarded()
    for module in (distributed.protocol.pickle, distributed.scheduler, distributed.client):
        vars(module)["pickle"] = guarded
