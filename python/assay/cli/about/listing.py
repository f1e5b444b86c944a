"""`assay list`, `assay schema` and `assay completion`."""

from __future__ import annotations

import tomllib

from assay import home
from assay.binary import Binary
from assay.cli import output
from assay.error import BAD_JOB, DONE, AssayError, did_you_mean
from assay.untyped import Json

_DOCUMENTS = ("job", "event", "passport", "record", "study", "twin")
_LISTS = ("studies", "paths", "twins", "hosts")
_SHELLS = ("bash", "zsh", "fish")


def show(what: str, on: list[str], as_json: bool) -> int:
    """Lists studies, paths, twins or hosts."""
    if what == "studies":
        return _studies(as_json)
    if what == "paths":
        return _paths(on, as_json)
    if what in ("twins", "hosts"):
        from assay.cli.twins.show import show_hosts, show_twins

        return show_twins(as_json) if what == "twins" else show_hosts(as_json)
    raise AssayError(f"`{what}` cannot be listed", hint=did_you_mean(what, _LISTS), code=BAD_JOB)


def _studies(as_json: bool) -> int:
    files = sorted(home.studies().glob("*.toml"))
    found = [_study(path.read_text(encoding="utf-8")) for path in files]
    if as_json:
        output.emit(found)
        return DONE
    width = max((len(entry["name"]) for entry in found), default=0)
    for entry in found:
        output.say(f"{entry['name']:{width}}  {entry['question']}")
    return DONE


def _study(text: str) -> Json:
    document = tomllib.loads(text)
    return {key: document.get(key, "") for key in ("name", "title", "question", "source")}


def _paths(on: list[str], as_json: bool) -> int:
    found: list[Json] = Binary.find().document("probe", *(word for place in on or ["."] for word in ("--on", place)))
    if as_json:
        output.emit(found)
        return DONE
    for entry in found:
        name = f"{entry['path']} {entry.get('variant') or ''}".strip()
        state = (
            "available" if entry["available"] else f"not available: {output.sentences(entry['reason'], entry['fix'])}"
        )
        output.say(f"{entry.get('on') or '-'}  {name}: {state}")
    return DONE


def show_schema(document: str) -> int:
    """Prints a JSON Schema."""
    if document not in _DOCUMENTS:
        raise AssayError(f"there is no schema `{document}`", hint=did_you_mean(document, _DOCUMENTS), code=BAD_JOB)
    if document == "study":
        from assay.study.model import schema

        output.emit(schema())
    elif document == "passport":
        from assay.passport.document import schema as of_passport

        output.emit(of_passport())
    else:
        output.emit(Binary.find().document("schema", document))
    return DONE


def show_completion(shell: str, as_json: bool) -> int:
    """Prints a completion script."""
    if shell not in _SHELLS:
        raise AssayError(f"there is no completion for `{shell}`", hint=did_you_mean(shell, _SHELLS), code=BAD_JOB)
    from typer._completion_shared import get_completion_script

    script = get_completion_script(prog_name="assay", complete_var="_ASSAY_COMPLETE", shell=shell)
    if as_json:
        output.emit({"shell": shell, "script": script})
    else:
        output.say(script)
    return DONE
