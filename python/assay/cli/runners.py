"""Who does the kinds of work that are driven from Python: loaded when a study has such work."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from assay.mount.drive import PREFIX
from assay.study import source
from assay.study.model import Study, WorkTable
from assay.study.work.kind import DRIVEN
from assay.study.work.runners import register, register_waits

if TYPE_CHECKING:
    from assay.bench.contests import ContestRunner
    from assay.dbms.tpcc.runner import TpccRunner
    from assay.dbms.tpch.runner import TpchRunner
    from assay.dbms.wtperf.runner import WtperfRunner


def _contest() -> ContestRunner:
    from assay.bench.contests import ContestRunner

    return ContestRunner()


def _tpcc() -> TpccRunner:
    from assay.dbms.tpcc.runner import TpccRunner

    return TpccRunner()


def _tpch() -> TpchRunner:
    from assay.dbms.tpch.runner import TpchRunner

    return TpchRunner()


def _wtperf() -> WtperfRunner:
    from assay.dbms.wtperf.runner import WtperfRunner

    return WtperfRunner()


def _waits(twin: str) -> dict[str, Any]:
    from assay.index.waits import as_if

    return as_if(twin)


register_waits(_waits)
register({"contest": _contest, "dbms-tpcc": _tpcc, "dbms-tpch": _tpch, "dbms-wtperf": _wtperf})


def written(
    named: tuple[str, str],
    question: str,
    repeats: int,
    table: Mapping[str, Any],
    matrix: Mapping[str, Sequence[Any]] | None = None,
    targets: Sequence[str] = ("folder",),
) -> Study:
    """A study as a command is short for it; `table` is its `[work]`, and `matrix` what it has several values of.

    `named` is its name, and the words of the command.
    """
    name, command = named
    columns = matrix or {}
    document = {
        "name": name,
        "title": name.upper(),
        "question": question,
        "source": f"`assay {command}`",
        "repeats": repeats,
        "targets": list(targets),
        "matrix": {key: list(values) for key, values in columns.items()},
        "work": {key: value for key, value in table.items() if value not in (None, "", [])}
        | {key: f"${{{key}}}" for key, values in columns.items() if not isinstance(values[0], Mapping)},
    }
    return Study.model_validate(document)


def users_of(study: str | Study, on: Sequence[str]) -> tuple[int, ...]:
    """Users besides this one who work on drives that are played, where a study runs servers."""
    if _driven(study, on) is None:
        return ()
    from assay.dbms.postgres.user import server_users

    return server_users()


def bracketed(study: str | Study, on: Sequence[str]) -> bool:
    """Whether a drive that is played late has the same work once more, slowed down: databases that run freely.

    Work at a given pace, or by terminals that think, keeps this machine's time whatever the drive's is.
    """
    work = _driven(study, on)
    return work is not None and not any((work.model_extra or {}).get(name) for name in ("rate", "think"))


def _driven(study: str | Study, on: Sequence[str]) -> WorkTable | None:
    """A database's work on drives that are played; none where it is something else."""
    if not any(PREFIX in one for one in on):
        return None
    document = study if isinstance(study, Study) else source.read(study)
    if not isinstance(document, Study) or document.work is None or document.work.kind not in DRIVEN:
        return None
    return document.work
