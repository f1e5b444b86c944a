"""A server that somebody else runs. Assay uses it only when it is named and `--external` is given; it never starts,
stops or configures it, and touches no schema but its own."""

from __future__ import annotations

from typing import Any

import psycopg
from psycopg.conninfo import make_conninfo

from assay.dbms import secret
from assay.dbms.postgres.error import PostgresError
from assay.error import BAD_JOB

Connection = psycopg.Connection[Any]


class External:
    """A server behind a connection string."""

    def __init__(self, connection_string: str, allowed: bool) -> None:
        if not allowed:
            message = "a connection string names a server that Assay did not start"
            raise PostgresError(message, hint="give --external as well if Assay may work there", code=BAD_JOB)
        word = secret.known()
        self.connection_string = make_conninfo(connection_string, password=word) if word else connection_string

    def connect(self) -> Connection:
        """A connection in autocommit mode."""
        try:
            return psycopg.connect(self.connection_string, autocommit=True)
        except psycopg.Error as error:
            said = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
            message = f"the server does not answer: {said}"
            raise PostgresError(message, hint="check the connection string with psql", code=BAD_JOB) from error
