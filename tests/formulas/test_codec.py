"""What was written as plain data comes back equal, and nothing else is read."""

from __future__ import annotations

import json
import math
import random
from typing import Any

import pytest

from tamis.formulas.codec import CodecError, FormulaReader, FormulaWriter
from tamis.formulas.expression import Apply, Constant, Path, Typed, walk
from tamis.formulas.formula import FALSE, TRUE, Formula
from tamis.formulas.predicates.within import Within
from tamis.functions.registry import Signature
from tamis.language.condition import compile_condition
from tamis.values.ranges import Ranges
from tamis.values.types import (
    ANY,
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    NULL,
    NUMBER,
    STRING,
    TIMESTAMP,
    Type,
    array,
    decimal,
    struct,
)
from tests.worlds import WORLDS, world


def through_text(document: dict[str, Any]) -> FormulaReader:
    return FormulaReader(json.loads(json.dumps(document, allow_nan=False)))


@pytest.mark.slow
@pytest.mark.parametrize("name", WORLDS)
def test_formulas_come_back(name: str) -> None:
    conditions = world(name).accepted(random.Random(61), 200)
    writer = FormulaWriter()
    numbers = [writer.formula(condition.formula) for condition in conditions]
    reader = through_text(writer.document())
    for condition, number in zip(conditions, numbers, strict=True):
        found = reader.formula(number)
        assert found == condition.formula
        assert found.digest == condition.formula.digest
        assert repr(found) == repr(condition.formula)
        # Equal nodes have become one.
        before, after = condition.formula.predicates(), found.predicates()
        assert set(after) == set(before)
        assert {each.identity for each in after} == {each.identity for each in before}


@pytest.mark.slow
@pytest.mark.parametrize("name", WORLDS)
def test_expressions_come_back(name: str) -> None:
    attributes = [
        part
        for condition in world(name).accepted(random.Random(62), 200)
        for predicate in condition.formula.predicates()
        for part in walk(predicate.attribute)
    ]
    writer = FormulaWriter()
    numbers = [writer.expression(each) for each in attributes]
    reader = through_text(writer.document())
    assert len(set(attributes)) <= len(writer.document()["entries"]) < len(attributes)
    for attribute, number in zip(attributes, numbers, strict=True):
        assert reader.expression(number) == attribute
        assert repr(reader.expression(number)) == repr(attribute)


@pytest.mark.parametrize(
    ("type_", "value"),
    [
        *((BOOLEAN, value) for value in (True, False, None)),
        *((BIGINT, value) for value in (0, -1, 2**63 - 1, -(2**63))),
        *((decimal(38, 4), value) for value in (10**38 - 1, 1 - 10**38, 2**63, -(2**63) - 1, 0)),
        *((DOUBLE, value) for value in (0.0, -0.0, 0.1, 1e-320, 1.7e308, math.inf, -math.inf, math.nan)),
        *((FLOAT, value) for value in (0.10000000149011612, math.nan, -math.inf)),
        *((STRING, value) for value in ("", "é", "😀", "\0", "\n", "int", "'\"\\")),
        *((BINARY, value) for value in (b"", b"\0\xff")),
        *((NUMBER, value) for value in (1, 1.0, 2**53 + 1, math.nan)),
        (DATE, -719162),
        (TIMESTAMP, 253402300799999999),
        (array(STRING), ["a", None]),
        (array(array(DOUBLE)), [[1.0, -0.0], [], None]),
        (struct(("a", INT), ("b", array(STRING))), (1, ["x"])),
        (ANY, {"a": [1, 2.5, {"b": None}], "c": True}),
        (NULL, None),
    ],
    ids=repr,
)
def test_constants_of_every_type(type_: Type, value: Any) -> None:
    before = Constant(type_, value)
    writer = FormulaWriter()
    number = writer.expression(before)
    after = through_text(writer.document()).expression(number)
    assert after == before
    assert repr(after) == repr(before)


@pytest.mark.parametrize(
    "type_",
    [
        *(ANY, NUMBER, NULL, decimal(38, 38), Type("array"), array(ANY), array(array(Type("array")))),
        *(array(struct(("odd `name`", array(NUMBER)))), struct(), struct(("", INT), ("é.b", ANY))),
    ],
    ids=str,
)
def test_types_of_every_form(type_: Type) -> None:
    writer = FormulaWriter()
    number = writer.expression(Path(("a", "b.c", "`"), type_))
    assert through_text(writer.document()).expression(number) == Path(("a", "b.c", "`"), type_)


@pytest.mark.parametrize("cuts", [(1, 2**70), ("a", "a\0"), (b"\0",), ((0, -math.inf, 0), (0, 0.5, 1), (1, 0, 0))])
def test_cuts_of_every_form(cuts: tuple[Any, ...]) -> None:
    predicate = Within(Path(("a",), NUMBER), Ranges(True, cuts), True)
    writer = FormulaWriter()
    number = writer.predicate(predicate)
    assert through_text(writer.document()).predicate(number) == predicate


