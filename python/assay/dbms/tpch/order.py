"""What a run of TPC-H is asked to do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from assay.dbms.grant import Grant
from assay.dbms.sqlserver.settings import from_flags
from assay.dbms.target import require_parts
from assay.dbms.tpch import data, engines, query
from assay.error import BAD_JOB, AssayError, did_you_mean
from assay.units.parse import parse_bytes, parse_seconds
from assay.untyped import Json

COLD, HOT, HOT_BUFFERS = "cold", "hot", "hot-sharedbuffers"
PROTOCOLS = (COLD, HOT, HOT_BUFFERS)
_WAYS = ("restart", "evict")


@dataclass(frozen=True)
class TpchFlags:
    """What was asked. `seed` draws parameters; without one they are those of the validation runs."""

    engine: engines.QueryWish = field(default_factory=engines.QueryWish)
    scale: float = 1.0
    protocol: str = COLD
    queries: Sequence[int] = query.NUMBERS
    seed: int | None = None
    files: Path | None = None

    def placed(self, parts: Mapping[str, str], grant: Grant) -> TpchFlags:
        """With the folders of its parts, and what the command line gives."""
        require_parts(parts)
        more: Json = {name: Path(folder) for name, folder in parts.items()}
        wish = replace(self.engine, pg_bin=grant.pg_bin, connect=grant.connect, **more)
        return replace(self, engine=wish)


def asked(
    engine: str = "duckdb",
    scale: str = "1",
    protocol: str = COLD,
    cold_by: str = "restart",
    queries: str = "1-22",
    parameters_seed: int | None = None,
    data_in: str = "",
    limit: str = "1h",
    buffers: str = "",
    pg_set: tuple[str, ...] = (),
    freeze_costs: bool = False,
    hybrid_buffer_pool: str = "",
    affinity: str = "",
    recovery_interval: int | None = None,
) -> TpchFlags:
    """What a command or a study's `[work]` asks for, in their words; `assay dbms tpch --help` says what each means."""
    if protocol not in PROTOCOLS:
        raise AssayError(f"data cannot be `{protocol}`", hint=did_you_mean(protocol, PROTOCOLS), code=BAD_JOB)
    if cold_by not in _WAYS:
        raise AssayError(f"buffers are not emptied by `{cold_by}`", hint=did_you_mean(cold_by, _WAYS), code=BAD_JOB)
    wish = engines.QueryWish(
        name=engine,
        limit_s=parse_seconds(limit),
        buffers_bytes=parse_bytes(buffers) if buffers else None,
        pg_settings=pg_set,
        freeze_costs=freeze_costs,
        evict=cold_by == "evict",
        sqlserver=from_flags(hybrid_buffer_pool, affinity, recovery_interval),
    )
    return TpchFlags(
        engine=wish,
        scale=data.scale_of(scale),
        protocol=protocol,
        queries=query.chosen(queries),
        seed=parameters_seed,
        files=Path(data_in) if data_in else None,
    )
