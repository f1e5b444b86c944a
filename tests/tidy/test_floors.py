"""The Python rooms stand on floors: arrows go down, nothing imports in a circle, and the house is not too tall."""

import pytest
from tidy.files import ROOT, matching, place, text
from tidy.floors import circles, floors, graph, imports, modules, rooms

FLOORS = 9
# Who may use whom. A room that is not named here has no place yet: give it one.
GROUND = {"error", "home", "lease", "record", "space", "untyped", "version"}
ARROWS: dict[str, set[str]] = {
    "stats": set(),
    "packages": {"error", "home"},
    "binary": GROUND,
    "executor": GROUND | {"binary"},
    "soak": GROUND | {"binary", "own", "executor"},
    "own": GROUND | {"binary"},
    "mount": GROUND | {"target", "twin"},
    "document": GROUND,
    "machine": GROUND,
    "units": GROUND,
    "fio": GROUND | {"document", "trace", "units"},
    "results": GROUND | {"document", "units"},
    "rivals": GROUND | {"binary", "document"},
    "target": GROUND | {"document", "units"},
    "trace": GROUND | {"document"},
    "charts": GROUND | {"units", "results"},
    "study": GROUND | {"packages", "lease", "stats", "binary", "document", "units", "results", "target", "rivals"},
    "compare": GROUND | {"stats", "binary", "units", "results", "target", "charts", "study"},
    "twin": GROUND | {"executor", "stats", "binary", "document", "units", "results", "target", "charts", "study"},
    "advise": GROUND | {"binary", "units", "results", "target", "study", "compare"},
    "passport": GROUND | {"binary", "document", "units", "results", "target", "twin"},
    "fleet": GROUND
    | {"stats", "binary", "document", "units", "results", "machine", "charts", "target", "study", "compare"}
    | {"executor", "soak", "explore", "claim", "twin"},
    "dbms": GROUND | {"packages", "own", "stats", "binary", "units", "results", "target", "rivals", "study", "twin"},
    "explore": GROUND | {"executor", "binary", "results", "target", "twin"},
    "price": GROUND | {"executor", "binary", "document", "units", "results", "target", "twin"},
    "claim": GROUND | {"executor", "binary", "document", "units", "results", "target", "study", "price", "twin"},
    "index": GROUND | {"binary", "units", "results", "target", "charts", "study", "twin", "price"},
    "atlas": GROUND | {"binary", "document", "units", "results", "target", "twin", "passport", "price", "charts"},
    "report": GROUND | {"units", "results", "charts", "advise", "price"},
    "bench": GROUND
    | {"own", "stats", "binary", "units", "compare", "fio", "rivals", "target", "study", "twin", "dbms", "index"},
    "notebook": GROUND | {"binary", "units", "stats", "results", "target", "study", "compare", "charts", "report"},
    "cli": {
        *(
            *GROUND,
            "packages",
            "own",
            "executor",
            "soak",
            "mount",
            "binary",
            "document",
            "units",
            "results",
            "rivals",
            "target",
            "trace",
            "study",
            "compare",
            "twin",
        ),
        *(
            "passport",
            "atlas",
            "stats",
            "advise",
            "dbms",
            "price",
            "claim",
            "index",
            "report",
            "bench",
            "fio",
            "machine",
            "fleet",
            "explore",
        ),
    },
    # The doors: `import assay` and `python -m assay`.
    "assay": {"version", "packages", "notebook"},
    "__main__": {"cli"},
    **{name: set() for name in GROUND},
}


def test_rooms_use_only_rooms_below() -> None:
    found = []
    for name, used in sorted(rooms(graph(ROOT / "python", "assay")).items()):
        if name not in ARROWS:
            found.append(f"python/assay/{name} has no place among the arrows; give it one in {__file__}")
        else:
            found += [f"{name} -> {other}: this arrow runs against the design" for other in sorted(used - ARROWS[name])]
    assert not found, "\n".join(found)


def test_the_drawn_arrows_have_no_circle_and_few_floors() -> None:
    assert not circles(ARROWS)
    inside = {name: used for name, used in ARROWS.items() if name not in {"assay", "__main__"}}
    assert len(floors(inside)) <= FLOORS


def test_files_do_not_import_in_circles() -> None:
    found = circles(graph(ROOT / "python", "assay"))
    assert not found, "\n".join(f"in a circle: {' '.join(one)}" for one in found)


def test_the_product_reaches_the_lab_through_its_commands_only() -> None:
    lab = set(modules(ROOT / "lab", "assay_lab"))
    found = [
        f"{place(path)} imports {name}"
        for path in matching("python/**/*.py")
        if "cli" not in path.parts
        for name in imports(text(path), "x", lab)
    ]
    assert not found, "\n".join(found)


def test_circles_and_floors_are_found() -> None:
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) == [["a", "b", "c"]]
    assert circles({"a": {"b"}, "b": set()}) == []
    assert floors({"a": {"b", "c"}, "b": {"c"}, "c": set()}) == [{"c"}, {"b"}, {"a"}]
    with pytest.raises(ValueError, match="circles"):
        floors({"a": {"b"}, "b": {"a"}})
    known = {"p", "p.a", "p.b", "p.b.c"}
    assert imports("from p.b import c\nfrom p.a import x", "q", known) == {"p.b.c", "p.a"}
    assert imports("def f():\n    from .b import c\n    import p.a", "p.x", known) == {"p.b.c", "p.a"}
    assert imports("from . import c", "p.b", known, is_package=True) == {"p.b.c"}
