"""A forest made from a column of conditions says what the formulas of the column say, and is small."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
import pytest

from tamis.engines.forest import PIECES, TEST, Forest, forest_of
from tamis.errors import ConditionError
from tamis.events import EventType
from tamis.formulas.formula import FALSE, Formula
from tamis.frames import BatchFrame
from tamis.language import bulk
from tamis.language.bulk import compile_conditions
from tests.texts import NUMBERS, OPERATORS, STRINGS, atom, mutated, plain
from tests.worlds import WORLDS, world

SIMPLE = EventType.from_dict(
    {
        "name": "simple",
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
            "raw": "binary",
            "tags": "array<string>",
            "s": {"type": "struct", "attributes": {"x": "int", "deep": "struct<y:string>"}},
        },
    }
)
TYPED_NAMES = (
    *("flag", "tiny", "n", "big", "real", "dbl", "price", "money", "name", "born", "raw", "tags", "s.x"),
    *("s.deep.y", "S.DEEP.Y", "N", "s", "missing"),
)
SCHEMAS = {"typed": (SIMPLE, TYPED_NAMES), "schemaless": (None, ("a", "b", "a.b", "`a b`", "日本"))}


TIMES = [1, pytest.param(10, marks=pytest.mark.slow)]
"""How many times as many texts as are enough to see most things."""


def check(texts: Sequence[str], event_type: EventType | None = None) -> Forest:
    """Compare with the forest of the formulas as objects."""
    column = compile_conditions(texts, event_type)
    forest = forest_of(column)
    assert len(forest) == len(texts)
    # Both give cuts between schemaless numbers in the same form.
    expected = forest_of([FALSE if isinstance(each, ConditionError) else each for each in column])
    for text, one, other in zip(texts, forest, expected, strict=True):
        assert one == other, text
    assert_in_order(forest)
    return forest


def assert_in_order(forest: Forest) -> None:
    """Children stand before their parents, pieces rise, and nobody else has a formula's leaves and nodes."""
    leaves, nodes = forest.leaves, forest.nodes
    assert nodes.firsts[-1] == len(nodes.children)
    parents = np.repeat(np.arange(len(nodes.least)), np.diff(nodes.firsts))
    assert (nodes.children < parents).all()
    used = np.concatenate([nodes.children, forest.roots])
    assert len(np.unique(used[used < 0])) == len(leaves.kinds)
    assert len(np.unique(used[used >= 0])) == len(nodes.least)
    for low, high in zip(leaves.lows[leaves.kinds == PIECES], leaves.highs[leaves.kinds == PIECES], strict=True):
        assert high - low >= 2
        assert (forest.pieces.lows[low:high] <= forest.pieces.highs[low:high]).all()
        assert (forest.pieces.highs[low : high - 1] + 1 < forest.pieces.lows[low + 1 : high]).all()
    assert (leaves.lows[leaves.kinds == TEST] < len(forest.tests)).all()
    assert ((leaves.axes >= 0) == (leaves.kinds != TEST)).all()


@pytest.mark.slow
@pytest.mark.parametrize("times", TIMES)
@pytest.mark.parametrize("name", WORLDS)
def test_random_conditions_of_every_kind(name: str, times: int) -> None:
    random_ = random.Random(51)
    here = world(name)
    texts = [here.condition(random_) for _ in range(250 * times)]
    forest = check(texts, here.event_type)
    frame = BatchFrame(here.batch(random_, 50))
    column = compile_conditions(texts, here.event_type)
    for slot in random_.sample(range(len(texts)), 100):
        formula = column[slot]
        mask = formula.mask(frame) if isinstance(formula, Formula) else np.zeros(50, np.bool_)
        np.testing.assert_array_equal(forest[slot].mask(frame), mask, texts[slot])


