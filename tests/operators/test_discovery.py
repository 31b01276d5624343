"""Operators found in modules, in the library and in installed packages; and what subscriptions call of them."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tamis import Matcher
from tamis.operators import OPERATORS, OperatorError, uninstall
from tamis.operators.discovery import OperatorSettings, check_installed, load_operators
from tests.operators.recording import Recorded

Put = Callable[[str, str], str]

DECORATED = """
from tamis.operators import operator

@operator("{name}", ["bigint"], "bigint", batch=False)
def {name}(value):
    "Adds one."
    return value + 1
"""
RETURNED = """
from tamis.operators import Operator
from tamis.values.types import BIGINT

def made():
    return [Operator("{name}", (BIGINT,), BIGINT, lambda value: value, batch=False)]

number = 3

def numbers():
    return [number]
"""


@pytest.fixture
def put(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Put]:
    """Writes a module where Python finds it; what it installs is gone after the test."""
    before = dict(OPERATORS)
    written: list[str] = []
    monkeypatch.syspath_prepend(tmp_path)

    def put(name: str, text: str) -> str:
        (tmp_path / f"{name}.py").write_text(text)
        importlib.invalidate_caches()
        written.append(name)
        return name

    yield put
    for name in OPERATORS.keys() - before.keys():
        uninstall(name)
    for name in written:
        sys.modules.pop(name, None)


def test_a_module_installs_its_operators(put: Put) -> None:
    load_operators([put("ops_decorated", DECORATED.format(name="next_one"))])
    assert OPERATORS["next_one"].description == "Adds one."


def test_a_function_of_a_module_returns_operators(put: Put) -> None:
    load_operators([put("ops_returned", RETURNED.format(name="same_one")) + ":made"])
    assert OPERATORS["same_one"].signature == "same_one(bigint) bigint"


def test_loading_again_changes_nothing_and_brings_back_what_is_gone(put: Put) -> None:
    modules = [put("ops_again", DECORATED.format(name="again")), put("made_again", RETURNED.format(name="mine"))]
    modules[1] += ":made"
    load_operators(modules)
    first = OPERATORS["again"], OPERATORS["mine"]
    load_operators(modules)
    assert (OPERATORS["again"], OPERATORS["mine"]) == first
    uninstall("again", "mine")
    load_operators(modules)
    assert (OPERATORS["again"], OPERATORS["mine"]) == first


def test_the_library_is_loaded_with_settings_and_the_last_ones_hold() -> None:
    home, work = ({"networks": {"networks": {"ours": [net]}}} for net in ("10.0.0.0/8", "192.168.0.0/16"))
    matcher = None
    try:
        for settings, expected in ((home, ["inside"]), (work, []), (home, ["inside"])):
            load_operators(library=settings)
            matcher = Matcher({"attributes": {"ip": "string"}})
            matcher.add("inside", "in_network(ip, 'ours')")
            assert matcher.match({"ip": "10.1.2.3"}) == expected
    finally:
        uninstall("in_network")


@pytest.mark.parametrize(
    ("module", "reason"),
    [
        ("ops_nowhere", "module ops_nowhere cannot be loaded: ModuleNotFoundError: No module named 'ops_nowhere'"),
        ("ops_broken", "module ops_broken cannot be loaded: ZeroDivisionError: division by zero"),
        ("ops_good:nothing", "module ops_good:nothing cannot be loaded: AttributeError: .*nothing"),
        ("ops_good:number", "expected a function that returns operators, found 3"),
        ("ops_good:numbers", r"expected operators from numbers\(\), found \[3\]"),
        ("ops_upper", "module ops_upper cannot be loaded: operator 'Upper': a name is lower case"),
    ],
)
def test_what_cannot_be_loaded_is_named_with_the_reason(put: Put, module: str, reason: str) -> None:
    put("ops_broken", "1 / 0")
    put("ops_good", RETURNED.format(name="good_one"))
    put("ops_upper", DECORATED.format(name="Upper"))
    with pytest.raises(OperatorError, match=reason):
        load_operators([module])


def test_a_library_that_is_unknown_is_named() -> None:
    with pytest.raises(OperatorError, match=r"library netwroks cannot be loaded: .*did you mean 'networks'"):
        load_operators(library={"netwroks": {}})


def package(folder: Path, name: str, points: dict[str, str]) -> None:
    """A package as an installer leaves it, with entry points."""
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    lines = "\n".join(f"{point} = {value}" for point, value in points.items())
    (info / "entry_points.txt").write_text(f"[tamis.operators]\n{lines}\n")


def test_installed_packages_are_found(put: Put, tmp_path: Path) -> None:
    put("pack_decorated", DECORATED.format(name="packed"))
    put("pack_returned", RETURNED.format(name="handed"))
    package(tmp_path, "pack", {"one": "pack_decorated", "two": "pack_returned:made"})
    load_operators(entry_points=False)
    assert not {"packed", "handed"} & OPERATORS.keys()
    load_operators()
    assert {"packed", "handed"} <= OPERATORS.keys()


def test_a_broken_package_is_named(put: Put, tmp_path: Path) -> None:
    put("pack_broken", "raise RuntimeError('not today')")
    package(tmp_path, "brittle", {"ops": "pack_broken"})
    with pytest.raises(OperatorError, match=r"package brittle, entry point ops \(pack_broken\) .*not today"):
        load_operators()


def test_settings_are_plain_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    settings = OperatorSettings(("a.b", "c:d"), {"spatial": {"regions": Path("r.json"), "name": "n"}}, ("/x",))
    content = json.loads(json.dumps(settings.to_dict()))
    assert content["library"] == {"spatial": {"regions": str(tmp_path / "r.json"), "name": "n"}}
    assert OperatorSettings.from_dict(content) == settings
    assert hash(OperatorSettings.from_dict(content)) == hash(settings)
    assert OperatorSettings.of(["a.b"]) == OperatorSettings.of("a.b") == OperatorSettings(("a.b",))
    with pytest.raises(OperatorError, match="expected values as JSON has them: found <built-in function print>"):
        OperatorSettings((), {"models": {"models": print}})


def test_paths_of_settings_are_looked_in(put: Put, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path])
    aside = tmp_path / "aside"
    aside.mkdir()
    (aside / "ops_aside.py").write_text(DECORATED.format(name="aside_one"))
    settings = OperatorSettings(("ops_aside",), {}, (str(aside),))
    settings.load()
    settings.load()
    assert "aside_one" in OPERATORS
    assert sys.path.count(str(aside)) == 1


def test_a_matcher_tells_what_its_conditions_call(recorded: Recorded, tmp_path: Path) -> None:
    matcher = Matcher({"attributes": {"n": "bigint", "s": "string", "tags": "array<bigint>"}})
    matcher.add("plain", "n > 3")
    assert matcher.operators() == set()
    matcher.add("nested", "is_square(remainder(n, 3))")
    matcher.add("within", "exists(tags, t -> fragile(t) = 1)")
    matcher.add("pattern", "n > 0 and shout(s) like 'A%'")
    assert matcher.operators() == {"is_square", "remainder", "fragile", "shout"}
    matcher.remove("within")
    assert matcher.operators() == {"is_square", "remainder", "shout"}
    matcher.publish(tmp_path)
    opened = Matcher.open(tmp_path)
    assert opened.operators() == {"is_square", "remainder", "shout"}
    opened.remove("nested")
    assert opened.operators() == {"shout"}


def test_what_is_not_known_is_named(recorded: Recorded) -> None:
    check_installed({"shout", "fragile"})
    with pytest.raises(OperatorError, match="not known in this process: people, plates"):
        check_installed({"shout", "people", "plates"})
