"""What follows from a file of facts, and what does not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tamis.operators import Operator, OperatorError
from tamis.operators.library.rules import operators

FACTS = """
@prefix : <http://example.org/zoo#> .
@prefix other: <http://example.org/other/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .

:poodle rdfs:subClassOf :dog .
:dog rdfs:subClassOf :mammal .
:mammal rdfs:subClassOf :animal .
:hound owl:equivalentClass :dog .
:rex a :poodle ; rdfs:label "Rex" .
:fido owl:sameAs :rex .

:wheel :partOf :axle .
:axle :partOf :wagon .
:wagon :hasPart :door .
:hasPart owl:inverseOf :partOf .
:wagon other:within :train .
other:rex a other:king .
"""


@pytest.fixture
def facts(tmp_path: Path) -> Path:
    file = tmp_path / "zoo.ttl"
    file.write_text(FACTS, encoding="utf-8")
    return file


def named(name: str, facts: Path, **settings: Any) -> Operator:
    return next(each for each in operators(facts=facts, **settings) if each.name == name)


def asked(operator: Operator, rows: list[tuple[str, str]]) -> list[Any]:
    """The answers to all rows at once, which are those to each row alone."""

    def run(some: list[tuple[str, str]]) -> list[Any]:
        return list(operator.function(*(pa.array(column, pa.string()) for column in zip(*some, strict=True))))

    together = run(rows)
    assert [run([row])[0] for row in rows] == together
    return together


def test_classes_of_things_and_of_classes(facts: Path) -> None:
    rows = [
        (":rex", "poodle"),
        (":rex", "animal"),
        ("poodle", "animal"),
        ("animal", "poodle"),
        ("fido", "mammal"),
        ("fido", "hound"),
        ("dog", "dog"),
        ("animal", "animal"),
        ("wheel", "animal"),
        ("wheel", "wheel"),
    ]
    assert asked(named("is_a", facts), rows) == [True, True, True, False, True, True, True, True, False, False]


def test_parts_of_parts(facts: Path) -> None:
    rows = [
        ("wheel", "axle"),
        ("wheel", "wagon"),
        ("wagon", "wheel"),
        ("door", "wagon"),
        ("wagon", "train"),
        ("wheel", "wheel"),
        ("rex", "wagon"),
    ]
    assert asked(named("part_of", facts), rows) == [True, True, False, True, False, False, None]


def test_the_property_of_parts_may_be_chosen(facts: Path) -> None:
    rows = [("wagon", "train"), ("wheel", "axle")]
    for name in ("within", "other:within", "<http://example.org/other/within>"):
        assert asked(named("part_of", facts, part_of=name), rows) == [True, False]
    assert asked(named("part_of", facts, part_of="inside"), rows) == [False, False]


def test_names_are_local_prefixed_or_addresses(facts: Path) -> None:
    rows = [
        ("poodle", "dog"),
        (":poodle", ":dog"),
        ("<http://example.org/zoo#poodle>", "dog"),
        ("rex", "dog"),
        ("other:rex", "other:king"),
        ("cat", "dog"),
        ("zoo:poodle", "dog"),
    ]
    assert asked(named("is_a", facts), rows) == [True, True, True, None, True, None, None]


def test_constant_names_are_checked(facts: Path) -> None:
    check = named("is_a", facts).check
    assert check is not None
    assert check([None, "dog"]) is None
    assert check(["poodle", None]) is None
    assert check([None, "dgo"]) == "there is no thing in the facts called 'dgo'; did you mean 'dog'?"
    assert "'rex'" in str(check(["rex", "dog"]))


@pytest.mark.slow
def test_a_long_chain(tmp_path: Path) -> None:
    file = tmp_path / "chain.ttl"
    links = [f":t{number} :partOf :t{number + 1} ." for number in range(100)]
    file.write_text("\n".join(["@prefix : <http://example.org/> .", *links]))
    part_of = named("part_of", file)
    names = range(101)
    rows = [(f"t{one}", f"t{other}") for one in names for other in names]
    columns = [pa.array(column) for column in zip(*rows, strict=True)]
    assert part_of.function(*columns) == [one < other for one in names for other in names]


def test_facts_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(OperatorError, match="No such file"):
        operators(facts=tmp_path / "missing.ttl")
    for content in (b":a :b", b"\xff\xfe", b"@prefix : <http://e.org/> . :a :b ."):
        file = tmp_path / "bad.ttl"
        file.write_bytes(content)
        with pytest.raises(OperatorError, match=r"bad\.ttl: this is not Turtle"):
            operators(facts=file)