@pytest.mark.slow
@pytest.mark.parametrize("times", TIMES)
@pytest.mark.parametrize("name", SCHEMAS)
def test_common_shapes_with_constants_of_every_form(name: str, times: int) -> None:
    event_type, names = SCHEMAS[name]
    random_ = random.Random(52)
    check([plain(random_, names, 2) for _ in range(250 * times)], event_type)
    check([atom(random_, names) for _ in range(800 * times)], event_type)
    check([mutated(random_, plain(random_, names, 1)) for _ in range(100 * times)], event_type)


@pytest.mark.slow
@pytest.mark.parametrize("name", SCHEMAS)
def test_every_operator_with_every_constant(name: str) -> None:
    event_type, names = SCHEMAS[name]
    few = ("tiny", "big", "dbl", "price", "money", "name") if name == "typed" else names[:1]
    forms = [("", operator) for operator in OPERATORS] + [("NOT ", operator) for operator in ("=", "<", ">=")]
    texts = [f"{sign}({a} {op} {b})" for a in few for sign, op in forms for b in (*NUMBERS, *STRINGS)]
    check(texts, event_type)


_FORMS = (
    *("{} < {}", "{} <= {}", "{} > {}", "{} >= {}", "{} = {}", "{} <> {}", "{} BETWEEN {} AND {}"),
    *("{} NOT BETWEEN {} AND {}", "{} IN ({}, {})", "{} NOT IN ({}, {}, {})", "{} IS NULL"),
)


def wide(random_: random.Random, names: Sequence[str]) -> str:
    """Long conditions of plain shapes, which come close to each other on few axes."""

    def one() -> str:
        name, low = random_.choice(names), random_.randrange(-4, 8)
        number = random_.choice((str(low), f"{low}.5", f"{low}e0", f"{low}00000000000000000", f"{low}e30"))
        text = random_.choice(("''", "'a'", "'ab'", "'\0'", "'a\0'", "'b'", "'\U0010ffff'", "'\ud7ff'", "'é'"))
        text, other = (text, random_.choice(("'a'", "'b'"))) if name >= "s" else (number, str(low + 1))
        if random_.random() < 0.2 and name >= "s":
            return f"{name} LIKE '{text[1:-1]}{random_.choice(('', '%', '%%', '_', '%a'))}'"
        form = random_.choice(_FORMS)
        return form.format(name, text, other, number if name < "s" else "'c'")

    def some(depth: int) -> str:
        if depth == 0:
            return one()
        joint = random_.choice((" AND ", " OR "))
        inner = joint.join(some(random_.choice((0, depth - 1))) for _ in range(random_.choice((2, 3, 6))))
        return f"{random_.choice(('', 'NOT '))}({inner})"

    return some(random_.choice((1, 2, 4)))


@pytest.mark.slow
@pytest.mark.parametrize("times", TIMES)
def test_intervals_that_meet_on_few_axes(times: int) -> None:
    random_ = random.Random(53)
    typed = EventType.from_dict(
        {"name": "few", "attributes": {"i": "tinyint", "j": "double", "k": "decimal(9,1)", "s": "string"}}
    )
    check([wide(random_, ("i", "j", "k", "s")) for _ in range(400 * times)], typed)
    check([wide(random_, ("i", "j", "s", "t")) for _ in range(400 * times)])


@pytest.mark.parametrize("bytes_", [1, 64, 1000])
def test_several_chunks(bytes_: int, monkeypatch: pytest.MonkeyPatch) -> None:
    random_ = random.Random(54)
    texts = [plain(random_, ("a", "b", "a.b"), 1) for _ in range(150)]
    monkeypatch.setattr(bulk, "_CHUNK_BYTES", bytes_)
    check(texts)


def test_no_conditions() -> None:
    assert len(check([])) == 0


def test_refused_conditions_are_never_true() -> None:
    column = compile_conditions(["a = 1", "a =", "b"])
    assert column.refused == [1]
    assert forest_of(column)[1] is FALSE


def leaves(forest: Forest) -> list[tuple[int, ...]]:
    return [tuple(each) for each in zip(*(column.tolist() for column in forest.leaves), strict=True)]