def test_true_and_false_are_the_same_objects() -> None:
    writer = FormulaWriter()
    numbers = writer.formula(TRUE), writer.formula(FALSE)
    reader = through_text(writer.document())
    assert reader.formula(numbers[0]) is TRUE
    assert reader.formula(numbers[1]) is FALSE


def test_shared_parts_are_written_once_and_stay_shared() -> None:
    text = " XOR ".join(f"a{place} > {place}" for place in range(40))
    formula = compile_condition(text).formula
    writer = FormulaWriter()
    number = writer.formula(formula)
    assert len(writer.document()["entries"]) < 600
    after = through_text(writer.document()).formula(number)
    assert after == formula
    assert len(list(after.nodes())) <= len(list(formula.nodes()))


def test_deep_expressions() -> None:
    expression: Typed = Path(("a",), INT)
    for _ in range(200):
        expression = Apply("-", (expression, Constant(INT, 1)), Signature((INT, INT), INT))
    writer = FormulaWriter()
    number = writer.expression(expression)
    assert through_text(writer.document()).expression(number) == expression


def document(*entries: Any, types: Any = ("int", "string", "boolean")) -> dict[str, Any]:
    return {"format": 1, "types": list(types), "entries": list(entries)}


_A = ["path", ["a"], 0]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "a document is expected, found None"),
        ([], "a document is expected"),
        ({"format": 2, "types": [], "entries": []}, "format 1 is expected, found 2"),
        ({"format": 1, "types": []}, "entries is expected, found None"),
        (document(types=["integre"]), "'integre' is not a type"),
        (document(types=[["bag", 0]]), "is not a type"),
        (document(types=[["array", 0]]), "there is no type 0"),
        (document(["eval", "1"]), "entry 0 is of no known kind: ['eval', '1']"),
        (document("path"), "entry 0 is of no known kind"),
        (document(_A, ["path", ["a"]]), "entry 1, of the kind path, has 1 fields, 2 are expected"),
        (document(["path", ["a"], 7]), "there is no type 7"),
        (document(["path", [1], 0]), "a name is expected, found 1"),
        (document(["path", ["a"], True]), "the number of a type is expected, found True"),
        (
            document(_A, ["apply", "system", [0], [0], 0, "UTC"]),
            "the function system is not known to this version",
        ),
        (document(["apply", "abs", [0], [0], 0, "UTC"]), "there is no entry 0 before"),
        (document(_A, ["matches", 0, "glob", "x", False]), "a pattern test (like, ilike, rlike) is expected"),
        (document(_A, ["within", 0, 1, [], False]), "true or false is expected, found 1"),
        (document(_A, ["leaf", 0]), "a predicate is expected"),
        (document(_A, ["at_least", 1, [0]]), "a formula is expected"),
        (document(_A, ["quantifier", "some", 0, 0, 0]), "a quantifier (exists, forall) is expected"),
        (document(_A, ["quantifier", "exists", 0, 0, 0]), "a variable is expected"),
        (document(["constant", 0, ["code", "1"]]), "is not a value"),
        (document(["constant", 0, ["float", "one"]]), "is not a value"),
        (document(["constant", 0, ["dict", [[["list", []], 1]]]]), "is not a value"),
        (document(["constant", 0, 1.5]), "1.5 is not a value"),
    ],
)
def test_unknown_content_is_refused(content: Any, message: str) -> None:
    with pytest.raises(CodecError) as caught:
        FormulaReader(content)
    assert message in str(caught.value)


def test_what_is_asked_for_must_be_of_its_kind() -> None:
    reader = FormulaReader(document(_A))
    assert reader.expression(0) == Path(("a",), INT)
    with pytest.raises(CodecError, match="a formula is expected"):
        reader.formula(0)
    with pytest.raises(CodecError, match="there is no entry 1"):
        reader.expression(1)


def test_a_predicate_of_an_unknown_kind_is_not_written() -> None:
    class Other:
        attribute = Path(("a",), INT)

    with pytest.raises(CodecError, match="of the kind Other"):
        FormulaWriter().predicate(Other())  # type: ignore[arg-type]
    with pytest.raises(CodecError, match="of the kind object"):
        FormulaWriter().expression(Constant(INT, object()))


def test_random_damage_is_refused_or_harmless() -> None:
    random_ = random.Random(63)
    writer = FormulaWriter()
    for condition in world("typed").accepted(random_, 20):
        writer.formula(condition.formula)
    text = json.dumps(writer.document())
    refused = 0
    for _ in range(300):
        at = random_.randrange(len(text))
        damaged = text[:at] + random_.choice('0123456789"[]{},:aelnrtu') + text[at + 1 :]
        try:
            content = json.loads(damaged)
        except ValueError:
            continue
        try:
            reader = FormulaReader(content)
        except CodecError:
            refused += 1
        else:
            assert all(isinstance(entry, Formula) or entry is not None for entry in reader._entries)
    assert refused > 10
