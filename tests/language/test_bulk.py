"""Compiling many conditions at once gives what compiling each alone gives: formulas and errors alike."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest

from tamis.errors import ConditionError
from tamis.events import EventType
from tamis.formulas.formula import Formula
from tamis.language import bulk
from tamis.language.bulk import FormulaColumn, compile_conditions, compile_many, refusals
from tamis.language.condition import compile_condition
from tamis.limits import DEFAULT_LIMITS, Limits
from tests.oracle.rows import ATTRIBUTES
from tests.texts import NUMBERS, OPERATORS, STRINGS, atom, mutated, plain, soup, spaced, wrapped
from tests.worlds import WORLDS, world

SIMPLE = EventType.from_dict(
    {
        "name": "simple",
        "time_zone": "Europe/Paris",
        "attributes": {
            "flag": "boolean",
            "tiny": "tinyint",
            "n": "int",
            "big": "bigint",
            "real": "float",
            "dbl": "double",
            "price": "decimal(8,2)",
            "money": "decimal(20,4)",
            "name": "string",
            "born": "date",
            "ts": "timestamp",
            "raw": "binary",
            "tags": "array<string>",
            "s": {"type": "struct", "attributes": {"x": "int", "b": "boolean", "deep": "struct<y:string>"}},
            "Odd": "int",
            "odd": "int",
        },
    }
)
TYPED_NAMES = (
    *("flag", "tiny", "n", "big", "real", "dbl", "price", "money", "name", "born", "ts", "raw", "tags", "s.x"),
    *("s.b", "s.deep.y", "S.DEEP.Y", "N", "s", "s.nothing", "n.x", "odd", "missing", "nme", "`n`", "s . x", "été"),
)
LOOSE_NAMES = (
    "a",
    "b",
    "a.b",
    "a.b.c",
    "`a b`",
    "a . b",
    "été",
    "日本",
    "a/**/.b",
    "1a",
    "date",
    "interval",
    "x",
    "r",
)
SCHEMAS = {"typed": (SIMPLE, TYPED_NAMES), "schemaless": (None, LOOSE_NAMES)}


def alone(text: str | None, event_type: EventType | None, limits: Limits) -> Formula | ConditionError:
    if text is None:
        return compile_conditions([None], event_type, limits)[0]
    try:
        return compile_condition(text, event_type, limits).formula
    except ConditionError as error:
        return error


def check(
    texts: Sequence[str | None],
    event_type: EventType | None = None,
    limits: Limits = DEFAULT_LIMITS,
    given: Any = None,
) -> int:
    """Compare the two ways; gives how many conditions were accepted."""
    found = compile_conditions(texts if given is None else given, event_type, limits)
    assert len(found) == len(texts)
    refused = []
    for place, (text, one) in enumerate(zip(texts, found, strict=True)):
        expected = alone(text, event_type, limits)
        if isinstance(expected, ConditionError):
            refused.append(place)
            assert isinstance(one, ConditionError), f"{text!r} was accepted as {one}, alone:\n{expected}"
            assert one.problems == expected.problems, repr(text)
            assert str(one) == str(expected), repr(text)
        else:
            assert isinstance(one, Formula), f"{text!r} was refused: {one}"
            assert one == expected, f"{text!r} is {one}, alone {expected}"
            assert one.digest == expected.digest, repr(text)
    assert found.refused == refused
    return len(texts) - len(refused)


@pytest.mark.slow
@pytest.mark.parametrize("name", WORLDS)
def test_random_conditions_of_every_kind(name: str) -> None:
    random_ = random.Random(3)
    here = world(name)
    texts = [here.condition(random_) for _ in range(300)]
    assert check(texts, here.event_type) > 250


@pytest.mark.slow
@pytest.mark.parametrize("name", WORLDS)
def test_random_conditions_spaced_and_wrapped_in_odd_ways(name: str) -> None:
    random_ = random.Random(4)
    here = world(name)
    texts = [wrapped(random_, spaced(random_, here.condition(random_))) for _ in range(300)]
    check(texts, here.event_type)


@pytest.mark.slow
@pytest.mark.parametrize("name", SCHEMAS)
def test_common_shapes_with_constants_of_every_form(name: str) -> None:
    event_type, names = SCHEMAS[name]
    random_ = random.Random(5)
    assert check([plain(random_, names, 2) for _ in range(800)], event_type) > 30
    assert check([atom(random_, names) for _ in range(2000)], event_type) > 500


@pytest.mark.slow
@pytest.mark.parametrize("name", SCHEMAS)
def test_every_operator_with_every_number_and_string(name: str) -> None:
    event_type, names = SCHEMAS[name]
    few = names[:12] if name == "typed" else names[:2]
    operators = OPERATORS if name == "schemaless" else ("=", "<", "<=>")
    texts = [f"{a} {op} {b}" for a in few for op in operators for b in (*NUMBERS, *STRINGS)]
    assert check(texts, event_type) > 300


@pytest.mark.slow
@pytest.mark.parametrize("name", SCHEMAS)
def test_odd_spacing_of_common_shapes(name: str) -> None:
    event_type, names = SCHEMAS[name]
    random_ = random.Random(6)
    check([spaced(random_, plain(random_, names, 1)) for _ in range(800)], event_type)


@pytest.mark.slow
@pytest.mark.parametrize("name", SCHEMAS)
def test_broken_conditions_have_the_same_errors(name: str) -> None:
    event_type, names = SCHEMAS[name]
    random_ = random.Random(7)
    check([mutated(random_, plain(random_, names, 1)) for _ in range(1200)], event_type)
    check([soup(random_, names) for _ in range(1200)], event_type)


def test_keywords_that_are_names() -> None:
    texts = [
        *("between = 5 AND a = 1", "NOT a <=> between AND b < 1", "NOT between AND b < 1", "a = 1 AND between"),
        *("NOT (between > 1 OR a = between AND b = 2)", "between BETWEEN 1 AND 2 AND a = 1", "a + between AND b"),
        *(
            "a NOT BETWEEN 1 AND between AND b = 1",
            "like = 1 OR in > 2 AND is < 3",
            "a BETWEEN between AND 5 OR b",
        ),
        *("a NOT BETWEEN 1 AND 5 OR NOT b", "(a) BETWEEN 1 AND 5 AND b", "a[1] BETWEEN 1 AND 5 AND NOT b"),
    ]
    check(texts, None)


@pytest.mark.slow
def test_broken_generated_conditions_have_the_same_errors() -> None:
    random_ = random.Random(8)
    here = world("typed")
    check([mutated(random_, here.condition(random_)) for _ in range(400)], here.event_type)


def test_all_attributes_of_the_oracle_bare_and_tested_for_null() -> None:
    names = [attribute.name for attribute in ATTRIBUTES]
    texts = [form.format(name) for name in names for form in ("{}", "NOT {}", "{} IS NULL", "NOT {} IS NOT NULL")]
    check(texts, world("typed").event_type)


# --- forms of the input --------------------------------------------------------------------------------------

_FEW = ["a < 3", "a <", None, "b = 'x' OR c", "", "  ", "a IN (1, 2, 'x')", "-- nothing", "日本 = '日本'", "a < 3"]


@pytest.mark.parametrize(
    "given",
    [
        pa.array(_FEW, pa.string()),
        pa.array(_FEW, pa.large_string()),
        pa.chunked_array([pa.array(_FEW[:3]), pa.array([], pa.string()), pa.array(_FEW[3:])]),
        pa.array(["skipped = 1", *_FEW, "skipped = 2"]).slice(1, len(_FEW)),
        pa.array(_FEW).dictionary_encode(),
        pa.array(_FEW, pa.string_view()),
    ],
    ids=["string", "large", "chunked", "sliced", "dictionary", "view"],
)
def test_arrow_columns(given: Any) -> None:
    check(_FEW, given=given)


def test_a_missing_text_is_refused() -> None:
    found = compile_conditions([None])[0]
    assert isinstance(found, ConditionError)
    assert "there is no condition" in str(found)


@pytest.mark.parametrize("nothing", [[], (), pa.array([], pa.string()), pa.chunked_array([], pa.string())])
def test_no_conditions(nothing: Any) -> None:
    found = compile_conditions(nothing)
    assert (len(found), list(found), found.refused) == (0, [], [])


def test_half_a_surrogate_pair_spoils_only_its_own_text() -> None:
    texts = ["a = 1", "a = '\ud800'", "b \udc00 c", "\ud83d", "a = '😀'", "`\ud800` = 1"]
    found = compile_conditions(texts)
    assert found.refused == [1, 2, 3, 5]
    check(texts)


def test_a_half_pair_beside_a_missing_text() -> None:
    assert compile_conditions([None, "\ud800", "a = 1"]).refused == [0, 1]


@pytest.mark.parametrize("bytes_", [1, 7, 64, 1000])
def test_several_chunks(bytes_: int, monkeypatch: pytest.MonkeyPatch) -> None:
    random_ = random.Random(9)
    texts: list[str | None] = [plain(random_, LOOSE_NAMES, 1) for _ in range(100)]
    texts[3] = texts[50] = None
    texts[7] = texts[8] = ""
    monkeypatch.setattr(bulk, "_CHUNK_BYTES", bytes_)
    check(texts)
    check(texts, given=pa.array([None, *texts]).slice(1))


def test_it_is_a_sequence() -> None:
    found = compile_conditions(["a = 1", "a = 2", "a ="])
    assert found[-1] is not found[0]
    assert [str(one) for one in found[0:2]] == [str(found[0]), str(found[1])]
    assert found[::-1][1] == found[1]
    for outside in (3, -4):
        with pytest.raises(IndexError):
            found[outside]


# --- limits --------------------------------------------------------------------------------------------------

_SMALL = Limits(text_characters=120, depth=6, operands=5, nodes=40, pattern_characters=8)


@pytest.mark.slow
@pytest.mark.parametrize("name", SCHEMAS)
def test_near_the_limits(name: str) -> None:
    event_type, names = SCHEMAS[name]
    random_ = random.Random(10)
    texts = [wrapped(random_, plain(random_, names[:3], 2)) for _ in range(600)]
    texts += [f"{'(' * n}a = 1{')' * n}" for n in range(12)]
    texts += [f"{'NOT ' * n}a" for n in range(12)] + [f"{'NOT (' * n}a{')' * n}" for n in range(12)]
    texts += [f"a IN ({', '.join(map(str, range(n)))})" for n in range(1, 9)]
    texts += [" AND ".join(f"a{i} = 1" for i in range(n)) for n in range(1, 9)]
    texts += [" AND ".join("a = 1" for _ in range(n)) for n in range(1, 9)]
    texts += [f"name LIKE '{'x' * n}'" for n in range(5, 12)] + [f"name LIKE '{'é' * n}'" for n in range(2, 12)]
    texts += [f"name LIKE '{'x' * n}%{'y' * n}'" for n in range(2, 6)]
    texts += ["a = 1" + " " * n for n in range(112, 118)] + ["é = 1" + " " * n for n in range(112, 118)]
    check(texts, event_type, _SMALL)


@pytest.mark.slow
def test_default_limits_on_long_texts() -> None:
    texts = [
        "a IN (" + ", ".join(map(str, range(9_999))) + ")",
        "a IN (" + ", ".join(map(str, range(10_001))) + ")",
        " OR ".join(f"a = {n}" for n in range(1_000)),
        " OR ".join(f"a{n} = {n}" for n in range(9_000)),
        "a = '" + "x" * 99_990 + "'",
        "a = '" + "x" * 100_001 + "'",
        "a LIKE '%" + "x" * 998 + "'",
        "a LIKE '%" + "x" * 1000 + "'",
    ]
    check(texts)


@pytest.mark.parametrize("count", [3, 120])
@pytest.mark.parametrize("as_arrow", [False, True])
def test_many_are_compiled_alike_whether_one_by_one_or_in_bulk(count: int, as_arrow: bool) -> None:
    texts = [f"a < {place}" if place % 3 else "a <" for place in range(1, count)] + [None]
    found = compile_many(pa.array(texts) if as_arrow else texts)
    assert isinstance(found, FormulaColumn) == (count == 120)
    assert list(map(str, found)) == list(map(str, compile_conditions(texts)))
    assert sorted(refusals(found)) == [place for place, text in enumerate(texts) if text in ("a <", None)]
