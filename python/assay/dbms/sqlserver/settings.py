"""Settings of the studies, as statements: hybrid buffer pool, affinity, recovery interval, temporary database."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from assay.error import BAD_JOB, AssayError

Rows = Sequence[Sequence[Any]]


@dataclass(frozen=True)
class Settings:
    """What the run sets. None leaves a thing as the server has it.

    `cpus` are first and last logical CPU, `recovery_minutes` how much work a restart may have to repeat: a long one
    pushes checkpoints out of the window.
    """

    hybrid_buffer_pool: bool | None = None
    cpus: tuple[int, int] | None = None
    recovery_minutes: int | None = None
    temp: PurePath | None = None

    def server_statements(self) -> list[str]:
        """For the whole server. The hybrid buffer pool and the temporary database's place want a restart after them."""
        found = []
        if self.hybrid_buffer_pool is not None:
            state = "on" if self.hybrid_buffer_pool else "off"
            found.append(f"alter server configuration set memory_optimized hybrid_buffer_pool = {state}")
        if self.cpus is not None:
            found.append(f"alter server configuration set process affinity cpu = {self.cpus[0]} to {self.cpus[1]}")
        if self.recovery_minutes is not None:
            found += [
                "exec sp_configure 'show advanced options', 1",
                "reconfigure",
                f"exec sp_configure 'recovery interval (min)', {self.recovery_minutes}",
                "reconfigure",
            ]
        if self.temp is not None:
            for name, file in (("tempdev", "tempdb.mdf"), ("templog", "templog.ldf")):
                where = quoted(str(self.temp / file))
                found.append(f"alter database tempdb modify file (name = {name}, filename = {where})")
        return found

    def server_statements_back(self, ask: Callable[[str], Rows]) -> list[str]:
        """What puts the server back as it is now, asked before anything is set.

        The temporary database's files stay where they were put: the server moves them at a restart of its own.
        """
        found = []
        if self.hybrid_buffer_pool is not None:
            rows = ask("select is_configured from sys.server_memory_optimized_hybrid_buffer_pool_configuration")
            state = "on" if rows and rows[0][0] else "off"
            found.append(f"alter server configuration set memory_optimized hybrid_buffer_pool = {state}")
        if self.cpus is not None:
            rows = ask("select affinity_type_desc from sys.dm_os_sys_info")
            if rows and str(rows[0][0]).upper() == "MANUAL":
                cpus = ask("select cpu_id from sys.dm_os_schedulers where status = 'VISIBLE ONLINE' order by cpu_id")
                word = ", ".join(str(int(row[0])) for row in cpus)
            else:
                word = "auto"
            found.append(f"alter server configuration set process affinity cpu = {word}")
        if self.recovery_minutes is not None:
            rows = ask("select value from sys.configurations where name = 'recovery interval (min)'")
            minutes = int(rows[0][0]) if rows else 0
            found += [f"exec sp_configure 'recovery interval (min)', {minutes}", "reconfigure"]
        return found

    def document(self) -> dict[str, Any]:
        """What stands in records."""
        pool = self.hybrid_buffer_pool
        return {
            "hybrid_buffer_pool": "as it is" if pool is None else "on" if pool else "off",
            "cpus": list(self.cpus) if self.cpus else "as they are",
            "recovery_minutes": "as it is" if self.recovery_minutes is None else self.recovery_minutes,
            "temporary_database": "moved at the server's next restart" if self.temp else "as it is",
        }

    def database_statements(self, database: str) -> list[str]:
        """For one database."""
        if self.hybrid_buffer_pool is None:
            return []
        return [f"alter database [{database}] set memory_optimized = {'on' if self.hybrid_buffer_pool else 'off'}"]


def quoted(text: str) -> str:
    """A text as a literal."""
    return "N'" + text.replace("'", "''") + "'"


def from_flags(hybrid_buffer_pool: str, affinity: str, recovery_minutes: int | None) -> Settings | None:
    """Settings as they were typed; none where nothing was.

    Raises:
        AssayError: where a word means nothing.
    """
    if not hybrid_buffer_pool and not affinity and recovery_minutes is None:
        return None
    if hybrid_buffer_pool not in ("", "on", "off"):
        message = f"`{hybrid_buffer_pool}` is no state of the hybrid buffer pool"
        raise AssayError(message, hint="on or off", code=BAD_JOB)
    match = re.fullmatch(r"(\d+)(?:-(\d+))?", affinity) if affinity else None
    cpus = (int(match[1]), int(match[2] or match[1])) if match else None
    if affinity and (cpus is None or cpus[0] > cpus[1]):
        raise AssayError(f"`{affinity}` is no range of CPUs", hint="first and last, such as 0-7", code=BAD_JOB)
    pool = hybrid_buffer_pool == "on" if hybrid_buffer_pool else None
    return Settings(pool, cpus, recovery_minutes)
