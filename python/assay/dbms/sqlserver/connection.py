"""Connection strings, and connections of python-tds."""

from __future__ import annotations

import socket
from dataclasses import dataclass
from typing import Any, Protocol

from assay.dbms import secret
from assay.error import BAD_JOB, NOT_POSSIBLE, AssayError


class ServerError(AssayError):
    """The server cannot be reached, or refuses."""


class Connection(Protocol):
    """What is used of the library's connections."""

    def cursor(self) -> Any:
        """A new cursor."""

    def close(self) -> None:
        """Ends it."""


@dataclass(frozen=True)
class Address:
    """Where a server is, and who asks."""

    server: str
    user: str
    password: str
    port: int = 1433
    database: str = "master"


_TIMEOUT_S = 15
_KEYS = {
    **dict.fromkeys(("server", "data source", "addr", "address"), "server"),
    **dict.fromkeys(("user", "user id", "uid"), "user"),
    **dict.fromkeys(("password", "pwd"), "password"),
    **dict.fromkeys(("database", "initial catalog"), "database"),
}
# What other libraries want said and this one does not need.
_IGNORED = ("driver", "encrypt", "trustservercertificate", "application name", "app")


def address(text: str) -> Address:
    """`Server=host,1433;User Id=sa`; the password comes from where no other user sees it.

    Raises:
        ServerError: where a part is missing or unknown. The password is in no message.
    """
    found: dict[str, str] = {}
    for part in filter(None, (word.strip() for word in text.split(";"))):
        key, equals, value = part.partition("=")
        name = key.strip().lower()
        if not equals or (name not in _KEYS and name not in _IGNORED):
            raise _wrong(f"`{key.strip()}` is no part of a connection string")
        if name in _KEYS:
            found[_KEYS[name]] = value.strip()
    missing = [name for name in ("server", "user") if not found.get(name)]
    if missing:
        raise _wrong(f"the connection string has no {' and no '.join(missing)}")
    if not found.get("password"):
        found["password"] = secret.password(f"{found['user']} at {found['server']}")
    host, _, port = found["server"].removeprefix("tcp:").partition(",")
    if port and not port.strip().isdigit():
        raise _wrong(f"`{port}` is no port")
    database = found.get("database", "master")
    return Address(host.strip(), found["user"], found["password"], int(port or 1433), database)


def _wrong(message: str) -> ServerError:
    return ServerError(message, hint="write Server=HOST,PORT;User Id=NAME", code=BAD_JOB)


def connect(where: Address) -> Connection:
    """A connection in autocommit mode."""
    import pytds  # type: ignore[import-untyped]

    try:
        # The library tries again and again where nobody listens.
        socket.create_connection((where.server, where.port), _TIMEOUT_S).close()
        found: Connection = pytds.connect(
            dsn=where.server,
            port=where.port,
            user=where.user,
            password=where.password,
            database=where.database,
            autocommit=True,
            login_timeout=_TIMEOUT_S,
        )
    except (OSError, pytds.Error) as error:
        words = str(error).strip() or type(error).__name__
        message = f"SQL Server at {where.server}:{where.port} takes no connection: {words}"
        raise ServerError(
            message, hint="look whether it runs, and whether the user may log in", code=NOT_POSSIBLE
        ) from error
    return found
