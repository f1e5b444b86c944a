"""`assay rivals list`."""

from __future__ import annotations

from assay.cli.flags import Json


def list_(json: Json = False) -> None:
    """List the rivals, and which were built."""
    from assay.cli import output
    from assay.rivals import NAMES, listed

    built = {str(one["name"]): one for one in listed()}
    if json:
        output.emit([built.get(name, {"name": name}) | {"built": name in built} for name in NAMES])
        return
    for name in NAMES:
        one = built.get(name)
        if one is None:
            output.say(f"{name:<11} not built: `assay rivals build {name}`")
        else:
            output.say(f"{name:<11} {one['version']}, durability {' or '.join(one['durabilities'])}")
