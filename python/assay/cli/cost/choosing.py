"""Runs `assay choose`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from assay.cli.cost.session import CostSession
from assay.executor.dispatch import Dispatcher
from assay.executor.work import WorkExecutor
from assay.price.choose.candidate import Candidate, cloud, own
from assay.price.choose.decision import Chooser, choose
from assay.price.choose.latency import CatalogLatencies, FileLatencies, Latencies
from assay.price.choose.twinned import TwinLatencies, with_twin
from assay.price.choose.volume import catalog_volumes
from assay.price.choose.workload import Workload
from assay.price.error import PriceError
from assay.price.reading import read
from assay.target import catalog


@dataclass(frozen=True)
class ChoiceFlags:
    """The arguments."""

    workload: Path
    objective: str
    cloud: str
    arch: str | None
    hardware: Path | None
    latencies: Path | None
    quotes: Path | None
    band: float
    json: bool


def run(asked: ChoiceFlags, executor: WorkExecutor | None = None) -> int:
    """Chooses and prints."""
    session = CostSession(asked.quotes, None, asked.band, asked.json)
    workload = read(asked.workload, Workload, "a workload")
    volumes = catalog_volumes()
    found = _candidates(asked, session)
    known = catalog.twins()
    found = [with_twin(candidate, known) for candidate in found]
    twins = {candidate.twin for candidate in found}
    latencies: Latencies = TwinLatencies(twins, workload.page, CatalogLatencies(volumes), Dispatcher(executor))
    if asked.latencies is not None:
        latencies = FileLatencies(asked.latencies, latencies)
    chooser = Chooser(session.ledger, workload, volumes, latencies)
    return session.show(choose(chooser, found, asked.objective, asked.band))


def _candidates(asked: ChoiceFlags, session: CostSession) -> list[Candidate]:
    names = [name.strip() for name in asked.cloud.split(",") if name.strip()]
    found = [] if names == ["none"] else cloud(names, session.ledger.book, asked.arch)
    found += [] if asked.hardware is None else own(asked.hardware)
    if not found:
        raise PriceError(
            "there is nothing to choose from", "name clouds with --cloud, or your machines with --hardware"
        )
    return found
