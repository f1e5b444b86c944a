"""`assay rivals list`."""

from __future__ import annotations

from assay.cli.flags import JsonFlag


def list_(json: JsonFlag = False) -> None:
    """List the rivals, and which were built."""
    from assay.cli import output
    from assay.rivals import NAMES, PUBLISHED, listed, published

    built = {str(one["name"]): one for one in listed()}
    apart = {name: one for name in PUBLISHED if (one := published.built(name)) is not None}
    if json:
        output.emit(
            [
                *(built.get(name, {"name": name}) | {"built": name in built} for name in NAMES),
                *(apart.get(name, {"name": name}) | {"built": name in apart} for name in PUBLISHED),
            ]
        )
        return
    for name in NAMES:
        one = built.get(name)
        if one is None:
            output.say(f"{name:<11} not built: `assay rivals build {name}`")
        else:
            output.say(f"{name:<11} {one['version']}, durability {' or '.join(one['durabilities'])}")
    for name in PUBLISHED:
        if name not in apart:
            output.say(f"{name:<11} not built: `assay rivals build {name}`")
        else:
            commits = ", ".join(f"{source} {commit[:12]}" for source, commit in apart[name]["commits"].items())
            output.say(f"{name:<11} {commits}, by {apart[name]['compiler']}")
