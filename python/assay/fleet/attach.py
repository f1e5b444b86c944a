"""A host that is reached through a connection that somebody opened: it says who it is, takes what it lacks, and works.

Standard input has the orders, a JSON document a line, and its end is the end: whoever lost the connection has no worker
here any more. Keys arrive by it and stay in memory. Standard output has an answer for each order, behind a mark, since
shells of some hosts print a greeting first.
"""

from __future__ import annotations

import json
import os
import platform
import sys
from collections.abc import Callable
from pathlib import Path
from typing import IO

from assay import home
from assay.document import limits
from assay.document.identifier import Identifier
from assay.error import AssayError
from assay.fleet import address, programs, serve, work
from assay.fleet.error import FleetError
from assay.fleet.keys import Pair
from assay.untyped import Json

Say = Callable[[str], None]

MARK = "assay-fleet: "
_LONGEST_LINE = 1 << 20


def attend(say: Say) -> int:
    """Answers until the worker that was ordered has ended, or nobody is there any more."""
    serve.ready()
    say(MARK + json.dumps(_who()))
    orders = sys.stdin.buffer
    while line := orders.readline(_LONGEST_LINE):
        try:
            order = limits.json_document(line.decode(), "the order")
            if order["do"] == "work":
                return _work(order, say)
            found = _prepared(order, orders)
        except (ValueError, KeyError, TypeError) as error:
            raise FleetError(f"this is no order of a fleet: {error!r}", "have the same assay on all hosts") from error
        except AssayError as error:
            found = error.document()
        say(MARK + json.dumps(found))
    return 0


def _prepared(order: Json, orders: IO[bytes]) -> Json:
    """The program that is to be used: one that was sent before, or one that follows."""
    digest = str(order["sha256"])
    if order["do"] == "receive":
        programs.receive(orders, int(order["bytes"]), digest)
    elif order["do"] != "use":
        raise ValueError(order["do"])
    os.environ["ASSAYER"] = str(programs.path(digest))
    return _who()


def _who() -> Json:
    """What this host is, which program it would measure by, and by which addresses the connection was made."""
    about: Json = {"machine": platform.machine(), "programs": programs.here(), "assayer_sha256": ""}
    words = os.environ.get("SSH_CONNECTION", "").split()
    about |= {"caller": words[0], "called": words[2]} if len(words) > 2 else {"caller": "", "called": ""}
    about |= work.versions()
    try:
        return about | {"assayer_sha256": work.digest(home.binary())}
    except home.HomeError:
        return about


def _work(order: Json, say: Say) -> int:
    pair = Pair(*(_in_memory(str(order[part])) for part in ("authority", "certificate", "key")))
    where = address.parse(order["scheduler"], keyed=True)
    host = Identifier.parse(order["name"], "name of a host")
    listen = str(order["listen"])
    address.parse(f"tls://{listen}:0", keyed=True)
    return serve.worker(host, where, listen, pair, lambda found: say(MARK + json.dumps({"serves": found})), attached=0)


def _in_memory(text: str) -> Path:
    """A file that is on no drive and that no name leads to but this process's own; it ends with it."""
    handle = os.memfd_create("assay-fleet", os.MFD_CLOEXEC)
    os.write(handle, text.encode())
    return Path(f"/proc/{os.getpid()}/fd/{handle}")
