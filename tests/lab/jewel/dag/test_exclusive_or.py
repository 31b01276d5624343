"""Every XOR of a condition is one node of the graph, and means what the reference says, NULL included."""

from __future__ import annotations

import itertools
import random

import pytest

from tamis import reference
from tamis.events import EventBatch, EventType
from tamis.formulas.formula import conjunction, disjunction
from tamis.lab.jewel.dag import Dag
from tamis.lab.jewel.dag.exclusive_or import ExclusiveOr, XorFinder
from tamis.lab.jewel.dag.index import Filter
from tamis.lab.jewel.dag.kernels.functions import XOR, XOR_OF_KNOWN
from tamis.language.condition import compile_condition
from tests.engines.test_engines import check

TYPE = EventType.of(
    {"attributes": {**dict.fromkeys("abcd", "int"), **dict.fromkeys("pqr", "boolean"), "s": "string"}}
)

NODES = {
    "a > 3 XOR b > 4": 3,
    "(a > 3) <> (b > 4)": 3,
    "NOT (a > 3 XOR b > 4)": 3,
    "(a > 3) = (b > 4)": 3,
    "(a > 3 AND NOT b > 4) OR (NOT a > 3 AND b > 4)": 3,
    "a > 3 XOR b > 4 XOR c > 5": 5,
    "a > 3 XOR (b > 4 XOR (c > 5 XOR d > 6))": 7,
    "(a > 3 AND b > 4) XOR (c > 5 OR d > 6)": 7,
    "c > 5 OR (a > 3 XOR b > 4)": 5,
    "c > 5 AND (a > 3 XOR b > 4) AND d > 6": 7,
    "(a > 3 XOR b > 4) OR (c > 5 XOR d > 6)": 7,
    "a > 3 XOR (a < 10 AND b > 4)": 5,
    "s LIKE '%x%' XOR a > 3": 3,
    "s LIKE '%x' XOR s LIKE 'y%'": 3,
    "p XOR q XOR r": 5,
    "p IS NULL XOR q": 3,
    "p IS NULL XOR q IS NULL": 3,
    "p IS TRUE XOR q IS FALSE": 3,
    "(a <=> 3) XOR b > 4": 3,
}


@pytest.mark.parametrize("text", NODES)
def test_nodes_of_a_xor(text: str) -> None:
    """Two predicates and their XOR are three nodes, where AND and OR take seven."""
    formula = compile_condition(text, TYPE).formula
    native, expanded = Dag().build([formula]), Dag(xor="expanded").build([formula])
    native.check()
    assert native.stats().counts["nodes"] == NODES[text] < expanded.stats().counts["nodes"]
    assert native.stats().counts["zero-suppression"] == 1
    native.delete(0)
    native.check()
    assert native.stats().counts["nodes"] == 0


def test_a_chain_of_xors_grows_by_two_nodes() -> None:
    text = " XOR ".join(f"x{place} = 1" for place in range(50))
    index = Dag().build([compile_condition(text).formula])
    assert index.stats().counts["nodes"] == 99
    check(
        index,
        {0: compile_condition(text)},
        EventBatch.of([{f"x{place}": int(place < some) for place in range(50)} for some in (0, 1, 2, 49)]),
    )


EVENTS = [
    dict(zip("abcpqs", values, strict=True))
    for values in itertools.product(
        (None, 3, 5), (None, 4, 6), (5, 9), (None, True, False), (None, True, False), (None, "x", "yz")
    )
]


@pytest.mark.parametrize("filter_", ["auto", "zero-suppression", "general", "true-value-path"])
def test_xor_of_nulls_is_that_of_the_reference(filter_: Filter) -> None:
    """Every condition on every event, where any attribute may be NULL; true-value-path keeps AND and OR."""
    conditions = [compile_condition(text, TYPE) for text in NODES]
    index = Dag(filter=filter_).build([each.formula for each in conditions])
    index.check()
    check(index, dict(enumerate(conditions)), EventBatch.of(EVENTS, TYPE))


def test_patterns_that_were_there_before_a_xor_of_them() -> None:
    """A leaf learns where NULL makes it unknown when a XOR first asks."""
    texts = ["s LIKE '%x%'", "s LIKE '%x%' XOR a > 3", "NOT (s LIKE '%x%' XOR a > 3)"]
    conditions = [compile_condition(text, TYPE) for text in texts]
    index = Dag().build([conditions[0].formula])
    for slot in (1, 2):
        index.insert(slot, conditions[slot].formula)
    check(index, dict(enumerate(conditions)), EventBatch.of(EVENTS, TYPE))


_ATOMS = (
    *("a > 3", "a <= 4", "a = 5", "b > 4", "b <> 6", "c < 7", "c IS NULL", "a IS NOT NULL", "a <=> 3", "p", "q"),
    *("p IS TRUE", "q IS NOT FALSE", "s LIKE '%x%'", "s LIKE 'y%'", "s RLIKE 'z$'", "a IN (3, NULL)", "a = b"),
    *("b BETWEEN 4 AND 5", "NULL", "TRUE", "coalesce(p, q)", "AT_LEAST(2, p, q, a > 3)"),
)


def random_condition(random_: random.Random, depth: int) -> str:
    if depth == 0:
        return random_.choice(_ATOMS)
    joint = random_.choice(("XOR", "XOR", "XOR", "AND", "OR", "=", "<>", "NOT"))
    left, right = random_condition(random_, depth - 1), random_condition(random_, random_.randrange(depth))
    return f"NOT ({left})" if joint == "NOT" else f"({left}) {joint} ({right})"


@pytest.mark.slow
@pytest.mark.parametrize("filter_", ["zero-suppression", "general"])
def test_random_xors(filter_: Filter) -> None:
    random_ = random.Random(26)
    conditions = [compile_condition(random_condition(random_, random_.randint(1, 3)), TYPE) for _ in range(300)]
    conditions = [each for each in conditions if filter_ == "general" or "AT_LEAST" not in each.text]
    index = Dag(filter=filter_).build([each.formula for each in conditions])
    index.check()
    batch = EventBatch.of(random_.sample(EVENTS, 60), TYPE)
    check(index, dict(enumerate(conditions)), batch)
    expanded = Dag(xor="expanded").build([each.formula for each in conditions])
    assert index.stats().counts["nodes"] < 0.8 * expanded.stats().counts["nodes"]
    assert any(reference.matches(each, batch) for each in conditions)


def test_what_stays_and_and_or() -> None:
    for text in ("AT_LEAST(2, p, q, r) XOR a > 3", "exists(array(a, b), x -> x > 3) XOR p", "a > 3 OR b > 4"):
        assert not XorFinder().has_xor(compile_condition(text, TYPE).formula)
    a, not_a, b = (compile_condition(text, TYPE).formula for text in ("a > 3", "a < 3", "b > 4"))
    assert not XorFinder().has_xor(disjunction([conjunction([a, b]), conjunction([not_a, b])]))


def test_the_operands_are_those_of_the_condition() -> None:
    formula = compile_condition("a > 3 XOR b > 4", TYPE).formula
    a, b = (compile_condition(text, TYPE).formula for text in ("a > 3", "b > 4"))
    assert XorFinder().operands(formula) == [ExclusiveOr(a, b, XOR_OF_KNOWN)]
    total = compile_condition("p IS NULL XOR q IS NULL", TYPE).formula
    (found,) = XorFinder().operands(total)
    assert isinstance(found, ExclusiveOr)
    assert found.function == XOR
