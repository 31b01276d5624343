"""A forest made from a column of conditions says what the formulas of the column say, and is small."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
import pytest

from tamis.engines.forest import INTERVAL, PIECES, TEST, Forest, forest_of
from tamis.engines.forest.axes import HIGHEST, LOWEST, Texts
from tamis.errors import ConditionError
from tamis.events import EventType
from tamis.events.compute import BatchFrame
from tamis.language import bulk
from tamis.language.bulk import compile_conditions
from tamis.language.condition import compile_condition
from tamis.language.formula import FALSE, Formula
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


def test_a_conjunction_of_ranges_is_one_node_with_a_leaf_an_axis() -> None:
    forest = check(
        ["n >= 1 AND n <= 5 AND big BETWEEN 2 AND 3 AND NOT (n > 4) AND (tiny < 200 AND big < 9)"], SIMPLE
    )
    assert [str(axis.attribute.steps[0]) for axis in forest.axes] == ["n", "big", "tiny"]  # type: ignore[union-attr]
    assert leaves(forest) == [(INTERVAL, 0, 0, 1, 4), (INTERVAL, 0, 1, 2, 3), (INTERVAL, 0, 2, LOWEST, HIGHEST)]
    assert forest.nodes.least.tolist() == [3]
    assert forest.nodes.children.tolist() == [~0, ~1, ~2]
    assert forest.roots.tolist() == [0]


def test_one_leaf_is_a_root() -> None:
    forest = check(["n >= 1 AND n <= 5", "n = 3", "n > 5 AND n < 3", "n < 3 OR n < 5 OR n = 5", "flag"], SIMPLE)
    assert leaves(forest) == [
        (INTERVAL, 0, 0, 1, 5),
        (INTERVAL, 0, 0, 3, 3),
        (INTERVAL, 0, 0, HIGHEST, LOWEST),
        (INTERVAL, 0, 0, LOWEST, 5),
        (INTERVAL, 0, 1, 1, HIGHEST),
    ]
    assert forest.roots.tolist() == [~0, ~1, ~2, ~3, ~4]


def test_runs_of_one_joint_are_one_node() -> None:
    forest = check(
        ["(n = 1 AND flag) OR (big = 1 OR (tiny = 1 OR dbl = 1)) OR NOT (price <> 1 AND NOT s.x = 2)"], SIMPLE
    )
    assert forest.nodes.least.tolist() == [2, 1]
    assert np.diff(forest.nodes.firsts).tolist() == [2, 6]


def test_membership_is_pieces() -> None:
    forest = check(
        ["n IN (5, 3, 4, 9, 9)", "n NOT IN (3, 1)", "n <> 3", "n IN (1, 2, 3)", "tiny IN (300, 400)"], SIMPLE
    )
    assert leaves(forest) == [
        (PIECES, 0, 0, 0, 2),
        (PIECES, 0, 0, 2, 5),
        (PIECES, 0, 0, 5, 7),
        (INTERVAL, 0, 0, 1, 3),
        (INTERVAL, 0, 1, HIGHEST, LOWEST),
    ]
    assert forest.pieces.lows.tolist() == [3, 9, LOWEST, 2, 4, LOWEST, 4]
    assert forest.pieces.highs.tolist() == [5, 9, 0, 2, HIGHEST, 2, HIGHEST]


def test_neighbours_among_integers_and_doubles_touch() -> None:
    greatest, next_ = 2**63 - 1, 2**63
    texts = [
        f"a IN ({greatest}, {next_})",
        f"a NOT IN ({greatest}, {next_})",
        f"a IN (1, {greatest}, {next_})",
        f"a < 3 OR a > {greatest} AND a < {next_}",
    ]
    forest = forest_of([condition.formula for condition in map(compile_condition, texts)])
    assert forest.leaves.kinds.tolist() == [INTERVAL, PIECES, PIECES, INTERVAL]
    assert (forest.leaves.highs - forest.leaves.lows)[1:3].tolist() == [2, 2]
    check(texts)


def test_strings_are_ranks_of_the_cuts_that_are_used() -> None:
    forest = check(["name = 'b'", "name < 'b'", "name LIKE 'a%'", "name >= ''", "name = ''", "name > 'c'"], SIMPLE)
    scale = forest.axes[0].scale
    assert isinstance(scale, Texts)
    cuts = [scale.cut(forest.axes[0].attribute.type, place + 1) for place in range(len(scale))]
    assert cuts == ["\0", "a", "b", "b\0", "c\0"]
    intervals = [(low, high) for _, _, _, low, high in leaves(forest)]
    assert intervals == [(3, 3), (LOWEST, 2), (2, 2), (LOWEST, HIGHEST), (LOWEST, 0), (5, HIGHEST)]


def test_equal_patterns_are_one_test() -> None:
    forest = check(
        ["name LIKE '%x%'", "name LIKE '%%x%'", "name NOT LIKE '%x%' OR name RLIKE 'x'", "n = 1"], SIMPLE
    )
    assert [test.describe() for test in forest.tests] == [
        "name LIKE '%x%'",
        "name NOT LIKE '%x%'",
        "name RLIKE 'x'",
    ]


def test_deep_and_wide_texts() -> None:
    deep = "a = 1"
    for level in range(60):
        deep = f"({deep} {('AND', 'OR')[level % 2]} b{level} = {level})"
    wide_text = " OR ".join(f"a = {2 * number}" for number in range(9_000))
    forest = check([deep, wide_text, deep])
    assert len(forest.nodes.least) == 2 * 60 + 1
