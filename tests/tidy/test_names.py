"""One name, one meaning: no type's name stands for more than three things."""

from tidy.names import homes, in_python, in_rust

MEANINGS = 3


def test_no_name_of_a_type_stands_for_more_than_three_things() -> None:
    found = {name: places for name, places in homes().items() if len(places) > MEANINGS}
    advice = "call one of them by the field's word for it"
    lines = [f"{name}: {' '.join(places)}; {advice}" for name, places in found.items()]
    assert not lines, "\n".join(lines)


def test_types_are_found_where_others_can_see_them() -> None:
    rust = "pub(crate) struct A;\nstruct Own;\n// pub enum B\npub type C = u8;\n"
    rust += "#[cfg(test)]\nmod tests {\npub struct T;\n}\n"
    assert list(in_rust(rust)) == ["A", "C"]
    assert list(in_python("class A:\n    class Inner:\n        pass\n")) == ["A"]
