"""New formulas get the brackets that reuse the most nodes."""

from __future__ import annotations

import random
from functools import cache
from itertools import combinations

import pytest

from tamis.events import EventBatch
from tamis.formulas.formula import Formula, at_least, conjunction, leaf
from tamis.lab.jewel.dag import DagIndex
from tamis.lab.jewel.dag.expressions import CallExpression, Expression, LeafExpression
from tamis.lab.jewel.dag.index import Filter
from tamis.lab.jewel.dag.kernels.insertion import MAX_ROW
from tamis.language.condition import compile_condition
from tests.engines.test_engines import check


def leaf_of(name: str) -> LeafExpression:
    return LeafExpression(compile_condition(f"{name} = 1").formula)


A, B, C, D, E = (leaf_of(name) for name in "ABCDE")


def both(*operands: Expression) -> CallExpression:
    return CallExpression("and", operands)


FIGURE = [
    CallExpression("xor", (both(A, B), both(C, D))),
    CallExpression("or", (B, both(C, D))),
    both(A, B, C, E),
    both(A, B, C),
    both(C, D),
    both(A, B, C),
    both(C, D),
]


@pytest.mark.parametrize("find", ["hash", "parents"])
@pytest.mark.parametrize(("ties", "nodes", "levels"), [("highest", 11, 4), ("lowest", 12, 3)])
def test_figure_3_5(find: str, ties: str, nodes: int, levels: int) -> None:
    """S3 splits equally well into (A B) (C E) and ((A B) C) E; only the second gives S4 its node."""
    index = DagIndex(find=find, ties=ties)  # type: ignore[arg-type]
    for slot, expression in enumerate(FIGURE, 1):
        index.insert_expression(slot, expression)
    index.check()
    counts = index.stats().counts
    assert (counts["nodes"], counts["levels"], counts["zero-suppression"]) == (nodes, levels, 1)
    filters: list[Filter] = ["auto", "general", "zero-suppression"]
    for filter_ in filters:
        found = index.match(EventBatch.of([{"A": 1, "B": 1, "C": 1}]), filter=filter_).slots.tolist()
        assert sorted(found) == [1, 2, 4, 6]
    index.delete_many(range(1, 8))
    index.check()
    assert index.stats().counts["nodes"] == 0


def conjunction_of(names: str) -> Formula:
    return conjunction([compile_condition(f"{name} = 1").formula for name in names])


def fewest_new(names: str, there: set[str]) -> int:
    """By trying all brackets; what is there is known by the letters that it joins."""

    @cache
    def best(part: str) -> int:
        if len(part) == 1:
            return 0
        new = int(part not in there)
        if not new:
            return 0
        return 1 + min(best(part[:split]) + best(part[split:]) for split in range(1, len(part)))

    return best(names)


def test_as_few_new_nodes_as_any_brackets_need() -> None:
    """With at most one way to say a part there, the dynamic programming is exact."""
    random_ = random.Random(3)
    letters = "abcdefghij"
    for _ in range(40):
        index = DagIndex(ties=random_.choice(("highest", "lowest")))
        there: set[str] = set()
        for slot, (low, high) in enumerate(random_.sample([*combinations(range(11), 2)], 6)):
            part = letters[low:high]
            if len(part) == 2:
                there.add(part)
                index.insert(slot, conjunction_of(part))
        before = index.stats().counts["edges"] // 2
        index.insert(100, conjunction_of(letters))
        index.check()
        assert index.stats().counts["edges"] // 2 - before == fewest_new(letters, there)


def test_the_cost_may_follow_access_frequency() -> None:
    """Of two nodes that overlap, the one that more subscriptions use is taken."""
    for cost, shared in (("access frequency", "bc"), ("new nodes", "ab")):
        index = DagIndex(cost=cost, ties="highest")  # type: ignore[arg-type]
        index.insert(0, conjunction_of("ab"))
        for slot in range(1, 6):
            index.insert(slot, conjunction_of("bc"))
        index.insert(9, conjunction_of("abc"))
        index.check()
        event = EventBatch.of([dict.fromkeys(shared, 1)])
        index.match(event, filter="general")
        # Two leaves, the nodes `ab` and `bc`, and the node of `abc` if it is above the true one of these.
        assert index.visited.tolist() == [5]
        index.match(event, filter="true-value-path")
        assert index.visited.tolist() == [5]


@pytest.mark.slow
@pytest.mark.parametrize("count", [2, 3, MAX_ROW, MAX_ROW + 1, 3 * MAX_ROW, MAX_ROW * MAX_ROW + 5])
def test_rows_of_any_length(count: int) -> None:
    texts = [f"x{number} = 1" for number in range(count)]
    all_, some, half = (
        compile_condition(text)
        for text in (" AND ".join(texts), " OR ".join(texts), f"AT_LEAST({count // 2 + 1}, {', '.join(texts)})")
    )
    index = DagIndex()
    for slot, condition in enumerate((all_, some, half)):
        index.insert(slot, condition.formula)
    index.check()
    assert index.stats().counts["levels"] <= count + 1
    events = [{f"x{number}": 1 for number in range(held)} for held in (0, 1, count // 2, count // 2 + 1, count)]
    check(index, {0: all_, 1: some, 2: half}, EventBatch.of(events))
    index.delete_many([0, 1, 2])
    index.check()


def test_shared_parts_of_one_formula_cost_no_more_than_they_are() -> None:
    """XOR doubles what is below it as a tree; as a graph it adds a few nodes."""
    sizes = []
    for depth in (10, 20, 40):
        index = DagIndex()
        condition = compile_condition(" XOR ".join(f"x{number} = 1" for number in range(depth)))
        index.insert(0, condition.formula)
        index.insert(1, condition.formula)
        index.check()
        sizes.append(index.stats().counts["nodes"])
        events = [{f"x{number}": 1 for number in range(held)} for held in (0, 1, 2, 3)]
        check(index, {0: condition, 1: condition}, EventBatch.of(events))
        index.delete(1)
        index.delete(0)
        index.check()
    assert sizes[2] - sizes[1] == 2 * (sizes[1] - sizes[0])


def test_operands_that_are_the_same_predicate() -> None:
    """A formula made by hand may say something twice: AND and OR say it once, "at least" counts it twice."""
    predicate = compile_condition("a = 1").formula.predicate
    assert predicate is not None
    one, other, third = leaf(predicate), leaf(predicate), compile_condition("b = 1").formula
    index = DagIndex()
    index.insert(0, Formula(None, 2, (one, other)))
    index.insert(1, Formula(None, 1, (one, other)))
    index.insert(2, at_least(2, (one, other, third)))
    index.check()
    found = index.match(EventBatch.of([{"a": 1}, {"b": 1}]))
    assert sorted(zip(found.rows.tolist(), found.slots.tolist(), strict=True)) == [(0, 0), (0, 1), (0, 2)]
