"""`--set key=value`, profiles and parts of compositions: settings laid over a study."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from pydantic import ValidationError

from assay.error import did_you_mean
from assay.study.expression import label_of
from assay.study.model import Choice, Scalar, Study
from assay.study.source import StudyError
from assay.target.target import Target

Value = Scalar | list[Scalar]

_STATE = ("cache", "cache_limit", "cool_down", "trim")
_WINDOW = ("warmup", "measure", "steady_after", "interval", "bytes")


@dataclass(frozen=True)
class SettingChange:
    """What a setting changed: the declared value and the one that was used."""

    declared: Any
    used: Any

    def document(self) -> dict[str, Any]:
        """As it stands in study.json."""
        return {"declared": self.declared, "used": self.used}


@dataclass(frozen=True)
class ExpandRequest:
    """A study to run, its settings laid over it: the name it has in the run, and what to run it on."""

    study: Study
    changes: dict[str, SettingChange] = field(default_factory=dict)
    name: str = ""
    title: str = ""
    targets: tuple[Target, ...] = ()
    seed: int = 0
    scratch: str = "assay-scratch"
    extra_labels: Mapping[str, str] = field(default_factory=dict)


def parse_settings(texts: Iterable[str]) -> dict[str, Value]:
    """`key=value` and `key=a,b,c` as typed on the command line."""
    found: dict[str, Value] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals or not key.strip() or not value.strip():
            raise StudyError(f"`--set {text}` is not a setting", "write --set key=value or --set key=a,b,c")
        parts = [_scalar(part) for part in value.split(",")]
        found[key.strip()] = parts if len(parts) > 1 else parts[0]
    return found


def _scalar(text: str) -> Scalar:
    text = text.strip()
    if text in ("true", "false"):
        return text == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def with_profile(study: Study, profile: str | None) -> ExpandRequest:
    """The study under one of its profiles."""
    if profile is None:
        return ExpandRequest(study, name=study.name, title=study.title)
    if profile not in study.profile:
        known = did_you_mean(profile, study.profile) or "it has none"
        raise StudyError(f"the study `{study.name}` has no profile `{profile}`", known)
    return apply(with_profile(study, None), study.profile[profile], f"[profile.{profile}]")


def apply(request: ExpandRequest, settings: Mapping[str, Value], origin: str = "--set") -> ExpandRequest:
    """Lays settings over a study. A key that the study does not have is refused."""
    study = request.study.model_copy(deep=True)
    changes = dict(request.changes)
    for key, value in settings.items():
        before, after = _apply_one(study, key, value, origin)
        first = changes[key].declared if key in changes else before
        if first != after:
            changes[key] = SettingChange(first, after)
        else:
            changes.pop(key, None)
    return replace(request, study=_checked(study, origin), changes=changes)


def keys_of(study: Study) -> set[str]:
    """Every key that can be set."""
    window = {f"window.{name}" for name in _WINDOW}
    return {*study.parameters, *study.matrix, *window, "repeats", *_STATE, "scenarios"}


def _apply_one(study: Study, key: str, value: Value, origin: str) -> tuple[Any, Any]:
    if key in study.matrix:
        return _set_factor(study, key, value, origin)
    if key in study.parameters:
        return _swap(study.parameters, key, _single(key, value, origin))
    if key.startswith("window.") and key[7:] in _WINDOW:
        return _set_attribute(study.window, key[7:], _single(key, value, origin))
    if key == "cache" and _is_size(value):
        # `cache=10GiB` bounds it, as it does for rivals and twins; `cache=cold` says in which state it is.
        key = "cache_limit"
    if key == "repeats" or key in _STATE:
        return _set_attribute(study, key, _single(key, value, origin))
    if key == "scenarios":
        return _set_attribute(study, key, value if isinstance(value, list) else [value])
    hint = did_you_mean(key, keys_of(study))
    raise StudyError(f"{origin}: the study `{study.name}` has no parameter and no factor `{key}`", hint)


def _is_size(value: Value) -> bool:
    """It begins as a quantity does; whether it is one is checked with everything else."""
    return isinstance(value, int | float) or (isinstance(value, str) and value[:1].isdigit())


def _single(key: str, value: Value, origin: str) -> Scalar:
    if isinstance(value, list):
        raise StudyError(
            f"{origin}: `{key}` is a parameter and takes one value", "only factors of the matrix take lists"
        )
    return value


def _swap(table: dict[str, Any], key: str, value: Any) -> tuple[Any, Any]:
    before = table[key]
    table[key] = value
    return before, value


def _set_attribute(table: Any, key: str, value: Any) -> tuple[Any, Any]:
    before = getattr(table, key)
    setattr(table, key, value)
    return before, value


def _set_factor(study: Study, key: str, value: Value, origin: str) -> tuple[Any, Any]:
    before = study.matrix[key]
    choices = {choice.name: choice for choice in before if isinstance(choice, Choice)}
    wanted = _listed(choices, value)
    study.matrix[key] = [_choice(choices, key, item, origin) for item in wanted] if choices else list(wanted)
    return [_name(item) for item in before], [_name(item) for item in study.matrix[key]]


def _listed(choices: Mapping[str, Choice], value: Value) -> list[Scalar]:
    """The values that were typed; parts that make up a name with commas in it are one value."""
    if not isinstance(value, list):
        return [value]
    found: list[Scalar] = []
    at = 0
    while at < len(value):
        ends = range(len(value), at, -1)
        end = next((end for end in ends if ", ".join(map(label_of, value[at:end])) in choices), at + 1)
        found.append(", ".join(map(label_of, value[at:end])) if end > at + 1 else value[at])
        at = end
    return found


def _choice(choices: Mapping[str, Choice], key: str, wanted: Scalar, origin: str) -> Choice:
    """The choice of that name, or the only one that begins with it."""
    text = label_of(wanted)
    if text in choices:
        return choices[text]
    beginning = [name for name in choices if name.startswith(text)]
    if len(beginning) == 1:
        return choices[beginning[0]]
    raise StudyError(f"{origin}: `{key}` has no value `{text}`", did_you_mean(text, choices))


def _name(value: Choice | Scalar) -> Scalar:
    return value.name if isinstance(value, Choice) else value


def _checked(study: Study, origin: str) -> Study:
    try:
        return Study.model_validate(study.model_dump(by_alias=True))
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        field_name = ".".join(str(part) for part in problem["loc"])
        raise StudyError(f"{origin}, {field_name}: {problem['msg'].removeprefix('Value error, ')}") from error
