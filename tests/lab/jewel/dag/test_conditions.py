"""Calls of operators are nodes of the graph: shared, asked only where a formula depends on them, gone with it."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

from tamis import Matcher
from tamis.events import EventBatch
from tamis.formulas.expression import OperatorCall
from tamis.lab.jewel.dag import Dag, DagIndex, FilterError
from tamis.lab.jewel.dag.conditions import CalledPredicates
from tamis.lab.jewel.dag.expressions import CallExpression, ExpressionError, LeafExpression
from tamis.language.condition import Condition, compile_condition
from tests.engines.test_engines import check
from tests.operators.recording import Recorded, recorded
from tests.verification.test_verifier import TYPE, expected, found, random_condition, random_event

__all__ = ["recorded"]


def condition_of(text: str) -> Condition:
    return compile_condition(text, TYPE)


def nodes_of(index: DagIndex) -> int:
    index.check()
    return index.stats().counts["nodes"]


def test_equal_calls_are_one_node(recorded: Recorded) -> None:
    index = Dag().build([condition_of("is_square(n)").formula])
    assert nodes_of(index) == 1
    index.insert(1, condition_of("m = 3 AND is_square(n)").formula)
    index.insert(2, condition_of("is_square(n) OR m = 4").formula)
    assert nodes_of(index) == 5
    assert index.stats().counts["general"] == 1
    index.delete_many([0, 2])
    assert nodes_of(index) == 3
    index.delete(1)
    assert nodes_of(index) == 0
    assert index._calls.unanswered(1).shape == (1, 1), "the number is free"
    index.insert(3, condition_of("shout(s) = 'A!'").formula)
    assert index._calls.unanswered(1).shape == (1, 1), "and is used again"
    check(index, {3: condition_of("shout(s) = 'A!'")}, EventBatch.of([{"s": "a"}, {"s": "b"}, {}], TYPE))


def test_a_call_is_made_only_if_a_formula_depends_on_it(recorded: Recorded) -> None:
    texts = ["is_square(n) AND m = 3", "m = 4 OR is_square(n)"]
    texts += ["m = 7 AND remainder(n, 2) = 0", "m = 3 AND (n = 16 OR remainder(n, 2) = 0)"]
    conditions = [condition_of(text) for text in texts]
    index = Dag().build([each.formula for each in conditions])
    for m, squares in ((4, 0), (5, 1), (3, 2)):
        index.match(EventBatch.of({"n": 16, "m": m}, TYPE))
        assert recorded.count("is_square") == squares
    assert recorded.count("remainder") == 0
    check(index, dict(enumerate(conditions)), EventBatch.of([{"n": 15, "m": 3}, {"n": 16, "m": 3}, {}], TYPE))


def test_a_call_is_made_once_an_event_for_all_predicates_on_it(recorded: Recorded) -> None:
    matcher = Matcher(TYPE, engine="dag")
    matcher.add_many([(f"s{k}", f"remainder(n, 50) > {k}") for k in range(49)])
    matcher.add("one more", "remainder(n, 50) < 7 AND s IS NOT NULL")
    table = matcher.match_batch(EventBatch.of([{"n": n, "s": "x"} for n in range(100)], TYPE))
    assert len(table) == 2 * (sum(range(50)) + 7)
    assert set(recorded.calls["remainder"].values()) == {1}
    (call,) = {
        each.attribute
        for each in condition_of("remainder(n, 50) > 1").formula.predicates()
        if isinstance(each.attribute, OperatorCall)
    }
    assert matcher._collection.newest().users(call) == 50


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_the_pairs_of_the_reference(recorded: Recorded, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Random conditions with calls, at least k of n among them, and XOR, whose calls stay AND and OR."""
    monkeypatch.setattr("tamis.operators.meters.BREAK_AFTER", 1 << 60)
    random_ = random.Random(seed)
    drawn = [random_condition(random_) for _ in range(60)]
    drawn[40:] = [f"({one}) XOR ({other})" for one, other in zip(drawn[40:50], drawn[50:], strict=True)]
    conditions = {f"s{number}": text for number, text in enumerate(drawn)}
    batch = EventBatch.of([random_event(random_) for _ in range(30)], TYPE)
    wanted = expected(conditions, batch)
    assert wanted
    asked = {}
    for engine in ("dag", "dag:filter=true-value-path", "dag:xor=expanded"):
        matcher = Matcher(TYPE, engine)
        refused = []
        for name, text in conditions.items():
            try:
                matcher.add(name, text, priority=random_.randrange(4))
            except FilterError:
                refused.append(name)
        recorded.clear()
        assert found(matcher, batch) == {pair for pair in wanted if pair[1] not in refused}, engine
        assert not refused or engine == "dag:filter=true-value-path"
        asked[engine] = sum(recorded.count(name) for name in recorded.calls)
        matcher.remove_many([f"s{number}" for number in range(0, 60, 2)])
        assert found(matcher, batch) == {
            pair for pair in wanted if pair[1] not in refused and int(pair[1][1:]) % 2
        }, engine
    assert asked["dag"] < len(batch.ids) * 200


def test_what_does_not_call_is_not_numbered(recorded: Recorded) -> None:
    calls = CalledPredicates()
    one, other = (condition_of(text).formula.predicate for text in ("is_square(n)", "is_square(m)"))
    assert one is not None
    assert other is not None
    assert [calls.number(each) for each in (one, other, one)] == [0, 1, 0]


def test_filters_and_expressions_that_take_no_calls(recorded: Recorded) -> None:
    called = condition_of("is_square(n)").formula
    index = Dag(filter="zero-suppression").build([])
    assert not index.makes_calls
    with pytest.raises(FilterError, match="found: call of an operator"):
        index.insert(0, called)
    assert nodes_of(index) == 0
    with pytest.raises(ExpressionError, match="expected a leaf with one predicate that calls no operator"):
        index.insert_expression(0, CallExpression("nand", (LeafExpression(called), LeafExpression(called))))


def test_columns_of_events(recorded: Recorded) -> None:
    matcher = Matcher(TYPE, engine="dag")
    matcher.add("s", "m = 1 AND is_square(n)")
    table = pa.Table.from_pylist([{"n": n, "m": n % 2} for n in range(30)], pa.schema([("n", "i8"), ("m", "i4")]))
    assert matcher.match_batch(table)["event_id"].to_pylist() == [1, 9, 25]
    assert recorded.count("is_square") == 15
