"""One name, one meaning: no type's name stands for more than three things."""

from tidy.names import homes, in_python, in_rust

MEANINGS = 3
#: Names that stood for more when this was counted, and for how many. A line may only go, or its number become smaller.
KNOWN = {
    "Block": 4,
    "Change": 4,
    "Db": 4,
    "Drive": 5,
    "Durability": 4,
    "Failure": 4,
    "Journal": 4,
    "Memory": 4,
    "Request": 4,
    "Result": 5,
    "Session": 4,
}


def test_no_name_of_a_type_stands_for_more_than_three_things() -> None:
    found = {name: places for name, places in homes().items() if len(places) > KNOWN.get(name, MEANINGS)}
    advice = "call one of them by the field's word for it"
    lines = [f"{name}: {' '.join(places)}; {advice}" for name, places in found.items()]
    assert not lines, "\n".join(lines)


def test_no_exception_outlives_its_reason() -> None:
    now = homes()
    stale = {name: len(now.get(name, ())) for name, most in KNOWN.items() if len(now.get(name, ())) < most}
    assert not stale, f"write in tests/tidy/test_names.py what is left of them: {stale}"


def test_types_are_found_where_others_can_see_them() -> None:
    rust = "pub(crate) struct A;\nstruct Own;\n// pub enum B\npub type C = u8;\n"
    rust += "#[cfg(test)]\nmod tests {\npub struct T;\n}\n"
    assert list(in_rust(rust)) == ["A", "C"]
    assert list(in_python("class A:\n    class Inner:\n        pass\n")) == ["A"]
