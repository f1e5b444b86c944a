"""A server, asked on a connection of its own each time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from assay.dbms.sqlserver.connection import Address, Connection, ServerError, connect
from assay.error import FAILED

Connector = Callable[[Address], Connection]


class SqlServer:
    """A server, and who asks it."""

    def __init__(self, address: Address, connector: Connector = connect) -> None:
        self.address = address
        self._connector = connector

    def do(self, sql: str) -> None:
        """Runs a statement outside of any transaction."""
        self._execute(sql, rows=False)

    def ask(self, sql: str) -> list[Any]:
        """The rows of a query."""
        return self._execute(sql, rows=True)

    def _execute(self, sql: str, *, rows: bool) -> list[Any]:
        connection = self._connector(self.address)
        try:
            cursor = connection.cursor()
            cursor.execute(sql)
            return list(cursor.fetchall()) if rows else []
        except Exception as error:
            words = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise ServerError(f"sqlserver: {words}", hint="the server's own words", code=FAILED) from error
        finally:
            connection.close()
