"""Settings of the studies, as statements: hybrid buffer pool, affinity, recovery interval, temporary database."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePath


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

    def database_statements(self, database: str) -> list[str]:
        """For one database."""
        if self.hybrid_buffer_pool is None:
            return []
        return [f"alter database [{database}] set memory_optimized = {'on' if self.hybrid_buffer_pool else 'off'}"]


def quoted(text: str) -> str:
    """A text as a literal."""
    return "N'" + text.replace("'", "''") + "'"
