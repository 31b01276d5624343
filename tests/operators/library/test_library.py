"""Loading a subject: what is unknown is named, with what is known."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tamis.operators import OPERATORS, OperatorError
from tamis.operators.library import LIBRARY, SUBJECTS, load
from tamis.operators.library.support import raise_problems


@pytest.fixture(autouse=True)
def _installed_as_before() -> Iterator[None]:
    before = dict(OPERATORS)
    yield
    OPERATORS.clear()
    OPERATORS.update(before)


def test_a_loaded_operator_is_installed_and_may_be_loaded_again() -> None:
    (made,) = load("networks")
    assert OPERATORS["in_network"] is made
    (again,) = load("networks", networks={"office": ["10.0.0.0/8"]})
    assert OPERATORS["in_network"] is again


def test_subjects_have_the_operators_that_they_are_said_to_have(tmp_path: Path) -> None:
    (tmp_path / "facts.ttl").write_text("@prefix : <http://example.org/> . :cat a :Animal .")
    made = {
        "networks": load("networks"),
        "paths": load("paths"),
        "rules": load("rules", facts=tmp_path / "facts.ttl"),
        "spatial": load("spatial", regions={"here": "POINT(0 0)"}),
        "text": load("text"),
    }
    assert {each.name: subject for subject, loaded in made.items() for each in loaded} == SUBJECTS


def test_an_unknown_subject_is_refused() -> None:
    with pytest.raises(OperatorError, match=r"no operator library 'spacial'; did you mean 'spatial'\?; known are"):
        load("spacial")


def test_unknown_and_missing_settings_are_refused_together() -> None:
    with pytest.raises(
        OperatorError,
        match=r"'spatial': unknown setting 'region'; did you mean 'regions'\?; setting 'regions' is missing",
    ):
        load("spatial", region="regions.geojson")


@pytest.mark.parametrize(
    ("subject", "package", "settings"),
    [
        ("spatial", "shapely", {"regions": {"here": "POINT(0 0)"}}),
        ("text", "rapidfuzz", {}),
        ("text", "ahocorasick", {}),
        ("paths", "jsonpath", {}),
        ("rules", "rdflib", {"facts": "facts.ttl"}),
    ],
)
def test_a_package_that_is_missing_is_named_with_its_extra(
    subject: str, package: str, settings: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(OperatorError, match=rf"need {package}: pip install 'tamis\[{subject}\]'"):
        load(subject, **settings)


@pytest.mark.parametrize("subject", ["networks", "paths", "text"])
def test_every_operator_has_a_description_and_a_cost(subject: str) -> None:
    for each in load(subject):
        assert each.description.endswith((".", "?"))
        assert each.cost is not None and each.cost < 1e-3


def test_subjects_are_modules_of_the_library() -> None:
    assert {f"tamis.operators.library.{name}" for name in LIBRARY} == set(LIBRARY.values())


def test_a_long_list_of_problems_is_cut() -> None:
    with pytest.raises(OperatorError, match=r"(?s)here: 25 problems.*problem 19.*and 5 more") as caught:
        raise_problems("here", [f"problem {number}" for number in range(25)])
    assert "problem 20" not in str(caught.value)
